"""Parts as opaque strings that a front end keeps and sends back, and turns put together from them.

A front end shows the text of a part and stores something beside it that it cannot read. That is the whole part, with its wire block and
seals, as `to_json` writes it. It is compressed, because a block repeats the text of its part, and it is not encrypted: whoever must not
let a browser see or change a history keeps it on the server.

A part that was shown in several pieces is carried once, beside the last of them or apart. So a turn is read in two steps: what was
shown comes first, and each carried part takes the place of the pieces that make up its text. White space does not count, since
the text beside inline reasoning is shown without some of it. If nothing fits, the text was changed, and a warning says that
its seal was dropped.
"""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from secrets import token_hex
from typing import Any, ClassVar
from warnings import warn

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.canon.storage import from_json, to_json
from innervoice.errors import DecodeError, UsageError
from innervoice.frames.frame import LIMIT
from innervoice.wire.answer_writer import AnswerHead, AnswerWriter

__all__ = ["CarryingWriter", "ShownTurn", "carried", "is_json", "key_of", "squeezed"]

_MARK = "innervoice.1."


class CarryingWriter(AnswerWriter):
    """Writes one answer for a front end, parts carried beside what is shown of them."""

    carries_parts: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__(AnswerHead(token_hex(8)), Notebook())
        self._carried: dict[str, Part] = {}

    def value_of(self, part: Part) -> str | None:
        """What is to be carried of a part; None for one that is no more than what is shown."""
        if not _must_be_carried(part):
            return None
        if key := key_of(part):
            self._carried[key] = part
        return carried(part)

    def call_id(self, call: ToolCall) -> str:
        """An id that is unique in a conversation: those that innervoice counted start again in every answer."""
        is_counted = call.origin is not None and "id" in call.origin.invented
        return f"{call.id}-{self.head.id}" if is_counted else call.id

    def recall_rest(self, response: Response) -> None:
        """Carries what only the end of an answer tells: calls that were ended before they were over, and the last form of a seal."""
        keys = Counter(map(key_of, response.parts))
        for part in response.parts:
            key = key_of(part)
            known = self._carried.get(key or "")
            if (known or isinstance(part, ToolCall)) and part != known and keys[key] == 1:
                self.recall(part)

    def body(self) -> dict[str, Any]:
        raise UsageError(f"an answer in {self.dialect} is a stream and has no whole body")


def _must_be_carried(part: Part) -> bool:
    """Whether a part is more than what is shown of it: reasoning with an origin, and everything with a block or an item."""
    origin = part.origin
    if isinstance(part, (Text, ToolCall)):
        known = origin and Origin(
            provider=origin.provider, model=origin.model, dialect=origin.dialect, scope=origin.scope
        )
        return origin != known
    return not isinstance(part, Thinking) or origin is not None


def key_of(part: Part) -> str | None:
    """What a carried part is known by, in its turn; None if nothing tells it from others."""
    if isinstance(part, ToolCall):
        return f"call {part.id}"
    item, text = part.origin.item if part.origin else None, squeezed(_text(part))
    return f"{part.type} {item} {text}" if item or text else None


def carried(part: Part | None, turn: Origin | None = None) -> str:
    """A part, and what belongs to its turn as a whole, as an opaque string."""
    stored = to_json(Message("assistant", () if part is None else (part,), turn))
    return _MARK + urlsafe_b64encode(zlib.compress(stored)).decode("ascii")


def _read(value: Any) -> Message | None:
    """What `carried` wrote; None for a value of another program."""
    if not isinstance(value, str) or not value.startswith(_MARK):
        return None
    try:
        inflater = zlib.decompressobj()
        data = inflater.decompress(urlsafe_b64decode(value.removeprefix(_MARK)), LIMIT)
    except (ValueError, zlib.error):
        raise DecodeError("a carried part is damaged: expected base64 of compressed JSON") from None
    if not inflater.eof:
        raise DecodeError("a carried part is damaged: it is cut off or too long")
    stored = from_json(data)
    if not isinstance(stored, Message) or stored.role != "assistant":
        raise DecodeError("a carried part is damaged: expected a turn of the model")
    return stored


class ShownTurn:
    """One turn of the model, from what a front end shows of it and carries with it."""

    def __init__(self) -> None:
        self._parts: list[Part | None] = []
        self._shown: list[int] = []  # the places of parts that nothing was carried for
        self._carried: dict[str, int] = {}  # the places of the others
        self._origin: Origin | None = None
        self.call_ids: dict[str, str] = {}
        """The ids of calls that the front end knows by another id."""

    def add(self, shown: Part | None, value: Any = None) -> None:
        """Adds a part that was shown, and what was carried with it."""
        message = _read(value)
        if value is not None and message is None:
            warn("a seal was dropped: it was not written by innervoice", stacklevel=4)
        if shown is not None and (message is None or _has_content(shown)):
            self._shown.append(len(self._parts))
            self._parts.append(shown)
        if message is None:
            return
        self._origin = message.origin or self._origin
        for part in message.parts:
            if not self._place(part):
                warn(
                    "a seal was dropped: the text or call that it belongs to was changed",
                    stacklevel=4,
                )

    def message(self) -> Message | None:
        """The turn; None if nothing is in it."""
        parts = tuple(part for part in self._parts if part is not None)
        known = next((part.origin for part in parts if part.origin), None)
        if self._origin is None and known is not None:
            self._origin = Origin(
                provider=known.provider, model=known.model, dialect=known.dialect, scope=known.scope
            )
        return Message("assistant", parts, self._origin) if parts else None

    def _place(self, part: Part) -> bool:
        """Puts a carried part where the pieces of it were shown, or an earlier form of it stands. Without content it may go to the end."""
        pieces = self._call(part) if isinstance(part, ToolCall) else self._pieces(part)
        for piece in pieces:
            self._parts[piece] = None
            self._shown.remove(piece)
        key = key_of(part)
        at = pieces[0] if pieces else self._carried.get(key or "")
        if at is None:
            if _has_content(part):
                return False
            at = len(self._parts)
            self._parts.append(None)
        self._parts[at] = part
        if key:
            self._carried[key] = at
        return True

    def _call(self, part: ToolCall) -> list[int]:
        """The place of a call with this id, which the front end may know by a longer one."""
        for at in reversed(self._shown):
            shown = self._parts[at]
            if isinstance(shown, ToolCall) and f"{shown.id}-".startswith(f"{part.id}-"):
                if (shown.name, _arguments(shown)) != (part.name, _arguments(part)):
                    return []
                self.call_ids[shown.id] = part.id
                return [at]
        return []

    def _pieces(self, part: Part) -> list[int]:
        """The places of the last pieces of the part's kind whose texts are its text."""
        wanted = squeezed(_text(part))
        texts = [
            (at, squeezed(_text(piece)))
            for at in self._shown
            if (piece := self._parts[at]) is not None and type(piece) is type(part)
        ]
        texts = [(at, text) for at, text in texts if text]
        for last in range(len(texts), 0, -1):
            end, found = len(wanted), list[int]()
            for at, text in reversed(texts[:last]):
                if not wanted.endswith(text, 0, end):
                    break
                end -= len(text)
                found.insert(0, at)
                if not end:
                    return found
        return []


def squeezed(text: str) -> str:
    """A text without its white space."""
    return "".join(text.split())


def is_json(arguments: str) -> bool:
    """Whether the arguments of a call are JSON; none at all are."""
    try:
        load_json(arguments or "{}")
    except ValueError:
        return False
    return True


def _text(part: Part) -> str:
    return part.text if isinstance(part, (Text, Thinking)) else ""


def _has_content(part: Part) -> bool:
    """Whether a part is shown by a text or as a call."""
    return isinstance(part, ToolCall) or bool(squeezed(_text(part)))


def _arguments(call: ToolCall) -> Any:
    return load_json(call.arguments or "{}") if is_json(call.arguments) else call.arguments
