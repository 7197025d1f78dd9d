"""How long the parts of a row are, and cheap indicators of how the model reasoned: counted in one pass.

Tokens are those of the provider if the row reports them, those of a tokenizer if one is passed, or else an estimate: a sum that the provider
reports is split by the lengths of the texts (`innervoice.thinking_metrics`), and without one a text has a token for four letters of an alphabet,
or for one and a half of Han and kana; `tokens_by` says which. The length of a summary says nothing of the reasoning, so nothing is counted then.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from innervoice.bulk.schema import Batch, Column, Step, column
from innervoice.canon.jsontext import load_json
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.errors import UsageError
from innervoice.pricing import cost as list_price
from innervoice.thinking_metrics import shows_only_summaries, split_tokens

__all__ = [
    "SCRIPTS",
    "Price",
    "cost",
    "estimated_tokens",
    "language",
    "mixing_of",
    "script_of",
    "scripts_of",
    "stats",
]

_ADDS = {
    "prompt_chars": Column("int64", "Characters of all messages before the answer."),
    "reasoning_chars": Column("int64", "Characters of the reasoning, 0 if there is none."),
    "answer_chars": Column("int64", "Characters of the answer."),
    "call_chars": Column("int64", "Characters of the arguments of tool calls."),
    "reasoning_tokens": Column("int64", "Tokens of the reasoning; null if the provider did not count them and only a summary is there."),
    "answer_tokens": Column("int64", "Tokens of the rest of the output."),
    "tokens_by": Column("string", "Who counted the tokens: `provider`, `tokenizer` or `estimate`; null if nobody."),
    "reasoning_share": Column("double", "Share of reasoning tokens in all output tokens; null if there are none, or nobody counted."),
    "steps": Column("int32", "Paragraphs of the reasoning."),
    "reflections": Column("int32", "Words in the reasoning that signal second thoughts: wait, let me check, actually, alternatively."),
    "code_share": Column("double", "Share of the characters of reasoning and answer in fenced code; null if both are empty."),
    "math_share": Column("double", "The same for formulas between dollar signs or LaTeX brackets."),
}  # fmt: skip

_PARAGRAPH = re.compile(r"\n\s*\n")
# Each begins with a word that is searched for as a string, in lower case; one expression for all is a tenth as fast.
_REFLECTIONS = [
    (first, re.compile(rf"{first}(?<!\w{first}){rest}"))
    for first, rest in (
        ("wait", r"\b"),
        ("hold on", r"\b"),
        ("let me ", r"(?:re-?)?(?:check|verify|think again)\b"),
        ("double", r"[- ]check\b"),
        ("actually", r"\b"),
        ("alternatively", r"\b"),
        ("on second thought", r"\b"),
    )
]
_HAN_REFLECTIONS = ("等等", "等一下", "不对", "再检查", "重新")
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
    calls = [
        load_json(text) if text else [] for text in batch.get("calls") or [None] * len(answers)
    ]
    parts = batch.get("parts") or [None] * len(answers)
    rows = zip(usages, thoughts, answers, calls, parts, strict=True)
    counted = [_tokens(*row, tokens) for row in rows]
    texts = [f"{thought}\n\n{answer}" for thought, answer in zip(thoughts, answers, strict=True)]
    return {
        **batch,
        "prompt_chars": [_prompt_chars(prompt) for prompt in column(batch, "prompt", "stats")],
        "reasoning_chars": [len(text) for text in thoughts],
        "answer_chars": [len(text) for text in answers],
        "call_chars": [len(_arguments(row)) for row in calls],
        "reasoning_tokens": [row[0] for row in counted],
        "answer_tokens": [row[1] for row in counted],
        "tokens_by": [row[2] for row in counted],
        "reasoning_share": [_share_of(row[0], row[1]) for row in counted],
        "steps": [len(_PARAGRAPH.split(text.strip())) if text.strip() else 0 for text in thoughts],
        "reflections": [_reflections(text) for text in thoughts],
        "code_share": [_share(_FENCE, text, "```") for text in texts],
        "math_share": [_share(_FORMULA, text, "$", "\\(", "\\[") for text in texts],
    }  # fmt: skip


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has."""
    if text.isascii():
        return round(len(text) / 4)
    letters = scripts_of(text)
    # `scripts_of` weights Han threefold and kana twofold: 1.5 of them are a token.
    wide = letters.get("han", 0.0) / 3 + letters.get("kana", 0.0) / 2
    return round(wide / 1.5 + (len(text) - wide) / 4)


def _tokens(
    usage: dict[str, Any] | None,
    thought: str,
    answer: str,
    calls: list[dict[str, Any]],
    parts: list[dict[str, Any]] | None,
    tokens: Callable[[str], int] | None,
) -> tuple[int | None, int | None, str | None]:
    """The tokens of reasoning and of the rest, and who counted them."""
    output = usage.get("output") if usage else None
    reasoned = usage.get("reasoning") if usage else None
    if output is not None and reasoned is not None:
        return reasoned, max(output - reasoned, 0), "provider"
    if thought and any(map(_is_summary, parts or ())):
        return None, None, None
    if tokens:
        return tokens(thought), tokens(answer + _arguments(calls)), "tokenizer"
    if output and thought:
        names = "".join(call.get("name") or "" for call in calls)
        split = split_tokens(output, thought, answer + names + _arguments(calls), len(calls))
        if split is not None:
            return split, output - split, "estimate"
    return estimated_tokens(thought), estimated_tokens(answer + _arguments(calls)), "estimate"


def _is_summary(part: dict[str, Any]) -> bool:
    """Whether a part is the reasoning of a model that shows only summaries."""
    origin = part.get("origin")
    if part.get("type") != "thinking" or not origin or '"dialect"' not in origin:
        return False
    read = load_json(origin)
    return shows_only_summaries(read.get("model"), read.get("provider"), read.get("dialect"))


def _share_of(reasoned: int | None, answered: int | None) -> float | None:
    if reasoned is None or answered is None or not reasoned + answered:
        return None
    return reasoned / (reasoned + answered)


def _arguments(calls: list[dict[str, Any]]) -> str:
    return "".join(call["arguments"] for call in calls)


def _prompt_chars(prompt: list[dict[str, Any]] | None) -> int:
    return sum(len(message["content"] or "") for message in prompt or ())


def _reflections(text: str) -> int:
    lowered = text.lower()
    found = sum(
        len(pattern.findall(lowered)) for first, pattern in _REFLECTIONS if first in lowered
    )
    return found if text.isascii() else found + sum(map(text.count, _HAN_REFLECTIONS))


def _share(pattern: re.Pattern[str], text: str, *beginnings: str) -> float | None:
    """The share of a text that matches a pattern, whose matches begin with these strings."""
    characters = len(text) - 2
    if not characters:
        return None
    if not any(beginning in text for beginning in beginnings):
        return 0.0
    return min(sum(len(piece) for piece in pattern.findall(text)) / characters, 1.0)


# ---- What each answer cost, and its reasoning, from the tokens that the provider reported.
#
# Output tokens include reasoning, as in `canon/usage.py`; the cost of reasoning is its share of the output's cost. Prices are those that are passed, in dollars per
# million tokens, or the public ones of `innervoice[prices]`. A row without token counts, or of a model without a price, has null.


_COST_COLUMNS = {
    "cost": Column("double", "Dollars for the answer; null if the tokens or the price are unknown."),
    "reasoning_cost": Column("double", "Dollars for its reasoning, part of `cost`; null if its tokens were not reported."),
}  # fmt: skip

_MILLION = 1_000_000


class Price(NamedTuple):
    """Dollars per million tokens."""

    input: float
    output: float


def cost(price: Price | None = None, factor: float = 1.0) -> Step:
    """The step; without a price, that of each row's model. Batch APIs cost half: `factor=0.5`."""
    if factor <= 0:
        raise UsageError(f"the factor of a price must be a positive number, not {factor}")

    return Step("cost", partial(_add_costs, price=price, factor=factor), _COST_COLUMNS)


def _add_costs(batch: Batch, *, price: Price | None, factor: float) -> Batch:
    rows = [
        _dollars(usage, model, price, factor)
        for usage, model in zip(
            column(batch, "usage", "cost"), column(batch, "model", "cost"), strict=True
        )
    ]
    return {
        **batch,
        "cost": [row[0] for row in rows],
        "reasoning_cost": [row[1] for row in rows],
    }


def _dollars(
    usage: dict[str, Any] | None, model: str | None, price: Price | None, factor: float
) -> tuple[float | None, float | None]:
    if not usage or usage.get("input") is None or usage.get("output") is None:
        return None, None
    reasoned = usage.get("reasoning")
    if price is None:
        counted = Usage(
            input_tokens=usage["input"], output_tokens=usage["output"], reasoning_tokens=reasoned
        )
        listed = list_price(Response(model=model, usage=counted))
        if listed is None:
            return None, None
        return float(listed.total) * factor, None if listed.reasoning is None else float(
            listed.reasoning
        ) * factor
    total = (usage["input"] * price.input + usage["output"] * price.output) / _MILLION
    return total * factor, None if reasoned is None else reasoned * price.output / _MILLION * factor


# ---- In which script a model thinks, and in which it answers.
#
# A histogram of scripts needs no model and no dependency: it distinguishes Chinese reasoning from an English answer, not German from English. It counts
# letters, and weights them by how many of them make a word, so that formulas and code in a Chinese text do not make it Latin. Han with some kana
# among it is Japanese, and is called `kana`.


SCRIPTS: tuple[tuple[int, int, str], ...] = (
    (0x0041, 0x005A, "latin"), (0x0061, 0x007A, "latin"), (0x00AA, 0x00AA, "latin"), (0x00BA, 0x00BA, "latin"), (0x00C0, 0x00D6, "latin"),
    (0x00D8, 0x00F6, "latin"), (0x00F8, 0x02AF, "latin"), (0x0370, 0x03FF, "greek"), (0x0400, 0x052F, "cyrillic"), (0x0531, 0x0587, "armenian"),
    (0x05D0, 0x05F2, "hebrew"), (0x0620, 0x06FF, "arabic"), (0x0750, 0x077F, "arabic"), (0x08A0, 0x08FF, "arabic"), (0x0900, 0x097F, "devanagari"),
    (0x0980, 0x09FF, "bengali"), (0x0A00, 0x0A7F, "gurmukhi"), (0x0A80, 0x0AFF, "gujarati"), (0x0B80, 0x0BFF, "tamil"), (0x0C00, 0x0C7F, "telugu"),
    (0x0C80, 0x0CFF, "kannada"), (0x0D00, 0x0D7F, "malayalam"), (0x0E00, 0x0E7F, "thai"), (0x0E80, 0x0EFF, "lao"), (0x1000, 0x109F, "myanmar"),
    (0x10A0, 0x10FF, "georgian"), (0x1100, 0x11FF, "hangul"), (0x1200, 0x137F, "ethiopic"), (0x1780, 0x17FF, "khmer"), (0x1E00, 0x1EFF, "latin"),
    (0x1F00, 0x1FFF, "greek"), (0x3041, 0x30FF, "kana"), (0x3130, 0x318F, "hangul"), (0x3400, 0x4DBF, "han"), (0x4E00, 0x9FFF, "han"),
    (0xAC00, 0xD7AF, "hangul"), (0xF900, 0xFAFF, "han"), (0xFB50, 0xFDFF, "arabic"), (0xFE70, 0xFEFC, "arabic"), (0x20000, 0x3FFFF, "han"),
)  # fmt: skip
"""First and last letter of each block, in order (Unicode 16)."""

_STARTS = [first for first, _, _ in SCRIPTS]
_WEIGHTS = {"han": 3.0, "kana": 2.0, "hangul": 2.0}
"""How many letters of an alphabet a character of this script stands for: a word has about five letters, or one and a half Han characters."""
_JAPANESE = 0.05
"""From this share of kana in Han and kana on, a text counts as Japanese."""

_ASCII = bytes(range(128))
_NOT_ASCII_LETTERS = bytes(
    byte for byte in range(256) if not chr(byte).isascii() or not chr(byte).isalpha()
)

_SCRIPT_COLUMNS = {
    "reasoning_script": Column("string", "The script that most of the reasoning is in; null if it has no letters."),
    "answer_script": Column("string", "The same for the answer."),
    "prompt_script": Column("string", "The same for the last user message."),
    "script_mixing": Column("double", "The share of the reasoning in scripts other than its main one; null if it has no letters."),
}  # fmt: skip


def language() -> Step:
    """The step; compare its columns in a filter: `reasoning_script == prompt_script`."""

    return Step("language", _add_scripts, _SCRIPT_COLUMNS)


def _add_scripts(batch: Batch) -> Batch:
    histograms = [scripts_of(text or "") for text in column(batch, "reasoning", "language")]
    return {
        **batch,
        "reasoning_script": [script_of(histogram) for histogram in histograms],
        "answer_script": [
            script_of(scripts_of(text or "")) for text in column(batch, "answer", "language")
        ],
        "prompt_script": [
            script_of(scripts_of(_last_question(prompt)))
            for prompt in column(batch, "prompt", "language")
        ],
        "script_mixing": [mixing_of(histogram) for histogram in histograms],
    }


def scripts_of(text: str) -> dict[str, float]:
    """The weighted letters of each script."""
    # Bytes are filtered in C: a text of 50 kB takes less than a tenth of a millisecond, if it is ASCII.
    data = text.encode("utf-8", "surrogatepass")
    letters: dict[str, float] = {}
    if latin := len(data.translate(None, _NOT_ASCII_LETTERS)):
        letters["latin"] = float(latin)
    if not text.isascii():
        rest = data.translate(None, _ASCII).decode("utf-8", "surrogatepass")
        for character, count in Counter(rest).items():
            if script := _script(ord(character)):
                letters[script] = letters.get(script, 0.0) + count * _WEIGHTS.get(script, 1.0)
    if letters.get("kana", 0.0) > _JAPANESE * letters.get("han", 0.0) > 0:
        letters["kana"] += letters.pop("han")
    return letters


def script_of(histogram: dict[str, float]) -> str | None:
    """The script with the most letters; among several with the same number, the first in the alphabet."""
    return min(histogram, key=lambda script: (-histogram[script], script), default=None)


def mixing_of(histogram: dict[str, float]) -> float | None:
    """The share of all scripts but the first."""
    total = sum(histogram.values())
    return 1.0 - max(histogram.values()) / total if total else None


def _script(code: int) -> str | None:
    first, last, script = SCRIPTS[max(bisect_right(_STARTS, code) - 1, 0)]
    return script if first <= code <= last else None


def _last_question(prompt: list[dict[str, Any]] | None) -> str:
    questions = [message for message in prompt or () if message["role"] == "user"]
    return (questions[-1]["content"] or "") if questions else ""
