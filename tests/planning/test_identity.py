"""Parse then encode is the identity on the content of any turn that an API may send (I2, P12)."""

import base64
import json

from hypothesis import given
from hypothesis import strategies as st

import innervoice as iv

texts = st.text(min_size=1, max_size=40)
maybe_empty = st.text(max_size=40)
seals = st.binary(min_size=8, max_size=40).map(lambda data: base64.b64encode(data).decode())
names = st.text("abcdefgh_", min_size=1, max_size=12)
numbers = st.integers(0, 10**9)
objects = st.dictionaries(
    names,
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | maybe_empty
    | st.lists(texts, max_size=2),
    max_size=3,
)


def unique(items, key):
    """Ids of one turn differ."""
    return st.lists(items, min_size=1, max_size=6, unique_by=lambda item: key(item) or id(item))


def carried(answer, target, member, role, **settings):
    """The content of a turn, read, stored, and written for its own model again."""
    provider, _, model = target.partition("/")
    message = iv.decode(answer, provider=provider, model=model).message
    stored = iv.from_json(iv.to_json(message))
    request = iv.Request(target, [iv.user("x"), stored, iv.user("y")], **settings)
    body = iv.encode(request).body
    turns = body[member]
    return [turn for turn in turns if turn.get("role") == role] if role else turns[1:-1]


claude_blocks = st.one_of(
    st.builds(lambda text, seal: {"type": "thinking", "thinking": text, "signature": seal}, maybe_empty, seals),
    st.builds(lambda seal: {"type": "redacted_thinking", "data": seal}, seals),
    st.builds(lambda text: {"type": "text", "text": text}, texts),
    st.builds(lambda number, name, value: {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": value}, numbers, names, objects),
    st.builds(lambda number, value: {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search", "input": value}, numbers, objects),
)  # fmt: skip


@given(unique(claude_blocks, lambda block: block.get("id")), texts)
def test_claude(blocks, last):
    content = [*blocks, {"type": "text", "text": last}]
    answer = {"type": "message", "id": "m", "role": "assistant", "content": content, "stop_reason": "end_turn"}  # fmt: skip
    (turn,) = carried(answer, "anthropic/claude-opus-5-5", "messages", "assistant")
    # A call without a result gets one, in the user's turn; the turn of the model is as it was.
    assert json.dumps(content) == json.dumps(turn["content"])


def signed(part, seal):
    return {**part, "thoughtSignature": seal} if seal else part


gemini_parts = st.builds(
    signed,
    st.one_of(
        st.builds(lambda text: {"text": text}, texts),
        st.builds(lambda text: {"text": text, "thought": True}, texts),
        st.builds(lambda number, name, value: {"functionCall": {"id": f"c{number}", "name": name, "args": value}}, numbers, names, objects),
        st.builds(lambda text: {"executableCode": {"language": "PYTHON", "code": text}}, texts),
    ),
    st.none() | seals,
)  # fmt: skip


@given(unique(gemini_parts, lambda part: part.get("functionCall", {}).get("id")))
def test_gemini(parts):
    answer = {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]
    }
    (turn,) = carried(answer, "gemini/gemini-3.5-flash", "contents", "model")
    assert json.dumps(parts) == json.dumps(turn["parts"])


converse_blocks = st.one_of(
    st.builds(lambda text, seal: {"reasoningContent": {"reasoningText": {"text": text, "signature": seal}}}, maybe_empty, seals),
    st.builds(lambda seal: {"reasoningContent": {"redactedContent": seal}}, seals),
    st.builds(lambda text: {"text": text}, texts),
    st.builds(lambda number, name, value: {"toolUse": {"toolUseId": f"t{number}", "name": name, "input": value}}, numbers, names, objects),
)  # fmt: skip


@given(unique(converse_blocks, lambda block: block.get("toolUse", {}).get("toolUseId")), texts)
def test_converse(blocks, last):
    content = [*blocks, {"text": last}]
    answer = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "end_turn"}  # fmt: skip
    target = "bedrock/us.anthropic.claude-sonnet-4-5-v1:0"
    (turn,) = carried(answer, target, "messages", "assistant")
    assert json.dumps(content) == json.dumps(turn["content"])


def reasoning(number, summary, seal):
    entries = [{"type": "summary_text", "text": text} for text in summary]
    return {
        "type": "reasoning",
        "id": f"rs_{number}",
        "summary": entries,
        "encrypted_content": seal,
    }


def message(number, said, phase):
    content = [{"type": "output_text", "text": text, "annotations": []} for text in said]
    item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}  # fmt: skip
    return {**item, "phase": phase} if phase else item


responses_items = st.one_of(
    st.builds(reasoning, numbers, st.lists(texts, max_size=3), seals),
    st.builds(message, numbers, st.lists(texts, min_size=1, max_size=3), st.sampled_from([None, "commentary"])),
    st.builds(lambda number, name, value: {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name, "arguments": json.dumps(value), "status": "completed"}, numbers, names, objects),
    st.builds(lambda number: {"type": "web_search_call", "id": f"ws_{number}", "status": "completed"}, numbers),
)  # fmt: skip


@given(unique(responses_items, lambda item: item["id"].partition("_")[2]), texts)
def test_responses(items, last):
    output = [*items, message(10**9 + 1, [last], None)]
    answer = {"object": "response", "id": "resp_1", "status": "completed", "output": output}
    sent = carried(answer, "openai/gpt-5.6", "input", None, store=True)
    made = [item for item in sent if item.get("type") != "function_call_output"]
    assert json.dumps(output) == json.dumps(made)
