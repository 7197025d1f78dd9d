"""Stored responses: what a client of the Responses API gets back by an id, and goes on from, at every upstream."""

import asyncio
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.harness import BEHIND, QUESTION, TOOLS, URLS, Served
from gateway.upstreams import Answer, Scripted, Wait
from gateway.witness import Witness, noted, proofs, reasoning_is_back, seals
from innervoice.emulator.core import Emulator, Reply
from innervoice.gateway.config import (
    GatewayConfig,
    NamedModel,
    ServerSettings,
    UpstreamSettings,
)
from innervoice.gateway.limits import LIMITS, Limits
from innervoice.memory.stores.ram import RamStore
from innervoice.memory.stores.store import StoreError

STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
GPT, CLAUDE, GEMINI = BEHIND["openai-responses"], BEHIND["anthropic"], BEHIND["gemini"]
KEY = bytes(range(32))
TWO = GatewayConfig(keys={"alice": "env:ALICE", "bob": "env:BOB"})
KEYS = {"ALICE": "key-of-alice-0123456789", "BOB": "key-of-bob-0123456789"}
FUNCTIONS = [{"type": "function", **TOOLS[0]}]


class Caller:
    """A program that keeps nothing but the id of the last response."""

    def __init__(self, served, model, *, stream=False, **settings):
        self.served, self.model, self.stream = served, model, stream
        self.settings = {"tools": FUNCTIONS, "reasoning": {"effort": "high", "summary": "auto"}, **settings}  # fmt: skip
        self.headers = {}
        self.last = None
        self.ids = []
        self.replies = []

    def send(self, given, **more):
        """Sends these items alone; returns the reply."""
        going_on = {"previous_response_id": self.last["id"]} if self.last else {}
        body = {"model": self.model, "input": given, "stream": self.stream, **self.settings, **going_on, **more}  # fmt: skip
        reply = self.served.ask("POST", "/v1/responses", body, self.headers)
        self.replies.append(reply)
        return reply

    def turn(self, given, **more):
        reply = self.send(given, **more)
        assert reply.status == 200, reply.body[:500]
        self.last = objects(reply)[-1]
        self.ids.append(self.last["id"])
        return self.last

    def say(self, text):
        """A question, with all the calls that the model makes."""
        answer = self.turn(text)
        while calls := calls_of(answer):
            answer = self.turn([output(call) for call in calls])
        return answer


def objects(reply):
    """The response in each event that has one, or in the body."""
    if not reply.headers["content-type"].startswith("text/event-stream"):
        return [reply.json]
    lines = [line for line in reply.body.split(b"\n") if line.startswith(b"data: {")]
    return [event["response"] for event in map(json.loads, (line[6:] for line in lines)) if "response" in event]  # fmt: skip


def calls_of(answer):
    return [item for item in answer["output"] if item["type"] == "function_call"]


def output(call):
    city = json.loads(call["arguments"])["city"]
    return {"type": "function_call_output", "call_id": call["call_id"], "output": f"{city}: sunshine"}  # fmt: skip


def watched(config=None, **options):
    return Served(config, options.pop("upstream", None) or Witness(), **options)


def error_of(reply):
    return reply.status, reply.json["error"]["code"], reply.json["error"]["param"]


def get(served, name, path="", method="GET", headers=None):
    return served.ask(method, f"/v1/responses/{name}{path}", None, headers)


# ---- going on ------------------------------------------------------------------------------------------------


@STREAMED
@pytest.mark.parametrize("behind", BEHIND)
def test_a_tool_loop_with_nothing_but_ids(behind, stream):
    """Three turns of a loop and a question behind it: each request upstream has all reasoning of the answers before it."""
    served = watched()
    caller = Caller(served, BEHIND[behind], stream=stream)
    caller.say(QUESTION)
    caller.say("What is 2 + 2?")
    assert {200} == set(served.upstream.statuses)
    assert len(caller.ids) == len(set(caller.ids)) == 4
    last = served.upstream.requests[-1]
    if behind == "openai-responses":
        assert last["previous_response_id"] == caller.ids[-2], "the provider has it itself"
        assert last["input"] == "What is 2 + 2?"
        assert {"bytes"} == {report.way for report in served.reports}
        return
    assert "previous_response_id" not in json.dumps(last)
    assert reasoning_is_back(served.upstream) >= 3
    assert all(word in json.dumps(last) for word in ("Lisbon: sunshine", "Oslo: sunshine", "2 + 2"))
    assert [0, 0] == [served.reports[-1].omitted, "reasoning_missing" in noted(served.reports[-1])]


@STREAMED
def test_to_other_models_and_back(stream):
    """Each model has its own reasoning again, whoever answered in between."""
    served = watched()
    caller = Caller(served, CLAUDE, stream=stream)
    caller.say(QUESTION)
    names = (GEMINI, BEHIND["openai-chat"], GPT, CLAUDE, GEMINI, BEHIND["openai-chat"], GPT, CLAUDE)
    for number, name in enumerate(names):
        caller.model = name
        caller.say(f"What is {number} + 2?")
    made = {}
    for request, answer, report in zip(served.upstream.requests, served.upstream.answers, served.reports, strict=True):  # fmt: skip
        assert "previous_response_id" not in request
        body = json.dumps(request, ensure_ascii=False)
        for provider, own in made.items():
            found = [proof for proof in own if json.dumps(proof, ensure_ascii=False) in body]
            assert (own if provider == report.provider else []) == found
        made.setdefault(report.provider, []).extend(proofs(answer.message))
    assert len(made) == 4
    assert all(made.values())
    assert {200} == set(served.upstream.statuses)


def test_two_turns_alike_keep_each_their_own_reasoning():
    """Two conversations with the same words, calls and ids: by their content nobody can tell whose seals are whose."""
    signs = ["QUFBQUFBQUE=", "QkJCQkJCQkI="]
    call = {"functionCall": {"id": "call_1", "name": "get_weather", "args": {"city": "Lisbon"}}}
    made = [{"candidates": [{"content": {"role": "model", "parts": [{**call, "thoughtSignature": sign}]}, "finishReason": "STOP"}]} for sign in signs]  # fmt: skip
    http = Scripted(*(Answer(json.dumps(one).encode()) for one in (*made, *made)))
    served = Served(http=http)
    callers = [Caller(served, GEMINI) for _ in signs]
    for caller in callers:
        caller.turn(QUESTION)
    for caller, sign in zip(callers, signs, strict=True):
        caller.turn([output(call) for call in calls_of(caller.last)])
        assert [sign] == seals(json.loads(http.requests[-1]["body"]))


def test_a_host_that_stores_nothing_gets_the_whole_conversation():
    """Some servers of the API ignore `store`, and would ignore `previous_response_id`; those that store say so in the response."""

    class Forgetful(Witness):
        def reply(self, method, path, headers, body):
            reply = super().reply(method, path, headers, body)
            made = {name: value for name, value in json.loads(reply.body).items() if name != "store"}  # fmt: skip
            return Reply(200, "application/json", iter([json.dumps(made).encode()]))

    served = watched(upstream=Forgetful())
    caller = Caller(served, GPT)
    caller.turn(QUESTION)
    caller.turn([output(call) for call in calls_of(caller.last)])
    assert "previous_response_id" not in served.upstream.requests[-1]
    assert reasoning_is_back(served.upstream) == 1


def test_instructions_are_not_inherited():
    served = watched()
    caller = Caller(served, CLAUDE)
    caller.turn("What is 1 + 1?", instructions="Speak like a pirate.")
    caller.turn("What is 2 + 2?")
    assert "pirate" in json.dumps(served.upstream.requests[0])
    assert "pirate" not in json.dumps(served.upstream.requests[1])


def test_forks_go_on_from_the_same_response():
    served = watched()
    caller = Caller(served, CLAUDE)
    first = caller.turn("What is 1 + 1?")
    caller.turn("What is 2 + 2?")
    caller.last = first
    caller.turn("What is 3 + 3?")
    sent = json.dumps(served.upstream.requests[-1])
    assert "1 + 1" in sent
    assert "2 + 2" not in sent


@pytest.mark.parametrize("model", [GPT, CLAUDE])
def test_store_false_goes_on_and_leaves_nothing(model):
    served = watched()
    caller = Caller(served, model)
    first = caller.turn("What is 1 + 1?")
    second = caller.turn("What is 2 + 2?", store=False)
    assert second["store"] is False
    assert get(served, first["id"]).status == 200
    assert get(served, second["id"]).status == 404
    assert caller.send("What is 3 + 3?").status == 400


class Failing(Witness):
    """The emulator, which is busy for requests with these words in their path or key."""

    down = "\0"

    def reply(self, method, path, headers, body):
        reply = super().reply(method, path, headers, body)
        if any(self.down in value for value in (path, *headers.values())):
            self.statuses[-1], self.answers[-1] = 503, None
            return Reply(503, "application/json", iter([b'{"error":{"message":"busy"}}']))
        return reply

    def key(self, number):
        return {name.lower(): value for name, value in self.headers[number].items()}["authorization"]  # fmt: skip


ACCOUNTS = GatewayConfig(
    server=ServerSettings(retries=0),
    models=(NamedModel(name="gpt", to=("openai/gpt-5.6",)),),
    upstreams={"openai": UpstreamSettings(keys=("env:A", "env:B"), base_url=URLS["openai"])},
)


@STREAMED
def test_a_conversation_stays_with_its_account(stream):
    """Requests that go on from a response find the account that has it, also those that begin with other words; another one gets all."""
    upstream = Failing()
    served = watched(ACCOUNTS, upstream=upstream, environ={"A": "key-of-a", "B": "key-of-b"}, base_url_of=lambda _: None)  # fmt: skip
    callers = [Caller(served, "gpt", stream=stream) for _ in range(6)]
    for number, caller in enumerate(callers):
        caller.say([{"role": "user", "content": f"What is {number} + {number}? {QUESTION}"}])
        keys = {upstream.key(turn) for turn in range(len(upstream.requests) - 3, len(upstream.requests))}  # fmt: skip
        assert len(keys) == 1
        assert "previous_response_id" in upstream.requests[-1]
    assert {"Bearer key-of-a", "Bearer key-of-b"} == set(map(upstream.key, range(18)))
    upstream.down = upstream.key(-1)
    callers[-1].turn("What is 7 + 7?")
    assert upstream.key(-1) != upstream.down
    last = upstream.requests[-1]
    assert "previous_response_id" not in last
    assert all(word in json.dumps(last) for word in ("5 + 5", "Oslo: sunshine", "7 + 7"))
    assert "moved_on" in noted(served.reports[-1])
    assert 400 not in upstream.statuses


@pytest.mark.parametrize("names", [(GPT, CLAUDE), (CLAUDE, GPT)], ids=["from GPT", "from Claude"])
def test_fail_over_decides_for_each_candidate_anew(names):
    """The first model stored the response and is down; the second gets all of it, and the conversation goes on there."""
    upstream = Failing()
    served = watched(
        GatewayConfig(models=(NamedModel(name="best", to=names),), server=ServerSettings(retries=0)), upstream=upstream
    )  # fmt: skip
    caller = Caller(served, "best")
    caller.say(QUESTION)
    upstream.down = "/responses" if names[0] == GPT else "/messages"
    for number in range(2):
        caller.turn(f"What is {number} + 2?")
    assert [CLAUDE, GPT][names[0] == CLAUDE] == f"{served.reports[-1].provider}/{served.reports[-1].model}"  # fmt: skip
    sent = json.dumps(upstream.requests[-1])
    assert all(word in sent for word in ("Lisbon: sunshine", "0 + 2", "1 + 2"))
    assert 400 not in upstream.statuses


def test_an_unknown_id_is_asked_of_the_one_that_may_know_it():
    """Of two candidates the second speaks the API itself; what it says of the id is what the client gets."""
    upstream = Failing()
    served = watched(
        GatewayConfig(
            models=(NamedModel(name="best", to=(CLAUDE, GPT)), NamedModel(name="other", to=(GPT, CLAUDE))), server=ServerSettings(retries=0)
        ),
        upstream=upstream,
    )  # fmt: skip
    caller = Caller(served, "best")
    caller.last = {"id": "resp_unknown"}
    reply = caller.send("Go on.")
    assert error_of(reply) == (400, "previous_response_not_found", "previous_response_id")
    assert "resp_unknown" in upstream.requests[-1]["previous_response_id"]
    upstream.down = "/responses"
    caller.model = "other"
    assert caller.send("Go on.").status >= 500, (
        "a busy provider is no reason to forget a conversation"
    )


def test_a_provider_that_lost_its_response_gets_the_whole_conversation():
    """A response is kept at OpenAI for 30 days, or was deleted there: what is known here is sent."""
    served = watched()
    caller = Caller(served, GPT)
    caller.say(QUESTION)
    served.upstream.emulator = Emulator()
    caller.turn("What is 2 + 2?")
    assert [400, 200] == served.upstream.statuses[-2:]
    last = served.upstream.requests[-1]
    assert "previous_response_id" not in last
    assert "Lisbon: sunshine" in json.dumps(last)


@pytest.mark.parametrize("model", [CLAUDE, GEMINI, BEHIND["openai-chat"]])
def test_an_unknown_id_is_refused_in_the_words_of_the_api(model):
    served = watched()
    caller = Caller(served, model)
    caller.last = {"id": "resp_1"}
    reply = caller.send("Go on.")
    assert error_of(reply) == (400, "previous_response_not_found", "previous_response_id")
    assert reply.json["error"]["message"] == "Previous response with id 'resp_1' not found."
    assert reply.json["error"]["type"] == "invalid_request_error"
    assert not served.upstream.requests
    caller.last = {"id": 7}
    assert error_of(caller.send("Go on.")) == (400, None, "previous_response_id")


def test_an_unknown_id_goes_to_a_provider_of_the_same_api():
    """The response was made without the gateway; the provider knows it."""
    served = watched()
    other = watched(upstream=served.upstream)
    caller = Caller(other, GPT)
    first = caller.turn(QUESTION)
    caller.served = served
    second = caller.turn([output(calls_of(first)[0])])
    assert served.upstream.requests[-1]["previous_response_id"] == first["id"]
    caller.model = CLAUDE
    reply = caller.send([output(calls_of(second)[0])])
    assert reply.json["error"]["message"] == f"Previous response with id '{first['id']}' not found."


def test_an_item_that_is_known_already_is_refused():
    served = watched()
    caller = Caller(served, CLAUDE)
    first = caller.turn(QUESTION)
    reply = caller.send([*first["output"], output(calls_of(first)[0])])
    assert reply.status == 400
    assert reply.json["error"]["message"].startswith(f"Duplicate item found with id {first['output'][0]['id']}")  # fmt: skip


def test_requests_that_go_on_are_never_passed_on_unread():
    """Two requests with the same words that go on from two responses."""
    served = watched()
    for number in range(3):
        caller = Caller(served, GPT)
        first = caller.turn([{"role": "user", "content": f"What is {number} + 1?"}])
        caller.turn([{"role": "user", "content": "Go on."}])
        assert served.upstream.requests[-1]["previous_response_id"] == first["id"]
        caller.turn([{"role": "user", "content": "Go on."}])
        caller.model = CLAUDE
        caller.turn([{"role": "user", "content": "Go on."}])
        assert f"{number} + 1" in json.dumps(served.upstream.requests[-1])
    assert {200} == set(served.upstream.statuses)


# ---- items that a request refers to --------------------------------------------------------------------------


def references(answer):
    """The items of an answer, as Vercel's SDK sends them back."""
    return [{"type": "item_reference", "id": item["id"]} for item in answer["output"]]


@STREAMED
@pytest.mark.parametrize("behind", BEHIND)
def test_a_loop_that_refers_to_earlier_items(behind, stream):
    """Each request has the whole history, with references in place of what the model said."""
    served = watched(store=RamStore())
    caller = Caller(served, BEHIND[behind], stream=stream)
    history = [{"role": "user", "content": QUESTION}]
    for _ in range(3):
        answer = caller.turn(history)
        caller.last = None
        history = [*history, *references(answer), *map(output, calls_of(answer))]
    assert {200} == set(served.upstream.statuses)
    sent = json.dumps(served.upstream.requests[-1])
    if behind == "openai-responses":
        assert json.loads(sent)["input"] == history[: len(json.loads(sent)["input"])]
        return
    assert "item_reference" not in sent
    assert reasoning_is_back(served.upstream) >= 2
    caller.last, caller.model = answer, CLAUDE if behind != "anthropic" else GEMINI
    caller.turn("What is 2 + 2?")
    sent = json.dumps(served.upstream.requests[-1])
    assert "item_reference" not in sent, "nor in what a later request goes on from"
    assert sent.count('"Oslo: sunshine"') == 1


def test_a_provider_that_lost_its_items_gets_them():
    served = watched()
    caller = Caller(served, GPT)
    answer = caller.turn(QUESTION)
    caller.last = None
    served.upstream.emulator = Emulator()
    caller.turn([{"role": "user", "content": QUESTION}, *references(answer), output(calls_of(answer)[0])])  # fmt: skip
    assert [404, 200] == served.upstream.statuses[-2:]
    assert "item_reference" not in json.dumps(served.upstream.requests[-1])


def test_a_reference_that_two_responses_fit():
    """Some hosts count the ids of their items: nobody knows which one is meant."""
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}  # fmt: skip
    made = [json.dumps({"id": f"resp_{number}", "object": "response", "status": "completed", "model": "gpt-5.6", "output": [item]}).encode() for number in range(2)]  # fmt: skip
    served = Served(http=Scripted(*map(Answer, made)))
    caller, body = Caller(served, GPT), {"model": CLAUDE, "input": [{"type": "item_reference", "id": "msg_1"}, {"role": "user", "content": "Go on."}]}  # fmt: skip
    for status in (502, 404):  # one fits: it is sent, and the script has no answer of Claude's
        caller.last = None
        caller.turn("Hello.")
        reply = served.ask("POST", "/v1/responses", body)
        assert reply.status == status, reply.body


def test_a_reference_that_nobody_knows():
    served = watched(TWO, environ=KEYS)
    caller = Caller(served, CLAUDE)
    caller.headers = {"authorization": f"Bearer {KEYS['ALICE']}"}
    answer = caller.turn(QUESTION)
    caller.last = None
    given = [
        {"role": "user", "content": QUESTION},
        *references(answer),
        output(calls_of(answer)[0]),
    ]
    bob = {"authorization": f"Bearer {KEYS['BOB']}"}
    body = {"model": CLAUDE, "input": given, "tools": FUNCTIONS}
    reply = served.ask("POST", "/v1/responses", body, bob)
    assert error_of(reply) == (404, None, "input")
    assert reply.json["error"]["message"] == f"Item with id '{answer['output'][0]['id']}' not found."  # fmt: skip
    assert served.ask("POST", "/v1/responses", body, caller.headers).status == 200
    count = len(served.upstream.requests)
    assert served.ask("POST", "/v1/responses", {**body, "model": GPT}, bob).status == 404
    assert len(served.upstream.requests) == count, "OpenAI may know it, as somebody else's"
    get(served, answer["id"], method="DELETE", headers=caller.headers)
    assert served.ask("POST", "/v1/responses", body, caller.headers).status == 404


# ---- retrieving ----------------------------------------------------------------------------------------------


@STREAMED
@pytest.mark.parametrize("behind", BEHIND)
def test_the_object_is_what_the_client_got(behind, stream):
    """The same id from the first event on; there at once, also for another process over the same store."""
    store, upstream = RamStore(), Witness()
    served, other = (watched(store=store, key=KEY, upstream=upstream) for _ in range(2))
    caller = Caller(served, BEHIND[behind], stream=stream)
    answer = caller.turn(QUESTION, metadata={"run": "7"})
    assert {answer["id"]} == {one["id"] for one in objects(caller.replies[0])}
    for place in (served, other):
        reply = get(place, answer["id"])
        assert reply.status == 200
        assert answer == reply.json
    assert answer["metadata"] == {"run": "7"}
    assert answer["store"] is True
    caller.served = other
    second = caller.turn([output(call) for call in calls_of(answer)])
    assert second["previous_response_id"] == answer["id"]
    assert get(served, second["id"]).json == second
    head = get(served, second["id"], method="HEAD")
    assert (200, b"") == (head.status, head.body)


@pytest.mark.parametrize("model", [GPT, CLAUDE])
def test_it_is_stored_before_the_end_is_sent(model):
    """A program that asks as soon as it sees the end finds it."""
    served = watched(store=RamStore())
    seen = []

    async def reads(message):
        data = message.get("body", b"")
        for mark in (b"event: response.completed", b"event: response.incomplete"):
            if mark in data:
                name = json.loads(data.split(mark)[1].split(b"data: ")[1].split(b"\n")[0])["response"]["id"]  # fmt: skip
                seen.append((await served.call("GET", f"/v1/responses/{name}")).status)

    for more in ({}, {"max_output_tokens": 40}):
        body = {"model": model, "input": QUESTION, "stream": True, "reasoning": {"effort": "high"}, "tools": FUNCTIONS, **more}  # fmt: skip
        asyncio.run(served.call("POST", "/v1/responses", body, reads=reads))
    assert seen == [200, 200]


def test_an_unread_request_is_stored_too(monkeypatch):
    """A program that sends its whole history each time, and stores: all but the first request go on unread."""
    served, ways = watched(), []
    find = served.gateway.forwarded.find
    monkeypatch.setattr(served.gateway.forwarded, "find", lambda *given: ways.append(find(*given)) or ways[-1])  # fmt: skip
    history = [{"role": "user", "content": QUESTION}]
    caller = Caller(served, GPT)
    for _ in range(3):
        answer = caller.turn(history)
        assert get(served, answer["id"]).json == answer
        items = get(served, answer["id"], "/input_items?order=asc&limit=100").json["data"]
        assert len(items) == len(history)
        history = [*history, *answer["output"], *map(output, calls_of(answer))]
        caller.last = None
    assert [False, True, True] == [way is not None for way in ways]
    caller.last = answer
    caller.model = CLAUDE
    caller.turn("What is 2 + 2?")
    sent = json.dumps(served.upstream.requests[-1])
    assert (1, 2) == (sent.count(QUESTION), sent.count('"type": "tool_result"'))


@pytest.mark.parametrize("model", [f"{GPT}+cut=12", f"{CLAUDE}+cut=9"])
def test_an_answer_that_broke_off_says_so(model):
    served = watched(GatewayConfig(server=ServerSettings(retries=0)))
    caller = Caller(served, model, stream=True)
    reply = caller.send(QUESTION)
    name = objects(reply)[0]["id"]
    stored = get(served, name).json
    assert ("failed", name) == (stored["status"], stored["id"])
    assert stored["error"]["message"]
    caller.last, caller.model = stored, CLAUDE
    reply = caller.send("Go on.")
    assert reply.status == 400
    assert "'failed'" in reply.json["error"]["message"]


def test_a_client_that_left_finds_what_became_of_it():
    made = Emulator().reply("POST", "/anthropic/v1/messages", {"x-api-key": "k"}, json.dumps({"model": "claude-opus-5-5", "max_tokens": 4000, "stream": True, "messages": [{"role": "user", "content": "Hi"}]}).encode())  # fmt: skip
    assert made.status == 200
    begun = made.body.split(b"event: message_delta")[0]
    served = Served(http=Scripted(Answer(begun, Wait())))

    async def leaves():
        gone, sent = asyncio.Event(), []

        async def reads(message):
            sent.append(message.get("body", b""))
            if b"output_text.delta" in sent[-1] or b"reasoning_summary_text.delta" in sent[-1]:
                gone.set()

        body = {"model": CLAUDE, "input": "Hi", "stream": True}
        await served.call("POST", "/v1/responses", body, leaves=gone, reads=reads)
        return json.loads(b"".join(sent).split(b"data: ")[1].split(b"\n")[0])["response"]["id"]

    name = asyncio.run(leaves())
    assert get(served, name).json["status"] == "cancelled"


def test_what_is_not_there():
    served = watched()
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items")):
        reply = get(served, "resp_1", path, method)
        assert (404, "Response with id 'resp_1' not found.") == (reply.status, reply.json["error"]["message"])  # fmt: skip


def test_only_what_runs_in_the_background_can_be_cancelled():
    served = watched()
    answer = Caller(served, CLAUDE).turn("What is 1 + 1?")
    reply = get(served, answer["id"], "/cancel", "POST")
    assert reply.status == 400
    assert reply.json["error"]["message"].startswith("Cannot cancel a synchronous response.")


def test_what_only_the_provider_can_do():
    """A prompt that OpenAI has stored: nobody else knows its words."""
    served, prompt = watched(), {"id": "pmpt_1"}
    reply = Caller(served, CLAUDE).send("What is 1 + 1?", prompt=prompt)
    assert error_of(reply) == (400, None, "prompt")
    assert not served.upstream.requests
    Caller(served, GPT).send("What is 1 + 1?", prompt=prompt)
    assert served.upstream.requests[-1]["prompt"] == prompt, "it goes on as it came"


def test_a_conversation_of_the_provider_stays_there():
    served = watched()
    caller = Caller(served, GPT)
    made = served.upstream.reply("POST", "/openai/v1/conversations", {}, b"{}")
    name = json.loads(made.body)["id"]
    first = caller.turn("What is 1 + 1?", conversation=name)
    assert served.upstream.requests[-1]["conversation"] == name
    assert get(served, first["id"]).json == first
    caller.turn("What is 2 + 2?")
    assert served.upstream.requests[-1]["previous_response_id"] == first["id"]
    caller.model = CLAUDE
    reply = caller.send("Go on.")
    assert reply.json["error"]["message"] == f"Previous response with id '{name}' not found."


# ---- input items ---------------------------------------------------------------------------------------------

ITEMS = [
    {"role": "developer", "content": "Be brief."},
    {"type": "message", "id": "msg_mine", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
    {"role": "assistant", "content": "Hello."},
    {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city":"Rome"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "sun"},
    {"role": "user", "content": "What is 1 + 1?"},
]  # fmt: skip


def listed(served, name, query=""):
    reply = get(served, name, f"/input_items{query}")
    assert reply.status == 200, reply.body
    return reply.json


@pytest.mark.parametrize("model", [GPT, CLAUDE])
def test_input_items(model):
    served = watched()
    answer = Caller(served, model).turn(ITEMS)
    page = listed(served, answer["id"])
    assert page == listed(served, answer["id"]), "made-up ids stay"
    items = page["data"][::-1]
    assert len({item["id"] for item in items}) == 6
    assert items[1] == {**ITEMS[1], "status": "completed"}
    assert items[5]["content"] == [{"type": "input_text", "text": "What is 1 + 1?"}]
    assert items[2]["content"][0]["type"] == "output_text"
    done = {"status": "completed"}
    assert [{**ITEMS[3], **done}, {**ITEMS[4], **done}] == [{name: item[name] for name in item if name != "id"} for item in items[3:5]]  # fmt: skip
    assert (page["object"], page["has_more"]) == ("list", False)
    assert (page["first_id"], page["last_id"]) == (items[5]["id"], items[0]["id"])


def test_pages_of_input_items():
    served = watched()
    answer = Caller(served, CLAUDE).turn(ITEMS)
    for order in ("asc", "desc"):
        found, after = [], ""
        for _ in range(3):
            page = listed(served, answer["id"], f"?limit=2&order={order}{after}&include[]=x")
            found += page["data"]
            after = f"&after={page['last_id']}"
        assert not page["has_more"]
        assert found == listed(served, answer["id"], f"?order={order}")["data"]
        empty = listed(served, answer["id"], f"?order={order}{after}")
        assert (empty["data"], empty["first_id"], empty["has_more"]) == ([], None, False)


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "limit=-1", "order=up", "after=nobody"])  # fmt: skip
def test_wrong_questions_for_input_items(query):
    served = watched()
    answer = Caller(served, CLAUDE).turn("What is 1 + 1?")
    reply = get(served, answer["id"], f"/input_items?{query}")
    assert error_of(reply) == (400, None, query.partition("=")[0])


def test_words_alone_are_a_message():
    served = watched()
    answer = Caller(served, CLAUDE).turn("What is 1 + 1?")
    (item,) = listed(served, answer["id"])["data"]
    assert (item["type"], item["role"]) == ("message", "user")
    assert item["content"] == [{"type": "input_text", "text": "What is 1 + 1?"}]


# ---- deleting ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [GPT, CLAUDE])
@pytest.mark.parametrize("durable", [False, True], ids=["memory", "a store"])
def test_deleted_is_gone(model, durable):
    store = RamStore()
    served = watched(store=store if durable else None)
    caller = Caller(served, model)
    first = caller.turn("What is 1 + 1?")
    second = caller.turn("What is 2 + 2?")
    reply = get(served, first["id"], method="DELETE")
    assert reply.json == {"id": first["id"], "object": "response", "deleted": True}
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items")):
        assert get(served, first["id"], path, method).status == 404
    assert get(served, second["id"]).json == second
    caller.last = first
    for name in (model, CLAUDE, GPT):
        caller.model = name
        assert error_of(caller.send("Go on."))[:2] == (400, "previous_response_not_found")
    caller.last, caller.model = second, GEMINI
    reply = caller.send("Go on.")
    assert reply.json["error"]["message"] == f"Previous response with id '{first['id']}' not found."


@pytest.mark.parametrize("durable", [False, True], ids=["memory", "a store"])
@pytest.mark.parametrize("model", [GPT, GEMINI])
def test_the_turn_is_deleted_too(model, durable):
    """What was remembered for programs that lose reasoning is gone with the response."""
    served = watched(store=RamStore() if durable else None)
    caller = Caller(served, model)
    answer = caller.turn(QUESTION)
    shown = [{"role": "user", "content": QUESTION}, *calls_of(answer), *map(output, calls_of(answer))]  # fmt: skip
    for item in shown:
        item.pop("id", None)
    for is_there in (True, False):
        caller.last = None
        caller.turn(shown)
        assert is_there == bool(served.reports[-1].restored)
        get(served, answer["id"], method="DELETE")


# ---- who, and whether ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("durable", [False, True], ids=["memory", "a store"])
def test_two_tenants_with_equal_ids_never_meet(durable):
    """The emulator gives equal requests equal ids; each tenant has its own response, and deletes its own."""
    served = watched(TWO, environ=KEYS, store=RamStore() if durable else None)
    alice, bob = (Caller(served, GPT) for _ in KEYS)
    for caller, key in ((alice, KEYS["ALICE"]), (bob, KEYS["BOB"])):
        caller.headers = {"authorization": f"Bearer {key}"}
    name = alice.turn("What is 1 + 1?")["id"]
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items")):
        assert get(served, name, path, method, bob.headers).status == 404
    assert get(served, name, headers=alice.headers).status == 200
    bob.last, bob.model = alice.last, CLAUDE
    assert error_of(bob.send("Go on."))[1] == "previous_response_not_found"
    bob.last, bob.model = None, GPT
    assert bob.turn("What is 1 + 1?")["id"] == name, "the test needs equal ids"
    assert get(served, name, method="DELETE", headers=bob.headers).status == 200
    assert get(served, name, headers=bob.headers).status == 404
    assert get(served, name, headers=alice.headers).json == alice.last


@pytest.mark.parametrize("model", [GPT, CLAUDE])
@pytest.mark.parametrize("how", ["store", "header", "remember"])
def test_nothing_is_stored_where_nobody_wants_it(model, how):
    store = RamStore()
    server = ServerSettings(remember="off" if how == "remember" else "seals")
    served = watched(GatewayConfig(server=server), store=store)
    caller = Caller(served, model, **({"store": False} if how == "store" else {}))
    caller.headers = {"x-innervoice-store": "off"} if how == "header" else {}
    answer = caller.turn("What is 1 + 1?")
    assert get(served, answer["id"]).status == 404
    assert "response_not_stored" not in noted(served.reports[-1])
    assert not asyncio.run(store.items("local", "response"))


def test_in_memory_only():
    store = RamStore()
    served = watched(GatewayConfig(server=ServerSettings(remember="ram")), store=store)
    caller = Caller(served, CLAUDE)
    caller.say(QUESTION)
    assert get(served, caller.last["id"]).json == caller.last
    assert not asyncio.run(store.items("local", "response"))
    assert get(served, caller.last["id"], method="DELETE").status == 200
    assert get(served, caller.last["id"]).status == 404


class Broken(RamStore):
    """A store that is not there, or never answers."""

    how = ""

    async def _fail(self):
        if self.how == "slow":
            await asyncio.sleep(30)
        if self.how:
            raise StoreError("no")

    async def put(self, item, keys):
        if item.kind == "response":
            await self._fail()
        await super().put(item, keys)

    async def get(self, tenant, keys, known=()):
        await self._fail()
        return await super().get(tenant, keys, known)

    async def delete(self, tenant, keys):
        await self._fail()
        return await super().delete(tenant, keys)


@pytest.mark.parametrize("how", ["down", "slow"])
def test_a_store_that_fails_fails_no_answer(how):
    store = Broken()
    store.how = how
    served, other = (watched(store=store, key=KEY) for _ in range(2))
    caller = Caller(served, CLAUDE)
    answer = caller.turn("What is 1 + 1?")
    assert "degraded" == served.reports[-1].store
    assert "response_not_stored" in noted(served.reports[-1])
    assert get(served, answer["id"]).json == answer, "this process still has it"
    reply = get(other, answer["id"])
    assert (503, "1") == (reply.status, reply.headers["retry-after"]), (
        "nobody knows whether it is there"
    )
    assert get(other, answer["id"], method="DELETE").status == 503
    caller.served = other
    assert caller.send("Go on.").status == 503
    caller.served = served
    caller.turn("What is 2 + 2?")
    assert "1 + 1" in json.dumps(served.upstream.requests[-1])


def test_a_chain_over_a_gap_of_the_store_is_whole():
    """A request went on at its provider while the store could not be asked; what was before it is still found."""
    store = Broken()
    served = watched(store=store)
    caller = Caller(served, GPT, tools=[])
    for number in range(4):
        store.how = "down" if number == 2 else ""
        caller.turn(f"What is {number} + 1?")
    caller.model = CLAUDE
    caller.turn("What is 9 + 1?")
    sent = json.dumps(served.upstream.requests[-1])
    assert [1] * 4 == [sent.count(f"What is {number} + 1?") for number in range(4)]


@pytest.mark.parametrize("name", [7, ["x"], {"a": 1}, None])
def test_odd_ids_of_items_are_no_mistake_of_ours(name):
    served = watched()
    caller = Caller(served, CLAUDE)
    caller.turn([{"role": "user", "content": "What is 1 + 1?", "id": name}])
    caller.turn([{"role": "user", "content": "What is 2 + 2?", "id": name}])
    assert listed(served, caller.last["id"])["data"][0]["id"]


def test_a_long_chain_needs_two_look_ups():
    looked = []

    class Counting(RamStore):
        async def get(self, tenant, keys, known=()):
            found = await super().get(tenant, keys, known)
            looked.append(len(found))
            return found

    served = watched(store=Counting())
    caller = Caller(served, BEHIND["mistral"], tools=[])
    for number in range(12):
        caller.turn(f"What is {number} + 1?")
    looked.clear()
    caller.turn("What is 99 + 1?")
    assert [1, 11] == [count for count in looked if count][:2]
    sent = json.dumps(served.upstream.requests[-1])
    assert all(f"{number} + 1" in sent for number in range(12))


def test_limits():
    served = watched()
    caller = Caller(served, CLAUDE)
    caller.turn(ITEMS)
    served.gateway.limits = Limits(messages=6)
    reply = caller.send("Go on.")
    assert (413, None, "previous_response_id") == error_of(reply)
    assert "at most 6" in reply.json["error"]["message"]
    served.gateway.limits = Limits(body_bytes=1000)
    reply = caller.send("Go on.")
    assert (413, None, "previous_response_id") == error_of(reply)
    assert "at most 1000" in reply.json["error"]["message"]


def test_what_is_too_large_is_not_stored(monkeypatch):
    monkeypatch.setattr(
        "innervoice.gateway.responses.state.LIMITS", replace(LIMITS, stored_bytes=20_000)
    )
    served = watched()
    small = Caller(served, CLAUDE, tools=[]).turn("What is 1 + 1?")
    large = Caller(served, CLAUDE).turn("What is 1 + 1? " + "x" * 20_000)
    assert [200, 404] == [get(served, one["id"]).status for one in (small, large)]
    assert "response_not_stored" in noted(served.reports[-1])


def test_a_client_that_closes_behind_the_end_has_a_completed_response():
    """Programs close the connection as soon as they have read the last event."""
    served, gone = watched(), asyncio.Event()

    async def reads(message):
        if b"event: response.completed" in message.get("body", b""):
            gone.set()
            await asyncio.sleep(0.05)

    async def closes():
        body = {"model": CLAUDE, "input": "What is 1 + 1?", "stream": True}
        return await served.call("POST", "/v1/responses", body, leaves=gone, reads=reads)

    answer = objects(asyncio.run(closes()))[-1]
    assert served.reports[-1].status == 499
    assert get(served, answer["id"]).json["status"] == "completed"


def test_a_refusal_behind_a_sign_of_life_ends_the_stream():
    """The provider that has the response is silent, then busy; the next one cannot go on from it."""
    server = ServerSettings(retries=0, ping_seconds=0.01)
    config = GatewayConfig(models=(NamedModel(name="best", to=(GPT, CLAUDE)),), server=server)
    served = Served(config, http=Scripted(Answer(Wait(0.1), b"{}", status=503)))
    served.gateway.pings._step = 0.01
    caller = Caller(served, "best", stream=True)
    caller.last = {"id": "resp_unknown"}
    reply = caller.send("Go on.")
    assert reply.status == 200
    assert b"event: error" in reply.body or b"response.failed" in reply.body


STEPS = st.lists(
    st.tuples(st.sampled_from(["ALICE", "BOB"]), st.sampled_from([GPT, CLAUDE, GEMINI, BEHIND["mistral"]]), st.integers(0, 9)),
    min_size=3,
    max_size=8,
)  # fmt: skip


@settings(deadline=None, max_examples=15)
@given(steps=STEPS, durable=st.booleans())
def test_any_tree_of_responses(steps, durable):
    """Whoever goes on from whatever with any model: the model gets the words of that chain, in order, and no others."""
    served = watched(TWO, environ=KEYS, store=RamStore() if durable else None)
    made = {"ALICE": [], "BOB": []}
    for number, (owner, model, place) in enumerate(steps):
        caller = Caller(served, model, tools=[])
        caller.headers = {"authorization": f"Bearer {KEYS[owner]}"}
        before, words = (None, []) if place >= len(made[owner]) else made[owner][place]
        caller.last = before
        answer = caller.turn(f"What is {number} + 1?")
        made[owner].append((answer, [*words, number]))
        sent = json.dumps(served.upstream.requests[-1])
        if "previous_response_id" in sent:
            assert served.upstream.requests[-1]["previous_response_id"] == before["id"]
        else:
            assert [*words, number] == list(map(int, re.findall(r'"What is (\d) \+ 1\?"', sent)))
        other = {"authorization": f"Bearer {KEYS['BOB' if owner == 'ALICE' else 'ALICE']}"}
        is_same = any(answer["id"] == one["id"] for own in made.values() if own is not made[owner] for one, _ in own)  # fmt: skip
        assert is_same or get(served, answer["id"], headers=other).status == 404
    assert {200} == set(served.upstream.statuses)
