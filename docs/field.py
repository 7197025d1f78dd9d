"""The page docs/field.md, made from the docstrings of the tests in tests/field.

A test is named `test_pNN_words`; its docstring begins with the number and what must hold, and has the paragraphs `Elsewhere:`,
`Here:` and `Seen failing:`. What is open, and what nobody else offers, stands below.
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
OPEN = (60, 61)
"""Numbers that are for the gateway, and have no test yet."""

_LABELS = re.compile(r"^\s*(Elsewhere|Here|Seen failing): ", re.MULTILINE)
_URL = re.compile(r"https?://[^\s),;]+")
_THREAD = re.compile(r"https://github\.com/[^/]+/([^/]+)/(?:issues|pull)/(\d+)")
# Names of the code: members of what people hold, words with an underscore, and arguments.
_NAME = re.compile(
    r"(?<![\w`/.])(?:(?:iv|r|chat|wire|show|bridges)\.[\w.]*\w|\w+_\w+=?|[a-z]+=(?:\"\w+\"|\w+)?)"
)
_SECTIONS = (
    (1, 30, "Giving reasoning back"),
    (31, 43, "Reading answers"),
    (44, 52, "Tags and channels in the text"),
    (53, 59, "Asking for reasoning"),
    (60, 64, "Streams, tokens, caches, operations"),
)
_INTRODUCTION = """\
# In the field

What really breaks for people who use the reasoning of models, and what happens here instead. The list was collected in 2026 from public
threads about dozens of programs; each number is a class of failure that somebody reported, and many of them were met again and again.

**{tested} of the 64 have a test**, {tests} in all, named after the number: in the user's situation, through public names, and against the
[emulator](emulator.md) where a server is needed. Each was seen failing against code that was broken on purpose; its docstring says how.
The others are open, and say so. This page is made from the docstrings by `scripts/formats`.
"""
_OPEN = {
    60: (
        "Gateways send a piece of thinking into a block of text, or never close a block, and strict programs crash",
        "https://github.com/musistudio/claude-code-router/issues/1725",
        "**Open**: it belongs to the gateway, which is not built yet.",
    ),
    61: (
        "One endpoint of a gateway shows the reasoning, its sibling loses it",
        "https://github.com/QuantumNous/new-api/issues/5530",
        "**Open**: the gateway's matrix of four dialects by four. Between messages, [`iv.convert`](bridges.md) goes every way.",
    ),
}
_STORE = (
    27,
    "A gateway's store gives reasoning to the wrong conversation",
    "https://github.com/mnfst/llm-gateway/pull/2859",
    "**Open**: the store of the gateway, for programs behind it that drop reasoning.",
)

# Number, what people ask for, where, and what there is.
_WISHES = (
    ("F1", "Switch the provider in mid-conversation, and come back to the old reasoning", "https://github.com/langchain-ai/langchain/issues/34933", "**Offered**: every part knows its origin, and [`chat.switch`](guides/switching.md) sends it only there."),
    ("F2", "Be told what was sent, dropped and changed, and why", "https://github.com/aaif-goose/goose/pull/11836", "**Offered**: [`iv.plan`](histories.md#plan) has a decision with rule and reason for every part, and `print(plan)` shows it."),
    ("F3", "Check a history before it is sent", "https://github.com/anomalyco/opencode/issues/10996", "**Offered**: [`iv.lint`](histories.md#lint-and-repair) and `innervoice lint FILE --for MODEL`."),
    ("F4", "Repair a session file that every request dies of", "https://github.com/anthropics/anthropic-sdk-python/issues/1598", "**Offered**: [`innervoice repair`](histories.md#histories-that-others-keep) for Claude Code, Codex, LangChain and bodies of requests, line by line."),
    ("F5", "Budgets everywhere, with room for the answer and the effective value on record", "https://github.com/Observal/Axl/issues/275", "**Offered**: one scale of efforts and budgets, at least 5 % of `max_tokens` left for the answer, and [`wire.reasoning`](asking.md#what-the-model-does-not-take) has both values."),
    ("F6", 'Keep "on or off" apart from "how much", with a third state', "https://github.com/heypandax/pairlet/issues/345", "**Offered**: [None, off, or a level](asking.md#the-setting); what is shown is a setting of its own."),
    ("F11", "Tokens and cost of reasoning, also where it is hidden", "https://github.com/open-telemetry/semantic-conventions/issues/3194", "**Offered**: [one arithmetic](reading.md#tokens) for all providers, and `innervoice.pricing.cost` with the extra `[prices]`. Counts are never estimated."),
    ("F12", "Know what a change does to the prompt cache", "https://github.com/zeroclaw-labs/zeroclaw/issues/10786", "**Offered**: [`iv.plan(..., last=plan).cache`](histories.md#cache): the first message and byte that differ, and the cause."),
    ("F13", "Notice that a setting was ignored", "https://github.com/vercel-labs/fx/issues/276", "**Offered**: the note [`setting_ignored`](asking.md#after-the-fact), from what the answer shows."),
    ("F15", "A splitter that does not care for chunks, alone, with vectors for others", "https://github.com/vllm-project/vllm/issues/55195", "**Offered**: [`iv.Splitter`](inline.md), and [vectors](../vectors/README.md) as JSON for any language."),
    ("F18", "Trim, fork and compact without cutting reasoning from what it led to", "https://github.com/anomalyco/opencode/issues/31188", "**Offered**: [`iv.trim`](histories.md#trim) and `chat.fork()`. Compaction by a summary is **not**: whoever writes one appends it as a message."),
    ("F19", "A clear word for an empty answer", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1602", "**Offered**: [`r.status`](reading.md#what-went-wrong), and a note where the answer may stand in the reasoning."),
    ("F20", "Cut the thinking short and still get an answer", "https://github.com/ggml-org/llama.cpp/issues/21889", "**Offered**: `client.answer_now(model, messages, think_at_most=...)`: by the host's own budget where it has one, else in two steps."),
)  # fmt: skip


class Case(NamedTuple):
    """One test, as its docstring tells it."""

    number: int
    file: str
    check: str
    elsewhere: str
    here: str
    seen_failing: str


def cases() -> list[Case]:
    """All tests of the field, in the order of their numbers."""
    return sorted(
        (case for path in sorted(TESTS.glob("test_*.py")) for case in _cases_in(path)),
        key=lambda case: case.number,
    )


def page() -> str:
    """The page as it shall be."""
    found = cases()
    tested = len({case.number for case in found})
    lines = [_INTRODUCTION.format(tested=tested, tests=len(found))]
    for first, last, title in _SECTIONS:
        lines += [f"## {title}", "", "| | elsewhere | here | the test |", "|---|---|---|---|"]
        for number in range(first, last + 1):
            lines += _rows(number, [case for case in found if case.number == number])
        lines.append("")
    lines += ["## What people ask for, and what there is", "", "| | the wish | here |", "|---|---|---|"]  # fmt: skip
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
        told = dict(zip(rest[::2], map(_flat, rest[1::2]), strict=True))
        number, _, check = _flat(head).partition(". ")
        if number != f"P{named[1]}" or told.keys() != {"Elsewhere", "Here", "Seen failing"}:
            raise ValueError(f"{path.name}: {node.name} does not say what the page needs")
        yield Case(
            int(named[1]), path.name, check, told["Elsewhere"], told["Here"], told["Seen failing"]
        )


def _rows(number: int, told: list[Case]) -> Iterator[str]:
    """A row for each test; the number stands in the first."""
    name = f"**P{number:02}**"
    for case in told:
        test = f"[{_cell(case.check)}](../tests/field/{case.file})"
        yield f"| {name} | {_linked(case.elsewhere)} | {_cell(_sentence(case.here))} | {test} |"
        name = ""
    if number in _OPEN or number == _STORE[0]:
        elsewhere, thread, here = _OPEN.get(number, _STORE[1:])
        yield f"| {name} | {elsewhere}. {_link(thread)} | {here} | |"
    elif not told:
        yield f"| {name} | | no test yet | |"


def _linked(text: str) -> str:
    """A sentence, and its addresses as links behind it."""
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
    """Text that begins with a capital letter, unless it begins with a name."""
    first = text.split(" ", 1)[0].rstrip(",:;.")
    return text[:1].upper() + text[1:] if first.isalpha() else text


def _cell(text: str) -> str:
    """Text inside of a table: names are code, no column begins in it, and no tag is one."""
    coded = _NAME.sub(r"`\g<0>`", text.replace("|", "\\|"))
    pieces = re.split(r"(`[^`]*`)", coded)
    return "".join(
        piece if piece.startswith("`") else piece.replace("<", "&lt;") for piece in pieces
    )


def _flat(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
