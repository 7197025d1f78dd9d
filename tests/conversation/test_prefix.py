"""The digest of everything before a piece of reasoning: which system messages are in its head, and what it says of a change."""

import pytest

import innervoice as iv
from innervoice.conversation.prefix import Prefix, difference

TOOL = iv.Tool("read", "Reads.", {"type": "object"})


def prefix(messages, dialect="anthropic", **settings):
    request = iv.Request("anthropic/claude-opus-5-5", tuple(messages), **settings)
    value = Prefix(request, dialect)
    for message in request.messages:
        value.add(message, message.parts)
    return value.value


def test_it_counts_every_part():
    assert "2" == prefix([iv.user([iv.Text("a"), iv.Text("b")])]).split(".")[2]
    assert "0" == prefix([]).split(".")[2]


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
def test_a_leading_system_message_is_the_system_prompt(dialect):
    one = prefix([iv.system("Be brief."), iv.user("hi")], dialect)

    assert one == prefix([iv.user("hi")], dialect, system="Be brief.")
    assert "1" == one.split(".")[2]


def test_a_later_system_message_stays_in_its_place():
    messages = [iv.user("hi"), iv.system("Be brief."), iv.user("ho")]

    assert "3" == prefix(messages, "openai-chat").split(".")[2]
    assert "3" == prefix(messages, "anthropic").split(".")[2], "as text of the user's turn"


CHANGES = {
    "the system prompt changed": {"system": "Be long."},
    "the tools changed": {"tools": (TOOL, TOOL.replace(name="write"))},
    "the system prompt and the tools changed": {"system": None, "tools": ()},
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_changed_is_told(what):
    settings = {"system": "Be brief.", "tools": (TOOL,)}
    before = prefix([iv.user("hi")], **settings)

    assert what == difference(before, prefix([iv.user("hi")], **{**settings, **CHANGES[what]}))


def test_a_change_of_messages_is_told():
    before = prefix([iv.user("hi"), iv.user("ho")])

    assert "a message before it was edited" == difference(before, prefix([iv.user("hi"), iv.user("hm")]))  # fmt: skip
    assert "1 parts are before it, but there were 2 when it was generated" == difference(before, prefix([iv.user("hi")]))  # fmt: skip
    assert "something before it changed" == difference(before, "1.2")


def test_marks_of_the_cache_and_the_form_of_a_result_do_not_count():
    marked = TOOL.replace(members={"cache_control": {"type": "ephemeral"}})

    assert prefix([], tools=(TOOL,)) == prefix([], tools=(marked,))
    as_text, as_block = (iv.tool_result("a", content) for content in ("x", [iv.Text("x")]))
    assert prefix([as_text]) == prefix([as_block])
    assert prefix([as_text]) != prefix([iv.tool_result("a", "x", error=True)])


def test_a_copy_goes_on_by_itself():
    request = iv.Request("anthropic/claude-opus-5-5", (iv.user("hi"), iv.user("ho")))
    value = Prefix(request, "anthropic")
    value.add(request.messages[0], request.messages[0].parts)
    copy = value.copy()
    copy.add(request.messages[1], request.messages[1].parts)

    assert prefix(request.messages) == copy.value
    assert prefix(request.messages[:1]) == value.value
