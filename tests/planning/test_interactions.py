"""How steps of Gemini's Interactions go back, and that the emulator, which checks as Google does, accepts it (H1, H2, H4, H10)."""

import pytest

import innervoice as iv
from emulator.talk import TOOL, Refused, send, weather
from innervoice.emulator import Emulator

DIALECT = "gemini-interactions"
GEMINI = "gemini/gemini-3.5-flash"
MODELS = [GEMINI, "gemini/gemini-2.5-flash", "gemini/gemini-4-argon"]
QUESTION = "What is the weather in Paris and Rome, then the weather in Oslo?"
SKIP = "skip_thought_signature_validator"
OTHERS = {
    "gemini": GEMINI,
    "anthropic": "anthropic/claude-opus-5-5",
    "openai-responses": "openai/gpt-5.6",
    "openai-chat": "deepseek/deepseek-v4-pro",
}


def asked(model, history, dialect=DIALECT, **settings):
    shown = iv.Reasoning("high", show="summary")
    return iv.Request(model, history, dialect=dialect, tools=[TOOL], reasoning=shown, **settings)


def answered(emulator, request, **how):
    return send(emulator, request.model, iv.encode(request), **how).response


def step(emulator, model, history, dialect=DIALECT, **settings):
    """One step of a tool loop: the history with the answer, and with the results of its calls."""
    response = answered(emulator, asked(model, history, dialect, **settings))
    return [*history, response.message, *map(weather, response.tool_calls)]


def signatures(wire):
    return [item["signature"] for item in wire.body["input"] if item.get("type") == "thought"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_loop_has_every_thought_in_it(model, stream):
    """Stateless: each request has the thoughts of all steps before it, signed as they came."""
    emulator, history = Emulator(), [iv.user(QUESTION)]
    for number in range(3):
        wire = iv.encode(asked(model, history, stream=stream))
        assert number == len(signatures(wire))
        assert SKIP not in signatures(wire)
        history = step(emulator, model, history, stream=stream)

    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == history[-1].text


@pytest.mark.parametrize("other", OTHERS)
def test_a_loop_that_began_elsewhere(other):
    """Foreign thoughts stay in the history; where Gemini demands one, its placeholder stands."""
    emulator, model = Emulator(), OTHERS[other]
    history = step(emulator, model, [iv.user(QUESTION)], other)
    request = asked(GEMINI, history)
    wire = iv.encode(request)

    assert [SKIP] == signatures(wire)
    assert "signature_filled" in [note.code for note in wire.notes]
    assert answered(emulator, request).tool_calls


def test_a_thought_behind_a_call_did_not_lead_to_it():
    """Only what stands before the first call signs the step."""
    steps = [
        {"type": "function_call", "id": "c", "name": "get_weather", "arguments": {"city": "Oslo"}},
        {"type": "thought", "signature": "c2VhbA=="},
    ]
    body = {"object": "interaction", "status": "requires_action", "steps": steps}
    response = iv.decode(body, provider="gemini", model="gemini-3.5-flash")
    history = [iv.user(QUESTION), response.message, iv.tool_result("c", "Oslo: sunny")]

    assert [SKIP, "c2VhbA=="] == signatures(iv.encode(asked(GEMINI, history)))


def test_no_placeholder_for_models_that_demand_none():
    emulator = Emulator()
    history = step(emulator, OTHERS["anthropic"], [iv.user(QUESTION)], "anthropic")
    request = asked("gemini/gemini-2.5-flash", history)

    assert [] == signatures(iv.encode(request))
    assert answered(emulator, request).tool_calls


@pytest.mark.parametrize("other", OTHERS)
def test_its_thoughts_go_nowhere_else(other):
    """Not even to generateContent, whose signatures stand elsewhere."""
    emulator = Emulator()
    history = step(emulator, GEMINI, [iv.user(QUESTION)])
    seals = signatures(iv.encode(asked(GEMINI, history)))
    request = asked(OTHERS[other], history, other)
    sent = str(iv.encode(request).body)

    assert seals
    assert all(seal not in sent for seal in seals)
    assert answered(emulator, request).tool_calls


def test_a_thought_that_was_never_signed_is_left_out():
    """Google may send one beside a call, and refuses it when it comes back."""
    steps = [
        {"type": "thought", "signature": "", "summary": [{"type": "text", "text": "Hm."}]},
        {"type": "function_call", "id": "c", "name": "get_weather", "arguments": {"city": "Oslo"}},
    ]
    body = {"object": "interaction", "status": "requires_action", "steps": steps}
    response = iv.decode(body, provider="gemini", model="gemini-3.5-flash")
    history = [iv.user(QUESTION), response.message, iv.tool_result("c", "Oslo: sunny")]
    request = asked(GEMINI, history)

    assert "Hm." == response.thinking
    assert [SKIP] == signatures(iv.encode(request))
    assert answered(Emulator(), request)


def test_an_interrupted_thought_is_not_sent():
    emulator = Emulator()
    request = asked(GEMINI, [iv.user("What is 2 + 2?")], stream=True)
    whole = send(emulator, GEMINI, iv.encode(request))
    cut = whole.raw.index(b"thought_signature")
    part = send(emulator, GEMINI, iv.encode(request), cut=cut).response
    history = [iv.user("What is 2 + 2?"), part.message, iv.user("Go on.")]

    assert not part.parts[0].complete
    assert [] == signatures(iv.encode(asked(GEMINI, history)))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_stored_conversation_gets_what_is_new(stream):
    """H10: behind `previous_interaction_id` only the results and the next question are sent."""
    emulator, history, more = Emulator(), [iv.user(QUESTION)], {}
    for number in range(3):
        request = asked(GEMINI, history, store=True, stream=stream, **more)
        kinds = [item["type"] for item in iv.encode(request).body["input"]]
        assert [["user_input"], ["function_result"] * 2, ["function_result"]][number] == kinds
        response = answered(emulator, request)
        history = [*history, response.message, *map(weather, response.tool_calls)]
        more = {"extra": {"previous_interaction_id": response.id}}

    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == response.text


# ---- what the emulator refuses, as Google does ---------------------------------------------------------


def thought(body):
    return next(item for item in body["input"] if item["type"] == "thought")


EDITS = {
    "missing": lambda body: body["input"].remove(thought(body)),
    "empty": lambda body: thought(body).update(signature=""),
    "without a signature": lambda body: thought(body).pop("signature"),
    "forged": lambda body: thought(body).update(signature="Zm9yZ2Vk"),
    "edited": lambda body: thought(body).update(signature="A" + thought(body)["signature"][1:]),
    "a call without its result": lambda body: body["input"].pop(),
    "a result without its call": lambda body: body["input"][-1].update(call_id="other"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_history_is_refused(edit):
    emulator = Emulator()
    wire = iv.encode(asked(GEMINI, step(emulator, GEMINI, [iv.user(QUESTION)])))
    send(emulator, GEMINI, wire)
    EDITS[edit](wire.body)
    with pytest.raises(Refused, match=r"Request contains an invalid argument.*invalid_request"):
        send(emulator, GEMINI, wire)


def test_signatures_belong_to_an_account():
    emulator = Emulator()
    wire = iv.encode(asked(GEMINI, step(emulator, GEMINI, [iv.user(QUESTION)])))
    with pytest.raises(Refused, match="invalid argument"):
        send(emulator, GEMINI, wire, key="another")


@pytest.mark.parametrize(
    ("model", "config", "words"),
    [
        ("gemini-3.7-flash", {"thinking_level": "minimal"}, "MINIMAL is not supported"),
        ("gemini-2.5-flash", {"thinking_level": "low"}, "Thinking level is not supported"),
        ("gemini-2.0-flash", {"thinking_summaries": "auto"}, "Thinking is not supported"),
        ("gemini-3.5-flash", {"thinking_budget": 500}, "generation_config.thinking_budget"),
    ],
)
def test_settings_that_are_refused(model, config, words):
    wire = iv.encode(iv.Request(f"gemini/{model}", [iv.user("hi")], dialect=DIALECT))
    send(Emulator(), f"gemini/{model}", wire)
    with pytest.raises(Refused, match=words):
        send(
            Emulator(),
            f"gemini/{model}",
            wire.replace(body={**wire.body, "generation_config": config}),
        )


def test_a_stored_call_without_its_result_is_refused():
    emulator = Emulator()
    response = answered(emulator, asked(GEMINI, [iv.user(QUESTION)], store=True))
    extra = {"previous_interaction_id": response.id}
    with pytest.raises(Refused, match="invalid argument"):
        answered(emulator, asked(GEMINI, [iv.user("Never mind.")], extra=extra))


def test_an_interaction_that_is_not_stored():
    emulator = Emulator()
    response = answered(emulator, asked(GEMINI, [iv.user("What is 2 + 2?")], store=False))
    extra = {"previous_interaction_id": response.id}
    with pytest.raises(Refused, match=r"404.*not found"):
        answered(emulator, asked(GEMINI, [iv.user("Go on.")], extra=extra))
