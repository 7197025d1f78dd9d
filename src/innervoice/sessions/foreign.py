"""The documented name of `history_from` before all formats of files were in `sources/`."""

from __future__ import annotations

from innervoice.sources.stored import History, history_from

__all__ = ["History", "history_from"]
