"""What is kept of a turn where summaries are not: all that its provider wants back."""

import innervoice as iv
from conformance.test_written_answers import events_of, exchanges
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Text, Thinking
from innervoice.conversation.turns import seals_of
from innervoice.memory.retention import says_more, without_summaries
from shared import needs_shared


def seals(message):
    return [seal for part in message.parts for seal in seals_of(part)]


@needs_shared
def test_no_seal_of_a_recorded_answer_is_lost_and_words_stay():
    reduced = 0
    for name, exchange in exchanges():
        message = events_of(exchange)[-1].response.message
        if not any(map(says_more, message.parts)):
            continue
        kept = without_summaries(message)
        if kept is None:
            assert exchange["dialect"] == "gemini", name
            continue
        assert seals(kept) == seals(message), name
        assert (kept.text, kept.tool_calls) == (message.text, message.tool_calls), name
        reduced += kept != message
        if exchange["dialect"] not in ("gemini", "openai-responses"):
            assert kept == message, name
    assert reduced > 10


@needs_shared
def test_what_is_kept_goes_back_with_the_same_seals():
    for name, exchange in exchanges():
        message = events_of(exchange)[-1].response.message
        kept = without_summaries(message) if seals(message) else None
        model = f"{exchange['provider'].split('/')[-1]}/{exchange['model']}"
        if kept is None or kept == message or exchange["dialect"] != "openai-responses":
            continue
        sent = [
            iv.encode(iv.Request(model, (iv.user("?"), turn, iv.user("!")), dialect="openai-responses"))
            for turn in (message, kept)
        ]  # fmt: skip
        whole, less = ([_sealed(item) for item in one.body["input"] if item.get("type") == "reasoning"] for one in sent)  # fmt: skip
        assert whole == less, name


def _sealed(item):
    return item.get("id"), item.get("encrypted_content")


def test_a_summary_without_a_seal_is_not_worth_a_record():
    origin = Origin(provider="gemini", dialect="gemini", block={"text": "Hm.", "thought": True})
    assert without_summaries(iv.assistant([Thinking("Hm.", origin=origin), Text("Yes.")])) is None


def test_signed_text_and_reasoning_in_words_stay():
    signed = Origin(dialect="anthropic", block={"type": "thinking", "thinking": "a", "signature": "s"}, seals=("signature",))  # fmt: skip
    turn = iv.assistant([
        Thinking("a", origin=signed),
        Thinking("b", origin=Origin(dialect="openai-chat", provider="deepseek")),
        Thinking("c"),
        Text("Yes."),
    ])  # fmt: skip
    assert without_summaries(turn) == turn
