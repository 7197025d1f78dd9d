"""Mistral's chat API: ids of calls are nine letters and digits."""

from __future__ import annotations

from collections.abc import Iterator

from innervoice.canon.parts import Part
from innervoice.emulator.call import EmulatedCall, digest
from innervoice.emulator.dialect_server import DialectServer, parts_with_ids
from innervoice.emulator.scripted_model import AnswerDraft
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.mistral import DIALECT
from innervoice.wire.refusals import Refusal
from innervoice.wire.rules import refused

__all__ = ["SERVER"]


def _is_on(call: EmulatedCall) -> bool:
    word = call.body.get("reasoning_effort")
    return word not in (None, "none") or (word is None and call.target.row.default != "none")


def _check(call: EmulatedCall) -> Iterator[Refusal]:
    for message in map(as_dict, as_list(call.body.get("messages"))):
        for call_made in map(as_dict, as_list(message.get("tool_calls"))):
            if not DIALECT.call_ids.fullmatch(str(call_made.get("id"))):
                yield refused(
                    f"Tool call id was {call_made.get('id')} but must be a-z, A-Z, 0-9, with a length of 9.",
                    code=3280,
                )


def _parts(call: EmulatedCall, draft: AnswerDraft) -> list[Part]:
    return parts_with_ids(call, draft, lambda position: digest([call.number, position])[:9])


SERVER = DialectServer(
    is_on=_is_on,
    check=_check,
    parts=_parts,
)
