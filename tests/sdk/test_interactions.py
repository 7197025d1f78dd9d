"""google-genai's `interactions` and ours: the SDK against the emulator, and what each reads of the other's."""

import json

import pytest

import innervoice as iv
from sdk.loops import NAME, QUESTION, SCHEMA, STREAMED, Ended, check, get_weather, read, unchanged
from sdk.server import JSON, SSE, pieces, serve

genai = pytest.importorskip("google.genai")

MODEL = "gemini-3.5-flash"
TOOL = {"type": "function", "name": NAME, "description": "Weather.", "parameters": SCHEMA}
DIALECT = "gemini-interactions"
REFUSED = {
    "dropped": lambda steps: [step for step in steps if step["type"] != "thought"],
    "unsigned": lambda steps: [
        {**step, "signature": ""} if step["type"] == "thought" else step for step in steps
    ],
    "forged": lambda steps: [
        {**step, "signature": "Zm9yZ2Vk"} if step["type"] == "thought" else step for step in steps
    ],
}


def client(address):
    return genai.Client(api_key="dummy", http_options={"base_url": address})


def folded(events):
    """The steps of a stream as a user of the SDK puts them together."""
    steps = {}
    for event in events:
        if event.event_type == "step.start":
            steps[event.index] = event.step.model_dump(exclude_none=True)
            steps[event.index].pop("arguments", None)
        if event.event_type != "step.delta":
            continue
        step, delta = steps[event.index], event.delta
        match delta.type:
            case "text":
                content = step.setdefault("content", [{"type": "text", "text": ""}])
                content[0]["text"] += delta.text
            case "thought_summary":
                step.setdefault("summary", []).append(delta.content.model_dump(exclude_none=True))
            case "thought_signature":
                step["signature"] = delta.signature
            case "arguments_delta":
                step["arguments"] = step.get("arguments", "") + delta.arguments
    for step in steps.values():
        if isinstance(step.get("arguments"), str):
            step["arguments"] = json.loads(step["arguments"])
    return list(steps.values())


def interactions_loop(
    emulator, *, streamed=False, stored=False, shown=True, send=unchanged
) -> Ended:
    """A tool loop: with all steps in each request, or with the id of the interaction before."""
    settings = {"thinking_level": "high", "thinking_summaries": "auto" if shown else "none"}
    request = {"model": MODEL, "tools": [TOOL], "generation_config": settings, "store": stored}
    history = [{"type": "user_input", "content": [{"type": "text", "text": QUESTION}]}]
    calls, thoughts, new, previous = [], [], list(history), {}
    with client(f"{emulator.url}/gemini") as sdk:
        while True:
            given = new if stored else send(history)
            answer = sdk.interactions.create(input=given, stream=streamed, **previous, **request)
            if streamed:
                answer = list(answer)
                steps, name = folded(answer), answer[-1].interaction.id
            else:
                steps = [step.model_dump(exclude_none=True) for step in answer.steps]
                name = answer.id
            history += steps
            made = [step for step in steps if step["type"] == "function_call"]
            calls.append(len(made))
            entries = [entry for step in steps for entry in step.get("summary", [])]
            thoughts.append("".join(entry["text"] for entry in entries))
            if not made:
                text = "".join(
                    content["text"] for step in steps for content in step.get("content", [])
                )
                return Ended(text, calls, thoughts, read(answer, streamed=streamed))
            new = [
                {
                    "type": "function_result",
                    "name": call["name"],
                    "call_id": call["id"],
                    "result": [{"type": "text", "text": get_weather(**call["arguments"])}],
                }
                for call in made
            ]
            history += new
            previous = {"previous_interaction_id": name} if stored else {}


@STREAMED
@pytest.mark.parametrize("stored", [True, False], ids=["stored", "stateless"])
@pytest.mark.parametrize("shown", [True, False], ids=["shown", "hidden"])
def test_a_loop(emulator, shown, stored, streamed):
    """It goes through with the steps that the SDK gave, or with ids alone."""
    ended = interactions_loop(emulator, streamed=streamed, stored=stored, shown=shown)

    check(ended, emulator, shown=shown)


@STREAMED
@pytest.mark.parametrize("how", REFUSED)
def test_a_loop_without_its_thoughts_is_refused(emulator, how, streamed):
    """As Google does: a thought that is missing, or has another signature, or none."""
    errors = genai._gaos.lib.compat_errors
    words = "Request contains an invalid argument"
    with pytest.raises(errors.BadRequestError, match=words):
        interactions_loop(emulator, streamed=streamed, send=REFUSED[how])

    assert 2 == emulator.taken()


def test_an_interaction_that_is_not_stored(emulator):
    """Neither one that never was, nor one that was asked not to be kept."""
    errors = genai._gaos.lib.compat_errors
    with client(f"{emulator.url}/gemini") as sdk:
        answer = sdk.interactions.create(model=MODEL, input="What is 2 + 2?", store=False)
        for name in ("v1_nothing", answer.id):
            with pytest.raises(errors.NotFoundError):
                sdk.interactions.create(model=MODEL, input="x", previous_interaction_id=name)
        kept = sdk.interactions.create(model=MODEL, input="What is 2 + 2?")

        assert "2 + 2 = 4." == sdk.interactions.get(kept.id).output_text
    emulator.taken()


# ---- the same answer, read by both -------------------------------------------------------------------

STEPS = [
    {
        "type": "thought",
        "signature": "c2lnbmVk",
        "summary": [
            {"type": "text", "text": "**Plan**\n\nFirst the weather.\n"},
            {"type": "image", "mime_type": "image/png", "data": "aW1hZ2U="},
        ],
    },
    {
        "type": "google_search_call",
        "id": "s1",
        "signature": "c2VhcmNo",
        "arguments": {"queries": ["weather Köln"]},
    },
    {"type": "google_search_result", "call_id": "s1", "result": [{"search_suggestions": "x"}]},
    {
        "type": "model_output",
        "content": [
            {
                "type": "text",
                "text": "Let me look: ☔",
                "annotations": [{"type": "url_citation", "url": "https://a", "start_index": 0}],
            },
            {"type": "image", "mime_type": "image/png", "data": "aW1hZ2U="},
        ],
    },
    {"type": "function_call", "id": "c1", "name": "weather", "arguments": {"city": "Köln"}},
]
BODY = {
    "id": "v1_a",
    "object": "interaction",
    "status": "requires_action",
    "model": MODEL,
    "steps": STEPS,
    "created": "2026-01-01T00:00:00Z",
    "updated": "2026-01-01T00:00:00Z",
    "usage": {
        "total_tokens": 60,
        "total_input_tokens": 10,
        "total_output_tokens": 20,
        "total_thought_tokens": 30,
    },
}


def whole_answer(data):
    with serve(data, JSON) as address, client(address) as sdk:
        return sdk.interactions.create(model=MODEL, input="How is Köln?")


def streamed_answer(data):
    with serve(data, SSE) as address, client(address) as sdk:
        return list(sdk.interactions.create(model=MODEL, input="How is Köln?", stream=True))


def test_the_sdk_reads_what_our_writer_wrote():
    """An answer of every kind of step is read by us, written by us, and read by the SDK: the same steps."""
    written = iv.encode_response(iv.decode(json.dumps(BODY), dialect=DIALECT), DIALECT)
    answer = whole_answer(json.dumps(written).encode())

    assert STEPS == written["steps"]
    assert STEPS == [step.model_dump(exclude_none=True) for step in answer.steps]
    assert ("requires_action", 30) == (answer.status, answer.usage.total_thought_tokens)


def test_the_sdk_reads_the_stream_that_our_writer_wrote():
    response = iv.decode(json.dumps(BODY), dialect=DIALECT)
    encoder = iv.StreamEncoder(DIALECT, MODEL)
    events = streamed_answer(encoder.feed(iv.Finish(response)))
    kinds = [event.event_type for event in events]
    deltas = [event.delta for event in events if event.event_type == "step.delta"]

    assert ["interaction.created", "interaction.completed"] == [kinds[0], kinds[-1]]
    assert not any(getattr(delta, "is_unknown", False) for delta in deltas)
    assert [step["type"] for step in STEPS] == [
        event.step.type for event in events if event.event_type == "step.start"
    ]
    assert ["c2lnbmVk"] == [one.signature for one in deltas if one.type == "thought_signature"]


@pytest.mark.parametrize("size", [1, 13, 100_000])
def test_we_read_what_the_sdk_reads(size):
    """The objects of the SDK, whole and streamed, say what the bytes say, cut anywhere."""
    response = iv.decode(json.dumps(BODY), dialect=DIALECT)
    stream = iv.StreamEncoder(DIALECT, MODEL).feed(iv.Finish(response))
    ours = iv.fold(iv.decode_stream(pieces(stream, size)))
    theirs = iv.fold(iv.decode_stream(streamed_answer(stream)))

    assert [part.type for part in response.parts] == [part.type for part in ours.parts]
    assert (response.text, response.thinking) == (ours.text, ours.thinking)
    assert [part.type for part in ours.parts] == [part.type for part in theirs.parts]
    assert (ours.text, ours.thinking, ours.finish_reason) == (
        theirs.text,
        theirs.thinking,
        theirs.finish_reason,
    )
    assert [(call.id, json.loads(call.arguments)) for call in ours.tool_calls] == [
        (call.id, json.loads(call.arguments)) for call in theirs.tool_calls
    ]
    whole = iv.decode(whole_answer(json.dumps(BODY).encode()))
    assert (response.text, response.thinking, response.tool_calls[0].arguments) == (
        whole.text,
        whole.thinking,
        whole.tool_calls[0].arguments,
    )
