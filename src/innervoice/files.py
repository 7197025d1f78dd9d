"""A path, a URL or bytes -> a part of a message: an image, a PDF, audio, a text.

A local file and bytes are sent as base64 data in the request; a URL is sent as it is, and the provider fetches it.
"""

from __future__ import annotations

import mimetypes
import os
import re
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile, ZipFile

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
    ({0: b"BM", 6: b"\0\0\0\0"}, "image/bmp"),
    ({0: b"II*\0"}, "image/tiff"),
    ({0: b"MM\0*"}, "image/tiff"),
    ({0: b"<svg"}, "image/svg+xml"),
    ({4: b"ftypheic"}, "image/heic"),
    ({4: b"ftypheix"}, "image/heic"),
    ({4: b"ftypmif1"}, "image/heif"),
    ({4: b"ftypavif"}, "image/avif"),
    ({4: b"ftypM4A"}, "audio/mp4"),
    ({4: b"ftypqt"}, "video/quicktime"),
    ({4: b"ftyp"}, "video/mp4"),
)
_OFFICE = "application/vnd.openxmlformats-officedocument."
# Office documents are archives: a folder in each, and the type.
_ARCHIVES = {
    "word": f"{_OFFICE}wordprocessingml.document",
    "xl": f"{_OFFICE}spreadsheetml.sheet",
    "ppt": f"{_OFFICE}presentationml.presentation",
}
# Types that Python's own table of suffixes lacks or that differ on some systems.
_ENDINGS = {
    ".docx": _ARCHIVES["word"],
    ".xlsx": _ARCHIVES["xl"],
    ".pptx": _ARCHIVES["ppt"],
    ".doc": "application/msword",
    ".xls": "application/vnd.ms-excel",
    ".heic": "image/heic",
    ".heif": "image/heif",
    ".avif": "image/avif",
    ".json": "application/json",
    ".html": "text/html",
    ".txt": "text/plain",
    ".mov": "video/quicktime",
    ".mkv": "video/x-matroska",
    ".md": "text/markdown",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".flac": "audio/flac",
    ".webp": "image/webp",
    ".csv": "text/csv",
}


_PYTHONS = mimetypes.MimeTypes().types_map[True]
"""Python's own table: without the files of the system, which differ."""


def file(
    source: str | os.PathLike[str] | bytes, *, mime: str | None = None, name: str | None = None
) -> Media:
    """A part for a message: `iv.user(["What is this?", iv.file("dog.png")])`.

    :param source: A path, a URL (`https:`, `gs:`, `s3:` or `data:`) or bytes.
    :param mime: The media type; None takes it from the content of an Office document, from the suffix of the name, or from the first bytes.
    :param name: The file name that the model sees.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _of_bytes(bytes(source), mime, name, name or "")
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
    return _of_bytes(data, mime, name, path.name)


def _of_bytes(data: bytes, mime: str | None, name: str | None, file_name: str) -> Media:
    kind = mime or _by_archive(data) or _by_ending(file_name) or _by_beginning(data)
    if kind is None:
        raise UsageError("the type of the file is unknown; pass mime=, as mime='image/png'")
    return Media(kind, b64encode(data).decode("ascii"), name=name or file_name or None)


def _by_archive(data: bytes) -> str | None:
    """The type of an Office document; not every system knows its suffix."""
    if not data.startswith(b"PK\x03\x04"):
        return None
    try:
        names = ZipFile(BytesIO(data)).namelist()
    except BadZipFile:
        return None
    folders = {name.partition("/")[0] for name in names}
    return next((kind for folder, kind in _ARCHIVES.items() if folder in folders), None)


def _by_ending(name: str) -> str | None:
    ending = os.path.splitext(name)[1].lower()  # noqa: PTH122 - a URL is not a path
    return _ENDINGS.get(ending) or _PYTHONS.get(ending)


def _by_beginning(data: bytes) -> str | None:
    for signs, kind in _BEGINNINGS:
        if all(data.startswith(sign, offset) for offset, sign in signs.items()):
            return kind
    return None


def _last_segment(path: str) -> str | None:
    return path.rstrip("/").rsplit("/", 1)[-1] or None
