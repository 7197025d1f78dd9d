"""Files and standard input of the commands that read conversations, of any format."""

from __future__ import annotations

from pathlib import Path

from innervoice.cli.files import FileError, read_file
from innervoice.errors import DecodeError
from innervoice.sources.opening import Source, open_source
from innervoice.sources.reader import NO_HINTS, Hints
from innervoice.sources.stored import History, history_from

__all__ = ["FORMATS", "history_of", "open_file"]

FORMATS = """\
Reads session files of Claude Code, Codex, Gemini CLI, opencode, pi, Copilot CLI and Cline; innervoice's own files; message lists of OpenAI,
Anthropic, Gemini and LangChain; request bodies; response bodies and captured streams; batch files; HAR recordings; logs of the gateway and of
litellm; exports of Langfuse and LangSmith; OpenTelemetry traces; logs of inspect. The format is detected.
"""
_OWN = frozenset({"stored", "claude-code", "codex"})
"""The kinds of sources that a repair writes in their own format."""


def open_file(file: str, hints: Hints = NO_HINTS) -> Source:
    """Opens a file, or standard input for `-`; raises `DecodeError` if its format is unknown."""
    try:
        return open_source(read_file(file) if file == "-" else Path(file), hints)
    except OSError as error:
        raise FileError(f"Cannot read {file}: {error.strerror}.") from None


def history_of(source: Source, data: bytes) -> History | None:
    """The history of a file whose format can be written again; None for any other."""
    if source.kind not in _OWN:
        return None
    try:
        return history_from(data)
    except DecodeError:  # one on each line
        return None
