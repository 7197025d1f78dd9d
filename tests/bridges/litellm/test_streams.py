"""Streams: chunks, their builder, and closing them."""

import asyncio
import json
from dataclasses import replace

import pytest

from bridges.litellm.talk import QUESTION, SUM, TOOLS
from innervoice.bridges import litellm
from innervoice.bridges.litellm import CustomStreamWrapper, stream_chunk_builder

CLAUDE = "anthropic/claude-sonnet-4-5"
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 4000}
TARGETS = {
    "enabled": (CLAUDE, THINKING),
    "redacted": (CLAUDE, {**THINKING, "behaviour": "redact, pieces=3"}),
    "adaptive": ("anthropic/claude-opus-5-5", {"reasoning_effort": "high"}),
    "gemini": ("gemini/gemini-3-pro", {"reasoning_effort": "low"}),
    "gemini in pieces": (
        "gemini/gemini-3-pro",
        {"reasoning_effort": "low", "behaviour": "pieces=2"},
    ),
    "openai": ("openai/gpt-5.6", {"reasoning_effort": {"effort": "low", "summary": "auto"}}),
    "deepseek": ("deepseek/deepseek-v4", {}),
    "tags": ("vllm/qwen3-8b", {}),
    "unclosed": ("vllm/some-model", {"behaviour": "inline, unclosed"}),
    "stutter": ("vllm/some-model", {"behaviour": "inline, stutter"}),
    "openrouter": ("openrouter/anthropic/claude-opus-5", {"reasoning_effort": "low"}),
}


def shown(message):
    """The visible members of a message, without ids and seals, which differ from call to call."""
    dumped = message.model_dump()
    blocks = [
        (block["type"], block.get("thinking")) for block in dumped.get("thinking_blocks") or ()
    ]
    calls = [call["function"] for call in dumped["tool_calls"] or ()]
    items = [item.get("summary") for item in dumped.get("reasoning_items") or ()]
    members = ("content", "role", "reasoning_content")
    return {name: dumped.get(name) for name in members}, blocks, calls, items


@pytest.mark.parametrize("question", [QUESTION, SUM], ids=["calls", "text"])
@pytest.mark.parametrize("name", TARGETS)
def test_streamed_is_whole(line, name, question):
    """The joined chunks equal a response without streaming."""
    model, options = TARGETS[name]
    whole = line.ask(model, [question], tools=TOOLS, **options)
    chunks = line.chunks(model, [question], tools=TOOLS, **options)
    built = stream_chunk_builder(chunks, messages=[question])

    assert shown(whole.choices[0].message) == shown(built.choices[0].message)
    assert whole.choices[0].finish_reason == built.choices[0].finish_reason
    assert whole.usage.completion_tokens == built.usage.completion_tokens
    assert "assistant" == chunks[0].choices[0].delta.role
    assert not any(chunk.choices[0].delta.role for chunk in chunks[1:])
    assert not any(chunk.choices[0].delta.content == "" for chunk in chunks)


def test_redacted_blocks_one_by_one(line):
    """Three blocks, of which the first and the last are redacted."""
    chunks = line.chunks(CLAUDE, [SUM], **THINKING, behaviour="redact, pieces=3")
    blocks = stream_chunk_builder(chunks).choices[0].message.thinking_blocks

    assert ["redacted_thinking", "thinking", "redacted_thinking"] == [
        block["type"] for block in blocks
    ]
    assert all(block.get("data") or block.get("signature") for block in blocks)
    pieces = [
        piece
        for chunk in chunks
        for piece in chunk.choices[0].delta.get("thinking_blocks") or ()
        if piece["type"] == "thinking"
    ]
    assert blocks[1]["thinking"] == "".join(piece["thinking"] for piece in pieces)
    assert 1 == sum("signature" in piece for piece in pieces)


def test_reasoning_in_the_text(line):
    """Tags are removed: their content is reasoning, and the rest is the answer."""
    chunks = line.chunks("vllm/qwen3-8b", [SUM])
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    thought = "".join(chunk.choices[0].delta.get("reasoning_content") or "" for chunk in chunks)

    assert "15 * 23 = 345." == text.strip()
    assert "<think>" not in text + thought
    assert "Computed" in thought


def test_reasoning_that_shows_too_late(line):
    """After a closing tag without an opening tag, the builder treats the earlier text as reasoning."""
    usual = line.emulator.reply

    def reply(*request):
        answer = usual(*request)
        return replace(answer, pieces=iter([answer.body.replace(b"<think>", b"")]))

    line.emulator.reply = reply
    model, options = "vllm/some-model", {"behaviour": "inline, size=400"}
    whole = line.ask(model, [SUM], **options)
    built = stream_chunk_builder(line.chunks(model, [SUM], **options))

    assert "15 * 23 = 345." == built.choices[0].message.content
    assert shown(whole.choices[0].message) == shown(built.choices[0].message)


def test_usage(line):
    """Usage is one more chunk on request; the builder has it in any case."""
    model = "deepseek/deepseek-v4"
    plain = line.chunks(model, [SUM])
    told = line.chunks(model, [SUM], stream_options={"include_usage": True})

    assert not any("usage" in chunk for chunk in plain)
    assert len(plain) + 1 == len(told)
    assert told[-1].usage == stream_chunk_builder(told).usage
    assert stream_chunk_builder(plain).usage.completion_tokens == told[-1].usage.completion_tokens
    assert told[-1].usage.completion_tokens_details.reasoning_tokens > 0


# ---- the builder on chunks of others -------------------------------------------------------------------


def chunk(**delta):
    return {
        "id": "x",
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
    }


def think(text, **more):
    return {"type": "thinking", "thinking": text, **more}


def test_blocks_of_litellm_s_own_chunks():
    """Signatures, redacted blocks, text and calls each end a block."""
    redacted = {"type": "redacted_thinking", "data": "d"}
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
    built = stream_chunk_builder(
        [
            chunk(role="assistant", reasoning_content="a", thinking_blocks=[think("a")]),
            chunk(reasoning_content="b", thinking_blocks=[think("b")]),
            chunk(thinking_blocks=[think("", signature="s")]),
            chunk(
                thinking_blocks=[redacted], provider_specific_fields={"thinking_blocks": [redacted]}
            ),
            chunk(reasoning_content="c", thinking_blocks=[think("c")]),
            chunk(content="text"),
            chunk(reasoning_content="d", thinking_blocks=[think("d")]),
            chunk(tool_calls=[call]),
            chunk(reasoning_content="e", thinking_blocks=[think("e", signature="t")]),
        ]
    )
    message = built.choices[0].message

    assert [
        think("ab", signature="s"),
        redacted,
        think("c"),
        think("d"),
        think("e", signature="t"),
    ] == message.thinking_blocks
    assert "abcde" == message.reasoning_content
    assert ("text", "f") == (message.content, message.tool_calls[0].function.name)
    assert message.provider_specific_fields is None


def test_calls_in_pieces():
    """Pieces of tool calls are joined by index, even if they alternate."""
    pieces = [
        {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}},
        {"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"x":'}},
        {"index": 1, "function": {"arguments": "{}"}},
        {
            "index": 0,
            "function": {"arguments": "1}"},
            "provider_specific_fields": {"thought_signature": "s"},
        },
    ]
    built = stream_chunk_builder([chunk(tool_calls=[piece]) for piece in pieces])
    first, second = built.choices[0].message.tool_calls

    assert ("a", "f", '{"x":1}') == (first.id, first.function.name, first.function.arguments)
    assert ("b", "g", "{}") == (second.id, second.function.name, second.function.arguments)
    assert {"thought_signature": "s"} == first.provider_specific_fields
    assert built.choices[0].message.content is None


def test_other_members():
    """Signatures are collected, an old-style function call is joined, choices stay separate."""
    two = chunk(content="b")
    two["choices"][0]["index"] = 1
    built = stream_chunk_builder(
        [
            chunk(content="a", provider_specific_fields={"thought_signatures": ["s"], "x": 1}),
            two,
            chunk(provider_specific_fields={"thought_signatures": ["t"], "x": 2}),
            chunk(function_call={"name": "f", "arguments": "{"}),
            chunk(function_call={"arguments": "}"}),
        ],
        messages=[SUM],
    )

    assert ["a", "b"] == [choice.message.content for choice in built.choices]
    assert {"thought_signatures": ["s", "t"], "x": 2} == built.choices[
        0
    ].message.provider_specific_fields
    assert "{}" == built.choices[0].message.function_call.arguments
    assert built.usage.prompt_tokens == litellm.token_counter("m", messages=[SUM])
    assert built.usage.completion_tokens > 0


def test_no_chunks():
    assert stream_chunk_builder([]) is None


def test_chunks_through_json(line):
    """Stored chunks can be joined too, seals included."""
    chunks = line.chunks(CLAUDE, [QUESTION], tools=TOOLS, **THINKING)
    stored = json.loads(json.dumps([item.model_dump() for item in chunks]))

    assert stream_chunk_builder(chunks).choices == stream_chunk_builder(stored).choices


# ---- the wrapper ---------------------------------------------------------------------------------------


def test_closing(line):
    """Leaving a stream early closes its connection."""
    stream = line.ask(CLAUDE, [SUM], stream=True, **THINKING)
    assert isinstance(stream, CustomStreamWrapper)
    next(stream)
    stream.close()
    with line.ask(CLAUDE, [SUM], stream=True, **THINKING) as again:
        first = next(iter(again))
    assert [first] == again.chunks
    assert first.id == again.response_id
    assert again.completion_stream._events._answer is None
    assert ("claude-sonnet-4-5", "anthropic") == (again.model, again.custom_llm_provider)


def test_closing_what_is_awaited(line):
    async def main():
        stream = await litellm.acompletion(
            messages=[SUM], stream=True, **line.options(CLAUDE, **THINKING)
        )
        await anext(stream)
        await stream.aclose()
        async with await litellm.acompletion(
            messages=[SUM], stream=True, **line.options(CLAUDE, **THINKING)
        ) as again:
            await anext(again)
        return again.completion_stream._events._answer

    assert asyncio.run(main()) is None


def test_a_wrapper_by_hand():
    """The wrapper works with any chunks, sync or async."""
    chunks = [litellm.ModelResponse(stream=True) for _ in range(2)]

    async def source():
        for item in chunks:
            yield item

    async def main(stream):
        return [item async for item in stream]

    assert chunks == list(CustomStreamWrapper(iter(chunks), "m", None))
    assert [] == list(CustomStreamWrapper())
    assert chunks == asyncio.run(main(CustomStreamWrapper(completion_stream=source(), model="m")))
    assert chunks == asyncio.run(main(CustomStreamWrapper(iter(chunks))))
