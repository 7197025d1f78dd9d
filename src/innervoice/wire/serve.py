"""The server's side: the protocol of a dialect's server, and what all readers of requests share.

A turn of the model in a request has the shape of its answer, so the reader of answers reads it. Members of a
request that `Request` does not have go to `extra`, unchanged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from innervoice.canon.jsontext import breaks_off
from innervoice.canon.messages import Message, Role
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Part, Text, ToolCall, ToolResult
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.canon.tools import tools_from
from innervoice.canon.value import Value
from innervoice.canon.words import finish_reason_of
from innervoice.errors import DecodeError, UsageError
from innervoice.frames.frame import Frame
from innervoice.wire.free_form import is_free_form
from innervoice.wire.json_access import as_dict
from innervoice.wire.protocol import Reader
from innervoice.wire.refusals import Refusal
from innervoice.wire.write import schema_name

__all__ = [
    "NO_MODEL",
    "NO_TIME",
    "UNKNOWN_MODEL",
    "ModelFacts",
    "ModelListing",
    "OpenCalls",
    "Query",
    "ReceivedMembers",
    "Server",
    "Spelling",
    "StoredAnswers",
    "UserContent",
    "assistant_turn",
    "check_message",
    "checked_messages",
    "claude_setting",
    "known",
    "openai_error",
    "openai_model",
    "openai_models",
    "own_part",
    "own_word",
    "request_of",
    "schema_format",
    "setting_of",
    "with_role",
    "without",
]


class Server(Protocol):
    """The interface of every `serve.py`: a dialect's requests and errors. `answer.py` writes answers."""

    def read_request(self, body: dict[str, Any]) -> Request:
        """Reads the body of a request."""
        ...

    def write_error(self, refusal: Refusal) -> dict[str, Any]:
        """The body of a refusal."""
        ...

    def write_stream_error(self, refusal: Refusal) -> Frame:
        """An error in the middle of a stream."""
        ...


def assistant_turn(reader: Reader, answer: Any, beside: dict[str, Any] | None = None) -> Message:
    """A turn of the model, read like the answer that it was; `beside` are members of its message that no answer has."""
    reader.feed(answer)
    reader.ended = True
    reader.finish()
    parts = tuple(map(_as_it_ended, reader.parts))
    members = {**reader.message_block, **beside} if beside else reader.message_block
    if not members:
        return Message("assistant", parts, reader.origin())
    # The client wrote them, and they go back as they are: see `is_input`.
    origin = reader.origin(members, reader.message_seals, item="input")
    return Message("assistant", parts, origin)


def _as_it_ended(part: Part) -> Part:
    """A part of a turn; a call whose arguments break off is one of an answer that did, whatever its client took it for."""
    if isinstance(part, ToolCall) and breaks_off(part.arguments) and not is_free_form(part):
        return part.replace(complete=False) if part.arguments else part
    return part


class UserContent:
    """Reads user and tool content in one dialect: text as text, files as files, every other block unchanged.

    A block with more members than its part (a cache mark, citations) is kept in the origin, to be sent back unchanged. `read_block` reads
    the blocks that only the dialect has, and returns None for those it does not know either.
    """

    def __init__(self, dialect: str, read_block: Callable[[dict[str, Any]], Part | None]) -> None:
        self._dialect = dialect
        self._read_block = read_block

    def parts(self, content: Any) -> tuple[Part, ...]:
        """The parts of a content: a text, a block or a list of these."""
        if isinstance(content, str):
            return (Text(content),)
        blocks = content if isinstance(content, list) else [] if content is None else [content]
        return tuple(map(self.part, blocks))

    def part(self, block: Any) -> Part:
        """The part of a block."""
        match block:
            case str(text):
                return Text(text)
            case {"type": "text" | "input_text" | "output_text", "text": str(text), **rest}:
                return Text(text, origin=self._origin(block) if rest else None)
            case {"text": str(text), **rest} if "type" not in rest and "thought" not in rest:
                return Text(text, origin=self._origin(block) if rest else None)
            case dict() if part := self._read_block(block):
                return part
            case _:
                return Opaque(block, origin=Origin(dialect=self._dialect))

    def system(self, blocks: Any) -> list[Message]:
        """A system prompt in blocks, as a message before all others; every block is sent back unchanged."""
        parts = [
            Text(part.text, origin=self._origin(block)) if isinstance(part, Text) else part
            for block in (blocks if isinstance(blocks, list) else [])
            if (part := self.part(block))
        ]
        return [Message("system", tuple(parts))] if parts else []

    def result(
        self, call_id: Any, content: Any, *, error: bool = False, block: Any = None
    ) -> ToolResult:
        """A tool result; `block` is its wire form, if that has more members."""
        name = call_id if isinstance(call_id, str) and call_id else "unknown"
        origin = self._origin(block) if block is not None else None
        if content is None or isinstance(content, str):
            return ToolResult(name, content or "", error, origin)
        content_parts = (
            part for part in self.parts(content) if isinstance(part, (Text, Media, Opaque))
        )
        return ToolResult(name, tuple(content_parts), error, origin)

    def _origin(self, block: Any) -> Origin:
        return Origin(dialect=self._dialect, block=block)


class OpenCalls:
    """The calls of the last turn without a result, for results that have the name of their function and no id.

    A turn may come as several messages: google-genai keeps one for each piece of a stream.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, deque[str]] = {}
        self._count = 0
        self._is_turn = False

    def begin(self, *, is_turn: bool) -> None:
        """The next message begins, of the model or of another."""
        if is_turn and not self._is_turn:
            self._by_name, self._count = {}, 0
        self._is_turn = is_turn

    def new_id(self) -> str:
        """The id of a call that has none, unique in its turn."""
        self._count += 1
        return f"call_{self._count - 1}"

    def end(self, message: Message) -> None:
        """The message was read; if it is of the model, its calls are open."""
        for call in message.tool_calls if self._is_turn else ():
            self._by_name.setdefault(call.name, deque()).append(call.id)

    def take(self, name: Any) -> str | None:
        """The id of the first call of a function that has no result yet; None if there is none."""
        ids = self._by_name.get(name) if isinstance(name, str) else None
        return ids.popleft() if ids else None


def setting_of(members: dict[str, Any]) -> Reasoning | None:
    """The reasoning setting, or None if `Reasoning` cannot express it."""
    try:
        return Reasoning.from_any(members) if members else None
    except UsageError:
        return None


_CLAUDE = ("type", "budget_tokens", "display")


def claude_setting(
    body: dict[str, Any], elsewhere: dict[str, Any] | None = None
) -> tuple[Reasoning | None, dict[str, Any]]:
    """Claude's reasoning setting, and the other members of `thinking` and `output_config`.

    Adaptive thinking alone, without an amount, is left among the other members: `Reasoning` cannot express it. Its meaning for other
    models is added to `elsewhere`.
    """
    thinking, config = as_dict(body.get("thinking")), as_dict(body.get("output_config"))
    wishes = {name: thinking[name] for name in _CLAUDE if name in thinking}
    if config.get("effort"):
        wishes["effort"] = config["effort"]
    is_adaptive = wishes.get("type") == "adaptive"
    if is_adaptive:
        del wishes["type"]
    setting = setting_of(wishes)
    if is_adaptive and elsewhere is not None and not (setting and setting.effort):
        meant = setting_of({**wishes, "enabled": True})
        elsewhere["reasoning"] = (setting, meant)
    if setting is not None:
        thinking, config = without(thinking, *_CLAUDE), without(config, "effort")
    return setting, {"thinking": thinking, "output_config": config}


class Spelling(NamedTuple):
    """A reasoning setting and the members of the body that expressed it, for dialects in which every host has its own members."""

    setting: Reasoning
    members: dict[str, Any]
    is_switch: bool
    """Whether they switch reasoning on without an amount; the setting is a guess then."""


class ReceivedMembers(dict[str, Any]):
    """`Request.extra` of a request that was read: members of a body that only its own dialect understands.

    They are written again for that dialect only, unlike an `extra` of the caller, which is always written. `spelling` is the form in which the
    body asked for reasoning. `elsewhere` says for fields of the request with the dialect's own value what they mean in other dialects:
    name -> (the value here, the value there).
    """

    def __init__(
        self,
        dialect: str,
        members: dict[str, Any],
        spelling: Spelling | None = None,
        elsewhere: dict[str, tuple[Any, Any]] | None = None,
    ) -> None:
        super().__init__(members)
        self.dialect = dialect
        self.spelling = spelling
        self.elsewhere = elsewhere or {}

    def __reduce__(self) -> Any:
        return ReceivedMembers, (self.dialect, dict(self), self.spelling, self.elsewhere)


def schema_format(schema: Any) -> dict[str, Any]:
    """The response format, in the form of `Request`, for a schema without a name."""
    return {
        "type": "json_schema",
        "json_schema": {"name": schema_name(schema), "schema": schema},
    }


def without(holder: dict[str, Any], *names: str) -> dict[str, Any]:
    """An object without some of its members."""
    return {key: value for key, value in holder.items() if key not in names}


def request_of(
    body: dict[str, Any],
    dialect: str,
    messages: list[Message],
    options: dict[str, Any],
    read: set[str],
    *,
    spelling: Spelling | None = None,
    elsewhere: dict[str, tuple[Any, Any]] | None = None,
) -> Request:
    """The request; members of the body that were not read go to `extra`."""
    members = {name: item for name, item in without(body, *read).items() if item is not None}
    extra = ReceivedMembers(dialect, members, spelling, elsewhere)
    tools = options.pop("tools", None)
    if not isinstance(tools, (list, tuple)):
        tools = ()
    model = body.get("model") or options.pop("model", "") or "unknown"
    options = {key: value for key, value in options.items() if value is not None}
    try:
        return Request(
            str(model),
            tuple(messages),
            dialect=dialect,
            extra=extra,
            tools=tuple(tools_from(tools)),
            **options,
        )
    except (UsageError, TypeError) as error:
        raise DecodeError(f"not a valid request of the dialect {dialect}: {error}") from None


# ---- the types of the members of a request ---------------------------------------------------------

_WORDS: dict[type, str] = {str: "a string", list: "a list", dict: "an object"}
# Members of a message and of a block in its content -> the types that they may have; null is allowed everywhere.
_OF_MESSAGE: dict[str, tuple[type, ...]] = {
    "role": (str,), "type": (str,), "content": (str, list, dict), "parts": (list, dict), "tool_calls": (list,),
    "tool_call_id": (str,), "call_id": (str,), "tool_name": (str,), "images": (list,), "summary": (list,),
}  # fmt: skip
_OF_BLOCK: dict[str, tuple[type, ...]] = {
    "type": (str,), "tool_use_id": (str,), "id": (str,), "function": (dict, str), "source": (dict, str),
    "toolUse": (dict,), "toolResult": (dict,), "functionCall": (dict,), "functionResponse": (dict,),
}  # fmt: skip
_LISTS = ("content", "parts", "tool_calls")


def checked_messages(value: Any, member: str) -> list[dict[str, Any]]:
    """The messages of a body; raises `DecodeError` with the place of a value that has a wrong type."""
    _check(value, (list,), member)
    for number, message in enumerate(value or ()):
        if not isinstance(message, dict):
            raise _wrong(message, (dict,), f"{member}[{number}]")
        check_message(message, f"{member}[{number}].")
    return value or []


def check_message(message: dict[str, Any], start: str) -> None:
    """Raises `DecodeError` for a member of a wrong type; `start` precedes the member's name in the error."""
    _check_members(message, _OF_MESSAGE, start)
    for name in _LISTS:
        blocks = message.get(name)
        for position, block in enumerate(blocks if isinstance(blocks, list) else ()):
            place = f"{start}{name}[{position}]"
            if isinstance(block, dict):
                _check_members(block, _OF_BLOCK, f"{place}.")
            elif not isinstance(block, str) or name == "tool_calls":
                raise _wrong(block, (dict,), place)


def _check_members(holder: dict[str, Any], types: dict[str, tuple[type, ...]], start: str) -> None:
    for name in holder.keys() & types.keys():
        _check(holder[name], types[name], start + name)


def _check(value: Any, types: tuple[type, ...], place: str) -> None:
    if value is not None and not isinstance(value, types):
        raise _wrong(value, types, place)


def _wrong(value: Any, types: tuple[type, ...], place: str) -> DecodeError:
    expected = " or ".join(_WORDS[kind] for kind in types)
    return DecodeError(f"{place} must be {expected}, not {type(value).__name__}")


# ---- messages ---------------------------------------------------------------------------------------


def with_role(role: Role, parts: tuple[Part, ...], dialect: str, rest: dict[str, Any]) -> Message:
    """A message that keeps the other members of its wire form."""
    origin = Origin(dialect=dialect, block=rest) if rest else None
    return Message(role, parts, origin)


# ---- What the dialects share about how an answer ends and what errors look like.


def own_part(part: Part, dialect: str) -> Part | None:
    """A part without the block of another dialect; None for a foreign opaque block."""
    origin = part.origin
    if origin is None or origin.dialect == dialect:
        return part
    if isinstance(part, Opaque) and origin.dialect is not None:
        return None
    return part.replace(origin=origin.replace(block=None, seals=()))


def own_word(answer: Response, dialect: str) -> str | None:
    """The finish reason as received, if it was received in this dialect; of an answer that came from nowhere, a known word."""
    word = answer.wire_finish_reason
    if answer.origin is None:
        return word if finish_reason_of(word) is not None else None
    return word if answer.origin.dialect == dialect else None


def openai_error(refusal: Refusal) -> dict[str, Any]:
    """The body of an error as OpenAI and related APIs write it."""
    usual = "invalid_request_error"
    if refusal.status >= 500:
        usual = "server_error"
    elif refusal.status == 429:
        usual = "requests"
    error = {
        "message": refusal.text,
        "type": refusal.type or usual,
        "param": refusal.param,
        "code": refusal.code,
    }
    return {"error": error}


# ---- How an API stores answers: how a request continues from one, and how its servers answer requests for one.
#
# Three APIs have that: OpenAI's Responses, Google's Interactions, and the threads of Anthropic's Messages. Each has its row in `serve.py` of
# its folder.


Query: TypeAlias = dict[str, list[str]]
"""The query of a request: name -> values."""


def _same(value: Any) -> Any:
    return value


class StoredAnswers(Value, frozen=True, kw_only=True):
    """The facts of one API."""

    dialect: str
    noun: str
    """What the API calls an answer; the last event of a stream has it under this name."""
    is_in_last_event: bool = True
    """Whether a stream has its answer in the last event; if not, in pieces only."""
    is_asked_for: bool = False
    """Whether answers are stored only for requests that have the member `previous`."""
    flag: str | None = None
    """The flag of `anthropic-beta` that a host must know to store answers itself; None: every host of the API does."""
    input: str = "input"
    """The member of a request with its items."""
    previous: str
    """The member of a request with the id of the answer to continue from."""
    previous_in: Callable[[Any], Any] = _same
    """The id in the value of that member."""
    settings: tuple[str, ...] = ()
    """Members that hold for all requests of a conversation: only the first one may have them."""
    output: str
    """The member of an answer with the model's items."""
    output_items: Callable[[dict[str, Any]], list[Any]] | None = None
    """The items of an answer as a later request has them; None: as they are."""
    status: str = "status"
    """The member of an answer that says how it ended."""
    goes_on: tuple[str, ...]
    """The statuses of answers that can be continued."""
    ended: tuple[str, ...]
    """The statuses of answers that are stored."""
    confirmed_by: str | None = None
    """The member with which the provider confirms that it stored an answer; None: it stores every answer unless the request forbids it."""
    reference: str | None = None
    """The type of items that only name an earlier one; None: there are none."""
    conversation: str | None = None
    """The member that names a stored conversation; None: there are none."""
    background: str | None = None
    """The member that asks for an answer in the background, where the gateway can run it; None: only a provider can."""
    unfinished: Callable[[Mapping[str, Any], str], dict[str, Any]] | None = None
    """An answer, and a status -> the same before its end."""
    ended_early: Callable[[Mapping[str, Any], str | None], dict[str, Any]] | None = None
    """An answer -> the same, cancelled; with a problem, failed because of it."""
    echoed: tuple[str, ...] = ()
    """Members of its request that an answer repeats."""
    echo: Callable[[Mapping[str, Any]], dict[str, Any]] = dict
    """These members of a request -> the members of its answer."""
    only_there: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Members that only a provider itself can obey -> the error for a request that needs another."""
    lost: tuple[str, ...]
    """Words, in lower case, of the error for an answer that the provider no longer has."""
    items_of: Callable[[Any], list[Any]]
    """The items of a request's input."""
    missing: Callable[[str], Refusal]
    """The error for a request for an answer that does not exist."""
    no_previous: Callable[[str], Refusal]
    """The error for a request that continues from an answer that does not exist."""
    no_item: Callable[[str], Refusal] | None = None
    """The error for a reference to an item that does not exist."""
    check: Callable[[Mapping[str, Any]], Refusal | None] | None = None
    """What is refused about the members of a request that concern stored answers."""
    unstored: Refusal | None = None
    """The error for a request whose answer must be stored, but may not be; None: it is answered all the same."""
    cannot_cancel: str = ""
    """Why an answer that was not made in the background cannot be cancelled."""
    deleted: Callable[[str], dict[str, Any]] | None = None
    """The response to the deletion of an answer; None: there is no such endpoint."""
    shown: Callable[[dict[str, Any], list[Any], Query], dict[str, Any]] | None = None
    """The response to a request for an answer: (answer, items of its input, query) -> body."""
    listed: Callable[[str, list[Any], Query], dict[str, Any]] | None = None
    """A page of the input of an answer: (id, items, query) -> body."""


# ---- How a server describes its models: the facts that any dialect can express, and OpenAI's form of them.


NO_TIME = "1970-01-01T00:00:00Z"
"""The API requires a time, and none is known; Anthropic also writes this one for an unknown date."""


NO_MODEL = Refusal(text="you must provide a model parameter")
UNKNOWN_MODEL = Refusal(
    text="The model `{model}` does not exist or you do not have access to it.",
    status=404,
    code="model_not_found",
)


class ModelFacts(NamedTuple):
    """The facts about a model."""

    name: str
    owner: str
    context: int | None = None
    """The size of its context window in tokens; None: unknown."""
    output: int | None = None
    """Its maximum output in tokens; None: unknown."""
    reasons: bool = False


class ModelListing(Protocol):
    """The interface of every `serve.py` for lists of models."""

    NO_MODEL: Refusal
    """The refusal of a request without a model."""
    UNKNOWN_MODEL: Refusal
    """The refusal for a model that the server does not have."""

    def model_list(self, models: Sequence[ModelFacts]) -> dict[str, Any]:
        """The list of models as a server sends it."""
        ...

    def model_card(self, model: ModelFacts) -> dict[str, Any]:
        """The server's description of one model."""
        ...


def known(**members: Any) -> dict[str, Any]:
    """The members that have a value: unknown ones are left out, not guessed."""
    return {name: value for name, value in members.items() if value is not None}


def openai_model(model: ModelFacts) -> dict[str, Any]:
    """One model; OpenAI reports no sizes, so they have the names that other servers of this API use.

    `context_length` is OpenRouter's, `context_window` and `max_completion_tokens` are Groq's.
    """
    sizes = known(
        context_length=model.context,
        context_window=model.context,
        max_completion_tokens=model.output,
    )
    return {"id": model.name, "object": "model", "created": 0, "owned_by": model.owner, **sizes}


def openai_models(models: Sequence[ModelFacts]) -> dict[str, Any]:
    """The list of models."""
    return {"object": "list", "data": [openai_model(model) for model in models]}
