import json
import re
from pathlib import Path
from typing import Any

import pytest

from paceline.store.ledger_entry import ATTEMPT_FIELDS, ENTRY_FIELDS, ROW_FIELDS, USAGE_FIELDS, read_entry
from tests.support.ledger import entry, line

ROOT = Path(__file__).parents[2]
ENTRY_RS = (ROOT / "crates/paceline-gateway/src/ledger/entry.rs").read_text()
RECORD_RS = (ROOT / "crates/paceline-wire/src/record.rs").read_text()
PAGE = (ROOT / "docs/reference/ledger.md").read_text()
KINDS: dict[str, tuple[type, ...]] = {
    "String": (str,),
    "&'static str": (str,),
    "bool": (bool,),
    "f64": (int, float),
    "Usage": (dict,),
    "RequestRecord": (dict,),
    "Vec<AttemptEntry>": (list,),
}


def fields_of(source: str, struct: str) -> dict[str, str]:
    """Names and Rust types of a struct's fields, without those that are not written."""
    body = re.search(rf"pub(?:\(crate\))? struct {struct} \{{\n(.*?)\n\}}", source, re.DOTALL)
    assert body is not None
    told = re.sub(r"#\[serde\(skip\)\]\n\s*pub[^\n]*", "", body.group(1))
    return dict(re.findall(r"^    pub(?:\(crate\))? (\w+): (.+),$", told, re.MULTILINE))


def kinds(rust: str) -> tuple[type, ...]:
    optional = re.fullmatch(r"Option<(.+)>", rust)
    if optional:
        return (*kinds(optional.group(1)), type(None))
    if re.fullmatch(r"[iu]\d+", rust):
        return (int,)
    # The rest are enums, which are written as names.
    return KINDS.get(rust, (str,))


@pytest.mark.parametrize(
    ("struct", "fields"),
    [("Entry", ENTRY_FIELDS), ("AttemptEntry", ATTEMPT_FIELDS), ("Usage", USAGE_FIELDS)],
)
def test_fields_and_types_are_those_that_rust_writes(
    struct: str, fields: dict[str, tuple[type, ...]]
) -> None:
    written = {name: kinds(rust) for name, rust in fields_of(ENTRY_RS, struct).items()}
    if struct == "Entry":
        # Not a field: each line begins with it.
        written = {"schema": (str,), **written}
    assert written == dict(fields)


def test_the_row_is_the_one_that_rust_writes() -> None:
    record = fields_of(RECORD_RS, "RequestRecord").keys() - {"observation"}
    assert record | fields_of(RECORD_RS, "Observation").keys() == ROW_FIELDS


@pytest.mark.parametrize(
    ("title", "fields"),
    [
        ("A request", ENTRY_FIELDS),
        ("An attempt: `attempts[]`", ATTEMPT_FIELDS),
        ("Tokens: `attempts[].usage`", USAGE_FIELDS),
    ],
)
def test_the_page_has_every_field_with_its_type(title: str, fields: dict[str, tuple[type, ...]]) -> None:
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    told = re.findall(r"^\| `(\w+)`(\??) \| (\w+) \|", section, re.MULTILINE)
    words = {str: "string", int: "integer", bool: "boolean", dict: "object", list: "list"}
    assert told == [
        (
            name,
            "?" if type(None) in kind else "",
            "number" if float in kind else words[kind[0]],
        )
        for name, kind in fields.items()
    ]


def test_a_line_is_read_as_it_was_written() -> None:
    document = entry(7)
    assert read_entry(line(document)) == document


def changed(path: str, value: Any) -> bytes:
    """A line of which one field has another value; None takes it away."""
    document = entry()
    *parents, name = path.split(".")
    inside: Any = document
    for parent in parents:
        inside = inside[int(parent) if parent.isdigit() else parent]
    if value is None:
        del inside[name]
    else:
        inside[name] = value
    return line(document)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"id": "\xff"}', "UTF-8"),
        (b"[]", "no object"),
        (b"[" * 100_000, "too deeply"),
        (line(entry())[:-20], "not JSON"),
        (changed("id", None), "id is missing"),
        (changed("schema", "paceline.ledger/2"), "its schema is not paceline.ledger/1"),
        (changed("received_unix_ns", "now"), "received_unix_ns is of another type"),
        (changed("received_unix_ns", -1), "received_unix_ns is in no year"),
        (changed("received_unix_ns", 10**21), "received_unix_ns is in no year"),
        (changed("cost_usd", float("nan")), "cost_usd is no number"),
        (changed("cost_usd", float("inf")), "cost_usd is no number"),
        (changed("cost_usd", 10**400), "cost_usd is no number"),
        (changed("streaming", 1), "streaming is of another type"),
        (changed("queued_ns", True), "queued_ns is of another type"),
        (changed("attempts", [3]), "no object"),
        (changed("attempts.0.usage.prompt_tokens", None), r"attempts\[0\].usage.prompt_tokens is missing"),
        (changed("attempts.0.row.end_ns", None), "row.end_ns is missing"),
        (changed("attempts.0.row.warmup", None), "row.warmup is missing"),
    ],
)
def test_what_is_wrong_is_said_without_the_lines_content(raw: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why) as error:
        read_entry(raw)
    assert type(error.value) is ValueError


def test_fields_of_a_later_data_plane_are_let_be() -> None:
    document = {**entry(), "colour": "blue"}
    assert read_entry(json.dumps(document).encode())["colour"] == "blue"
