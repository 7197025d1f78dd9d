"""Any file, folder or bytes -> sources: detects which program wrote them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from innervoice.errors import DecodeError
from innervoice.plugins import plugin, plugin_names
from innervoice.sources import (
    batch_file,
    captured,
    claude_code,
    cline,
    codex,
    copilot_cli,
    gateway_lines,
    gemini_cli,
    har,
    inspect_log,
    langfuse,
    langsmith,
    litellm_log,
    opencode,
    otel,
    pi,
    request_log,
    stored,
)
from innervoice.sources.conversation import Conversation, Turn
from innervoice.sources.reader import (
    NO_HINTS,
    Data,
    Entry,
    Hints,
    Opened,
    Reader,
    Trouble,
    first_values,
)
from innervoice.text_search import split_turn
from innervoice.wire.json_access import members_of

__all__ = [
    "READERS",
    "FoundPaths",
    "Source",
    "open_beginning",
    "open_source",
    "open_tenant_log",
    "paths_in",
    "reader_names",
    "reader_of",
]

READERS: tuple[Reader, ...] = (
    request_log.READER,
    gateway_lines.READER,
    opencode.READER,
    inspect_log.READER,
    gemini_cli.READER,
    pi.READER,
    copilot_cli.READER,
    cline.READER,
    langfuse.READER,
    langsmith.READER,
    codex.READER,
    claude_code.READER,
    otel.READER,
    har.READER,
    batch_file.READER,
    litellm_log.READER,
    stored.READER,
    captured.READER,
)
"""The formats, in the order in which they are tried: the most specific first, those that accept nearly everything last."""

_BEGINNING = 65_536
_TOO_DEEP = "the JSON is nested too deeply"


class Source:
    """A file of a known format: its conversations, and what the format cannot know."""

    def __init__(self, reader: Reader, data: Data, opened: Opened) -> None:
        self.kind = reader.kind
        self.name = reader.name
        self.path = data.path
        self.size = data.size
        self.cannot_know = (*reader.cannot_know, *opened.cannot_know)
        self._data = data
        self._opened = opened

    def content(self) -> bytes:
        """All its bytes."""
        return self._data.piece()

    @property
    def entries(self) -> list[Entry]:
        """Its conversations, not yet read; the first is the main one."""
        return self._opened.entries

    @property
    def troubles(self) -> list[Trouble]:
        """The places that could not be read."""
        return self._opened.troubles

    def conversation(self, id: str | None = None) -> Conversation:  # noqa: A002 - the plain word
        """Reads a conversation, the main one without an id; raises `DecodeError` for one that does not exist or cannot be read."""
        entry = next((entry for entry in self.entries if id is None or entry.id == id), None)
        if entry is None:
            raise DecodeError(
                "there is no conversation in this source"
                if id is None
                else f"there is no conversation {id!r} in this source"
            )
        return self._read(entry)

    def conversations(self) -> Iterator[Conversation]:
        """Reads all of them, one after the other."""
        return map(self._read, self.entries)

    def _read(self, entry: Entry) -> Conversation:
        try:
            return _split(self._opened.read(entry))
        except RecursionError:
            raise DecodeError(_TOO_DEEP) from None


def _split(conversation: Conversation) -> Conversation:
    """The conversation with reasoning between tags split out of the turns of its models."""
    model = conversation.request.model if conversation.request else None
    turns = tuple([_split_turn(turn, model) for turn in conversation.turns])
    return conversation.replace(turns=turns)


def _split_turn(turn: Turn, model: str | None) -> Turn:
    message = split_turn(turn.message, model)
    if message is turn.message:
        return turn
    answer = turn.answer.replace(parts=message.parts) if turn.answer else None
    return turn.replace(message=message, answer=answer)


def open_source(source: Path | str | bytes, hints: Hints = NO_HINTS) -> Source:
    """Opens a file, or the bytes of one; raises `DecodeError` if no format matches, with what was expected and what was received.

    A file that cannot be read raises an `OSError`. `hints` name the provider, model or dialect of answers that do not contain it.
    """
    if not isinstance(source, bytes) and Path(source).is_fifo():
        source = Path(source).read_bytes()  # a pipe can be read once
    if isinstance(source, bytes):
        data = Data(content=source, hints=hints)
    else:
        data = Data(Path(source), hints=hints)
    beginning = data.piece(0, _BEGINNING)
    try:
        reader = _reader_of(data, beginning)
        if reader is not None:
            return Source(reader, data, reader.open(data))
    except RecursionError:
        raise DecodeError(_TOO_DEEP) from None
    raise DecodeError(
        f"expected a session, a log, a trace, a history or an answer; received {_kind_of(beginning)}"
    )


def open_beginning(path: Path, size: int, reader: Reader | None = None) -> Source:
    """Opens a file as if it ended at the last whole line of its first bytes; raises as `open_source` does, also where a format needs the end.

    `reader` is its format, if that is known.
    """
    beginning = Data(path).piece(0, size)
    if len(beginning) == size:
        beginning = beginning[: beginning.rfind(b"\n") + 1]
    data = Data(path, content=beginning)
    reader = reader or _reader_of(data, beginning[:_BEGINNING])
    if reader is None or not beginning:
        raise DecodeError("expected a format that can be read line by line")
    try:
        return Source(reader, data, reader.open(data))
    except RecursionError:
        raise DecodeError(_TOO_DEEP) from None


def open_tenant_log(path: Path, tenant: str) -> Source:
    """Opens a request log with the requests of one tenant alone; raises `DecodeError` for any other format, which does not know tenants."""
    reader, data = request_log.READER, request_log.TenantData(path, tenant)
    if not reader.recognizes(data, data.piece(0, _BEGINNING)):
        raise DecodeError("expected a request log of innervoice")
    return Source(reader, data, reader.open(data))


def reader_of(path: Path) -> Reader | None:
    """The format of a file, by its first bytes; None if the format is unknown. Raises `OSError` for a file that cannot be read."""
    data = Data(path)
    try:
        return _reader_of(data, data.piece(0, _BEGINNING))
    except RecursionError:
        return None


def paths_in(paths: Iterable[Path]) -> FoundPaths:
    """The files of known formats below paths, in order; links that lead out of a folder are not followed.

    After the iteration, `unknown` is the number of files of unknown formats, and `troubles` lists those that could not be read.
    """
    return FoundPaths(paths, reader_of)


def reader_names() -> list[str]:
    """The formats, in words."""
    return [reader.name for reader in _readers()]


def _reader_of(data: Data, beginning: bytes) -> Reader | None:
    return next((reader for reader in _readers() if reader.recognizes(data, beginning)), None)


@cache
def _readers() -> tuple[Reader, ...]:
    """The readers of other packages first: they are for one format each."""
    others = [plugin("sources", name) for name in plugin_names("sources")]
    return (*others, *READERS)


def _kind_of(beginning: bytes) -> str:
    """A description of bytes; they may contain a secret and are not shown."""
    text = beginning.lstrip(b"\xef\xbb\xbf \r\n\t")
    if not text:
        return "only white space" if beginning else "an empty file"
    if values := first_values(beginning):
        first = values[0]
        if not first:
            kind = "list" if isinstance(first, list) else "object"
            return (
                f"an empty JSON {kind}"
                if b"".join(text.split()) in (b"{}", b"[]")
                else "damaged JSON"
            )
        if isinstance(first, list):
            return f"a JSON list of something else; its first item: {members_of(first[0])}"
        return f"JSON of something else: {members_of(first)}"
    return _kind_of_text(text[:1000])


def _kind_of_text(text: bytes) -> str:
    if text[:1] in (b"{", b"[", b"<"):
        return "HTML or XML" if text[:1] == b"<" else "damaged JSON"
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(text) - 4:  # else a character is cut
            return "binary data"
    return "binary data" if b"\x00" in text else "plain text"


# ---- Folders -> the files in them that a reader recognizes, in sorted order, each session once.


_HIDDEN = frozenset(
    {
        ".claude",
        ".codex",
        ".gemini",
        ".opencode",
        ".qwen",
        ".pi",
        ".copilot",
        ".cline",
        ".local",
        ".innervoice",
    }
)
"""Hidden folders in which programs keep sessions; others are not searched."""


class FoundPaths(Iterator[Path]):
    """The files below paths, one after the other: those of a folder, then those of its folders.

    A file that was named is returned in any case. Companions of a session, such as the files of its subagents, are left out.
    """

    def __init__(self, paths: Iterable[Path], reader_of: Callable[[Path], Reader | None]) -> None:
        self.unknown = 0
        """How many files have an unknown format."""
        self.troubles: list[Trouble] = []
        """What could not be read."""
        self._reader_of = reader_of
        self._companions: set[Path] = set()
        self._seen: set[Path] = set()
        self._found = self._walk(paths)

    def __next__(self) -> Path:
        return next(self._found)

    def _walk(self, paths: Iterable[Path]) -> Iterator[Path]:
        for path in map(Path, paths):
            if path.is_dir():
                yield from self._below(path, path.resolve())
            elif self._is_new(path):
                yield path

    def _below(self, folder: Path, root: Path) -> Iterator[Path]:
        try:
            inside = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self._add_trouble(folder, error)
            return
        files: list[Path] = []
        folders: list[Path] = []
        for entry in inside:
            path = folder / entry.name
            try:
                if entry.is_symlink() and not path.resolve().is_relative_to(root):
                    continue
                if entry.is_dir():
                    if (not entry.name.startswith(".") or entry.name in _HIDDEN) and self._is_new(
                        path
                    ):
                        folders.append(path)
                elif entry.is_file() and not entry.name.startswith("."):
                    files.append(path)
            except (OSError, RuntimeError) as error:  # links in a circle are one or the other
                self._add_trouble(path, error)
        yield from self._recognized(files)
        for path in folders:
            yield from self._below(path, root)

    def _recognized(self, files: list[Path]) -> Iterator[Path]:
        """The files of known formats that are not companions; a companion may come before its session."""
        paths: list[Path] = []
        for path in files:
            try:
                reader = self._reader_of(path)
                if reader is not None:
                    paths.append(path)
                    self._companions.update(reader.companions(path))
                elif path not in self._companions:
                    self.unknown += 1
            except OSError as error:
                self._add_trouble(path, error)
        for path in paths:
            if path not in self._companions and self._is_new(path):
                yield path

    def _is_new(self, path: Path) -> bool:
        """False for a file that was found before, under another name."""
        try:
            real = path.resolve()
        except (OSError, RuntimeError):
            return False
        is_new = real not in self._seen
        self._seen.add(real)
        return is_new

    def _add_trouble(self, path: Path, error: OSError | RuntimeError) -> None:
        why = getattr(error, "strerror", None) or "its links lead in a circle"
        self.troubles.append(Trouble(None, f"{path}: cannot be read: {why}"))
