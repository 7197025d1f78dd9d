"""Requests as each dialect writes them."""

import pytest

import innervoice as iv
from innervoice.wire.dialects import DIALECTS

MODELS = {
    "anthropic": "anthropic/claude-haiku-4-5",
    "openai-chat": "deepseek/deepseek-v4-pro",
    "openai-responses": "openai/gpt-5.6",
    "gemini": "gemini/gemini-2.5-flash",
    "gemini-interactions": "gemini/gemini-2.5-flash",
    "bedrock-converse": "bedrock/us.anthropic.claude-haiku-4-5-v1:0",
    "mistral": "mistral/mistral-small-latest",
    "cohere": "cohere/command-a-reasoning-08-2025",
    "ollama": "ollama/qwen3",
}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
HISTORY = [
    iv.user(["See this:", iv.Media("image/png", "aW1hZ2U=")]),
    iv.Message(
        "assistant", (iv.Text("I look it up."), iv.ToolCall("call_1", "weather", '{"city":"Rome"}'))
    ),
    iv.tool_result("call_1", "no such city", error=True),
    iv.user("Try Paris."),
]


def wire(dialect, **more):
    options = {
        "max_tokens": 500,
        "temperature": 0.5,
        "stop": ["END"],
        "tools": [iv.Tool("weather", "Tells it.", SCHEMA)],
        "system": "Be brief.",
    }
    request = iv.Request(MODELS[dialect], HISTORY, dialect=dialect, **{**options, **more})
    return iv.encode(request)


EXPECTED = {
    "anthropic": {
        "url": "https://api.anthropic.com/v1/messages",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "See this:"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aW1hZ2U="}}]},
            {"role": "assistant", "content": [{"type": "text", "text": "I look it up."}, {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Rome"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "no such city", "is_error": True}, {"type": "text", "text": "Try Paris."}]},
        ],
        "tools": [{"name": "weather", "description": "Tells it.", "input_schema": SCHEMA}],
        "stop_sequences": ["END"],
        "system": "Be brief.",
    },
    "openai-chat": {
        "url": "https://api.deepseek.com/chat/completions",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "See this:"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,aW1hZ2U="}}]},
            {"role": "assistant", "content": "I look it up.", "reasoning_content": "", "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Rome"}'}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "no such city"},
            {"role": "user", "content": "Try Paris."},
        ],
        "tools": [{"type": "function", "function": {"name": "weather", "description": "Tells it.", "parameters": SCHEMA}}],
    },
    "openai-responses": {
        "url": "https://api.openai.com/v1/responses",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "See this:"}, {"type": "input_image", "image_url": "data:image/png;base64,aW1hZ2U="}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look it up."}]},
            {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city":"Rome"}'},
            {"type": "function_call_output", "call_id": "call_1", "output": "no such city"},
            {"role": "user", "content": [{"type": "input_text", "text": "Try Paris."}]},
        ],
        "instructions": "Be brief.",
        "store": False,
        "include": ["reasoning.encrypted_content"],
    },
    "gemini": {
        "url": "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
        "contents": [
            {"role": "user", "parts": [{"text": "See this:"}, {"inlineData": {"mimeType": "image/png", "data": "aW1hZ2U="}}]},
            {"role": "model", "parts": [{"text": "I look it up."}, {"functionCall": {"id": "call_1", "name": "weather", "args": {"city": "Rome"}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "call_1", "name": "weather", "response": {"error": "no such city"}}}, {"text": "Try Paris."}]},
        ],
        "generationConfig": {"maxOutputTokens": 500, "temperature": 0.5, "stopSequences": ["END"]},
    },
    "gemini-interactions": {
        "url": "https://generativelanguage.googleapis.com/v1beta/interactions",
        "model": "gemini-2.5-flash",
        "input": [
            {"type": "user_input", "content": [{"type": "text", "text": "See this:"}, {"type": "image", "mime_type": "image/png", "data": "aW1hZ2U="}]},
            {"type": "model_output", "content": [{"type": "text", "text": "I look it up."}]},
            {"type": "function_call", "id": "call_1", "name": "weather", "arguments": {"city": "Rome"}},
            {"type": "function_result", "name": "weather", "call_id": "call_1", "result": "no such city", "is_error": True},
            {"type": "user_input", "content": [{"type": "text", "text": "Try Paris."}]},
        ],
        "system_instruction": "Be brief.",
        "generation_config": {"max_output_tokens": 500, "temperature": 0.5, "stop_sequences": ["END"]},
        "tools": [{"type": "function", "name": "weather", "description": "Tells it.", "parameters": SCHEMA}],
        "store": False,
    },
    "bedrock-converse": {
        "url": "https://bedrock-runtime.{region}.amazonaws.com/model/us.anthropic.claude-haiku-4-5-v1:0/converse",
        "messages": [
            {"role": "user", "content": [{"text": "See this:"}, {"image": {"format": "png", "source": {"bytes": "aW1hZ2U="}}}]},
            {"role": "assistant", "content": [{"text": "I look it up."}, {"toolUse": {"toolUseId": "call_1", "name": "weather", "input": {"city": "Rome"}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "call_1", "content": [{"text": "no such city"}], "status": "error"}}, {"text": "Try Paris."}]},
        ],
        "inferenceConfig": {"maxTokens": 500, "temperature": 0.5, "stopSequences": ["END"]},
        "system": [{"text": "Be brief."}],
    },
    "mistral": {"url": "https://api.mistral.ai/v1/chat/completions", "max_tokens": 500, "stop": ["END"]},
    "cohere": {"url": "https://api.cohere.com/v2/chat", "stop_sequences": ["END"], "temperature": 0.5},
    "ollama": {"url": "http://localhost:11434/api/chat", "options": {"num_predict": 500, "temperature": 0.5, "stop": ["END"]}, "stream": False},
}  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
def test_shape(dialect):
    made = wire(dialect)
    body = {"url": made.url, **made.body}
    assert EXPECTED[dialect] == {key: body.get(key) for key in EXPECTED[dialect]}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_there_and_back(dialect):
    """What was written is read again, and written again as it was."""
    made = wire(dialect)
    again = iv.encode(iv.decode_request(made.body, dialect=dialect).replace(model=MODELS[dialect]))
    assert made.body == again.body


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        (
            "required",
            {
                "anthropic": {"type": "any"},
                "openai-chat": "required",
                "openai-responses": "required",
                "cohere": "REQUIRED",
            },
        ),
        (
            "weather",
            {
                "anthropic": {"type": "tool", "name": "weather"},
                "openai-chat": {"type": "function", "function": {"name": "weather"}},
                "openai-responses": {"type": "function", "name": "weather"},
            },
        ),
        ("none", {"anthropic": {"type": "none"}, "openai-chat": "none", "cohere": "NONE"}),
    ],
)
def test_tool_choice(choice, written):
    for dialect, expected in written.items():
        assert expected == wire(dialect, tool_choice=choice, reasoning=False).body["tool_choice"]
    gemini = wire("gemini", tool_choice=choice).body["toolConfig"]["functionCallingConfig"]
    assert {"required": "ANY", "weather": "ANY", "none": "NONE"}[choice] == gemini["mode"]


def test_response_format():
    form = {"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA}}
    assert {"type": "json_object"} == wire("openai-chat", response_format=form).body[
        "response_format"
    ]  # DeepSeek has no other
    assert {"type": "json_schema", "name": "city", "schema": SCHEMA} == wire(
        "openai-responses", response_format=form
    ).body["text"]["format"]
    assert (
        SCHEMA
        == wire("gemini", response_format=form).body["generationConfig"]["responseJsonSchema"]
    )
    closed = {**SCHEMA, "additionalProperties": False}
    assert {"type": "json_schema", "schema": closed} == wire(
        "anthropic", response_format=form
    ).body["output_config"]["format"]
    assert SCHEMA == wire("ollama", response_format=form).body["format"]


def test_a_providers_own_blocks_and_tools_pass_through():
    block = {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}
    tool = {"type": "web_search_20260209", "name": "web_search"}
    made = iv.encode(
        iv.Request(
            "anthropic/claude-haiku-4-5", [iv.user([block, "Read it."])], tools=[tool], max_tokens=9
        )
    )
    assert block == made.body["messages"][0]["content"][0]
    assert [tool] == made.body["tools"]


def test_streams():
    assert wire("openai-chat", stream=True).body["stream_options"] == {"include_usage": True}
    assert wire("gemini", stream=True).url.endswith(":streamGenerateContent?alt=sse")
    assert wire("bedrock-converse", stream=True).url.endswith("/converse-stream")


def test_gemini_calls_without_ids():
    """An id that was made up here is not sent home."""
    answer = {
        "candidates": [
            {
                "content": {
                    "parts": [
                        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "sig"}
                    ]
                },
                "finishReason": "STOP",
            }
        ]
    }
    response = iv.decode(answer, provider="gemini", model="gemini-3-flash-preview")
    history = [iv.user("x"), response.message, iv.tool_result(response.tool_calls[0].id, "1")]
    contents = iv.encode(iv.Request("gemini/gemini-3-flash-preview", history)).body["contents"]
    assert answer["candidates"][0]["content"]["parts"] == contents[1]["parts"]
    assert {"name": "f", "response": {"result": 1}} == contents[2]["parts"][0]["functionResponse"]


def test_names_with_a_colon():
    assert "qwen3:8b" == iv.encode(iv.Request("ollama/qwen3:8b", [iv.user("x")])).body["model"]
    assert "gpt-5.6" == iv.encode(iv.Request("openai:gpt-5.6", [iv.user("x")])).body["model"]
    assert (
        "deepseek/deepseek-r1"
        == iv.encode(iv.Request("openrouter/deepseek/deepseek-r1", [iv.user("x")])).body["model"]
    )


def test_a_provider_nobody_knows():
    made = iv.encode(iv.Request("nobody/model-x", [iv.user("x")], dialect="openai-chat"))
    assert ("/chat/completions", "model-x") == (made.url, made.body["model"])
    assert (
        "http://here/v1/chat/completions"
        == iv.encode(
            iv.Request("nobody/m", [iv.user("x")], dialect="openai-chat", base_url="http://here/v1")
        ).url
    )


def codes(made):
    return {note.code for note in made.notes}


@pytest.mark.parametrize(
    ("dialect", "settings", "code"),
    [
        ("openai-responses", {"stop": ["END"]}, "parameter_removed"),
        ("bedrock-converse", {"response_format": {"type": "json_object"}}, "schema_as_instruction"),
        ("bedrock-converse", {"tool_choice": "none"}, "parameter_removed"),
        ("ollama", {"tool_choice": "required"}, "parameter_removed"),
        ("cohere", {"tool_choice": "weather"}, "tool_choice_relaxed"),
    ],
)
def test_what_a_dialect_cannot_say_is_said(dialect, settings, code):
    """Left out with a note, and refused in mode strict."""
    options = {"stop": None, "temperature": None, **settings}
    assert code in codes(wire(dialect, **options))
    with pytest.raises(iv.RuleError, match=code):
        wire(dialect, mode="strict", **options)


def test_a_lost_error_flag_is_said():
    assert "error_flag_dropped" in codes(wire("openai-chat"))
    assert "error_flag_dropped" not in codes(wire("anthropic"))


def test_a_guess_about_a_model_is_said():
    assert "unknown_model" in codes(iv.encode(iv.Request("openai/gpt-99", [iv.user("x")])))
    assert "unknown_model" not in codes(iv.encode(iv.Request("openai/gpt-5.6", [iv.user("x")])))


@pytest.mark.parametrize(
    ("model", "content"),
    [
        ("ollama/qwen3", iv.Media("image/png", url="https://example.org/a.png")),
        ("ollama/qwen3", {"type": "document"}),
        ("bedrock/amazon.nova-2-lite-v1:0", iv.Media("image/png", url="https://example.org/a.png")),
    ],
)
def test_what_a_dialect_cannot_take_is_refused(model, content):
    with pytest.raises(iv.UsageError, match="accepts"):
        iv.encode(iv.Request(model, [iv.user([content])]))


def test_chunks_of_an_answer_go_back():
    """A list of text and an image is a list again."""
    content = [{"type": "text", "text": "See:"}, {"type": "image_url", "image_url": {"url": "x"}}]
    turn = iv.decode({"choices": [{"message": {"content": content}}]}, provider="together").message
    made = iv.encode(iv.Request("together/some-model", [iv.user("x"), turn, iv.user("y")]))
    assert content == made.body["messages"][1]["content"]


@pytest.mark.parametrize(("stream", "verb"), [(False, "rawPredict"), (True, "streamRawPredict")])
def test_claude_on_vertex(stream, verb):
    """Another envelope around the same blocks: the model in the path alone, and the version in the body."""
    model = "claude-sonnet-4-5@20250929"
    base = "https://eu-aiplatform.test/v1/projects/p/locations/eu"
    request = {"max_tokens": 9000, "reasoning": iv.Reasoning(budget=2000), "stream": stream}
    there, home = (
        iv.encode(iv.Request(f"{host}/{model}", HISTORY, base_url=base, **request))
        for host in ("vertex", "anthropic")
    )

    assert f"{base}/publishers/anthropic/models/{model}:{verb}" == there.url
    assert "anthropic" == there.dialect
    assert {**home.body, "anthropic_version": "vertex-2023-10-16"} == {
        "model": home.body["model"],
        **there.body,
    }
    assert "model" not in there.body


@pytest.mark.parametrize(("stream", "verb"), [(False, "invoke"), (True, "invoke-with-response-stream")])  # fmt: skip
def test_claude_in_invoke_model(stream, verb):
    """Neither the model nor whether the answer is streamed is in the body: the path says both."""
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    request = {"max_tokens": 9000, "reasoning": iv.Reasoning(budget=2000), "stream": stream}
    there, home = (
        iv.encode(iv.Request(f"{host}/{model}", HISTORY, base_url="https://x.test", **request))
        for host in ("bedrock-invoke", "anthropic")
    )
    told = {name: home.body.pop(name, None) for name in ("model", "stream")}

    assert f"https://x.test/model/{model}/{verb}" == there.url
    assert "anthropic" == there.dialect
    assert {"model": model, "stream": stream or None} == told
    assert {**home.body, "anthropic_version": "bedrock-2023-05-31"} == there.body


def test_gpt_oss_in_invoke_model():
    """Bedrock documents the body of chat completions for it."""
    request = iv.Request("bedrock-invoke/openai.gpt-oss-20b-1:0", HISTORY[:1], base_url="https://x.test", reasoning="low")  # fmt: skip
    wire = iv.encode(request)

    assert "https://x.test/model/openai.gpt-oss-20b-1:0/invoke" == wire.url
    assert "openai-chat" == wire.dialect
    assert {"messages", "reasoning_effort"} == set(wire.body)


def test_the_newest_version_for_vertex():
    """A caller may send the version with which every model refuses sampling settings."""
    newest = {"anthropic_version": "2026-10-21"}
    wire = iv.encode(iv.Request("vertex/claude-opus-5-5", HISTORY[:1], base_url="https://x.test", extra=newest))  # fmt: skip

    assert "2026-10-21" == wire.body["anthropic_version"]


def test_gemini_on_vertex_stays_gemini():
    wire = iv.encode(iv.Request("vertex/gemini-3.5-flash", HISTORY[:1], base_url="https://x.test"))
    assert "https://x.test/publishers/google/models/gemini-3.5-flash:generateContent" == wire.url
    assert "anthropic_version" not in wire.body
