"""The chunks of a stream -> the complete response (`stream_chunk_builder`).

Thinking blocks are rebuilt one by one: pieces are joined until a signature, a redacted block or anything other than thinking
ends the block. If the last chunk carries the stored turn (`message_fields.py`) and that turn has inline reasoning, the message
is built from the turn instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from innervoice.bridges.litellm.litellm_object import plain
from innervoice.bridges.litellm.message_fields import (
    KEY,
    members_of,
    stored_turn,
    thinking_blocks_of,
)
from innervoice.bridges.litellm.response_types import Choices, Message, ModelResponse
from innervoice.bridges.litellm.tokens import token_counter
from innervoice.bridges.litellm.usage import Usage
from innervoice.canon.messages import Message as Turn
from innervoice.canon.parts import is_inline
from innervoice.wire.json_access import as_dict, as_list

__all__ = ["stream_chunk_builder"]


def stream_chunk_builder(
    chunks: Iterable[Any],
    messages: Sequence[Any] | None = None,
    start_time: Any = None,  # noqa: ARG001 - litellm's signature
    end_time: Any = None,  # noqa: ARG001
    logging_obj: Any = None,  # noqa: ARG001
) -> ModelResponse | None:
    """The complete response; None if there are no chunks.

    Usage is what a chunk reports; if none does, tokens are counted, for the prompt in `messages`.
    """
    chunk_list = list(chunks)
    if not chunk_list:
        return None
    dumped = [as_dict(plain(chunk)) for chunk in chunk_list]
    built: dict[int, _ChoiceBuilder] = {}
    for chunk in dumped:
        for choice in map(as_dict, as_list(chunk.get("choices"))):
            built.setdefault(choice.get("index") or 0, _ChoiceBuilder()).add(choice)
    answers = [built[index] for index in sorted(built)] or [_ChoiceBuilder()]
    choices = [answer.choice(number) for number, answer in enumerate(answers)]
    head = dumped[0]
    response = ModelResponse(
        id=head.get("id"),
        created=head.get("created"),
        model=next((chunk["model"] for chunk in dumped if chunk.get("model")), None),
        choices=choices,
        system_fingerprint=head.get("system_fingerprint"),
        usage=_usage(chunk_list, dumped)
        or _counted(choices, messages, str(head.get("model") or "")),
    )
    for chunk in chunk_list:
        hidden = getattr(chunk, "_hidden_params", None)
        if isinstance(hidden, dict):
            response._hidden_params.update(
                {name: hidden[name] for name in hidden if name != "usage"}
            )
    return response


class _ChoiceBuilder:
    """Collects the deltas of one choice."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._blocks: list[dict[str, Any]] = []
        self._open: dict[str, Any] | None = None  # the thinking block that may continue
        self._calls: dict[int, dict[str, Any]] = {}
        self._function: dict[str, str] | None = None
        self._items: list[Any] = []
        self._fields: dict[str, Any] = {}
        self._role = "assistant"
        self._word: str | None = None

    def add(self, choice: dict[str, Any]) -> None:
        """Adds one choice of a chunk."""
        self._word = choice.get("finish_reason") or self._word
        delta = as_dict(choice.get("delta"))
        self._role = delta.get("role") or self._role
        for block in map(as_dict, as_list(delta.get("thinking_blocks"))):
            self._think(block)
        if text := delta.get("reasoning_content"):
            self._reasoning.append(text)
        if text := delta.get("content"):
            self._open = None
            self._content.append(text)
        for call in map(as_dict, as_list(delta.get("tool_calls"))):
            self._open = None
            self._call(call)
        if function := as_dict(delta.get("function_call")):
            known = self._function = self._function or {"name": "", "arguments": ""}
            known["name"] += function.get("name") or ""
            known["arguments"] += function.get("arguments") or ""
        self._items += as_list(delta.get("reasoning_items"))
        self._note(as_dict(delta.get("provider_specific_fields")))

    def _think(self, block: dict[str, Any]) -> None:
        if block.get("type") != "thinking":
            self._open = None
            self._blocks.append(block)
            return
        if self._open is None:
            self._open = {"type": "thinking", "thinking": ""}
            self._blocks.append(self._open)
        text = self._open["thinking"] + (block.get("thinking") or "")
        self._open.update({name: value for name, value in block.items() if value is not None})
        self._open["thinking"] = text
        if block.get("signature"):
            self._open = None

    def _call(self, call: dict[str, Any]) -> None:
        index = call.get("index")
        index = index if isinstance(index, int) else len(self._calls)
        known = self._calls.setdefault(
            index, {"function": {"arguments": "", "name": None}, "id": None, "type": "function"}
        )
        function = as_dict(call.get("function"))
        known["function"]["arguments"] += function.get("arguments") or ""
        known["function"]["name"] = known["function"]["name"] or function.get("name")
        known["id"] = known["id"] or call.get("id")
        if fields := as_dict(call.get("provider_specific_fields")):
            known["provider_specific_fields"] = {
                **known.get("provider_specific_fields", {}),
                **fields,
            }

    def _note(self, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            if name == "thinking_blocks":
                continue  # litellm repeats them here
            before = self._fields.get(name)
            self._fields[name] = (
                [*before, *value] if isinstance(before, list) and isinstance(value, list) else value
            )

    def choice(self, number: int) -> Choices:
        """The complete choice."""
        return Choices(self._word, number, Message(**self._members()))

    def _blocks_of(self, turn: Turn | None) -> list[dict[str, Any]]:
        """The original blocks: without signatures, only the stored turn knows where each one ends."""
        blocks = thinking_blocks_of(turn) if turn is not None else []
        return blocks if _text_of(blocks) == _text_of(self._blocks) else self._blocks

    def _members(self) -> dict[str, Any]:
        turn = stored_turn(self._fields[KEY]) if KEY in self._fields else None
        if turn is not None and any(map(is_inline, turn.parts)):
            return members_of(turn)
        calls = [self._calls[index] for index in sorted(self._calls)]
        return {
            "content": "".join(self._content) or (None if calls or self._function else ""),
            "role": self._role,
            "tool_calls": calls or None,
            "function_call": self._function,
            "reasoning_content": "".join(self._reasoning) or None,
            "thinking_blocks": self._blocks_of(turn) or None,
            "reasoning_items": self._items or None,
            "provider_specific_fields": self._fields or None,
        }


def _text_of(blocks: list[dict[str, Any]]) -> str:
    return "".join(block.get("thinking") or "" for block in blocks)


def _usage(chunks: list[Any], dumped: list[dict[str, Any]]) -> Usage | None:
    """The last usage that a chunk reports, including usage that the caller did not ask for."""
    reported = [chunk["usage"] for chunk in dumped if as_dict(chunk.get("usage"))]
    if reported:
        return Usage(**reported[-1])
    for chunk in reversed(chunks):
        hidden = getattr(chunk, "_hidden_params", None)
        usage = hidden.get("usage") if isinstance(hidden, dict) else None
        if isinstance(usage, Usage):
            return usage
    return None


def _counted(choices: list[Choices], messages: Sequence[Any] | None, model: str) -> Usage:
    prompt = token_counter(model=model, messages=list(messages)) if messages else 0
    texts = [
        text
        for choice in choices
        for text in (choice.message.content, choice.message.get("reasoning_content"))
        if text
    ]
    calls = [
        call.function.arguments for choice in choices for call in choice.message.tool_calls or ()
    ]
    written = token_counter(model=model, text=[*texts, *calls]) if texts or calls else 0
    return Usage(prompt_tokens=prompt, completion_tokens=written)
