"""What a gateway keeps between starts: its own key, and its store. Commands that read the store open it the same way.

Without a configuration both are files in the user's state folder, for this user alone: `gateway.key` and `gateway.db`. A key file may
have several lines: the first is the key, the others are older ones that only open what was written with them. All machines that share a
store need the same key.
"""

from __future__ import annotations

import contextlib
import os
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from innervoice.errors import UsageError
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.gateway.config.secrets import key_bytes_of, secret, text_or_secret
from innervoice.memory.stores.store import Retention, Store

__all__ = [
    "LOG_FOLDER",
    "GatewayState",
    "log_folder_in",
    "open_state",
    "public_url",
    "state_folder",
    "store_url",
]

_KEY_FILE = "gateway.key"
_STORE_FILE = "gateway.db"
LOG_FOLDER = "requests"
"""Where, in the state folder, requests are kept for the viewer."""
_KEY_BYTES = 32


class GatewayState(NamedTuple):
    """The keys and the store of a gateway."""

    key: bytes
    older_keys: tuple[bytes, ...]
    url: str | None
    """Where the store is; None if turns are kept in memory alone."""
    retention: Retention
    log_folder: Path | None = None
    """Where requests are kept for the viewer; None if there is no place that outlives the process."""
    notes: tuple[str, ...] = ()
    """Messages about what may be unexpected."""

    def open_store(self) -> Store | None:
        """The store, in the process that uses it; None if there is none."""
        if self.url is None:
            return None
        from innervoice.memory.stores.opening import open_store  # noqa: PLC0415 - only with a store

        return open_store(self.url, self.retention)


def open_state(
    config: GatewayConfig, environ: Mapping[str, str], *, emulated: bool = False
) -> GatewayState:
    """The state of a gateway with this configuration; a key is created if there is none yet.

    An emulated gateway is for trying things out: without a store in the configuration it keeps nothing.
    """
    server = config.server
    url = store_url(server, environ, emulated=emulated)
    notes: list[str] = []
    if server.store is None and url is not None and not _is_writable(state_folder(environ), notes):
        url = None
    if server.key is not None:
        texts = _lines(secret(server.key, environ))
    elif emulated and url is None:
        texts = [b64encode(token_bytes(_KEY_BYTES)).decode()]
    else:
        texts = _own_key(state_folder(environ), notes)
        if url is not None and "://" in url:
            notes.append(
                "machines that share a store need the same server.key; this one has its own"
            )
    key, *older = (key_bytes_of(text) for text in texts)
    log_folder = None if emulated else log_folder_in(state_folder(environ))
    return GatewayState(key, tuple(older), url, _retention(server), log_folder, tuple(notes))


def log_folder_in(folder: Path) -> Path | None:
    """The folder for requests, created if it does not exist; None if it cannot be used."""
    wanted = folder / LOG_FOLDER
    return wanted if _is_writable(wanted, []) else None


def state_folder(environ: Mapping[str, str]) -> Path:
    """Where this user's programs keep their state."""
    base = environ.get("XDG_STATE_HOME") or ""
    # As the specification says, a path that is not absolute is ignored.
    home = Path(base) if Path(base).is_absolute() else Path("~/.local/state").expanduser()
    return home / "innervoice"


def store_url(server: ServerSettings, environ: Mapping[str, str], *, emulated: bool) -> str | None:
    """Where the store of these settings is; None: memory."""
    if server.remember in ("off", "ram"):
        return None
    if server.store is not None:
        url = text_or_secret(server.store, environ)
        return None if url == "ram" else url
    return None if emulated else f"sqlite:{state_folder(environ) / _STORE_FILE}"


def public_url(url: str) -> str:
    """Where a store is, without a password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if parts.netloc else url  # fmt: skip


def _is_writable(folder: Path, notes: list[str]) -> bool:
    """Whether the state folder can be used: a container may have none."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return True
        reason = "it is read-only"
    except OSError as error:
        reason = error.strerror or type(error).__name__
    notes.append(f"{folder} cannot be used ({reason}): turns are kept in memory; set server.store")
    return False


def _retention(server: ServerSettings) -> Retention:
    day = 86_400.0
    return Retention(server.keep_days * day, server.keep_most_days * day, server.keep_bytes)


def _own_key(folder: Path, notes: list[str]) -> list[str]:
    """The lines of the key file, which is created if it does not exist."""
    path = folder / _KEY_FILE
    new_key = b64encode(token_bytes(_KEY_BYTES)).decode()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            _write_new(path, new_key)
        keys = _lines(path.read_text("ascii"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        notes.append(f"{path} cannot be used ({reason}): the next start will use another key")
        return [new_key]
    except ValueError:
        keys = []
    if not keys:
        raise UsageError(f"expected a key in base64 on each line of {path}")
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise UsageError(f"others can read {path}; run: chmod 600 {path}")
    return keys


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _write_new(path: Path, text: str) -> None:
    """Writes a file that no other user can read, all of it or nothing: another process may start at the same time."""
    draft = path.with_name(f"{path.name}.{token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(f"{text}\n".encode("ascii"))
        os.link(draft, path)  # fails if the file exists
    finally:
        draft.unlink(missing_ok=True)
