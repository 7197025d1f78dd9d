"""`innervoice store`: the turns and responses that a gateway keeps."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from innervoice.canon.jsontext import dump_json
from innervoice.cli.commands import SuggestingGroup
from innervoice.errors import UsageError
from innervoice.installing import install_command
from innervoice.show.visible import visible

if TYPE_CHECKING:
    from innervoice.gateway.operations.state import GatewayState
    from innervoice.memory.stores.store import Store, TenantUsage

__all__ = ["command", "config_option", "with_state", "with_store"]

Result = TypeVar("Result")

_PACKAGES = ("cryptography",)

config_option = click.option(
    "--config", "file", type=click.Path(), help="The gateway's configuration, a TOML file."
)

_EPILOG = """\
\b
Examples:
  innervoice store stats                                 how much is stored for each owner
  innervoice store forget alice                          deletes all turns and responses of alice
  innervoice store forget --all --yes                    deletes everyone's turns and responses
  innervoice store vacuum                                deletes what is over the limits, and frees disk space

The gateway may be running. Deleted data cannot be recovered, not even from the file; callers' keys stay.
Needs the packages of innervoice[gateway].
"""
_NO_STORE = (
    'this gateway keeps nothing that outlives it: server.store is "ram", or server.remember is "off" or "ram"'
)  # fmt: skip


@click.group("store", cls=SuggestingGroup, epilog=_EPILOG)
def command() -> None:
    """Show or delete the turns and responses that a gateway has stored."""


@command.command("stats")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
@config_option
def stats(*, as_json: bool, file: str | None) -> None:
    """Show how much is stored for each owner, and since when."""
    usage: list[TenantUsage] = with_store(file, lambda store: store.usage(), without=_NO_STORE)
    if as_json:
        for one in usage:
            click.echo(dump_json(one._asdict()))
        return
    if not usage:
        click.echo("The store is empty.", err=True)
    width = max((len(one.tenant) for one in usage), default=0)
    for one in usage:
        since = datetime.fromtimestamp(one.oldest, UTC).strftime("%Y-%m-%d %H:%M UTC")
        size = f"{one.size / 1e6:,.1f} MB" if one.size >= 1e6 else f"{one.size / 1e3:,.1f} kB"
        owner = visible(one.tenant).ljust(width)
        click.echo(f"{owner}  {one.items:>9,} items  {size:>12}  since {since}")


@command.command("forget")
@click.argument("owner", required=False)
@click.option("--all", "everybody", is_flag=True, help="Delete everyone's turns and responses.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@config_option
def forget(*, owner: str | None, everybody: bool, yes: bool, file: str | None) -> None:
    """Delete all turns and responses of OWNER. Without callers' keys the owner is "local"."""
    if (owner is None) == (not everybody):
        raise click.UsageError("expected the name of an OWNER, or --all")
    whose = "everybody" if everybody else f"{owner!r}"
    if not yes and sys.stdin.isatty():
        click.confirm(f"Delete all turns and responses of {whose}?", abort=True)
    elif not yes and everybody:
        raise click.UsageError("--all needs --yes if there is no terminal to ask for confirmation")

    async def work(store: Store) -> int:
        return await store.forget(owner)

    count = with_store(file, work, without=_NO_STORE)
    click.echo(f"Deleted {count:,} items of {whose}.")


@command.command("vacuum")
@config_option
def vacuum(*, file: str | None) -> None:
    """Delete what is over the limits (age, size), and free disk space."""
    count = with_store(file, lambda store: store.vacuum(), without=_NO_STORE)
    what = "Nothing was too old, or more than the limits allow: nothing was deleted."
    if count:
        what = f"Deleted {count:,} items that were too old, or more than the limits allow."
    click.echo(what)


# ---- the store of a gateway, for commands that access it while the gateway may run ----------------


def with_state(
    file: str | None,
    work: Callable[[GatewayState], Coroutine[Any, Any, Result]],
    *,
    without: str,
    is_told: bool = False,
) -> Result:
    """Calls a function with the keys and the store of a gateway. `without` is the error if it has none; `is_told`: prints which store it is."""
    if any(find_spec(name) is None for name in _PACKAGES):
        raise click.UsageError(f"the gateway needs: {install_command('gateway')}")
    from innervoice.cli.serve_output import store_line
    from innervoice.memory.stores.store import StoreError

    config = import_module("innervoice.gateway.config")
    state = import_module("innervoice.gateway.operations.state")
    try:
        loaded = config.load_config(
            Path(file) if file else None, os.environ, emulated=True, may_have_stored_keys=True
        )
        opened = state.open_state(loaded, os.environ)
        if opened.url is None:
            raise click.ClickException(without)
        if is_told:
            for line in (store_line(opened.url, loaded.server.remember, 1), *opened.notes):
                click.echo(line, err=True)
        return asyncio.run(work(opened))
    except UsageError as error:
        raise click.ClickException(str(error)) from None
    except StoreError as error:
        raise click.ClickException(f"the store cannot be used: {error}") from None


def with_store(
    file: str | None,
    work: Callable[[Store], Coroutine[Any, Any, Result]],
    *,
    without: str,
) -> Result:
    """Calls a function with the store of a gateway, and closes it."""

    async def opened(state: GatewayState) -> Result:
        store = state.open_store()
        assert store is not None
        try:
            return await work(store)
        finally:
            await store.close()

    return with_state(file, opened, without=without, is_told=True)
