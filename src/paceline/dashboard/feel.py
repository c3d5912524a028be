"""`/feel`: what a speed feels like, and a stored request played again as it came."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from paceline.advisor.digests import all_digests
from paceline.advisor.evidence import OfferEvidence, pooled
from paceline.advisor.identity import KnownOffer
from paceline.catalogue.thresholds import pace_tok_s, thresholds
from paceline.dashboard.render import fill
from paceline.dashboard.stamp import store_stamp
from paceline.dashboard.state import State
from paceline.endpoints.target import printable
from paceline.errors import ConfigError, PacelineError
from paceline.report.page import json_in_script
from paceline.stats.frame import Frame
from paceline.stats.metrics import derive
from paceline.stats.tokens import count_tokens
from paceline.store.runs import open_run
from paceline.workloads.corpus import english

SPEEDS = (20, 50, 150, 300, 1000)
MOST_TOKENS = 2_000
_MOST_OFFERS = 12
# A request is looked for in runs up to this size: a larger one takes seconds to read.
_MOST_REQUESTS = 20_000
# Every third word of the corpus is two tokens here: 0.75 words a token.
_WORDS_OF_FOUR = 3


@dataclass(frozen=True)
class Measured:
    """An offer as it was measured: medians, and the run whose request can be played; None: too large."""

    label: str
    workload: str
    load: str
    ttft_ms: float
    output_tok_s: float
    requests: int
    run_id: str | None


def feel_routes(state: State) -> list[Route]:
    """The page, and the events of one stored request."""

    async def page(_: Request) -> Response:
        text = await state.work.get(
            ("feel",), lambda: store_stamp(state.home, state.config), lambda: _page(state)
        )
        return HTMLResponse(text)

    async def replay(request: Request) -> Response:
        run_id = request.path_params["ref"]
        found = await state.work.get(
            ("replay", run_id), lambda: store_stamp(state.home), lambda: replay_of(run_id, state.home)
        )
        return JSONResponse(found)

    return [Route("/feel", page), Route("/feel/replay/{ref}", replay)]


def tokens_of_text(n: int) -> list[str]:
    """English text in `n` pieces, each as long as a token is on average: 0.75 words."""
    corpus = english()
    # From the start of a paragraph's worth of whole sentences, always the same.
    words = corpus.words(0, min(n, len(corpus.word_at) - 2)).split(" ")
    pieces: list[str] = []
    for place, word in enumerate(words):
        lead = f" {word}" if place else word
        if place % _WORDS_OF_FOUR == _WORDS_OF_FOUR - 1:
            half = (len(lead) + 1) // 2
            pieces += [lead[:half], lead[half:]]
        else:
            pieces.append(lead)
        if len(pieces) >= n:
            break
    return pieces[:n]


def measured_offers(home: Path, known: Sequence[KnownOffer]) -> list[Measured]:
    """The offers that were measured, each as in its latest evidence, the latest first."""
    latest: dict[str, OfferEvidence] = {}
    for one in pooled(all_digests(at=home).digests, known):
        before = latest.get(str(one.key))
        if before is None or before.last_at < one.last_at:
            latest[str(one.key)] = one
    found = []
    for one in sorted(latest.values(), key=lambda one: one.last_at, reverse=True):
        ttft, rate = one.values("ttft_ms"), one.values("output_tok_s")
        if not len(ttft) or not len(rate):
            continue
        small = [run for run in one.digests if run.streaming and run.ok and run.attempted <= _MOST_REQUESTS]
        found.append(
            Measured(
                label=printable(str(one.key)),
                workload=printable(one.workload),
                load=one.load,
                ttft_ms=float(np.median(ttft)),
                output_tok_s=float(np.median(rate)),
                requests=one.ok,
                run_id=small[-1].run_id if small else None,
            )
        )
    return found[:_MOST_OFFERS]


def replay_of(ref: str, home: Path) -> dict[str, Any]:
    """The request of a run that is nearest to its medians, as it came.

    `events`: [ms since the sending, tokens, text] of each, at most MOST_TOKENS of them; text: None where the
    run has not kept it. Raises StoreError for a run that there is not, ConfigError for one without such a
    request.
    """
    run = open_run(ref, at=home)
    rows = run.rows()
    if rows.num_rows > _MOST_REQUESTS:
        raise ConfigError(f"run {run.id} is too large to look for a request in it", "take a smaller run")
    counts = count_tokens(rows)
    samples = derive(rows, run.origins(), counts=counts)
    ttft, rate = samples["ttft_ms"], samples["output_tok_s"]
    by_row = dict(zip(ttft.row.tolist(), ttft.values.tolist(), strict=True))
    candidates = [
        (int(row), by_row[row], value)
        for row, value in zip(rate.row.tolist(), rate.values.tolist(), strict=True)
        if by_row.get(row, 0.0) > 0.0 and value > 0.0
    ]
    if not candidates:
        raise ConfigError(f"run {run.id} has no streamed answer of several tokens", "take another run")
    middle = np.median([one[1] for one in candidates]), np.median([one[2] for one in candidates])
    row, ttft_ms, rate_tok_s = min(
        candidates,
        key=lambda one: abs(math.log(one[1] / middle[0])) + abs(math.log(one[2] / middle[1])),
    )
    starts = Frame(rows).starts
    per_event = counts.per_event[starts[row] : starts[row + 1]].tolist()
    return {
        "run": run.id,
        "ttft_ms": ttft_ms,
        "output_tok_s": rate_tok_s,
        "events": _events(rows.slice(row, 1).to_pylist()[0], per_event),
    }


def _events(row: dict[str, Any], tokens: Sequence[int]) -> list[list[Any]]:
    raw, at = (row["text"] or "").encode(), 0
    kept = len(raw) == sum(row["event_bytes"]) and raw
    found: list[list[Any]] = []
    for ns, size, n in list(zip(row["event_ns"], row["event_bytes"], tokens, strict=True))[:MOST_TOKENS]:
        text = raw[at : at + size].decode("utf-8", "replace") if kept else None
        at += size
        found.append([round((ns - row["sent_ns"]) / 1e6, 3), int(n), text])
    return found


def _page(state: State) -> str:
    notes: list[str] = []
    offers: list[Measured] = []
    try:
        offers = measured_offers(state.home, state.known())
    except PacelineError as error:
        notes.append(error.message)
    limits = thresholds()
    script = {
        "tokens": tokens_of_text(MOST_TOKENS),
        "reading_tok_s": pace_tok_s("reading"),
        "words_per_token": limits["words_per_token"].value,
        "offers": [asdict(one) for one in offers],
    }
    return fill(
        "feel.html",
        {
            "title": "Feel it",
            "here": "/race",
            "speeds": SPEEDS,
            "offers": offers,
            "notes": notes,
            "pace": pace_tok_s("reading"),
            "words_min": limits["reading"].value,
            "words_token": limits["words_per_token"].value,
            "source": limits["reading"].source,
            "script": json_in_script(json.dumps(script)),
        },
    )
