"""H8: what is sent after a refusal."""

import pytest

import innervoice as iv
from innervoice.planning.recover import recover
from planning.turns import claude, loop, talk, thought, turn


class TestRecover:
    def request(self, **more):
        return iv.Request(
            "anthropic/claude-opus-4-6",
            [*loop(turn("anthropic")), iv.user("a"), turn("anthropic"), iv.user("b")],
            max_tokens=9,
            **more,
        )

    def recovered(self, request, refusal):
        return recover(request, refusal)

    def thinking_in(self, request):
        return [
            sum(part.type == "thinking" for part in message.parts)
            for message in request.messages
            if message.role == "assistant"
        ]

    @pytest.mark.parametrize(
        ("refusal", "left"),
        [
            ("messages.3.content.0: Invalid `signature` in `thinking` block", [3, 0]),
            ("messages.1.content.0: Invalid `signature` in `thinking` block", [0, 3]),
            (
                "messages.1.content.0: Invalid `signature` ... The block is bound to a different conversation.",
                [0, 0],
            ),
            ("The encrypted content for item rs_1 could not be verified.", [0, 0]),
        ],
    )
    def test_smallest_removal(self, refusal, left):
        assert left == self.thinking_in(self.recovered(self.request(), refusal))

    @pytest.mark.parametrize(
        "refusal",
        [
            "`thinking` blocks in the latest assistant message cannot be modified",
            "max_tokens: Field required",
            "",
        ],
    )
    def test_nothing_to_do(self, refusal):
        assert None is self.recovered(self.request(), refusal)

    def test_once_and_not_in_strict(self):
        refusal = "messages.1.content.0: Invalid `signature` in `thinking` block"
        once = self.recovered(self.request(), refusal)
        assert None is self.recovered(once, refusal)
        assert None is self.recovered(self.request(mode="strict"), refusal)


def test_a_refusal_names_turns_as_the_wire_has_them():
    """A turn that was never sent does not count."""
    signed = turn("anthropic")
    lost = iv.Message("assistant", (iv.Thinking("cut", complete=False),))
    history = [iv.user("a"), lost, iv.user("b"), signed, *(iv.tool_result(c.id, "1") for c in signed.tool_calls)]  # fmt: skip
    request = iv.Request("anthropic/claude-opus-4-6", history)
    refusal = "messages.1.content.0: Invalid `signature` in `thinking` block"
    reduced = recover(request, refusal)
    assert reduced.messages[1] == lost
    assert not any(isinstance(part, iv.Thinking) for part in reduced.messages[3].parts)


OPUS = "anthropic/claude-opus-4-6"
SIGNATURE = "messages.{}.content.0: Invalid `signature` in `thinking` block"


def left(history, refusal, target=OPUS, **settings):
    """How many pieces of reasoning each turn of the model still has; None if nothing is to be done."""
    made = recover(iv.Request(target, history, **settings), refusal)
    if made is None:
        return None
    turns = [message for message in made.messages if message.role == "assistant"]
    return [sum(isinstance(part, iv.Thinking) for part in turn.parts) for turn in turns]


@pytest.mark.parametrize(
    "words",
    [
        "Invalid `signature` in `thinking` block",
        "Invalid signature in thinking block",
        "signature: Field required",
        "invalid_encrypted_content",
        "could not be verified",
        "Could not decrypt the provided encrypted_content",
        "Could not decode the compaction blob",
        "missing recognized prefix",
        "Corrupted thought signature",
        "bound to a different conversation",
    ],
)
def test_every_refusal_of_reasoning(words):
    history = [*talk(claude(), iv.Text("A")), *talk(claude(), iv.Text("B"))[1:]]
    assert [0, 0] == left(history, words)
    assert left(history, f"{words}; it cannot be modified") is None
    assert left(history, words, mode="strict") is None


def test_the_block_that_is_named():
    history = [*talk(claude(text="1"), iv.Text("A")), *talk(claude(text="2"), iv.Text("B"))[1:], *talk(claude(text="3"), iv.Text("C"))[1:]]  # fmt: skip
    assert [0, 1, 1] == left(history, SIGNATURE.format(1))
    assert [1, 0, 1] == left(history, SIGNATURE.format(3))
    assert [1, 1, 0] == left(history, SIGNATURE.format(5))
    assert [1, 0, 0] == left(history, "messages.3.content.0: bound to a different conversation")
    assert left(history, SIGNATURE.format(2)) is None
    assert left(history, SIGNATURE.format(9)) is None


def test_turns_that_are_one_message_of_the_body():
    """Two turns of the model that follow each other are joined there."""
    one, two = (iv.Message("assistant", (claude(text=text), iv.Text("A"))) for text in "12")
    history = [iv.user("x"), one, two, iv.user("y"), *talk(claude(text="3"), iv.Text("C"))[1:]]
    assert [0, 0, 1] == left(history, SIGNATURE.format(1))
    assert [1, 1, 0] == left(history, SIGNATURE.format(3))


def test_equal_thoughts_in_two_turns():
    history = [*talk(claude(), iv.Text("A")), *talk(claude(), iv.Text("B"))[1:]]
    assert [1, 0] == left(history, SIGNATURE.format(3))


def test_nothing_but_reasoning_goes():
    history = talk(claude(), iv.Text("A"))
    made = recover(iv.Request(OPUS, history, system="S"), SIGNATURE.format(1))
    assert (iv.Text("A"),) == made.messages[1].parts
    assert (history[0], history[2], "S") == (made.messages[0], made.messages[2], made.system)


def test_without_reasoning_there_is_nothing_to_do():
    assert left(talk(iv.Text("A")), "invalid_encrypted_content") is None


def test_refusals_of_other_dialects():
    block = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}
    part = thought("openai", "gpt-5.6", "openai-responses", block)
    history = talk(part, iv.Text("A"))
    assert [0] == left(history, "The encrypted content could not be verified.", "openai/gpt-5.6")
