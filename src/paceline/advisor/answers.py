"""The answers that a stored run has kept, by prompt."""

from dataclasses import dataclass
from typing import Any, Literal

from paceline.errors import ConfigError
from paceline.stats.answer_text import answer_text
from paceline.stats.frame import CONTENT, TOOL_CALL
from paceline.store.runs import StoredRun

Kind = Literal["answered", "empty", "refused", "failed"]

# How servers say that it was not the model's own will to end there.
_REFUSALS = frozenset({"content_filter", "refusal"})
_COLUMNS = (
    *("request_index", "step", "phase", "outcome", "finish_reason", "server_model", "segment"),
    *("completion_tokens", "reasoning_tokens", "event_kind", "event_bytes", "text"),
)


@dataclass(frozen=True)
class Answer:
    """What came of one request.

    row: its place in the run's rows. text: of the answer, without reasoning. kind: `empty` where the request
    went well and has no text, `refused` where the finish reason says so, `failed` for all other ends.
    Tokens by the server's usage, None where it sends none.
    """

    row: int
    index: int
    segment: int
    kind: Kind
    text: str
    outcome: str
    finish_reason: str | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    server_model: str | None


@dataclass(frozen=True)
class Answers:
    """A run's answers. by_prompt: by the prompt's hash, in order of asking. limits: tokens allowed."""

    run: StoredRun
    by_prompt: dict[str, list[Answer]]
    limits: dict[str, int | None]

    @property
    def passes(self) -> int:
        """How often each prompt was asked, at most."""
        return max(map(len, self.by_prompt.values()), default=0)


def answers_of(run: StoredRun) -> Answers:
    """All answers of a run's measured requests that begin a job: what else was said would count, too.

    Raises ConfigError where the run kept no texts, or its prompts are not known.
    """
    if run.manifest.load.get("keep_text") is False:
        raise ConfigError(
            f"run {run.id} was made with --no-text: there are no answers to hold against others",
            "measure it again and keep the texts",
        )
    plan = run.plan().select(["request_index", "prompt_sha256", "output_tokens_asked"]).to_pylist()
    prompts = {one["request_index"]: one for one in plan if one["prompt_sha256"]}
    found: dict[str, list[Answer]] = {}
    limits: dict[str, int | None] = {}
    for row, one in enumerate(run.rows(_COLUMNS).to_pylist()):
        asked = prompts.get(one["request_index"])
        if asked is None or one["phase"] != "measure" or one["step"]:
            continue
        found.setdefault(asked["prompt_sha256"], []).append(_answer(row, one))
        limits[asked["prompt_sha256"]] = asked["output_tokens_asked"]
    if not found:
        raise ConfigError(
            f"of run {run.id} it is not known what was asked, or nothing was",
            "compare runs that Paceline has measured: paceline equivalent URL URL",
        )
    return Answers(run, found, limits)


def _answer(row: int, one: dict[str, Any]) -> Answer:
    text = answer_text(
        one["text"] or "", one["event_kind"] or [], one["event_bytes"] or [], CONTENT | TOOL_CALL
    )
    kind: Kind = "answered"
    if one["finish_reason"] in _REFUSALS:
        kind = "refused"
    elif one["outcome"] == "empty" or (one["outcome"] == "ok" and not text.strip()):
        kind = "empty"
    elif one["outcome"] != "ok":
        kind = "failed"
    return Answer(
        row=row,
        index=one["request_index"],
        segment=one["segment"],
        kind=kind,
        text=text,
        outcome=one["outcome"],
        finish_reason=one["finish_reason"],
        completion_tokens=one["completion_tokens"],
        reasoning_tokens=one["reasoning_tokens"],
        server_model=one["server_model"],
    )
