"""Turns whose reasoning a host refused, so that it is not sent there again.

After a compaction Claude Code keeps its last turn with a signature that is bound to messages that no longer exist. The first request with
it is refused, and sent again without it (H8). Without this memory every following request would be refused as well, and the reasoning in
between would be bound to a history that is never sent again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from innervoice.canon.bounded import Bounded
from innervoice.canon.messages import Message
from innervoice.canon.parts import Thinking
from innervoice.memory.restoring import seals_of
from innervoice.memory.turn_keys import TurnKeys

__all__ = ["RefusedTurns", "seals_in", "without_seals"]

_MOST = 20_000


class RefusedTurns:
    """The turns whose reasoning was refused, each at its place in its conversation and at one upstream; the last ones of one process."""

    def __init__(self) -> None:
        self._seals: Bounded[bytes, frozenset[str]] = Bounded(_MOST)

    def add(
        self, upstream: bytes, turns: Mapping[int, TurnKeys], messages: Sequence[Message], seals: frozenset[str]
    ) -> None:  # fmt: skip
        """Adds seals that an upstream refused in these messages."""
        for number, keys in turns.items():
            if refused := seals_in(messages[number : number + 1]) & seals:
                self._seals[upstream + keys.place] = refused

    def among(self, upstream: bytes, turns: Mapping[int, TurnKeys]) -> frozenset[str]:
        """The seals that were refused at the places of these turns."""
        if not self._seals:
            return frozenset()
        refused = (self._seals.get(upstream + keys.place) for keys in turns.values())
        return frozenset().union(*(seals for seals in refused if seals))


def seals_in(messages: Sequence[Message]) -> frozenset[str]:
    """The seals of all reasoning."""
    return frozenset(
        seal
        for message in messages
        for part in message.parts
        if isinstance(part, Thinking)
        for seal in seals_of(part)
    )


def without_seals(messages: Sequence[Message], seals: frozenset[str]) -> tuple[Message, ...]:
    """The messages without the reasoning that has one of these seals."""
    return tuple(
        message.replace(
            parts=tuple(
                part
                for part in message.parts
                if not (isinstance(part, Thinking) and not seals.isdisjoint(seals_of(part)))
            )
        )
        if seals_in((message,)) & seals
        else message
        for message in messages
    )
