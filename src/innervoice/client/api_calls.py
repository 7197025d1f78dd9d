"""Calls of a provider's API besides answers, such as files and batches, with the client's keys and connections.

A call that only asks is retried. One that creates something is retried only if the provider has refused it: if the connection
broke, nobody knows whether it was created, and the caller has to find out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from innervoice.canon.notes import Note
from innervoice.client.auth import Destination, Outgoing
from innervoice.client.deadline import Deadline
from innervoice.client.error_mapping import (
    errors_of,
    is_transient,
    network_error,
    refusal_error,
    secrets_of,
)
from innervoice.client.settings import BODY_LIMIT, Messages, Settings
from innervoice.errors import ProviderError, TransportError
from innervoice.wire.batches import ApiCall
from innervoice.wire.dialects import dialect_named

if TYPE_CHECKING:
    from innervoice.client.sync import Client

__all__ = ["EncodedRequest", "ProviderApi"]

_SECONDS = 600.0
"""How long one call may take; a batch of 256 MB needs minutes."""
_CONNECT = 10.0
_NOT_RUN = (429, 503, 529)
"""Statuses that say that nothing was created."""


class EncodedRequest(NamedTuple):
    """A request as its API takes it."""

    body: dict[str, Any]
    notes: tuple[Note, ...]


class ProviderApi:
    """The API of the provider of one model, with the keys and connections of a client."""

    def __init__(self, client: Client, model: str) -> None:
        self._settings: Settings = client._settings
        self._connected: Callable[[], Any] = client._connected
        self._sleep: Callable[[float], None] = client._sleep
        self.destination, self._base_url = self._settings.destination(model)

    def encoded(self, model: str, messages: Messages, fields: Mapping[str, Any]) -> EncodedRequest:
        """The body of a request for a model of this provider; raises our errors for one that cannot be sent."""
        exchange = self._settings.exchange(model, messages, {**fields}, stream=False)  # type: ignore[typeddict-item]
        return EncodedRequest(exchange.wire.body, exchange.wire.notes)

    def destination_of(self, model: str) -> Destination:
        """Where the requests for a model go."""
        return self._settings.destination(model)[0]

    def call(self, call: ApiCall, into: Path | None = None) -> bytes:
        """Sends a call and returns the body of the answer, or writes it to a file; raises the errors of the client."""
        tries = 0
        while True:
            try:
                return self._once(call, into)
            except (ProviderError, TransportError) as error:
                if not _may_repeat(call, error):
                    raise
                wait = self._settings.backoff.wait(tries, error.retry_after)
                if wait is None:
                    raise
                tries += 1
                self._sleep(wait)

    def _once(self, call: ApiCall, into: Path | None) -> bytes:
        http = self._connected()
        headers = self._headers(call)
        deadline = Deadline(_SECONDS, _CONNECT, None)
        secrets = secrets_of(headers)
        began = False
        try:
            with deadline:
                request = http.build_request(
                    call.method,
                    f"{self._base_url.rstrip('/')}{call.path}",
                    headers=headers,
                    content=call.body,
                    extensions={"timeout": deadline.timeouts()},
                )
                answer = http.send(request, stream=True)
                began = True
                try:
                    if answer.status_code >= 400:
                        body = b"".join(answer.iter_bytes())[:BODY_LIMIT]
                        raise refusal_error(
                            answer.status_code,
                            answer.headers,
                            body,
                            now=time.time(),
                            secrets=secrets,
                        )
                    return _received(answer, into)
                finally:
                    answer.close()
        except errors_of(http) as error:
            raise network_error(
                error,
                began=began,
                deadline=deadline,
                secrets=secrets,
                server=urlsplit(self._base_url).netloc,
            ) from None

    def _headers(self, call: ApiCall) -> dict[str, str]:
        headers = {**dialect_named(self.destination.dialect).headers, **self._settings.headers}
        if call.media_type is not None:
            headers["content-type"] = call.media_type
        outgoing = Outgoing(call.method, f"{self._base_url}{call.path}", headers, call.body)
        return {**self._settings.keyring.headers(self.destination, outgoing), **headers}


def _received(answer: Any, into: Path | None) -> bytes:
    if into is None:
        return b"".join(answer.iter_bytes())
    with into.open("wb") as stream:
        for chunk in answer.iter_bytes():
            stream.write(chunk)
    return b""


def _may_repeat(call: ApiCall, error: ProviderError | TransportError) -> bool:
    if call.method != "GET":
        return error.status in _NOT_RUN
    if isinstance(error, TransportError) or error.status is None:
        return True
    return is_transient(error.status, {}, error.type)
