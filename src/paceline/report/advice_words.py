"""How an advice is said: the recommendation in one sentence, why, what binds, and what would flip it."""

from typing import TYPE_CHECKING

from paceline.report.board_words import full_name
from paceline.report.cells import usd_words
from paceline.report.words import printable, sentence_list
from paceline.units import format_ms, format_number, format_percentage

if TYPE_CHECKING:
    from paceline.advisor.advise import Advice, Binding, OfferAdvice
    from paceline.advisor.constraints import Constraint, Verdict
    from paceline.advisor.decide import Against
    from paceline.advisor.flip import Bound, TierPays, VolumeFlip, WorthFlip
    from paceline.advisor.identity import OfferKey
    from paceline.stats.positive_mean import MeanEstimate, RatioEstimate

_TAIL = 0.025
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# As the field writes them; others are words as they are.
_LIMITED = {
    "ttft": "TTFT",
    "ttfat": "TTFT of the answer",
    "e2e": "E2E",
    "tpot": "TPOT",
    "itl": "ITL",
    "ttft_from_intended": "TTFT from the intended instant",
    "ttfat_from_intended": "TTFT of the answer from the intended instant",
    "e2e_from_intended": "E2E from the intended instant",
    "job": "time of a job",
}
_LIMITS_FROM_BELOW = ("output_tok_s", "fluidity")
_DIMENSIONS = {"time": "time of a job", "bill": "bill", "capability": "capability"}


def headline(advice: "Advice") -> str:
    """The answer in one sentence."""
    if advice.outcome == "nothing measured":
        return "Nothing was measured that an advice could rest on."
    if advice.outcome == "none meets":
        return "No offer meets all that is asked."
    if advice.best is not None:
        return f"Take {full_name(advice.best)}: {_meets_words(advice)}{_lead_words(advice)}."
    if advice.first is not None:
        return (
            "Not enough data to name the best. Until there is more, "
            f"{full_name(advice.first)}: {_meets_words(advice)}{_figure_of(advice, advice.first)}."
        )
    if not advice.with_status("open"):
        return "Not enough is known: of each offer that may meet all that is asked some fact is missing."
    return "Not enough data: no offer is shown to meet all that is asked."


def because(advice: "Advice") -> list[str]:
    """Why: what stands in the way of a name, ties, who comes nearest, who was removed by what."""
    lines = [_blocker_words(advice, one) for one in advice.decision.blockers] if advice.best is None else []
    if advice.best is None and advice.first is None:
        lines += [f"{full_name(one.key)}: {_open_words(one)}." for one in advice.with_status("open")]
    if advice.best is not None and advice.decision.ties:
        names = sentence_list([full_name(one.rival) for one in advice.decision.ties])
        lines.append(f"As good, within {format_percentage(advice.query.margin)}: {names}.")
    if advice.outcome == "none meets" and advice.nearest is not None:
        failed = [one for one in advice.offer(advice.nearest).verdicts if one.outcome == "fails"]
        told = sentence_list([f"{constraint_words(one.constraint)}: {stands_words(one)}" for one in failed])
        lines.append(f"{full_name(advice.nearest)} comes nearest; it fails {told}.")
    return [*lines, *_removed(advice)]


def notes(advice: "Advice") -> list[str]:
    """What a reader must know: offers set aside, suspect runs, what was measured otherwise, the errors."""
    found = [
        f"Set aside: {full_name(one.key)}: {printable(one.why_aside or '')}."
        for one in advice.with_status("aside")
    ]
    suspect = [full_name(one.key) for one in advice.offers if one.case.row.evidence.suspect]
    if suspect:
        told = sentence_list(suspect)
        found.append(f"Some runs are suspect, of {told}: `paceline runs show RUN` says why.")
    if advice.board.elsewhere:
        names = list(dict.fromkeys(full_name(one.key) for one in advice.board.elsewhere))
        found.append(
            f"Measured under another workload or load only, and not weighed: {sentence_list(names)}."
        )
    if advice.board.problems:
        n = len(advice.board.problems)
        what = f"{n} runs give no figures, and are" if n > 1 else "1 run gives no figures, and is"
        found.append(f"{what} not weighed: `paceline board` lists them.")
    if advice.offers and advice.objective == "fastest":
        found.append(
            "No price is known, so that offers are weighed by time alone: add prices to prices.toml."
        )
    if advice.offers:
        found.append(
            f"A name is wrong in at most {format_percentage(advice.query.error)}: each `meets` and each "
            f"comparison holds but for {format_percentage(advice.errors.meets)}, each `fails` but for "
            f"{format_percentage(advice.errors.fails)} (Bonferroni over offers, and over constraints)."
        )
    in_one_run = [one for one in advice.offers if len(one.case.row.evidence.digests) == 1]
    if in_one_run:
        each = "Each offer was" if len(in_one_run) == len(advice.offers) else f"{len(in_one_run)} offers were"
        found.append(f"{each} measured in one run: what is said is of that hour. Measure at others, too.")
    return found


def next_steps(advice: "Advice") -> list[str]:
    """What to do."""
    if advice.outcome == "nothing measured":
        return ["Measure some offers: paceline measure URL --model M --provider P --workload chat"]
    if is_more_wanted(advice):
        return ["The requests that are missing: the same command with --measure-more."]
    return []


def is_more_wanted(advice: "Advice") -> bool:
    """More requests may settle it."""
    return advice.outcome == "not enough data" and bool(
        advice.decision.blockers or advice.with_status("open")
    )


def binding_words(advice: "Advice") -> list[str]:
    """Constraints without which the answer would be another."""
    return [_binding(advice, one) for one in advice.binding]


def flip_words(advice: "Advice") -> list[str]:
    """The runner-up, and what would turn the answer round."""
    lines = []
    second = advice.runner_up
    if second is not None and advice.first is not None:
        lines.append(f"Next would be {full_name(second.key)}{_apart_words(second.against)}.")
    flips = advice.flips
    if flips.price is not None and flips.price.rise.value > 0.0:
        lines.append(
            f"Price: {full_name(flips.price.rival)} would be as good if the price of "
            f"{full_name(advice.first)} rose by {_percent(flips.price.rise)}."
            if advice.first
            else ""
        )
    lines += [_worth_words(one) for one in flips.worth]
    lines += [_volume_words(one) for one in flips.volume]
    lines += [_tier_words(one, advice.query.worth_usd_per_hour) for one in flips.tiers]
    return [line for line in lines if line]


def constraint_words(constraint: "Constraint") -> str:
    """What is asked, with the share: `TTFT <= 500 ms and TPOT <= 50 ms in 95% of requests`."""
    if constraint.kind != "slo":
        return printable(constraint.name)
    share = getattr(constraint, "share", 0.95)
    limits = [_limit_words(name, limit) for name, limit in getattr(constraint, "limits", {}).items()]
    if getattr(constraint, "quantile", False):
        return sentence_list([f"p{100.0 * share:g} of {limit}" for limit in limits])
    what = "jobs" if getattr(constraint, "of_jobs", False) else "requests"
    return f"{sentence_list(limits)} in {format_percentage(share)} of {what}"


def _limit_words(name: str, limit: float) -> str:
    """`TTFT <= 500 ms`: by the names of the field, the unit behind the figure."""
    if name in _LIMITS_FROM_BELOW:
        unit = " tok/s" if name == "output_tok_s" else ""
        return f"{name.removesuffix('_tok_s').replace('_', ' ')} >= {limit:,g}{unit}"
    plain = name.removesuffix("_ms")
    said = _LIMITED.get(plain, plain.replace("_", " "))
    return f"{said} <= {limit:,g}{' ms' if name.endswith('_ms') else ''}"


def letters(advice: "Advice") -> list[tuple[str, str]]:
    """A letter for each constraint, and what it is."""
    constraints = advice.query.constraints
    return [
        (_LETTERS[place % 26] * (1 + place // 26), constraint_words(one))
        for place, one in enumerate(constraints)
    ]


def verdict_cell(verdict: "Verdict") -> tuple[str, str]:
    """The verdict in a word or two, and below it the figure with the bound that counts."""
    if verdict.outcome == "not enough data":
        head = (
            f"{verdict.needs:,} more"
            if verdict.needs is not None
            else "not known"
            if verdict.missing
            else "too close"
        )
    else:
        head = verdict.outcome
    return head, stands_words(verdict, short=True)


def stands_words(verdict: "Verdict", *, short: bool = False) -> str:
    """`98.5% (at least 96.1%) of 200 requests`; short: `98.5% >=96.1%`."""
    if verdict.value is None:
        return ""
    figure = _share if verdict.is_share else usd_words
    value, end = figure(verdict.value), _end(verdict)
    if short:
        # A bill stands in a column of its own.
        return f"{value if verdict.is_share else ''} {end}".strip()
    bound = f" ({plainly(end)})" if end else ""
    return f"{value}{bound} of {verdict.n:,} {verdict.unit}"


def plainly(end: str) -> str:
    """`at least 96.1%` for `>=96.1%`."""
    return end.replace(">=", "at least ").replace("<=", "at most ")


def mean_words(estimate: "MeanEstimate | None", of: str) -> tuple[str, str]:
    """A mean and its 95 % interval, in USD or as a time; `-` where there is none."""
    if estimate is None or not estimate.n:
        return "-", ""
    say = usd_words if of == "usd" else format_ms
    if estimate.spread == float("inf"):
        return f"~{say(estimate.value)}", ""
    return say(estimate.value), f"{say(estimate.lower(_TAIL))}-{say(estimate.upper(_TAIL))}"


def pareto_words(advice: "Advice") -> str:
    """What the Pareto set is over, and who is in it."""
    inside = [one for one in advice.offers if one.in_pareto]
    if len(advice.offers) < 2 or not inside:
        return ""
    over = sentence_list([_DIMENSIONS[name] for name in advice.dimensions])
    names = [
        full_name(one.key) + (f" ({chance_words(one.pareto)})" if one.pareto is not None else "")
        for one in inside
    ]
    return f"No other offer beats them in {over} at once (in brackets how probably): {sentence_list(names)}."


def chance_words(chance: float) -> str:
    """`83%`; draws tell no more than `>99%` and `<1%`."""
    if 0.005 <= chance <= 0.995:
        return f"{100.0 * chance:.0f}%"
    return "<1%" if chance < 0.5 else ">99%"


def bound_words(bound: "Bound", say: str = "usd") -> str:
    """`12.3 (10.1 to 15.0)`, `12.3 (10.1 or more)`."""
    figure = usd_words if say == "usd" else format_number
    if bound.lo is None:
        return figure(bound.value)
    if bound.hi is not None and figure(bound.lo) == figure(bound.value) == figure(bound.hi):
        return figure(bound.value)
    ends = f"{figure(bound.lo)} or more" if bound.hi is None else f"{figure(bound.lo)} to {figure(bound.hi)}"
    return f"{figure(bound.value)} ({ends})"


def _meets_words(advice: "Advice") -> str:
    n = len(advice.query.constraints)
    if not n:
        return "it has "
    return "it meets what is asked, at " if n == 1 else f"it meets all {n} constraints, at "


def _lead_words(advice: "Advice") -> str:
    assert advice.best is not None
    worth = advice.query.worth_usd_per_hour or 0.0
    what = {
        "cheapest": "the lowest bill",
        "fastest": "the shortest time of a job",
        "worth": f"the lowest bill and time at {usd_words(worth)} USD an hour",
    }[advice.objective]
    return f"{what}, {_figure_of(advice, advice.best)}"


def _figure_of(advice: "Advice", key: "OfferKey") -> str:
    """`0.00420 USD a job (0.00410 to 0.00431)`."""
    case = advice.offer(key).case
    if advice.offers and advice.objective == "fastest":
        value, spread = mean_words(case.time_ms, "ms")
        return f"{value} a job{_in_brackets(spread)}"
    value, spread = mean_words(case.bill, "usd")
    text = f"{value} USD a job{_in_brackets(spread)}"
    if advice.objective == "worth":
        total, spread = mean_words(case.total(advice.query.worth_usd_per_hour or 0.0), "usd")
        text = f"{total} USD a job{_in_brackets(spread)}, of which {value} is the bill"
    return text


def _in_brackets(spread: str) -> str:
    return f" ({spread.replace('-', ' to ')})" if spread else ""


def _blocker_words(advice: "Advice", one: "Against") -> str:
    rival = advice.offer(one.rival)
    name = full_name(one.rival)
    parts = []
    if rival.status == "open":
        parts.append(f"{name} may yet meet all: {_open_words(rival)}")
    if one.standing == "worse":
        parts.append(f"{'it' if parts else name} is {_worse_words(advice)}")
    elif one.needs is not None:
        parts.append(
            f"{'it' if parts else name} may be {_worse_words(advice)}: {one.needs:,} more jobs of each tell"
        )
    else:
        parts.append(f"{'it' if parts else name} may be {_worse_words(advice)}: too close to call")
    return "; ".join(parts) + "."


def _worse_words(advice: "Advice") -> str:
    return {
        "cheapest": "cheaper, or as cheap and faster",
        "fastest": "faster",
        "worth": "better by bill and time",
    }[advice.objective]


def _open_words(one: "OfferAdvice") -> str:
    verdicts = [verdict for verdict in one.verdicts if verdict.outcome == "not enough data"]
    told = [
        f"{constraint_words(verdict.constraint)} ({stands_words(verdict)}; "
        + (f"{_more(verdict.needs, verdict.unit)})" if verdict.needs is not None else f"{verdict.why})")
        for verdict in verdicts
    ]
    return f"not enough data for {sentence_list(told)}"


def _more(needs: int, unit: str) -> str:
    return f"{needs:,} more {unit.removesuffix('s') if needs == 1 else unit}"


def _removed(advice: "Advice") -> list[str]:
    """Which constraint removed which offers."""
    lines = []
    for place, constraint in enumerate(advice.query.constraints):
        failed = [
            f"{full_name(one.key)} ({_removed_at(one.verdicts[place])})"
            for one in advice.offers
            if one.verdicts[place].outcome == "fails"
        ]
        if failed:
            lines.append(f"{constraint_words(constraint)} rules out {sentence_list(failed)}.")
    return lines


def _removed_at(verdict: "Verdict") -> str:
    """`84.9%, at most 87.9%`."""
    if verdict.value is None:
        return "not known"
    value = _share(verdict.value) if verdict.is_share else f"{usd_words(verdict.value)} USD"
    return ", ".join(part for part in (value, plainly(_end(verdict))) if part)


def _binding(advice: "Advice", one: "Binding") -> str:
    name, verdict = full_name(one.instead), one.verdict
    stands = stands_words(verdict) or printable(verdict.why or "")
    sure = "" if one.settled else ", as far as is known"
    bill = mean_words(advice.offer(one.instead).case.bill, "usd")[0]
    cost = f" at {bill} USD a job" if bill != "-" else ""
    has = stands if verdict.missing else f"it has {stands}"
    return f"Without {constraint_words(one.constraint)} the answer would be {name}{cost}{sure}; {has}."


def _apart_words(one: "Against") -> str:
    if one.bill is not None and one.bill.value > 0.0:
        return f": the answer costs {_ratio_words(one.bill)} as much" + (
            f", and takes {_ratio_words(one.time)} its time" if one.time is not None else ""
        )
    return f": the answer takes {_ratio_words(one.time)} its time" if one.time is not None else ""


def _ratio_words(found: "RatioEstimate") -> str:
    return f"{found.value:.3g} times ({found.lo:.3g} to {found.hi:.3g})"


def _worth_words(one: "WorthFlip") -> str:
    word = "more" if one.side == "above" else "less"
    side = "from" if one.side == "above" else "below"
    return (
        f"Worth of time: {side} {bound_words(one.usd_per_hour)} USD an hour {full_name(one.rival)} is better"
        f"{' (it is faster and dearer)' if word == 'more' else ' (it is slower and cheaper)'}."
    )


def _volume_words(one: "VolumeFlip") -> str:
    text = (
        f"Volume: {full_name(one.hours)}, paid all day, is cheaper than {full_name(one.tokens)} from "
        f"{bound_words(one.jobs_per_day, 'number')} jobs a day on"
    )
    if one.capacity_per_day is None:
        return f"{text}."
    room = f"it did {format_number(one.capacity_per_day)} a day at its measured pace"
    never = "; never on this hardware alone" if one.jobs_per_day.value > one.capacity_per_day else ""
    return f"{text}; {room}{never}."


def _tier_words(one: "TierPays", worth: float | None) -> str:
    faster, slower = full_name(one.faster), full_name(one.slower)
    extra, saved = one.extra_usd, one.saved_s
    if one.usd_per_hour is None:
        which = "costs no more" if extra.value <= 0.0 else "saves no time"
        return f"Tier: {faster} {which} than {slower}."
    text = (
        f"Tier: {faster} costs {bound_words(extra)} USD a job more than {slower} and saves "
        f"{bound_words(saved, 'number')} s: it pays from {bound_words(one.usd_per_hour)} USD an hour on"
    )
    if worth is None:
        return f"{text}."
    lo, hi = one.usd_per_hour.lo, one.usd_per_hour.hi
    if hi is not None and worth >= hi:
        return f"{text}, so it does at {usd_words(worth)}."
    if lo is not None and worth < lo:
        return f"{text}, so it does not at {usd_words(worth)}."
    return f"{text}; at {usd_words(worth)} that is not shown."


def _end(verdict: "Verdict") -> str:
    """The bound that the verdict rests on; of an open one both."""
    figure = _share if verdict.is_share else usd_words
    low = "" if verdict.lo is None else figure(verdict.lo)
    high = "" if verdict.hi is None else figure(verdict.hi)
    if verdict.outcome == "not enough data":
        return f"{low or '?'}-{high or '?'}"
    from_below = verdict.is_share == (verdict.outcome == "meets")
    end = low if from_below else high
    return f"{'>=' if from_below else '<='}{end}" if end else ""


def _share(value: float | None) -> str:
    """`98.5%`; never 100 % of what is not all."""
    if value is None:
        return "-"
    text = f"{100.0 * value:.1f}".removesuffix(".0")
    return ("99.9" if text == "100" and value < 1.0 else "0.1" if text == "0" and value > 0.0 else text) + "%"


def _percent(bound: "Bound") -> str:
    value = f"{format_number(100.0 * bound.value)}%"
    if bound.lo is None or bound.hi is None:
        return value
    ends = (format_number(100.0 * end) for end in (bound.lo, bound.hi))
    return f"{value} ({' to '.join(ends)}%)"


def head_words(advice: "Advice") -> str:
    """What the advice is of."""
    board = advice.board
    price_day = board.query.at or board.made_at
    return (
        f"{printable(board.workload or 'no workload')}, {printable(board.load or 'no load')}: "
        f"{len(advice.offers)} offers, {board.runs:,} runs, {board.requests:,} requests, "
        f"prices of {price_day:%Y-%m-%d}."
    )
