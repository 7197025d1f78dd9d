"""What a newcomer types first: names without a provider, misspelled ones, dicts as messages, a server that is not there."""

import pytest

import innervoice as iv
from innervoice.emulator import emulated_client


@pytest.fixture(scope="module")
def client():
    return emulated_client()


@pytest.mark.parametrize(
    ("name", "provider"),
    [("gpt-5.6", "openai"), ("claude-opus-5-5", "anthropic"), ("gemini-3.5-flash", "gemini"), ("deepseek-v4-pro", "deepseek")],
)  # fmt: skip
def test_a_bare_name_belongs_to_its_maker(client, name, provider):
    answer = client.ask(name, "What is 15 * 23?")
    assert provider == answer.provider
    assert "345" in answer.text


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("claud-opus-5-5", "anthropic/claude-opus-5-5"),
        ("antropic/claude-opus-5-5", "anthropic/claude-opus-5-5"),
        ("gpt-5.66", "openai/gpt-5.6"),
        ("googel/gemini-3.5-flash", "gemini/gemini-3.5-flash"),
    ],
)
def test_a_misspelled_name_is_answered_with_what_may_be_meant(client, name, meant):
    with pytest.raises(iv.UsageError, match="did you mean") as raised:
        client.ask(name, "hi")
    assert repr(meant) in str(raised.value)
    assert f"mean {name!r}" not in str(raised.value)


def test_a_name_of_many_hosts_is_answered_with_some(client):
    with pytest.raises(iv.UsageError, match="several providers have 'gpt-oss-120b'") as raised:
        client.ask("gpt-oss-120b", "hi")
    assert "groq/gpt-oss-120b" in str(raised.value)


MESSAGES = {
    "chat": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 15 * 23?"}],
    "anthropic": [{"role": "user", "content": [{"type": "text", "text": "What is 15 * 23?"}]}],
    "gemini": [{"role": "user", "parts": [{"text": "What is 15 * 23?"}]}],
    "responses": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is 15 * 23?"}]}],
}  # fmt: skip


@pytest.mark.parametrize("model", ["openai/gpt-5.6", "anthropic/claude-opus-5-5", "gemini/gemini-3.5-flash"])  # fmt: skip
@pytest.mark.parametrize("api", MESSAGES)
def test_dicts_of_any_api_are_messages(client, api, model):
    assert "345" in client.ask(model, MESSAGES[api]).text
    with client.stream(model, MESSAGES[api]) as events:
        assert "345" in iv.fold(list(events)).text


@pytest.mark.parametrize(
    "messages", [[{"rol": "user"}], [{"role": "user", "content": "a"}, "b"], {"role": "user"}, 3]
)
def test_other_messages_are_refused_with_what_is_expected(client, messages):
    with pytest.raises(iv.UsageError, match="messages"):
        client.ask("openai/gpt-5.6", messages)


def test_a_refused_connection_names_the_server():
    with (
        iv.Client(base_url="http://127.0.0.1:9/v1", retries=0) as client,
        pytest.raises(iv.ConnectionFailedError) as raised,
    ):
        client.ask("vllm/model", "hi")
    assert "connection to http://127.0.0.1:9 failed" in str(raised.value)
