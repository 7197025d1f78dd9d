"""Asks models, with tools and a type for the answer, and goes on with another one."""

from __future__ import annotations

from dataclasses import dataclass

import innervoice as iv
from innervoice.emulator import emulated_client


@dataclass
class Dog:
    name: str
    age: int


def weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}: sunny"


def asked() -> str:
    client = emulated_client()
    response = client.ask("anthropic/claude-opus-5-5", "What is 15 * 23?", reasoning="high")
    dog = client.ask("openai/gpt-5.6", "Name a dog.", schema=Dog).data
    chat = client.conversation("gemini/gemini-3.5-flash", tools=[weather])  # type: ignore[misc] # so may tools
    answer = chat.ask("The weather in Paris?")
    chat.switch("anthropic/claude-opus-5-5")
    decided = [decision.rule for decision in chat.plan().decisions]
    cost = response.cost()
    total = None if cost is None else cost.total
    return f"{response.text} {dog.name.title()} {dog.age + 1} {answer.text} {decided} {total}"


def streamed(client: iv.Client) -> str:
    pieces: list[str] = []
    with client.stream("deepseek/deepseek-v4-pro", "Why?") as answer:
        for event in answer:
            if isinstance(event, iv.TextDelta):
                pieces.append(event.text)
    return "".join(pieces)


async def asked_later(client: iv.AsyncClient) -> iv.Response:
    async with client.stream("xai/grok-4.5", "Why?") as answer:
        async for event in answer:
            if isinstance(event, iv.ThinkingDelta):
                print(event.text)
    return await client.ask("xai/grok-4.5", "And why that?")
