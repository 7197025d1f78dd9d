"""A live stream -> a terminal, if there is one, or else text that only grows."""

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
    """Shows the events of one stream: a context manager, or `close` ends it.

    While the model thinks its reasoning is seen dim; when it has thought, one line tells for how long.
    `keep` leaves the reasoning standing. `console` is a console of rich; without it `file`, standard
    output by default, is asked whether it is a terminal. Without rich it is taken for none.
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
        """The whole response, when the stream has ended."""
        return self._transcript.response

    def feed(self, event: Event) -> None:
        """Shows one event."""
        if self._is_closed:
            raise UsageError("this display is closed; another stream needs another Live")
        self._display.feed(event)

    def follow(self, events: Iterable[Event]) -> Response | None:
        """Shows events to their end, and gives the response."""
        with self:
            for event in events:
                self.feed(event)
        return self.response

    def close(self) -> None:
        """Leaves standing what is to stay."""
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
            # A stream of another encoding shows what it can.
            encoding = getattr(file, "encoding", None) or "ascii"
            file.write(text.encode(encoding, "replace").decode(encoding))
        file.flush()

    return write
