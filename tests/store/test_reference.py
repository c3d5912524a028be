import re
from pathlib import Path

import pyarrow as pa
import pytest

from paceline.store.manifest import RunManifest
from paceline.store.schema import PLAN_SCHEMA, PROGRESS_SCHEMA, ROW_SCHEMA, SERVER_SCHEMA
from paceline.store.traffic_schema import TRAFFIC_SCHEMA, TRIED

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "store.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize(
    ("title", "schema"),
    [
        ("Rows", ROW_SCHEMA),
        ("Plan", PLAN_SCHEMA),
        ("Progress", PROGRESS_SCHEMA),
        ("Server", SERVER_SCHEMA),
        ("Traffic", TRAFFIC_SCHEMA),
    ],
)
def test_the_page_has_every_column_with_its_type(title: str, schema: pa.Schema) -> None:
    told = re.findall(r"^\| `(\w+)`(\??) \| ([\w ]+) \|", section(title), re.MULTILINE)
    actual = [(field.name, "?" if field.nullable else "", name_of(field.type)) for field in schema]
    assert told == actual


def name_of(kind: pa.DataType) -> str:
    if isinstance(kind, pa.StructType):
        return "struct"
    if isinstance(kind, pa.TimestampType):
        return "timestamp"
    if isinstance(kind, pa.ListType):
        return f"list of {name_of(kind.value_type)}"
    return {"large_string": "large string"}.get(str(kind), str(kind))


def test_the_page_has_every_field_of_an_attempt() -> None:
    told = re.findall(r"`(\w+)`", next(row for row in section("Traffic").splitlines() if "`tried`" in row))
    tokens = {field.name for field in TRIED if field.name.endswith("_tokens")}
    assert set(told) == {"tried"} | {field.name for field in TRIED} - tokens


def test_the_page_has_every_key_of_the_manifest() -> None:
    cells = re.findall(r"^\| ([^|]+) \|", section("`run.json`: `paceline.run/1`"), re.MULTILINE)
    told = re.findall(r"`(\w+)`", " ".join(cells))
    assert told == [field.alias or name for name, field in RunManifest.model_fields.items()]
