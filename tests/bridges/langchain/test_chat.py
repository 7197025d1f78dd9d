"""The settings of the model: what it sends, what it rejects, structured output."""

import copy
import functools
import json
import operator
import pickle
import subprocess
import sys

import pytest

import innervoice as iv
from innervoice.bridges import otel

core = pytest.importorskip("langchain_core.messages")
exceptions = pytest.importorskip("langchain_core.exceptions")
pydantic = pytest.importorskip("pydantic")
bridge = pytest.importorskip("innervoice.bridges.langchain")
structured = pytest.importorskip("innervoice.bridges.langchain.structured")


class City(pydantic.BaseModel):
    """A city."""

    name: str
    people: int = 0


class Scripted:
    """A client that records its requests and always returns the same response."""

    def __init__(self, text):
        self.text = text
        self.asked = []

    def ask(self, model, messages, **fields):
        self.asked.append((model, messages, fields))
        parts = (iv.Thinking("Hm."), iv.Text(self.text))
        return iv.Response(parts=parts, model="m", provider="p", ended=True, finish_reason="stop")


def test_what_is_asked():
    client = Scripted("Hi.")
    chat = bridge.ChatInnervoice(
        model="openai/gpt-5.6",
        reasoning=iv.Reasoning("high"),
        max_tokens=99,
        stop=[],
        client=client,
    )
    chat.invoke("Hello", temperature=0.5)
    chat.invoke("Hello", model="gpt-5-mini", stop=["."], reasoning=False)
    chat.invoke("Hello", model="deepseek/deepseek-v4-pro")
    (model, messages, fields), second, third = client.asked

    assert ("openai/gpt-5.6", [iv.user("Hello")]) == (model, messages)
    assert {"reasoning": {"effort": "high"}, "max_tokens": 99, "temperature": 0.5} == fields
    assert ("openai/gpt-5-mini", ["."], False) == (
        second[0], second[2]["stop"], second[2]["reasoning"],
    )  # fmt: skip
    assert "deepseek/deepseek-v4-pro" == third[0]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("any", "required"),
        (True, "required"),
        ("auto", "auto"),
        ("City", "City"),
        ({"type": "function", "function": {"name": "City"}}, "City"),
        ({"type": "tool", "name": "City"}, "City"),
    ],
)
def test_tools(choice, sent):
    client = Scripted("Hi.")
    chat = bridge.ChatInnervoice(model="openai/gpt-5.6", client=client)
    own = {"type": "web_search_20250305", "name": "web_search"}
    plain = {"name": "pick", "input_schema": {"type": "object"}}
    chat.bind_tools([City, own, plain], tool_choice=choice).invoke("Hello")
    fields = client.asked[0][2]

    assert sent == fields["tool_choice"]
    assert "City" == fields["tools"][0]["function"]["name"]
    assert [own, plain] == fields["tools"][1:]


def test_wrong_settings():
    with pytest.raises(pydantic.ValidationError, match="effort must be one of"):
        bridge.ChatInnervoice(model="openai/gpt-5.6", reasoning="hard")
    with pytest.raises(pydantic.ValidationError, match="tempratur"):
        bridge.ChatInnervoice(model="openai/gpt-5.6", tempratur=1)
    with pytest.raises(iv.UsageError, match="unexpected keyword argument 'tempratur'"):
        bridge.ChatInnervoice(model="openai/gpt-5.6", api_key="k").invoke("Hello", tempratur=1)


def test_keys_are_not_shown():
    chat = bridge.ChatInnervoice(
        model="openai/gpt-5.6", api_key="sk-secret", default_headers={"x-key": "sk-other"}
    )

    assert "sk-" not in repr(chat) + str(chat.model_dump()) + str(chat._get_invocation_params())


async def test_a_client_that_does_not_await_is_used_in_a_thread(clients):
    """A model with only a sync client also works async."""
    chat = bridge.ChatInnervoice(model="deepseek/deepseek-v4-pro", client=clients["client"])
    whole = await chat.ainvoke("What is 15 * 23?")
    chunks = [chunk async for chunk in chat.astream("What is 15 * 23?")]

    assert whole.text == "".join(chunk.text for chunk in chunks) == "15 * 23 = 345."


def test_models_can_be_copied_and_stored():
    chat = bridge.ChatInnervoice(model="openai/gpt-5.6", reasoning="high", api_key="sk-secret")

    assert chat == pickle.loads(pickle.dumps(chat)) == copy.deepcopy(chat)


def test_traced(clients):
    """An instrumented client can be used as the client."""
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    spans, provider = memory.InMemorySpanExporter(), trace.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(spans))
    traced = otel.instrument(clients["client"], tracer_provider=provider, environ={})
    chat = bridge.ChatInnervoice(model="openai/gpt-5.6", client=traced)
    chat.invoke("Hello")
    list(chat.stream("Hello"))

    assert ["chat gpt-5.6"] * 2 == [span.name for span in spans.get_finished_spans()]


# ---- objects -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "method", "reasoning"),
    [
        ("openai/gpt-5.6", "forced", "forced"),
        ("deepseek/deepseek-v4-pro", "forced", "asked"),
        ("gemini/gemini-3-pro-preview", "forced", "forced"),
        ("bedrock/us.anthropic.claude-opus-5-5-v1:0", "asked", "asked"),
        ("bedrock/us.anthropic.claude-haiku-4-5-v1:0", "forced", "asked"),
        ("anthropic/claude-opus-5-5", "schema", "schema"),
        ("anthropic/claude-sonnet-4-5", "forced", "schema"),
        ("openrouter/anthropic/claude-sonnet-4.5", "forced", "schema"),
        ("ollama/qwen3", "schema", "schema"),
        ("nobody/knows", "forced", "forced"),
    ],
)
def test_usual_method(model, method, reasoning):
    """A forced tool call, unless it is impossible or would cost the reasoning that was asked for; then a schema, or a request."""
    named = {
        "forced": ("function_calling", True),
        "asked": ("function_calling", False),
        "schema": ("json_schema", True),
    }

    assert named[method] == structured.usual_method(model)
    assert named[reasoning] == structured.usual_method(model, reasoning="high")


@pytest.mark.parametrize(
    "model",
    [
        "anthropic/claude-opus-5-5",
        "anthropic/claude-sonnet-4-5",
        "bedrock/us.anthropic.claude-haiku-4-5-v1:0",
        "bedrock/us.anthropic.claude-opus-5-5-v1:0",
        "cohere/command-a-reasoning-08-2025",
        "deepseek/deepseek-v4-pro",
        "gemini/gemini-3-pro-preview",
        "mistral/magistral-medium-latest",
        "moonshot/kimi-k3",
        "openai/gpt-5.6",
        "openrouter/anthropic/claude-sonnet-4.5",
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_objects_with_reasoning(clients, model, streamed):
    """A model that was asked to reason does so, and answers with an object."""
    asked = {"effort": "high", "show": "summary"}
    chat = bridge.ChatInnervoice(model=model, reasoning=asked, **clients)
    made = chat.with_structured_output(City, include_raw=True)
    question = [core.SystemMessage("Be brief."), core.HumanMessage("The city 'Rome'?")]
    if streamed:
        result = functools.reduce(operator.add, made.stream(question))
    else:
        result = made.invoke(question)

    assert "Rome" in result["parsed"].name
    assert result["raw"].usage_metadata.get("output_token_details", {}).get("reasoning") or any(
        block["type"] == "reasoning" for block in result["raw"].content_blocks
    )


def test_a_model_that_does_not_call_the_tool():
    """A model that could only be asked for the call, and answers with text: an error says so."""
    chat = bridge.ChatInnervoice(model="deepseek/deepseek-v4-pro", reasoning="high", client=Scripted("Rome!"))  # fmt: skip
    with pytest.raises(exceptions.OutputParserException, match="did not call the tool: 'Rome!'"):
        chat.with_structured_output(City).invoke("Which?")
    result = chat.with_structured_output(City, include_raw=True).invoke("Which?")

    assert ("Rome!", None) == (result["raw"].text, result["parsed"])
    assert result["parsing_error"]


@pytest.mark.parametrize("schema", [City, City.model_json_schema()], ids=["class", "dict"])
@pytest.mark.parametrize("strict", [None, True])
def test_json_schema(schema, strict):
    client = Scripted('```json\n{"name": "Rome", "people": 3}\n```')
    chat = bridge.ChatInnervoice(model="openai/gpt-5.6", client=client)
    made = chat.with_structured_output(schema, method="json_schema", strict=strict)
    result = made.invoke("Which?")
    form = client.asked[0][2]["response_format"]

    assert {"name": "Rome", "people": 3} == (result.model_dump() if schema is City else result)
    assert ("json_schema", "City") == (form["type"], form["json_schema"]["name"])
    assert strict == form["json_schema"].get("strict")


def test_raw_and_what_cannot_be_parsed():
    chat = bridge.ChatInnervoice(model="openai/gpt-5.6", client=Scripted("no JSON"))
    made = chat.with_structured_output(City, method="json_mode", include_raw=True)
    result = made.invoke("Which?")

    assert ("no JSON", None) == (result["raw"].text, result["parsed"])
    assert result["parsing_error"]


def test_function_calling(clients, emulator):
    """The caller's own choice of a forced call; if the model does not reason during one, a note says so."""
    chat = bridge.ChatInnervoice(model="deepseek/deepseek-v4-pro", reasoning="high", **clients)
    made = chat.with_structured_output(City, include_raw=True, method="function_calling")
    result = made.invoke("Tell me about 'Rome' and 3.")
    notes = [note["code"] for note in result["raw"].response_metadata["notes"]]

    assert "Rome" == result["parsed"].name
    assert "reasoning_off_for_tools" in notes
    assert json.loads('"required"') == emulator.bodies[0]["tool_choice"]


def test_unknown_method():
    chat = bridge.ChatInnervoice(model="openai/gpt-5.6", client=Scripted(""))
    with pytest.raises(iv.UsageError, match="magic"):
        chat.with_structured_output(City, method="magic")


# ---- what is known of a model ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "facts"),
    [
        (
            "anthropic/claude-sonnet-4-5",
            {
                "max_input_tokens": 200_000,
                "max_output_tokens": 64_000,
                "reasoning_output": True,
                "tool_calling": True,
                "tool_choice": True,
                "image_inputs": True,
                "pdf_inputs": True,
                "audio_inputs": False,
                "structured_output": True,
                "temperature": True,
            },
        ),
        (
            "anthropic/claude-opus-5-5",
            {
                "reasoning_effort_levels": ["low", "medium", "high", "xhigh", "max"],
                "reasoning_effort_default": "medium",
                "tool_choice": False,
                "temperature": False,
            },
        ),
        (
            "deepseek/deepseek-v4-pro",
            {"reasoning_output": True, "image_inputs": False, "structured_output": False},
        ),
        ("gemini/gemini-3-pro-preview", {"audio_inputs": True, "image_url_inputs": True}),
        ("openai/gpt-4o", {"reasoning_output": False, "max_input_tokens": 128_000}),
        ("vllm/some-model", {"text_inputs": True, "max_input_tokens": None, "tool_calling": None}),
    ],
)
def test_profile(model, facts):
    """LangChain's profile of a model has what is known, and leaves out the rest."""
    profile = bridge.ChatInnervoice(model=model).profile

    assert facts == {name: profile.get(name) for name in facts}
    assert None not in profile.values()


def test_profiles_of_others():
    given = {"max_input_tokens": 5}
    assert bridge.ChatInnervoice(model="nobody/knows").profile is None
    assert given == bridge.ChatInnervoice(model="openai/gpt-5.6", profile=given).profile


def test_token_counts(tool):
    """Texts, messages with their reasoning and calls, and tools are counted."""
    chat = bridge.ChatInnervoice(model="anthropic/claude-opus-5-5")
    history = [core.SystemMessage("Be brief."), core.HumanMessage("What is the weather in Rome?")]
    thought = {"type": "reasoning", "reasoning": "I should look at the weather first."}
    call = {"name": "get_weather", "args": {"city": "Rome"}, "id": "call_1", "type": "tool_call"}
    turn = core.AIMessage("", tool_calls=[call])
    counts = [
        chat.get_num_tokens("What is the weather in Rome?"),
        chat.get_num_tokens_from_messages(history),
        chat.get_num_tokens_from_messages([*history, turn]),
        chat.get_num_tokens_from_messages(
            [*history, turn, core.ToolMessage("Sunny.", tool_call_id="call_1")]
        ),
        chat.get_num_tokens_from_messages(
            [*history, turn, core.ToolMessage("Sunny.", tool_call_id="call_1")], tools=[tool]
        ),
    ]

    assert sorted(set(counts)) == counts
    assert 5 <= counts[0] <= 10
    assert core.trim_messages(history, max_tokens=15, token_counter=chat, strategy="last") == history[1:]  # fmt: skip
    custom = bridge.ChatInnervoice(model="openai/gpt-5.6", custom_get_token_ids=lambda text: [1] * len(text))  # fmt: skip
    assert (3, [1, 1]) == (custom.get_num_tokens("abc"), custom.get_token_ids("ab"))
    assert chat.get_num_tokens_from_messages([core.AIMessage([thought, {"type": "text", "text": "A"}])])  # fmt: skip


def test_reasoning_is_counted_where_it_is_sent(clients):
    """A model gets its own reasoning back; another one does not, and pays nothing for it."""
    chat = bridge.ChatInnervoice(model="deepseek/deepseek-v4-pro", reasoning="high", **clients)
    tool = {"name": "get_weather", "description": "Weather.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}  # fmt: skip
    answer = chat.bind_tools([tool]).invoke("The weather in Paris?")
    history = [core.HumanMessage("The weather in Paris?"), answer]
    other = bridge.ChatInnervoice(model="openai/gpt-5.6")

    assert chat.get_num_tokens_from_messages(history) > other.get_num_tokens_from_messages(history)


def test_transformers_is_never_loaded():
    """LangChain's own way to count would import transformers and download a vocabulary."""
    code = """
import sys
sys.modules["transformers"] = None
from langchain_core.messages import HumanMessage
from innervoice.bridges.langchain import ChatInnervoice
from innervoice.errors import UsageError
chat = ChatInnervoice(model="openai/gpt-5.6")
assert chat.get_num_tokens("Hello") and chat.get_num_tokens_from_messages([HumanMessage("Hello")])
try:
    chat.get_token_ids("Hello")
except UsageError as error:
    assert "tiktoken" in str(error)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
