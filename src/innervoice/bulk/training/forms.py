"""A conversation -> an example, in one of the forms that trainers read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from innervoice.bulk.history_rules import Call, Turn
from innervoice.bulk.leak import final_answer
from innervoice.bulk.schema import Column
from innervoice.bulk.training.targets import Family, FormName, TrainingTarget
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.storage import to_json
from innervoice.errors import UsageError

__all__ = ["FORMS", "Extras", "Writing", "form_columns", "parsed_arguments", "tagged"]


class Extras(NamedTuple):
    """What a row has besides its conversation."""

    id: str
    source: str = ""
    tools: Any = None
    """The tools that the model was offered, as in the row."""
    reference: str | None = None
    """The right answer, if a column has it."""


class Writing(NamedTuple):
    """How an example is written."""

    target: TrainingTarget
    family: Family
    unrolled: bool = False
    """Whether only the last answer is trained."""


def tagged(turn: Turn, family: Family) -> str:
    """The text of a turn with its reasoning in the tags of the family."""
    opens, closes = family.tags
    # The tags include the line breaks; a second one between would be a token that the model does not expect there.
    return (
        f"{opens}{turn.reasoning.strip(_LINES)}{closes}{turn.content.lstrip(_LINES)}"
        if turn.reasoning
        else turn.content
    )


_LINES = "\n"


def _messages(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    messages = [_message(turn, writing) for turn in turns]
    if writing.unrolled and writing.target.trained:
        for message in messages:
            if message["role"] == "assistant":
                message[writing.target.trained] = message is messages[-1]
    return {"id": extras.id, "messages": messages, **_tools(extras)}


def _prompt_completion(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    return {
        "id": extras.id,
        "prompt": [_message(turn, writing) for turn in turns[:-1]],
        "completion": [_message(turns[-1], writing)],
        **_tools(extras),
    }


def _message(turn: Turn, writing: Writing) -> dict[str, Any]:
    family = writing.family
    message: dict[str, Any] = {"role": turn.role, "content": turn.content}
    if turn.role == "assistant" and (turn.reasoning or family.empty_field):
        message[family.field] = turn.reasoning or ""
    if turn.calls:
        if family.one_call and turn.reasoning:
            # The template has one place for both, before the call.
            message[family.field] = "\n\n".join(filter(None, (turn.reasoning, turn.content)))
            message["content"] = ""
        message["tool_calls"] = [_call(call, family) for call in turn.calls]
    if turn.call_id is not None:
        message["tool_call_id"] = turn.call_id
    return message


def _call(call: Call, family: Family) -> dict[str, Any]:
    arguments: Any = (
        parsed_arguments(call.arguments) if family.arguments == "object" else call.arguments
    )
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def parsed_arguments(arguments: str) -> Any:
    """The arguments as a value; text that is not JSON stays text."""
    try:
        return load_json(arguments)
    except ValueError:
        return arguments


def _sharegpt(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    system = [turn.content for turn in turns if turn.role == "system"]
    spoken = [turn for turn in turns if turn.role != "system"]
    example: dict[str, Any] = {
        "id": extras.id,
        "conversations": [_spoken(turn, writing.family) for turn in spoken],
        "system": "\n\n".join(system),
    }
    if extras.tools is not None:
        example["tools"] = (
            extras.tools if isinstance(extras.tools, str) else dump_json(extras.tools).decode()
        )
    return example


def _spoken(turn: Turn, family: Family) -> dict[str, str]:
    if turn.calls:
        calls = [
            {"name": call.name, "arguments": parsed_arguments(call.arguments)}
            for call in turn.calls
        ]
        written = dump_json(calls if len(calls) > 1 else calls[0]).decode()
        return {
            "from": "function_call",
            "value": tagged(turn._replace(content=turn.content + written), family),
        }
    return {"from": _SHAREGPT.get(turn.role, turn.role), "value": tagged(turn, family)}


_SHAREGPT = {"user": "human", "assistant": "gpt", "tool": "observation"}


def _text(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    return {
        "id": extras.id,
        "prompt": _plain(turns[:-1], writing),
        "text": tagged(turns[-1], writing.family),
    }


def _columns(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    last = turns[-1]
    return {
        "id": extras.id,
        "prompt": _plain(turns[:-1], writing),
        "reasoning": last.reasoning,
        "answer": last.content,
    }


def _plain(turns: Sequence[Turn], writing: Writing) -> list[dict[str, str]]:
    return [{"role": turn.role, "content": tagged(turn, writing.family)} for turn in turns]


def _json(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    del writing
    messages = load_json(to_json([_canonical(turn) for turn in turns]))
    return {"id": extras.id, "messages": messages, **_tools(extras)}


def _canonical(turn: Turn) -> Message:
    if turn.role == "tool":
        return Message("tool", (ToolResult(turn.call_id or "", turn.content),))
    if turn.role not in ("system", "user", "assistant"):
        raise UsageError(f"the JSON of innervoice has no role {turn.role!r}")
    parts: list[Part] = [Thinking(turn.reasoning)] if turn.reasoning else []
    if turn.content:
        parts.append(Text(turn.content))
    parts += (ToolCall(call.id, call.name, call.arguments) for call in turn.calls)
    return Message(turn.role, tuple(parts))  # type: ignore[arg-type] # one of the four


def _verl(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    del writing
    last = turns[-1]
    right = extras.reference or final_answer(last.content) or last.content
    return {
        "data_source": extras.source,
        "prompt": [{"role": turn.role, "content": turn.content} for turn in turns[:-1]],
        "ability": "reasoning",
        "reward_model": {"style": "rule", "ground_truth": right},
        "extra_info": {"index": extras.id, "answer": last.content, "reasoning": last.reasoning},
    }


def _tools(extras: Extras) -> dict[str, Any]:
    if extras.tools is None:
        return {}
    return {
        "tools": parsed_arguments(extras.tools) if isinstance(extras.tools, str) else extras.tools
    }


FORMS: dict[FormName, Callable[[Sequence[Turn], Extras, Writing], dict[str, Any]]] = {
    "messages": _messages,
    "prompt_completion": _prompt_completion,
    "sharegpt": _sharegpt,
    "text": _text,
    "columns": _columns,
    "json": _json,
    "verl": _verl,
}


def form_columns(form: FormName, writing: Writing, *, tools: bool) -> dict[str, Column]:
    """The columns of the examples of a form, with their types for files that have a schema."""
    columns = {
        name: Column(kind.replace("{message}", _message_type(writing)), "")
        for name, kind in _COLUMNS[form].items()
    }
    if tools and form in ("messages", "prompt_completion", "sharegpt", "json"):
        columns["tools"] = Column("string", "")
    return columns


_CALL = "struct<id: string, type: string, function: struct<name: string, arguments: string>>"
_PLAIN = "list<struct<role: string, content: string>>"
_COLUMNS: dict[FormName, dict[str, str]] = {
    "messages": {"id": "string", "messages": "list<{message}>"},
    "prompt_completion": {
        "id": "string",
        "prompt": "list<{message}>",
        "completion": "list<{message}>",
    },
    "sharegpt": {
        "id": "string",
        "conversations": "list<struct<from: string, value: string>>",
        "system": "string",
    },
    "text": {"id": "string", "prompt": _PLAIN, "text": "string"},
    "columns": {"id": "string", "prompt": _PLAIN, "reasoning": "string", "answer": "string"},
    "json": {"id": "string", "messages": "string"},
    "verl": {
        "data_source": "string",
        "prompt": _PLAIN,
        "ability": "string",
        "reward_model": "struct<style: string, ground_truth: string>",
        "extra_info": "struct<index: string, answer: string, reasoning: string>",
    },
}


def _message_type(writing: Writing) -> str:
    trained = (
        f", {writing.target.trained}: bool" if writing.unrolled and writing.target.trained else ""
    )
    return f"struct<role: string, content: string, {writing.family.field}: string, tool_calls: list<{_CALL}>, tool_call_id: string{trained}>"
