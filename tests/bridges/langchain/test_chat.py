"""The settings of the model: what it sends, what it rejects, structured output."""

import copy
import json
import pickle

import pytest

import innervoice as iv
from innervoice.bridges import otel

core = pytest.importorskip("langchain_core.messages")
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
    ("model", "method"),
    [
        ("openai/gpt-5.6", "function_calling"),
        ("deepseek/deepseek-v4-pro", "function_calling"),
        ("gemini/gemini-3-pro-preview", "function_calling"),
        ("bedrock/us.anthropic.claude-opus-5-5-v1:0", "function_calling"),
        ("anthropic/claude-opus-5-5", "json_schema"),
        ("ollama/qwen3", "json_schema"),
        ("nobody/knows", "function_calling"),
    ],
)
def test_usual_method(model, method):
    """A forced tool call if possible, else a response schema if the dialect has one."""
    assert method == structured.usual_method(model)


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
    """If a model does not reason during a forced call, a note says so."""
    chat = bridge.ChatInnervoice(model="deepseek/deepseek-v4-pro", reasoning="high", **clients)
    made = chat.with_structured_output(City, include_raw=True)
    result = made.invoke("Tell me about 'Rome' and 3.")
    notes = [note["code"] for note in result["raw"].response_metadata["notes"]]

    assert "Rome" == result["parsed"].name
    assert "reasoning_off_for_tools" in notes
    assert json.loads('"required"') == emulator.bodies[0]["tool_choice"]


def test_unknown_method():
    chat = bridge.ChatInnervoice(model="openai/gpt-5.6", client=Scripted(""))
    with pytest.raises(iv.UsageError, match="magic"):
        chat.with_structured_output(City, method="magic")
