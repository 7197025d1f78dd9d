"""Splits reasoning out of plain text, by the markup card of the model that wrote it."""

from __future__ import annotations

from collections.abc import Iterable

from innervoice.canon.events import Event
from innervoice.canon.notes import Note
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.rows import Card
from innervoice.catalog.lookup import card_of
from innervoice.errors import UsageError
from innervoice.inline.calls import call_notes
from innervoice.inline.formats import DEFAULT_TAGS
from innervoice.inline.machine import SplitMachine
from innervoice.inline.marks import Prefix, SettledPlace
from innervoice.inline.vocabulary import INLINE, vocabulary

__all__ = ["Splitter", "split"]


class Splitter:
    """Splits reasoning out of a text that arrives piece by piece.

    `feed` and `finish` return lists of events, without a `Finish`; `innervoice.fold` reads them.

    :param model: The model's name as its host spells it; its card says which markup it writes.
    :param prefix_open: Whether the text starts inside reasoning; None: as the card says.
    :param markup: Further formats, by their names in the vocabulary.
    :param inline: "off" leaves the text unchanged, "all" searches for every tag name.
    :param finish_reason: Why the text ended, if that is known.
    """

    def __init__(
        self,
        model: str | None = None,
        prefix_open: bool | None = None,
        markup: Iterable[str] | None = None,
        inline: str | None = None,
        finish_reason: FinishReason | None = None,
    ) -> None:
        if inline not in INLINE:
            raise UsageError(f"inline must be one of 'on', 'off', 'all' or None, not {inline!r}")
        if isinstance(markup, str):
            raise UsageError(f"markup must be a list of names, not the string {markup!r}")
        card = card_of(model) if model is not None else None
        rows = dict.fromkeys([*(card.markup if card else ()), *(markup or ())])
        formats = card.writes if card and prefix_open is not False else ()
        tags = tuple(dict.fromkeys([*DEFAULT_TAGS, *(card.tags if card else ())]))
        self._machine = SplitMachine(
            vocabulary(tags, tuple(rows), card.ends if card else (), formats),
            prefix=_prefix(prefix_open, card),
            stutter=card.stutter if card else False,
            off=inline == "off",
            finish_reason=finish_reason,
        )
        self._model = model
        if model is not None and card is None:
            self._machine.notebook.add("unknown_model", model)

    def feed(self, text: str) -> list[Event]:
        """Reads the next piece and returns its events.

        :param text: The piece, cut anywhere.
        """
        return self._machine.feed(text)

    def finish(self, finish_reason: FinishReason | None = None) -> list[Event]:
        """Ends the text: returns what was held back and decides about everything that is still open.

        :param finish_reason: Why the text ended, if that is known only now.
        """
        return self._machine.finish(finish_reason)

    def reasoning_elsewhere(self) -> list[Event]:
        """A separate reasoning field has text, so guesses about reasoning in this text are withdrawn (rule S5)."""
        return self._machine.reasoning_elsewhere()

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about guesses, removals and corrections so far."""
        return self._machine.notebook.notes()

    @property
    def settled(self) -> SettledPlace | None:
        """The first place that is not settled: everything before it stays as it is, whatever arrives later.

        None if all output so far is settled. `innervoice.inline.marks.Place` states the rules.
        """
        return self._machine.settled

    @property
    def response(self) -> Response:
        """The whole result; before `finish`, the parts that have ended."""
        parts = self._machine.parts
        response = Response(
            parts=parts,
            model=self._model,
            ended=self._machine.finished,
            finish_reason=self._machine.finish_reason,
            notes=(*self.notes, *call_notes(parts)),
        )
        # The cheap test first: most answers have a text, and need no view of it here.
        if self._machine.is_blank and response.status == "empty" and response.has_thinking:
            note = Note("answer_in_reasoning")
            return response.replace(notes=(*response.notes, note))
        return response


def split(
    text: str,
    model: str | None = None,
    prefix_open: bool | None = None,
    markup: Iterable[str] | None = None,
    inline: str | None = None,
    finish_reason: FinishReason | None = None,
) -> Response:
    """Splits reasoning out of a whole text.

    :param text: What the model wrote.
    :param model: The model's name as its host spells it; its card says which markup it writes.
    :param prefix_open: Whether the text starts inside reasoning; None: as the card says.
    :param markup: Further formats, by their names in the vocabulary.
    :param inline: "off" leaves the text unchanged, "all" searches for every tag name.
    :param finish_reason: Why the text ended, if that is known.
    """
    reader = Splitter(
        model=model,
        prefix_open=prefix_open,
        markup=markup,
        inline=inline,
        finish_reason=finish_reason,
    )
    reader.feed(text)
    reader.finish()
    return reader.response


def _prefix(prefix_open: bool | None, card: Card | None) -> Prefix:
    if prefix_open is not None:
        return "told" if prefix_open else "no"
    return "card" if card and card.prefix_open else "no"
