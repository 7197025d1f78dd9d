"""Tool loops of three turns at every kind of provider, with a history that went through LangChain's storage."""

import operator
from functools import reduce

import pytest

core = pytest.importorskip("langchain_core.messages")
load = pytest.importorskip("langchain_core.load")
bridge = pytest.importorskip("innervoice.bridges.langchain")

MODELS = [
    "anthropic/claude-opus-5-5",
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-opus-5-5+redact",
    "gemini/gemini-3-pro-preview",
    "openai/gpt-5.6",
    "deepseek/deepseek-v4-pro",
    "moonshot/kimi-k2-thinking",
    "openrouter/anthropic/claude-sonnet-4.5",
    "bedrock/us.anthropic.claude-haiku-4-5-v1:0",
    "mistral/magistral-medium-latest",
    "cohere/command-a-reasoning-08-2025",
    "ollama/qwen3",
    "vllm/qwen3-32b+inline=think",
]
ANSWER = "Paris: 21 °C. Rome: 27 °C. Oslo: 9 °C."
LOST = {
    "thinking_omitted", "signature_filled", "reasoning_filled", "prefix_changed", "recovered_after_refusal",
    "reasoning_off_for_loop", "opaque_dropped",
}  # fmt: skip


def through_json(message):
    """The message after `dumpd` and `load`."""
    return load.loads(load.dumps(message), allowed_objects="messages")


def through_dicts(message):
    """The same with the older format."""
    return core.messages_from_dict(core.messages_to_dict([message]))[0]


async def invoke(model, history):
    return model.invoke(history)


async def ainvoke(model, history):
    return await model.ainvoke(history)


async def stream(model, history):
    return reduce(operator.add, model.stream(history))


async def astream(model, history):
    return reduce(operator.add, [chunk async for chunk in model.astream(history)])


async def stream_events(model, history):
    """The third streaming API, which builds messages from block events."""
    return model.bound.stream_events(history, version="v3", **model.kwargs).output


WAYS = [invoke, ainvoke, stream, astream, stream_events]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("stored", [through_json, through_dicts])
async def test_loop(model, way, stored, clients, tool, loop, direct, emulator):
    """The request bodies equal those of our own conversation."""
    chat = bridge.ChatInnervoice(model=model, reasoning="high", **clients).bind_tools([tool])

    async def ask(history):
        return stored(await way(chat, [stored(message) for message in history]))

    *_, answer = history = await loop(ask)
    answers = [message for message in history if isinstance(message, core.AIMessage)]
    notes = {note["code"] for each in answers for note in each.response_metadata["notes"]}

    assert ANSWER == answer.text.strip()  # where tags were cut out, blocks keep the white space
    assert 3 == len(answers)
    assert not LOST & notes
    assert direct(model, streamed="stream" in way.__name__) == emulator.bodies


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_away_and_back(way, clients, tool, loop, emulator):
    """Seals stay in the history while another provider answers, and are sent again afterwards."""
    home, abroad = "anthropic/claude-opus-5-5", "openai/gpt-5.6"
    chat = bridge.ChatInnervoice(model=home, reasoning="high", **clients)

    def at(model):
        bound = chat.bind_tools([tool], model=model)

        async def ask(history):
            return through_json(await way(bound, [through_json(message) for message in history]))

        return ask

    history = await loop(at(home), "What is the weather in Paris?")
    seals = [signature for message in history for signature in signatures(message)]
    history = await loop(at(abroad), "And the weather in Rome?", history)
    sent_abroad = str(emulator.bodies[-1])
    history = await loop(at(home), "And the weather in Oslo?", history)
    sent_home = str(emulator.bodies[-1])

    assert 2 == len(seals)
    assert not any(seal in sent_abroad for seal in seals)
    assert all(seal in sent_home for seal in seals)
    assert "Oslo: 9 °C." == history[-1].text


def signatures(message):
    """The signed blocks of a message."""
    blocks = message.content if isinstance(message, core.AIMessage) else []
    return [block["extras"]["signature"] for block in blocks if block["type"] == "reasoning"]
