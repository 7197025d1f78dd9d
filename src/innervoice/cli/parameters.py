"""The parameters that several commands share: names of models and providers, efforts, files, and the emulator.

Each converts what was typed, says what may be meant if it is misspelled, and completes it in the shell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

import click
from click.shell_completion import CompletionItem

from innervoice.canon.reasoning import Effort
from innervoice.catalog.lookup import all_hosts, host_of
from innervoice.catalog.makers import names_at, nearest_models, owners_of
from innervoice.catalog.targets import split_id

__all__ = [
    "DEFAULT",
    "EFFORT",
    "FILE",
    "MODEL",
    "NEW_FILE",
    "PROVIDER",
    "SHOW",
    "USUAL",
    "bare_model_names",
    "emulated_option",
    "full_model_name",
    "meant",
    "show_option",
]

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT = "anthropic/claude-opus-5-5"
USUAL = (
    DEFAULT,
    "openai/gpt-5.6",
    "gemini/gemini-3.5-flash",
    "deepseek/deepseek-v4-pro",
    "openrouter/anthropic/claude-opus-5-5",
)
"""The default models, in the order in which their keys are looked up."""
_EFFORTS = get_args(Effort)
_SHOWN = ("full", "summary", "length", "none")
_FAMILIAR = tuple(model.partition("/")[0] for model in USUAL)
"""The providers whose models are completed first."""


def meant(word: str, known: Iterable[str]) -> str:
    """A question that names what may be meant by a misspelled word; empty if nothing is similar."""
    similar = get_close_matches(word, [name for name in known if name != word], 3)
    return f" Did you mean {' or '.join(similar)}?" if similar else ""


def full_model_name(name: str) -> str:
    """A model as `provider/model`: a bare name gets its maker. Raises ValueError with what may be meant for an unknown one."""
    parsed = split_id(name)
    if parsed and (parsed.is_known or "/" in parsed.model):
        return name
    owners = () if "/" in name else owners_of(name)
    if len(owners) == 1:
        return f"{owners[0].id}/{name}"
    if owners:
        places = ", ".join(f"{host.id}/{name}" for host in owners[:5])
        raise ValueError(f"several providers have {name}; write one of {places}")
    similar = [one for one in nearest_models(name) if one != name]
    hint = f"; did you mean {' or '.join(similar)}?" if similar else ""
    what = "provider in " if "/" in name else "model "
    raise ValueError(f"unknown {what}{name}{hint or '; write it as provider/model'}")


class _Words(click.ParamType[str]):
    """A parameter whose words are known."""

    def words(self) -> Iterable[str]:
        """The words that a shell completes."""
        raise NotImplementedError

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        return [CompletionItem(word) for word in self.words() if word.startswith(incomplete)]


class _ModelName(_Words):
    name = "model"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if ctx is not None and isinstance(ctx.params.get("base_url"), str):
            return str(value)  # a server of the user's own has its own names
        try:
            return full_model_name(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def words(self) -> Iterable[str]:
        return model_names()


def model_names() -> list[str]:
    """The models of all providers whose own names are known, those of familiar providers first."""
    others = [host.id for host in all_hosts() if host.id not in _FAMILIAR]
    return [f"{host}/{name}" for host in (*_FAMILIAR, *others) for name in names_at(host)]


def bare_model_names() -> list[str]:
    """The models of all providers, without their providers."""
    return list(dict.fromkeys(name for host in all_hosts() for name in names_at(host.id)))


class _ProviderName(_Words):
    name = "provider"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        host = host_of(str(value))
        if host is None:
            self.fail(f"unknown provider {value}.{meant(str(value), _providers())}", param, ctx)
        return str(value)

    def words(self) -> Iterable[str]:
        return _providers()


def _providers() -> list[str]:
    return [host.id for host in all_hosts()]


class _Effort(_Words):
    name = "effort"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word = str(value).lower()
        if not (word.isdigit() or word in (*_EFFORTS, "on", "off", "default")):
            hint = meant(word, _EFFORTS) or f" Write one of {', '.join(_EFFORTS)}, or a number of tokens."  # fmt: skip
            self.fail(f"unknown effort {value}.{hint}", param, ctx)
        return word

    def words(self) -> Iterable[str]:
        return _EFFORTS


MODEL: click.ParamType[str] = _ModelName()
PROVIDER: click.ParamType[str] = _ProviderName()
EFFORT: click.ParamType[str] = _Effort()
FILE: click.ParamType[str] = click.Path(allow_dash=True)
"""A file that is read, or - for standard input; whether it exists is checked where it is read, which says more."""
NEW_FILE: click.ParamType[str] = click.Path(allow_dash=True)
SHOW: click.ParamType[str] = click.Choice(_SHOWN)


def show_option(command: Command) -> Command:
    """How much of the reasoning a command shows."""
    option = click.option("--show", type=SHOW, default="full", show_default=True, envvar="INNERVOICE_SHOW", help="How much of the reasoning is shown.")  # fmt: skip
    return option(command)


def emulated_option(text: str) -> Callable[[Command], Command]:
    """The option for the emulator; `--emulate` is its older name."""

    return click.option("--emulated", "--emulate", "emulated", is_flag=True, help=text)
