"""The same loop over a real port: with LangChain's own model for compatible hosts, and with ours."""

import operator
from functools import reduce

import pytest

from innervoice.emulator.routes import base_urls
from innervoice.testing import EmulatorServer

core = pytest.importorskip("langchain_core.messages")
openai = pytest.importorskip("openai")
langchain_openai = pytest.importorskip("langchain_openai")
bridge = pytest.importorskip("innervoice.bridges.langchain")


MODEL = "deepseek-v4-pro"
STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@pytest.fixture(scope="module")
def server():
    with EmulatorServer() as running:
        yield running


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    for name in (
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)


def asking(chat, *, streamed):
    async def ask(history):
        return reduce(operator.add, chat.stream(history)) if streamed else chat.invoke(history)

    return ask


@STREAMED
async def test_without_us(server, tool, loop, streamed):
    """ChatOpenAI drops the reasoning, and the host refuses the second turn."""
    chat = langchain_openai.ChatOpenAI(
        model=MODEL, base_url=server.base_url("deepseek"), api_key="key", max_retries=0
    )
    first = await asking(chat, streamed=streamed)([core.HumanMessage("What is 15 * 23?")])

    assert "reasoning" not in str([first.content, first.additional_kwargs])
    with pytest.raises(openai.BadRequestError, match="reasoning_content"):
        await loop(asking(chat.bind_tools([tool]), streamed=streamed))


@STREAMED
async def test_with_us(server, tool, loop, streamed):
    """With ChatInnervoice it is not lost and not refused."""
    chat = bridge.ChatInnervoice(
        model=f"deepseek/{MODEL}", base_url=server.base_url("deepseek"), api_key="key"
    )
    history = await loop(asking(chat.bind_tools([tool]), streamed=streamed))
    answers = [message for message in history if isinstance(message, core.AIMessage)]

    assert "Paris: 21 °C. Rome: 27 °C. Oslo: 9 °C." == answers[-1].text
    assert all(bridge.read(answer).thinking for answer in answers)
    chat._sync().close()


async def test_many_hosts_at_once(server):
    """One model calls several hosts, each at its base URL, async."""
    chat = bridge.ChatInnervoice(model="anthropic/claude-opus-5-5", base_urls=base_urls(server.url))
    others = [None, "openai/gpt-5.6", "gemini/gemini-3-pro-preview", "claude-sonnet-4-5"]
    answers = [await chat.ainvoke("What is 15 * 23?", model=other) for other in others]
    await chat._async().close()

    assert ["15 * 23 = 345."] * 4 == [answer.text for answer in answers]
    assert ["anthropic", "openai", "gemini", "anthropic"] == [
        answer.response_metadata["model_provider"] for answer in answers
    ]
