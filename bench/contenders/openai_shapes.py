"""Text and reasoning of objects in OpenAI's format, which its SDK and compatible libraries return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contenders import Said, said


def reasoning_content(message: Any) -> str | None:
    """The reasoning field that compatible hosts add and few types declare."""
    found: str | None = getattr(message, "reasoning_content", None)
    return found


def of_completion(
    completion: Any, reasoning: Callable[[Any], str | None] = reasoning_content
) -> Said:
    """The message of a completion."""
    message = completion.choices[0].message
    return said([reasoning(message)], [message.content])


def of_chunks(chunks: Any, reasoning: Callable[[Any], str | None] = reasoning_content) -> Said:
    """The deltas of a stream."""
    thinking, text = [], []
    for chunk in chunks:
        if chunk.choices:
            delta = chunk.choices[0].delta
            thinking.append(reasoning(delta))
            text.append(delta.content)
    return said(thinking, text)


def of_response(response: Any) -> Said:
    """The summary of a response, and its text."""
    items = [item for item in response.output if item.type == "reasoning"]
    entries = [entry for item in items for entry in item.summary]
    texts = [entry["text"] if isinstance(entry, dict) else entry.text for entry in entries]
    return said(texts, [response.output_text])


def of_events(events: Any) -> Said:
    """The events of a response."""
    thinking, text = [], []
    for event in events:
        if event.type == "response.reasoning_summary_text.delta":
            thinking.append(event.delta)
        elif event.type == "response.output_text.delta":
            text.append(event.delta)
    return said(thinking, text)
