"""Prompts of real English from a seed: runs of sentences from random places, of exactly the asked length."""

from bisect import bisect_right

from paceline.errors import ConfigError
from paceline.workloads import costs as costs_of
from paceline.workloads.corpus import english
from paceline.workloads.costs import PREFIX_WORDS, Costs
from paceline.workloads.fit import fit
from paceline.workloads.seeding import GOLDEN, MASK64, mix48, mix64, stream_key
from paceline.workloads.tokenizer import WORDS_PER_TOKEN, LocalTokenizer, TokenCounter

_SHORTEST_RUN_SENTENCES = 3
_RUN_SPREAD_SENTENCES = 6
# Common texts that are kept: with lengths drawn from a distribution there is one a length.
_MOST_COMMONS = 64
_JOINT_REACH = (0, -1, 1, -2, 2)
# Lengths at which a tokenizer's sums are checked against its encoding before they are believed.
_PROBED_LENGTHS = (6, 9, 17, 33, 64, 100, 257, 400)


class PromptWriter:
    """Writes the text of any place of a seed; the same whatever was written before.

    Lengths count the text's own tokens, not special tokens and not the chat template. They are exact with a
    tokenizer or with `words`; with the estimate (`approximate`) they are within what the estimate is worth.
    """

    def __init__(self, tokenizer: TokenCounter, seed: int, prefix_salt: int = 0) -> None:
        self._corpus = english()
        self._tokenizer = tokenizer
        self._key = stream_key(seed, "text")
        self._prefix_key = stream_key(seed, f"prefix/{prefix_salt}")
        self._in_words = self._costs = costs_of.word_costs(self._corpus)
        self._common_key = stream_key(seed, "shared")
        self._commons: dict[int, str] = {}
        self._encodes_each = False
        if isinstance(tokenizer, LocalTokenizer):
            measured = costs_of.measure(self._corpus, tokenizer)
            self._encodes_each = measured is None or not self._sums_hold(measured, tokenizer)
            self._costs = measured or self._costs

    @property
    def approximate(self) -> bool:
        """Lengths are estimates."""
        return self._tokenizer.approximate

    @property
    def encodes_each(self) -> bool:
        """This tokenizer's tokens reach across spaces, so each prompt is encoded, which costs time."""
        return self._encodes_each

    def write(
        self, place: int, n_tokens: int, *, common_tokens: int = 0, unique: bool = True, ending: str = ""
    ) -> str:
        """A text of exactly `common_tokens + n_tokens` tokens: common text, own text, then the ending.

        The common text is the beginning of one that all places have in common. `place`: a number of the own
        text; `unique`: it begins as that of no other place does. The ending's tokens are among `n_tokens`,
        and the own text has one at least. With an ending, and a tokenizer whose tokens reach across spaces
        (`encodes_each`), the length may be a token off. Raises ConfigError when the tokenizer allows no text
        of that length.
        """
        code = mix48(place, self._prefix_key) if unique else None
        before = self._common(common_tokens) if common_tokens else ""
        if not ending:
            return self._exact(self._state(place), n_tokens, code, before, common_tokens)
        own_tokens = max(1, n_tokens - self.ending_tokens(ending))
        # Where the two texts meet, a token more or less may come about if tokens reach across spaces.
        reach = _JOINT_REACH if self.encodes_each else (0,)
        texts = [""]
        for change in reach:
            own = self._exact(self._state(place), max(1, own_tokens + change), code, before, common_tokens)
            texts.append(f"{own} {ending}")
            if not self.encodes_each or self._tokenizer.count(texts[-1]) == common_tokens + n_tokens:
                return texts[-1]
        return texts[1]

    def ending_tokens(self, ending: str) -> int:
        """Tokens that an ending adds to a text before it."""
        before = "The end."
        return self._tokenizer.count(f"{before} {ending}") - self._tokenizer.count(before)

    def _common(self, n_tokens: int) -> str:
        found = self._commons.get(n_tokens)
        if found is None:
            if len(self._commons) >= _MOST_COMMONS:
                self._commons.clear()
            found = self._commons[n_tokens] = self._exact(self._common_key, n_tokens, None)
        return found

    def _state(self, place: int) -> int:
        return (self._key + place * GOLDEN) & MASK64

    def piece(self, number: int, n_tokens: int, *, after_text: bool) -> str:
        """Text `number` of `n_tokens` tokens, which begins as no other does.

        after_text: it goes on after other text, and so begins with a space. Where tokens reach across spaces
        (`encodes_each`) lengths of pieces, and so of texts of several, are near to what is asked, and not
        exact. A shorter piece of a number begins as a longer one does. Raises ConfigError as `write` does.
        """
        before = " " if after_text else ""
        code = mix48(number, self._prefix_key)
        try:
            return self._exact(self._state(number), n_tokens, code, before)
        except ConfigError:
            if not after_text:
                raise
            # So short a piece has no exact text; a word is at least a token.
            return self._assemble(self._in_words, self._state(number), n_tokens, code, before) or ""

    def _exact(
        self, state: int, n_tokens: int, prefix_code: int | None, before: str = "", before_tokens: int = 0
    ) -> str:
        """`before`, of `before_tokens` tokens, and then `n_tokens` tokens."""
        if self.approximate:
            n_tokens = max(1, round(n_tokens * WORDS_PER_TOKEN))
        text = (
            None if self.encodes_each else self._assemble(self._costs, state, n_tokens, prefix_code, before)
        )
        if text is not None or not isinstance(self._tokenizer, LocalTokenizer):
            return text or ""
        return fit(
            self._tokenizer,
            lambda words: self._assemble(self._in_words, state, words, prefix_code, before) or "",
            before_tokens + n_tokens,
            len(before),
        )

    def _assemble(
        self, costs: Costs, state: int, budget: int, prefix_code: int | None, before: str = ""
    ) -> str | None:
        """The text before, then pieces whose costs sum to exactly the budget; None when no pieces do."""
        # A space alone is what joins the first piece to a text before it.
        parts = [before.removesuffix(" ")] if before else []
        if prefix_code is not None:
            budget -= _add_prefix(costs, parts, prefix_code, budget)
        bounds, cumulative = self._corpus.sentence_at, costs.cumulative
        last_sentence = len(bounds) - 1
        while budget > 0:
            state = (state + GOLDEN) & MASK64
            drawn = mix64(state)
            sentence = drawn % last_sentence
            run = _SHORTEST_RUN_SENTENCES + (drawn >> 40) % _RUN_SPREAD_SENTENCES
            first, end = bounds[sentence], bounds[min(sentence + run, last_sentence)]
            # Words first..end-1 cost cumulative[end] - base.
            base = cumulative[first] - (0 if parts else costs.at_start[sentence])
            if cumulative[end] - base > budget:
                end = bisect_right(cumulative, base + budget, first, end) - 1
                if end > first:
                    parts.append(self._corpus.words(first, end))
                    budget -= cumulative[end] - base
                if budget and not parts:
                    return None
                # The next word costs more than what is left, so words of one token fill it.
                parts += [costs.filler[(drawn + 7 * place) % len(costs.filler)] for place in range(budget)]
                break
            parts.append(self._corpus.words(first, end))
            budget -= cumulative[end] - base
        return " ".join(parts)

    def _sums_hold(self, costs: Costs, tokenizer: LocalTokenizer) -> bool:
        """Prompts made by adding up costs have the length that the tokenizer itself counts."""
        for round_ in range(4):
            for place, n_tokens in enumerate(_PROBED_LENGTHS):
                key = mix64(round_ * 100 + place)
                text = self._assemble(costs, key, n_tokens, key if place % 2 else None)
                if text is not None and tokenizer.count(text) != n_tokens:
                    return False
        return True


def _add_prefix(costs: Costs, parts: list[str], code: int, budget: int) -> int:
    """Four words that no other request of the seed begins with, fewer in a shorter prompt; their cost."""
    spent = 0
    for place in range(PREFIX_WORDS):
        which = (code >> (12 * place)) & (costs_of.PREFIX_VOCABULARY - 1)
        word, cost = costs.prefix_words[which], costs.middle[which]
        if place == 0:
            word = word.capitalize()
            cost = costs.capital[which] if parts else costs.opening[which]
        elif place == PREFIX_WORDS - 1 and spent + costs.closing[which] <= budget:
            word, cost = f"{word}.", costs.closing[which]
        if spent + cost > budget:
            break
        parts.append(word)
        spent += cost
    return spent
