"""Uses of the public names that a type checker must accept."""

from __future__ import annotations

from typing import Literal, assert_type

import innervoice as iv

result: iv.Response = iv.split(
    "<think>R</think>A",
    model="qwq-32b",
    markup=["harmony"],
    prefix_open=True,
    inline="off",
    finish_reason="stop",
)
text: str = result.text
thinking: str | None = result.thinking
status: str = result.status
calls: tuple[iv.ToolCall, ...] = result.tool_calls
message: iv.Message = result.message
stored: bytes = iv.to_json([message])

splitter = iv.Splitter(model="qwq-32b")
events: list[iv.Event] = splitter.feed("a") + splitter.finish("length")
folded: iv.Response = iv.fold(events)

for event in events:
    match event:
        case iv.TextDelta() | iv.ThinkingDelta():
            piece: str = event.text
        case iv.PartEnd():
            part: iv.Part = event.part
        case iv.Recast():
            parts: tuple[iv.Part, ...] = event.parts
        case _:
            pass

setting = iv.Reasoning("high", budget=8000, show="summary")


def narrowed(part: iv.Part) -> None:
    """`part.type` tells the class of a part, as `isinstance` and `match` do."""
    if part.type == "text":
        assert_type(part, iv.Text)
    elif part.type == "thinking":
        assert_type(part, iv.Thinking)
    elif part.type == "tool_call":
        assert_type(part, iv.ToolCall)
    elif part.type == "tool_result":
        assert_type(part, iv.ToolResult)
    elif part.type == "media":
        assert_type(part, iv.Media)
    else:
        assert_type(part, iv.Opaque)
        assert_type(part.type, Literal["opaque"])
