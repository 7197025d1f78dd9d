"""Gemini's Interactions: steps of every kind, whole and in pieces, and requests that other programs write."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import innervoice as iv

DIALECT = "gemini-interactions"
WORDS = st.from_regex("[ab☔{](?: ?[ab☔{]){0,5}", fullmatch=True)
"""Texts that begin and end with a word: how blanks around a text are written is the same in all dialects (`answering/encoder.py`)."""
SEALS = st.sampled_from(["c2VhbA==", "b3RoZXI="])
TEXT = st.fixed_dictionaries(
    {"type": st.just("text"), "text": WORDS},
    optional={"annotations": st.just([{"type": "url_citation", "url": "https://a"}])},
)
IMAGE = st.just({"type": "image", "mime_type": "image/png", "data": "aQ=="})
OTHER = st.just({"type": "hologram", "shape": [1, 2]})
STEPS = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("thought"), "signature": SEALS},
            optional={"summary": st.lists(TEXT | IMAGE, max_size=3)},
        ),
        st.fixed_dictionaries(
            {
                "type": st.just("model_output"),
                "content": st.lists(TEXT | IMAGE | OTHER, min_size=1, max_size=3),
            }
        ),
        st.fixed_dictionaries(
            {"type": st.just("google_search_call"), "id": st.just("s1"), "signature": SEALS},
            optional={"arguments": st.just({"queries": ["a"]})},
        ),
        st.fixed_dictionaries({"type": st.just("teleport_result"), "call_id": st.just("s1")}),
    ),
    min_size=1,
    max_size=6,
)


def interaction(*steps, status="completed", **more):
    body = {"id": "v1_a", "object": "interaction", "status": status, "model": "gemini-3.5-flash"}
    return {**body, "steps": list(steps), **more}


def events(*values):
    """A stream in bytes."""
    frames = [
        f"event: {value['event_type']}\ndata: {json.dumps(value)}\n\n".encode() for value in values
    ]
    return [*frames, b"event: done\ndata: [DONE]\n\n"]


def start(index, **step):
    return {"event_type": "step.start", "index": index, "step": step}


def delta(index, **members):
    return {"event_type": "step.delta", "index": index, "delta": members}


def stop(index, **more):
    return {"event_type": "step.stop", "index": index, **more}


def completed(status="completed", **more):
    body = {"id": "v1_a", "status": status, **more}
    return {"event_type": "interaction.completed", "interaction": body}


def streamed(*values):
    return iv.fold(iv.decode_stream(events(*values)))


def kinds(response):
    return [part.type for part in response.parts]


# ---- answers ---------------------------------------------------------------------------------------


@given(steps=STEPS)
def test_steps_go_back_as_they_came(steps):
    """Whatever an answer has, known or not, a stateless request holds the same steps."""
    call = {"type": "function_call", "id": "c1", "name": "f", "arguments": {"a": 1}}
    response = iv.decode(interaction(*steps, call), provider="gemini", model="gemini-3.5-flash")
    history = [iv.user("q"), response.message, iv.tool_result("c1", "42")]
    request = iv.Request("gemini/gemini-3.5-flash", history, dialect=DIALECT)
    skipped = {"type": "thought", "signature": "skip_thought_signature_validator"}
    sent = [step for step in iv.encode(request).body["input"][1:-1] if step != skipped]

    assert [*steps, call] == sent


@given(steps=STEPS, size=st.integers(1, 9))
def test_a_written_stream_says_what_the_body_says(steps, size):
    """Written as a body and as a stream, an answer has the same text, reasoning, seals and parts."""
    response = iv.decode(interaction(*steps))
    encoder = iv.StreamEncoder(DIALECT, "m")
    data = encoder.feed(iv.Finish(response))
    cut = [data[start : start + size] for start in range(0, len(data), size)]
    again = iv.fold(iv.decode_stream(cut))

    assert steps == encoder.body["steps"]
    assert kinds(response) == kinds(again)
    assert (response.text, response.thinking) == (again.text, again.thinking)
    assert [part.origin.seals for part in response.parts] == [
        part.origin.seals for part in again.parts
    ]


def test_a_thought_in_pieces():
    """A summary of several pieces is one text; the signature comes whole; an image stays where it was."""
    image = {"type": "image", "mime_type": "image/png", "data": "aQ=="}
    response = streamed(
        start(0, type="thought"),
        delta(0, type="thought_summary", content={"type": "text", "text": "First "}),
        delta(0, type="thought_summary", content={"type": "text", "text": "this."}),
        delta(0, type="thought_summary", content=image),
        delta(0, type="thought_summary", content={"type": "text", "text": "Then that."}),
        delta(0, type="thought_signature", signature="c2VhbA=="),
        stop(0),
        completed(),
    )
    (thought,) = response.parts

    assert ("First this.Then that.", "summary", ("signature",)) == (
        thought.text,
        thought.form,
        thought.origin.seals,
    )
    assert [
        {"type": "text", "text": "First this."},
        image,
        {"type": "text", "text": "Then that."},
    ] == thought.origin.block["summary"]


def test_text_goes_on_behind_a_file():
    """A file ends the text before it; citations belong to the text that they follow."""
    response = streamed(
        start(0, type="model_output"),
        delta(0, type="text", text="One"),
        delta(0, type="text_annotation_delta", annotations=[{"type": "url_citation"}]),
        delta(0, type="image", mime_type="image/png", data="aQ=="),
        delta(0, type="text", text="Two"),
        stop(0),
        completed(),
    )

    assert ["text", "media", "text"] == kinds(response)
    assert [{"type": "url_citation"}] == response.parts[0].origin.block["annotations"]
    assert len({part.origin.item for part in response.parts}) == 1


def test_a_call_in_pieces_and_one_that_starts_whole():
    response = streamed(
        start(0, type="function_call", id="a", name="f", arguments={}, signature=""),
        delta(0, type="arguments_delta", arguments='{"x":'),
        delta(0, type="arguments_delta", arguments=" 1}"),
        stop(0),
        start(1, type="function_call", id="b", name="g", arguments={"y": 2}),
        stop(1),
        completed("requires_action"),
    )

    assert [("a", {"x": 1}), ("b", {"y": 2})] == [
        (call.id, json.loads(call.arguments)) for call in response.tool_calls
    ]
    assert ("tool_calls", "requires_action") == (
        response.finish_reason,
        response.wire_finish_reason,
    )


def test_what_comes_without_its_start_is_read():
    """Deltas of a step that never started, and events and deltas that nobody knows, cost nothing of the rest."""
    response = streamed(
        delta(0, type="thought_signature", signature="c2VhbA=="),
        stop(0),
        {"event_type": "interaction.weather", "sun": True},
        delta(1, type="text", text="Yes."),
        stop(1),
        completed(),
    )

    assert ["thinking", "text"] == kinds(response)
    assert ("Yes.", "stop") == (response.text, response.finish_reason)


def test_contents_that_a_start_brings():
    response = streamed(
        start(0, type="thought", signature="c2VhbA==", summary=[{"type": "text", "text": "Hm."}]),
        stop(0),
        start(1, type="model_output", content=[{"type": "text", "text": "Y"}]),
        delta(1, type="text", text="es."),
        stop(1),
        completed(),
    )

    assert ("Hm.", "Yes.") == (response.thinking, response.text)


def test_texts_of_one_step_stay_apart():
    """A stream cannot say where one text ends, so the next has a step of its own; the body has one step again."""
    step = {
        "type": "model_output",
        "content": [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}],
    }
    encoder = iv.StreamEncoder(DIALECT, "m")
    again = iv.fold(iv.decode_stream([encoder.feed(iv.Finish(iv.decode(interaction(step))))]))

    assert ["One.", "Two."] == [part.text for part in again.parts]
    assert [step] == encoder.body["steps"]


def test_steps_that_the_end_repeats_are_not_read_twice():
    """Google leaves them out there, but the type of the event has a place for them; what did not come before is read."""
    said = {"type": "model_output", "content": [{"type": "text", "text": "Yes."}]}
    call = {"type": "function_call", "id": "c", "name": "f", "arguments": {}}
    response = streamed(
        start(0, type="model_output"),
        delta(0, type="text", text="Yes."),
        stop(0),
        completed(steps=[said, call]),
    )

    assert ["text", "tool_call"] == kinds(response)


def test_an_empty_signature_of_a_call_is_not_sent_back():
    response = streamed(
        start(0, type="function_call", id="a", name="f", arguments={}, signature=""),
        delta(0, type="arguments_delta", arguments="{}"),
        stop(0),
        completed("requires_action"),
    )
    history = [iv.user("q"), response.message, iv.tool_result("a", "42")]
    sent = iv.encode(iv.Request("gemini/gemini-2.5-flash", history, dialect=DIALECT)).body["input"]

    assert {"type": "function_call", "id": "a", "name": "f", "arguments": {}} == sent[1]


def test_a_stream_that_breaks_off():
    """An open thought has no seal, and the answer is not called answered."""
    response = iv.fold(
        iv.decode_stream(events(start(0, type="thought"), delta(0, type="thought_signature", signature="c2VhbA=="))[:2])
    )  # fmt: skip

    assert "interrupted" == response.status
    assert (False, ()) == (response.parts[0].complete, response.parts[0].origin.seals)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("completed", "stop"),
        ("requires_action", "tool_calls"),
        ("requires_continuation", "pause"),
        ("incomplete", "length"),
        ("budget_exceeded", "length"),
        ("failed", "error"),
        ("cancelled", "error"),
    ],
)
def test_every_status(status, reason):
    said = {"type": "model_output", "content": [{"type": "text", "text": "a"}]}
    whole = iv.decode(interaction(said, status=status))
    pieces = streamed(
        start(0, type="model_output"), delta(0, type="text", text="a"), stop(0), completed(status)
    )

    assert (reason, status) == (whole.finish_reason, whole.wire_finish_reason)
    assert (reason, status) == (pieces.finish_reason, pieces.wire_finish_reason)


def test_an_unfinished_interaction_is_not_over():
    said = {"type": "model_output", "content": [{"type": "text", "text": "So far"}]}
    response = iv.decode(interaction(said, status="in_progress"))

    assert ("So far", None, "interrupted") == (
        response.text,
        response.finish_reason,
        response.status,
    )


def test_errors():
    """In a stream, of a failed interaction, and of an output."""
    error = {"code": "gateway_timeout", "message": "Deadline expired."}
    said = {"type": "model_output", "error": {"code": 13, "message": "Broken."}}

    event = {"event_type": "error", "error": error}
    assert "Deadline expired." == streamed(start(0, type="thought"), event).error.message
    assert "Deadline expired." == iv.decode(interaction(status="failed", errors=[error])).error.message  # fmt: skip
    assert "Broken." == iv.decode(interaction(said)).error.message


def test_counts():
    """Thoughts are part of our output, and what tools read is part of our input; the counts of a step are those so far."""
    usage = {
        "total_input_tokens": 10,
        "total_tool_use_tokens": 5,
        "total_output_tokens": 7,
        "total_thought_tokens": 20,
        "total_cached_tokens": 3,
    }
    counts = (15, 27, 20, 3)
    for response in (
        iv.decode(interaction(usage=usage)),
        streamed(start(0, type="model_output"), stop(0, usage=usage), completed()),
    ):
        found = response.usage
        assert counts == (
            found.input_tokens,
            found.output_tokens,
            found.reasoning_tokens,
            found.cached_input_tokens,
        )


def test_a_continuation_token_is_kept_and_never_shown():
    response = iv.decode(interaction(status="requires_continuation", continuation_token="secret-token"))  # fmt: skip

    assert "secret-token" in iv.to_json(response).decode()
    assert "secret-token" not in repr(response)
    assert "secret-token" == iv.encode_response(response, DIALECT)["continuation_token"]


# ---- requests --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        "hi",
        {"type": "text", "text": "hi"},
        [{"type": "text", "text": "hi"}],
        [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}],
        [{"type": "user_input", "content": "hi"}],
    ],
)
def test_every_form_of_an_input(given):
    request = iv.decode_request({"model": "m", "input": given}, DIALECT)

    assert [("user", "hi")] == [(message.role, message.text) for message in request.messages]


def test_contents_in_a_row_are_one_message():
    image = {"type": "image", "mime_type": "image/png", "data": "aQ=="}
    request = iv.decode_request(
        {"model": "m", "input": [{"type": "text", "text": "See"}, image]}, DIALECT
    )

    assert [["text", "media"]] == [
        [part.type for part in message.parts] for message in request.messages
    ]


@pytest.mark.parametrize("inside", [False, True], ids=["a step", "in the user's"])
@pytest.mark.parametrize("result", ["42", [{"type": "text", "text": "42"}], {"answer": 42}])
def test_results_of_functions(result, inside):
    """As a step, or among what the user says, as Vercel's SDK writes them; an object goes home as it came."""
    step = {"type": "function_result", "call_id": "c", "name": "f", "result": result}
    call = {"type": "function_call", "id": "c", "name": "f", "arguments": {}}
    held = {"type": "user_input", "content": [step]} if inside else step
    request = iv.decode_request({"model": "gemini/m", "input": ["q", call, held]}, DIALECT)
    found = [part for part in request.messages[-1].parts if isinstance(part, iv.ToolResult)]

    assert ["c"] == [part.call_id for part in found]
    assert "42" in str(found[0].content)
    assert step == iv.encode(request).body["input"][-1]


SETTINGS = {
    "model": "gemini/gemini-3.5-flash",
    "input": [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}],
    "system_instruction": "Be brief.",
    "generation_config": {
        "max_output_tokens": 100,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 5,
        "seed": 7,
        "stop_sequences": ["END"],
        "thinking_level": "low",
        "thinking_summaries": "auto",
        "tool_choice": "any",
    },
    "tools": [
        {"type": "function", "name": "f", "description": "F.", "parameters": {"type": "object"}},
        {"type": "google_search"},
    ],
    "response_format": {
        "type": "text",
        "mime_type": "application/json",
        "schema": {"type": "object", "properties": {"a": {"type": "string"}}},
    },
    "store": False,
    "stream": True,
    "labels": {"team": "a"},
    "previous_interaction_id": "v1_b",
}


def test_every_setting_is_read_and_written_again():
    request = iv.decode_request(SETTINGS, DIALECT)

    assert {**SETTINGS, "model": "gemini-3.5-flash"} == iv.encode(request).body
    assert ("low", "summary", "required", False) == (
        request.reasoning.effort,
        request.reasoning.show,
        request.tool_choice,
        request.store,
    )


@pytest.mark.parametrize(
    ("choice", "elsewhere"),
    [
        ("validated", {"type": "auto"}),
        ({"allowed_tools": {"mode": "any", "tools": ["f"]}}, {"type": "tool", "name": "f"}),
        ({"allowed_tools": {"mode": "any", "tools": ["f", "g"]}}, {"type": "any"}),
        ("none", {"type": "none"}),
    ],
)
def test_tool_choices(choice, elsewhere):
    """At home a choice is what it was; elsewhere it is the nearest that the API has."""
    config = {"tool_choice": choice}
    tools = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in "fg"]
    body = {"model": "gemini/gemini-3.5-flash", "input": "hi", "tools": tools}
    request = iv.decode_request({**body, "generation_config": config}, DIALECT)
    abroad = iv.encode(request.replace(model="anthropic/claude-haiku-4-5", dialect=None))

    assert choice == iv.encode(request).body["generation_config"]["tool_choice"]
    assert elsewhere == abroad.body["tool_choice"]


def test_the_header_names_the_revision():
    wire = iv.encode(iv.Request("gemini/gemini-3.5-flash", [iv.user("hi")], dialect=DIALECT))

    assert "2026-05-20" == wire.headers["api-revision"]


def test_a_history_of_steps_is_recognised():
    """Not taken for the Responses API, whose calls have the same type."""
    steps = [
        {"type": "user_input", "content": [{"type": "text", "text": "q"}]},
        {"type": "function_call", "id": "c", "name": "f", "arguments": {}},
        {"type": "function_result", "call_id": "c", "result": "42"},
    ]
    plan = iv.plan(steps, "anthropic/claude-opus-5-5")

    assert ["user", "assistant", "tool"] == [message.role for message in plan.messages]
