import math
import random

import pytest

from paceline.measure import exposition
from paceline.measure.exposition import Sample, read_page

PAGE = """# HELP vllm:num_requests_running Number of requests.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a \\"b\\" \\\\ c\\nd"} 3.0
vllm:num_requests_running { engine = "1" , } 4 1395066363000
plain 1.5e+2
plain_sum\t-7
  leading 1
other{le="+Inf"} 5
"""


def values(text: str, *wanted: str) -> list[float]:
    return [one.value for one in read_page(text, wanted or ("x",)).samples]


def test_a_page_is_read_as_the_format_says() -> None:
    page = read_page(PAGE, {"vllm:num_requests_running", "plain", "plain_sum", "leading"})
    assert page.samples == [
        Sample("vllm:num_requests_running", {"engine": "0", "model_name": 'a "b" \\ c\nd'}, 3.0),
        Sample("vllm:num_requests_running", {"engine": "1"}, 4.0),
        Sample("plain", {}, 150.0),
        Sample("plain_sum", {}, -7.0),
    ]
    assert (page.bad, page.left_out) == (0, 0)


def test_open_metrics_has_exemplars_and_an_end() -> None:
    text = 'x_total{a="b"} 17.0 1520879607.789 # {trace_id="k#1"} 0.5 1520879607.0\nx_total 2 # {} 1\n# EOF\n'
    assert values(text, "x_total") == [17.0, 2.0]
    # The mark of an exemplar inside a label is none.
    assert read_page('x{a="1 # 2"} 3\n', {"x"}).samples == [Sample("x", {"a": "1 # 2"}, 3.0)]


def test_lines_may_end_in_either_way_and_the_last_one_not_at_all() -> None:
    assert values("x 1\r\nx 2\r\nx 3") == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "inf", "nan", "Infinity", "1e999", "-1e999"])
def test_what_is_not_finite_is_no_sample_and_no_fault(value: str) -> None:
    page = read_page(f"x {value}\n", {"x"})
    assert (page.samples, page.bad) == ([], 0)


@pytest.mark.parametrize(
    "line",
    [
        *("x", "x ", "x{", 'x{a="b" 1', "x{a=b} 1", 'x{a="b"}', "x 1 2 3", "x one", "x 1_000", "x \u0661"),
        *("x 0x10", 'x{a="b"}} 1', 'x{a="b"c="d"} 1', "x 1 noon", 'x{"quoted", a="b"} 1', "x{,} 1"),
    ],
)
def test_what_makes_no_sense_is_counted_and_left_out(line: str) -> None:
    page = read_page(f"{line}\nx 8\n", {"x"})
    assert [one.value for one in page.samples] == [8.0]
    assert page.bad == 1


def test_names_are_whole_names() -> None:
    assert values("xy 1\nx_total 2\n# x 3\nX 4\nx 5\n") == [5.0]


def test_a_page_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    page = read_page("x 1\n" * 5_000, {"x"})
    assert len(page.samples) == exposition.MOST_SAMPLES
    assert page.left_out == 5_000 - exposition.MOST_SAMPLES
    assert page.partial == {"x"}
    long = "y" * exposition.LONGEST_LINE
    assert read_page(f'x{{a="{long}"}} 1\nx 2\n', {"x"}).left_out == 1
    monkeypatch.setattr(exposition, "MOST_LINES", 10)
    assert values("\n" * 20 + "x 1\n") == []


def _random_page(rng: random.Random) -> tuple[str, list[Sample]]:
    letters = 'ab"\\\n{}=,# é\t1'
    lines, samples = [], []
    for _ in range(rng.randrange(20)):
        name = rng.choice(["x", "x_total", "a:b", "unwanted"])
        labels = {f"l{i}": "".join(rng.choices(letters, k=rng.randrange(8))) for i in range(rng.randrange(4))}
        value = rng.choice([0.0, 1.5, -3.25, 1e9, 123456789.0])
        written = ",".join(
            f'{key}="' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
            for key, text in labels.items()
        )
        tail = rng.choice(["", " 1395066363000", ' # {t="k"} 1'])
        lines.append(f"{name}{{{written}}} {value!r}{tail}" if labels else f"{name} {value!r}{tail}")
        if rng.random() < 0.3:
            lines.append("# HELP x something x 1")
        if name != "unwanted":
            samples.append(Sample(name, labels, value))
    return "\n".join(lines) + "\n", samples


def test_whatever_is_written_by_the_format_is_read_back() -> None:
    rng = random.Random(1)
    for _ in range(500):
        text, samples = _random_page(rng)
        page = read_page(text, {"x", "x_total", "a:b"})
        assert page.samples == samples
        assert page.bad == 0


def test_nothing_breaks_the_reader() -> None:
    rng = random.Random(2)
    pieces = [
        "x",
        "x{",
        "}",
        '"',
        "\\",
        "\n",
        " ",
        "=",
        ",",
        "#",
        "1",
        "NaN",
        "a",
        "\x00",
        "\ufffd",
        "e9",
        "-",
    ]
    for _ in range(5_000):
        if rng.random() < 0.5:
            text = "".join(rng.choices(pieces, k=rng.randrange(40)))
        else:
            whole = list(_random_page(rng)[0])
            for _ in range(rng.randrange(1, 6)):
                whole[rng.randrange(len(whole))] = rng.choice(pieces)
            text = "".join(whole)
        page = read_page(text, {"x", "x_total", "a:b"})
        assert all(math.isfinite(one.value) for one in page.samples)
        assert len(page.samples) + page.bad <= text.count("\n") + 1
