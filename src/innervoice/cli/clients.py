"""The rows of clients.toml, and what a row needs to run a client against a gateway: a command, variables and temporary files."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from innervoice.plugins import plugin, plugin_names

__all__ = ["Client", "ClientTarget", "clients", "nearest_clients"]

_PLACE = re.compile(r"\{(url|key|model|folder)\}")
_LOOPBACK = "127.0.0.1,localhost,::1"


@dataclass(frozen=True, slots=True)
class ClientTarget:
    """The gateway for a client, and the folder for the files of this run."""

    url: str
    key: str
    folder: Path
    model: str | None = None

    def fill(self, template: str, *, escaped: bool = False) -> str:
        """The template with its placeholders filled in; `escaped` for a text between double quotes."""
        values = {"url": self.url, "key": self.key, "folder": str(self.folder)}
        values["model"] = self.model or ""

        def value(found: re.Match[str]) -> str:
            text = values[found[1]]
            return json.dumps(text)[1:-1] if escaped else text

        return _PLACE.sub(value, template)


@dataclass(frozen=True, slots=True)
class Client:
    """A row of clients.toml, which explains the columns."""

    id: str
    name: str
    program: str
    install: str
    source: str
    dialect: str = ""
    arguments: tuple[str, ...] = ()
    model_arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    model_variables: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    needs_model: bool = False
    keeps: str = ""
    obstacle: str = ""

    def path(self, environ: Mapping[str, str]) -> str | None:
        """The path of the program; None if it is not installed."""
        return shutil.which(self.program, path=environ.get("PATH"))

    def command(self, target: ClientTarget) -> list[str]:
        """The arguments that go before the user's own."""
        templates = [*self.arguments, *(self.model_arguments if target.model else ())]
        return [target.fill(argument) for argument in templates]

    def environment(self, target: ClientTarget, environ: Mapping[str, str]) -> dict[str, str]:
        """The user's environment, pointed to the gateway."""
        variables = {name: value for name, value in environ.items() if name not in self.unset}
        # Requests to this machine must not go through a proxy.
        for name in ("NO_PROXY", "no_proxy"):
            variables[name] = ",".join(filter(None, (environ.get(name), _LOOPBACK)))
        templates = {**self.variables, **(self.model_variables if target.model else {})}
        return variables | {name: target.fill(value) for name, value in templates.items()}

    def write_files(self, target: ClientTarget) -> None:
        """Writes the files of this run, which may contain the key: readable only by this user."""
        for name, template in self.files.items():
            path = target.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(target.fill(template.lstrip("\n"), escaped=True), "utf-8")


@lru_cache(maxsize=1)
def clients() -> Mapping[str, Client]:
    """Every row, by its id."""
    text = Path(__file__).with_name("clients.toml").read_text("utf-8")
    rows = {row["id"]: row for row in tomllib.loads(text)["client"]}
    for name in plugin_names("clients"):
        for row in plugin("clients", name):
            rows.setdefault(row["id"], row)
    return {id_: _client(row) for id_, row in rows.items()}


def _client(row: Mapping[str, object]) -> Client:
    frozen = {
        name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
    }
    return Client(**frozen)  # type: ignore[arg-type]


def nearest_clients(given: str) -> list[str]:
    """The ids that are most similar to a text, also by the name of the program or the product."""
    by_name = {
        name.lower(): client.id
        for client in clients().values()
        for name in (client.name, client.program, client.id)
    }
    close = get_close_matches(given.lower()[:100], list(by_name), 3)
    return list(dict.fromkeys(by_name[name] for name in close))
