"""A chart with its words: what to see, how to read it, and its figures as a table."""

from dataclasses import dataclass

from paceline.report.charts import Spec


@dataclass(frozen=True)
class Drawn:
    """One chart of a page.

    name: that the page draws it under. says: in a sentence or two what there is to see, from the data. about:
    how to read it. head, rows: its figures as text. numbered: on a narrow page its points have the numbers of
    the board's rows instead of names. names_px: what names beside the plot take; axes_px: what axes take,
    where it is not what the page thinks.
    """

    name: str
    title: str
    says: str
    about: str
    spec: Spec
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbered: bool = False
    names_px: int = 0
    axes_px: int | None = None
