"""`innervoice store`: the turns and responses that a gateway keeps."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from innervoice.canon.jsontext import dump_json
from innervoice.cli.gateway_store import config_option, with_store
from innervoice.show.visible import visible

if TYPE_CHECKING:
    from innervoice.memory.stores.store import Store, TenantUsage

__all__ = ["command"]

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


@click.group("store", epilog=_EPILOG)
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
    click.echo(f"Deleted {count:,} items that were too old or too much.")
