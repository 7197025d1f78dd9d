"""How a missing package is installed here: with pip or uv, from an index or from the checkout that innervoice runs from."""

from __future__ import annotations

import json
import shutil
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["install_command"]


def install_command(extra: str) -> str:
    """The command that installs innervoice with an extra into the environment that runs this."""
    place = _checkout()
    what = f'-e "{place}[{extra}]"' if place else f'"innervoice[{extra}]"'
    return f"{_tool()} {what}"


def _tool() -> str:
    """pip, if this environment has it; else uv, which most environments without pip were made with."""
    if find_spec("pip") is None and shutil.which("uv"):
        return "uv pip install"
    if find_spec("pip") is None:
        return f"{sys.executable} -m ensurepip && {sys.executable} -m pip install"
    return "pip install"


@cache
def _checkout() -> str | None:
    """The folder of the sources, if innervoice was installed from them and stays there."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - slow

    try:
        text = distribution("innervoice").read_text("direct_url.json")
        facts = json.loads(text or "{}")
    except (PackageNotFoundError, ValueError):
        return None
    if not facts.get("dir_info", {}).get("editable"):
        return None
    path = Path(unquote(urlsplit(str(facts.get("url", ""))).path))
    return str(path) if (path / "pyproject.toml").is_file() else None
