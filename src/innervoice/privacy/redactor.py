"""What of a value may be seen, by whom: on the screen of its owner, in a file that is handed on, in a log.

                        screen                     share, log
    words of people,    as they are                without keys, tokens and seals
    models and tools
    names, messages     without keys, tokens and seals, at every level
    addresses           without a query, which may hold a key
    ids                 as they are, or as a hash: some programs append a seal to an id
    seals               their size                 their size
    another program's   without seals and credentials, by the names of its members and by their form
    JSON

`screen` is for `repr`, the renderers and the viewer's page. What the words say is not changed there: they belong to who looks at them.
`shape`, the other level of the request log, keeps no words at all (`sources/request_log/records.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Part, ToolResult
from innervoice.privacy.secrets import CREDENTIALS, SEALS, redacted, redacted_name
from innervoice.wire.dialects import DIALECTS, dialect_named

__all__ = [
    "SEAL_IN_ID",
    "Level",
    "Redactor",
    "identifier",
    "plain_word",
    "sealed_values",
    "short_hash",
    "shown_field",
    "size",
]

Level: TypeAlias = Literal["screen", "share", "log"]

SEAL_IN_ID = "__thought__"
"""litellm appends the signature of a tool call to its id, after this separator."""

_SIMPLE = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_ID = re.compile(r"(?:.*_)?ids?|.*[a-z]Ids?", re.DOTALL)
"""Names of members that hold ids, in any dialect."""
_CREDENTIAL = re.compile(CREDENTIALS, re.IGNORECASE)
_SHARED_NAMES = frozenset({"id", "data"})
"""Members that hold seals in some blocks, and ids or files in others."""
_EXAMPLES = frozenset({"default", "example", "examples", "const", "enum"})
"""Members of a schema with values of the member that it describes."""
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,20}://\S+", re.IGNORECASE)
_USER = re.compile(r"(://)[^/@\s]{0,400}@")
_QUERY = re.compile(r"[?#].*", re.DOTALL)
_DATA_URL = re.compile(r"data:([\w.+/-]{0,80})[^,]{0,200},")
_CODED = re.compile(r"[A-Za-z0-9+/_-]{65,}={0,2}")
"""Longer than words are: encoded data."""
_UNBROKEN = re.compile(r"\S{65,}")
_CUT_RUN = re.compile(r"(?<![A-Za-z0-9+/=_.~-])[A-Za-z0-9+/=_.~-]{8,}…")
_LONGEST_WORD = 24
_DEEPEST = 100


class Redactor:
    """Shows values at one level. `messages` are those whose seals and files are known, wherever they occur."""

    def __init__(self, level: Level, messages: Iterable[Message] = ()) -> None:
        self.level: Level = level
        self._is_screen = level == "screen"
        self._known: dict[str, str] = {}
        for message in messages:
            for part in message.parts:
                self._known.update(_placeholders(part))

    def text(self, text: str) -> str:
        """Words of people, models and tools."""
        return text if self._is_screen else redacted(text)

    def line(self, text: str) -> str:
        """Words that were shortened to a line: half a key is not recognized any more, so a run of characters before the cut is left out."""
        return text if self._is_screen else _CUT_RUN.sub(_without_run, redacted(text))

    def name(self, text: str, longest: int | None = None) -> str:
        """A name, or a message of a program."""
        # Shortened afterwards, as half a key is not recognized any more.
        return redacted_name(text)[:longest]

    def address(self, url: str) -> str:
        """A URL; of one that holds its data, the type and the size."""
        if match := _DATA_URL.match(url):
            return f"<{match[1] or 'data'}, {size((len(url) - match.end()) * 3 // 4)}>"
        return redacted_name(_USER.sub(r"\1", _QUERY.sub("", url)))

    def foreign(self, value: Any, name: str = "") -> Any:
        """Another program's JSON; `name` is that of the member that holds it."""
        return self._foreign(value, name, sealed=False, depth=0)

    def _foreign(self, value: Any, name: str, *, sealed: bool, depth: int) -> Any:
        match value:
            case str():
                return self._member(value, name, sealed=sealed)
            case dict() | list() | tuple() if depth > _DEEPEST:
                return "<nested too deeply to show>"
            case dict():
                is_sealed = _is_sealed_block(value)
                return {
                    redacted_name(str(key)): self._foreign(
                        item,
                        name if key in _EXAMPLES else str(key),
                        sealed=sealed or _is_sealed(str(key)) or (is_sealed and key == "data"),
                        depth=depth + 1,
                    )
                    for key, item in value.items()
                }
            case list() | tuple():
                return [self._foreign(item, name, sealed=sealed, depth=depth + 1) for item in value]
            case _:
                return value

    def _member(self, text: str, name: str, *, sealed: bool) -> str:
        if not text or text in self._known:
            return self._known.get(text, text)
        if sealed or _CREDENTIAL.search(name):
            return self._placeholder("sealed" if sealed else "private", text)
        if _ID.fullmatch(name):
            return identifier(text)
        if _DATA_URL.match(text) or _ADDRESS.fullmatch(text):
            return self.address(text) + ("?…" if _QUERY.search(text) else "")
        if self._is_data(text, name):
            return self._placeholder("data", text)
        return redacted(text)

    def _is_data(self, text: str, name: str) -> bool:
        """Whether a text is encoded, and not written for people; on the screen, a long path or word is shown."""
        if self._is_screen:
            return bool(_CODED.fullmatch(text)) and not text.isalpha()
        return name == "data" or bool(_UNBROKEN.search(text))

    def _placeholder(self, word: str, text: str) -> str:
        if not self._is_screen:
            return f"[{len(text)} characters]"
        count = len(text.encode("utf-8", "surrogatepass"))
        return f"<{word}, {size(count * 3 // 4 if word == 'data' else count)}>"


def _without_run(match: re.Match[str]) -> str:
    is_word = len(match[0]) <= _LONGEST_WORD and not any(map(str.isdigit, match[0]))
    return match[0] if is_word else "…"


def identifier(text: str) -> str:
    """An id, by which calls and results are matched; a hash if it may carry a seal, is a key, or has odd characters."""
    if _SIMPLE.fullmatch(text) and SEAL_IN_ID not in text and redacted_name(text) == text:
        return text
    return f"id-{short_hash(text)}"


def shown_field(name: str, value: Any) -> Any:
    """A field of a canonical value for its `repr`: a text, or another program's JSON."""
    if isinstance(value, (dict, list)):
        return _SCREEN.foreign(value, name)
    if _ID.fullmatch(name):
        return identifier(value)
    return _SCREEN.address(value) if _ADDRESS.fullmatch(value) else _SCREEN.name(value)


def plain_word(text: Any) -> str | None:
    """A short word of an API, such as the type of a block; None for anything else."""
    if not isinstance(text, str) or not _SIMPLE.fullmatch(text) or redacted_name(text) != text:
        return None
    return text


def short_hash(text: str) -> str:
    """What tells one text from another, but does not reveal its content."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def size(count: int) -> str:
    """A number of bytes."""
    if count < 1000:
        return f"{count} byte{'' if count == 1 else 's'}"
    if count < 1_000_000:
        return f"{count / 1000:.3g} kB" if count < 99_950 else f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"


def sealed_values(part: Part) -> Iterator[tuple[str, Any]]:
    """The seals of a part: their paths in its wire block, and their values."""
    origin = part.origin
    for path in origin.seals if origin else ():
        value: Any = origin.block if origin else None
        for name in path.split("."):
            value = _member_of(value, name)
        if value:
            yield path, value


def _member_of(value: Any, name: str) -> Any:
    if isinstance(value, list) and name.isdecimal():
        return value[int(name)] if int(name) < len(value) else None
    return value.get(name) if isinstance(value, dict) else None


def _placeholders(part: Part) -> dict[str, str]:
    """Values of a part that must not be shown -> their replacements."""
    placeholders: dict[str, str] = {}
    for path, value in sealed_values(part):
        for seal in _texts(value):
            word = "id" if path == "id" else "sealed"
            placeholders[seal] = f"<{word}, {size(len(seal.encode('utf-8', 'surrogatepass')))}>"
    match part:
        case Media(data=str(data)) if data:
            placeholders[data] = f"<{part.mime or 'data'}, {size(len(data) * 3 // 4)}>"
        case ToolResult(content=tuple(content)):
            for item in content:
                placeholders.update(_placeholders(item))
    return placeholders


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _is_sealed_block(block: dict[str, Any]) -> bool:
    """Whether a block has its seal in a member that holds files in other blocks."""
    kind = block.get("type")
    return isinstance(kind, str) and _is_sealed(kind)


def _is_sealed(name: str) -> bool:
    return _sealed_names().search(name) is not None


@cache
def _sealed_names() -> re.Pattern[str]:
    """The members that hold seals: by the words that their names have everywhere, and as the dialects say."""
    names = {name for dialect in DIALECTS for name in dialect_named(dialect).seals} - _SHARED_NAMES
    return re.compile("|".join([SEALS, *map(re.escape, sorted(names))]), re.IGNORECASE)


_SCREEN = Redactor("screen")
