"""What users and tools said, in another dialect than the one it was read in (H2)."""

import json

import pytest

import innervoice as iv
from innervoice.sources.stored import history_from
from innervoice.wire.dialects import DIALECTS
from planning.conversations import SOURCES, request_from
from planning.test_matrix import HOME, TARGETS

# Members that only one dialect has; none of them may reach another one.
OWN = {
    "anthropic": ("tool_use_id",),
    "openai-chat": ("image_url", '"name": "ann"'),
    "openai-responses": ("namespace", "input_text", "fco_1"),
    "gemini": ("inlineData", "functionResponse"),
    "bedrock-converse": ("cachePoint", "toolResult"),
    "cohere": ('"document"',),
    "ollama": ("tool_name",),
}


@pytest.mark.parametrize("source", OWN)
@pytest.mark.parametrize("target", TARGETS)
def test_no_block_of_another_dialect_is_sent(source, target):
    wire = iv.encode(request_from(source, target))
    if wire.dialect == source:
        return
    text = json.dumps(wire.body)
    theirs = json.dumps(iv.encode(request_from("langchain", target)).body)
    assert [name for name in OWN[source] if name in text and name not in theirs] == []


@pytest.mark.parametrize(
    "source", [name for name in SOURCES if name not in ("langchain", "gemini")]
)
def test_what_came_from_a_dialect_goes_back_to_it_as_it_came(source):
    sent = SOURCES[source]()
    body = iv.encode(request_from(source, HOME[source]).replace(dialect=source)).body
    for name in OWN.get(source, ()):
        if name == "input_text":
            continue  # a text alone is short for a list of one
        assert json.dumps(body).count(name) == json.dumps(sent).count(name)


def test_a_foreign_block_is_left_out_and_noted():
    upload = {"type": "container_upload", "file_id": "f"}
    body = {"model": "m", "messages": [{"role": "user", "content": [upload, "x"]}]}
    request = iv.decode_request(body, "anthropic")
    request = request.replace(model="openai/gpt-5.6", dialect=None)
    decisions = iv.plan(request.messages, "openai/gpt-5.6").decisions
    assert [item.rule for item in decisions if item.note == "opaque_dropped"] == ["H2"]
    assert "opaque_dropped" in {note.code for note in iv.encode(request).notes}


def test_a_cache_point_is_left_out_and_noted():
    request = request_from("bedrock-converse", "openai/gpt-5.6")
    decisions = iv.plan(request.messages, "openai/gpt-5.6").decisions
    assert [item.rule for item in decisions if item.note == "cache_mark_dropped"] == ["H2", "H2"]


def test_the_block_of_a_caller_is_sent_to_whoever_it_is_for():
    block = {"type": "container_upload", "file_id": "f"}
    for target in ("anthropic/claude-opus-5-5", "deepseek/deepseek-v4-pro"):
        body = iv.encode(iv.Request(target, [iv.user(["x", block])])).body
        assert body["messages"][-1]["content"][-1] == block


@pytest.mark.parametrize("source", SOURCES)
def test_a_list_of_messages_is_recognised(source):
    """Without the body around it, by its messages alone."""
    stored = SOURCES[source]()
    items = stored
    if isinstance(stored, dict):
        items = next(stored[name] for name in ("messages", "contents", "input") if name in stored)
    history = history_from(items)
    if source in ("gemini", "openai-chat", "mistral"):
        assert history.kind in ("gemini", "openai-chat")
    else:
        assert history.kind == source
    if source in DIALECTS and history.kind == source:
        read = iv.decode_request(stored, source).messages
        assert tuple(history.messages) == tuple(read)[-len(history.messages) :]


@pytest.mark.parametrize("name", [None, "planted.png"])
@pytest.mark.parametrize("target", [*HOME.values(), "openai/gpt-4o"])
def test_a_file_that_a_model_made_is_sent_where_turns_may_have_files(target, name):
    """Elsewhere it is left out, and a note says so; a block of another dialect is sent nowhere."""
    data = {
        "mimeType": "image/png",
        "data": "iVBORw0KGgo=",
        **({"displayName": name} if name else {}),
    }
    parts = [{"text": "Here."}, {"inlineData": data}]
    answer = iv.decode(
        {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]},
        provider="vertex",
        model="gemini-2.5-flash-image",
    )
    wire = iv.encode(iv.Request(target, [iv.user("Draw."), answer.message, iv.user("Again.")]))
    text = json.dumps(wire.body)

    is_sent = wire.dialect in ("gemini", "gemini-interactions", "ollama")
    assert is_sent == ("iVBORw0KGgo=" in text)
    assert is_sent != any(note.code == "part_without_place" for note in wire.notes)
    assert wire.dialect == "gemini" or "inlineData" not in text
