"""The batch APIs of OpenAI, Anthropic and Gemini.

Nothing runs in between: each question for the status of a batch takes it one state further, and its requests are answered, as single ones
would be, when the last state is reached. With the switches `expire=3` and `flaky=3` every third request of a batch expires, or fails, the
first time that it is sent.

The names of states are those of the official SDKs; limits follow the providers' guides as far as they are known, and the wording of most
refusals is ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from innervoice.answering.writing import CREATED
from innervoice.canon.bounded import Bounded
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.emulator.call import HEADER, behaviour_of, digest
from innervoice.wire.anthropic.batch import AnthropicBatches
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.openai_batches import EXPIRED, OpenAiBatches
from innervoice.wire.refusals import Refusal, Refused, bounded

__all__ = ["Answered", "BatchReply", "Batches"]

_KEPT = 1024
_TIME = "2026-01-01T00:00:00Z"
_LATER = "2026-01-02T00:00:00Z"
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_GEMINI_BYTES = 20_000_000
_ENDPOINTS = ("/v1/responses", "/v1/chat/completions")


class Answered(NamedTuple):
    """The answer to one request of a batch."""

    status: int
    body: Any


class BatchReply(NamedTuple):
    """A reply: JSON, or the bytes of a file."""

    value: Any = None
    content: bytes | None = None


class _BatchRequest(NamedTuple):
    id: str
    path: str
    body: dict[str, Any]


class _Batch:
    """A batch that an account has created."""

    def __init__(self, batch_id: str, account: str, model: str, facts: dict[str, Any]) -> None:
        self.id, self.account, self.model, self.facts = batch_id, account, model, facts
        self.requests: list[_BatchRequest] = []
        self.problems: list[dict[str, Any]] = []
        self.asked = 0
        self.canceled = False
        self.outcomes: list[tuple[_BatchRequest, str, Answered]] | None = None

    def count(self, outcome: str) -> int:
        """How many requests have this outcome."""
        return sum(word == outcome for _, word, _ in self.outcomes or ())


class Batches:
    """The batches and files of all accounts."""

    def __init__(
        self, answer: Callable[[str, Mapping[str, str], dict[str, Any]], Answered]
    ) -> None:
        self._answer = answer
        self._batches: Bounded[str, _Batch] = Bounded(_KEPT)
        self._files: Bounded[str, tuple[str, str, bytes]] = Bounded(_KEPT)
        self._seen: Bounded[str, bool] = Bounded(_KEPT * 64)
        self._created = 0

    def reply(
        self, method: str, path: str, headers: Mapping[str, str], account: str, body: bytes
    ) -> BatchReply | None:
        """The reply to a request about batches or their files; None for other paths. Raises `Refused`."""
        url = urlsplit(path)
        for pattern, serve in _PATHS:
            if match := pattern.fullmatch(url.path):
                return serve(
                    self, _BatchCall(method, match, parse_qs(url.query), headers, account, body)
                )
        return None

    # ---- what the three have in common ---------------------------------------------------------

    def _new(self, start: str, account: str, model: str, facts: dict[str, Any]) -> _Batch:
        self._created += 1
        batch_id = f"{start}{digest([start, account, self._created])}"
        batch = self._batches[batch_id] = _Batch(batch_id, account, model, facts)
        return batch

    def _of(self, account: str, start: str) -> list[_Batch]:
        """The batches of an account, newest first."""
        batches = [one for one in self._batches.values() if one.account == account]
        return [one for one in reversed(batches) if one.id.startswith(start)]

    def _batch_of(self, request: _BatchCall, batch_id: str, text: str) -> _Batch:
        batch = dict(self._batches).get(batch_id)
        if batch is None or batch.account != request.account:
            raise Refused(Refusal(text=text, status=404))
        return batch

    def _run(self, batch: _Batch, headers: Mapping[str, str]) -> None:
        """Answers the requests of a batch, unless they were answered."""
        if batch.outcomes is not None:
            return
        batch.outcomes = []
        _, behaviour = behaviour_of(batch.model, headers.get(HEADER), "")
        alone = {name: value for name, value in headers.items() if name != "content-length"}
        for number, request in enumerate(batch.requests, 1):
            key = digest([batch.account, request.path, request.body])
            is_first = key not in self._seen
            self._seen[key] = True
            if batch.canceled:
                batch.outcomes.append((request, "canceled", Answered(0, None)))
            elif is_first and behaviour.expire and number % behaviour.expire == 0:
                batch.outcomes.append((request, "expired", Answered(0, None)))
            elif is_first and behaviour.flaky and number % behaviour.flaky == 0:
                answered = self._answer(request.path, {**alone, HEADER: "fail=0"}, request.body)
                batch.outcomes.append((request, "errored", answered))
            else:
                answered = self._answer(request.path, alone, request.body)
                word = "succeeded" if answered.status == 200 else "errored"
                batch.outcomes.append((request, word, answered))

    # ---- OpenAI --------------------------------------------------------------------------------

    def openai_files(self, request: _BatchCall) -> BatchReply:
        """Files: stored with a purpose, and read again."""
        file_id, verb = request.match["id"], request.match["verb"]
        if file_id is None:
            if request.method != "POST":
                raise Refused(_not_served(request))
            name, content = _form(request)
            self._created += 1
            file_id = f"file-{digest([request.account, name, self._created])}"
            self._files[file_id] = (request.account, name, content)
        file = dict(self._files).get(file_id)
        if file is None or file[0] != request.account:
            raise Refused(Refusal(text=f"No such File object: {file_id}", status=404, param="id"))
        if verb:
            return BatchReply(content=file[2])
        facts = {
            "object": "file",
            "bytes": len(file[2]),
            "created_at": CREATED,
            "filename": file[1],
        }
        return BatchReply({"id": file_id, **facts, "purpose": "batch", "status": "processed"})

    def openai(self, request: _BatchCall) -> BatchReply:
        """Batches of a file."""
        batch_id, verb = request.match["id"], request.match["verb"]
        if batch_id is None and request.method == "POST":
            return BatchReply(self._openai_body(self._openai_new(request)))
        if batch_id is None:
            page, more = _page(self._of(request.account, "batch_"), request.query, "after")
            data = [self._openai_body(one) for one in page]
            ends = {
                "first_id": page[0].id if page else None,
                "last_id": page[-1].id if page else None,
            }
            return BatchReply({"object": "list", "data": data, **ends, "has_more": more})
        batch = self._batch_of(request, batch_id, f"No batch found with id '{batch_id}'.")
        if verb == "/cancel" and request.method == "POST":
            batch.canceled = batch.asked < 3
        elif request.method == "GET" and not verb:
            batch.asked += 1
            if batch.asked >= 3 and not batch.problems:
                self._run(batch, request.headers)
        else:
            raise Refused(_not_served(request))
        return BatchReply(self._openai_body(batch))

    def _openai_new(self, request: _BatchCall) -> _Batch:
        value = as_dict(bounded(request.body))
        allowed = {
            "input_file_id",
            "endpoint",
            "completion_window",
            "metadata",
            "output_expires_after",
        }
        for name in value.keys() - allowed:
            text = f"Unknown parameter: '{name}'."
            raise Refused(Refusal(text=text, code="unknown_parameter", param=name))
        for name in ("input_file_id", "endpoint", "completion_window"):
            if not isinstance(value.get(name), str):
                text = f"Missing required parameter: '{name}'."
                raise Refused(Refusal(text=text, code="missing_required_parameter", param=name))
        if value["endpoint"] not in _ENDPOINTS:
            text = f"Invalid value: '{value['endpoint']}'. Supported values are: {', '.join(_ENDPOINTS)}."
            raise Refused(Refusal(text=text, code="invalid_value", param="endpoint"))
        if value["completion_window"] != "24h":
            text = "Invalid value for completion_window. Supported values are: '24h'."
            raise Refused(Refusal(text=text, code="invalid_value", param="completion_window"))
        file = dict(self._files).get(value["input_file_id"])
        if file is None or file[0] != request.account:
            text = f"No such File object: {value['input_file_id']}"
            raise Refused(Refusal(text=text, param="input_file_id"))
        batch = self._new("batch_", request.account, "", value)
        self._openai_validate(batch, file[2])
        return batch

    def _openai_validate(self, batch: _Batch, content: bytes) -> None:
        """Reads the file; what is wrong in it makes the batch fail after it was created."""
        ids: set[str] = set()
        lines = [line for line in content.splitlines() if line.strip()]
        models: set[Any] = set()

        def problem(code: str, message: str, number: int | None) -> None:
            batch.problems.append({"code": code, "message": message, "param": None, "line": number})

        if not lines:
            problem("empty_file", "The batch file is empty.", None)
        if len(lines) > OpenAiBatches.most_requests:
            problem("too_many_requests", "The batch file has more than 50000 requests.", None)
        for number, line in enumerate(lines[: OpenAiBatches.most_requests], 1):
            try:
                value = as_dict(load_json(line))
            except ValueError:
                problem("invalid_json_line", "This line is not parseable as valid JSON.", number)
                continue
            name, body = as_text(value.get("custom_id")), as_dict(value.get("body"))
            if not name:
                problem(
                    "missing_required_parameter", "Missing required parameter: 'custom_id'.", number
                )
            elif name in ids:
                problem("duplicate_custom_id", f"The custom_id '{name}' is not unique.", number)
            elif value.get("method") != "POST" or value.get("url") != batch.facts["endpoint"]:
                problem(
                    "mismatched_endpoint", "The method or url is not that of the batch.", number
                )
            elif body.get("stream"):
                problem("invalid_request", "Streaming is not supported in the Batch API.", number)
            else:
                batch.requests.append(_BatchRequest(name, f"/openai{value['url']}", body))
            ids.add(name or "")
            models.add(as_text(body.get("model")))
        if len(models) > 1:
            problem("mismatched_model", "All requests of a batch must have the same model.", None)
        batch.model = next(iter(models), None) or ""

    def _openai_body(self, batch: _Batch) -> dict[str, Any]:
        ran = batch.outcomes is not None
        expired = batch.count("expired")
        word = ("validating", "in_progress", "finalizing", "completed")[min(batch.asked, 3)]
        if batch.problems:
            word = "failed" if batch.asked else "validating"
        elif ran and batch.canceled:
            word = "cancelled"
        elif ran and expired:
            word = "expired"
        elif batch.canceled:
            word = "cancelling"
        good, failed = batch.count("succeeded"), batch.count("errored")
        problems = {"object": "list", "data": batch.problems} if word == "failed" else None
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": batch.facts["endpoint"],
            "errors": problems,
            "input_file_id": batch.facts["input_file_id"],
            "completion_window": "24h",
            "status": word,
            "output_file_id": self._openai_output(batch, good=True) if ran and good else None,
            "error_file_id": self._openai_output(batch, good=False)
            if ran and good < len(batch.requests)
            else None,
            "created_at": CREATED,
            "expires_at": CREATED + 86_400,
            "request_counts": {
                "total": len(batch.requests),
                "completed": good,
                "failed": failed + expired,
            },
            "metadata": batch.facts.get("metadata"),
        }

    def _openai_output(self, batch: _Batch, *, good: bool) -> str:
        """The id of the file with the answers, or with the errors, in any order: here backwards."""
        file_id = f"file-{digest([batch.id, good])}"
        lines = []
        for request, word, answered in reversed(batch.outcomes or []):
            if (word == "succeeded") != good:
                continue
            line: dict[str, Any] = {"id": f"batch_req_{digest([batch.id, request.id])}"}
            line["custom_id"] = request.id
            response = {"status_code": answered.status, "request_id": digest(request.id)}
            line["response"] = {**response, "body": answered.body} if answered.status else None
            line["error"] = None
            if word == "expired":
                text = "This request could not be executed before the completion window expired."
                line["error"] = {"code": EXPIRED, "message": text}
            elif word == "canceled":
                text = "This request was not executed because the batch was cancelled."
                line["error"] = {"code": "batch_cancelled", "message": text}
            lines.append(dump_json(line) + b"\n")
        self._files[file_id] = (batch.account, f"{batch.id}.jsonl", b"".join(lines))
        return file_id

    # ---- Anthropic -----------------------------------------------------------------------------

    def anthropic(self, request: _BatchCall) -> BatchReply:
        """Message batches."""
        batch_id, verb = request.match["id"], request.match["verb"]
        if batch_id is None and request.method == "POST":
            return BatchReply(_anthropic_body(self._anthropic_new(request)))
        if batch_id is None:
            page, more = _page(self._of(request.account, "msgbatch_"), request.query, "after_id")
            ends = {
                "first_id": page[0].id if page else None,
                "last_id": page[-1].id if page else None,
            }
            return BatchReply({"data": list(map(_anthropic_body, page)), **ends, "has_more": more})
        batch = self._batch_of(request, batch_id, f"Batch {batch_id} not found")
        if verb == "/results" and request.method == "GET":
            if batch.outcomes is None:
                text = f"Batch {batch_id} has no available results."
                raise Refused(Refusal(text=text, status=404))
            return BatchReply(content=_anthropic_results(batch))
        if verb == "/cancel" and request.method == "POST":
            batch.canceled = batch.outcomes is None
        elif request.method == "GET" and not verb:
            batch.asked += 1
            if batch.asked >= 2:
                self._run(batch, request.headers)
        else:
            raise Refused(_not_served(request))
        return BatchReply(_anthropic_body(batch))

    def _anthropic_new(self, request: _BatchCall) -> _Batch:
        value = as_dict(bounded(request.body))
        for name in value.keys() - {"requests"}:
            raise Refused(Refusal(text=f"{name}: Extra inputs are not permitted"))
        requests = as_list(value.get("requests"))
        if not requests:
            raise Refused(
                Refusal(text="requests: List should have at least 1 item after validation, not 0")
            )
        if len(requests) > AnthropicBatches.most_requests:
            raise Refused(Refusal(text="requests: List should have at most 100000 items"))
        checked: dict[str, _BatchRequest] = {}
        for number, one in enumerate(map(as_dict, requests)):
            custom_id, params = one.get("custom_id"), one.get("params")
            if not isinstance(custom_id, str) or not _ID.fullmatch(custom_id):
                text = f"requests.{number}.custom_id: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
                raise Refused(Refusal(text=text))
            if not isinstance(params, dict):
                raise Refused(Refusal(text=f"requests.{number}.params: Field required"))
            if params.get("stream"):
                text = f"requests.{number}.params.stream: streaming is not supported in batches"
                raise Refused(Refusal(text=text))
            if custom_id in checked:
                raise Refused(Refusal(text=f"requests: custom_id {custom_id} is not unique"))
            checked[custom_id] = _BatchRequest(custom_id, "/anthropic/v1/messages", params)
        first = next(iter(checked.values()))
        batch = self._new("msgbatch_", request.account, str(first.body.get("model")), {})
        batch.requests = list(checked.values())
        return batch

    # ---- Gemini --------------------------------------------------------------------------------

    def gemini_new(self, request: _BatchCall) -> BatchReply:
        """Creates a batch of requests that are in the body."""
        if request.method != "POST":
            raise Refused(_not_served(request))
        if len(request.body) > _GEMINI_BYTES:
            raise Refused(Refusal(text="Request payload size exceeds the limit: 20971520 bytes."))
        facts = as_dict(as_dict(bounded(request.body)).get("batch"))
        name = as_text(facts.get("displayName")) or as_text(facts.get("display_name"))
        if not name:
            raise Refused(
                Refusal(text="* BatchGenerateContentRequest.batch.display_name: must not be empty")
            )
        config = as_dict(facts.get("inputConfig") or facts.get("input_config"))
        requests = as_list(as_dict(config.get("requests")).get("requests"))
        if not requests:
            raise Refused(
                Refusal(text="* BatchGenerateContentRequest.batch.input_config: must not be empty")
            )
        model = str(request.match["model"])
        batch = self._new("batches/", request.account, model, {"displayName": name})
        for one in map(as_dict, requests):
            key = as_text(as_dict(one.get("metadata")).get("key")) or ""
            path = f"/gemini/v1beta/models/{model}:generateContent"
            batch.requests.append(_BatchRequest(key, path, as_dict(one.get("request"))))
        return BatchReply(_gemini_body(batch))

    def gemini(self, request: _BatchCall) -> BatchReply:
        """Looks up batches."""
        batch_id = request.match["id"]
        if request.method != "GET":
            raise Refused(_not_served(request))
        if batch_id is None:
            page, more = _page(self._of(request.account, "batches/"), request.query, "pageToken")
            value: dict[str, Any] = {"operations": list(map(_gemini_body, page))}
            return BatchReply({**value, "nextPageToken": page[-1].id} if more else value)
        batch = self._batch_of(request, f"batches/{batch_id}", "Requested entity was not found.")
        batch.asked += 1
        if batch.asked >= 3:
            self._run(batch, request.headers)
        return BatchReply(_gemini_body(batch))


class _BatchCall(NamedTuple):
    method: str
    match: re.Match[str]
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    account: str
    body: bytes


def _not_served(request: _BatchCall) -> Refusal:
    return Refusal(text=f"{request.method} {request.match[0]} is not served here", status=404)


def _page(
    batches: list[_Batch], query: dict[str, list[str]], cursor: str
) -> tuple[list[_Batch], bool]:
    """A page of batches behind the cursor, and whether there are more."""
    after = query.get(cursor, [None])[-1]
    if after is not None:
        places = [number for number, one in enumerate(batches) if one.id == after]
        batches = batches[places[0] + 1 :] if places else []
    limit = query.get("limit", query.get("pageSize", ["20"]))[-1]
    size = min(int(limit), 100) if limit.isascii() and limit.isdigit() else 20
    return batches[:size], len(batches) > size


def _form(request: _BatchCall) -> tuple[str, bytes]:
    """The name and content of an uploaded file."""
    boundary = re.search(r'boundary="?([^";]+)', request.headers.get("content-type", ""))
    if boundary is None:
        raise Refused(Refusal(text="Could not parse multipart form"))
    members: dict[str, tuple[str, bytes]] = {}
    for piece in request.body.split(b"--" + boundary[1].encode()):
        head, _, content = piece.partition(b"\r\n\r\n")
        text = head.decode("utf-8", "replace")
        if name := re.search(r'[; ]name="([^"]*)"', text):
            file = re.search(r'filename="([^"]*)"', text)
            members[name[1]] = (file[1] if file else "", content.removesuffix(b"\r\n"))
    for member in ("purpose", "file"):
        if member not in members:
            raise Refused(Refusal(text=f"'{member}' is a required property"))
    purpose = members["purpose"][1].decode("utf-8", "replace")
    if purpose != "batch":
        raise Refused(Refusal(text=f"'{purpose}' is not one of ['batch'] - 'purpose'"))
    return members["file"]


def _anthropic_body(batch: _Batch) -> dict[str, Any]:
    ended = batch.outcomes is not None
    words = ("succeeded", "errored", "canceled", "expired")
    counts = {word: batch.count(word) for word in words}
    running = "canceling" if batch.canceled else "in_progress"
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if ended else running,
        "request_counts": {"processing": 0 if ended else len(batch.requests), **counts},
        "ended_at": _LATER if ended else None,
        "created_at": _TIME,
        "expires_at": _LATER,
        "archived_at": None,
        "cancel_initiated_at": _TIME if batch.canceled else None,
        "results_url": f"https://api.anthropic.com/v1/messages/batches/{batch.id}/results"
        if ended
        else None,
    }


def _anthropic_results(batch: _Batch) -> bytes:
    """The results, in any order: here backwards."""
    lines = []
    for request, word, answered in reversed(batch.outcomes or []):
        result: dict[str, Any] = {"type": word}
        if word == "succeeded":
            result["message"] = answered.body
        elif word == "errored":
            result["error"] = answered.body
        lines.append(dump_json({"custom_id": request.id, "result": result}) + b"\n")
    return b"".join(lines)


def _gemini_body(batch: _Batch) -> dict[str, Any]:
    """The operation; if a request expired, all did: such a batch has no results."""
    ran, good, bad = batch.outcomes is not None, batch.count("succeeded"), batch.count("errored")
    expired = ran and bool(batch.count("expired"))
    word = "PENDING" if batch.asked < 1 else "RUNNING"
    if ran:
        word = "EXPIRED" if expired else "SUCCEEDED"
    total = len(batch.requests)
    stats = {"requestCount": str(total)}
    if not ran:
        stats["pendingRequestCount"] = str(total)
    elif not expired:
        stats |= {"successfulRequestCount": str(good), "failedRequestCount": str(bad)}
    kind = "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch"
    facts = {
        "@type": kind,
        "model": f"models/{batch.model}",
        "displayName": batch.facts["displayName"],
        "createTime": _TIME,
        "updateTime": _TIME,
        "batchStats": stats,
        "state": f"BATCH_STATE_{word}",
        "name": batch.id,
    }
    body: dict[str, Any] = {"name": batch.id, "metadata": facts}
    if not ran:
        return body
    if expired:
        error = {"code": 4, "message": "The batch expired before it was completed."}
        return {**body, "done": True, "error": error}
    lines = [_gemini_line(*outcome) for outcome in batch.outcomes or ()]
    output = {"inlinedResponses": {"inlinedResponses": lines}}
    return {**body, "done": True, "response": {"@type": f"{kind}Output", **output}}


def _gemini_line(request: _BatchRequest, word: str, answered: Answered) -> dict[str, Any]:
    metadata = {"metadata": {"key": request.id}} if request.id else {}
    if word == "succeeded":
        return {"response": answered.body, **metadata}
    error = as_dict(as_dict(answered.body).get("error"))
    code = {400: 3, 403: 7, 404: 5, 429: 8, 503: 14}.get(answered.status, 13)
    return {"error": {"code": code, "message": as_text(error.get("message")) or ""}, **metadata}


_PATHS: tuple[tuple[re.Pattern[str], Callable[[Batches, _BatchCall], BatchReply]], ...] = (
    (re.compile(r"(?:/openai)?/v1/files(?:/(?P<id>file-\w+)(?P<verb>/content)?)?"), Batches.openai_files),
    (re.compile(r"(?:/openai)?/v1/batches(?:/(?P<id>batch_\w+)(?P<verb>/\w+)?)?"), Batches.openai),
    (re.compile(r"(?:/anthropic)?/v1/messages/batches(?:/(?P<id>msgbatch_\w+)(?P<verb>/\w+)?)?"), Batches.anthropic),
    (re.compile(r"(?:/gemini)?/v1beta/models/(?P<model>[^/:]+):batchGenerateContent"), Batches.gemini_new),
    (re.compile(r"(?:/gemini)?/v1beta/batches(?:/(?P<id>\w+))?"), Batches.gemini),
)  # fmt: skip
