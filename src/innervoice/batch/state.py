"""What is known to have happened to a file of requests: a folder beside it, whose `state.json` is written before and after each call.

After a kill, the state says what was about to happen; whether it did is asked of the provider. Nothing in it is a key.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from innervoice.bulk.manifest import load, save
from innervoice.canon.value import Value
from innervoice.errors import UsageError

__all__ = ["Part", "State", "StateFolder", "Step"]

Step: TypeAlias = Literal["planned", "uploaded", "creating", "created", "ended", "failed"]
"""creating: the call was about to be sent; whether the batch exists is not known."""
_VERSION = 1


class Part(Value, frozen=True, kw_only=True):
    """One batch."""

    model: str
    requests: tuple[int, ...]
    """The numbers of its requests."""
    step: Step = "planned"
    attempt: int = 1
    file: str | None = None
    """The id of the uploaded file."""
    newest: str | None = None
    """The newest batch of the account before this one was created."""
    not_ours: tuple[str, ...] = ()
    """Newer batches that turned out to be of others."""
    batch: str | None = None
    """The provider's id."""
    word: str = ""
    """The provider's word for its status."""
    done: int = 0
    failed: int = 0
    problem: str | None = None


class State(Value, frozen=True, kw_only=True):
    """All batches of one file."""

    token: str
    """Names its batches and requests, so that they are recognized at the provider."""
    digest: str
    """Of the file."""
    settings: dict[str, Any]
    """What the requests depend on besides the file."""
    model: str
    """A model of the provider, by which its API is found."""
    base_url: str | None = None
    requests: int = 0
    attempts: int = 3
    at_most: int | None = None
    parts: tuple[Part, ...] = ()

    def with_part(self, number: int, **changes: Any) -> State:
        """The state with a changed part."""
        parts = list(self.parts)
        parts[number] = parts[number].replace(**changes)
        return self.replace(parts=tuple(parts))


class StateFolder:
    """The folder beside a file of requests; one process at a time uses it."""

    def __init__(self, file: Path) -> None:
        self.path = file.with_name(f"{file.name}.batch")
        self.requests = self.path / "requests.jsonl"
        self.answers = self.path / "answers.jsonl"
        self._state = self.path / "state.json"
        self._lock: Any = None

    def results(self, number: int) -> Path:
        """The file with the results of a part."""
        return self.path / f"results-{number:05}.jsonl"

    def open(self, *, create: bool = False) -> None:
        """Takes the folder; raises `UsageError` if another process has it, or there is none."""
        if create:
            self.path.mkdir(mode=0o700, exist_ok=True)
        elif not self._state.is_file():
            raise UsageError(f"nothing was submitted: there is no {self._state}")
        try:
            locking = import_module("fcntl")
        except ModuleNotFoundError:  # Windows
            return
        self._lock = (self.path / "lock").open("w")
        try:
            locking.flock(self._lock, locking.LOCK_EX | locking.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another process works on {self.path}") from None

    def remove(self) -> None:
        """Removes the folder, in which nothing but requests is yet."""
        for path in (self.requests, self.path / "lock"):
            path.unlink(missing_ok=True)
        self.path.rmdir()

    def load(self) -> State | None:
        """The state; None if there is none yet."""
        value = load(self._state)
        if value is None and self._state.exists():
            raise UsageError(f"{self._state} cannot be read")
        if value is None:
            return None
        if value.pop("version", None) != _VERSION:
            raise UsageError(f"{self._state} is of another version of innervoice")
        parts = tuple(
            Part(
                **{**part, "requests": tuple(part["requests"]), "not_ours": tuple(part["not_ours"])}
            )
            for part in value.pop("parts")
        )
        return State(**value, parts=parts)

    def save(self, state: State) -> None:
        """Writes the state completely or not at all."""
        members = {name: getattr(state, name) for name in State.__struct_fields__}
        parts = [
            {name: getattr(part, name) for name in Part.__struct_fields__} for part in state.parts
        ]
        save(self._state, {"version": _VERSION, **members, "parts": parts})
