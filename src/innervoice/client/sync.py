"""The synchronous client. `exchange.py` decides what it does; this module only waits.

A thread that waits for bytes cannot be cancelled, so each read of a connection has its own limit (`network.py`). An HTTP client
that the caller passed has the limits of httpx: an answer that falls silent just before `timeout` may take up to one
`idle_timeout` longer, and slow headers are limited only by the pauses in them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from inspect import iscoroutinefunction
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, overload

from innervoice.canon.answer_type import StructuredResponse
from innervoice.canon.events import Event
from innervoice.canon.response import Response
from innervoice.client.error_mapping import errors_of
from innervoice.client.exchange import Exchange, is_uncompressed
from innervoice.client.forking import after_fork
from innervoice.client.settings import (
    BODY_LIMIT,
    CallFields,
    ClientOptions,
    ConversationOptions,
    Messages,
    Settings,
    UnlimitedCallFields,
)
from innervoice.client.text_stream import Kind, View
from innervoice.errors import InnervoiceError, UsageError
from innervoice.inline.marks import UNSETTLED, SettledPlace

if TYPE_CHECKING:
    from innervoice.client.conversation import Conversation

T = TypeVar("T")

__all__ = ["Client", "Events"]


class Client:
    """Calls models; one client serves many threads and keeps its connections.

    Keys come from `keys`, from `api_key`, or else from the environment variables in each provider's row.

    :param options: The fields of `ClientOptions`.
    """

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        http = options.get("http")
        if http is not None and iscoroutinefunction(http.send):
            raise UsageError(
                "http must be a synchronous client; AsyncClient takes asynchronous ones"
            )
        self._settings = Settings(options)
        self._own = http is None
        self._http = http
        self._parsed: Callable[[str], Any] = (
            str  # converts a URL into the type that the HTTP client uses
        )
        self._closed = False
        self._lock = threading.Lock()
        self._sleep = time.sleep
        after_fork(self, Client._forget_connections)

    @overload
    def ask(
        self, model: str, messages: Messages, *, schema: type[T], **fields: Unpack[CallFields]
    ) -> StructuredResponse[T]: ...
    @overload
    def ask(
        self,
        model: str,
        messages: Messages,
        *,
        schema: dict[str, Any],
        **fields: Unpack[CallFields],
    ) -> StructuredResponse[Any]: ...
    @overload
    def ask(
        self, model: str, messages: Messages, *, schema: None = None, **fields: Unpack[CallFields]
    ) -> Response: ...
    def ask(
        self, model: str, messages: Messages, *, schema: Any = None, **fields: Unpack[CallFields]
    ) -> Response:
        """Sends a request and returns the whole response; with `stream=True` it is streamed and folded here.

        :param model: The target, `provider/model`.
        :param messages: A question as text, or the history as a list of messages.
        :param schema: A dataclass, a TypedDict, a msgspec Struct, a pydantic model or a JSON schema: the answer has that form, and `data` of the response is its value.
        :param fields: Fields of the `Request`, and `timeout`, `idle_timeout` and `headers` for this call.
        """
        with Events(
            self, self._settings.exchange(model, messages, fields, stream=False, schema=schema)
        ) as events:
            while not events._exchange.is_over:
                events._pull()
            return events.response

    def stream(
        self, model: str, messages: Messages, *, schema: Any = None, **fields: Unpack[CallFields]
    ) -> Events:
        """Sends a request and returns its events as they arrive: `with client.stream(...) as events`.

        :param model: The target, `provider/model`.
        :param messages: A question as text, or the history as a list of messages.
        :param schema: A dataclass, a TypedDict, a msgspec Struct, a pydantic model or a JSON schema: the answer has that form, and `data` of the response is its value.
        :param fields: Fields of the `Request`, and `timeout`, `idle_timeout` and `headers` for this call.
        """
        return Events(
            self, self._settings.exchange(model, messages, fields, stream=True, schema=schema)
        )

    def answer_now(
        self,
        model: str,
        messages: Messages,
        *,
        think_at_most: int,
        **fields: Unpack[UnlimitedCallFields],
    ) -> Response:
        """Sends a request and limits its reasoning, so that the answer comes soon.

        :param model: The target, `provider/model`.
        :param messages: A question as text, or the history as a list of messages.
        :param think_at_most: The most tokens of reasoning, about.
        :param fields: Fields of the `Request`, and `timeout`, `idle_timeout` and `headers` for this call.
        """
        fields_with_limit: CallFields = {**fields, "think_at_most": think_at_most}
        return self.ask(model, messages, **fields_with_limit)

    def full_name(self, model: str) -> str:
        """The model's name as `provider/model`, completed with the client's own provider.

        :param model: The name, with or without its provider.
        """
        return "/".join(self._settings.names(model, {}))

    def conversation(self, model: str, **options: Unpack[ConversationOptions]) -> Conversation:
        """A conversation that keeps its history and runs tools.

        :param model: The first target, `provider/model`.
        :param options: The fields of `ConversationOptions`, which hold for every call.
        """
        from innervoice.client.conversation import Conversation  # noqa: PLC0415 - many ask only once

        return Conversation(self, model, **options)

    def close(self) -> None:
        """Closes the connections; an `http` client that was passed in stays open."""
        self._closed = True
        if self._own and self._http is not None:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _forget_connections(self) -> None:
        """Leaves the connections to the parent process; another thread of it may have held the lock."""
        self._lock = threading.Lock()
        if self._own:
            self._http = None

    def _connected(self) -> Any:
        """The HTTP client, created when it is first needed."""
        if self._closed:
            raise UsageError("the client is closed")
        if self._http is None:
            with self._lock:
                if self._http is None:
                    # Few URLs are used, and parsing one is slow.
                    self._parsed = lru_cache(import_module("httpx2").URL)
                    self._http = import_module("innervoice.client.network").sync_http()
        return self._http


class Events:
    """The events of one answer, for the time of a `with` block; leaving it closes the connection.

    Iterating yields events up to a `Finish`, and continues where it stopped. An interrupted answer, or one that ends in an error,
    raises; what arrived is in `response` and in the error.
    """

    def __init__(self, client: Client, exchange: Exchange) -> None:
        self._client = client
        self._exchange = exchange
        self._answer: Any = None
        self._chunks: Iterator[bytes] = iter(())
        self._errors: tuple[type[Exception], ...] = ()
        self._position = exchange.events.new_position()
        self._entered = False

    @property
    def response(self) -> Response:
        """The whole response after the end; before that, what has arrived so far, folded anew on each access."""
        return self._exchange.response

    @property
    def settled(self) -> SettledPlace | None:
        """The first place that is not settled after the event that was yielded last; None if everything is settled."""
        return (
            UNSETTLED if self._position.index < len(self._exchange.events) else self._exchange.bound
        )

    def text(self, *, settled: bool = False) -> Iterator[str]:
        """The answer in pieces, from its beginning.

        A piece may turn out to be reasoning (`Recast`), and cannot be taken back here. With `settled=True` only text is yielded that
        can no longer change: immediately where the host separates reasoning, almost immediately after reasoning in the text
        or in a field, and otherwise at the end of the answer.
        """
        return self._pieces("text", settled=settled)

    def thinking(self) -> Iterator[str]:
        """The readable reasoning in pieces, from its beginning."""
        return self._pieces("thinking", settled=False)

    def close(self) -> None:
        """Closes the connection; leaving the `with` block does so as well."""
        answer, self._answer = self._answer, None
        chunks, self._chunks = self._chunks, iter(())
        if answer is not None:
            getattr(chunks, "close", lambda: None)()
            answer.close()

    def __enter__(self) -> Self:
        if self._entered:
            raise UsageError("a stream can be entered once; call stream() again for another")
        self._entered = True
        self._open(0.0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._answer is not None:
            self.close()

    def __iter__(self) -> Iterator[Event]:
        # A generator, since a call of `__next__` for each event would take a tenth of the time that reading it takes.
        exchange, position = self._exchange, self._position
        events = exchange.events
        while True:
            if position.index < len(events):
                position.index += 1
                yield events[position.index - 1]
            elif exchange.is_over:
                return
            else:
                self._pull()

    def __next__(self) -> Event:
        return next(iter(self))

    def _pieces(self, kind: Kind, *, settled: bool) -> Iterator[str]:
        exchange, view = self._exchange, View(kind)
        position = exchange.events.new_position()
        while True:
            events = exchange.events[position.index :]
            position.index += len(events)
            yield from view.feed(events, exchange.bound if settled else None)
            if exchange.is_over and position.index == len(exchange.events):
                return
            if position.index == len(exchange.events):
                self._pull()

    # ---- waiting -------------------------------------------------------------------------------

    def _open(self, wait: float) -> None:
        """Sends the request, with retries if needed, until an answer begins."""
        exchange, client = self._exchange, self._client
        while True:
            if wait:
                client._sleep(wait)
            http = client._connected()
            self._errors = errors_of(http)
            problem: Exception | None = None
            outgoing = exchange.outgoing()
            timeouts = exchange.deadline.timeouts()
            try:
                with exchange.deadline:
                    request = http.build_request(
                        outgoing.method,
                        client._parsed(outgoing.url),
                        headers=outgoing.headers,
                        content=outgoing.body,
                        extensions={"timeout": timeouts},
                    )
                    self._answer = http.send(request, stream=True)
            except self._errors as error:
                problem = error
            if problem is not None:
                wait = exchange.failed(problem)
                continue
            # httpx reads this dict again when the body begins.
            timeouts.update(exchange.deadline.timeouts())
            # httpx decodes each piece in several steps, which uncompressed ones do not need.
            answer = self._answer
            self._chunks = iter(answer.stream) if is_uncompressed(answer) else answer.iter_bytes()
            if exchange.started(answer.status_code, answer.headers):
                return
            wait = exchange.refused(self._refusal())

    def _pull(self) -> None:
        """Waits for the next bytes, and retries the request if necessary."""
        exchange = self._exchange
        if self._answer is None:
            raise exchange.failure or UsageError("events can be read only inside the with block")
        # As `with deadline:` counts it, without the two calls, which every delta would pay for.
        deadline = exchange.deadline
        began = deadline.since = deadline.clock()
        chunk, problem = self._next()
        goes_on = chunk is not None and exchange.feed(chunk)
        deadline.left -= deadline.clock() - began
        if goes_on:
            return
        try:
            wait = exchange.end(problem)
        except InnervoiceError:
            self.close()
            raise
        self.close()
        if wait is not None:
            self._open(wait)

    def _next(self) -> tuple[bytes | None, Exception | None]:
        """The next bytes, or None at the end; and the network error, if there was one."""
        if self._exchange.deadline.left <= 0:
            return None, TimeoutError()
        try:
            return next(self._chunks, None), None
        except self._errors as error:
            return None, error

    def _refusal(self) -> bytes:
        """The body of an error response, as far as it arrives."""
        body = b""
        try:
            while len(body) < BODY_LIMIT:
                with self._exchange.deadline:
                    chunk, _ = self._next()
                if chunk is None:
                    break
                body += chunk
        finally:
            self.close()
        return body
