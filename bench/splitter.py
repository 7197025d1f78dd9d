"""The splitter against its floor, and its time on hostile text: ratios of one run.

    python bench/splitter.py

The floor is what a program cannot do without: one `str.find` for the tag over the whole text, or one
for each piece of a stream. Hostile texts are timed at 1 MB and at 10 MB; linear is a factor of ten.
"""

from __future__ import annotations

import argparse
import random
import tracemalloc
from collections.abc import Callable
from statistics import median
from time import perf_counter

import innervoice as iv

WORDS = """the model answers with several paragraphs of prose that explain one step after another and sometimes
quote `a_name` or **stress** a word, link to [a page](https://example.org/page) or compare a <= b in passing""".split()


def markdown(size: int) -> str:
    """Ordinary Markdown: prose with inline code, lists, headings and fences, and a `<` now and then."""
    rng = random.Random(7)
    blocks: list[str] = []
    length = 0
    while length < size:
        sentence = " ".join(rng.choices(WORDS, k=rng.randrange(30, 80))).capitalize() + "."
        block = rng.choice(
            [
                sentence,
                sentence,
                f"## {sentence[:40]}",
                f"- {sentence}\n- {sentence[:50]}",
                f"```python\nfor item in items:\n    print(item, {len(sentence)})\n```",
            ]
        )
        blocks.append(block)
        length += len(block) + 2
    return "\n\n".join(blocks)[:size]


def seconds(work: Callable[[], object], repeat: int) -> list[float]:
    times = []
    for _ in range(repeat):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return times


def ratio(
    floor: Callable[[], object], ours: Callable[[], object], repeat: int
) -> tuple[float, float, float]:
    """Median times of both, measured in turn, and how fast we are in units of the floor."""
    floors, own = [], []
    for _ in range(repeat):
        floors += seconds(floor, 1)
        own += seconds(ours, 1)
    return median(floors), median(own), median(floors) / median(own)


def speed(repeat: int) -> None:
    text = "<think>" + "Let me see. " * 500 + "</think>\n\n" + markdown(1_000_000)
    iv.split(text)

    def find() -> None:
        text.find("<think>")
        text.find("</think>")
        text.find("<think>", 7)

    print(f"{'work':34} {'floor':>10} {'ours':>10} {'ratio':>7}  target")
    floor, ours, speed_ratio = ratio(find, lambda: iv.split(text), repeat)
    print(
        f"{'split 1 MB of Markdown whole':34} {floor * 1e3:8.2f}ms {ours * 1e3:8.2f}ms {speed_ratio:6.2f}x  >= 0.10x"
    )
    for size in (4, 20):
        pieces = [text[start : start + size] for start in range(0, len(text), size)]

        def find_in_each(pieces: list[str] = pieces) -> None:
            for piece in pieces:
                piece.find("<think>")

        def feed_each(pieces: list[str] = pieces) -> None:
            splitter = iv.Splitter()
            feed = splitter.feed
            for piece in pieces:
                feed(piece)
            splitter.finish()

        floor, ours, speed_ratio = ratio(find_in_each, feed_each, repeat)
        name = f"the same in {size}-character pieces"
        print(f"{name:34} {floor * 1e3:8.2f}ms {ours * 1e3:8.2f}ms {speed_ratio:6.2f}x  >= 0.25x")


HOSTILE = {
    "<think>": "<think>",
    "<": "<",
    "backticks": "`",
    "half tags": "<thi",
    "</think>": "</think>",
    "pairs": "<think>x</think>",
    "spans left open": "`<think>x</think>\n",
    "closers in open spans": "`</think>\n",
    "fences": "```<think>",
    "long attributes": "<think " + "a" * 250,
    "long namespaces": "<" + "a" * 100,
    "blank and closer": "   </think>",
}


def hostile_text(atom: str, size: int) -> str:
    return atom * (size // len(atom))


def nested(size: int) -> str:
    depth = size // 16
    return "<think>" * depth + "x</think>" * depth


def feed_in_pieces(text: str) -> None:
    splitter = iv.Splitter()
    for start in range(0, len(text), 20):
        splitter.feed(text[start : start + 20])
    splitter.finish()


def hostility(small: int) -> None:
    print(
        f"\n{'hostile text':24} {small / 1e6:.1f} MB -> {small / 1e5:.0f} MB: whole, and in 20-character pieces (linear is 10x)"
    )
    makers: dict[str, Callable[[int], str]] = {
        name: lambda size, atom=atom: hostile_text(atom, size)  # type: ignore[misc]
        for name, atom in HOSTILE.items()
    }
    makers["nested and closed"] = nested
    for name, make in makers.items():
        results = []
        for work in (iv.split, feed_in_pieces):
            times = [
                seconds(lambda text=make(size), work=work: work(text), 1)[0]
                for size in (small, small * 10)
            ]
            results.append(f"{times[0]:7.3f}s -> {times[1]:7.2f}s ({times[1] / times[0]:4.1f}x)")
        print(f"{name:24} {'   '.join(results)}")


def held_memory() -> None:
    """What a splitter keeps beyond the text itself while a tag never ends."""
    print(f"\n{'held back':24} characters of 1,000,000 that were not given out, at the most")
    for name, atom in {
        "an endless attribute": "a",
        "endless half tags": "<th",
        "endless openers": "<think ",
    }.items():
        splitter = iv.Splitter()
        splitter.feed("So <think ")
        given = fed = worst = 0
        for _ in range(1_000_000 // len(atom)):
            fed += len(atom)
            given += sum(len(getattr(event, "text", "")) for event in splitter.feed(atom))
            worst = max(worst, fed - given)
        print(f"{name:24} {worst}")
    tracemalloc.start()
    iv.split(hostile_text("<think>", 1_000_000))
    print(
        f"{'peak memory':24} {tracemalloc.get_traced_memory()[1] / 1e6:.1f} MB for 1 MB of <think>"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument(
        "--hostile", type=int, default=1_000_000, help="size of the smaller hostile text"
    )
    options = parser.parse_args()
    speed(options.repeat)
    hostility(options.hostile)
    held_memory()
