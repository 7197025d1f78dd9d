import pytest

import innervoice as iv
from innervoice.canon.notes import SENTENCES, Notebook
from innervoice.canon.words import finish_reason_of, role_of

SEAL = "EqQBCkYIBRgCKkD0c2VjcmV0"


@pytest.mark.parametrize(
    "value",
    [
        iv.Thinking(
            "a",
            origin=iv.Origin(provider="anthropic", block={"signature": SEAL}, seals=("signature",)),
        ),
        iv.Thinking("", "hidden", origin=iv.Origin(item=SEAL)),
        iv.Opaque({"encrypted_content": SEAL}),
        iv.Opaque(SEAL),
        iv.Media("image/png", SEAL),
        iv.Failure(message="no", raw={"echo": SEAL}),
    ],
)
def test_repr_shows_no_seal(value):
    """I11, alone and inside everything that holds it."""
    holders = [value, [value]]
    if not isinstance(value, iv.Failure):
        message = iv.Message("assistant", (value,))
        holders += [
            message,
            iv.PartEnd(0, value),
            iv.Recast(0, (value,)),
            iv.Response(parts=(value,)),
        ]
    else:
        holders.append(iv.Response(error=value))

    for holder in holders:
        assert SEAL not in repr(holder)
        assert SEAL not in str(holder)


def test_repr_shows_the_rest():
    assert "Text(text='a')" == repr(iv.Text("a"))
    assert "Thinking(text='a', complete=False)" == repr(iv.Thinking("a", complete=False))


def test_values_are_frozen_and_equal_by_content():
    assert iv.Text("a") == iv.Text("a")
    assert iv.Text("a") != iv.Thinking("a")
    with pytest.raises(AttributeError):
        iv.Text("a").text = "b"


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (iv.Text(""), "text"),
        (iv.Thinking(), "thinking"),
        (iv.ToolCall("1", "f"), "tool_call"),
        (iv.ToolResult("1"), "tool_result"),
        (iv.Media(), "media"),
        (iv.Opaque(None), "opaque"),
    ],
)
def test_parts_name_their_type(part, kind):
    assert kind == part.type


@pytest.mark.parametrize(
    "wrong",
    [{"effort": "lots"}, {"budget": -1}, {"budget": 1.5}, {"budget": True}, {"show": "some"}],
)
def test_reasoning_refuses_what_it_cannot_mean(wrong):
    with pytest.raises(iv.UsageError, match=next(iter(wrong))):
        iv.Reasoning(**wrong)


def test_absent_is_not_off():
    assert iv.Reasoning() != iv.Reasoning("none")


def test_usage_adds_up_or_is_unknown():
    assert 5 == iv.Usage(input_tokens=2, output_tokens=3).total_tokens
    assert None is iv.Usage(input_tokens=2).total_tokens
    assert None is iv.Usage().reasoning_tokens


def test_every_note_has_its_sentence():
    for code, sentence in SENTENCES.items():
        assert sentence.endswith(".")
        assert sentence == iv.Note(code).sentence


def test_equal_notes_are_counted():
    notebook = Notebook()
    for _ in range(3):
        notebook.add("closer_removed")
    notebook.add("unknown_model", "x")

    assert (iv.Note("closer_removed", count=3), iv.Note("unknown_model", "x")) == notebook.notes()
    assert "[3 times]" in str(notebook.notes()[0])
    with pytest.raises(KeyError):
        notebook.add("no_such_code")


def test_usage_adds_up():
    """Number by number; what nobody reported stays unknown, and what a provider reported of one response is not of the sum."""
    one = iv.Usage(input_tokens=1, output_tokens=2, raw={"input": 1})
    other = iv.Usage(input_tokens=10, reasoning_tokens=5)

    assert one + other == iv.Usage(input_tokens=11, output_tokens=2, reasoning_tokens=5)
    assert sum([one, one], iv.Usage()) == iv.Usage(input_tokens=2, output_tokens=4)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("stop", "STOP", "end_turn", "COMPLETE", "eos_token", "Stop"), "stop"),
        (("length", "Length", "max_output_tokens", "model_length", "MAX_TOKENS", "max-tokens"), "length"),
        (("tool_calls", "tool-calls", "tool_use", "TOOL_CALL", "requires_action"), "tool_calls"),
        (("content-filter", "SAFETY", "guardrail_intervened"), "content_filter"),
        (("pause_turn", "CONTINUATION"), "pause"),
        (("MALFORMED_FUNCTION_CALL", "error"), "error"),
        (("nothing known", "", None, 3), None),
    ],
)  # fmt: skip
def test_one_list_of_finish_words(words, reason):
    assert {reason} == {finish_reason_of(word) for word in words}


def test_one_list_of_roles():
    assert ["user", "assistant", "tool", "system", None] == [
        role_of(word) for word in ("Human", "gpt", "observation", "developer", "narrator")
    ]
