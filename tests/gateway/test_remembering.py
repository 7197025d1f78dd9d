"""What is remembered of turns, for how long, and what a client can say about it."""

import asyncio
import json
import random

import pytest

import innervoice as iv
from gateway.harness import BEHIND, QUESTION, Client, Served
from gateway.upstreams import Answer, Scripted
from gateway.witness import Witness, reasoning_is_back
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.memory.stores.ram import RamStore

KEY, NEWER = b"k" * 32, b"n" * 32


def configured(**server):
    return GatewayConfig(server=ServerSettings(**server))


def lossy(served, behind="anthropic", **how):
    """A loop of a client that keeps text and calls alone, each request to another gateway if there are several."""
    client = Client(served, "openai-chat", BEHIND[behind], loses=True, **how)
    asyncio.run(client.say(QUESTION))
    return client


def stored(store):
    return asyncio.run(store.items("local", "turn"))


class Dealt:
    """Gateways that share a store; each request goes to the next of them."""

    def __init__(self, count=2, upstream=None, store=None, keys=((KEY,),), **options):
        self.store = store or RamStore()
        self.upstream = upstream or Witness()
        keys = [keys[number % len(keys)] for number in range(count)]
        self.all = [
            Served(options.get("config"), self.upstream, key=key, older_keys=older, store=self.store)
            for key, *older in keys
        ]  # fmt: skip
        self.asked = 0

    @property
    def reports(self):
        return sorted((one for served in self.all for one in served.reports), key=lambda one: one.begun)  # fmt: skip

    async def call(self, *arguments, **options):
        served = self.all[self.asked % len(self.all)]
        self.asked += 1
        return await served.call(*arguments, **options)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("behind", BEHIND)
def test_any_process_serves_the_next_turn(behind, stream):
    dealt = Dealt()
    lossy(dealt, behind, stream=stream)
    assert {200} == set(dealt.upstream.statuses)
    assert reasoning_is_back(dealt.upstream, summaries=False) >= 1
    assert dealt.reports[-1].restored


def test_the_header_counts_what_was_put_back_and_explain_says_why():
    served = Served()
    client = lossy(served)
    client.model = BEHIND["gemini"]
    asyncio.run(client.say("What is 2 + 2?"))
    reply = client.replies[-1]
    explained = served.ask("GET", f"/v1/explain/{reply.headers['x-innervoice-id']}").json
    assert reply.headers["x-innervoice-reasoning"].startswith("kept=0 restored=0 omitted=3(H2)")
    assert 3 == explained["reasoning"]["omitted"]
    left = [item for item in explained["plan"] if item["action"] == "omitted"]
    assert 3 == len(left)
    assert {"H2"} == {item["rule"] for item in left}
    assert all(item["why"] for item in left)


def test_what_a_client_carries_is_told_apart_from_what_was_remembered():
    served = Served()
    for dialect, loses in (("anthropic", False), ("openai-chat", True)):
        client = Client(served, dialect, BEHIND["openai-responses"], loses=loses)
        asyncio.run(client.say(QUESTION))
        reply = client.replies[-1]
        told = served.ask("GET", f"/v1/explain/{reply.headers['x-innervoice-id']}").json["reasoning"]  # fmt: skip
        assert (2, 0 if loses else 2, 2 if loses else 0) == (told["kept"], told["carried"], told["restored"])  # fmt: skip


# ---- how much is kept ------------------------------------------------------------------------------


@pytest.mark.parametrize("remember", ["off", "ram", "seals", "full"])
def test_what_the_configuration_says_is_kept(remember):
    store = RamStore()
    served = Served(configured(remember=remember), Witness(), store=store)
    lossy(served, "openai-chat")
    is_stored = remember in ("seals", "full")
    assert (3 if is_stored else 0) == len(stored(store))
    assert (2 if remember != "off" else 0) == served.reports[-1].restored
    assert ("off" if remember == "off" else "ok") == served.reports[-1].store


@pytest.mark.parametrize("behind", ["openai-responses", "gemini"])
@pytest.mark.parametrize("remember", ["seals", "full"])
def test_summaries_are_stored_only_if_all_is(behind, remember):
    dealt = Dealt(3, config=configured(remember=remember))
    lossy(dealt, behind)
    thoughts = [answer.thinking for answer in dealt.upstream.answers[:2]]
    assert all(thoughts)
    sent = json.dumps(dealt.upstream.requests[-1], ensure_ascii=False)
    for thought in thoughts:
        assert (remember == "full") == (json.dumps(thought, ensure_ascii=False)[1:-1] in sent)
    assert reasoning_is_back(dealt.upstream, summaries=False)


@pytest.mark.parametrize(("asked", "kept", "restored"), [("off", 0, 0), ("ram", 0, 2), (None, 3, 2)])  # fmt: skip
def test_a_client_may_ask_that_less_is_kept(asked, kept, restored):
    store = RamStore()
    served = Served(None, Witness(), store=store)

    class Asking:
        reports = served.reports

        async def call(self, method, path, body):
            return await served.call(method, path, body, {"x-innervoice-store": asked} if asked else {})  # fmt: skip

    lossy(Asking(), "openai-chat")
    assert kept == len(stored(store))
    assert restored == served.reports[-1].restored


def test_another_wish_is_refused_in_words():
    reply = Served().ask("POST", "/v1/messages", {"model": "x", "messages": []}, {"x-innervoice-store": "never"})  # fmt: skip
    assert 400 == reply.status
    assert 'must be "off" or "ram", not \'never\'' in reply.json["error"]["message"]


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize("store", [False, True, None])
def test_store_false_keeps_a_turn_out_of_the_store(dialect, store):
    kept = RamStore()
    served = Served(None, Witness(), store=kept)
    path, body = {
        "openai-chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "What is 2 + 2?"}]}),
        "openai-responses": ("/v1/responses", {"input": "What is 2 + 2?", "reasoning": {"effort": "high"}}),
    }[dialect]  # fmt: skip
    body = {"model": BEHIND["openai-chat"], **body, **({} if store is None else {"store": store})}
    for _ in range(2):  # the second one is known
        assert 200 == served.ask("POST", path, body).status
    assert (store is False) == (not stored(kept))
    assert len(served.gateway.turns)


# ---- what is large, old or gone ---------------------------------------------------------------------


def test_a_thought_that_is_too_large_for_an_envelope_is_in_the_store():
    thought = "".join(random.Random(2).choices("0123456789abcdef", k=300_000))
    message = {"role": "assistant", "content": "Yes.", "reasoning_content": thought}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "deepseek-v4-pro", "choices": [choice]})  # fmt: skip
    http = Scripted(*(Answer(body.encode()) for _ in range(9)))
    store = RamStore()
    history = [{"role": "user", "content": "Is it so?"}]

    def ask():
        served = Served(None, http=http, key=KEY, store=store)
        asked = {"model": BEHIND["openai-chat"], "max_tokens": 9000, "messages": history}
        return served, served.ask("POST", "/v1/messages", asked).json["content"]

    _, content = ask()
    block = next(one for one in content if one["type"] == "thinking")
    assert len(block["signature"]) < 200
    # The program shows its user less of the thought, and says something else in the first message.
    history[0] = {"role": "user", "content": "Is it really so?"}
    history += [{"role": "assistant", "content": [{**block, "thinking": ""}, {"type": "text", "text": "Yes."}]}, {"role": "user", "content": "Sure?"}]  # fmt: skip
    served, _ = ask()
    assert json.loads(http.requests[-1]["body"])["messages"][1]["reasoning_content"] == thought
    assert 1 == served.reports[-1].carried

    asyncio.run(store.forget())
    served, _ = ask()
    assert "envelope_unreadable" in {note.code for note in served.reports[-1].notes}


@pytest.mark.parametrize("front", ["openai-chat", "anthropic"])
def test_a_key_that_is_rotated_in_the_middle_of_a_conversation_loses_nothing(front):
    """The first request meets the old key, all others the new one."""
    store, upstream = RamStore(), Witness()
    before = Served(None, upstream, key=KEY, store=store)
    after = Served(None, upstream, key=NEWER, older_keys=[KEY], store=store)
    client = Client(before, front, BEHIND["openai-chat"], loses=front == "openai-chat")
    client.history.append(iv.user(QUESTION))
    answer = asyncio.run(client.turn())
    client.history += [iv.tool_result(call.id, "Sunshine") for call in answer.tool_calls]
    client.served = after
    asyncio.run(client.turn())
    assert reasoning_is_back(upstream) == 1


def test_clients_that_return_their_blocks_lose_nothing_when_the_store_is_deleted():
    store = RamStore()
    served = Served(None, Witness(), key=KEY, store=store)
    client = Client(served, "anthropic", BEHIND["openai-responses"])

    class Deleted:
        reports = served.reports

        async def call(self, *arguments):
            await served.gateway.turns.forget()
            return await served.call(*arguments)

    client.served = Deleted()
    asyncio.run(client.say(QUESTION))
    assert reasoning_is_back(served.upstream) == 3
    assert not served.reports[-1].restored
