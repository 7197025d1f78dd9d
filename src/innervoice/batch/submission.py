"""Creates the batches of a file, asks for their status, collects their results, and repeats what expired or failed.

Before a call that creates a batch, the state says so. If the answer to it was never read, the list of the account's batches says whether
the batch exists: by its name, or, where batches have no names, by the ids of the requests in its results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from innervoice.batch.requests import ReadFile, RequestDefaults, divided, read_file, stored_requests
from innervoice.batch.state import Part, State, StateFolder
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.client.api_calls import ProviderApi
from innervoice.client.sync import Client
from innervoice.errors import UsageError
from innervoice.wire.batches import ApiCall, BatchApi, BatchResult, BatchStatus, ListedBatch
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict, as_text

__all__ = ["Submission", "Tally"]


class Tally(NamedTuple):
    """How far the requests of a file are."""

    requests: int
    answered: int
    failed: int
    """Those that are not repeated any more."""
    repeated: int
    """Those that expired or failed, and are in a later batch."""
    batches: int
    running: int
    unsent: int
    """Batches that were not created yet."""

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to wait for."""
        return not self.running and not self.unsent


class Submission:
    """The batches of one file."""

    def __init__(self, client: Client, folder: StateFolder, state: State) -> None:
        self._folder = folder
        self.state = state
        self._access = ProviderApi(client, state.model)
        self._api = batch_api(self._access)

    @classmethod
    def planned(
        cls,
        client: Client,
        file: Path,
        model: str,
        defaults: RequestDefaults,
        *,
        base_url: str | None,
        at_most: int | None,
        attempts: int,
    ) -> tuple[Submission, ReadFile]:
        """The submission of a file, with nothing sent; one that was begun earlier is continued."""
        folder = StateFolder(file)
        access = ProviderApi(client, model)
        api = batch_api(access)
        if not file.is_file():
            raise UsageError(f"there is no file {file}")
        folder.open(create=True)
        state = folder.load()
        stored = folder.requests if state is None else folder.requests.with_suffix(".again")
        try:
            read = read_file(file, stored, access, defaults)
        except UsageError:
            stored.unlink(missing_ok=True)
            if state is None:
                folder.remove()
            raise
        settings = {"model": model, "base_url": base_url, "bodies": _digest(stored)}
        if state is None:
            parts = [
                Part(model=name, requests=tuple(numbers))
                for name, numbers in divided(stored, api, at_most)
            ]
            state = State(
                token=f"iv{token_hex(5)}",
                digest=read.digest,
                settings=settings,
                model=model,
                base_url=base_url,
                requests=read.requests,
                attempts=attempts,
                at_most=at_most,
                parts=tuple(parts),
            )
            return cls(client, folder, state), read
        stored.unlink()
        if state.digest != read.digest or state.settings != settings:
            raise UsageError(
                f"{folder.path} belongs to another content of {file.name}, or to other settings; fetch its results and remove it, or use another file"
            )
        return cls(client, folder, state), read

    @classmethod
    def opened(cls, client_at: Callable[[str | None, str], Client], file: Path) -> Submission:
        """The submission of a file that was submitted; `client_at` makes a client of a base URL and a model."""
        folder = StateFolder(file)
        folder.open()
        state = folder.load()
        if state is None:
            raise UsageError(f"nothing was submitted: {folder.path} has no state")
        return cls(client_at(state.base_url, state.model), folder, state)

    @property
    def folder(self) -> StateFolder:
        """Where the state and the results are."""
        return self._folder

    @property
    def is_new(self) -> bool:
        """Whether nothing was sent yet."""
        return all(part.step == "planned" and part.attempt == 1 for part in self.state.parts)

    @property
    def provider(self) -> str:
        """The provider's id."""
        return self._access.destination.provider

    def discard(self) -> None:
        """Removes the folder of a submission that was not begun."""
        self._folder.remove()

    @property
    def dialect(self) -> str:
        """The dialect of the bodies."""
        return self._access.destination.dialect

    def tally(self) -> Tally:
        """How far it is, by what was asked last."""
        parts = self.state.parts
        ended = [part for part in parts if part.step in ("ended", "failed")]
        repeated = sum(len(part.requests) for part in parts if part.attempt > 1)
        failed = sum(part.failed for part in ended) - repeated
        running = [part for part in parts if part.step in ("created", "creating")]
        answered = sum(len(part.requests) - part.failed for part in ended)
        return Tally(
            requests=self.state.requests,
            answered=answered + sum(part.done - part.failed for part in running),
            failed=failed,
            repeated=repeated,
            batches=len(parts),
            running=len(running),
            unsent=sum(part.step in ("planned", "uploaded") for part in parts),
        )

    # ---- going on ------------------------------------------------------------------------------

    def submit(self) -> None:
        """Creates all batches that do not exist yet."""
        self._save(self.state)
        for number, part in enumerate(self.state.parts):
            if part.step == "creating":
                self._look_for(number)
            if self.state.parts[number].step in ("planned", "uploaded"):
                self._create(number)

    def update(self, *, collect: bool = True) -> None:
        """Asks for the status of all batches; with `collect`, stores the results of those that ended, and plans what is repeated."""
        for number, part in enumerate(self.state.parts):
            if part.step == "creating" and collect:
                self._look_for(number)
                part = self.state.parts[number]  # noqa: PLW2901 - as it is now
            if part.step != "created" or part.batch is None:
                continue
            status = self._status(part.batch)
            facts = {"word": status.word, "done": status.done, "failed": status.failed}
            if status.phase == "running" or not collect:
                self._save(self.state.with_part(number, **facts))
            else:
                self._collect(number, status)

    def _save(self, state: State) -> None:
        self._folder.save(state)
        self.state = state

    def _call(self, call: ApiCall) -> dict[str, Any]:
        return as_dict(load_json(self._access.call(call)))

    def _status(self, batch: str) -> BatchStatus:
        return self._api.read_status(self._call(self._api.status(batch)))

    def _name(self, number: int) -> str:
        return f"{self.state.token}-batch-{number + 1}"

    # ---- creating ------------------------------------------------------------------------------

    def _create(self, number: int) -> None:
        part, api = self.state.parts[number], self._api
        wanted = frozenset(part.requests)
        requests = [
            api.request(f"{self.state.token}-{one.number}", one.body)
            for one in stored_requests(self._folder.requests, wanted)
        ]
        upload = api.upload(self._name(number), requests)
        if upload is not None and part.file is None:
            # A file that was uploaded twice costs nothing.
            file = as_text(self._call(upload).get("id"))
            self._save(self.state.with_part(number, step="uploaded", file=file))
            part = self.state.parts[number]
        newest = next((batch.id for batch in self._listed()), None)
        self._save(self.state.with_part(number, step="creating", newest=newest, not_ours=()))
        created = self._call(api.create(self._name(number), part.model, requests, part.file))
        self._created(number, api.read_status(created))

    def _created(self, number: int, status: BatchStatus) -> None:
        if not status.id:
            raise UsageError("the provider's answer names no batch; run the command again")
        changes = {"step": "created", "batch": status.id, "word": status.word}
        self._save(self.state.with_part(number, **changes))

    def _listed(self) -> Iterator[ListedBatch]:
        """The batches of the account, newest first."""
        cursor: str | None = None
        while True:
            batches, cursor = self._api.read_listing(self._call(self._api.listing(cursor)))
            yield from batches
            if cursor is None:
                return

    def _look_for(self, number: int) -> None:
        """Finds out whether a batch was created whose answer was never read; leaves it undecided if another one may be it."""
        part = self.state.parts[number]
        others = {one.batch for one in self.state.parts} | {*part.not_ours}
        newer: list[ListedBatch] = []
        for batch in self._listed():
            if batch.id == part.newest:
                break
            if batch.id not in others:
                newer.append(batch)
        if self._api.has_names:
            newer = [batch for batch in newer if batch.name == self._name(number)]
            if newer:
                self._created(number, self._status(newer[0].id))
                return
        for batch in newer:
            if batch.total != len(part.requests):
                continue
            status = self._status(batch.id)
            if status.phase == "running":
                return  # its results will say whose it is
            first = next(self._results(status), None)
            if first is not None and _number_in(first.id, self.state.token) in part.requests:
                self._created(number, status)
                return
            part = part.replace(not_ours=(*part.not_ours, batch.id))
        step = "uploaded" if part.file else "planned"
        self._save(self.state.with_part(number, step=step, not_ours=part.not_ours))

    # ---- collecting ----------------------------------------------------------------------------

    def _results(self, status: BatchStatus) -> Iterator[BatchResult]:
        temporary = self._folder.path / "download.tmp"
        for call in status.results:
            self._access.call(call, temporary)
            with temporary.open("rb") as lines:
                yield from self._api.read_results(lines)
        temporary.unlink(missing_ok=True)

    def _collect(self, number: int, status: BatchStatus) -> None:
        """Stores the results of a batch that is over, and plans a batch for those that may succeed next time."""
        part = self.state.parts[number]
        again: list[int] = []
        missing = set(part.requests)
        failed = 0
        temporary = self._folder.results(number).with_suffix(".tmp")
        with temporary.open("wb") as stream:
            for result in self._results(status):
                request = _number_in(result.id, self.state.token)
                if request is None or request not in missing:
                    continue
                missing.discard(request)
                if result.outcome != "answered":
                    failed += 1
                    if result.is_transient:
                        again.append(request)
                stream.write(_line(request, result.line))
            for request in sorted(missing):
                stream.write(_line(request, _no_result(status)))
        temporary.replace(self._folder.results(number))
        if status.phase == "ended" or status.expired:
            again += missing
        step = "ended" if status.phase == "ended" else "failed"
        facts = {"word": status.word, "done": len(part.requests), "failed": failed + len(missing)}
        state = self.state.with_part(number, step=step, problem=status.problem, **facts)
        if again and part.attempt < state.attempts:
            later = [
                Part(model=model, requests=tuple(numbers), attempt=part.attempt + 1)
                for model, numbers in divided(
                    self._folder.requests, self._api, state.at_most, frozenset(again)
                )
            ]
            state = state.replace(parts=(*state.parts, *later))
        self._save(state)


def batch_api(access: ProviderApi) -> BatchApi:
    """The batch API of a provider; raises `UsageError` if it has none."""
    destination = access.destination
    dialect = dialect_named(destination.dialect)
    api = dialect.batches
    if api is None or dialect.home != destination.provider:
        raise UsageError(
            f"{destination.provider} has no batch API that innervoice knows; those of OpenAI, Anthropic and Gemini can be used"
        )
    return api


def _number_in(request_id: str, token: str) -> int | None:
    """The number of a request in its id; None if it is not of this submission."""
    start, _, number = request_id.rpartition("-")
    return int(number) if start == token and number.isascii() and number.isdigit() else None


def _line(request: int, line: dict[str, Any]) -> bytes:
    return dump_json({"number": request, "line": line}) + b"\n"


def _no_result(status: BatchStatus) -> dict[str, Any]:
    """A line for a request that the provider says nothing about."""
    text = status.problem or f"the batch has no result for this request ({status.word})"
    return {"error": {"code": "batch_expired" if status.expired else "no_result", "message": text}}


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
