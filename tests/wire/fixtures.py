"""One answer in each dialect, whole and streamed, written after the providers' own pages.

Every answer thinks, speaks and calls a tool, with the seals its dialect has; the strings of the seals
are made up.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from wire.streams import aws, ndjson, sse

__all__ = ["ANSWERS", "Answer"]

THOUGHT, SAID = "Rome is in Italy, so Celsius. ", "Let me look — 🌦️."
ARGUMENTS = {"city": "Rome", "days": 2}


class Answer(NamedTuple):
    name: str
    provider: str
    dialect: str
    model: str
    whole: Any
    stream: bytes
    thinking: str | None = THOUGHT
    text: str = SAID
    seals: tuple[str, ...] = ()
    call_id: str | None = "call_9"
    reasoning_tokens: int | None = None

    def __repr__(self) -> str:
        return f"Answer({self.name})"


def cut(text: str, size: int = 7) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def anthropic() -> Answer:
    usage = {
        "input_tokens": 40,
        "cache_read_input_tokens": 5,
        "output_tokens": 90,
        "output_tokens_details": {"thinking_tokens": 30},
    }
    blocks = [
        {"type": "thinking", "thinking": THOUGHT, "signature": "sig-anthropic=="},
        {"type": "redacted_thinking", "data": "redacted-data=="},
        {"type": "thinking", "thinking": "", "signature": "sig-empty=="},
        {"type": "text", "text": SAID},
        {"type": "tool_use", "id": "call_9", "name": "weather", "input": ARGUMENTS},
    ]
    start = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-6",
        "content": [],
        "stop_reason": None,
    }
    whole = {**start, "content": blocks, "stop_reason": "tool_use", "usage": usage}
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {
                **start,
                "usage": {"input_tokens": 40, "cache_read_input_tokens": 5, "output_tokens": 1},
            },
        },
        {"type": "ping"},
    ]
    deltas: list[list[dict[str, Any]]] = [
        [
            *({"type": "thinking_delta", "thinking": piece} for piece in cut(THOUGHT)),
            {"type": "thinking_delta", "thinking": ""},
            {"type": "signature_delta", "signature": "sig-anthropic=="},
        ],
        [],
        [{"type": "signature_delta", "signature": "sig-empty=="}],
        [{"type": "text_delta", "text": piece} for piece in cut(SAID)],
        [
            {"type": "input_json_delta", "partial_json": piece}
            for piece in ["", *cut(json.dumps(ARGUMENTS))]
        ],
    ]
    begun = [
        {"type": "thinking", "thinking": "", "signature": ""},
        blocks[1],
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "text", "text": ""},
        {**blocks[4], "input": {}},
    ]
    for index, block in enumerate(begun):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta}
            for delta in deltas[index]
        ]
        events.append({"type": "content_block_stop", "index": index})
    events.append(
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 90, "output_tokens_details": {"thinking_tokens": 30}},
        }
    )
    events.append({"type": "message_stop"})
    return Answer(
        "anthropic", "anthropic", "anthropic", "claude-opus-4-6", whole, sse(*events, named=True),
        seals=("sig-anthropic==", "redacted-data==", "sig-empty=="), reasoning_tokens=30,
    )  # fmt: skip


def chat_chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": "deepseek-v4",
        "choices": [choice],
    }


def chat_call(arguments: str) -> dict[str, Any]:
    return {
        "id": "call_9",
        "type": "function",
        "function": {"name": "weather", "arguments": arguments},
    }


USAGE = {
    "prompt_tokens": 40,
    "completion_tokens": 90,
    "total_tokens": 130,
    "completion_tokens_details": {"reasoning_tokens": 30},
}


def chat(field: str = "reasoning_content") -> Answer:
    arguments = json.dumps(ARGUMENTS)
    message = {
        "role": "assistant",
        "content": SAID,
        field: THOUGHT,
        "tool_calls": [chat_call(arguments)],
    }
    whole = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "deepseek-v4",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": USAGE,
    }
    chunks = [
        chat_chunk({"role": "assistant", "content": None, field: ""}),
        *(chat_chunk({"content": None, field: piece}) for piece in cut(THOUGHT)),
        *(chat_chunk({"content": piece, field: None}) for piece in cut(SAID)),
        chat_chunk({"tool_calls": [{"index": 0, **chat_call("")}]}),
        *(
            chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
            for piece in cut(arguments)
        ),
        chat_chunk({"content": ""}, "tool_calls"),
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "model": "deepseek-v4",
            "choices": [],
            "usage": USAGE,
        },
    ]
    return Answer(
        f"chat {field}",
        "deepseek",
        "openai-chat",
        "deepseek-v4",
        whole,
        sse(*chunks, done=True),
        reasoning_tokens=30,
    )


def openrouter() -> Answer:
    arguments = json.dumps(ARGUMENTS)
    text = {
        "type": "reasoning.text",
        "text": THOUGHT,
        "signature": "sig-router==",
        "format": "anthropic-claude-v1",
        "index": 0,
    }
    hidden = {
        "type": "reasoning.encrypted",
        "data": "encrypted-router==",
        "id": "rs_1",
        "format": "anthropic-claude-v1",
        "index": 0,
    }
    message = {
        "role": "assistant",
        "content": SAID,
        "reasoning": THOUGHT,
        "reasoning_details": [text, hidden],
        "tool_calls": [chat_call(arguments)],
    }
    whole = {
        "id": "gen-1",
        "object": "chat.completion",
        "model": "x",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": USAGE,
    }
    bare = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
    chunks = [
        chat_chunk({"content": "", "reasoning": None, "reasoning_details": []}),
        chat_chunk(
            {
                "content": "",
                "reasoning": None,
                "reasoning_details": [{**bare, "text": "", "signature": ""}],
            }
        ),
        *(
            chat_chunk(
                {"content": "", "reasoning": piece, "reasoning_details": [{**bare, "text": piece}]}
            )
            for piece in cut(THOUGHT)
        ),
        chat_chunk(
            {
                "content": "",
                "reasoning": None,
                "reasoning_details": [{**bare, "signature": "sig-router=="}],
            }
        ),
        chat_chunk({"content": "", "reasoning": None, "reasoning_details": [hidden]}),
        *(
            chat_chunk({"content": piece, "reasoning": None, "reasoning_details": []})
            for piece in cut(SAID)
        ),
        chat_chunk({"content": None, "tool_calls": [{"index": 0, **chat_call(arguments)}]}),
        chat_chunk({"content": "", "reasoning": None}, "tool_calls"),
        {**chat_chunk({"content": ""}), "usage": USAGE},
    ]
    stream = b": OPENROUTER PROCESSING\n\n" + sse(*chunks, done=True)
    return Answer(
        "openrouter",
        "openrouter",
        "openai-chat",
        "x",
        whole,
        stream,
        seals=("sig-router==", "encrypted-router=="),
        reasoning_tokens=30,
    )


def inline() -> Answer:
    content = f"<think>\n{THOUGHT}\n</think>\n\n{SAID}"
    message = {
        "role": "assistant",
        "content": content,
        "tool_calls": [chat_call(json.dumps(ARGUMENTS))],
    }
    whole = {
        "id": "chatcmpl-1",
        "model": "qwen3:8b",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    }
    chunks = [
        *(chat_chunk({"content": piece}) for piece in cut(content, 3)),
        chat_chunk(
            {"tool_calls": [{"index": 0, **chat_call(json.dumps(ARGUMENTS))}]}, "tool_calls"
        ),
    ]
    return Answer(
        "inline",
        "sglang",
        "openai-chat",
        "qwen3:8b",
        whole,
        sse(*chunks, done=True),
        thinking=THOUGHT.strip(),
    )


def responses() -> Answer:
    arguments = json.dumps(ARGUMENTS)
    reasoning = {
        "type": "reasoning", "id": "rs_1", "encrypted_content": "encrypted-final==",
        "summary": [{"type": "summary_text", "text": THOUGHT}, {"type": "summary_text", "text": "Second thought."}],
    }  # fmt: skip
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": SAID, "annotations": []}],
    }
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_9",
        "name": "weather",
        "arguments": arguments,
        "status": "completed",
    }
    usage = {
        "input_tokens": 40,
        "output_tokens": 90,
        "output_tokens_details": {"reasoning_tokens": 30},
        "input_tokens_details": {"cached_tokens": 5},
    }
    body = {
        "id": "resp_1",
        "object": "response",
        "model": "gpt-5.6",
        "status": "completed",
        "error": None,
        "output": [reasoning, search, message, call],
        "usage": usage,
    }
    events: list[dict[str, Any]] = [
        {
            "type": "response.created",
            "response": {**body, "status": "in_progress", "output": [], "usage": None},
        },
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {
                "type": "reasoning",
                "id": "rs_0",
                "summary": [],
                "encrypted_content": "encrypted-par",
            },
        },
    ]
    for number, entry in enumerate(reasoning["summary"]):
        here = {"output_index": 0, "summary_index": number, "item_id": f"rs_x{number}"}
        events.append(
            {
                "type": "response.reasoning_summary_part.added",
                **here,
                "part": {"type": "summary_text", "text": ""},
            }
        )
        events += [
            {"type": "response.reasoning_summary_text.delta", **here, "delta": piece}
            for piece in cut(entry["text"])
        ]
        events.append(
            {"type": "response.reasoning_summary_text.done", **here, "text": entry["text"]}
        )
    here = {"output_index": 3, "item_id": "msg_x", "content_index": 0}
    events += [
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {**reasoning, "encrypted_content": "encrypted-done="},
        },
        {
            "type": "response.output_item.added",
            "output_index": 2,
            "item": {**search, "status": "in_progress"},
        },
        {"type": "response.output_item.done", "output_index": 2, "item": search},
        {
            "type": "response.output_item.added",
            "output_index": 3,
            "item": {**message, "content": [], "status": "in_progress"},
        },
        *({"type": "response.output_text.delta", **here, "delta": piece} for piece in cut(SAID)),
        {"type": "response.output_text.done", **here, "text": SAID},
        {"type": "response.output_item.done", "output_index": 3, "item": message},
        {
            "type": "response.output_item.added",
            "output_index": 4,
            "item": {**call, "arguments": "", "status": "in_progress"},
        },
        *(
            {
                "type": "response.function_call_arguments.delta",
                "output_index": 4,
                "item_id": "fc_x",
                "delta": piece,
            }
            for piece in cut(arguments)
        ),
        {
            "type": "response.function_call_arguments.done",
            "output_index": 4,
            "arguments": arguments,
        },
        {"type": "response.output_item.done", "output_index": 4, "item": call},
        {"type": "response.completed", "response": body},
    ]
    return Answer(
        "responses", "openai", "openai-responses", "gpt-5.6", body, sse(*events, named=True),
        thinking=f"{THOUGHT}\n\nSecond thought.", seals=("encrypted-final==",), reasoning_tokens=30,
    )  # fmt: skip


def gemini() -> Answer:
    usage = {
        "promptTokenCount": 40,
        "candidatesTokenCount": 60,
        "thoughtsTokenCount": 30,
        "totalTokenCount": 130,
    }
    call = {
        "functionCall": {"id": "call_9", "name": "weather", "args": ARGUMENTS},
        "thoughtSignature": "sig-gemini==",
    }
    parts = [
        {"text": THOUGHT, "thought": True},
        {"text": SAID},
        call,
        {"text": "", "thoughtSignature": "sig-last=="},
    ]
    body = {"responseId": "r1", "modelVersion": "gemini-3-flash-preview"}
    whole = {
        **body,
        "candidates": [
            {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
        ],
        "usageMetadata": usage,
    }
    chunks: list[list[dict[str, Any]]] = [
        *([{"text": piece, "thought": True}] for piece in cut(THOUGHT)),
        *([{"text": piece}] for piece in cut(SAID)),
        [call],
    ]
    events: list[dict[str, Any]] = [
        {**body, "candidates": [{"index": 0, "content": {"role": "model", "parts": chunk}}]}
        for chunk in chunks
    ]
    events.append(
        {
            **body,
            "candidates": [
                {
                    "index": 0,
                    "content": {"role": "model", "parts": [parts[3]]},
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": usage,
        }
    )
    return Answer(
        "gemini", "gemini", "gemini", "gemini-3-flash-preview", whole, sse(*events, end="\r\n\r\n"),
        seals=("sig-gemini==", "sig-last=="), reasoning_tokens=30,
    )  # fmt: skip


def converse() -> Answer:
    blocks = [
        {"reasoningContent": {"reasoningText": {"text": THOUGHT, "signature": "sig-converse=="}}},
        {"reasoningContent": {"redactedContent": "UmVkYWN0ZWQ="}},
        {"text": SAID},
        {"toolUse": {"toolUseId": "call_9", "name": "weather", "input": ARGUMENTS}},
    ]
    usage = {"inputTokens": 40, "outputTokens": 90, "totalTokens": 130}
    whole = {
        "output": {"message": {"role": "assistant", "content": blocks}},
        "stopReason": "tool_use",
        "usage": usage,
    }

    def delta(index: int, value: dict[str, Any]) -> tuple[str, Any]:
        return "contentBlockDelta", {"contentBlockIndex": index, "delta": value, "p": "abcdef"}

    def stop(index: int) -> tuple[str, Any]:
        return "contentBlockStop", {"contentBlockIndex": index, "p": "ab"}

    events = [
        ("messageStart", {"role": "assistant"}),
        *(delta(0, {"reasoningContent": {"text": piece}}) for piece in cut(THOUGHT)),
        delta(0, {"reasoningContent": {"signature": "sig-converse=="}}),
        stop(0),
        delta(1, {"reasoningContent": {"redactedContent": "UmVkYWN0ZWQ="}}),
        stop(1),
        *(delta(2, {"text": piece}) for piece in cut(SAID)),
        stop(2),
        (
            "contentBlockStart",
            {
                "contentBlockIndex": 3,
                "start": {"toolUse": {"toolUseId": "call_9", "name": "weather"}},
            },
        ),
        *(delta(3, {"toolUse": {"input": piece}}) for piece in cut(json.dumps(ARGUMENTS))),
        stop(3),
        ("messageStop", {"stopReason": "tool_use"}),
        ("metadata", {"usage": usage, "metrics": {"latencyMs": 5}}),
    ]
    return Answer(
        "converse", "bedrock", "bedrock-converse", "us.anthropic.claude-sonnet-4-5-v1:0", whole, aws(*events),
        seals=("sig-converse==", "UmVkYWN0ZWQ="),
    )  # fmt: skip


def mistral() -> Answer:
    arguments = json.dumps(ARGUMENTS)
    thinking = {
        "type": "thinking",
        "thinking": [{"type": "text", "text": THOUGHT}],
        "closed": True,
        "signature": "sig-mistral",
    }
    call = {
        "id": "call_9",
        "type": "function",
        "function": {"name": "weather", "arguments": arguments},
    }
    message = {
        "role": "assistant",
        "content": [thinking, {"type": "text", "text": SAID}],
        "tool_calls": [call],
    }
    usage = {"prompt_tokens": 40, "completion_tokens": 90, "total_tokens": 130}
    whole = {
        "id": "m1",
        "object": "chat.completion",
        "model": "mistral-small-latest",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": usage,
    }

    def thought(piece: str) -> dict[str, Any]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": piece}], "closed": True}

    pieces = cut(THOUGHT)
    said = cut(SAID)
    chunks = [
        chat_chunk({"role": "assistant", "content": ""}),
        *(chat_chunk({"content": [thought(piece)]}) for piece in pieces[:-1]),
        chat_chunk(
            {
                "content": [
                    {**thought(pieces[-1]), "signature": "sig-mistral"},
                    {"type": "text", "text": said[0]},
                ]
            }
        ),
        *(chat_chunk({"content": piece}) for piece in said[1:]),
        {
            **chat_chunk({"content": "", "tool_calls": [{**call, "index": 0}]}, "tool_calls"),
            "usage": usage,
            "p": "abc",
        },
    ]
    return Answer(
        "mistral",
        "mistral",
        "mistral",
        "mistral-small-latest",
        whole,
        sse(*chunks, done=True),
        seals=("sig-mistral",),
    )


def cohere() -> Answer:
    arguments = json.dumps(ARGUMENTS)
    call = {
        "id": "call_9",
        "type": "function",
        "function": {"name": "weather", "arguments": arguments},
    }
    usage = {
        "billed_units": {"output_tokens": 50},
        "tokens": {"input_tokens": 40, "output_tokens": 90, "reasoning_tokens": 30},
        "cached_tokens": 5,
    }
    message = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": THOUGHT}, {"type": "text", "text": SAID}],
        "tool_calls": [call],
    }
    whole = {"id": "c1", "message": message, "finish_reason": "TOOL_CALL", "usage": usage}

    def event(kind: str, index: int, inner: dict[str, Any]) -> dict[str, Any]:
        return {"type": kind, "index": index, "delta": {"message": inner}}

    events = [
        {
            "type": "message-start",
            "id": "c1",
            "delta": {
                "message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}
            },
        },
        event("content-start", 0, {"content": {"type": "thinking", "thinking": ""}}),
        *(event("content-delta", 0, {"content": {"thinking": piece}}) for piece in cut(THOUGHT)),
        {"type": "content-end", "index": 0},
        event("content-start", 1, {"content": {"type": "text", "text": ""}}),
        *(event("content-delta", 1, {"content": {"text": piece}}) for piece in cut(SAID)),
        {"type": "content-end", "index": 1},
        event(
            "tool-call-start",
            0,
            {"tool_calls": {**call, "function": {"name": "weather", "arguments": ""}}},
        ),
        *(
            event("tool-call-delta", 0, {"tool_calls": {"function": {"arguments": piece}}})
            for piece in cut(arguments)
        ),
        {"type": "tool-call-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": usage}},
    ]
    return Answer(
        "cohere",
        "cohere",
        "cohere",
        "command-a-reasoning-08-2025",
        whole,
        sse(*events, named=True),
        reasoning_tokens=30,
    )


def ollama() -> Answer:
    call = {"id": "call_9", "function": {"index": 0, "name": "weather", "arguments": ARGUMENTS}}
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 40, "eval_count": 90}
    message = {"role": "assistant", "content": SAID, "thinking": THOUGHT, "tool_calls": [call]}
    whole = {"model": "qwen3", "message": message, **end}

    def line(**inner: Any) -> dict[str, Any]:
        return {
            "model": "qwen3",
            "message": {"role": "assistant", "content": "", **inner},
            "done": False,
        }

    said = cut(SAID)
    lines = [
        *(line(thinking=piece) for piece in cut(THOUGHT)[:-1]),
        line(thinking=cut(THOUGHT)[-1], content=said[0]),
        *(line(content=piece) for piece in said[1:]),
        line(tool_calls=[call]),
        {"model": "qwen3", "message": {"role": "assistant", "content": ""}, **end},
    ]
    return Answer("ollama", "ollama", "ollama", "qwen3", whole, ndjson(*lines))


ANSWERS = [
    anthropic(), chat(), chat("reasoning"), openrouter(), inline(), responses(), gemini(), converse(), mistral(), cohere(), ollama(),
]  # fmt: skip
