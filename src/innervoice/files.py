"""A path, a URL or bytes -> a part of a message: an image, a PDF, audio, a text.

A local file and bytes are sent as base64 data in the request; a URL is sent as it is, and the provider fetches it.
"""

from __future__ import annotations

import mimetypes
import os
import re
from base64 import b64encode
from pathlib import Path

from innervoice.canon.parts import Media
from innervoice.errors import UsageError

__all__ = ["file"]

_URL = re.compile(r"(?:https?|gs|s3)://", re.IGNORECASE)
_DATA_URL = re.compile(r"data:([^;,]*)[^,]*;base64,(.*)", re.DOTALL | re.IGNORECASE)
# The first bytes of each type, for bytes without a name: bytes at an offset, all of them -> the type.
_BEGINNINGS: tuple[tuple[dict[int, bytes], str], ...] = (
    ({0: b"\x89PNG\r\n\x1a\n"}, "image/png"),
    ({0: b"\xff\xd8\xff"}, "image/jpeg"),
    ({0: b"GIF8"}, "image/gif"),
    ({0: b"RIFF", 8: b"WEBP"}, "image/webp"),
    ({0: b"%PDF-"}, "application/pdf"),
    ({0: b"RIFF", 8: b"WAVE"}, "audio/wav"),
    ({0: b"ID3"}, "audio/mpeg"),
    ({0: b"\xff\xfb"}, "audio/mpeg"),
    ({0: b"fLaC"}, "audio/flac"),
    ({0: b"OggS"}, "audio/ogg"),
    ({4: b"ftyp"}, "video/mp4"),
)
# Types that Python's table of suffixes lacks or that differ on some systems.
_ENDINGS = {
    ".md": "text/markdown",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".flac": "audio/flac",
    ".webp": "image/webp",
    ".csv": "text/csv",
}


def file(
    source: str | os.PathLike[str] | bytes, *, mime: str | None = None, name: str | None = None
) -> Media:
    """A part for a message: `iv.user(["What is this?", iv.file("dog.png")])`.

    `source` is a path, a URL (`https:`, `gs:`, `s3:` or `data:`) or bytes. The type is taken from `mime`, or else from the suffix of
    the name, or else from the first bytes. `name` is the file name that the model sees.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _of_bytes(bytes(source), mime, name)
    if isinstance(source, str):
        if embedded := _DATA_URL.fullmatch(source):
            return Media(mime or embedded[1] or "text/plain", embedded[2], name=name)
        if _URL.match(source):
            path = re.split(r"[?#]", source, maxsplit=1)[0]
            return Media(mime or _by_ending(path), url=source, name=name or _last_segment(path))
    elif not isinstance(source, os.PathLike):
        raise UsageError(f"file takes a path, a URL or bytes, not {type(source).__name__}")
    path = Path(source)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"the file {str(path)[:200]!r} cannot be read: {reason}") from None
    return _of_bytes(data, mime or _by_ending(path.name), name or path.name)


def _of_bytes(data: bytes, mime: str | None, name: str | None) -> Media:
    kind = mime or (_by_ending(name) if name else None) or _by_beginning(data)
    if kind is None:
        raise UsageError("the type of the file is unknown; pass mime=, as mime='image/png'")
    return Media(kind, b64encode(data).decode("ascii"), name=name)


def _by_ending(name: str) -> str | None:
    ending = os.path.splitext(name)[1].lower()  # noqa: PTH122 - a URL is not a path
    return _ENDINGS.get(ending) or mimetypes.types_map.get(ending)


def _by_beginning(data: bytes) -> str | None:
    for signs, kind in _BEGINNINGS:
        if all(data.startswith(sign, offset) for offset, sign in signs.items()):
            return kind
    return None


def _last_segment(path: str) -> str | None:
    return path.rstrip("/").rsplit("/", 1)[-1] or None
