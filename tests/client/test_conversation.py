"""Conversations: history, tools, switches, files, forks; sync and async do the same."""

import asyncio
import inspect
import threading
from contextvars import ContextVar

import pytest

import innervoice as iv
from innervoice.client.conversation import AsyncConversation, Conversation
from innervoice.client.embedded import embedded_async_http, embedded_http
from innervoice.emulator import Emulator
from innervoice.emulator.routes import base_urls

MODEL = "anthropic/claude-opus-5-5"
URLS = base_urls("http://emulator")
CALLER = ContextVar("caller", default=None)


def get_weather(city: str) -> str:
    """Tells the weather of a city."""
    return f"{city}: sunny"


def sync_talk(*, emulator=None, behave="", **settings):
    headers = {"x-innervoice-emulate": behave} if behave else None
    http = embedded_http(emulator or Emulator())
    client = iv.Client(http=http, base_urls=URLS, api_key="any", headers=headers, retries=0)
    return client.conversation(settings.pop("model", MODEL), **settings)


class AsyncTalk:
    """An async conversation behind the verbs of a sync one, so that one test does for both."""

    def __init__(self, *, emulator=None, behave="", **settings):
        headers = {"x-innervoice-emulate": behave} if behave else None
        http = embedded_async_http(emulator or Emulator())
        client = iv.AsyncClient(
            http=http, base_urls=URLS, api_key="any", headers=headers, retries=0
        )
        self.chat = client.conversation(settings.pop("model", MODEL), **settings)

    def ask(self, *arguments, **settings):
        return asyncio.run(self.chat.ask(*arguments, **settings))

    def events(self, *arguments, **settings):
        async def all_of_them():
            async with self.chat.stream(*arguments, **settings) as events:
                return [event async for event in events]

        return asyncio.run(all_of_them())

    def __getattr__(self, name):
        return getattr(self.chat, name)


class SyncTalk:
    def __init__(self, **settings):
        self.chat = sync_talk(**settings)

    def events(self, *arguments, **settings):
        with self.chat.stream(*arguments, **settings) as events:
            return list(events)

    def __getattr__(self, name):
        return getattr(self.chat, name)


both = pytest.mark.parametrize("talk", [SyncTalk, AsyncTalk], ids=["sync", "async"])


@both
def test_tools_are_run(talk):
    chat = talk(tools=[get_weather], reasoning="high")
    response = chat.ask("What is the weather in Paris and Rome, then the weather in Oslo?")

    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == response.text
    roles = [message.role for message in chat.history]
    assert ["user", "assistant", "tool", "tool", "assistant", "tool", "assistant"] == roles
    assert 3 == len(chat.responses)
    assert chat.usage.reasoning_tokens == sum(r.usage.reasoning_tokens for r in chat.responses)
    assert chat.usage.total_tokens == chat.usage.input_tokens + chat.usage.output_tokens


@both
def test_switch_and_back(talk):
    chat = talk(tools=[get_weather], reasoning="high")
    for model in (MODEL, "gemini/gemini-3.5-flash", "openai/gpt-5.6", "deepseek/deepseek-v4-pro", MODEL):  # fmt: skip
        chat.switch(model)
        assert "Lima: sunny. 3 * 4 = 12." == chat.ask("The weather in Lima, and 3 * 4?").text
    kept = [item for item in chat.plan().decisions if item.action == "kept"]
    assert 4 == len(kept)


@both
def test_events_of_all_rounds(talk):
    chat = talk(tools=[get_weather])
    events = chat.events("The weather in Paris?")
    finishes = [event.response for event in events if isinstance(event, iv.Finish)]
    assert ["tool_calls", "answered"] == [response.status for response in finishes]
    assert "Paris: sunny." == finishes[-1].text


@both
def test_errors_in_a_tool_go_to_the_model(talk):
    def get_weather(city: str) -> str:
        """Tells the weather of a city."""
        raise OSError(f"no station in {city}")

    chat = talk(tools=[get_weather])
    assert "OSError: no station in Bonn." == chat.ask("The weather in Bonn?").text
    result = chat.history[2].parts[0]
    assert result.error
    strict = talk(tools=[get_weather], raise_tool_errors=True)
    with pytest.raises(OSError, match="no station"):
        strict.ask("The weather in Bonn?")


@both
def test_async_functions_are_tools(talk):
    async def get_weather(city: str) -> dict:
        """Tells the weather of a city."""
        await asyncio.sleep(0)
        return {"sky": f"clear over {city}"}

    chat = talk(tools=[get_weather])
    assert '{"sky":"clear over Paris"}' in chat.ask("The weather in Paris?").text


@both
def test_parallel_calls_run_at_once(talk):
    meeting = threading.Barrier(3, timeout=5)

    def get_weather(city: str) -> str:
        """Tells the weather of a city."""
        meeting.wait()
        return f"{city}: met"

    chat = talk(tools=[get_weather])
    text = chat.ask("The weather in Paris and Rome and Oslo?").text
    assert "Paris: met. Rome: met. Oslo: met." == text


@both
@pytest.mark.parametrize("question", ["The weather in Paris?", "The weather in Paris and Rome?"])
def test_tools_see_context_variables(talk, question):
    """One call or several, in threads or not: a tool sees what the caller has set."""
    seen = []

    def get_weather(city: str) -> str:
        """Tells the weather of a city."""
        seen.append(CALLER.get())
        return f"{city}: sunny"

    token = CALLER.set("me")
    try:
        talk(tools=[get_weather]).ask(question)
    finally:
        CALLER.reset(token)
    assert {"me"} == set(seen)


@both
def test_a_limit_on_rounds(talk):
    chat = talk(tools=[get_weather], max_rounds=1)
    response = chat.ask("The weather in Paris?")
    assert "tool_calls" == response.status
    assert "rounds_used_up" in {note.code for note in response.notes}
    # The history is still fit to go on with.
    assert "2 + 2 = 4." in chat.ask("What is 2 + 2?").text


@both
def test_tools_without_a_function_are_left_to_the_caller(talk):
    tool = iv.Tool("get_weather", "Weather.", {"type": "object", "properties": {"city": {"type": "string"}}})  # fmt: skip
    chat = talk(tools=[tool])
    response = chat.ask("The weather in Paris?")
    assert ("tool_calls", 1) == (response.status, len(response.tool_calls))
    result = iv.tool_result(response.tool_calls[0].id, "Paris: fog")
    assert "Paris: fog." == chat.ask(result).text


@both
def test_save_and_load(talk, tmp_path):
    chat = talk(tools=[get_weather], system="Be brief.")
    chat.ask("The weather in Paris?")
    chat.save(tmp_path / "chat.json")
    other = talk(tools=[get_weather], model="openai/gpt-5.6")
    other.load(tmp_path / "chat.json")
    assert (MODEL, "Be brief.") == (other.model, other.system)
    assert chat.history == other.history
    with pytest.raises(iv.DecodeError, match="expected a saved conversation"):
        other.load(__file__)


@both
def test_a_loaded_conversation_goes_on_with_its_seals(talk, tmp_path):
    emulator = Emulator()
    chat = talk(emulator=emulator, tools=[get_weather], reasoning="high")
    chat.ask("The weather in Paris?")
    chat.save(tmp_path / "chat.json")
    other = talk(emulator=emulator, tools=[get_weather], reasoning="high")
    other.load(tmp_path / "chat.json")
    assert "Rome: sunny." == other.ask("The weather in Rome?").text
    assert {"kept"} == {item.action for item in other.plan().decisions}


@both
def test_fork(talk):
    chat = talk()
    chat.ask("What is 2 + 2?")
    fork = chat.fork()
    length = len(chat.history)
    chat.ask("What is 3 + 3?")
    assert length == len(fork.history)
    assert type(fork) is type(chat.chat)


@both
def test_trim(talk):
    chat = talk(tools=[get_weather])
    for city in ("Paris", "Rome", "Oslo"):
        chat.ask(f"The weather in {city}?")
    chat.trim(1)
    assert "The weather in Oslo?" == chat.history[0].text
    assert "Lima: sunny." == chat.ask("The weather in Lima?").text


@both
def test_settings_of_one_turn(talk):
    chat = talk(model="deepseek/deepseek-v4-pro")
    assert not chat.ask("What is 2 + 2?", reasoning="none").has_thinking
    assert chat.ask("What is 2 + 2?").has_thinking


@both
def test_a_refused_question_was_never_asked(talk):
    chat = talk(behave="fail=0")
    with pytest.raises(iv.ProviderError):
        chat.ask("What is 2 + 2?")
    assert [] == chat.history
    with pytest.raises(iv.ProviderError):
        chat.events("What is 2 + 2?")
    assert [] == chat.history


def test_a_stream_that_is_left_half_way():
    chat = sync_talk(tools=[get_weather])
    with chat.stream("The weather in Paris?") as events:
        for event in events:
            if isinstance(event, iv.Finish):
                break
    assert ["user", "assistant"] == [message.role for message in chat.history]
    assert "2 + 2 = 4." in chat.ask("What is 2 + 2?").text


def test_both_have_the_same_verbs():
    public = [
        {name for name in dir(kind) if not name.startswith("_")}
        for kind in (Conversation, AsyncConversation)
    ]
    assert public[0] == public[1]
    for name in public[0]:
        one, other = (getattr(kind, name) for kind in (Conversation, AsyncConversation))
        if callable(one):
            assert list(inspect.signature(one).parameters) == list(inspect.signature(other).parameters)  # fmt: skip


def test_a_client_of_one_provider_needs_no_prefix():
    http = embedded_http(Emulator())
    client = iv.Client(http=http, base_url=URLS["deepseek"], provider="deepseek", api_key="any")
    chat = client.conversation("deepseek-v4-pro", tools=[get_weather])
    assert "Paris: sunny." == chat.ask("The weather in Paris?").text
    assert "deepseek/deepseek-v4-pro" == chat.plan().target
