"""G21 to G28: programs that lose reasoning, and sessions, sub-agents, forks and other callers that must not get the wrong one."""

import asyncio
import json
import re

import pytest

import innervoice as iv
from gateway.harness import BEHIND, PATHS, QUESTION, TOOLS, Client, Served, bare, body_of, read
from gateway.upstreams import Answer, Scripted
from gateway.witness import (
    FRONTS,
    Witness,
    ask,
    loop,
    noted,
    proofs,
    reasoning_is_back,
    seals,
    watched,
)
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.memory.stores.ram import RamStore
from innervoice.wire.dialects import dialect_named

ASKED = "What is 15 * 23?"
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
DEMANDING = ("deepseek/deepseek-v4-pro", "moonshot/kimi-k3")
"""Hosts that want the reasoning of each turn with calls back, as text."""


@STREAMED
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("front", PATHS)
def test_g21_a_program_that_keeps_text_and_calls_alone(front, behind, stream):
    """G21. A program such as one with LangChain's ChatOpenAI keeps text and calls; the model gets its reasoning back in every turn.

    Elsewhere: "Expected `thinking`, but found `tool_use`" in the second turn (https://github.com/BerriAI/litellm/issues/15601,
    https://github.com/openai/openai-agents-python/issues/678).
    Here: the turn is found by its content and put back as it came; the header says how much.
    Seen failing: TurnRestorer.restored changing nothing; Gateway.remember storing nothing.
    """
    served = watched()
    client = loop(served, front, BEHIND[behind], loses=True, stream=stream)
    ask(client)
    assert not any(seals(part.origin and part.origin.block) for turn in client.history for part in turn.parts)  # fmt: skip
    assert {200} == set(served.upstream.statuses)
    count = reasoning_is_back(served.upstream)
    assert count >= 3
    report = served.reports[-1]
    assert report.restored == report.kept > 0
    assert f"restored={report.restored}" in client.replies[-1].headers["x-innervoice-reasoning"]


def test_g21_a_switch_and_a_return():
    """G21. The same program goes from Claude to Gemini, DeepSeek and GPT and back; each model has its own reasoning again.

    Elsewhere: nobody offers it.
    Here: every stored turn knows where it came from.
    Seen failing: TurnRestorer.restored changing nothing.
    """
    served = watched()
    names = ("anthropic", "gemini", "openai-chat", "openai-responses")
    client = loop(served, "openai-chat", BEHIND["anthropic"], loses=True)
    for number, name in enumerate((*names[1:], *names)):
        ask(client, f"What is {number} + 2?", model=BEHIND[name])
    made = {}
    for request, answer, report in zip(served.upstream.requests, served.upstream.answers, served.reports, strict=True):  # fmt: skip
        body = json.dumps(request, ensure_ascii=False)
        for provider, own in made.items():
            found = [proof for proof in own if json.dumps(proof, ensure_ascii=False) in body]
            assert (own if provider == report.provider else []) == found
        made.setdefault(report.provider, []).extend(proofs(answer.message))
    assert len(made) == 4
    assert {200} == set(served.upstream.statuses)


@STREAMED
@pytest.mark.parametrize("model", DEMANDING)
@pytest.mark.parametrize("front", FRONTS)
def test_g22_the_real_text_where_a_host_wants_it(front, model, stream):
    """G22. DeepSeek and Kimi demand `reasoning_content` of each turn with calls; a program that dropped it loses nothing.

    Elsewhere: "`reasoning_content` is missing" in every later request (https://github.com/decolua/9router/issues/355).
    Here: the stored text is sent, word for word.
    Seen failing: Gateway.remember storing nothing (the field is empty).
    """
    served = watched()
    loop(served, front, model, loses=True, stream=stream)
    turns = [one for one in served.upstream.requests[-1]["messages"] if one["role"] == "assistant"]
    given = [answer.thinking for answer in served.upstream.answers[:2]]
    assert all(given)
    assert given == [turn["reasoning_content"] for turn in turns]


def unknown(front, model, served):
    """A lossy history of another gateway, sent to this one; returns the reply."""
    client = loop(watched(), front, model, loses=True)
    path, body = body_of(front, model, client.history[:3], tools=TOOLS, max_tokens=8000)
    return asyncio.run(served.call("POST", path, body))


@pytest.mark.parametrize("model", DEMANDING)
@pytest.mark.parametrize("front", FRONTS)
def test_g22_an_empty_field_where_it_is_lost(front, model):
    """G22. Where nobody knows the reasoning any more, the field is empty, the host accepts it, and a note says so.

    Elsewhere: the conversation is dead (https://github.com/QuantumNous/new-api/issues/6998).
    Here: rule H3, with the note reasoning_filled.
    Seen failing: the planner not filling the field (400).
    """
    served = watched()
    assert unknown(front, model, served).status == 200
    (turn,) = (one for one in served.upstream.requests[-1]["messages"] if one["role"] == "assistant")  # fmt: skip
    assert turn["reasoning_content"] == ""
    assert "reasoning_filled" in noted(served.reports[-1])


def words(value, name=""):
    """All texts of reasoning in a request."""
    if isinstance(value, dict):
        inner = "thought" if value.get("thought") is True else ""
        return [text for key, member in value.items() for text in words(member, key if key != "text" else inner or name)]  # fmt: skip
    if isinstance(value, list):
        return [text for item in value for text in words(item, name)]
    is_reasoning = name in ("reasoning_content", "reasoning", "thinking", "thought", "reasoning_details", "summary", "reasoningText")  # fmt: skip
    return [value] if is_reasoning and isinstance(value, str) else []


@pytest.mark.parametrize("model", [*BEHIND.values(), *DEMANDING, "openrouter/google/gemini-3.5-flash"])  # fmt: skip
@pytest.mark.parametrize("front", FRONTS)
def test_g23_no_words_of_ours_are_a_thought(front, model):
    """G23. For reasoning that is lost, no text is made up, neither in what is sent nor in what is stored.

    Elsewhere: "." or "[reasoning unavailable]" is sent as a thought; the model repeats it, and caches keep it
    (https://github.com/diegosouzapw/OmniRoute/issues/9573).
    Here: the field is empty or missing; only turns of the model are stored.
    Seen failing: the chat replay filling the field with ".".
    """
    served = watched()
    reply = unknown(front, model, served)
    assert reply.status == 200
    body = {name: member for name, member in served.upstream.requests[-1].items() if name in ("messages", "input", "contents")}  # fmt: skip
    assert set(words(body)) <= {""}
    assert len(served.gateway.turns) == bool(proofs(served.upstream.answers[-1].message))


@pytest.mark.parametrize("placeholder", [".", " ", "[reasoning unavailable]"])
def test_g23_a_placeholder_of_the_client_gives_way(placeholder):
    """G23. A program sends a placeholder for the reasoning that it lost; the host gets the real text.

    Elsewhere: the placeholder goes on and is echoed (https://github.com/diegosouzapw/OmniRoute/issues/9573).
    Here: text without a seal does not outweigh the stored turn.
    Seen failing: _match refusing turns that have thinking.
    """
    served = watched()
    client = loop(served, "openai-chat", BEHIND["openai-chat"])
    path, body = body_of("openai-chat", client.model, client.history, tools=TOOLS)
    for message in body["messages"]:
        if "reasoning_content" in message:
            message["reasoning_content"] = placeholder
    body["messages"].append({"role": "user", "content": ASKED})
    assert asyncio.run(served.call("POST", path, body)).status == 200
    given = [answer.thinking for answer in served.upstream.answers[:3]]
    turns = [one for one in served.upstream.requests[-1]["messages"] if one["role"] == "assistant"]
    assert given == [turn.get("reasoning_content") for turn in turns]


def ids_in(reply):
    """The ids of the response in the events of a stream, and those of its items by index."""
    events = [json.loads(line[6:]) for line in reply.body.decode().splitlines() if line.startswith("data: {")]  # fmt: skip
    items = {}
    for event in events:
        if "item" in event:
            items.setdefault(event["output_index"], set()).add(event["item"]["id"])
    for number, item in enumerate(events[-1]["response"]["output"]):
        items[number].add(item["id"])
    return {event["response"]["id"] for event in events if "response" in event}, items


@pytest.mark.parametrize("behind", BEHIND)
def test_g24_one_id_from_the_first_event(behind):
    """G24. A stream of the Responses API has one id of the response, and one of each item, from beginning to end.

    Elsewhere: ids differ between `response.created` and `response.completed` (https://github.com/BerriAI/litellm/issues/26167).
    Here: the head of an answer is made once.
    Seen failing: ResponsesWriter making its id at the end again.
    """
    client = loop(watched(), "openai-responses", BEHIND[behind], stream=True)
    for reply in client.replies:
        responses, items = ids_in(reply)
        assert len(responses) == 1
        assert items
        assert all(len(names) == 1 for names in items.values())


class SlowStore(RamStore):
    """A store that takes its time to write."""

    turns = 0

    async def put(self, item, keys):
        await asyncio.sleep(0.01)
        await super().put(item, keys)
        self.turns += item.kind == "turn"


@pytest.mark.parametrize("behind", ["anthropic", "openai-chat", "gemini"])
@pytest.mark.parametrize("front", PATHS)
def test_g24_stored_before_the_end_is_sent(front, behind):
    """G24. When the client sees the end of an answer the turn is stored: a follow-up at once finds it.

    Elsewhere: the log is written in batches, and a follow-up within seconds finds nothing (https://github.com/BerriAI/litellm/issues/37956).
    Here: the last frames wait for the store, as bytes and translated.
    Seen failing: Serving._ask storing after the end; BytesAnswer holding nothing back; Gateway taking a store of its own for an empty one.
    """
    store = SlowStore()
    served = watched(store=store)
    seen = []

    async def reads(message):
        data = message.get("body", b"")
        if dialect_named(front).last_mark in data or data.rstrip().endswith(b"}}"):
            seen.append((dialect_named(front).last_mark in data, store.turns))

    path, body = body_of(front, BEHIND[behind], [iv.user(QUESTION)], stream=True, tools=TOOLS, reasoning="high", max_tokens=8000)  # fmt: skip
    body.pop("store", None)  # which would keep the turn out of the store
    asyncio.run(served.call("POST", path, body, reads=reads))
    ends = [count for is_end, count in seen if is_end]
    assert ends
    assert set(ends) == {1}


ITEMS = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "input_text", "text": QUESTION}]},
]


@STREAMED
@pytest.mark.parametrize("behind", BEHIND)
def test_g24_previous_response_id_at_any_upstream(behind, stream):
    """G24. A follow-up with `previous_response_id` finds the whole conversation, input items as they came.

    Elsewhere: two ids for one response, nothing found within seconds, no user message left of an input that is a list
    (https://github.com/BerriAI/litellm/issues/37956, https://github.com/BerriAI/litellm/issues/26167).
    Here: one id from the first event on; stored before the end is sent, with its input; another process finds it at once.
    Seen failing: Serving._keep storing nothing; ResponseState.expanded without the input of the chain.
    """
    store, upstream = RamStore(), Witness()
    processes = [Served(None, upstream, store=store, key=bytes(32)) for _ in range(2)]
    body = {"model": BEHIND[behind], "stream": stream, "tools": [{"type": "function", **TOOLS[0]}], "reasoning": {"effort": "high"}}  # fmt: skip
    given, ids = ITEMS, []
    for number in range(3):
        going_on = {"previous_response_id": ids[-1]} if ids else {}
        reply = processes[number % 2].ask("POST", "/v1/responses", {**body, **going_on, "input": given})  # fmt: skip
        assert reply.status == 200, reply.body[:300]
        (name,) = set(re.findall(rb'"id":\s*"(resp_\w+)"', reply.body))
        ids.append(name.decode())
        calls = read(reply, "openai-responses").tool_calls
        given = [
            {"type": "function_call_output", "call_id": call.id, "output": f"{number}: sunshine"}
            for call in calls
        ]
    assert {200} == set(upstream.statuses)
    if behind != "openai-responses":  # which has the conversation itself
        assert reasoning_is_back(upstream) >= 2
        sent = json.dumps(upstream.requests[-1])
        assert all(words in sent for words in ("Be brief.", QUESTION, "0: sunshine", "1: sunshine"))


def completion(thought, *, call="call_1", city="Lisbon", text=None):
    """A chat completion of a host whose ids are counted."""
    message = {"role": "assistant", "content": text, "reasoning_content": thought}
    if text is None:
        function = {"name": "get_weather", "arguments": json.dumps({"city": city})}
        message["tool_calls"] = [{"id": call, "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "stop" if text else "tool_calls"}
    return Answer(json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "deepseek-v4-pro", "choices": [choice]}).encode())  # fmt: skip


def chat_turn(served, messages, **headers):
    """One request of a chat client that keeps no reasoning; returns its next history."""
    body = {"model": BEHIND["openai-chat"], "messages": messages, "tools": [{"type": "function", "function": TOOLS[0]}]}  # fmt: skip
    reply = asyncio.run(served.call("POST", "/v1/chat/completions", body, headers))
    assert reply.status == 200, reply.body
    said = reply.json["choices"][0]["message"]
    kept = {name: said[name] for name in ("role", "content", "tool_calls") if said.get(name) or name == "content"}  # fmt: skip
    return [*messages, kept]


def answered(history):
    """The history with the results of its last calls."""
    return [*history, *({"role": "tool", "tool_call_id": call["id"], "content": "sun"} for call in history[-1]["tool_calls"])]  # fmt: skip


def asking(text=QUESTION):
    return [{"role": "user", "content": text}]


def thoughts_sent(http):
    """The reasoning of the turns in the last request."""
    body = json.loads(http.requests[-1]["body"])
    return [turn.get("reasoning_content") for turn in body["messages"] if turn["role"] == "assistant"]  # fmt: skip


def test_g25_equal_call_ids_in_two_conversations():
    """G25. A host counts its calls from `call_1` in every conversation; each gets its own reasoning.

    Elsewhere: a cache by call id replays another session's reasoning (https://github.com/lidge-jun/opencodex/pull/1474).
    Here: the place in the conversation is part of the key, and counted ids are no key at all.
    Seen failing: ConversationDigest.keys with the calls key alone, for every id.
    """
    http = Scripted(completion("A thinks."), completion("B thinks."), completion("", text="Done."))
    served = Served(http=http)
    one = chat_turn(served, asking("Weather in Lisbon, for Anna?"))
    other = chat_turn(served, asking("Weather in Lisbon, for Bert?"))
    assert one[-1]["tool_calls"] == other[-1]["tool_calls"]
    chat_turn(served, answered(one))
    assert ["A thinks."] == thoughts_sent(http)
    chat_turn(served, answered(other))
    assert ["B thinks."] == thoughts_sent(http)


def test_g25_of_two_that_are_equal_the_newest_is_used():
    """G25. Two conversations of one owner are equal to the word and were thought about differently; each thought is a true one, and one is sent.

    Elsewhere: the last one with the same call id wins, whatever came before it (OmniRoute's primary key is the call id).
    Here: everything before the turn is equal, so the newest is right, and a note says that there were several.
    Seen failing: none of two being used, so that evals and retries lost their reasoning from the second run on.
    """
    http = Scripted(completion("A thinks."), completion("B thinks."), completion("", text="Done."))
    served = Served(http=http)
    one = chat_turn(served, asking())
    assert one == chat_turn(served, asking())
    chat_turn(served, answered(one))
    assert ["B thinks."] == thoughts_sent(http)
    assert "several_turns_match" in noted(served.reports[-1])


TENANTS = GatewayConfig(keys={"anna": "env:ANNA", "bert": "env:BERT"})
SECRETS = {"ANNA": "key-of-anna", "BERT": "key-of-bert"}


def test_g25_another_tenant_gets_nothing():
    """G25. Two owners of keys have the same conversation with the same ids; what one's model thought is not sent for the other.

    Elsewhere: `call_1` of another caller's session is replayed (https://github.com/lidge-jun/opencodex/pull/1474).
    Here: the tenant is in every digest and in every look-up.
    Seen failing: ConversationDigest without the tenant, together with RecentTurns.get without its comparison.
    """
    http = Scripted(completion("Anna's secret.", call="call_0123456789abcdefgh"), completion("", text="Done."))  # fmt: skip
    served = Served(TENANTS, environ=SECRETS, http=http)
    history = answered(chat_turn(served, asking(), authorization="Bearer key-of-anna"))
    chat_turn(served, history, authorization="Bearer key-of-bert")
    assert [""] == thoughts_sent(http)
    chat_turn(served, history, authorization="Bearer key-of-anna")
    assert ["Anna's secret."] == thoughts_sent(http)


@pytest.mark.parametrize("front", FRONTS)
def test_g25_another_tenant_cannot_open_an_envelope(front):
    """G25. A transcript that one owner's client carried is sent with another's key; its envelopes stay closed and go nowhere.

    Elsewhere: what is carried in band is plain base64, which anybody can read and forge (litellm, bifrost, cc-switch).
    Here: the tenant is bound to the envelope; one that does not open is dropped, with a note.
    Seen failing: EnvelopeSealer binding to the dialect alone.
    """
    if front == "openai-responses":
        front, behind = "anthropic", "openai-chat"
    else:
        behind = "openai-responses"
    served = Served(TENANTS, Witness(), SECRETS)
    path, body = body_of(front, BEHIND[behind], [iv.user(QUESTION)], tools=TOOLS, reasoning="high", max_tokens=8000)  # fmt: skip
    reply = asyncio.run(served.call("POST", path, body, {"x-api-key": "key-of-anna"}))
    turn = read(reply, front).message
    history = [iv.user(QUESTION), turn, iv.tool_result(turn.tool_calls[0].id, "sun")]
    path, body = body_of(front, BEHIND[behind], history, tools=TOOLS, max_tokens=8000)
    assert seals(body)
    asyncio.run(served.gateway.turns.forget())
    reply = asyncio.run(served.call("POST", path, body, {"x-api-key": "key-of-bert"}))
    assert reply.status == 200
    assert not seals(served.upstream.requests[-1])
    assert "envelope_unreadable" in noted(served.reports[-1])
    asyncio.run(served.call("POST", path, body, {"x-api-key": "key-of-anna"}))
    assert "envelope_unreadable" not in noted(served.reports[-1])


@pytest.mark.parametrize(
    "headers",
    [
        [{}, {}],
        [{"session-id": "one"}, {"session-id": "two"}],
        [{"x-claude-code-session-id": "one"}, {}],
    ],
    ids=["none", "another", "then none"],
)
def test_g26_no_header_is_needed(headers):
    """G26. A program sends no session header, or another one in the next request; its reasoning is back all the same.

    Elsewhere: no header means no replay, or one session for the whole process (CLIProxyAPI).
    Here: the content is the key; a header is only a hint where to go.
    Seen failing: the session header as a part of the tenant.
    """
    http = Scripted(completion("A thinks."), completion("", text="Done."))
    served = Served(http=http)
    history = chat_turn(served, asking(), **headers[0])
    chat_turn(served, answered(history), **headers[1])
    assert ["A thinks."] == thoughts_sent(http)


@STREAMED
@pytest.mark.parametrize("behind", BEHIND)
def test_g27_sub_agents_of_one_session(behind, stream):
    """G27. A main agent and two sub-agents share one session id and take turns; each gets its own reasoning, of its own last turn.

    Elsewhere: "the last turn of the session" is another agent's (CLIProxyAPI needed keys for agents and a compare-and-swap).
    Here: a stored turn is found by its conversation and never changed.
    Seen failing: one key for all turns, where the last one counts.
    """
    served = watched()
    cities = ("Lisbon", "Madrid", "Vienna")

    async def work():
        agents = [Client(served, "anthropic", BEHIND[behind], stream=stream, loses=True) for _ in cities]  # fmt: skip
        asked = [f"What is the weather in {city}, then the weather in Oslo?" for city in cities]
        call = served.call
        served.call = lambda *request: call(*request, {"x-claude-code-session-id": "one"})
        await asyncio.gather(*(agent.say(text) for agent, text in zip(agents, asked, strict=True)))

    asyncio.run(work())
    assert {200} == set(served.upstream.statuses)
    for city in cities:
        own = [number for number, body in enumerate(served.upstream.bodies) if city.encode() in body]  # fmt: skip
        assert len(own) == 3
        known = []
        for number in own:
            text = json.dumps(served.upstream.requests[number], ensure_ascii=False)
            assert all(text.count(json.dumps(proof, ensure_ascii=False)) == 1 for proof in known)
            known += proofs(served.upstream.answers[number].message)
        others = [proof for number, answer in enumerate(served.upstream.answers) if number not in own for proof in proofs(answer.message)]  # fmt: skip
        last = json.dumps(served.upstream.requests[own[-1]], ensure_ascii=False)
        assert not [proof for proof in others if json.dumps(proof, ensure_ascii=False) in last]


@STREAMED
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("front", FRONTS)
def test_g28_a_fork_and_both_branches(front, behind, stream):
    """G28. A user goes back to an earlier turn and asks something else, then returns to the first branch; each has its own reasoning.

    Elsewhere: caches that count messages attach the seal of turn n to another n
    (https://github.com/lbjlaq/Antigravity-Manager/issues/1094).
    Here: a turn is found by what it says and what was before it.
    Seen failing: one key for all turns, where the last one counts.
    """
    served = watched()
    client = loop(served, front, BEHIND[behind], question=ASKED, loses=True, stream=stream)
    ask(client, "What is 2 + 2?")
    main, fork = list(client.history), client.history[:2]
    client.history = fork
    ask(client, "What is 3 + 3?")
    ask(client, "What is 4 + 4?")
    first, second, third, _ = (proofs(answer.message) for answer in served.upstream.answers)
    fork_sent = json.dumps(served.upstream.requests[-1], ensure_ascii=False)
    client.history = main
    ask(client, "What is 5 + 5?")
    main_sent = json.dumps(served.upstream.requests[-1], ensure_ascii=False)
    for text, own, others in ((fork_sent, [*first, *third], second), (main_sent, [*first, *second], third)):  # fmt: skip
        assert own
        assert all(json.dumps(proof, ensure_ascii=False) in text for proof in own)
        assert not any(json.dumps(proof, ensure_ascii=False) in text for proof in others)
    assert {200} == set(served.upstream.statuses)


@pytest.mark.parametrize("behind", BEHIND)
def test_g28_a_compaction(behind):
    """G28. A program replaces the beginning by a summary; the tool turn that stays has its reasoning, or it is known why not.

    Elsewhere: a cache that counts messages attaches another turn's seal, and the request is refused
    (https://github.com/lbjlaq/Antigravity-Manager/issues/1094).
    Here: the calls of a turn and the question before them are keys as well; a block that is bound to what was there is left out.
    Seen failing: TurnKeys.all with the first two keys alone.
    """
    served = watched()
    client = loop(served, "openai-chat", BEHIND[behind], question=ASKED, loses=True)
    client.history.append(iv.user(QUESTION))
    asyncio.run(client.turn())
    (call,) = client.answers[-1].tool_calls
    kept = client.history[-2:]
    client.history = [iv.user("Summary: the user likes sums."), iv.assistant("Good."), *kept, iv.tool_result(call.id, "sun")]  # fmt: skip
    asyncio.run(client.turn())
    assert {200} == set(served.upstream.statuses)
    sent = json.dumps(served.upstream.requests[-1], ensure_ascii=False)
    own = proofs(served.upstream.answers[1].message)
    is_back = [json.dumps(proof, ensure_ascii=False) in sent for proof in own]
    if behind == "anthropic":  # bound to the beginning, which is another
        assert not any(is_back)
        assert "prefix_changed" in noted(served.reports[-1])
    else:
        assert own
        assert all(is_back)
    assert not any(json.dumps(proof, ensure_ascii=False) in sent for proof in proofs(served.upstream.answers[0].message))  # fmt: skip


def every_call_a_turn(history):
    """As the OpenAI Agents SDK sends a turn with several calls: one turn for each, followed by its result."""
    results = {turn.parts[0].call_id: turn for turn in history if turn.role == "tool"}
    made = []
    for turn in history:
        for call in turn.tool_calls:
            made += [turn.replace(parts=(call,)), results[call.id]]
        if not turn.tool_calls and turn.role != "tool":
            made.append(turn)
    return made


def every_piece_a_turn(history):
    """Two turns of each, one behind the other: the calls apart, and a text cut in two."""
    made = []
    for turn in history:
        first, *rest = turn.parts
        if turn.role == "assistant" and not turn.tool_calls:
            head, blank, tail = first.text.partition(" ")
            first, rest = iv.Text(head + blank), [iv.Text(tail)]
        made += [turn.replace(parts=(part,)) for part in (first, *rest)]
    return made


@pytest.mark.parametrize("change", [every_call_a_turn, every_piece_a_turn])
@pytest.mark.parametrize("behind", BEHIND)
def test_g28_turns_that_were_split(behind, change):
    """G28. A program makes several turns of one; the model gets its turn as it was, and accepts it.

    Elsewhere: the pieces go on without their reasoning, or all of it stands before the first piece.
    Here: the pieces find the turn that they were made of, and the turns behind them are found as well.
    Seen failing: changed_turns giving None.
    """
    served = watched()
    question = "What is the weather in Lisbon and Rome, then the weather in Oslo?"
    client = loop(served, "openai-chat", BEHIND[behind], question=question, loses=True)
    assert len(client.answers[0].tool_calls) == 2
    client.history = change(client.history)
    ask(client)
    assert {200} == set(served.upstream.statuses)
    assert reasoning_is_back(served.upstream) >= 3
    assert "turn_rejoined" in noted(served.reports[-1])


def test_g28_an_edited_turn_is_the_users():
    """G28. A user edits what the model said; the edit goes on, without the reasoning that led to something else.

    Elsewhere: the cache puts back what was edited away.
    Here: a stored turn is used only if its words and calls are those that came.
    Seen failing: one key for all turns, where the last one counts.
    """
    served = watched()
    client = loop(served, "openai-chat", BEHIND["openai-chat"], loses=True)
    client.history[-1] = bare(iv.assistant("Lisbon: rain."))
    ask(client)
    last = served.upstream.requests[-1]["messages"][-2]
    assert "Lisbon: rain." == last["content"]
    assert not last.get("reasoning_content")
    assert served.reports[-1].restored == 2


REMEMBERED = GatewayConfig(server=ServerSettings(remember="ram"))


def test_g28_an_auxiliary_request_disturbs_nothing():
    """G28. A program asks for a title and a summary without tools in between; what is stored of the conversation stays.

    Elsewhere: the last request of a session replaces what was kept.
    Here: records are never changed.
    Seen failing: RecentTurns.put forgetting the tenant's turns first.
    """
    served = watched(REMEMBERED)
    client = loop(served, "openai-chat", BEHIND["anthropic"], loses=True)
    for text in ("Give this conversation a title.", "Summarise it. Respond with TEXT ONLY."):
        path, body = body_of("openai-chat", client.model, [*client.history, iv.user(text)])
        assert asyncio.run(served.call("POST", path, body)).status == 200
    ask(client)
    assert served.reports[-1].restored == 3
