"""What both packages of LangChain share: its standard blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from contenders import QUESTION, Jobs, Said, said


def of_messages(messages: Iterable[Any]) -> Said:
    """The blocks of a message, or of the chunks of a stream."""
    thinking, text = [], []
    for message in messages:
        for block in message.content_blocks:
            if block["type"] == "reasoning":
                thinking.append(block.get("reasoning"))
            elif block["type"] == "text":
                text.append(block.get("text"))
    return said(thinking, text)


def chat_jobs(name: str, model: Any, crowd: Any) -> Jobs:
    """The jobs of a chat model."""

    async def one_of_many() -> Said:
        return of_messages([chunk async for chunk in crowd.astream(QUESTION)])

    return {
        ("call", name): lambda: of_messages([model.invoke(QUESTION)]),
        ("stream", name): lambda: of_messages(model.stream(QUESTION)),
        ("streams", name): one_of_many,
    }
