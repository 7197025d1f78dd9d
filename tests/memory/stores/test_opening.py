"""The store that an address names."""

import asyncio
import stat
import sys

import pytest

from innervoice.errors import UsageError
from innervoice.installing import install_command
from innervoice.memory.stores.opening import open_store
from innervoice.memory.stores.ram import RamStore
from innervoice.memory.stores.sqlite import SqliteStore
from innervoice.memory.stores.store import Retention, StoredItem


def test_memory():
    assert isinstance(open_store("ram", Retention()), RamStore)


def test_a_file_and_its_folder_are_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    async def work(url):
        store = open_store(url, Retention())
        assert isinstance(store, SqliteStore)
        await store.put(StoredItem("1" * 32, "me", "turn", b"data", 1.8e9), [b"key"])
        await store.close()

    for url, path in (
        ("sqlite:new/store.db", "new/store.db"),
        (f"sqlite:{tmp_path}/more/store.db", "more/store.db"),
        ("sqlite:~/.innervoice/store.db", "home/.innervoice/store.db"),
    ):
        asyncio.run(work(url))
        assert stat.S_IMODE((tmp_path / path).stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / path).parent.stat().st_mode) == 0o700


def test_a_relative_file_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = open_store("sqlite:store.db", Retention())
    monkeypatch.chdir("/")
    assert store.path == tmp_path / "store.db"


@pytest.mark.parametrize(
    "scheme", ["redis", "rediss", "valkey", "valkeys", "postgres", "postgresql"]
)
def test_a_server_is_not_asked_before_the_store_is_used(scheme):
    pytest.importorskip("redis")
    pytest.importorskip("asyncpg")
    store = open_store(f"{scheme}://me:sesame@127.0.0.1:1/0", Retention())
    assert "Postgres" in type(store).__name__ or "Redis" in type(store).__name__


@pytest.mark.parametrize(
    ("scheme", "package", "extra"),
    [
        ("redis", "redis", "redis"),
        ("valkeys", "redis", "redis"),
        ("postgresql", "asyncpg", "postgres"),
    ],
)
def test_a_missing_package_says_how_to_install_it(monkeypatch, scheme, package, extra):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError) as caught:
        open_store(f"{scheme}://me:sesame@host/0", Retention())
    assert install_command(extra) in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "sqlite",
        "sqlite:",
        "mysql://me:sesame@host/x",
        "redis:sesame",
        "postgres://me:sesame@host:port/x",
    ],
)
def test_another_address_is_an_error_without_its_password(url):
    with pytest.raises(UsageError) as caught:
        open_store(url, Retention())
    assert "sesame" not in str(caught.value)


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(UsageError, match="folder"):
        open_store(f"sqlite:{tmp_path}", Retention())
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be created"):
        open_store(f"sqlite:{tmp_path}/file/store.db", Retention())
