"""Message Batches: all requests are sent with the batch. A batch has no name.

The names of states are those of the anthropic SDK 2.8.0. Limits and other members follow the provider's guide as far as it is known; no live API was asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.wire.batches import (
    ApiCall,
    BatchResult,
    BatchStatus,
    ListedBatch,
    Outcome,
    json_call,
    objects_in,
)
from innervoice.wire.json_access import as_count, as_dict, as_list, as_text

__all__ = ["API", "AnthropicBatches"]

_PATH = "/v1/messages/batches"
_OUTCOMES: dict[str | None, Outcome] = {
    "succeeded": "answered",
    "expired": "expired",
    "canceled": "canceled",
}
_TRANSIENT = ("api_error", "overloaded_error", "rate_limit_error", "timeout_error")


class AnthropicBatches:
    """The batch API."""

    most_requests = 100_000
    most_bytes = 256_000_000
    has_names = False

    def request(self, request_id: str, body: dict[str, Any]) -> bytes:
        return dump_json({"custom_id": request_id, "params": body})

    def upload(self, name: str, requests: Sequence[bytes]) -> ApiCall | None:
        return None

    def create(
        self,
        name: str,
        model: str,
        requests: Sequence[bytes],
        file: str | None,
    ) -> ApiCall:
        body = b'{"requests":[' + b",".join(requests) + b"]}"
        return ApiCall("POST", _PATH, body, "application/json")

    def status(self, batch_id: str) -> ApiCall:
        return json_call("GET", f"{_PATH}/{batch_id}")

    def read_status(self, body: dict[str, Any]) -> BatchStatus:
        word = as_text(body.get("processing_status")) or ""
        batch_id = as_text(body.get("id")) or ""
        names = ("processing", "succeeded", "errored", "canceled", "expired")
        counts = {
            name: as_count(as_dict(body.get("request_counts")).get(name)) or 0 for name in names
        }
        ended = word == "ended"
        done = sum(counts.values()) - counts["processing"]
        return BatchStatus(
            id=batch_id,
            phase="ended" if ended else "running",
            word=word,
            total=sum(counts.values()),
            done=done,
            failed=done - counts["succeeded"],
            results=(json_call("GET", f"{_PATH}/{batch_id}/results"),) if ended else (),
            expired=bool(counts["expired"]),
        )

    def listing(self, cursor: str | None) -> ApiCall:
        after = f"&after_id={cursor}" if cursor else ""
        return json_call("GET", f"{_PATH}?limit=100{after}")

    def read_listing(self, body: dict[str, Any]) -> tuple[list[ListedBatch], str | None]:
        read = [self.read_status(as_dict(one)) for one in as_list(body.get("data"))]
        listed = [ListedBatch(one.id, None, one.total) for one in read]
        return listed, as_text(body.get("last_id")) if body.get("has_more") else None

    def read_results(self, lines: Iterable[bytes]) -> Iterator[BatchResult]:
        for line in objects_in(lines):
            result = as_dict(line.get("result"))
            outcome = _OUTCOMES.get(as_text(result.get("type")), "failed")
            error = as_dict(result.get("error"))
            kind = as_dict(error.get("error")).get("type") or error.get("type")
            transient = outcome == "expired" or (outcome == "failed" and kind in _TRANSIENT)
            yield BatchResult(str(line.get("custom_id")), outcome, transient, line)


API = AnthropicBatches()
