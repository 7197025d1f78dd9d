"""Claude's thinking at any host: how it is signed, and which signatures are refused.

Blocks have the form of the Messages API here; `converse.py` converts its own to it and back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.catalog.home import row_reads
from innervoice.catalog.lookup import model_row_of
from innervoice.conversation.stable import stable_value
from innervoice.emulator.call import EmulatedCall, digest
from innervoice.emulator.scripted_model import AnswerDraft
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.refusals import Refusal
from innervoice.wire.rules import claude_is_on, refused

__all__ = ["check", "is_on", "prefix_of", "thinking_blocks"]

_THINKING = ("thinking", "redacted_thinking")
_INVALID = "messages.{turn}.content.{place}: Invalid `signature` in `thinking` block"
_BOUND = (
    " The block is bound to a different conversation. Remove the block, or set "
    'thinking.block_binding.prefix_mismatch_behavior to "drop_block".'
)
_MODIFIED = (
    "messages.{turn}.content.{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot "
    "be modified. These blocks must remain as they were in the original response."
)


def is_on(fields: dict[str, Any], call: EmulatedCall) -> bool:
    """Whether the model thinks in this call."""
    return claude_is_on(fields, call.target.row)


def prefix_of(system: Any, tools: Any, messages: list[dict[str, Any]]) -> str:
    """A digest of everything before a block, without cache marks and with texts in one notation."""
    return _prefixes(system, tools, messages)[-1]


def _prefixes(system: Any, tools: Any, messages: list[dict[str, Any]]) -> list[str]:
    """The digests of everything before each message, and of all; each is computed from the previous one, so that many cost no more than one."""
    digests = [digest([stable_value(system), stable_value(tools)])]
    for message in messages:
        digests.append(digest([digests[-1], stable_value(message)]))
    return digests


def thinking_blocks(
    call: EmulatedCall, draft: AnswerDraft, fields: dict[str, Any], prefix: str
) -> list[dict[str, Any]]:
    """The signed blocks of the thoughts."""
    row, behaviour = call.target.row, call.behaviour
    display = as_text(as_dict(fields.get("thinking")).get("display")) or ""
    asked = {"summarized": "summary", "omitted": "hidden"}.get(display, row.shown)
    form = asked if asked in (*row.showable, row.shown) else row.shown
    form = behaviour.show or form
    blocks: list[dict[str, Any]] = []
    for place, thought in enumerate(draft.thoughts):
        text = "" if form == "hidden" else thought
        claims = {"place": place, "prefix": prefix, "bound": row.bound == "refused"}
        if behaviour.redact and place % 2 == 0:
            data = call.seal(kind="redacted", text=digest(thought), **claims)
            blocks.append({"type": "redacted_thinking", "data": data})
        else:
            signature = call.seal(kind="thinking", text=digest(text), **claims)
            blocks.append({"type": "thinking", "thinking": text, "signature": signature})
    return blocks


def check(
    call: EmulatedCall,
    messages: list[dict[str, Any]],
    system: Any,
    tools: Any,
    fields: dict[str, Any],
) -> Iterator[Refusal]:
    """Which seals of a history are refused: forged, edited, moved, or bound to something else."""
    latest = max(
        (n for n, turn in enumerate(messages) if turn.get("role") == "assistant"), default=-1
    )
    drops = as_dict(as_dict(fields.get("thinking")).get("block_binding")).get(
        "prefix_mismatch_behavior"
    )
    prefixes = _prefixes(system, tools, messages) if latest >= 0 else []
    for number, turn in enumerate(messages):
        if turn.get("role") != "assistant":
            continue
        expected = 0
        for place, block in enumerate(map(as_dict, as_list(turn.get("content")))):
            if block.get("type") not in _THINKING:
                continue
            spot = {"turn": number, "place": place}
            claims = _claims(call, block)
            if claims is None:
                yield refused(_INVALID.format(**spot))
                return
            if not _reads(call, claims["model"]):
                continue  # dropped without a word
            edited = block["type"] == "thinking" and claims["text"] != digest(block.get("thinking"))
            if number == latest and (edited or claims["place"] != expected):
                yield refused(_MODIFIED.format(**spot))
                return
            expected += 1
            if edited:
                yield refused(_INVALID.format(**spot))
                return
            bound = claims["bound"] and drops != "drop_block"
            if bound and claims["prefix"] != prefixes[number]:
                yield refused(_INVALID.format(**spot) + _BOUND)
                return


def _reads(call: EmulatedCall, writer: str) -> bool:
    """Whether the model reads the blocks of another one, by the rows of this server."""
    row = model_row_of(writer, call.provider, call.dialect)
    written_by = row and call.deviations.row_of(row, call.provider, writer)
    return row_reads(call.target.row, call.model, writer, written_by)


def _claims(call: EmulatedCall, block: dict[str, Any]) -> dict[str, Any] | None:
    kind = "thinking" if block["type"] == "thinking" else "redacted"
    claims = call.claims(block.get("signature") if kind == "thinking" else block.get("data"))
    return claims if claims and claims.get("kind") == kind else None
