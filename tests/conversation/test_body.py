"""A body is split once: its members and items are there unread, and its digests see everything that matters and nothing that moves."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innervoice.conversation.body import SplitBody
from innervoice.wire.dialects import DIALECTS, dialect_named

MARK = {"cache_control": {"type": "ephemeral"}}
QUESTION = {"role": "user", "content": [{"type": "text", "text": "What is 1 + 1?"}]}
MARKED = {"role": "user", "content": [{"type": "text", "text": "What is 1 + 1?", **MARK}]}


def split(messages=(QUESTION,), dialect="anthropic", **members):
    history = dialect_named(dialect).history
    body = {"model": "some-model", **members, history: list(messages)}
    return SplitBody(json.dumps(body).encode(), dialect)


def billed(number):
    return [{"type": "text", "text": f"x-anthropic-billing-header: cch={number};"}]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_members_and_items_are_there_unread(dialect):
    body = split(dialect=dialect, stream=True)

    assert "some-model" == body.model
    assert [json.dumps(QUESTION)] == [bytes(item).decode() for item in body.items]
    assert (True, None) == (body.value("stream"), body.value("nothing"))
    assert body.is_listed


def test_the_path_may_have_the_model():
    assert "other" == SplitBody(b'{"contents":[]}', "gemini", "other").model
    assert "" == SplitBody(b'{"contents":[]}', "gemini").model


def test_a_conversation_may_be_a_text():
    body = SplitBody(b'{"model":"m","input":"[1] What is it?"}', "openai-responses")

    assert (False, [], {}, b"") == (body.is_listed, body.items, body.beginnings, body.opening)


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b'{"messages": [1', b'{"a": 1} 2'])
def test_anything_but_an_object_is_an_error(data):
    with pytest.raises(ValueError, match=r"."):
        SplitBody(data, "anthropic")


def test_settings_are_everything_but_the_conversation_and_the_model():
    one = split(max_tokens=10, tools=[{"name": "a"}])

    assert one.settings == split([MARKED, QUESTION], max_tokens=10, tools=[{"name": "a"}]).settings
    assert one.settings == split(max_tokens=10, tools=[{"name": "a"}], model="other").settings
    assert one.settings != split(max_tokens=11, tools=[{"name": "a"}]).settings
    assert one.settings != split(max_tokens=10).settings
    assert split(a="b").settings != split(ab="").settings


def test_what_moves_with_every_request_is_no_setting():
    one = split(tools=[{"name": "a", **MARK}], system=billed(1))

    assert one.settings == split(tools=[{"name": "a"}], system=billed(2)).settings


def test_some_settings_can_be_left_out():
    one, other = split(metadata={"a": 1}, top_p=1), split(metadata={"a": 2}, top_p=1)

    assert one.digest_without(("metadata",)) == other.digest_without(("metadata",))
    assert one.digest_without(()) == one.settings != other.settings
    assert one.digest_of(("metadata",)) != other.digest_of(("metadata",))
    assert one.digest_of(("nothing",)) == other.digest_of(("nothing", "neither"))


def test_a_beginning_is_the_same_without_what_follows_and_without_marks():
    answer = {"role": "assistant", "content": "2"}
    whole = split([QUESTION, answer, MARKED])

    assert [1, 2, 3] == list(whole.beginnings)
    assert whole.beginnings[1] == split([MARKED]).beginnings[1]
    assert whole.beginnings[2] == split([MARKED, answer]).beginnings[2]
    assert whole.opening == split([MARKED, answer]).opening == json.dumps(QUESTION).encode()
    assert 3 == len(set(whole.beginnings.values()))


@given(st.lists(st.text(), min_size=1, max_size=90), st.data())
def test_beginnings_of_any_conversation(texts, data):
    """The digest of the first items is that of a conversation of these alone, and of no other."""
    count = data.draw(st.integers(max(1, len(texts) - 63), len(texts)))
    items = [{"role": "user", "content": text} for text in texts]
    whole, part = split(items), split(items[:count])

    assert whole.beginnings[count] == part.beginnings[count]
    assert min(len(texts), 64) == len(whole.beginnings)
    edited = [*items[: count - 1], {"role": "user", "content": texts[count - 1] + "!"}]
    assert whole.beginnings[count] != split(edited).beginnings[count]


def test_one_item_is_not_two():
    one = SplitBody(b'{"model":"m","messages":[{"a":1},{"b":2}]}', "anthropic")
    other = SplitBody(b'{"model":"m","messages":[{"a":1,"b":2},{}]}', "anthropic")

    assert set(one.beginnings.values()).isdisjoint(other.beginnings.values())


def test_new_items_are_read_alone_and_once():
    body = split([QUESTION, {"role": "assistant", "content": "2"}, QUESTION], max_tokens=5)

    assert ["assistant", "user"] == [message.role for message in body.messages(1)]
    assert ["assistant"] == [message.role for message in body.messages(1, 2)]
    assert body.messages(1) is body.messages(1)


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name not in ("gemini-interactions", "bedrock-converse")])  # fmt: skip
def test_a_question_is_what_the_dialect_reads(dialect):
    """A text of the user takes a shorter way, and says the same. The other two dialects have no texts without a type."""
    item = {"role": "user", "parts" if dialect == "gemini" else "content": "Why?"}
    if dialect == "gemini":
        item["parts"] = [{"text": "Why?"}]
    body = split([item, item], dialect=dialect)

    assert body.question(0) == body.messages(0, 1)[0] == body.messages(1, 2)[0]
    assert (body.question(0), body.question(1)) == body.messages(0)
    assert ("user", "Why?") == (body.question(0).role, body.question(0).text)


@given(st.integers(1, 90), st.sets(st.integers(0, 89)))
def test_the_digest_of_a_beginning_is_the_same_from_near_and_far(count, marked):
    """The last ones are asked for alone, and are those of the whole conversation."""
    items = [{"role": "user", "content": [{"type": "text", "text": f"{number}", **(MARK if number in marked else {})}]} for number in range(count)]  # fmt: skip
    body = split(items)

    assert body.beginnings == {number: found for number in range(count + 1) if (found := body.beginning(number))}  # fmt: skip
