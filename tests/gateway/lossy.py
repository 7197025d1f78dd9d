"""A gateway for real programs that lose reasoning: on a port, on a witness, and what must be true when they are done.

Importable in every environment: it needs innervoice with its gateway and its emulator, and nothing else.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from gateway.harness import Served
from gateway.witness import Witness, noted, proofs, reasoning_is_at_home, reasoning_is_back
from innervoice.gateway.in_thread import GatewayInThread
from innervoice.memory.stores.ram import RamStore

__all__ = ["ANSWER", "MODELS", "NEXT", "QUESTION", "SCHEMA", "Dealt", "each_loop", "each_switch", "get_weather", "lossy_gateway"]  # fmt: skip

MODELS = ("anthropic/claude-opus-5-5", "gemini/gemini-3.5-flash", "deepseek/deepseek-v4-pro", "moonshot/kimi-k3", "openai/gpt-5.6")  # fmt: skip
NEXT = dict(zip(MODELS, MODELS[1:] + MODELS[:1], strict=True))
"""The model that a conversation goes to in its middle, and comes back from."""
QUESTION = "What is the weather in Paris and Rome, then the weather in Oslo?"
ANSWER = "Paris: 21 °C. Rome: 27 °C. Oslo: 9 °C."
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

_STREAMED = {"anthropic/claude-opus-5-5", "deepseek/deepseek-v4-pro"}
# All of it whole and streamed would take a minute for each program; tests/gateway/test_g21_g28.py has that without a port.
each_loop = pytest.mark.parametrize(
    ("model", "streamed", "gateways"),
    [
        *((model, streamed, 1) for model in MODELS for streamed in (False, True)),
        *((model, model in _STREAMED, 3) for model in MODELS),
    ],
)
each_switch = pytest.mark.parametrize(
    ("model", "streamed", "gateways"), [(model, model in _STREAMED, 3) for model in MODELS]
)

_HOST = "127.0.0.1"
_KEY = bytes(range(32))
_WEATHER = {"Paris": "21 °C", "Rome": "27 °C", "Oslo": "9 °C"}
_NOT_REAL = {"signature_filled", "reasoning_filled", "thinking_omitted", "reasoning_off_for_loop", "recovered_after_refusal", "prefix_changed", "opaque_dropped", "turn_not_stored"}  # fmt: skip
"""Notes of what stands in for reasoning, or is sent without it."""


def get_weather(city: str) -> str:
    """Tells the weather of a city."""
    return f"{city}: {_WEATHER[city]}"


class Dealt:
    """An application that deals its requests out to several gateways in turn, and keeps what the client sent.

    Several gateways have nothing in common but one store and one key, as processes on several machines have. Three are enough for a model
    that has every second request to be asked by another gateway each time.
    """

    def __init__(self, *, gateways: int) -> None:
        self.url = ""
        self.upstream = Witness()
        self.requests: list[dict] = []
        store = RamStore() if gateways > 1 else None
        self._gateways = [Served(None, self.upstream, store=store, key=_KEY) for _ in range(gateways)]  # fmt: skip

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            while (await receive())["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            for one in self._gateways:
                await one.gateway.close()
            await send({"type": "lifespan.shutdown.complete"})
            return
        served = self._gateways[len(self.requests) % len(self._gateways)]
        body = bytearray()

        async def read():
            message = await receive()
            body.extend(message.get("body", b""))
            return message

        place = len(self.requests)
        self.requests.append({})
        try:
            await served.app(scope, read, send)
        finally:
            self.requests[place] = json.loads(body or b"{}")

    @property
    def reports(self):
        """What became of the requests, in their order."""
        several = len(self._gateways)
        each = [served.reports for served in self._gateways]
        return [each[place % several][place // several] for place in range(len(self.requests))]

    # ---- what must be true ---------------------------------------------------------------------

    def check_loop(self, *, requests=3, loses=True, streamed=None) -> None:
        """Nothing was refused, and each request upstream had the real reasoning of all answers before it."""
        self._check_served(requests, streamed)
        upstream, several = self.upstream, len(self._gateways) > 1
        assert not _NOT_REAL & set().union(*(noted(report) for report in self.reports))
        # Every turn with calls has reasoning, so each of these was put back into each later request.
        turns = requests * (requests - 1) // 2
        assert reasoning_is_back(upstream, summaries=not several) >= turns
        assert loses != bool(self.returned)
        if loses:
            assert all(report.kept == report.restored for report in self.reports)
            assert [report.restored >= place for place, report in enumerate(self.reports)] == [True] * requests  # fmt: skip

    def check_switches(self, models, *, loses=True, streamed=None) -> None:
        """Nothing was refused, and each request had the reasoning that the same model had before, and that of no other."""
        self._check_served(len(models), streamed)
        assert list(models) == [f"{report.provider}/{report.model}" for report in self.reports]
        assert loses != bool(self.returned)
        several = len(self._gateways) > 1
        least = sum(models[:place].count(model) for place, model in enumerate(models))
        assert reasoning_is_at_home(self.upstream, summaries=not several) >= least > 0

    @property
    def returned(self) -> list[str]:
        """What the client itself sent back of the reasoning."""
        sent = json.dumps(self.requests, ensure_ascii=False)
        answers = [answer for answer in self.upstream.answers if answer is not None]
        given = [*(proof for one in answers for proof in proofs(one.message)), *(one.thinking for one in answers if one.thinking)]  # fmt: skip
        return [text for text in given if json.dumps(text, ensure_ascii=False)[1:-1] in sent]

    def _check_served(self, requests, streamed) -> None:
        assert [200] * requests == self.upstream.statuses
        assert [200] * requests == [report.status for report in self.reports]
        several = len(self._gateways)
        shares = [len(range(place, requests, several)) for place in range(several)]
        assert shares == [len(served.reports) for served in self._gateways]
        if streamed is not None:
            assert {streamed} == {bool(request.get("stream")) for request in self.requests}
        # Without reasoning in the answers there would be nothing to lose.
        assert all(proofs(answer.message) for answer in self.upstream.answers[:-1])


@contextmanager
def lossy_gateway(*, gateways: int = 1) -> Iterator[Dealt]:
    """Serves one gateway, or several that share a store, on the loopback while the block runs.

    What became of the last request is known behind the block: a client has its answer before the gateway has written its report.
    """
    dealt = Dealt(gateways=gateways)
    # A proxy of the surroundings is not for the loopback.
    with (
        patch.dict("os.environ", {"NO_PROXY": _HOST, "no_proxy": _HOST}),
        GatewayInThread(dealt) as server,
    ):
        dealt.url = server.url
        yield dealt
