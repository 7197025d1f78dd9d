"""Callers' own credentials (`keys = "caller"`) with the official SDKs: what each sends to its provider arrives there, and nowhere else."""

from contextlib import closing, contextmanager

import pytest

from innervoice.client.embedded import embedded_async_http
from innervoice.emulator import Emulator
from innervoice.emulator.routes import base_urls

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
genai = pytest.importorskip("google.genai")
pytest.importorskip("aiohttp")
pytestmark = pytest.mark.filterwarnings("ignore:The model 'claude:DeprecationWarning")

QUESTION = "What is 15 * 23?"


class Upstream(Emulator):
    """An emulator that keeps the path and the headers of its requests."""

    def __init__(self):
        super().__init__()
        self.requests = []

    def reply(self, method, path, headers, body):
        self.requests.append((path, {name.lower(): value for name, value in headers.items()}))
        return super().reply(method, path, headers, body)


@contextmanager
def gateway():
    from innervoice.gateway.app import Gateway, create_app
    from innervoice.gateway.config import GatewayConfig, UpstreamSettings
    from innervoice.gateway.in_thread import GatewayInThread

    upstream, reports = Upstream(), []
    own = {name: UpstreamSettings(keys=("caller",)) for name in ("anthropic", "openai", "gemini")}
    served = Gateway(
        GatewayConfig(upstreams=own),
        {},
        http=embedded_async_http(upstream),
        base_url_of=base_urls("http://emulator").get,
        log=reports.append,
    )
    with GatewayInThread(create_app(served)) as server:
        yield server.url, upstream, reports


def claude_key(url, model):
    with anthropic.Anthropic(base_url=url, api_key="sk-ant-own", max_retries=0) as client:
        answer = client.messages.create(model=model, max_tokens=2000, messages=[{"role": "user", "content": QUESTION}])  # fmt: skip
        return answer.content[-1].text


def claude_login(url, model):
    with anthropic.Anthropic(base_url=url, auth_token="sk-ant-oat-own", api_key=None, max_retries=0) as client:  # fmt: skip
        answer = client.beta.messages.create(model=model, max_tokens=2000, betas=["oauth-2025-04-20"], messages=[{"role": "user", "content": QUESTION}])  # fmt: skip
        return answer.content[-1].text


def responses(url, model):
    with openai.OpenAI(base_url=f"{url}/v1", api_key="sk-proj-own", organization="org-own", max_retries=0) as client:  # fmt: skip
        return client.responses.create(model=model, input=QUESTION).output_text


def gemini(url, model):
    with closing(genai.Client(api_key="AIza-own", http_options={"base_url": url})) as client:
        return client.models.generate_content(model=model, contents=QUESTION).text


# A program -> its model, and the headers that must arrive at its provider.
PROGRAMS = {
    "claude with a key": (claude_key, "claude-opus-5-5", {"authorization": "Bearer sk-ant-own"}),
    "claude with a login": (claude_login, "claude-opus-5-5", {"authorization": "Bearer sk-ant-oat-own", "anthropic-beta": "oauth-2025-04-20"}),
    "gpt": (responses, "gpt-5.6", {"authorization": "Bearer sk-proj-own", "openai-organization": "org-own"}),
    "gemini": (gemini, "gemini-3.5-flash", {"x-goog-api-key": "AIza-own"}),
}  # fmt: skip
MODELS = {
    "anthropic": "anthropic/claude-opus-5-5",
    "openai": "openai/gpt-5.6",
    "gemini": "gemini/gemini-3.5-flash",
}
HOMES = {"claude with a key": "anthropic", "claude with a login": "anthropic", "gpt": "openai", "gemini": "gemini"}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_credential_arrives_at_its_provider(program):
    ask, model, headers = PROGRAMS[program]
    with gateway() as (url, upstream, reports):
        assert "345" in ask(url, model)
    ((path, sent),) = upstream.requests
    assert headers.items() <= sent.items()
    assert "innervoice" not in sent["user-agent"], "the program says who it is"
    assert f"/{HOMES[program]}/" in path
    (report,) = reports
    assert report.account.startswith("caller:caller-")
    assert "own" not in report.account + report.tenant


@pytest.mark.parametrize(
    ("program", "provider"),
    [(one, other) for one, home in HOMES.items() for other in MODELS if other != home],
)
def test_a_credential_leaves_its_provider_never(program, provider):
    ask, _, _ = PROGRAMS[program]
    with gateway() as (url, upstream, _):
        with pytest.raises(Exception, match=f"is not sent to {provider}") as raised:
            # The path of Gemini's API names models without a provider.
            ask(url, MODELS[provider])
        assert [] == upstream.requests
    assert "own" not in str(raised.value).replace("its own", "")
