"""On which line of a TOML text each table and key stands: `tomllib` does not say."""

import re
from bisect import bisect_left
from contextlib import suppress

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_LITERAL = re.compile(r"'([^'\n]*)'")
_LONG = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|' + r"'''.*?'{3,5}", re.DOTALL)
_PLAIN = re.compile(r"[^,\]}#\n]*")


def key_lines(text: str) -> dict[Path, int]:
    """Path of each table, key and list item, as in `("offer", 0, "price", "ref")`, to its line, from 1.

    The text must be one that `tomllib` has read.
    """
    scanner = _Scanner(text)
    with suppress(RecursionError, IndexError):
        scanner.document()
    return scanner.lines


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """The line of a path, or of the nearest thing around it that is written."""
    for size in range(len(path), 0, -1):
        if path[:size] in lines:
            return lines[path[:size]]
    return None


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._breaks = [found.start() for found in re.finditer("\n", text)]
        # How many tables of a list of tables there are so far.
        self._counts: dict[Path, int] = {}
        self.lines: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
        while True:
            self._skip(_BLANK)
            if self._at >= len(self._text):
                return
            if self._text.startswith("[", self._at):
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        many = self._text.startswith("[[", self._at)
        start = self._at
        self._at += 2 if many else 1
        names = self._key()
        self._at += 2 if many else 1
        path: Path = ()
        for name in names[:-1]:
            path = self._inside((*path, name))
        path = (*path, names[-1])
        if many:
            self._note(path, start)
            self._counts[path] = self._counts.get(path, 0) + 1
        path = self._inside(path)
        self._note(path, start)
        return path

    def _inside(self, path: Path) -> Path:
        """A table of that name is meant in the last of a list of tables."""
        count = self._counts.get(path)
        return path if count is None else (*path, count - 1)

    def _pair(self, table: Path) -> None:
        start = self._at
        path = table
        for name in self._key():
            path = (*path, name)
            self._note(path, start)
        self._at += 1  # the equals sign
        self._value(path)

    def _key(self) -> list[str]:
        names = []
        while True:
            self._skip(_SPACE)
            for pattern in (_BARE_KEY, _BASIC, _LITERAL):
                found = pattern.match(self._text, self._at)
                if found:
                    names.append(found.group(found.lastindex or 0))
                    self._at = found.end()
                    break
            else:
                raise IndexError
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return names
            self._at += 1

    def _value(self, path: Path) -> None:
        self._skip(_SPACE)
        first = self._text[self._at]
        if first == "{":
            self._members(path, "}")
        elif first == "[":
            self._members(path, "]")
        else:
            for pattern in (_LONG, _BASIC, _LITERAL, _PLAIN):
                found = pattern.match(self._text, self._at)
                if found:
                    self._at = found.end()
                    return

    def _members(self, path: Path, close: str) -> None:
        """An inline table or a list."""
        self._at += 1
        place = 0
        while True:
            self._skip(_BLANK)
            if self._text[self._at] == close:
                self._at += 1
                return
            if self._text[self._at] == ",":
                self._at += 1
            elif close == "}":
                self._pair(path)
            else:
                self._note((*path, place), self._at)
                self._value((*path, place))
                place += 1

    def _note(self, path: Path, at: int) -> None:
        self.lines.setdefault(path, bisect_left(self._breaks, at) + 1)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._at)
        if found:
            self._at = found.end()
