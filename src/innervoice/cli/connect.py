"""The client of a command: for the provider if there is a key for it, else for the embedded emulator."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from innervoice.canon.reasoning import Reasoning
from innervoice.canon.rows import Host
from innervoice.catalog.lookup import dialect_at, host_of
from innervoice.catalog.targets import split_id
from innervoice.cli.files import FileError
from innervoice.cli.parameters import DEFAULT, USUAL
from innervoice.client.sync import Client
from innervoice.emulator.embedded import emulated_client
from innervoice.errors import UsageError

__all__ = [
    "ChosenModel",
    "Connection",
    "check_key",
    "chosen_model",
    "connect",
    "default_of",
    "setting_of",
    "tools_in",
]


class Connection(NamedTuple):
    """A client, and whether it is connected to the emulator."""

    client: Client
    emulated: bool


class ChosenModel(NamedTuple):
    """The model of a command."""

    name: str
    is_named: bool
    """Whether somebody named it: in the command, or as their own default."""


def chosen_model(model: str | None) -> ChosenModel:
    """The model that was passed, else the user's own default, else the first default model with a key, else the first default model."""
    if model := model or default_of("model"):
        return ChosenModel(model, is_named=True)
    usual = next((model for model in USUAL if _has_key(model)), DEFAULT)
    return ChosenModel(usual, is_named=False)


def connect(
    model: ChosenModel, *, base_url: str | None = None, emulated: bool = False
) -> Connection:
    """A client for a model; prints a line if it is emulated.

    Without a key the emulator answers on a terminal, where that line is read. Elsewhere, and for a model that somebody named, an invented answer could be
    taken for a real one: raises `click.ClickException`.
    """
    provider, host = _provider_of(model.name), _host_for(model.name)
    if base_url is not None:
        return Connection(Client(base_url=base_url, provider=provider), emulated=False)
    if not emulated and _has_key(model.name):
        return Connection(Client(), emulated=False)
    keys = " or ".join(host.keys) if host else ""
    if emulated:
        click.echo(f"The emulator answers for {provider}.", err=True)
    elif model.is_named or not _is_on_terminal():
        text = f"no API key for {provider}: set {keys}, or pass --emulated for invented answers without one"
        raise click.ClickException(text)
    else:
        click.echo(f"No API key for {provider}: the emulator answers (set {keys} for the real one).", err=True)  # fmt: skip
    return Connection(emulated_client(), emulated=True)


def _is_on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def check_key(model: str, otherwise: str) -> None:
    """Raises `click.UsageError` if there is no key for a model's provider; `otherwise` is what can be done without one."""
    host = _host_for(model)
    if host is not None and host.keys and not _has_key(model):
        keys = " or ".join(host.keys)
        raise click.UsageError(f"no API key for {host.id}: set {keys}, or {otherwise}")


def default_of(name: str) -> str | None:
    """A default of the user's: `INNERVOICE_MODEL`, or `model` in config.toml of the user's configuration."""
    if word := os.environ.get(f"INNERVOICE_{name.upper()}", "").strip():
        return word
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    file = Path(home) / "innervoice" / "config.toml"
    try:
        value = tomllib.loads(file.read_text("utf-8")).get(name)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"Cannot read {file}: {error.strerror}.") from None
    except ValueError as error:
        raise FileError(f"Cannot read {file}: {error}.") from None
    if value is not None and not isinstance(value, str):
        raise FileError(f"Cannot read {file}: {name} must be a text, not {value!r}.")
    return value


def _provider_of(model: str) -> str:
    parsed = split_id(model)
    return parsed.provider if parsed else model


def _host_for(model: str) -> Host | None:
    """The row of a model's provider, with the keys that this model needs."""
    host, parsed = host_of(_provider_of(model)), split_id(model)
    return host.in_dialect(dialect_at(host, parsed.model)) if host and parsed else host


def _has_key(model: str) -> bool:
    """Whether the environment has a key for a model's provider, or it needs none."""
    host = _host_for(model)
    if host is None:
        return True  # the client raises an error for an unknown provider
    local = "localhost" in host.base_url or "127.0.0.1" in host.base_url
    if host.aws_service and os.environ.get("AWS_ACCESS_KEY_ID"):
        return True
    return local or any(os.environ.get(name) for name in host.keys)


def setting_of(effort: str | None, show: str) -> Reasoning | None:
    """The reasoning setting: an effort as a word, a number of tokens, on or off; reasoning is requested if it is shown."""
    if effort in (None, "", "default"):
        setting = Reasoning()
    elif effort is not None and effort.isdigit():
        setting = Reasoning(budget=int(effort))
    else:
        word = str(effort).lower()
        part_of_setting = Reasoning.from_any({"off": "none", "on": True}.get(word, word))
        setting = part_of_setting or Reasoning()
    # Some models show no reasoning unless it is requested.
    return (
        setting if show == "none" or setting.effort == "none" else setting.replace(show="summary")
    )


def tools_in(file: str | None) -> list[Callable[..., Any]]:
    """The functions of a Python file that have a docstring and no leading underscore."""
    if file is None:
        return []
    path = Path(file)
    spec = importlib.util.spec_from_file_location("innervoice_tools", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (OSError, SyntaxError, ImportError) as error:
        raise UsageError(f"{file} cannot be loaded: {error}") from None
    functions: list[Callable[..., Any]] = [
        value
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == spec.name
        and not name.startswith("_")
        and value.__doc__
    ]
    if not functions:
        raise UsageError(f"{file} has no function with a docstring")
    return functions
