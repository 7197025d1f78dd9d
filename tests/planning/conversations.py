"""One conversation as each dialect, and LangChain, would have it: system, words, a document, parallel calls, and results of four kinds."""

from __future__ import annotations

import base64
import json

import innervoice as iv

__all__ = ["ARGUMENTS", "PICTURE", "SOURCES", "TEXTS", "request_from", "said"]

SYSTEM = "Answer briefly."
QUESTION = "How is Paris?"
DOCUMENT = "The office is in Paris."
PLAN = "I look it up."
ANSWER = "Foggy."
NEXT = "And tomorrow?"
PICTURE = "iVBORw0KGgo="
DISTANCE = {"km": 12, "tags": ["near"]}
TEXTS = {"user": [QUESTION, DOCUMENT, NEXT], "assistant": [PLAN, ANSWER]}
ARGUMENTS = [
    ("get_weather", {"city": "Paris"}),
    ("get_distance", {"to": "Paris", "unit": "km"}),
    ("find_map", {"zoom": 3}),
    ("get_time", {}),
]
IDS = ["call_a1", "call_b2", "call_c3", "call_d4"]
CALLS = list(zip(IDS, ARGUMENTS, strict=True))
URL = f"data:image/png;base64,{PICTURE}"
FILE = base64.b64encode(DOCUMENT.encode()).decode()
JSON = json.dumps(DISTANCE)


def _chat_calls(ids=IDS):
    return [
        {
            "id": known,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for known, (name, arguments) in zip(ids, ARGUMENTS, strict=True)
    ]


def _chat(ids=IDS, **members):
    picture = [
        {"type": "text", "text": "The map:"},
        {"type": "image_url", "image_url": {"url": URL}},
    ]
    texts = [
        "fog",
        JSON,
        [{"type": "text", "text": "a map", "cache_control": {"type": "x"}}],
        "no clock",
    ]
    results = [
        {"role": "tool", "tool_call_id": known, "content": text, **members}
        for known, text in zip(ids, texts, strict=True)
    ]
    question = [
        {"type": "text", "text": QUESTION, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": DOCUMENT},
    ]
    return {
        "model": "m",
        "messages": [
            {"role": "developer", "content": SYSTEM},
            {"role": "user", "content": question, "name": "ann"},
            {"role": "assistant", "content": PLAN, "tool_calls": _chat_calls(ids)},
            *results,
            {"role": "user", "content": picture},
            {"role": "assistant", "content": ANSWER},
            {"role": "user", "content": NEXT},
        ],
    }


def _anthropic():
    cached = {"cache_control": {"type": "ephemeral"}}
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PICTURE},
    }
    contents = ["fog", JSON, [{"type": "text", "text": "a map"}, image], "no clock"]
    results = [
        {"type": "tool_result", "tool_use_id": known, "content": content}
        for known, content in zip(IDS, contents, strict=True)
    ]
    results[3] |= {"is_error": True, **cached}
    document = {"type": "text", "media_type": "text/plain", "data": DOCUMENT}
    return {
        "model": "m",
        "max_tokens": 1000,
        "system": [{"type": "text", "text": SYSTEM, **cached}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": QUESTION, **cached},
                    {"type": "document", "source": document, "title": "notes.txt"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": PLAN},
                    *(
                        {"type": "tool_use", "id": known, "name": name, "input": arguments}
                        for known, (name, arguments) in CALLS
                    ),
                ],
            },
            {"role": "user", "content": results},
            {"role": "assistant", "content": ANSWER},
            {"role": "user", "content": NEXT},
        ],
    }


def _responses():
    picture = {"type": "input_image", "image_url": URL, "detail": "auto"}
    outputs = ["fog", JSON, [{"type": "input_text", "text": "a map"}, picture], "no clock"]
    results = [
        {"type": "function_call_output", "call_id": known, "output": output}
        for known, output in zip(IDS, outputs, strict=True)
    ]
    results[0] |= {"id": "fco_1", "namespace": None}
    document = f"data:text/plain;base64,{FILE}"
    return {
        "model": "m",
        "store": False,
        "input": [
            {"role": "developer", "content": [{"type": "input_text", "text": SYSTEM}]},
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": QUESTION},
                    {"type": "input_file", "filename": "notes.txt", "file_data": document},
                ],
            },
            {"role": "assistant", "content": PLAN},
            *(
                {
                    "type": "function_call",
                    "call_id": known,
                    "name": name,
                    "arguments": json.dumps(arguments),
                }
                for known, (name, arguments) in CALLS
            ),
            *results,
            {"role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]},
            {"role": "user", "content": NEXT},
        ],
    }


def _gemini():
    """With the names that Google's SDK for Python writes, and calls without ids."""
    responses = [
        {"name": "get_weather", "response": {"output": "fog"}},
        {"name": "get_distance", "response": DISTANCE},
        {
            "name": "find_map",
            "response": {"result": "a map"},
            "parts": [{"inline_data": {"mime_type": "image/png", "data": PICTURE}}],
        },
        {"name": "get_time", "response": {"error": "no clock"}},
    ]
    document = {"inline_data": {"mime_type": "text/plain", "data": FILE}}
    return {
        "system_instruction": {"role": "user", "parts": [{"text": SYSTEM}, {"text": "Now."}]},
        "contents": [
            {"role": "user", "parts": [{"text": QUESTION}, document]},
            {
                "role": "model",
                "parts": [
                    {"text": PLAN},
                    *(
                        {"function_call": {"name": name, "args": arguments}}
                        for name, arguments in ARGUMENTS
                    ),
                ],
            },
            {"role": "user", "parts": [{"function_response": item} for item in responses]},
            {"role": "model", "parts": [{"text": ANSWER}]},
            {"role": "user", "parts": [{"text": NEXT}]},
        ],
    }


def _converse():
    image = {"image": {"format": "png", "source": {"bytes": PICTURE}}}
    contents = [[{"text": "fog"}], [{"json": DISTANCE}], [{"text": "a map"}, image]]
    results = [
        {"toolResult": {"toolUseId": known, "content": content}}
        for known, content in zip(IDS[:3], contents, strict=True)
    ]
    failed = {"toolUseId": IDS[3], "content": [{"text": "no clock"}], "status": "error"}
    document = {"format": "txt", "name": "notes", "source": {"bytes": FILE}}
    return {
        "system": [{"text": SYSTEM}, {"cachePoint": {"type": "default"}}],
        "messages": [
            {"role": "user", "content": [{"text": QUESTION}, {"document": document}]},
            {
                "role": "assistant",
                "content": [
                    {"text": PLAN},
                    *(
                        {"toolUse": {"toolUseId": known, "name": name, "input": arguments}}
                        for known, (name, arguments) in CALLS
                    ),
                ],
            },
            {"role": "user", "content": [*results, {"toolResult": failed}]},
            {"role": "assistant", "content": [{"text": ANSWER}]},
            {"role": "user", "content": [{"text": NEXT}, {"cachePoint": {"type": "default"}}]},
        ],
    }


def _cohere():
    body = _chat()
    messages = body["messages"]
    messages[0]["role"] = "system"
    messages[1] = {
        "role": "user",
        "content": [{"type": "text", "text": QUESTION}, {"type": "text", "text": DOCUMENT}],
    }
    messages[2] = {
        "role": "assistant",
        "content": [{"type": "text", "text": PLAN}],
        "tool_calls": _chat_calls(),
    }
    data = [{"type": "document", "document": {"id": "1", "data": JSON}}]
    messages[4]["content"] = data
    messages[5]["content"] = [{"type": "text", "text": "a map"}]
    return body


def _ollama():
    """Calls without ids; results have the name of their function."""
    results = ["fog", JSON, "a map", "no clock"]
    return {
        "model": "m",
        "stream": False,
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"{QUESTION}\n{DOCUMENT}"},
            {
                "role": "assistant",
                "content": PLAN,
                "tool_calls": [
                    {"function": {"name": name, "arguments": arguments}}
                    for name, arguments in ARGUMENTS
                ],
            },
            *(
                {"role": "tool", "tool_name": name, "content": text}
                for (name, _), text in zip(ARGUMENTS, results, strict=True)
            ),
            {"role": "user", "content": "The map:", "images": [PICTURE]},
            {"role": "assistant", "content": ANSWER},
            {"role": "user", "content": NEXT},
        ],
    }


def _langchain():
    """As `messages_to_dict` stores them, with LangChain's standard blocks."""
    image = {"type": "image", "base64": PICTURE, "mime_type": "image/png"}
    document = {"type": "file", "base64": FILE, "mime_type": "text/plain"}
    contents = ["fog", JSON, [{"type": "text", "text": "a map"}, image], "no clock"]
    calls = [
        {"type": "tool_call", "id": known, "name": name, "args": arguments}
        for known, (name, arguments) in CALLS
    ]
    results = [
        {"type": "tool", "data": {"content": content, "tool_call_id": known}}
        for known, content in zip(IDS, contents, strict=True)
    ]
    results[3]["data"]["status"] = "error"
    return [
        {"type": "system", "data": {"content": SYSTEM}},
        {"type": "human", "data": {"content": [{"type": "text", "text": QUESTION}, document]}},
        {"type": "ai", "data": {"content": PLAN, "tool_calls": calls}},
        *results,
        {"type": "ai", "data": {"content": ANSWER}},
        {"type": "human", "data": {"content": NEXT}},
    ]


SOURCES = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
    "bedrock-converse": _converse,
    "mistral": lambda: _chat(["a1a1a1a1a", "b2b2b2b2b", "c3c3c3c3c", "d4d4d4d4d"], name="f"),
    "cohere": _cohere,
    "ollama": _ollama,
    "langchain": _langchain,
}


def request_from(source, target):
    """The conversation of a source, for a target."""
    stored = SOURCES[source]()
    if source == "langchain":
        return iv.Request(target, iv.convert(stored))
    return iv.decode_request(stored, source).replace(model=target, dialect=None)


def said(request):
    """What a request says, whatever its form: texts by role, calls, results by the name of the call, and pictures."""
    names, calls, results, pictures = {}, [], {}, []
    texts = {"system": [request.system or ""], "user": [], "assistant": [], "tool": []}
    for message in request.messages:
        for part in message.parts:
            match part:
                case iv.Text():
                    texts[message.role].append(part.text)
                case iv.Media():
                    _file(part, texts["user"], pictures)
                case iv.ToolCall():
                    names[part.id] = part.name
                    calls.append((part.name, json.loads(part.arguments or "{}")))
                case iv.ToolResult():
                    content = part.content
                    inner = [iv.Text(content)] if isinstance(content, str) else content
                    for item in inner:
                        if isinstance(item, iv.Media):
                            _file(item, texts["user"], pictures)
                    text = "".join(item.text for item in inner if isinstance(item, iv.Text))
                    text = text.replace("[the file is in the next message]", "").strip()
                    results[names[part.call_id]] = (_plain(text), part.error)
    return texts, calls, results, pictures


def _file(part, texts, pictures):
    if (part.mime or "").startswith("text/"):
        texts.append(base64.b64decode(part.data).decode())
    else:
        pictures.append(part.data)


def _plain(text):
    try:
        return json.loads(text)
    except ValueError:
        return text
