"""A report's requests as CSV, one line a request."""

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paceline.report.model import Report
from paceline.stats.frame import Frame
from paceline.stats.metrics import METRICS
from paceline.stats.turns import call_names
from paceline.store.schema import ROW_SCHEMA

# Written by the server: a spreadsheet must not take them for formulas.
_FOREIGN = ("response_id", "error", "finish_reason", "server_model", "server_timings")
_FORMULA = r"^([=+\-@\t\r])"


def columns() -> list[str]:
    """The columns in order: those of the row without lists and text, the name of the call, and the metrics
    of a request.
    """
    return [*_plain_columns(), "call", *_request_metrics()]


def render_csv(report: Report) -> str:
    """All requests, warm-up included, with a head line; an empty field where there is no value."""
    import pyarrow.csv as pacsv

    rows = report.evidence.rows
    table = rows.select(_plain_columns())
    for name in _FOREIGN:
        place = table.column_names.index(name)
        table = table.set_column(place, name, _no_formula(table[name]))
    names = call_names(Frame(rows), report.evidence.plan)
    table = table.append_column("call", pa.array(names.tolist(), mask=names == ""))
    for name in _request_metrics():
        samples = report.evidence.samples[name]
        values = np.full(rows.num_rows, np.nan)
        values[samples.row] = samples.values
        table = table.append_column(name, pa.array(values, mask=np.isnan(values)))
    sink = io.BytesIO()
    pacsv.write_csv(table, sink)
    return sink.getvalue().decode("utf-8")


def _plain_columns() -> list[str]:
    return [field.name for field in ROW_SCHEMA if not pa.types.is_list(field.type) and field.name != "text"]


def _request_metrics() -> list[str]:
    """Pooled metrics have many values a request, and connection times are columns of the row."""
    return [
        name for name, info in METRICS.items() if not info.pooled and name not in ("connect_ms", "tls_ms")
    ]


def _no_formula(column: Any) -> Any:
    return pc.replace_substring_regex(column, pattern=_FORMULA, replacement=r"'\1")
