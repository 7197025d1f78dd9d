"""The reasoning fields of a chat message: which one counts, and what happens to the others.

Hosts name the field differently, and some send the same text under two names. One source is chosen
for the whole stream: the first, in the order of `FIELDS`, that has readable text when any has. Another
with the same text, ignoring white space, is dropped; one that differs is dropped and noted.

`reasoning_details` are separate blocks, distinguished by (type, index): their pieces are joined, and a
signature or an encrypted payload is kept whichever field was chosen.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from innervoice.canon.parts import Form, Opaque, Part, Thinking
from innervoice.canon.views import is_same
from innervoice.canon.words import REASONING_FIELDS
from innervoice.wire.json_access import as_list
from innervoice.wire.protocol import Reader, Slot

__all__ = ["FIELDS", "NAMES", "ReasoningFields"]

FIELDS = REASONING_FIELDS
DETAILS = FIELDS[0]
NAMES = frozenset(FIELDS)
TEXTS = NAMES - {DETAILS}
_COMING = {"text", "summary", "signature", "data"}  # what comes in pieces, and the seal
_HOLDERS = {"content", "text"}
_CUMULATIVE_MINIMUM = 16
"""A delta of at least this length that begins with everything so far is a repetition (MiniMax M3 sends these)."""

_REPEATED_MINIMUM = 8
"""A shorter delta may well occur twice: digits and spaces do."""


class ReasoningFields:
    """Reads the reasoning of one message, whole or in deltas; like `ContentChunks`, it stores no reader."""

    _last_text = ""  # the last delta of a host that repeats itself
    _chosen: str | None = None
    _field: Slot | None = None
    _last: Any = None
    _empty_details = False

    def __init__(self, *, cumulative: bool) -> None:
        self._cumulative = self._snapshots = cumulative
        self._details: dict[Any, Slot] = {}
        self._mirrors: dict[str, list[str]] = {}
        self._unshown: dict[int, list[str]] = {}  # texts of entries that another field says

    @property
    def text(self) -> str:
        """The readable reasoning so far."""
        slots = [self._field] if self._field else list(self._details.values())
        return "".join(slot.text for slot in slots if slot)

    @property
    def only_empty_details(self) -> bool:
        """Whether `reasoning_details` were sent, and never had an entry."""
        return self._empty_details and not self._details

    def read_whole(self, reader: Reader, message: dict[str, Any], names: Iterable[str]) -> bool:
        """Reads the text of a message that nothing continues, if it has one in a single field; returns False if not."""
        filled = [name for name in names if message[name] is not None]
        if len(filled) != 1 or type(text := message[filled[0]]) is not str or filled[0] == DETAILS:
            return not filled
        if text:
            reader.whole(Thinking(text, origin=reader.origin({filled[0]: text})))
        return True

    def read(self, reader: Reader, message: dict[str, Any], *, is_delta: bool) -> None:
        """Reads the fields of a message or a delta."""
        if self._chosen is None:
            self._chosen = _first_readable(message)
        details = message.get(DETAILS)
        if details is not None:
            self._read_details(reader, details, is_delta=is_delta)
        for name, value in message.items():
            if value is None or name not in TEXTS:
                continue
            if not isinstance(value, str):
                self._read_held(reader, name, value)
            elif name == self._chosen:
                self._read_field(reader, name, value)
            elif value:
                self._mirrors.setdefault(name, []).append(value)

    def _read_held(self, reader: Reader, name: str, value: Any) -> None:
        """A field whose text is in an object, as any-llm writes it."""
        text = _held_text(value)
        if text is None:
            reader.odd(value, name)
        elif name == self._chosen:
            self._read_field(reader, name, text)
        elif text:
            self._mirrors.setdefault(name, []).append(text)

    def _read_field(self, reader: Reader, name: str, text: str) -> None:
        if text and self._field is None:
            begun = Thinking("", complete=False, origin=reader.origin({name: ""}))
            self._field = reader.open("thinking", {name: ""}, begun)
            self._field.source = "reasoning"
        if slot := self._field:
            # A snapshot is as long as everything before it, which few deltas are.
            usual = len(text) < slot.length and not self._cumulative
            reader.add(slot, text if usual else self._new(reader, slot, text))

    def _new(self, reader: Reader, slot: Slot, text: str) -> str:
        """The new text in a delta, where the host repeats everything before.

        A model may well repeat itself, so a repetition counts as new text until a longer delta has
        shown that this host sends snapshots.
        """
        if self._cumulative and self._repeats(text):
            reader.notebook.add("cumulative_deltas")
            return ""
        least = 1 if self._cumulative else _CUMULATIVE_MINIMUM
        # The text is joined only for deltas that may be one.
        if not least <= slot.length <= len(text) or not text.startswith(slot.text):
            return text
        if len(text) == slot.length and not self._snapshots:
            return text
        self._snapshots = True
        reader.notebook.add("cumulative_deltas")
        return text[slot.length :]

    def _repeats(self, text: str) -> bool:
        """Whether a host repeats the same delta (xAI sends "Thinking... " while the model thinks)."""
        same = len(text) >= _REPEATED_MINIMUM and text == self._last_text
        self._last_text = text
        return same

    # ---- reasoning_details ---------------------------------------------------------------------

    def _read_details(self, reader: Reader, details: Any, *, is_delta: bool) -> None:
        if not isinstance(details, list):
            reader.odd(details, DETAILS)
            return
        self._empty_details = self._empty_details or not details
        for number, entry in enumerate(details):
            self._read_detail(reader, entry, goes_on=is_delta and number == 0)

    def _read_detail(self, reader: Reader, entry: Any, *, goes_on: bool) -> None:
        if not isinstance(entry, dict):
            reader.odd(entry, DETAILS)
            return
        text = _readable(entry)
        if self._chosen != DETAILS and text and not _sealed(entry):
            self._mirrors.setdefault(DETAILS, []).append(text)
            return
        index = entry.get("index")
        kind = str(entry.get("type"))
        key: Any = (
            (kind, index) if isinstance(index, (int, str)) else (kind, None, len(self._details))
        )
        if (
            len(key) == 3
            and goes_on
            and self._last
            and self._last[0] == kind
            and len(self._last) == 3
        ):
            key = self._last  # without an index, a delta continues the last entry of its type
        self._last = key
        slot = self._details.get(key)
        if slot is not None and not slot.open:
            self._details[*key, slot.index], slot = slot, None
        if slot is None:
            slot = self._details[key] = self._open_detail(reader, entry)
        self._lengthen(reader, slot, entry)

    def end_sealed(self, reader: Reader) -> None:
        """Ends the entries that have their seal: text or a call begins, and what has to go back is known before it."""
        for slot in self._details.values():
            if slot.open and slot.kind == "thinking" and _sealed(slot.block):
                reader.close(slot)

    def _open_detail(self, reader: Reader, entry: dict[str, Any]) -> Slot:
        form: Form = "summary" if entry.get("type") == "reasoning.summary" else "full"
        begun, is_thinking = None, _is_thinking(entry)
        if is_thinking and isinstance(entry.get("index"), (int, str)):
            members = {
                name: value for name, value in entry.items() if name not in _COMING and value != ""
            }
            if entry.get("type") != "reasoning.encrypted":
                members["summary" if form == "summary" else "text"] = ""
            begun = Thinking("", form, complete=False, origin=reader.origin(members))
        slot = reader.open("thinking" if is_thinking else "opaque", {}, begun)
        slot.source, slot.form = "reasoning", form
        return slot

    def _lengthen(self, reader: Reader, slot: Slot, entry: dict[str, Any]) -> None:
        """Joins a piece to its entry; texts are joined once, at the end."""
        for name, value in entry.items():
            before = slot.block.get(name)
            if name in ("text", "summary") and isinstance(value, str):
                slot.block.setdefault(name, "")
                new = self._new(reader, slot, value)
                if self._chosen == DETAILS:
                    reader.add(slot, new)
                else:
                    self._unshown.setdefault(slot.index, []).append(new)
            elif name == "data" and isinstance(value, str) and isinstance(before, str):
                slot.block[name] = before + value
            elif value or before is None:
                slot.block[name] = value

    def part(self, reader: Reader, slot: Slot, *, complete: bool) -> Part:
        """The part of a field or of an entry of the details."""
        block = slot.block
        if slot is self._field:
            name = next(iter(block))
            block[name] = said = slot.text
            return Thinking(said, "full", complete, reader.origin(block))
        text = "".join(self._unshown.get(slot.index, [])) or slot.text
        for member in ("text", "summary"):
            if isinstance(block.get(member), str):
                block[member] = text
        if slot.kind == "opaque":
            return Opaque(block, complete, reader.origin())
        seals = tuple(name for name in ("signature", "data") if block.get(name)) if complete else ()
        form = slot.form if slot.text else "hidden"
        return Thinking(slot.text, form, complete, reader.origin(block, seals))

    def compare(self, reader: Reader) -> None:
        """Notes what happened to the fields that were not chosen."""
        if not self._mirrors:
            return
        chosen = self.text
        for name, pieces in self._mirrors.items():
            same = is_same("".join(pieces), chosen)
            code = "field_repeated" if same else "fields_differ"
            reader.notebook.add(code, f"{self._chosen}, {name}")


def _first_readable(message: dict[str, Any]) -> str | None:
    """The first field, in their order, that has text."""
    if any(map(_readable, as_list(message.get(DETAILS)))):
        return DETAILS
    texts = (name for name in FIELDS[1:] if isinstance(message.get(name), str) and message[name])
    return next(texts, None) or next(
        (name for name in FIELDS[1:] if _held_text(message.get(name))), None
    )


def _held_text(value: Any) -> str | None:
    """The text of an object that has one."""
    texts = value.values() if isinstance(value, dict) and value.keys() <= _HOLDERS else ()
    return next((text for text in texts if isinstance(text, str)), None)


def _readable(entry: Any) -> str:
    if not isinstance(entry, dict):
        return ""
    text = entry.get("text") or entry.get("summary")
    return text if isinstance(text, str) else ""


def _sealed(entry: dict[str, Any]) -> bool:
    return bool(entry.get("signature") or entry.get("data"))


def _is_thinking(entry: dict[str, Any]) -> bool:
    kind = entry.get("type")
    return kind in ("reasoning.text", "reasoning.summary", "reasoning.encrypted") or (
        kind is None and bool(_readable(entry) or _sealed(entry))
    )
