"""Reading what a model sent, whole or streamed."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, overload

from innervoice.canon.events import Event
from innervoice.canon.jsontext import load_json
from innervoice.canon.response import Response
from innervoice.decoder import StreamDecoder
from innervoice.errors import DecodeError, ProviderError
from innervoice.wire.objects import json_of

__all__ = ["StreamDecoder", "decode", "decode_stream"]


def decode(
    body: Any,
    provider: str | None = None,
    model: str | None = None,
    dialect: str | None = None,
    request: Any = None,
    scope: str | None = None,
    inline: str | None = None,
) -> Response:
    """Reads a whole answer: bytes, text, a dict, an SDK's object, a LangChain message, or a captured stream.

    Raises `ProviderError` for a provider's error and `DecodeError` for anything that is not an answer.
    """
    if body is None:
        raise DecodeError("expected an answer, not None")
    decoder = StreamDecoder(
        provider=provider, model=model, dialect=dialect, request=request, scope=scope, inline=inline
    )
    try:
        value = _whole(body)
        if isinstance(value, (bytes, bytearray, memoryview)):
            decoder.feed(value)
        else:
            decoder.feed_json(value, whole=True)
        decoder.finish()
    except RecursionError:
        raise DecodeError("expected an answer of a model: the JSON is nested too deeply") from None
    response = decoder.response
    if response.parts or response.ended:
        return response
    error = response.error
    if error and error.type not in ("DecodeError", "FrameError"):
        raise ProviderError(error.type, error.code, error.message)
    raise DecodeError(
        f"expected an answer of a model: {error.message if error else _state(response)}"
    )


def _state(response: Response) -> str:
    """What came in place of an answer."""
    word = response.wire_finish_reason
    named = f" of {response.id}" if response.id else ""
    return f"nothing{named} came but its beginning" + (
        f", with the status {word!r}" if word else ""
    )


def _whole(body: Any) -> Any:
    """The JSON value of a body, or the bytes of one that is not a single JSON value."""
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    if not isinstance(body, (bytes, bytearray, memoryview)):
        return json_of(body)
    if body[:1] not in (b"{", b"["):
        return body
    try:
        return load_json(body)
    except ValueError:
        return body


@overload
def decode_stream(
    chunks: AsyncIterable[Any],
    provider: str | None = ...,
    model: str | None = ...,
    dialect: str | None = ...,
    request: Any = ...,
    scope: str | None = ...,
    inline: str | None = ...,
) -> AsyncIterator[Event]: ...
@overload
def decode_stream(
    chunks: Iterable[Any],
    provider: str | None = ...,
    model: str | None = ...,
    dialect: str | None = ...,
    request: Any = ...,
    scope: str | None = ...,
    inline: str | None = ...,
) -> Iterator[Event]: ...
def decode_stream(
    chunks: Iterable[Any] | AsyncIterable[Any],
    provider: str | None = None,
    model: str | None = None,
    dialect: str | None = None,
    request: Any = None,
    scope: str | None = None,
    inline: str | None = None,
) -> Iterator[Event] | AsyncIterator[Event]:
    """Reads an answer as it comes; an async iterable gives an async iterator.

    A broken stream does not raise: the last event is always a `Finish`, and its response has the error.
    """
    decoder = StreamDecoder(
        provider=provider, model=model, dialect=dialect, request=request, scope=scope, inline=inline
    )
    if isinstance(chunks, AsyncIterable):
        return _decode_async(chunks, decoder)
    if isinstance(chunks, (bytes, bytearray, memoryview, str, dict)):
        chunks = [chunks]
    return _decode(chunks, decoder)


def _decode(chunks: Iterable[Any], decoder: StreamDecoder) -> Iterator[Event]:
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.finish()


async def _decode_async(chunks: AsyncIterable[Any], decoder: StreamDecoder) -> AsyncIterator[Event]:
    async for chunk in chunks:
        for event in decoder.feed(chunk):
            yield event
    for event in decoder.finish():
        yield event
