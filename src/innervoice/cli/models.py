"""`innervoice models`: what a model accepts and writes, with sources, and updates of that data."""

from __future__ import annotations

import os
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.rows import Card, Host, ModelRow
from innervoice.catalog.fact_sources import age_of, shown_value, sourced_facts
from innervoice.catalog.lookup import (
    all_hosts,
    all_model_rows,
    card_of,
    dialect_at,
    host_of,
    model_row_of,
    use_overrides,
)
from innervoice.catalog.refresh import Refreshed, refreshed
from innervoice.catalog.targets import names_of
from innervoice.catalog.user_catalog import config_folder
from innervoice.cli.files import FileError, read_file, write_file
from innervoice.cli.parameters import bare_model_names, full_model_name, meant
from innervoice.errors import InnervoiceError

__all__ = ["command", "overrides_file"]

_EPILOG = """\
\b
Examples:
  innervoice models                                  the providers, and the number of rows for each
  innervoice models anthropic                        the rows of a provider
  innervoice models anthropic/claude-opus-5-5        what it accepts, what it writes, and the sources
  innervoice models anthropic/claude-opus-5-5 --source    where each fact comes from, and how old it is
  innervoice models refresh https://models.dev/api.json   update from models.dev, or from a copy of its file
  innervoice models refresh https://.../v1/models    or a provider's own list, by URL
"""
_TIMEOUT = 30
_MOST_SHOWN = 8
_LONGEST_VALUE = 34


def overrides_file() -> Path:
    """The file with the rows of `refresh`."""
    return config_folder() / "asks.json"


def load_overrides() -> None:
    """Activates the rows of `refresh`."""
    file = overrides_file()
    try:
        rows = [ModelRow.from_row(row) for row in load_json(file.read_bytes())]
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileError(f"Cannot read {file}: {error.strerror}.") from None
    except (TypeError, ValueError) as error:
        raise FileError(
            f'{file} is damaged: {error}. Delete it, or create it again with "innervoice models refresh SOURCE".'
        ) from None
    use_overrides(rows)


@click.command("models", epilog=_EPILOG)
@click.argument("name", required=False)
@click.argument("source", required=False)
@click.option("--dialect", help="The wire format, if a host has several.")
@click.option(
    "--source",
    "with_sources",
    is_flag=True,
    help="Say of each fact where it comes from, and how old it is.",
)
def command(
    *, name: str | None, source: str | None, dialect: str | None, with_sources: bool
) -> None:
    """Show which reasoning settings a model accepts, or update that data with "refresh SOURCE"."""
    try:
        if name == "refresh":
            _refresh(source)
            return
        load_overrides()
        lines = _sources(name, dialect) if with_sources else _lines(name, dialect)
        for line in lines:
            click.echo(line)
    except (InnervoiceError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def _overview() -> Iterator[str]:
    for host in all_hosts():
        count = sum(host.id in row.hosts for row in all_model_rows())
        yield f"{host.id:15} {host.dialect:17} {count:3} rows  {host.base_url}"


def _lines(name: str | None, dialect: str | None) -> Iterator[str]:
    if name is None:
        return _overview()
    host = host_of(name) if "/" not in name else None
    return _rows(host) if host else _model_lines(name, dialect)


def _rows(host: Host) -> Iterator[str]:
    """The rows of a provider, in the order in which they are looked up."""
    yield from _host_lines(host, host.dialect)
    for row in all_model_rows():
        if host.id in row.hosts:
            efforts = ", ".join(row.efforts) or "no efforts"
            yield f"  {', '.join(row.match[:2]):45} {row.control:20} {efforts}"


def _named(name: str) -> tuple[Host, str]:
    """The host and the model that a name means."""
    provider, model = names_of(None, name)
    host = next((host for host in all_hosts() if host.id == provider), None)
    if host is None or model is None:
        # A misspelled model may look like a provider, too: whatever is most similar is meant.
        known = [*(host.id for host in all_hosts()), *bare_model_names()]
        similar = [] if "/" in name else get_close_matches(name, known, 1)
        if similar and host_of(similar[0]) is not None and similar[0] != name:
            hint = meant(name, [host.id for host in all_hosts()])
            raise click.UsageError(f"unknown provider or model {name}.{hint}")
        full = full_model_name(name)
        if full == name:
            raise click.UsageError(
                f"expected a model as provider/model, such as openai/gpt-5.6, or a provider; not {name!r}"
            )
        return _named(full)
    return host, model


def _sources(name: str | None, dialect: str | None) -> Iterator[str]:
    """A line for each fact: its table, column and value, where it comes from, and its age."""
    if name is None:
        raise click.UsageError("--source needs a model, such as openai/gpt-5.6")
    host, model = _named(name)
    today = datetime.now(UTC).date()
    yield f"{host.id}/{model}"
    for fact in sourced_facts(host, model, dialect or dialect_at(host, model)):
        value = shown_value(fact.value)
        value = value if len(value) <= _LONGEST_VALUE else f"{value[: _LONGEST_VALUE - 3]}..."
        age = age_of(fact.source, today)
        yield f"  {fact.table:7} {fact.column:17} {value:34} {fact.source}{f' ({age})' if age else ''}"


def _model_lines(name: str, dialect: str | None) -> Iterator[str]:
    host, model = _named(name)
    dialect = dialect or dialect_at(host, model)
    row = model_row_of(model, host.id, dialect)
    yield f"{host.id}/{model}"
    yield from _host_lines(host, dialect)
    if row is None:
        yield "  accepts     its reasoning settings are unknown"
    else:
        yield from _row_lines(row)
    card = card_of(model)
    if card:
        yield from _card_lines(card)


def _host_lines(host: Host, dialect: str) -> Iterator[str]:
    host = host.in_dialect(dialect)
    yield f"  host        {host.base_url} ({dialect}); key in {', '.join(host.keys) or 'none'}"
    yield f"  reasoning   comes as {', '.join(host.fields)}"


def _row_lines(row: ModelRow) -> Iterator[str]:
    off = {
        "value": "yes",
        "omit": "by sending nothing",
        "between_tools": "but for notes between tools",
        "never": "no",
    }
    yield f"  control     {row.control}; when nothing is sent: {row.default}"
    most = f", up to effort {row.off_up_to}" if row.off_up_to else ""
    yield f"  efforts     {', '.join(row.efforts) or 'none'}; can be switched off: {off[row.off]}{most}"
    if row.budget:
        yield f"  budget      {row.budget[0]} to {row.budget[1]} tokens"
    yield f"  shown       {row.shown}; a switch gives {', '.join(row.showable) or 'nothing else'}"
    refused = [*row.refuses_always, *(f"{name} while it reasons" for name in row.refuses)]
    if refused:
        yield f"  refuses     {', '.join(refused)}"
    if not row.forced_tools:
        yield "  refuses     a forced tool choice while it reasons"
    if not row.tools:
        yield "  refuses     function tools while it reasons"
    field = f", in {row.replay_field}" if row.replay_field else ""
    yield f"  sent back   {row.replay}{field}"
    yield f"  source      {row.source} (row {', '.join(row.match[:2])})"


def _card_lines(card: Card) -> Iterator[str]:
    written = [*card.tags, *card.markup]
    opened = "; its text starts inside thinking" if card.prefix_open else ""
    yield f"  writes      {', '.join(written)}{opened}"
    yield f"  source      {card.source}"


def _refresh(source: str | None) -> None:
    if source is None:
        raise click.UsageError("refresh needs a SOURCE: the path or the URL of a JSON file")
    result = refreshed(load_json(_fetched(source)), f"{source}, {datetime.now(UTC):%Y-%m-%d}")
    if not result.rows:
        raise click.UsageError(f"{source} has no reasoning model of a supported provider")
    file = overrides_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"Cannot write {file}: {error.strerror}.") from None
    write_file(str(file), dump_json([_plain(row) for row in result.rows]), force=True)
    click.echo(f"{len(result.rows)} rows written to {file}")
    for line in _left_out(result):
        click.echo(line)


def _left_out(refreshed: Refreshed) -> Iterator[str]:
    """What was read from a list, and what was not."""
    taken = ", ".join(f"{column} {count}" for column, count in sorted(refreshed.taken.items()))
    yield f"  new values  {taken or 'none'}"
    if refreshed.without_reasoning:
        yield f"  left out    {refreshed.without_reasoning} models that do not reason"
    if refreshed.unknown_hosts:
        names = _some([f"{name!r}" for name in refreshed.unknown_hosts])
        yield f"  left out    {refreshed.unknown_hosts.total()} models of {len(refreshed.unknown_hosts)} providers that are unknown here: {names}"
    if refreshed.unknown_models:
        names = _some([f"{name!r}" for name in refreshed.unknown_models])
        yield f"  left out    {len(refreshed.unknown_models)} models that no row fits: {names}"
    if refreshed.not_understood:
        words = [f"{what} ({count})" for what, count in refreshed.not_understood.most_common()]
        yield f"  not known   {_some(words)}"


def _some(words: list[str]) -> str:
    """The first of many words; they come from a file, so they are shortened and made printable."""
    more = len(words) - _MOST_SHOWN
    names = ", ".join(
        word if len(word) <= 80 else f"{word[:77]}..." for word in words[:_MOST_SHOWN]
    )
    return f"{names}, and {more} more" if more > 0 else names


def _plain(row: ModelRow) -> dict[str, Any]:
    members = {name: getattr(row, name) for name in row.__struct_fields__}
    return {name: value for name, value in members.items() if value is not None}


def _fetched(source: str) -> bytes:
    if not source.startswith(("http://", "https://")):
        return read_file(source)
    request = urllib.request.Request(source, headers=_headers(source))  # noqa: S310 - http and https only
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310
            data: bytes = answer.read()
            return data
    except OSError as error:
        raise FileError(f"Cannot fetch {source}: {error}.") from None


def _headers(source: str) -> dict[str, str]:
    """The key of the host in the URL, if it is in the environment; it is sent to that host only."""
    host = next(
        (
            host
            for host in all_hosts()
            if "{" not in host.base_url and source.startswith(host.base_url)
        ),
        None,
    )
    key = (
        next((os.environ[name] for name in host.keys if os.environ.get(name)), None)
        if host
        else None
    )
    if key is None:
        return {}
    if host and host.id == "anthropic":
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}
    return {"authorization": f"Bearer {key}"}
