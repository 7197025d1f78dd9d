"""The registry: dialects by name, and which of them a message or a history looks like.

A new dialect is a folder that exports `DIALECT`, and a line in `_FOLDERS`. A folder is imported when its dialect is first needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from innervoice.errors import UsageError

if TYPE_CHECKING:
    from innervoice.frames.frame import Frame
    from innervoice.wire.dialect import Dialect, RequestReader, Rules, Writer
    from innervoice.wire.protocol import Context, Reader
    from innervoice.wire.replay import Replay
    from innervoice.wire.serve import Server

__all__ = [
    "DEFAULT", "DIALECTS", "ENVELOPE_MEMBERS", "HISTORY_MEMBERS", "dialect_named", "dialect_of", "framing_of", "history_dialect_of", "kin_at",
    "reader_of", "replay_of", "request_reader_of", "rules_of", "server_of", "writer_of",
]  # fmt: skip

# In the order in which `looks_like` is tried.
_FOLDERS = {
    "openai-chat": "chat",
    "anthropic": "anthropic",
    "openai-responses": "responses",
    "gemini": "gemini",
    "gemini-interactions": "interactions",
    "bedrock-converse": "converse",
    "mistral": "mistral",
    "cohere": "cohere",
    "ollama": "ollama",
}
DIALECTS = tuple(_FOLDERS)
DEFAULT = "openai-chat"
"""The dialect of an unknown server: most are compatible with this one."""
HISTORY_MEMBERS = ("messages", "contents", "input")
"""The members of a body that may contain a conversation, in any dialect."""
ENVELOPE_MEMBERS = frozenset({"response", "result", "success", "body", "custom_id", "recordId"})
"""A message without any of these members has no envelope (`envelopes.py`)."""


@cache
def dialect_named(name: str) -> Dialect:
    """The dialect of a name; raises `UsageError` for any other name."""
    folder = _FOLDERS.get(name) if isinstance(name, str) else None
    if folder is None:
        raise UsageError(f"dialect must be one of {', '.join(DIALECTS)}; not {name!r}")
    dialect: Dialect = import_module(f"innervoice.wire.{folder}").DIALECT
    return dialect


# ---- code by the name of a dialect -------------------------------------------------------------------


def reader_of(dialect: str, context: Context) -> Reader:
    """A reader for one answer."""
    return _reader_class(dialect)(context)


@cache
def _reader_class(dialect: str) -> type[Reader]:
    return dialect_named(dialect).reader


@cache
def writer_of(dialect: str) -> Writer:
    """The function that writes a request: (request, model, name of the limit) -> body."""
    return dialect_named(dialect).writer


@cache
def request_reader_of(dialect: str) -> RequestReader:
    """The function that reads the body of a request."""
    return dialect_named(dialect).request_reader


@cache
def rules_of(dialect: str) -> Rules:
    """The function that finds what an API would refuse in a body."""
    return dialect_named(dialect).rules


@cache
def server_of(dialect: str) -> Server:
    """The server's side: writes answers, streams and errors."""
    return dialect_named(dialect).server


@cache
def replay_of(dialect: str) -> Replay:
    """How the model's turns are sent back to it."""
    return dialect_named(dialect).replay


def framing_of(dialect: str) -> Callable[[Frame], bytes]:
    """The function that writes a frame of a stream as bytes."""
    return dialect_named(dialect).framing


# ---- recognition ---------------------------------------------------------------------------------------


def dialect_of(value: Any, name: str | None = None, usual: str | None = None) -> str | None:
    """The dialect that a message looks like; None if it could be any.

    `name` is the event's name, if it has one; `usual` the dialect to try first.
    """
    if isinstance(value, list):
        return dialect_of(value[0]) if value else None
    if not isinstance(value, dict):
        return None
    if usual and dialect_named(usual).looks_like(value, name):
        return usual
    for dialect in DIALECTS:
        if dialect_named(dialect).looks_like(value, name):
            return dialect
    return None


def history_dialect_of(items: list[Any]) -> str | None:
    """The dialect that a list of messages, contents or items looks like; None if it is not such a list."""
    dicts = [item for item in items if isinstance(item, dict)]
    for dialect in DIALECTS:
        if dialect_named(dialect).history_looks_like(dicts):
            return dialect
    return DEFAULT if any("role" in item for item in dicts) else None


def kin_at(looks: str | None, usual: str) -> str | None:
    """The dialect of an answer: its host's usual one, where the two look alike."""
    return usual if looks is not None and dialect_named(usual).kin == looks else looks
