"""Files in messages: what kind a file is, and how data and URLs are distinguished.

Each dialect has the same five names in its `write.py`: `ACCEPTS` (which kinds it accepts from a user, and how), `TYPES` (which types of a
kind, where not all), `IN_RESULTS` (whether tool results may contain files), `write_media` (a part -> its block) and `read_media` (a block -> a part, None for a block without
a file). Files that a dialect does not accept never reach `write_media`: `planning/encode.py` refuses or converts them before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol, TypeAlias

from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media
from innervoice.wire.json_access import as_text

PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
"""The types of images that most APIs accept (their documentation, read 2026-11-17)."""

__all__ = [
    "PICTURES",
    "Accepts",
    "Kind",
    "MediaModule",
    "Types",
    "Way",
    "data_url",
    "kind_of",
    "media_of",
    "media_of_url",
    "misfit_files",
    "type_of",
    "way_of",
]

Kind: TypeAlias = Literal["image", "audio", "video", "pdf", "text", "document"]
Way: TypeAlias = Literal["data", "url", "s3", "gs"]
"""How a file is sent: as data, by a URL that anyone can fetch, or by its location in a cloud's own storage."""
Accepts: TypeAlias = dict[Kind, tuple[Way, ...]]
Types: TypeAlias = dict[Kind, tuple[str, ...]]
"""The types of a kind that an API accepts; a kind that is absent is accepted in every type."""


class MediaModule(Protocol):
    """The part of every `write.py` that is about files."""

    ACCEPTS: Accepts
    TYPES: Types
    IN_RESULTS: bool

    def write_media(self, part: Media) -> Any:
        """The block of a file."""
        ...

    def read_media(self, block: dict[str, Any]) -> Media | None:
        """The file in a block, or None."""
        ...


_DATA_URL = re.compile(r"data:([^;,]*)[^,]*;base64,(.*)", re.DOTALL | re.IGNORECASE)
_TEXTS = ("text/", "application/json", "application/xml", "application/x-yaml")


def kind_of(media: Media) -> Kind:
    """The kind of a file, by its type; a file without a type is assumed to be an image, as most are."""
    mime = (media.mime or "image/").lower()
    if mime.startswith("image/"):
        return "image"
    if mime.startswith("audio/"):
        return "audio"
    if mime.startswith("video/"):
        return "video"
    if mime == "application/pdf":
        return "pdf"
    return "text" if mime.startswith(_TEXTS) else "document"


def type_of(media: Media) -> str | None:
    """The type of a file without parameters and in its usual spelling; None if it is unknown."""
    mime = (media.mime or "").partition(";")[0].strip().lower()
    return {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg"}.get(mime, mime) or None


def misfit_files(
    value: Any, files: MediaModule, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Media]]:
    """The files in a history whose type the API does not accept, and where they are."""
    if len(path) > _DEEPEST:
        return
    if isinstance(value, dict):
        file = files.read_media(value)
        if file and file.mime and file.mime not in files.TYPES.get(kind_of(file), (file.mime,)):
            yield path, file
            return
        members: Iterable[tuple[str | int, Any]] = value.items()
    else:
        members = enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        if isinstance(member, (dict, list)):
            yield from misfit_files(member, files, (*path, name))


_DEEPEST = 32


def way_of(media: Media) -> Way:
    """How a file would be sent."""
    if media.data is not None or not media.url:
        return "data"
    scheme = media.url.partition("://")[0].lower()
    return "s3" if scheme == "s3" else "gs" if scheme == "gs" else "url"


def data_url(media: Media) -> str:
    """The location of a file: its URL, or a URL that contains its data."""
    return media.url or f"data:{media.mime or 'application/octet-stream'};base64,{media.data or ''}"


def media_of_url(
    url: Any, block: dict[str, Any], dialect: str, *, mime: str | None = None, name: Any = None
) -> Media | None:
    """A file at a URL, or in a data URL; None for anything that is not a URL."""
    if not isinstance(url, str) or not url:
        return None
    embedded = _DATA_URL.fullmatch(url)
    if embedded:
        return media_of(embedded[1] or mime, embedded[2], None, block, dialect, name=name)
    return media_of(mime, None, url, block, dialect, name=name)


def media_of(
    mime: Any, data: Any, url: Any, block: dict[str, Any], dialect: str, *, name: Any = None
) -> Media | None:
    """A file that came in a block of a dialect, or None if it has neither data nor a URL."""
    if not isinstance(data, str) and not isinstance(url, str):
        return None
    origin = Origin(dialect=dialect, block=block)
    return Media(as_text(mime), as_text(data), as_text(url), origin=origin, name=as_text(name))
