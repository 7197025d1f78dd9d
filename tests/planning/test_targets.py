"""A model id is split in one place, for those who ask and for those who read."""

import pytest

import innervoice as iv
from innervoice.canon.target import UNKNOWN_MODEL
from innervoice.catalog.targets import names_of, resolved
from innervoice.client.embedded import embedded_http
from innervoice.emulator import Emulator
from innervoice.emulator.routes import base_urls
from innervoice.planning import request as fitting

ANSWER = {"choices": [{"message": {"content": "a"}}]}


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("openai/gpt-5.6", "openai", "gpt-5.6"),
        ("openai:gpt-5.6", "openai", "gpt-5.6"),
        ("google/gemini-3.5-flash", "gemini", "gemini-3.5-flash"),
        (
            "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
            "bedrock",
            "us.anthropic.claude-sonnet-4-5-v1:0",
        ),
        ("openrouter/deepseek/deepseek-r1", "openrouter", "deepseek/deepseek-r1"),
    ],
)
def test_both_sides_split_alike(model, provider, name):
    target = resolved(model)
    response = iv.decode(ANSWER, model=model)

    assert (target.provider, target.model) == (provider, name)
    assert target.host.id == provider
    assert (response.provider, response.model) == (provider, name)


def test_a_name_with_a_slash_is_not_a_provider():
    """Who reads may pass any name; who asks must say who answers."""
    assert names_of(None, "deepseek-ai/DeepSeek-R1") == (None, "deepseek-ai/DeepSeek-R1")
    with pytest.raises(iv.UsageError, match="deepseek-ai"):
        iv.encode(iv.Request("deepseek-ai/DeepSeek-R1", (iv.user("hi"),)))


@pytest.mark.parametrize("model", ["gpt-5.6", "", "openai/", "/gpt-5.6"])
def test_half_an_id_is_refused(model):
    with pytest.raises(iv.UsageError, match="provider/model"):
        iv.encode(iv.Request(model, (iv.user("hi"),)))


@pytest.mark.parametrize("dialect", ["nobody", ""])
def test_a_dialect_that_nobody_speaks(dialect):
    with pytest.raises(iv.UsageError, match="dialect must be one of openai-chat"):
        iv.encode(iv.Request("mine/some-model", (iv.user("hi"),), dialect=dialect))


def test_an_unknown_host_has_a_target_all_the_same():
    target = resolved("mine/no-such-model", "cohere", "account")

    assert (target.provider, target.host, target.dialect) == ("mine", None, "cohere")
    assert target.scope == "account"
    assert target.is_known == (target.row is not UNKNOWN_MODEL)


def test_the_dialect_goes_by_model():
    assert resolved("vertex/claude-opus-5-5").dialect == "anthropic"
    assert resolved("vertex/gemini-3.5-flash").dialect == "gemini"


def test_a_turn_of_a_conversation_is_fitted_once(monkeypatch):
    """Planned for the request alone; to see the plan plans again, with the last one to compare with."""
    fitted = []
    fit = fitting.FittedRequest._fit
    monkeypatch.setattr(
        fitting.FittedRequest, "_fit", lambda self: (fitted.append(self), fit(self))[1]
    )
    urls = base_urls("http://emulator")
    client = iv.Client(http=embedded_http(Emulator()), base_urls=urls, api_key="any", retries=0)
    chat = client.conversation("anthropic/claude-opus-5-5")
    for number in range(1, 4):
        chat.ask("What is 2 + 3?")
        assert len(fitted) == number

    assert chat.plan().cache.message is None
    assert len(fitted) == 5
