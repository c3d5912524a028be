"""What requests look like, by options: an error names the option, or the workload, that it is of."""

import pytest

from paceline.cli.main import run


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--output-tokens", "abc"], "error: --output-tokens: 'abc' is not a length"),
        (["--shared-prefix", "-4"], "error: --shared-prefix: "),
        (["--extra-body", '{"max_tokens": 3}'], "error: --extra-body: `max_tokens` is set by"),
        (["--salt", "-1"], "error: --salt: "),
        (["--seed", "-1"], "error: --seed: "),
        (["--trace", "x.csv", "--trace-speed", "0"], "error: --trace-speed: "),
        (["--data", "x.csv", "--data-column", ""], "error: --data-column: "),
        (["--set", "prompt_tokns=3"], "error: --set prompt_tokns: unknown key\nhint: did you mean"),
        (["-w", "agent", "--set", "call.step.wait=tol"], "error: --set call.step.wait: "),
        (["-w", "agent", "--set", 'data={"path": "x"}'], "error: workload agent: jobs come from one place"),
        (["--set", 'data={"path": "x"}', "--trace", "y"], "error: the options: jobs come from one place"),
    ],
)
def test_an_error_names_the_option(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["measure", "http://127.0.0.1:9/v1", *options]) == 2
    assert capsys.readouterr().err.startswith(said)
