"""Uses of the public names that a type checker must accept."""

from __future__ import annotations

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
