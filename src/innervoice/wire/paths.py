"""A request's path as it was sent -> its segments: divided at the slashes that were sent, then each decoded once.

One path can be spelled in many ways, and every server on the way may decode it once more. So that what was checked is what a provider gets,
a path has one meaning here or none, and what goes on is written again from its segments, never copied. Upper and lower case stay apart;
a slash that was sent as %2F stays inside its segment, as in the ARN of a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote, unquote_to_bytes

__all__ = ["folded", "path_of", "segments_of"]

_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]")
_PLAIN = "-._~!$&'(*),+;=:@"
"""What a segment has unescaped besides letters and digits (RFC 3986, 3.3)."""
_MOST_DECODED = 8
"""How often a spelling is decoded when it is compared; a path of 4,096 characters cannot be escaped much more often."""


def segments_of(path: str) -> tuple[str, ...]:
    """Returns the decoded segments of a raw path, with "" for each empty one but the first.

    Raises `ValueError` for a path without one meaning: a broken escape, bytes that are not UTF-8, control characters, a backslash, dot segments.
    """
    if _BROKEN_ESCAPE.search(path):
        raise ValueError("a percent sign in the path is not followed by two hexadecimal digits")
    try:
        segments = tuple(_decoded(segment) for segment in path.removeprefix("/").split("/"))
    except UnicodeDecodeError:
        raise ValueError("the path is not UTF-8") from None
    for segment in segments:
        if _UNSAFE.search(segment):
            raise ValueError("the path has a control character or a backslash")
        if not {".", ".."}.isdisjoint(segment.split("/")):
            raise ValueError("the path has dot segments")
    return segments


def _decoded(segment: str) -> str:
    # A server passes bytes beyond ASCII as Latin-1.
    raw = segment if segment.isascii() else segment.encode("latin-1")
    return unquote_to_bytes(raw).decode()


def path_of(segments: Iterable[str]) -> str:
    """Returns the path of decoded segments, in its one spelling."""
    return "".join(f"/{quote(segment, safe=_PLAIN)}" for segment in segments)


def folded(segments: Sequence[str]) -> str:
    """Returns what a careless server may take a path for: decoded until nothing changes, in lower case, without parameters and empty segments."""
    path = "/".join(segments)
    for _ in range(_MOST_DECODED):
        decoded = unquote_to_bytes(path).decode("utf-8", "replace")
        if decoded == path:
            break
        path = decoded
    kept: list[str] = []
    for segment in path.replace("\\", "/").lower().split("/"):
        name = segment.partition(";")[0].strip()
        if name == "..":
            del kept[-1:]
        elif name not in ("", "."):
            kept.append(name)
    return "/".join(kept)
