"""Claude at the clouds: Anthropic's own clients find the emulator's answers good, and we send what they send, to where they send it."""

import json

import httpx2
import pytest

import innervoice as iv

anthropic = pytest.importorskip("anthropic")
pytestmark = pytest.mark.filterwarnings("ignore:The model 'claude:DeprecationWarning")

REGION = {"AWS_REGION": "eu-west-1"}
QUESTION = [{"role": "user", "content": "What is 15 * 23?"}]
THINKING = {"type": "enabled", "budget_tokens": 2000}
# The client, the provider here, the model, and the variables that both read.
CLOUDS = {
    "foundry": ("AnthropicFoundry", "azure", "claude-sonnet-4-5", {"ANTHROPIC_FOUNDRY_API_KEY": "k", "ANTHROPIC_FOUNDRY_RESOURCE": "r"}),
    "mantle": ("AnthropicBedrockMantle", "bedrock-mantle", "anthropic.claude-sonnet-4-5", {**REGION, "AWS_BEARER_TOKEN_BEDROCK": "k"}),
    "bedrock": ("AnthropicBedrock", "bedrock-invoke", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", {**REGION, "AWS_BEARER_TOKEN_BEDROCK": "k"}),
    "aws": ("AnthropicAWS", "claude-aws", "claude-sonnet-4-5", {**REGION, "ANTHROPIC_AWS_API_KEY": "k", "ANTHROPIC_AWS_WORKSPACE_ID": "w"}),
}  # fmt: skip
BASES = {
    "foundry": "azure/anthropic",
    "mantle": "bedrock-mantle/anthropic",
    "bedrock": "bedrock-invoke",
    "aws": "claude-aws",
}
KEYS = ("authorization", "x-api-key", "anthropic-workspace-id")


@pytest.fixture(params=CLOUDS)
def cloud(request, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in CLOUDS[request.param][3].items():
        monkeypatch.setenv(name, value)
    return request.param


def sent_by(cloud, *, stream):
    """The requests that the SDK and we send, with the environment alone."""
    seen = []

    def handle(request):
        seen.append(request)
        return httpx2.Response(400, json={"message": "no"})

    name, provider, model, environ = CLOUDS[cloud]
    with httpx2.Client(transport=httpx2.MockTransport(handle)) as http:
        sdk = getattr(anthropic, name)(http_client=http, max_retries=0)
        with pytest.raises(anthropic.APIStatusError):
            sdk.messages.create(model=model, max_tokens=4000, thinking=THINKING, messages=QUESTION, stream=stream)  # fmt: skip
        ours = iv.Client(http=http, environ=environ, retries=0)
        settings = {"max_tokens": 4000, "reasoning": iv.Reasoning(budget=2000), "stream": stream}
        with pytest.raises(iv.ProviderError):
            ours.ask(f"{provider}/{model}", QUESTION[0]["content"], **settings)
    return seen


@pytest.mark.parametrize("stream", [False, True])
def test_we_send_what_the_sdk_sends(cloud, stream):
    theirs, ours = sent_by(cloud, stream=stream)

    # The SDK leaves colons in the path, which AWS reads as we write them.
    urls = [str(request.url).replace("%3A", ":") for request in (theirs, ours)]
    assert urls[0] == urls[1]
    assert [theirs.headers.get(name) for name in KEYS] == [ours.headers.get(name) for name in KEYS]
    bodies = [json.loads(request.content) for request in (theirs, ours)]
    names = [{name for name, value in body.items() if value is not False} for body in bodies]
    assert names[0] == names[1]


def test_the_sdk_reads_the_emulator(cloud, emulator):
    name, _, model, _ = CLOUDS[cloud]
    options = {} if cloud != "foundry" else {"resource": None, "api_key": "k"}
    request = {"model": model, "max_tokens": 4000, "thinking": THINKING, "messages": QUESTION}
    with getattr(anthropic, name)(base_url=f"{emulator.url}/{BASES[cloud]}", max_retries=0, **options) as sdk:  # fmt: skip
        whole = sdk.messages.create(**request)
        with sdk.messages.stream(**request) as stream:
            streamed = stream.get_final_message()

    for message in (whole, streamed):
        assert ["thinking", "text"] == [block.type for block in message.content]
        assert "15 * 23 = 345." == message.content[1].text
        assert message.content[0].signature
