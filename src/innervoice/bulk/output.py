"""Where the result of a run goes: a folder of part files, or one file that is joined from them at the end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from innervoice.bulk import manifest as records
from innervoice.bulk.files import InputFile
from innervoice.bulk.joining import join_parts
from innervoice.bulk.writing import OUTPUTS, output_format
from innervoice.errors import UsageError

__all__ = ["Output"]

_ENDINGS = {
    "jsonl": ".jsonl",
    "json": ".jsonl",
    "session": ".jsonl",
    "parquet": ".parquet",
    "arrow": ".arrow",
}


class Output(NamedTuple):
    """A place for the result."""

    path: Path
    ending: str
    is_folder: bool

    @classmethod
    def at(cls, path: str | os.PathLike[str], format: str | None, first: InputFile) -> Output:  # noqa: A002
        """The output for a path; without a format, part files have the format of the input."""
        name = os.fspath(path)
        is_file = (
            not name.endswith(("/", os.sep))
            and not Path(name).is_dir()
            and any(map(Path(name).name.lower().endswith, OUTPUTS))
        )
        if is_file:
            return cls(Path(name), output_format(name), is_folder=False)
        if Path(name).suffix and not Path(name).is_dir() and not name.endswith("/"):
            output_format(name)  # says which names there are
        ending = f".{format.lstrip('.')}" if format else _ENDINGS[first.format]
        if ending not in OUTPUTS:
            raise UsageError(f"format must be one of {', '.join(OUTPUTS)}, not {format!r}")
        return cls(Path(name), ending, is_folder=True)

    @property
    def has_schema(self) -> bool:
        """Whether the files have an Arrow schema."""
        return self.ending in (".parquet", ".arrow")

    @property
    def folder(self) -> Path:
        """Where the part files are."""
        return self.path if self.is_folder else self.path.with_name(f"{self.path.name}.parts")

    @property
    def manifest(self) -> Path:
        """Where the manifest is."""
        return (
            self.path / "manifest.json"
            if self.is_folder
            else self.path.with_name(f"{self.path.name}.manifest.json")
        )

    @property
    def _state(self) -> Path:
        return self.folder / ".parts"

    def state_path(self, number: int) -> Path:
        """Where the counts of a part are."""
        return self._state / f"{number:05}.json"

    def part_path(self, name: str, number: int) -> Path:
        """The part file of an output."""
        return self.folder / f"{name or 'part'}-{number:05}{self.ending}"

    def begin(self, digest: str, *, overwrite: bool) -> dict[str, Any] | None:
        """Prepares the output; returns the manifest if the same run is complete. Raises `UsageError` for the result of another run."""
        done = records.load(self.manifest)
        begun = records.load(self._state / "plan.json")
        mine = [known for known in (done, begun) if isinstance(known, dict)]
        if overwrite:
            self._clear()
        elif mine and any(known.get("plan") != digest for known in mine):
            raise UsageError(
                f"{self.path} has the result of a run with other files or options; choose another path, or pass --overwrite"
            )
        elif isinstance(done, dict) and self._is_whole(done):
            return done
        elif not mine and self._is_used():
            raise UsageError(
                f"{self.path} exists and is not the result of such a run; choose another path, or pass --overwrite"
            )
        self._state.mkdir(parents=True, exist_ok=True)
        records.save(self._state / "plan.json", {"plan": digest})
        return None

    def _is_used(self) -> bool:
        return any(self.path.iterdir()) if self.path.is_dir() else self.path.exists()

    def _is_whole(self, done: dict[str, Any]) -> bool:
        folder = self.path if self.is_folder else self.path.parent
        return all(
            (folder / file["name"]).is_file()
            and (folder / file["name"]).stat().st_size == file["size"]
            for part in done["parts"]
            for file in part.values()
        )

    def _clear(self) -> None:
        """Removes the files of a run, and nothing else."""
        for known in (self.manifest, *self._own_files()):
            known.unlink(missing_ok=True)
        shutil.rmtree(self._state, ignore_errors=True)

    def _own_files(self) -> list[Path]:
        if not self.is_folder:
            return [
                self.path,
                *(self.folder.glob(f"*-?????{self.ending}") if self.folder.is_dir() else ()),
            ]
        return [path for ending in OUTPUTS for path in self.folder.glob(f"*-?????{ending}")]

    def known(self, number: int) -> dict[str, Any] | None:
        """A part that is complete."""
        part: dict[str, Any] | None = records.load(self.state_path(number))
        if not isinstance(part, dict):
            return None
        files = ((self.folder / file["name"], file["size"]) for file in part["files"].values())
        return (
            part
            if all(path.is_file() and path.stat().st_size == size for path, size in files)
            else None
        )

    def finish(self, parts: list[dict[str, dict[str, Any]]]) -> list[dict[str, dict[str, Any]]]:
        """Joins the parts if one file was requested; returns the files of the result."""
        self._remove_leftovers()
        if self.is_folder:
            return parts
        names = dict.fromkeys(name for part in parts for name in part)
        joined = {}
        for name in names:
            target = (
                self.path
                if not name
                else self.path.with_name(
                    f"{self.path.name.removesuffix(self.ending)}.{name}{self.ending}"
                )
            )
            sources = [self.folder / part[name]["name"] for part in parts if name in part]
            rows = sum(part[name]["rows"] for part in parts if name in part)
            written = join_parts(sources, target, self.ending)._replace(rows=rows)
            joined[name] = {"name": target.name, **written._asdict()}
        return [joined]

    def _remove_leftovers(self) -> None:
        """Removes files that a killed process did not complete."""
        for path in self.folder.glob(".*.tmp"):
            path.unlink(missing_ok=True)

    def seal(self, manifest: dict[str, Any]) -> None:
        """Writes the manifest, and removes files that only an incomplete run needs."""
        records.save(self.manifest, manifest)
        shutil.rmtree(self._state if self.is_folder else self.folder, ignore_errors=True)
