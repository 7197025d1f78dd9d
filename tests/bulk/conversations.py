"""Conversations for the tests of what trainers read, as rows of data sets have them, and as hypothesis draws them."""

import json

from hypothesis import strategies as st

from bulk.batches import message

SAID = [
    "It is 4.",
    "Because of x < 3.",
    "第一",
    "  indented\ncode",
    "a\n\nb",
    "1 < 2 > 0",
    "Use `<think>` here.",
    "ok.",
]
THOUGHT = ["two and two", "Wait.\n\nNo, six.", "用户问", "x < y", "- a\n- b", "so: {}"]
ASKED = ["2+2?", "And why?", "天气?", '{"a": 1}', "Say <b>hi</b>"]

said = st.sampled_from(SAID)
thought = st.none() | st.sampled_from(THOUGHT)
arguments = st.sampled_from(['{"city":"Paris"}', "{}", '{"a":[1,2]}'])


@st.composite
def conversations(draw, tools=True):
    """A batch: one row for each answer of one conversation, as the reader gives them."""
    prompt = [message("system", "Be brief.")] if draw(st.booleans()) else []
    rows = []
    for turn in range(draw(st.integers(1, 3))):
        prompt.append(message("user", draw(st.sampled_from(ASKED))))
        for call in range(draw(st.integers(0, 2)) if tools else 0):
            calls = json.dumps(
                [{"id": f"call_{turn}{call}", "name": "look", "arguments": draw(arguments)}],
                separators=(",", ":"),
            )
            rows.append((list(prompt), "", draw(thought), calls))
            prompt += (
                message("assistant", "", rows[-1][2], calls),
                message("tool", "sunny", call_id=f"call_{turn}{call}"),
            )
        rows.append((list(prompt), draw(said), draw(thought), None))
        prompt.append(message("assistant", rows[-1][1], rows[-1][2]))
    size = len(rows)
    return {
        "id": ["c-1"] * size,
        "source": ["a.jsonl"] * size,
        "turn": list(range(size)),
        "last": [index == size - 1 for index in range(size)],
        "prompt": [row[0] for row in rows],
        "answer": [row[1] for row in rows],
        "calls": [row[3] for row in rows],
        "reasoning": [row[2] for row in rows],
        "status": ["tool_calls" if row[3] else "answered" for row in rows],
    }
