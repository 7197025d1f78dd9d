"""Ollama's native chat API."""

from __future__ import annotations

from innervoice.emulator.call import EmulatedCall
from innervoice.emulator.desk import Desk
from innervoice.emulator.unsealed import no_refusals, parts

__all__ = ["DESK"]


def _is_on(call: EmulatedCall) -> bool:
    return call.body.get("think") is not False and call.target.row.control != "none"


DESK = Desk(
    is_on=_is_on,
    check=no_refusals,
    parts=parts,
)
