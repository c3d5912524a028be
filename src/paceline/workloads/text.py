"""Prompts of real English from a seed: runs of sentences from random places, of exactly the asked length."""

from bisect import bisect_right

from paceline.workloads import costs as costs_of
from paceline.workloads.corpus import english
from paceline.workloads.costs import PREFIX_WORDS, Costs
from paceline.workloads.fit import fit
from paceline.workloads.seeding import GOLDEN, MASK64, mix48, mix64, stream_key
from paceline.workloads.tokenizer import WORDS_PER_TOKEN, LocalTokenizer, TokenCounter

_SHORTEST_RUN_SENTENCES = 3
_RUN_SPREAD_SENTENCES = 6
# Lengths at which a tokenizer's sums are checked against its encoding before they are believed.
_PROBED_LENGTHS = (6, 9, 17, 33, 64, 100, 257, 400)


class PromptWriter:
    """Writes the text of request `index` of a seed; the same whatever was written before.

    Lengths count the text's own tokens, not special tokens and not the chat template. They are exact with a
    tokenizer or with `words`; with the estimate (`approximate`) they are within what the estimate is worth.
    """

    def __init__(
        self,
        tokenizer: TokenCounter,
        seed: int,
        shared_tokens: int = 0,
        unique_prefix: bool = True,
        prefix_salt: int = 0,
    ) -> None:
        self._corpus = english()
        self._tokenizer = tokenizer
        self._unique = unique_prefix
        self._key = stream_key(seed, "text")
        self._prefix_key = stream_key(seed, f"prefix/{prefix_salt}")
        self._in_words = self._costs = costs_of.word_costs(self._corpus)
        self.shared = ""
        self._shared_tokens = 0
        self._encodes_each = False
        if isinstance(tokenizer, LocalTokenizer):
            measured = costs_of.measure(self._corpus, tokenizer)
            self._encodes_each = measured is None or not self._sums_hold(measured, tokenizer)
            self._costs = measured or self._costs
        if shared_tokens:
            self.shared = self._exact(stream_key(seed, "shared"), shared_tokens, None)
            self._shared_tokens = shared_tokens

    @property
    def approximate(self) -> bool:
        """Lengths are estimates."""
        return self._tokenizer.approximate

    @property
    def encodes_each(self) -> bool:
        """This tokenizer's tokens reach across spaces, so each prompt is encoded, which costs time."""
        return self._encodes_each

    def write(self, index: int, n_tokens: int) -> str:
        """The shared text, if any, then `n_tokens` tokens of request `index`'s own text (at least 1).

        Raises ConfigError when the tokenizer allows no text of that length.
        """
        prefix_code = mix48(index, self._prefix_key) if self._unique else None
        return self._exact((self._key + index * GOLDEN) & MASK64, n_tokens, prefix_code)

    def _exact(self, state: int, n_tokens: int, prefix_code: int | None) -> str:
        if self.approximate:
            n_tokens = max(1, round(n_tokens * WORDS_PER_TOKEN))
        text = None if self.encodes_each else self._assemble(self._costs, state, n_tokens, prefix_code)
        if text is not None or not isinstance(self._tokenizer, LocalTokenizer):
            return text or ""
        return fit(
            self._tokenizer,
            lambda words: self._assemble(self._in_words, state, words, prefix_code) or "",
            self._shared_tokens + n_tokens,
            len(self.shared),
        )

    def _assemble(self, costs: Costs, state: int, budget: int, prefix_code: int | None) -> str | None:
        """The shared text, then pieces whose costs sum to exactly the budget; None when no pieces do."""
        parts = [self.shared] if self.shared else []
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
