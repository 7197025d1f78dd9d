"""Conversations of the Responses API: stored here for every model, with the reasoning of all turns."""

import asyncio
import json

import pytest

from gateway.harness import BEHIND, QUESTION, Served
from gateway.test_stored_responses import FUNCTIONS, KEYS, STREAMED, TWO, calls_of, objects, output
from gateway.witness import Witness, noted, reasoning_is_back
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.memory.stores.ram import RamStore
from innervoice.memory.stores.store import StoreError

CLAUDE, GPT, GEMINI = BEHIND["anthropic"], BEHIND["openai-responses"], BEHIND["gemini"]
KEY = bytes(range(32))
AT = "/v1/conversations"


def served_(config=None, **options):
    return Served(config, Witness(), **options)


def created(served, **body):
    reply = served.ask("POST", AT, body or None)
    assert reply.status == 200, reply.body
    return reply.json


def turn(served, model, name, given, *, stream=False, **more):
    body = {"model": model, "input": given, "conversation": name, "stream": stream, "tools": FUNCTIONS, **more}  # fmt: skip
    reply = served.ask("POST", "/v1/responses", body)
    assert reply.status == 200, reply.body[:500]
    answer = objects(reply)[-1]
    assert {"id": name if isinstance(name, str) else name["id"]} == answer["conversation"]
    return answer


def items(served, name, query="?order=asc&limit=100"):
    reply = served.ask("GET", f"{AT}/{name}/items{query}")
    assert reply.status == 200, reply.body
    return reply.json["data"]


def words(item):
    return item["content"][0]["text"] if item["type"] == "message" else item["type"]


@STREAMED
@pytest.mark.parametrize("behind", BEHIND)
def test_a_loop_in_a_conversation(behind, stream):
    """Three turns with nothing but what is new: each request upstream has all reasoning of the answers before it."""
    served = served_(store=RamStore())
    name = created(served)["id"]
    reasoning = {"effort": "high", "summary": "auto"}
    answer = turn(served, BEHIND[behind], name, QUESTION, stream=stream, reasoning=reasoning)
    while calls := calls_of(answer):
        answer = turn(served, BEHIND[behind], {"id": name}, [output(call) for call in calls], stream=stream, reasoning=reasoning)  # fmt: skip
    assert {200} == set(served.upstream.statuses)
    assert len(served.upstream.requests) == 3
    assert reasoning_is_back(served.upstream) >= 2
    sent = json.dumps(served.upstream.requests[-1])
    assert "conversation" not in sent
    assert [sent.count(f"{city}: sunshine") for city in ("Lisbon", "Oslo")] == [1, 1]
    kinds = [item["type"] for item in items(served, name)]
    assert kinds.count("function_call") == kinds.count("function_call_output") == 2
    assert kinds[0] == kinds[-1] == "message"


def test_to_other_models_and_back():
    served = served_()
    name = created(served)["id"]
    for number, model in enumerate((CLAUDE, GEMINI, GPT, CLAUDE, GPT, GEMINI)):
        turn(served, model, name, f"What is {number} + 2?")
        sent = json.dumps(served.upstream.requests[-1])
        assert all(f"{before} + 2" in sent for before in range(number + 1))
    assert {200} == set(served.upstream.statuses)
    assert 12 <= len(items(served, name))


def test_objects():
    served = served_()
    first = created(served, metadata={"topic": "demo"}, items=[{"role": "user", "content": "Hi"}])
    name = first["id"]
    assert ("conversation", {"topic": "demo"}) == (first["object"], first["metadata"])
    assert name.startswith("conv_")
    assert first == served.ask("GET", f"{AT}/{name}").json
    changed = served.ask("POST", f"{AT}/{name}", {"metadata": {"topic": "other"}}).json
    assert {**first, "metadata": {"topic": "other"}} == changed
    assert changed == served.ask("GET", f"{AT}/{name}").json
    added = served.ask("POST", f"{AT}/{name}/items", {"items": [{"role": "assistant", "content": "Hello"}, {"type": "message", "id": "msg_mine", "role": "user", "content": [{"type": "input_text", "text": "Bye"}]}]}).json  # fmt: skip
    assert ("list", False) == (added["object"], added["has_more"])
    listed = items(served, name)
    assert ["Hi", "Hello", "Bye"] == list(map(words, listed))
    assert listed[1:] == added["data"]
    assert "msg_mine" == listed[2]["id"]
    assert listed[::-1] == items(served, name, ""), "the newest first"
    page = served.ask("GET", f"{AT}/{name}/items?order=asc&limit=2").json
    assert (True, listed[:2]) == (page["has_more"], page["data"])
    assert listed[2:] == items(served, name, f"?order=asc&after={page['last_id']}")
    one = listed[1]["id"]
    assert listed[1] == served.ask("GET", f"{AT}/{name}/items/{one}").json
    assert changed == served.ask("DELETE", f"{AT}/{name}/items/{one}").json
    assert ["Hi", "Bye"] == list(map(words, items(served, name)))
    assert 404 == served.ask("GET", f"{AT}/{name}/items/{one}").status
    assert 404 == served.ask("DELETE", f"{AT}/{name}/items/{one}").status
    turn(served, CLAUDE, name, "Go on.")
    sent = json.dumps(served.upstream.requests[-1])
    assert "Bye" in sent
    assert "Hello" not in sent
    gone = served.ask("DELETE", f"{AT}/{name}").json
    assert {"id": name, "object": "conversation.deleted", "deleted": True} == gone
    for method, path in (("GET", ""), ("POST", ""), ("DELETE", ""), ("GET", "/items"), ("POST", "/items"), ("GET", f"/items/{one}")):  # fmt: skip
        reply = served.ask(method, f"{AT}/{name}{path}", {} if method == "POST" else None)
        assert (404, f"Conversation with id '{name}' not found.") == (reply.status, reply.json["error"]["message"])  # fmt: skip


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("", {"metadata": {"a": 1}}, 400),
        ("", {"metadata": {f"k{number}": "v" for number in range(17)}}, 400),
        ("", {"items": "Hi"}, 400),
        ("", {"items": [{"role": "user", "content": "Hi"}] * 21}, 400),
        ("/ID/items", {"items": []}, 400),
        ("/ID/items", {"items": [{"type": "message", "id": "msg_1", "role": "user", "content": "Again"}]}, 400),
        ("/ID/items?limit=0", None, 400),
        ("/ID/items?after=msg_2", None, 400),
    ],
)  # fmt: skip
def test_what_is_refused(path, body, status):
    served = served_()
    name = created(served, items=[{"type": "message", "id": "msg_1", "role": "user", "content": "Hi"}])["id"]  # fmt: skip
    method = "GET" if body is None else "POST"
    reply = served.ask(method, AT + path.replace("ID", name), body)
    assert status == reply.status, reply.body


def test_a_conversation_and_a_previous_response_exclude_each_other():
    served = served_()
    name = created(served)["id"]
    first = turn(served, CLAUDE, name, "What is 1 + 1?")
    body = {"model": CLAUDE, "input": "Go on.", "conversation": name, "previous_response_id": first["id"]}  # fmt: skip
    reply = served.ask("POST", "/v1/responses", body)
    assert (400, "mutually_exclusive_parameters") == (reply.status, reply.json["error"]["code"])


@pytest.mark.parametrize("model", [CLAUDE, GEMINI, GPT])
def test_an_unknown_conversation(model):
    """Nobody goes on from it; the provider of the API may know it."""
    served = served_()
    reply = served.ask("POST", "/v1/responses", {"model": model, "input": "Hi", "conversation": "conv_1"})  # fmt: skip
    assert (404, "Conversation with id 'conv_1' not found.") == (reply.status, reply.json["error"]["message"])  # fmt: skip
    assert (model == GPT) == bool(served.upstream.requests)


@pytest.mark.parametrize("value", [7, {"id": 7}, ["conv_1"]])
def test_a_conversation_of_a_wrong_type(value):
    reply = served_().ask("POST", "/v1/responses", {"model": CLAUDE, "input": "Hi", "conversation": value})  # fmt: skip
    assert (400, "conversation") == (reply.status, reply.json["error"]["param"])


def test_only_what_was_complete_is_added():
    served = served_()
    name = created(served)["id"]
    body = {"model": f"{CLAUDE}+fail=0", "input": "What is 1 + 1?", "conversation": name}
    assert served.ask("POST", "/v1/responses", body).status >= 400
    body["model"], body["stream"] = f"{CLAUDE}+cut=4", True
    assert "failed" == objects(served.ask("POST", "/v1/responses", body))[-1]["status"]
    assert [] == items(served, name)


def test_without_storing_the_response():
    """`store: false` is about the response; the conversation gets its items all the same."""
    served = served_()
    name = created(served)["id"]
    first = turn(served, CLAUDE, name, "What is 1 + 1?", store=False)
    assert 404 == served.ask("GET", f"/v1/responses/{first['id']}").status
    turn(served, CLAUDE, name, "What is 2 + 2?")
    assert reasoning_is_back(served.upstream) == 1


def test_in_the_background():
    served = served_(store=RamStore())
    name = created(served)["id"]

    async def run():
        body = {"model": CLAUDE, "input": "What is 1 + 1?", "conversation": name, "background": True}  # fmt: skip
        reply = await served.call("POST", "/v1/responses", body)
        assert {"id": name} == reply.json["conversation"]
        for _ in range(200):
            response = (await served.call("GET", f"/v1/responses/{reply.json['id']}")).json
            if response["status"] == "completed":
                return response
            await asyncio.sleep(0.01)
        raise AssertionError(response["status"])

    response = asyncio.run(run())
    assert {"id": name} == response["conversation"]
    assert response["output"][-1]["id"] == items(served, name)[-1]["id"]
    turn(served, GPT, name, "What is 2 + 2?")
    assert "1 + 1" in json.dumps(served.upstream.requests[-1])


def test_two_processes_add_at_once():
    """Two workers that share a store: nothing is lost, and both read the same."""
    store = RamStore()
    served = [served_(store=store, key=KEY) for _ in range(2)]
    name = created(served[0])["id"]

    async def run():
        adds = [
            served[number % 2].call("POST", f"{AT}/{name}/items", {"items": [{"role": "user", "content": str(number)}]})
            for number in range(40)
        ]  # fmt: skip
        return await asyncio.gather(*adds)

    assert {200} == {reply.status for reply in asyncio.run(run())}
    first, second = (items(one, name) for one in served)
    assert first == second
    assert {str(number) for number in range(40)} == set(map(words, first))


def test_an_entry_that_is_lost_is_noted():
    """A store that was full when an entry came: the client gets an error, and later answers say that something is missing."""

    class Full(RamStore):
        is_full = False

        async def put(self, item, keys):
            if self.is_full:
                raise StoreError("full")
            await super().put(item, keys)

    store = Full()
    served = served_(store=store)
    name = created(served)["id"]
    store.is_full = True
    lost = served.ask("POST", f"{AT}/{name}/items", {"items": [{"role": "user", "content": "Lost"}]})  # fmt: skip
    assert 503 == lost.status
    store.is_full = False
    turn(served, CLAUDE, name, "What is 1 + 1?")
    assert "conversation_incomplete" in noted(served.reports[-1])
    store.is_full = True
    turn(served, CLAUDE, name, "What is 2 + 2?")
    assert "conversation_not_extended" in noted(served.reports[-1])


def test_conversations_of_others_are_not_there():
    served = served_(TWO, environ=KEYS)
    alice, bob = ({"authorization": f"Bearer {KEYS[name]}"} for name in ("ALICE", "BOB"))
    name = served.ask("POST", AT, {}, alice).json["id"]
    assert 200 == served.ask("GET", f"{AT}/{name}", None, alice).status
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/items")):
        assert 404 == served.ask(method, f"{AT}/{name}{path}", None, bob).status
    body = {"model": CLAUDE, "input": "Hi", "conversation": name}
    assert 404 == served.ask("POST", "/v1/responses", body, bob).status
    assert 200 == served.ask("POST", "/v1/responses", body, alice).status


def test_a_store_that_is_away():
    class Away(RamStore):
        is_away = False

        async def count(self, amounts, seconds):
            if self.is_away and any(name.startswith("conversation") for name in amounts):
                raise StoreError("away")
            return await super().count(amounts, seconds)

    store = Away()
    served = served_(store=store)
    name = created(served)["id"]
    store.is_away = True
    assert 503 == served.ask("GET", f"{AT}/{name}").status
    reply = served.ask("POST", "/v1/responses", {"model": CLAUDE, "input": "Hi", "conversation": name})  # fmt: skip
    assert 503 == reply.status, "it is never answered without the conversation"


def test_a_gateway_that_stores_nothing():
    served = served_(GatewayConfig(server=ServerSettings(remember="off")))
    assert 403 == served.ask("POST", AT, {}).status
    reply = served.ask("POST", "/v1/responses", {"model": CLAUDE, "input": "Hi", "conversation": "conv_1"})  # fmt: skip
    assert (400, "conversation") == (reply.status, reply.json["error"]["param"])


@pytest.mark.parametrize("behind", ["openai-responses", "anthropic", "gemini", "openai-chat"])
def test_counts_include_what_is_stored(behind):
    """The tokens of the conversation, or of the responses before, count as well."""
    served, path = served_(), "/v1/responses/input_tokens"
    model, long = BEHIND[behind], "A long text. " * 200
    name = created(served, items=[{"role": "user", "content": long}])["id"]
    first = objects(served.ask("POST", "/v1/responses", {"model": model, "input": long}))[-1]
    alone = served.ask("POST", path, {"model": model, "input": "Hi"}).json
    assert "response.input_tokens" == alone["object"]
    for more in ({"conversation": name}, {"previous_response_id": first["id"]}):
        counted = served.ask("POST", path, {"model": model, "input": "Hi", **more})
        assert counted.json["input_tokens"] > alone["input_tokens"] + 400, more
    unknown = served.ask("POST", path, {"model": CLAUDE, "input": "Hi", "conversation": "conv_1"})
    assert 404 == unknown.status
