"""A tuning from its first block to a profile, or to an honest none: search, confirm, trade-off, sameness.

What is done is in the journal after each block, so that a tuning that was cut off goes on where it was.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from paceline.engines.engine import Settings
from paceline.engines.plan import LaunchPlan
from paceline.engines.planning import with_port, with_settings
from paceline.engines.profile import Gain, Profile, gain_dict, write_profile
from paceline.engines.sameness import sameness
from paceline.engines.space import Choice
from paceline.errors import ConfigError, PacelineError, RunError
from paceline.measure.host import fingerprint
from paceline.store.paths import home as usual_home
from paceline.tuning.answers import checked, other_lengths
from paceline.tuning.bench import Bench
from paceline.tuning.confirm import FEWEST_ROUNDS, MOST_ROUNDS, Finding, gain, round_order
from paceline.tuning.goal import Goal
from paceline.tuning.journal import Block, Journal, Round, TrialEntry, Tuning
from paceline.tuning.race import Race
from paceline.tuning.search import Search
from paceline.tuning.standing import figures
from paceline.tuning.trial import Measured, Trial
from paceline.units import format_duration_ns

# Of the budget: what the search may use, and what the rounds that decide may use; the trade-off curve and the
# comparison of answers have the rest.
SEARCH_SHARE, CONFIRM_SHARE = 0.5, 0.28
# The search is worth its name from so many blocks on; each gets as many requests as that leaves room for.
_BLOCKS = 28
_FEWEST_BLOCKS = 14
_MOST_REQUESTS = 16
# What the two sides are called where something is said of them.
_SIDES = {"default": "the defaults", "tuned": "the tuned settings"}
LADDER = (1, 2, 4, 8)


@dataclass(frozen=True)
class Watch:
    """Who looks on. block: what is measured now, in words; ended: its trial and block; said: a sentence.

    A block that `ended` in the search is one of its trial's; one of a round is none of them.
    """

    block: Callable[[str], None] = lambda _: None
    ended: Callable[[TrialEntry, Block], None] = lambda _, __: None
    said: Callable[[str], None] = lambda _: None


@dataclass
class Tuner:
    """One tuning. `standard`: the settings that the answers are held against."""

    journal: Journal
    bench: Bench
    goal: Goal
    choices: tuple[Choice, ...]
    first: tuple[Settings, ...]
    standard: LaunchPlan
    watch: Watch
    home: Path | None = None

    @property
    def tuning(self) -> Tuning:
        """As it stands."""
        return self.journal.tuning

    def run(self) -> Tuning:
        """Do what is missing of it. Raises KeyboardInterrupt where the user ends it, with all blocks kept.

        Raises UsageError where the budget is too small, RunError where the engine's defaults do not run.
        """
        self._pilot()
        self._search()
        if self.tuning.pick:
            self._confirm()
            if self._finding().real:
                self._trade_off()
                self._compare_answers()
        self._conclude()
        return self.tuning

    def _pilot(self) -> None:
        """One request at the defaults: what a block takes, and so how many requests it may have."""
        if self.tuning.requests is None:
            self.watch.said("one block at the engine's defaults, to see what one takes")
            block = self._measure(replace(self.bench, requests=1), self.tuning.fixed, 0, "pilot")
            if block.failure is not None:
                raise RunError(
                    f"the engine's defaults do not run: {block.failure}",
                    "see the log, or try `paceline serve`",
                )
            per_request_s = max(block.seconds - block.ready_s, 0.001)
            share_s = SEARCH_SHARE * self.tuning.budget_s / _BLOCKS
            fits = int((share_s - block.ready_s) / per_request_s)
            self._check_budget(block.ready_s + per_request_s)
            self.journal.update(requests=min(max(fits, 1), _MOST_REQUESTS), spent_s=block.seconds)
        self.bench = replace(self.bench, requests=self.tuning.requests or 1)

    def _check_budget(self, block_s: float) -> None:
        least_s = (_FEWEST_BLOCKS / SEARCH_SHARE) * block_s
        if self.tuning.budget_s < least_s:
            budget, block = (format_duration_ns(s * 1e9) for s in (self.tuning.budget_s, block_s))
            raise ConfigError(
                f"a budget of {budget} is too small: the shortest block takes {block}, its start included, "
                f"and a search needs some {_FEWEST_BLOCKS}",
                f"give at least --budget {int(least_s / 60) + 1}m, or make requests shorter "
                "(--output-tokens; of a workload's calls --set call.edit.output_tokens=200)",
            )

    def _search(self) -> None:
        """Blocks on settings that the search proposes, until its share of the budget is used."""
        if self.tuning.pick is not None:
            return
        search = Search(self.goal, self.choices, first=self.first, seed=self.tuning.seed)
        race = Race(self.goal)
        budget_s = SEARCH_SHARE * self.tuning.budget_s
        exhausted = False
        while True:
            trials = [entry.trial() for entry in self.tuning.trials]
            self._check_defaults(trials)
            step = race.next(trials, max(1.0 - self.tuning.spent_s / budget_s, 0.0), exhausted=exhausted)
            self._give_up(step.given_up)
            if step.kind == "done":
                break
            if step.kind == "new":
                settings = search.propose([entry.trial() for entry in self.tuning.trials])
                exhausted = settings is None
                if settings is not None:
                    self._add(settings)
            elif step.trial is not None:
                self._step(step.trial, step.prompts, step.why)
        found = race.pick([entry.trial() for entry in self.tuning.trials])
        if found is None:
            raise RunError("no setting could be measured, the defaults neither", _failed_words(self.tuning))
        self.journal.update(pick=found)

    def _check_defaults(self, trials: Sequence[Trial]) -> None:
        """Two blocks of theirs that ran and gave no figure: the workload has none to give to any setting."""
        blocks = trials[0].blocks if trials else []
        if len(blocks) < 2 or any(block.failure or figures(block, self.goal) for block in blocks):
            return
        raise ConfigError(
            f"no request gave a value of {self.goal.metric} at the engine's defaults",
            "only answers that are streamed, of two tokens or more, have times of their tokens: leave out "
            "--no-stream, ask for longer ones, or tune for `min e2e_ms`",
        )

    def _add(self, settings: Settings) -> None:
        entry = TrialEntry(number=len(self.tuning.trials), settings=dict(settings))
        self.journal.update(trials=[*self.tuning.trials, entry])

    def _give_up(self, reasons: Mapping[int, str]) -> None:
        if not reasons:
            return
        trials = [
            one.model_copy(update={"stopped": reasons[one.number]}) if one.number in reasons else one
            for one in self.tuning.trials
        ]
        self.journal.update(trials=trials)
        for number, reason in sorted(reasons.items()):
            self.watch.said(f"trial {number} is given up: {reason}")

    def _step(self, number: int, prompts: int, why: str) -> None:
        entry = self.tuning.trials[number]
        name = f"trial {number}" if number else "trial 0 (the defaults)"
        self.watch.block(f"{name}, {why}")
        block = self._measure(self.bench, entry.settings, prompts, f"t{number}-b{len(entry.blocks)}")
        entry = entry.model_copy(update={"blocks": [*entry.blocks, block]})
        trials = [entry if one.number == number else one for one in self.tuning.trials]
        self.journal.update(trials=trials, spent_s=self.tuning.spent_s + block.seconds)
        self.watch.ended(entry, block)

    def _measure(self, bench: Bench, settings: Settings, prompts: int, name: str) -> Block:
        began = time.monotonic()
        measured = bench.block({**self.tuning.fixed, **settings}, prompts, name)
        seconds = time.monotonic() - began
        place = sum(len(one.blocks) for one in self.tuning.trials)
        return Block.of(replace(measured, place=place), prompts, seconds)

    def _confirm(self) -> None:
        """The pick and the defaults in turn, on prompts that the search has not used."""
        settings = {"default": self.tuning.trials[0].settings, "tuned": self._picked().settings}
        fresh = self._fresh()
        if self.bench.sets is not None and self.bench.sets < fresh + self._rounds():
            self._note(
                "the workload has too few prompts: rounds have some that the search has used, too; what they "
                "show holds for these prompts, and others may gain less"
            )
        for number in range(self._rounds()):
            rounds = list(self.tuning.rounds)
            if number == len(rounds):
                rounds.append(Round(order=list(round_order(self.tuning.seed, number))))
            for side in rounds[number].order:
                if getattr(rounds[number], side) is not None:
                    continue
                self.watch.block(f"round {number + 1} of {self._rounds()}: {_SIDES[side]}")
                block = self._measure(self.bench, settings[side], fresh + number, f"r{number}-{side}")
                rounds[number] = rounds[number].model_copy(update={side: block})
                self.journal.update(rounds=list(rounds), spent_s=self.tuning.spent_s + block.seconds)
                entry = self.tuning.trials[0] if side == "default" else self._picked()
                self.watch.ended(entry, block)
        said = other_lengths(*round_sides(self.tuning))
        if said is not None:
            self._note(said)

    def _rounds(self) -> int:
        """How many: settled before the first, since an end by what was seen would favour chance."""
        blocks = [*self.tuning.trials[0].blocks, *self._picked().blocks]
        round_s = 2.0 * sum(block.seconds for block in blocks) / len(blocks)
        fits = int(CONFIRM_SHARE * self.tuning.budget_s / round_s)
        return min(max(fits, FEWEST_ROUNDS + 1), MOST_ROUNDS)

    def _fresh(self) -> int:
        """The first set of prompts that no block of the search has had."""
        return max(len(one.blocks) for one in self.tuning.trials)

    def _note(self, text: str) -> None:
        """What is wanting in what is found, kept with it; once, however often the tuning is resumed."""
        if text not in self.tuning.notes:
            self.watch.said(text)
            self.journal.update(notes=[*self.tuning.notes, text])

    def _finding(self) -> Finding:
        return finding_of(self.tuning, self.goal)

    def _picked(self) -> TrialEntry:
        return self.tuning.trials[self.tuning.pick or 0]

    def _trade_off(self) -> None:
        """Throughput against interactivity, of both sides; a whole load's rounds have shown it already."""
        if not self.goal.one_stream:
            self.journal.update(curves=round_curves(self.tuning))
            return
        bench = replace(self.bench, levels=LADDER, requests=max(self.bench.requests // 4, 1))
        curves = dict(self.tuning.curves)
        for side, settings in (
            ("default", self.tuning.trials[0].settings),
            ("tuned", self._picked().settings),
        ):
            if side in curves:
                continue
            self.watch.block(f"trade-off curve: {_SIDES[side]} at {', '.join(map(str, LADDER))} streams")
            block = self._measure(bench, settings, self._fresh() + self._rounds(), f"curve-{side}")
            if block.failure is not None:
                self._note(f"the trade-off curve of {_SIDES[side]} is not whole: {block.failure}")
            curves[side] = block.curve
            self.journal.update(curves=dict(curves), spent_s=self.tuning.spent_s + block.seconds)

    def _compare_answers(self) -> None:
        """Greedy answers of the tuned settings beside those of the standard ones.

        The gain stands without them: `serve` asks again before it first serves a profile that has none.
        """
        if self.tuning.sameness is not None:
            return
        began = time.monotonic()
        tuned = with_settings(self.bench.plan, self.tuning.settings_of(self._picked().number))
        # The ports are of plans that were made hours ago.
        sides = with_port(self.standard), with_port(tuned)
        try:
            found = sameness(*sides, home=self.home or usual_home(), watch=self.watch.said)
        except PacelineError as error:
            self._note(f"greedy answers could not be held against standard's: {error.message}")
            return
        spent_s = self.tuning.spent_s + time.monotonic() - began
        self.journal.update(sameness=found, spent_s=spent_s)

    def _conclude(self) -> None:
        """The result, and the profile where the gain is real."""
        tuning = self.tuning
        if tuning.pick == 0:
            sentence = (
                "the engine's defaults were the best of all settings that were tried: there is no profile"
            )
            self.journal.update(
                result={"real": False, "sentence": sentence, "gain": None, "rounds_needed": None}
            )
        else:
            found = self._finding()
            self.journal.update(
                result={
                    "real": found.real,
                    "sentence": found.sentence,
                    "gain": None if found.gain is None else gain_dict(found.gain),
                    "rounds_needed": found.rounds_needed,
                }
            )
            if found.real and found.gain is not None and tuning.model_fingerprint is not None:
                path = write_profile(self._profile(found.gain), home=self.home)
                self.journal.update(profile=str(path))
        self.journal.finish("complete")

    def _profile(self, gained: Gain) -> Profile:
        tuning = self.tuning
        return Profile(
            engine=tuning.engine,
            engine_version=tuning.engine_version,
            model_name=tuning.model_name,
            model_fingerprint=tuning.model_fingerprint or "",
            machine=fingerprint(),
            tier=tuning.tier,
            goal=tuning.goal,
            workload=str(tuning.asked["workload"].get("name") or "its own"),
            settings=tuning.settings_of(self._picked().number),
            made_at=datetime.now(UTC),
            gain=gained,
            sameness=tuning.sameness,
            evidence={"tuning": tuning.id, "curves": tuning.curves},
        )


def finding_of(tuning: Tuning, goal: Goal) -> Finding:
    """What the rounds of a tuning show, so far."""
    sides = round_sides(tuning)
    return checked(gain(*sides, goal), *sides, goal)


def round_sides(tuning: Tuning) -> tuple[list[Measured], list[Measured]]:
    """The defaults' blocks and the tuned ones' of all rounds that have both."""
    whole = [one for one in tuning.rounds if one.default is not None and one.tuned is not None]
    defaults = [one.default.measured() for one in whole if one.default is not None]
    return defaults, [one.tuned.measured() for one in whole if one.tuned is not None]


def round_curves(tuning: Tuning) -> dict[str, list[dict[str, Any]]]:
    """Each side's figures a level of its first round that has them all."""
    found: dict[str, list[dict[str, Any]]] = {}
    for side in ("default", "tuned"):
        blocks: list[Block | None] = [getattr(one, side) for one in tuning.rounds]
        curves = [block.curve for block in blocks if block is not None and block.failure is None]
        if curves:
            found[side] = curves[0]
    return found


def _failed_words(tuning: Tuning) -> str:
    return (
        "; ".join(f"trial {number}: {why}" for number, why in tuning.failures[:3]) or "no block was measured"
    )
