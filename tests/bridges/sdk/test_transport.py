"""The plain OpenAI SDK with hosts whose reasoning it does not support, with and without the transport."""

import asyncio
import json

import pytest

from innervoice.bridges import sdk
from innervoice.bridges.relay import Relay

openai = pytest.importorskip("openai")

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
QUESTION = "What is the weather in Paris and Rome, then the weather in Oslo?"
HOSTS = [
    ("deepseek", "deepseek-v4-pro"),
    ("moonshot", "kimi-k3"),
    ("openrouter", "anthropic/claude-sonnet-4.5"),
    ("groq", "openai/gpt-oss-120b"),
    ("minimax", "MiniMax-M2"),
    ("vllm", "qwen3-8b"),
]


def connect(server, provider, **settings):
    return openai.OpenAI(
        base_url=server.base_url(provider), api_key="any", max_retries=0, **settings
    )


def careless(message):
    """The members that an agent without reasoning support keeps."""
    kept = {"role": "assistant", "content": message["content"]}
    if message["tool_calls"]:
        kept["tool_calls"] = message["tool_calls"]
    return kept


def whole(client, model, messages):
    message = client.chat.completions.create(model=model, messages=messages, tools=[TOOL]).choices[0].message  # fmt: skip
    calls = [
        call.model_dump(include={"id", "type", "function"}) for call in message.tool_calls or []
    ]
    thought = getattr(message, "reasoning_content", None) or ""
    return {"content": message.content, "tool_calls": calls, "thought": thought}


def streamed(client, model, messages):
    text, thought, calls = "", "", {}
    for chunk in client.chat.completions.create(model=model, messages=messages, tools=[TOOL], stream=True):  # fmt: skip
        if not chunk.choices:
            continue
        delta = chunk.choices[0].delta
        text += delta.content or ""
        thought += getattr(delta, "reasoning_content", None) or ""
        for piece in delta.tool_calls or []:
            call = calls.setdefault(piece.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})  # fmt: skip
            call["id"] += piece.id or ""
            call["function"]["name"] += piece.function.name or ""
            call["function"]["arguments"] += piece.function.arguments or ""
    return {"content": text or None, "tool_calls": list(calls.values()), "thought": thought}


def agent(turn, client, model, question=QUESTION):
    """A three-turn tool loop that keeps role, content and calls, and nothing else."""
    messages = [{"role": "user", "content": question}]
    thoughts = []
    for _ in range(6):
        message = turn(client, model, messages)
        thoughts.append(message["thought"])
        messages.append(careless(message))
        if not message["tool_calls"]:
            return message["content"], thoughts, messages
        for call in message["tool_calls"]:
            city = json.loads(call["function"]["arguments"])["city"]
            messages.append(
                {"role": "tool", "tool_call_id": call["id"], "content": f"{city}: sunny"}
            )
    raise AssertionError("the loop does not end")


turns = pytest.mark.parametrize("turn", [whole, streamed])


@turns
@pytest.mark.parametrize(("provider", "model"), HOSTS[:2])
def test_without_it_the_second_turn_is_refused(emulator, provider, model, turn):
    with connect(emulator, provider) as client, pytest.raises(openai.BadRequestError, match="reasoning_content"):  # fmt: skip
        agent(turn, client, model)


@turns
@pytest.mark.parametrize(("provider", "model"), HOSTS)
def test_with_it_the_loop_goes_through(emulator, provider, model, turn):
    with connect(emulator, provider, http_client=sdk.client(provider)) as client:
        text, thoughts, _ = agent(turn, client, model)
    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == text
    assert all("The user asks" in thought for thought in thoughts)


@turns
def test_markup_leaves_the_text(emulator, turn):
    """MiniMax M2 writes its reasoning into the content; it is sent back there, and the agent never sees it."""
    with connect(emulator, "minimax", http_client=sdk.client("minimax")) as client:
        text, thoughts, messages = agent(turn, client, "MiniMax-M2")
    assert "<think>" not in json.dumps(messages)
    assert thoughts[-1]
    with connect(emulator, "minimax") as client:
        text, thoughts, _ = agent(turn, client, "MiniMax-M2")
    assert text.startswith("<think>")
    assert "" == thoughts[-1]


@turns
def test_a_history_that_was_never_seen(emulator, turn):
    """After a restart of the program, the required field is sent empty."""
    with connect(emulator, "deepseek", http_client=sdk.client("deepseek")) as client:
        *_, messages = agent(turn, client, "deepseek-v4-pro")
    more = [*messages, {"role": "user", "content": "And the weather in Lima?"}]
    with connect(emulator, "deepseek", http_client=sdk.client("deepseek")) as client:
        assert turn(client, "deepseek-v4-pro", more)["tool_calls"]


def test_clients_may_share_what_they_saw(emulator):
    relay = Relay("openrouter")
    model = "anthropic/claude-sonnet-4.5"
    messages = [{"role": "user", "content": "The weather in Paris?"}]
    with connect(emulator, "openrouter", http_client=sdk.client(relay=relay)) as client:
        message = whole(client, model, messages)
    messages += [careless(message), {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sun"}]  # fmt: skip
    sent = json.loads(relay.outgoing("http://x/chat/completions", json.dumps({"model": model, "messages": messages}).encode(), "Bearer any"))  # fmt: skip
    assert sent["messages"][1]["reasoning_details"][0]["signature"]


def test_async(emulator):
    async def run():
        http = sdk.async_client("deepseek")
        client = openai.AsyncOpenAI(base_url=emulator.base_url("deepseek"), api_key="any", http_client=http, max_retries=0)  # fmt: skip
        async with client:
            messages = [{"role": "user", "content": "The weather in Paris?"}]
            answer = await client.chat.completions.create(model="deepseek-v4-pro", messages=messages, tools=[TOOL])  # fmt: skip
            message = answer.choices[0].message
            call = message.tool_calls[0]
            messages.append(
                {"role": "assistant", "content": None, "tool_calls": [call.model_dump()]}
            )
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "Paris: fog"})
            text = ""
            stream = await client.chat.completions.create(model="deepseek-v4-pro", messages=messages, tools=[TOOL], stream=True)  # fmt: skip
            async for chunk in stream:
                if chunk.choices:
                    text += chunk.choices[0].delta.content or ""
            return message.reasoning_content, text

    thought, text = asyncio.run(run())
    assert "The user asks" in thought
    assert "Paris: fog." == text


def test_other_requests_pass_untouched(emulator):
    """Responses, models, errors: nothing is changed."""
    with connect(emulator, "openai", http_client=sdk.client("openai")) as client:
        answer = client.responses.create(model="gpt-5.6", input="What is 2 + 2?")
        assert "2 + 2 = 4." == answer.output_text
        with pytest.raises(openai.BadRequestError, match="max_completion_tokens"):
            client.chat.completions.create(model="gpt-5.6", messages=[{"role": "user", "content": "x"}], max_tokens=5)  # fmt: skip
