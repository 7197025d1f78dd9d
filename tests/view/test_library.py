"""The library: what is listed, how it is found, what is held, and what happens when files change."""

import os
import tracemalloc

import pytest

from innervoice.errors import DecodeError
from innervoice.sources import opening
from innervoice.view.library import BoundedCache, Library, NotInLibraryError
from view.session_files import session, stream


def write(folder, name, data, changed):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    os.utime(file, (changed, changed))
    return file


def titles(listed):
    return [source["title"] for source in listed["sources"]]


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, "old.jsonl", session("The old falcon"), 1_000)
    write(tmp_path, "deep/er/new.jsonl", session("The new heron"), 3_000)
    write(tmp_path, "middle.sse", stream(), 2_000)
    write(tmp_path, "notes.txt", b"only notes\n", 4_000)
    write(tmp_path, "picture.png", b"\x89PNG\r\n\x1a\n", 4_000)
    return tmp_path


def test_newest_session_first_and_unknown_formats_counted(folder):
    """By the time in the session: of the file only where it says none."""
    listed = Library([folder]).sources()
    name = folder.name
    assert [f"{name}/deep/er/new.jsonl", f"{name}/old.jsonl", f"{name}/middle.sse"] == [source["path"] for source in listed["sources"]]  # fmt: skip
    assert (3, None, 2) == (listed["total"], listed["next"], listed["unknown"])


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("falcon", ["old.jsonl"]),
        ("FALCON old", ["old.jsonl"]),
        ("deep/er", ["new.jsonl"]),
        ("claude-code", ["new.jsonl", "old.jsonl"]),
        ("opus-5-5", ["new.jsonl", "old.jsonl"]),
        ("middle", ["middle.sse"]),
        ("nothing like it", []),
        ("", ["new.jsonl", "old.jsonl", "middle.sse"]),
    ],
)
def test_search_in_title_path_kind_and_model(folder, query, paths):
    listed = Library([folder]).sources(query)
    assert paths == [source["path"].rpartition("/")[2] for source in listed["sources"]]
    assert len(paths) == listed["total"]


def test_pages_of_the_list(tmp_path):
    for number in range(25):
        write(tmp_path, f"{number:02}.jsonl", session(f"Question {number}"), 1_000 - number)
    library = Library([tmp_path])
    paths, start = [], 0
    while start is not None:
        page = library.sources("", start, 10)
        assert 25 == page["total"]
        paths += [source["path"] for source in page["sources"]]
        start = page["next"]
    assert [f"{tmp_path.name}/{number:02}.jsonl" for number in range(25)] == paths


def test_the_same_file_has_the_same_id_next_time(folder):
    one, two = Library([folder]).sources(), Library([folder]).sources()
    assert [source["first"] for source in one["sources"]] == [source["first"] for source in two["sources"]]  # fmt: skip
    assert len({source["id"] for source in one["sources"]}) == 3


def test_two_paths_that_overlap_are_listed_once(folder):
    listed = Library([folder, folder / "old.jsonl", folder / "deep"]).sources()
    assert 3 == listed["total"]


def test_a_file_that_was_named_is_listed_with_what_is_wrong(tmp_path):
    file = write(tmp_path, "odd.bin", b"\x00\x01\x02", 1_000)
    [item] = Library([file]).sources()["sources"]
    assert "binary" in item["problem"]
    assert "" == item["first"]


def test_a_file_that_may_not_be_read_is_listed_with_the_reason(folder, monkeypatch):
    def reader_of(path):
        if path.name == "old.jsonl":
            raise PermissionError(13, "Permission denied")
        return opening.reader_of(path)

    monkeypatch.setattr("innervoice.view.places.reader_of", reader_of)
    listed = Library([folder]).sources()
    [problem] = [source["problem"] for source in listed["sources"] if "problem" in source]
    assert "old.jsonl" in problem
    assert "Permission denied" in problem


def test_a_file_that_goes_on_is_read_again(folder):
    library = Library([folder])
    id_ = library.sources("falcon")["sources"][0]["first"]
    before = len(library.rows(id_))
    (folder / "old.jsonl").write_bytes(session("The old falcon", rounds=4))
    assert before < len(library.rows(id_))
    assert len(library.conversation(id_).turns) == 10


def test_what_did_not_change_is_not_read_again(folder):
    library = Library([folder])
    id_ = library.sources("falcon")["sources"][0]["first"]
    assert library.rows(id_) is library.rows(id_)
    assert library.conversation(id_) is library.conversation(id_)


def test_files_that_come_and_go(folder):
    library = Library([folder])
    assert not library.scan()
    write(folder, "another.jsonl", session("The late swift"), 5_000)
    assert library.scan()
    assert "swift" in titles(library.sources())[0]
    (folder / "another.jsonl").unlink()
    assert library.scan()
    listed = library.sources()["sources"]
    assert [False, False, False, True] == [source.get("is_deleted", False) for source in listed]
    assert ("", "The file was deleted.") == (listed[3]["first"], listed[3]["problem"])
    write(folder, "another.jsonl", session("The late swift"), 5_000)
    assert library.scan()
    assert not any(source.get("is_deleted") for source in library.sources()["sources"])


def test_a_file_that_grows_does_not_change_the_list(folder):
    library = Library([folder])
    write(folder, "old.jsonl", session("The old falcon", rounds=3), 1_000)
    assert not library.scan()


@pytest.mark.parametrize("id_", ["", ".", "x", "x.main", "..", "../old", "old.jsonl", "stdin", "stdin.main"])  # fmt: skip
def test_an_id_that_nobody_was_given(folder, id_):
    with pytest.raises(NotInLibraryError):
        Library([folder]).rows(id_)


def test_standard_input():
    library = Library([], piped=session("From a pipe"))
    [item] = library.sources()["sources"]
    assert ("standard input", "stdin.main") == (item["path"], item["first"])
    assert "From a pipe" in [row["text"] for row in library.rows("stdin.main")]
    assert not library.is_live


def test_standard_input_of_no_known_format():
    with pytest.raises(DecodeError, match="expected"):
        Library([], piped=b"nothing of the kind")


def test_very_many_conversations_are_told_around_the_one_that_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr("innervoice.view.library._MOST_THREADS", 5)
    answer = b'{"custom_id": "r%d", "response": {"status_code": 200, "body": {"id": "c", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "answer %d"}}]}}}\n'
    write(tmp_path, "batch.jsonl", b"".join(answer % (n, n) for n in range(40)), 1_000)
    library = Library([tmp_path])
    entries = library.source(library.sources()["sources"][0]["id"]).entries
    source = library.sources()["sources"][0]["id"]
    head = library.head(f"{source}.{entries[20].id}")
    assert 40 == head["lanes_total"]
    assert 5 == len(head["lanes"])
    assert head["id"] in [lane["id"] for lane in head["lanes"]]


def test_many_conversations_are_read_in_bounded_memory(tmp_path, monkeypatch):
    """Every one of 20 sessions of 500 kB is read; a few of them are held."""
    monkeypatch.setattr("innervoice.view.library._CONVERSATIONS", 2 << 20)
    monkeypatch.setattr("innervoice.view.library._TIMELINES", 1 << 20)
    for number in range(20):
        write(
            tmp_path, f"{number}.jsonl", session(f"{number} " + "word " * 100_000), 1_000 + number
        )
    library = Library([tmp_path])
    ids = [source["first"] for source in library.sources()["sources"]]
    tracemalloc.start()
    for id_ in ids:
        library.rows(id_)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 20 == len(ids)
    assert held < 5 << 20


class TestBoundedCache:
    def test_what_was_used_longest_ago_goes_first(self):
        cache = BoundedCache(10)
        cache.put("a", 1, 4)
        cache.put("b", 2, 4)
        cache.get("a")
        cache.put("c", 3, 4)
        assert (1, None, 3) == (cache.get("a"), cache.get("b"), cache.get("c"))
        assert 8 == cache.size

    def test_the_newest_stays_however_large(self):
        cache = BoundedCache(10)
        cache.put("a", 1, 4)
        cache.put("b", 2, 400)
        assert (None, 2, 400) == (cache.get("a"), cache.get("b"), cache.size)
        cache.put("c", 3, 1)
        assert (None, 3, 1) == (cache.get("b"), cache.get("c"), cache.size)

    def test_the_same_key_again_counts_once(self):
        cache = BoundedCache(10)
        cache.put("a", 1, 6)
        cache.put("a", 2, 7)
        assert (2, 7) == (cache.get("a"), cache.size)
        cache.drop("a")
        cache.drop("a")
        assert (None, 0) == (cache.get("a"), cache.size)
