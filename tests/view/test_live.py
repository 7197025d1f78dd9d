"""Files that grow: what a listener holds is always what the file holds."""

import pytest

from innervoice.canon.jsontext import load_json
from innervoice.errors import DecodeError
from innervoice.view.library import Library
from innervoice.view.live import Live, Threads
from view.listener import Listener, plain
from view.session_files import recast_stream, session, stream


def readable(content, file):
    """From which byte on the file can be read."""
    for size in range(1, len(content)):
        file.write_bytes(content[:size])
        shelf = Library([file])
        item = shelf.sources()["sources"][0]
        if item["first"]:
            try:
                shelf.rows(item["first"])
            except DecodeError:
                continue
            return size, item["first"]
    raise AssertionError("it is never readable")


def rows_of_file(file, id_):
    return plain(Library([file]).rows(id_))


def append(file, data):
    with file.open("ab") as growing:
        growing.write(data)


FILES = {"session": session(), "stream": stream(), "recast": recast_stream()}


@pytest.mark.parametrize("name", FILES)
def test_cut_at_every_byte(name, tmp_path):
    content = FILES[name]
    file = tmp_path / "file.jsonl"
    start, id_ = readable(content, file)
    live = Live(Library([file]), Threads())
    listener = Listener(live.rows(id_))
    for size in range(start + 1, len(content) + 1):
        append(file, content[size - 1 : size])
        listener.hear(live.since(id_, listener.event))
        if (
            content[size - 1 : size] in b'\n "'
        ):  # reading anew takes long; between blanks nothing ends
            assert rows_of_file(file, id_) == listener.ordered, size
    assert rows_of_file(file, id_) == listener.ordered
    assert live.rows(id_).head == listener.head


@pytest.mark.parametrize("name", FILES)
def test_whoever_comes_at_any_time_and_goes_on_from_there_misses_nothing(name, tmp_path):
    content = FILES[name]
    file = tmp_path / "file.jsonl"
    start, id_ = readable(content, file)
    live = Live(Library([file]), Threads())
    listeners = [Listener(live.rows(id_))]
    for size in range(start, len(content), 23):
        append(file, content[size : size + 23])
        listeners.append(Listener(live.rows(id_)))
    for listener in listeners:
        listener.hear(live.since(id_, listener.event))
        assert rows_of_file(file, id_) == listener.ordered


@pytest.mark.parametrize("name", FILES)
def test_a_connection_may_break_behind_every_event(name, tmp_path):
    content = FILES[name]
    file = tmp_path / "file.jsonl"
    start, id_ = readable(content, file)
    live = Live(Library([file]), Threads())
    told = live.rows(id_)
    for size in range(start, len(content), 40):
        append(file, content[size : size + 40])
        live.rows(id_)
    happened = live.since(id_, told.event)
    assert happened
    for broken in range(len(happened) + 1):
        listener = Listener(told)
        listener.hear(happened[:broken])
        listener.hear(live.since(id_, listener.event))
        assert rows_of_file(file, id_) == listener.ordered


def test_an_event_that_is_heard_twice_does_no_harm(tmp_path):
    """Rows are fetched in pieces, so a later piece may contain an event that comes again."""
    file = tmp_path / "file.jsonl"
    content = stream()
    start, id_ = readable(content, file)
    live = Live(Library([file]), Threads())
    told = live.rows(id_)
    for size in range(start, len(content), 40):
        append(file, content[size : size + 40])
        live.rows(id_)
    listener = Listener(live.rows(id_))
    happened = live.since(id_, told.event)
    last_gone = max(
        (place for place, event in enumerate(happened) if event.name == "gone"), default=-1
    )
    listener.hear(happened[last_gone + 1 :])
    assert rows_of_file(file, id_) == listener.ordered


def test_text_that_turns_out_to_be_a_thought_is_taken_back(tmp_path):
    file = tmp_path / "file.jsonl"
    content = recast_stream()
    start, id_ = readable(content, file)
    live = Live(Library([file]), Threads())
    event = live.rows(id_).event
    names = []
    for size in range(start, len(content), 20):
        append(file, content[size : size + 20])
        names += [event.name for event in live.since(id_, event)]
        event = live.rows(id_).event
    assert {"row", "grow", "gone", "head"} == set(names)
    assert ["turn", "thinking", "text"] == [row["kind"] for row in live.rows(id_).rows]


def test_a_thought_grows_by_what_was_added(tmp_path):
    file = tmp_path / "file.sse"
    pieces = ["<think>", *["a word and "] * 50]
    content = stream(pieces)
    file.write_bytes(content[: content.index(b"a word")])
    live = Live(Library([file]), Threads())
    id_ = live._library.sources()["sources"][0]["first"]
    file.write_bytes(content[: len(content) // 2])
    told = live.rows(id_)
    for size in (400, 800):
        file.write_bytes(content[: len(content) // 2 + size])
        happened = live.since(id_, told.event)
        grown = [plain_event(event) for event in happened if event.name == "grow"]
        assert [1] == [growth["n"] for growth in grown]
        assert 0 < len(grown[0]["text"]) < 40
        told = live.rows(id_)


@pytest.mark.parametrize("after", ["", "x", "0000-1", "-1", "nonsense-9999"])
def test_an_event_of_another_time_is_refused(after, tmp_path):
    file = tmp_path / "file.jsonl"
    file.write_bytes(session())
    live = Live(Library([file]), Threads())
    id_ = live._library.sources()["sources"][0]["first"]
    assert live.since(id_, after) is None


def test_an_event_that_is_too_old_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("innervoice.view.live._MOST_EVENTS", 3)
    file = tmp_path / "file.jsonl"
    content = stream()
    start, id_ = readable(content, file)
    live = Live(Library([file]), Threads())
    first = live.rows(id_).event
    for size in range(start, len(content), 40):
        append(file, content[size : size + 40])
        live.rows(id_)
    assert live.since(id_, first) is None
    assert live.since(id_, live.rows(id_).event) == []


@pytest.mark.parametrize("size", [0.3, 0.6, 1])
def test_a_file_that_is_written_anew(size, tmp_path):
    file = tmp_path / "file.jsonl"
    file.write_bytes(session(rounds=3))
    live = Live(Library([file]), Threads())
    id_ = live._library.sources()["sources"][0]["first"]
    listener = Listener(live.rows(id_))
    other = session("Something else", rounds=2)
    file.write_bytes(other[: int(len(other) * size)])
    listener.hear(live.since(id_, listener.event))
    assert rows_of_file(file, id_) == listener.ordered


def test_a_file_that_cannot_be_read_for_a_while_changes_nothing(tmp_path):
    file = tmp_path / "file.jsonl"
    file.write_bytes(session())
    live = Live(Library([file]), Threads())
    id_ = live._library.sources()["sources"][0]["first"]
    listener = Listener(live.rows(id_))
    file.write_bytes(b"")
    assert [] == live.since(id_, listener.event)
    file.unlink()
    assert [] == live.since(id_, listener.event)
    file.write_bytes(session(rounds=2))
    listener.hear(live.since(id_, listener.event))
    assert rows_of_file(file, id_) == listener.ordered


def plain_event(event):
    return plain(load_json(event.data))


def test_the_last_conversations_without_listeners_are_kept(tmp_path, monkeypatch):
    """A client that returns to one of them goes on; to an older one, it starts from the beginning."""
    monkeypatch.setattr("innervoice.view.live._CHANNELS", 3)
    for number in range(5):
        (tmp_path / f"{number}.jsonl").write_bytes(session())
    library = Library([tmp_path])
    live = Live(library, Threads())
    ids = [item["first"] for item in library.sources()["sources"]]
    events = [live.rows(id_).event for id_ in ids]

    assert [False, False, True, True, True] == [
        live.since(id_, event) is not None for id_, event in zip(ids, events, strict=True)
    ]
