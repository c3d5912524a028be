"""The server's side for the terminal, and as Markdown."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from paceline.report.server import ServerFigures
from paceline.report.server_words import HEAD, table_rows
from paceline.report.words import printable


def server_parts(server: ServerFigures | None) -> list[RenderableType]:
    """A small table; nothing where nothing was sampled in the steady part."""
    rows = table_rows(server) if server is not None else []
    if server is None or not rows:
        return []
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column(printable(title_words(server)), no_wrap=True, header_style="dim")
    for name in HEAD:
        table.add_column(name, justify="right", no_wrap=True, header_style="dim")
    for cells in rows:
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return [Text(), table]


def title_words(server: ServerFigures) -> str:
    """What a table of the figures is of."""
    return f"{server.title}, by its own metrics" if server.title else "GPUs of this machine"


def server_markdown(server: ServerFigures | None) -> list[str]:
    """The same table."""
    from paceline.report.markdown import table_lines

    rows = table_rows(server) if server is not None else []
    if server is None or not rows:
        return []
    return ["", *table_lines([title_words(server), *HEAD], rows)]
