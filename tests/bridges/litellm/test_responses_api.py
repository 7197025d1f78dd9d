"""`responses`, `text_completion` and providers of one's own."""

import asyncio
import json

import pytest

from bridges.litellm.talk import SUM, through_json
from innervoice.bridges import litellm

TOOL = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
MODELS = ["openai/gpt-5.6", "anthropic/claude-opus-5-5", "gemini/gemini-3-pro", "deepseek/deepseek-v4"]  # fmt: skip
QUESTION = {"role": "user", "content": "What is the weather in Paris?"}


@pytest.fixture(params=["sync", "async"])
def ask(request, line):
    def asked(given, model, **options):
        options = line.options(model, **options)
        if request.param == "sync":
            return litellm.responses(given, **options)
        return asyncio.run(litellm.aresponses(given, **options))

    return asked


@pytest.mark.parametrize("model", MODELS)
def test_an_answer(ask, model):
    """From every kind of API, in the form of the Responses API."""
    response = ask(SUM["content"], model, instructions="Be brief.", max_output_tokens=2000)
    assert "response" == response.object
    assert "completed" == response["status"]
    assert "345" in response.output_text
    assert response.usage.input_tokens > 0
    assert "message" == response.output[-1].type
    assert "345" in response.output[-1].content[0].text
    json.dumps(response.model_dump())


def test_what_is_sent(ask, line):
    ask(
        [{"role": "user", "content": "hi"}],
        "anthropic/claude-opus-5-5",
        instructions="Be brief.",
        temperature=None,
        tools=[TOOL],
        max_output_tokens=50,
        reasoning={"effort": "low"},
        metadata={"a": "b"},
    )
    body = line.body
    assert "Be brief." in str(body["system"])
    assert "get_weather" == body["tools"][0]["name"]
    assert "metadata" not in body


@pytest.mark.parametrize("model", ["openai/gpt-5.6", "deepseek/deepseek-v4"])
def test_a_tool_loop(ask, model):
    """The items of a response go back as input, through JSON, and the emulator refuses reasoning that was changed."""
    history = [QUESTION]
    first = ask(history, model, tools=[TOOL], reasoning={"effort": "low"})
    calls = [item for item in first.output if item.type == "function_call"]
    assert {"city": "Paris"} == json.loads(calls[0].arguments)

    history = through_json([*history, *first.model_dump()["output"]])
    history += [{"type": "function_call_output", "call_id": call.call_id, "output": "It is sunny in Paris."} for call in calls]  # fmt: skip
    second = ask(history, model, tools=[TOOL], reasoning={"effort": "low"})
    assert "sunny" in second.output_text


def test_the_cost(ask):
    litellm.register_model(
        {"openai/gpt-5.6": {"input_cost_per_token": 1.0, "output_cost_per_token": 0.0}}
    )
    response = ask("hi", "openai/gpt-5.6")
    tokens = response.usage.input_tokens
    assert tokens == response._hidden_params["response_cost"]
    assert tokens == litellm.cost_calculator.completion_cost(response, model="openai/gpt-5.6")


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"stream": True}, "completion(stream=True)"),
        ({"previous_response_id": "resp_1"}, "pass the items of the history"),
        ({"background": True}, "leave background out"),
    ],
)
def test_what_it_cannot_do(ask, option, said):
    with pytest.raises(NotImplementedError) as caught:
        ask("hi", "openai/gpt-5.6", **option)
    assert said in str(caught.value)


def test_errors_are_litellms(ask):
    with pytest.raises(litellm.exceptions.LitellmError):
        ask("hi", "anthropic/claude-haiku-4-5", behaviour="fail=0")


# ---- text ----------------------------------------------------------------------------------------------


def test_text_completion(line):
    options = line.options("deepseek/deepseek-v4")
    whole = litellm.text_completion(SUM["content"], **options)
    assert "text_completion" == whole.object
    assert "345" in whole.choices[0].text
    assert whole.usage.prompt_tokens > 0
    pieces = list(litellm.text_completion(SUM["content"], **options, stream=True))
    assert whole.choices[0].text == "".join(piece.choices[0].text for piece in pieces)
    assert [None, "stop"] == [pieces[0].choices[0].finish_reason, pieces[-1].choices[0].finish_reason]  # fmt: skip

    async def awaited():
        made = await litellm.atext_completion(prompt=[SUM["content"]], **options)
        stream = await litellm.atext_completion(SUM["content"], **options, stream=True)
        return made, [piece async for piece in stream]

    made, pieces = asyncio.run(awaited())
    assert "345" in made.choices[0].text
    assert pieces


def test_text_completion_of_the_old_provider(monkeypatch):
    """dspy's prefix for OpenAI's old API."""
    asked = []
    monkeypatch.setattr(litellm, "completion", lambda model, *_, **__: asked.append(model) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        litellm.text_completion("x", "text-completion-openai/gpt-4o")
    assert ["openai/gpt-4o"] == asked


@pytest.mark.parametrize("arguments", [{"prompt": ["a", "b"]}, {"prompt": "a", "echo": True}])
def test_what_text_completion_cannot_do(arguments):
    with pytest.raises(litellm.BadRequestError, match="in innervoice"):
        litellm.text_completion(model="gpt-4o", **arguments)


def test_many_conversations(line):
    """In their order; an error stands in its place."""
    options = line.options("deepseek/deepseek-v4")
    asked = [[SUM], 7, [{"role": "user", "content": "What is 2 + 2?"}]]
    first, wrong, last = litellm.batch_completion(messages=asked, max_workers=2, **options)
    assert "345" in first.choices[0].message.content
    assert isinstance(wrong, Exception)
    assert "4" in last.choices[0].message.content


# ---- providers of one's own ----------------------------------------------------------------------------


class Echo(litellm.CustomLLM):
    """Answers with the question."""

    def completion(self, *, model, messages, model_response, optional_params, **_):
        if optional_params.get("seed") == 13:
            raise litellm.llms.custom_llm.CustomLLMError(429, "slow down")
        text = f"{model}: {messages[-1]['content']} {optional_params.get('seed')}"
        model_response.choices[0].message.content = text
        return model_response

    async def acompletion(self, **options):
        return self.completion(**options)

    def streaming(self, *, messages, **_):
        for word in messages[-1]["content"].split():
            yield {"text": word, "is_finished": False, "finish_reason": "", "usage": None, "index": 0, "tool_use": None}  # fmt: skip
        counts = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
        yield {"text": "", "is_finished": True, "finish_reason": "stop", "usage": counts, "index": 0, "tool_use": None}  # fmt: skip

    async def astreaming(self, **options):
        for chunk in self.streaming(**options):
            yield chunk


@pytest.fixture
def _echo(monkeypatch):
    registered = [{"provider": "echo", "custom_handler": Echo()}]
    monkeypatch.setattr(litellm, "custom_provider_map", registered)


@pytest.mark.usefixtures("_echo")
def test_an_own_provider():
    messages = [{"role": "user", "content": "one two"}]
    whole = litellm.completion("echo/parrot", messages, seed=7)
    assert "parrot: one two 7" == whole.choices[0].message.content
    assert "echo" == whole._hidden_params["custom_llm_provider"]
    chunks = list(litellm.completion("echo/parrot", messages, stream=True))
    built = litellm.stream_chunk_builder(chunks)
    assert "onetwo" == built.choices[0].message.content
    assert "stop" == built.choices[0].finish_reason
    assert 3 == built.usage.total_tokens

    async def awaited():
        made = await litellm.acompletion("echo/parrot", messages)
        stream = await litellm.acompletion("echo/parrot", messages, stream=True)
        return made, [chunk async for chunk in stream]

    made, chunks = asyncio.run(awaited())
    assert "one two" in made.choices[0].message.content
    assert "onetwo" == litellm.stream_chunk_builder(chunks).choices[0].message.content


@pytest.mark.usefixtures("_echo")
def test_the_errors_of_an_own_provider():
    messages = [{"role": "user", "content": "x"}]
    with pytest.raises(litellm.RateLimitError, match="slow down"):
        litellm.completion("echo/parrot", messages, seed=13)
    bare = [{"provider": "bare", "custom_handler": litellm.CustomLLM()}]
    litellm.custom_provider_map += bare
    with pytest.raises(litellm.InternalServerError, match="Not implemented"):
        litellm.completion("bare/x", messages)


@pytest.mark.usefixtures("_echo")
def test_a_mock_of_an_own_provider():
    messages = [{"role": "user", "content": "x"}]
    response = litellm.completion("echo/parrot", messages, mock_response="mocked")
    assert "mocked" == response.choices[0].message.content
    assert ("parrot", "echo") == litellm.get_llm_provider("echo/parrot")[:2]
