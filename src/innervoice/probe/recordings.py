"""Exchanges with a server -> a file of redacted ones, and such a file -> a server that needs no network.

A file is a JSON list, as those in `vectors/`; each entry is one exchange:

    rule, why     the fact that it was sent for: its id, and what it is about
    key           which attempt and try of which recipe it is; a replay finds it by this
    request       method, path and body; no headers, no host
    response      status, the headers that say something about retries, and `body` (JSON), `stream` (names and data of events) or `text`

Seals, ids of accounts and whatever looks like a key are replaced: a seal by its length, which is enough to see that there is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.request import Wire
from innervoice.canon.target import Target
from innervoice.errors import DecodeError, UsageError
from innervoice.frames.eventstream import chunk_bytes
from innervoice.frames.frame import Frame, FrameError
from innervoice.frames.sniff import AnyFraming
from innervoice.privacy.redactor import Redactor
from innervoice.privacy.secrets import redacted
from innervoice.probe.exchanges import Raw, Server
from innervoice.probe.facts import ProbeFact
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict, as_list

__all__ = ["Recorded", "Recorder", "recorded_models"]

_HEADERS = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
_ACCOUNT = re.compile(
    r"\b(org|organization|proj|project|acct|account|user|team)[-_][A-Za-z0-9]{6,}"
)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_SHARED = Redactor("share")


class Recorder:
    """A server whose exchanges are kept."""

    def __init__(self, server: Server, folder: Path, fact: Callable[[], ProbeFact | None]) -> None:
        self._server = server
        self._folder = folder
        self._fact = fact
        self._entries: list[dict[str, Any]] = []
        self.base_url = server.base_url

    def exchange(self, wire: Wire, target: Target, key: str, *, peek: bool = False) -> Raw:
        """The server's reply."""
        raw = self._server.exchange(wire, target, key, peek=peek)
        fact = self._fact()
        self._entries.append(
            {
                "rule": fact.id if fact else "",
                "why": fact.fact if fact else "",
                "key": key,
                "request": {
                    "method": wire.method,
                    "path": urlsplit(wire.url).path,
                    "body": _plain(wire.body),
                },
                "response": _response(raw),
            }
        )
        return raw

    def write(self, target: Target) -> Path:
        """Writes the file of a model; returns its path."""
        file = self._folder / _name(target)
        entries = [{"provider": target.provider, "model": target.model, "dialect": target.dialect, **entry} for entry in self._entries]  # fmt: skip
        lines = ",\n".join(dump_json(entry).decode() for entry in entries)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            file.write_text(f"[\n{lines}\n]\n", "utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {file}: {error.strerror}") from None
        return file


class Recorded:
    """A recording as a server: it answers what it was asked before."""

    base_url = "http://recording"

    def __init__(self, folder: Path, target: Target) -> None:
        file = folder / _name(target)
        models = recorded_models(folder)
        if not file.is_file():
            known = ", ".join(models) or "none"
            raise UsageError(f"{folder} has no recording of {target.provider}/{target.model} in {target.dialect}; it has: {known}")  # fmt: skip
        self._replies = {
            str(entry.get("key")): as_dict(entry.get("response"))
            for entry in map(as_dict, as_list(_read(file)))
        }

    def exchange(self, wire: Wire, target: Target, key: str, *, peek: bool = False) -> Raw:  # noqa: ARG002 - as other servers
        """The recorded reply."""
        response = self._replies.get(key)
        if response is None:
            return Raw(problem="not in the recording")
        status = response.get("status")
        if not isinstance(status, int) or not status:
            return Raw(problem=str(response.get("problem") or "failed"))
        headers = {
            str(name): str(value) for name, value in as_dict(response.get("headers")).items()
        }
        return Raw(status, headers, _body(response, target))


def recorded_models(folder: Path) -> dict[str, str]:
    """The models that a folder has recordings of -> their dialects."""
    models = {}
    for file in sorted(folder.glob("*.json")):
        first = as_dict(next(iter(as_list(_read(file))), None))
        if "provider" in first and "dialect" in first:
            models[f"{first['provider']}/{first.get('model')}"] = str(first["dialect"])
    return models


def _read(file: Path) -> Any:
    try:
        return load_json(file.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the recording {file}: {error}") from None


def _name(target: Target) -> str:
    return _UNSAFE.sub("-", f"{target.provider}-{target.model}-{target.dialect}") + ".json"


# ---- what is kept of a reply -------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """JSON without seals, keys and ids of accounts."""
    return _without_accounts(_SHARED.foreign(value))


def _without_accounts(value: Any) -> Any:
    match value:
        case str():
            return _ACCOUNT.sub(r"\1-[id]", value)
        case dict():
            return {key: _without_accounts(item) for key, item in value.items()}
        case list():
            return [_without_accounts(item) for item in value]
        case _:
            return value


def _response(raw: Raw) -> dict[str, Any]:
    if not raw.status:
        return {"status": 0, "problem": raw.problem}
    headers = {name: value for name, value in dict(raw.headers).items() if name in _HEADERS}
    head: dict[str, Any] = {"status": raw.status, "headers": headers}
    try:
        return {**head, "body": _plain(load_json(raw.body))}
    except ValueError:
        pass
    frames = _frames(raw.body)
    if frames is None:
        return {**head, "text": _without_accounts(redacted(raw.body.decode("utf-8", "replace")))}
    return {**head, "stream": [_frame(frame) for frame in frames if frame.data is not None]}


def _frames(body: bytes) -> list[Frame] | None:
    framing = AnyFraming()
    try:
        frames = [*framing.feed(body), *framing.finish()]
    except (FrameError, DecodeError):
        return None
    return frames if any(frame.data for frame in frames) else None


def _frame(frame: Frame) -> list[Any]:
    """An event: its name, and its data as JSON or text."""
    data = frame.data or b""
    try:
        return [frame.name, _plain(load_json(data))]
    except ValueError:
        return [frame.name, _without_accounts(redacted(data.decode("utf-8", "replace")))]


def _body(response: Mapping[str, Any], target: Target) -> bytes:
    """The bytes of a recorded reply, framed as by its dialect."""
    if "body" in response:
        return dump_json(response["body"])
    if "stream" not in response:
        return str(response.get("text", "")).encode()
    host = target.host
    framing = chunk_bytes if host and host.envelope else dialect_named(target.dialect).framing
    pieces = []
    for event in as_list(response["stream"]):
        name, data = event if isinstance(event, list) and len(event) == 2 else (None, event)
        content = data.encode() if isinstance(data, str) else dump_json(data)
        pieces.append(framing(Frame(content, name)))
    return b"".join(pieces)
