"""Reads Prometheus' text: the exposition format 0.0.4, and OpenMetrics 1.0.

Written from the two specifications: https://prometheus.io/docs/instrumenting/exposition_formats/ and
https://prometheus.io/docs/specs/om/open_metrics_spec/. Only lines of wanted metrics are looked into, so that
a page of thousands of histogram buckets costs little.
"""

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

LONGEST_LINE = 16 * 1024
MOST_LINES = 200_000
MOST_SAMPLES = 4_096
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "\\": "\\", '"': '"'}
# Python reads more as a number: 1_000, infinity, digits of other scripts.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"(?:[+-]?inf(?:inity)?|nan)", re.IGNORECASE)


@dataclass(frozen=True)
class Sample:
    """One line of a page: a finite value."""

    name: str
    labels: dict[str, str]
    value: float


@dataclass
class Page:
    """What was read. `bad`: lines of wanted metrics that make no sense. `left_out`: too many, or too long.

    `partial`: metrics of which lines were left out, so that a sum of the others is too low.
    """

    samples: list[Sample] = field(default_factory=list)
    bad: int = 0
    left_out: int = 0
    partial: set[str] = field(default_factory=set)


def read_page(text: str, wanted: Collection[str]) -> Page:
    """The samples of the wanted metrics, by their names as they stand on the lines (`x_total`, `x_sum`).

    Never raises, whatever the text is. A value that is not finite is no sample and no error.
    """
    page = Page()
    wanted = frozenset(wanted)
    for line in _lines(text):
        found = _NAME.match(line)
        if found is None or found.group() not in wanted:
            continue
        if len(line) > LONGEST_LINE or len(page.samples) >= MOST_SAMPLES:
            page.left_out += 1
            page.partial.add(found.group())
            continue
        _read_line(line.rstrip("\r"), found, page)
    return page


def _lines(text: str) -> Iterator[str]:
    """One after the other: a page of nothing but line ends would be long as a list."""
    at = 0
    for _ in range(MOST_LINES):
        end = text.find("\n", at)
        yield text[at:] if end < 0 else text[at:end]
        if end < 0:
            return
        at = end + 1


def _read_line(line: str, name: "re.Match[str]", page: Page) -> None:
    labels, at = _read_labels(line, name.end())
    # A value, perhaps a time stamp, and in OpenMetrics perhaps an exemplar.
    rest = line[at:].split("#", 1)[0].split() if at >= 0 else []
    if not rest or len(rest) > 2 or (len(rest) == 2 and not _NUMBER.fullmatch(rest[1])):
        page.bad += 1
    elif _NUMBER.fullmatch(rest[0]):
        value = float(rest[0])
        if math.isfinite(value):
            page.samples.append(Sample(name.group(), labels, value))
    elif not _NOT_FINITE.fullmatch(rest[0]):
        page.bad += 1


def _read_labels(line: str, at: int) -> tuple[dict[str, str], int]:
    """The labels from `at` on, and where the rest begins; -1 where they make no sense."""
    labels: dict[str, str] = {}
    while line[at : at + 1] in (" ", "\t"):
        at += 1
    if line[at : at + 1] != "{":
        # Between name and value there is a blank.
        return labels, at if line[at - 1 : at] in (" ", "\t") else -1
    at += 1
    while True:
        one = _LABEL.match(line, at)
        if one is None:
            break
        labels[one.group(1)] = _ESCAPE.sub(lambda m: _ESCAPED.get(m.group(1), m.group()), one.group(2))
        at = one.end()
        if line[at : at + 1] != ",":
            break
        at += 1
    while line[at : at + 1] in (" ", "\t"):
        at += 1
    return labels, at + 1 if line[at : at + 1] == "}" else -1
