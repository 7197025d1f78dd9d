"""Rows as data sets of reasoning models have them, made up: prose with formulas and code, in the mix of kinds that was counted in public sets."""

from __future__ import annotations

import random
from collections.abc import Iterator

from innervoice.inline.formats import Format

MIX = {"tagged": 62, "plain": 12, "orphan": 8, "truncated": 5, "mention": 4, "multi": 4, "token": 5}
"""Kinds of rows, in percent."""

CHANNELS = {
    "harmony": (
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
        "<|return|>",
    ),
    "kimi_k3": (
        "<|open|>think<|sep|>",
        "<|close|>think<|sep|><|open|>response<|sep|>",
        "<|close|>response<|sep|>",
    ),
    "inkling": (
        "<|message_model|><|content_thinking|>",
        "<|end_message|><|message_model|><|content_text|>",
        "<|end_message|><|content_model_end_sampling|>",
    ),
    "muse": ("to=self<|message|>", "<|eom|>to=user<|message|>", "<|eot|>"),
}
"""What markup with channels has before, between and after the reasoning and the answer."""
_UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
_SYLLABLES = "ka lo mi ter san ve ru pol den gi ha nor est qui bal tem fo ze li mar".split()
_FORMULAS = (
    "x < y",
    "a <= b",
    "$n^2 + 1$",
    "f(x) = 3x",
    "i < len(items)",
    "\\frac{1}{2}",
    "List<int>",
)


def _words(generator: random.Random) -> list[str]:
    return ["".join(generator.choices(_SYLLABLES, k=generator.randint(1, 4))) for _ in range(3_000)]


class Maker:
    """Makes rows; the same seed makes the same ones."""

    def __init__(self, seed: int = 7) -> None:
        self._generator = random.Random(seed)
        self._words = _words(self._generator)
        self._sentences = [self._sentence() for _ in range(20_000)]

    def _sentence(self) -> str:
        words = self._generator.choices(self._words, k=self._generator.randint(6, 22))
        chance = self._generator.random()
        if chance < 0.12:
            words.insert(3, self._generator.choice(_FORMULAS))
        elif chance < 0.22:
            words.insert(3, f"`{words[0]}()`")
        return " ".join(words).capitalize() + ". "

    def prose(self, size: int) -> str:
        """About this many characters, in paragraphs, now and then with a block of code."""
        pieces: list[str] = []
        length = 0
        while length < size:
            chance = self._generator.random()
            if chance < 0.02:
                piece = (
                    "\n\n```python\nfor i in range(10):\n    if i < 5:\n        print(i)\n```\n\n"
                )
            else:
                piece = self._generator.choice(self._sentences) + ("\n\n" if chance < 0.15 else "")
            pieces.append(piece)
            length += len(piece)
        return "".join(pieces)

    def text(self, kind: str, size: int) -> str:  # noqa: PLR0911 - a return for each kind
        """A text of a kind."""
        thought, answer = self.prose(size * 4 // 5), self.prose(size // 5)
        match kind:
            case "plain":
                return thought + answer
            case "tagged":
                return f"<think>\n{thought}\n</think>\n\n{answer}"
            case "orphan":
                return f"{thought}\n</think>\n\n{answer}"
            case "truncated":
                return f"<think>\n{thought}{answer}"
            case "mention":
                return f"<think>\n{thought}\n</think>\n\nThe tag `<think>` opens it:\n```\n<think>...</think>\n```\n{answer}"
            case "multi":
                half = len(thought) // 2
                return f"<think>{thought[:half]}</think>\n{answer}\n<think>{thought[half:]}</think>\n{answer[:200]}"
            case _:
                return f"<|begin_of_thought|>\n\n{thought}\n\n<|end_of_thought|>\n\n<|begin_of_solution|>\n\n{answer}\n\n<|end_of_solution|>"

    def marked(self, row: Format, size: int) -> str:
        """A text in one markup."""
        thought, answer = self.prose(size * 4 // 5), self.prose(size // 5)
        if row.channel:
            before, between, after = CHANNELS[row.name]
            return f"{before}{thought}{between}{answer}{after}"
        opener = next(iter((*row.opens, *row.heads)), "<think>")
        opener = (
            opener.replace("{inside}", "user").replace("{blank}", "\n").replace("{uuid}", _UUID)
        )
        closer = next(iter(row.closes), "</think>")
        return f"{opener}{thought}{closer}\n\n{answer}"

    def rows(self, count: int, size: int) -> Iterator[dict[str, str]]:
        """Rows of the mix."""
        kinds = self._generator.choices(list(MIX), list(MIX.values()), k=count)
        for number, kind in enumerate(kinds):
            length = int(size * self._generator.uniform(0.4, 1.6))
            yield {
                "id": f"row-{number}",
                "kind": kind,
                "prompt": self._generator.choice(self._sentences),
                "response": self.text(kind, length),
            }
