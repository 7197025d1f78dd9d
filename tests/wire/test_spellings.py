"""One answer in the spellings of several writers: SDKs, gateways and hosts with ways of their own."""

import json

import pytest

import innervoice as iv
from wire.streams import aws_message, ndjson, sse

# ---- google-genai's model_dump() ---------------------------------------------------------------------


def wire_part(**members):
    return {"candidates": [{"content": {"parts": [members], "role": "model"}, "index": 0}]}


WIRE = [
    wire_part(text="Hm", thought=True),
    wire_part(text="Hi", thoughtSignature="YS+/"),
    wire_part(inlineData={"mimeType": "image/png", "data": "YS+/"}),
    wire_part(functionCall={"name": "f", "args": {"snake_case": None}}, thoughtSignature="YS+/"),
    {
        "candidates": [{"finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 3,
            "candidatesTokenCount": 4,
            "thoughtsTokenCount": 5,
            "totalTokenCount": 12,
        },
        "modelVersion": "gemini-3.5-flash",
        "responseId": "r",
    },
]
NONES = {
    "video_metadata": None,
    "function_call": None,
    "function_response": None,
    "inline_data": None,
    "thought": None,
    "thought_signature": None,
    "text": None,
}


def dumped_part(**members):
    part = {**NONES, **members}
    candidate = {"content": {"parts": [part], "role": "model"}, "finish_reason": None, "index": 0}
    return {"candidates": [candidate], "model_version": None, "usage_metadata": None}


DUMPED = [
    dumped_part(text="Hm", thought=True),
    dumped_part(text="Hi", thought_signature=b"a/\xbf"),
    dumped_part(inline_data={"display_name": None, "mime_type": "image/png", "data": "YS-_"}),
    dumped_part(
        function_call={"id": None, "name": "f", "args": {"snake_case": None}},
        thought_signature="YS-_",
    ),
    {
        "sdk_http_response": {"headers": {}},
        "candidates": [{"content": None, "finish_reason": "STOP", "index": 0}],
        "usage_metadata": {
            "prompt_token_count": 3,
            "candidates_token_count": 4,
            "thoughts_token_count": 5,
            "total_token_count": 12,
            "cached_content_token_count": None,
        },
        "model_version": "gemini-3.5-flash",
        "response_id": "r",
        "automatic_function_calling_history": [],
        "parsed": None,
    },
]


def joined(chunks):
    """The chunks of a stream as one body."""
    parts = [
        part
        for chunk in chunks
        for part in (chunk["candidates"][0].get("content") or {}).get("parts", [])
    ]
    last = chunks[-1]
    candidate = {**last["candidates"][0], "content": {"parts": parts, "role": "model"}}
    return {**last, "candidates": [candidate]}


def test_model_dump_of_google_genai_reads_like_its_wire_form():
    dumped = [{**chunk} for chunk in DUMPED]
    dumped[1] = dumped_part(text="Hi", thought_signature="YS-_")
    whole, streamed = iv.decode(joined(WIRE)), iv.fold(iv.decode_stream(WIRE))

    assert whole == iv.decode(joined(dumped))
    assert streamed == iv.fold(iv.decode_stream(dumped))
    assert ("Hi", "Hm", 9, 5) == (
        whole.text,
        whole.thinking,
        whole.usage.output_tokens,
        whole.usage.reasoning_tokens,
    )
    assert {"name": "f", "args": {"snake_case": None}} == whole.parts[3].origin.block[
        "functionCall"
    ]


def test_the_bytes_of_a_dumped_signature_are_base64():
    response = iv.decode(joined(DUMPED), provider="gemini")

    assert "YS+/" == response.parts[1].origin.block["thoughtSignature"]


def test_a_dump_without_what_did_not_come():
    """`to_json_dict()` leaves out what is None; a chunk then has few names that show the spelling."""
    chunks = [
        wire_part(function_call={"name": "f", "args": {}}),
        {"candidates": [{"finish_reason": "STOP"}]},
    ]
    response = iv.fold(iv.decode_stream(chunks))

    assert ("tool_calls", "f") == (response.status, response.tool_calls[0].name)
    [blocked] = iv.decode_stream([{"prompt_feedback": {"block_reason": "SAFETY"}}])
    assert "content_filter" == blocked.response.finish_reason


# ---- Anthropic ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [[], [{"type": "content_block_stop", "index": 0}]])
def test_deltas_without_the_start_of_their_block(before):
    deltas = [
        {"type": "thinking_delta", "thinking": "H"},
        {"type": "thinking_delta", "thinking": "m"},
        {"type": "signature_delta", "signature": "s"},
    ]
    events = [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
    events += [
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": text}}
        for text in ("H", "i")
    ]
    events += [
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    response = iv.fold(iv.decode_stream([*before, *events]))

    assert ("Hi", "Hm", "answered") == (response.text, response.thinking, response.status)
    assert ["thinking", "text"] == [part.type for part in response.parts]
    assert "s" == response.parts[0].origin.block["signature"]
    assert {"start_missing"} <= {note.code for note in response.notes}


def test_a_delta_of_an_unknown_type_without_a_start_is_kept():
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "odd_delta", "x": 1}}
    response = iv.fold(iv.decode_stream([event]))

    assert ["opaque"] == [part.type for part in response.parts]


# ---- bytes that are not UTF-8 ------------------------------------------------------------------------

CHUNKS = [
    {"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("So ", "ab@cd", " on")
]
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
BODY = {
    "choices": [{"index": 0, "message": {"content": "So ab@cd on"}, "finish_reason": "stop"}],
}
LINES = [{"model": "m", "message": {"content": chunk}, "done": False} for chunk in ("So ", "ab@cd")]
LINES += [{"model": "m", "message": {"content": " on"}, "done": True}]


@pytest.mark.parametrize("byte", [b"\xff", b"\x80", b"\xe2", b"\xc3"])
@pytest.mark.parametrize(
    "data",
    [
        sse(*CHUNKS, END),
        json.dumps(BODY).encode(),
        json.dumps(BODY, indent=1).encode(),
        ndjson(*LINES),
        ndjson(*LINES[1:]).replace(b"ab@cd", b"So ab@cd"),
        b": hello\n\n" + json.dumps(BODY, indent=1).encode() + b"\n\n",
    ],
    ids=["events", "body", "pretty body", "lines", "first line", "stray"],
)
def test_an_invalid_byte_costs_one_character(data, byte):
    damaged = data.replace(b"@", byte)
    for pieces in ([damaged], [damaged[at : at + 1] for at in range(len(damaged))]):
        response = iv.fold(iv.decode_stream(pieces))
        assert ("So ab\ufffdcd on", "answered") == (response.text, response.status)
        assert ["invalid_utf8"] == [note.code for note in response.notes]
    assert "So ab\ufffdcd on" == iv.decode(damaged).text


def test_an_invalid_byte_in_an_event_stream():
    payload = b'{"contentBlockIndex": 0, "delta": {"text": "ab\xffcd"}}'
    response = iv.fold(iv.decode_stream([aws_message("contentBlockDelta", payload)]))

    assert "ab\ufffdcd" == response.text


# ---- reasoning in other places -----------------------------------------------------------------------


def deltas(*deltas, **hints):
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return iv.fold(iv.decode_stream([sse(*chunks, END)], dialect="openai-chat", **hints))


@pytest.mark.parametrize("holder", ["content", "text"])
def test_reasoning_in_an_object(holder):
    """any-llm's own form."""
    streamed = deltas({"reasoning": {holder: "H"}}, {"reasoning": {holder: "m"}}, {"content": "Hi"})
    message = {"content": "Hi", "reasoning": {holder: "Hm"}}
    whole = iv.decode({"choices": [{"message": message, "finish_reason": "stop"}]})

    for response in (streamed, whole):
        assert ("Hi", "Hm") == (response.text, response.thinking)
        assert ["thinking", "text"] == [part.type for part in response.parts]


def test_an_object_beside_the_same_text_is_a_repetition():
    message = {"content": "Hi", "reasoning_content": "Hm", "reasoning": {"content": "Hm"}}
    response = iv.decode({"choices": [{"message": message, "finish_reason": "stop"}]})

    assert "Hm" == response.thinking
    assert "field_repeated" in [note.code for note in response.notes]


STEPS = [
    {"thought": "First search.", "type": "web_search", "web_search": {"search_keywords": ["x"]}},
    {"thought": "Then read.", "type": "fetch_url_content", "fetch_url_content": {"contents": []}},
]


def test_the_reasoning_steps_of_perplexity():
    streamed = deltas(*({"reasoning_steps": [step]} for step in STEPS), {"content": "Hi"})
    message = {"content": "Hi", "reasoning_steps": STEPS}
    whole = iv.decode({"choices": [{"message": message, "finish_reason": "stop"}]})

    for response in (streamed, whole):
        assert ("Hi", "First search.\n\nThen read.") == (response.text, response.thinking)
        assert STEPS == response.origin.block["reasoning_steps"]


@pytest.mark.parametrize(
    ("texts", "thinking"),
    [
        (["Thinking... "] * 4, "Thinking... "),
        (["Thinking... ", "So it is. ", "So it is. ", "Yes"], "Thinking... So it is. Yes"),
        (["First", "First, add", "First, add up."], "First, add up."),
        (["1", "0", "0", "0"], "1000"),
        (["a longer one", " and", " and", " so"], "a longer one and and so"),
    ],
)
def test_the_repeated_deltas_of_xai(texts, thinking):
    response = deltas(*({"reasoning_content": text} for text in texts), provider="xai")

    assert thinking == response.thinking


def test_other_hosts_may_repeat_themselves():
    response = deltas(*({"reasoning_content": "Thinking... "} for _ in "12"), provider="deepseek")

    assert "Thinking... Thinking... " == response.thinking
