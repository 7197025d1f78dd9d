"""G01 to G10: seals that other gateways lose, damage, forge, or send to a provider that cannot read them."""

import asyncio
import base64
import json
import re
from itertools import permutations

import pytest

import innervoice as iv
from gateway.harness import BEHIND, PATHS, QUESTION, TOOLS, body_of, read, thoughts
from gateway.witness import (
    FRONTS,
    SKIP,
    ask,
    loop,
    noted,
    reasoning_is_back,
    seals,
    shown,
    watched,
)
from innervoice.gateway.config import GatewayConfig, ModelReasoning, NamedModel, ServerSettings
from innervoice.memory.envelopes import is_envelope

ASKED = "What is 15 * 23?"
GEMINI = (
    "gemini/gemini-3.5-flash", "vertex/gemini-3.5-flash", "openrouter/google/gemini-3.5-flash",
)  # fmt: skip
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
FORGETFUL = GatewayConfig(server=ServerSettings(remember="off"))
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
SEALING = ("anthropic", "openai-responses", "gemini", "bedrock-converse")
"""Dialects whose providers seal reasoning."""


@STREAMED
@pytest.mark.parametrize("model", GEMINI)
@pytest.mark.parametrize("front", FRONTS)
def test_g01_a_signature_is_back_on_its_call(front, model, stream):
    """G01. A program of any API runs a tool loop with Gemini, and each call has the signature that Gemini gave it.

    Elsewhere: Claude Code over Gemini 3 gets 400 "missing a thought_signature" with the first tool result
    (https://github.com/farion1231/cc-switch/issues/5725, https://github.com/router-for-me/CLIProxyAPI/issues/2098).
    Here: the turn is stored with its signature, at Google, at Vertex and at OpenRouter.
    Seen failing: Gateway.remember storing nothing.
    """
    served = watched()
    client = loop(served, front, model, stream=stream)
    assert client.answers[-1].text == "Lisbon: sunshine. Oslo: sunshine."
    assert {200} == set(served.upstream.statuses)
    assert reasoning_is_back(served.upstream) >= 3
    assert SKIP not in json.dumps(served.upstream.requests)


@pytest.mark.parametrize("front", FRONTS)
def test_g01_the_skip_value_only_where_no_signature_ever_was(front):
    """G01. A call that another model made has no signature; Gemini gets the documented value, and the program is told.

    Elsewhere: the value stands in for signatures that were lost on the way (https://github.com/8monkey-ai/hebo-gateway/issues/171).
    Here: rule H4, with the note signature_filled; Gemini's own calls after it have their own.
    Seen failing: Gemini's replay never filling (400).
    """
    served = watched()
    client = loop(served, front, BEHIND["anthropic"])
    client.history = client.history[:3]  # the loop is open: one call, one result
    client.model = BEHIND["gemini"]
    asyncio.run(client.turn())
    assert json.dumps(served.upstream.requests[-1]).count(SKIP) == 1
    assert "signature_filled" in noted(served.reports[-1])
    assert "H4" in served.reports[-1].rules, "a placeholder counts as omitted"
    call = client.answers[-1].tool_calls[0]
    client.history.append(iv.tool_result(call.id, "Oslo: rain"))
    asyncio.run(client.turn())
    (own,) = seals([part.origin.block for part in served.upstream.answers[-2].tool_calls])
    calls = [part for turn in served.upstream.requests[-1]["contents"] for part in turn["parts"] if "functionCall" in part]  # fmt: skip
    assert [SKIP, own] == [part["thoughtSignature"] for part in calls]


@STREAMED
@pytest.mark.parametrize("front", [*FRONTS, "bedrock-converse"])
def test_g01_a_gateway_that_stores_nothing(front, stream):
    """G01. A client that returns its blocks keeps Gemini's signatures at a gateway that stores nothing.

    Elsewhere: the signature is hidden in the id of the call (litellm, agentgateway, bifrost).
    Here: where the client's API has no opaque member in a call, empty reasoning before the call carries it in an envelope.
    Seen failing: AnswerEncoder without carriers.
    """
    served = watched(FORGETFUL)
    client = loop(served, front, BEHIND["gemini"], stream=stream)
    assert client.answers[-1].text == "Lisbon: sunshine. Oslo: sunshine."
    assert SKIP not in json.dumps(served.upstream.requests)
    assert reasoning_is_back(served.upstream) >= 3


@STREAMED
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("front", PATHS)
def test_g02_an_id_is_a_name_and_no_container(front, behind, stream):
    """G02. The ids of calls are short and plain in every API, and every other provider takes them.

    Elsewhere: the signature is hidden in the id, which then has thousands of characters and is refused elsewhere
    (https://github.com/BerriAI/litellm/issues/37849).
    Here: ids are at most 64 of [A-Za-z0-9_-]; in the test the conversation goes on at a provider with the strictest rule.
    Seen failing: Gemini's reader appending the seal to the id.
    """
    served = watched()
    client = loop(served, front, BEHIND[behind], stream=stream)
    ids = [call.id for answer in client.answers for call in answer.tool_calls]
    assert ids
    assert all(map(ID.fullmatch, ids)), ids
    for other in ("mistral", "anthropic", "gemini", "openai-responses"):
        assert ask(client, model=BEHIND[other]).text.endswith("2 + 2 = 4.")
    assert {200} == set(served.upstream.statuses)


@STREAMED
@pytest.mark.parametrize("loses", [False, True], ids=["keeps", "loses"])
@pytest.mark.parametrize("front", PATHS)
def test_g03_a_signature_on_a_text(front, loses, stream):
    """G03. Gemini signs an answer that is text alone, and the next request has that signature on that text.

    Elsewhere: it is dropped, because the OpenAI form has no place for it (agentgateway, `vertex_gemini.rs`).
    Here: it is in the stored turn, whole or on an empty text at the end of a stream.
    Seen failing: _says_more in memory/restoring.py seeing Thinking alone.
    """
    served = watched()
    client = loop(served, front, "gemini/gemini-3.5-flash", question=ASKED, stream=stream, loses=loses)  # fmt: skip
    (seal,) = seals([part.origin.block for part in served.upstream.answers[0].parts if part.origin])
    ask(client)
    (turn,) = (one for one in served.upstream.requests[1]["contents"] if one["role"] == "model")
    (signed,) = (part for part in turn["parts"] if part.get("thoughtSignature"))
    assert signed["thoughtSignature"] == seal
    assert not signed.get("thought")
    assert "15 * 23 = 345." in json.dumps(turn)


def resumed(body, placeholder=SKIP):
    """A body as `gemini --resume` writes it: no thoughts, no signatures, each result twice, another context."""
    body["systemInstruction"] = {"parts": [{"text": "This is the Gemini CLI, resumed."}]}
    for content in body["contents"]:
        parts = []
        for part in content["parts"]:
            if part.get("thought"):
                continue
            sent = {**part, "thoughtSignature": placeholder} if "thoughtSignature" in part else part
            parts += [sent, sent] if "functionResponse" in part else [sent]
        content["parts"] = parts
    return body


BYPASSES = [
    spelled
    for word in (SKIP, "context_engineering_is_the_way_to_go")
    for spelled in (word, base64.b64encode(word.encode()).decode())
]


@pytest.mark.parametrize("placeholder", BYPASSES)
@STREAMED
def test_g04_the_real_signature_in_place_of_the_bypass(stream, placeholder):
    """G04. Gemini CLI resumes a session with the bypass value on every part; Gemini gets the real signatures.

    Elsewhere: the bypass value is sent always, also where the signature was seen, and quality drops without a word
    (QuantumNous/new-api sends one constant).
    Here: the value counts as no signature, and repeated results do not hide a turn.
    Seen failing: seals_of taking the value for a seal; ConversationDigest counting a repeated result.
    """
    served = watched()
    client = loop(served, "gemini", BEHIND["gemini"], stream=stream)
    history = [*client.history, iv.user(ASKED)]
    path, body = body_of("gemini", BEHIND["gemini"], history, stream=stream, tools=TOOLS)
    reply = asyncio.run(served.call("POST", path, resumed(body, placeholder)))
    assert "15 * 23 = 345." in read(reply, "gemini").text
    known = [seal for answer in served.upstream.answers[:3] for part in answer.parts for seal in seals(part.origin and part.origin.block)]  # fmt: skip
    assert known == seals(served.upstream.requests[-1])
    assert "thinking_restored" in noted(served.reports[-1])


def test_g04_the_bypass_is_told():
    """G04. Where the signature is not known, the client's bypass value goes on, and nothing claims that reasoning was kept.

    Elsewhere: nobody can tell a bypassed turn from a signed one (QuantumNous/new-api, router-for-me/CLIProxyAPI).
    Here: the report and the header count it as not kept.
    Seen failing: seals_of taking the value for a seal.
    """
    client = loop(watched(), "gemini", BEHIND["gemini"])
    served = watched()
    path, body = body_of("gemini", BEHIND["gemini"], client.history[:3], tools=TOOLS)
    reply = asyncio.run(served.call("POST", path, resumed(body)))
    assert reply.status == 200
    assert [SKIP] == seals(served.upstream.requests[-1])
    assert reply.headers["x-innervoice-reasoning"] == "kept=0 restored=0 omitted=0"


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("front", PATHS)
def test_g05_a_stream_is_the_whole_answer(front, behind):
    """G05. For every pair of APIs, a client folds from the stream what it gets as a whole: words, reasoning, calls, and seals.

    Elsewhere: the path for streams ignores `signature_delta`, which the other one keeps
    (https://github.com/open-webui/open-webui/issues/29860).
    Here: a whole answer is written by the writer of the stream.
    Seen failing: AnthropicWriter.end without signature_delta.
    """
    whole, streamed = (
        [shown(answer.message) for answer in loop(watched(), front, BEHIND[behind], stream=stream).answers]
        for stream in (False, True)
    )  # fmt: skip
    assert whole == streamed


@STREAMED
@pytest.mark.parametrize("behind", BEHIND)
def test_g05_claude_code_gets_no_thinking_without_a_signature(behind, stream):
    """G05. Thinking of any model has a signature when it reaches a client of the Messages API.

    Elsewhere: Claude Code discards a block without a signature and shows an empty turn
    (https://github.com/nielspeter/claude-code-proxy/issues/17).
    Here: the signature of foreign thinking is an envelope of ours.
    Seen failing: AnthropicWriter._foreign_seal returning "".
    """
    client = loop(watched(), "anthropic", BEHIND[behind], stream=stream)
    blocks = [part.origin.block for answer in client.answers for part in thoughts(answer.message)]
    assert len(blocks) >= 3
    assert all(seals(block) for block in blocks)
    assert {behind != "anthropic"} == {is_envelope(seals(block)[0]) for block in blocks}


CAPPED = GatewayConfig(
    models=(
        NamedModel(
            name="capped",
            to=("anthropic/claude-opus-5-5",),
            reasoning=ModelReasoning(at_most="low"),
        ),
        NamedModel(name="plain", to=("anthropic/claude-opus-5-5",)),
    )
)


@STREAMED
@pytest.mark.parametrize(("name", "way"), [("plain", "bytes"), ("capped", "canon")])
def test_g06_a_block_with_nothing_but_a_signature(name, way, stream):
    """G06. Claude Code asks for no text of thinking; blocks with a signature alone come and go on both ways through the gateway.

    Elsewhere: they are dropped as empty on the way out, or on the way in with every request
    (https://github.com/BerriAI/litellm/pull/38809, https://github.com/BerriAI/litellm/issues/41361).
    Here: empty text with a seal is content, as bytes and read and written again.
    Seen failing: RewrittenRequest dropping thinking without text; the byte path off.
    """
    served = watched(CAPPED)
    path, body = body_of("anthropic", name, [iv.user(QUESTION)], stream=stream, tools=TOOLS, max_tokens=8000)  # fmt: skip
    body["thinking"] = {"type": "adaptive", "display": "omitted"}
    body["output_config"] = {"effort": "high"}
    answer = read(asyncio.run(served.call("POST", path, body)), "anthropic")
    (block,) = (part.origin.block for part in thoughts(answer.message))
    assert ("", True) == (block["thinking"], bool(block["signature"]))
    (call,) = answer.tool_calls
    body["messages"] += [
        {"role": "assistant", "content": [block, {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "sun"}]},
    ]  # fmt: skip
    assert asyncio.run(served.call("POST", path, body)).status == 200
    assert served.reports[-1].way == way
    assert block == served.upstream.requests[-1]["messages"][1]["content"][0]
    assert served.reports[-1].kept == 1


@STREAMED
@pytest.mark.parametrize("front", PATHS)
@pytest.mark.parametrize("behind", ["openai-chat", "mistral", "cohere", "ollama"])
def test_g07_no_seal_is_made_up(front, behind, stream):
    """G07. Reasoning of a host without seals gets none that a provider could see, whichever API it passed through.

    Elsewhere: a constant or a random number stands as signature on every block, and Anthropic refuses all requests
    (vLLM signs with `uuid4().hex`).
    Here: what a client of the Messages API carries is an envelope; it is opened, or dropped, before a provider is asked.
    Seen failing: TurnRestorer._unpacked leaving envelopes in the parts.
    """
    served = watched()
    client = loop(served, front, BEHIND[behind], stream=stream)
    for model in (BEHIND["anthropic"], BEHIND["gemini"], BEHIND["openai-responses"], BEHIND[behind]):  # fmt: skip
        ask(client, model=model)
        assert {200} == set(served.upstream.statuses)
        unknown = set(seals(served.upstream.requests[-1])) - {SKIP}
        for answer in served.upstream.answers:
            unknown -= {seal for part in answer.parts for seal in seals(part.origin and part.origin.block)}  # fmt: skip
        assert not unknown


@pytest.mark.parametrize(
    ("model", "kept"),
    [("anthropic/claude-sonnet-4-5", [0, 2]), (BEHIND["anthropic"], [0])],
    ids=["free", "bound"],
)
def test_g07_a_signature_that_nobody_made(model, kept):
    """G07. A constant that another program stamped on a block is refused once by Anthropic, and the client never hears of it.

    Elsewhere: 116 of 116 requests were refused, and Claude Code throws all its thinking away after such a refusal.
    Here: the request is repeated without that one block, and where blocks are bound to what is before them, without the later
    ones (rule H8).
    Seen failing: recover in planning/recover.py returning None; removing one block where the later ones are bound.
    """
    served = watched()
    client = loop(served, "anthropic", model)
    asyncio.run(served.gateway.turns.forget())
    path, body = body_of("anthropic", model, [*client.history, iv.user(ASKED)], tools=TOOLS)
    own = seals(body)
    body["messages"][3]["content"][0]["signature"] = "c2lnbmVkIGJ5IHRoZSByb3V0ZXI="
    reply = asyncio.run(served.call("POST", path, body))
    assert "15 * 23 = 345." in read(reply, "anthropic").text
    assert [400, 200] == served.upstream.statuses[-2:]
    assert [own[number] for number in kept] == seals(served.upstream.requests[-1])
    assert "recovered_after_refusal" in noted(served.reports[-1])


@pytest.mark.parametrize("loses", [False, True], ids=["keeps", "loses"])
@pytest.mark.parametrize(("home", "away"), list(permutations(SEALING, 2)))
@pytest.mark.parametrize("front", FRONTS)
def test_g08_a_seal_goes_home_alone(front, home, away, loses):
    """G08. A client switches the model and returns; each provider gets its own seals, all of them, and no other's.

    Elsewhere: OpenAI's ciphertext comes back in a Claude `signature` and goes to Anthropic
    (https://github.com/router-for-me/CLIProxyAPI/issues/3052).
    Here: the origin of a part is in the envelope and in the store; it is not guessed from the first letters.
    Seen failing: is_home ignoring dialect and host; TurnRestorer.restored changing nothing.
    """
    served = watched()
    client = loop(served, front, BEHIND[home], loses=loses)
    made = {home: [], away: []}
    for number, where in enumerate((home, home, home, away, home)):
        if number > 2:
            ask(client, model=BEHIND[where])
        sent = [seal for seal in seals(served.upstream.requests[number]) if seal != SKIP]
        assert made[where] == sent
        made[where] += [seal for part in served.upstream.answers[number].parts for seal in seals(part.origin and part.origin.block)]  # fmt: skip
    assert {200} == set(served.upstream.statuses)


@STREAMED
@pytest.mark.parametrize("front", ["anthropic", "openai-chat", "gemini"])
def test_g09_encrypted_reasoning_rides_with_the_client(front, stream):
    """G09. GPT gets its encrypted reasoning back at each tool call through another API, also from a gateway that stores nothing.

    Elsewhere: a bridge from Messages to Responses drops it, and GPT plans anew at every call: repeated calls, wrong tools
    (https://github.com/BerriAI/litellm/issues/36197, https://github.com/Wei-Shaw/sub2api/issues/6923).
    Here: the item rides in the client's opaque slot; a gateway with the same key opens it.
    Seen failing: EnvelopeSealer.open returning None.
    """
    served = watched(FORGETFUL)
    loop(served, front, BEHIND["openai-responses"], stream=stream)
    assert reasoning_is_back(served.upstream) == 3
    assert [1, 2] == [report.kept for report in served.reports[1:]]
    assert all("reasoning.encrypted_content" in body["include"] for body in served.upstream.requests)  # fmt: skip


@STREAMED
@pytest.mark.parametrize("loses", [False, True], ids=["keeps", "loses"])
@pytest.mark.parametrize("front", FRONTS)
def test_g10_an_item_travels_as_one(front, loses, stream):
    """G10. OpenAI's reasoning item goes back as it came: summary and ciphertext, and an id only with its own ciphertext.

    Elsewhere: a fresh id beside the ciphertext gives "item_id did not match" (bifrost had to mark ids).
    Here: the item is kept as JSON; where nothing is stored at OpenAI it is sent without its id.
    Seen failing: the Responses writer giving reasoning items a fresh id; _is_lost counting an item without its id as lost.
    """
    served = watched()
    loop(served, front, BEHIND["openai-responses"], loses=loses, stream=stream)
    given = [part.origin.block for answer in served.upstream.answers[:2] for part in thoughts(answer.message)]  # fmt: skip
    items = [item for item in served.upstream.requests[2]["input"] if item.get("type") == "reasoning"]  # fmt: skip
    assert len(items) == 2
    for item, own in zip(items, given, strict=True):
        assert item == {name: own[name] for name in own if name != "id" or "id" in item}
    assert {200} == set(served.upstream.statuses)
    if front == "openai-responses":  # its client leaves the ids out, and nothing else
        assert (2 if loses else 0) == served.reports[-1].restored


@pytest.mark.parametrize("store", [False, True], ids=["nothing stored", "stored"])
def test_g10_a_client_that_sends_the_ids(store):
    """G10. Codex sends items with their ids, and they arrive so: id and ciphertext of one item.

    Elsewhere: ids are made anew between client and provider (maximhq/bifrost, `ReasoningItemIDMarker`).
    Here: they are the client's own bytes.
    Seen failing: the byte path off, and the writer giving items fresh ids.
    """
    served = watched()
    path, body = body_of("openai-responses", BEHIND["openai-responses"], [iv.user(QUESTION)], tools=TOOLS)  # fmt: skip
    body["store"] = store
    first = asyncio.run(served.call("POST", path, body)).json
    call = first["output"][-1]
    body["input"] += [*first["output"], {"type": "function_call_output", "call_id": call["call_id"], "output": "sun"}]  # fmt: skip
    assert asyncio.run(served.call("POST", path, body)).status == 200
    assert first["output"] == served.upstream.requests[1]["input"][1:3]
