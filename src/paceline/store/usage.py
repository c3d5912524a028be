"""Who used what: requests, tokens, cost and speed of the gateway's own traffic, grouped and ranked.

DuckDB does the sums: over millions of requests it reads only the columns that are asked for.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from paceline.store.traffic import Traffic, read_traffic

BY = ("model", "provider", "offer", "tier", "key", "app", "protocol", "outcome", "code", "day", "hour")
SORTS = ("tokens", "requests", "cost", "ok", "ttft", "tok_s", "group")
# What is a matter of an offer that was asked, of which a request may have several.
_OF_ATTEMPT = frozenset({"provider", "offer", "tier"})
_TIMES_US = {"day": 86_400_000_000, "hour": 3_600_000_000}
_TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")


@dataclass(frozen=True)
class UsageQuery:
    """What is asked. `since` is in the window, `until` is not; None: no bound. `limit`: so many groups.

    `provider` matches in any case, as in routing.
    """

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

    The model is the one that served (or was asked last), or else the one that the client asked for.

    `requests`: of a request that several offers were asked for, the one that served (or the last) counts it.
    `attempts`: offers asked. `ok` of `judged` (requests, or attempts: `UsageQuery.of_attempts`) ended well;
    who left, or was called off, is not judged. TTFT in ms and decode rate of `ttft_n` and `decode_n` streams.
    `cost_is_partial`: `cost_usd` is a lower bound.
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

    `key_names`: of keys by their ids, where the asker knows them. `unread_lines`: lines of the ledger that
    could not be read, of any time; `unread`: some of them, in words.
    """

    query: UsageQuery
    rows: tuple[UsageRow, ...]
    total: UsageRow
    n_groups: int
    unread_lines: int
    unread: tuple[str, ...]
    key_names: Mapping[str, str] = field(default_factory=dict)


def usage(query: UsageQuery, *, at: Path | None = None) -> Usage:
    """What the gateway's traffic was, to the last whole line of its ledger; `at`: another home.

    Raises StoreError.
    """
    return read_traffic(lambda traffic: _usage(traffic, query), at=at)


def _usage(traffic: Traffic, query: UsageQuery) -> Usage:
    with _connection(traffic) as ask:
        source = _source(traffic, query)
        groups = [_row(values, query) for values in ask(_sql(source, query), _parameters(query))]
        if len(groups) == 1:
            total = replace(groups[0], group=(None,) * len(query.by))
        else:
            found = ask(_quantiles_sql(source, query), _parameters(query)) if groups else [(None, None)]
            total = _total(groups, query, found[0])
    rows = sorted(groups, key=_order(query.order)) if query.by else []
    return Usage(
        query,
        tuple(rows[: query.limit]),
        total,
        len(rows),
        traffic.unread.n,
        tuple(f"segment {one.segment:08d} at byte {one.offset:,}: {one.why}" for one in traffic.unread.named),
    )


@contextmanager
def _connection(traffic: Traffic) -> Iterator[Callable[[str, dict[str, Any]], list[tuple[Any, ...]]]]:
    """What answers SQL with parameters; the ledger's rest is the table `rest`.

    Raises FileNotFoundError where a part went away, since it was merged.
    """
    import duckdb

    # Nothing is to be fetched from anywhere, whatever a query would like.
    config: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    with duckdb.connect(config=config) as connection:
        connection.register("rest", traffic.rest)
        try:
            yield lambda sql, parameters: connection.execute(sql, parameters).fetchall()
        except duckdb.IOException:
            missing = [part.path for part in traffic.parts if not part.path.exists()]
            if missing:
                raise FileNotFoundError(str(missing[0])) from None
            raise


def _source(traffic: Traffic, query: UsageQuery) -> str:
    """The rows that are counted: requests, or attempts."""
    names = ", ".join("'{}'".format(str(part.path).replace("'", "''")) for part in traffic.parts)
    stored = f"SELECT {{}} FROM read_parquet([{names}]) UNION ALL " if traffic.parts else ""
    rows = f"{stored}SELECT {{}} FROM rest".replace("{}", _columns(query))
    return _attempts(rows) if query.of_attempts else rows


def _sql(source: str, query: UsageQuery) -> str:
    groups = [f"{_group(name)} AS g{place}" for place, name in enumerate(query.by)]
    keys = ", ".join(f"g{place}" for place in range(len(groups)))
    return f"""
        SELECT {", ".join([*([keys] if keys else []), _COUNTS_SQL, _QUANTILES_SQL])}
        FROM (SELECT {", ".join([*groups, "*"])} FROM ({source}) WHERE {_where(query)})
        {f"GROUP BY {keys}" if keys else ""}"""


def _quantiles_sql(source: str, query: UsageQuery) -> str:
    return f"SELECT {_QUANTILES_SQL} FROM ({source}) WHERE {_where(query)}"


_SHARED = (
    "ledger_offset",
    "received_at",
    "key",
    "protocol",
    "outcome",
    "code",
    "cost_usd",
    "cost_is_partial",
    "tokens_estimated",
)
_OFFER = ("model", "provider", "offer", "tier")
_MODEL = "coalesce(model, nullif(asked_model, '')) AS model"


def _columns(query: UsageQuery) -> str:
    """Columns of a request that are needed for anything that is asked."""
    app = "coalesce(app_title, app_referer) AS app"
    names = [*_SHARED, *_TOKENS, "decode_tok_s", "attempts"]
    if query.of_attempts:
        return ", ".join([*names, _MODEL, *_OFFER[1:], app, "upstream_ttft_ms", "upstream_outcome", "tried"])
    judged = "outcome NOT IN ('client_gone', 'probe') AS judged"
    return ", ".join([*names, _MODEL, app, "ttft_ms", "1 AS counted", "outcome = 'ok' AS ok", judged])


def _attempts(rows: str) -> str:
    """One row an attempt; a request without any, or with one, is a row itself."""
    # A request that no offer was asked for says nothing of any.
    judged = "coalesce({}upstream_outcome NOT IN ('cancelled', 'hung_up'), false) AS judged"
    whole = ", ".join(["received_at", "key", "protocol", "outcome", "code", "app"])
    figures = ["cost_is_partial", "tokens_estimated", *_TOKENS, "decode_tok_s", *_OFFER]
    one = ", ".join([whole, "cost_usd", *figures, "upstream_ttft_ms AS ttft_ms", "1 AS counted", "attempts"])
    each = ", ".join([whole, "coalesce(t.cost_usd, 0) AS cost_usd", *(f"t.{name}" for name in figures)])
    return f"""
        SELECT {one}, coalesce(upstream_outcome = 'ok', false) AS ok, {judged.format("")}
        FROM ({rows}) WHERE attempts <= 1
        UNION ALL
        SELECT {each}, t.upstream_ttft_ms AS ttft_ms, t.counted::INT AS counted, 1 AS attempts,
            t.upstream_outcome = 'ok' AS ok, {judged.format("t.")}
        FROM (SELECT *, unnest(tried) AS t FROM ({rows}) WHERE attempts > 1)"""


_COUNTS_SQL = ", ".join(
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
        "count(decode_tok_s)",
    ]
)
_QUANTILES_SQL = "quantile_cont(ttft_ms, [0.5, 0.95]), quantile_cont(decode_tok_s, 0.5)"


def _group(name: str) -> str:
    return f"epoch_us(received_at) // {_TIMES_US[name]}" if name in _TIMES_US else name


def _where(query: UsageQuery) -> str:
    bounds = ["epoch_us(received_at) >= $since"] if query.since else []
    bounds += ["epoch_us(received_at) < $until"] if query.until else []
    filters = [
        f"lower({name}) = lower(${name})" if name == "provider" else f"{name} = ${name}"
        for name in query.filters
    ]
    return " AND ".join([*bounds, *filters]) or "true"


def _parameters(query: UsageQuery) -> dict[str, Any]:
    bounds = {"since": query.since, "until": query.until}
    return {name: _us(at) for name, at in bounds.items() if at is not None} | query.filters


def _us(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _row(values: tuple[Any, ...], query: UsageQuery) -> UsageRow:
    """One row of the answer."""
    n = len(query.by)
    keys, counts, (ttft_ms, decode_tok_s) = values[:n], values[n:-2], values[-2:]
    p50_ms, p95_ms = ttft_ms or (None, None)
    requests, attempts, ok, judged, probes, *tokens, estimated, cost_usd, partial, ttft_n, decode_n = counts
    return UsageRow(
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
        decode_n=decode_n,
        ttft_p50_ms=p50_ms,
        ttft_p95_ms=p95_ms,
        decode_p50_tok_s=decode_tok_s,
    )


def _total(groups: list[UsageRow], query: UsageQuery, quantiles: tuple[Any, ...]) -> UsageRow:
    """All groups in one. `quantiles`: of all, as these cannot be added up."""
    p50_ms, p95_ms = quantiles[0] or (None, None)
    added = ("requests", "attempts", "ok", "judged", "probes", *_TOKENS, "ttft_n", "decode_n")
    return UsageRow(
        group=(None,) * len(query.by),
        **{name: sum(getattr(row, name) for row in groups) for name in added},
        tokens_estimated=any(row.tokens_estimated for row in groups),
        cost_usd=math.fsum(row.cost_usd for row in groups),
        cost_is_partial=any(row.cost_is_partial for row in groups),
        ttft_p50_ms=p50_ms,
        ttft_p95_ms=p95_ms,
        decode_p50_tok_s=quantiles[1],
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
