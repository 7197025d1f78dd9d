"""`schema=`: an answer of a type, on every provider, with the thinking that was asked for."""

import asyncio
from dataclasses import dataclass, field
from typing import TypedDict

import msgspec
import pytest

import innervoice as iv
from innervoice.emulator import emulated_async_client, emulated_client


@dataclass
class Toy:
    name: str
    price: float = 1.0


@dataclass
class Dog:
    name: str
    age: int
    kind: str | None = None
    toys: list[Toy] = field(default_factory=list)


class Cat(TypedDict):
    name: str


class Bird(msgspec.Struct):
    name: str
    can_fly: bool = True


MODELS = [
    "anthropic/claude-opus-5-5",
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-5.6",
    "gemini/gemini-3.5-flash",
    "deepseek/deepseek-v4",
    "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "mistral/magistral-small-latest",
    "cohere/command-a-reasoning-08-2025",
    "ollama/qwen3",
    "openrouter/anthropic/claude-opus-5",
    "zai/glm-5",
]


@pytest.fixture(scope="module")
def client():
    with emulated_client() as client:
        yield client


@pytest.mark.parametrize(
    "kind", [Dog, Cat, Bird, list[Dog]], ids=lambda kind: getattr(kind, "__name__", str(kind))
)
@pytest.mark.parametrize("model", MODELS)
def test_every_provider(client, model, kind):
    """The answer is a value of the type, and the thinking that was asked for is there."""
    response = client.ask(model, "Which dog?", schema=kind, reasoning="high")

    value = response.data
    if kind == list[Dog]:
        (value,) = value
        kind = Dog
    assert isinstance(value, dict if kind is Cat else kind)
    kinds = [part.type for part in response.parts]
    assert response.usage.reasoning_tokens or "thinking" in kinds, response.notes


@pytest.mark.parametrize("model", MODELS)
def test_streamed(client, model):
    with client.stream(model, "Which dog?", schema=Dog) as events:
        for _ in events:
            pass

    assert isinstance(events.response.data, Dog)


def test_a_json_schema(client):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    assert {"n": 1} == client.ask(MODELS[0], "?", schema=schema).data


def test_awaited():
    async def run():
        async with emulated_async_client() as client:
            return await client.ask(MODELS[2], "?", schema=Dog)

    assert isinstance(asyncio.run(run()).data, Dog)


@pytest.mark.parametrize("model", ["openai/gpt-5.6", "bedrock/us.anthropic.claude-sonnet-4-5-v1:0"])
def test_in_a_conversation(client, model):
    """The turn with the form is one of the conversation, and the next one is accepted."""
    chat = client.conversation(model)

    assert isinstance(chat.ask("Which dog?", schema=Dog, reasoning="high").data, Dog)
    assert chat.ask("What is 2 + 2?").text


def test_what_does_not_fit():
    """The answer stays readable, and `data` says what is wrong with it."""
    response = iv.Response(parts=(iv.Text("no json"),), ended=True)
    typed = _typed(response, Dog)

    assert "no json" == typed.text
    with pytest.raises(iv.DecodeError, match="expected JSON of the type Dog"):
        _ = typed.data
    with pytest.raises(iv.DecodeError, match="age"):
        _ = _typed(iv.Response(parts=(iv.Text('{"name": "x"}'),), ended=True), Dog).data
    with pytest.raises(iv.DecodeError, match="budget_exhausted"):
        _ = _typed(iv.Response(ended=True, finish_reason="length"), Dog).data


def test_null_stands_for_what_was_left_out():
    """OpenAI's strict mode has no optional members; null is read as absent where the type has no null."""
    text = '{"name": "x", "age": 3, "kind": null, "toys": null}'

    assert Dog("x", 3) == _typed(iv.Response(parts=(iv.Text(text),), ended=True), Dog).data


def test_stored_it_is_a_response(client):
    response = client.ask(MODELS[0], "?", schema=Dog)

    assert response.plain() == iv.from_json(iv.to_json(response))


@pytest.mark.parametrize("schema", [3, "Dog", object()])
def test_what_is_no_type(client, schema):
    with pytest.raises(iv.UsageError, match="schema must be"):
        client.ask(MODELS[0], "?", schema=schema)


def test_not_beside_a_response_format(client):
    with pytest.raises(iv.UsageError, match="schema= or response_format="):
        client.ask(MODELS[0], "?", schema=Dog, response_format={"type": "json_object"})


def _typed(response, kind):
    from innervoice.canon.answer_type import AnswerType, StructuredResponse

    fields = {name: getattr(response, name) for name in response.__struct_fields__}
    return StructuredResponse(**fields, answer_type=AnswerType.of(kind))
