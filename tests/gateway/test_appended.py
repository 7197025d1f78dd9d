"""A conversation that goes on is sent as the bytes of last time and what is new: the same as if all of it had been written again."""

import asyncio
import itertools
import json
from dataclasses import replace

import pytest

import innervoice as iv
from gateway.harness import BEHIND, QUESTION, Client, Served, body_of
from gateway.witness import FRONTS, Witness, ask, reasoning_is_back
from innervoice.canon.jsontext import load_json
from innervoice.gateway.appended import AppendedRequests
from innervoice.gateway.callers import ANYBODY
from innervoice.gateway.client_request import ClientRequest
from innervoice.gateway.config import GatewayConfig
from innervoice.gateway.endpoints import Endpoint


class Watched(AppendedRequests):
    """Keeps what went on, to compare it."""

    def __init__(self, **options):
        super().__init__(**options)
        self.ways = []

    def find(self, body, owner, candidate, betas, opened):
        way = super().find(body, owner, candidate, betas, opened)
        if way is not None:
            self.ways.append((body, candidate, way))
        return way


class Nothing(AppendedRequests):
    def find(self, *_):
        return None


def watched(**options):
    served = Served(None, Witness(), **options)
    served.gateway.appended = Watched()
    return served


def written_again(served, body, candidate, *, stream=False):
    """The same request, read and written as a whole."""
    gateway = served.gateway
    report = gateway.new_report(ANYBODY, body.dialect)
    appended, gateway.appended = gateway.appended, Nothing()
    named = None if "model" in body.members else body.model
    front = Endpoint(body.dialect, "answer", named, stream if named else None)
    try:
        request = ClientRequest(gateway, front, body.body, report, {})
        route = gateway.routes.route(request.name)
        return asyncio.run(request.attempt(candidate, route)), report
    finally:
        gateway.appended = appended


PAIRS = [(front, behind, loses) for front in BEHIND for behind in BEHIND for loses in (True, False) if loses or front in FRONTS]  # fmt: skip


@pytest.mark.parametrize(("front", "behind", "loses"), PAIRS)
def test_what_is_sent_is_what_would_be_written(front, behind, loses):
    served = watched()
    client = Client(served, front, BEHIND[behind], loses=loses, stream=front < behind)
    for question in (QUESTION, "What is 2 + 2?"):
        ask(client, question)
    ways = served.gateway.appended.ways
    assert ways or front == behind
    for body, candidate, way in ways:
        attempt, report = written_again(served, body, candidate, stream=client.stream)
        assert attempt.wire.body == load_json(way.frame.body)
        assert attempt.wire.prefix == way.wire.prefix
        counts = (report.kept, report.carried, report.restored, report.omitted, report.rules)
        assert counts == tuple(way.counts)
        assert (attempt.wire.url, attempt.wire.headers) == (way.wire.url, way.wire.headers)
    assert {200} == set(served.upstream.statuses)
    assert reasoning_is_back(served.upstream) or behind == "ollama"
    for _, _, way in ways:
        start = b"".join(way.frame.before[:-1])
        assert 2 <= sum(body.startswith(start) for body in served.upstream.bodies)


def steps(served, model, count, *, front="openai-chat", between=lambda number: None, **how):
    """An agent that makes many steps in one turn; returns its client."""
    client = Client(served, front, model, loses=True, **how)
    question = ", then ".join(f"the weather in Oslo{number}" for number in range(count))
    client.history.append(iv.user(f"What is {question}?"))
    for number in range(count):
        between(number)
        answer = asyncio.run(client.turn())
        client.history += [iv.tool_result(call.id, "Sunshine") for call in answer.tool_calls]
        if not answer.tool_calls:
            break
    return client


@pytest.mark.parametrize("model", [BEHIND["gemini"], BEHIND["anthropic"], BEHIND["openai-responses"], BEHIND["openai-chat"]])  # fmt: skip
def test_step_by_step_the_prefix_is_the_same_bytes(model):
    served = watched()
    steps(served, model, 100 if model == BEHIND["gemini"] else 30)
    bodies = served.upstream.bodies[1:]  # the first one may have gone on as the client wrote it
    assert len(bodies) >= 25
    assert len(served.gateway.appended.ways) >= len(bodies) - 2
    ends = (b"]", b"}")
    for one, other in itertools.pairwise(bodies):
        common = len(_common(one, other))
        # All but the end of the list and what stands behind it.
        assert one[common:][:1] in ends or one[common:][:1] == b"", one[common:][:80]
    assert 1 == len({json.dumps({**json.loads(body), _history(body): 0}) for body in bodies})


def _history(body):
    return next(name for name in ("messages", "contents", "input") if name in json.loads(body))


def _common(one, other):
    for size, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return one[:size]
    return one[: min(len(one), len(other))]


def test_a_switch_and_back_goes_on_where_it_was():
    served = watched()
    client = Client(served, "openai-chat", BEHIND["anthropic"], loses=True)
    for number, name in enumerate(("anthropic", "gemini", "anthropic", "openai-chat", "anthropic")):
        ask(client, f"What is {number} + 2?", model=BEHIND[name])
        ask(client, QUESTION)
    assert {200} == set(served.upstream.statuses)
    assert served.gateway.appended.ways
    for body, candidate, way in served.gateway.appended.ways:
        attempt, _ = written_again(served, body, candidate)
        assert attempt.wire.body == load_json(way.frame.body)


EDITS = {
    "an earlier message": lambda messages: [{**messages[0], "content": "Something else."}, *messages[1:]],
    "the words of the turn": lambda messages: [*messages[:-2], {**messages[-2], "content": "Well."}, messages[-1]],
    "a result left out": lambda messages: [*messages[:-1], {"role": "user", "content": "Go on."}],
    "a result twice": lambda messages: [*messages, messages[-1]],
    "a picture": lambda messages: [*messages, {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}],
    "nothing new": lambda messages: messages[:-2],
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_anything_else_is_read_as_a_whole(edit):
    served = watched()
    client = Client(served, "openai-chat", BEHIND["gemini"], loses=True)
    client.history.append(iv.user(QUESTION))
    answer = asyncio.run(client.turn())
    client.history += [iv.tool_result(call.id, "Sunshine") for call in answer.tool_calls]
    path, body = body_of("openai-chat", client.model, client.history, tools=[], reasoning=iv.Reasoning("high", show="summary"), max_tokens=8000)  # fmt: skip
    first = served.upstream.requests and client.replies
    assert first
    sent = json.loads(json.dumps(body))
    sent["tools"] = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]  # fmt: skip
    sent["messages"] = EDITS[edit](body["messages"])
    served.ask("POST", path, sent)
    assert not served.gateway.appended.ways


KEYS = {"alice": "alice's own key, which is long", "bob": "bob's own key, which is long"}


@pytest.mark.parametrize("change", ["nothing", "setting", "tenant", "store", "config"])
def test_other_settings_begin_anew(change):
    config = GatewayConfig(keys={name: f"env:{name.upper()}" for name in KEYS})
    served = Served(config, Witness(), {name.upper(): key for name, key in KEYS.items()})
    served.gateway.appended = Watched()
    headers, call = {"x-api-key": KEYS["alice"]}, served.call
    served.call = lambda *one: call(*one, headers)
    client = Client(served, "openai-chat", BEHIND["gemini"], loses=True)
    ask(client, QUESTION)
    before = len(served.gateway.appended.ways)
    assert before
    if change == "setting":
        client.max_tokens = 7000
    elif change == "store":
        headers["x-innervoice-store"] = "off"
    elif change == "config":
        served.gateway.reload(served.gateway.config)
    elif change == "tenant":
        headers["x-api-key"] = KEYS["bob"]
    client.history.append(iv.user("And?"))
    asyncio.run(client.turn())
    assert (change == "nothing") == (before < len(served.gateway.appended.ways))


def test_what_is_refused_is_read_as_a_whole_and_served():
    """An upstream that refuses the bytes of last time, as after its seals have ended."""
    served = watched()
    client = Client(served, "openai-chat", BEHIND["anthropic"], loses=True)
    client.history.append(iv.user(QUESTION))
    answer = asyncio.run(client.turn())
    client.history += [iv.tool_result(call.id, "Sunshine") for call in answer.tool_calls]
    key, answered = next(iter(served.gateway.appended._values.items()))
    frame = answered.sent.frame
    broken = frame._replace(after=frame.after.replace(b'"adaptive"', b'"enabled"'))
    assert broken != frame
    sent = replace(answered.sent, frame=broken, unmarked=broken)
    served.gateway.appended._values[key] = answered._replace(sent=sent)
    asyncio.run(client.turn())
    assert [200, 400, 200] == served.upstream.statuses
    assert not served.gateway.appended._values.get(key)


def test_it_is_bounded_in_bytes_and_time():
    now = [0.0]
    appended = AppendedRequests(5_000, lambda: now[0])
    served = Served(None, Witness())
    served.gateway.appended = appended
    for number in range(30):
        client = Client(served, "openai-chat", BEHIND["gemini"], loses=True)
        ask(client, f"What is {number} + 2?")
    assert 0 < len(appended) < 30
    now[0] += 10_000
    ask(Client(served, "openai-chat", BEHIND["gemini"], loses=True), "What is 2 + 2?")
    assert 1 == len(appended)


@pytest.mark.parametrize(("seconds", "goes_on"), [(899, True), (901, False)])
def test_what_was_sent_long_ago_is_read_again(seconds, goes_on):
    """A quarter of an hour after the last step, nothing is taken from the process: the store may have forgotten the turn."""
    now = [0.0]
    served = watched()
    served.gateway.appended = Watched(now=lambda: now[0])
    client = Client(served, "openai-chat", BEHIND["gemini"], loses=True)
    ask(client, QUESTION)
    before = len(served.gateway.appended.ways)
    now[0] += seconds

    client.history.append(iv.user("What is 2 + 2?"))
    asyncio.run(client.turn())

    assert goes_on == (len(served.gateway.appended.ways) > before)
    assert {200} == set(served.upstream.statuses)
