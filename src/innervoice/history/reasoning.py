"""Decides about each piece of reasoning: rules H1, H2, H3, H5 and H7."""

from __future__ import annotations

from collections.abc import Sequence

from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking, is_inline
from innervoice.catalog.home import is_home
from innervoice.catalog.lookup import family_of, model_row_of
from innervoice.errors import RuleError
from innervoice.fitting.request import FittedRequest
from innervoice.history.decisions import Ledger, Place
from innervoice.history.prefix import Prefix, difference
from innervoice.history.turns import last_said
from innervoice.wire.dialects import dialect_named, replay_of

__all__ = ["ReasoningRules"]


class ReasoningRules:
    """Decides which reasoning is sent back, and in which form."""

    def __init__(self, fitted: FittedRequest, ledger: Ledger, prefix: Prefix) -> None:
        self._fitted = fitted
        self._target = target = fitted.target
        self._row, self._host = target.row, target.host
        self._request = fitted.asked
        self._ledger = ledger
        self._prefix = prefix
        self._replay = replay_of(target.dialect)
        self.is_signed = self._replay.signed and family_of(target.model) == "claude"

    def is_home(self, origin: Origin | None) -> bool:
        """H1: whether the target can read a part of this origin."""
        return is_home(origin, self._target)

    def note_missing(self, messages: Sequence[Message], start: int) -> None:
        """H3: notes a turn of the open tool loop that lost its reasoning, which the model expects but does not require."""
        row = self._row
        wanted = row.replay in ("must", "loop", "tags") and self._fitted.reasons
        # Gemini's signatures, DeepSeek's field, and Claude's blocks where they are required (H9) have their own rules.
        if not wanted or self._replay.fills(row) or row.control == "anthropic-enabled":
            return
        for number in range(max(last_said(messages) + 1, start), len(messages)):
            calls = messages[number].tool_calls
            thought = any(isinstance(part, Thinking) for part in messages[number].parts)
            if calls and not thought and self._should_have_thought(calls[0].origin):
                why = "a turn of the open tool loop has no reasoning"
                self._ledger.kept((number, None), "message", "H3", why, "reasoning_missing")

    def _should_have_thought(self, origin: Origin | None) -> bool:
        """Whether a turn without reasoning has lost it: a model that signs its reasoning may call a tool without any, others do not."""
        if origin is None or not self.is_home(origin):
            return False  # this model could not read it anyway
        return origin.model is None or dialect_named(self._target.dialect).thinks_visibly

    def fitted(self, place: Place, part: Thinking, *, unstored: bool) -> Part | None:
        """The part as it is sent to the target; None if it is not sent."""
        if not self.is_home(part.origin):
            return self._abroad(place, part)
        if is_inline(part):
            self._ledger.kept(place, "thinking", "H1", "it is part of the text it came in")
            return part
        block = part.origin.block if part.origin else None
        for rule, refused, why in (
            ("H1", not part.complete, "it was interrupted"),
            ("H3", self._row.replay == "never", "this host refuses reasoning"),
            ("H1", self.is_signed and self._replay.is_unsigned(block), "it was never signed"),
            (
                "H5",
                self._replay.is_unreadable(
                    block, self._host, stored=self._request.store and not unstored
                )
                or ((unstored or not self._request.store) and self._replay.is_lost(block)),
                "it is not stored, and it has no encrypted content",
            ),
        ):
            if refused:
                self._ledger.omitted(place, "thinking", rule, why)
                return None
        return self._bound(place, part)

    def _bound(self, place: Place, part: Thinking) -> Part | None:
        """H7: leaves out reasoning that is no longer valid because something before it changed."""
        made = part.origin.prefix if part.origin else None
        bound = self._binding(part.origin)
        if bound == "no" or made is None or made == self._prefix.value:
            sent = self._replay.returned(part, self._row, self._host)
            if sent is None:
                self._ledger.omitted(place, "thinking", "H3", "this host has no place for it")
            else:
                self._ledger.kept(place, "thinking", "H1", "it came from this target")
            return sent
        why = difference(made, self._prefix.value)
        if bound == "dropped":
            self._ledger.kept(
                place, "thinking", "H7", f"the host will ignore it: {why}", "prefix_changed"
            )
            return self._replay.returned(part, self._row, self._host)
        self._ledger.omitted(place, "thinking", "H7", why, "prefix_changed")
        return None

    def _binding(self, origin: Origin | None) -> str:
        """What happens to a block whose prefix changed. The model that wrote the block decides, not the one that reads it."""
        writer = origin.model if origin else None
        host = self._host.id if self._host else None
        row = model_row_of(writer, host, self._target.dialect) if writer else None
        return (row or self._row).bound

    def _abroad(self, place: Place, part: Thinking) -> Part | None:
        """H2: reasoning that this model cannot read."""
        if self._request.foreign == "text" and part.text.strip():
            if family_of(self._target.model) == "claude":
                raise RuleError(
                    "foreign_text_refused", "Claude refuses prompts that contain such text"
                )
            why = "sent as labelled text, as asked"
            self._ledger.converted(place, "thinking", "H2", why, "thinking_as_text")
            return Text(f"[Reasoning of an earlier turn]\n{part.text}\n")
        origin = part.origin
        if origin is None or (origin.provider is None and origin.model is None):
            why = "its origin is unknown"
        elif origin.provider is None:
            why = f"it came from {origin.model}"
        elif self._request.scope and origin.scope and origin.scope != self._request.scope:
            why = f"it belongs to the account {origin.scope}"
        else:
            why = f"it came from {origin.provider}/{origin.model}"
        self._ledger.omitted(place, "thinking", "H2", why)
        return None
