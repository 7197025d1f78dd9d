"""One exchange with an upstream, whose bytes can be passed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from innervoice.canon.request import Request, Wire
from innervoice.client.exchange import Exchange
from innervoice.gateway.additions import with_members
from innervoice.gateway.refused_turns import seals_in

__all__ = ["GatewayExchange"]

_BATCH = 16 * 1024
"""How much of an answer is read at once where nobody waits for its events."""


class GatewayExchange(Exchange):
    """An exchange whose bytes can be passed on. On the byte path they are read in batches: nobody waits for the events."""

    tap: bytearray | None = None
    """What has come and was not passed on; None where nobody passes bytes on."""
    added: Mapping[str, Any] = MappingProxyType({})
    """What the gateway added to the body."""
    on_refused: Callable[[frozenset[str]], None] | None = None
    """Is told which seals are left out after a refusal."""
    is_reduced = False
    """Whether it was sent again with less, after a refusal."""
    batch = _BATCH
    """How much of an answer is read at once, in bytes."""
    _unread = b""

    def rewritten(self, request: Request) -> Wire:
        """The request as it is sent after a refusal, with what was added before."""
        self.is_reduced = True
        if self.on_refused:
            self.on_refused(seals_in(self._request.messages) - seals_in(request.messages))
        return with_members(super().rewritten(request), self.added)

    def started(self, status: int, headers: Any) -> bool:
        """Takes the head of an answer; what came of an earlier one was shown to nobody."""
        if self.tap is not None:
            self.tap.clear()
        self._unread = b""
        self.events.clear()
        return super().started(status, headers)

    def feed(self, chunk: bytes) -> bool:
        """Takes bytes of the answer; returns whether to read on."""
        if self.tap is None:
            return super().feed(chunk)
        self.tap += chunk
        self._unread += chunk
        if self.has_output and len(self._unread) < self.batch:
            return True
        return self._read()

    def end(self, error: Exception | None = None) -> float | None:
        """Handles the end of an answer."""
        if self._unread:
            self._read()
        return super().end(error)

    def _read(self) -> bool:
        unread, self._unread = self._unread, b""
        return super().feed(unread)
