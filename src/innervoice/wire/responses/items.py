"""The items of a Responses answer, and the parts of each of them.

A reasoning item is one part for each entry of its summary and of its content, all with one `origin.item`;
one without entries is a single hidden part. A message is one part for each entry of its content. The
whole item is kept in the origin of its first part.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any

from innervoice.canon.parts import Form, Opaque, Part, Text, Thinking, ToolCall
from innervoice.wire.json_access import arguments_of, as_dict, as_list, as_text
from innervoice.wire.protocol import Reader, Slot
from innervoice.wire.responses import DIALECT

__all__ = ["Item", "Leaders", "text_of"]

_KINDS = {"reasoning": "thinking", "message": "text"}
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_CALL = {"id", "type", "status", "call_id", "name", *_CALLS.values()}  # what every call has
# Where an item keeps its entries, the part they are, and the member with the text.
_SUMMARY, _CONTENT = "summary", "content"


class Leaders:
    """The reasoning items of an answer, by their index: other items follow one of them."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._order: list[int] = []

    def call(self, index: int, name: str) -> None:
        """Records the id of a reasoning item; the last one counts."""
        if index not in self._names:
            insort(self._order, index)
        self._names[index] = name

    def drop(self, index: int) -> None:
        """Removes an item that turned out not to be reasoning."""
        if index in self._names:
            del self._names[index]
            self._order.remove(index)

    def before(self, index: int) -> str | None:
        """The id of the reasoning item that an item follows."""
        at = bisect_left(self._order, index)
        return self._names[self._order[at - 1]] if at else None


class Item:
    """One item while it arrives, and after.

    The reader is an argument of each call and not stored: a reference cycle would have to wait for the garbage collector.
    """

    done = False
    refuses = False
    """Whether an entry of it is a refusal."""
    is_sealed = False
    """Whether it began with a member for a seal."""
    _place: Slot | None = None

    def __init__(self, index: int, item: dict[str, Any], leaders: Leaders) -> None:
        self.index = index
        self._leaders = leaders
        self._slots: dict[tuple[str, int], Slot] = {}  # in the order of their indexes
        self.describe(item)

    def describe(self, item: dict[str, Any]) -> None:
        """Updates the item with its latest wire form."""
        self.item = item
        self.type = as_text(item.get("type")) or ""
        self.name = as_text(item.get("id")) or f"item_{self.index}"
        if self.type == "reasoning":
            self._leaders.call(self.index, self.name)
        else:
            self._leaders.drop(self.index)

    @property
    def text(self) -> str:
        """The text, or the arguments, received so far."""
        keys = sorted(self._slots, key=lambda key: (key[0] == _CONTENT, key[1]))
        return "".join(self._slots[key].text for key in keys)

    def read_whole(self, reader: Reader) -> None:
        """Reads an item that arrives in one piece."""
        kind = _KINDS.get(self.type)
        if kind is None:
            self.finish(reader)
            return
        self.done = True
        first, complete = True, self.item.get("status") != "incomplete"
        for where, _, text in self._entries(reader) or [(_CONTENT, -1, "")]:
            if kind == "thinking":
                form: Form = "summary" if where == _SUMMARY else "full"
                thought = self._thinking(reader, text, form, first=first, complete=complete)
                reader.whole(thought, Thinking("", form, complete=False, origin=thought.origin))
            else:
                part = self._text(reader, text, first=first, complete=complete)
                reader.whole(part, Text("", complete=False, origin=part.origin))
            first = False

    # ---- while it arrives ----------------------------------------------------------------------

    def take_place(self, reader: Reader) -> None:
        """Opens its first part, so that items that end late keep their position."""
        if self._slots or self._place:
            return
        if self.type in _CALLS:
            call_id = self.item.get("call_id") or self.item.get("id")
            more = {name: self.item[name] for name in self.item.keys() - _CALL}
            is_plain = self.type == "function_call" and not more
            block = None if is_plain else {"type": self.type, **more}
            origin = reader.origin(block, item=self.name) if call_id else None
            self._place = reader.open_call(call_id, self.item.get("name"), {}, origin)
        else:
            self._place = reader.open(_KINDS.get(self.type, "opaque"), {}, self._begun(reader))

    def slot(self, reader: Reader, where: str, number: int) -> Slot:
        """The part of an entry, opened when it first appears."""
        slot = self._slots.get((where, number))
        if slot:
            return slot
        self.take_place(reader)
        slot, self._place = self._place or self._open(reader, where), None
        slot.form = "summary" if where == _SUMMARY else "full"
        self._slots[where, number] = slot
        return slot

    def _open(self, reader: Reader, where: str) -> Slot:
        begun = self._begun(reader, where)
        return reader.open(_KINDS.get(self.type, "text"), {}, begun)

    def _begun(self, reader: Reader, where: str | None = None) -> Part | None:
        """What is known about a part at its start: its item, and whether that has summaries."""
        if self.type not in _KINDS:
            return None
        origin = reader.origin(None if where else self.item, item=self.name)
        if self.type == "message":
            return Text("", complete=False, origin=origin)
        # An API that seals reasoning shows at most a summary of it.
        is_shown = self.item.get(_CONTENT) is not None and not self.is_sealed
        where = where or (_CONTENT if is_shown else _SUMMARY)
        form: Form = "summary" if where == _SUMMARY else "full"
        return Thinking("", form, complete=False, origin=origin)

    def add(self, reader: Reader, where: str, number: int, text: Any) -> None:
        """Adds to an entry."""
        if isinstance(text, str):
            slot = self.slot(reader, where, number)
            if slot.open:
                reader.add(slot, text)
        elif text is not None:
            reader.odd(text, where)

    def fill(self, reader: Reader, where: str, number: int, text: Any) -> None:
        """Sets the whole text of an entry: adds what the deltas left out."""
        if not isinstance(text, str):
            return
        slot = self.slot(reader, where, number)
        if not slot.open:
            return
        # Half a character that waits for the other half counts as received.
        if text.startswith(came := slot.text + slot.half):
            reader.add(slot, text[len(came) :])

    # ---- at the end ----------------------------------------------------------------------------

    def finish(
        self, reader: Reader, item: dict[str, Any] | None = None, *, complete: bool = True
    ) -> None:
        """Ends its parts, with the final item."""
        if item and item is not self.item:
            self.describe(item)
        complete = complete and self.item.get("status") != "incomplete"
        self.done = True
        came = self._numbers()
        for where, position, text in self._entries(reader):
            self.fill(reader, where, _number(came.get(where), position), text)
        if not self._slots:
            self.slot(reader, _CONTENT, -1)  # an item without entries is still one part
        for slot in self._slots.values():
            if slot.open:
                if slot.half:
                    reader.flush(slot)
                reader.end(slot, self._part(reader, slot, complete=complete))

    def _numbers(self) -> dict[str, list[int]]:
        """The numbers of the entries, by their place: not every server counts them from zero."""
        numbers: dict[str, list[int]] = {}
        if not self._slots:
            return numbers
        for place, number in sorted(self._slots):
            numbers.setdefault(place, []).append(number)
        return numbers

    def revise(self, reader: Reader, item: dict[str, Any]) -> None:
        """Revises an item that has ended: its seals may have been written anew."""
        self.describe(item)
        for slot in self._slots.values():
            reader.replace(slot.index, self._part(reader, slot, complete=True))

    def _entries(self, reader: Reader) -> list[tuple[str, int, Any]]:
        entries: list[tuple[str, int, Any]] = []
        if member := _CALLS.get(self.type):
            return [(_CONTENT, 0, arguments_of(self.item.get(member, "")))]
        if self.type not in ("reasoning", "message"):
            return entries
        for where in (_SUMMARY, _CONTENT):
            value = self.item.get(where)
            if value is None:
                continue
            if not isinstance(value, list):
                reader.odd(value, where)
            for number, entry in enumerate(as_list(value)):
                members = as_dict(entry)
                text = as_text(members.get("text"))
                if text is None:
                    text = as_text(members.get("refusal"))
                    self.refuses = self.refuses or members.get("type") == "refusal"
                if text is not None:
                    entries.append((where, number, text))
                elif (where, number) not in self._slots:
                    reader.odd(entry, where)
        return entries

    def _part(self, reader: Reader, slot: Slot, *, complete: bool) -> Part:
        item, text = self.item, slot.text
        first = slot is next(iter(self._slots.values()))
        match slot.kind:
            case "thinking":
                return self._thinking(reader, text, slot.form, first=first, complete=complete)
            case "text":
                return self._text(reader, text, first=first, complete=complete)
            case "tool_call":
                begun = slot.begun
                assert begun is not None
                call_id, invented = begun.id, slot.invented
                if invented and (late := as_text(item.get("call_id")) or as_text(item.get("id"))):
                    call_id, invented = late, ()  # its deltas came before its id
                leader = self._leaders.before(self.index)
                origin = reader.origin(item, item=self.name, invented=invented, led_by=leader)
                called = as_text(item.get("name")) or begun.name
                return ToolCall(call_id, called, text, complete, origin)
            case _:
                return Opaque(item, complete, reader.origin())

    def _thinking(
        self, reader: Reader, text: str, form: Form, *, first: bool, complete: bool
    ) -> Thinking:
        item = self.item
        sealed = complete and first and self.type == "reasoning"
        seals = tuple([member for member in DIALECT.seals if item.get(member)]) if sealed else ()
        origin = reader.origin(item if first else None, seals, item=self.name)
        return Thinking(text, form if text else "hidden", complete, origin)

    def _text(self, reader: Reader, text: str, *, first: bool, complete: bool) -> Text:
        leader = self._leaders.before(self.index)
        origin = reader.origin(self.item if first else None, item=self.name, led_by=leader)
        return Text(text, complete, origin)


def text_of(item: dict[str, Any]) -> str:
    """The text of an item in its wire form, in the order of `Item.text`; the arguments of a call."""
    if member := _CALLS.get(as_text(item.get("type")) or ""):
        return arguments_of(item.get(member, ""))
    entries = (
        as_dict(entry) for where in (_SUMMARY, _CONTENT) for entry in as_list(item.get(where))
    )
    return "".join(
        as_text(entry.get("text")) or as_text(entry.get("refusal")) or "" for entry in entries
    )


def _number(came: list[int] | None, position: int) -> int:
    """The number of an entry among those in its place; new ones are numbered after them."""
    if not came:
        return position
    if position < len(came):
        return came[position]
    return max(position, came[-1] + 1 + position - len(came))
