"""`innervoice probe` against an emulator on a port of this machine, through the command's own main function."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from click.testing import CliRunner

from innervoice.catalog.targets import split_id
from innervoice.cli.commands import innervoice as command
from innervoice.emulator import Emulator
from innervoice.emulator.app import EmulatorServer

__all__ = ["Probed", "emulator_server", "probe"]


class _Switchable:
    """An emulator that can be replaced by another while its server runs."""

    def __init__(self) -> None:
        self.emulator: Any = Emulator()
        self.requests = 0

    def reply(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Any:
        self.requests += 1
        return self.emulator.reply(method, path, headers, body)


class Probed:
    """What the command printed."""

    def __init__(self, result: Any) -> None:
        self.status = result.exit_code
        self.error = result.stderr
        self.data = json.loads(result.stdout) if result.stdout.startswith("{") else {}
        self.text = result.stdout
        self.facts = {fact["id"]: fact for fact in self.data.get("facts", [])}

    def with_status(self, *statuses: str) -> set[str]:
        return {name for name, fact in self.facts.items() if fact["status"] in statuses}

    @property
    def differing(self) -> set[str]:
        return self.with_status("differs")


@contextmanager
def emulator_server() -> Iterator[tuple[EmulatorServer, _Switchable]]:
    answering = _Switchable()
    with EmulatorServer(answering) as server:  # type: ignore[arg-type]
        yield server, answering


def probe(server: EmulatorServer, model: str, *arguments: str) -> Probed:
    """The command with --json, at the loopback address of the model's provider."""
    parsed = split_id(model)
    assert parsed is not None
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"), "test-key")  # fmt: skip
    address = server.base_url(parsed.provider)
    line = ["probe", model, "--base-url", address, "--yes", "--json", *arguments]
    return Probed(CliRunner().invoke(command, line, env=keys, catch_exceptions=False))
