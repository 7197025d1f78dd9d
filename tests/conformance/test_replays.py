"""Recorded requests that replay a recorded answer: our encoding of that turn carries the same seals."""

from __future__ import annotations

import json
from base64 import b64decode
from collections import Counter
from typing import Any

import innervoice as iv
from shared import SHARED, needs_shared

SEALS = (
    "signature",
    "thoughtSignature",
    "thought_signature",
    "encrypted_content",
    "redactedContent",
    "data",
)


def seals(value: Any) -> list[tuple[str, str]]:
    """Every seal in a JSON value, in order: what it stands on, and itself."""
    found: list[tuple[str, str]] = []
    if isinstance(value, dict):
        for name in SEALS:
            seal = value.get(name)
            if isinstance(seal, str) and len(seal) > 20:
                found.append((place(value), seal.translate(str.maketrans("-_", "+/")).rstrip("=")))
        for inner in value.values():
            found += seals(inner)
    elif isinstance(value, list):
        for inner in value:
            found += seals(inner)
    return found


def place(block: dict[str, Any]) -> str:
    """What a seal stands on: the kind of its block, and the name of a call."""
    call = block.get("functionCall") or block.get("function_call")
    if isinstance(call, dict):
        return f"call {call.get('name')}"
    if "text" in block and "type" not in block:
        return "thought" if block.get("thought") else "text"
    return str(block.get("type", "reasoning"))


def recordings() -> dict[str, dict[str, Any]]:
    exchanges = (json.loads(path.read_text("utf-8")) for path in (SHARED / "corpus").glob("*.json"))
    return {exchange["id"]: exchange for exchange in exchanges}


def answer_of(exchange: dict[str, Any]) -> iv.Response:
    response = exchange["response"]
    body = response.get("json") or response.get("sse") or response.get("ndjson")
    if "eventstream_b64" in response:
        body = b64decode(response["eventstream_b64"])
    provider = exchange["provider"].split("/")[-1]
    return iv.decode(body, provider=provider, model=exchange["model"], dialect=exchange["dialect"])


@needs_shared
def test_replayed_seals(capsys):
    known = recordings()
    counts: Counter[str] = Counter()
    wrong = []
    for name, exchange in known.items():
        replays = (exchange.get("conversation") or {}).get("replay_of") or []
        for replay in replays:
            answer = known.get(replay["id"])
            signed = any("signature" in via for via in replay["via"])
            if answer is None or not signed or exchange["dialect"] == "other":
                continue
            response = answer_of(answer)
            request = exchange["request"].get("json") or exchange["request"].get("body")
            sent = {seal for _, seal in seals(request)}
            came = seals([part.origin.block for part in response.parts if part.origin])
            provider = answer["provider"].split("/")[-1]
            wire = iv.encode(
                iv.Request(
                    f"{provider}/{answer['model']}",
                    [iv.user("x"), response.message, iv.user("y")],
                    dialect=answer["dialect"],
                    mode="passthrough",
                )
            )
            ours = seals(wire.body)
            expected = [item for item in came if item[1] in sent]
            counts["turns"] += 1
            counts["seals"] += len(expected)
            if [item for item in ours if item in expected] != expected:
                wrong.append((name, expected, ours))
    with capsys.disabled():
        print(f"\n{counts['turns']} replayed turns carry {counts['seals']} seals in their places")
    assert [] == wrong
    assert counts["turns"] > 100
    assert counts["seals"] > 100
