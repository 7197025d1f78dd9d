"""Conversations that write a span for each tool they run: `execute_tool {name}`, in addition to the spans of their requests."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from innervoice.bridges.otel.call import Tracing
from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, ToolCall, ToolResult
from innervoice.client.conversation import AsyncConversation, Conversation
from innervoice.client.tools import ToolBox

__all__ = ["TracedAsyncConversation", "TracedConversation"]

_OPERATION = "execute_tool"


class TracedConversation(Conversation):
    """A conversation over a traced client."""

    def _tool_box(self) -> ToolBox:
        return _TracedToolBox(self.client.tracing, self._tool_arguments, raises=self._raises)


class TracedAsyncConversation(AsyncConversation):
    """The async counterpart."""

    def _tool_box(self) -> ToolBox:
        return _TracedToolBox(self.client.tracing, self._tool_arguments, raises=self._raises)


class _TracedToolBox(ToolBox):
    def __init__(self, tracing: Tracing, tools: Any, *, raises: bool) -> None:
        super().__init__(tools, raises=raises)
        self._tracing = tracing

    def _run_one(self, call: ToolCall) -> Message:
        with self._span(call) as span:
            return self._described(super()._run_one(call), span)

    async def _run_one_async(self, call: ToolCall) -> Message:
        if not inspect.iscoroutinefunction(self._functions.get(call.name)):
            return await super()._run_one_async(call)  # in a thread, by `_run_one`
        with self._span(call) as span:
            return self._described(await super()._run_one_async(call), span)

    def _failed(self, call: ToolCall, error: Exception) -> Message:
        trace = self._tracing.trace
        span = trace.get_current_span()
        span.set_attribute("error.type", type(error).__name__)
        span.set_status(trace.Status(trace.StatusCode.ERROR, str(error)))
        return super()._failed(call, error)

    @contextmanager
    def _span(self, call: ToolCall) -> Iterator[Any]:
        tracing = self._tracing
        span = tracing.tracer.start_span(
            f"{_OPERATION} {call.name}",
            kind=tracing.trace.SpanKind.INTERNAL,
            attributes=self._attributes(call),
        )
        # `_failed` records errors; the current span is the parent of the spans of the tool.
        with tracing.trace.use_span(
            span, end_on_exit=True, record_exception=False, set_status_on_exception=False
        ):
            yield span

    def _attributes(self, call: ToolCall) -> dict[str, Any]:
        tracing, attributes = self._tracing, dict[str, Any]()
        described = {tool.name: tool.description for tool in self.offered}
        if tracing.vocabulary != "openinference":
            attributes |= {
                "gen_ai.operation.name": _OPERATION,
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.call.id": call.id,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.description": described.get(call.name),
                "gen_ai.tool.call.arguments": call.arguments if tracing.on_span else None,
            }
        if tracing.vocabulary != "genai":
            attributes |= {
                "openinference.span.kind": "TOOL",
                "tool.name": call.name,
                "tool.description": described.get(call.name),
                "input.value": call.arguments if tracing.on_span else None,
            }
        return {name: value for name, value in attributes.items() if value is not None}

    def _described(self, message: Message, span: Any) -> Message:
        """Writes the result to the span, if content is captured."""
        tracing = self._tracing
        if tracing.on_span:
            result = _result_text(message)
            if tracing.vocabulary != "openinference":
                span.set_attribute("gen_ai.tool.call.result", result)
            if tracing.vocabulary != "genai":
                span.set_attribute("output.value", result)
        return message


def _result_text(message: Message) -> str:
    """The result of a tool as text; for files only the type."""
    (part,) = message.parts
    assert isinstance(part, ToolResult)
    if isinstance(part.content, str):
        return part.content
    shown = [
        {"type": "text", "content": item.text} if isinstance(item, Text) else {"type": item.type}
        for item in part.content
    ]
    return dump_json(shown).decode("utf-8")
