"""The files of the page, by a fixed list of names."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PAGE", "asset", "media_type", "names"]

PAGE = "index.html"
_FOLDER = Path(__file__).parent / "assets"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def names() -> frozenset[str]:
    """The names of all files."""
    if not _FOLDER.is_dir():
        return frozenset()
    return frozenset(path.name for path in _FOLDER.iterdir() if path.suffix in _TYPES)


def asset(name: str) -> bytes:
    """The content of a file whose name is in the list."""
    if name not in names():
        raise KeyError(name)
    return (_FOLDER / name).read_bytes()


def media_type(name: str) -> str:
    """The type of a file, by its name."""
    return _TYPES[Path(name).suffix]
