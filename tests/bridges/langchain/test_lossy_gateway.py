"""LangChain's own `ChatOpenAI`, which keeps no reasoning, through the gateway to models that want theirs back."""

import operator
from functools import reduce

import pytest

from gateway.lossy import ANSWER, NEXT, each_loop, each_switch, lossy_gateway

core = pytest.importorskip("langchain_core.messages")
langchain_openai = pytest.importorskip("langchain_openai")


def asking(url, tool, models, *, streamed):
    """Sends each request to the next of the models."""
    named = iter(models)

    async def ask(history):
        chat = langchain_openai.ChatOpenAI(
            model=next(named), base_url=f"{url}/v1", api_key="any", reasoning_effort="high", max_retries=0
        )  # fmt: skip
        bound = chat.bind_tools([tool])
        return reduce(operator.add, bound.stream(history)) if streamed else bound.invoke(history)

    return ask


@each_loop
async def test_a_tool_loop_has_its_real_reasoning(model, streamed, gateways, tool, loop):
    with lossy_gateway(gateways=gateways) as served:
        *_, answer = await loop(asking(served.url, tool, [model] * 3, streamed=streamed))
        assert ANSWER == answer.text
    served.check_loop(streamed=streamed)


@each_switch
async def test_another_model_in_the_middle_of_a_loop_and_back(
    model, streamed, gateways, tool, loop
):
    """The second request of the loop goes to another model, and so does a later question: each has its own reasoning again."""
    other = NEXT[model]
    models = [model, other, model, other, model]
    with lossy_gateway(gateways=gateways) as served:
        ask = asking(served.url, tool, models, streamed=streamed)
        history = await loop(ask)
        assert ANSWER == history[-1].text
        history = await loop(ask, "What is 2 + 2?", history)
        history = await loop(ask, "What is 3 + 2?", history)
        assert "3 + 2 = 5." == history[-1].text
    served.check_switches(models, streamed=streamed)
