"""OpenAI's batch API: a file of requests is uploaded, and the batch names it. Chat and Responses differ in the endpoint.

The names of states are those of the openai SDK 3.49.0. Limits and other members follow the provider's guide as far as it is known; no live API was asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.wire.batches import (
    ApiCall,
    BatchResult,
    BatchStatus,
    ListedBatch,
    Outcome,
    Phase,
    is_transient_status,
    json_call,
    objects_in,
)
from innervoice.wire.json_access import as_count, as_dict, as_list, as_text

__all__ = ["EXPIRED", "NAME", "OpenAiBatches"]

NAME = "innervoice"
"""The key of the batch's metadata that has its name."""
EXPIRED = "batch_expired"
"""The code of a request that was not run in time."""
_ENDED = ("completed", "expired", "cancelled")


class OpenAiBatches:
    """The batch API for one endpoint."""

    most_requests = 50_000
    most_bytes = 200_000_000
    has_names = True

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def request(self, request_id: str, body: dict[str, Any]) -> bytes:
        return dump_json(
            {"custom_id": request_id, "method": "POST", "url": self.endpoint, "body": body}
        )

    def upload(self, name: str, requests: Sequence[bytes]) -> ApiCall | None:
        content = b"\n".join(requests) + b"\n"
        # The boundary must not occur in the content.
        mark = f"innervoice-{blake2b(content, digest_size=16).hexdigest()}"
        head = (
            f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        body = head.encode() + content + f"\r\n--{mark}--\r\n".encode()
        return ApiCall("POST", "/files", body, f"multipart/form-data; boundary={mark}")

    def create(
        self,
        name: str,
        model: str,
        requests: Sequence[bytes],
        file: str | None,
    ) -> ApiCall:
        value = {
            "input_file_id": file,
            "endpoint": self.endpoint,
            "completion_window": "24h",
            "metadata": {NAME: name},
        }
        return json_call("POST", "/batches", value)

    def status(self, batch_id: str) -> ApiCall:
        return json_call("GET", f"/batches/{batch_id}")

    def read_status(self, body: dict[str, Any]) -> BatchStatus:
        word = as_text(body.get("status")) or ""
        phase: Phase = "running"
        if word in _ENDED:
            phase = "ended"
        elif word == "failed":
            phase = "failed"
        counts = as_dict(body.get("request_counts"))
        failed = as_count(counts.get("failed")) or 0
        files = (as_text(body.get(name)) for name in ("output_file_id", "error_file_id"))
        problems = [
            as_text(as_dict(one).get("message"))
            for one in as_list(as_dict(body.get("errors")).get("data"))
        ]
        return BatchStatus(
            id=as_text(body.get("id")) or "",
            phase=phase,
            word=word,
            total=as_count(counts.get("total")) or 0,
            done=(as_count(counts.get("completed")) or 0) + failed,
            failed=failed,
            results=tuple(json_call("GET", f"/files/{file}/content") for file in files if file)
            if phase == "ended"
            else (),
            problem="; ".join(filter(None, problems)) or None,
            expired=word == "expired",
        )

    def listing(self, cursor: str | None) -> ApiCall:
        after = f"&after={cursor}" if cursor else ""
        return json_call("GET", f"/batches?limit=100{after}")

    def read_listing(self, body: dict[str, Any]) -> tuple[list[ListedBatch], str | None]:
        listed = [
            ListedBatch(
                as_text(one.get("id")) or "",
                as_text(as_dict(one.get("metadata")).get(NAME)),
                as_count(as_dict(one.get("request_counts")).get("total")) or 0,
            )
            for one in map(as_dict, as_list(body.get("data")))
        ]
        return listed, as_text(body.get("last_id")) if body.get("has_more") else None

    def read_results(self, lines: Iterable[bytes]) -> Iterator[BatchResult]:
        for line in objects_in(lines):
            status = as_dict(line.get("response")).get("status_code")
            code = as_dict(line.get("error")).get("code")
            outcome: Outcome = "answered" if status == 200 and not line.get("error") else "failed"
            if code == EXPIRED:
                outcome = "expired"
            elif code == "batch_cancelled":
                outcome = "canceled"
            transient = outcome == "expired" or is_transient_status(status)
            yield BatchResult(str(line.get("custom_id")), outcome, transient, line)
