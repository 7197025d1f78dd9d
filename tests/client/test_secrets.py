"""No value that a user may print shows a seal: a signature, encrypted content, or the id of an item on the server."""

import pytest

import innervoice as iv

MARK = "SEALED-MARKER-0123456789"


def chat(**message):
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": "Hi", **message},
    }
    return {"id": "c", "choices": [choice]}


ANSWERS = {
    "anthropic/claude-opus-5-5": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hmm.", "signature": MARK},
            {"type": "redacted_thinking", "data": MARK},
            {"type": "text", "text": "Hi"},
        ],
        "stop_reason": "end_turn",
    },
    "openai/gpt-5.6": {
        "id": "r",
        "object": "response",
        "status": "completed",
        "output": [
            {"type": "reasoning", "id": f"rs_{MARK}", "summary": [], "encrypted_content": MARK},
            {
                "type": "message",
                "id": f"msg_{MARK}",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Hi"}],
            },
            {"type": "compaction", "id": "cmp", "encrypted_content": MARK},
        ],
    },
    "gemini/gemini-3.5-flash": {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "Hmm.", "thought": True, "thoughtSignature": MARK},
                        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": MARK},
                    ],
                },
                "finishReason": "STOP",
            }
        ]
    },
    "bedrock/us.anthropic.claude-sonnet-4-5-v1:0": {
        "output": {
            "message": {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "Hmm.", "signature": MARK}}},
                    {"reasoningContent": {"redactedContent": MARK}},
                    {"text": "Hi"},
                ],
            }
        },
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    },
    "openrouter/anthropic/claude-opus-5-5": chat(
        reasoning="Hmm.",
        reasoning_details=[
            {"type": "reasoning.text", "text": "Hmm.", "signature": MARK, "index": 0},
            {"type": "reasoning.encrypted", "data": MARK, "index": 1},
        ],
    ),
}


def values_of(model, body):
    """Everything public that a history goes through on its way back to the model, and to another."""
    provider, _, name = model.partition("/")
    response = iv.decode(body, provider=provider, model=name)
    history = [iv.user("Hi"), response.message, iv.user("And now?")]
    yield from (response, response.message, *response.parts, *response.notes)
    for target in (model, "deepseek/deepseek-v4", "openai/gpt-5.6"):
        request = iv.Request(target, history, extra={"metadata": {"signature": MARK}})
        plan = iv.plan(history, target)
        yield from (request, plan, *plan.messages, *plan.decisions)
        try:
            yield iv.encode(request)
        except iv.RuleError as error:  # a compaction that only its own provider can read
            yield error
        yield from iv.lint(history, target)
        yield iv.repair(history, target)
    yield from iv.decode_stream([body], provider=provider, model=name)


@pytest.mark.parametrize("model", ANSWERS)
def test_nothing_that_is_printed_shows_a_seal(model):
    assert MARK in iv.to_json(iv.decode(ANSWERS[model], provider=model.partition("/")[0])).decode()
    for value in values_of(model, ANSWERS[model]):
        for text in (repr(value), str(value), f"{value!r:.100000}"):
            assert MARK not in text, f"{type(value).__name__}: {text}"
