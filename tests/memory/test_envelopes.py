"""What clients carry for us opens for its owner alone, whole or not at all."""

import random
from base64 import b64decode, b64encode, urlsafe_b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Text, Thinking, ToolCall
from innervoice.memory.envelopes import (
    EnvelopeSealer,
    Handle,
    Summary,
    handles_of,
    is_envelope,
    part_of,
)
from innervoice.memory.records import TurnRecord
from innervoice.memory.restoring import TurnRestorer
from innervoice.memory.retention import without_summaries
from innervoice.memory.sealed_store import derived

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
def test_it_opens_in_the_alphabet_for_urls(part):
    """google-genai decodes a signature, and sends its bytes back in the other alphabet."""
    sealer = EnvelopeSealer(ONE)
    for _ in range(20):  # the nonce is random, and so are the characters
        envelope = sealer.seal(part, "me", "gemini")
        written = urlsafe_b64encode(b64decode(envelope)).decode()
        if written != envelope:
            break
    assert part == sealer.open(written, "me", "gemini", part.type)


@pytest.mark.parametrize("part", PARTS)
def test_there_and_back(part):
    sealer = EnvelopeSealer(ONE)
    envelope = sealer.seal(part, "me", "anthropic")
    assert is_envelope(envelope)
    assert b64encode(b64decode(envelope, validate=True)).decode() == envelope, "standard base64"
    assert sealer.open(envelope, "me", "anthropic", part.type) == part
    assert b"Hm." not in b64decode(envelope)


def test_it_opens_for_nobody_else():
    envelope = EnvelopeSealer(ONE).seal(PARTS[0], "me", "anthropic")
    assert EnvelopeSealer(ONE).open(envelope, "you", "anthropic", "thinking") is None
    assert EnvelopeSealer(ONE).open(envelope, "me", "gemini", "thinking") is None, "it was moved"
    assert EnvelopeSealer(OTHER).open(envelope, "me", "anthropic", "thinking") is None
    assert EnvelopeSealer(OTHER, ONE).open(envelope, "me", "anthropic", "thinking") == PARTS[0], (
        "an older key reads on"
    )


SUMMARY = Summary("cmp_1", "So it was.", 12, "anthropic/claude-opus-5-5")


def test_a_summary_opens_for_its_owner_in_its_place_alone():
    envelope = EnvelopeSealer(ONE).seal_summary(SUMMARY, "me", "openai-responses")
    assert is_envelope(envelope)
    assert SUMMARY == EnvelopeSealer(ONE).open_summary(envelope, "me", "openai-responses")
    assert SUMMARY == EnvelopeSealer(OTHER, ONE).open_summary(envelope, "me", "openai-responses")
    for sealer, place in ((ONE, ("you", "openai-responses")), (ONE, ("me", "anthropic")), (OTHER, ("me", "openai-responses"))):  # fmt: skip
        assert EnvelopeSealer(sealer).open_summary(envelope, *place) is None
    for kind in ("thinking", "text", "tool_call", "opaque", "compaction"):
        assert EnvelopeSealer(ONE).open(envelope, "me", "openai-responses", kind) is None
    for part in PARTS:
        other = EnvelopeSealer(ONE).seal(part, "me", "openai-responses")
        assert EnvelopeSealer(ONE).open_summary(other, "me", "openai-responses") is None


@given(st.text())
def test_any_other_text_is_no_summary(text):
    assert EnvelopeSealer(ONE).open_summary(text, "me", "openai-responses") is None


@settings(deadline=None)
@given(st.data())
def test_a_changed_one_does_not_open(data):
    sealer = EnvelopeSealer(ONE)
    envelope = sealer.seal(PARTS[0], "me", "anthropic")
    raw = bytearray(b64decode(envelope))
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))
    assert sealer.open(b64encode(bytes(raw)).decode(), "me", "anthropic", "thinking") is None


@given(st.text())
def test_anything_else_does_not_open(text):
    assert EnvelopeSealer(ONE).open(text, "me", "anthropic", "thinking") is None


NOISE = "".join(random.Random(1).choices("0123456789abcdef", k=400_000))
HUGE = Thinking(NOISE, origin=ORIGIN)


def test_in_place_of_a_huge_part_its_place_is_carried():
    sealer = EnvelopeSealer(ONE)
    envelope = sealer.seal(HUGE, "me", "anthropic")
    handle = sealer.open(envelope, "me", "anthropic", "thinking")
    assert len(envelope) < 200
    assert isinstance(handle, Handle)
    turn = iv.assistant([PARTS[0], HUGE, Text("Hello.")])
    assert [handle.key] == handles_of(turn, "me")
    assert HUGE == part_of(turn, handle, "me")
    assert part_of(turn, handle, "you") is None
    assert [] == handles_of(iv.assistant(PARTS), "me")


def test_where_nothing_is_stored_a_huge_part_is_carried_itself():
    sealer = EnvelopeSealer(ONE)
    envelope = sealer.seal(HUGE, "me", "anthropic", whole=True)
    assert HUGE == sealer.open(envelope, "me", "anthropic", "thinking")


def test_a_huge_part_is_found_by_what_is_kept_of_it():
    block = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": NOISE}  # fmt: skip
    origin = Origin(dialect="openai-responses", block=block, seals=("encrypted_content",))
    turn = iv.assistant([Thinking("Hm.", origin=origin), Text("Hello.")])
    (key,) = handles_of(turn, "me")
    less = without_summaries(turn)
    assert "Hm." not in repr(less.parts[0].origin.block)
    assert less.parts[0] == part_of(less, Handle(key), "me")


@pytest.mark.parametrize("slot", ["text", "tool_call"])
def test_one_that_was_moved_to_another_kind_of_part_does_not_open(slot):
    sealer = EnvelopeSealer(ONE)
    assert sealer.open(sealer.seal(PARTS[0], "me", "gemini"), "me", "gemini", slot) is None


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
    restorer = TurnRestorer(
        request, "me", ONE, lambda text, slot: sealer.open(text, "me", "anthropic", slot)
    )
    made, places = restorer.restored({})
    assert made.messages[1].parts == (PARTS[0], Text("Hello."))
    assert not places, "the client kept it"


def test_one_that_does_not_open_never_goes_on():
    message = carried(EnvelopeSealer(OTHER).seal(PARTS[0], "me", "anthropic"))
    request = iv.Request("anthropic/claude-opus-5-5", (iv.user("Hi."), message))
    restorer = TurnRestorer(
        request,
        "me",
        ONE,
        lambda text, slot: EnvelopeSealer(ONE).open(text, "me", "anthropic", slot),
    )
    made, _ = restorer.restored({})
    assert made.messages[1].parts == (Text("Hello."),)
    assert [note.code for note in restorer.notebook.notes()] == ["envelope_unreadable"]


def restored(message, found=None):
    request = iv.Request("deepseek/deepseek-v4-pro", (iv.user("Hi."), message))
    sealer = EnvelopeSealer(ONE)
    restorer = TurnRestorer(request, "me", ONE, lambda text, slot: sealer.open(text, "me", "anthropic", slot))  # fmt: skip
    made, _ = restorer.restored(found(restorer.wanted) if found else {})
    return made, restorer.carried, [note.code for note in restorer.notebook.notes()]


def test_a_huge_part_comes_back_from_the_record_of_its_turn():
    message = carried(EnvelopeSealer(ONE).seal(HUGE, "me", "anthropic"))
    turn = iv.assistant([HUGE, Text("Other words.")])
    record = TurnRecord(id="1", tenant="me", message=turn, created=0.0)

    def found(wanted):
        (key,) = handles_of(turn, "me")
        assert key in wanted
        return {key: [record]}

    made, opened, codes = restored(message, found)
    assert (HUGE, Text("Hello.")) == made.messages[1].parts
    assert [HUGE] == opened
    assert not codes


def test_a_huge_part_whose_record_is_gone_is_left_out_and_said():
    made, _, codes = restored(carried(EnvelopeSealer(ONE).seal(HUGE, "me", "anthropic")))
    assert (Text("Hello."),) == made.messages[1].parts
    assert ["envelope_unreadable"] == codes


def call_with(envelope, arguments):
    block = {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": envelope}
    origin = Origin(dialect="gemini", block=block, seals=("thoughtSignature",))
    return iv.Message("assistant", (ToolCall("call_1", "read", arguments, origin=origin),))


@pytest.mark.parametrize(("arguments", "is_used"), [("{}", True), ('{"path": "b"}', False)])
def test_who_edits_a_call_means_the_edit(arguments, is_used):
    envelope = EnvelopeSealer(ONE).seal(PARTS[2], "me", "anthropic")
    made, _, codes = restored(call_with(envelope, arguments))
    (call,) = made.messages[1].tool_calls
    assert ("call_1", arguments) == (call.id, call.arguments)
    assert is_used == (call.origin == ORIGIN)
    assert codes == ([] if is_used else ["envelope_outdated"])
    assert "aXYB" not in repr(call.origin.block)


def test_a_call_beside_an_envelope_that_does_not_open_stays():
    made, _, codes = restored(
        call_with(EnvelopeSealer(OTHER).seal(PARTS[2], "me", "anthropic"), "{}")
    )
    (call,) = made.messages[1].tool_calls
    assert ("call_1", None) == (call.id, call.origin.block)
    assert ["envelope_unreadable"] == codes


def test_after_a_rotation_what_was_stored_before_is_found():
    turn = iv.assistant([PARTS[0], Text("Hello.")])
    asked = iv.Request("deepseek/deepseek-v4-pro", (iv.user("Hi."),))
    record, keys = TurnRestorer(asked, "me", ONE).record(turn)
    again = asked.replace(messages=(iv.user("Hi."), iv.assistant("Hello."), iv.user("And?")))

    def found(secret, *older):
        restorer = TurnRestorer(again, "me", secret, older=older)
        return restorer.restored({key: [record] for key in keys if key in restorer.wanted})

    assert turn == found(OTHER, b"3" * 32, ONE).request.messages[1]
    assert turn != found(OTHER).request.messages[1]
