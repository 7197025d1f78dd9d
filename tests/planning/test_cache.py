"""What a prompt cache keeps of the request before."""

import json

import pytest

import innervoice as iv
from planning.turns import claude, loop, talk, turn


class TestCache:
    def test_what_holds(self):
        history = loop(turn("anthropic"))
        model = "anthropic/claude-opus-4-6"
        first = iv.plan(history, model)
        more = iv.plan([*history, iv.user("more")], model, last=first)
        assert more.cache.message is None
        edited = iv.plan([iv.user("Edited"), *history[1:]], model, last=first)
        assert (0, "it was edited") == (edited.cache.message, edited.cache.why)
        told = iv.plan(history, model, last=first, system="New.")
        assert "the system prompt changed" == told.cache.why
        elsewhere = iv.plan(history, "openai/gpt-5.6", last=first)
        assert "another model" in elsewhere.cache.why
        assert "cache" in str(edited)

    def test_reasoning_that_is_no_longer_sent(self):
        history = [*loop(turn("anthropic")), iv.user("more")]
        model = "anthropic/claude-opus-4-6"
        first = iv.plan(history, model)
        off = iv.plan(history, model, last=first, reasoning="none")
        assert (0, 0) == (off.cache.message, off.cache.byte)
        assert "the reasoning setting changed from default to off" in off.cache.why
        assert "message 1: its reasoning: thinking is off" in off.cache.why


OPUS = "anthropic/claude-opus-4-6"
FIRST = [iv.user("x"), iv.assistant("A"), iv.user("y")]


def effect(before, after, target=OPUS, **settings):
    first = iv.plan(before, target)
    return iv.plan(after, target, last=first, **settings).cache


def test_new_messages_keep_all():
    more = effect(FIRST, [*FIRST, iv.assistant("B"), iv.user("z")])
    assert (None, None) == (more.message, more.byte)
    assert "2" in more.why
    assert effect(FIRST, FIRST).message is None


def test_the_first_that_differs():
    """The byte is that of the messages as the target's wire has them."""
    edited = effect(FIRST, [*FIRST[:2], iv.user("z")])
    assert 2 == edited.message
    bodies = [iv.encode(iv.Request(OPUS, history)).body["messages"] for history in (FIRST, [*FIRST[:2], iv.user("z")])]  # fmt: skip
    one, other = (json.dumps(body, separators=(",", ":")) for body in bodies)
    assert edited.byte == next(at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])  # fmt: skip
    assert (0, 1) == (effect(FIRST, [iv.user("w"), *FIRST[1:]]).message, effect(FIRST, [FIRST[0], iv.assistant("C"), FIRST[2]]).message)  # fmt: skip


def test_messages_that_were_removed():
    removed = effect(FIRST, FIRST[:1])
    assert 1 == removed.message
    assert removed.byte > 0
    assert "removed" in removed.why


def test_a_message_of_another_role():
    other = effect(FIRST, [FIRST[0], iv.user("A"), FIRST[2]])
    assert 1 == other.message
    assert "user" in other.why
    assert "assistant" in other.why


def test_reasoning_that_went_and_why():
    history = talk(claude(scope="theirs"), iv.Text("A"))
    gone = effect(history, history, scope="ours")
    assert 1 == gone.message
    assert "theirs" in gone.why
    assert "H2" in gone.why
    changed = effect(history, talk(claude(text="S", scope="theirs"), iv.Text("A")))
    assert (1, True) == (changed.message, "reasoning" in changed.why)
    assert "H" not in changed.why


def test_tools_system_model_and_setting():
    for settings, word in (
        ({"tools": [iv.Tool("f")]}, "the tools"),
        ({"system": "S"}, "the system prompt"),
        ({"reasoning": "high"}, "high"),
    ):
        changed = effect(FIRST, [*FIRST, iv.assistant("B"), iv.user("z")], **settings)
        assert (0, 0) == (changed.message, changed.byte)
        assert word in changed.why
        assert ";" not in changed.why
    first = iv.plan(FIRST, OPUS)
    other = iv.plan(FIRST, "anthropic/claude-opus-5-5", last=first).cache
    assert (0, 0) == (other.message, other.byte)
    assert OPUS in other.why
    assert "claude-opus-5-5" in other.why
    both = effect(FIRST, [iv.user("w"), *FIRST[1:]], reasoning="high")
    assert "message 0" in both.why


def test_in_words():
    whole, part = str(effect(FIRST, FIRST)), effect(FIRST, [*FIRST[:2], iv.user("z")])
    assert "message" not in whole.split(":", maxsplit=1)[0]
    assert f"message 2, byte {part.byte}: " in str(part)
    assert "byte" not in str(part.replace(byte=None))


@pytest.mark.parametrize(
    "target",
    ["openai/gpt-5.6", "gemini/gemini-3-flash-preview", "bedrock/us.anthropic.claude-sonnet-4-5-v1:0", "ollama/qwen3"],
)  # fmt: skip
def test_every_dialect(target):
    edited = effect(FIRST, [*FIRST[:2], iv.user("z")], target)
    assert 2 == edited.message
    assert edited.byte > 10


def test_what_cannot_be_written_has_no_byte():
    """Ollama accepts text and images alone; the message that differs is known all the same."""
    block = iv.Message("user", (iv.Opaque({"type": "document"}),))
    edited = effect(FIRST, [*FIRST[:2], block], "ollama/qwen3")
    assert (2, None) == (edited.message, edited.byte)
