"""What the models answer here: bodies with 6 kB of reasoning and 2 kB of text, and streams of 1,000 and 300 deltas.

The same words in every dialect, so that who reads them can be compared, and so that what is lost can be seen. Members stand
in the payloads as the providers send them: an SDK that validates gets what it demands.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

DELTAS = (1000, 300)
"""The number of reasoning and text deltas of a stream."""

_THOUGHTS = (
    "the model weighs both options and then it looks at the numbers again before it goes on".split()
)
_ANSWERS = "so the answer to what you asked is that the second way costs less than the first one does".split()
_SIGNATURE = "EuwB" + "s" * 496
_CREATED = 1760450914


def thoughts(count: int) -> list[str]:
    """Pieces of reasoning as a model streams them, with a median of five characters."""
    return [_THOUGHTS[number % len(_THOUGHTS)] + " " for number in range(count)]


def answers(count: int) -> list[str]:
    """Pieces of an answer, with different words, so that the two cannot be confused."""
    return [_ANSWERS[number % len(_ANSWERS)] + " " for number in range(count)]


def written(words: list[str], length: int) -> str:
    """A text as models write them, not words alone: lines, quotes and characters beyond ASCII.

    As often as in 167 recorded answers of several providers, 275 kB of text: a line break every 73 characters, a quote
    every 285 and a character beyond ASCII every 323. JSON escapes the first two, and a decoder copies around them.
    """
    text = "".join(words)[:length]
    for every, mark in ((73, "\n"), (285, '"'), (323, "\u2019")):
        spots = range(every, length, every)
        text = "".join(
            mark if number in spots else character for number, character in enumerate(text)
        )
    return text


THINKING = written(thoughts(1500), 6000)
TEXT = written(answers(500), 2000)


class Payload(NamedTuple):
    """A response in one dialect."""

    body: bytes
    frames: tuple[bytes, ...]
    """The stream, split where a server flushes it."""
    thinking: tuple[str, str]
    """The reasoning of the body, and of the stream."""
    text: tuple[str, str]

    @property
    def stream(self) -> bytes:
        """The stream in one piece."""
        return b"".join(self.frames)


def _frame(value: dict[str, Any], *, named: bool = False) -> bytes:
    name = f"event: {value['type']}\n" if named else ""
    return f"{name}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def _body(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


# ---- Chat Completions ------------------------------------------------------------------------------

_CHAT_USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 1300,
    "total_tokens": 1309,
    "completion_tokens_details": {"reasoning_tokens": 1000},
}


def _chat_body(message: dict[str, Any]) -> bytes:
    return _body(
        {
            "id": "chatcmpl-123",
            "object": "chat.completion",
            "created": _CREATED,
            "model": "deepseek-reasoner",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", **message},
                    "logprobs": None,
                    "finish_reason": "stop",
                }
            ],
            "usage": _CHAT_USAGE,
            "system_fingerprint": "fp_1",
        }
    )


def _chat_frames(deltas: list[dict[str, Any]]) -> tuple[bytes, ...]:
    head = {
        "id": "chatcmpl-123",
        "object": "chat.completion.chunk",
        "created": _CREATED,
        "model": "deepseek-reasoner",
        "system_fingerprint": "fp_1",
    }

    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _frame({**head, "choices": [choice]})

    usage = _frame({**head, "choices": [], "usage": _CHAT_USAGE})
    return (
        *map(chunk, [{"role": "assistant", "content": ""}, *deltas]),
        chunk({}, "stop"),
        usage,
        b"data: [DONE]\n\n",
    )


def chat(thought: list[str], text: list[str]) -> Payload:
    """Reasoning in a separate field, as DeepSeek sends it."""
    deltas: list[dict[str, Any]] = [
        {"content": None, "reasoning_content": piece} for piece in thought
    ]
    deltas += [{"content": piece, "reasoning_content": None} for piece in text]
    body = _chat_body({"content": TEXT, "reasoning_content": THINKING})
    return Payload(body, _chat_frames(deltas), (THINKING, "".join(thought)), (TEXT, "".join(text)))


def tags(thought: list[str], text: list[str]) -> Payload:
    """Reasoning in the text, between tags, as a server without a parser sends it."""
    deltas = [{"content": piece} for piece in ("<think>", *thought, "</think>", *text)]
    body = _chat_body({"content": f"<think>{THINKING}</think>{TEXT}"})
    return Payload(body, _chat_frames(deltas), (THINKING, "".join(thought)), (TEXT, "".join(text)))


# ---- Anthropic -------------------------------------------------------------------------------------


def anthropic(thought: list[str], text: list[str]) -> Payload:
    """A signed thinking block and a text."""
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "stop_sequence": None,
    }
    whole = {
        **message,
        "content": [
            {"type": "thinking", "thinking": THINKING, "signature": _SIGNATURE},
            {"type": "text", "text": TEXT},
        ],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 1300},
    }
    begun = {
        **message,
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 9, "output_tokens": 1},
    }
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for index, (kind, pieces) in enumerate((("thinking", thought), ("text", text))):
        block = {"type": kind, kind: "", **({"signature": ""} if kind == "thinking" else {})}
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        deltas = [{"type": f"{kind}_delta", kind: piece} for piece in pieces]
        if kind == "thinking":
            deltas.append({"type": "signature_delta", "signature": _SIGNATURE})
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": index})
    events += [
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 1300},
        },
        {"type": "message_stop"},
    ]
    frames = tuple(_frame(event, named=True) for event in events)
    return Payload(_body(whole), frames, (THINKING, "".join(thought)), (TEXT, "".join(text)))


# ---- Gemini ----------------------------------------------------------------------------------------


def gemini(thought: list[str], text: list[str]) -> Payload:
    """Parts with a flag, the last of them signed."""

    def answer(
        parts: list[dict[str, Any]], thoughts: int, said: int, **more: Any
    ) -> dict[str, Any]:
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **more}
        counts = {"candidatesTokenCount": said, "thoughtsTokenCount": thoughts}
        return {
            "candidates": [candidate],
            "usageMetadata": {
                "promptTokenCount": 9,
                **(counts if thoughts else {}),
                "totalTokenCount": 9 + thoughts + said,
            },
            "modelVersion": "gemini-3.5-flash",
            "responseId": "r-1",
        }

    whole = answer(
        [{"text": THINKING, "thought": True}, {"text": TEXT, "thoughtSignature": _SIGNATURE}],
        1000,
        300,
        finishReason="STOP",
    )
    # Gemini 3 does not count while it thinks, and then with every chunk (recorded by ruby_llm, gemini-3-flash-preview).
    frames = [_frame(answer([{"text": piece, "thought": True}], 0, 0)) for piece in thought]
    frames += [
        _frame(answer([{"text": piece}], len(thought), number)) for number, piece in enumerate(text)
    ]
    signed = {"text": "", "thoughtSignature": _SIGNATURE}
    last = answer([signed], len(thought), len(text), finishReason="STOP")
    return Payload(
        _body(whole),
        (*frames, _frame(last)),
        (THINKING, "".join(thought)),
        (TEXT, "".join(text)),
    )


# ---- Responses -------------------------------------------------------------------------------------


def responses(thought: list[str], text: list[str]) -> Payload:
    """A summary of the reasoning with encrypted content, and a message."""

    def items(thinking: str, said: str) -> list[dict[str, Any]]:
        return [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": thinking}],
                "encrypted_content": "gAAA" + "x" * 996,
            },
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [
                    {"type": "output_text", "text": said, "annotations": [], "logprobs": []}
                ],
            },
        ]

    def response(output: list[dict[str, Any]], status: str) -> dict[str, Any]:
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": _CREATED,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": "gpt-5.6",
            "output": output,
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": {
                "input_tokens": 9,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": 1300,
                "output_tokens_details": {"reasoning_tokens": 1000},
                "total_tokens": 1309,
            },
        }

    thinking, said = "".join(thought), "".join(text)
    whole = response(items(THINKING, TEXT), "completed")
    events = list(_response_events(items(thinking, said), thought, text))
    begun = response([], "in_progress")
    ended = response(items(thinking, said), "completed")
    events.insert(0, {"type": "response.created", "response": begun})
    events.append({"type": "response.completed", "response": ended})
    frames = tuple(
        _frame({**event, "sequence_number": number}, named=True)
        for number, event in enumerate(events)
    )
    return Payload(_body(whole), frames, (THINKING, thinking), (TEXT, said))


def _response_events(items: list[dict[str, Any]], thought: list[str], text: list[str]) -> Any:
    reasoning, message = items
    place = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    summary = "response.reasoning_summary"
    nothing = {"type": "summary_text", "text": ""}
    begun = {**reasoning, "summary": []}
    yield {"type": "response.output_item.added", "output_index": 0, "item": begun}
    yield {"type": f"{summary}_part.added", **place, "part": nothing}
    for piece in thought:
        yield {"type": f"{summary}_text.delta", **place, "delta": piece, "obfuscation": "ab"}
    yield {"type": f"{summary}_text.done", **place, "text": "".join(thought)}
    yield {"type": f"{summary}_part.done", **place, "part": reasoning["summary"][0]}
    yield {"type": "response.output_item.done", "output_index": 0, "item": reasoning}
    place = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    begun = {**message, "content": [], "status": "in_progress"}
    yield {"type": "response.output_item.added", "output_index": 1, "item": begun}
    empty = {**message["content"][0], "text": ""}
    yield {"type": "response.content_part.added", **place, "part": empty}
    for piece in text:
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
    whole = "".join(text)
    yield {"type": "response.output_text.done", **place, "text": whole, "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": message["content"][0]}
    yield {"type": "response.output_item.done", "output_index": 1, "item": message}


MAKERS: dict[str, Callable[[list[str], list[str]], Payload]] = {
    "chat": chat,
    "tags": tags,
    "anthropic": anthropic,
    "gemini": gemini,
    "responses": responses,
}
NAMES = {
    "chat": "chat, reasoning in a field",
    "tags": "chat, reasoning in tags",
    "anthropic": "Anthropic Messages",
    "gemini": "Gemini",
    "responses": "OpenAI Responses",
}


@lru_cache(maxsize=64)
def payload(name: str, thought: int = DELTAS[0], text: int = DELTAS[1]) -> Payload:
    """The payload of a dialect; `name` may end in a number of deltas, as in "chat.200.60"."""
    maker, *counts = name.split(".")
    if counts:
        thought, text = map(int, counts)
    return MAKERS[maker](thoughts(thought), answers(text))
