"""An answer that is written in the dialect it came in keeps its names, ids and order, also as it comes."""

import json

import pytest

import innervoice as iv
from innervoice.frames.frame import Frame
from innervoice.frames.sniff import AnyFraming
from innervoice.wire.dialects import dialect_named


def events_of(dialect, messages):
    frames = [Frame(json.dumps(message).encode(), name) for name, message in messages]
    data = b"".join(map(dialect_named(dialect).framing, frames))
    return list(iv.decode_stream([data], dialect=dialect))


def written(dialect, messages, *, whole=False):
    """The messages of a stream as they are written again; or the body."""
    encoder = iv.StreamEncoder(dialect, "m")
    data = b"".join(encoder.feed(event) for event in events_of(dialect, messages))
    if whole:
        return encoder.body
    framing = AnyFraming()
    frames = [*framing.feed(data), *framing.finish()]
    return [json.loads(frame.data) for frame in frames if frame.data and frame.data != b"[DONE]"]


# ---- chat --------------------------------------------------------------------------------------


def chat(*deltas):
    choices = [{"index": 0, "delta": delta} for delta in deltas]
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    return [(None, {"id": "c", "model": "m", "choices": [choice]}) for choice in (*choices, end)]


def deltas_of(messages):
    return [message["choices"][0]["delta"] for message in messages if message["choices"]]


def test_chat_fields_keep_their_names():
    for field in ("reasoning", "reasoning_content", "thinking"):
        found = deltas_of(written("openai-chat", chat({field: "Hm"}, {"content": "4"})))

        assert {field: "Hm"} in found


def test_details_come_as_they_came():
    """Each fragment has the members of its entry; the seal comes once more text can no longer come."""
    entry = {"type": "reasoning.text", "format": "f", "index": 0}
    fragments = [{**entry, "text": "Hm"}, {**entry, "signature": "sig"}]
    came = chat(*({"reasoning_details": [one]} for one in fragments), {"content": "4"})
    found = deltas_of(written("openai-chat", came))

    assert fragments == [one for delta in found for one in delta.get("reasoning_details", ())]


def test_details_without_an_index_keep_their_seal():
    """Their text comes as it arrives, and the whole entry when it is known to be one: before the answer."""
    entry = {"type": "reasoning.text", "text": "Hm", "signature": "sig"}
    came = chat({"reasoning_details": [entry]}, {"content": "4"})
    found = deltas_of(written("openai-chat", came))
    said = [name for delta in found for name, value in delta.items() if value and name != "role"]

    assert ["reasoning_content", "reasoning_details", "content"] == said
    assert [entry] in [delta.get("reasoning_details") for delta in found]


def test_reasoning_that_was_cut_off_is_all_there():
    """The block with which a part began is not taken for what came of it."""
    events = events_of("openai-chat", chat({"reasoning": "Hm"}, {"content": "4"}))
    cut = iv.fold(events[:2])

    message = iv.encode_response(cut, "openai-chat")["choices"][0]["message"]
    assert "Hm" == cut.thinking == message["reasoning_content"]


# ---- Anthropic ---------------------------------------------------------------------------------


def test_the_input_of_a_servers_call_comes_behind_its_start():
    block = {"type": "server_tool_use", "id": "s", "name": "bash", "input": {"command": "ls"}}
    begun = {**block, "input": {}}
    delta = {"type": "input_json_delta", "partial_json": '{"command":"ls"}'}
    events = [
        {"type": "message_start", "message": {"id": "m", "model": "m", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    came = [(event["type"], event) for event in events]
    found = [event for event in written("anthropic", came) if event["type"] != "ping"]

    assert events[1:4] == found[1:4]
    assert [block] == written("anthropic", came, whole=True)["content"]


# ---- Gemini ------------------------------------------------------------------------------------

SOURCES = {"groundingMetadata": {"webSearchQueries": ["2+2"]}}


def gemini(*parts):
    candidates = [{"content": {"role": "model", "parts": [part]}} for part in parts]
    candidates[-1].update(finishReason="STOP", **SOURCES)
    return [(None, {"candidates": [one], "modelVersion": "m"}) for one in candidates]


def test_a_signed_text_stays_one_part():
    signed = {"text": "4", "thoughtSignature": "c2ln"}
    found = written("gemini", gemini({"text": "Hm", "thought": True}, signed))

    assert [signed] == found[1]["candidates"][0]["content"]["parts"]


def test_sources_come_with_the_last_message():
    last = written("gemini", gemini({"text": "4"}))[-1]["candidates"][0]
    body = written("gemini", gemini({"text": "4"}), whole=True)["candidates"][0]

    assert SOURCES.items() <= last.items()
    assert SOURCES.items() <= body.items()


# ---- Responses ---------------------------------------------------------------------------------

NOTE = {"type": "url_citation", "url": "https://example.com", "start_index": 0, "end_index": 1}


def responses(*items):
    """A stream of items, each added, with a delta of its text, and done; the last event seals reasoning anew."""
    response = {"id": "resp_1", "object": "response", "model": "m", "output": []}
    events = [{"type": "response.created", "response": {**response, "status": "in_progress"}}]
    for index, (added, kind, text, done) in enumerate(items):
        place = {"output_index": index, "item_id": done["id"]}
        events.append({"type": "response.output_item.added", "output_index": index, "item": added})
        events.append({"type": f"response.{kind}.delta", **place, "delta": text})
        events.append({"type": "response.output_item.done", "output_index": index, "item": done})
    output = [{**done, "encrypted_content": "last"} if "encrypted_content" in done else done for *_, done in items]  # fmt: skip
    ended = {**response, "status": "completed", "output": output}
    events.append({"type": "response.completed", "response": ended})
    return [(event["type"], event) for event in events]


def test_items_keep_what_they_begin_with():
    """Ids, phases and namespaces are there from the start of an item on."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "phase": "final_answer"}
    call = {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f", "namespace": "n"}
    said = {"type": "output_text", "text": "4", "annotations": []}
    items = [
        ({**message, "status": "in_progress", "content": []}, "output_text", "4", {**message, "status": "completed", "content": [said]}),
        ({**call, "status": "in_progress", "arguments": ""}, "function_call_arguments", "{}", {**call, "status": "completed", "arguments": "{}"}),
    ]  # fmt: skip
    found = written("openai-responses", responses(*items))
    added = [event["item"] for event in found if event["type"] == "response.output_item.added"]

    assert [added for added, *_ in items] == added


def test_annotations_are_told():
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    said = {"type": "output_text", "text": "4", "annotations": [NOTE]}
    item = ({**message, "content": []}, "output_text", "4", {**message, "content": [said]})
    found = {event["type"]: event for event in written("openai-responses", responses(item))}

    assert NOTE == found["response.output_text.annotation.added"]["annotation"]
    assert [NOTE] == found["response.content_part.done"]["part"]["annotations"]


def test_the_last_seal_counts_and_a_sealed_item_has_a_summary():
    head = {"id": "rs_1", "type": "reasoning", "content": []}
    begun = {**head, "summary": [], "encrypted_content": "first"}
    summary = [{"type": "summary_text", "text": "Hm"}]
    done = {**head, "summary": summary, "encrypted_content": "second"}
    found = written("openai-responses", responses((begun, "reasoning_summary_text", "Hm", done)))
    sealed = [event["item"] for event in found if event["type"] == "response.output_item.done"]

    assert [done] == sealed
    assert [{**done, "encrypted_content": "last"}] == found[-1]["response"]["output"]


# ---- Converse ----------------------------------------------------------------------------------


def test_converse_keeps_empty_blocks_and_the_models_own_fields():
    """The numbers of the blocks stay, too."""
    more = {"additionalModelResponseFields": {"delta": {}}}
    came = [
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": ""}}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "4"}}),
        ("contentBlockStop", {"contentBlockIndex": 1}),
        ("messageStop", {"stopReason": "end_turn", **more}),
    ]

    assert [message for _, message in came] == written("bedrock-converse", came)[:-1]
    assert more.items() <= written("bedrock-converse", came, whole=True).items()


# ---- gemini ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["anthropic", "openai-responses", "bedrock-converse"])
def test_an_empty_text_that_holds_a_signature_is_a_text_in_gemini_alone(dialect):
    """Gemini ends a stream with it; Claude Code and Codex take the last text for the answer."""

    def chunk(part):
        return None, {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}

    end = None, {"candidates": [{"content": {"role": "model", "parts": []}, "index": 0, "finishReason": "STOP"}]}  # fmt: skip
    came = [chunk({"text": "Four."}), chunk({"text": "", "thoughtSignature": "c2ln"}), end]

    def texts(dialect):
        encoder = iv.StreamEncoder(dialect, "m")
        for event in events_of("gemini", came):
            encoder.feed(event)
        parts = iv.decode(encoder.body, dialect=dialect).parts
        return [part.text for part in parts if isinstance(part, iv.Text)]

    assert ["Four."] == texts(dialect)
    assert "thoughtSignature" in json.dumps(written("gemini", came))
