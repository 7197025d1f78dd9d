"""Lists of models, cards of one, and counts of tokens, as each API has them."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.rows import ModelRow
from innervoice.catalog.lookup import use_overrides
from innervoice.gateway.endpoints import Endpoint
from innervoice.gateway.estimates import estimate
from innervoice.gateway.listings import (
    count_body,
    model_body,
    models_body,
    shown_model,
    version_body,
)
from innervoice.wire.dialects import DIALECTS

NAMES = ["anthropic/claude-opus-5-5", "sonnet", "wide/model"]
EPOCH = "1970-01-01T00:00:00Z"
ROW = {
    "match": ["claude-opus-5-5"], "hosts": ["anthropic"], "control": "anthropic-adaptive", "max_output": 128_000,
    "context": 1_000_000, "source": "a test",
}  # fmt: skip


@pytest.fixture
def known_context():
    """A catalog that knows how much a model reads."""
    use_overrides([ModelRow.from_row(ROW)])
    yield
    use_overrides([])


def listed(dialect, names=NAMES, **reaches):
    return models_body(Endpoint(dialect, "models"), names, reaches)


def card(dialect, name=NAMES[0]):
    return model_body(Endpoint(dialect, "model", name), name)


@pytest.mark.usefixtures("known_context")
class TestModels:
    def test_anthropic(self):
        first = {
            "type": "model", "id": NAMES[0], "display_name": NAMES[0], "created_at": EPOCH, "max_input_tokens": 1_000_000,
            "context_window": 1_000_000, "max_tokens": 128_000,
        }  # fmt: skip
        body = listed("anthropic")
        assert first == body["data"][0] == card("anthropic")
        assert NAMES == [model["id"] for model in body["data"]]
        assert (False, NAMES[0], NAMES[-1]) == (
            body["has_more"],
            body["first_id"],
            body["last_id"],
        )

    @pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
    def test_openai(self, dialect):
        first = {
            "id": NAMES[0], "object": "model", "created": 0, "owned_by": "anthropic", "context_length": 1_000_000,
            "context_window": 1_000_000, "max_completion_tokens": 128_000,
        }  # fmt: skip
        body = listed(dialect)
        assert "list" == body["object"]
        assert first == body["data"][0] == card(dialect)

    def test_mistral(self):
        first = {
            "id": NAMES[0], "object": "model", "created": 0, "owned_by": "anthropic", "type": "base", "name": NAMES[0],
            "capabilities": {"completion_chat": True, "function_calling": True, "reasoning": True}, "max_context_length": 1_000_000,
        }  # fmt: skip
        assert first == listed("mistral")["data"][0] == card("mistral")

    def test_gemini(self):
        first = {
            "name": f"models/{NAMES[0]}", "displayName": NAMES[0], "inputTokenLimit": 1_000_000, "outputTokenLimit": 128_000,
            "supportedGenerationMethods": ["generateContent", "countTokens"], "thinking": True,
        }  # fmt: skip
        assert first == listed("gemini")["models"][0] == card("gemini")

    def test_ollama(self):
        first = listed("ollama")["models"][0]
        assert (NAMES[0], NAMES[0]) == (first["name"], first["model"])
        shown = card("ollama")
        assert {"general.architecture": "anthropic", "anthropic.context_length": 1_000_000} == shown["model_info"]  # fmt: skip
        assert ["completion", "tools", "thinking"] == shown["capabilities"]
        assert first["details"] == shown["details"]
        assert "version" in version_body(Endpoint("ollama", "version"))

    def test_converse(self):
        first = listed("bedrock-converse")["modelSummaries"][0]
        assert (NAMES[0], "anthropic") == (first["modelId"], first["providerName"])
        assert {"modelDetails": first} == card("bedrock-converse")

    def test_cohere(self):
        first = {"name": NAMES[0], "endpoints": ["chat"], "finetuned": False, "context_length": 1_000_000}  # fmt: skip
        assert first == listed("cohere")["models"][0] == card("cohere")

    @pytest.mark.parametrize("dialect", DIALECTS)
    def test_a_name_of_the_gateways_own_has_the_sizes_of_what_it_reaches(self, dialect):
        alone, reaching = (
            listed(dialect, ["sonnet"]),
            listed(dialect, ["sonnet"], sonnet=NAMES[0]),
        )
        assert "1000000" not in json.dumps(alone)
        if dialect not in ("bedrock-converse", "ollama"):  # their lists have no sizes
            assert "1000000" in json.dumps(reaching)
        assert json.dumps(NAMES[0])[1:-1] not in json.dumps(reaching)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_unknown_is_left_out_and_not_null(dialect):
    """Only a size that is known is said; a client takes null or 0 for one."""
    unknown = ["vllm/some-model", "wide/model"]
    models = next(value for value in listed(dialect, unknown).values() if isinstance(value, list))
    assert len(unknown) == len(models)
    for model in (*models, card(dialect, "wide/model")):
        assert "null" not in json.dumps(model)
        assert (
            not {"inputTokenLimit", "context_window", "max_input_tokens", "max_context_length"}
            & model.keys()
        )


def test_no_models():
    assert {"data": [], "has_more": False, "first_id": None, "last_id": None} == listed("anthropic", [])  # fmt: skip


def test_which_model_is_to_be_shown():
    assert "a" == shown_model({"model": "a", "name": "b"})
    assert "b" == shown_model({"name": "b"})
    assert None is shown_model({"model": 3})


# ---- counts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("anthropic", {"input_tokens": 7}),
        ("gemini", {"totalTokens": 7}),
        ("openai-responses", {"object": "response.input_tokens", "input_tokens": 7}),
    ],
)
def test_counts(dialect, body):
    assert body == count_body(Endpoint(dialect, "count"), 7)


TEXT = "Some words about the weather in Oslo. " * 100
WEATHER = iv.Tool(
    "get_weather",
    "Tells the weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string", "description": TEXT}}},
)
HOMES = {
    "anthropic": "anthropic/claude-opus-5-5",
    "openai-chat": "openai/gpt-4.1",
    "openai-responses": "openai/gpt-5.6",
    "gemini": "gemini/gemini-3.5-flash",
    "gemini-interactions": "gemini/gemini-3.5-flash",
    "bedrock-converse": "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "mistral": "mistral/magistral-medium-latest",
    "cohere": "cohere/command-a-reasoning-08-2025",
    "ollama": "ollama/qwen3",
}


def body_of(dialect, *, system=None, tools=(), messages=()):
    said = [iv.system(system)] if system else []
    request = iv.Request(
        HOMES[dialect], (*said, *(messages or [iv.user("hi")])), tools=tuple(tools), dialect=dialect
    )
    return iv.encode(request).body


@pytest.mark.parametrize("dialect", DIALECTS)
def test_system_tools_and_messages_count_in_every_dialect(dialect):
    """Each about a token for four characters, and nothing is counted twice."""
    expected, least = len(TEXT) // 4, estimate(body_of(dialect))
    assert 1 <= least < 60
    for more in (
        {"system": TEXT},
        {"tools": [WEATHER]},
        {"messages": [iv.user(TEXT)]},
        {"messages": [iv.user("hi"), iv.assistant(TEXT), iv.user("go on")]},
    ):
        assert expected <= estimate(body_of(dialect, **more)) < expected + 120, more


@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls_and_results_count(dialect):
    call = iv.ToolCall("call00001", "get_weather", json.dumps({"city": TEXT}))
    asked = iv.Message("assistant", (call,))
    result = iv.tool_result("call00001", TEXT)
    expected = 2 * len(TEXT) // 4
    count = estimate(body_of(dialect, messages=[iv.user("hi"), asked, result], tools=[iv.Tool("get_weather", "x", {"type": "object"})]))  # fmt: skip
    assert expected <= count < expected * 1.1 + 120


PNG = "iVBORw0KGgo" + "A" * 200_000


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]},
        {"role": "user", "content": [{"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}]},
        {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]},
        {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": PNG}}]},
        {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": PNG}}}]},
        {"role": "user", "content": "look", "images": [PNG]},
    ],
)  # fmt: skip
def test_an_image_counts_as_an_image_and_not_by_its_bytes(message):
    assert 1600 <= estimate({"messages": [message]}) < 1650
    assert 1600 <= estimate({"contents": [message]}) < 1650


@pytest.mark.parametrize(
    "block",
    [
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": TEXT}},
        {"type": "document", "document": {"id": "1", "data": TEXT}},
        {"type": "document", "document": {"data": {"snippet": TEXT}}},
    ],
)
def test_a_document_of_text_counts_by_its_text(block):
    count = estimate({"messages": [{"role": "user", "content": [block]}]})
    assert len(TEXT) // 4 <= count < len(TEXT) // 4 + 50


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "hm", "signature": PNG},
        {"type": "redacted_thinking", "data": PNG},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": PNG},
        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": PNG},
    ],
)
def test_seals_are_not_text(block):
    assert estimate({"messages": [{"role": "assistant", "content": [block]}]}) < 50
    assert estimate({"input": [block]}) < 50


def test_arguments_named_like_files_are_text():
    """What a tool takes is the tool's own: its `data`, `url` and `image` are words."""
    for arguments in ({"data": TEXT}, {"url": TEXT}, {"type": "image", "bytes": TEXT}):
        call = {"type": "tool_use", "id": "a", "name": "f", "input": arguments}
        count = estimate({"messages": [{"role": "assistant", "content": [call]}]})
        assert len(TEXT) // 4 <= count < len(TEXT) // 4 + 50


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_names_in_a_schema_count(dialect):
    """A model reads them, too."""
    members = {f"a_rather_long_name_{number:03}": {"type": "string"} for number in range(100)}
    tool = iv.Tool("f", "x", {"type": "object", "properties": members})
    assert estimate(body_of(dialect, tools=[tool])) > 100 * (22 + 10) // 4


@pytest.mark.parametrize("member", ["messages", "contents", "input"])
def test_a_message_has_a_frame(member):
    message = {"role": "user", "parts": [{"text": "a"}]}
    assert 4 * 200 < estimate({member: [message] * 200}) < 6 * 200


def test_gemini_may_wrap_the_request_that_is_counted():
    inner = {"contents": [{"role": "user", "parts": [{"text": TEXT}]}], "systemInstruction": {"parts": [{"text": TEXT}]}}  # fmt: skip
    assert estimate(inner) == estimate({"generateContentRequest": inner})


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["role", "content", "parts", "text", "type", "source", "data", "image", "images", "input", "args",
                         "tools", "name", "function", "document", "media_type", "toolUse", "inlineData"]),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
BODIES = st.dictionaries(st.sampled_from(["system", "messages", "contents", "input", "tools", "systemInstruction", "text", "model"]), ANY, max_size=4)  # fmt: skip


@given(body=BODIES, text=st.text(min_size=1, max_size=200), member=st.sampled_from(["messages", "contents", "input"]))  # fmt: skip
def test_more_text_is_never_fewer_tokens(body, text, member):
    """Whatever comes is counted, never as 0; a message more, and a longer text, never lower the count."""
    held = body.get(member)
    body[member] = held if isinstance(held, list) else []
    before = estimate(body)
    message = {"role": "user", "content": [{"type": "text", "text": "a"}], "parts": [{"text": "a"}]}
    more = copy.deepcopy(body)
    more[member].append(message)
    one = estimate(more)
    message["content"][0]["text"] += text
    message["parts"][0]["text"] += text * 4
    longer = estimate(more)
    assert 1 <= before <= one <= longer
    assert one < longer
