"""A conversation: it keeps the history, runs tools, and can switch between models.

    chat = client.conversation("anthropic/claude-opus-5-5", tools=[get_weather])
    chat.ask("What is the weather in Paris?")
    chat.switch("gemini/gemini-3.5-flash").ask("And in Rome?")

A failed request leaves the history unchanged, so that it can be repeated.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar, Unpack, overload

from innervoice.canon.events import Event, Finish
from innervoice.canon.response import Response
from innervoice.canon.structured import StructuredResponse
from innervoice.client.conversation_base import ConversationBase
from innervoice.client.options import CallFields

T = TypeVar("T")

__all__ = ["AsyncConversation", "Conversation"]


class Conversation(ConversationBase):
    """A conversation over a `Client`."""

    @overload
    def ask(
        self, content: Any, *, schema: type[T], **settings: Unpack[CallFields]
    ) -> StructuredResponse[T]: ...
    @overload
    def ask(
        self, content: Any, *, schema: dict[str, Any], **settings: Unpack[CallFields]
    ) -> StructuredResponse[Any]: ...
    @overload
    def ask(
        self, content: Any, *, schema: None = None, **settings: Unpack[CallFields]
    ) -> Response: ...
    def ask(self, content: Any, *, schema: Any = None, **settings: Unpack[CallFields]) -> Response:
        """Sends a user message, runs the tools that the model calls, and returns the last response."""
        with self._turn(content):
            for last in self._countdown():
                fields = self._fields(settings)
                response = self.client.ask(self.model, self.history, schema=schema, **fields)
                calls = self._keep(response, last=last)
                if not calls:
                    break
                self.history += self._tools.run(calls)
        return self.responses[-1]

    @contextmanager
    def stream(self, content: Any, **settings: Unpack[CallFields]) -> Iterator[Iterator[Event]]:
        """The same as events: every round of tools ends with a `Finish`, and the last one has the answer."""
        with self._turn(content):
            events = self._rounds(settings)
            try:
                yield events
            finally:
                events.close()

    def _rounds(self, settings: CallFields) -> Generator[Event]:
        for last in self._countdown():
            fields = self._fields(settings)
            with self.client.stream(self.model, self.history, **fields) as events:
                for event in events:
                    if not isinstance(event, Finish):
                        yield event
                response = events.response
            calls = self._keep(response, last=last)
            yield Finish(self.responses[-1])
            if not calls:
                return
            self.history += self._tools.run(calls)


class AsyncConversation(ConversationBase):
    """A conversation over an `AsyncClient`."""

    @overload
    async def ask(
        self, content: Any, *, schema: type[T], **settings: Unpack[CallFields]
    ) -> StructuredResponse[T]: ...
    @overload
    async def ask(
        self, content: Any, *, schema: dict[str, Any], **settings: Unpack[CallFields]
    ) -> StructuredResponse[Any]: ...
    @overload
    async def ask(
        self, content: Any, *, schema: None = None, **settings: Unpack[CallFields]
    ) -> Response: ...
    async def ask(
        self, content: Any, *, schema: Any = None, **settings: Unpack[CallFields]
    ) -> Response:
        """Sends a user message, runs the tools that the model calls, and returns the last response."""
        with self._turn(content):
            for last in self._countdown():
                fields = self._fields(settings)
                response = await self.client.ask(self.model, self.history, schema=schema, **fields)
                calls = self._keep(response, last=last)
                if not calls:
                    break
                self.history += await self._tools.run_async(calls)
        return self.responses[-1]

    @asynccontextmanager
    async def stream(
        self, content: Any, **settings: Unpack[CallFields]
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """The same as events: every round of tools ends with a `Finish`, and the last one has the answer."""
        with self._turn(content):
            events = self._rounds(settings)
            try:
                yield events
            finally:
                await events.aclose()

    async def _rounds(self, settings: CallFields) -> AsyncGenerator[Event]:
        for last in self._countdown():
            fields = self._fields(settings)
            async with self.client.stream(self.model, self.history, **fields) as events:
                async for event in events:
                    if not isinstance(event, Finish):
                        yield event
                response = events.response
            calls = self._keep(response, last=last)
            yield Finish(self.responses[-1])
            if not calls:
                return
            self.history += await self._tools.run_async(calls)
