"""Makes the pictures of the README: a page in headless Chromium, and a terminal in tmux.

Needs chromium, tmux and the environment `.venv`; run it from the project's folder: .venv/bin/python docs/pictures/make.py
"""

from __future__ import annotations

import io
import re
import subprocess
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

import innervoice as iv
from innervoice import show
from innervoice.emulator import Emulator, emulated_client
from innervoice.emulator.app import EmulatorServer

HERE = Path(__file__).parent
SESSION = "innervoice-pictures"
_WIDE = 122


def get_weather(city: str) -> str:
    """Tells the weather of a city."""
    return f"{city}: sunny"


def page() -> str:
    """A conversation as a notebook shows it."""
    chat = emulated_client().conversation(
        "anthropic/claude-opus-5-5",
        tools=[get_weather],
        reasoning=iv.Reasoning("high", show="summary"),
    )
    chat.ask("What is the weather in Lisbon and Oslo? Also 15 * 23")
    body = show.render_html(chat.history, unfolded=True)
    return f"<!doctype html><meta charset=utf-8><body style='margin:24px;font:16px sans-serif;max-width:720px'>{body}"


def photograph(html: str, picture: Path) -> None:
    """A screenshot of a page."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(html, "utf-8")
        subprocess.run(
            [
                "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
                "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
                f"--user-data-dir={folder}/profile", "--window-size=780,640", f"--screenshot={picture}", file.as_uri(),
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip


def terminal(command: str, lines: int, width: int = 100) -> str:
    """What a terminal shows after a command, with its colours."""
    tmux = ["tmux", "-L", SESSION]
    size = ["-x", str(width), "-y", str(lines)]
    subprocess.run(
        [*tmux, "new-session", "-d", "-s", SESSION, *size, f"{command}; sleep 60"], check=True
    )
    time.sleep(8)
    shown = subprocess.run(
        [*tmux, "capture-pane", "-e", "-p", "-t", SESSION],
        check=True,
        capture_output=True,
        text=True,
    )
    subprocess.run([*tmux, "kill-server"], check=False)
    return shown.stdout


def probed() -> str:
    """The table of `innervoice probe`, for a provider that has changed in a few facts."""
    changed = [
        {"match": ["claude-opus-5-5"], "model": {"efforts": ["low", "medium", "high"], "forced_tools": True}},
        {"host": {"says": {"unknown_model": "There is no model {model}."}}},
    ]  # fmt: skip
    with EmulatorServer(Emulator(deviations=changed)) as server:
        command = f"ANTHROPIC_API_KEY=any .venv/bin/innervoice probe anthropic/claude-opus-5-5 --yes --base-url {server.base_url('anthropic')} 2>/dev/null"  # fmt: skip
        return terminal(command, 50, _WIDE)


def drawn(ansi: str, picture: Path, title: str, width: int = 100) -> None:
    """A terminal as a picture."""
    console = Console(record=True, width=width, file=io.StringIO())
    console.print(Text.from_ansi(ansi.rstrip()))
    # Fonts from the network are none of a picture's business.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title=title), flags=re.DOTALL)
    picture.write_text(svg, "utf-8")


if __name__ == "__main__":
    photograph(page(), HERE / "notebook.png")
    drawn(terminal(".venv/bin/innervoice demo --fast", 70), HERE / "demo.svg", "innervoice demo")
    drawn(probed(), HERE / "probe.svg", "innervoice probe anthropic/claude-opus-5-5", _WIDE)
