"""How long the parts of a row are, and cheap indicators of how the model reasoned: counted in one pass.

Tokens are those of the provider if the row reports them, those of a tokenizer if one is passed, or else an estimate by characters (four
letters of an alphabet, or one and a half of Han and kana, are a token); `tokens_by` says which.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from innervoice.bulk.language import scripts_of
from innervoice.bulk.needs import column
from innervoice.bulk.schema import Batch, Column, Step
from innervoice.canon.jsontext import load_json

__all__ = ["estimated_tokens", "stats"]

_ADDS = {
    "prompt_chars": Column("int64", "Characters of all messages before the answer."),
    "reasoning_chars": Column("int64", "Characters of the reasoning, 0 if there is none."),
    "answer_chars": Column("int64", "Characters of the answer."),
    "call_chars": Column("int64", "Characters of the arguments of tool calls."),
    "reasoning_tokens": Column("int64", "Tokens of the reasoning."),
    "answer_tokens": Column("int64", "Tokens of the rest of the output."),
    "tokens_by": Column("string", "Who counted the tokens: `provider`, `tokenizer` or `estimate`."),
    "reasoning_share": Column("double", "Share of reasoning tokens in all output tokens; null if there are none."),
    "steps": Column("int32", "Paragraphs of the reasoning."),
    "reflections": Column("int32", "Words in the reasoning that signal second thoughts: wait, let me check, actually, alternatively."),
    "code_share": Column("double", "Share of the characters of reasoning and answer in fenced code; null if both are empty."),
    "math_share": Column("double", "The same for formulas between dollar signs or LaTeX brackets."),
}  # fmt: skip

_PARAGRAPH = re.compile(r"\n\s*\n")
_REFLECTION = re.compile(
    r"\b(?:wait|hold on|let me (?:re-?)?(?:check|verify|think again)|double[- ]check|actually|alternatively|on second thought)\b|等等|等一下|不对|再检查|重新",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_FORMULA = re.compile(
    r"\$\$.+?\$\$|\$[^$\n]+\$|\\\(.+?\\\)|\\\[.+?\\\]",
    re.DOTALL,
)


def stats(tokens: Callable[[str], int] | None = None) -> Step:
    """The step; `tokens` counts the tokens of a text, e.g. `lambda text: len(tokenizer.encode(text))`."""

    return Step("stats", partial(_run, tokens=tokens), _ADDS)


def _run(batch: Batch, *, tokens: Callable[[str], int] | None) -> Batch:
    answers = [text or "" for text in column(batch, "answer", "stats")]
    thoughts = [text or "" for text in column(batch, "reasoning", "stats")]
    usages = batch.get("usage") or [None] * len(answers)
    calls = [_arguments(text) for text in batch.get("calls") or [None] * len(answers)]
    counted = [
        _tokens(usage, thought, answer + call, tokens)
        for usage, thought, answer, call in zip(usages, thoughts, answers, calls, strict=True)
    ]
    texts = [f"{thought}\n\n{answer}" for thought, answer in zip(thoughts, answers, strict=True)]
    return {
        **batch,
        "prompt_chars": [_prompt_chars(prompt) for prompt in column(batch, "prompt", "stats")],
        "reasoning_chars": [len(text) for text in thoughts],
        "answer_chars": [len(text) for text in answers],
        "call_chars": [len(text) for text in calls],
        "reasoning_tokens": [row[0] for row in counted],
        "answer_tokens": [row[1] for row in counted],
        "tokens_by": [row[2] for row in counted],
        "reasoning_share": [row[0] / (row[0] + row[1]) if row[0] + row[1] else None for row in counted],
        "steps": [len(_PARAGRAPH.split(text.strip())) if text.strip() else 0 for text in thoughts],
        "reflections": [len(_REFLECTION.findall(text)) for text in thoughts],
        "code_share": [_share(_FENCE, text) for text in texts],
        "math_share": [_share(_FORMULA, text) for text in texts],
    }  # fmt: skip


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has."""
    letters = scripts_of(text)
    # `scripts_of` weights Han threefold and kana twofold: 1.5 of them are a token.
    wide = letters.get("han", 0.0) / 3 + letters.get("kana", 0.0) / 2
    return round(wide / 1.5 + (len(text) - wide) / 4)


def _tokens(
    usage: dict[str, Any] | None, thought: str, said: str, tokens: Callable[[str], int] | None
) -> tuple[int, int, str]:
    if usage and usage.get("output") is not None and usage.get("reasoning") is not None:
        return usage["reasoning"], max(usage["output"] - usage["reasoning"], 0), "provider"
    count = tokens or estimated_tokens
    return count(thought), count(said), "tokenizer" if tokens else "estimate"


def _arguments(calls: str | None) -> str:
    return "".join(call["arguments"] for call in load_json(calls)) if calls else ""


def _prompt_chars(prompt: list[dict[str, Any]] | None) -> int:
    return sum(len(message["content"] or "") for message in prompt or ())


def _share(pattern: re.Pattern[str], text: str) -> float | None:
    characters = len(text) - 2
    if not characters:
        return None
    return min(sum(len(piece) for piece in pattern.findall(text)) / characters, 1.0)
