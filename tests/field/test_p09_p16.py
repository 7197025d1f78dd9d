"""P09 to P16: signatures of other models or accounts, bound signatures, and signatures in pieces."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import innervoice as iv
from emulator.talk import Refused, send
from field.situations import completion, noted
from field.witness import (
    LOOP,
    TOOL,
    Witness,
    answer_calls,
    client_of,
    get_weather,
    stored,
    turns_of,
)
from innervoice import show
from innervoice.emulator import Emulator
from innervoice.emulator.naive import naive_wire

CLAUDE, FABLE, OPUS = (
    "anthropic/claude-opus-4-6",
    "anthropic/claude-fable-5-2",
    "anthropic/claude-opus-5-5",
)
BEDROCK = "bedrock/us.anthropic.claude-sonnet-4-5-v1:0"


def seals_in(body):
    """The signatures in a body, in order."""
    blocks = [block for turn in turns_of(body) for block in turn["content"]]
    return [block["signature"] for block in blocks if "signature" in block]


def test_p09_blocks_of_several_models_in_one_history():
    """P09. A request has only the blocks that its model can read; the others stay in the history for later.

    Elsewhere: after a switch of model or provider every later request is refused because of a signature
    (https://github.com/vybestack/llxprt-code/issues/2335, https://github.com/openclaw/openclaw/issues/29375).
    Here: each part records the model that wrote it, and rows of data say which model can read which; nothing is lost.
    Seen failing: catalog.home.reads always true; a conversation whose history becomes what was sent.
    """
    witness = Witness()
    client = client_of(witness)
    chat = client.conversation(FABLE, reasoning="high")
    chat.ask("What is 1 + 1?")
    chat.switch(CLAUDE).ask("What is 2 + 2?")
    foreign = client.ask("minimax/MiniMax-M2", "What is 3 + 3?", dialect="anthropic")
    chat.history += [iv.user("What is 3 + 3?"), foreign.message]
    ours = [json.loads(raw)["content"][0]["signature"] for raw in witness.answered]
    chat.history = stored(chat.history)

    assert 3 == len(set(ours))
    assert "4 + 4 = 8." == chat.ask("What is 4 + 4?").text
    assert ours[1:2] == seals_in(witness.sent[-1])
    assert "5 + 5 = 10." == chat.switch(FABLE).ask("What is 5 + 5?").text
    assert ours[:2] == seals_in(witness.sent[-1])[:2]
    assert all(seal.encode() in iv.to_json(chat.history) for seal in ours)
    assert [200] * 5 == witness.statuses


ORIGINS = [
    ({"provider": "gemini", "model": "gemini-3.5-flash", "scope": "a"}, True),
    ({"provider": "gemini", "model": "gemini-3-pro", "scope": "a"}, True),
    ({"provider": "vertex", "model": "gemini-3.5-flash", "scope": "a"}, False),
    ({"provider": "gemini", "model": "gemma-4-27b", "scope": "a"}, False),
    ({"provider": "gemini", "model": "gemini-3.5-flash", "scope": "b"}, False),
]


@pytest.mark.parametrize(("origin", "is_home"), ORIGINS)
def test_p10_a_signature_goes_by_provider_family_and_account(origin, is_home):
    """P10. A signature is sent only to the provider, the model family and the account that it came from.

    Elsewhere: a cache keyed by the id of a call puts Claude's signature on Gemini's call
    (https://github.com/decolua/9router/issues/4136, https://github.com/badrisnarayanan/antigravity-claude-proxy/issues/18).
    Here: the origin of a part has its signature and all three; call ids are not used as keys.
    Seen failing: is_home without its comparisons of provider, of scope, and of families.
    """
    part = {"functionCall": {"id": "c1", "name": "get_weather", "args": {"city": "Rome"}}, "thoughtSignature": "Z2VtaW5p"}  # fmt: skip
    body = {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}
    turn = iv.decode(body, **origin).message
    claude = iv.decode(
        {
            "type": "message",
            "content": [
                {"type": "thinking", "thinking": "R", "signature": "Y2xhdWRl"},
                {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {}},
            ],
            "stop_reason": "tool_use",
        },
        provider="anthropic",
        model="claude-opus-4-6",
    ).message
    result = iv.tool_result("c1", "sun")
    history = stored([iv.user("x"), claude, result, turn, result])
    wire = iv.encode(iv.Request("gemini/gemini-3.5-flash", history, scope="a"))

    skip = "skip_thought_signature_validator"
    signed = [turn["parts"][0]["thoughtSignature"] for turn in turns_of(wire.body)]
    assert [skip, "Z2VtaW5p" if is_home else skip] == signed
    assert "Y2xhdWRl" not in json.dumps(wire.body)


EDITS = {
    "the system prompt": ({"system": "Be verbose."}, None, [1, 3]),
    "the tools": ({"tools": [TOOL, iv.Tool("other", "Another.", {"type": "object"})]}, None, [1, 3]),
    "a message before it was edited": ({}, (2, "What is 9 + 9?"), [3]),
}  # fmt: skip


@pytest.mark.parametrize("what", EDITS)
def test_p11_an_edit_before_bound_thinking(what):
    """P11. Before anything is sent, lint reports edits that invalidate thinking, and the plan leaves the invalid blocks out.

    Elsewhere: editing the system prompt, the tools or a message invalidates the block and all later ones; only the API reports it
    (https://github.com/anomalyco/opencode/pull/46653, https://github.com/pydantic/pydantic-ai/pull/7989).
    Here: each block has a digest of everything before it; lint names the edit, and the plan leaves out exactly the invalid ones.
    Seen failing: ReasoningRules._bound keeping every block; Prefix without the system and the tools.
    """
    settings, edit, dead = EDITS[what]
    witness = Witness()
    client = client_of(witness)
    history = []
    given = {"system": "Be brief.", "tools": [TOOL], "reasoning": "high"}
    for question in ("What is 2 + 2?", "What is 3 + 3?"):
        history.append(iv.user(question))
        history.append(client.ask(OPUS, history, **given).message)
    history = [*stored(history), iv.user("What is 4 + 4?")]
    assert [] == iv.lint(history, OPUS, **given)
    given |= settings
    if edit:
        history[edit[0]] = iv.user(edit[1])

    problems = iv.lint(history, OPUS, **given)
    assert [("prefix_changed", number) for number in dead] == [
        (p.code, p.message) for p in problems
    ]
    assert all(what in problem.why for problem in problems)
    with pytest.raises(Refused, match="bound to a different conversation"):
        send(witness, OPUS, naive_wire(iv.Request(OPUS, history, **given)), key="emulator")
    response = client.ask(OPUS, history, **given)
    assert "4 + 4 = 8." == response.text
    assert 2 - len(dead) == len(seals_in(witness.sent[-1]))
    assert "prefix_changed" in noted(response)
    assert "recovered_after_refusal" not in noted(response)


def test_p11_a_block_is_bound_by_the_one_who_wrote_it():
    """P11. After an edit, thinking of a model that binds it is invalid for every reader, and other thinking for none.

    Elsewhere: no client checks this before sending (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking).
    Here: the row of the model that wrote the block decides whether it is bound, not the row of the target.
    Seen failing: ReasoningRules._binding by the row of the target.
    """
    witness = Witness()
    client = client_of(witness)
    for writer, reader, dead in (("claude-haiku-5-5", CLAUDE, 1), ("claude-opus-4-6", FABLE, 0)):
        first = [iv.user("What is 2 + 2?")]
        turn = client.ask(f"anthropic/{writer}", first, system="Be brief.", reasoning="high")
        history = stored([*first, turn.message, iv.user("What is 3 + 3?")])
        response = client.ask(reader, history, system="Be verbose.", reasoning="high")
        assert "3 + 3 = 6." == response.text
        assert 1 - dead == len(seals_in(witness.sent[-1]))
        assert dead == ("prefix_changed" in noted(response))
    assert [200] * 4 == witness.statuses


texts = st.text(min_size=1, max_size=30)
seals = st.text("abcXYZ012+/=", min_size=4, max_size=40)
calls = st.builds(
    lambda number, city: {"type": "tool_use", "id": f"toolu_{number}", "name": "get_weather", "input": {"city": city}},
    st.integers(0, 10**9), st.text(max_size=9),
)  # fmt: skip
blocks = st.one_of(
    st.builds(lambda text, seal: {"type": "thinking", "thinking": text, "signature": seal}, st.text(max_size=30), seals),
    st.builds(lambda seal: {"type": "redacted_thinking", "data": seal}, seals),
    st.builds(lambda text: {"type": "text", "text": text}, texts),
    calls,
)  # fmt: skip


@given(st.lists(blocks, max_size=6, unique_by=lambda block: block.get("id", id(block))), calls)
def test_p12_the_latest_turn_is_never_modified(content, last):
    """P12. Reading and writing any Claude turn gives the same content: order, count, white space and every character.

    Elsewhere: trimming, merging or dropping one of several blocks makes the session unusable
    (https://github.com/anthropics/claude-code/issues/63361, https://github.com/vybestack/llxprt-code/issues/1653).
    Here: random turns with thinking, redacted thinking, text and calls in any order are equal afterwards, also from a file.
    Seen failing: the Anthropic writer joining neighbouring texts; Planner dropping thinking behind a text.
    """
    received = [*[block for block in content if block.get("id") != last["id"]], last]
    body = {"type": "message", "role": "assistant", "content": received, "stop_reason": "tool_use"}
    turn = iv.decode(json.dumps(body), provider="anthropic", model="claude-opus-4-6").message
    history = stored([iv.user("x"), turn, *answer_calls(turn)])

    wire = iv.encode(iv.Request(CLAUDE, history, tools=[TOOL], reasoning="high"))
    assert json.dumps(received) == json.dumps(turns_of(wire.body)[0]["content"])


CUT = [
    "anthropic/claude-sonnet-4-5", OPUS, BEDROCK, "gemini/gemini-3.5-flash", "openai/gpt-5.6", "deepseek/deepseek-v4-pro",
    "openrouter/anthropic/claude-sonnet-4.5", "minimax/MiniMax-M2",
]  # fmt: skip


@pytest.mark.parametrize("model", CUT)
def test_p13_a_stream_cut_at_every_byte(model):
    """P13. Wherever a stream is cut off, incomplete blocks are marked and never sent as signed, and the conversation can go on.

    Elsewhere: an interrupted stream leaves half a signature in the history, and every later turn fails
    (https://github.com/anthropics/claude-code/issues/63943, https://github.com/openclaw/openclaw/issues/84430).
    Here: a part is complete if the API ended it; others can be read, have no signature, and are left out of the next request.
    Seen failing: ReasoningRules.fitted without its rules about interrupted and unsigned parts; AnthropicReader calling every
    part complete.
    """
    witness = Witness()
    settings = {"tools": [TOOL], "reasoning": iv.Reasoning("high", show="summary")}
    question = iv.user("The weather in Paris?")
    request = iv.Request(model, [question], stream=True, **settings)
    whole = send(witness, model, iv.encode(request), behave="size=60, pieces=2")
    provider, _, name = model.partition("/")
    accepted = set()
    for cut in range(len(whole.raw)):
        chunks = [whole.raw[:cut]]
        came = iv.fold(iv.decode_stream(chunks, provider=provider, model=name, request=request))
        for part in came.parts:
            if part.complete:
                assert part in whole.response.parts
            elif isinstance(part, iv.Thinking):
                assert part.text.strip() in (whole.response.thinking or "")
                assert part.origin is None or not part.origin.seals
        history = [question, came.message, iv.user("What is 2 + 2?")]
        wire = iv.encode(iv.Request(model, stored(history), **settings))
        body = json.dumps(wire.body)
        if body not in accepted:
            accepted.add(body)
            assert send(witness, model, wire).response.status in ("answered", "tool_calls")
    assert len(accepted) > 1


def streamed(content):
    """A turn as the Messages API streams it, with the signature in a separate delta."""
    events = [{"type": "message_start", "message": {"id": "m", "role": "assistant"}}]
    for index, block in enumerate(content):
        empty = {name: "" if name in ("thinking", "signature", "text") else value for name, value in block.items()}  # fmt: skip
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        for name in ("thinking", "text", "signature"):
            if block.get(name):
                delta = {"type": f"{name}_delta", name: block[name]}
                events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]  # fmt: skip
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


SHAPES = [
    {"type": "thinking", "thinking": "Text only.", "signature": ""},
    {"type": "thinking", "thinking": "", "signature": "c2lnbmVkIG9ubHk="},
    {"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="},
    {"type": "thinking", "thinking": "Both.", "signature": "c2lnbmVkIHRleHQ="},
    {"type": "text", "text": "The answer."},
]


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_p14_a_stream_gives_what_the_whole_answer_gives(size):
    """P14. Blocks with text, with a signature, with both or with neither are the same in a stream and in a complete response.

    Elsewhere: stream builders expect text and signature together, or treat a block with only a signature as empty
    (https://github.com/BerriAI/litellm/issues/33034, https://github.com/OpenRouterTeam/ai-sdk-provider/issues/423).
    Here: the same reader reads both, however the bytes are split; only unsigned blocks are left out of the next request.
    Seen failing: AnthropicReader ignoring the signature of a block that has no text.
    """
    body = {"type": "message", "id": "m", "role": "assistant", "content": SHAPES, "stop_reason": "end_turn"}  # fmt: skip
    hints = {"provider": "anthropic", "model": "claude-opus-4-6"}
    raw = streamed(SHAPES).encode()
    chunks = [raw[at : at + size] for at in range(0, len(raw), size)]
    together = iv.fold(iv.decode_stream(chunks, **hints))

    assert iv.decode(body, **hints).message == together.message
    wire = iv.encode(iv.Request(CLAUDE, stored([iv.user("x"), together.message, iv.user("y")])))
    assert SHAPES[1:] == turns_of(wire.body)[0]["content"]


@pytest.mark.parametrize("behave", ["pieces=3", "redact, pieces=3", "hide"])
def test_p14_bedrock_streams_what_it_says_whole(behave):
    """P14. A Converse response gives the same turn, complete and as an event stream.

    Elsewhere: the signature and the redacted content of a stream are dropped (https://github.com/BerriAI/litellm/pull/38809).
    Here: the deltas add up to the complete response, signatures included.
    Seen failing: ConverseReader leaving the signature of a delta out.
    """
    request = iv.Request(BEDROCK, [iv.user(LOOP)], tools=[TOOL], reasoning="high", max_tokens=9000)
    emulator = Emulator()
    whole, pieces = (
        send(emulator, BEDROCK, iv.encode(request.replace(stream=stream)), behave=behave)
        for stream in (False, True)
    )
    assert whole.response.message == pieces.response.message
    assert any(part.origin.seals for part in whole.response.parts)


FRAGMENTS = [
    {"type": "reasoning.text", "text": "First ", "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.text", "text": "thought.", "index": 0},
    {"type": "reasoning.text", "signature": "Zmlyc3Q=", "index": 0},
    {"type": "reasoning.text", "text": "Second.", "signature": "c2Vjb25k", "index": 1},
    {"type": "reasoning.encrypted", "data": "b3BhcXVl", "id": "rs_1", "index": 2},
]
ENTRIES = [
    {"type": "reasoning.text", "text": "First thought.", "format": "anthropic-claude-v1", "index": 0, "signature": "Zmlyc3Q="},
    *FRAGMENTS[3:],
]  # fmt: skip


def test_p15_fragments_of_reasoning_details():
    """P15. Fragments with the same index become one entry, with its text and signature, which is sent back once.

    Elsewhere: fragments are stored separately, or the list is repeated on every call of the turn
    (https://github.com/Kilo-Org/kilo/issues/303, https://github.com/agno-agi/agno/pull/5802).
    Here: type and index identify an entry, and the list is sent back once, on the message.
    Seen failing: ReasoningFields keyed by a running number instead of the index.
    """
    names = [{"index": n, "id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in (0, 1)]  # fmt: skip
    deltas = [{"reasoning": entry.get("text"), "reasoning_details": [entry]} for entry in FRAGMENTS]
    deltas += [{"tool_calls": [call]} for call in names]
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    raw = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    model = "anthropic/claude-sonnet-4.5"
    response = iv.decode(raw.encode(), provider="openrouter", model=model)
    history = stored([iv.user("x"), response.message, *(iv.tool_result(f"c{n}", "1") for n in (0, 1))])  # fmt: skip
    wire = iv.encode(iv.Request(f"openrouter/{model}", history))

    assert "First thought.\n\nSecond." == response.thinking
    (turn,) = turns_of(wire.body)
    assert ENTRIES == turn["reasoning_details"]
    assert 1 == json.dumps(wire.body).count("Zmlyc3Q=")
    whole = completion(None, finish="tool_calls", tool_calls=turn["tool_calls"], reasoning_details=ENTRIES)  # fmt: skip
    assert response.message == iv.decode(whole, provider="openrouter", model=model).message


@pytest.mark.parametrize(
    ("model", "kind"),
    [("anthropic/claude-sonnet-4-5", "redacted_thinking"), (BEDROCK, "redactedContent")],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_p16_redacted_thinking_between_signed(model, kind, stream):
    """P16. A redacted block between signed ones is shown as hidden, counted, and sent back in its place.

    Elsewhere: a type without this variant crashes, or the block is lost and the tool loop fails
    (https://github.com/maximhq/bifrost/pull/5094, https://github.com/Dicklesworthstone/pi_agent_rust/pull/80).
    Here: it is thinking of the form "hidden", on Anthropic and on Bedrock, and its data is treated as a signature.
    Seen failing: AnthropicReader skipping redacted_thinking, and ConverseReader redactedContent.
    """
    witness = Witness()
    client = client_of(witness, "redact, pieces=4")
    chat = client.conversation(model, tools=[get_weather], reasoning="high", stream=stream)
    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == chat.ask(LOOP).text

    thoughts = [part for part in chat.responses[0].parts if isinstance(part, iv.Thinking)]
    assert ["hidden", "full", "hidden", "full"] == [part.form for part in thoughts]
    (turn,) = turns_of(witness.sent[1])
    assert [True, False, True, False] == [
        kind in json.dumps(block) for block in turn["content"][:4]
    ]
    assert [part.origin.block for part in thoughts] == turn["content"][:4]
    assert "Hidden reasoning (2 blocks" in show.render(chat.responses[0], "plain")
    exported = json.dumps(show.export(chat.responses[0]))
    assert not any(json.dumps(part.origin.block)[-40:-4] in exported for part in thoughts)
