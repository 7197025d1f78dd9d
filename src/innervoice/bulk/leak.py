r"""Answers in the wrong place: only in the reasoning, already in the prompt, or copied from the reasoning.

The final answer is what graders look for: the last `\boxed{...}`, or else a last line `#### 42`, or else what follows "final answer is" or
"Answer:". A reference column (`reference="ground_truth"`) replaces the search.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from innervoice.bulk.loops import GRAM, grams_in
from innervoice.bulk.schema import Batch, Column, Step, column, rows_in
from innervoice.steering.repetition import grams_of, words_of

__all__ = ["copied_share", "final_answer", "leak", "prompt_text"]

_ADDS = {
    "final_answer": Column("string", "The final answer as it stands in the answer, or else in the reasoning; null if none is marked."),
    "answer_only_in_reasoning": Column("bool", "The reasoning has a final answer, and the answer does not have it, or there is no answer at all."),
    "answer_in_prompt": Column("bool", "The prompt has the final answer as a whole word; false for answers that are shorter than the limit."),
    "copied_share": Column("double", "The share of word 8-grams of the answer that are in the reasoning; null if it has fewer than eight words."),
}  # fmt: skip

_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_LINE = re.compile(r"^[ \t]*####[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_SAID = re.compile(
    r"(?:\bfinal answer(?: is)?|\bthe answer is|\banswer\s*:|最终答案(?:是|为)?|答案(?:是|为|[:：]))[\s:：*$]*([^\s*$].{0,200}?)[*$]*[.。]?[ \t]*(?:\n|$)",
    re.IGNORECASE,
)
_BLANKS = re.compile(r"\s+")
_BEFORE = 16
"""So many characters may be before the word "answer"."""


def leak(reference: str | None = None, shortest: int = 4) -> Step:
    """The step; an answer shorter than `shortest` characters is not searched for in the prompt, where a digit or a letter occurs by chance."""

    return Step("leak", partial(_run, reference=reference, shortest=shortest), _ADDS)


def _run(batch: Batch, *, reference: str | None, shortest: int) -> Batch:
    answers = [text or "" for text in column(batch, "answer", "leak")]
    thoughts = [text or "" for text in column(batch, "reasoning", "leak")]
    prompts = column(batch, "prompt", "leak")
    references = column(batch, reference, "leak") if reference else [None] * rows_in(batch)
    finals = [
        _reference(value) or final_answer(answer) or final_answer(thought)
        for value, answer, thought in zip(references, answers, thoughts, strict=True)
    ]
    return {
        **batch,
        "final_answer": finals,
        "answer_only_in_reasoning": [
            _only_in_reasoning(final, answer, thought)
            for final, answer, thought in zip(finals, answers, thoughts, strict=True)
        ],
        "answer_in_prompt": [
            final is not None and len(final) >= shortest and _is_in(final, prompt_text(prompt))
            for final, prompt in zip(finals, prompts, strict=True)
        ],
        "copied_share": [
            copied_share(answer, thought) for answer, thought in zip(answers, thoughts, strict=True)
        ],
    }


def final_answer(text: str) -> str | None:
    """The final answer that is marked in a text, without the markup around it."""
    if boxed := _last_boxed(text):
        return boxed
    matches = (_LINE.findall(text) if "####" in text else None) or _said(text)
    return matches[-1].strip() or None if matches else None


def _said(text: str) -> list[str]:
    """What is said to be the answer; the expression is slow, and most texts have none of its words."""
    lowered = text.lower()
    places = [place for word in ("answer", "答案") if (place := lowered.find(word)) >= 0]
    if not places:
        return []
    # Lower case may be longer than the text.
    start = min(places) - _BEFORE if len(lowered) == len(text) else 0
    return _SAID.findall(text, max(0, start))


def copied_share(answer: str, reasoning: str) -> float | None:
    """How much of the answer is in the reasoning word for word."""
    grams = list(grams_of(words_of(answer), GRAM))
    if not grams:
        return None
    return sum(map(grams_in(reasoning).__contains__, grams)) / len(grams)


def _only_in_reasoning(final: str | None, answer: str, thought: str) -> bool:
    if not thought.strip():
        return False
    if not answer.strip():
        return True
    return final is not None and _is_in(final, thought) and not _is_in(final, answer)


def _last_boxed(text: str) -> str | None:
    for match in reversed(list(_BOXED.finditer(text))):
        depth = 1
        # A formula is short; one without an end within 1,000 characters was cut off.
        for position in range(match.end(), min(len(text), match.end() + 1000)):
            depth += {"{": 1, "}": -1}.get(text[position], 0)
            if depth == 0:
                return text[match.end() : position].strip() or None
    return None


def _is_in(final: str, text: str) -> bool:
    """Whether the text contains the answer as whole words, ignoring white space."""
    needle = re.escape(_BLANKS.sub(" ", final))
    before = r"(?<!\w)" if _is_word(final[0]) else ""
    after = r"(?!\w)" if _is_word(final[-1]) else ""
    return re.search(before + needle + after, _BLANKS.sub(" ", text)) is not None


def _is_word(character: str) -> bool:
    """Whether words of this character have visible boundaries; those of Han and kana do not."""
    return character.isascii() and character.isalnum()


def prompt_text(prompt: list[dict[str, Any]] | None) -> str:
    """What a prompt asks: the texts of its messages, without earlier answers."""
    return "\n".join(
        message["content"] or "" for message in prompt or () if message["role"] != "assistant"
    )


def _reference(value: Any) -> str | None:
    return str(value).strip() or None if value is not None else None
