"""The store of a gateway, for commands that access it while the gateway may run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from innervoice.errors import UsageError

if TYPE_CHECKING:
    from innervoice.gateway.state import GatewayState
    from innervoice.memory.stores.store import Store

__all__ = ["config_option", "with_state", "with_store"]

Result = TypeVar("Result")

_PACKAGES = ("cryptography",)

config_option = click.option(
    "--config", "file", type=click.Path(), help="The gateway's configuration, a TOML file."
)


def with_state(
    file: str | None,
    work: Callable[[GatewayState], Coroutine[Any, Any, Result]],
    *,
    without: str,
    is_told: bool = False,
) -> Result:
    """Calls a function with the keys and the store of a gateway. `without` is the error if it has none; `is_told`: prints which store it is."""
    if any(find_spec(name) is None for name in _PACKAGES):
        raise click.UsageError('the gateway needs: pip install "innervoice[gateway]"')
    from innervoice.cli.serve_output import store_line
    from innervoice.memory.stores.store import StoreError

    config = import_module("innervoice.gateway.config")
    state = import_module("innervoice.gateway.state")
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
