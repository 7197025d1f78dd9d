"""Uses of the public names that a type checker must accept; where a comment ignores an error, it must report that error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict, assert_type

import innervoice as iv
from innervoice.bridges.otel import instrument

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


def use_client(client: iv.Client) -> str:
    """Arguments of a call have types, and misspelled ones are errors."""
    response: iv.Response = client.ask(
        "openai/gpt-5.6", "Hi", reasoning="high", timeout=30, stop=["."]
    )
    client.ask("openai/gpt-5.6", "Hi", reasonin="high")  # type: ignore[call-overload]
    client.ask("openai/gpt-5.6", "Hi", max_tokens="many")  # type: ignore[call-overload]
    client.stream("openai/gpt-5.6", "Hi", time_out=3)  # type: ignore[call-arg]
    client.answer_now("openai/gpt-5.6", "Hi", think_at_most=9, temprature=1)  # type: ignore[call-arg]
    chat = client.conversation("openai/gpt-5.6", system="Be short.", max_rounds=3, reasoning="low")
    chat.ask("Hi", reasoning="high")
    chat.ask("Hi", reasonin="high")  # type: ignore[call-overload]
    client.conversation("openai/gpt-5.6", max_round=3)  # type: ignore[call-arg]
    with client.stream("openai/gpt-5.6", "Hi") as stream:
        return response.text + "".join(stream.text(settled=True))


async def use_async_client(client: iv.AsyncClient) -> str:
    """The same for the other client."""
    response: iv.Response = await client.ask(
        "openai/gpt-5.6", ["Hi", iv.user("there")], store=False
    )
    await client.ask("openai/gpt-5.6", "Hi", reasonin="high")  # type: ignore[call-overload]
    client.stream("openai/gpt-5.6", "Hi", time_out=3)  # type: ignore[call-arg]
    await client.conversation("openai/gpt-5.6").ask("Hi", reasonin="high")  # type: ignore[call-overload]
    return response.text


@dataclass
class Dog:
    """What an answer should be."""

    name: str


class Cat(TypedDict):
    """The same as a dict."""

    name: str


def use_schema(client: iv.Client) -> None:
    """The answer has the type that was asked for."""
    assert_type(client.ask("openai/gpt-5.6", "?", schema=Dog).data, Dog)
    assert_type(client.ask("openai/gpt-5.6", "?", schema=Cat).data, Cat)
    assert_type(client.conversation("openai/gpt-5.6").ask("?", schema=Dog).data, Dog)
    client.ask("openai/gpt-5.6", "?").data  # type: ignore[attr-defined]  # noqa: B018
    cost = client.ask("openai/gpt-5.6", "?").cost()
    assert cost is None or cost.total


def use_options() -> list[iv.Client | iv.AsyncClient]:
    """Arguments of a client."""
    traced = instrument(iv.Client(timeout=3, keys={"openai": "key"}), capture="NO_CONTENT")
    traced.ask("openai/gpt-5.6", "Hi", reasonin="high")  # type: ignore[call-overload]
    return [
        iv.AsyncClient(retries=0, base_urls={"openai": "http://localhost/v1"}),
        iv.Client(time_out=3),  # type: ignore[call-arg]
        iv.AsyncClient(time_out=3),  # type: ignore[call-arg]
        iv.Client(retries="two"),  # type: ignore[arg-type]
    ]
