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
            request, model = _restored(passing, module, request, request.read())
            answer = wrapped.handle_request(request)
            if _is_stream(answer):
                relayed = Pieces(answer, passing.stream(str(request.url), model))
                return module.Response(answer.status_code, headers=_headers(answer), stream=relayed)
            body = answer.read()
            answer.close()
            return _whole(passing, module, request, model, answer, body)

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
            request, model = _restored(passing, module, request, await request.aread())
            answer = await wrapped.handle_async_request(request)
            if _is_stream(answer):
                relayed = Pieces(answer, passing.stream(str(request.url), model))
                return module.Response(answer.status_code, headers=_headers(answer), stream=relayed)
            body = await answer.aread()
            await answer.aclose()
            return _whole(passing, module, request, model, answer, body)

        async def aclose(self) -> None:
            await wrapped.aclose()

    return Transport()


def _library(library: Any) -> Any:
    return import_module(library) if isinstance(library, str) else library


def _restored(relay: Relay, module: Any, request: Any, body: bytes) -> tuple[Any, str | None]:
    """The request with the reasoning of earlier turns, and the model that is asked."""
    restored = relay.outgoing(str(request.url), body)
    headers = {
        name: value
        for name, value in request.headers.items()
        if name.lower() not in ("content-length", "accept-encoding", "transfer-encoding")
    }
    # Streams are read as they pass, so they must not be compressed.
    headers["accept-encoding"] = "identity"
    made = module.Request(
        request.method,
        request.url,
        headers=headers,
        content=restored,
        extensions=request.extensions,
    )
    try:
        model = load_json(body).get("model")
    except (ValueError, AttributeError):
        model = None
    return made, model if isinstance(model, str) else None


def _whole(
    relay: Relay, module: Any, request: Any, model: str | None, answer: Any, body: bytes
) -> Any:
    passed = relay.incoming(str(request.url), model, body) if answer.status_code == 200 else body
    return module.Response(answer.status_code, headers=_headers(answer), content=passed)


def _is_stream(answer: Any) -> bool:
    kind = str(answer.headers.get("content-type", ""))
    return answer.status_code == 200 and "text/event-stream" in kind


def _headers(answer: Any) -> dict[str, str]:
    """The headers, without what the changed body makes wrong."""
    dropped = ("content-length", "content-encoding", "transfer-encoding")
    return {name: value for name, value in answer.headers.items() if name.lower() not in dropped}
