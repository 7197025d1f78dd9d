"""Gateways with callers in a store, and clocks that a test moves."""

import asyncio
import json
import sys
from decimal import Decimal
from types import ModuleType, SimpleNamespace

import innervoice as iv
from gateway.harness import BEHIND, Served, body_of
from innervoice.gateway.callers import Caller, CallerKeys
from innervoice.memory.sealed_store import SealedStore
from innervoice.memory.stores.ram import RamStore
from innervoice.memory.stores.store import StoreError

__all__ = ["KEY", "Clock", "Counted", "asked", "gateway_with", "keys_in", "made", "prices", "words"]

KEY = b"g" * 32


class Clock:
    """A time that only a test changes."""

    def __init__(self, now=1_795_000_000.0):
        self.now = now

    def __call__(self):
        return self.now


class Counted(RamStore):
    """A store that says how often it was asked, and fails if a test wants it."""

    def __init__(self, now=None):
        super().__init__(**({"now": now} if now else {}))
        self.calls = []
        self.fails = False

    def _called(self, name):
        self.calls.append(name)
        if self.fails:
            raise StoreError("not there")

    async def get(self, tenant, keys, known=()):
        self._called("get callers" if tenant == "/callers" else "get")
        return await super().get(tenant, keys, known)

    async def put(self, item, keys):
        self._called("put")
        await super().put(item, keys)

    async def items(self, tenant, kind):
        self._called("items")
        return await super().items(tenant, kind)

    async def count(self, amounts, seconds):
        self._called("count")
        return await super().count(amounts, seconds)


def keys_in(store, key=KEY, *older):
    return CallerKeys(SealedStore(store, key, *older), key, *older)


def made(store, name="alice", **limits):
    """A new key of a caller with limits, and the caller."""
    return asyncio.run(keys_in(store).add(Caller(name=name, **limits)))


def gateway_with(store, clock=None, key=KEY, **options):
    """A gateway over a store; all its clocks are the test's."""
    served = Served(store=store, key=key, **options)
    if clock is not None:
        callers, quotas = served.gateway.callers, served.gateway.quotas
        callers.now = quotas.now = clock
        callers._calls.clock = quotas._counts._calls.clock = clock
    return served


def asked(
    front="anthropic", behind="anthropic", *, stream=False, key=None, text="What is 15 * 23?"
):
    """A request, with a key as clients of the dialect send it."""
    path, body = body_of(front, BEHIND[behind], [iv.user(text)], stream=stream)
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return "POST", path, body, headers


def prices(monkeypatch, dollars_a_token="0.001", known=lambda model: True):
    """Prices as genai-prices has them: the same for each token of a model that is known."""
    module = ModuleType("genai_prices")
    module.Usage = SimpleNamespace

    def calc_price(usage, *, model_ref, provider_id):
        if not known(model_ref):
            raise LookupError(model_ref)
        price = Decimal(dollars_a_token)
        parts = (usage.input_tokens * price, usage.output_tokens * price)
        return SimpleNamespace(
            input_price=parts[0],
            output_price=parts[1],
            total_price=sum(parts),
            model=SimpleNamespace(id=model_ref),
        )

    module.calc_price = calc_price
    monkeypatch.setitem(sys.modules, "genai_prices", module)


def words(reply):
    """The message of an error, in any dialect."""
    value = json.loads(reply.body)
    error = value.get("error", value)
    return error if isinstance(error, str) else error["message"]
