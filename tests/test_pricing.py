"""Every counter of a provider that has a price of its own reaches genai-prices."""

import sys
from decimal import Decimal
from types import ModuleType, SimpleNamespace

import pytest

import innervoice as iv
from innervoice.pricing import context_window


@pytest.fixture
def counted(monkeypatch):
    """The counters that genai-prices gets; `refuse` holds names that it finds contradictory."""
    seen = SimpleNamespace(counts=[], refuse=())
    module = ModuleType("genai_prices")
    module.Usage = dict

    def calc_price(usage, **_):
        seen.counts.append({name: count for name, count in usage.items() if count is not None})
        if any(name in usage for name in seen.refuse):
            raise ValueError("contradictory")
        price = Decimal(1)
        return SimpleNamespace(input_price=price, output_price=price, total_price=price, model=SimpleNamespace(id="x"))  # fmt: skip

    module.calc_price = calc_price
    monkeypatch.setitem(sys.modules, "genai_prices", module)
    return seen


def answer(raw, **counts):
    usage = iv.Usage(input_tokens=10, output_tokens=5, raw=raw, **counts)
    return iv.Response(provider="anthropic", model="x", usage=usage)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"cache_creation_input_tokens": 4}, {"cache_write_tokens": 4}),
        ({"cache_creation": {"ephemeral_1h_input_tokens": 3}}, {"cache_write_1h_tokens": 3}),
        ({"cacheWriteInputTokens": 4}, {"cache_write_tokens": 4}),
        ({"cacheDetails": [{"ttl": "1h", "inputTokens": 2}]}, {"cache_write_1h_tokens": 2}),
        ({"prompt_tokens_details": {"cache_write_tokens": 4}}, {"cache_write_tokens": 4}),
        ({"input_tokens_details": {"cache_write_tokens": 4}}, {"cache_write_tokens": 4}),
        ({"prompt_tokens_details": {"audio_tokens": 4}}, {"input_audio_tokens": 4}),
        ({"server_tool_use": {"web_search_requests": 2}}, {"web_searches": 2}),
        # Two names of one count are one count.
        ({"cache_creation_input_tokens": 4, "prompt_tokens_details": {"cache_write_tokens": 4}}, {"cache_write_tokens": 4}),
        # A wrong type counts nothing.
        ({"cache_creation_input_tokens": "4", "cache_creation": [], "cacheDetails": {}, "promptTokensDetails": [1, {"modality": []}]}, {}),
        (None, {}),
    ],
)  # fmt: skip
def test_counters_of_providers(counted, raw, expected):
    """Seen failing: tokens that were written to the cache cost as much as plain input."""
    answer(raw).cost()

    found = {name: count for name, count in counted.counts[0].items() if count}
    assert {"input_tokens": 10, "output_tokens": 5, **expected} == found


def test_counters_that_contradict_each_other_are_left_out(counted):
    counted.refuse = ("cache_write_tokens",)
    assert Decimal(1) == answer({"cache_creation_input_tokens": 99}, cached_input_tokens=2).cost().total  # fmt: skip
    assert {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 2} == counted.counts[1]

    counted.refuse = ("input_tokens",)
    assert answer(None).cost() is None


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [("gemini", "gemini-9", 1_000), ("openai", "gpt-9", 2_000), ("openai", "unknown", None)],
)
def test_the_context_window_of_a_model(monkeypatch, provider, model, expected):
    """Providers are asked for by the names that genai-prices has for them."""
    known = {("google", "gemini-9"): 1_000, ("openai", "gpt-9"): 2_000}

    class Snapshot:
        def find_provider_model(self, model_ref, provider, provider_id, provider_api_url):
            if (provider_id, model_ref) not in known:
                raise LookupError(model_ref)
            return None, SimpleNamespace(context_window=known[provider_id, model_ref])

    module = ModuleType("genai_prices.data_snapshot")
    module.get_snapshot = Snapshot
    monkeypatch.setitem(sys.modules, "genai_prices", ModuleType("genai_prices"))
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", module)
    assert expected == context_window(provider, model)


def test_without_genai_prices_no_context_window_is_known(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    assert context_window("openai", "gpt-9") is None
