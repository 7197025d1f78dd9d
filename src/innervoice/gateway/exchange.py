"""One exchange with an upstream, whose bytes can be forwarded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from innervoice.canon.request import Request, Wire
from innervoice.client.exchange import Exchange
from innervoice.conversation.turns import seals_in
from innervoice.gateway.gateway_members import with_members
from innervoice.gateway.limits import LIMITS

__all__ = ["GatewayExchange"]


class GatewayExchange(Exchange):
    """An exchange whose bytes can be forwarded. On the byte path they are read in batches: no one waits for the events."""

    tap: bytearray | None = None
    """Bytes that were received and not yet forwarded; None where bytes are not forwarded."""
    added: Mapping[str, Any] = MappingProxyType({})
    """What the gateway added to the body."""
    on_refused: Callable[[frozenset[str]], None] | None = None
    """Called with the seals that are left out after a refusal."""
    is_reduced = False
    """Whether the request was sent again with less, after a refusal."""
    batch = LIMITS.batch_bytes
    """How much of an answer is read at once, in bytes."""
    _unread = b""

    def rewritten(self, request: Request) -> Wire:
        """The request as it is sent after a refusal, with the members that were added before."""
        self.is_reduced = True
        if self.on_refused:
            self.on_refused(seals_in(self._request.messages) - seals_in(request.messages))
        return with_members(super().rewritten(request), self.added)

    def started(self, status: int, headers: Any) -> bool:
        """Handles the head of an answer; nothing of an earlier one was sent to the client."""
        if self.tap is not None:
            self.tap.clear()
        self._unread = b""
        self.events.clear()
        return super().started(status, headers)

    def feed(self, chunk: bytes) -> bool:
        """Handles bytes of the answer; returns whether to continue reading."""
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
