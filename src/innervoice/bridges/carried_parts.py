"""Parts as opaque strings that a front end keeps and sends back, and turns built from them.

A front end shows the text of a part and stores an opaque value with it. That value is the whole part, with its wire block and
seals, as `to_json` writes it. It is compressed, because a block repeats the text of its part, and it is not encrypted: if a browser
must not see or change a history, keep the history on the server.

Some answers would not come back the same part by part: a seal came after its part was closed, a blank text was not shown, hidden
reasoning came late. The writer detects this, because it also reads its output, and then carries the whole turn once more at the end.

White space does not count when the shown text is compared with the carried one, since the text next to inline reasoning is shown
without some of it. If anything else differs, the text was changed, and a warning says that its seal was dropped.
"""

from __future__ import annotations

import zlib
from abc import abstractmethod
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from secrets import token_hex
from typing import Any, ClassVar
from warnings import warn

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.canon.storage import from_json, to_json
from innervoice.errors import DecodeError, UsageError
from innervoice.folding import content_of
from innervoice.frames.frame import LIMIT
from innervoice.wire.answer import AnswerHead, AnswerWriter

__all__ = ["CarriedTurn", "CarryingWriter", "carried", "is_json"]

_MARK = "innervoice.1."


# ---- values ----------------------------------------------------------------------------------------


def carried(value: Part | Message) -> str:
    """A part, or a whole turn, as an opaque string."""
    return _MARK + urlsafe_b64encode(zlib.compress(to_json(value))).decode("ascii")


def _read(value: Any) -> Part | Message | None:
    """Reads a value that `carried` wrote; None for a value of another program."""
    if not isinstance(value, str) or not value.startswith(_MARK):
        return None
    try:
        # The limit is for small values that decompress to gigabytes; data that is cut off there is not JSON.
        packed = urlsafe_b64decode(value.removeprefix(_MARK))
        data = zlib.decompressobj().decompress(packed, LIMIT)
    except (ValueError, zlib.error):
        raise DecodeError("a carried part is damaged: expected base64 of compressed JSON") from None
    stored = from_json(data)
    if (
        not isinstance(stored, (Message, Part))
        or getattr(stored, "role", "assistant") != "assistant"
    ):
        raise DecodeError("a carried part is damaged: expected a part or a turn of the model")
    return stored


def _must_be_carried(part: Part) -> bool:
    """Whether a part has more than its visible content: reasoning with an origin, and everything with a block or an item."""
    if isinstance(part, (Text, ToolCall, Media)):
        return part.origin is not None and part.origin != _bare(part.origin)
    return not isinstance(part, Thinking) or part.origin is not None


def _bare(origin: Origin) -> Origin:
    """The author of a part, without any content."""
    return Origin(
        provider=origin.provider, model=origin.model, dialect=origin.dialect, scope=origin.scope
    )


# ---- writing ---------------------------------------------------------------------------------------


class CarryingWriter(AnswerWriter):
    """Writes one answer for a front end, with parts carried next to their visible content."""

    carries_parts: ClassVar[bool] = True
    shows_media: ClassVar[bool] = True
    """Whether media can be shown; otherwise they are too large to be carried."""

    def __init__(self) -> None:
        super().__init__(AnswerHead(token_hex(8)), Notebook())
        self._pieces: dict[int, list[str]] = {}
        self._turn = CarriedTurn()

    @abstractmethod
    def show(self, number: int, text: str) -> None:
        """Adds to a part."""

    @abstractmethod
    def close(self, number: int, part: Part, value: str | None) -> None:
        """Ends a part; this value is carried with it."""

    def add(self, number: int, text: str) -> None:
        self._pieces.setdefault(number, []).append(text)
        self.show(number, text)

    def end(self, number: int, part: Part) -> None:
        text = "".join(self._pieces.pop(number, ()))
        must = _must_be_carried(part)
        self._turn.put(part if must else _with_content(part, text))
        self.close(number, part, carried(part) if must else None)

    def whole_turn(self, response: Response) -> str | None:
        """The turn to carry once more, if it would not come back the same."""
        parts = tuple(
            part for part in response.parts if self.shows_media or not isinstance(part, Media)
        )
        has_block = response.origin is not None and response.origin.block is not None
        same = len(parts) == len(self._turn.parts) and all(map(_is_same, parts, self._turn.parts))
        if same and not has_block:
            return None
        return carried(Message("assistant", parts, response.origin))

    def call_id(self, call: ToolCall) -> str:
        """An id that is unique in a conversation: those that innervoice generated start again in every answer."""
        is_counted = call.origin is not None and "id" in call.origin.invented
        return f"{call.id}-{self.head.id}" if is_counted else call.id

    def body(self) -> dict[str, Any]:
        raise UsageError(f"an answer in {self.dialect} is a stream and has no whole body")


def _with_content(part: Part, text: str) -> Part:
    if isinstance(part, (Text, Thinking)):
        return part.replace(text=text)
    return part.replace(arguments=text) if isinstance(part, ToolCall) else part


def _is_same(part: Part, other: Part) -> bool:
    """Whether a part that comes back is the original one."""
    if _must_be_carried(part) or type(part) is not type(other):
        return part == other
    return content_of(part) == content_of(other)


# ---- reading ---------------------------------------------------------------------------------------


class CarriedTurn:
    """One turn of the model, from its visible content and the values carried with it."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._whole: Message | None = None
        self.call_ids: dict[str, str] = {}
        """The ids of calls that have another id in the front end."""

    def put(self, part: Part) -> None:
        """Adds a part as it is."""
        self.parts.append(part)

    def add(self, part: Part | None, value: Any = None) -> None:
        """Adds a part that was shown, and the value carried with it."""
        stored = _read(value)
        if value is not None and stored is None:
            _warn("it was not written by innervoice")
        if isinstance(stored, Message):
            self._whole = stored
        elif stored is not None and (
            part is None or _visible_content([stored]) == _visible_content([part])
        ):
            if isinstance(part, ToolCall) and isinstance(stored, ToolCall):
                self.call_ids[part.id] = stored.id
            part = stored
        elif stored is not None:
            _warn("the text or call that it belongs to was changed")
        if part is not None:
            self.parts.append(part)

    def message(self) -> Message | None:
        """The turn; None if it is empty."""
        if whole := self._whole:
            if _visible_content(whole.parts) == _visible_content(self.parts):
                calls = [part for part in self.parts if isinstance(part, ToolCall)]
                for carried, call in zip(calls, whole.tool_calls, strict=True):
                    self.call_ids.setdefault(carried.id, call.id)
                return whole
            _warn("the turn that it belongs to was changed")
        origin_of_part = next((part.origin for part in self.parts if part.origin), None)
        origin = _bare(origin_of_part) if origin_of_part else None
        return Message("assistant", tuple(self.parts), origin) if self.parts else None


def _visible_content(parts: Iterable[Part]) -> tuple[str, str, list[Any]]:
    """The visible content of parts, without white space: text, reasoning and calls."""
    listed = list(parts)
    text = "".join(part.text for part in listed if isinstance(part, Text))
    thinking = "".join(part.text for part in listed if isinstance(part, Thinking))
    calls = [(part.name, _arguments(part)) for part in listed if isinstance(part, ToolCall)]
    return "".join(text.split()), "".join(thinking.split()), calls


def _arguments(call: ToolCall) -> Any:
    return load_json(call.arguments or "{}") if is_json(call.arguments) else call.arguments


def is_json(arguments: str) -> bool:
    """Whether the arguments of a call are JSON; an empty text is."""
    try:
        load_json(arguments or "{}")
    except ValueError:
        return False
    return True


def _warn(reason: str) -> None:
    warn(f"a seal was dropped: {reason}", stacklevel=4)
