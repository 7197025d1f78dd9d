"""Functions that a model may call: their schemas, and how they are run.

A plain function becomes a tool by its name, docstring and type hints. If it raises, the error is sent to the model, which can often
correct its call; the conversation continues.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message, tool_result
from innervoice.canon.parts import Media, Opaque, Text, ToolCall
from innervoice.canon.request import Tool
from innervoice.canon.schema import convert_arguments, schema_of
from innervoice.errors import UsageError

__all__ = ["ToolBox"]

_MOST_THREADS = 16


class ToolBox:
    """The tools of a conversation: their definitions, and the functions behind them."""

    def __init__(self, tools: Iterable[Any] = (), *, raises: bool = False) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}
        self._raises = raises
        self.offered: tuple[Tool, ...] = tuple(self._tool(tool) for tool in tools)

    def can_run(self, calls: Sequence[ToolCall]) -> bool:
        """Whether there is a function for any of the calls."""
        return any(call.name in self._functions for call in calls)

    def run(self, calls: Sequence[ToolCall]) -> list[Message]:
        """Runs the calls in parallel and returns their results in order."""
        if len(calls) < 2:
            return [self._run_one(call) for call in calls]
        # Threads do not inherit context variables, such as the current span.
        contexts = [copy_context() for _ in calls]
        with ThreadPoolExecutor(min(len(calls), _MOST_THREADS)) as threads:
            return list(
                threads.map(lambda context, call: context.run(self._run_one, call), contexts, calls)
            )

    async def run_async(self, calls: Sequence[ToolCall]) -> list[Message]:
        """The same without blocking the event loop: a synchronous function runs in a thread."""
        return list(await asyncio.gather(*map(self._run_one_async, calls)))

    def _tool(self, tool: Any) -> Tool:
        if isinstance(tool, (Tool, dict)):
            return Tool.of(tool)
        if not callable(tool):
            kind = type(tool).__name__
            raise UsageError(f"a tool must be a function, a Tool or a dict, not {kind}")
        name = str(getattr(tool, "__name__", type(tool).__name__))
        if name in self._functions:
            raise UsageError(f"two tools have the name {name!r}")
        self._functions[name] = tool
        return Tool(name, inspect.getdoc(tool), schema_of(tool))

    def _run_one(self, call: ToolCall) -> Message:
        try:
            value = _awaited(self._call(call))
        except Exception as error:  # noqa: BLE001 - the model gets the error
            return self._failed(call, error)
        return tool_result(call.id, _content(value))

    async def _run_one_async(self, call: ToolCall) -> Message:
        function = self._functions.get(call.name)
        if not inspect.iscoroutinefunction(function):
            return await asyncio.to_thread(self._run_one, call)
        try:
            value = await self._call(call)
        except Exception as error:  # noqa: BLE001 - the model gets the error
            return self._failed(call, error)
        return tool_result(call.id, _content(value))

    def _failed(self, call: ToolCall, error: Exception) -> Message:
        if self._raises:
            raise error
        return tool_result(call.id, f"{type(error).__name__}: {error}", error=True)

    def _call(self, call: ToolCall) -> Any:
        function = self._functions.get(call.name)
        if function is None:
            names = ", ".join(self._functions) or "none"
            raise UsageError(f"unknown tool {call.name!r}; the tools are {names}")
        try:
            arguments = load_json(call.arguments or "{}")
        except ValueError:
            raise UsageError(f"the arguments are not valid JSON: {call.arguments[:200]}") from None
        if not isinstance(arguments, dict):
            raise UsageError("the arguments must be a JSON object")
        return function(**convert_arguments(function, arguments))


def _awaited(value: Any) -> Any:
    """The result of a coroutine, run in a new event loop; any other value unchanged."""
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def _content(value: Any) -> Any:
    """The return value of a function as the content of a tool result: text, parts, or JSON."""
    if isinstance(value, (str, Text, Media, Opaque)):
        return value
    is_parts = isinstance(value, (list, tuple)) and value
    if is_parts and all(isinstance(item, (Text, Media, Opaque)) for item in value):
        return list(value)
    return dump_json(value).decode("utf-8")
