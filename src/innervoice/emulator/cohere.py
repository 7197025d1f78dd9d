"""Cohere's chat API."""

from __future__ import annotations

from innervoice.emulator.call import EmulatedCall
from innervoice.emulator.dialect_server import DialectServer, no_refusals, parts
from innervoice.wire.json_access import as_dict

__all__ = ["SERVER"]


def _is_on(call: EmulatedCall) -> bool:
    off = as_dict(call.body.get("thinking")).get("type") == "disabled"
    return not off and call.target.row.control != "none"


SERVER = DialectServer(
    is_on=_is_on,
    check=no_refusals,
    parts=parts,
)
