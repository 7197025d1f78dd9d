"""A live stream -> a terminal display, or append-only text if there is no terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self, TextIO

from innervoice.canon.events import Event
from innervoice.canon.response import Response
from innervoice.errors import UsageError
from innervoice.show.policy import Policy, check_policy
from innervoice.show.sequence import Sequence
from innervoice.show.transcript import Transcript

if TYPE_CHECKING:
    from innervoice.show.terminal import Console, Screen

__all__ = ["Live"]


class Live:
    """Displays the events of one stream; use it as a context manager or call `close`.

    Reasoning is dim while the model thinks; then one line that says how long it took replaces it. Without rich the output is always plain text.

    :param show: How much of the reasoning: "full", "summary", "length" or "none".
    :param keep: Whether the reasoning stays.
    :param file: Where to write, which also decides whether there is a terminal; standard output by default.
    :param console: A rich console to write to instead.
    :param clock: Returns the seconds, for the time that thinking took.
    :param refresh_per_second: How often a terminal is drawn.
    """

    def __init__(
        self,
        *,
        show: Policy = "full",
        keep: bool = False,
        file: TextIO | None = None,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
        refresh_per_second: float = 12.0,
    ) -> None:
        check_policy(show)
        file = file or sys.stdout
        self._transcript = Transcript(clock)
        self._display: Sequence | Screen
        self._is_closed = False
        if _is_terminal(file, console):
            from innervoice.show.terminal import Screen  # noqa: PLC0415 - needs rich

            self._display = Screen(
                self._transcript,
                console,
                show,
                file=file,
                keep=keep,
                clock=clock,
                refresh_per_second=refresh_per_second,
            )
        else:
            write = _writer(file if console is None else console.file)
            self._display = Sequence(self._transcript, write, show)

    @property
    def response(self) -> Response | None:
        """The complete response; None until the stream has ended."""
        return self._transcript.response

    def feed(self, event: Event) -> None:
        """Displays one event.

        :param event: The event.
        """
        if self._is_closed:
            raise UsageError("this display is closed; create a new Live for another stream")
        self._display.feed(event)

    def follow(self, events: Iterable[Event]) -> Response | None:
        """Displays all events and returns the response.

        :param events: The events of one stream.
        """
        with self:
            for event in events:
                self.feed(event)
        return self.response

    def close(self) -> None:
        """Ends the display; the final text stays on the screen."""
        if not self._is_closed:
            self._is_closed = True
            self._display.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _is_terminal(file: TextIO, console: Console | None) -> bool:
    if console is not None:
        return console.is_terminal and not console.is_dumb_terminal
    return file.isatty() and os.environ.get("TERM") != "dumb" and find_spec("rich") is not None


def _writer(file: IO[str]) -> Callable[[str], None]:
    def write(text: str) -> None:
        try:
            file.write(text)
        except UnicodeEncodeError:
            # The file's encoding lacks some characters.
            encoding = getattr(file, "encoding", None) or "ascii"
            file.write(text.encode(encoding, "replace").decode(encoding))
        file.flush()

    return write
