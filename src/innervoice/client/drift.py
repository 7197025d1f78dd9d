"""What a provider did -> whether it contradicts the catalog: a refusal of what a row says is accepted, or reasoning in an unknown form.

Each contradiction is noted once in a process, by the row and the fact; `innervoice probe` measures what is true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from threading import Lock
from typing import Any

from innervoice.canon.bounded import Bounded
from innervoice.canon.notes import Note
from innervoice.canon.parts import Thinking
from innervoice.canon.response import Response
from innervoice.canon.target import Target
from innervoice.canon.words import REASONING_FIELDS
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import Headers
from innervoice.wire.unread import reasoning_like

__all__ = ["DIFFERS", "answer_drift", "fact_of", "field_drift", "refusal_drift"]

DIFFERS = "catalog_differs"
_ABOUT_SEALS = re.compile(r"signature|encrypted|decrypt|modified", re.IGNORECASE)
"""Refusals of a history, which a program may have changed."""
_PARAMETERS = ("temperature", "top_p", "top_k", "stop", "logprobs", "presence_penalty", "frequency_penalty")  # fmt: skip
# Facts, the words of refusals that are about them, and the members of a body that ask for it.
_FACTS: tuple[tuple[str, re.Pattern[str], frozenset[str]], ...] = (
    ("forced_tools", re.compile(r"tool.?choice", re.IGNORECASE), frozenset({"tool_choice", "toolchoice"})),
    ("budget", re.compile(r"budget", re.IGNORECASE), frozenset({"budget_tokens", "thinking_budget", "thinkingbudget", "token_budget"})),
    ("efforts", re.compile(r"effort|thinking.?level", re.IGNORECASE), frozenset({"effort", "reasoning_effort", "thinkinglevel", "thinking_level", "maxreasoningeffort"})),
    ("limit", re.compile(r"max_tokens|max_completion_tokens|max_output|maxoutput", re.IGNORECASE), frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens"})),
    ("control", re.compile(r"thinking|reasoning", re.IGNORECASE), frozenset({"thinking", "enable_thinking", "chat_template_kwargs", "thinkingconfig", "reasoning", "think"})),
)  # fmt: skip
_UNKNOWN_MEMBER = re.compile(r"extra inputs|extra_forbidden|unknown (?:name|parameter|field)|unrecognized", re.IGNORECASE)  # fmt: skip
_DEEPEST = 4
_MOST_SEEN = 1000

_seen: Bounded[tuple[str, str, str], bool] = Bounded(_MOST_SEEN)
_lock = Lock()


def refusal_drift(
    text: str, status: int, body: Any, target: Target, headers: Headers
) -> Note | None:
    """The note for a refusal of a request that the catalog says is accepted; None for others, and for what was noted before."""
    if status not in (400, 422) or not isinstance(body, dict) or not target.is_known:
        return None
    fact = None if _ABOUT_SEALS.search(text) else _refused_fact(text, body)
    if fact is None or next(dialect_named(target.dialect).rules(body, target, headers), None):
        return None
    return _first(fact, target, "refused, and the catalog says that it is accepted")


def _refused_fact(text: str, body: dict[str, Any]) -> str | None:
    names = {name.lower() for name in _names(body, 0)}
    for name in _PARAMETERS:
        if name in names and name in text.lower():
            return "refuses"
    for fact, words, members in _FACTS:
        if members & names and words.search(text):
            return fact
    return "strict" if _UNKNOWN_MEMBER.search(text) else None


def _names(value: Any, depth: int) -> Iterator[str]:
    """The names of the members of a body that set something; the history has others."""
    for name, item in as_dict(value).items():
        yield name
        if depth < _DEEPEST and isinstance(item, dict):
            yield from _names(item, depth + 1)


def answer_drift(response: Response, target: Target) -> Note | None:
    """The note for an answer with reasoning in a form that is not known here; None for others, and for what was noted before."""
    for note in response.notes:
        if note.code == "unknown_block":
            return _first("block", target, f"an unknown type of block: {note.detail}")
        if note.code == "content_unread":
            return _first("answer", target, f"unknown members: {note.detail}")
    return None


def field_drift(response: Response, target: Target) -> Note | None:
    """The same for a message with a field that looks like reasoning, if no other reasoning came."""
    if any(isinstance(part, Thinking) for part in response.parts):
        return None
    block = as_dict(response.origin.block if response.origin else None)
    for name, value in block.items():
        is_text = isinstance(value, str) and bool(value)
        if is_text and name not in REASONING_FIELDS and reasoning_like({name: value}):
            return _first("fields", target, f"an unknown field of reasoning: {name[:60]}")
    return None


def fact_of(note: Note) -> str:
    """The fact that a note is about: a word of few."""
    return (note.detail or "").partition(":")[0]


def _first(fact: str, target: Target, what: str) -> Note | None:
    row = target.row.match[0]
    key = (target.provider or "", row, fact)
    with _lock:
        if key in _seen:
            return None
        _seen[key] = True
    name = f"{target.provider}/{target.model}"
    return Note(DIFFERS, f"{fact}: {what} (row {row}); innervoice probe {name}")
