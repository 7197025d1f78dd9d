"""The interface of every writer of session files, and what several of them need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_OID, UUID, uuid5

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Part, Text, ToolCall, ToolResult
from innervoice.canon.target import Target
from innervoice.sources.native_turns import Author
from innervoice.wire.media import Accepts

__all__ = [
    "CarriedTurn",
    "NewSession",
    "SessionWriter",
    "TurnResults",
    "iso_time",
    "provider_name",
    "result_words",
    "stable_id",
    "with_results",
]


class CarriedTurn(NamedTuple):
    """A turn as it goes along: a part with an origin keeps its block, any other is written anew."""

    message: Message
    at: float
    author: Author = Author()
    """Of a turn of the model."""


class NewSession(NamedTuple):
    """The session that a writer writes."""

    id: str
    target: Target
    """The model that it goes on with."""
    folder: str
    """The path of the project."""
    at: float
    title: str
    turns: tuple[CarriedTurn, ...]
    is_same_program: bool = False
    """Whether the source is a session of this program."""


class SessionWriter(NamedTuple):
    """How the session files of one program are written, found and resumed."""

    name: str
    """What users type."""
    kind: str
    """The kind of its reader."""
    program: str
    """Its name in words."""
    home: str | None
    """The host whose models it is made for; None if it has models of many."""
    model: str
    """The model without another choice."""
    new_id: Callable[[float], str]
    """An id for a session that begins at a time."""
    write: Callable[[NewSession], bytes]
    place: Callable[[NewSession, Path], Path]
    """Where the program looks for the file, below the folder of its sessions; for a program that imports it, any place."""
    resumed: Callable[[NewSession], tuple[str, ...]]
    """The arguments with which the program goes on."""
    model_option: str
    """Its option for the model."""
    model_name: Callable[[Target], str] = lambda target: target.model
    """The model as that option has it."""
    imports: tuple[str, ...] = ()
    """The arguments, before the file, with which the program imports it; empty if it finds the file by itself."""
    unsent: str = "thinking_shown"
    """The note about reasoning that does not go on as reasoning: that of other models, and that without a seal."""
    own_unsealed: Mapping[str, str | None] = {}
    """Dialects -> another note about reasoning without a seal of the model that it goes on with; None: that model gets it back as reasoning."""
    mixes_models: bool = False
    """Whether it sends sealed reasoning of other models than the one that it goes on with."""
    flags_errors: bool = True
    """Whether it marks the result of a tool that failed."""
    files_in_results: bool = True
    """Whether its results can have files."""
    files_in_failures: bool = True
    """Whether the results of tools that failed can."""
    files_in_answers: bool = True
    """Whether its answers can have files."""
    files: Accepts | None = None
    """The kinds of files that it takes, and how; None: all that the model takes."""
    runs_elsewhere: bool = True
    """Whether it finds its sessions when `innervoice run` starts it."""


# ---- what several writers need ----------------------------------------------------------------------------


def iso_time(at: float) -> str:
    """A time as programs write it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_PROVIDER_NAMES = {"gemini": "google", "vertex": "google-vertex", "bedrock": "amazon-bedrock"}
"""Hosts of the catalog -> their names in pi and opencode, where these are others; the catalog knows them as aliases, or by their beginning."""


def provider_name(provider: str | None) -> str:
    """The name that pi and opencode have for a provider."""
    return _PROVIDER_NAMES.get(provider or "", provider or "unknown")


def stable_id(session: NewSession, *names: object) -> UUID:
    """An id that is the same whenever the same session is written."""
    return uuid5(NAMESPACE_OID, " ".join(map(str, (session.id, *names))))


class TurnResults(NamedTuple):
    """A turn, and the results of its calls by the ids of these."""

    turn: CarriedTurn
    results: Mapping[str, ToolResult]


def with_results(turns: Sequence[CarriedTurn]) -> Iterator[TurnResults]:
    """The turns for a program that keeps results with their calls: what is left of the others without results."""
    for number, turn in enumerate(turns):
        if turn.message.role == "assistant":
            yield TurnResults(turn, _results_after(turns, number))
            continue
        rest = tuple(part for part in turn.message.parts if not isinstance(part, ToolResult))
        if rest:
            yield TurnResults(turn._replace(message=turn.message.replace(parts=rest)), {})


def _results_after(turns: Sequence[CarriedTurn], number: int) -> dict[str, ToolResult]:
    """The results of the calls of a turn; `fitting.py` lets them come right after it."""
    waiting = {part.id for part in turns[number].message.parts if isinstance(part, ToolCall)}
    results: dict[str, ToolResult] = {}
    for turn in turns[number + 1 :]:
        if not waiting - results.keys():
            break
        for part in turn.message.parts:
            if isinstance(part, ToolResult) and part.call_id in waiting:
                results.setdefault(part.call_id, part)
    return results


def result_words(result: ToolResult) -> tuple[str, list[Media]]:
    """The text of a result, and its files."""
    if isinstance(result.content, str):
        return result.content, []
    parts: Sequence[Part] = result.content
    texts = [part.text for part in parts if isinstance(part, Text)]
    return "\n".join(texts), [part for part in parts if isinstance(part, Media)]
