"""Where the result of a run goes: a folder of part files, or one file that is joined from them at the end.

What is there already is treated by these rules:

  1. A path that exists belongs to somebody else, unless a manifest of ours is there, or the state of a run that was begun (`.parts`). It is refused.
  2. Of a result, only the files that its manifest names are removed; of a run that was begun, only those that its state names.
  3. A complete result stays until the new one is complete. A new folder is made beside the old one, and then gets its name in one step. New files
     are made in the folder of the parts. Their manifest, written there last, decides that they replace the old ones, one after the other.
  4. What a killed process had decided is completed by the next run, whichever it is.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from innervoice.bulk import manifest as records
from innervoice.bulk.files import STANDARD_INPUT, InputFile, is_address
from innervoice.bulk.schema import REJECTED
from innervoice.bulk.writing import OUTPUTS, PartFile, Written, hashed_copy, output_format
from innervoice.errors import UsageError

__all__ = [
    "Output",
    "check_apart",
    "check_stream",
    "exchange",
    "join_parts",
    "parked_path",
    "recover",
    "swap",
    "unlock",
]

_ENDINGS = {
    "jsonl": ".jsonl",
    "json": ".jsonl",
    "csv": ".jsonl",
    "session": ".jsonl",
    "parquet": ".parquet",
    "arrow": ".arrow",
}
_STATE = ".parts"
_JOINED = ".joined"
_PLAN = "plan.json"
_LOCK = "lock"
_MANIFEST = "manifest.json"


class Output(NamedTuple):
    """A place for the result."""

    path: Path
    ending: str
    is_folder: bool
    is_divided: bool = False
    """Whether there may be a second output, usually of rejected rows."""
    replaces: bool = False
    """Whether the parts are made beside a complete folder, which they replace."""

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

    # ---- paths -----------------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """Where the part files are."""
        if self.is_folder:
            return self._beside if self.replaces else self.path
        return self.path.with_name(f"{self.path.name}.parts")

    @property
    def manifest(self) -> Path:
        """Where the manifest is."""
        return (
            self.path / _MANIFEST
            if self.is_folder
            else self.path.with_name(f"{self.path.name}.{_MANIFEST}")
        )

    @property
    def written(self) -> list[Path]:
        """All paths that the run may write to, or remove."""
        if self.is_folder:
            return [self.path, self._beside]
        old = records.file_names(records.load_manifest(self.manifest))
        return [*self._targets, self.folder, *map(self.path.with_name, sorted(old))]

    @property
    def _targets(self) -> list[Path]:
        """The files of a result that is not a folder, as far as they are known before the run."""
        second = [self._joined_path(REJECTED)] if self.is_divided else []
        return [self.path, self.manifest, *second]

    def _joined_path(self, name: str) -> Path:
        """The file of an output, after the parts were joined."""
        if not name:
            return self.path
        stem = self.path.name.removesuffix(self.ending)
        return self.path.with_name(f"{stem}.{name}{self.ending}")

    @property
    def _real(self) -> Path:
        """The folder itself, where the path is a link to it."""
        return self.path.resolve()

    @property
    def _beside(self) -> Path:
        return self._real.with_name(f".{self._real.name}.new")

    def state_path(self, number: int) -> Path:
        """Where the counts of a part are."""
        return self.folder / _STATE / f"{number:05}.json"

    def part_path(self, name: str, number: int) -> Path:
        """The part file of an output."""
        return self.folder / f"{name or 'part'}-{number:05}{self.ending}"

    # ---- the beginning ---------------------------------------------------------------------------

    def begin(self, digest: str, *, overwrite: bool) -> tuple[Output, dict[str, Any] | None]:
        """Prepares the output, and says where parts are made; or the manifest if the same run is complete. Raises `UsageError` for anything else."""
        self._complete_swap()
        manifest = records.load_manifest(self.manifest)
        begun = _plan_in(self.folder)
        self._check_owner(manifest, begun)
        if manifest and manifest["plan"] == digest and self._is_whole(manifest) and not overwrite:
            return self, manifest
        plans = {
            plan_here
            for plan_here in (manifest["plan"] if manifest else None, begun)
            if plan_here is not None
        }
        if plans - {digest} and not overwrite:
            raise UsageError(
                f"{self.path} has the result of a run with other files or options; choose another path, or pass --overwrite"
            )
        if manifest and not overwrite:
            self._check_unchanged(manifest)
        place = self
        if manifest and overwrite and self.is_folder:
            place = self._replacing()
            begun = _plan_in(place.folder)
        if begun is not None:
            _lock(place.folder)
        if begun not in (None, digest):
            remove_run(place.folder, self.ending)
        place.folder.mkdir(parents=True, exist_ok=True)
        if place.replaces:
            shutil.copymode(self._real, place.folder)
        (place.folder / _STATE).mkdir(exist_ok=True)
        replaces = {"replaces": manifest["plan"]} if manifest and place.replaces else {}
        records.save(place.folder / _STATE / _PLAN, {"plan": digest, **replaces})
        _lock(place.folder)  # after the plan, without which a folder is not known to be ours
        return place, None

    def _check_owner(self, manifest: dict[str, Any] | None, begun: str | None) -> None:
        """Raises `UsageError` for what is not the result of a run."""
        if self.is_folder:
            if not manifest and begun is None and _is_used(self.path):
                raise UsageError(_not_ours(self.path, f"{_MANIFEST} of innervoice bulk in it"))
            return
        our_files = {*records.file_names(manifest), *([self.manifest.name] if manifest else ())}
        for target in self._targets:
            if target.name not in our_files and os.path.lexists(target):
                raise UsageError(_not_ours(target, f"{self.manifest.name} that names it"))
        if begun is None and _is_used(self.folder):
            raise UsageError(_not_ours(self.folder, f"{_STATE}/{_PLAN} in it"))

    def _replacing(self) -> Output:
        """The output whose parts are made beside this folder; raises `UsageError` where that is not possible."""
        folder = self._beside
        if _is_used(parked := parked_path(self._real)):
            raise UsageError(_not_ours(parked, "nothing there"))
        if _plan_in(folder) is None and _is_used(folder):
            raise UsageError(_not_ours(folder, f"{_STATE}/{_PLAN} in it"))
        if self._real in (here := Path.cwd().resolve(), *here.parents):
            raise UsageError(
                f"{self.path} cannot be replaced from inside; run the command from another folder"
            )
        parent = self._real.parent
        if self._real.stat().st_dev != parent.stat().st_dev or not os.access(parent, os.W_OK):
            raise UsageError(
                f"{self.path} cannot be replaced: it is a mount, or {parent} is not writable; choose another path"
            )
        remove_state(self._real, self.ending)
        return self._replace(replaces=True)

    def _check_unchanged(self, manifest: dict[str, Any]) -> None:
        """Raises `UsageError` if a file is another one than the run has made; one that is missing can be made again."""
        for path, size in self._files(manifest):
            if os.path.lexists(path) and not _has_size(path, size):
                raise UsageError(
                    f"{path} has changed since the run that made it; choose another path, or pass --overwrite"
                )

    def _is_whole(self, manifest: dict[str, Any]) -> bool:
        return all(_has_size(path, size) for path, size in self._files(manifest))

    def _files(self, manifest: dict[str, Any]) -> Iterator[tuple[Path, int]]:
        """The files of a result, with their sizes."""
        folder = self.path if self.is_folder else self.path.parent
        for part in manifest["parts"]:
            for file in part.values():
                yield folder / file["name"], file["size"]

    def finished_part(self, number: int) -> dict[str, Any] | None:
        """A part that is complete."""
        part: dict[str, Any] | None = records.load(self.state_path(number))
        if not isinstance(part, dict):
            return None
        files = part["files"].values()
        is_whole = all(_has_size(self.folder / file["name"], file["size"]) for file in files)
        return part if is_whole else None

    # ---- the end ---------------------------------------------------------------------------------

    def finish(self, parts: list[dict[str, dict[str, Any]]]) -> list[dict[str, dict[str, Any]]]:
        """Joins the parts if one file was requested; returns the files of the result."""
        if self.is_folder:
            return parts
        our_files = records.file_names(records.load_manifest(self.manifest))
        joined = {}
        (self.folder / _JOINED).mkdir(exist_ok=True)
        for name in dict.fromkeys(name for part in parts for name in part):
            target = self._joined_path(name)
            if target.name not in our_files and os.path.lexists(target):
                raise UsageError(_not_ours(target, f"{self.manifest.name} that names it"))
            sources = [self.folder / part[name]["name"] for part in parts if name in part]
            rows = sum(part[name]["rows"] for part in parts if name in part)
            written = join_parts(sources, self.folder / _JOINED / target.name, self.ending)
            joined[name] = {"name": target.name, **written._replace(rows=rows)._asdict()}
        return [joined]

    def seal(self, manifest: dict[str, Any]) -> None:
        """Writes the manifest, puts the result in its place, and removes files that only an incomplete run needs."""
        if not self.is_folder:
            records.save(self.folder / _JOINED / _MANIFEST, manifest)
        else:
            records.save(self.folder / _MANIFEST, manifest)
            if self.replaces:
                swap(self._real, self._beside)
        self._complete_swap()

    def _complete_swap(self) -> None:
        """Completes what a manifest has decided, now or in a process that was killed."""
        if not self.is_folder:
            self._put_files()
            return
        folders = self._real, self._beside
        if any(_has_replaced(parked_path(self._real), folder) for folder in folders):
            recover(*folders)
        new = records.load_manifest(self.manifest)
        if new is None or _plan_in(self.path) != new["plan"] or not self._is_whole(new):
            return
        if _has_replaced(self._beside, self._real):
            self._remove_old()
        elif not _is_used(self._beside):
            with suppress(OSError):  # there is none
                self._beside.rmdir()
        remove_state(self.path, self.ending)

    def _remove_old(self) -> None:
        """Removes the old folder; files of others that were in it go to the new one."""
        old = self._beside
        for name in records.file_names(records.load_manifest(old / _MANIFEST)):
            (old / name).unlink(missing_ok=True)
        for path in old.iterdir():
            if path.name != _MANIFEST and not os.path.lexists(self._real / path.name):
                path.rename(self._real / path.name)
        (old / _MANIFEST).unlink()
        with suppress(OSError):  # something is still in it
            old.rmdir()

    def _put_files(self) -> None:
        """Puts the joined files in the place of the old ones; their manifest, last, says that this is done."""
        joined = self.folder / _JOINED
        new, old = (records.load_manifest(path) for path in (joined / _MANIFEST, self.manifest))
        if new is not None:
            names = records.file_names(new)
            for name in sorted(names):
                if (joined / name).exists():
                    (joined / name).replace(self.path.with_name(name))
            for name in records.file_names(old) - names:
                self.path.with_name(name).unlink(missing_ok=True)
            (joined / _MANIFEST).replace(self.manifest)
            old = new
        if old is not None and _plan_in(self.folder) == old["plan"] and self._is_whole(old):
            remove_run(self.folder, self.ending)


_locks: dict[Path, Any] = {}


def _lock(folder: Path) -> None:
    """Keeps other runs out of a folder of parts as long as this process is in it; raises `UsageError` if one is in it now."""
    try:
        locking = import_module("fcntl")
    except ModuleNotFoundError:
        return  # Windows refuses to replace files that are open
    unlock(folder)
    stream = (folder / _STATE / _LOCK).open("ab")
    try:
        locking.flock(stream, locking.LOCK_EX | locking.LOCK_NB)
    except BlockingIOError:
        stream.close()
        raise UsageError(
            f"another run is writing to {folder}; wait for it to end, or choose another path"
        ) from None
    _locks[folder] = stream


def unlock(folder: Path) -> None:
    """Lets other runs into a folder of parts."""
    stream = _locks.pop(folder, None)
    if stream is not None:
        (folder / _STATE / _LOCK).unlink(missing_ok=True)
        stream.close()


# ---- what a run leaves behind ------------------------------------------------------------------------


def remove_run(folder: Path, ending: str) -> None:
    """Removes the parts of a run that its state names, the state, and the folder if nothing else is in it."""
    for part in _states(folder):
        for name in records.file_names({"parts": [part["files"]]}):
            (folder / name).unlink(missing_ok=True)
    remove_state(folder, ending)
    with suppress(OSError):  # something of others is in it
        folder.rmdir()


def remove_state(folder: Path, ending: str) -> None:
    """Removes what only an incomplete run needs: its state, joined files, and files that a killed process did not complete."""
    incomplete = re.compile(rf"\..+-\d{{5}}{re.escape(ending)}\.\d+\.tmp")
    for path in folder.iterdir():
        if incomplete.fullmatch(path.name):
            path.unlink(missing_ok=True)
    shutil.rmtree(folder / _JOINED, ignore_errors=True)
    # The plan last: it says whose folder it is.
    for path in sorted((folder / _STATE).glob("*"), key=lambda path: path.name == _PLAN):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        (folder / _STATE).rmdir()


def _states(folder: Path) -> Iterator[dict[str, Any]]:
    for path in (folder / _STATE).glob("?????.json"):
        part = records.load(path)
        if isinstance(part, dict) and records.is_file_list(part.get("files")):
            yield part


def _plan_in(folder: Path) -> str | None:
    return records.load_plan(folder / _STATE / _PLAN)


def _has_replaced(old: Path, new: Path) -> bool:
    """Whether a folder has the result that a run in the other one was to replace."""
    state, manifest = records.load(new / _STATE / _PLAN), records.load_manifest(old / _MANIFEST)
    return (
        isinstance(state, dict)
        and manifest is not None
        and state.get("replaces") == manifest["plan"]
    )


def _is_used(path: Path) -> bool:
    """Whether there is anything that a process killed at the beginning or at the end of a run did not leave."""
    if not path.is_dir():
        return os.path.lexists(path)
    inside = {one.name for one in path.iterdir()}
    state = {one.name for one in (path / _STATE).glob("*")}
    return not inside <= {_STATE} or not state <= {f".{_PLAN}.tmp"}


def _has_size(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def _not_ours(path: Path, expected: str) -> str:
    return f"{path} exists and is not the result of such a run: expected {expected}; choose another path, or move it away"


# ---- Part files -> one file, in their order: lines one after the other, row groups copied batch by batch.


def join_parts(sources: list[Path], target: Path, ending: str) -> Written:
    """Joins parts under the name of the target, completely or not at all."""
    if ending.startswith(".jsonl") or len(sources) == 1:
        # Concatenated compressed files are a compressed file.
        return hashed_copy(sources, target)
    return _join_tables(sources, target, ending)


def _join_tables(sources: list[Path], target: Path, ending: str) -> Written:
    from innervoice.bulk.arrow import batch_of  # noqa: PLC0415 - only for files of Arrow

    schema = (
        _opened(sources[0], ending).schema_arrow
        if ending == ".parquet"
        else _opened(sources[0], ending).schema
    )
    with PartFile(target, ending, schema) as file:
        for source in sources:
            opened = _opened(source, ending)
            # One row group after the other, which have a limited size: a number of rows has none.
            batches: Any = (
                chain.from_iterable(
                    opened.iter_batches(512, row_groups=[group], use_threads=False)
                    for group in range(opened.num_row_groups)
                )
                if ending == ".parquet"
                else map(opened.get_batch, range(opened.num_record_batches))
            )
            for batch in batches:
                file.write(batch_of(batch))
        written = file.finish()
        file.publish()
    return written


def _opened(path: Path, ending: str) -> Any:
    if ending == ".parquet":
        return import_module("pyarrow.parquet").ParquetFile(path, pre_buffer=False)
    return import_module("pyarrow.ipc").open_file(path)


# ---- A folder in the place of another one, in one step where the system can do that, so that a killed process leaves one or the other.
#
# Elsewhere it takes three: the old folder gets the name that `parked_path` says, the new one its name, and the old one that of the new one. `recover` completes
# them after a process was killed in between.


_HERE = -100  # AT_FDCWD: paths are relative to the working folder
_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV}


def swap(old: Path, new: Path) -> None:
    """Gives two folders each other's names."""
    if exchange(old, new):
        return
    old.rename(parked_path(old))
    new.rename(old)
    parked_path(old).rename(new)


def recover(old: Path, new: Path) -> None:
    """Completes a swap that was interrupted; the parked folder exists."""
    if not old.exists() and new.exists():
        new.rename(old)
    parked_path(old).rename(new if old.exists() else old)


def parked_path(folder: Path) -> Path:
    """The name of the old folder for a moment."""
    return folder.with_name(f".{folder.name}.old")


def exchange(one: Path, other: Path) -> bool:
    """Exchanges two names atomically; returns False where that is not possible."""
    paths = os.fsencode(one), os.fsencode(other)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = library.renamex_np(*paths, _SWAP)
        else:
            failed = library.renameat2(_HERE, paths[0], _HERE, paths[1], _SWAP)
    except (AttributeError, OSError, TypeError):
        return False  # a system without such a function
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(one))


# ---- Whether something that is read would be written over: then nothing is written.
#
# Paths are compared by what they lead to: a file has many spellings, symbolic links and hard links.


_LOCAL = ("file://", "local://")
"""What fsspec calls files of this machine."""
Identity: TypeAlias = tuple[int, int]
"""Device and inode of a file: the same for all its names."""


def check_apart(
    read: Iterable[str | os.PathLike[str]], written: Iterable[str | os.PathLike[str]]
) -> None:
    """Raises `UsageError` if a path that is read is one that is written, or if one of both is in the other."""
    targets = [(os.fspath(target), Path(target).resolve()) for target in written]
    taken = {one: name for name, path in targets for one in _identities(path)}
    for input_path in (os.fspath(path) for path in read):
        if input_path == STANDARD_INPUT:
            _check_identity(_stream_identity(sys.stdin), "standard input", taken)
            continue
        source = _local_path(input_path)
        if source is None:
            continue
        for name, target in targets:
            if source == target:
                raise UsageError(_written_over(input_path, name))
            if target in source.parents:
                raise UsageError(f"the input {input_path} is in the output {name}; {_CHOOSE}")
            if source in target.parents and source.is_dir():
                raise UsageError(f"the output {name} is in the input {input_path}; {_CHOOSE}")
        _check_identity(_identity(source), input_path, taken)


def check_stream(read: Iterable[str | os.PathLike[str]], stream: Any) -> None:
    """Raises `UsageError` if a file that is read is the one that a stream writes to: it would never end."""
    identity = _stream_identity(stream)
    taken = {identity: "standard output"} if identity else {}
    for input_path in (os.fspath(path) for path in read):
        source = None if input_path == STANDARD_INPUT else _local_path(input_path)
        _check_identity(_identity(source) if source else None, input_path, taken)


_CHOOSE = "choose another path for the output"


def _written_over(path: str, name: str) -> str:
    return f"the input {path} would be written over by the output {name}; {_CHOOSE}"


def _check_identity(identity: Identity | None, path: str, taken: dict[Identity, str]) -> None:
    if identity in taken:
        raise UsageError(_written_over(path, taken[identity]))


def _local_path(path: str) -> Path | None:
    """The path behind all links; None if it is on another machine."""
    for start in _LOCAL:
        path = path.removeprefix(start)
    return None if is_address(path) else Path(path).resolve()


def _identities(path: Path) -> Iterator[Identity]:
    """The identities of a file, or of all files in a folder."""
    paths = (Path(at, name) for at, _, names in os.walk(path) for name in names)
    for one in paths if path.is_dir() else (path,):
        if identity := _identity(one):
            yield identity


def _identity(path: Path) -> Identity | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return (about.st_dev, about.st_ino) if path.is_file() else None


def _stream_identity(stream: Any) -> Identity | None:
    """The identity of the file behind a stream; None if there is none."""
    try:
        about = os.fstat(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return None  # closed, or not of the operating system
    return (about.st_dev, about.st_ino)
