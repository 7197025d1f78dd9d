"""Requests and responses as attributes: plain dicts, without OpenTelemetry."""

import subprocess
import sys

import pytest

import innervoice as iv
from innervoice.bridges import otel
from innervoice.emulator import Emulator, emulated_client

SEAL, KEY = "SEAL-0123456789", "sk-0123456789"
THOUGHT = "Two trains, so their relative speed counts. Then I divide the way by it."
ORIGIN = iv.Origin(
    provider="anthropic",
    model="claude-opus-5-5",
    dialect="anthropic",
    block={"type": "thinking", "thinking": THOUGHT, "signature": SEAL},
    seals=("signature",),
)
PARTS = (
    iv.Thinking(THOUGHT, origin=ORIGIN),
    iv.Thinking("", "hidden", origin=ORIGIN),
    iv.Text("They meet at 10:40."),
    iv.ToolCall("call_1", "clock", '{"at": "10:40"}'),
    iv.Opaque({"type": "compaction", "encrypted_content": SEAL}),
)
USAGE = iv.Usage(
    input_tokens=30,
    output_tokens=20,
    reasoning_tokens=15,
    cached_input_tokens=10,
    raw={"cache_creation_input_tokens": 5},
)
RESPONSE = iv.Response(
    parts=PARTS, model="claude-opus-5-5-20260801", id="msg_1", ended=True, finish_reason="tool_calls", usage=USAGE
)  # fmt: skip
REQUEST = iv.Request(
    "anthropic/claude-opus-5-5",
    [
        iv.user(["When?", iv.Media("image/png", "aW1hZ2U="), iv.Media(url="https://a.test/b")]),
        RESPONSE.message,
        iv.tool_result("call_1", "rings"),
    ],
    system="Be brief.",
    tools=[
        iv.Tool("clock", "Tells it.", {"type": "object"}),
        {"type": "mcp", "name": "files", "authorization_token": KEY},
    ],
    reasoning="high",
    max_tokens=500,
)


def test_request():
    assert otel.request_attributes(REQUEST, iv.encode(REQUEST)) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-opus-5-5",
        "gen_ai.request.reasoning.level": "high",
        "gen_ai.request.max_tokens": 500,
        "server.address": "api.anthropic.com",
        "server.port": 443,
    }


@pytest.mark.parametrize(
    ("model", "provider", "level"),
    [
        ("openai/gpt-5.6", "openai", "high"),
        ("gemini/gemini-3-pro-preview", "gcp.gemini", "HIGH"),
        ("bedrock/us.anthropic.claude-opus-5-5-v1:0", "aws.bedrock", "high"),
        ("xai/grok-3-mini", "x_ai", "high"),
        ("ollama/gpt-oss:20b", "ollama", "high"),
        ("deepseek/deepseek-v4-pro", "deepseek", "high"),
        ("anthropic/claude-sonnet-4-5", "anthropic", None),
    ],
)
def test_level_is_what_is_sent(model, provider, level):
    """Also where its host spells it otherwise; a budget has no level."""
    request = iv.Request(model, [iv.user("high effort?")], reasoning="high", max_tokens=8000)
    attributes = otel.request_attributes(request, iv.encode(request))

    assert provider == attributes["gen_ai.provider.name"]
    assert level == attributes.get("gen_ai.request.reasoning.level")


def test_ids_are_taken_and_never_invented():
    extra = {"previous_response_id": "resp_1", "conversation": {"id": "conv_1"}}
    request = iv.Request("openai/gpt-5.6", [iv.user("?")], extra=extra, stream=True, stop=".")
    attributes = otel.request_attributes(request)

    assert "resp_1" == attributes["gen_ai.request.previous_response.id"]
    assert "conv_1" == attributes["gen_ai.conversation.id"]
    assert (True, ["."]) == (
        attributes["gen_ai.request.stream"],
        attributes["gen_ai.request.stop_sequences"],
    )
    assert "gen_ai.conversation.id" not in otel.request_attributes(REQUEST)


def test_operation_of_gemini():
    request = iv.Request("gemini/gemini-3-pro-preview", [iv.user("?")])
    assert "generate_content" == otel.request_attributes(request)["gen_ai.operation.name"]


def test_response():
    assert otel.response_attributes(RESPONSE) == {
        "gen_ai.response.model": "claude-opus-5-5-20260801",
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.reasoning.output_tokens": 15,
        "gen_ai.usage.cache_read.input_tokens": 10,
        "gen_ai.usage.cache_write.input_tokens": 5,
        "innervoice.thinking.share": 0.75,
    }


def test_response_that_was_cut_off():
    cut = iv.Response(parts=(iv.Text("They me"),), alternatives=(RESPONSE,))
    attributes = otel.response_attributes(cut)

    assert {"gen_ai.response.finish_reasons": ["error", "tool_calls"]} == attributes


@pytest.mark.parametrize(
    ("show", "reasoning"),
    [
        ("full", [{"content": THOUGHT}, {"content": "", "hidden_blocks": 1}]),
        (
            "summary",
            [
                {"content": "Two trains, so their relative speed counts. …", "characters": 72},
                {"content": "", "hidden_blocks": 1},
            ],
        ),
        ("length", [{"content": "", "characters": 72}, {"content": "", "hidden_blocks": 1}]),
        ("none", []),
    ],
)
def test_output(show, reasoning):
    """Reasoning follows the policy of the renderers; everything else is included."""
    (message,) = otel.output_messages(RESPONSE, show)

    assert message == {
        "role": "assistant",
        "parts": [
            *({"type": "reasoning", **told} for told in reasoning),
            {"type": "text", "content": "They meet at 10:40."},
            {"type": "tool_call", "id": "call_1", "name": "clock", "arguments": {"at": "10:40"}},
            {"type": "compaction"},
        ],
    }


def test_unknown_policy():
    with pytest.raises(iv.UsageError, match="show"):
        otel.output_messages(RESPONSE, "all")


def test_content():
    content = otel.content_attributes(REQUEST, RESPONSE)
    asked, answered, result = content["gen_ai.input.messages"]

    assert [{"type": "text", "content": "Be brief."}] == content["gen_ai.system_instructions"]
    assert asked["parts"] == [
        {"type": "text", "content": "When?"},
        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "aW1hZ2U="},
        {"type": "uri", "modality": "document", "uri": "https://a.test/b"},
    ]
    assert answered == content["gen_ai.output.messages"][0]
    assert result["parts"] == [{"type": "tool_call_response", "id": "call_1", "response": "rings"}]
    assert content["gen_ai.tool.definitions"] == [
        {
            "type": "function",
            "name": "clock",
            "description": "Tells it.",
            "parameters": {"type": "object"},
        },
        {"type": "mcp", "name": "files"},
    ]


def test_openinference():
    made = otel.openinference_attributes(REQUEST, RESPONSE, iv.encode(REQUEST), content=True)
    output = "llm.output_messages.0.message"

    assert "LLM" == made["openinference.span.kind"]
    assert 15 == made["llm.token_count.completion_details.reasoning"]
    assert '{"max_tokens":500,"reasoning_effort":"high"}' == made["llm.invocation_parameters"]
    assert "reasoning" == made[f"{output}.contents.0.message_content.type"]
    assert THOUGHT == made[f"{output}.contents.0.message_content.text"]
    assert '{"at":"10:40"}' == made[f"{output}.tool_calls.0.tool_call.function.arguments"]
    assert ("tool", "rings") == (
        made["llm.input_messages.3.message.role"],
        made["llm.input_messages.3.message.content"],
    )
    assert "system" == made["llm.input_messages.0.message.role"]
    assert all(isinstance(value, (str, int)) for value in made.values())


def test_openinference_without_content():
    made = otel.openinference_attributes(REQUEST, RESPONSE)

    assert not any("messages" in name or "tools" in name for name in made)


@pytest.mark.parametrize("show", ["full", "summary", "length", "none"])
def test_seals_and_keys_are_in_none_of_it(show):
    wire = iv.encode(REQUEST)
    made = [
        otel.request_attributes(REQUEST, wire),
        otel.response_attributes(RESPONSE),
        otel.content_attributes(REQUEST, RESPONSE, show),
        otel.openinference_attributes(REQUEST, RESPONSE, wire, content=True, show=show),
    ]

    assert SEAL not in str(made)
    assert KEY not in str(made)


@pytest.mark.parametrize(
    "model",
    ["anthropic/claude-opus-5-5+redact", "gemini/gemini-3-pro-preview", "openai/gpt-5.6", "mistral/magistral-small-latest"],
)  # fmt: skip
def test_seals_of_the_emulator(model):
    """Seals of a provider are never included."""
    client = emulated_client(Emulator())
    tool = iv.Tool("weather", parameters={"type": "object", "properties": {"city": {}}})
    history = [iv.user("What is the weather in Paris and Rome?")]
    response = client.ask(model, history, tools=[tool], reasoning="high")
    request = iv.Request(model, [*history, response.message], tools=[tool])
    told = str(otel.content_attributes(request, response))
    seals = [seal for part in response.parts for seal in sealed(part.origin)]

    assert not [seal for seal in seals if seal in told]


def sealed(origin):
    for path in origin.seals:
        value = origin.block
        for step in path.split("."):
            value = value[step]
        if not str(value).startswith("rs_"):
            yield value


def test_importing_loads_no_libraries():
    script = "import sys, innervoice.bridges, innervoice.bridges.otel; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )

    assert not {"opentelemetry", "langchain_core", "pydantic", "httpx2"} & set(done.stdout.split())


def test_without_opentelemetry():
    """`instrument` without OpenTelemetry raises an error that says what to install."""
    try:
        import opentelemetry.trace  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(iv.UsageError, match=r"(?:innervoice|/[^\s\"]+)\[otel\]"):
            otel.instrument(emulated_client(Emulator()))
    else:
        pytest.skip("it is installed here")
