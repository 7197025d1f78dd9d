"""Counting tokens: the formula with a stub, marked estimates, and exact counts if the vocabulary is available."""

import os
from pathlib import Path

import pytest

from bridges.litellm.talk import real_litellm
from innervoice.bridges import litellm
from innervoice.bridges.litellm import tokens

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"city": "Paris"}'}}
MESSAGES = [
    {"role": "system", "content": "You are brief."},
    {"role": "user", "content": "What's the weather in Zürich, 3.5 °C?", "name": "bob"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "sunny"},
    {"role": "user", "content": [{"type": "text", "text": "Thanks!"}]},
]


class Stub:
    """A tokenizer whose every character is a token."""

    def encode(self, text):
        return list(text)


def counted(**asked):
    return litellm.token_counter(model="gpt-4o", custom_tokenizer={"tokenizer": Stub()}, **asked)


@pytest.fixture
def no_vocabulary(monkeypatch):
    """tiktoken may be installed, but without a cached vocabulary."""
    monkeypatch.setattr(tokens, "_is_at_hand", lambda name: False)
    tokens._loaded.cache_clear()
    yield
    tokens._loaded.cache_clear()


def test_a_message():
    """3 + "user" + "hi" + 3."""
    assert 3 + 4 + 2 + 3 == counted(messages=[{"role": "user", "content": "hi"}])


def test_a_name():
    """One more than its characters."""
    assert 3 + 4 + 2 + 3 + 1 + 3 == counted(
        messages=[{"role": "user", "content": "hi", "name": "bob"}]
    )


def test_calls_and_reasoning():
    """A call's arguments count, and reasoning that is sent back; seals do not."""
    plain = {"role": "assistant", "content": "hi"}
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "x" * 500}]
    fields = {"innervoice": {"type": "message"}}

    usual = counted(messages=[plain])
    assert usual + 17 == counted(messages=[{**plain, "tool_calls": [CALL]}])
    assert usual + 2 == counted(
        messages=[{**plain, "function_call": {"name": "f", "arguments": "{}"}}]
    )
    assert usual + 2 == counted(messages=[{**plain, "reasoning_content": "hm"}])
    assert usual == counted(
        messages=[{**plain, "thinking_blocks": blocks, "provider_specific_fields": fields}]
    )


def test_blocks():
    """Text, an image at low detail, and Anthropic's blocks."""
    blocks = [
        {"type": "text", "text": "abc"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "tool_use", "id": "t", "name": "f", "input": {}},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "abcd"}]},
        {"type": "thinking", "thinking": "ab"},
        "ab",
        {"type": "unheard_of"},
    ]
    usual = counted(messages=[{"role": "user", "content": []}])

    assert usual + 3 + 85 + 2 + 4 + 2 + 2 == counted(messages=[{"role": "user", "content": blocks}])


def test_texts_are_one():
    """A list of texts is counted joined, as litellm does."""
    assert 5 == counted(text=["abc", "de"])


def test_objects_count_as_their_dicts():
    message = litellm.Message("hi", tool_calls=[CALL])
    assert counted(messages=[message]) == counted(messages=[message.model_dump()])


def test_a_stub_is_no_estimate():
    assert counted(text="abc").estimated is False


def test_an_estimate_says_so(no_vocabulary):
    """Without the vocabulary the number is an estimate, close to the real count."""
    found = litellm.token_counter(model="gpt-4o", messages=MESSAGES)

    assert found.estimated
    assert 40 <= found <= 75
    assert 2 == litellm.token_counter(model="gpt-4o", text="hello world")
    assert 0 == litellm.token_counter(model="gpt-4o", text="")
    with pytest.raises(NotImplementedError):
        litellm.encode(model="gpt-4o", text="a")


def test_nothing_is_fetched(monkeypatch, tmp_path):
    """Without the cached file tiktoken is not used."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert not tokens._is_at_hand("cl100k_base")


# ---- with the real vocabulary, which the real litellm brings -------------------------------------------


@pytest.fixture
def real(monkeypatch):
    """The real litellm, whose vocabulary we also use."""
    module = real_litellm()
    folder = Path(module.__file__).parent / "litellm_core_utils" / "tokenizers"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", os.environ.get("TIKTOKEN_CACHE_DIR", str(folder)))
    tokens._loaded.cache_clear()
    yield module
    tokens._loaded.cache_clear()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", ["gpt-4o", "gpt-3.5-turbo", "gemini/gemini-2.5-pro"])
def test_the_same_numbers(real, model):
    """With tiktoken's vocabulary the numbers equal litellm's."""
    pieces = [message["content"] for message in MESSAGES if isinstance(message["content"], str)]
    for text in (*pieces, "<think>naïve café</think> 東京 12345"):
        assert real.token_counter(model=model, text=text) == litellm.token_counter(
            model=model, text=text
        )
    assert real.token_counter(model=model, messages=MESSAGES) == litellm.token_counter(
        model=model, messages=MESSAGES
    )
    is_openai = model.startswith("gpt")
    assert is_openai is not litellm.token_counter(model=model, text="a").estimated
