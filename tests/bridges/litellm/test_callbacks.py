"""Success and failure callbacks: functions, async functions and loggers hear of every call, whole or streamed."""

import asyncio
import datetime as dt
import logging
import sys
import warnings

import pytest

from bridges.litellm.talk import SUM
from innervoice.bridges import litellm

LISTS = (
    "callbacks",
    "success_callback",
    "failure_callback",
    "input_callback",
    "_async_success_callback",
    "_async_failure_callback",
)


@pytest.fixture(autouse=True)
def _no_callbacks(monkeypatch):
    for name in LISTS:
        monkeypatch.setattr(litellm, name, [])
    module = sys.modules[
        "innervoice.bridges.litellm.completion"
    ]  # the package has a function of that name
    monkeypatch.setattr(module, "_warned", set())


class Logger(litellm.CustomLogger):
    def __init__(self):
        super().__init__()
        self.heard = []

    def log_pre_api_call(self, model, messages, kwargs):
        self.heard.append(("pre", model, messages, kwargs))

    def log_success_event(self, kwargs, response_obj, start_time, end_time):
        self.heard.append(("success", kwargs, response_obj, start_time, end_time))

    def log_failure_event(self, kwargs, response_obj, start_time, end_time):
        self.heard.append(("failure", kwargs, response_obj, start_time, end_time))

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        self.heard.append(("async success", kwargs, response_obj, start_time, end_time))

    async def async_log_failure_event(self, kwargs, response_obj, start_time, end_time):
        self.heard.append(("async failure", kwargs, response_obj, start_time, end_time))

    @property
    def events(self):
        return [event for event, *_ in self.heard]


@pytest.fixture
def logger(monkeypatch):
    made = Logger()
    monkeypatch.setattr(litellm, "callbacks", [made])
    return made


async def used(stream):
    return [chunk async for chunk in stream]


def call(how, model="gpt-4o", **options):
    """Calls in one of four ways; errors of the call are left out."""
    options = {"mock_response": "hello", **options}

    async def awaited():
        if how == "awaited":
            await litellm.acompletion(model, [SUM], **options)
        else:
            await used(await litellm.acompletion(model, [SUM], stream=True, **options))

    try:
        if how == "whole":
            litellm.completion(model, [SUM], **options)
        elif how == "streamed":
            list(litellm.completion(model, [SUM], stream=True, **options))
        else:
            asyncio.run(awaited())
    except litellm.exceptions.LitellmError:
        pass


HOW = ["whole", "streamed", "awaited", "awaited stream"]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_a_logger(logger, how, outcome):
    failing = {"mock_response": "litellm.RateLimitError"} if outcome == "failure" else {}
    call(how, metadata={"a": 1}, temperature=0.5, **failing)
    prefix = "async " if how.startswith("awaited") else ""
    assert ["pre", prefix + outcome] == logger.events

    kwargs, response, start, end = logger.heard[1][1:]
    assert "gpt-4o" == kwargs["model"]
    assert [SUM] == kwargs["messages"]
    assert {"a": 1} == kwargs["litellm_params"]["metadata"]
    assert 0.5 == kwargs["optional_params"]["temperature"]
    assert "openai" == kwargs["custom_llm_provider"]
    assert isinstance(start, dt.datetime)
    assert (end - start).total_seconds() >= 0
    if outcome == "failure":
        assert response is None
        assert isinstance(kwargs["exception"], litellm.RateLimitError)
        assert "RateLimitError" in kwargs["traceback_exception"]
    else:
        assert "hello" == response.choices[0].message.content
        assert ("stream" in how) == (kwargs.get("complete_streaming_response") is response)


@pytest.mark.parametrize("how", HOW)
def test_the_cost(line, logger, how):
    """A real answer, with the cost in the kwargs."""
    litellm.register_model(
        {"deepseek/deepseek-v4": {"input_cost_per_token": 1.0, "output_cost_per_token": 0.0}}
    )
    call(how, **line.options("deepseek/deepseek-v4"), mock_response=None)
    kwargs, response = logger.heard[1][1:3]
    assert kwargs["response_cost"] == response.usage.prompt_tokens > 0
    assert "any" not in str(kwargs)  # the key


@pytest.mark.parametrize("how", HOW)
def test_functions(monkeypatch, how):
    """Functions hear of both kinds of calls, async functions of async ones."""
    heard = []

    def told(*arguments):
        heard.append(("function", len(arguments)))

    async def awaited(*arguments):
        heard.append(("async", len(arguments)))

    monkeypatch.setattr(litellm, "success_callback", [told])
    monkeypatch.setattr(litellm, "failure_callback", [told])
    monkeypatch.setattr(litellm, "_async_success_callback", [awaited])
    monkeypatch.setattr(litellm, "_async_failure_callback", [awaited])
    expected = [("function", 4)] + [("async", 4)] * how.startswith("awaited")

    call(how)
    assert expected == heard
    heard.clear()
    call(how, mock_response="litellm.RateLimitError")
    assert expected == heard


def test_before_a_call(monkeypatch):
    heard = []
    monkeypatch.setattr(litellm, "input_callback", [heard.append])
    call("whole")
    assert [SUM] == heard[0]["messages"]


def test_a_stream_ends_once(logger):
    """Asked again after its end, it says nothing more."""
    stream = litellm.completion("gpt-4o", [SUM], stream=True, mock_response="x")
    assert list(stream)
    assert [] == list(stream)
    assert ["pre", "success"] == logger.events


def test_callbacks_of_one_call():
    """Passed as an argument, they are not sent to the provider."""
    logger = Logger()
    call("whole", callbacks=[logger])
    assert ["pre", "success"] == logger.events


def test_once_in_two_lists(monkeypatch):
    logger = Logger()
    monkeypatch.setattr(litellm, "callbacks", [logger])
    monkeypatch.setattr(litellm, "success_callback", [logger])
    call("whole")
    assert ["pre", "success"] == logger.events


@pytest.mark.parametrize("how", HOW)
def test_a_logger_of_another_class(monkeypatch, caplog, how):
    """It is not called, as in litellm: crewai counts tokens with one, and would count them twice."""

    class Other:
        heard = 0

        def log_success_event(self, *_):
            Other.heard += 1

        async def async_log_success_event(self, *_):
            Other.heard += 1

    monkeypatch.setattr(litellm, "callbacks", [Other()])
    call(how)
    assert 0 == Other.heard
    assert "" == caplog.text


def test_each_attempt_is_told(logger):
    """A fallback is a call of its own."""
    call("whole", mock_response="litellm.RateLimitError", fallbacks=[{"model": "o3", "mock_response": "x"}])  # fmt: skip
    assert ["pre", "failure", "pre", "success"] == logger.events


def test_callbacks_of_one_call_hear_its_fallbacks():
    logger = Logger()
    call("whole", mock_response="litellm.RateLimitError", fallbacks=[{"model": "o3", "mock_response": "x"}], callbacks=[logger])  # fmt: skip
    assert ["pre", "failure", "pre", "success"] == logger.events


def test_a_stream_that_breaks_off(line, logger):
    """A failure in the middle is one failure."""
    with pytest.raises(litellm.exceptions.LitellmError):
        line.chunks("anthropic/claude-haiku-4-5", [SUM], behaviour="fail=2")
    assert ["pre", "failure"] == logger.events


def test_an_error_in_a_callback(monkeypatch, caplog):
    """It is logged, and the call goes on."""

    def broken(*_):
        raise ValueError("mine")

    monkeypatch.setattr(litellm, "success_callback", [broken])
    with caplog.at_level(logging.ERROR, "LiteLLM"):
        response = litellm.completion("gpt-4o", [SUM], mock_response="x")
    assert "x" == response.choices[0].message.content
    assert "mine" in caplog.text


def test_names_of_loggers(monkeypatch):
    """One warning for each name of a logger that litellm brings."""
    monkeypatch.setattr(litellm, "success_callback", ["langfuse"])
    monkeypatch.setattr(litellm, "callbacks", ["otel"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call("whole")
        call("whole")
    said = [str(item.message) for item in caught]
    assert 2 == len(said)
    assert all("is not available: set a function or a CustomLogger" in text for text in said)
    assert any("'langfuse'" in text for text in said)
    assert any("'otel'" in text for text in said)


def test_an_async_function_in_a_sync_call(monkeypatch):
    async def awaited(*_):
        raise AssertionError("must not run")

    monkeypatch.setattr(litellm, "success_callback", [awaited])
    with pytest.warns(UserWarning, match=r"only acompletion\(\) runs it"):
        call("whole")
