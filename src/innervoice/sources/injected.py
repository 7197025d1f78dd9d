"""Texts that a program writes in the user's name: context, reminders, output of its own commands. A row each: how they begin, and whose they are.

Found in the programs of Claude Code 2.1.325 and Gemini CLI 0.61.0 and in a session of Cline 3.0.65 on 2026-11-17; those of Codex in public session files.
"""

from __future__ import annotations

__all__ = ["INJECTED", "is_injected"]

INJECTED: dict[str, str] = {
    "<system-reminder>": "Claude Code, opencode",
    "<command-name>": "Claude Code",
    "<command-message>": "Claude Code",
    "<local-command-": "Claude Code",
    "<task-notification>": "Claude Code",
    "<environment_context>": "Codex",
    "<user_instructions>": "Codex",
    "<permissions": "Codex",
    "<collaboration_mode>": "Codex",
    "<turn_aborted>": "Codex",
    "<user_shell_command>": "Codex",
    "<skills": "Codex",
    "# AGENTS.md instructions": "Codex",
    "<session_context>": "Gemini CLI",
    "This is the Gemini CLI. We are setting up the context": "Gemini CLI",
    "[SYSTEM] ": "Cline",
}
_BEGINNINGS = tuple(INJECTED)


def is_injected(text: str) -> bool:
    """Whether a program wrote a text that stands in the user's name."""
    return text.lstrip().startswith(_BEGINNINGS)
