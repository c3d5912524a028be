"""The final answer in what a model has written."""

import re

from paceline.workloads.capability.families import Form

# In the order of trust; of each the last counts, since a model may correct itself.
_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.IGNORECASE | re.DOTALL)
_LABELLED = re.compile(
    r"^[^\w\n]{0,8}_{0,2}(?:the )?(?:final |correct )?answer(?: is)?[ *_]{0,4}[:=]([^\n]*)(?=\n*([^\n]*))",
    re.IGNORECASE | re.MULTILINE,
)
_SAID = re.compile(r"\bthe (?:final |correct )?answer is\b:?([^\n]+)", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_THOUGHT = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_LATEX = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}")
_PLAIN_INTEGER = re.compile(r"[-+]?\d+")
_INTEGER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.0+)?(?![\w.]*\d)")
_THOUSANDS = re.compile(r"(?<=\d)[,\u202f\u00a0](?=\d{3}(?!\d))")
# Answers stand at the end; this bounds what a text that is made to be slow can cost.
_LOOKED_AT = 8_000
_LONGEST_NUMBER = 1_000
_QUOTES = "\"'`\u201c\u201d\u2018\u2019"


def final_answer(text: str) -> str | None:
    """The last marked answer; None where there is none.

    Marked is what is within <answer>, \\boxed{} or behind `Answer:`, whichever comes last; without any of
    them what follows "the answer is". What a model thinks aloud before it answers, in <think> and the like,
    is not looked at: nothing of an answer that ends within it.
    """
    said = _said(text)
    found = [(one.end(), one.group(1)) for one in _TAGGED.finditer(said)]
    found += [(one.end(), one.group(1)) for one in _BOXED.finditer(said)]
    found += [(one.end(), _of_line(one)) for one in _LABELLED.finditer(said) if _of_line(one)]
    if not found:
        found = [(one.end(), one.group(1)) for one in _SAID.finditer(said)]
    answers = [answer.strip() for _, answer in sorted(found) if answer.strip()]
    return answers[-1] if answers else None


def tidied(answer: str, form: Form) -> str:
    """An answer without what is not of it: markup, quotes, units, a full stop, `x =` before a number."""
    boxed = _BOXED.findall(answer)
    answer = _LATEX.sub(r"\1", boxed[-1] if boxed else answer)
    answer = re.sub(r"\$|\*\*|\\[()\[\]]", "", answer).replace("\u2212", "-").strip(f" \t\n*{_QUOTES}")
    answer = answer.removeprefix("<").removesuffix(">").strip() if answer.startswith("<") else answer
    if form == "sentence":
        return re.sub(r"[:;\s]+", " ", answer)
    if answer.endswith("."):
        answer = answer[:-1].rstrip(f" *{_QUOTES}")
    if form == "list":
        return ", ".join(word.strip(f" {_QUOTES}") for word in answer.strip("[]()").split(","))
    if form == "integer":
        return _integer(answer)
    if form == "phrase" and re.match(r"[-+]?\d", answer):
        # A number of days, or a day's own number.
        return _integer(answer)
    return _one_word(answer) if form == "word" else _capital(answer)


def _said(text: str) -> str:
    """The end of the text, without what was thought aloud."""
    kept: list[str] = []
    begin, depth = 0, 0
    for mark in _THOUGHT.finditer(text):
        if depth == 0:
            kept.append(text[begin : mark.start()])
        if not mark.group(1):
            depth += 1
        elif depth:
            depth -= 1
        else:
            # Its beginning was in the prompt, as some templates have it.
            kept.clear()
        begin = mark.end()
    if depth == 0:
        kept.append(text[begin:])
    return "\n".join(kept)[-_LOOKED_AT:]


def _of_line(found: re.Match[str]) -> str:
    """What stands behind the mark; where nothing does, the next line."""
    same = found.group(1).strip(" *")
    return same or (found.group(2) or "").strip()


def _integer(answer: str) -> str:
    """The number, where one alone is meant: `x = 5`, `5 days`, `1,000`, `7.0`."""
    answer = _THOUSANDS.sub("", answer)
    if _PLAIN_INTEGER.fullmatch(answer):
        return str(int(answer)) if len(answer) < _LONGEST_NUMBER else answer
    # `x = 5` and `2 + 3 = 5`, but `5 = 2 + 3` as well.
    for part in (answer.rpartition("=")[2], answer.partition("=")[0]):
        numbers = _INTEGER.findall(part)
        # Of several none is the answer by itself.
        if len(numbers) == 1 and len(numbers[0]) < _LONGEST_NUMBER:
            return str(int(numbers[0].partition(".")[0]))
    return answer


def _one_word(answer: str) -> str:
    """In lower letters, as all words of answers are, without what names the base of a number."""
    word = answer.rpartition("=")[2].strip().lower()
    return re.sub(r"^0[xbo](?=[0-9a-f]+$)|\s*\([^()]*\)$|_\{?\d+\}?$", "", word).strip()


def _capital(answer: str) -> str:
    """The first word of a weekday, yes or no, as the library writes it."""
    word = re.split(r"[\s,(]", answer, maxsplit=1)[0]
    return word.capitalize()
