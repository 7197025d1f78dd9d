"""A call that a model wrote into its reasoning: the note names it, its arguments and its place."""

import pytest

import innervoice as iv

FORMS = {
    "object": '{"name": "f", "arguments": {"x": [1, 2]}}',
    "text": '{"name": "f", "arguments": "{\\"x\\":[1,2]}"}',
    "parameters": '{"name": "f", "parameters": {"x": [1, 2]}}',
}


def told(text):
    return [note.detail for note in iv.split(text).notes if note.code == "call_candidate"]


@pytest.mark.parametrize("form", FORMS)
def test_json(form):
    """Arguments that are text are shown as they are, others as compact JSON.

    Seen failing: text written as JSON once more.
    """
    thought = f"So: <tool_call>{FORMS[form]}</tool_call>"

    assert ['f {"x":[1,2]} at character 4 of part 0'] == told(f"<think>{thought}</think>")


@pytest.mark.parametrize(
    ("call", "detail"),
    [
        ("<tool_call><function=f>\n<parameter=x>1</parameter></function></tool_call>", "f <parameter=x>1</parameter></function>"),
        ('<minimax:tool_call><invoke name="f">\n x </invoke></minimax:tool_call>', "f x </invoke>"),
        ("<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>", "f {}"),
        ("<tool_call>f\n<arg_key>x</arg_key></tool_call>", "f <arg_key>x</arg_key>"),
    ],
)  # fmt: skip
def test_other_forms(call, detail):
    """Seen failing: a character of the arguments skipped."""
    assert [f"{detail} at character 0 of part 0"] == told(f"<think>{call}</think>")


@pytest.mark.parametrize(
    "call", ['<tool_call>{"name": 1}</tool_call>', "<tool_call>{</tool_call>", "<tool_call>{}"]
)
def test_what_is_not_a_call(call):
    assert [] == told(f"<think>{call}</think>")


def test_at_most_eight():
    assert 8 == len(told(f"<think>{'<tool_call>f</tool_call>' * 9}</think>"))
