"""How a missing package is installed here: with pip or uv, from where innervoice itself was installed."""

from __future__ import annotations

import json
import re
import shutil
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["extra_with", "install_command", "is_installed"]


_PACKAGES = {
    "google": "google-auth",
    "genai_prices": "genai-prices",
    "httptools": "uvicorn",
    "langchain_core": "langchain-core",
    "opentelemetry": "opentelemetry-api",
    "websockets": "uvicorn",
}
"""Modules whose packages have other names, or that come with another one."""
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9_.-]+).*;.*extra == ['\"](?P<extra>[^'\"]+)['\"]")


def install_command(extra: str) -> str:
    """Returns the command that installs innervoice with an extra into the environment that runs this."""
    return f"{_tool()} {_source(extra)}"


def extra_with(module: str) -> str | None:
    """Returns the extra that installs a module, the one with the fewest packages; None if no extra does, or innervoice itself is not installed."""
    packages = {_PACKAGES.get(module, module).lower()}
    extras = [extra for extra, names in _extras().items() if packages <= names]
    return min(extras, key=lambda extra: len(_extras()[extra]), default=None)


def is_installed(extra: str) -> bool:
    """True if every package of an extra is there."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow

    for name in _extras().get(extra, ()):
        try:
            version(name)
        except PackageNotFoundError:
            return False
    return True


@cache
def _extras() -> dict[str, frozenset[str]]:
    """Extras -> the names of their packages, by what innervoice says of itself."""
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415 - slow

    try:
        lines = requires("innervoice") or []
    except PackageNotFoundError:
        return {}
    extras: dict[str, set[str]] = {}
    for line in lines:
        if (match := _REQUIREMENT.match(line)) and match["name"] != "innervoice":
            extras.setdefault(match["extra"], set()).add(match["name"].lower())
    return {extra: frozenset(names) for extra, names in extras.items() if extra != "all"}


def _tool() -> str:
    """pip, if this environment has it; else uv, which most environments without pip were made with."""
    if find_spec("pip") is None and shutil.which("uv"):
        return "uv pip install"
    if find_spec("pip") is None:
        return f"{sys.executable} -m ensurepip && {sys.executable} -m pip install"
    return "pip install"


def _source(extra: str) -> str:
    """What is installed: the checkout, the repository or the file that innervoice came from, or what an index has under its name."""
    origin = _origin()
    url = str(origin.get("url", ""))
    if "dir_info" in origin:
        path = Path(unquote(urlsplit(url).path))
        if (path / "pyproject.toml").is_file():
            option = "-e " if origin["dir_info"].get("editable") else ""
            return f'{option}"{path}[{extra}]"'
    if vcs := origin.get("vcs_info"):
        commit = vcs.get("requested_revision") or vcs.get("commit_id")
        return f'"innervoice[{extra}] @ {vcs.get("vcs")}+{url}{f"@{commit}" if commit else ""}"'
    if url and "archive_info" in origin:
        return f'"innervoice[{extra}] @ {url}"'
    return f'"innervoice[{extra}]"'


@cache
def _origin() -> dict[str, Any]:
    """Where innervoice was installed from (PEP 610); empty if it was an index."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - slow

    try:
        facts = json.loads(distribution("innervoice").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}
