"""A thought that runs too long, or repeats itself, is ended while it runs, and the answer comes all the same."""

import asyncio

import pytest

import innervoice as iv
from innervoice.emulator import Emulator, emulated_async_client, emulated_client

QUESTION = "What is 15 * 23?"
ANSWER = "15 * 23 = 345."
# Models whose reasoning can be read, one for each dialect, and whether it can be switched off.
MODELS = {
    "deepseek/deepseek-v4-pro": True,
    "anthropic/claude-sonnet-4-5": True,
    "anthropic/claude-opus-5-5": False,
    "bedrock/us.anthropic.claude-sonnet-4-5-v1:0": True,
    "gemini/gemini-2.5-flash": True,
    "mistral/mistral-small-latest": True,
    "cohere/command-a-reasoning-08-2025": True,
    "ollama/qwen3": True,
    "vllm/Qwen/Qwen3-32B": True,
    "openai/gpt-5.6": True,
    "groq/openai/gpt-oss-120b": False,
}


class Counting(Emulator):
    def __init__(self, **options):
        super().__init__(**options)
        self.bodies = []

    def reply(self, method, path, headers, body):
        self.bodies.append(body)
        return super().reply(method, path, headers, body)


def ask(kind, model, emulate, emulator=None, **fields):
    """The answer of either client, whole, streamed or in a conversation."""
    emulator = emulator or Counting()
    headers = {"x-innervoice-emulate": f"size=40,{emulate}"}
    fields.setdefault("reasoning", iv.Reasoning("high"))
    if kind == "async":

        async def main():
            async with emulated_async_client(emulator, headers=headers) as client:
                return await client.ask(model, QUESTION, **fields)

        return asyncio.run(main()), emulator
    client = emulated_client(emulator, headers=headers)
    if kind == "sync":
        return client.ask(model, QUESTION, **fields), emulator
    if kind == "stream":
        with client.stream(model, QUESTION, **fields) as events:
            listed = list(events)
        assert iv.fold(listed[:-1]).parts == listed[-1].response.parts
        return listed[-1].response, emulator
    return client.conversation(model, **fields).ask(QUESTION), emulator


def codes(response):
    return [note.code for note in response.notes]


every_way = pytest.mark.parametrize("kind", ["sync", "async", "stream", "conversation"])


@every_way
@pytest.mark.parametrize("emulate", ["loops=200", "circles=400"])
def test_a_loop_is_left_for_the_answer(kind, emulate):
    """The thought so far stays, the answer follows, and both requests are one answer."""
    response, emulator = ask(kind, "deepseek/deepseek-v4-pro", emulate, loops="answer")

    assert ANSWER == response.text
    assert "answered" == response.status
    assert response.thinking.startswith("The user asks")
    assert len(response.thinking) < 14_000
    assert 2 == len(emulator.bodies)
    assert 1 == codes(response).count("thinking_loops")


@pytest.mark.parametrize("model", MODELS)
def test_every_dialect_is_watched(model):
    """A model that cannot answer without reasoning is asked for the least of it, and then ended if it loops again."""
    response, _ = ask("stream", model, "loops=200,full,overruns", loops="answer")

    assert "thinking_loops" in codes(response)
    if MODELS[model]:
        assert ANSWER == response.text
        assert "stop" == response.finish_reason
    else:
        assert "budget_exhausted" == response.status


@every_way
def test_a_limit_is_one_without_a_budget_too(kind):
    response, emulator = ask(kind, "deepseek/deepseek-v4-pro", "rambles=20000", think_at_most=500)

    assert ANSWER == response.text
    assert 2000 < len(response.thinking) < 2400
    assert "thinking_cut_short" in codes(response)
    assert 2 == len(emulator.bodies)


@every_way
def test_a_budget_of_the_server_comes_first(kind):
    """Where the server has a budget, one request is enough; the watch stands behind it."""
    obeyed, emulator = ask(kind, "vllm/Qwen/Qwen3-32B", "rambles=20000", think_at_most=500, reasoning=None)  # fmt: skip
    assert b'"thinking_token_budget":500' in emulator.bodies[0]
    assert ANSWER == obeyed.text
    assert 1 == len(emulator.bodies)

    overrun, emulator = ask(kind, "vllm/Qwen/Qwen3-32B", "rambles=20000,overruns", think_at_most=500, reasoning=None)  # fmt: skip
    assert ANSWER == overrun.text
    assert 2 == len(emulator.bodies)
    assert "thinking_cut_short" in codes(overrun)


@every_way
def test_stop_ends_the_answer(kind):
    response, emulator = ask(kind, "deepseek/deepseek-v4-pro", "loops=200", loops="stop")

    assert ("length", "budget_exhausted") == (response.finish_reason, response.status)
    assert 1 == len(emulator.bodies)
    assert "thinking_loops" in codes(response)


@every_way
def test_note_changes_nothing(kind):
    response, _ = ask(kind, "deepseek/deepseek-v4-pro", "loops=200", loops="note")
    plain, _ = ask(kind, "deepseek/deepseek-v4-pro", "loops=200")

    assert plain.parts == response.parts
    assert "thinking_loops" in codes(response)
    assert "thinking_loops" not in codes(plain)


@every_way
@pytest.mark.parametrize("emulate", ["rambles=3000", "pieces=20"])
def test_who_gets_on_is_left_alone(kind, emulate):
    settings = {"loops": "answer", "think_at_most": 100_000}
    response, emulator = ask(kind, "deepseek/deepseek-v4-pro", emulate, **settings)

    assert 1 == len(emulator.bodies)
    assert not {"thinking_loops", "thinking_cut_short"} & set(codes(response))


def test_what_was_ended_is_not_sent_back():
    """A stored loop would start the next one."""
    response, _ = ask("sync", "deepseek/deepseek-v4-pro", "loops=200", loops="answer")
    wire = iv.encode(iv.Request("deepseek/deepseek-v4-pro", [iv.user(QUESTION), response.message, iv.user("And?")]))  # fmt: skip

    assert "check that once more" not in str(wire.body)


@pytest.mark.parametrize("model", ["deepseek/deepseek-v4-pro", "openai/gpt-6-sol"])
def test_an_effort_inside_the_history_does_not_count_any_more(model):
    history = [iv.user("Hi."), iv.assistant("Hello."), iv.user(QUESTION, effort="high")]
    emulator = Counting()
    client = emulated_client(emulator, headers={"x-innervoice-emulate": "size=40,loops=200,full"})
    response = client.ask(model, history, loops="answer", reasoning="low")

    assert ANSWER == response.text
    assert 2 == len(emulator.bodies)
    assert b"high" not in emulator.bodies[1]


def test_both_answers_are_paid_for():
    model = "anthropic/claude-sonnet-4-5"
    response, _ = ask("stream", model, "loops=200,full,overruns", loops="answer")
    assert ANSWER == response.text
    alone = emulated_client().ask(model, QUESTION, reasoning="none")

    assert response.usage.input_tokens > 1.7 * alone.usage.input_tokens


def test_copying_the_question_is_no_loop():
    """What repeats itself in the input as often is copied."""
    table = "The first row is empty, the second row is empty, and the third row has a cross. " * 60
    script = [{"think": f"I copy it. {table}", "answer": "Copied."}]
    for question, looped in ((f"Copy this: {table}", False), ("Say something.", True)):
        client = emulated_client(Emulator(script=script))
        response = client.ask("deepseek/deepseek-v4-pro", question, loops="note", reasoning="high")
        assert looped == ("thinking_loops" in codes(response))


@pytest.mark.parametrize(
    "fields", [{"loops": "always"}, {"think_at_most": 0}, {"think_at_most": True}]
)
def test_what_is_no_setting(fields):
    with pytest.raises(iv.UsageError, match="must be"):
        emulated_client().ask("deepseek/deepseek-v4-pro", QUESTION, **fields)
