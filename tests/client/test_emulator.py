"""Both verbs against every dialect, and what a conversation needs of a client."""

import asyncio

import pytest

import innervoice as iv
from client.harness import VERBS, ask, no_busy_connections, stream
from innervoice.emulator import Emulator
from innervoice.emulator.app import EmulatorServer

MODELS = [
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-5.6",
    "deepseek/deepseek-v4",
    "gemini/gemini-3-pro",
    "bedrock/anthropic.claude-sonnet-4-5-v1:0",
    "bedrock-invoke/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock-invoke/openai.gpt-oss-120b-1:0",
    "bedrock-invoke/moonshot.kimi-k2-thinking",
    "bedrock-mantle/anthropic.claude-opus-5-5",
    "azure/claude-haiku-4-5",
    "claude-aws/claude-opus-5-5",
    "claude-google/claude-haiku-5-5",
    "baseten/deepseek-ai/DeepSeek-V4-Pro",
    "wandb/zai-org/GLM-5.1",
    "databricks/databricks-claude-opus-5-5",
    "novita/zai-org/glm-5.2",
    "friendli/zai-org/GLM-5.2",
    "scaleway/qwen3.5-397b-a17b",
    "vercel/zai/glm-5.2",
    "venice/zai-org-glm-5-1",
    "chutes/moonshotai/Kimi-K2.6",
    "upstage/solar-pro4",
    "nanogpt/deepseek/deepseek-v4-pro",
    "mistral/magistral-medium",
    "cohere/command-a-reasoning",
    "ollama/qwen3:8b",
    "vllm/qwen3-8b+inline",
]
SHOWN = iv.Reasoning("high", show="full")


@pytest.fixture
def settings(emulator):
    return {"base_urls": emulator.base_url, "api_key": "any-key", "environ": {}}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("verb", ["ask", "stream"])
def test_every_dialect(verb, model, kind, settings):
    outcome = VERBS[verb](kind, settings, model, "What is 15 * 23?", reasoning=SHOWN)
    response = outcome.response

    assert response.text == "15 * 23 = 345."
    assert "345" in response.thinking
    assert response.status == "answered"
    assert response.provider == model.partition("/")[0]
    assert response.usage.output_tokens
    assert response.reasoning_report.requested == SHOWN
    assert response.reasoning_report.effective is not None
    if verb == "stream":
        assert outcome.events[-1] == iv.Finish(response)
        assert iv.fold(outcome.events[:-1]).text == response.text


@pytest.mark.parametrize("model", ["baseten/deepseek-ai/DeepSeek-V4-Pro", "wandb/zai-org/GLM-5.1", "deepinfra/zai-org/GLM-4.6"])  # fmt: skip
def test_switched_off(model, kind, settings):
    """Each host has its own member for the switch, and a client's request with it is read back."""
    off = ask(kind, settings, model, "What is 15 * 23?", reasoning="none").response
    body = iv.encode(iv.Request(model, [iv.user("x")], reasoning="none")).body

    assert (None, "15 * 23 = 345.") == (off.thinking, off.text)
    assert iv.Reasoning("none") == iv.decode_request(body, "openai-chat").reasoning


def test_whole_and_streamed_are_one_answer(kind, settings):
    one = ask(kind, settings, "anthropic/claude-sonnet-4-5", reasoning="high").response
    other = ask(
        kind, settings, "anthropic/claude-sonnet-4-5", reasoning="high", stream=True
    ).response

    assert [part.type for part in one.parts] == [part.type for part in other.parts]
    assert (one.text, one.thinking) == (other.text, other.thinking)


def test_notes_of_the_request_come_first(kind, settings):
    response = ask(kind, settings, "anthropic/claude-sonnet-4-5", reasoning="high").response

    assert [note.code for note in response.notes] == [
        "max_tokens_filled",
        "effort_as_budget",
        "field_thinking",
    ]


def test_what_can_be_said(kind, settings):
    """Text, a message, an answer, and lists of these."""
    model = "deepseek/deepseek-v4"
    first = ask(kind, settings, model, iv.user("What is 15 * 23?")).response
    said = ["What is 15 * 23?", first, iv.user("And 2 * 21?")]

    assert ask(kind, settings, model, said).response.text == "2 * 21 = 42."
    assert ask(kind, settings, model, tuple(said)).response.text == "2 * 21 = 42."


@pytest.mark.parametrize("verb", ["ask", "stream"])
@pytest.mark.parametrize(
    "model",
    ["anthropic/claude-sonnet-4-5", "openai/gpt-5.6", "bedrock/anthropic.claude-sonnet-4-5-v1:0"],
)
def test_recovers_once_from_a_refused_seal(model, verb, kind, settings):
    """A seal that another deployment made is taken out, and that is said."""
    with EmulatorServer(Emulator(key=b"another")) as elsewhere:
        there = {**settings, "base_urls": elsewhere.base_url}
        first = ask(kind, there, model, "What is 15 * 23?", reasoning="high").response
    history = ["What is 15 * 23?", first, "And 2 * 21?"]
    outcome = VERBS[verb](kind, settings, model, history, reasoning="high")

    assert outcome.response.text == "2 * 21 = 42."
    notes = {note.code: note for note in outcome.response.notes}
    assert "recovered_after_refusal" in notes
    assert notes["recovered_after_refusal"].detail
    assert outcome.naps == []


@pytest.mark.parametrize("verb", ["ask", "stream"])
def test_strict_does_not_recover(verb, kind, settings):
    model = "anthropic/claude-sonnet-4-5"
    with EmulatorServer(Emulator(key=b"another")) as elsewhere:
        there = {**settings, "base_urls": elsewhere.base_url}
        first = ask(
            kind, there, model, "What is 15 * 23?", reasoning=iv.Reasoning(budget=4000)
        ).response
    history = ["What is 15 * 23?", first, "And 2 * 21?"]
    budget = iv.Reasoning(budget=4000)
    outcome = VERBS[verb](kind, settings, model, history, reasoning=budget, mode="strict")

    assert isinstance(outcome.error, iv.BadRequestError)
    assert "signature" in outcome.error.message


def test_overloaded_is_typed(kind, settings):
    error = ask(kind, {**settings, "retries": 1}, "anthropic/claude-sonnet-4-5+fail=0").error

    assert isinstance(error, iv.OverloadedError)
    assert error.status == 529
    assert error.provider == "anthropic"


@pytest.mark.parametrize("model", MODELS)
def test_error_in_the_middle(model, kind, settings):
    failing = {**settings, "headers": {"x-innervoice-emulate": "fail=4"}}
    error = stream(kind, failing, model, reasoning=SHOWN).error

    assert isinstance(error, (iv.ServerError, iv.RateLimitError)), error
    assert error.response.status == "interrupted"


@pytest.mark.parametrize("model", MODELS)
def test_cut_in_the_middle(model, kind, settings):
    cutting = {**settings, "headers": {"x-innervoice-emulate": "cut=4"}}
    error = stream(kind, cutting, model, reasoning=SHOWN).error

    assert isinstance(error, iv.AnswerInterruptedError)
    assert error.response.parts


def test_scope_is_kept(kind, settings):
    response = ask(
        kind, {**settings, "scope": "team-a"}, "anthropic/claude-sonnet-4-5", reasoning="high"
    ).response

    assert {"team-a"} == {part.origin.scope for part in response.parts}


def test_64_streams_at_once(settings):
    async def one(client, number):
        async with client.stream("deepseek/deepseek-v4", f"What is {number} * 2?") as events:
            return "".join([piece async for piece in events.text()])

    async def main():
        async with iv.AsyncClient(**settings) as client:
            texts = await asyncio.gather(*(one(client, number) for number in range(10, 74)))
            no_busy_connections(client)
        return texts

    assert [f"{number} * 2 = {number * 2}." for number in range(10, 74)] == asyncio.run(main())
