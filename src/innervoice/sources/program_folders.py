"""Where agents keep their sessions on this machine: a row for each program, with the variable that moves its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

__all__ = ["PROGRAM_FOLDERS", "ProgramFolder", "session_folder"]


class ProgramFolder(NamedTuple):
    """The folder of one program."""

    kind: str
    """The kind of its reader."""
    variable: str | None
    """The variable of the environment that names another folder; None if there is none."""
    usual: str
    """The folder without the variable, in the user's home."""
    below: str = ""
    """What comes behind the folder of the variable."""
    sessions: str = ""
    """Where its sessions are in the folder."""


PROGRAM_FOLDERS = {
    row.kind: row
    for row in (
        ProgramFolder("claude-code", "CLAUDE_CONFIG_DIR", ".claude", sessions="projects"),
        ProgramFolder("codex", "CODEX_HOME", ".codex", sessions="sessions"),
        ProgramFolder("gemini-cli", "GEMINI_CLI_HOME", ".gemini", ".gemini", "tmp"),
        ProgramFolder("opencode", "XDG_DATA_HOME", ".local/share/opencode", "opencode"),
        ProgramFolder("pi", "PI_CODING_AGENT_DIR", ".pi/agent", sessions="sessions"),
        ProgramFolder("copilot-cli", "COPILOT_HOME", ".copilot", sessions="session-state"),
        ProgramFolder("cline", None, ".cline/data", sessions="sessions"),
    )
}
"""By the kinds of the readers. Read in Claude Code 2.1.325, Codex 0.166.0, Gemini CLI 0.61.0, opencode 1.18.33, pi 0.73.1 and Copilot CLI 1.0.102 (2026-11-18)."""


def session_folder(kind: str, environment: Mapping[str, str], home: Path) -> Path:
    """The folder in which a program keeps its sessions, whether it exists or not."""
    row = PROGRAM_FOLDERS[kind]
    moved = environment.get(row.variable) if row.variable else None
    return (Path(moved) / row.below if moved else home / row.usual) / row.sessions
