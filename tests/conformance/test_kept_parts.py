"""What a plan calls kept is in the body: for every recorded turn, at home and at models of every API."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import innervoice as iv
from conformance.test_written_answers import events_of, exchanges
from innervoice.canon.origin import Origin
from planning.test_matrix import TARGETS
from shared import needs_shared


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def seals(origin: Origin | None) -> list[str]:
    """The opaque values of a part; ids of items are sent only to hosts that stored them (H5)."""
    values = []
    for path in sorted({*(origin.seals if origin else ())} - {"id"}):
        value: Any = origin.block
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        values += [value] if isinstance(value, str) else []
    return values


def history_of(response: iv.Response) -> list[iv.Message]:
    results = [iv.tool_result(call.id, "1") for call in response.tool_calls]
    return [iv.user("x"), response.message, *(results or [iv.user("y")])]


def lost(response: iv.Response, target: str, **settings: Any) -> Iterator[str]:
    """The parts that are kept by the plan and are not in the body."""
    history = history_of(response)
    try:
        request = iv.Request(target, history, **settings)
        body = iv.encode(request).body
    except iv.InnervoiceError:
        return
    sent = list(strings(body))
    for decision in iv.plan(history, target, **settings).decisions:
        if decision.action != "kept" or decision.part is None:
            continue
        part = history[decision.message].parts[decision.part]
        text = getattr(part, "text", "").strip()
        wanted = [text] if text and not seals(part.origin) else seals(part.origin)
        if not all(any(value in other for other in sent) for value in wanted):
            yield f"{part.type} by {decision.rule}: {decision.why}"


@needs_shared
@pytest.mark.parametrize("target", [None, *TARGETS])
def test_what_is_kept_is_sent(target):
    count, wrong = 0, []
    for name, exchange in exchanges():
        response = events_of(exchange)[-1].response
        home = f"{exchange['provider'].split('/')[-1]}/{exchange['model']}"
        dialect = None if target else exchange["dialect"]
        wrong += [(name, problem) for problem in lost(response, target or home, dialect=dialect)]
        count += 1

    assert [] == wrong[:10], len(wrong)
    assert count > 500


def test_the_plan_of_older_models_of_cohere():
    """`tool_plan` has no place in a request: the plan says so, and a note."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "tool_plan": "I look it up.", "tool_calls": [call]}
    answer = iv.decode(
        {"id": "1", "finish_reason": "TOOL_CALL", "message": message},
        provider="cohere",
        model="command-a-reasoning-08-2025",
    )
    history = history_of(answer)
    target = "cohere/command-a-reasoning-08-2025"

    assert [("omitted", "H3")] == [
        (decision.action, decision.rule) for decision in iv.plan(history, target).decisions
    ]
    wire = iv.encode(iv.Request(target, history))
    assert ["thinking_omitted"] == [note.code for note in wire.notes]
    assert "I look it up." not in json.dumps(wire.body)
