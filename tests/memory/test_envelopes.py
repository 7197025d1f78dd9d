"""What clients carry for us opens for its owner alone, whole or not at all."""

from base64 import b64decode, b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Text, Thinking, ToolCall
from innervoice.memory.envelopes import EnvelopeSealer, derived, is_envelope
from innervoice.memory.restoring import TurnRestorer

ONE, OTHER = b"1" * 32, b"2" * 32
ORIGIN = Origin(
    provider="deepseek",
    model="deepseek-v4-pro",
    dialect="openai-chat",
    block={"reasoning_content": "Hm."},
)
PARTS = [
    Thinking("Hm.", origin=ORIGIN),
    Text("Hello."),
    ToolCall("call_1", "read", "{}", origin=ORIGIN),
]


@pytest.mark.parametrize("part", PARTS)
def test_there_and_back(part):
    sealer = EnvelopeSealer(ONE)
    envelope = sealer.seal(part, "me", "anthropic")
    assert is_envelope(envelope)
    assert b64encode(b64decode(envelope, validate=True)).decode() == envelope, "standard base64"
    assert sealer.open(envelope, "me", "anthropic") == part
    assert b"Hm." not in b64decode(envelope)


def test_it_opens_for_nobody_else():
    envelope = EnvelopeSealer(ONE).seal(PARTS[0], "me", "anthropic")
    assert EnvelopeSealer(ONE).open(envelope, "you", "anthropic") is None
    assert EnvelopeSealer(ONE).open(envelope, "me", "gemini") is None, "it was moved"
    assert EnvelopeSealer(OTHER).open(envelope, "me", "anthropic") is None
    assert EnvelopeSealer(OTHER, ONE).open(envelope, "me", "anthropic") == PARTS[0], (
        "an older key reads on"
    )


@settings(deadline=None)
@given(st.data())
def test_a_changed_one_does_not_open(data):
    sealer = EnvelopeSealer(ONE)
    envelope = sealer.seal(PARTS[0], "me", "anthropic")
    raw = bytearray(b64decode(envelope))
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))
    assert sealer.open(b64encode(bytes(raw)).decode(), "me", "anthropic") is None


@given(st.text())
def test_anything_else_does_not_open(text):
    assert EnvelopeSealer(ONE).open(text, "me", "anthropic") is None


def test_a_huge_part_is_not_carried():
    import random

    noise = Thinking("".join(random.Random(1).choices("0123456789abcdef", k=400_000)))
    assert EnvelopeSealer(ONE).seal(noise, "me", "anthropic") is None


def test_a_key_for_each_purpose():
    keys = {derived(ONE, purpose) for purpose in ("envelopes", "look-up", "store")}
    assert len(keys) == 3
    assert ONE not in keys


def carried(envelope):
    block = {"type": "thinking", "thinking": "Hm.", "signature": envelope}
    origin = Origin(dialect="anthropic", block=block, seals=("signature",))
    return iv.Message("assistant", (Thinking("Hm.", origin=origin), Text("Hello.")))


def test_a_carried_part_comes_back_without_a_store():
    sealer = EnvelopeSealer(ONE)
    message = carried(sealer.seal(PARTS[0], "me", "anthropic"))
    request = iv.Request("deepseek/deepseek-v4-pro", (iv.user("Hi."), message))
    restorer = TurnRestorer(request, "me", ONE, lambda text: sealer.open(text, "me", "anthropic"))
    made, places = restorer.restored({})
    assert made.messages[1].parts == (PARTS[0], Text("Hello."))
    assert not places, "the client kept it"


def test_one_that_does_not_open_never_goes_on():
    message = carried(EnvelopeSealer(OTHER).seal(PARTS[0], "me", "anthropic"))
    request = iv.Request("anthropic/claude-opus-5-5", (iv.user("Hi."), message))
    restorer = TurnRestorer(
        request, "me", ONE, lambda text: EnvelopeSealer(ONE).open(text, "me", "anthropic")
    )
    made, _ = restorer.restored({})
    assert made.messages[1].parts == (Text("Hello."),)
    assert [note.code for note in restorer.notebook.notes()] == ["envelope_unreadable"]
