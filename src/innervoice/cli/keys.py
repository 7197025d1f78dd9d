"""`innervoice keys`: the virtual keys of a gateway's callers, in its store."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from innervoice.canon.jsontext import dump_json
from innervoice.cli.commands import SuggestingGroup
from innervoice.cli.store import config_option, with_state
from innervoice.installing import install_command
from innervoice.pricing import are_prices_known

if TYPE_CHECKING:
    from innervoice.gateway.callers import Budget, Caller, CallerKeys

__all__ = ["command"]

Result = TypeVar("Result")

_EPILOG = """\
\b
Examples:
  innervoice keys add alice                              prints the key, once, as the only standard output
  KEY=$(innervoice keys add alice --budget 50/month --rpm 60)
  innervoice keys add ci --models "sonnet,gemini/*" --expires 30d
  innervoice keys list
  innervoice keys revoke alice                           all keys of alice; use an id from the list for one key

As soon as there is a key, requests need one: within 5 seconds, in all processes that share the store.
Needs the packages of innervoice[gateway].
"""
_DURATION = re.compile(r"([1-9][0-9]{0,4})([mhdw])")
_UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_BUDGET = re.compile(r"\$?([0-9]{1,12}(?:\.[0-9]{1,6})?)/(day|week|month|total)")
_GLOB = re.compile(r"[A-Za-z0-9*][A-Za-z0-9*._:/@+~=,\[\]-]{0,254}")
_LONGEST = 100 * 366 * 86_400.0
_NO_STORE = (
    'keys need a store that outlives the gateway: set server.store, for example to "sqlite:gateway.db", and server.remember to'
    ' "seals" or "full"; or write callers into [keys] of the configuration'
)  # fmt: skip


@click.group("keys", cls=SuggestingGroup, epilog=_EPILOG)
def command() -> None:
    """Create, list and revoke the keys of a gateway's callers, with limits."""


@command.command("add")
@click.argument("name")
@click.option("--models", metavar="A,B", help="The model names that it may use; * matches any text.  [default: all]")  # fmt: skip
@click.option("--expires", metavar="WHEN", help="When it expires: 30d, 12h, or a date such as 2027-01-01 (UTC).")  # fmt: skip
@click.option("--budget", metavar="USD/PERIOD", help="The most it may spend, in US dollars: 50/month, 5/day, 20/week, 100/total.")  # fmt: skip
@click.option("--rpm", type=click.IntRange(1, 10**9), help="Requests per minute.")
@click.option("--tpm", type=click.IntRange(1, 10**12), help="Tokens per minute, input and output.")
@click.option("--streams", type=click.IntRange(1, 10**6), help="Responses in progress.  [default: server.streams_per_key]")  # fmt: skip
@click.option(
    "--other-paths",
    is_flag=True,
    help="May also use paths of providers that the gateway only passes on: embeddings, files, batches, ...",
)
@click.option(
    "--owner",
    is_flag=True,
    help="For someone who runs this gateway: may see everyone's requests at /view.",
)
@config_option
def add(
    *,
    name: str,
    models: str | None,
    expires: str | None,
    budget: str | None,
    rpm: int | None,
    tpm: int | None,
    streams: int | None,
    other_paths: bool,
    owner: bool,
    file: str | None,
) -> None:
    """Create a key for the owner NAME, and print it. It is not shown again.

    Keys of one NAME share turns and stored responses; each has its own limits.
    """
    now = time.time()
    wanted: dict[str, Any] = {
        "models": _models(models),
        "expires": None if expires is None else _moment(expires, now),
        "budget": None if budget is None else _budget(budget),
        "rpm": rpm,
        "tpm": tpm,
        "streams": streams,
        "other_paths": other_paths,
        "owns_gateway": owner,
    }
    _check_name(name)
    from innervoice.gateway.callers import Caller

    caller = Caller(name=name, created=now, **wanted)
    key = _with_keys(file, lambda keys: keys.add(caller), is_told=True)
    click.echo(f"A key for {name}, id {key.caller.id}; it is not shown again:", err=True)
    click.echo(key.key)
    if limits := _limits(key.caller):
        click.echo(f"Limits: {limits}", err=True)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
@config_option
def show(*, as_json: bool, file: str | None) -> None:
    """List all keys, each with its owner, its first characters, its state and its limits."""
    callers: list[Caller] = _with_keys(file, lambda keys: keys.all())
    now = time.time()
    if as_json:
        for caller in callers:
            click.echo(dump_json({**_members(caller), "state": _state(caller, now)}))
        return
    if not callers:
        click.echo("There are no keys in the store.", err=True)
    width = max((len(caller.name) for caller in callers), default=0)
    for caller in callers:
        state = f"{_state(caller, now):8}"
        facts = (caller.id, f"{caller.name:{width}}", caller.hint, state, _limits(caller))
        click.echo("  ".join(facts).rstrip())


@command.command("revoke")
@click.argument("which")
@click.option("--forget", is_flag=True, help="Also remove it from the list; requests with it are then refused as unknown.")  # fmt: skip
@config_option
def revoke(*, which: str, forget: bool, file: str | None) -> None:
    """Revoke one key, by its id or its first characters, or all keys of an owner."""

    async def end(keys: CallerKeys) -> list[Caller]:
        # The user may have only the key itself.
        whole = await keys.found(which)
        callers = [whole] if whole else _keys_for(await keys.all(), which)
        callers = [caller for caller in callers if caller.revoked is None or forget]
        if len(callers) > 1 and which.startswith("iv-"):
            ids = ", ".join(caller.id for caller in callers)
            raise click.ClickException(f"several keys start like this; name one of the ids {ids}")
        if not callers:
            raise click.ClickException(
                "no valid key has this id, start or owner; `innervoice keys list` shows all keys"
            )
        await keys.revoke(callers, time.time(), forget=forget)
        return callers

    for caller in _with_keys(file, end):
        click.echo(f"Revoked: {caller.id} ({caller.name}, {caller.hint})", err=True)


# ---- what was written ------------------------------------------------------------------------------


def _check_name(name: str) -> None:
    from innervoice.gateway.config.upstreams import OWNER_NAME, is_owner

    if not is_owner(name):
        raise click.BadParameter(f"expected {OWNER_NAME}", param_hint="NAME")


def _models(text: str | None) -> tuple[str, ...]:
    names = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    for name in names:
        if not _GLOB.fullmatch(name):
            raise click.BadParameter(
                f"expected names of models, got {name[:80]!r}", param_hint="--models"
            )
    if text is not None and not names:
        raise click.BadParameter("expected one name or more", param_hint="--models")
    return names


def _moment(text: str, now: float) -> float:
    """When a key expires, in seconds since 1970."""
    match = _DURATION.fullmatch(text)
    if match:
        moment = now + int(match[1]) * _UNITS[match[2]]
    else:
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            raise click.BadParameter(
                f"expected a time such as 30d or 12h, or a date such as 2027-01-01, got {text[:80]!r}",
                param_hint="--expires",
            ) from None
        moment = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    if not now < moment < now + _LONGEST:
        raise click.BadParameter("expected a time in the future", param_hint="--expires")
    return moment


def _budget(text: str) -> Budget:
    match = _BUDGET.fullmatch(text)
    if not match or not float(match[1]):
        raise click.BadParameter(
            f"expected dollars and a period (day, week, month or total), such as 50/month, got {text[:80]!r}",
            param_hint="--budget",
        )
    if not are_prices_known():
        raise click.ClickException(
            f"a budget needs the prices of models: {install_command('prices')}, here and where the gateway runs"
        )
    from innervoice.gateway.callers import Budget

    return Budget.from_row({"amount": float(match[1]), "period": match[2]})


def _keys_for(callers: list[Caller], which: str) -> list[Caller]:
    """The keys for an argument: by id, by their first characters, or by owner."""
    start = f"{which.rstrip('….')}…"
    by_id = [caller for caller in callers if which == caller.id]
    return by_id or [caller for caller in callers if which == caller.name or start == caller.hint]


# ---- what is shown ---------------------------------------------------------------------------------


def _state(caller: Caller, now: float) -> str:
    if caller.revoked is not None:
        return "revoked"
    return "expired" if caller.expires is not None and caller.expires <= now else "valid"


def _limits(caller: Caller) -> str:
    budget = caller.budget
    limits = (
        ("models", ",".join(caller.models)),
        ("until", _date(caller.expires) if caller.expires is not None else ""),
        ("budget", f"${budget.amount:,.2f}/{budget.period}" if budget else ""),
        ("rpm", caller.rpm),
        ("tpm", caller.tpm),
        ("streams", caller.streams),
    )
    words = [f"{name} {value}" for name, value in limits if value]
    marks = [("owner", caller.owns_gateway), ("other paths", caller.other_paths)]
    return "  ".join([*(mark for mark, is_set in marks if is_set), *words])


def _members(caller: Caller) -> dict[str, Any]:
    budget = caller.budget
    return {
        "id": caller.id,
        "name": caller.name,
        "hint": caller.hint,
        "models": caller.models,
        "expires": caller.expires,
        "budget": {"amount": budget.amount, "period": budget.period} if budget else None,
        "rpm": caller.rpm,
        "tpm": caller.tpm,
        "streams": caller.streams,
        "other_paths": caller.other_paths,
        "owns_gateway": caller.owns_gateway,
        "created": caller.created,
        "revoked": caller.revoked,
    }


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


# ---- the store -------------------------------------------------------------------------------------


def _with_keys(
    file: str | None,
    work: Callable[[CallerKeys], Coroutine[Any, Any, Result]],
    *,
    is_told: bool = False,
) -> Result:
    """Calls a function with the keys in a gateway's store; `is_told`: prints which store that is."""
    from innervoice.gateway.callers import with_caller_keys

    return with_state(
        file, lambda state: with_caller_keys(state, work), without=_NO_STORE, is_told=is_told
    )
