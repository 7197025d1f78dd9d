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
from urllib.parse import urlsplit

from innervoice.bridges.chat_turns import ChatTurns, TurnPosition, with_sent_ids
from innervoice.canon.events import Event, Finish, PartEnd, TextDelta, ThinkingDelta
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Thinking, is_inline
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.canon.rows import Host
from innervoice.catalog.lookup import all_hosts, host_of
from innervoice.decoding import StreamDecoder, decode
from innervoice.errors import InnervoiceError
from innervoice.frames.frame import Frame
from innervoice.frames.sse import ServerSentEvents, sse_bytes
from innervoice.planning.plan import planned
from innervoice.wire.chat.reasoning import DETAILS, FIELDS
from innervoice.wire.chat.serve import read_message
from innervoice.wire.chat.write import write_assistant
from innervoice.wire.json_access import as_dict, as_list

__all__ = [
    "Relay",
    "StreamRelay",
    "async_client",
    "async_transport",
    "client",
    "is_chat",
    "transport",
]

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
        return self._relay.stream(
            self._url, self._model, request_body=self._body, scope=self._scope
        )

    def whole(self, answer: Any, body: bytes) -> Any:
        """A complete response, as the program receives it."""
        if answer.status_code == 200:
            body = self._relay.incoming(
                self._url, self._model, body, request_body=self._body, scope=self._scope
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


# ---- Rewrites requests and responses between an SDK and an OpenAI-compatible host. Does no I/O.
#
#     request    assistant turns that lost their reasoning get it back, in the field that the host expects
#     response   reasoning moves to `reasoning_content`, markup is removed from `content`, and the turn is remembered
#     stream     the same, chunk by chunk
#
# A turn is recognized by its visible text or tool calls (`chat_turns.py`), whatever other fields the program keeps. A turn that
# was never seen here gets an empty reasoning field if the host requires one.


_DIALECT = "openai-chat"
_FIELD = "reasoning_content"
"""Where programs look for reasoning; other fields of the host stay next to it."""


def is_chat(url: str) -> bool:
    """Whether a URL is that of chat completions."""
    return urlsplit(url).path.rstrip("/").endswith("/chat/completions")


class Relay:
    """Remembers turns and restores their reasoning; `inline="off"` leaves markup in the text."""

    def __init__(
        self,
        provider: str | None = None,
        *,
        remembered: int = 10_000,
        inline: str | None = None,
    ) -> None:
        self._provider = provider
        self._inline = inline
        self._turns = ChatTurns(remembered)

    # ---- requests --------------------------------------------------------------------------------

    def outgoing(self, url: str, body: bytes, scope: str = "") -> bytes:
        """The body of a request, with the reasoning of earlier turns restored; `scope` identifies the caller."""
        value = _object(body)
        if value is None or not isinstance(value.get("messages"), list):
            return body
        host = self._host(url)
        target = f"{host.id if host else 'custom'}/{value.get('model') or 'unknown'}"
        recalled = self._turns.recall(value["messages"], scope).messages
        sent_messages = [message for message, _ in recalled]
        messages = [
            _restored(message, turn, target) if _is_turn(message) else message
            for message, turn in recalled
        ]
        return dump_json({**value, "messages": with_sent_ids(sent_messages, messages)})

    # ---- responses -------------------------------------------------------------------------------

    def incoming(
        self, url: str, model: str | None, body: bytes, *, request_body: bytes, scope: str = ""
    ) -> bytes:
        """The body of a complete response, with its reasoning in `reasoning_content` and its text without markup.

        `request_body` is the body of the request as the program wrote it.
        """
        value = _object(body)
        choices = as_list(value.get("choices")) if value else []
        if value is None or not choices:
            return body
        try:
            response = decode(value, **self._hints(url, model))
        except InnervoiceError:
            return body
        self.remember(response, self._next_position(request_body, scope))
        first = as_dict(choices[0])
        received = as_dict(first.get("message"))
        message = {**received, **_spoken(received, response)}
        return dump_json({**value, "choices": [{**first, "message": message}, *choices[1:]]})

    def stream(
        self, url: str, model: str | None, *, request_body: bytes, scope: str = ""
    ) -> StreamRelay:
        """The same for a streamed response."""
        decoder = StreamDecoder(**self._hints(url, model))
        return StreamRelay(self, decoder, self._next_position(request_body, scope))

    def remember(self, response: Response, position: TurnPosition) -> None:
        """Stores a turn for later requests that contain it."""
        self._turns.keep(position, response.message)

    def _next_position(self, request_body: bytes, scope: str) -> TurnPosition:
        """The position of the response to a request."""
        messages = as_list((_object(request_body) or {}).get("messages"))
        return self._turns.position(messages, scope)

    def _hints(self, url: str, model: str | None) -> dict[str, Any]:
        host = self._host(url)
        return {
            "provider": host.id if host else None,
            "model": model,
            "dialect": _DIALECT,
            "inline": self._inline,
        }

    def _host(self, url: str) -> Host | None:
        """The host: from `provider`, or else from the host name in the URL."""
        if self._provider:
            return host_of(self._provider)
        name = urlsplit(url).hostname
        return next(
            (host for host in all_hosts() if urlsplit(host.base_url).hostname == name), None
        )


class StreamRelay:
    """Rewrites one streamed response."""

    def __init__(self, relay: Relay, decoder: StreamDecoder, position: TurnPosition) -> None:
        self._relay = relay
        self._position = position
        self._decoder = decoder
        self._framing = ServerSentEvents()
        self._last: dict[str, Any] = {}
        self._cut = False
        """Whether markup was removed and no text has followed it yet."""

    def feed(self, data: bytes) -> bytes:
        """Bytes from the host -> bytes for the program."""
        return b"".join(map(self._passed, self._framing.feed(data)))

    def finish(self) -> bytes:
        """The remaining bytes; also remembers the turn."""
        passed = b"".join(map(self._passed, self._framing.finish()))
        return passed + self._ended()

    def close(self) -> None:
        """Remembers the turn of a stream that is not read to its end."""
        self._ended()

    def _passed(self, frame: Frame) -> bytes:
        if frame.data == b"[DONE]":
            return self._ended() + sse_bytes(frame)
        chunk = _object(frame.data) if frame.data else None
        choices = as_list(chunk.get("choices")) if chunk else []
        if chunk is None or not choices or "delta" not in as_dict(choices[0]):
            if chunk is not None and self._decoder is not None:
                self._decoder.feed(chunk)
            return sse_bytes(frame)
        events = self._decoder.feed(chunk)
        self._last = {key: item for key, item in chunk.items() if key not in ("choices", "usage")}
        first = as_dict(choices[0])
        received = as_dict(first["delta"])
        delta = {name: item for name, item in received.items() if name != _FIELD}
        if isinstance(received.get("content"), str):
            delta["content"] = ""
        texts = self._delta_texts(events)
        if received.get("refusal"):
            texts.pop("content", None)  # a refusal is text, but has a member of its own
        passed = {**first, "delta": {**delta, **texts}}
        return sse_bytes(Frame(dump_json({**chunk, "choices": [passed, *choices[1:]]}), frame.name))

    def _delta_texts(self, events: list[Event]) -> dict[str, Any]:
        """The text and reasoning of events, as members of a delta."""
        text, thought = "", ""
        for event in events:
            match event:
                case TextDelta():
                    text += self._begun(event.text)
                case ThinkingDelta():
                    thought += event.text
                case PartEnd(part=Thinking() as part) if is_inline(part):
                    self._cut = True
                case _:
                    pass
        texts = {"content": text, _FIELD: thought}
        return {name: value for name, value in texts.items() if value}

    def _begun(self, text: str) -> str:
        """Text without the blank lines between the markup and the answer."""
        if self._cut:
            rest = text.lstrip()
            self._cut = not rest
            blank = text[: len(text) - len(rest)]
            text = blank[blank.rfind("\n") + 1 :] + rest if rest else ""
        return text

    def _ended(self) -> bytes:
        """Text that was held back until the end, as one more chunk."""
        if self._decoder is None:
            return b""
        decoder, self._decoder = self._decoder, None  # type: ignore[assignment]
        events = decoder.finish()
        finish = events[-1]
        if isinstance(finish, Finish) and finish.response.parts:
            self._relay.remember(finish.response, self._position)
        texts = self._delta_texts(events)
        if not texts:
            return b""
        choice = {"index": 0, "delta": texts, "finish_reason": None}
        return sse_bytes(Frame(dump_json({**self._last, "choices": [choice]})))


def _spoken(message: dict[str, Any], response: Response) -> dict[str, Any]:
    """The members of a message that are replaced; a message without content, such as a refusal, gets none."""
    spoken: dict[str, Any] = {_FIELD: response.thinking} if response.thinking else {}
    if message.get("content"):
        spoken["content"] = response.text or (None if response.tool_calls else "")
    return spoken


def _restored(message: dict[str, Any], stored: Message | None, target: str) -> dict[str, Any]:
    """A turn with the reasoning that the program dropped; reasoning that it kept or edited stays as it is."""
    if stored is None and any(name in message for name in FIELDS):
        return message
    if stored is not None and not _is_still(message, stored):
        return message
    request = Request(target, (stored or _bare(message),), dialect=_DIALECT)
    try:
        fitted = planned(request).plan.messages
    except InnervoiceError:
        return message
    written = write_assistant(fitted[0]) if fitted else {}
    if stored is None:
        # The turn was never seen here: add only the field that the host requires.
        return {**message, **{name: written[name] for name in FIELDS if name in written}}
    fields = {name: message[name] for name in FIELDS if message.get(name)}
    if _is_edited(message, stored, written):
        fields["content"] = message["content"]
    return {
        **message,
        **{name: item for name, item in written.items() if item is not None},
        **fields,
    }


def _is_still(message: dict[str, Any], stored: Message) -> bool:
    """Whether the reasoning fields of a message, if any, have the text of the stored turn and no seals of their own."""
    if message.get(DETAILS):
        return False
    texts = [message[name] for name in FIELDS if message.get(name)]
    thought = _without_blanks(stored.thinking or "")
    return all(isinstance(text, str) and _without_blanks(text) == thought for text in texts)


def _is_edited(message: dict[str, Any], stored: Message, written: dict[str, Any]) -> bool:
    """Whether a message has another text than the stored turn; one without a text lost it."""
    content = message.get("content")
    if not content or content == written.get("content"):
        return False
    text = content if isinstance(content, str) else _bare(message).text
    return _without_blanks(text) != _without_blanks(stored.text)


def _without_blanks(text: str) -> str:
    return "".join(text.split())


def _is_turn(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "assistant"


def _bare(message: dict[str, Any]) -> Message:
    return read_message(message)


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = load_json(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
