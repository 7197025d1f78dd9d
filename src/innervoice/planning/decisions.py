"""Decisions about the parts of a history, and the list that records them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from innervoice.canon.value import Value

__all__ = ["Action", "Decision", "Ledger", "Place"]

Action: TypeAlias = Literal["kept", "omitted", "converted", "filled"]
Place: TypeAlias = tuple[int, int | None]
"""The number of a message, and of a part in it; None for the message as a whole."""


class Decision(Value, frozen=True, kw_only=True):
    """What happens to one part of a history, by which rule, and why."""

    message: int
    """The number of the message."""
    part: int | None
    """The number of the part in it; None for the whole message."""
    kind: str
    """What the part is."""
    action: Action
    """What happens to it."""
    rule: str
    """The rule, such as H2."""
    note: str | None = None
    """The code of the note about it, for a part that is not sent unchanged."""
    why: str
    """The reason, in words."""
    member: str | None = None
    """The member that is not sent, where the rest of the part is."""


class Ledger:
    """Records decisions."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []

    def kept(self, place: Place, kind: str, rule: str, why: str, note: str | None = None) -> None:
        """A part is sent unchanged."""
        self._add(place, kind, "kept", rule, why, note)

    def omitted(
        self, place: Place, kind: str, rule: str, why: str, note: str = "thinking_omitted"
    ) -> None:
        """A part stays in the history and is not sent."""
        self._add(place, kind, "omitted", rule, why, note)

    def converted(self, place: Place, kind: str, rule: str, why: str, note: str) -> None:
        """A part is sent in another form."""
        self._add(place, kind, "converted", rule, why, note)

    def lacking(self, place: Place, kind: str, member: str) -> None:
        """A part, or a message, is sent without a member that the target's dialect does not have."""
        why = f"{member}: only the dialect it was read in has such a member"
        self._add(place, kind, "converted", "H2", why, "extra_dropped", member)

    def filled(self, place: Place, kind: str, rule: str, why: str, note: str) -> None:
        """Something is sent that the history does not contain."""
        self._add(place, kind, "filled", rule, why, note)

    def _add(
        self,
        place: Place,
        kind: str,
        action: Action,
        rule: str,
        why: str,
        note: str | None,
        member: str | None = None,
    ) -> None:
        message, part = place
        self.decisions.append(
            Decision(
                message=message,
                part=part,
                kind=kind,
                action=action,
                rule=rule,
                note=note,
                why=why,
                member=member,
            )
        )
