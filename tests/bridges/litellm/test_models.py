"""Facts about models, their prices, and the parameters that they support."""

import re
import sys
from types import SimpleNamespace

import pytest

from innervoice.bridges import litellm
from innervoice.bridges.litellm import utils
from innervoice.bridges.litellm.providers import resolve_model
from innervoice.bridges.litellm.utils import get_llm_provider, get_optional_params
from innervoice.installing import install_command

ALL = [name for name in utils.__all__ if name.startswith("supports_")]
TIERED = {
    "input_cost_per_token": 0.3,
    "output_cost_per_token": 1.2,
    "cache_read_input_token_cost": 0.06,
    "cache_creation_input_token_cost": 0.5,
    "input_cost_per_token_priority": 0.45,
    "output_cost_per_token_priority": 1.8,
    "input_cost_per_token_above_512k_tokens": 0.6,
    "output_cost_per_token_above_512k_tokens": 2.4,
}


# ---- look-ups ----------------------------------------------------------------------------------------


def test_the_table():
    """Every row is found by its name, in any case, with and without its provider."""
    assert len(litellm.model_cost) > 60
    for name, facts in litellm.model_cost.items():
        info = litellm.get_model_info(name.upper())
        assert name == info["key"]
        assert facts["max_output_tokens"] == litellm.get_max_tokens(name)
        assert info["input_cost_per_token"] is None
        assert info["mode"] == "chat"
    assert "gpt-4o" == litellm.get_model_info("openai/gpt-4o")["key"]
    assert "claude-sonnet-4-5" == litellm.get_model_info("anthropic/claude-sonnet-4-5")["key"]
    assert "claude-opus-5-5" == litellm.get_model_info("claude-opus-5-5-20261001")["key"]
    assert "gemini/gemini-2.5-pro" == litellm.get_model_info("gemini-2.5-pro", "gemini")["key"]
    assert "temperature" in litellm.get_model_info("gpt-4o")["supported_openai_params"]


@pytest.mark.parametrize("name", ALL)
def test_abilities(name):
    """As registered, and False for an unregistered model."""
    ability = getattr(litellm, name)
    assert ability is getattr(utils, name)
    assert ability("nobody-knows-this") is False
    litellm.register_model({"our-model": {name: True}})
    assert ability("our-model") is True
    assert ability("our-model", "together_ai") is True
    litellm.register_model({"our-model": {name: False}})
    assert ability(model="our-model") is False


def test_reasoning_is_known_from_our_rows():
    """An unregistered model, according to catalog/models.toml."""
    assert litellm.supports_reasoning("deepseek/deepseek-v4")
    assert litellm.supports_reasoning("openrouter/anthropic/claude-opus-5")
    assert not litellm.supports_reasoning("openai/gpt-4o-2099-01-01")
    assert not litellm.supports_reasoning("nobody-knows-this")


def test_registration_merges_and_keeps_every_field():
    """Members of litellm's and of one's own, added up."""
    told = {"our/model": {"max_tokens": 5, "ours": {"a": 1}}}
    assert told == litellm.register_model(told)
    litellm.register_model('{"our/model": {"max_input_tokens": 50}}')
    info = litellm.get_model_info("Our/Model")

    assert (5, 50, {"a": 1}) == (info["max_tokens"], info["max_input_tokens"], info["ours"])
    assert 5 == litellm.get_max_tokens("our/model")
    assert info["supports_vision"] is None
    assert (0, 0) == (info["input_cost_per_token"], info["output_cost_per_token"])


def test_the_registry_is_a_plain_dict():
    """Clearing, restoring or replacing `model_cost` takes effect at once."""
    before = dict(litellm.model_cost)
    litellm.model_cost.clear()
    with pytest.raises(litellm.ModelNotMappedError, match="isn't mapped"):
        litellm.get_model_info("gpt-4o")
    litellm.model_cost.update(before)
    assert litellm.supports_vision("gpt-4o")
    assert type(litellm.model_cost) is dict


def test_another_registry(monkeypatch):
    monkeypatch.setattr(litellm, "model_cost", {"x": {"max_tokens": 3}})
    assert 3 == litellm.get_max_tokens("openai/x")
    with pytest.raises(litellm.ModelNotMappedError):
        litellm.get_max_tokens("gpt-4o")


# ---- names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-4o", ("gpt-4o", "openai")),
        ("o3", ("o3", "openai")),
        ("ft:gpt-4o:me", ("ft:gpt-4o:me", "openai")),
        ("claude-sonnet-4-5", ("claude-sonnet-4-5", "anthropic")),
        ("gemini-2.5-pro", ("gemini-2.5-pro", "vertex_ai")),
        ("anthropic.claude-3-sonnet-20240229-v1:0",) * 1
        + (("anthropic.claude-3-sonnet-20240229-v1:0", "bedrock"),),
        ("us.anthropic.claude-opus-5-5", ("us.anthropic.claude-opus-5-5", "bedrock")),
        ("openai/foo/bar", ("foo/bar", "openai")),
        ("openrouter/anthropic/claude-opus-5", ("anthropic/claude-opus-5", "openrouter")),
        ("together_ai/moonshotai/Kimi-K3", ("moonshotai/Kimi-K3", "together_ai")),
        ("bedrock/converse/us.amazon.nova-pro-v1:0", ("us.amazon.nova-pro-v1:0", "bedrock")),
        ("bedrock/invoke/us.anthropic.claude-opus-5-5", ("us.anthropic.claude-opus-5-5", "bedrock")),
        ("watsonx/deployment/8f3c", ("8f3c", "watsonx")),
        ("command-a-03-2025", ("command-a-03-2025", "cohere_chat")),
    ],
)  # fmt: skip
def test_who_answers(model, expected):
    assert expected == get_llm_provider(model)[:2]


@pytest.mark.parametrize(
    ("model", "host", "dialect"),
    [
        ("bedrock/us.anthropic.claude-opus-5-5", "bedrock", "bedrock-converse"),
        ("bedrock/converse/us.anthropic.claude-opus-5-5", "bedrock", "bedrock-converse"),
        ("bedrock/invoke/us.anthropic.claude-opus-5-5", "bedrock-invoke", "anthropic"),
        ("bedrock/invoke/moonshot.kimi-k2-thinking", "bedrock-invoke", "openai-chat"),
        ("bedrock/invoke/us.deepseek.r1-v1:0", "bedrock", "bedrock-converse"),
        ("watsonx/ibm/granite-4-h-small", "watsonx", "openai-chat"),
        ("watsonx/deployment/8f3c", "watsonx-deployment", "openai-chat"),
    ],
)
def test_the_api_that_a_name_chooses(model, host, dialect):
    """InvokeModel where its body is known, else Converse; a deployment of watsonx stands in the path."""
    resolved = resolve_model(model)

    assert (host, dialect) == (resolved.host, resolved.dialect())


@pytest.mark.parametrize("model", ["nobody-knows-this", "no-provider/x", "", None, "deepseek-chat"])
def test_who_does_not(model):
    with pytest.raises(litellm.BadRequestError, match="LLM Provider NOT provided"):
        get_llm_provider(model)


def test_a_provider_that_is_told():
    assert ("x", "groq", None, None) == get_llm_provider("x", custom_llm_provider="groq")
    assert ("x", "groq") == get_llm_provider("groq/x", custom_llm_provider="groq")[:2]
    litellm.register_model({"our-model": {"litellm_provider": "groq"}})
    assert ("our-model", "groq") == get_llm_provider("our-model")[:2]
    assert "anthropic" in litellm.provider_list
    assert "together_ai" in litellm.provider_list


# ---- prices ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 1}, (3.0, 1.2)),
        ({"prompt_tokens": 10, "completion_tokens": 1, "service_tier": "priority"}, (4.5, 1.8)),
        ({"prompt_tokens": 10, "completion_tokens": 1, "service_tier": "flex"}, (3.0, 1.2)),
        ({"prompt_tokens": 512_000, "completion_tokens": 1}, (153_600.0, 1.2)),
        ({"prompt_tokens": 512_001, "completion_tokens": 1}, (307_200.6, 2.4)),
        ({"prompt_tokens": 10, "cache_read_input_tokens": 10}, (0.6, 0.0)),
        ({"prompt_tokens": 10, "cache_creation_input_tokens": 10}, (5.0, 0.0)),
    ],
)
def test_tiers(asked, expected):
    """MiniMax's prices have all of them, and are registered in lower case."""
    litellm.register_model({"minimax/minimax-m3": {**TIERED, "litellm_provider": "minimax"}})
    found = litellm.cost_per_token(model="MiniMax-M3", custom_llm_provider="minimax", **asked)

    assert pytest.approx(expected) == found


def test_an_unknown_price(monkeypatch):
    """A model of ours without a price raises; a registered model without a price is free, as in litellm."""
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(litellm.ModelNotMappedError, match=re.escape(install_command("prices"))):
        litellm.cost_per_token("gpt-4o", 10, 5)
    with pytest.raises(litellm.ModelNotMappedError):
        litellm.cost_per_token("openai/nobody-knows-this", 10, 5)
    with pytest.raises(litellm.BadRequestError):
        litellm.cost_per_token("nobody-knows-this", 10, 5)
    litellm.register_model({"openai/ours": {"max_tokens": 5}})
    assert (0.0, 0.0) == litellm.cost_per_token("openai/ours", 10, 5)
    litellm.register_model({"gpt-4o": {"input_cost_per_token": 2.0}})
    assert (20.0, 0.0) == litellm.cost_per_token("gpt-4o", 10, 5)
    assert 0 == litellm.get_model_info("gpt-4o")["output_cost_per_token"]


def test_prices_of_the_extra(monkeypatch):
    """genai-prices is used if nothing was registered."""
    asked = []

    def calc_price(usage, model_ref, provider_id):
        asked.append((usage, model_ref, provider_id))
        if model_ref == "nothing":
            raise LookupError(model_ref)
        return SimpleNamespace(input_price=1, output_price=2)

    prices = SimpleNamespace(Usage=dict, calc_price=calc_price)
    monkeypatch.setitem(sys.modules, "genai_prices", prices)

    assert (1.0, 2.0) == litellm.cost_per_token("together_ai/x", 10, 5)
    assert ({"input_tokens": 10, "output_tokens": 5}, "x", "together") == asked[0]
    with pytest.raises(litellm.ModelNotMappedError):
        litellm.cost_per_token("openai/nothing", 10, 5)


def test_what_an_answer_cost():
    """Of an answer, of its dict's usage, of texts; by a price of the moment."""
    litellm.register_model(
        {"openai/ours": {"input_cost_per_token": 1.0, "output_cost_per_token": 2.0}}
    )
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    response = litellm.ModelResponse(model="ours", usage=usage)

    assert 20.0 == litellm.completion_cost(response, custom_llm_provider="openai")
    assert 20.0 == litellm.completion_cost(response, model="openai/ours")
    counted = litellm.token_counter(model="openai/ours", text="one two three")
    assert counted + 2.0 == litellm.completion_cost(
        model="openai/ours", prompt="one two three", completion="yes"
    )
    messages = [{"role": "user", "content": "one"}]
    assert litellm.token_counter(messages=messages) == litellm.completion_cost(
        model="openai/ours", messages=messages
    )
    custom = {"input_cost_per_token": 3.0, "output_cost_per_token": 0.0}
    assert 30.0 == litellm.completion_cost(response, custom_cost_per_token=custom)


# ---- parameters --------------------------------------------------------------------------------------


def test_supported_parameters_never_raise():
    """A list, or None for an unknown provider."""
    assert litellm.get_supported_openai_params("nobody-knows-this") is None
    assert litellm.get_supported_openai_params("x", custom_llm_provider="nobody") is None
    assert litellm.get_supported_openai_params("", "") is None
    assert litellm.get_supported_openai_params("gpt-4o", request_type="embeddings") is None
    for model in litellm.model_cost:
        assert "max_tokens" in litellm.get_supported_openai_params(model)
    together = litellm.get_supported_openai_params(model="together_ai/moonshotai/Kimi-K3")
    assert {"tools", "response_format"} <= set(together)
    assert "temperature" not in litellm.get_supported_openai_params("claude-opus-5-5")
    assert "response_format" not in litellm.get_supported_openai_params(
        "bedrock/us.amazon.nova-pro-v1:0"
    )


def test_optional_parameters():
    """`litellm.utils.get_optional_params`: unsupported parameters are dropped or raise."""
    given = {"temperature": 0.1, "logit_bias": {"a": 1}, "tools": None}
    with pytest.raises(litellm.UnsupportedParamsError, match="logit_bias"):
        get_optional_params("claude-sonnet-4-5", "anthropic", **given)
    assert {"temperature": 0.1} == get_optional_params(
        "claude-sonnet-4-5", "anthropic", drop_params=True, **given
    )


def test_tools_depend_on_the_model_at_together():
    model, tools = "together_ai/unknown-model", [{"type": "function", "function": {"name": "f"}}]
    asked = {"custom_llm_provider": "together_ai", "tools": tools, "drop_params": True}
    assert {} == get_optional_params(model, **asked)
    litellm.register_model({model: {"supports_function_calling": True}})
    assert {"tools": tools} == get_optional_params(model, **asked)
