"""The whole message of a completion, its end, and its errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.frames.frame import Frame
from innervoice.wire.chat.reasoning import DETAILS, FIELDS
from innervoice.wire.chat.usage import write_usage
from innervoice.wire.chat.write import write_assistant
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve_response import openai_error, own_part, own_word
from innervoice.wire.write import block_of, wholes

__all__ = [
    "DONE", "WORDS", "completion", "message_of", "word_of", "write_answer", "write_error",
    "write_stream_error",
]  # fmt: skip

DONE = Frame(b"[DONE]")
_DIALECT = "openai-chat"
_CREATED = 1_767_225_600
"""The first second of 2026: the API requires a time, and none is known."""
WORDS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "error": "error",
}


def write_answer(answer: Response) -> dict[str, Any]:
    """The body of a completion with one choice."""
    parts = tuple(wholes(answer.parts))
    refused = _refusals(parts, answer)
    spoken = answer.replace(parts=tuple(part for part in parts if part not in refused))
    message = message_of(spoken, _DIALECT, lambda text: {"reasoning_content": text})
    message["refusal"] = "".join(part.text for part in refused) or None
    if refused and not message["content"]:
        message["content"] = None
    _mirror_details(message)
    word = word_of(answer, _DIALECT, WORDS)
    return completion(answer, message, word, write_usage(answer.usage))


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of an error."""
    return openai_error(refusal)


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream: a chunk that has nothing else."""
    return Frame(dump_json(write_error(refusal)))


# ---- shared with the relatives of chat --------------------------------------------------------------


def completion(
    answer: Response, message: dict[str, Any], word: str, usage: dict[str, Any]
) -> dict[str, Any]:
    """The body around a message."""
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": word}
    body = {
        "id": answer.id or "chatcmpl-0",
        "object": "chat.completion",
        "created": _CREATED,
        "model": answer.model or "",
        "choices": [choice],
    }
    return {**body, "usage": usage} if usage else body


def message_of(
    answer: Response, dialect: str, plain: Callable[[str], dict[str, Any]]
) -> dict[str, Any]:
    """The message of an answer; `plain` makes the block of reasoning that came without one."""
    parts = [
        own for part in wholes(answer.parts) if (own := _own(part, dialect, plain)) is not None
    ]
    origin = answer.origin if answer.origin and answer.origin.dialect == dialect else None
    message = write_assistant(Message("assistant", tuple(parts), origin))
    calls = [part for part in parts if isinstance(part, ToolCall)]
    for number, part in enumerate(calls):
        if part.origin and "id" in part.origin.invented and block_of(part):
            # The host sent none, so none is written.
            message["tool_calls"][number] = block_of(part)
    kept = as_dict(origin.block) if origin else {}
    return {**message, **{name: value for name, value in kept.items() if name != "content"}}


def _own(part: Part, dialect: str, plain: Callable[[str], dict[str, Any]]) -> Part | None:
    """A part as this dialect can write it: with a block of this dialect, or without one."""
    own = own_part(part, dialect)
    if isinstance(own, Thinking) and block_of(own) is None:
        origin = Origin(dialect=dialect, block=plain(own.text))
        return own.replace(origin=origin) if own.text else None
    return own


def word_of(answer: Response, dialect: str, words: dict[str, str]) -> str:
    """The API's word for the finish reason; another dialect's own word is translated."""
    usual = words["tool_calls" if answer.tool_calls else "stop"]
    return own_word(answer, dialect) or words.get(answer.finish_reason or "", usual)


# ---- specific to chat -------------------------------------------------------------------------------


def _refusals(parts: tuple[Part, ...], answer: Response) -> list[Text]:
    """The texts that are a refusal: those that were received as one, or all if the answer is one."""
    texts = [part for part in parts if isinstance(part, Text)]
    marked = [
        part
        for part in texts
        if part.origin
        and part.origin.dialect == _DIALECT
        and as_dict(part.origin.block).get("type") == "refusal"
    ]
    return marked or (texts if answer.finish_reason == "refusal" else [])


def _mirror_details(message: dict[str, Any]) -> None:
    """OpenRouter repeats the text of all details in one field."""
    entries = message.get(DETAILS)
    if not entries or not message.keys().isdisjoint(FIELDS[1:]):
        return
    texts = [entry.get("text") or entry.get("summary") for entry in map(as_dict, entries)]
    message["reasoning"] = "".join(text for text in texts if isinstance(text, str)) or None
