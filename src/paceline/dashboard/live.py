"""`/live`: the gateway's traffic as it goes on; `/live/events`: the same, about once a second."""

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from paceline.dashboard.events import EventStream
from paceline.dashboard.ledger_tail import LastRequest
from paceline.dashboard.live_feed import KEPT, Feed, Moment, TooManyError
from paceline.dashboard.live_reading import Rates, Reading
from paceline.dashboard.render import fill
from paceline.dashboard.state import State
from paceline.report.cells import usd_words
from paceline.report.words import printable
from paceline.units import format_ms, format_number, format_percentage

_WIDTH, _HEIGHT = 240, 46
_NONE = "-"


def live_routes(state: State) -> list[Route]:
    """The page of live traffic, and its stream."""
    feed = Feed(state)

    async def page(_: Request) -> HTMLResponse:
        moment = await feed.now()
        return HTMLResponse(fill("dashboard/live.html", {"title": "Live", "here": "/live", **shown(moment)}))

    async def events(_: Request) -> ASGIApp:
        try:
            leave = feed.enter()
        except TooManyError:
            # The page then reads itself anew now and then.
            return PlainTextResponse("as many watch as may\n", 503, headers={"retry-after": "10"})
        return EventStream(lambda: _told(feed), state.closing, leave)

    return [Route("/live", page), Route("/live/events", events)]


async def _told(feed: Feed) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    async for moment in feed.moments():
        yield "live", {"html": fill("dashboard/live_part.html", shown(moment))}


def shown(moment: Moment) -> dict[str, Any]:
    """What the page says of a moment."""
    reading = moment.reading
    return {
        "watched": moment.watched,
        "problem": moment.problem,
        "is_up": reading is not None,
        "states": _states(moment),
        "cards": _cards(moment) if reading is not None else [],
        "offers": [_offer(one) for one in reading.offers] if reading is not None else [],
        "window": f"{reading.window_s / 60:g} min" if reading and reading.window_s else "its window",
        "last": [_last(one) for one in moment.last],
    }


def _states(moment: Moment) -> list[str]:
    reading = moment.reading
    if reading is None:
        return []
    told = [
        (reading.draining, "it drains: it takes no new requests"),
        (reading.ledger_failing, "its ledger cannot be written: paceline's terminal says why"),
    ]
    return [text for is_so, text in told if is_so]


def _cards(moment: Moment) -> list[dict[str, Any]]:
    reading, history = moment.reading, moment.history
    assert reading is not None
    now = _recent(history)

    def card(name: str, unit: str, value: float | str | None, more: str, line: str = "") -> dict[str, Any]:
        text = value if isinstance(value, str) else _NONE if value is None else format_number(value)
        return {"name": name, "unit": unit, "value": text, "more": more, "line": line}

    return [
        card(
            "Requests",
            "/s",
            now.requests_s if now else None,
            f"{reading.requests:,.0f} since its start",
            spark([one.requests_s for one in history]),
        ),
        card(
            "Generated",
            "tok/s",
            now.output_tok_s if now else None,
            f"{reading.tokens:,.0f} tokens since its start",
            spark([one.output_tok_s for one in history]),
        ),
        card("In flight", "", f"{reading.in_flight:,}", f"{reading.connections:,} connections"),
        card(
            "Not ok",
            "/s",
            now.failed_s if now else None,
            f"{reading.failed:,.0f} since its start",
            spark([one.failed_s for one in history]),
        ),
        _cost(reading, now),
    ]


def _cost(reading: Reading, now: Rates | None) -> dict[str, Any]:
    """Where prices of some offers are not known, what is known is a lower bound."""
    unpriced = reading.unpriced > 0.0
    known = reading.cost_usd > 0.0 or not unpriced
    per_hour = _NONE if now is None or not known else usd_words(max(now.usd_h, 0.0))
    more = f"{_usd(reading.cost_usd, partial=unpriced)}{' USD since its start' if known else ''}"
    return {"name": "Cost", "unit": "USD/h", "value": per_hour, "more": more, "line": ""}


def _recent(history: Sequence[Rates]) -> Rates | None:
    """The mean of the last five seconds: a single one jumps."""
    last = history[-5:]
    if not last:
        return None
    names = ("requests_s", "failed_s", "output_tok_s", "usd_h")
    return Rates(**{name: math.fsum(getattr(one, name) for one in last) / len(last) for name in names})


def spark(values: Sequence[float]) -> str:
    """Points of a line from left (two minutes ago) to right (now), in 240 by 46; "" of too few."""
    if len(values) < 2:
        return ""
    most = max(values) or 1.0
    step = _WIDTH / (KEPT - 1)
    first = _WIDTH - step * (len(values) - 1)
    points = (
        f"{first + step * place:.1f},{_HEIGHT - 3 - (_HEIGHT - 6) * value / most:.1f}"
        for place, value in enumerate(values)
    )
    return " ".join(points)


def _offer(one: Mapping[str, Any]) -> dict[str, Any]:
    ttft, rate, success = (_figures(one.get(name)) for name in ("ttft_ms", "output_tok_s", "success"))
    breaker = str(one.get("breaker", ""))
    resting = one.get("resting_ms")
    return {
        "name": _text(one.get("offer")),
        "model": _text(one.get("model")),
        "where": f"{_text(one.get('provider'))}, {_text(one.get('tier'))}",
        "breaker": breaker if breaker in ("closed", "open", "half_open") else "unknown",
        "breaker_text": breaker.replace("_", " ") or "unknown",
        "resting": f"rests {format_ms(float(resting))}"
        if isinstance(resting, int | float) and resting
        else "",
        "cold": bool(one.get("cold")),
        "ttft": _ms(ttft.get("p50")),
        "ttft_tail": _ms(ttft.get("p95")),
        "rate": _number(rate.get("p50")),
        "n": _count(ttft.get("n")),
        "ok": _share(success),
        "load": _load(one),
        "downgrades": int(one["downgrades"]) if isinstance(one.get("downgrades"), int) else 0,
    }


def _figures(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}


def _ms(found: Any) -> str:
    value = _value(found)
    return _NONE if value is None else f"{'>= ' if found.get('at_least') else ''}{format_number(value)}"


def _number(found: Any) -> str:
    value = _value(found)
    return _NONE if value is None else format_number(value)


def _share(found: Mapping[str, Any]) -> str:
    value = _value(found)
    return _NONE if value is None else format_percentage(value)


def _value(found: Any) -> float | None:
    value = found.get("value") if isinstance(found, dict) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return float(value)


def _load(one: Mapping[str, Any]) -> str:
    in_flight, places, waiting = (one.get(name) for name in ("in_flight", "places", "waiting"))
    text = f"{in_flight}" if isinstance(in_flight, int) else _NONE
    if isinstance(places, int):
        text += f" of {places}"
    return f"{text}, {waiting} wait" if isinstance(waiting, int) and waiting else text


def _last(one: LastRequest) -> dict[str, Any]:
    others = [name for name in one.tried if name != one.offer]
    return {
        "at": f"{one.at:%H:%M:%S}",
        "model": printable(one.model),
        "offer": printable(one.offer or "none"),
        "after": printable(", ".join(others)),
        "outcome": printable(one.outcome if one.code is None else f"{one.outcome}: {one.code}"),
        "is_ok": one.outcome in ("ok", "probe"),
        "ttft": _NONE if one.ttft_ms is None else format_number(one.ttft_ms),
        "e2e": format_number(one.e2e_ms),
        "tokens": f"{one.tokens:,}",
        "usd": _usd(one.cost_usd, partial=one.cost_is_partial),
        "app": printable(one.app or ""),
    }


def _usd(usd: float, *, partial: bool) -> str:
    """A cost of which a part is not known is a lower bound, and of nothing that is known no figure."""
    if partial and usd <= 0.0:
        return "price unknown"
    return f"{'>= ' if partial else ''}{usd_words(max(usd, 0.0))}"


def _count(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, int | float) and not isinstance(value, bool) else _NONE


def _text(value: Any) -> str:
    return printable(str(value)[:200]) if value is not None else _NONE
