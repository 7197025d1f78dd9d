"""Any file is opened without a hint, by the reader of its format; what is none says what it is, and never what is in it."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.errors import DecodeError
from innervoice.sources.opening import READERS, _readers, open_source
from innervoice.sources.reader import Data, first_values
from sources.samples import SAMPLES

ALL = [(kind, name) for kind, files in SAMPLES.items() for name in files]
IDS = [f"{kind}: {name}" for kind, name in ALL]


@pytest.mark.parametrize(("kind", "name"), ALL, ids=IDS)
def test_every_sample_has_one_reader(kind, name):
    """No other reader takes it, whatever the order is in which they are asked."""
    content = SAMPLES[kind][name]
    asked = [reader.kind for reader in _readers() if reader.recognizes(Data(content=content), content[:65_536])]  # fmt: skip

    assert [kind] == asked


def test_every_reader_has_samples():
    assert SAMPLES.keys() <= {reader.kind for reader in READERS}


@pytest.mark.parametrize(("kind", "name"), ALL, ids=IDS)
def test_files_and_bytes_are_the_same(kind, name, tmp_path):
    """Conversations have ids of their own, and are the same when the file is opened again."""
    content = SAMPLES[kind][name]
    file = tmp_path / "file"
    file.write_bytes(content)
    of_bytes, of_file = open_source(content), open_source(file)

    assert kind == of_bytes.kind == of_file.kind
    assert len(content) == of_file.size
    assert [] == of_file.troubles
    found = list(of_file.conversations())
    assert list(of_bytes.conversations()) == found
    assert [entry.id for entry in of_file.entries] == [one.id for one in found]
    assert len(found) == len({one.id for one in found})
    for one in found:
        assert one.turns
        assert of_file.conversation(one.id) == one
        for turn in one.turns:
            assert turn.answer is None or turn.answer.parts == turn.message.parts


@pytest.mark.parametrize(("kind", "name"), ALL, ids=IDS)
def test_a_file_that_is_still_written(kind, name):
    """Cut at any byte, it gives conversations or says that it cannot be read; nothing else is raised."""
    content = SAMPLES[kind][name]
    cuts = range(0, len(content), max(1, len(content) // 100))
    for end in cuts:
        with suppress(DecodeError):
            list(open_source(content[:end]).conversations())
    assert end < len(content)


@settings(deadline=None)
@given(st.data())
def test_damaged_files(data):
    """Bytes that were changed, lost or added anywhere: only a DecodeError."""
    kind, name = data.draw(st.sampled_from(ALL))
    content = bytearray(SAMPLES[kind][name])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, max(0, len(content) - 1)))
        end = at + data.draw(st.integers(0, 20))
        content[at:end] = data.draw(st.binary(max_size=5) | st.sampled_from([b"null", b"[", b"{}", b'"', b"3", b"\n"]))  # fmt: skip
    with suppress(DecodeError):
        list(open_source(bytes(content)).conversations())


def replaced(value, path, odd):
    if not path:
        return odd
    head, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[head] = replaced(copy[head], rest, odd)
    return copy


def paths_of(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()  # fmt: skip
    for key, item in items:
        yield (*path, key)
        yield from paths_of(item, (*path, key))


ODD = [None, 3, "x", [], {}, [None], {"a": [1]}, True, -1.5]


def test_a_turn_of_an_api_that_nobody_knows():
    """A saved conversation may say anything of where its parts came from."""
    part = iv.Text("Yes.", origin=iv.Origin(dialect="x"))
    saved = iv.to_json([iv.user("Well?"), iv.Message("assistant", (part,))])
    (conversation,) = open_source(saved).conversations()
    assert "Yes." == conversation.turns[-1].message.text


@settings(deadline=None)
@given(st.data())
def test_values_of_other_types(data):
    """Any member of any line may have another type than its program writes."""
    kind, name = data.draw(st.sampled_from([(kind, name) for kind, name in ALL if "streamed" not in name]))  # fmt: skip
    content = SAMPLES[kind][name].strip()
    try:
        values = [json.loads(content)]
    except ValueError:
        values = [json.loads(line) for line in content.splitlines()]
    at = data.draw(st.integers(0, len(values) - 1))
    path = data.draw(st.sampled_from([*paths_of(values[at])] or [()]))
    values[at] = replaced(values[at], path, data.draw(st.sampled_from(ODD)))
    with suppress(DecodeError):
        list(open_source("\n".join(map(json.dumps, values)).encode()).conversations())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "an empty file"),
        (b" \n", "only white space"),
        (b"<html>sk-secret", "HTML or XML"),
        (b"sk-secret", "plain text"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe", "binary data"),
        (b"{}", "an empty JSON object"),
        (b"[]", "an empty JSON list"),
        (b'{"a": "sk-secret"}', "JSON of something else: it has 'a'"),
        (b'[{"x": "sk-secret"}]', "a JSON list of something else; its first item: it has 'x'"),
        (b"{sk-secret", "damaged JSON"),
    ],
)
def test_what_is_no_source(content, said):
    with pytest.raises(DecodeError) as raised:
        open_source(content)

    assert str(raised.value).endswith(f"received {said}")
    assert "expected a session" in str(raised.value)
    assert "sk-secret" not in str(raised.value)


@pytest.mark.parametrize("content", [b"[" * 200_000, b'{"messages":' * 100_000, b'{"choices":[' * 50_000])  # fmt: skip
def test_json_that_is_nested_too_deeply(content):
    with pytest.raises(DecodeError):
        list(open_source(content).conversations())


NESTED = {
    "a request": '{"messages":[{"role":"user","content":%s}]}',
    "a block": '{"messages":[{"role":"user","content":[{"type":"odd","x":%s}]}]}',
    "what we stored": '[{"type":"message","role":"user","parts":[{"type":"opaque","value":%s}]}]',
    "a batch": '{"custom_id":"x","response":{"body":{"choices":[{"message":{"content":"x","odd":%s}}]}}}',
    "claude code": '{"type":"user","message":{"role":"user","content":[{"type":"odd","x":%s}]}}',
    "codex": '{"type":"response_item","payload":{"type":"odd","x":%s}}',
    "har": '{"log":{"entries":[%s],"creator":{}}}',
    "litellm": '{"startTime":1,"call_type":"x","spend":1,"messages":[{"role":"user","content":[{"type":"x","y":%s}]}],"response":{}}',
}  # fmt: skip


@pytest.mark.parametrize("form", NESTED)
@pytest.mark.parametrize("depth", [100, 300, 800, 950, 990, 1100, 5000])
def test_a_value_that_is_nested_deeply(form, depth):
    """Read, or refused; where the stack ends, another format would do otherwise."""
    nested = "[" * depth + "]" * depth
    with suppress(DecodeError):
        list(open_source((NESTED[form] % nested).encode()).conversations())


def is_beginning(part, whole):
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and is_beginning(item, whole[key]) for key, item in part.items())  # fmt: skip
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) <= len(whole) and all(map(is_beginning, part, whole))  # fmt: skip
    return whole.startswith(part) if isinstance(part, str) else part == whole


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12)  # fmt: skip


@settings(deadline=None)
@given(st.dictionaries(st.text(), JSON, max_size=5), st.sampled_from([None, 1]), st.booleans())
def test_the_beginning_of_json_says_what_came_so_far(value, indent, ascii_only):
    """Cut at every byte, in the middle of a character or an escape too: what is there is the beginning of the value."""
    content = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    for end in range(1, len(content) + 1):
        (part,) = first_values(content[:end])
        assert is_beginning(part, value)
    assert value == part


def test_an_unknown_conversation():
    source = open_source(iv.to_json([iv.user("Hi")]))
    with pytest.raises(DecodeError, match="no conversation 'x'"):
        source.conversation("x")
