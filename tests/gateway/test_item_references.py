"""References to items of earlier responses: what a host accepts unchanged, the gateway never makes it refuse."""

import json
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.harness import BEHIND, QUESTION, Served
from gateway.test_stored_responses import FUNCTIONS, GPT, STREAMED, calls_of, objects, output
from gateway.upstreams import Answer, Scripted
from gateway.witness import Witness, noted, reasoning_is_back
from innervoice.memory.stores.ram import RamStore
from shared import SHARED, needs_shared

OPENAI = "/openai/v1/responses"
MODEL = GPT.partition("/")[2]
USER = {"role": "user", "content": QUESTION}


def reference(item):
    return {"type": "item_reference", "id": item["id"]}


def whole(item):
    return item


def nothing(_item):
    return None


def without_id(item):
    return {name: value for name, value in item.items() if name != "id"}


def without_seal(item):
    return {name: value for name, value in item.items() if name != "encrypted_content"}


# How the AI SDK sends back what a model said: reasoning, then everything else.
SHAPES = {
    "reasoning by reference, calls whole": (reference, whole),
    "references only": (reference, reference),
    "whole": (whole, whole),
    "calls by reference, reasoning whole": (whole, reference),
    "calls by reference, no reasoning": (nothing, reference),
    "calls alone, without ids": (nothing, without_id),
    "reasoning by reference, calls without ids": (reference, without_id),
}


def shaped(items, shape):
    of_reasoning, of_others = SHAPES[shape]
    sent = (of_reasoning(item) if item["type"] == "reasoning" else of_others(item) for item in items)  # fmt: skip
    return [item for item in sent if item is not None]


def ask(served, model, items, *, stream=False, **more):
    body = {"model": model, "input": items, "tools": FUNCTIONS, "stream": stream, "reasoning": {"effort": "high", "summary": "auto"}, **more}  # fmt: skip
    return served.ask("POST", "/v1/responses", body)


def repeated(body):
    """The ids that the input of a request has twice."""
    names = [item["id"] for item in body["input"] if isinstance(item, dict) and item.get("id")]
    return {name for name in names if names.count(name) > 1}


@STREAMED
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("behind", BEHIND)
def test_a_loop_in_every_shape(behind, shape, stream):
    """Three turns with the whole history each: all are answered, and no item arrives twice."""
    served = Served(None, Witness(), store=RamStore())
    history = [USER]
    for _ in range(3):
        reply = ask(served, BEHIND[behind], history, stream=stream)
        assert reply.status == 200, reply.body[:500]
        answer = objects(reply)[-1]
        history += [*shaped(answer["output"], shape), *map(output, calls_of(answer))]
    assert {200} == set(served.upstream.statuses)
    if behind == "openai-responses":
        assert not any(map(repeated, served.upstream.requests))
        if "alone" not in shape:
            assert {"bytes"} == {report.way for report in served.reports}, "nothing was lost"
        return
    assert "item_reference" not in json.dumps(served.upstream.requests[-1])
    assert reasoning_is_back(served.upstream) >= 2


@pytest.mark.parametrize("model", [GPT, BEHIND["anthropic"]])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_not_stored_is_refused_in_the_same_words(model, shape):
    """With `store: false` there is nothing to refer to; whole items are enough."""
    served = Served(None, Witness())
    answer = objects(ask(served, model, [USER], store=False))[-1]
    history = [USER, *shaped(answer["output"], shape), *map(output, calls_of(answer))]
    reply = ask(served, model, history, store=False)
    if "item_reference" in json.dumps(history):
        assert (reply.status, reply.json["error"]["param"]) == (404, "input")
    else:
        assert reply.status == 200, reply.body[:500]


@pytest.mark.parametrize("behind", BEHIND)
def test_references_behind_a_previous_response(behind):
    """An item of the conversation itself is one too many, at every upstream; one of another response is not."""
    served = Served(None, Witness())
    model = BEHIND[behind]
    first = objects(ask(served, model, [USER]))[-1]
    other = objects(ask(served, model, "What is 1 + 1?"))[-1]
    results = [output(call) for call in calls_of(first)]
    twice = [*map(reference, first["output"]), *results]
    reply = ask(served, model, twice, previous_response_id=first["id"])
    assert reply.status == 400
    assert "Duplicate item found" in reply.json["error"]["message"]
    more = [*results, *map(reference, other["output"]), {"role": "user", "content": "Go on."}]
    reply = ask(served, model, more, previous_response_id=first["id"])
    assert reply.status == 200, reply.body[:500]


@pytest.mark.parametrize("behind", BEHIND)
def test_an_item_and_a_reference_to_it(behind):
    """OpenAI refuses what comes twice; elsewhere it is sent once."""
    served = Served(None, Witness())
    model = BEHIND[behind]
    first = objects(ask(served, model, [USER]))[-1]
    (call,) = calls_of(first)
    items = [USER, *map(reference, first["output"]), call, output(call)]
    reply = ask(served, model, items)
    if behind == "openai-responses":
        assert reply.status == 400
        return
    assert reply.status == 200, reply.body[:500]
    assert 1 == json.dumps(served.upstream.requests[-1]).count("Lisbon: sunshine")


FORMS = (reference, whole, nothing, without_id, without_seal)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(FORMS), min_size=12, max_size=12), st.booleans())
def test_what_the_host_accepts_arrives(forms, is_stored):
    """Every item in any form: if the host answers the request of the client as it is, it answers through the gateway."""
    served = Served(None, Witness())
    emulator, history = served.upstream.emulator, [USER]
    choices = iter(forms)
    for _ in range(3):
        body = {"model": MODEL, "input": history, "tools": FUNCTIONS, "store": is_stored}
        direct = emulator.reply("POST", OPENAI, {"authorization": "Bearer emulated"}, json.dumps(body).encode())  # fmt: skip
        reply = served.ask("POST", "/v1/responses", {**body, "model": GPT})
        if direct.status != 200:
            return
        assert reply.status == 200, (history, reply.body)
        answer = reply.json
        sent = [next(choices, whole)(item) for item in answer["output"]]
        history = [*history, *filter(None, sent), *map(output, calls_of(answer))]


def test_a_restoration_that_is_refused_is_taken_back():
    """A host with a rule that nobody here has heard of: it gets the request as it came, and the report says so."""

    class Strange(Witness):
        def reply(self, method, path, headers, body):
            if b"encrypted_content" in body:
                self.statuses.append(400)
                return self.emulator.reply("POST", OPENAI, {}, b'{"input": "no model"}')
            return super().reply(method, path, headers, body)

    served = Served(None, Strange())
    answer = objects(ask(served, GPT, [USER]))[-1]
    history = [USER, *shaped(answer["output"], "calls alone, without ids"), *map(output, calls_of(answer))]  # fmt: skip
    reply = ask(served, GPT, history)
    assert reply.status == 200, reply.body
    assert [200, 400, 200] == served.upstream.statuses
    assert "restoration_refused" in noted(served.reports[-1])
    assert history == served.upstream.requests[-1]["input"]
    assert 0 == served.reports[-1].restored


def recorded_conversations():
    groups = defaultdict(list)
    for path in sorted((SHARED / "corpus").glob("*.json")):
        exchange = json.loads(path.read_text("utf-8"))
        is_whole = exchange["request"] and exchange["status"] == 200
        if exchange["dialect"] == "openai-responses" and is_whole:
            groups[exchange["conversation"]["group"]].append(exchange)
    return {name: group for name, group in groups.items() if len(group) > 1}


@needs_shared
@pytest.mark.parametrize("form", [whole, reference], ids=["as recorded", "with references"])
def test_recorded_conversations(form):
    """What programs sent to the host: no restoration adds an item that a request has or names."""
    conversations = recorded_conversations()
    for name, group in conversations.items():
        answers = [exchange["response"].get("json") or exchange["response"].get("sse") for exchange in group]  # fmt: skip
        data = [answer if isinstance(answer, str) else json.dumps(answer) for answer in answers]
        http = Scripted(*(Answer(one.encode()) for one in data))
        served = Served(http=http)
        for exchange in group:
            body = {**exchange["request"]["body"], "model": GPT}
            if isinstance(body.get("input"), list):
                body["input"] = [
                    form(item) if item.get("type") == "reasoning" and item.get("id") else item
                    for item in body["input"]
                ]
            before = repeated(body) if isinstance(body.get("input"), list) else set()
            reply = served.ask("POST", "/v1/responses", body)
            sent = json.loads(http.requests[-1]["body"])
            assert reply.status == 200, (name, reply.body[:300])
            if isinstance(sent["input"], list):
                assert repeated(sent) <= before, name
    assert len(conversations) > 20
