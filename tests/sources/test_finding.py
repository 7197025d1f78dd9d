"""Folders: files of known formats in order, each session once, nothing from outside, and what else is there is counted."""

import os

import innervoice as iv
from innervoice.sources.opening import paths_in
from sources.samples import SAMPLES
from sources.test_sessions import project

STORED = SAMPLES["stored"]["a history"]


def test_a_folder(tmp_path):
    (tmp_path / "b").mkdir()
    for name in ("z.json", "a.json", "b/c.json"):
        (tmp_path / name).write_bytes(STORED)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "b" / "notes.txt").write_text("Milk.")
    (tmp_path / ".hidden.json").write_bytes(STORED)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.json").write_bytes(STORED)
    found = paths_in([tmp_path])

    assert ["a.json", "z.json", "b/c.json"] == [str(path.relative_to(tmp_path)) for path in found]
    assert (2, []) == (found.unknown, found.troubles)


def test_known_layouts_are_hidden(tmp_path):
    """`innervoice view ~` finds the sessions of programs in their hidden folders."""
    folder = project(tmp_path / ".claude" / "projects" / "-home-me-shed")
    day = tmp_path / ".codex" / "sessions" / "2026" / "11" / "20"
    day.mkdir(parents=True)
    (day / "rollout-1.jsonl").write_bytes(SAMPLES["codex"]["a session"])

    assert [folder / "5a1d.jsonl", day / "rollout-1.jsonl"] == [*paths_in([tmp_path])]


def test_links(tmp_path):
    """A link that stays inside is the file itself, found once; one that leads out is not followed, and a cycle ends."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    (inside / "deep").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.json").write_bytes(STORED)
    (inside / "deep" / "own.json").write_bytes(STORED)
    (inside / "out").symlink_to(outside)
    (inside / "file.json").symlink_to(outside / "secret.json")
    (inside / "deep" / "cycle").symlink_to(inside)
    (inside / "again.json").symlink_to(inside / "deep" / "own.json")

    assert [inside / "again.json"] == [*paths_in([inside])]
    assert [outside / "secret.json"] == [*paths_in([outside, outside / "secret.json"])]


def test_a_named_file_is_given_whatever_it_is(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("Milk.")

    assert [file] == [*paths_in([file])]


def test_what_cannot_be_read_is_said(tmp_path, monkeypatch):
    """The file, the folder and the reason; all else is found."""
    for name in ("a.json", "locked.json", "z.json"):
        (tmp_path / name).write_bytes(STORED)
    (tmp_path / "locked").mkdir()
    opened, scanned = type(tmp_path).open, os.scandir

    def refused(path):
        if "locked" in str(path):
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(tmp_path), "open", lambda path, *rest, **options: refused(path) or opened(path, *rest, **options))  # fmt: skip
    monkeypatch.setattr(os, "scandir", lambda path: refused(path) or scanned(path))
    found = paths_in([tmp_path])

    assert ["a.json", "z.json"] == [path.name for path in found]
    assert [f"{tmp_path}/locked.json: cannot be read: Permission denied", f"{tmp_path}/locked: cannot be read: Permission denied"] == [why for _, why in found.troubles]  # fmt: skip


def test_only_the_beginning_is_read(tmp_path, monkeypatch):
    """A folder of large files is listed by the first bytes of each."""
    for number in range(3):
        (tmp_path / f"{number}.json").write_bytes(iv.to_json([iv.user("x" * 500_000)] * 4))
    read = []
    opened = type(tmp_path).open

    def counted(path, *arguments, **options):
        stream = opened(path, *arguments, **options)
        plain = stream.read

        class Counting:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                stream.close()

            def seek(self, place):
                stream.seek(place)

            def read(self, size=-1):
                data = plain(size)
                read.append(len(data))
                return data

        return Counting()

    monkeypatch.setattr(type(tmp_path), "open", counted)

    assert 3 == len([*paths_in([tmp_path])])
    assert sum(read) <= 3 * 65_536
