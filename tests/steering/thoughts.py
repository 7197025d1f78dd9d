"""Thoughts as models write them, sound and stuck, drawn from a number; and those of the recordings."""

import json
import random
from functools import cache

from shared import SHARED

WORDS = (
    "value", "total", "number", "factor", "triangle", "side", "angle", "remainder", "digit", "case", "bound", "term", "series", "limit", "matrix",
    "vector", "graph", "node", "edge", "path", "list", "string", "index", "loop", "buffer", "token", "file", "line", "function", "variable",
)  # fmt: skip
LINKS = ("So", "Now", "Then", "But", "Wait,", "Hmm,", "Next,", "Therefore", "However,", "First,", "Also,", "Since this holds,")  # fmt: skip
VERBS = ("is", "equals", "exceeds", "divides", "comes before", "depends on", "cannot be", "must be", "could be", "follows from")  # fmt: skip


def prose(draw, sentences):
    return " ".join(
        f"{draw.choice(LINKS)} the {draw.choice(WORDS)} {draw.choice(WORDS)} {draw.choice(VERBS)} {draw.randrange(1000)}"
        f" and the {draw.choice(WORDS)} of {draw.choice('abcdefghxyz')} {draw.choice(VERBS)} {draw.choice('abcdefghxyz')}^{draw.randrange(9)}."
        for _ in range(sentences)
    )


def numbered(draw, lines):
    """A list with the same words in each line, which is no loop."""
    words = " ".join(draw.choice(WORDS) for _ in range(draw.randrange(4, 14)))
    start, step = draw.randrange(100), draw.randrange(1, 40)
    return "\n".join(f"{start + n * step}. {words}: not this one" for n in range(lines))


def sums(draw, lines):
    start = draw.randrange(2, 50)
    return "\n".join(f"f({n}) = {n}^2 + {start} = {n * n + start}, which is {'odd' if (n + start) % 2 else 'even'}." for n in range(lines))  # fmt: skip


def hexdump(draw, lines):
    """Bytes, most of them zero."""
    pick = lambda: "00" if draw.random() < 0.8 else f"{draw.randrange(256):02x}"  # noqa: E731
    return "\n".join(f"{n * 16:08x}  " + " ".join(pick() for _ in range(16)) for n in range(lines))


def grid(draw, lines):
    width = draw.randrange(5, 30)
    return "\n".join(" ".join(draw.choice("0000001234") for _ in range(width)) for _ in range(lines))  # fmt: skip


def code(draw, lines):
    """A draft of a program, and the same with a change in some lines."""
    names = [f"{draw.choice(WORDS)}_{draw.choice(WORDS)}" for _ in range(6)]
    listed = [f"    {draw.choice(names)} = {draw.choice(names)}({draw.choice(names)}, {draw.randrange(20)})" for _ in range(lines // 2)]  # fmt: skip
    again = [line.replace("= ", "= await ") if draw.random() < 0.2 else line for line in listed]
    return "\n".join(["def run():", *listed, "Let me improve that.", "def run():", *again])


def chinese(draw, sentences):
    signs = "数角边值和差积商首先然后因此所以考虑计算得到方程未知量条件结果验证"
    return "".join("".join(draw.choice(signs) for _ in range(draw.randrange(8, 20))) + "。" for _ in range(sentences))  # fmt: skip


PIECES = (prose, prose, prose, numbered, sums, hexdump, grid, code, chinese)


def sound(seed):
    """A thought of some thousand characters that gets on."""
    draw = random.Random(seed)
    pieces = [draw.choice(PIECES)(draw, draw.randrange(5, 60)) for _ in range(draw.randrange(1, 6))]
    said = prose(draw, 3)
    return f"\n\n{said}\n\n".join(pieces) + (f"\n\nIn short: {said}" if draw.random() < 0.5 else "")


STUCK_SENTENCES = (
    "Wait, maybe I misread the problem.", "The number of apples is 5 and the number of pears is 7.", "Let me re-read the problem statement once more.",
    "So the total is 12, which does not match the expected answer.", "But the problem says that each child gets the same number.",
    "Hmm, so perhaps the total must be divided by the number of children.", "Alternatively, maybe the question is asking for the difference.",
    "However, that does not make sense because the difference is 2.", "I think the answer is 12, but let me verify.",
    "Therefore, the answer would be 12, but that contradicts the statement.",
)  # fmt: skip


def exact(draw, unit):
    return unit * (40_000 // len(unit))


def in_other_orders(draw, unit):
    return " ".join(draw.choice(STUCK_SENTENCES) for _ in range(900))


def in_other_words(draw, unit):
    """What penalties make of a loop."""
    others = {"problem": ("problem", "question", "statement"), "answer": ("answer", "result"), "Wait": ("Wait", "Hmm", "Hold on")}  # fmt: skip
    pieces = []
    for _ in range(900):
        sentence = draw.choice(STUCK_SENTENCES[:6])
        for word, choices in others.items():
            sentence = sentence.replace(word, draw.choice(choices))
        pieces.append(sentence)
    return " ".join(pieces)


# The loops of the literature: a word, a sentence, a paragraph, a page, a script without spaces; the same in other orders and words.
STUCK = {
    "a word": (exact, " no"),
    "a sentence": (exact, " Wait, let me check that once more."),
    "a paragraph": (exact, " ".join(STUCK_SENTENCES[:4]) + "\n\n"),
    "a page": (exact, " ".join(STUCK_SENTENCES) * 1 + " " + "And then I look at the picture again, count what is in it, and write it down. " * 3),
    "a script without spaces": (exact, "再检查一遍答案是否正确，题目的意思是不是这样。"),
    "one sign": (exact, "…"),
    "in other orders": (in_other_orders, ""),
    "in other words": (in_other_words, ""),
}  # fmt: skip


@cache
def recorded():
    """The readable thoughts of the recordings, as their official SDKs read them."""
    texts = set()
    for path in sorted((SHARED / "corpus").glob("*.json")):
        expected = json.loads(path.read_text("utf-8"))["expected"] or {}
        texts |= set(_texts(expected.get("reasoning"))) | set(_texts(expected.get("reasoning_blocks")))  # fmt: skip
    return sorted(texts)


def _texts(value):
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            yield from _texts([value.get("text")])
