"""pydantic-ai over Chat Completions, through the gateway to models that want their reasoning back."""

import asyncio

import httpx2
import pytest

from gateway.lossy import (
    ANSWER,
    MODELS,
    NEXT,
    QUESTION,
    each_loop,
    each_switch,
    get_weather,
    lossy_gateway,
)

pydantic_ai = pytest.importorskip("pydantic_ai")

from pydantic_ai.models.openai import OpenAIChatModel  # noqa: E402
from pydantic_ai.providers.openai import OpenAIProvider  # noqa: E402

DROPS = {"openai_chat_send_back_thinking_parts": False}
TAGS = {"openai_chat_send_back_thinking_parts": "tags"}


def talk(url, questions, *, streamed, profile=None):
    """Asks an agent one question after the other, each of a model, and returns the answers."""

    async def main():
        agent = pydantic_ai.Agent(tools=[get_weather])
        history, said = [], []
        async with httpx2.AsyncClient() as http:
            provider = OpenAIProvider(base_url=f"{url}/v1", api_key="any", http_client=http)
            for question, name in questions:
                how = {
                    "model": OpenAIChatModel(name, provider=provider, profile=profile),
                    "model_settings": {"openai_reasoning_effort": "high"},
                    "message_history": history,
                }
                if streamed:
                    async with agent.run_stream(question, **how) as run:
                        said.append(await run.get_output())
                else:
                    run = await agent.run(question, **how)
                    said.append(run.output)
                history = run.all_messages()
        return said

    return asyncio.run(main())


@each_loop
def test_a_tool_loop_has_its_real_reasoning(model, streamed, gateways):
    """As it is set for hosts that refuse reasoning in a request: nothing of it is returned."""
    with lossy_gateway(gateways=gateways) as served:
        said = talk(served.url, [(QUESTION, model)], streamed=streamed, profile=DROPS)
    assert [ANSWER] == said
    served.check_loop(streamed=streamed)


@each_switch
def test_another_model_in_the_middle_and_back(model, streamed, gateways):
    """The second question goes to another model, and so does the fourth: each has its own reasoning again."""
    other = NEXT[model]
    questions = [(QUESTION, model), ("What is 2 + 2?", other), ("What is 3 + 2?", model), ("What is 4 + 2?", other)]  # fmt: skip
    with lossy_gateway(gateways=gateways) as served:
        said = talk(served.url, questions, streamed=streamed, profile=DROPS)
    assert [ANSWER, "2 + 2 = 4.", "3 + 2 = 5.", "4 + 2 = 6."] == said
    served.check_switches([model] * 3 + [other, model, other], streamed=streamed)


@each_switch
def test_it_returns_the_words_alone_by_default(model, streamed, gateways):
    """It keeps the text of `reasoning_content` and no seal: the seals are put back, and no words stand there twice."""
    with lossy_gateway(gateways=gateways) as served:
        said = talk(served.url, [(QUESTION, model)], streamed=streamed)
    assert [ANSWER] == said
    served.check_loop(loses=False, streamed=streamed)


@pytest.mark.parametrize("model", MODELS[::2])
def test_it_can_write_the_reasoning_into_the_text(model):
    """The text that comes back begins with `<think>...</think>`; the real reasoning, with its seals, takes the place of that."""
    with lossy_gateway() as served:
        said = talk(served.url, [(QUESTION, model)], streamed=False, profile=TAGS)
    assert [ANSWER] == said
    served.check_loop(loses=False)
    assert "<think>" not in str(served.upstream.requests)
