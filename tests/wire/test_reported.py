"""What a provider says about the request: a note each, whole and streamed alike, through the library and the gateway."""

import asyncio
import json

import pytest

import innervoice as iv
from gateway.harness import BEHIND, Served, Upstream, body_of
from innervoice.emulator.core import Reply

DROPPED = [
    {
        "type": "thinking_dropped",
        "path": "messages.1.content.0",
        "reason": "prefix_binding_mismatch",
    }
]
ALLOWED = [
    {
        "type": "thinking_mismatch_allowed",
        "path": "messages.3.content.0",
        "reason": "model_binding_mismatch",
    }
]
REMOVED = [{"id": f"rs_{number}", "action": "removed", "type": "reasoning", "reason": "model_mismatch"} for number in (1, 2)]  # fmt: skip
EDITS = {"applied_edits": [{"type": "clear_thinking_20251015", "cleared_thinking_turns": 2, "cleared_input_tokens": 90}]}  # fmt: skip


def claude(**members):
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}, **members}  # fmt: skip


def claude_stream(**members):
    """The same in events: what is about the request stands in the first one, what is about the end in the last but one."""
    started = {**claude(), "content": [], "stop_reason": None, **{name: value for name, value in members.items() if name == "input_transformations"}}  # fmt: skip
    delta = {"stop_reason": members.get("stop_reason", "end_turn"), "stop_details": members.get("stop_details")}  # fmt: skip
    return [
        {"type": "message_start", "message": started},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Yes."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}, "context_management": members.get("context_management")},
        {"type": "message_stop"},
    ]  # fmt: skip


def openai(**members):
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "Yes.", "annotations": []}]}  # fmt: skip
    return {"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-6.2", "output": [message], **members}  # fmt: skip


def openai_stream(**members):
    return [{"type": "response.completed", "sequence_number": 0, "response": openai(**members)}]


CASES = {
    "dropped by Claude": ("anthropic", {"input_transformations": DROPPED}, ("dropped_by_provider", "prefix_binding_mismatch at messages.1.content.0", 1)),
    "allowed by Claude": ("anthropic", {"input_transformations": ALLOWED}, ("mismatch_allowed", "model_binding_mismatch at messages.3.content.0", 1)),
    "refused by Claude": ("anthropic", {"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": "reasoning_extraction"}}, ("refused_for", "reasoning_extraction", 1)),
    "edited by Claude": ("anthropic", {"context_management": EDITS}, ("context_edited", "clear_thinking_20251015", 1)),
    "dropped by OpenAI": ("openai-responses", {"input_transformations": REMOVED}, ("dropped_by_provider", "model_mismatch", 2)),
}  # fmt: skip
WHOLE = {"anthropic": claude, "openai-responses": openai}
STREAMED = {"anthropic": claude_stream, "openai-responses": openai_stream}


def sse(events):
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_it_is_a_note(case, stream):
    dialect, members, note = CASES[case]
    data = sse(STREAMED[dialect](**members)) if stream else json.dumps(WHOLE[dialect](**members))
    response = iv.decode(data, dialect=dialect)
    assert "Yes." == response.text
    assert note in [(one.code, one.detail, one.count) for one in response.notes]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("is_own", [True, False], ids=["as it came", "translated"])
def test_the_gateway_tells_it_as_well(case, is_own):
    dialect, members, note = CASES[case]

    class Said(Upstream):
        def reply(self, method, path, headers, body):
            return Reply(200, "application/json", iter([json.dumps(WHOLE[dialect](**members)).encode()]))  # fmt: skip

    served = Served(upstream=Said())
    front = dialect if is_own else "openai-chat"
    asyncio.run(served.call("POST", *body_of(front, BEHIND[dialect], [iv.user("Well?")])))
    (report,) = served.reports
    assert note in [(one.code, one.detail, one.count) for one in report.notes]


def test_an_answer_that_says_nothing_of_it_has_no_note():
    quiet = {"input_transformations": [], "stop_details": None, "context_management": {"applied_edits": []}}  # fmt: skip
    for dialect, form in WHOLE.items():
        assert () == iv.decode(form(**quiet), dialect=dialect).notes


def test_reasoning_of_a_panel():
    """OpenRouter's models that work together: their thoughts have no place in the answer, and that is told."""
    delta = {"type": "response.fusion_call.panel.reasoning.delta", "delta": "Hm.", "item_id": "x", "panel_index": 0}  # fmt: skip
    response = iv.decode(sse([delta, delta, *openai_stream()]), dialect="openai-responses")
    assert ("Yes.", None) == (response.text, response.thinking)
    assert [("reasoning_unread", 2)] == [(note.code, note.count) for note in response.notes]
