"""Requests of one conversation, each with the whole history it was sent with -> turns, each once.

A request repeats the earlier messages, and its answer comes back in the next one, often without its reasoning. Messages are compared by their
text, calls and results; the answer in its own span is the one that is kept. Turns that a later request no longer has are marked as abandoned: someone went
back, asked twice, or compressed the history. If the provider stores a conversation (by `gen_ai.conversation.id`), its requests have new messages only.
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import ToolResult
from innervoice.canon.request import Request
from innervoice.canon.response import Failure
from innervoice.canon.tools import Tool
from innervoice.errors import UsageError
from innervoice.sources.answers import answer_from, as_effort
from innervoice.sources.conversation import Turn
from innervoice.sources.otel_calls import Call, author_in, call_of, plain_value, usage_in
from innervoice.sources.otlp import Span
from innervoice.wire.json_access import as_count, as_dict, as_list, as_text

__all__ = ["Thread", "tool_results"]


class Thread:
    """The turns of a conversation, built up from its requests."""

    def __init__(self, *, is_stored: bool) -> None:
        self._is_stored = is_stored
        self._turns: list[Turn] = []
        self._active: list[int] = []
        """The turns that the last request had, and its answer."""
        self.request: Request | None = None

    def add(self, span: Span) -> None:
        """Adds the next request."""
        call = call_of(span)
        self.request = _request(span, call) or self.request
        known = [_key(self._turns[number].message) for number in self._active]
        asked = [_key(message) for message in call.asked]
        same = 0
        while same < min(len(known), len(asked)) and known[same] == asked[same]:
            same += 1
        if call.asked and (same or not self._is_stored):
            for number in self._active[same:]:
                turn = self._turns[number]
                self._turns[number] = turn.replace(marks=(*turn.marks, "abandoned"))
            del self._active[same:]
        for message in call.asked[same:]:
            self._put(Turn(message=message, line=span.line))
        self._put(_answer(span, call))

    def turns(self, results: dict[str, ToolResult]) -> tuple[Turn, ...]:
        """All turns; calls at the end whose results no request repeats get those of the tool spans."""
        answered = {
            part.call_id
            for turn in self._turns
            for part in turn.message.parts
            if isinstance(part, ToolResult)
        }
        last = self._turns[-1].message.tool_calls if self._turns else ()
        open_ids = [call.id for call in last if call.id not in answered and call.id in results]
        if open_ids:
            found = tuple(results[name] for name in open_ids)
            return (*self._turns, Turn(message=Message("tool", found)))
        return tuple(self._turns)

    def _put(self, turn: Turn) -> None:
        self._active.append(len(self._turns))
        self._turns.append(turn)


def _key(message: Message) -> tuple[Any, ...]:
    """What makes two messages the same, whichever program recorded them."""
    results = tuple(part.call_id for part in message.parts if isinstance(part, ToolResult))
    calls = tuple((call.id, call.name) for call in message.tool_calls)
    return "" if results else message.role, message.text.strip(), calls, results


def _answer(span: Span, call: Call) -> Turn:
    attributes = span.attributes
    author = author_in(attributes)
    reasons = [as_text(word) for word in as_list(attributes.get("gen_ai.response.finish_reasons"))]
    status = as_text(attributes.get("gen_ai.response.status"))
    kind = as_text(attributes.get("error.type"))
    failed = span.error is not None or kind is not None
    answers = [
        answer_from(
            author,
            message.parts,
            id=as_text(attributes.get("gen_ai.response.id")) if number == 0 else None,
            ended=not failed and status != "cancelled",
            reason=reason or (reasons[number] if number < len(reasons) else None),
            usage=usage_in(attributes) if number == 0 else None,
            error=Failure(type=kind, message=span.error or None) if failed else None,
        )
        for number, (message, reason) in enumerate(call.answers or [(Message("assistant"), None)])
    ]
    answer = answers[0].replace(alternatives=tuple(answers[1:]))
    took = span.end - span.start if span.start and span.end else None
    return Turn(
        message=answer.message,
        answer=answer,
        at=span.end,
        seconds=took if took is not None and took >= 0 else None,
        line=span.line,
    )


def tool_results(spans: list[Span]) -> dict[str, ToolResult]:
    """The results of tools, by the id of the call."""
    found = {}
    for span in spans:
        name = as_text(span.attributes.get("gen_ai.tool.call.id"))
        result = span.attributes.get("gen_ai.tool.call.result")
        if name and isinstance(result, str):
            found[name] = ToolResult(name, result, span.error is not None)
    return found


def _request(span: Span, call: Call) -> Request | None:
    """The settings of a request."""
    attributes = span.attributes
    author = author_in(attributes)
    asked = as_text(attributes.get("gen_ai.request.model")) or author.model
    if not asked:
        return None
    parameters = as_dict(plain_value(attributes.get("llm.invocation_parameters")))

    def setting(name: str) -> Any:
        return attributes.get(f"gen_ai.request.{name}", parameters.get(name))

    level = attributes.get("gen_ai.request.reasoning.level", parameters.get("reasoning_effort"))
    stops = plain_value(attributes.get("gen_ai.request.stop_sequences"))
    return Request(
        f"{author.provider}/{asked}" if author.provider else asked,
        (),
        system=call.system,
        tools=tuple(_tools(attributes)),
        reasoning=as_effort(level),
        max_tokens=as_count(setting("max_tokens")) or None,
        temperature=_number(setting("temperature")),
        top_p=_number(setting("top_p")),
        stop=tuple(stop for stop in as_list(stops) if isinstance(stop, str)) or None,
        stream=attributes.get("gen_ai.request.stream") is True,
    )


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e6 else None


def _tools(attributes: dict[str, Any]) -> list[Tool]:
    listed = as_list(plain_value(attributes.get("gen_ai.tool.definitions")))
    flat = (
        plain_value(value)
        for name, value in attributes.items()
        if name.startswith("llm.tools.") and name.endswith(".tool.json_schema")
    )
    tools = []
    for definition in listed or flat:
        try:
            tools.append(Tool.of(definition))
        except UsageError:
            continue
    return tools
