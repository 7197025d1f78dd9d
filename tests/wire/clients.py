"""Requests as real agents send them, after what was measured of each; the words are ours.

Every text, argument, result and tool has a mark: `system-1`, `asked-1`, `said-1`, `argument-1`, `result-1`, `tool_1`. What a request says can so be found
in any other form of it. What has another mark (`thought-1`, `own_1`) means something to its own provider only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["CLIENTS", "Client"]

PNG = "iVBORw0KGgo="
SEAL = "c2VhbA=="
CACHED = {"cache_control": {"type": "ephemeral"}}


class Client(NamedTuple):
    """A request, its dialect, and what it asks for beside its words."""

    dialect: str
    body: dict[str, Any]
    effort: str | None = None
    budget: int | None = None
    show: str | None = None
    max_tokens: int | None = None


def schema(name: str = "path") -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def function(name: str, **more: Any) -> dict[str, Any]:
    inner = {"name": name, "description": f"does {name}", "parameters": schema()}
    return {"type": "function", "function": {**inner, **more}}


def called(call_id: str, name: str, argument: str, **more: Any) -> dict[str, Any]:
    arguments = '{"path": "%s"}' % argument  # noqa: UP031 - braces
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
        **more,
    }


def used(call_id: str, name: str, argument: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"path": argument}, **more}


def result(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def thought(words: str = "thought-1") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": SEAL}


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": f"does {name}", "input_schema": schema(), **more}


CLAUDE_CODE = Client(
    "anthropic",
    {
        "model": "claude-opus-5-5",
        "max_tokens": 32000,
        "system": [
            text("x-billing: version=2; system-1"),
            text("You are an agent. system-2", **CACHED),
            text("Work in /tmp. system-3", cache_control={"type": "ephemeral", "ttl": "1h"}),
        ],
        "messages": [
            {
                "role": "user",
                "content": [text("<system-reminder>asked-1</system-reminder>"), text("asked-2")],
            },
            {"role": "system", "content": "system-4", "output_config": {"effort": "high"}},
            {
                "role": "assistant",
                "content": [
                    thought(),
                    text("said-1"),
                    used("toolu_01", "tool_1", "argument-1"),
                    used("toolu_02", "tool_2", "argument-2"),
                ],
            },
            {
                "role": "user",
                "content": [
                    result("toolu_01", "result-1"),
                    result("toolu_02", [text("result-2")], is_error=True),
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "redacted_thinking", "data": SEAL},
                    used("toolu_03", "tool_1", "argument-3"),
                ],
            },
            {"role": "user", "content": [result("toolu_03", "result-3", **CACHED)]},
        ],
        "tools": [
            tool(
                "tool_1",
                input_schema={
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    **schema(),
                    "additionalProperties": False,
                },
            ),
            tool("tool_2", eager_input_streaming=True),
            {"name": "DeferredToolPlaceholder", "defer_loading": True},
            {"type": "web_search_20250305", "name": "own_1", "max_uses": 8},
        ],
        "thinking": {"type": "adaptive", "display": "omitted"},
        "output_config": {"effort": "high"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "metadata": {"user_id": '{"device_id": "d", "session_id": "s"}'},
        "stream": True,
    },
    effort="high",
    show="hidden",
    max_tokens=32000,
)
AFTER_COMPACTION = Client(
    "anthropic",
    {
        "model": "claude-opus-5-5",
        "max_tokens": 32000,
        "system": [text("system-1", **CACHED)],
        "messages": [
            {"role": "user", "content": "asked-1 (a summary)"},
            {"role": "system", "content": []},
            {"role": "assistant", "content": [thought(), text("said-1")]},
            {"role": "user", "content": "asked-2"},
            {"role": "user", "content": [text("asked-3", **CACHED)]},
            {"role": "system", "content": [text("system-2")]},
        ],
        "tools": [tool("tool_1")],
        "thinking": {"type": "adaptive"},
        "stream": True,
    },
    max_tokens=32000,
)
OPENCODE = Client(
    "anthropic",
    {
        "model": "claude-sonnet-5-5",
        "max_tokens": 32000,
        "temperature": 1,
        "system": [text("system-1", **CACHED)],
        "messages": [
            {
                "role": "user",
                "content": [
                    text("asked-1"),
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [thought(), used("toolu_01", "tool_1", "argument-1", **CACHED)],
            },
            {
                "role": "user",
                "content": [
                    result(
                        "toolu_01",
                        [
                            text("result-1"),
                            {
                                "type": "image",
                                "source": {
                                    "type": "base64",
                                    "media_type": "image/png",
                                    "data": PNG,
                                },
                            },
                        ],
                        **CACHED,
                    )
                ],
            },
        ],
        "tools": [
            tool("tool_1", eager_input_streaming=True),
            tool("tool_2", eager_input_streaming=True, **CACHED),
        ],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {
            "type": "adaptive",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"},
        },
        "output_config": {"effort": "max"},
        "stream": True,
    },
    effort="max",
    max_tokens=32000,
)
PI = Client(
    "anthropic",
    {
        "model": "claude-unknown-9",
        "max_tokens": 16000,
        "system": "system-1",
        "messages": [
            {"role": "user", "content": [text("asked-1", **CACHED)]},
            {
                "role": "assistant",
                "content": [thought(), text("said-1"), used("toolu_01", "tool_1", "argument-1")],
            },
            {
                "role": "user",
                "content": [
                    result("toolu_01", [text("result-1")], is_error=False),
                    text("asked-2", **CACHED),
                ],
            },
        ],
        "tools": [tool("tool_1", **CACHED)],
        "thinking": {"type": "enabled", "budget_tokens": 8192},
        "stream": True,
    },
    budget=8192,
    max_tokens=16000,
)
CONTINUE = Client(
    "anthropic",
    {
        "model": "claude-opus-4-6",
        "max_tokens": 8192,
        "stop_sequences": ["<stop>"],
        "system": [text("system-1", **CACHED)],
        "messages": [
            {"role": "user", "content": "asked-1"},
            {"role": "assistant", "content": [used("toolu_01", "tool_1", "argument-1")]},
            {"role": "user", "content": [result("toolu_01", "result-1")]},
            {"role": "assistant", "content": "said-1"},
            {"role": "user", "content": [text("asked-2", **CACHED)]},
        ],
        "tools": [tool("tool_1")],
        "tool_choice": {"type": "tool", "name": "tool_1"},
        "stream": True,
    },
    max_tokens=8192,
)
CODEX = Client(
    "openai-responses",
    {
        "model": "gpt-5.6-codex",
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "high", "summary": "auto"},
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "prompt_cache_key": "thread",
        "client_metadata": {"installation": "x"},
        "text": {"verbosity": "low"},
        "input": [
            {
                "type": "message",
                "id": "m1",
                "role": "developer",
                "content": [
                    {"type": "input_text", "text": "system-1"},
                    {"type": "input_text", "text": "system-2"},
                ],
            },
            {
                "type": "message",
                "id": "m2",
                "role": "user",
                "content": [{"type": "input_text", "text": "asked-1"}],
            },
            {
                "type": "reasoning",
                "id": "rs1",
                "summary": [{"type": "summary_text", "text": "thought-1"}],
                "content": None,
                "encrypted_content": SEAL,
            },
            {
                "type": "message",
                "id": "m3",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "said-1", "annotations": []}],
            },
            {
                "type": "function_call",
                "id": "fc1",
                "status": "completed",
                "call_id": "call_1",
                "name": "tool_1",
                "arguments": '{"path":"argument-1"}',
                "caller": None,
                "namespace": None,
            },
            {
                "type": "function_call_output",
                "id": "fco1",
                "call_id": "call_1",
                "output": "result-1",
            },
            {
                "type": "custom_tool_call",
                "id": "ctc1",
                "status": "completed",
                "call_id": "call_2",
                "name": "tool_2",
                "input": '*** Begin Patch\n+argument-2 "quoted"\n*** End Patch',
            },
            {
                "type": "custom_tool_call_output",
                "id": "ctco1",
                "call_id": "call_2",
                "output": "result-2",
            },
            {
                "type": "message",
                "id": "m4",
                "role": "developer",
                "content": [{"type": "input_text", "text": "system-3"}],
            },
            {
                "type": "message",
                "id": "m5",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "asked-2"},
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
                ],
            },
        ],
        "tools": [
            {
                "type": "function",
                "name": "tool_1",
                "description": "does tool_1",
                "strict": False,
                "parameters": schema(),
            },
            {
                "type": "custom",
                "name": "tool_2",
                "description": "does tool_2",
                "format": {"type": "grammar", "syntax": "lark", "definition": "start: LINE+"},
            },
            {
                "type": "tool_search",
                "execution": "client",
                "description": "own_1",
                "parameters": schema(),
            },
            {"type": "web_search", "external_web_access": True},
            {
                "type": "namespace",
                "name": "own_2",
                "description": "own_2",
                "tools": [{"type": "function", "name": "own_3", "parameters": schema()}],
            },
        ],
    },
    effort="high",
    show="summary",
)
OPENCODE_RESPONSES = Client(
    "openai-responses",
    {
        "model": "gpt-5.6",
        "instructions": "system-1",
        "max_output_tokens": 32000,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "medium", "summary": "detailed"},
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "asked-1"}]},
            {"type": "reasoning", "summary": [], "encrypted_content": SEAL},
            {
                "type": "function_call",
                "call_id": "call_1",
                "name": "tool_1",
                "arguments": '{"path":"argument-1"}',
            },
            {
                "type": "function_call_output",
                "call_id": "call_1",
                "output": [
                    {"type": "input_text", "text": "result-1"},
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
                ],
            },
            {"role": "assistant", "content": [{"type": "output_text", "text": "said-1"}]},
            {"role": "user", "content": "asked-2"},
        ],
        "tools": [{"type": "function", "name": "tool_1", "parameters": schema(), "strict": False}],
        "tool_choice": {
            "type": "allowed_tools",
            "mode": "required",
            "tools": [{"type": "function", "name": "tool_1"}],
        },
        "stream": True,
    },
    effort="medium",
    show="summary",
    max_tokens=32000,
)
GEMINI_CLI = Client(
    "gemini",
    {
        "contents": [
            {"role": "user", "parts": [{"text": "asked-1 (context)"}]},
            {
                "role": "user",
                "parts": [
                    {"text": "asked-2"},
                    {"inlineData": {"mimeType": "image/png", "data": PNG}},
                ],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "said-1"},
                    {
                        "functionCall": {
                            "id": "f1",
                            "name": "tool_1",
                            "args": {"path": "argument-1"},
                        },
                        "thoughtSignature": SEAL,
                    },
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "f1",
                            "name": "tool_1",
                            "response": {"output": "result-1"},
                        }
                    }
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "f1",
                            "name": "tool_1",
                            "response": {"output": "result-1"},
                        }
                    }
                ],
            },
            {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"name": "tool_2", "args": {"path": "argument-2"}},
                        "thoughtSignature": "skip_thought_signature_validator",
                    }
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "name": "tool_2",
                            "response": {"lines": ["result-2"]},
                            "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
                        }
                    },
                    {"text": "asked-3"},
                ],
            },
        ],
        "systemInstruction": {"role": "user", "parts": [{"text": "system-1"}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "tool_1",
                        "description": "does tool_1",
                        "parametersJsonSchema": schema(),
                    },
                    {
                        "name": "tool_2",
                        "description": "does tool_2",
                        "parameters": {
                            "type": "OBJECT",
                            "properties": {"path": {"type": "STRING"}},
                        },
                    },
                ]
            },
            {"googleSearch": {}},
        ],
        "toolConfig": {
            "functionCallingConfig": {"mode": "VALIDATED"},
            "includeServerSideToolInvocations": True,
        },
        "generationConfig": {
            "temperature": 1,
            "topP": 0.95,
            "topK": 64,
            "maxOutputTokens": 16000,
            "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "HIGH"},
        },
    },
    effort="high",
    show="summary",
    max_tokens=16000,
)
LITELLM_GEMINI = Client(
    "gemini",
    {
        "contents": [
            {"role": "user", "parts": [{"text": "asked-1"}]},
            {
                "role": "model",
                "parts": [
                    {
                        "function_call": {"name": "tool_1", "args": {"path": "argument-1"}},
                        "thoughtSignature": SEAL,
                    }
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"function_response": {"name": "tool_1", "response": {"content": "result-1"}}}
                ],
            },
        ],
        "system_instruction": {"parts": [{"text": "system-1"}, {"text": "system-2"}]},
        "tools": [
            {
                "function_declarations": [
                    {
                        "name": "tool_1",
                        "description": "does tool_1",
                        "parameters": {
                            "type": "object",
                            "properties": {"path": {"type": "string", "nullable": True}},
                        },
                    }
                ]
            }
        ],
        "tool_config": {
            "function_calling_config": {"mode": "ANY", "allowed_function_names": ["tool_1"]}
        },
        "generationConfig": {
            "max_output_tokens": 9000,
            "stop_sequences": ["<stop>"],
            "thinkingConfig": {"thinkingBudget": 4096, "includeThoughts": True},
        },
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
    },
    budget=4096,
    show="summary",
    max_tokens=9000,
)
QWEN_CODE = Client(
    "openai-chat",
    {
        "model": "qwen3-coder-plus",
        "messages": [
            {"role": "system", "content": [text("system-1", **CACHED)]},
            {"role": "user", "content": [text("asked-1"), text("asked-2")]},
            {
                "role": "assistant",
                "content": "",
                "reasoning_content": "thought-1",
                "tool_calls": [called("call_1", "tool_1", "argument-1", index=0)],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": [text("result-1", **CACHED)]},
        ],
        "tools": [{**function("tool_1"), **CACHED}],
        "enable_thinking": True,
        "thinking_budget": 6000,
        "max_tokens": 16000,
        "stream": True,
        "stream_options": {"include_usage": True},
        "metadata": {"sessionId": "s"},
    },
    budget=6000,
    max_tokens=16000,
)
VIBE = Client(
    "mistral",
    {
        "model": "devstral-latest",
        "messages": [
            {"role": "system", "content": "system-1"},
            {"role": "user", "content": "asked-1"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": [text("thought-1")], "closed": True},
                    text("said-1"),
                ],
                "tool_calls": [called("abcdefgh1", "tool_1", "argument-1", index=0)],
            },
            {"role": "tool", "tool_call_id": "abcdefgh1", "name": "tool_1", "content": "result-1"},
        ],
        "tools": [function("tool_1", strict=False)],
        "tool_choice": "any",
        "parallel_tool_calls": True,
        "reasoning_effort": "high",
        "random_seed": 7,
        "max_tokens": 9000,
        "stream": True,
    },
    effort="high",
    max_tokens=9000,
)
COPILOT = Client(
    "openai-chat",
    {
        "model": "gpt-5.6",
        "messages": [
            {"role": "system", "content": "system-1"},
            {
                "role": "user",
                "content": [
                    text("asked-1"),
                    {
                        "type": "image_url",
                        "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "high"},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    called("call_1", "tool_1", "argument-1"),
                    called("call_2", "tool_1", "argument-2"),
                ],
                "reasoning_opaque": SEAL,
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "result-1"},
            {
                "role": "tool",
                "tool_call_id": "call_2",
                "content": [
                    text("result-2"),
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                ],
            },
        ],
        "tools": [
            function("tool_1"),
            {
                "type": "custom",
                "custom": {
                    "name": "tool_2",
                    "description": "does tool_2",
                    "format": {"type": "text"},
                },
            },
        ],
        "tool_choice": {"type": "function", "function": {"name": "tool_1"}},
        "temperature": 1,
        "seed": 5,
        "user": "u",
        "stream": True,
    },
)
PI_CHAT = Client(
    "openai-chat",
    {
        "model": "gpt-5.6",
        "store": False,
        "messages": [
            {"role": "developer", "content": "system-1"},
            {"role": "user", "content": "asked-1"},
            {"role": "assistant", "content": "said-1"},
            {"role": "developer", "content": "system-2"},
            {"role": "user", "content": "asked-2"},
        ],
        "tools": [function("tool_1", strict=False)],
        "max_completion_tokens": 12000,
        "reasoning_effort": "high",
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema("field-1"), "strict": False},
        },
        "stream": True,
    },
    effort="high",
    max_tokens=12000,
)
CLINE = Client(
    "openai-chat",
    {
        "model": "anthropic/claude-sonnet-5",
        "messages": [
            {"role": "system", "content": [text("system-1", **CACHED)]},
            {"role": "user", "content": [text("asked-1", **CACHED)]},
            {
                "role": "assistant",
                "content": "said-1",
                "reasoning_details": [
                    {
                        "type": "reasoning.text",
                        "text": "thought-1",
                        "signature": SEAL,
                        "format": "anthropic-claude-v1",
                        "index": 0,
                    }
                ],
                "tool_calls": [called("toolu_01", "tool_1", "argument-1")],
            },
            {"role": "tool", "tool_call_id": "toolu_01", "content": "result-1"},
        ],
        "tools": [function("tool_1")],
        "reasoning": {"max_tokens": 4000, "exclude": True},
        "include_reasoning": True,
        "max_tokens": 9000,
        "top_p": 0.9,
        "stop": ["<stop>", "<end>"],
        "stream": True,
    },
    budget=4000,
    show="hidden",
    max_tokens=9000,
)
MINI = Client(
    "openai-chat",
    {
        "model": "deepseek-v4-pro",
        "messages": [
            {"role": "system", "content": "system-1"},
            {"role": "user", "content": "asked-1"},
            {
                "role": "assistant",
                "content": "said-1",
                "reasoning_content": "thought-1",
                "tool_calls": [called("call_1", "tool_1", "argument-1")],
                "function_call": None,
                "provider_specific_fields": {"refusal": None, "reasoning_content": "thought-1"},
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "result-1"},
            {"role": "tool", "tool_call_id": "call_1", "content": "result-1"},
            {"role": "user", "content": "asked-2"},
            {"role": "user", "content": "asked-3"},
        ],
        "tools": [function("tool_1")],
        "thinking": {"type": "enabled"},
        "temperature": 0.0,
    },
)
AIDER = Client(
    "openai-chat",
    {
        "model": "m",
        "messages": [
            {"role": "system", "content": "system-1"},
            {"role": "user", "content": "asked-1"},
            {"role": "assistant", "content": "said-1"},
            {"role": "user", "content": "asked-2"},
        ],
        "chat_template_kwargs": {"enable_thinking": False},
        "stop": "<stop>",
        "temperature": 0,
        "stream": True,
    },
    effort="none",
)
CONVERSE = Client(
    "bedrock-converse",
    {
        "system": [{"text": "system-1"}, {"cachePoint": {"type": "default"}}],
        "messages": [
            {"role": "user", "content": [{"text": "asked-1"}, {"image": {"format": "png", "source": {"bytes": PNG}}}, {"cachePoint": {"type": "default"}}]},
            {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "thought-1", "signature": SEAL}}}, {"text": "said-1"}, {"toolUse": {"toolUseId": "tooluse_1", "name": "tool_1", "input": {"path": "argument-1"}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "tooluse_1", "content": [{"json": {"a": "result-1"}}, {"image": {"format": "png", "source": {"bytes": PNG}}}], "status": "error"}}, {"cachePoint": {"type": "default"}}]},
        ],
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "tool_1", "description": "does tool_1", "inputSchema": {"json": schema()}}}, {"cachePoint": {"type": "default"}}],
            "toolChoice": {"auto": {}},
        },
        "inferenceConfig": {"maxTokens": 9000, "stopSequences": ["<stop>"]},
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 3000}, "anthropic_beta": ["interleaved-thinking-2025-05-14"]},
    },
    budget=3000,
    max_tokens=9000,
)  # fmt: skip
COHERE = Client(
    "cohere",
    {
        "model": "command-a-reasoning-08-2025",
        "messages": [
            {"role": "system", "content": "system-1"},
            {"role": "user", "content": [text("asked-1")]},
            {
                "role": "assistant",
                "tool_plan": "thought-1",
                "tool_calls": [called("tool_1_0", "tool_1", "argument-1")],
            },
            {
                "role": "tool",
                "tool_call_id": "tool_1_0",
                "content": [{"type": "document", "document": {"data": '{"a": "result-1"}'}}],
            },
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "thought-2"}, text("said-1")],
            },
            {"role": "user", "content": "asked-2"},
        ],
        "tools": [function("tool_1")],
        "thinking": {"type": "enabled", "token_budget": 2000},
        "max_tokens": 9000,
        "k": 40,
        "p": 0.9,
        "seed": 3,
        "stream": True,
    },
    budget=2000,
    max_tokens=9000,
)
OLLAMA = Client(
    "ollama",
    {
        "model": "gpt-oss:120b",
        "messages": [
            {"role": "system", "content": "system-1"},
            {"role": "user", "content": "asked-1", "images": [PNG]},
            {
                "role": "assistant",
                "content": "said-1",
                "thinking": "thought-1",
                "tool_calls": [
                    {"function": {"name": "tool_1", "arguments": {"path": "argument-1"}}}
                ],
            },
            {"role": "tool", "tool_name": "tool_1", "content": "result-1"},
        ],
        "tools": [function("tool_1")],
        "think": "low",
        "options": {"num_predict": 9000, "num_ctx": 32768, "seed": 3, "top_k": 20},
    },
    effort="low",
    max_tokens=9000,
)
LLM = Client(
    "anthropic",
    {
        "model": "claude-opus-5",
        "max_tokens": 8192,
        "temperature": 1.0,
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "document",
                        "source": {
                            "type": "base64",
                            "media_type": "application/pdf",
                            "data": "JVBERi0=",
                        },
                    },
                    text("asked-1"),
                ],
            },
        ],
        "thinking": {"type": "adaptive", "display": "summarized"},
    },
    show="summary",
    max_tokens=8192,
)
OPENHANDS = Client(
    "openai-responses",
    {
        "model": "gpt-5.6",
        "instructions": "system-1",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "high", "summary": "detailed"},
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "asked-1"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SEAL},
            {"type": "function_call", "id": "fc_1", "call_id": "fc_1", "name": "tool_1", "arguments": '{"path": "argument-1"}', "status": "completed", "caller": None, "namespace": None},
            {"type": "function_call_output", "call_id": "fc_1", "output": "result-1"},
        ],
        "tools": [{"type": "function", "name": "tool_1", "description": "does tool_1", "parameters": schema(), "strict": False}],
        "temperature": 1.0,
        "max_output_tokens": 16000,
        "user": "u",
        "metadata": {"trace": "t"},
    },
    effort="high",
    show="summary",
    max_tokens=16000,
)  # fmt: skip

CLIENTS: dict[str, Client] = {
    name.lower().replace("_", " "): value
    for name, value in list(globals().items())
    if isinstance(value, Client)
}
