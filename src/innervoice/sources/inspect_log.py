"""Logs of inspect_ai: `.eval`, a zip of JSON files, and `.json`.

After src/inspect_ai/log/_recorders/eval.py, log/_log.py, log/_condense.py, log/_pool.py and log/_recorders/chunked/format.py of
UKGovernmentBEIS/inspect_ai (read 2026-11-16).

  .eval  `header.json` (`_journal/start.json` while it runs) has `eval` with the task and the model; `samples/<id>_epoch_<n>.json` has a sample. Members may
         be compressed with zstd, which Python reads since 3.14. A sample in chunks (log version 3) is a folder `samples/<id>_epoch_<n>/`.
  .json  One object: version, status, eval, samples, ...

A sample is a conversation, one for each epoch. Its content is described in `sources/inspect_samples.py`.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from innervoice.canon.jsontext import load_json, split_items, split_members
from innervoice.errors import DecodeError
from innervoice.sources.beginning import first_dicts
from innervoice.sources.conversation import Conversation
from innervoice.sources.inspect_samples import conversation_of, input_title
from innervoice.sources.reader import Data, Entry, Opened, Reader, Trouble
from innervoice.wire.json_access import as_dict, as_text

__all__ = ["READER"]

_HEADERS = ("header.json", "_journal/start.json")
_SAMPLE = re.compile(r"samples/(.+_epoch_\d+)\.json", re.DOTALL)
_CHUNKED = re.compile(r"samples/(.+_epoch_\d+)/sample\.json", re.DOTALL)
_TITLES = ("summaries.json", "_journal/summaries/")
_LARGEST = 1 << 30
"""The largest file of a zip that is read, in bytes."""
_ZSTD = 93


def _recognizes(data: Data, beginning: bytes) -> bool:
    if beginning.startswith(b"PK\3\4"):
        try:
            with _zip(data) as archive:
                return any(name in archive.NameToInfo for name in _HEADERS)
        except DecodeError:
            return False
    if b'"eval"' not in beginning:
        return False
    first = next(iter(first_dicts(beginning)), {})
    evaluated = as_dict(first.get("eval"))
    return (
        "version" in first
        and "task" in evaluated
        and not evaluated.keys().isdisjoint(("run_id", "eval_id", "model"))
    )


def _open(data: Data) -> Opened:
    return _open_zip(data) if data.piece(0, 4) == b"PK\3\4" else _open_json(data)


# ---- .eval -----------------------------------------------------------------------------------------


@contextmanager
def _zip(data: Data) -> Iterator[zipfile.ZipFile]:
    """The archive; any problem with it is a `DecodeError`."""
    try:
        with zipfile.ZipFile(data.path or BytesIO(data.piece())) as archive:
            yield archive
    except _BROKEN as error:
        raise DecodeError(f"expected a log of inspect_ai, a zip: {error}") from None


_BROKEN = (
    zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError, RuntimeError, OverflowError,
)  # fmt: skip


def _open_zip(data: Data) -> Opened:
    with _zip(data) as archive:
        names = list(archive.NameToInfo)
        troubles = _unreadable(archive)
        header = _header(archive, troubles)
        titles = _titles(archive)
    evaluated = as_dict(header.get("eval"))
    model = as_text(evaluated.get("model"))
    samples = {found[1]: name for name in names if (found := _SAMPLE.fullmatch(name))}
    entries = [Entry(name, titles.get(name, name), model=model) for name in samples]

    def read(entry: Entry) -> Conversation:
        with _zip(data) as archive:
            sample = _member(archive, samples[entry.id])
        return conversation_of(entry, sample, evaluated)

    return Opened(entries, read, troubles)


def _unreadable(archive: zipfile.ZipFile) -> list[Trouble]:
    troubles = []
    if any(info.compress_type == _ZSTD for info in archive.infolist()) and not _reads_zstd():
        why = "files of the log are compressed with zstd, which Python can read since 3.14; `inspect log convert` can rewrite the log without it"
        troubles.append(Trouble(None, why))
    chunked = [found[1] for name in archive.NameToInfo if (found := _CHUNKED.fullmatch(name))]
    if chunked:
        why = f"{len(chunked)} samples are in chunks, which are not read, for example {chunked[0]}"
        troubles.append(Trouble(None, why))
    return troubles


def _reads_zstd() -> bool:
    return hasattr(zipfile, "ZIP_ZSTANDARD")


def _header(archive: zipfile.ZipFile, troubles: list[Trouble]) -> dict[str, Any]:
    for name in _HEADERS:
        if name in archive.NameToInfo:
            try:
                return as_dict(_member(archive, name))
            except DecodeError as error:
                troubles.append(Trouble(None, str(error)))
    return {}


def _titles(archive: zipfile.ZipFile) -> dict[str, str]:
    """The first words of each sample, from the summaries; none for a log without them, or with broken ones."""
    titles: dict[str, str] = {}
    for name in archive.NameToInfo:
        if not name.startswith(_TITLES):
            continue
        try:
            listed = _member(archive, name)
        except DecodeError:
            continue
        for summary in listed if isinstance(listed, list) else ():
            about = as_dict(summary)
            titles[f"{about.get('id')}_epoch_{about.get('epoch')}"] = input_title(about)
    return {name: title for name, title in titles.items() if title}


def _member(archive: zipfile.ZipFile, name: str) -> Any:
    """The JSON in a file of the archive."""
    size = archive.getinfo(name).file_size
    if size > _LARGEST:
        raise DecodeError(f"{name} has {size} bytes; at most {_LARGEST} are read")
    try:
        return load_json(archive.read(name))
    except _BROKEN as error:
        raise DecodeError(f"{name} cannot be read: {error}") from None


# ---- .json -----------------------------------------------------------------------------------------


def _open_json(data: Data) -> Opened:
    whole = data.piece()
    try:
        members = split_members(whole)
        evaluated = as_dict(load_json(bytes(members.get("eval", b"null"))))
        samples = split_items(members.get("samples", b"[]"))  # views of the whole, not copies
    except ValueError as error:
        raise DecodeError(f"expected a log of inspect_ai in JSON: {error}") from None
    model = as_text(evaluated.get("model"))
    entries: dict[str, Entry] = {}
    troubles: list[Trouble] = []
    start = 0
    for number, sample in enumerate(map(bytes, samples), 1):
        start = whole.index(sample, start)
        end = start + len(sample)
        try:
            about = _about(sample)
        except ValueError as error:
            troubles.append(Trouble(None, f"sample {number}: {error}"))
            continue
        name = f"{about.get('id')}_epoch_{about.get('epoch')}"
        name = name if name not in entries else f"{name} ({number})"
        entries[name] = Entry(name, input_title(about) or name, start, end, model=model)
        start = end

    def read(entry: Entry) -> Conversation:
        try:
            sample = load_json(data.piece(entry.start, entry.end))
        except ValueError as error:
            raise DecodeError(f"expected a sample in JSON: {error}") from None
        return conversation_of(entry, sample, evaluated)

    return Opened(list(entries.values()), read, troubles)


def _about(sample: bytes) -> dict[str, Any]:
    """What the list of samples shows of one, without reading its events."""
    members = split_members(sample)
    wanted = ("id", "epoch", "input")
    return {name: load_json(bytes(members[name])) for name in wanted if name in members}


READER = Reader(
    kind="inspect",
    name="a log of inspect_ai",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "When users and tools wrote: only answers have a time.",
        "The order of text and calls within an answer: the calls are listed after its content.",
        "The conversations of subagents: they are in the events of a sample, which are read for tokens and times only.",
    ),
)
