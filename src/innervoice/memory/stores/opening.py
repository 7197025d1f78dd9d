"""Opens the store that a URL names."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from innervoice.errors import UsageError
from innervoice.installing import install_command
from innervoice.memory.stores.ram import RamStore
from innervoice.memory.stores.store import Retention, Store
from innervoice.plugins import plugin, plugin_names

__all__ = ["open_store"]

_REDIS = ("redis", "rediss", "valkey", "valkeys")
_POSTGRES = ("postgres", "postgresql")


def open_store(url: str, retention: Retention) -> Store:
    """Opens `ram`, `sqlite:FILE`, a server at `redis://`, `rediss://`, `valkey://`, `valkeys://` or `postgres://`, or a store of another package.

    A server that does not respond is noticed when the store is used; an invalid URL, or a missing package, is a `UsageError`.
    """
    if url == "ram":
        return RamStore(retention)
    scheme, colon, rest = url.partition(":")
    if scheme == "sqlite" and rest:
        return _sqlite(rest, retention)
    if colon and rest.startswith("//") and scheme in (*_REDIS, *_POSTGRES):
        return _on_server(scheme, url, retention)
    if colon and scheme in plugin_names("stores"):
        store: Store = plugin("stores", scheme)(url, retention)
        return store
    raise UsageError(
        # The rest of the URL may contain a password.
        "expected a store as ram, sqlite:FILE, redis://HOST, rediss://HOST, valkey://HOST, valkeys://HOST or postgres://HOST/DATABASE, "
        f"got {scheme + ':...' if colon else url!r}"
    )


def _sqlite(file: str, retention: Retention) -> Store:
    from innervoice.memory.stores.sqlite import SqliteStore  # noqa: PLC0415 - only who wants it

    path = Path(file).expanduser().absolute()
    if path.is_dir():
        raise UsageError(f"expected a file for the store, got the folder {path}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder of the store cannot be created: {error}") from None
    return SqliteStore(path, retention)


def _on_server(scheme: str, url: str, retention: Retention) -> Store:
    extra = "redis" if scheme in _REDIS else "postgres"
    try:
        _ = urlsplit(url).port
        if extra == "redis":
            from innervoice.memory.stores.redis import RedisStore  # noqa: PLC0415

            return RedisStore(url, retention)
        from innervoice.memory.stores.postgres import PostgresStore  # noqa: PLC0415

        return PostgresStore(url, retention)
    except ImportError:
        raise UsageError(
            f"a store at {scheme}:// needs another package: {install_command(extra)}"
        ) from None
    except ValueError:
        raise UsageError(f"the address of the store at {scheme}:// is not valid") from None
