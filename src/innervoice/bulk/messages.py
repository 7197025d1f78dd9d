"""Messages as data sets write them: reasoning fields, tool calls and their results, and messages in our own JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from innervoice.bulk.fast_split import SplitText, TextSplitter
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, ToolCall, ToolResult
from innervoice.canon.storage import from_json
from innervoice.canon.words import REASONING_FIELDS
from innervoice.errors import DecodeError

__all__ = [
    "calls_in",
    "calls_text",
    "prompt_message",
    "prompt_of_message",
    "reasoning_field",
    "stored_message",
    "with_earlier_turns",
    "with_whole_prompts",
]

if TYPE_CHECKING:
    from innervoice.bulk.answers import RowAnswer

_FIELDS = (*REASONING_FIELDS[1:], "thought", "think", "analysis")
# AM-DeepSeek-R1-Distilled also has its answers split, next to the content.
_NESTED_FIELDS = (("info", "think_content"),)
# LLaMA-Factory writes a call as the JSON at the end of a value.
_WRITTEN_CALL = re.compile(r'(?:\[\s*)?\{\s*"name"\s*:')


def reasoning_field(message: dict[str, Any]) -> str | None:
    """The reasoning in a separate field of a message."""
    fields = (message.get(name) for name in _FIELDS)
    nested = (
        inner.get(name)
        for outer, name in _NESTED_FIELDS
        if isinstance(inner := message.get(outer), dict)
    )
    return next((value for value in (*fields, *nested) if isinstance(value, str)), None)


def stored_message(message: dict[str, Any]) -> Message | None:
    """The message, if it is in the JSON that `to_json` writes."""
    if message.get("type") != "message" or not isinstance(message.get("parts"), list):
        return None
    try:
        read = from_json(dump_json(message))
    except DecodeError:
        return None
    return read if isinstance(read, Message) else None


def calls_in(message: dict[str, Any], text: str | None) -> tuple[str | None, tuple[ToolCall, ...]]:
    """The tool calls of a message, and its text without calls that are written in it."""
    if message.get("from") == "function_call" and text:
        match = _WRITTEN_CALL.search(text)
        try:
            written = load_json(text[match.start() :]) if match else None
        except ValueError:
            written = None
        if written is not None and match is not None:
            return text[: match.start()], _calls(
                written if isinstance(written, list) else [written]
            )
    return text, _calls(message.get("tool_calls"))


def _calls(written: Any) -> tuple[ToolCall, ...]:
    calls = []
    for index, call in enumerate(written if isinstance(written, (list, tuple)) else ()):
        function = (call.get("function") or call) if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            continue
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else dump_json(arguments).decode()
        calls.append(ToolCall(str(call.get("id") or f"call_{index}"), function["name"], arguments))
    return tuple(calls)


def calls_text(calls: Iterable[ToolCall]) -> str | None:
    """Tool calls in the form of the schema: the JSON of a list of id, name and arguments; None if there are none."""
    listed = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]
    return dump_json(listed).decode() if listed else None


def prompt_message(role: str, content: str | None, message: dict[str, Any]) -> dict[str, Any]:
    """A message in the form of the prompt column; members without a value are left out."""
    stored = stored_message(message)
    if stored is not None:
        return prompt_of_message(stored)
    content, calls = calls_in(message, content)
    call_id = message.get("tool_call_id")
    reasoning = reasoning_field(message) if role == "assistant" else None
    return _member_message(
        role, content, reasoning, calls, None if call_id is None else str(call_id)
    )


def prompt_of_message(message: Message) -> dict[str, Any]:
    """One of our messages in the form of the prompt column."""
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    texts = [_result_text(part) for part in results]
    return _member_message(
        message.role,
        "\n\n".join(texts) if results else message.text,
        message.thinking,
        message.tool_calls,
        results[0].call_id if results else None,
    )


def _result_text(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return result.content
    return "\n\n".join(part.text for part in result.content if isinstance(part, Text))


def _member_message(
    role: str,
    content: str | None,
    reasoning: str | None,
    calls: Iterable[ToolCall],
    call_id: str | None,
) -> dict[str, Any]:
    more = {"reasoning": reasoning or None, "calls": calls_text(calls), "call_id": call_id}
    members = {name: value for name, value in more.items() if value is not None}
    return {"role": role, "content": content, **members}


def with_earlier_turns(
    prompts: Sequence[list[dict[str, Any]] | None],
    rows: Sequence[int],
    turns: Sequence[int],
    split: Sequence[SplitText],
    splitter: TextSplitter,
    *,
    counted: bool,
) -> list[list[dict[str, Any]] | None]:
    """The prompts with the reasoning of earlier answers separated from their text.

    `counted` says that the answers of a row are turns of one conversation: then the last assistant messages in a prompt are the answers before it,
    which were already split.
    """
    split_prompts: list[list[dict[str, Any]] | None] = []
    first = 0
    for index, prompt in enumerate(prompts):
        if rows[index] != rows[first]:
            first = index
        if not prompt or not any(message["role"] == "assistant" for message in prompt):
            split_prompts.append(prompt)
            continue
        earlier = list(split[first : first + turns[index]]) if counted else []
        changed = []
        for message in reversed(prompt):
            if message["role"] != "assistant":
                changed.append(message)
            else:
                changed.append(_apart(message, earlier.pop() if earlier else None, splitter))
        split_prompts.append(changed[::-1])
    return split_prompts


def with_whole_prompts(answers: Sequence[RowAnswer]) -> list[RowAnswer]:
    """The answers of one conversation, each with the whole conversation before it instead of only the new messages."""
    turns_before: list[dict[str, Any]] = []
    answers_with_prompts = []
    for answer in answers:
        turns_before = [*turns_before, *(answer.prompt or ())]
        answers_with_prompts.append(answer._replace(prompt=turns_before or None))
        if answer.response is not None:
            response = answer.response
            turns_before = [
                *turns_before,
                _member_message(
                    "assistant", response.text, response.thinking, response.tool_calls, None
                ),
            ]
    return answers_with_prompts


def _apart(
    message: dict[str, Any], parts: SplitText | None, splitter: TextSplitter
) -> dict[str, Any]:
    content = message["content"]
    if parts is None:
        if message.get("reasoning") or not content or not splitter.has_marker(content):
            return message
        parts = splitter.split(content)
    if parts.reasoning is None and parts.answer == content:
        return message
    apart = {**message, "content": parts.answer}
    if parts.reasoning is not None:
        apart["reasoning"] = parts.reasoning
    return apart
