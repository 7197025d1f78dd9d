"""Stored interactions: what a client of Google's Interactions gets back by an id, and goes on from, at every upstream."""

import json

import pytest

from gateway.harness import BEHIND, QUESTION, TOOLS, Served
from gateway.upstreams import Answer, Scripted
from gateway.witness import Witness, noted, proofs, reasoning_is_back, seals
from innervoice.emulator.core import Emulator
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.memory.stores.ram import RamStore

STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
HOME, CLAUDE, GPT = BEHIND["gemini-interactions"], BEHIND["anthropic"], BEHIND["openai-responses"]
AWAY = [name for name in BEHIND if name != "gemini-interactions"]
KEY = bytes(range(32))
TWO = GatewayConfig(keys={"alice": "env:ALICE", "bob": "env:BOB"})
KEYS = {"ALICE": "key-of-alice-0123456789", "BOB": "key-of-bob-0123456789"}


class Caller:
    """A program that keeps nothing but the id of the last interaction."""

    def __init__(self, served, model, *, stream=False, **settings):
        self.served, self.model, self.stream = served, model, stream
        config = {"thinking_level": "high", "thinking_summaries": "auto"}
        self.settings = {"tools": [{"type": "function", **TOOLS[0]}], "generation_config": config, **settings}  # fmt: skip
        self.headers = {}
        self.last = None
        self.ids = []

    def send(self, given, **more):
        """Sends these steps alone; returns the reply."""
        going_on = {"previous_interaction_id": self.last} if self.last else {}
        body = {"model": self.model, "input": given, "stream": self.stream, **self.settings, **going_on, **more}  # fmt: skip
        return self.served.ask("POST", "/v1beta/interactions", body, self.headers)

    def turn(self, given, **more):
        """The interaction as the server has stored it; its id is all that is taken from the answer."""
        reply = self.send(given, **more)
        assert reply.status == 200, reply.body[:500]
        self.last = name_of(reply)
        self.ids.append(self.last)
        return get(self.served, self.last, headers=self.headers).json

    def say(self, text):
        """A question, with all the calls that the model makes."""
        answer = self.turn(text)
        while calls := calls_of(answer):
            answer = self.turn([result(call) for call in calls])
        return answer


def events_of(reply):
    lines = [line for line in reply.body.split(b"\n") if line.startswith(b"data: {")]
    return [json.loads(line[6:]) for line in lines]


def name_of(reply):
    """The id of an answer; every event that has one has the same."""
    if not reply.headers["content-type"].startswith("text/event-stream"):
        return reply.json["id"]
    [name] = {event["interaction"]["id"] for event in events_of(reply) if "interaction" in event}
    return name


def calls_of(answer):
    return [step for step in answer["steps"] if step["type"] == "function_call"]


def result(call):
    return {"type": "function_result", "call_id": call["id"], "name": call["name"], "result": f"{call['arguments']['city']}: sunshine"}  # fmt: skip


def watched(config=None, **options):
    return Served(config, options.pop("upstream", None) or Witness(), **options)


def get(served, name, path="", method="GET", headers=None):
    return served.ask(method, f"/v1beta/interactions/{name}{path}", None, headers)


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
    if behind == "gemini-interactions":
        assert last["previous_interaction_id"] == caller.ids[-2], "the provider has it itself"
        assert last["input"] == "What is 2 + 2?"
        assert {"bytes"} == {report.way for report in served.reports}
        return
    assert "previous_interaction_id" not in json.dumps(last)
    assert reasoning_is_back(served.upstream) >= 3
    assert all(word in json.dumps(last) for word in ("Lisbon: sunshine", "Oslo: sunshine", "2 + 2"))
    assert [0, 0] == [served.reports[-1].omitted, "reasoning_missing" in noted(served.reports[-1])]


@STREAMED
def test_to_other_models_and_back(stream):
    """Each model has its own reasoning again, whoever answered in between."""
    served = watched()
    caller = Caller(served, HOME, stream=stream)
    caller.say(QUESTION)
    for number, name in enumerate((CLAUDE, GPT, HOME, CLAUDE, BEHIND["openai-chat"], GPT, HOME)):
        caller.model = name
        caller.say(f"What is {number} + 2?")
    made = {}
    for request, answer, report in zip(served.upstream.requests, served.upstream.answers, served.reports, strict=True):  # fmt: skip
        body = json.dumps(request, ensure_ascii=False)
        is_held = "previous_interaction_id" in request
        for provider, own in made.items():
            found = [proof for proof in own if json.dumps(proof, ensure_ascii=False) in body]
            assert is_held or (own if provider == report.provider else []) == found
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
    callers = [Caller(served, BEHIND["gemini"]) for _ in signs]
    answers = [caller.turn(QUESTION) for caller in callers]
    for caller, answer, sign in zip(callers, answers, signs, strict=True):
        caller.turn([result(call) for call in calls_of(answer)])
        assert [sign] == seals(json.loads(http.requests[-1]["body"]))


def test_google_no_longer_has_it():
    """An interaction is kept at Google for 55 days, or one: what is known here is sent."""
    served = watched()
    caller = Caller(served, HOME)
    caller.say(QUESTION)
    served.upstream.emulator = Emulator()
    caller.turn("What is 2 + 2?")
    assert [404, 200] == served.upstream.statuses[-2:]
    last = served.upstream.requests[-1]
    assert "previous_interaction_id" not in last
    assert "Lisbon: sunshine" in json.dumps(last)
    assert {"user_input", "thought", "function_call", "function_result", "model_output"} == {step["type"] for step in last["input"]}  # fmt: skip


def test_forks_and_contents_of_any_form():
    """An input may be words, a content, a list of contents or of steps."""
    served = watched()
    caller = Caller(served, CLAUDE)
    words = {"type": "text", "text": "What is 1 + 1?"}
    forms = [words["text"], words, [words], ["What is 1 + 1?"], [{"type": "user_input", "content": [words]}]]  # fmt: skip
    for form in forms:
        caller.last = None
        caller.turn(form)
        first = caller.last
        for number in (2, 3):
            caller.last = first
            caller.turn(f"What is {number} + {number}?")
        sent = json.dumps(served.upstream.requests[-1])
        assert [1, 0, 1] == [sent.count(f'"What is {number} + {number}?"') for number in (1, 2, 3)]


def test_instructions_are_not_inherited():
    served = watched()
    caller = Caller(served, CLAUDE)
    caller.turn("What is 1 + 1?", system_instruction="Speak like a pirate.")
    caller.turn("What is 2 + 2?")
    assert "pirate" in json.dumps(served.upstream.requests[0])
    assert "pirate" not in json.dumps(served.upstream.requests[1])


@pytest.mark.parametrize("behind", AWAY)
def test_an_unknown_interaction_is_refused(behind):
    """Any other API would answer without the conversation."""
    served = Served()
    body = {"model": BEHIND[behind], "input": "And then?", "previous_interaction_id": "v1_a"}
    reply = served.ask("POST", "/v1beta/interactions", body)
    assert (404, "Interaction with id 'v1_a' not found.") == (reply.status, reply.json["error"]["message"])  # fmt: skip
    assert [] == served.upstream.requests


def test_an_unknown_interaction_is_asked_of_google():
    """It was made without the gateway; Google knows it."""
    served = watched()
    caller = Caller(watched(upstream=served.upstream), HOME)
    caller.turn("What is 2 + 2?")
    caller.served = served
    answer = caller.turn("What is 3 * 3?")
    assert caller.ids[0] == served.upstream.requests[-1]["previous_interaction_id"]
    assert "3 * 3 = 9." == answer["steps"][-1]["content"][0]["text"]


def test_ids_of_two_apis_never_meet():
    """A response is no interaction, and the other way round."""
    served = watched()
    made = served.ask("POST", "/v1/responses", {"model": CLAUDE, "input": "What is 1 + 1?"}).json
    caller = Caller(served, CLAUDE)
    caller.last = made["id"]
    assert 404 == caller.send("Go on.").status == get(served, made["id"]).status
    caller.last = None
    name = caller.turn("What is 1 + 1?")["id"]
    body = {"model": CLAUDE, "input": "Go on.", "previous_response_id": name}
    assert 400 == served.ask("POST", "/v1/responses", body).status
    assert 404 == served.ask("GET", f"/v1/responses/{name}").status


# ---- what is there -------------------------------------------------------------------------------------------


@STREAMED
@pytest.mark.parametrize("behind", BEHIND)
def test_the_object_is_what_the_client_got(behind, stream):
    """There at once, also for another process over the same store; a stream has the steps that the object has."""
    store, upstream = RamStore(), Witness()
    served, other = (watched(store=store, key=KEY, upstream=upstream) for _ in range(2))
    caller = Caller(served, BEHIND[behind], stream=stream)
    reply = caller.send(QUESTION)
    name = caller.last = name_of(reply)
    answer = get(other, name).json
    assert answer == get(served, name).json
    assert ("interaction", "requires_action") == (answer["object"], answer["status"])
    if stream:
        started = [event["step"]["type"] for event in events_of(reply) if event["event_type"] == "step.start"]  # fmt: skip
        assert started == [step["type"] for step in answer["steps"]]
        signatures = [event["delta"]["signature"] for event in events_of(reply) if event.get("delta", {}).get("type") == "thought_signature"]  # fmt: skip
        assert signatures == [step["signature"] for step in answer["steps"] if step["type"] == "thought" and "signature" in step]  # fmt: skip
    else:
        assert answer == reply.json
    caller.served = other
    second = caller.turn([result(call) for call in calls_of(answer)])
    if behind != "gemini-interactions":  # whose own objects do not say it
        assert second["previous_interaction_id"] == name
    assert get(served, second["id"]).json == second


def test_the_input_on_demand():
    served = watched()
    answer = Caller(served, CLAUDE).turn("What is 1 + 1?")
    said = [{"type": "user_input", "content": [{"type": "text", "text": "What is 1 + 1?"}]}]
    assert "input" not in answer
    assert said == get(served, answer["id"], "?include_input=true").json["input"]


@pytest.mark.parametrize("model", [HOME, CLAUDE])
@pytest.mark.parametrize("durable", [False, True])
def test_deleted_is_gone(model, durable):
    """Nobody goes on from it: not here, and not at Google, which still has it."""
    served = watched(store=RamStore() if durable else None, key=KEY)
    caller = Caller(served, model)
    name = caller.turn("What is 1 + 1?")["id"]
    reply = get(served, name, method="DELETE")
    assert (200, {}) == (reply.status, reply.json)
    assert [404, 404] == [get(served, name, method=method).status for method in ("GET", "DELETE")]
    assert 404 == caller.send("Go on.").status


def test_what_cannot_be_had():
    served = watched()
    name = Caller(served, CLAUDE).turn("What is 1 + 1?")["id"]
    for path, method, word in (("/cancel", "POST", "background"), ("?stream=true", "GET", "stream")):  # fmt: skip
        reply = get(served, name, path, method)
        assert 400 == reply.status
        assert word in reply.json["error"]["message"]
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel")):
        reply = get(served, "v1_none", path, method)
        assert (404, "not_found") == (reply.status, reply.json["error"]["code"])


@pytest.mark.parametrize(("name", "value"), [("background", True), ("continuation_token", "abc"), ("environment", "env_1")])  # fmt: skip
def test_what_only_google_can_do(name, value):
    served = watched()
    reply = Caller(served, CLAUDE).send("What is 1 + 1?", **{name: value})
    assert 400 == reply.status
    assert name in reply.json["error"]["message"]
    assert [] == served.upstream.requests


@pytest.mark.parametrize("model", [HOME, CLAUDE])
@pytest.mark.parametrize("how", ["store", "header"])
def test_nothing_is_stored_where_nobody_wants_it(model, how):
    served = watched(store=RamStore(), key=KEY)
    caller = Caller(served, model, **({"store": False} if how == "store" else {}))
    caller.headers = {"x-innervoice-store": "off"} if how == "header" else {}
    name = name_of(caller.send("What is 1 + 1?"))
    assert 404 == get(served, name).status


def test_tenants_never_meet():
    served = watched(TWO, environ=KEYS)
    caller = Caller(served, CLAUDE)
    caller.headers = {"x-goog-api-key": KEYS["ALICE"]}
    name = caller.turn("What is 1 + 1?")["id"]
    caller.headers = {"x-goog-api-key": KEYS["BOB"]}
    assert 404 == caller.send("Go on.").status
    assert [404, 404] == [get(served, name, method=method, headers=caller.headers).status for method in ("GET", "DELETE")]  # fmt: skip


@pytest.mark.parametrize("model", [f"{HOME}+cut=6", f"{CLAUDE}+cut=9"])
def test_an_answer_that_broke_off_says_so(model):
    served = watched(GatewayConfig(server=ServerSettings(retries=0)))
    caller = Caller(served, model, stream=True)
    reply = caller.send(QUESTION)
    name = caller.last = name_of(reply)
    stored = get(served, name).json
    assert ("failed", name) == (stored["status"], stored["id"])
    caller.model = CLAUDE
    reply = caller.send("Go on.")
    assert 400 == reply.status
    assert "'failed'" in reply.json["error"]["message"]
