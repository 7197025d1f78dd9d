"""Reading answers against the floor: splitting the frame and decoding its JSON. Ratios of one run.

    python bench/decoding.py

Streams have 1,000 deltas of reasoning and 300 of text, bodies 6 kB of reasoning and 2 kB (or more) of text.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import msgspec

import innervoice as iv

WORDS = "the model weighs both options and then it looks at the numbers again before it goes on ".split()


def words(count: int) -> list[str]:
    return [WORDS[number % len(WORDS)] + " " for number in range(count)]


def sse(events: list[dict[str, Any]], *, named: bool = False) -> bytes:
    lines = []
    for event in events:
        name = f"event: {event['type']}\n" if named else ""
        lines.append(f"{name}data: {json.dumps(event)}\n\n")
    return "".join(lines).encode()


def chat_stream(*, inline: bool) -> bytes:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        head = {
            "id": "chatcmpl-123",
            "object": "chat.completion.chunk",
            "created": 1760450914,
            "model": "m",
        }
        return {**head, "system_fingerprint": "fp_1", "choices": [choice]}

    thought, text = words(1000), words(300)
    if inline:
        deltas = [{"content": word} for word in ["<think>", *thought, "</think>", *text]]
    else:
        deltas = [{"content": None, "reasoning_content": word} for word in thought]
        deltas += [{"content": word, "reasoning_content": None} for word in text]
    return sse([*map(chunk, deltas), chunk({}, "stop")]) + b"data: [DONE]\n\n"


def anthropic_stream() -> bytes:
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {"id": "m", "model": "c", "content": [], "usage": {"input_tokens": 5}},
        }
    ]
    for index, (kind, pieces) in enumerate((("thinking", words(1000)), ("text", words(300)))):
        events.append(
            {
                "type": "content_block_start",
                "index": index,
                "content_block": {"type": kind, kind: ""},
            }
        )
        events += [
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": f"{kind}_delta", kind: piece},
            }
            for piece in pieces
        ]
        events.append({"type": "content_block_stop", "index": index})
    events += [
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]
    return sse(events, named=True)


def gemini_stream() -> bytes:
    parts = [{"text": word, "thought": True} for word in words(1000)] + [
        {"text": word} for word in words(300)
    ]
    chunks = [
        {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}],
            "modelVersion": "g",
            "responseId": "r",
        }
        for part in parts
    ]
    chunks[-1]["candidates"][0]["finishReason"] = "STOP"  # type: ignore[index]
    return sse(chunks)


def responses_stream() -> bytes:
    item = {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": "".join(words(1000))}],
        "encrypted_content": "x" * 1000,
    }
    message = {
        "type": "message",
        "id": "msg",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "".join(words(300)), "annotations": []}],
    }
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "summary": []}}
    ]
    events += [
        {
            "type": "response.reasoning_summary_text.delta",
            "item_id": "rs",
            "output_index": 0,
            "summary_index": 0,
            "delta": word,
            "obfuscation": "ab",
        }
        for word in words(1000)
    ]
    events += [
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {**message, "content": []},
        },
    ]
    events += [
        {
            "type": "response.output_text.delta",
            "item_id": "msg",
            "output_index": 1,
            "content_index": 0,
            "delta": word,
            "logprobs": [],
        }
        for word in words(300)
    ]
    events += [
        {"type": "response.output_item.done", "output_index": 1, "item": message},
        {
            "type": "response.completed",
            "response": {"id": "r", "status": "completed", "output": [item, message]},
        },
    ]
    return sse(events, named=True)


STREAMS: dict[str, tuple[bytes, dict[str, str]]] = {
    "chat, field": (chat_stream(inline=False), {"provider": "deepseek"}),
    "chat, inline": (chat_stream(inline=True), {"provider": "sglang"}),
    "anthropic": (anthropic_stream(), {"provider": "anthropic"}),
    "gemini": (gemini_stream(), {"provider": "gemini"}),
    "responses": (responses_stream(), {"provider": "openai"}),
}


def bodies() -> dict[str, tuple[bytes, dict[str, str]]]:
    thought, text = "".join(words(1200))[:6000], "".join(words(800))[:3500]
    chat = {
        "id": "1",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "reasoning_content": thought},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 900, "total_tokens": 909},
    }
    claude = {
        "type": "message",
        "id": "m",
        "content": [
            {"type": "thinking", "thinking": thought, "signature": "s" * 500},
            {"type": "text", "text": text},
        ],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 900},
    }
    gemini = {
        "candidates": [
            {
                "content": {
                    "parts": [
                        {"text": thought, "thought": True},
                        {"text": text, "thoughtSignature": "s" * 500},
                    ]
                },
                "finishReason": "STOP",
            }
        ]
    }
    return {
        "chat, field": (json.dumps(chat).encode(), {"provider": "deepseek"}),
        "anthropic": (json.dumps(claude).encode(), {"provider": "anthropic"}),
        "gemini": (json.dumps(gemini).encode(), {"provider": "gemini"}),
    }


def floor_of_stream(stream: bytes) -> int:
    decode = msgspec.json.decode
    count = 0
    for frame in stream.split(b"\n\n"):
        at = frame.find(b"data: ")
        if at >= 0 and frame[at + 6 : at + 7] == b"{":
            decode(frame[at + 6 :])
            count += 1
    return count


def read_stream(stream: bytes, hints: dict[str, str]) -> None:
    decoder = iv.StreamDecoder(**hints)
    for start in range(0, len(stream), 16_384):
        decoder.feed(stream[start : start + 16_384])
    decoder.finish()


def measured(
    floor: Callable[[], object], ours: Callable[[], object], repeat: int
) -> tuple[float, float]:
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat):
        for work, into in zip((floor, ours), times, strict=True):
            start = perf_counter()
            work()
            into.append(perf_counter() - start)
    return median(times[0]), median(times[1])


def main(repeat: int) -> None:
    print(f"{'one streamed delta':24} {'floor':>9} {'ours':>9} {'ratio':>7}  target <= 6x")
    for name, (stream, hints) in STREAMS.items():
        count = floor_of_stream(stream)
        read_stream(stream, hints)
        floor, ours = measured(
            lambda stream=stream: floor_of_stream(stream),
            lambda stream=stream, hints=hints: read_stream(stream, hints),
            repeat,
        )
        print(
            f"{name:24} {floor / count * 1e6:7.2f}us {ours / count * 1e6:7.2f}us {ours / floor:6.1f}x"
        )
    print(
        f"\n{'one whole body, 10 kB':24} {'floor':>9} {'ours':>9} {'ratio':>7}  target <= 5x or 30 us more"
    )
    for name, (body, hints) in bodies().items():
        iv.decode(body, **hints)
        floor, ours = measured(
            lambda body=body: [msgspec.json.decode(body) for _ in range(200)],
            lambda body=body, hints=hints: [iv.decode(body, **hints) for _ in range(200)],
            repeat,
        )
        print(
            f"{name:24} {floor / 200 * 1e6:7.2f}us {ours / 200 * 1e6:7.2f}us {ours / floor:6.1f}x"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=21)
    main(parser.parse_args().repeat)
