"""Batches: many requests that a provider answers within a day, at a lower price.

Each dialect whose home has such an API says in its module `batch` how a batch is written and read: a `BatchApi`. The
bodies of the requests are those of single requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.wire.json_access import as_dict

__all__ = [
    "ApiCall",
    "BatchApi",
    "BatchResult",
    "BatchStatus",
    "ListedBatch",
    "Outcome",
    "Phase",
    "is_transient_status",
    "json_call",
    "objects_in",
]

Phase: TypeAlias = Literal["running", "ended", "failed"]
"""Failed: the provider has not accepted the batch, or has given up on it; there are no results."""
Outcome: TypeAlias = Literal["answered", "failed", "expired", "canceled"]


class ApiCall(NamedTuple):
    """A request to an API, behind its base URL."""

    method: str
    path: str
    body: bytes = b""
    media_type: str | None = None


class BatchStatus(NamedTuple):
    """How far a batch is."""

    id: str
    phase: Phase
    word: str
    """The provider's word for it."""
    total: int = 0
    done: int = 0
    """How many requests have a result, good or bad."""
    failed: int = 0
    results: tuple[ApiCall, ...] = ()
    """Where the results are, if it has ended."""
    problem: str | None = None
    """Why it failed."""
    expired: bool = False


class ListedBatch(NamedTuple):
    """A batch in the list of an account."""

    id: str
    name: str | None
    """The name that it was created with, where the API has names."""
    total: int


class BatchResult(NamedTuple):
    """The result of one request."""

    id: str
    """The `custom_id` or key of the request."""
    outcome: Outcome
    is_transient: bool
    """Whether the same request may succeed next time."""
    line: dict[str, Any]
    """The result as the provider writes it."""


class BatchApi(Protocol):
    """The batch API of one provider."""

    most_requests: int
    """In one batch."""
    most_bytes: int
    """Of one batch, as it is sent."""
    has_names: bool
    """Whether a batch has a name that its creator chooses."""

    def request(self, request_id: str, body: dict[str, Any]) -> bytes:
        """One request of a batch, as JSON."""

    def upload(self, name: str, requests: Sequence[bytes]) -> ApiCall | None:
        """The call that stores the requests as a file; None if they are sent with the batch."""

    def create(self, name: str, model: str, requests: Sequence[bytes], file: str | None) -> ApiCall:
        """The call that creates a batch, of an uploaded file or of the requests."""

    def status(self, batch_id: str) -> ApiCall:
        """The call that asks for the status."""

    def read_status(self, body: dict[str, Any]) -> BatchStatus:
        """The status in the body of a created or looked up batch."""

    def listing(self, cursor: str | None) -> ApiCall:
        """The call that lists the newest batches of the account; `cursor` is for the next page."""

    def read_listing(self, body: dict[str, Any]) -> tuple[list[ListedBatch], str | None]:
        """The batches of a page, newest first, and the cursor of the next one."""

    def read_results(self, lines: Iterable[bytes]) -> Iterator[BatchResult]:
        """The results in the body of a call of `BatchStatus.results`, which may be large: its lines."""


def json_call(method: str, path: str, value: Any = None) -> ApiCall:
    """A call with a JSON body, or without a body."""
    if value is None:
        return ApiCall(method, path)
    return ApiCall(method, path, dump_json(value), "application/json")


def objects_in(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines."""
    return (as_dict(load_json(line)) for line in lines if line.strip())


def is_transient_status(status: Any) -> bool:
    """Whether a request that was answered with this HTTP status may succeed next time."""
    return isinstance(status, int) and (status in (408, 409, 429) or status >= 500)
