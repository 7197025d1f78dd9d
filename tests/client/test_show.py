"""What clients ask a model to show of its reasoning when the caller says nothing about it."""

import asyncio
import json

import pytest

import innervoice as iv
from innervoice.client.embedded import embedded_async_http, embedded_http
from innervoice.emulator import Emulator
from innervoice.emulator.call import HEADER
from innervoice.emulator.routes import base_urls

QUESTION = "What is 15 * 23?"
# Models that hide their reasoning unless they are asked, and where the request for a summary stands.
HIDDEN = {
    "anthropic/claude-opus-5-5": lambda body: body["thinking"]["display"] == "summarized",
    "openai/gpt-5.6": lambda body: body["reasoning"]["summary"] == "auto",
    "gemini/gemini-3.5-flash": lambda body: body["generationConfig"]["thinkingConfig"]["includeThoughts"],
    "bedrock/anthropic.claude-opus-5-5": lambda body: body["additionalModelRequestFields"]["thinking"]["display"] == "summarized",
}  # fmt: skip
# Models that show it by themselves, or do not reason unless they are asked to: their requests stay as they are.
OTHERS = ("deepseek/deepseek-v4-pro", "openai/gpt-5.1", "openai/gpt-4o", "anthropic/claude-sonnet-4-5", "xai/grok-4.5", "mistral/mistral-small-latest")  # fmt: skip


class Upstream(Emulator):
    """An emulator that keeps the bodies of its requests."""

    def __init__(self):
        super().__init__()
        self.bodies = []

    def reply(self, method, path, headers, body):
        self.bodies.append(json.loads(body))
        return super().reply(method, path, headers, body)


def client_of(upstream, **options):
    return iv.Client(http=embedded_http(upstream), base_urls=base_urls("http://emulator"), api_key="k", **options)  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", HIDDEN)
def test_the_first_program_shows_what_the_model_thought(model, stream):
    upstream = Upstream()
    client = client_of(upstream)
    if stream:
        with client.stream(model, QUESTION) as events:
            answer = iv.fold(list(events))
    else:
        answer = client.ask(model, QUESTION)
    assert "345" in answer.thinking
    assert HIDDEN[model](upstream.bodies[0])
    assert answer.reasoning_report.requested is None, "nobody asked for anything"
    assert "summary" == answer.reasoning_report.effective.show


@pytest.mark.parametrize("model", HIDDEN)
def test_asynchronous_and_in_conversations(model):
    async def ask():
        upstream = Upstream()
        async with iv.AsyncClient(http=embedded_async_http(upstream), base_urls=base_urls("http://emulator"), api_key="k") as client:  # fmt: skip
            return await client.ask(model, QUESTION)

    assert asyncio.run(ask()).has_thinking
    chat = client_of(Upstream()).conversation(model)
    assert chat.ask(QUESTION).has_thinking
    assert chat.ask("And times two?").has_thinking


@pytest.mark.parametrize("setting", ["high", iv.Reasoning("low"), {"effort": "medium"}])
def test_an_effort_says_nothing_about_what_is_shown(setting):
    for model, is_asked in HIDDEN.items():
        upstream = Upstream()
        assert client_of(upstream).ask(model, QUESTION, reasoning=setting).has_thinking
        assert is_asked(upstream.bodies[0])


@pytest.mark.parametrize("model", [*HIDDEN, *OTHERS])
@pytest.mark.parametrize(
    "call",
    [{"reasoning": iv.Reasoning(show="hidden")}, {"reasoning": "none"}, {"mode": "passthrough"}, {"mode": "strict"}],
    ids=["hidden", "off", "passthrough", "strict"],
)  # fmt: skip
def test_what_the_caller_says_counts(model, call):
    """The body is the one that `encode` writes, which never asks by itself; what it refuses is refused here, too."""
    upstream = Upstream()
    client = client_of(upstream)
    try:
        expected = iv.encode(iv.Request(model, [iv.user(QUESTION)], base_url="http://x", **call)).body  # fmt: skip
    except iv.RuleError:
        with pytest.raises(iv.RuleError):
            client.ask(model, QUESTION, **call)
        return
    client.ask(model, QUESTION, **call)
    assert expected == upstream.bodies[0]


@pytest.mark.parametrize("model", OTHERS)
def test_nothing_is_switched_on_that_has_a_price(model):
    upstream = Upstream()
    client_of(upstream).ask(model, QUESTION)
    assert iv.encode(iv.Request(model, [iv.user(QUESTION)], base_url="http://x")).body == upstream.bodies[0]  # fmt: skip


@pytest.mark.parametrize("model", HIDDEN)
def test_a_client_that_asks_for_nothing(model):
    upstream = Upstream()
    answer = client_of(upstream, show=None).ask(model, QUESTION)
    assert answer.thinking is None
    (note,) = [note for note in answer.notes if note.code == "reasoning_hidden"]
    assert 'show="summary"' in note.detail
    assert iv.encode(iv.Request(model, [iv.user(QUESTION)], base_url="http://x")).body == upstream.bodies[0]  # fmt: skip
    with pytest.raises(iv.UsageError, match="show must be 'auto' or None"):
        iv.Client(show="summary")


def test_auto_can_be_asked_for_anywhere():
    """In `encode`, too: a model that shows its reasoning by itself needs nothing."""
    for model, is_asked in HIDDEN.items():
        request = iv.Request(model, [iv.user(QUESTION)], reasoning=iv.Reasoning(show="auto"))
        assert is_asked(iv.encode(request).body)
    for model in OTHERS:
        plain = iv.Request(model, [iv.user(QUESTION)])
        auto = plain.replace(reasoning=iv.Reasoning(show="auto"))
        assert iv.encode(plain).body == iv.encode(auto).body
        assert iv.encode(plain).notes == iv.encode(auto).notes


def test_an_organization_that_is_not_verified():
    """OpenAI refuses the summary: it is sent again without, once, and from then on without at the first try."""
    upstream = Upstream()
    client = client_of(upstream, headers={HEADER: "unverified"})
    first, second = (client.ask("openai/gpt-5.6", QUESTION) for _ in range(2))
    assert ["auto", None, None] == [body.get("reasoning", {}).get("summary") for body in upstream.bodies]  # fmt: skip
    codes = [note.code for note in first.notes]
    assert {"recovered_after_refusal", "reasoning_hidden"} <= set(codes)
    assert "recovered_after_refusal" not in [note.code for note in second.notes]
    assert "reasoning_hidden" in [note.code for note in second.notes]
    assert "345" in second.text


def test_a_model_that_shows_nothing_is_explained():
    """Claude may think and return a block without any text, whatever was asked for."""
    client = client_of(Upstream(), headers={HEADER: "hide"})
    answer = client.ask("anthropic/claude-opus-5-5", QUESTION)
    assert answer.thinking is None
    (note,) = [note for note in answer.notes if note.code == "reasoning_hidden"]
    assert "none came" in note.detail
