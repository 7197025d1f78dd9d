"""The input and the output of a run: versions, options, counts and digests. The same run has the same manifest, whenever it ran."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from innervoice.bulk.files import (
    STANDARD_INPUT,
    InputFile,
    is_address,
    open_file,
    remote_version,
)
from innervoice.canon.jsontext import dump_json, load_json

__all__ = [
    "Counts",
    "Part",
    "Trouble",
    "file_names",
    "fingerprint",
    "is_file_list",
    "load",
    "load_manifest",
    "load_plan",
    "plan_digest",
    "save",
    "versions",
]

_MOST_TROUBLES = 20
_MEMBERS = {"versions", "plan", "inputs", "counts", "parts"}


class Trouble(NamedTuple):
    """A row that could not be read."""

    place: str
    """File and line."""
    why: str


class Counts:
    """Counts of rows by status, note and markup, and the first troubles."""

    def __init__(self) -> None:
        self.rows = 0
        self.columns: dict[str, Counter[str]] = {
            "status": Counter(),
            "notes": Counter(),
            "markup": Counter(),
            "unsplit": Counter(),
            "lost": Counter(),
        }
        self.troubles: list[Trouble] = []

    def add(
        self,
        batch: dict[str, Any],
        troubles: Sequence[Trouble],
        unsplit: dict[str, int] | None = None,
    ) -> None:
        """Counts a batch; `unsplit` are texts with markup that is switched off."""
        self.columns["unsplit"].update(unsplit or {})
        self.rows += len(next(iter(batch.values()), ()))
        self.columns["status"].update(batch.get("status", ()))
        self.columns["notes"].update(code for codes in batch.get("notes", ()) for code in codes)
        self.columns["markup"].update(name for name in batch.get("markup", ()) if name is not None)
        self.troubles += troubles[: _MOST_TROUBLES - len(self.troubles)]

    def merge(self, other: dict[str, Any]) -> None:
        """Adds the counts of another part, as returned by `as_json`."""
        self.rows += other["rows"]
        for name, counter in self.columns.items():
            counter.update(other.get(name, {}))
        troubles = [Trouble(*trouble) for trouble in other["troubles"]]
        self.troubles += troubles[: _MOST_TROUBLES - len(self.troubles)]

    def as_json(self) -> dict[str, Any]:
        """As an object; the most frequent first, so that it does not depend on the order of the parts."""
        ordered = {
            name: dict(sorted(counter.items(), key=lambda entry: (-entry[1], entry[0])))
            for name, counter in self.columns.items()
        }
        return {
            "rows": self.rows,
            **ordered,
            "troubles": [list(trouble) for trouble in self.troubles],
        }


class Part(NamedTuple):
    """A complete part of the result: its files, and its counts."""

    number: int
    files: dict[str, dict[str, Any]]
    """Name of the output -> name, rows, size and digest of its file."""
    counts: dict[str, Any]


def versions() -> dict[str, str]:
    """The versions of the software that made the result."""
    installed = {}
    for package in ("innervoice", "pyarrow"):
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


def fingerprint(file: InputFile) -> dict[str, Any]:
    """A file by its size and the digest of its content, all of it; a remote one by what its storage says about its version."""
    facts: dict[str, Any] = {"path": file.path, "size": file.size}
    if file.path == STANDARD_INPUT:
        return {**facts, "run": token_hex(8)}  # never the same as another
    if is_address(file.path):
        return {**facts, "version": remote_version(file.path)}
    with open_file(file._replace(compression=None)) as stream:
        digest = hashlib.file_digest(stream, "blake2b")  # type: ignore[arg-type] # any binary file
    return {**facts, "content": digest.hexdigest()[:64]}


def plan_digest(plan: dict[str, Any]) -> str:
    """A digest of everything that the result depends on."""
    return hashlib.sha256(dump_json(plan)).hexdigest()


def save(path: Path, value: Any) -> None:
    """Writes JSON completely or not at all."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(dump_json(value) + b"\n")
    temporary.replace(path)


def load(path: Path) -> Any:
    """Reads JSON; None if there is none that can be read."""
    try:
        return load_json(path.read_bytes())
    except (OSError, ValueError):
        return None


def load_manifest(path: Path) -> dict[str, Any] | None:
    """Reads a manifest of a run; None for anything else, such as somebody else's `manifest.json`."""
    value = load(path)
    if not isinstance(value, dict) or not value.keys() >= _MEMBERS:
        return None
    parts = value["parts"]
    if not isinstance(parts, list) or not all(map(is_file_list, parts)):
        return None
    return value


def load_plan(path: Path) -> str | None:
    """Reads the digest of the plan of a run that was begun; None for anything else."""
    value = load(path)
    plan = value.get("plan") if isinstance(value, dict) else None
    return plan if isinstance(plan, str) else None


def file_names(manifest: dict[str, Any] | None) -> set[str]:
    """The names of the files of a result."""
    parts = manifest["parts"] if manifest else ()
    return {file["name"] for part in parts for file in part.values()}


def is_file_list(part: Any) -> bool:
    """Whether this has the form of `Part.files`, with names of one folder: a manifest leads to no other folder."""
    return isinstance(part, dict) and all(
        isinstance(file, dict)
        and isinstance(file.get("size"), int)
        and isinstance(file.get("name"), str)
        and file["name"] not in ("", ".", "..")
        and not {"/", "\\", "\0"} & set(file["name"])
        for file in part.values()
    )
