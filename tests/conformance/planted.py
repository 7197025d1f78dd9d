"""A request of each dialect with everything in it, and the members that may be planted in it.

A row is a member of the API that `Request`, `Message` and the parts have no field for: its dialect, the path of the object that it is planted in, its
name, its value, and where other dialects have the same: dialect -> the last members of the path there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["BODIES", "FREE", "ROWS", "TARGETS", "Row"]

TARGETS = {
    "anthropic": "anthropic/claude-sonnet-4-5",
    "openai-chat": "vllm/qwen3-8b",
    "openai-responses": "openai/gpt-5.6",
    "gemini": "gemini/gemini-2.5-flash",
    "gemini-interactions": "gemini/gemini-2.5-flash",
    "bedrock-converse": "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "mistral": "mistral/mistral-small-latest",
    "cohere": "cohere/command-a-03-2025",
    "ollama": "ollama/qwen3",
}
PNG = "iVBORw0KGgo="
URL = f"data:image/png;base64,{PNG}"
PDF = "JVBERi0xLjQ="
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
CALL = "call00001"
FREE = frozenset(
    {"arguments", "args", "inputSchema", "input_schema", "parameters", "parametersJsonSchema", "json", "schema", "responseJsonSchema", "format"}
)  # fmt: skip
"""Members whose content is the caller's own, with the caller's names; and `input` where it is an object."""


def _chat_messages(file: dict[str, Any] | None, **user: Any) -> list[dict[str, Any]]:
    call = {"id": CALL, "type": "function", "function": {"name": "f", "arguments": '{"a":"b"}'}}
    picture = {"type": "image_url", "image_url": {"url": URL}}
    asked = [{"type": "text", "text": "Look."}, picture, *([file] if file else [])]
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": asked, **user},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": CALL, "content": "rain"},
        {"role": "user", "content": "So?"},
    ]


_FUNCTION = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": SCHEMA},
}
_CHAT_FORMAT = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}

BODIES: dict[str, dict[str, Any]] = {
    "anthropic": {
        "model": "m",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look."},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                    {
                        "type": "document",
                        "source": {"type": "text", "media_type": "text/plain", "data": "paper"},
                        "title": "paper one",
                    },
                    {
                        "type": "search_result",
                        "source": "https://a.example",
                        "title": "page",
                        "content": [{"type": "text", "text": "found"}],
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": CALL, "name": "f", "input": {"a": "b"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": CALL, "content": [{"type": "text", "text": "rain"}]},
                    {"type": "text", "text": "So?"},
                ],
            },
        ],
        "tools": [{"name": "f", "description": "d", "input_schema": SCHEMA}],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    },
    "openai-chat": {
        "model": "m",
        "messages": _chat_messages(None),
        "tools": [_FUNCTION],
        "response_format": _CHAT_FORMAT,
    },
    "openai-responses": {
        "model": "m",
        "store": False,
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Look."},
                    {"type": "input_image", "image_url": URL},
                ],
            },
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": CALL, "name": "f", "arguments": '{"a":"b"}'},
            {"type": "function_call_output", "call_id": CALL, "output": [{"type": "input_text", "text": "rain"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "So?"}]},
        ],
        "tools": [{"type": "function", "name": "f", "description": "d", "parameters": SCHEMA}],
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA}},
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "Look."},
                    {"inlineData": {"mimeType": "image/png", "data": PNG}},
                ],
            },
            {
                "role": "model",
                "parts": [{"text": "I look."}, {"functionCall": {"id": CALL, "name": "f", "args": {"a": "b"}}}],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": CALL, "name": "f", "response": {"result": "rain"}}},
                    {"text": "So?"},
                ],
            },
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": SCHEMA}]}],
        "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
    },
    "gemini-interactions": {
        "model": "m",
        "store": False,
        "input": [
            {
                "type": "user_input",
                "content": [
                    {"type": "text", "text": "Look."},
                    {"type": "image", "mime_type": "image/png", "data": PNG},
                ],
            },
            {"type": "model_output", "content": [{"type": "text", "text": "I look."}]},
            {"type": "function_call", "id": CALL, "name": "f", "arguments": {"a": "b"}},
            {
                "type": "function_result",
                "name": "f",
                "call_id": CALL,
                "result": [{"type": "text", "text": "rain"}],
            },
            {"type": "user_input", "content": [{"type": "text", "text": "So?"}]},
        ],
        "tools": [{"type": "function", "name": "f", "description": "d", "parameters": SCHEMA}],
        "response_format": {"type": "text", "mime_type": "application/json", "schema": SCHEMA},
        "generation_config": {"temperature": 0.5},
    },
    "bedrock-converse": {
        "system": [{"text": "Be brief."}, {"text": "Be kind."}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"text": "Look."},
                    {"image": {"format": "png", "source": {"bytes": PNG}}},
                    {"document": {"format": "txt", "name": "paper", "source": {"bytes": "cGFwZXI="}}},
                    {"searchResult": {"source": "https://a.example", "title": "page", "content": [{"text": "found"}]}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"text": "I look."},
                    {"toolUse": {"toolUseId": CALL, "name": "f", "input": {"a": "b"}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": CALL, "content": [{"text": "rain"}]}},
                    {"text": "So?"},
                ],
            },
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": SCHEMA}}}]},
        "inferenceConfig": {"maxTokens": 100},
    },
    "mistral": {
        "model": "m",
        "messages": _chat_messages(None),
        "tools": [_FUNCTION],
        "response_format": _CHAT_FORMAT,
    },
    "cohere": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": URL}}],
            },
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "I look."}],
                "tool_calls": [
                    {"id": CALL, "type": "function", "function": {"name": "f", "arguments": '{"a":"b"}'}}
                ],
            },
            {
                "role": "tool",
                "tool_call_id": CALL,
                "content": [{"type": "document", "document": {"data": "rain"}}],
            },
            {"role": "user", "content": "So?"},
        ],
        "tools": [_FUNCTION],
        "response_format": {"type": "json_object", "schema": SCHEMA},
    },
    "ollama": {
        "model": "m",
        "stream": False,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look.", "images": [PNG]},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [{"id": CALL, "function": {"name": "f", "arguments": {"a": "b"}}}],
            },
            {"role": "tool", "tool_call_id": CALL, "content": "rain"},
            {"role": "user", "content": "So?"},
        ],
        "tools": [_FUNCTION],
        "format": SCHEMA,
        "options": {"temperature": 0.5},
    },
}  # fmt: skip


class Row(NamedTuple):
    """A member, where it is planted, and where other dialects have it."""

    dialect: str
    place: tuple[str | int, ...]
    member: str
    value: Any
    same: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - never changed


_USER, _TURN, _RESULT = ("messages", 1), ("messages", 2), ("messages", 3)
_PICTURE = (*_USER, "content", 1, "image_url")
_DETAIL = {
    "openai-chat": ("image_url", "detail"),
    "mistral": ("image_url", "detail"),
    "cohere": ("image_url", "detail"),
    "openai-responses": ("detail",),
}
_FORMAT = ("response_format", "json_schema")
_OPENAI_FORMAT = {
    "openai-chat": ("json_schema",),
    "mistral": ("json_schema",),
    "openai-responses": ("format",),
}


def _format_rows() -> list[Row]:
    members = {"description": "planted", "name": "planted", "strict": True}
    homes: dict[str, tuple[str, ...]] = {
        "openai-chat": _FORMAT,
        "mistral": _FORMAT,
        "openai-responses": ("text", "format"),
    }
    return [
        Row(dialect, place, name, value, {other: (*end, name) for other, end in _OPENAI_FORMAT.items()})
        for dialect, place in homes.items()
        for name, value in members.items()
    ]  # fmt: skip


def _setting_rows() -> list[Row]:
    """The settings that OpenAI's two APIs share; some of them are Mistral's as well."""
    names = (
        "user",
        "metadata",
        "service_tier",
        "prompt_cache_key",
        "safety_identifier",
        "prompt_cache_retention",
    )
    values = {name: {"k": "planted"} if name == "metadata" else "planted" for name in names}
    mistral = {"metadata", "service_tier", "prompt_cache_key"}
    rows = []
    for name, value in values.items():
        same = {"openai-chat": (name,), "openai-responses": (name,)}
        if name in mistral:
            same["mistral"] = (name,)
        rows += [Row(dialect, (), name, value, same) for dialect in same]
    same = {"openai-chat": ("verbosity",), "openai-responses": ("text", "verbosity")}
    return [
        *rows,
        Row("openai-chat", (), "verbosity", "planted", same),
        Row("openai-responses", ("text",), "verbosity", "planted", same),
    ]  # fmt: skip


_CITED = {"anthropic": ("citations",), "bedrock-converse": ("document", "citations")}
_CONTEXT = {"anthropic": ("context",), "bedrock-converse": ("document", "context")}
_DOCUMENT = ("messages", 0, "content", 2)
_BREAK = {
    "openai-chat": ("prompt_cache_breakpoint",),
    "openai-responses": ("prompt_cache_breakpoint",),
}
_POINT = {"mode": "planted"}

ROWS: list[Row] = [
    *_format_rows(),
    *_setting_rows(),
    # images and other files
    *(Row(dialect, _PICTURE, "detail", "planted", _DETAIL) for dialect in ("openai-chat", "mistral", "cohere")),
    Row("openai-responses", ("input", 0, "content", 1), "detail", "planted", _DETAIL),
    Row("gemini", ("contents", 0, "parts", 1), "mediaResolution", {"level": "planted"}),
    Row("gemini", ("contents", 0, "parts", 1), "videoMetadata", {"startOffset": "planted"}),
    Row("gemini", ("contents", 0, "parts", 1), "partMetadata", {"k": "planted"}),
    Row("gemini", ("contents", 0, "parts", 0), "partMetadata", {"k": "planted"}),
    Row("gemini", ("contents", 0, "parts", 1, "inlineData"), "displayName", "planted"),
    Row("gemini-interactions", ("input", 0, "content", 1), "resolution", "planted"),
    Row("bedrock-converse", ("messages", 0, "content", 2, "document"), "context", "planted", _CONTEXT),
    Row("bedrock-converse", ("messages", 0, "content", 2, "document"), "citations", {"enabled": True}, _CITED),
    Row("anthropic", _DOCUMENT, "context", "planted", _CONTEXT),
    Row("anthropic", _DOCUMENT, "citations", {"enabled": True}, _CITED),
    Row("anthropic", ("messages", 0, "content", 3), "source", "planted"),
    Row("anthropic", ("messages", 0, "content", 3), "title", "planted"),
    Row("anthropic", ("messages", 0, "content", 3), "citations", {"enabled": True}),
    Row("bedrock-converse", ("messages", 0, "content", 3, "searchResult"), "source", "planted"),
    Row("bedrock-converse", ("messages", 0, "content", 3, "searchResult"), "title", "planted"),
    Row("bedrock-converse", ("messages", 0, "content", 3, "searchResult"), "citations", {"enabled": True}),
    Row("openai-chat", (*_USER, "content", 0), "prompt_cache_breakpoint", _POINT, _BREAK),
    Row("openai-chat", (*_USER, "content", 1), "prompt_cache_breakpoint", _POINT, _BREAK),
    Row("openai-responses", ("input", 0, "content", 0), "prompt_cache_breakpoint", _POINT, _BREAK),
    Row("openai-responses", ("input", 0, "content", 1), "prompt_cache_breakpoint", _POINT, _BREAK),
    # messages and items
    *(Row("openai-chat", place, "name", "planted") for place in (("messages", 0), _USER, _TURN)),
    Row("openai-chat", _TURN, "audio", {"id": "planted"}),
    Row("openai-chat", _TURN, "annotations", [{"type": "url_citation", "url": "planted"}]),
    Row("openai-chat", _TURN, "prefix", True, {"mistral": ("prefix",)}),
    Row("mistral", _TURN, "prefix", True, {"openai-chat": ("prefix",)}),
    Row("anthropic", ("messages", 0, "content", 0), "cache_control", {"type": "ephemeral", "scope": "planted"}),
    Row("anthropic", ("messages", 0), "clear_at", "planted"),
    Row("anthropic", ("messages", 1, "content", 0), "citations", [{"cited_text": "planted"}]),
    Row("anthropic", ("messages", 1, "content", 1), "caller", {"type": "x", "tool_id": "planted"}),
    Row("anthropic", ("messages", 1, "content", 1), "toolset_name", "planted"),
    Row("anthropic", ("messages", 2, "content", 0), "toolset_name", "planted"),
    *(Row("openai-responses", ("input", 1), name, "planted") for name in ("phase", "status")),
    *(Row("openai-responses", ("input", 2), name, "planted") for name in ("namespace", "status", "caller")),
    *(Row("openai-responses", ("input", 3), name, "planted") for name in ("namespace", "status", "caller")),
    Row("openai-responses", ("input", 1, "content", 0), "annotations", [{"type": "x", "url": "planted"}]),
    Row("openai-responses", ("input", 2), "async", True),
    Row("gemini", ("contents", 2, "parts", 0, "functionResponse"), "scheduling", "planted"),
    Row("gemini", ("contents", 2, "parts", 0, "functionResponse"), "willContinue", True),
    Row("gemini", ("contents", 1, "parts", 1), "partMetadata", {"k": "planted"}),
    Row("gemini-interactions", ("input", 1, "content", 0), "annotations", [{"type": "x", "url": "planted"}]),
    Row("bedrock-converse", ("messages", 1, "content", 1, "toolUse"), "type", "server_tool_use"),
    Row("cohere", _TURN, "citations", [{"text": "planted"}]),
    Row("cohere", (*_RESULT, "content", 0, "document"), "id", "planted"),
    Row("ollama", _RESULT, "images", ["cGxhbnRlZA=="]),
    # tools
    *(
        Row(dialect, place, "strict", True, {
            "anthropic": ("strict",), "openai-chat": ("strict",), "openai-responses": ("strict",), "mistral": ("strict",),
            "bedrock-converse": ("strict",),
        })
        for dialect, place in {
            "anthropic": ("tools", 0), "openai-chat": ("tools", 0, "function"), "openai-responses": ("tools", 0),
            "mistral": ("tools", 0, "function"), "bedrock-converse": ("toolConfig", "tools", 0, "toolSpec"),
        }.items()
    ),
    Row("anthropic", ("tools", 0), "input_examples", [{"a": "planted"}]),
    Row("openai-responses", ("tools", 0), "output_schema", {"title": "planted"}),
    Row("gemini", ("tools", 0, "functionDeclarations", 0), "behavior", "planted"),
    Row("gemini", ("tools", 0, "functionDeclarations", 0), "responseJsonSchema", {"title": "planted"}),
]  # fmt: skip
