"""Where a gateway keeps its key and its store, if nobody says so and if somebody does."""

import os
from base64 import b64encode

import pytest

from innervoice.errors import UsageError
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.gateway.operations.state import open_state

ONE, TWO = b"1" * 32, b"2" * 32


def opened(folder, *, emulated=False, environ=None, **server):
    config = GatewayConfig(server=ServerSettings(**server))
    return open_state(config, {"XDG_STATE_HOME": str(folder), **(environ or {})}, emulated=emulated)


def test_the_key_is_made_once_and_for_this_user_alone(tmp_path):
    first = opened(tmp_path)

    (file,) = (tmp_path / "innervoice").glob("gateway.key*")
    assert 0o600 == file.stat().st_mode & 0o777
    assert 0o700 == file.parent.stat().st_mode & 0o777
    assert 32 == len(first.key)
    assert first == opened(tmp_path)
    assert first.url == f"sqlite:{tmp_path}/innervoice/gateway.db"


def test_further_lines_are_older_keys(tmp_path):
    opened(tmp_path)
    file = tmp_path / "innervoice" / "gateway.key"
    file.write_text(f"{b64encode(ONE).decode()}\n\n{b64encode(TWO).decode()}\n")

    state = opened(tmp_path)
    assert (ONE, (TWO,)) == (state.key, state.older_keys)


def test_a_reference_is_the_key_and_makes_no_file(tmp_path):
    lines = "\n".join(b64encode(key).decode() for key in (TWO, ONE))
    state = opened(tmp_path, key="env:K", environ={"K": lines})

    assert (TWO, (ONE,)) == (state.key, state.older_keys)
    assert not list(tmp_path.rglob("gateway.key*"))


def test_a_key_file_that_others_can_read_is_refused(tmp_path):
    opened(tmp_path)
    file = tmp_path / "innervoice" / "gateway.key"
    file.chmod(0o644)

    with pytest.raises(UsageError, match="chmod 600"):
        opened(tmp_path)


def test_an_empty_key_file_is_refused(tmp_path):
    opened(tmp_path)
    (tmp_path / "innervoice" / "gateway.key").write_text("\n")

    with pytest.raises(UsageError, match="expected a key"):
        opened(tmp_path)


def test_a_folder_that_cannot_be_written_costs_the_key_of_the_next_start(tmp_path):
    (tmp_path / "innervoice").write_text("no folder")
    state = opened(tmp_path)

    assert 32 == len(state.key)
    assert state.url is None
    assert "turns are kept in memory" in state.notes[0]
    assert "the next start will use another key" in state.notes[1]


def test_a_store_that_was_asked_for_is_not_given_up(tmp_path):
    (tmp_path / "innervoice").write_text("no folder")
    assert "sqlite:mine.db" == opened(tmp_path, store="sqlite:mine.db").url


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({"remember": "off"}, None),
        ({"remember": "ram"}, None),
        ({"store": "ram"}, None),
        ({"store": "sqlite:mine.db"}, "sqlite:mine.db"),
        ({"store": "env:URL"}, "redis://:secret@cache:6379/0"),
        ({"emulated": True}, None),
        ({"emulated": True, "store": "sqlite:mine.db"}, "sqlite:mine.db"),
    ],
)
def test_where_the_store_is(tmp_path, settings, url):
    environ = {"URL": "redis://:secret@cache:6379/0"}
    assert url == opened(tmp_path, environ=environ, **settings).url


def test_a_shared_store_without_a_shared_key_is_told(tmp_path):
    state = opened(tmp_path, store="redis://cache:6379/0")
    assert "need the same server.key" in state.notes[0]
    assert not opened(tmp_path, store="redis://cache/0", key="env:K", environ={"K": "k" * 32}).notes


def test_how_long_things_are_kept(tmp_path):
    kept = opened(tmp_path, keep_days=1, keep_most_days=2, keep_bytes=10**6).retention
    assert (86_400, 172_800, 10**6) == tuple(kept)


@pytest.mark.skipif(os.name != "posix", reason="processes that start at once")
def test_processes_that_start_at_once_have_one_key(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        states = list(pool.map(lambda _: opened(tmp_path), range(16)))
    assert 1 == len({state.key for state in states})
