"""pydantic-ai: its messages to ours and back, and its agent with a host that it does not support."""

import asyncio
import json

import httpx2
import pytest

import innervoice as iv
from innervoice.bridges import sdk
from innervoice.emulator import emulated_client

pydantic_ai = pytest.importorskip("pydantic_ai")

from pydantic_ai import messages as theirs  # noqa: E402
from pydantic_ai.models.anthropic import AnthropicModel  # noqa: E402
from pydantic_ai.models.openai import OpenAIChatModel  # noqa: E402
from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: E402
from pydantic_ai.providers.openai import OpenAIProvider  # noqa: E402

TOOL = iv.Tool("get_weather", "Weather.", {"type": "object", "properties": {"city": {"type": "string"}}})  # fmt: skip


def history(model="anthropic/claude-sonnet-4-5"):
    client = emulated_client()
    messages = [iv.system("Be brief."), iv.user("The weather in Paris?")]
    response = client.ask(model, messages, tools=[TOOL], reasoning="high")
    return [*messages, response.message, iv.tool_result(response.tool_calls[0].id, "fog")]


def test_there_and_back():
    """A history survives pydantic-ai's own JSON without loss."""
    given = history()
    made = iv.convert(given, to="pydantic-ai")
    stored = theirs.ModelMessagesTypeAdapter.dump_json(made)
    back = iv.convert(theirs.ModelMessagesTypeAdapter.validate_json(stored))
    assert given[2] == back[2]
    assert [message.role for message in given] == [message.role for message in back]
    assert "get_weather" == made[-1].parts[0].tool_name


def test_thinking_that_pydantic_ai_read():
    """A history of its own Anthropic model: the signature is sent back to Anthropic."""
    thought = theirs.ThinkingPart("R", signature="s" * 40, provider_name="anthropic")
    call = theirs.ToolCallPart("get_weather", {"city": "Paris"}, "toolu_1")
    made = theirs.ModelResponse(parts=[thought, call], model_name="claude-sonnet-4-5", provider_name="anthropic")  # fmt: skip
    message = iv.convert(made)
    assert "R" == message.thinking
    wire = iv.encode(iv.Request("anthropic/claude-sonnet-4-5", [iv.user("x"), message, iv.tool_result("toolu_1", "fog")]))  # fmt: skip
    assert {"type": "thinking", "thinking": "R", "signature": "s" * 40} == wire.body["messages"][1]["content"][0]  # fmt: skip


def agent(model):
    made = pydantic_ai.Agent(model)

    @made.tool_plain
    def get_weather(city: str) -> str:
        """Tells the weather of a city."""
        return f"{city}: sunny"

    return made


QUESTION = "What is the weather in Paris and Rome, then the weather in Oslo?"


def test_its_anthropic_model_runs_against_the_emulator(emulator):
    settings = {
        "anthropic_thinking": {"type": "enabled", "budget_tokens": 2000},
        "max_tokens": 9000,
    }

    async def main():
        async with httpx2.AsyncClient() as http:
            url = emulator.base_url("anthropic")
            provider = AnthropicProvider(api_key="any", base_url=url, http_client=http)
            model = AnthropicModel("claude-haiku-4-5", provider=provider)
            return await agent(model).run(QUESTION, model_settings=settings)

    result = asyncio.run(main())
    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == result.output
    back = iv.convert(result.all_messages())
    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == back[-1].text
    assert back[1].thinking


@pytest.mark.parametrize("bridged", [True, False])
def test_its_plain_chat_model_on_kimi(emulator, bridged):
    """Without returned reasoning the request is refused; the transport adds the field."""

    async def main():
        async with sdk.async_client("moonshot") if bridged else httpx2.AsyncClient() as http:
            url = emulator.base_url("moonshot")
            provider = OpenAIProvider(base_url=url, api_key="any", http_client=http)
            profile = {"openai_chat_send_back_thinking_parts": False}
            model = OpenAIChatModel("kimi-k3", provider=provider, profile=profile)
            return (await agent(model).run(QUESTION)).output

    if bridged:
        assert "Paris: sunny. Rome: sunny. Oslo: sunny." == asyncio.run(main())
    else:
        with pytest.raises(pydantic_ai.exceptions.ModelHTTPError, match="reasoning_content"):
            asyncio.run(main())


def test_responses():
    response = emulated_client().ask("openai/gpt-5.6", "What is 2 + 2?")
    made = iv.convert(response, to="pydantic-ai")
    assert ("gpt-5.6", "openai") == (made.model_name, made.provider_name)
    assert "2 + 2 = 4." == json.loads(json.dumps(made.parts[-1].content))


class Recording(httpx2.AsyncHTTPTransport):
    """A transport that records the bodies that reach the host."""

    def __init__(self):
        super().__init__()
        self.bodies = []

    async def handle_async_request(self, request):
        self.bodies.append(json.loads(await request.aread()))
        return await super().handle_async_request(request)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_its_chat_model_on_openrouter(emulator, streamed):
    """It keeps `reasoning` and drops `reasoning_details`; the details, with their signatures, are sent all the same."""
    inner = Recording()

    async def main():
        async with sdk.async_client("openrouter", transport=inner) as http:
            url = emulator.base_url("openrouter")
            provider = OpenAIProvider(base_url=url, api_key="any", http_client=http)
            profile = {
                "openai_chat_thinking_field": "reasoning",
                "openai_chat_send_back_thinking_parts": "field",
            }
            model = OpenAIChatModel("anthropic/claude-sonnet-4.5", provider=provider, profile=profile)  # fmt: skip
            if not streamed:
                return (await agent(model).run(QUESTION)).output
            async with agent(model).run_stream(QUESTION) as run:
                return await run.get_output()

    output = asyncio.run(main())
    sent = [item for item in inner.bodies[-1]["messages"] if item["role"] == "assistant"]

    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == output
    assert [True, True] == [bool(item["reasoning"] and item["reasoning_details"][0]["signature"]) for item in sent]  # fmt: skip
