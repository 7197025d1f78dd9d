"""The items of a Responses answer, and the parts that each of them is.

A reasoning item is one part for each entry of its summary and of its content, all with one `origin.item`;
one without entries is a single hidden part. A message is one part for each entry of its content. The
whole item is kept in the origin of its first part.
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall
from innervoice.wire.protocol import Reader, Slot
from innervoice.wire.shapes import arguments_of, as_dict, as_list, as_text

__all__ = ["Item"]

_KINDS = {"reasoning": "thinking", "message": "text"}
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_SEALS = ("id", "encrypted_content")
# Where an item keeps its entries, the part they are, and the member with the text.
_SUMMARY, _CONTENT = "summary", "content"


class Item:
    """One item while it comes, and after."""

    def __init__(
        self, reader: Reader, index: int, item: dict[str, Any], others: dict[int, Item]
    ) -> None:
        self.reader = reader
        self.index = index
        self.item = item
        self._others = others
        self.done = False
        self._slots: dict[tuple[str, int], Slot] = {}
        self._place: Slot | None = None

    @property
    def type(self) -> str:
        """The type of the item as the wire has it."""
        return as_text(self.item.get("type")) or ""

    @property
    def name(self) -> str:
        """Its id, or one that stands for it."""
        return as_text(self.item.get("id")) or f"item_{self.index}"

    @property
    def _leader(self) -> str | None:
        """The reasoning item that it came behind."""
        before = [
            index
            for index, item in self._others.items()
            if index < self.index and item.type == "reasoning"
        ]
        return self._others[max(before)].name if before else None

    @property
    def indexes(self) -> list[int]:
        """The numbers of its parts."""
        return [slot.index for slot in self._slots.values()]

    # ---- while it comes ------------------------------------------------------------------------

    def take_place(self) -> None:
        """Opens its first part, so that items which end late still stand where they began."""
        if self._slots or self._place:
            return
        if self.type in _CALLS:
            given = self.item.get("call_id") or self.item.get("id")
            self._place = self.reader.open_call(given, self.item.get("name"), {})
        else:
            self._place = self.reader.open(_KINDS.get(self.type, "opaque"), {})

    def slot(self, where: str, number: int) -> Slot:
        """The part of an entry, opened when it is first heard of."""
        known = self._slots.get((where, number))
        if known:
            return known
        self.take_place()
        slot, self._place = self._place or self.reader.open(_KINDS.get(self.type, "text"), {}), None
        slot.form = "summary" if where == _SUMMARY else "full"
        self._slots[where, number] = slot
        return slot

    def add(self, where: str, number: int, text: Any) -> None:
        """More of an entry."""
        if isinstance(text, str):
            slot = self.slot(where, number)
            if slot.open:
                self.reader.add(slot, text)
        elif text is not None:
            self.reader.odd(text, where)

    def fill(self, where: str, number: int, text: Any) -> None:
        """The whole text of an entry: adds what the deltas left out."""
        if not isinstance(text, str):
            return
        slot = self.slot(where, number)
        if slot.open and text.startswith(slot.text):
            self.reader.add(slot, text[len(slot.text) :])

    # ---- when it is over -----------------------------------------------------------------------

    def finish(self, item: dict[str, Any] | None = None, *, complete: bool = True) -> None:
        """Ends its parts, with the item as it is in the end."""
        if item:
            self.item = item
        self.done = True
        for where, position, text in self._entries():
            self.fill(where, self._number(where, position), text)
        if not self._slots:
            self.slot(_CONTENT, -1)  # an item without entries is one part all the same
        for slot in sorted(self._slots.values(), key=lambda slot: slot.index):
            if slot.open:
                self.reader.flush(slot)
                self.reader.end(slot, self._part(slot, complete=complete))

    def _number(self, where: str, position: int) -> int:
        """The number under which an entry came: not every server counts them from zero."""
        numbers = sorted(number for place, number in self._slots if place == where)
        return numbers[position] if position < len(numbers) else max([position - 1, *numbers]) + 1

    def revise(self, item: dict[str, Any]) -> None:
        """The last word about an item that is over: its seals may have been written anew."""
        self.item = item
        for slot in self._slots.values():
            self.reader.replace(slot.index, self._part(slot, complete=True))

    def _entries(self) -> list[tuple[str, int, Any]]:
        found: list[tuple[str, int, Any]] = []
        if member := _CALLS.get(self.type):
            return [(_CONTENT, 0, arguments_of(self.item.get(member, "")))]
        if self.type not in ("reasoning", "message"):
            return found
        for where in (_SUMMARY, _CONTENT):
            value = self.item.get(where)
            if value is not None and not isinstance(value, list):
                self.reader.odd(value, where)
            for number, entry in enumerate(as_list(value)):
                text = as_text(as_dict(entry).get("text"))
                refusal = as_text(as_dict(entry).get("refusal"))
                if text is not None or refusal is not None:
                    found.append((where, number, text if text is not None else refusal))
                elif (where, number) not in self._slots:
                    self.reader.odd(entry, where)
        return found

    def _part(self, slot: Slot, *, complete: bool) -> Part:
        first = slot.index == min(self.indexes)
        sealed = complete and self.type == "reasoning"
        seals = (
            tuple(member for member in _SEALS if self.item.get(member)) if sealed and first else ()
        )
        origin = self.reader.origin(self.item if first else None, seals, item=self.name)
        match slot.kind:
            case "thinking":
                form = slot.form if slot.text else "hidden"
                return Thinking(slot.text, form, complete, origin)
            case "text":
                return Text(slot.text, complete, origin.but(led_by=self._leader))
            case "tool_call":
                begun = slot.begun
                assert begun is not None
                origin = self.reader.origin(self.item, item=self.name, invented=slot.invented)
                called = as_text(self.item.get("name")) or begun.name
                origin = origin.but(led_by=self._leader)
                return ToolCall(begun.id, called, slot.text, complete, origin)
            case _:
                return Opaque(self.item, complete, self.reader.origin())
