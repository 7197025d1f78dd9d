"""The asynchronous client, for asyncio and trio. `exchange.py` decides what it does; this module only waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import nullcontext
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from inspect import iscoroutinefunction
from math import inf
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, overload
from urllib.request import getproxies

import anyio
import anyio.lowlevel
import anyio.to_thread
from anyio.lowlevel import current_token

from innervoice.canon.answer_type import StructuredResponse
from innervoice.canon.events import Event
from innervoice.canon.response import Response
from innervoice.client.auth import Outgoing
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
    from innervoice.client.conversation import AsyncConversation

T = TypeVar("T")

__all__ = ["AsyncClient", "AsyncEvents", "pour"]


class AsyncClient:
    """Calls models; one client serves many tasks and keeps its connections. In another event loop it opens new ones.

    Keys come from `keys`, from `api_key`, or else from the environment variables in each provider's row.

    :param options: The fields of `ClientOptions`.
    """

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        http = options.get("http")
        if http is not None and not iscoroutinefunction(http.send):
            raise UsageError("http must be an asynchronous client; Client takes synchronous ones")
        self._settings = Settings(options)
        self._own = http is None
        self._limits_silence = http is None or getattr(http, "limits_silence", False) is True
        self._http = http
        self._parsed: Callable[[str], Any] = (
            str  # converts a URL into the type that the HTTP client uses
        )
        self._loop: Any = None  # the event loop that the connections belong to
        self._closed = False
        self._sleep = anyio.sleep
        after_fork(self, AsyncClient._forget_connections)

    @overload
    async def ask(
        self, model: str, messages: Messages, *, schema: type[T], **fields: Unpack[CallFields]
    ) -> StructuredResponse[T]: ...
    @overload
    async def ask(
        self,
        model: str,
        messages: Messages,
        *,
        schema: dict[str, Any],
        **fields: Unpack[CallFields],
    ) -> StructuredResponse[Any]: ...
    @overload
    async def ask(
        self, model: str, messages: Messages, *, schema: None = None, **fields: Unpack[CallFields]
    ) -> Response: ...
    async def ask(
        self, model: str, messages: Messages, *, schema: Any = None, **fields: Unpack[CallFields]
    ) -> Response:
        """Sends a request and returns the whole response; with `stream=True` it is streamed and folded here.

        :param model: The target, `provider/model`.
        :param messages: A question as text, or the history as a list of messages.
        :param schema: A dataclass, a TypedDict, a msgspec Struct, a pydantic model or a JSON schema: the answer has that form, and `data` of the response is its value.
        :param fields: Fields of the `Request`, and `timeout`, `idle_timeout` and `headers` for this call.
        """
        exchange = self._settings.exchange(model, messages, fields, stream=False, schema=schema)
        async with AsyncEvents(self, exchange) as events:
            while not exchange.is_over:
                await events._pull()
            return events.response

    def stream(
        self, model: str, messages: Messages, *, schema: Any = None, **fields: Unpack[CallFields]
    ) -> AsyncEvents:
        """Sends a request and returns its events as they arrive: `async with client.stream(...) as events`.

        :param model: The target, `provider/model`.
        :param messages: A question as text, or the history as a list of messages.
        :param schema: A dataclass, a TypedDict, a msgspec Struct, a pydantic model or a JSON schema: the answer has that form, and `data` of the response is its value.
        :param fields: Fields of the `Request`, and `timeout`, `idle_timeout` and `headers` for this call.
        """
        return AsyncEvents(
            self, self._settings.exchange(model, messages, fields, stream=True, schema=schema)
        )

    async def answer_now(
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
        return await self.ask(model, messages, **fields_with_limit)

    def full_name(self, model: str) -> str:
        """The model's name as `provider/model`, completed with the client's own provider.

        :param model: The name, with or without its provider.
        """
        return "/".join(self._settings.names(model, {}))

    def conversation(self, model: str, **options: Unpack[ConversationOptions]) -> AsyncConversation:
        """A conversation that keeps its history and runs tools.

        :param model: The first target, `provider/model`.
        :param options: The fields of `ConversationOptions`, which hold for every call.
        """
        from innervoice.client.conversation import AsyncConversation  # noqa: PLC0415 - many ask only once

        return AsyncConversation(self, model, **options)

    async def close(self) -> None:
        """Closes the connections; an `http` client that was passed in stays open."""
        self._closed = True
        if self._own and self._http is not None and self._loop == current_token():
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _forget_connections(self) -> None:
        """Leaves the connections to the parent process."""
        if self._own:
            self._http = None

    def _connected(self) -> Any:
        """The HTTP client of the running event loop, created when it is first needed."""
        if self._closed:
            raise UsageError("the client is closed")
        if not self._own:
            return self._http
        loop = current_token()
        if self._http is None or loop != self._loop:
            self._loop = loop
            self._http = _own_http()
            if not getattr(self._http, "limits_silence", False):
                # Few URLs are used, and parsing one is slow.
                self._parsed = lru_cache(import_module("httpx2").URL)
        return self._http


def _own_http() -> Any:
    """The lightweight HTTP client, where its parser is installed, on asyncio and without a proxy; else that of httpx2."""
    if find_spec("httptools") is None or getproxies().keys() & {"http", "https", "all"}:
        return import_module("innervoice.client.network").async_http()
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # trio
        return import_module("innervoice.client.network").async_http()
    return import_module("innervoice.client.over_httptools").OverHttptools()


class AsyncEvents:
    """The events of one answer, for the time of an `async with` block; leaving it closes the connection.

    Iterating yields events up to a `Finish`, and continues where it stopped. An interrupted answer, or one that ends in an error,
    raises; what arrived is in `response` and in the error.
    """

    def __init__(self, client: AsyncClient, exchange: Exchange) -> None:
        self._client = client
        self._exchange = exchange
        self._answer: Any = None
        self._chunks: Any = None
        self._errors: tuple[type[Exception], ...] = ()
        self._position = exchange.events.new_position()
        self._entered = False
        self._is_watched = False
        """Whether each wait is limited by the HTTP client alone."""

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

    def text(self, *, settled: bool = False) -> AsyncIterator[str]:
        """The answer in pieces, from its beginning.

        A piece may turn out to be reasoning (`Recast`), and cannot be taken back here. With `settled=True` only text is yielded that
        can no longer change: immediately where the host separates reasoning, almost immediately after reasoning in the text
        or in a field, and otherwise at the end of the answer.
        """
        return self._pieces("text", settled=settled)

    def thinking(self) -> AsyncIterator[str]:
        """The readable reasoning in pieces, from its beginning."""
        return self._pieces("thinking", settled=False)

    async def close(self) -> None:
        """Closes the connection; leaving the `async with` block does so as well."""
        answer, self._answer = self._answer, None
        chunks, self._chunks = self._chunks, None
        if answer is None:
            return
        if self._client._limits_silence and not self._client._own:
            await answer.aclose()  # of aiohttp or our own, which waits for nothing
            return
        # A cancelled task still closes its connection.
        with anyio.CancelScope(shield=True):
            if hasattr(chunks, "aclose"):
                await chunks.aclose()
            await answer.aclose()
            # httpx leaves closing an inner generator to the event loop: let the loop run.
            await anyio.lowlevel.checkpoint()

    async def __aenter__(self) -> Self:
        if self._entered:
            raise UsageError("a stream can be entered once; call stream() again for another")
        self._entered = True
        await self._open(0.0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._answer is not None:
            await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        events, position = self._exchange.events, self._position
        while position.index >= len(events):
            if self._exchange.is_over:
                raise StopAsyncIteration
            await self._pull()
        position.index += 1
        return events[position.index - 1]

    async def _pieces(self, kind: Kind, *, settled: bool) -> AsyncIterator[str]:
        exchange, view = self._exchange, View(kind)
        position = exchange.events.new_position()
        while True:
            events = exchange.events[position.index :]
            position.index += len(events)
            for piece in view.feed(events, exchange.bound if settled else None):
                yield piece
            if exchange.is_over and position.index == len(exchange.events):
                return
            if position.index == len(exchange.events):
                await self._pull()

    # ---- waiting -------------------------------------------------------------------------------

    async def _open(self, wait: float) -> None:
        """Sends the request, with retries if needed, until an answer begins."""
        exchange, client = self._exchange, self._client
        while True:
            if wait:
                await client._sleep(wait)
            http = client._connected()
            self._errors = errors_of(http)
            problem: Exception | None = None
            outgoing = await self._outgoing()
            limit = exchange.deadline.limit()
            # Such a client also limits the wait for an answer.
            is_limited = client._limits_silence and not client._own
            is_limited = is_limited and exchange.deadline.is_for_silence
            self._is_watched = is_limited and exchange.deadline.left == inf
            try:
                request = http.build_request(
                    outgoing.method,
                    client._parsed(outgoing.url),
                    headers=outgoing.headers,
                    content=outgoing.body,
                    extensions={"timeout": exchange.deadline.timeouts()},
                )
                with exchange.deadline, nullcontext() if is_limited else anyio.fail_after(limit):
                    self._answer = await http.send(request, stream=True)
            except self._errors as error:
                problem = error
            if problem is not None:
                wait = exchange.failed(problem)
                continue
            # httpx decodes each piece in several steps, which uncompressed ones do not need.
            answer = self._answer
            self._chunks = aiter(answer.stream) if is_uncompressed(answer) else answer.aiter_bytes()
            if exchange.started(answer.status_code, answer.headers):
                return
            wait = exchange.refused(await self._refusal())

    async def _outgoing(self) -> Outgoing:
        if self._exchange.may_block:
            return await anyio.to_thread.run_sync(self._exchange.outgoing)
        return self._exchange.outgoing()

    async def _pull(self) -> None:
        """Waits for the next bytes, and retries the request if necessary."""
        exchange = self._exchange
        if self._answer is None:
            raise exchange.failure or UsageError(
                "events can be read only inside the async with block"
            )
        if self._is_watched:
            chunk, problem = await self._next_watched()
            if chunk is not None and exchange.feed(chunk):
                return
        else:
            with exchange.deadline:
                chunk, problem = await self._next()
                if chunk is not None and exchange.feed(chunk):
                    return
        await self._end(problem)

    async def _pour(self, noticed: Callable[[], bool]) -> None:
        """Reads bytes, and calls `noticed` after each of them in the same step of the event loop, as long as it returns True.

        Where the HTTP client cannot do that, one pull is made.
        """
        exchange, pour = self._exchange, getattr(self._answer, "pour", None)
        if pour is None or not self._is_watched or not is_uncompressed(self._answer):
            await self._pull()
            noticed()
            return
        is_read = True

        def sink(chunk: bytes) -> bool:
            nonlocal is_read
            is_read = exchange.feed(chunk)
            return noticed() and is_read

        problem: Exception | None = None
        try:
            if not await pour(sink) and is_read:
                return
        except self._errors as error:
            problem = error
        await self._end(problem)

    async def _end(self, problem: Exception | None) -> None:
        """Handles the end of an answer, or the error that interrupted it, and retries the request if necessary."""
        try:
            wait = self._exchange.end(problem)
        except InnervoiceError:
            await self.close()
            raise
        await self.close()
        if wait is not None:
            await self._open(wait)

    async def _next_watched(self) -> tuple[bytes | None, Exception | None]:
        """The same, where the HTTP client limits silences and nothing else is limited."""
        try:
            return await self._chunks.__anext__(), None
        except StopAsyncIteration:
            return None, None
        except self._errors as error:
            return None, error

    async def _next(self) -> tuple[bytes | None, Exception | None]:
        """The next bytes, or None at the end; and the network error, if there was one."""
        deadline = self._exchange.deadline
        limit = deadline.limit()
        if deadline.left <= 0:
            return None, TimeoutError()
        try:
            # Setting a limit costs more than reading most pieces, and some HTTP clients limit silences themselves.
            if deadline.is_for_silence and self._client._limits_silence:
                return await anext(self._chunks, None), None
            with anyio.fail_after(limit):
                return await anext(self._chunks, None), None
        except self._errors as error:
            return None, error

    async def _refusal(self) -> bytes:
        """The body of an error response, as far as it arrives."""
        body = b""
        try:
            while len(body) < BODY_LIMIT:
                with self._exchange.deadline:
                    chunk, _ = await self._next()
                if chunk is None:
                    break
                body += chunk
        finally:
            await self.close()
        return body


def pour(events: AsyncEvents, noticed: Callable[[], bool]) -> Coroutine[Any, Any, None]:
    """Reads bytes of an answer, and calls `noticed` after each of them as long as it returns True, for code that reads the exchange itself."""
    return events._pour(noticed)
