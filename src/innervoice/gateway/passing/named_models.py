"""Every model that a request names, wherever it stands: in the path, the query, members of JSON, fields of a form, lines of a batch.

Only for callers that may use some models: what could name another one is found or refused. Members are read with all their repetitions and
in any letter case, because servers differ in which one counts. Messages are not searched: what they say names no model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl

from innervoice.canon.jsontext import Members, load_every_member
from innervoice.gateway.callers import Caller
from innervoice.gateway.errors import model_not_allowed
from innervoice.gateway.passing.forms import Form, form_of
from innervoice.wire.dialects import HISTORY_MEMBERS
from innervoice.wire.paths import folded
from innervoice.wire.refusals import Refusal, Refused

__all__ = ["ModelCheck", "models_in", "models_in_lines"]

_MEMBERS = frozenset({"model", "models", "modelid", "model_id", "model_name", "fallbacks", "fallback_models", "engine", "deployment", "agent", "agent_id", "assistant_id"})  # fmt: skip
_UNREAD = frozenset({*HISTORY_MEMBERS, "metadata", "system", "instructions", "prompt"})
_BEFORE_MODEL = ("models", "model", "tunedmodels", "engines", "deployments", "endpoints")
"""The segment of a path behind one of these, in lower case, is a model, with or without a verb."""
_FILES, _BATCH = "files", "batch"
_VERB = re.compile(r":[A-Za-z]+$")


def models_in(data: bytes | bytearray | memoryview | str) -> set[str]:
    """Returns the models that a JSON text names; raises `ValueError` if it is none."""
    return set(_models(load_every_member(data)))


def _models(value: Any) -> Iterator[str]:
    if isinstance(value, Members):
        for name, member in value:
            if name.lower() in _UNREAD:
                continue
            if name.lower() in _MEMBERS:
                yield from _names(member)
            yield from _models(member)
    elif isinstance(value, list):
        for item in value:
            yield from _models(item)


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, Members):  # an agent, by its id
        value = [member for name, member in value if name == "id"]
    items = value if isinstance(value, list) else [value]
    return (item for item in items if isinstance(item, str) and item)


def models_in_lines(data: bytes) -> set[str]:
    """Returns the models that the lines of a batch name; raises `ValueError` if a line is not JSON, or names none."""
    models: set[str] = set()
    for line in filter(None, map(bytes.strip, data.splitlines())):
        found = models_in(line)
        if not found:
            raise ValueError("a line names no model")
        models |= found
    return models


def models_in_path(segments: Sequence[str]) -> set[str]:
    """Returns the models that the segments of a path name."""
    words = [word for segment in segments for word in segment.split("/")]
    return {
        _VERB.sub("", name)
        for before, name in pairwise(words)
        if folded((before,)) in _BEFORE_MODEL and _VERB.sub("", name)
    }


def models_in_query(query: str) -> set[str]:
    """Returns the models that a query, or a form of that kind, names."""
    pairs = parse_qsl(query.replace(";", "&"))
    return {value for name, value in pairs if name.lower().removesuffix("[]") in _MEMBERS}


def _models_in_fields(form: Form) -> Iterator[str]:
    for name, text in form.fields:
        if name.lower().removesuffix("[]") in _MEMBERS:
            if text is None:
                raise ValueError("the name of a model is a file")
            yield text
        elif text is not None and text.lstrip()[:1] in ("{", "["):
            yield from models_in(text)


class ModelCheck:
    """Checks what a request names against the models of its caller; nothing is read for a caller that may use all."""

    def __init__(self, caller: Caller, *providers: str) -> None:
        """`providers` are the names before a slash with which the caller's models may be written."""
        self._caller, self._providers = caller, tuple(dict.fromkeys(providers))
        self.is_needed = bool(caller.models)
        self.named: list[str] = []
        """What the request has named so far."""
        self.lines: list[str] | None = None
        """The models of the lines of a batch that were checked; None if there were none."""

    def names(self, names: Iterable[str]) -> None:
        """Raises `Refused` for a model that the caller may not use, by its own name or behind that of a provider."""
        for name in names:
            plain = name.removeprefix("models/")
            self.named.append(plain)
            spellings = (plain, *(f"{provider}/{plain}" for provider in self._providers))
            if self.is_needed and not any(
                self._caller.may_ask(each, is_exact=True) for each in spellings
            ):
                raise Refused(model_not_allowed(name, self._caller.models))

    def address(self, segments: Sequence[str], query: str) -> None:
        """Checks the path and the query."""
        self.names(sorted(models_in_path(segments) | models_in_query(query)))

    def body(self, body: bytes, content_type: str, words: str) -> None:
        """Checks a body: a form, or JSON; `words` is the path without its version."""
        kind = content_type.partition(";")[0].strip().lower()
        try:
            if kind.startswith("multipart/"):
                self._form(form_of(body, content_type), words)
            elif kind == "application/x-www-form-urlencoded" and not body.lstrip().startswith((b"{", b"[")):  # fmt: skip
                self.names(sorted(models_in_query(body.decode("latin-1"))))
            else:
                self.names(sorted(models_in(body)))
        except ValueError as error:
            raise self.unreadable(str(error)) from None

    def _form(self, form: Form, words: str) -> None:
        self.names(sorted(_models_in_fields(form)))
        if words == _FILES and ("purpose", _BATCH) in form.fields:
            self.lines = sorted({name for file in form.files for name in models_in_lines(file)})
            self.names(self.lines)

    def batch(self, file: str, models: Sequence[str] | None) -> None:
        """Checks the models that the lines of a file name; raises `Refused` for one whose lines were not checked when it came."""
        if models is None:
            text = f"this key is for certain models only, and the lines of {file!r} were not checked when it was uploaded: upload it with this key, as a form with the purpose `batch`"
            raise Refused(Refusal(text=text, status=403))
        self.names(models)

    def message(self, message: str | bytes) -> None:
        """Checks a message of a WebSocket."""
        if self.is_needed:
            try:
                self.names(sorted(models_in(message)))
            except ValueError:
                raise self.unreadable("a message is not JSON") from None

    def must_name(self) -> None:
        """Raises `Refused` if the request named no model: the provider would choose one."""
        if not self.named:
            text = "this key is for certain models only, and the request names none; the provider would choose one"
            raise Refused(Refusal(text=text, status=403))

    def unreadable(self, what: str) -> Refused:
        """Returns the refusal of a body in which a limited key could hide the name of a model."""
        text = f"this key is for certain models only, and its models cannot be read from this request: {what}"
        return Refused(Refusal(text=text))
