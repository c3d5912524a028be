"""`paceline workload`."""

import subprocess
import sys
from pathlib import Path

import pytest

from paceline.cli.main import run
from paceline.workloads.files import built_in_names, built_in_text, load_workload


def test_list_names_each_and_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "list"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if not line.startswith(" ")] == built_in_names()
    assert all(len(line) <= 80 for line in out.splitlines())


def test_show_prints_the_file_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "show", "agent"]) == 0
    assert capsys.readouterr().out == built_in_text("agent")


def test_init_writes_a_copy_and_never_over_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    assert run(["workload", "init", "voice", str(file)]) == 0
    assert load_workload(str(file)) == load_workload("voice")
    file.write_text("# mine")
    assert run(["workload", "init", "chat", str(file)]) == 2
    assert file.read_text() == "# mine"
    assert run(["workload", "init", "chat", str(tmp_path / "no" / "where.toml")]) == 2
    assert run(["workload", "init", "soap", str(tmp_path / "s.toml")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "exists" in said.err
    assert "built in are: agent, batch" in " ".join(said.err.split())


def test_init_leaves_no_part_where_the_disk_is_full(tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk that has no more room."""
    file = tmp_path / "a.toml"
    code = (
        "import resource, signal, sys\n"
        "from paceline.cli.main import run\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        f"sys.exit(run(['workload', 'init', 'agent', {str(file)!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: cannot write {file}: File too large")
    assert not file.exists()


@pytest.mark.parametrize("name", built_in_names())
def test_check_says_what_a_job_is_within_80_columns(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "check", name]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{name}: ")
    assert "a job, by the median of 25" in out
    assert "least possible time" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_check_reads_a_file_and_its_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.txt").write_text("one two\nthree\n")
    file = tmp_path / "w.toml"
    file.write_text(
        'jobs_per_day = 10\nworth_usd_per_hour = 90\n[data]\npath = "rows.txt"\n[slo]\nttft_ms = 5\n'
    )
    assert run(["workload", "check", str(file)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("w\n")
    assert "objectives of a call: ttft_ms 5" in out
    assert "jobs a day: 10; an hour saved is worth 90 USD" in out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[slo]\nttft = 5\n", "unknown metric 'ttft' in the SLO"),
        ("[[call]]\nname = 'a'\nrepaet = 2\n", "did you mean `repeat`?"),
        ("[data]\npath = 'gone.txt'\n", "gone.txt"),
        ("[[call]]\nname = 'step'\nwait = 'tol'\n", "`call.step.wait`: "),
        ("[job_slo]\njobms = 5\n", "unknown key `job_slo.jobms`\nhint: did you mean `job_ms`?"),
        ("[[call]]\nname = 'a'\nrepeat = 1024\nprompt_tokens = 1000\n", "more than 10,000,000 tokens"),
        ("tokenizer = 'nowhere'\n[[call]]\nname = 'a'\n", "tokenizer 'nowhere'"),
    ],
)
def test_check_finds_what_is_wrong(
    content: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "w.toml"
    file.write_text(content)
    assert run(["workload", "check", str(file)]) == 2
    assert said in capsys.readouterr().err


def test_check_steers_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.toml"
    file.write_text('name = "\\u001b[31mred\\u202e"\nabout = "\\u001b]0;x\\u0007"\n')
    assert run(["workload", "check", str(file)]) == 0
    said = capsys.readouterr()
    assert "[31mred" in said.out
    assert (said.out + said.err).replace("\n", "").isprintable()
