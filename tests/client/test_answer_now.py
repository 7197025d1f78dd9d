"""Thinking cut short, and an answer all the same (F20)."""

import asyncio

import pytest

import innervoice as iv
from innervoice.emulator import Emulator, emulated_async_client, emulated_client

QUESTION = "What is 15 * 23?"
LONG = {"x-innervoice-emulate": "pieces=40"}


class Counting(Emulator):
    def __init__(self):
        super().__init__()
        self.bodies = []

    def reply(self, method, path, headers, body):
        self.bodies.append(body)
        return super().reply(method, path, headers, body)


def sync_answer(emulator, model, **settings):
    return emulated_client(emulator, headers=LONG).answer_now(model, QUESTION, **settings)


def async_answer(emulator, model, **settings):
    async def main():
        async with emulated_async_client(emulator, headers=LONG) as client:
            return await client.answer_now(model, QUESTION, **settings)

    return asyncio.run(main())


both = pytest.mark.parametrize("answer", [sync_answer, async_answer], ids=["sync", "async"])


@both
def test_in_two_steps(answer):
    emulator = Counting()
    response = answer(emulator, "deepseek/deepseek-v4-pro", think_at_most=20)
    assert "15 * 23 = 345." == response.text
    assert "The user asks" in response.thinking
    assert "thinking_cut_short" in {note.code for note in response.notes}
    assert 2 == len(emulator.bodies)
    assert b'"disabled"' in emulator.bodies[1]


@both
def test_what_was_cut_is_never_sent_back(answer):
    emulator = Counting()
    response = answer(emulator, "deepseek/deepseek-v4-pro", think_at_most=20)
    wire = iv.encode(iv.Request("deepseek/deepseek-v4-pro", [iv.user(QUESTION), response.message, iv.user("And?")]))  # fmt: skip
    assert "reasoning_content" not in wire.body["messages"][1]


@both
def test_both_requests_are_counted(answer):
    """The one that was cut short is paid for as well, as far as it was counted."""
    model, reasoning = "anthropic/claude-opus-5-5", iv.Reasoning("high", show="summary")
    second = emulated_client(headers=LONG).ask(model, QUESTION, reasoning="none").usage
    response = answer(Counting(), model, think_at_most=20, reasoning=reasoning)
    assert "thinking_cut_short" in {note.code for note in response.notes}
    assert response.usage.input_tokens > second.input_tokens
    assert response.usage.output_tokens > second.output_tokens


@both
def test_natively(answer):
    emulator = Counting()
    response = answer(emulator, "gemini/gemini-2.5-flash", think_at_most=200)
    assert "15 * 23 = 345." == response.text
    assert 1 == len(emulator.bodies)
    assert b'"thinkingBudget":200' in emulator.bodies[0]


@both
def test_who_is_quick_is_left_alone(answer):
    emulator = Counting()
    response = answer(emulator, "deepseek/deepseek-v4-pro", think_at_most=100_000)
    assert 1 == len(emulator.bodies)
    assert "thinking_cut_short" not in {note.code for note in response.notes}


def test_what_is_no_limit():
    with pytest.raises(iv.UsageError, match="think_at_most must be a number of tokens"):
        emulated_client().answer_now("deepseek/deepseek-v4-pro", QUESTION, think_at_most=0)
