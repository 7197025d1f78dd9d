"""Names of google-genai's `model_dump()` -> names of the wire format.

The SDK's objects name their members in snake_case, fill missing ones with None, and write bytes as URL-safe base64. A caller's own
names, in the arguments of a call, stay as they are.
"""

from __future__ import annotations

import re
from typing import Any

from innervoice.wire.json_access import as_list

__all__ = ["wire_chunk", "wire_part"]

_WORD = re.compile(r"_([a-z])")
_HOLDERS = ("functionCall", "inlineData", "fileData", "executableCode", "codeExecutionResult", "videoMetadata")  # fmt: skip
"""The members of a part whose own members are renamed."""
_STANDARD = str.maketrans("-_", "+/")


def wire_chunk(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk with the names of the wire format, as far as it is read; parts are renamed one by one."""
    if not _is_renamed(chunk):
        return chunk
    made = _renamed(chunk)
    for holder in ("usageMetadata", "promptFeedback"):
        if isinstance(made.get(holder), dict):
            made[holder] = _renamed(made[holder])
    return made


def wire_part(part: dict[str, Any]) -> dict[str, Any]:
    """A part with the names of the wire format."""
    if not _is_renamed(part):
        return part
    made = _renamed(part)
    for holder in _HOLDERS:
        if isinstance(made.get(holder), dict):
            made[holder] = _renamed(made[holder])
    _encode(made, "thoughtSignature")
    _encode(made.get("inlineData"), "data")
    call = made.get("functionCall")
    if isinstance(call, dict) and "partialArgs" in call:
        call["partialArgs"] = [
            _renamed(piece) if isinstance(piece, dict) else piece
            for piece in as_list(call["partialArgs"])
        ]
    return made


def _is_renamed(members: dict[str, Any]) -> bool:
    """Whether a name is in snake_case, which is never used on the wire."""
    return any("_" in name for name in members)


def _renamed(members: dict[str, Any]) -> dict[str, Any]:
    return {
        _WORD.sub(lambda found: found[1].upper(), name): value
        for name, value in members.items()
        if value is not None
    }


def _encode(members: Any, name: str) -> None:
    """Bytes in the alphabet of the wire."""
    if isinstance(members, dict) and isinstance(members.get(name), str):
        members[name] = members[name].translate(_STANDARD)
