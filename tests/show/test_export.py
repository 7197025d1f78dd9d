"""JSON for logs: what the policy shows, never a seal."""

import json
import unicodedata

import pytest
from hypothesis import given

import innervoice as iv
from innervoice.show import export, export_json
from show.hostile import hostile

SEALED = iv.Origin(
    provider="openai",
    dialect="openai-responses",
    block={"id": "rs_SEAL", "encrypted_content": "SEAL", "signature": "SEAL"},
    seals=("encrypted_content", "signature"),
    item="rs_SEAL",
)
WHOLE = iv.Response(
    parts=(
        iv.Thinking("15 * 23 = 345", origin=SEALED),
        iv.Thinking("", "hidden", origin=SEALED),
        iv.ToolCall("call_SEAL", "mul", '{"a":15}', origin=SEALED),
        iv.Opaque({"type": "web_search_call", "id": "ws_SEAL"}, origin=SEALED),
        iv.Text("It is 345.", origin=SEALED),
    ),
    provider="openai",
    model="gpt-5.6",
    id="resp_1",
    ended=True,
    finish_reason="stop",
    usage=iv.Usage(input_tokens=5, output_tokens=20, reasoning_tokens=12, raw={"x": "SEAL"}),
    notes=(iv.Note("field_thinking"),),
    error=None,
    origin=SEALED,
)


def test_full():
    assert export(WHOLE) == {
        "type": "response",
        "provider": "openai",
        "model": "gpt-5.6",
        "id": "resp_1",
        "status": "tool_calls",
        "finish_reason": "stop",
        "usage": {
            "input_tokens": 5,
            "output_tokens": 20,
            "reasoning_tokens": 12,
            "total_tokens": 25,
        },
        "notes": ["field_thinking"],
        "parts": [
            {"type": "thinking", "form": "full", "characters": 13, "text": "15 * 23 = 345"},
            {"type": "thinking", "form": "hidden", "blocks": 1},
            {"type": "tool_call", "call": 1, "name": "mul", "arguments": '{"a":15}'},
            {"type": "block", "kind": "web_search_call"},
            {"type": "text", "text": "It is 345."},
        ],
    }


def test_length_has_no_text_of_reasoning():
    exported = export(WHOLE, "length")

    assert {"type": "thinking", "form": "full", "characters": 13} == exported["parts"][0]
    assert b"15 * 23" not in export_json(WHOLE, "length")


def test_none_has_nothing_about_reasoning():
    stopped = iv.Response(parts=(iv.Thinking("x", complete=False),), ended=True)
    text = export_json([WHOLE, stopped], "none").decode()

    assert "reason" not in text.replace("finish_reason", "")
    assert "think" not in text
    assert '"status":"empty"' in text


@pytest.mark.parametrize("show", ["full", "summary", "length", "none"])
def test_no_seal_gets_out(show):
    assert b"SEAL" not in export_json([WHOLE, WHOLE.message], show)


def test_a_result_refers_to_its_call_by_number():
    history = [WHOLE.message, iv.tool_result("call_SEAL", "345", error=True)]

    assert {
        "type": "tool_result",
        "call": 1,
        "name": "mul",
        "text": "345",
        "error": True,
    } == export(history)[1]["parts"][0]


def test_other_choices_and_errors_are_there():
    value = iv.Response(
        error=iv.Failure(type="overloaded_error", message="busy", raw={"key": "SEAL"}),
        alternatives=(WHOLE,),
    )

    assert {"type": "overloaded_error", "message": "busy"} == export(value)["error"]
    assert [export(WHOLE)] == export(value)["alternatives"]
    assert b"SEAL" not in export_json(value)


@given(hostile)
def test_json_is_one_line_and_harmless_and_says_the_text_as_it_was(text):
    value = iv.Response(parts=(iv.Thinking(f"!{text}"), iv.Text(f"!{text}")), ended=True)
    line = export_json(value)

    # JSON cannot tell two halves of a character that stand side by side from the character.
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    assert [f"!{whole}"] * 2 == [part["text"] for part in json.loads(line)["parts"]]
    shown = line.decode()
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Zl", "Zp", "Cs"}]
    assert not set(shown) & set(
        "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"
    )
