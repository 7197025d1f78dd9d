"""Reads an answer and a stream, and shows both."""

from __future__ import annotations

from collections.abc import Iterator

import innervoice as iv
from innervoice import show


def tell(body: bytes) -> str:
    response = iv.decode(body, provider="deepseek")
    if response.status == "answered":
        return response.text
    for note in response.notes:
        print(note.code, note.sentence, note.count)
    usage = response.usage
    spent = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    if response.error is not None:
        return f"{response.error.type}: {response.error.message}"
    return f"{response.thinking or ''} ({spent} tokens, {response.finish_reason})"


def stream(chunks: Iterator[bytes]) -> iv.Response | None:
    whole: iv.Response | None = None
    for event in iv.decode_stream(chunks, model="qwq-32b"):
        match event:
            case iv.ThinkingDelta():
                print(event.text.upper(), end="")
            case iv.TextDelta():
                print(event.text, end="")
            case iv.Recast():
                print(len(event.parts))
            case iv.Finish():
                whole = event.response
            case _:
                pass
    return whole


def calls(response: iv.Response) -> list[str]:
    named: list[str] = []
    for part in response.parts:
        if part.type == "tool_call":
            named.append(part.name)
        elif part.type == "thinking":
            named.append(part.form)
        elif part.origin is not None:
            named.extend(part.origin.seals)
    return named


def shown(response: iv.Response) -> tuple[str, list[str]]:
    return show.render(response, "html", "summary"), show.render(response, "discord")
