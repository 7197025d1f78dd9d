"""Two owners with equal conversations, colliding ids and each other's envelopes: nothing crosses, in any store."""

import asyncio
import base64
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import innervoice as iv
from gateway.harness import BEHIND, TOOLS, Client, Served, body_of
from gateway.witness import Witness, proofs, seals
from innervoice.emulator.core import Emulator
from innervoice.gateway.config import GatewayConfig
from memory.stores.conftest import place_of
from memory.stores.servers import postgres_server, redis_server  # noqa: F401 - fixtures

OWNERS = ("alice", "bob")
KEYS = {name: f"{name}'s own key, which is long" for name in OWNERS}
ENVIRON = {name.upper(): key for name, key in KEYS.items()}
CONFIG = GatewayConfig(keys={name: f"env:{name.upper()}" for name in OWNERS})
FRONTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
MODELS = ("anthropic", "openai-chat", "openai-responses", "gemini")
QUESTION = "What is the weather in Lisbon?"
ENVELOPE = "aXYB"


class Named(Witness):
    """An upstream that knows for whom it is asked, and seals for each owner with another key."""

    def __init__(self):
        super().__init__()
        self.owner = ""
        self.asked: list[tuple[str, dict]] = []
        self._emulators = {owner: Emulator(owner.encode()) for owner in OWNERS}

    def reply(self, method, path, headers, body):
        self.emulator = self._emulators[self.owner]
        reply = super().reply(method, path, headers, body)
        self.asked.append((self.owner, self.requests[-1]))
        return reply


class Owned:
    """A gateway as one owner sees it."""

    def __init__(self, served, owner):
        self.served, self.owner, self.reports = served, owner, served.reports

    async def call(self, method, path, body):
        self.served.upstream.owner = self.owner
        return await self.served.call(method, path, body, {"x-api-key": KEYS[self.owner]})


def own_seals(upstream):
    """The seals that each owner's answers had."""
    found = {owner: set() for owner in OWNERS}
    for (owner, _), answer in zip(upstream.asked, upstream.answers, strict=True):
        if answer is not None:
            found[owner].update(seal for part in answer.message.parts if part.origin for seal in seals(part.origin.block))  # fmt: skip
    return found


def nothing_crossed(upstream):
    made = own_seals(upstream)
    for owner, request in upstream.asked:
        text = json.dumps(request)
        for other in OWNERS:
            if other != owner:
                assert not [seal for seal in made[other] - made[owner] if seal in text], owner
        assert ENVELOPE not in text, "an envelope never goes to a provider"


def forged(value, how, foreign):
    """The JSON of a request whose envelopes are changed, or replaced by those of somebody else."""
    if isinstance(value, dict):
        return {name: forged(member, how, foreign) for name, member in value.items()}
    if isinstance(value, list):
        return [forged(item, how, foreign) for item in value]
    if not isinstance(value, str) or not value.startswith(ENVELOPE):
        return value
    if how == "swapped":
        return foreign[0] if foreign else value
    data = bytearray(base64.b64decode(value))
    data[len(data) // 2 if how == "flipped" else 5] ^= 1
    return base64.b64encode(bytes(data)).decode()


def envelopes(value):
    if isinstance(value, dict):
        return [one for member in value.values() for one in envelopes(member)]
    if isinstance(value, list):
        return [one for item in value for one in envelopes(item)]
    return [value] if isinstance(value, str) and value.startswith(ENVELOPE) else []


step = st.tuples(
    st.sampled_from(OWNERS),
    st.sampled_from(FRONTS),
    st.sampled_from(MODELS),
    st.booleans(),
    st.sampled_from(["as it is", "swapped", "flipped", "another key"]),
)


async def conversation(served, owner, front, model, *, loses, how, foreign):
    """Two turns; the second brings the first, as it is or with forged envelopes. Returns the envelopes of its own."""
    client = Client(Owned(served, owner), front, BEHIND[model], loses=loses)
    client.history.append(iv.user(QUESTION))
    answer = await client.turn()
    client.history += [iv.tool_result(call.id, "Sunshine") for call in answer.tool_calls]
    path, body = body_of(front, client.model, client.history, tools=TOOLS, reasoning=iv.Reasoning("high", show="summary"), max_tokens=8000)  # fmt: skip
    own = envelopes(body)
    sent = body if how == "as it is" else forged(body, how, foreign)
    reply = await client.served.call("POST", path, sent)
    assert reply.status == 200, reply.body[:300]
    return own


@pytest.mark.parametrize("sort", ["ram", "sqlite", "redis", "postgres"])
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(step, min_size=3, max_size=6))
def test_nothing_crosses_between_owners(sort, request, tmp_path, steps):
    place = place_of(sort, request, tmp_path)

    async def run():
        async with place.open() as store:
            for _ in range(2):  # the second gateway has nothing in memory
                served = Served(CONFIG, Named(), ENVIRON, key=b"k" * 32, store=store)
                held = {owner: [] for owner in OWNERS}
                for owner, front, model, loses, how in steps:
                    (other,) = (one for one in OWNERS if one != owner)
                    held[owner] += await conversation(served, owner, front, model, loses=loses, how=how, foreign=held[other])  # fmt: skip
                nothing_crossed(served.upstream)

    asyncio.run(run())


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("model", MODELS)
def test_each_gets_back_its_own_though_all_looks_alike(front, model):
    """The same words, the same ids of calls, at the same time."""
    served = Served(CONFIG, Named(), ENVIRON, store=None)

    async def run():
        clients = [Client(Owned(served, owner), front, BEHIND[model], loses=True) for owner in OWNERS]  # fmt: skip
        for client in clients:
            client.history.append(iv.user(QUESTION))
        for _ in range(2):
            for client in clients:
                answer = await client.turn()
                client.history += [iv.tool_result(call.id, "Sunshine") for call in answer.tool_calls]  # fmt: skip

    asyncio.run(run())
    upstream = served.upstream
    nothing_crossed(upstream)
    for number, owner in enumerate(OWNERS):
        text = json.dumps(upstream.requests[2 + number], ensure_ascii=False)
        for proof in proofs(upstream.answers[number].message):
            assert json.dumps(proof, ensure_ascii=False) in text, owner


@pytest.mark.parametrize("how", ["swapped", "flipped", "another key"])
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("model", MODELS)
def test_anothers_envelope_does_not_open(front, model, how):
    served = Served(CONFIG, Named(), ENVIRON, key=b"k" * 32)

    async def run():
        foreign = await conversation(served, "alice", front, model, loses=False, how="as it is", foreign=[])  # fmt: skip
        served.gateway.reload(served.gateway.config)
        await served.gateway.turns.forget()
        await conversation(served, "bob", front, model, loses=False, how=how, foreign=foreign)

    asyncio.run(run())
    nothing_crossed(served.upstream)


def test_one_owner_cannot_see_what_became_of_anothers_request():
    served = Served(CONFIG, Named(), ENVIRON)
    path, body = body_of("anthropic", BEHIND["gemini"], [iv.user(QUESTION)], max_tokens=2000)
    reply = asyncio.run(Owned(served, "alice").call("POST", path, body))
    name = reply.headers["x-innervoice-id"]
    asked = lambda owner: served.ask("GET", f"/v1/explain/{name}", None, {"x-api-key": KEYS[owner]}).status  # noqa: E731  # fmt: skip
    assert (200, 404) == (asked("alice"), asked("bob"))
