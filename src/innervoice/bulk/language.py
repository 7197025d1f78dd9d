"""In which script a model thinks, and in which it answers.

A histogram of scripts needs no model and no dependency: it distinguishes Chinese reasoning from an English answer, not German from English. It counts
letters, and weights them by how many of them make a word, so that formulas and code in a Chinese text do not make it Latin. Han with some kana
among it is Japanese, and is called `kana`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import Any

from innervoice.bulk.needs import column
from innervoice.bulk.schema import Batch, Column, Step

__all__ = ["SCRIPTS", "language", "mixing_of", "script_of", "scripts_of"]

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

_ADDS = {
    "reasoning_script": Column("string", "The script that most of the reasoning is in; null if it has no letters."),
    "answer_script": Column("string", "The same for the answer."),
    "prompt_script": Column("string", "The same for the last user message."),
    "script_mixing": Column("double", "The share of the reasoning in scripts other than its main one; null if it has no letters."),
}  # fmt: skip


def language() -> Step:
    """The step; compare its columns in a filter: `reasoning_script == prompt_script`."""

    return Step("language", _run, _ADDS)


def _run(batch: Batch) -> Batch:
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
