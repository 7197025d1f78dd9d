"""An HTTP transport for the official SDKs that keeps reasoning intact on OpenAI-compatible hosts.

    openai.OpenAI(base_url=..., http_client=innervoice.bridges.sdk.client())

Responses, complete or streamed, have their reasoning in `reasoning_content` and no markup in `content`. Requests get back the
reasoning that the program dropped, so that the compatible endpoints of DeepSeek, Kimi, Gemini and Claude do not reject the
second turn. Works with httpx2 and with httpx; `library` says which.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from typing import Any

from innervoice.bridges.relay import Relay, StreamRelay, is_chat
from innervoice.canon.jsontext import load_json

__all__ = ["async_client", "async_transport", "client", "transport"]

_KEYS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")


def client(
    provider: str | None = None,
    *,
    relay: Relay | None = None,
    library: Any = "httpx2",
    **settings: Any,
) -> Any:
    """An HTTP client for a sync SDK; `settings` are passed to the library's own client.

    Pass `provider` if the base URL does not identify it, as with a proxy or an emulator. Clients that share a `relay` can
    restore each other's turns.
    """
    module = _library(library)
    inner = settings.pop("transport", None)
    return module.Client(
        transport=transport(provider, relay=relay, library=module, inner=inner), **settings
    )


def async_client(
    provider: str | None = None,
    *,
    relay: Relay | None = None,
    library: Any = "httpx2",
    **settings: Any,
) -> Any:
    """The same for an async SDK."""
    module = _library(library)
    inner = settings.pop("transport", None)
    return module.AsyncClient(
        transport=async_transport(provider, relay=relay, library=module, inner=inner), **settings
    )


def transport(
    provider: str | None = None,
    *,
    relay: Relay | None = None,
    library: Any = "httpx2",
    inner: Any = None,
) -> Any:
    """A transport that wraps another one, by default the library's own."""
    module = _library(library)
    shared = relay or Relay(provider)
    wrapped = inner or module.HTTPTransport()

    class RelayedStream(module.SyncByteStream):  # type: ignore[name-defined, misc]
        def __init__(self, answer: Any, stream: StreamRelay) -> None:
            self._answer, self._stream = answer, stream

        def __iter__(self) -> Iterator[bytes]:
            for piece in self._answer.iter_bytes():
                yield self._stream.feed(piece)
            yield self._stream.finish()

        def close(self) -> None:
            self._stream.close()
            self._answer.close()

    class RelayTransport(module.BaseTransport):  # type: ignore[name-defined, misc]
        def handle_request(self, request: Any) -> Any:
            if not is_chat(str(request.url)):
                return wrapped.handle_request(request)
            exchange = _RelayedExchange(shared, module, request, request.read())
            answer = wrapped.handle_request(exchange.request())
            if _is_stream(answer):
                return exchange.response(answer, RelayedStream(answer, exchange.stream()))
            body = answer.read()
            answer.close()
            return exchange.whole(answer, body)

        def close(self) -> None:
            wrapped.close()

    return RelayTransport()


def async_transport(
    provider: str | None = None,
    *,
    relay: Relay | None = None,
    library: Any = "httpx2",
    inner: Any = None,
) -> Any:
    """The same for async clients."""
    module = _library(library)
    shared = relay or Relay(provider)
    wrapped = inner or module.AsyncHTTPTransport()

    class AsyncRelayedStream(module.AsyncByteStream):  # type: ignore[name-defined, misc]
        def __init__(self, answer: Any, stream: StreamRelay) -> None:
            self._answer, self._stream = answer, stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in self._answer.aiter_bytes():
                yield self._stream.feed(piece)
            yield self._stream.finish()

        async def aclose(self) -> None:
            self._stream.close()
            await self._answer.aclose()

    class AsyncRelayTransport(module.AsyncBaseTransport):  # type: ignore[name-defined, misc]
        async def handle_async_request(self, request: Any) -> Any:
            if not is_chat(str(request.url)):
                return await wrapped.handle_async_request(request)
            exchange = _RelayedExchange(shared, module, request, await request.aread())
            answer = await wrapped.handle_async_request(exchange.request())
            if _is_stream(answer):
                return exchange.response(answer, AsyncRelayedStream(answer, exchange.stream()))
            body = await answer.aread()
            await answer.aclose()
            return exchange.whole(answer, body)

        async def aclose(self) -> None:
            await wrapped.aclose()

    return AsyncRelayTransport()


def _library(library: Any) -> Any:
    return import_module(library) if isinstance(library, str) else library


class _RelayedExchange:
    """One request and its response."""

    def __init__(self, relay: Relay, module: Any, request: Any, body: bytes) -> None:
        self._relay, self._module, self._request = relay, module, request
        self._body = body
        self._url = str(request.url)
        headers = request.headers
        # Another API key is another caller, who must not get this caller's reasoning.
        self._scope = str(next((headers[name] for name in _KEYS if headers.get(name)), ""))
        try:
            model = load_json(body).get("model")
        except (ValueError, AttributeError):
            model = None
        self._model = model if isinstance(model, str) else None

    def request(self) -> Any:
        """The request, with the reasoning of earlier turns restored."""
        request = self._request
        headers = {
            name: value
            for name, value in request.headers.items()
            if name.lower() not in ("content-length", "accept-encoding", "transfer-encoding")
        }
        # The stream is rewritten on the way, so it must not be compressed.
        headers["accept-encoding"] = "identity"
        return self._module.Request(
            request.method,
            request.url,
            headers=headers,
            content=self._relay.outgoing(self._url, self._body, self._scope),
            extensions=request.extensions,
        )

    def stream(self) -> StreamRelay:
        """The relay for a streamed response."""
        return self._relay.stream(self._url, self._model, asked=self._body, scope=self._scope)

    def whole(self, answer: Any, body: bytes) -> Any:
        """A complete response, as the program receives it."""
        if answer.status_code == 200:
            body = self._relay.incoming(
                self._url, self._model, body, asked=self._body, scope=self._scope
            )
        # A stream, so that the client reads it and measures `elapsed`.
        return self.response(answer, self._module.ByteStream(body), length=len(body))

    def response(self, answer: Any, stream: Any, *, length: int | None = None) -> Any:
        """The host's response with another body."""
        headers = list(_headers(answer, length))
        return self._module.Response(
            answer.status_code, headers=headers, stream=stream, extensions=answer.extensions
        )


def _is_stream(answer: Any) -> bool:
    kind = str(answer.headers.get("content-type", ""))
    return answer.status_code == 200 and "text/event-stream" in kind


def _headers(answer: Any, length: int | None) -> Iterator[tuple[str, str]]:
    """The headers of the host, except those that do not match the rewritten body."""
    for name, value in answer.headers.multi_items():
        match name.lower():
            case "content-encoding":
                continue
            case "content-length":
                if length is not None:
                    yield name, str(length)
            case _:
                yield name, value
