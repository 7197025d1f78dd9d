"""For people who stay with the official SDKs: a transport that keeps reasoning safe on OpenAI-compatible hosts.

    openai.OpenAI(base_url=..., http_client=innervoice.bridges.sdk.client())

is the whole change. Answers come with `reasoning_content` filled and without markup in `content`, whole and streamed; and
requests get back the reasoning that the program in between has lost, so that DeepSeek, Kimi, Gemini and Claude compatible
endpoints do not refuse the second turn. Works with httpx2 and with httpx; `library` says which.
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
    """An HTTP client for a sync SDK; `settings` go to the library's own client.

    `provider` says who answers where the address does not tell: a proxy, an emulator. A `relay` that several clients share
    lets one restore what another saw.
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
    """A transport around another one, by default the library's own."""
    module = _library(library)
    passing = relay or Relay(provider)
    wrapped = inner or module.HTTPTransport()

    class Pieces(module.SyncByteStream):  # type: ignore[name-defined, misc]
        def __init__(self, answer: Any, stream: StreamRelay) -> None:
            self._answer, self._stream = answer, stream

        def __iter__(self) -> Iterator[bytes]:
            for piece in self._answer.stream:
                yield self._stream.feed(piece)
            yield self._stream.finish()

        def close(self) -> None:
            self._answer.close()

    class Transport(module.BaseTransport):  # type: ignore[name-defined, misc]
        def handle_request(self, request: Any) -> Any:
            if not is_chat(str(request.url)):
                return wrapped.handle_request(request)
            passage = _Passage(passing, module, request, request.read())
            answer = wrapped.handle_request(passage.request())
            if _is_stream(answer):
                relayed = Pieces(answer, passage.stream())
                return module.Response(answer.status_code, headers=_headers(answer), stream=relayed)
            body = answer.read()
            answer.close()
            return passage.whole(answer, body)

        def close(self) -> None:
            wrapped.close()

    return Transport()


def async_transport(
    provider: str | None = None,
    *,
    relay: Relay | None = None,
    library: Any = "httpx2",
    inner: Any = None,
) -> Any:
    """The same for async clients."""
    module = _library(library)
    passing = relay or Relay(provider)
    wrapped = inner or module.AsyncHTTPTransport()

    class Pieces(module.AsyncByteStream):  # type: ignore[name-defined, misc]
        def __init__(self, answer: Any, stream: StreamRelay) -> None:
            self._answer, self._stream = answer, stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in self._answer.stream:
                yield self._stream.feed(piece)
            yield self._stream.finish()

        async def aclose(self) -> None:
            await self._answer.aclose()

    class Transport(module.AsyncBaseTransport):  # type: ignore[name-defined, misc]
        async def handle_async_request(self, request: Any) -> Any:
            if not is_chat(str(request.url)):
                return await wrapped.handle_async_request(request)
            passage = _Passage(passing, module, request, await request.aread())
            answer = await wrapped.handle_async_request(passage.request())
            if _is_stream(answer):
                relayed = Pieces(answer, passage.stream())
                return module.Response(answer.status_code, headers=_headers(answer), stream=relayed)
            body = await answer.aread()
            await answer.aclose()
            return passage.whole(answer, body)

        async def aclose(self) -> None:
            await wrapped.aclose()

    return Transport()


def _library(library: Any) -> Any:
    return import_module(library) if isinstance(library, str) else library


class _Passage:
    """One request on its way out, and its answer on the way back."""

    def __init__(self, relay: Relay, module: Any, request: Any, body: bytes) -> None:
        self._relay, self._module, self._request = relay, module, request
        self._asked = body
        self._url = str(request.url)
        headers = request.headers
        # Whoever has another key is somebody else, and gets nothing of what this one's turns held.
        self._scope = str(next((headers[name] for name in _KEYS if headers.get(name)), ""))
        try:
            model = load_json(body).get("model")
        except (ValueError, AttributeError):
            model = None
        self._model = model if isinstance(model, str) else None

    def request(self) -> Any:
        """The request with the reasoning of earlier turns."""
        given = self._request
        headers = {
            name: value
            for name, value in given.headers.items()
            if name.lower() not in ("content-length", "accept-encoding", "transfer-encoding")
        }
        # Streams are read as they pass, so they must not be compressed.
        headers["accept-encoding"] = "identity"
        return self._module.Request(
            given.method,
            given.url,
            headers=headers,
            content=self._relay.outgoing(self._url, self._asked, self._scope),
            extensions=given.extensions,
        )

    def stream(self) -> StreamRelay:
        """What reads a streamed answer as it passes."""
        return self._relay.stream(self._url, self._model, asked=self._asked, scope=self._scope)

    def whole(self, answer: Any, body: bytes) -> Any:
        """A whole answer, as the program gets it."""
        if answer.status_code == 200:
            body = self._relay.incoming(
                self._url, self._model, body, asked=self._asked, scope=self._scope
            )
        return self._module.Response(answer.status_code, headers=_headers(answer), content=body)


def _is_stream(answer: Any) -> bool:
    kind = str(answer.headers.get("content-type", ""))
    return answer.status_code == 200 and "text/event-stream" in kind


def _headers(answer: Any) -> dict[str, str]:
    """The headers, without what the changed body makes wrong."""
    dropped = ("content-length", "content-encoding", "transfer-encoding")
    return {name: value for name, value in answer.headers.items() if name.lower() not in dropped}
