"""Reads the output of a model, whole or streamed."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, NoReturn, overload

from innervoice.canon.events import Event
from innervoice.canon.jsontext import load_json
from innervoice.canon.response import Response
from innervoice.decoder import StreamDecoder
from innervoice.errors import DecodeError, ProviderError
from innervoice.inline.marks import UNSETTLED, SettledPlace
from innervoice.wire.objects import json_of

__all__ = ["StreamDecoder", "checked", "decode", "decode_stream", "read_answer", "unfinished"]


def decode(
    body: Any,
    provider: str | None = None,
    model: str | None = None,
    dialect: str | None = None,
    request: Any = None,
    scope: str | None = None,
    inline: str | None = None,
) -> Response:
    """Reads a whole answer.

    Raises `ProviderError` for a provider's error and `DecodeError` for anything that is not an answer. For a response that is still
    queued or in progress, `id` and `status` of the error are those of the response.

    :param body: Bytes, text, a dict, an SDK's object, a LangChain message, or a captured stream.
    :param provider: The provider that answered; without it the dialect is recognized by the shape of the data.
    :param model: The model that answered, for what its family writes into the text.
    :param dialect: The wire format, if it is not the provider's usual one.
    :param request: The `Request` or `Wire` that was sent, to compare the setting with the answer.
    :param scope: The account that seals are bound to.
    :param inline: The search for reasoning in the text: "off", "on", "all" for every tag name, or None to decide by provider and model.
    """
    return checked(read_answer(body, provider, model, dialect, request, scope, inline))


def read_answer(
    body: Any,
    provider: str | None = None,
    model: str | None = None,
    dialect: str | None = None,
    request: Any = None,
    scope: str | None = None,
    inline: str | None = None,
) -> Response:
    """Reads an answer like `decode`, as far as it was received: a failure is the `error` of the response, and is not raised."""
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
        raise DecodeError("expected a model's answer: the JSON is nested too deeply") from None
    return decoder.response


def checked(response: Response) -> Response:
    """The response, unless nothing of an answer was received; then raises the error."""
    return response if response.parts or response.ended else _failed(response)


def _failed(response: Response) -> NoReturn:
    error = response.error
    if error and error.type not in ("DecodeError", "FrameError"):
        raise ProviderError(error.type, error.code, error.message)
    raise (
        DecodeError(f"expected a model's answer: {error.message}")
        if error
        else unfinished(response)
    )


def unfinished(response: Response) -> DecodeError:
    """The error for a response of which only the beginning was received, as for one that is still queued."""
    word = response.wire_finish_reason
    id_text = f" of {response.id}" if response.id else ""
    status_text = f", with the status {word!r}" if word else ""
    error = DecodeError(
        f"expected a model's answer: only the beginning{id_text} was received{status_text}"
    )
    return error.with_facts(id=response.id, status=word)


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
    """Reads an answer as it arrives; an async iterable yields an async iterator.

    A broken stream does not raise: the last event is always a `Finish`, and its response has the error. `settled` of the
    iterator is the first place that is not settled after the event that it yielded last (`StreamDecoder.settled`).

    :param chunks: The pieces: bytes cut anywhere, text, dicts or an SDK's chunks.
    :param provider: The provider that answered; without it the dialect is recognized by the shape of the data.
    :param model: The model that answered, for what its family writes into the text.
    :param dialect: The wire format, if it is not the provider's usual one.
    :param request: The `Request` or `Wire` that was sent, to compare the setting with the answer.
    :param scope: The account that seals are bound to.
    :param inline: The search for reasoning in the text: "off", "on", "all" for every tag name, or None to decide by provider and model.
    """
    decoder = StreamDecoder(
        provider=provider, model=model, dialect=dialect, request=request, scope=scope, inline=inline
    )
    if isinstance(chunks, AsyncIterable):
        return AsyncDecodedEvents(chunks, decoder)
    if isinstance(chunks, (bytes, bytearray, memoryview, str, dict)):
        chunks = [chunks]
    return DecodedEvents(chunks, decoder)


class _Decoded:
    """The events of the last chunk, and whether all of them were yielded."""

    def __init__(self, decoder: StreamDecoder) -> None:
        self._decoder = decoder
        self._events: Iterator[Event] = iter(())
        self._left = 0
        self._is_over = False

    @property
    def settled(self) -> SettledPlace | None:
        """The first place that is not settled; None if everything that was yielded is.

        Between two events of a chunk nothing new is settled: the second may undo the first.
        """
        return UNSETTLED if self._left else self._decoder.settled

    def _take(self, events: list[Event]) -> None:
        self._events, self._left = iter(events), len(events)

    def _given(self, event: Event) -> Event:
        self._left -= 1
        return event


class DecodedEvents(_Decoded, Iterator[Event]):
    """The events of an answer as it arrives."""

    def __init__(self, chunks: Iterable[Any], decoder: StreamDecoder) -> None:
        super().__init__(decoder)
        self._chunks = iter(chunks)

    def __next__(self) -> Event:
        for event in self._events:
            return self._given(event)
        if self._is_over:
            raise StopIteration
        for chunk in self._chunks:
            if events := self._decoder.feed(chunk):
                self._take(events)
                return next(self)
        self._is_over = True
        self._take(self._decoder.finish())
        return next(self)


class AsyncDecodedEvents(_Decoded, AsyncIterator[Event]):
    """The events of an answer as it arrives, from an async source."""

    def __init__(self, chunks: AsyncIterable[Any], decoder: StreamDecoder) -> None:
        super().__init__(decoder)
        self._chunks = aiter(chunks)

    async def __anext__(self) -> Event:
        for event in self._events:
            return self._given(event)
        if not self._is_over:
            async for chunk in self._chunks:
                if events := self._decoder.feed(chunk):
                    self._take(events)
                    return await anext(self)
            self._is_over = True
            self._take(self._decoder.finish())
            return await anext(self)
        raise StopAsyncIteration
