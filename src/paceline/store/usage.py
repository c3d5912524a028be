"""Who used what: requests, tokens, cost and speed of the gateway's own traffic, grouped and ranked.

DuckDB does the sums: over millions of requests it reads only the columns that are asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from paceline.store.traffic import Traffic, read_traffic

BY = ("model", "provider", "offer", "tier", "key", "app", "protocol", "outcome", "day", "hour")
SORTS = ("tokens", "requests", "cost", "ok", "ttft", "tok_s", "group")
# What is a matter of an offer that was asked, of which a request may have several.
_OF_ATTEMPT = frozenset({"model", "provider", "offer", "tier"})
_TIMES_US = {"day": 86_400_000_000, "hour": 3_600_000_000}
_TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")


@dataclass(frozen=True)
class UsageQuery:
    """What is asked. `since` is in the window, `until` is not; None: no bound. `limit`: so many groups."""

    since: datetime | None = None
    until: datetime | None = None
    by: tuple[str, ...] = ("model",)
    model: str | None = None
    key: str | None = None
    app: str | None = None
    provider: str | None = None
    sort: str | None = None
    limit: int | None = None

    @property
    def filters(self) -> dict[str, str]:
        """Those that are set."""
        named = {"model": self.model, "key": self.key, "app": self.app, "provider": self.provider}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def of_attempts(self) -> bool:
        """Whether figures are of the offers that were asked, not of the requests of clients."""
        return bool(_OF_ATTEMPT & {*self.by, *self.filters})

    @property
    def order(self) -> str:
        """By what groups are sorted: times in their order, else the most tokens first."""
        return self.sort or ("group" if self.by and self.by[0] in _TIMES_US else "tokens")


@dataclass(frozen=True)
class UsageRow:
    """One group, or all. `group`: a value for each of `by`, None where there is none.

    `requests`: of a request that several offers were asked for, the one that served (or the last) counts it.
    `attempts`: offers asked. `ok` of `judged` ended well; who left, or was called off, is not judged. TTFT in
    ms and decode rate of `ttft_n` and `decode_n` streams. `cost_is_partial`: `cost_usd` is a lower bound.
    """

    group: tuple[str | None, ...]
    requests: int
    attempts: int
    ok: int
    judged: int
    probes: int
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    cached_tokens: int
    tokens_estimated: bool
    cost_usd: float
    cost_is_partial: bool
    ttft_n: int
    ttft_p50_ms: float | None
    ttft_p95_ms: float | None
    decode_n: int
    decode_p50_tok_s: float | None

    @property
    def tokens(self) -> int:
        """Prompt and generated tokens."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def ok_share(self) -> float | None:
        """None where nothing can be judged."""
        return self.ok / self.judged if self.judged else None


@dataclass(frozen=True)
class Usage:
    """The answer: `rows` sorted, at most `limit` of all `n_groups`; `total` is of all of them.

    `unread_lines`: lines of the ledger that could not be read, of any time; `unread`: some of them, in words.
    """

    query: UsageQuery
    rows: tuple[UsageRow, ...]
    total: UsageRow
    n_groups: int
    unread_lines: int
    unread: tuple[str, ...]


def usage(query: UsageQuery, *, at: Path | None = None) -> Usage:
    """What the gateway's traffic was, to the last whole line of its ledger; `at`: another home.

    Raises StoreError.
    """
    return read_traffic(lambda traffic: _usage(traffic, query), at=at)


def _usage(traffic: Traffic, query: UsageQuery) -> Usage:
    found = [_row(values, query) for values in _execute(traffic, query)]
    # Of nothing there is no group, but a total there is.
    total = next((row for is_total, row in found if is_total), None) or _nothing(query)
    rows = sorted((row for is_total, row in found if not is_total), key=_order(query.order))
    named = traffic.unread.named
    return Usage(
        query,
        tuple(rows[: query.limit]),
        total,
        len(rows),
        traffic.unread.n,
        tuple(f"segment {one.segment:08d} at byte {one.offset:,}: {one.why}" for one in named),
    )


def _execute(traffic: Traffic, query: UsageQuery) -> list[tuple[Any, ...]]:
    import duckdb

    # Nothing is to be fetched from anywhere, whatever a query would like.
    config: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    with duckdb.connect(config=config) as connection:
        connection.register("rest", traffic.rest)
        try:
            return connection.execute(_sql(traffic, query), _parameters(query)).fetchall()
        except duckdb.IOException:
            missing = [part.path for part in traffic.parts if not part.path.exists()]
            if missing:
                raise FileNotFoundError(str(missing[0])) from None
            raise


def _sql(traffic: Traffic, query: UsageQuery) -> str:
    names = ", ".join("'{}'".format(str(part.path).replace("'", "''")) for part in traffic.parts)
    stored = f"SELECT {{}} FROM read_parquet([{names}]) UNION ALL " if traffic.parts else ""
    rows = f"{stored}SELECT {{}} FROM rest".replace("{}", _columns(query))
    source = _attempts(rows) if query.of_attempts else f"SELECT * FROM ({rows})"
    groups = [_group(name) for name in query.by]
    keys = ", ".join(f"g{place}" for place in range(len(groups)))
    sets = f"GROUP BY GROUPING SETS (({keys}), ())" if groups else ""
    total = f"GROUPING({keys})" if groups else "1"
    picked = "".join(f"{group} AS g{place}, " for place, group in enumerate(groups))
    return f"""
        SELECT {total} <> 0{", " if keys else ""}{keys}, {_FIGURES}
        FROM (SELECT {picked}* FROM ({source}) WHERE {_where(query)}) {sets}"""


_SHARED = ("received_at", "key", "protocol", "outcome", "cost_usd", "cost_is_partial", "tokens_estimated")
_OFFER = ("model", "provider", "offer", "tier")


def _columns(query: UsageQuery) -> str:
    """Columns of a request that are needed for anything that is asked."""
    app = "coalesce(app_title, app_referer) AS app"
    names = [*_SHARED, *_TOKENS, "decode_tok_s", "attempts"]
    if query.of_attempts:
        return ", ".join([*names, *_OFFER, app, "upstream_ttft_ms", "upstream_outcome", "tried"])
    judged = "outcome NOT IN ('client_gone', 'probe') AS judged"
    return ", ".join([*names, app, "ttft_ms", "1 AS counted", "outcome = 'ok' AS ok", judged])


def _attempts(rows: str) -> str:
    """One row an attempt; a request without any, or with one, is a row itself."""
    judged = (
        "coalesce({}upstream_outcome NOT IN ('cancelled', 'hung_up'), outcome <> 'client_gone') AS judged"
    )
    whole = ", ".join(["received_at", "key", "protocol", "outcome", "app"])
    figures = ["cost_is_partial", "tokens_estimated", *_TOKENS, "decode_tok_s", *_OFFER]
    one = ", ".join([whole, "cost_usd", *figures, "upstream_ttft_ms AS ttft_ms", "1 AS counted", "attempts"])
    each = ", ".join([whole, "coalesce(t.cost_usd, 0) AS cost_usd", *(f"t.{name}" for name in figures)])
    return f"""
        WITH requests AS ({rows})
        SELECT {one}, coalesce(upstream_outcome = 'ok', false) AS ok, {judged.format("")}
        FROM requests WHERE attempts <= 1
        UNION ALL
        SELECT {each}, t.upstream_ttft_ms AS ttft_ms, t.counted::INT AS counted, 1 AS attempts,
            t.upstream_outcome = 'ok' AS ok, {judged.format("t.")}
        FROM (SELECT *, unnest(tried) AS t FROM requests WHERE attempts > 1)"""


_FIGURES = ", ".join(
    [
        "sum(counted)",
        "sum(attempts)",
        "count(*) FILTER (ok AND judged)",
        "count(*) FILTER (judged)",
        "sum(counted) FILTER (outcome = 'probe')",
        *(f"sum({name})" for name in _TOKENS),
        "bool_or(tokens_estimated)",
        # Of many small sums the error would add up otherwise.
        "fsum(cost_usd)",
        "bool_or(cost_is_partial)",
        "count(ttft_ms)",
        "quantile_cont(ttft_ms, [0.5, 0.95])",
        "count(decode_tok_s)",
        "quantile_cont(decode_tok_s, 0.5)",
    ]
)


def _group(name: str) -> str:
    return f"epoch_us(received_at) // {_TIMES_US[name]}" if name in _TIMES_US else name


def _where(query: UsageQuery) -> str:
    bounds = ["epoch_us(received_at) >= $since"] if query.since else []
    bounds += ["epoch_us(received_at) < $until"] if query.until else []
    return " AND ".join([*bounds, *(f"{name} = ${name}" for name in query.filters)]) or "true"


def _parameters(query: UsageQuery) -> dict[str, Any]:
    bounds = {"since": query.since, "until": query.until}
    return {name: _us(at) for name, at in bounds.items() if at is not None} | query.filters


def _us(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _row(values: tuple[Any, ...], query: UsageQuery) -> tuple[bool, UsageRow]:
    """One row of the answer, and whether it is the total."""
    n = len(query.by)
    is_total, keys, figures = bool(values[0]), values[1 : 1 + n], values[1 + n :]
    requests, attempts, ok, judged, probes, *rest = figures
    *tokens, estimated, cost_usd, partial, ttft_n, ttft_ms, decode_n, decode_tok_s = rest
    p50_ms, p95_ms = ttft_ms or (None, None)
    return is_total, UsageRow(
        group=tuple(_label(name, key) for name, key in zip(query.by, keys, strict=True)),
        requests=int(requests or 0),
        attempts=int(attempts or 0),
        ok=ok,
        judged=judged,
        probes=int(probes or 0),
        **{name: int(n or 0) for name, n in zip(_TOKENS, tokens, strict=True)},
        tokens_estimated=bool(estimated),
        cost_usd=float(cost_usd or 0.0),
        cost_is_partial=bool(partial),
        ttft_n=ttft_n,
        ttft_p50_ms=p50_ms,
        ttft_p95_ms=p95_ms,
        decode_n=decode_n,
        decode_p50_tok_s=decode_tok_s,
    )


def _label(name: str, key: Any) -> str | None:
    """Days as `2026-11-30`, hours as `2026-11-30 12:00`, UTC."""
    if key is None or name not in _TIMES_US:
        return None if key is None else str(key)
    moment = datetime.fromtimestamp(key * _TIMES_US[name] / 1e6, UTC)
    return f"{moment:%Y-%m-%d}" if name == "day" else f"{moment:%Y-%m-%d %H:00}"


def _order(order: str) -> Callable[[UsageRow], tuple[Any, ...]]:
    """What to sort by: the most first, but the shortest TTFT; groups without the figure last."""

    def key(row: UsageRow) -> tuple[Any, ...]:
        ttft = row.ttft_p50_ms
        figure = {
            "tokens": -row.tokens,
            "requests": -row.requests,
            "cost": -row.cost_usd,
            "ok": None if row.ok_share is None else -row.ok_share,
            "ttft": ttft,
            "tok_s": None if row.decode_p50_tok_s is None else -row.decode_p50_tok_s,
            "group": 0,
        }[order]
        return figure is None, figure or 0, tuple(name or "" for name in row.group)

    return key


def _nothing(query: UsageQuery) -> UsageRow:
    nothing = (0, 0, 0, 0, None, *([0] * len(_TOKENS)), False, 0.0, False, 0, None, 0, None)
    return _row((True, *([None] * len(query.by)), *nothing), query)[1]
