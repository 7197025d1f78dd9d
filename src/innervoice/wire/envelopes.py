"""Envelopes: what batch files, logs and gateways put around an answer.

Each row of `ENVELOPES` has the members by which an envelope is recognized, and the places of the answer and of a failure. Rows are tried
in order. Envelopes may be nested: a log of a gateway may contain the line of a batch file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from innervoice.canon.jsontext import load_json
from innervoice.canon.response import Failure
from innervoice.errors import DecodeError
from innervoice.wire.json_access import as_count, as_dict, as_list, as_text, members_of
from innervoice.wire.refusals import failure_of

__all__ = ["Content", "opened", "parsed_text"]

Path: TypeAlias = tuple[str, ...]

_DEEPEST = 4
"""How many envelopes may be nested."""


class Content(NamedTuple):
    """The content of an envelope: an answer, or a failure."""

    answer: Any = None
    failure: Failure | None = None
    is_stored: bool = True
    """Whether it is one whole answer, as in a line of a file; otherwise it may be a message of a stream."""


class Envelope(NamedTuple):
    """One kind of envelope."""

    name: str
    members: frozenset[str]
    """The members that an envelope of this kind has, all of them."""
    answers: tuple[Path, ...]
    """Where the answer may be; the first place with a value counts."""
    failures: tuple[Path, ...] = (("error",),)
    """Where a failure may be."""
    fits: Callable[[dict[str, Any]], bool] = lambda _: True
    """A further condition."""
    says: Callable[[dict[str, Any]], Failure | None] = lambda _: None
    """The failure of an envelope that has none in the places above."""
    is_stored: bool = True


# ---- the conditions and failures of single rows --------------------------------------------------------


def _is_anthropic(line: dict[str, Any]) -> bool:
    return as_text(as_dict(line["result"]).get("type")) in _RESULTS


_RESULTS = ("succeeded", "errored", "canceled", "expired")


def _not_run(line: dict[str, Any]) -> Failure | None:
    """Anthropic's requests that were canceled or expired have no error."""
    kind = as_text(as_dict(line["result"]).get("type"))
    if kind == "succeeded":
        return None
    return Failure(type=kind, message=f"the request of this batch is {kind}", raw=line)


def _refused(line: dict[str, Any]) -> Failure | None:
    """The HTTP status of an answer that was stored with its body."""
    body = as_dict(line.get("response")) or line
    status = as_count(body.get("status_code")) or as_count(body.get("statusCode")) or 0
    if status < 400:
        return None
    failure = failure_of(parsed_text(body.get("body")))
    message = failure.message or f"status {status}"
    code = status if failure.code is None else failure.code
    return Failure(type=failure.type, code=code, message=message, raw=line)


def _vertex_status(line: dict[str, Any]) -> Failure | None:
    """Vertex writes a failure as text into `status`, sometimes with JSON at its end."""
    status = as_text(line.get("status"))
    if not status or as_dict(parsed_text(line.get("response"))):
        return None
    begun = status.find("{")
    detail = parsed_text(status[begun:]) if begun >= 0 else None
    if isinstance(detail, dict):
        return failure_of(detail)
    return Failure(message=status, raw=line)


def _logged_failure(line: dict[str, Any]) -> Failure | None:
    """litellm keeps the class, the code and the message of an exception."""
    if line.get("status") != "failure" and not line.get("error_str"):
        return None
    failure = as_dict(line.get("error_information"))
    code = failure.get("error_code")
    return Failure(
        type=as_text(failure.get("error_class")),
        code=code if isinstance(code, str) and code else as_count(code),
        message=as_text(failure.get("error_message")) or as_text(line.get("error_str")),
        raw=line,
    )


def _is_log(line: dict[str, Any]) -> bool:
    return not _LOGGED.isdisjoint(line)


_LOGGED = frozenset({"messages", "call_type", "model", "model_group", "request_id"})


def _unsuccessful(body: dict[str, Any]) -> Failure | None:
    """Cloudflare's errors are a list."""
    if body.get("success") is not False and not body.get("errors"):
        return None
    first = next(iter(as_list(body.get("errors"))), None)
    return failure_of(body if first is None else first).replace(raw=body)


ENVELOPES = (
    Envelope(
        "a line of an Anthropic batch file",
        frozenset({"result"}),
        (("result", "message"),),
        (("result", "error"), ("error",)),
        fits=_is_anthropic,
        says=_not_run,
    ),
    Envelope(
        "a line of a batch file",  # OpenAI, Azure, vLLM, Groq, Mistral, Together; Fireworks has no body
        frozenset({"custom_id"}),
        (("response", "body"), ("response",)),
        (("error",),),
        says=lambda line: (
            _refused(line) or _vertex_status(line)
        ),  # Vertex has such lines for Claude
    ),
    Envelope(
        "a record of a Bedrock batch file",
        frozenset({"recordId"}),
        (("modelOutput",),),
        (("error",),),
    ),
    Envelope(
        "a line of a Gemini batch file",
        frozenset({"key", "response"}),
        (("response",),),
    ),
    Envelope(
        "a line of a Vertex batch file",
        frozenset({"request", "response"}),
        (("response",),),
        (("error",),),
        says=_vertex_status,
    ),
    Envelope(
        "an answer of Cloudflare",
        frozenset({"success"}),
        (("result",), ("response",), ("data",)),
        (),
        says=_unsuccessful,
    ),
    Envelope(
        "a log line of litellm",
        frozenset({"response"}),
        (("response",),),
        (("error",),),
        fits=_is_log,
        says=_logged_failure,
    ),
    Envelope(
        "a stored HTTP answer",
        frozenset({"body"}),
        (("body",),),
        (),
        says=_refused,
    ),
    Envelope(
        "an envelope",  # Google's Code Assist sends every chunk of a stream in one
        frozenset({"response"}),
        (("response", "body"), ("response",)),
        (("error",),),
        says=_refused,
        is_stored=False,
    ),
    Envelope("an envelope", frozenset({"result"}), (("result",),), is_stored=False),
)


# ---- opening -------------------------------------------------------------------------------------------


def opened(value: dict[str, Any], is_answer: Callable[[Any], bool]) -> Content | None:
    """The content of the envelope, or None if the value is not one; raises `DecodeError` for an envelope without an answer.

    `is_answer` says whether a value is a message of some dialect: such a value is not opened further.
    """
    stored = False
    here: Any = value
    for _ in range(_DEEPEST):
        row = None if is_answer(here) else next(_rows_of(here), None)
        if row is None:
            break
        stored = stored or row.is_stored
        if failure := _failure_in(row, here):
            return Content(failure=failure, is_stored=stored)
        inner = next(filter(None, (parsed_text(_at(here, path)) for path in row.answers)), None)
        if not isinstance(inner, (dict, list)):
            raise DecodeError(f"{row.name} has no answer: {members_of(here)}")
        here = inner
    else:
        raise DecodeError(f"more than {_DEEPEST} envelopes around one another: {members_of(value)}")
    if here is value:
        return None
    return Content(here, is_stored=stored)


def _rows_of(value: Any) -> Iterator[Envelope]:
    members = as_dict(value)
    return (row for row in ENVELOPES if row.members <= members.keys() and row.fits(members))


def _failure_in(row: Envelope, value: dict[str, Any]) -> Failure | None:
    for path in row.failures:
        if error := _at(value, path):
            return failure_of(parsed_text(error)).replace(raw=value)
    return row.says(value)


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = as_dict(parsed_text(value)).get(step)
    return value


def parsed_text(value: Any) -> Any:
    """The value, or the JSON object or list in a text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return load_json(value)
        except ValueError:
            return value
    return value
