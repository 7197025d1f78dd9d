"""Tool loops with what the SDKs bring for them: streams that accumulate, parsed answers, tool runners, functions that are called by themselves."""

from itertools import groupby
from typing import Any

import pytest

import innervoice as iv
from sdk.loops import NAME, QUESTION, SCHEMA, Ended, get_weather, unchanged, weather_of

__all__ = [
    "chat_helper_loop", "chat_parse_loop", "gemini_chat_loop", "responses_parse_loop", "tool_runner_loop",
]  # fmt: skip


anthropic = pytest.importorskip("anthropic")
genai = pytest.importorskip("google.genai")
openai = pytest.importorskip("openai")
pydantic = pytest.importorskip("pydantic")


class Weather(pydantic.BaseModel):
    """The arguments of the tool, as a class."""

    city: str


STRICT = openai.pydantic_function_tool(Weather, name=NAME, description="Weather.")


def _openai(place):
    return openai.OpenAI(api_key="any", base_url=f"{place.url}/openai/v1", max_retries=0)


def chat_helper_loop(place, *, model, streamed=True, send=unchanged) -> Ended:
    """`chat.completions.stream()`, whose last snapshot is the message of the next request."""
    assert streamed
    return _chat_loop(place, model, send, _streamed_completion)


def chat_parse_loop(place, *, model, streamed=False, send=unchanged) -> Ended:
    """`chat.completions.parse()`, with a class for the arguments."""
    assert not streamed
    return _chat_loop(place, model, send, lambda sdk, **request: sdk.chat.completions.parse(**request))  # fmt: skip


def _streamed_completion(sdk, **request):
    with sdk.chat.completions.stream(**request) as stream:
        for _ in stream:
            pass
        return stream.get_final_completion()


def _chat_loop(place, model, send, ask) -> Ended:
    messages = [{"role": "user", "content": QUESTION}]
    calls, thoughts = [], []
    with _openai(place) as sdk:
        while True:
            request = {"model": model, "messages": send(messages), "tools": [STRICT]}
            answer = ask(sdk, reasoning_effort="high", **request)
            message = answer.choices[0].message
            messages.append(message)
            made = message.tool_calls or []
            calls.append(len(made))
            thoughts.append(getattr(message, "reasoning_content", None) or "")
            if not made:
                return Ended(message.content, calls, thoughts, iv.decode(answer))
            messages += [
                {
                    "role": "tool",
                    "tool_call_id": call.id,
                    "content": get_weather(call.function.parsed_arguments.city),
                }
                for call in made
            ]


def responses_parse_loop(place, *, model, streamed=False, send=unchanged) -> Ended:
    """`responses.parse()`, with the items of each answer in the next request."""
    assert not streamed
    request: dict[str, Any] = {
        "model": model,
        "tools": [{"type": "function", "name": NAME, "parameters": {**SCHEMA, "additionalProperties": False}, "strict": True}],
        "reasoning": {"effort": "medium", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "store": False,
    }  # fmt: skip
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    calls, thoughts = [], []
    with _openai(place) as sdk:
        while True:
            answer = sdk.responses.parse(input=send(items), **request)
            made = [item for item in answer.output if item.type == "function_call"]
            calls.append(len(made))
            summaries = [item.summary for item in answer.output if item.type == "reasoning"]
            thoughts.append("".join(entry.text for entries in summaries for entry in entries))
            if not made:
                return Ended(answer.output_text, calls, thoughts, iv.decode(answer))
            results = [
                {"type": "function_call_output", "call_id": call.call_id, "output": weather_of(call.arguments)}
                for call in made
            ]  # fmt: skip
            items += [*answer.output, *results]


def tool_runner_loop(place, *, model, streamed=False) -> Ended:
    """`beta.messages.tool_runner()`, which leads the loop itself and keeps all blocks."""
    tool = anthropic.beta_tool(get_weather, name=NAME)
    with anthropic.Anthropic(
        api_key="any", base_url=f"{place.url}/anthropic", max_retries=0
    ) as sdk:
        runner = sdk.beta.messages.tool_runner(
            model=model,
            max_tokens=4000,
            messages=[{"role": "user", "content": QUESTION}],
            tools=[tool],
            thinking={"type": "adaptive", "display": "summarized"},
            stream=streamed,
            thread=False,  # all messages in each request; test_threads.py has the default
        )
        turns = [turn.get_final_message() if streamed else turn for turn in runner]
    calls = [sum(block.type == "tool_use" for block in turn.content) for turn in turns]
    thoughts = [
        "".join(block.thinking for block in turn.content if block.type == "thinking")
        for turn in turns
    ]
    text = "".join(block.text for block in turns[-1].content if block.type == "text")
    return Ended(text, calls, thoughts, iv.decode(turns[-1]))


def gemini_chat_loop(place, *, model, streamed=False) -> Ended:
    """`chats`, with a function of Python that the SDK calls by itself and answers the model with."""
    types = genai.types
    config = types.GenerateContentConfig(
        tools=[get_weather], thinking_config=types.ThinkingConfig(include_thoughts=True)
    )
    with genai.Client(api_key="any", http_options={"base_url": f"{place.url}/gemini"}) as sdk:
        chat = sdk.chats.create(model=model, config=config)
        if streamed:
            pieces = list(chat.send_message_stream(QUESTION))
            text = "".join(
                part.text
                for piece in pieces
                for part in (piece.candidates[0].content.parts or ())
                if part.text and not part.thought
            )
        else:
            text = chat.send_message(QUESTION).text
        # A streamed turn is a content for each of its chunks.
        runs = groupby(chat.get_history(), key=lambda content: content.role)
        turns = [
            [part for content in contents for part in content.parts]
            for role, contents in runs
            if role == "model"
        ]
    counts = [sum(bool(part.function_call) for part in parts) for parts in turns]
    thoughts = ["".join(part.text for part in parts if part.thought) for parts in turns]
    content = types.Content(role="model", parts=turns[-1])
    last = types.GenerateContentResponse(
        candidates=[types.Candidate(content=content, finish_reason="STOP")]
    )
    return Ended(text, counts, thoughts, iv.decode(last))
