"""Turns a request into its URL, headers and body. Nothing is sent here, and no key is needed.

    Request ──► Target ──► FittedRequest ──► Plan ──► the dialect's writer ──► extra

Settings that cannot be sent as requested are changed and noted, or refused in mode "strict".
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterable
from itertools import chain
from operator import attrgetter
from typing import Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Part, Text, ToolCall, ToolResult
from innervoice.canon.request import Request, Tool, Wire
from innervoice.canon.rows import Host
from innervoice.canon.target import Target
from innervoice.errors import DecodeError, RuleError, UsageError
from innervoice.planning.compactions import UNASKED, UNREADABLE, readable_point
from innervoice.planning.effort_changes import with_changes, without_changes
from innervoice.planning.plan import Plan, Planned, planned
from innervoice.planning.settings import Compiler
from innervoice.planning.system_messages import with_later_system
from innervoice.planning.turns import is_held
from innervoice.wire.controls import Choice
from innervoice.wire.dialect import Dialect
from innervoice.wire.dialects import dialect_named, request_reader_of
from innervoice.wire.json_access import as_list
from innervoice.wire.media import Types, kind_of, type_of, way_of
from innervoice.wire.response_schema import fit_schema
from innervoice.wire.serve import ReceivedMembers, without
from innervoice.wire.shapes import is_strict
from innervoice.wire.write import dropped_members, json_schema, merged, schema_members, schema_name

__all__ = [
    "decode_request",
    "encode",
    "encoded",
    "encoded_plan",
    "fit_media",
    "fit_response_format",
]


def encode(request: Request) -> Wire:
    """Returns the URL, headers and body that a request is sent with.

    :param request: The request.
    """
    return encoded(request)


def encoded(request: Request, target: Target | None = None) -> Wire:
    """Like `encode`, for a request whose target may already be resolved."""
    return encoded_plan(planned(request, target, checked=True))


def encoded_plan(planned: Planned) -> Wire:
    """Like `encode`, for a request that is already planned."""
    return _Encoding(planned).wire()


def decode_request(body: Any, dialect: str) -> Request:
    """The inverse of `encode`: reads the body of a request in a dialect.

    :param body: The body: bytes, text or a dict.
    :param dialect: The wire format of the body.
    """
    try:
        value = load_json(body) if isinstance(body, (bytes, bytearray, str)) else body
    except ValueError as error:
        raise DecodeError(f"the body of a request must be a JSON object: {error}") from None
    if not isinstance(value, dict):
        raise DecodeError(
            f"the body of a request must be a JSON object, not {type(value).__name__}"
        )
    return request_reader_of(dialect)(value)


_ROLE = attrgetter("role")
_ASYNC = "async"
"""The member of a tool, and of its calls, whose result may come later; models without it refuse it."""


class _Encoding:
    def __init__(self, planned: Planned) -> None:
        self._fitted, self._plan, _ = planned
        self._request = self._fitted.asked
        target = self._fitted.target
        self._host, self._model, self._row = target.host, target.model, target.row
        self._dialect = dialect_named(target.dialect)

    def wire(self) -> Wire:
        fitted, plan, dialect = self._fitted, self._plan, self._dialect
        _check_results(self._request)
        self._check_compactions()
        self._note_decisions()
        limit = self._row.limit if self._row.limit != "max_tokens" else dialect.limit
        messages = plan.messages if dialect.joins_turns else _alternating(plan)
        if len(messages) > 2 and not dialect.joins_turns:
            messages = _with_joined_calls(messages)
        messages = fit_media(messages, fitted.target, fitted.notebook)
        if fitted.effort.has_changes:
            messages = self._with_effort_changes(messages)
        if "system" in map(_ROLE, messages):
            messages = with_later_system(messages, fitted.target, fitted.notebook)
        if self._request.tools:
            fitted.change_tools(self._tool)
        body = dialect.writer(self._in_form(fitted.with_messages(messages)), self._model, limit)
        if _ASYNC in dialect.tool_members and self._lacks_async:
            self._leave_out_async(body)
        fields = fitted.reasoning_members
        if fields and dialect.wraps_reasoning:
            fields = {dialect.wraps_reasoning: fields}
        if dialect.unstored and not self._request.store and fitted.reasons:
            body = {**dialect.unstored, **body}
        extra = self._request.extra
        if isinstance(extra, ReceivedMembers) and not fitted.reasons:
            extra = self._settled(extra)
        headers = {"content-type": "application/json", **dialect.headers}
        body = merged(merged(self._enveloped(body), fields), extra)
        if fitted.effort.is_carried and dialect.effort_flag:
            self._set_flag(dialect.effort_flag, headers, body)
        return Wire(
            url=self._url(),
            headers=headers,
            body=body,
            dialect=dialect.name,
            notes=fitted.notebook.notes(),
            reasoning_report=fitted.report,
            prefix=plan.prefix,
            scope=self._request.scope,
        )

    def _with_effort_changes(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages with the changes of the effort in the target's form, if it reads them."""
        fitted, choice = self._fitted, self._fitted.choice
        if not fitted.effort.is_carried:
            return without_changes(messages, fitted.target)
        at_top = "none" if choice and choice.off else choice.effort if choice else None
        return with_changes(messages, fitted.target, at_top, fitted.notebook)

    def _set_flag(self, flag: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        """Sets the flag that a message of the body needs: in a header, or in the body where the host has no header for it."""
        place = self._dialect.effort_path[0]
        if not any(place in message for message in body[self._dialect.history]):
            return
        if self._host is not None and self._host.envelope:
            flags = [*as_list(body.get("anthropic_beta")), flag]
            body["anthropic_beta"] = list(dict.fromkeys(flags))
        else:
            headers["anthropic-beta"] = flag

    def _settled(self, extra: dict[str, Any]) -> dict[str, Any]:
        """The client's further members, without those that are refused because the model does not reason."""
        settled = self._dialect.without_reasoning(extra, self._row)
        for name, value in extra.items():
            if settled.get(name) != value:
                self._fitted.notebook.add("extra_dropped", name)
        return settled

    def _in_form(self, request: Request) -> Request:
        """The request with a response format that the target accepts."""
        formats = (self._host.formats if self._host else ()) or self._dialect.formats
        if request.response_format is None or (request.mode == "passthrough" and formats):
            return request
        change = Compiler(self._row, mode=request.mode, notebook=self._fitted.notebook).bend
        fitted = fit_response_format(request, self._dialect, formats, change)
        is_sent = schema_members(fitted.response_format) is not None
        self._note_format(
            schema_members(request.response_format) or {},
            self._dialect.format_members if is_sent else frozenset(),
        )
        return fitted

    def _note_format(self, members: dict[str, Any], sent: frozenset[str]) -> None:
        """Notes what a response format says beside its schema and is not sent; a name that was made up for it is no loss."""
        for name in ("name", "description", "strict"):
            value = members.get(name)
            invented = name == "name" and value == schema_name(members.get("schema"))
            if value is not None and name not in sent and not invented:
                self._fitted.notebook.add("extra_dropped", f"response_format.{name}")

    @property
    def _lacks_async(self) -> bool:
        """Whether the model is not known to have tools whose results come later."""
        return not self._row.async_tools

    def _leave_out_async(self, body: dict[str, Any]) -> None:
        """Leaves the flag of calls whose results come later out of a body whose model has none."""
        items = body[self._dialect.history]
        marked = sum(_ASYNC in item for item in items)
        if marked:
            body[self._dialect.history] = [without(item, _ASYNC) for item in items]
            self._fitted.notebook.add("extra_dropped", _ASYNC, count=marked)

    def _check_compactions(self) -> None:
        """Raises an error for a history that cannot be sent without what stands for its beginning."""
        for decision in self._plan.decisions:
            if decision.note == UNREADABLE:
                text = (
                    f"message {decision.message} is a compaction that stands for the conversation before it, and only the provider that wrote it can read it;"
                    f" {readable_point(decision.message)}. Send the conversation to that provider, or go on from a turn before the compaction"
                )
                raise RuleError(UNREADABLE, text)
            if decision.note == UNASKED:
                text = (
                    f"message {decision.message} asks for a compaction, and only its own provider answers with one;"
                    " ask for a summary in a message, or send the request through `innervoice serve`"
                )
                raise RuleError(UNASKED, text)

    def _note_decisions(self) -> None:
        """Adds a note for each part of the history that is not sent unchanged; switches reasoning off if an open tool loop demands it."""
        fitted, plan, notebook = self._fitted, self._plan, self._fitted.notebook
        for decision in plan.decisions:
            if decision.note:
                notebook.add(decision.note, decision.member or decision.rule)
        if not self._dialect.flags_errors:
            flagged = [
                part
                for message in plan.messages
                for part in message.parts
                if isinstance(part, ToolResult) and part.error
            ]
            if flagged:
                notebook.add("error_flag_dropped", count=len(flagged))
        if plan.thinking_off and fitted.choice and not fitted.choice.off:
            notebook.add("reasoning_off_for_loop")
            fitted.choice = Choice(off=True)

    def _tool(self, tool: Tool) -> Tool:
        """A tool without members that the dialect does not have; those that were read from it are its own."""
        if not tool.members:
            return tool
        extra = self._request.extra
        is_own = isinstance(extra, ReceivedMembers) and extra.dialect == self._dialect.name
        dropped = dropped_members(tool, self._dialect, is_own=is_own)
        if _ASYNC in tool.members and self._lacks_async and _ASYNC not in dropped:
            dropped = [*dropped, _ASYNC]
        for name in dropped:
            self._fitted.notebook.add("tool_member_dropped", name)
        return tool.replace(members=without(tool.members, *dropped)) if dropped else tool

    @property
    def _path(self) -> str:
        usual = self._dialect.path
        return self._host.paths.get(self._dialect.name, usual) if self._host else usual

    def _url(self) -> str:
        base = self._request.base_url or (self._host.base_url if self._host else "")
        verbs = self._dialect.verbs
        whole, streamed = self._host.verbs.get(self._dialect.name, verbs) if self._host else verbs
        verb = streamed if self._request.stream else whole
        return base.rstrip("/") + self._path.format(model=self._model, verb=verb)

    def _enveloped(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body as this host expects it: the model either in the path or in the body, and the members that only this host requires."""
        wanted = self._host.members.get(self._dialect.name) if self._host else None
        if "{model}" in self._path:
            body.pop("model", None)
        if self._host and (self._host.renames or "stream" in self._host.lacks):
            self._rename(body, self._host)
        return {**body, **wanted} if wanted else body

    def _rename(self, body: dict[str, Any], host: Host) -> None:
        """Removes members that are in the path, and renames members to this host's names."""
        for name in ("stream", "stream_options"):
            if name in host.lacks:
                body.pop(name, None)
        for name, other in host.renames.items():
            if isinstance(body.get(name), str):
                body[other] = body.pop(name)


def _alternating(planned: Plan) -> tuple[Message, ...]:
    """The messages, with two user messages joined where the turn between them is left out."""
    messages = list(planned.messages)
    for gap in reversed(planned.gaps):
        neighbours = messages[gap - 1 : gap + 1] if gap else []
        if [message.role for message in neighbours] != ["user", "user"]:
            continue
        before, after = (message.parts for message in neighbours)
        match before[-1:] + after[:1]:
            case (Text() as one, Text() as other):
                parts = (*before[:-1], Text(f"{one.text}\n\n{other.text}"), *after[1:])
            case _:
                parts = (*before, *after)
        effort = neighbours[1].effort or neighbours[0].effort
        messages[gap - 1 : gap + 1] = [neighbours[0].replace(parts=parts, effort=effort)]
    return tuple(messages)


def _with_joined_calls(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages, with turns of the model joined where the first has calls: their results must follow immediately."""
    if not any(map(_is_split, messages, messages[1:])):
        return messages
    joined: list[Message] = []
    for message in messages:
        if joined and _is_split(joined[-1], message):
            joined[-1] = joined[-1].replace(parts=(*joined[-1].parts, *message.parts))
        else:
            joined.append(message)
    return tuple(joined)


def _is_split(one: Message, other: Message) -> bool:
    return one.role == other.role == "assistant" and bool(one.tool_calls)


def _check_results(request: Request) -> None:
    parts = [part for message in request.messages for part in message.parts]
    called = {part.id for part in parts if isinstance(part, ToolCall)}
    for part in parts:
        if isinstance(part, ToolResult) and part.call_id not in called:
            if is_held(request):
                return  # the server has the call
            raise UsageError(
                f"a tool result refers to the call {part.call_id!r}, which no earlier message contains"
            )


# ---- Files in a history -> the same history with files that the target's dialect accepts.
#
# - A file that the dialect accepts stays as it is.
# - A text file that it does not accept becomes text, with a note.
# - A file in a tool result, where results can only have text, is moved into a user message after the results, with a note.
# - Any other file is refused, with an error that says what the dialect accepts: no file is left out silently.


_WAYS = {"data": "as data", "url": "by URL", "s3": "by an s3: URL", "gs": "by a gs: URL"}
_MOVED = "[the file is in the next message]"


def fit_media(
    messages: tuple[Message, ...], target: Target, notebook: Notebook
) -> tuple[Message, ...]:
    """The messages with files that the target's API accepts; raises `RuleError` for others."""
    if not any(map(_holds_files, messages)):
        return messages
    fitter = _MediaFitter(target, notebook)
    fitted: list[Message] = []
    for message in messages:
        if message.role == "assistant":
            fitted += fitter.waiting()
            fitted.append(message)
            continue
        if message.role != "tool":
            fitted += fitter.waiting()
        fitted.append(fitter.fitted(message))
    return (*fitted, *fitter.waiting())


def _holds_files(message: Message) -> bool:
    inner: Iterable[Part] = chain.from_iterable(
        part.content
        for part in message.parts
        if isinstance(part, ToolResult) and not isinstance(part.content, str)
    )
    return any(isinstance(part, Media) for part in chain(message.parts, inner))


class _MediaFitter:
    def __init__(self, target: Target, notebook: Notebook) -> None:
        dialect = dialect_named(target.dialect)
        self._dialect, self._media = dialect.name, dialect.files
        self._decodes = dialect.decodes_texts
        is_open = dialect.open_files and not is_strict(target)
        self._types: Types = {} if is_open else self._media.TYPES
        self._notebook = notebook
        self._moved: list[Part] = []

    def fitted(self, message: Message) -> Message:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, Media):
                parts.append(self._file(part))
            elif isinstance(part, ToolResult) and not isinstance(part.content, str):
                parts.append(self._result(part))
            else:
                parts.append(part)
        if self._moved and message.role != "tool":
            # Results in the middle of a user message have their files after them.
            parts, self._moved = [*parts, *self._moved], []
        return message.replace(parts=tuple(parts))

    def waiting(self) -> list[Message]:
        """A message with the files of the results before it, if there are any."""
        moved, self._moved = self._moved, []
        return [Message("user", tuple(moved))] if moved else []

    def _result(self, result: ToolResult) -> ToolResult:
        if result.origin and result.origin.block is not None:
            return result  # it is sent back as the block of this dialect in which it came
        content: list[Text | Media | Opaque] = []
        for part in result.content:
            assert not isinstance(part, str)
            fitted = self._file(part) if isinstance(part, Media) else part
            if isinstance(fitted, Media) and not self._media.IN_RESULTS:
                self._moved += [Text(f"The file in the result of {result.call_id}:"), fitted]
                self._notebook.add("result_file_moved", fitted.mime)
                fitted = Text(_MOVED)
            content.append(fitted)
        return result.replace(content=tuple(content))

    def _note_name(self, part: Media) -> None:
        """Notes the name of a file where the dialect has no member for it."""
        plain = part.replace(data=None if part.data is None else "")
        write = self._media.write_media
        if part.name and write(plain) == write(plain.replace(name=None)):
            self._notebook.add("extra_dropped", f"filename {part.name}")

    def _file(self, part: Media) -> Media | Text:
        if part.origin and part.origin.dialect == self._dialect:
            return part  # it came in a block of this dialect, and is sent back as that
        kind = kind_of(part)
        way = way_of(part)
        accepted = self._media.ACCEPTS.get(kind, ())
        types = self._types.get(kind, ())
        mime = type_of(part)
        fits = way in accepted and (not types or mime is None or mime in types)
        if kind == "text" and way == "data":
            self._check_text(part, decoded=self._decodes or not fits)
        if fits:
            self._note_name(part)
            origin = part.origin
            moved = origin and Origin(cache_mark=origin.cache_mark, members=origin.members)
            return part.replace(
                origin=moved if moved != Origin() else None, mime=mime if types else part.mime
            )
        if kind == "text" and part.data is not None:
            self._notebook.add("file_as_text", part.name or part.mime)
            return Text(_text_of(part))
        if way in accepted:
            raise RuleError(
                "file_refused", f"{self._dialect} accepts {', '.join(types)}; not {part.mime}"
            )
        ways = " or ".join(_WAYS[word] for word in accepted)
        kinds = ", ".join(self._media.ACCEPTS)
        taken = (
            f"accepts such a file {ways}" if accepted else f"accepts files of these kinds: {kinds}"
        )
        raise RuleError(
            "file_refused", f"{self._dialect} {taken}; not {part.mime or 'an image'} {_WAYS[way]}"
        )

    def _check_text(self, part: Media, *, decoded: bool) -> None:
        """Some dialects send the text itself, so it must be readable."""
        text = _text_of(part)
        if decoded and "\ufffd" in text and not _is_utf8(part):
            self._notebook.add("invalid_utf8", part.name or part.mime)


def _is_utf8(part: Media) -> bool:
    try:
        b64decode(part.data or "").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _text_of(part: Media) -> str:
    try:
        text = b64decode(part.data or "", validate=True).decode("utf-8", "replace")
    except binascii.Error:
        raise RuleError(
            "file_refused", f"the data of {part.name or part.mime} is not base64"
        ) from None
    return f"{part.name}:\n{text}" if part.name else text


# ---- A response format -> the form that the target accepts.
#
# `response_format` has OpenAI's form: `{"type": "json_schema", "json_schema": {"name", "schema", "strict"}}` or
# `{"type": "json_object"}`. If an API can enforce a schema, the schema is rewritten into the part of JSON Schema that it
# accepts (`wire/response_schema.py`). If it cannot (no such member, only plain JSON, a schema that refers to itself), the schema
# is written into the system prompt instead. Both are noted; no request is refused because of its schema.


_JSON = {"type": "json_object"}


def fit_response_format(
    request: Request,
    dialect: Dialect,
    formats: tuple[str, ...],
    change: Callable[[str, str], None],
) -> Request:
    """The request with a response format that the target accepts; `change` notes a change, or refuses it."""
    form = request.response_format
    name_and_schema = json_schema(form)
    if name_and_schema is None:
        if form != _JSON or "json_object" in formats:
            return request
        change("schema_as_instruction", "json_object")
        return _instructed(request, "Answer with a single JSON object, and nothing else.", None)
    if "json_schema" in formats:
        fitted, obstacle = _with_schema(request, *name_and_schema, dialect, change)
    else:
        fitted, obstacle = request, "the host has no response format with a schema"
    if not obstacle:
        return fitted
    change("schema_as_instruction", obstacle)
    text = dump_json(name_and_schema[1]).decode()
    instruction = (
        f"Answer with a single JSON value that matches this JSON schema, and nothing else:\n{text}"
    )
    return _instructed(request, instruction, _JSON if "json_object" in formats else None)


def _with_schema(
    request: Request, name: str, schema: Any, dialect: Dialect, change: Callable[[str, str], None]
) -> tuple[Request, str | None]:
    """The request with a schema that the dialect accepts, or why there is none."""
    form, profile = request.response_format, dialect.schema_profile
    strict = _member(form, "strict")
    if profile is None or (dialect.schema_if_strict and strict is not True):
        return request, None
    fitted = fit_schema(schema, profile)
    if fitted.obstacle and dialect.schema_if_strict:
        change("schema_not_strict", fitted.obstacle)
        return request.replace(response_format=_form(form, name, schema, strict=False)), None
    if fitted.schema != schema and not fitted.obstacle:
        change("schema_rewritten", ", ".join(fitted.removed) or "objects are closed")
        request = request.replace(response_format=_form(form, name, fitted.schema, strict=strict))
    return request, fitted.obstacle


def _form(form: Any, name: str, schema: Any, *, strict: Any) -> dict[str, Any]:
    """The format with another schema; its other members stay."""
    members = {**(schema_members(form) or {}), "name": name, "schema": schema}
    if strict is not None:
        members["strict"] = strict
    beside = without(form, "type", "json_schema", *members)
    return {"type": "json_schema", "json_schema": members, **beside}


def _member(form: Any, member: str) -> Any:
    inner = form.get("json_schema")
    return inner.get(member) if isinstance(inner, dict) else form.get(member)


def _instructed(request: Request, instruction: str, form: Any) -> Request:
    system = f"{request.system}\n\n{instruction}" if request.system else instruction
    return request.replace(system=system, response_format=form)
