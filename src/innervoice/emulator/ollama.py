"""Ollama's native chat API."""

from __future__ import annotations

from innervoice.emulator.call import EmulatedCall
from innervoice.emulator.dialect_server import DialectServer, no_refusals, parts

__all__ = ["SERVER"]


def _is_on(call: EmulatedCall) -> bool:
    return call.body.get("think") is not False and call.target.row.control != "none"


SERVER = DialectServer(
    is_on=_is_on,
    check=no_refusals,
    parts=parts,
)
