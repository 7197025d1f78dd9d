"""Tool loops as users of the SDKs write them, through the gateway to models of every provider.

Each SDK believes to talk to its own provider, and names that provider's model; the gateway's configuration sends the name elsewhere.
"""

import pytest

from innervoice.client.embedded import embedded_async_http
from innervoice.emulator.routes import base_urls
from innervoice.wire.dialects import DIALECTS
from sdk.loops import Served, check
from sdk.test_emulator_loops import CONVERSE, OPUS, claude_loop, converse_loop
from sdk.test_emulator_loops_chat import chat_loop, responses_loop
from sdk.test_emulator_loops_others import cohere_loop, gemini_loop, mistral_loop, ollama_loop
from sdk.test_interactions import interactions_loop

pytest.importorskip("aiohttp")
pytestmark = pytest.mark.filterwarnings("ignore:The model 'claude:DeprecationWarning")

BEHIND = {
    "anthropic": "anthropic/claude-opus-5-5",
    "openai-chat": "deepseek/deepseek-v4-pro",
    "openai-responses": "openai/gpt-5.6",
    "gemini": "gemini/gemini-3.5-flash",
    "gemini-interactions": "interactions/gemini-3.5-flash",
    "bedrock-converse": "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "mistral": "mistral/mistral-small-latest",
    "cohere": "cohere/command-a-reasoning-08-2025",
    "ollama": "ollama/qwen3",
}
# The loop of an SDK, the model that it names, and where it looks for its provider -> where the gateway is that.
LOOPS = {
    "anthropic": (lambda at, **how: claude_loop(at, OPUS, **how), "claude-opus-5-5", "anthropic"),
    "openai-chat": (
        lambda at, **how: chat_loop(at, "deepseek", **how),
        "deepseek-v4-pro",
        "deepseek",
    ),
    "openai-responses": (
        lambda at, **how: responses_loop(at, store=False, **how),
        "gpt-5.6",
        "openai",
    ),
    "gemini": (gemini_loop, "gemini-3.5-flash", "gemini"),
    "gemini-interactions": (interactions_loop, "gemini-3.5-flash", "gemini"),
    "bedrock-converse": (converse_loop, CONVERSE["modelId"], "bedrock"),
    "mistral": (mistral_loop, "mistral-small-latest", "mistral"),
    "cohere": (cohere_loop, "command-a-reasoning-08-2025", "cohere"),
    "ollama": (ollama_loop, "qwen3", "ollama"),
}


class Behind:
    """The application below the path at which an SDK looks for its provider."""

    def __init__(self, app, word, dialect) -> None:
        self._app, self._word, self._dialect = app, f"/{word}/".encode(), f"/{dialect}/".encode()

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            path = scope["raw_path"].replace(self._word, self._dialect, 1)
            scope = {**scope, "raw_path": path, "path": path.decode()}
        await self._app(scope, receive, send)


class Counted:
    """What the loops look at: an address, and how many requests came."""

    def __init__(self, url, upstream) -> None:
        self.url, self.taken = url, upstream.taken


# Streams from each to each; whole answers at home and to Claude, whose rules are the strictest. tests/gateway/test_pairs.py has all.
PAIRS = [
    (front, behind, streamed)
    for front in DIALECTS
    for behind in DIALECTS
    for streamed in (False, True)
    if streamed or behind in (front, "anthropic")
]


@pytest.mark.parametrize(("front", "behind", "streamed"), PAIRS)
def test_a_loop_through_the_gateway(front, behind, streamed):
    from innervoice.gateway.app import Gateway, create_app
    from innervoice.gateway.config import GatewayConfig, NamedModel, UpstreamSettings
    from innervoice.gateway.in_thread import GatewayInThread

    loop, name, word = LOOPS[front]
    upstream, reports = Served(), []
    gateway = Gateway(
        GatewayConfig(
            models=(NamedModel(name=name, to=(BEHIND[behind],)),),
            upstreams={
                "interactions": UpstreamSettings(provider="gemini", dialect="gemini-interactions")
            },
        ),
        {},
        http=embedded_async_http(upstream),
        base_url_of=base_urls("http://emulator").get,
        log=reports.append,
    )
    with GatewayInThread(Behind(create_app(gateway), word, front)) as server:
        ended = loop(Counted(server.url, upstream), streamed=streamed)
    assert [report.status for report in reports] == [200] * 3
    answered = {f"{report.provider}/{report.model}" for report in reports}
    assert answered == {BEHIND[behind].replace("interactions/", "gemini/")}
    thought = [report for report in reports[:-1] if report.usage.reasoning_tokens]
    assert reports[-1].kept >= len(thought), "what the model thought is back where it came from"
    assert reports[-1].omitted == 0
    check(ended, upstream, shown=any(ended.thoughts))
