"""Threads of Anthropic's SDK through the gateway and at the emulator: conversations that a server holds, with models of every provider."""

import json
from contextlib import contextmanager

import pytest

from innervoice.client.embedded import embedded_async_http
from innervoice.emulator import Emulator
from innervoice.emulator.routes import base_urls
from sdk.loops import NAME, QUESTION, get_weather
from sdk.test_gateway_loops import BEHIND

anthropic = pytest.importorskip("anthropic")
pytest.importorskip("aiohttp")
pytestmark = pytest.mark.filterwarnings("ignore:The model 'claude:DeprecationWarning")

MODEL = "claude-opus-5-5"
ASKED = {"model": MODEL, "max_tokens": 4000, "thinking": {"type": "adaptive"}}
MODELS = ("anthropic", "openai-responses", "gemini", "openai-chat", "mistral")


class Upstream(Emulator):
    """An emulator that keeps the bodies of its requests, and can lose what it stored."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies = []

    def reply(self, method, path, headers, body):
        self.bodies.append(json.loads(body))
        return super().reply(method, path, headers, body)

    def forget(self) -> None:
        self._memory.responses.clear()


@contextmanager
def gateway_for(to, **settings):
    """A gateway that sends Claude's name elsewhere; gives a client, its reports, and the bodies that the emulator received."""
    from innervoice.gateway.app import Gateway, create_app
    from innervoice.gateway.config import GatewayConfig, NamedModel, ServerSettings
    from innervoice.gateway.in_thread import GatewayInThread

    upstream, reports = Upstream(), []
    models = tuple(NamedModel(name=name, to=(model,)) for name, model in to.items())
    gateway = Gateway(
        GatewayConfig(models=models, server=ServerSettings(**settings)),
        {},
        http=embedded_async_http(upstream),
        base_url_of=base_urls("http://emulator").get,
        log=reports.append,
    )
    with (
        GatewayInThread(create_app(gateway)) as server,
        anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0) as client,
    ):
        yield client, reports, upstream


@anthropic.beta_tool(name=NAME)
def weather(city: str) -> str:
    """Weather.

    Args:
        city: The city.
    """
    return get_weather(city)


def said(text):
    """A message of the user."""
    return {"role": "user", "content": text}


def text_of(message):
    """The answer, without thinking and what carries it."""
    return "".join(block.text for block in message.content if block.type == "text")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("behind", MODELS)
def test_the_tool_runner_with_its_default(behind, streamed):
    with gateway_for({MODEL: BEHIND[behind]}) as (client, reports, _):
        runner = client.beta.messages.tool_runner(
            **ASKED,
            tools=[weather],
            system="Be brief.",
            messages=[{"role": "user", "content": QUESTION}],
            stream=streamed,
        )
        last = [message.get_final_message() if streamed else message for message in runner][-1]
    assert "Oslo: 9" in text_of(last)
    assert [report.status for report in reports] == [200] * 3
    thought = [report for report in reports[:-1] if report.usage.reasoning_tokens]
    if behind != "anthropic":  # which holds the conversation itself
        assert reports[-1].kept >= len(thought)
    assert reports[-1].omitted == 0


@pytest.mark.parametrize("streamed", [False, True])
def test_a_thread_goes_on_at_another_model_and_back(streamed):
    """The conversation is held here too: each model gets all of it, and Claude its own thinking."""
    to = {"one": BEHIND["anthropic"], "two": BEHIND["gemini"]}
    with gateway_for(to) as (client, reports, _):
        thread = client.beta.messages.thread(
            **{**ASKED, "model": "one"}, system="Be brief.", messages=[]
        )

        def say(text, **more):
            if not streamed:
                return thread.send(said(text), **more)
            with thread.stream(said(text), **more) as stream:
                return stream.get_final_message()

        say("What is 15 * 23?")
        say("And what is 2 * 4?", model="two")
        answer = say("And what is 5 * 5?", model="one")
    assert [report.status for report in reports] == [200] * 3
    assert "25" in text_of(answer)
    assert reports[-1].kept == 1, "the first thought is Claude's"
    assert reports[1].omitted == 1, "Claude's thought is foreign to Gemini"


def test_a_thread_is_held_natively_by_claude():
    """Only what is new is sent to a provider that holds the conversation."""
    with gateway_for({MODEL: BEHIND["anthropic"]}) as (client, reports, upstream):
        thread = client.beta.messages.thread(**ASKED, messages=[])
        thread.send(said("What is 15 * 23?"))
        thread.send(said("And times two?"))
        assert thread.previous_message_id
    first, second = upstream.bodies
    assert first["thread"] == {"type": "create"}
    assert second["thread"]["type"] == "continue"
    assert len(second["messages"]) == 1
    assert [report.way for report in reports] == ["bytes", "bytes"]


def test_a_provider_that_lost_the_thread_gets_all_of_it():
    with gateway_for({MODEL: BEHIND["anthropic"]}) as (client, reports, upstream):
        thread = client.beta.messages.thread(**ASKED, system="Be brief.", messages=[])
        thread.send(said("What is 15 * 23?"))
        upstream.forget()
        answer = thread.send(said("And what is 2 * 4?"))
    assert "8" in text_of(answer)
    assert len(upstream.bodies) == 3, "one was refused, and sent again with all of it"
    assert "thread" not in upstream.bodies[-1]
    assert len(upstream.bodies[-1]["messages"]) == 3
    assert upstream.bodies[-1]["system"] == "Be brief."
    assert reports[-1].kept == 1


def test_a_gateway_that_may_not_store_says_so_and_the_sdk_goes_on():
    with gateway_for({MODEL: BEHIND["gemini"]}, remember="off") as (client, reports, _):
        thread = client.beta.messages.thread(
            **ASKED, messages=[], unsupported_request_behavior="continue_unthreaded"
        )
        answer = thread.send(said("What is 15 * 23?"))
        assert "345" in text_of(answer)
        strict = client.beta.messages.thread(**ASKED, messages=[])
        with pytest.raises(anthropic.BadRequestError, match="without `thread`"):
            strict.send(said("What is 15 * 23?"))
    assert [report.status for report in reports] == [400, 200, 400]


@pytest.mark.parametrize(
    ("thread", "more", "expected"),
    [
        ({"type": "resume"}, {}, 'expected {"type": "create"}'),
        ({"type": "continue"}, {}, "previous_message_id"),
        ("create", {}, 'expected {"type": "create"}'),
        ({"type": "continue", "previous_message_id": "msg_1"}, {"system": "x"}, "system"),
    ],
)
@pytest.mark.parametrize("behind", ["anthropic", "gemini"])
def test_a_wrong_thread_is_refused(behind, thread, more, expected):
    with (
        gateway_for({MODEL: BEHIND[behind]}) as (client, _, _),
        pytest.raises(anthropic.BadRequestError) as raised,
    ):
        client.beta.messages.create(
            **ASKED,
            **more,
            thread=thread,
            betas=["message-threads-2026-08-12"],
            messages=[{"role": "user", "content": "Hello"}],
        )
    assert expected in str(raised.value)


@pytest.mark.parametrize("behind", ["anthropic", "gemini"])
def test_an_unknown_thread_is_not_found(behind):
    with (
        gateway_for({MODEL: BEHIND[behind]}) as (client, _, _),
        pytest.raises(anthropic.NotFoundError) as raised,
    ):
        client.beta.messages.create(
            **ASKED,
            thread={"type": "continue", "previous_message_id": "msg_1"},
            betas=["message-threads-2026-08-12"],
            messages=[{"role": "user", "content": "Hello"}],
        )
    assert raised.value.body["error"]["details"] == {"error_code": "thread_not_found"}
