"""docs/reference/server-metrics.md says what the tables say; as a program this writes it anew."""

from pathlib import Path

import pytest

from paceline.measure.server_table import EngineTable, Line, built_in_table, load_table
from paceline.stats.server_quantities import QUANTITIES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "server-metrics.md"


def quantities() -> str:
    return "\n".join(
        f"| `{one.name}` | {one.kind} | {one.unit or 'share'} | {one.definition} |"
        for one in QUANTITIES.values()
    )


def line(one: Line) -> str:
    names = ", else ".join(f"`{name}`" for name in one.metric)
    labels = ", ".join(f'`{name}="{value}"`' for name, value in one.labels.items())
    parts = [names + "".join(f" + `{name}`" for name in one.plus), labels and f"with {labels}"]
    parts.append("at the end" if one.counted == "end" else "")
    return f"| `{one.name}` | {'; '.join(part for part in parts if part)} |"


def engine(name: str, one: EngineTable) -> str:
    where = ", ".join(f"`{path}`" for path in one.paths)
    repeated = ", ".join(f"`{label}`" for label in one.repeated)
    more = f" Repeated over {repeated}." if repeated else ""
    head = f"### {one.title} (`{name}`)\n\nAt {where}.{more} Source: {one.source}.\n"
    return "\n".join([head, "| name | metric |\n|---|---|", *(line(metric) for metric in one.metrics)])


def engines() -> str:
    return "\n\n".join(engine(name, one) for name, one in built_in_table().engines.items())


def test_the_page_has_all_names_and_all_engines() -> None:
    text = PAGE.read_text()
    assert quantities() in text
    assert engines() in text


def test_the_page_s_own_table_can_be_used(tmp_path: Path) -> None:
    text = PAGE.read_text()
    path = tmp_path / "table.toml"
    path.write_text(text.split("```toml\n")[1].split("```")[0])
    mine = load_table(path).engines["mine"]
    assert mine.values('my_requests{state="busy"} 2\nmy_kv_pct 50\n') == {
        "running_requests": 2.0,
        "kv_cache_use": 0.5,
    }


@pytest.mark.parametrize("model", [EngineTable, Line])
def test_the_page_has_every_key(model: type[EngineTable] | type[Line]) -> None:
    title = "engine" if model is EngineTable else "line"
    section = (
        PAGE.read_text().split(f"| key of a{'n' if title == 'engine' else ''} {title} |")[1].split("\n\n")[0]
    )
    told = {row.split("`")[1] for row in section.splitlines()[2:]}
    assert told == {field.alias or name for name, field in model.model_fields.items()}


if __name__ == "__main__":
    _head, _rest = PAGE.read_text().split("|---|---|---|---|\n", 1)
    _between = _rest[_rest.index("\n\nThe `gpu_`") : _rest.index("\n\n### ")]
    _tail = _rest[_rest.index("\n\n## A table of your own") :]
    PAGE.write_text(f"{_head}|---|---|---|---|\n{quantities()}{_between}\n\n{engines()}{_tail}")
