"""Batches of `generateContent`: the requests are sent with the batch, and their results are in it when it is done.

The names of states are those of the google-genai SDK 3.1.0. Limits and other members follow the provider's guide as far as it is known; no live API was asked. Larger batches can be
uploaded as files; several of this size do the same without a file that has to be deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.wire.batches import (
    ApiCall,
    BatchResult,
    BatchStatus,
    ListedBatch,
    Outcome,
    Phase,
    json_call,
)
from innervoice.wire.json_access import as_count, as_dict, as_list, as_text

__all__ = ["API", "GeminiBatches"]

_PHASES: dict[str, Phase] = {
    "SUCCEEDED": "ended",
    "PARTIALLY_SUCCEEDED": "ended",
    "FAILED": "failed",
    "CANCELLED": "failed",
    "EXPIRED": "failed",
}
# google.rpc.Code: what may succeed next time.
_TRANSIENT = {1, 2, 4, 8, 10, 13, 14, 429, 500, 503, 504}


class GeminiBatches:
    """The batch API."""

    most_requests = 50_000
    most_bytes = 19_000_000
    """Behind the limit of 20 MB for a request."""
    has_names = True

    def request(self, request_id: str, body: dict[str, Any]) -> bytes:
        return dump_json({"request": body, "metadata": {"key": request_id}})

    def upload(self, name: str, requests: Sequence[bytes]) -> ApiCall | None:
        return None

    def create(
        self,
        name: str,
        model: str,
        requests: Sequence[bytes],
        file: str | None,
    ) -> ApiCall:
        body = (
            b'{"batch":{"displayName":'
            + dump_json(name)
            + b',"inputConfig":{"requests":{"requests":['
            + b",".join(requests)
            + b"]}}}}"
        )
        return ApiCall("POST", f"/models/{model}:batchGenerateContent", body, "application/json")

    def status(self, batch_id: str) -> ApiCall:
        return json_call("GET", f"/{batch_id}")

    def read_status(self, body: dict[str, Any]) -> BatchStatus:
        facts = as_dict(body.get("metadata")) or body
        word = as_text(facts.get("state")) or ""
        ending = word.partition("STATE_")[2] or word
        batch_id = as_text(body.get("name")) or ""
        stats = as_dict(facts.get("batchStats"))
        total = as_count(stats.get("requestCount")) or 0
        failed = as_count(stats.get("failedRequestCount")) or 0
        phase = _PHASES.get(ending, "running")
        return BatchStatus(
            id=batch_id,
            phase=phase,
            word=word,
            total=total,
            done=(as_count(stats.get("successfulRequestCount")) or 0) + failed,
            failed=failed,
            results=(self.status(batch_id),) if phase == "ended" else (),
            problem=as_text(as_dict(body.get("error")).get("message")),
            expired=ending == "EXPIRED",
        )

    def listing(self, cursor: str | None) -> ApiCall:
        after = f"&pageToken={cursor}" if cursor else ""
        return json_call("GET", f"/batches?pageSize=100{after}")

    def read_listing(self, body: dict[str, Any]) -> tuple[list[ListedBatch], str | None]:
        listed = []
        for one in map(as_dict, as_list(body.get("operations"))):
            status = self.read_status(one)
            name = as_text(as_dict(one.get("metadata")).get("displayName"))
            listed.append(ListedBatch(status.id, name, status.total))
        return listed, as_text(body.get("nextPageToken")) or None

    def read_results(self, lines: Iterable[bytes]) -> Iterator[BatchResult]:
        value = as_dict(load_json(b"".join(lines)))
        holder = as_dict(value.get("response")) or as_dict(
            as_dict(value.get("metadata")).get("output")
        )
        inner = as_dict(holder.get("inlinedResponses"))
        for line in map(as_dict, as_list(inner.get("inlinedResponses"))):
            key = as_dict(line.get("metadata")).get("key")
            error = as_dict(line.get("error"))
            outcome: Outcome = "failed" if error else "answered"
            yield BatchResult(str(key), outcome, error.get("code") in _TRANSIENT, line)


API = GeminiBatches()
