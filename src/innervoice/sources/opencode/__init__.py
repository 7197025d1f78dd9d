"""opencode sessions: its database, the output of `opencode export`, and the JSON files of older versions.

Not documented; this follows packages/opencode/src of anomalyco/opencode (session/message-v2.ts, session/session.sql.ts, cli/cmd/export.ts,
storage/json-migration.ts; read 2026-11-16).

  since 1.2     `~/.local/share/opencode/opencode.db`, SQLite: `session` (id, parent_id, title, revert, time_created), `message` (id, session_id, data) and
                `part` (id, message_id, session_id, data), where `data` is JSON. Ids grow with time.
  export        {"info": session, "messages": [{"info": message, "parts": [part, ...]}]}
  before 1.2    `storage/session/<project>/<session>.json`, `storage/message/<session>/<message>.json`, `storage/part/<message>/<part>.json`; before 0.6
                `session/info/<session>.json`, `session/message/<session>/`, `session/part/<session>/<message>/`.

Types of parts: text, reasoning, tool (a call with its result), file, step-start, step-finish, snapshot, patch, agent, subtask, retry, compaction.
`metadata` of a part has, by the name of the provider, the values that must be sent back: anthropic.signature or .redactedData, openai.itemId and
.reasoningEncryptedContent, google.thoughtSignature, bedrock.signature, openrouter.reasoning_details. A session with a parent belongs to a subagent.

The database is never written: see `database.py`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from innervoice.canon.jsontext import load_json
from innervoice.errors import DecodeError
from innervoice.sources.conversation import Conversation, seconds_of
from innervoice.sources.opencode.database import MAGIC, has_tables, open_database
from innervoice.sources.opencode.turns import StoredMessage, turns_of
from innervoice.sources.reader import (
    Data,
    Entry,
    Opened,
    Reader,
    Trouble,
    first_dicts,
    folder_name,
)
from innervoice.wire.json_access import as_dict, as_list, as_text

__all__ = ["READER"]


def _recognizes(data: Data, beginning: bytes) -> bool:
    if beginning.startswith(MAGIC):
        return has_tables(data)
    if b'"ses_' not in beginning:
        return False
    first = next(iter(first_dicts(beginning)), {})
    if _is_export(first):
        return True
    # The file of a session is useless without those next to it, so it needs a path.
    return data.path is not None and _is_session(first) and "messageID" not in first


def _is_export(first: dict[str, Any]) -> bool:
    return _is_session(as_dict(first.get("info")))


def _is_session(info: dict[str, Any]) -> bool:
    return (as_text(info.get("id")) or "").startswith("ses_") and "time" in info


def _open(data: Data) -> Opened:
    if data.piece(0, len(MAGIC)) == MAGIC:
        return open_database(data)
    first = next(iter(first_dicts(data.piece(0, 65_536))), {})
    return _open_export(data) if _is_export(first) else _open_tree(data)


# ---- export ----------------------------------------------------------------------------------------


def _open_export(data: Data) -> Opened:
    exported = _object(data)
    info = as_dict(exported.get("info"))
    name = as_text(info.get("id"))
    if name is None or not isinstance(exported.get("messages"), list):
        raise DecodeError("expected what `opencode export` writes: info with an id, and messages")
    troubles: list[Trouble] = []

    def read(entry: Entry) -> Conversation:
        messages = []
        for number, message in enumerate(as_list(_object(data).get("messages")), 1):
            stored = as_dict(message)
            about = as_dict(stored.get("info"))
            if not about:
                _add(troubles, f"message {number} has no info")
                continue
            messages.append(_stored(as_text(about.get("id")) or "", about, stored.get("parts")))
        return _conversation(entry, messages, info)

    lost = ("The conversations of subagents, which `opencode export` does not write.",)
    return Opened([_entry(name, info)], read, troubles, lost)


def _stored(name: str, info: dict[str, Any], parts: Any) -> StoredMessage:
    return StoredMessage(name, info, [part for part in as_list(parts) if isinstance(part, dict)])


def _object(data: Data) -> dict[str, Any]:
    try:
        value = load_json(data.piece())
    except ValueError as error:
        raise DecodeError(f"expected a session of opencode in JSON: {error}") from None
    if not isinstance(value, dict):
        raise DecodeError(f"expected a session of opencode, not {type(value).__name__}")
    return value


def _entry(name: str, info: dict[str, Any]) -> Entry:
    return Entry(
        name,
        as_text(info.get("title")) or "",
        parent=as_text(info.get("parentID")),
        at=seconds_of(as_dict(info.get("time")).get("created")),
        model=as_text(as_dict(info.get("model")).get("id")),
        project=folder_name(info.get("directory")),
        folder=as_text(info.get("directory")),
    )


def _conversation(
    entry: Entry, messages: list[StoredMessage], info: dict[str, Any]
) -> Conversation:
    reverted = as_text(as_dict(info.get("revert")).get("messageID"))
    turns = tuple(turns_of(messages, reverted))
    return Conversation(id=entry.id, title=entry.title, turns=turns, parent=entry.parent)


def _add(troubles: list[Trouble], why: str) -> None:
    if (trouble := Trouble(None, why)) not in troubles:
        troubles.append(trouble)


# ---- the files of older versions -------------------------------------------------------------------


def _open_tree(data: Data) -> Opened:
    assert data.path is not None
    files: dict[str, Path] = {}
    entries: list[Entry] = []
    troubles: list[Trouble] = []
    for path in [data.path, *_sessions_below(data.path)]:
        try:
            info = _object(Data(path))
        except (DecodeError, OSError) as error:
            if path == data.path:
                raise DecodeError(str(error)) from None
            troubles.append(Trouble(None, f"{path.name}: {error}"))
            continue
        name = as_text(info.get("id")) or path.stem
        if name not in files:
            files[name] = path
            entries.append(_entry(name, info))

    def read(entry: Entry) -> Conversation:
        path = files[entry.id]
        messages = []
        for file in _message_files(path, entry.id):
            info = _read_file(file, troubles)
            parts = [_read_file(part, troubles) for part in _part_files(path, entry.id, file.stem)]
            if info:
                messages.append(
                    _stored(
                        as_text(info.get("id")) or file.stem, info, [part for part in parts if part]
                    )
                )
        return _conversation(entry, messages, _object(Data(path)))

    return Opened(entries, read, troubles)


def _read_file(path: Path, troubles: list[Trouble]) -> dict[str, Any]:
    """The object in a file of the tree; an empty one, and a trouble, for a file without one."""
    try:
        return _object(Data(path))
    except (DecodeError, OSError) as error:
        _add(troubles, f"{path.name}: {error}")
        return {}


def _root(session: Path) -> tuple[Path, bool]:
    """The folder with the folders of messages and parts, and whether it has the oldest form."""
    oldest = session.parent.name == "info"
    return session.parent.parent if oldest else session.parent.parent.parent, oldest


def _message_files(session: Path, name: str) -> list[Path]:
    return _json_files(_root(session)[0] / "message" / name)


def _part_files(session: Path, name: str, message: str) -> list[Path]:
    root, oldest = _root(session)
    return _json_files(root / "part" / name / message if oldest else root / "part" / message)


def _json_files(folder: Path) -> list[Path]:
    try:
        return sorted(
            path for path in folder.iterdir() if path.suffix == ".json" and not path.is_symlink()
        )
    except OSError:
        return []


def _companions(path: Path) -> list[Path]:
    """The files that belong to a session file: subagents, and the files of all messages and parts."""
    if path.suffix != ".json" or path.parent.parent.name not in ("session", "storage"):
        return []
    files = []
    for session in [path, *_sessions_below(path)]:
        messages = _message_files(session, session.stem)
        parts = [
            part
            for message in messages
            for part in _part_files(session, session.stem, message.stem)
        ]
        files += [session, *messages, *parts]
    return [file for file in files if file != path]


def _sessions_below(path: Path) -> list[Path]:
    """The files of the subagents of a session, and of their subagents."""
    try:
        children = _children(path.parent, path.parent.stat().st_mtime_ns)
    except OSError:
        return []
    files: list[Path] = []
    pending = [path.stem]
    while pending:
        for child in children.get(pending.pop(0), ()):
            if child not in files and child != path:
                files.append(child)
                pending.append(child.stem)
    return files


@lru_cache(maxsize=16)
def _children(folder: Path, _changed: int) -> dict[str, tuple[Path, ...]]:
    """The sessions of a folder that have a parent, by its id. A folder is read once, not for each of its files."""
    by_parent: dict[str, tuple[Path, ...]] = {}
    for path in _json_files(folder):
        try:
            beginning = Data(path).piece(0, 65_536)
        except OSError:
            continue
        parent = re.search(rb'"parentID"\s*:\s*"([^"]+)"', beginning)
        if parent:
            name = str(parent[1], "utf-8", "replace")
            by_parent[name] = (*by_parent.get(name, ()), path)
    return by_parent


READER = Reader(
    kind="opencode",
    name="sessions of opencode",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "The system prompt, the tools and the settings of a request.",
        "Whether readable reasoning is complete or a summary, except for the Responses API.",
        "When each step of a turn with several steps began.",
    ),
    companions=_companions,
)


# ---- the user --------------------------------------------------------------------------------------


# ---- the model -------------------------------------------------------------------------------------
