"""All formats that are made for the tests: each is recognized by its own reader only, and no damage raises anything but `DecodeError`."""

import json
import zipfile
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innervoice.errors import DecodeError
from innervoice.sources import (
    cline,
    copilot_cli,
    gemini_cli,
    inspect_log,
    langfuse,
    langsmith,
    opencode,
    otel,
    pi,
)
from innervoice.sources.opening import open_source
from innervoice.sources.reader import Data
from sources.made_sessions import (
    MADE,
    gemini_object,
    inspect_zip,
    lines,
    opencode_database,
    opencode_tree,
    otlp,
    otlp_newer,
    sample,
)
from sources.samples import SAMPLES

READERS = {
    "pi": pi.READER,
    "copilot-cli": copilot_cli.READER,
    "cline": cline.READER,
    "langfuse": langfuse.READER,
    "langsmith": langsmith.READER,
    "gemini-cli": gemini_cli.READER,
    "opencode": opencode.READER,
    "inspect": inspect_log.READER,
    "otel": otel.READER,
}


def database(folder):
    path = folder / "made.db"
    if not path.exists():
        opencode_database(path).close()
    return path.read_bytes()


FORMS = {
    **{kind: (kind, lambda folder, make=make: make()) for kind, make in MADE.items()},
    "gemini-cli before 0.58": ("gemini-cli", lambda folder: gemini_object()),
    "the database of opencode": ("opencode", database),
    "the zip of inspect": ("inspect", lambda folder: inspect_zip()),
    "otel by lines": ("otel", lambda folder: lines(otlp(), json.loads(otlp_newer()))),
}


@pytest.fixture(params=FORMS)
def made(request, tmp_path):
    kind, make = FORMS[request.param]
    return kind, make(tmp_path)


def read_all(data):
    """Opens bytes and reads everything in them; gives False if they are refused."""
    try:
        source = open_source(data)
        for entry in source.entries:
            try:
                repr(source.conversation(entry.id))
            except DecodeError:
                continue
        assert all(trouble.why for trouble in source.troubles)
    except DecodeError:
        return False
    return True


@pytest.mark.parametrize("reader", READERS)
def test_each_format_is_recognized_by_its_own_reader_only(made, reader):
    kind, content = made
    data = Data(content=content)

    assert (reader == kind) is READERS[reader].recognizes(data, data.piece(0, 65_536))
    assert kind == open_source(content).kind


@pytest.mark.parametrize("reader", READERS)
def test_a_session_in_a_tree_is_recognized_by_its_own_reader_only(tmp_path, reader):
    data = Data(opencode_tree(tmp_path))

    assert (reader == "opencode") is READERS[reader].recognizes(data, data.piece(0, 65_536))


@pytest.mark.parametrize("reader", READERS)
def test_what_others_wrote_is_not_recognized(reader):
    others = [
        b"", b"{}", b"[]", b"hello", b"\x00" * 100, b"PK\3\4", b"SQLite format 3\0", b'{"messages": []}', b'{"sessionId": 3}', b'{"resourceSpans"',
        b'{"info": {"id": "ses_"}', b'{"type": "session_meta", "payload": {}}\n', b'{"eval": {}}', b'data: {"choices": []}\n\n',
    ]  # fmt: skip
    for content in others:
        assert not READERS[reader].recognizes(Data(content=content), content), content


def test_every_reader_says_what_it_cannot_know(made):
    """In sentences."""
    sentences = open_source(made[1]).cannot_know

    assert sentences
    assert all(sentence.endswith(".") and sentence[0].isupper() for sentence in sentences)


def test_a_conversation_is_the_same_whenever_the_source_is_opened(made):
    first, second = open_source(made[1]), open_source(made[1])

    assert first.entries == second.entries
    assert list(first.conversations()) == list(second.conversations())


def test_conversations_read_in_any_order_are_the_same(made):
    source = open_source(made[1])
    names = [entry.id for entry in source.entries]

    assert len(set(names)) == len(names)
    backwards = [source.conversation(name) for name in reversed(names)]
    assert list(source.conversations()) == backwards[::-1]


def test_files_cut_at_every_byte_are_read_or_refused(made):
    """By their own reader, which is faster than asking all; a database and a zip are cut at every 17th byte."""
    kind, content = made
    if content.startswith(b"{\n"):  # without the blanks between its members
        content = json.dumps(json.loads(content)).encode()
    step = 17 if content[:2] in (b"SQ", b"PK") else 1
    read = [read_by(READERS[kind], content[:end]) for end in range(0, len(content), step)]

    assert not read[0]
    assert read_by(READERS[kind], content)


def read_by(reader, content):
    data = Data(content=content)
    if not reader.recognizes(data, content[:65_536]):
        return False
    try:
        opened = reader.open(data)
    except DecodeError:
        return False
    for entry in opened.entries:
        try:
            opened.read(entry)
        except DecodeError:
            continue
    return True


@pytest.mark.parametrize("kind", ["gemini-cli", "otel"])
def test_of_a_cut_file_of_lines_the_whole_lines_are_read(kind):
    content = MADE[kind]() if kind == "gemini-cli" else otlp_newer() + b"\n" + otlp_newer()
    *first, last = content.splitlines(keepends=True)
    cut = open_source(b"".join(first) + last[: len(last) // 2])

    whole = open_source(b"".join(first) + b"\n")
    assert whole.conversation().messages == cut.conversation().messages
    assert [len(first) + 1] == [trouble.line for trouble in cut.troubles]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.just(10**400),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value, path=()):
    """The paths of all values inside of a value."""
    yield path
    match value:
        case dict():
            for name, item in value.items():
                yield from places(item, (*path, name))
        case list():
            for number, item in enumerate(value):
                yield from places(item, (*path, number))


def changed(value, path, other):
    if not path:
        return other
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], other)
    return copy


def records_of(kind):
    content = MADE[kind]()
    is_in_lines = kind in ("gemini-cli", "pi", "copilot-cli", "langsmith")
    return [json.loads(one) for one in (content.splitlines() if is_in_lines else [content])]


@pytest.mark.parametrize("number", [10**400, -(10**400), 1e300, -1], ids=["huge", "-huge", "large", "-1"])  # fmt: skip
@pytest.mark.parametrize("kind", MADE)
def test_numbers_of_any_size_in_every_place(kind, number):
    """JSON has integers that no float holds. Seen failing: five readers raised `OverflowError` for a huge cost or duration."""
    records = records_of(kind)
    for index, record in enumerate(records):
        for path in places(record):
            others = [*records]
            others[index] = changed(record, path, number)
            read_all("\n".join(map(json.dumps, others)).encode())


@pytest.mark.parametrize("kind", ["har", "litellm", "batch", "stored"])
def test_huge_numbers_in_every_place_of_samples(kind):
    for content in SAMPLES[kind].values():
        try:
            record = json.loads(content)
        except ValueError:
            continue  # several lines, with the same members
        for path in places(record):
            read_all(json.dumps(changed(record, path, 10**400)).encode())


@pytest.mark.parametrize("kind", MADE)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_any_value_in_place_of_another_is_read_or_refused(kind, data):
    records = records_of(kind)
    number = data.draw(st.integers(0, len(records) - 1))
    path = data.draw(st.sampled_from(list(places(records[number]))))
    records[number] = changed(records[number], path, data.draw(JSON))
    read_all("\n".join(map(json.dumps, records)).encode())


@pytest.mark.parametrize("kind", [*MADE, "the zip of inspect", "the database of opencode"])
@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_any_bytes_in_place_of_others_are_read_or_refused(kind, data, tmp_path_factory):
    content = bytearray(made_once(kind, tmp_path_factory))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        other = data.draw(st.binary(max_size=8))
        content[place : place + len(other)] = other
    read_all(bytes(content))


_ONCE = {}


def made_once(kind, folders):
    if kind not in _ONCE:
        _ONCE[kind] = FORMS[kind][1](folders.mktemp("made"))
    return _ONCE[kind]


@pytest.mark.parametrize("kind", MADE)
def test_json_that_is_nested_too_deeply_is_refused(kind):
    """Wherever it stands."""
    deep = "[" * 100_000 + "]" * 100_000
    content = MADE[kind]().decode()
    for name in ("content", "gen_ai.input.messages", "text", "messages", "id"):
        place = content.find(f'"{name}": ')
        if place >= 0:
            read_all(f'{content[:place]}"{name}": {deep}, {content[place:]}'.encode())


def test_nesting_that_python_can_just_hold_is_read_or_refused():
    for depth in (200, 400, 900, 5_000):
        nested = {"a": 1}
        for _ in range(depth // 2):
            nested = {"a": [nested]}
        for one in (
            {"tool_calls": [{"id": "x", "function": "f", "arguments": nested}]},
            {"content": [nested]},
        ):
            text = _dumped(
                [sample(messages=[{"id": "m", "role": "assistant", "content": "", **one}])]
            )
            read_all(text)


def _dumped(samples):
    """JSON of any depth, which the json module refuses to write."""
    pieces = []
    pending = [samples]
    while pending:
        value = pending.pop()
        match value:
            case ("raw", text):
                pieces.append(text)
            case dict():
                pending.append(("raw", "}"))
                for number, (name, item) in enumerate(reversed(value.items())):
                    pending += [
                        ("raw", "," if number else ""),
                        item,
                        ("raw", f"{json.dumps(name)}:"),
                    ]
                pending.append(("raw", "{"))
            case list():
                pending.append(("raw", "]"))
                for number, item in enumerate(reversed(value)):
                    pending += [("raw", "," if number else ""), item]
                pending.append(("raw", "["))
            case _:
                pieces.append(json.dumps(value))
    listed = "".join(pieces)
    head = '{"version": 2, "eval": {"task": "t", "eval_id": "e", "model": "openai/gpt-5.6"}, "samples": '
    return f"{head}{listed}}}".encode()


def test_a_zip_with_strange_names_is_read_or_refused():
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("header.json", "[]")
        archive.writestr("samples/../../x_epoch_1.json", json.dumps(sample()))
        archive.writestr("samples/\n_epoch_2.json", "3")
    source = open_source(buffer.getvalue())

    assert 5 == len(source.conversation("../../x_epoch_1").turns)
    with pytest.raises(DecodeError, match="expected a sample"):
        source.conversation("\n_epoch_2")
