"""Generates docs/field.md from the docstrings of the tests in tests/field.

A test is named `test_pNN_words`; its docstring begins with the number and what the test checks, and has the paragraphs `Elsewhere:`,
`Here:` and `Seen failing:`. The feature requests are listed below.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["OPEN", "Case", "cases", "page"]

PAGE = Path(__file__).with_name("field.md")
TESTS = PAGE.parents[1] / "tests" / "field"
LAST = 64
OPEN: tuple[int, ...] = ()
"""Numbers that have no test yet."""

_PARAGRAPHS = ("Elsewhere", "Here", "Seen failing")
_LABELS = re.compile(r"^\s*(Elsewhere|Here|Seen failing): ", re.MULTILINE)
_URL = re.compile(r"https?://[^\s),;]+")
_THREAD = re.compile(r"https://github\.com/[^/]+/([^/]+)/(?:issues|pull)/(\d+)")
# Names in code: members of public objects, words with an underscore, and keyword arguments.
_NAME = re.compile(
    r"(?<![\w`/.])(?:(?:iv|r|chat|wire|show|bridges)\.[\w.]*\w|\w+_\w+=?|[a-z]+=(?:\"\w+\"|\w+)?)"
)
_SECTIONS = (
    (1, 30, "Sending reasoning back"),
    (31, 43, "Reading responses"),
    (44, 52, "Tags and channels in the text"),
    (53, 59, "Requesting reasoning"),
    (60, 64, "Streams, tokens, caches, operations"),
)
_INTRODUCTION = """\
# In the field

Failures that people reported when using the reasoning of models, and what innervoice does instead. The list was collected in 2026 from public
threads about dozens of programs. Each number is a class of failures; many were reported several times.

**{tested} of the 64 have a test**, {tests} in total, named after the number. Each test reproduces the user's situation with public names, and uses the
[emulator](emulator.md) where it needs a server. Each was seen to fail against deliberately broken code; its docstring says how.
`scripts/formats` generates this page from the docstrings.
"""
# Number, what people ask for, where, and what innervoice offers.
_WISHES = (
    ("F1", "Switch the provider in mid-conversation, and return to the earlier reasoning", "https://github.com/langchain-ai/langchain/issues/34933", "**Offered**: every part records its origin, and after [`chat.switch`](guides/switching.md) it is sent only there."),
    ("F2", "See what was sent, dropped and changed, and why", "https://github.com/aaif-goose/goose/pull/11836", "**Offered**: [`iv.plan`](histories.md#plan) lists a decision with its rule and reason for every part, and `print(plan)` prints it."),
    ("F3", "Check a history before it is sent", "https://github.com/anomalyco/opencode/issues/10996", "**Offered**: [`iv.lint`](histories.md#lint-and-repair) and `innervoice lint FILE --for MODEL`."),
    ("F4", "Repair a session file that makes every request fail", "https://github.com/anthropics/anthropic-sdk-python/issues/1598", "**Offered**: [`innervoice repair`](histories.md#histories-of-other-programs) for Claude Code, Codex, LangChain and request bodies, line by line."),
    ("F5", "Token budgets for every provider, with room for the answer and the effective value recorded", "https://github.com/Observal/Axl/issues/275", "**Offered**: one scale of efforts and budgets, at least 5 % of `max_tokens` left for the answer, and [`wire.reasoning_report`](asking.md#settings-that-the-model-does-not-support) has both values."),
    ("F6", 'Keep "on or off" apart from "how much", with a third state', "https://github.com/heypandax/pairlet/issues/345", "**Offered**: [None, off, or a level](asking.md#the-setting); `show` is a separate setting."),
    ("F11", "Tokens and cost of reasoning, even if it is hidden", "https://github.com/open-telemetry/semantic-conventions/issues/3194", "**Offered**: [the same arithmetic](reading.md#tokens) for all providers, and `innervoice.pricing.cost` with the extra `[prices]`. Counts are never estimated; [`r.thinking_metrics()`](reading.md#time-tokens-and-cost-of-thinking) splits a sum where the reasoning is there in full, and marks it."),
    ("F12", "Know what a change does to the prompt cache", "https://github.com/zeroclaw-labs/zeroclaw/issues/10786", "**Offered**: [`iv.plan(..., last=plan).cache`](histories.md#cache): the first message and byte that differ, and the cause."),
    ("F13", "Notice that a setting was ignored", "https://github.com/vercel-labs/fx/issues/276", "**Offered**: the note [`setting_ignored`](asking.md#checking-the-response), if the response shows it."),
    ("F15", "A standalone splitter that does not depend on the chunks, with test vectors for other languages", "https://github.com/vllm-project/vllm/issues/55195", "**Offered**: [`iv.Splitter`](inline.md), and [vectors](../vectors/README.md) as JSON for any language."),
    ("F18", "Trim, fork and compact without separating reasoning from its turn", "https://github.com/anomalyco/opencode/issues/31188", "**Offered**: [`iv.trim`](histories.md#trim) and `chat.fork()`. Compaction by a summary is **not** offered: append your own summary as a message."),
    ("F19", "A clear status for an empty answer", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1602", "**Offered**: [`r.status`](reading.md#what-went-wrong), and a note if the reasoning may contain the answer."),
    ("F20", "Limit the thinking and still get an answer", "https://github.com/ggml-org/llama.cpp/issues/21889", "**Offered**: `client.answer_now(model, messages, think_at_most=...)`: with the host's own budget if it has one, else in two requests."),
)  # fmt: skip


class Case(NamedTuple):
    """One test, as its docstring describes it."""

    number: int
    file: str
    check: str
    elsewhere: str
    here: str
    seen_failing: str


def cases() -> list[Case]:
    """All tests in tests/field, by number."""
    return sorted(
        (case for path in sorted(TESTS.glob("test_*.py")) for case in _cases_in(path)),
        key=lambda case: case.number,
    )


def page() -> str:
    """The text of the page."""
    found = cases()
    tested = len({case.number for case in found})
    lines = [_INTRODUCTION.format(tested=tested, tests=len(found))]
    for first, last, title in _SECTIONS:
        lines += [f"## {title}", "", "| | elsewhere | here | test |", "|---|---|---|---|"]
        for number in range(first, last + 1):
            lines += _rows(number, [case for case in found if case.number == number])
        lines.append("")
    lines += ["## Feature requests", "", "| | request | here |", "|---|---|---|"]  # fmt: skip
    for name, wish, thread, here in _WISHES:
        lines.append(f"| **{name}** | {wish}. {_link(thread)} | {here} |")
    return "\n".join(lines) + "\n"


def _cases_in(path: Path) -> Iterator[Case]:
    tree = ast.parse(path.read_text("utf-8"))
    for node in tree.body:
        named = isinstance(node, ast.FunctionDef) and re.match(r"test_p(\d\d)_", node.name)
        if not named or not isinstance(node, ast.FunctionDef):
            continue
        text = ast.get_docstring(node) or ""
        head, *rest = _LABELS.split(text)
        paragraphs = dict(zip(rest[::2], map(_flat, rest[1::2]), strict=True))
        number, _, check = _flat(head).partition(". ")
        if number != f"P{named[1]}" or paragraphs.keys() != {"Elsewhere", "Here", "Seen failing"}:
            raise ValueError(
                f"{path.name}: {node.name} needs a docstring with its number, Elsewhere, Here and Seen failing"
            )
        yield Case(int(named[1]), path.name, check, *(paragraphs[name] for name in _PARAGRAPHS))


def _rows(number: int, tests: list[Case]) -> Iterator[str]:
    """A row for each test; the first one has the number."""
    name = f"**P{number:02}**"
    for case in tests:
        test = f"[{_cell(case.check)}](../tests/field/{case.file})"
        yield f"| {name} | {_linked(case.elsewhere)} | {_cell(_sentence(case.here))} | {test} |"
        name = ""
    if not tests:
        yield f"| {name} | | no test yet | |"


def _linked(text: str) -> str:
    """A sentence, followed by its URLs as links."""
    threads = _URL.findall(text)
    plain = re.sub(r"\s*\(https?://[^)]*\)", "", text)
    return f"{_cell(_sentence(plain))} {', '.join(map(_link, threads))}".strip()


def _link(address: str) -> str:
    thread = _THREAD.fullmatch(address)
    name = f"{thread[1]}#{thread[2]}" if thread else _shortened(address)
    return f"[{name}]({address})"


def _shortened(address: str) -> str:
    host, _, path = address.removeprefix("https://").partition("/")
    return path if host == "github.com" else host


def _sentence(text: str) -> str:
    """The text with a capital letter at the beginning, unless it begins with a name in code."""
    first = text.split(" ", 1)[0].rstrip(",:;.")
    return text[:1].upper() + text[1:] if first.isalpha() else text


def _cell(text: str) -> str:
    """Text for a table cell: names in code style, bars and tags escaped."""
    coded = _NAME.sub(r"`\g<0>`", text.replace("|", "\\|"))
    pieces = re.split(r"(`[^`]*`)", coded)
    return "".join(
        piece if piece.startswith("`") else piece.replace("<", "&lt;") for piece in pieces
    )


def _flat(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
