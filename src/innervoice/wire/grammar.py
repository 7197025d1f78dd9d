"""Frames of a stream -> their errors: the base class of the grammars in `wire/<dialect>/grammar.py`.

A grammar defines which messages may follow which, and their members. The output of our own writers has to obey all of it. Other hosts
that speak a dialect deviate: each recorded deviation is a rule in `tolerates`, with the hosts that need it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from innervoice.canon.jsontext import load_json
from innervoice.canon.value import Value
from innervoice.frames.frame import Frame
from innervoice.wire.json_access import as_count, as_dict

__all__ = ["Complaint", "Grammar", "counts_missing"]

_DONE = b"[DONE]"


class Complaint(Value, frozen=True):
    """One deviation of a stream from the dialect's API."""

    frame: int
    """The number of the frame, from 0; the number of all frames, if the end of the stream is wrong."""
    rule: str
    """A short name, by which a host may be tolerated."""
    text: str

    def __str__(self) -> str:
        return f"frame {self.frame}: {self.text}"


class Grammar(ABC):
    """Checks one stream. `host` is a provider whose recorded deviations are tolerated; None: none are."""

    tolerates: ClassVar[dict[str, frozenset[str]]] = {}
    """Rules that a host breaks in recorded streams."""
    incidental: ClassVar[dict[str, str]] = {}
    """What the API repeats, times, counts, names, pads or reports about the request, and no event carries: the path of a member, without
    list positions, and what it is. Everything else is the same in a stream that is read and written in its own dialect
    (`tests/conformance/test_stream_identity.py`)."""
    signs_of_life: ClassVar[frozenset[str]] = frozenset()
    """Events without other content, which may come at any time."""
    has_done: ClassVar[bool] = False
    """Whether `[DONE]` is the last frame, even after an error."""
    may_end_with_error: ClassVar[bool] = False
    """Whether it may be missing after an error, because the connection is broken off for SDKs that raise nothing else."""
    has_names: ClassVar[bool] = False
    """Whether each event has its type as its name."""

    def __init__(self, host: str | None = None) -> None:
        self.is_over = False
        """Whether the terminal message, or an error, was received."""
        self.has_failed = False
        """Whether it was an error."""
        self._is_done = False
        self._number = 0
        self._found: list[Complaint] = []
        self._ignored = frozenset(
            rule for rule, hosts in self.tolerates.items() if host is not None and host in hosts
        )

    def check(self, frames: Iterable[Frame]) -> Iterator[Complaint]:
        """Reads a stream to its end; returns the errors in their order."""
        for frame in frames:
            self.read(frame)
            self._number += 1
            yield from self._taken()
        self.expect(self.is_over, "no_end", "the stream ends without its terminal message")
        if self.has_done and self.is_over and not (self.has_failed and self.may_end_with_error):
            rule = "no_done_after_error" if self.has_failed else "no_done"
            self.expect(self._is_done, rule, "the stream ends without [DONE]")
        self.end()
        yield from self._taken()

    def read(self, frame: Frame) -> None:
        """Reads one frame."""
        if frame.data is None:
            return
        if not self.expect(not self._is_done, "after_done", "a message comes after [DONE]"):
            return
        if frame.data == _DONE:
            self.expect(self.has_done, "done", "this dialect has no [DONE]")
            self.expect(self.is_over, "early_done", "[DONE] comes before the terminal message")
            self._is_done = True
            return
        try:
            message = load_json(frame.data)
        except ValueError:
            message = None
        if not self.expect(isinstance(message, dict), "not_json", "a message is not a JSON object"):
            return
        if self.has_names:
            kind = message.get("type")
            text = f"an event of the type {kind!r} is named {frame.name!r}"
            self.expect(frame.name == kind, "event_name", text)
        self.message(message, frame)

    @abstractmethod
    def message(self, message: dict[str, Any], frame: Frame) -> None:
        """Checks one message."""

    def end(self) -> None:  # noqa: B027 - most grammars know the end by its message
        """Checks what must have been received by the end of the stream."""

    # ---- what grammars share -------------------------------------------------------------------

    def expect(self, holds: object, rule: str, text: str) -> bool:
        """Adds an error unless the condition holds; returns whether it does."""
        if not holds and rule not in self._ignored:
            self._found.append(Complaint(self._number, rule, text))
        return bool(holds)

    def expect_members(self, value: Any, members: Mapping[str, type], what: str) -> bool:
        """Adds an error for members that are missing or have another type."""
        members_here = as_dict(value)
        wrong = [
            name for name, kind in members.items() if not isinstance(members_here.get(name), kind)
        ]
        return self.expect(not wrong, "members", f"{what} lacks {', '.join(map(repr, wrong))}")

    def fail(self) -> None:
        """Handles an error message: it ends the stream, whatever is open."""
        self.is_over = self.has_failed = True

    def _taken(self) -> list[Complaint]:
        problems, self._found = self._found, []
        return problems


def counts_missing(usage: Any, names: tuple[str, ...]) -> list[str]:
    """Which of the counts are missing, or are not counts."""
    return [name for name in names if as_count(as_dict(usage).get(name)) is None]
