"""Jobs from a workload file's `[[call]]`s: generated conversations, each with a seed of its own."""

from dataclasses import dataclass

from paceline.errors import ConfigError
from paceline.workloads.calls import CallSpec
from paceline.workloads.images import png_url
from paceline.workloads.jobs import AnswerOf, Call, Job, Turn
from paceline.workloads.lengths import MAX_TOKENS
from paceline.workloads.plan import MAX_CALLS
from paceline.workloads.seeding import mix64, stream_key
from paceline.workloads.spec import WorkloadSpec
from paceline.workloads.steps import Step, plan_steps
from paceline.workloads.text import PromptWriter
from paceline.workloads.tokenizer import WORDS_PER_TOKEN, load_tokenizer


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What was drawn for the repetitions of one `[[call]]` in one job."""

    prompt_tokens: list[int]
    output_tokens: list[int] | list[None]
    wait_ms: list[float]
    hang_up_ms: list[float] | list[None]


class SessionSource:
    """Job k of a workload with calls is a pure function of the workload and k.

    The text that begins a job's conversation begins as no other job's does (`unique_prefix`), after what is
    common to all; later turns of a job carry it on, so that they find it in a prefix cache. Raises
    ConfigError when the tokenizer cannot be had.
    """

    def __init__(self, spec: WorkloadSpec) -> None:
        self._spec = spec
        self._tokenizer = load_tokenizer(spec.tokenizer)
        self._words_per_token = 1.0 if self._tokenizer.name == "words" else WORDS_PER_TOKEN
        self._writer = PromptWriter(self._tokenizer, spec.seed, prefix_salt=spec.prefix_salt)
        self._image_key = stream_key(spec.seed, f"images/{spec.prefix_salt}")

    @property
    def approximate(self) -> bool:
        """No tokenizer is known, so lengths are estimates."""
        return self._writer.approximate

    @property
    def encodes_each(self) -> bool:
        """Each text has to be encoded, about a millisecond; better done before the clock starts."""
        return self._writer.encodes_each

    def job(self, index: int) -> Job:
        """Job `index`; there is no end of them.

        Raises ConfigError for a job whose prompts have more than 10,000,000 tokens together.
        """
        spec = self._spec
        repeats = [
            int(call.repeat.sample(spec.seed, f"call/{call.name}/repeat", index, 1)[0]) for call in spec.call
        ]
        drawn = [self._draw(call, index, n) for call, n in zip(spec.call, repeats, strict=True)]
        turns: list[tuple[Turn, ...]] = []
        calls: list[Call] = []
        total = 0
        for place, step in enumerate(plan_steps(spec.call, repeats)):
            own = self._own(step, drawn[step.call])
            prompt_tokens = self._prompt_tokens(step, own, calls)
            total += prompt_tokens or own
            if total > MAX_TOKENS:
                raise ConfigError(
                    f"job {index} of this workload has prompts of more than {MAX_TOKENS:,} tokens together",
                    'fewer calls, shorter texts, or history = "none"',
                )
            turns.append(self._turns(index * MAX_CALLS + place, step, own, drawn[step.call], turns))
            calls.append(self._call(step, drawn[step.call], turns[-1], prompt_tokens))
        return Job(tuple(calls))

    def _draw(self, call: CallSpec, index: int, n: int) -> _Drawn:
        spec = self._spec
        start = index * MAX_CALLS

        def stream(name: str) -> tuple[int, str, int, int]:
            return spec.seed, f"call/{call.name}/{name}", start, n

        prompt = (call.prompt_tokens or spec.prompt_tokens).sample(*stream("prompt_tokens")).tolist()
        output = call.output_tokens or spec.output_tokens
        most = spec.max_tokens
        if output is None:
            limits: list[int] | list[None] = [None] * n if most is None else [most] * n
        else:
            limits = [min(one, most or one) for one in output.sample(*stream("output_tokens")).tolist()]
        hang_up = call.hang_up_ms
        return _Drawn(
            prompt_tokens=prompt,
            output_tokens=limits,
            wait_ms=call.wait_ms.sample(*stream("wait_ms")).tolist(),
            hang_up_ms=[None] * n if hang_up is None else hang_up.sample(*stream("hang_up_ms")).tolist(),
        )

    def _own(self, step: Step, drawn: _Drawn) -> int:
        """Tokens of a step's own text; at least what its instruction needs."""
        own = drawn.prompt_tokens[step.repetition]
        ending = self._ending(step, drawn)
        return max(own, self._writer.ending_tokens(ending) + 1) if ending else own

    def _prompt_tokens(self, step: Step, own: int, calls: list[Call]) -> int | None:
        """Of the whole prompt, as far as it is known: the answers in it as long as they were asked to be."""
        if step.base is None:
            known: int | None = own + self._spec.shared_prefix_tokens
        else:
            known = _sum(own, calls[step.base].prompt_tokens, calls[step.base].output_tokens)
        for place, joined in enumerate(step.joined):
            known = _sum(known, self._tokenizer.count(_label(place)), calls[joined].output_tokens)
        return known

    def _turns(
        self, place: int, step: Step, own: int, drawn: _Drawn, turns: list[tuple[Turn, ...]]
    ) -> tuple[Turn, ...]:
        call = self._spec.call[step.call]
        text: list[str | AnswerOf] = [self._text(place, step, own, self._ending(step, drawn))]
        for number, joined in enumerate(step.joined):
            text += [_label(number), AnswerOf(joined)]
        images: tuple[str, ...] = ()
        if call.images is not None:
            size = (call.images.width_px, call.images.height_px)
            key = mix64(self._image_key ^ mix64(place))
            images = tuple(png_url(*size, mix64(key + number)) for number in range(call.images.count))
        turn = Turn("user", tuple(text), images)
        if step.base is not None:
            return (*turns[step.base], Turn("assistant", (AnswerOf(step.base),)), turn)
        system = self._spec.system
        return (turn,) if system is None else (Turn("system", (system,)), turn)

    def _text(self, place: int, step: Step, own: int, ending: str) -> str:
        if step.base is not None:
            return self._writer.write(place, own, unique=False, ending=ending)
        common = self._spec.shared_prefix_tokens
        if self._spec.cached_share:
            common = min(round(own * self._spec.cached_share), own - 1)
            own -= common
        return self._writer.write(
            place, own, common_tokens=common, unique=self._spec.unique_prefix, ending=ending
        )

    def _ending(self, step: Step, drawn: _Drawn) -> str:
        """The instruction to repeat the text before it, where the call has one."""
        share = self._spec.call[step.call].repeat_prompt
        asked = drawn.output_tokens[step.repetition]
        if not share or asked is None:
            return ""
        if share == 1:
            return "Write the text above again from its first word, word for word, and nothing else."
        words = max(1, round(share * asked * self._words_per_token))
        return (
            f"Write the first {words} words of the text above again, word for word; "
            "then go on in words of your own."
        )

    def _call(self, step: Step, drawn: _Drawn, turns: tuple[Turn, ...], prompt_tokens: int | None) -> Call:
        call = self._spec.call[step.call]
        return Call(
            turns=turns,
            output_tokens=drawn.output_tokens[step.repetition],
            prompt_tokens=prompt_tokens,
            name=call.name,
            after=step.after,
            wait_ms=drawn.wait_ms[step.repetition],
            wait_kind=call.wait,
            hang_up_ms=drawn.hang_up_ms[step.repetition],
            exact_output=self._spec.exact_output,
        )


def _label(number: int) -> str:
    """What stands before a joined answer."""
    return f"\n\nAnswer {number + 1}:\n"


def _sum(*tokens: int | None) -> int | None:
    """None where one of them is not known."""
    known = [one for one in tokens if one is not None]
    return sum(known) if len(known) == len(tokens) else None
