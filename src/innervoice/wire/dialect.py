"""What one dialect is: every fact that differs from one wire format to the next, in one value.

Each folder of `wire/` exports its `DIALECT`. Facts are members; code is named by references (`Code`) and imported when it is
first used, so that knowing a dialect costs nothing but its row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from innervoice.canon.value import Value
from innervoice.frames.frame import Frame
from innervoice.frames.sse import sse_bytes

if TYPE_CHECKING:
    from innervoice.canon.request import Request
    from innervoice.canon.rows import ModelRow
    from innervoice.canon.target import Target
    from innervoice.wire.answer import AnswerWriter
    from innervoice.wire.batches import BatchApi
    from innervoice.wire.grammar import Grammar
    from innervoice.wire.media import MediaModule
    from innervoice.wire.protocol import Reader
    from innervoice.wire.refusals import Headers, Refusal
    from innervoice.wire.replay import Replay
    from innervoice.wire.response_schema import SchemaProfile
    from innervoice.wire.serve import ModelListing, Server, StoredAnswers

__all__ = [
    "CACHE_BREAKPOINT",
    "OPENAI_SETTINGS",
    "Code",
    "Dialect",
    "RequestReader",
    "Rules",
    "Writer",
]

OPENAI_SETTINGS = (
    "user", "metadata", "service_tier", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "safety_identifier",
    "moderation",
)  # fmt: skip
"""Settings that OpenAI's two APIs have under the same name."""
CACHE_BREAKPOINT: dict[str, tuple[str, ...]] = {
    "prompt_cache_breakpoint": ("prompt_cache_breakpoint",)
}
"""The member of contents that both have."""

Writer: TypeAlias = "Callable[[Request, str, str], dict[str, Any]]"
"""Writes a request: (request, model, name of the limit) -> body."""
RequestReader: TypeAlias = "Callable[[dict[str, Any]], Request]"
"""Reads the body of a request."""


def _never(*_: Any) -> bool:
    return False


def _no_problems(*_: Any) -> Iterator[Refusal]:
    return iter(())


def _message_of(body: dict[str, Any]) -> list[Any]:
    return [body["message"]]


class Rules(Protocol):
    """The refusals that the API would answer a request with."""

    def __call__(
        self, body: dict[str, Any], target: Target, headers: Headers = ..., /
    ) -> Iterator[Refusal]: ...


class Code(Value, frozen=True, kw_only=True):
    """The code of a dialect: "module:name" in its folder, or the module; imported when it is first used."""

    reader: str
    writer: str = "write:write"
    files: str = "write"
    server: str = "serve"
    rules: str = "rules:problems"
    shape_rules: str | None = "rules:shape_problems"
    """None: its servers take any member."""
    answer_writer: str
    grammar: str
    replay: str | None = None
    """None: everything goes back as it came."""
    stored_answers: str | None = None
    """None: its servers store no answers."""
    without_reasoning: str | None = None
    """None: nothing is refused because the model does not reason."""
    error_headers: str | None = None
    """None: refusals have no headers of their own."""
    batches: str | None = None
    """None: its home has no batch API."""


class Dialect(Value, frozen=True, kw_only=True):
    """One wire format."""

    name: str
    package: str
    """The folder's package, in which the references below are looked up."""

    # ---- where it is spoken

    home: str
    """The provider that a path without a provider's name belongs to."""
    extensions: frozenset[str] = frozenset()
    """Members that other hosts have added to it: one of these that its home does not know was made for another host, and is not sent there."""
    path: str
    """Behind the base URL; `{model}` and `{verb}` are filled in."""
    bare_path: str = ""
    """The same as some clients write it whose model's name has a provider, `{provider/model}`."""
    verbs: tuple[str, str] = ("", "")
    """What stands for `{verb}`, for whole and for streamed answers."""
    quotes_model: bool = False
    """The model's name is one segment of the path, its slashes and colons escaped."""
    headers: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    key_header: str | None = None
    """The header that carries the key, for servers without a row; None: a bearer token."""
    kin: str | None = None
    """The dialect whose answers look the same; only the host's row tells the two apart."""
    endpoints: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """What its servers offer beside answers: method and path -> what is asked for. A path has no version where one usually stands
    in the base URL; `{model}` and `{id}` stand for names."""
    versions: tuple[str, ...] = ("v1",)
    """The versions of the API that a path may begin with."""

    # ---- requests

    history: str = "messages"
    """The member of a body that holds the conversation."""
    system_apart: bool = False
    """The system prompt has a member of its own and cannot be one of the messages."""
    limit: str = "max_tokens"
    """The name of the limit on the output, unless a model's row has another."""
    limit_names: tuple[str, ...] = ()
    """The names of the limit that hosts have for the same, where there are several."""
    demands_limit: bool = False
    lacks: tuple[str, ...] = ()
    """Fields of a `Request` that it has no member for."""
    forbids_tools: bool = True
    """Whether `tool_choice="none"` can be expressed."""
    names_tools: bool = True
    """Whether `tool_choice` can name one tool."""
    formats: tuple[str, ...] = ("json_schema", "json_object")
    """The types of `response_format` that it has a member for."""
    schema: str | None = None
    """What it accepts of JSON Schema there: a profile of `response_schema.py`; None: anything."""
    schema_if_strict: bool = False
    """The profile counts only where `strict` is asked for."""
    open_tools: bool = False
    """Functions may have further members, such as `strict`, which the API accepts or ignores."""
    decodes_texts: bool = False
    """A text file is sent as its text, not as its bytes."""
    open_files: bool = False
    """Hosts that are not strict may accept further types of files than `TYPES` has."""
    tool_members: frozenset[str] = frozenset()
    """Members of functions that this dialect has and others do not."""
    free_form_hosts: tuple[str, ...] = ()
    """The hosts that have tools which take any text in place of arguments; "*" for all."""
    cache_marks: str = "hosts"
    """Who has cache marks: "all" hosts and models, some "models", or "hosts" that know `cache_control`."""
    places: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - msgspec copies it
    """Where settings stand that `Request` has no field for: name -> path in the body."""
    holders: tuple[str, ...] = ()
    """Objects of a body whose members are settings of their own."""
    part_places: dict[str, dict[str, tuple[str, ...]]] = {}  # noqa: RUF012 - msgspec copies it
    """The same in the blocks of parts that no part has a field for: kind of part ("text", "image", "document") -> name -> path in the block."""
    message_members: frozenset[str] = frozenset()
    """Members of messages that other dialects have under the same name."""
    format_members: frozenset[str] = frozenset()
    """What a response format says beside its schema."""
    switches: tuple[str, ...] = ()
    """The controls of models that have a switch which `Request.reasoning` cannot express; received for another model, it is a setting."""
    claude_only: tuple[str, ...] = ()
    """The path of a member that only Claude has."""
    said_by: dict[tuple[str, ...], tuple[str, ...]] = {}  # noqa: RUF012 - msgspec copies it
    """Paths in the body -> the fields of `Request` that may say the same in other dialects."""
    files_in_turns: bool = False
    """Whether turns of the model may contain files."""
    flags_errors: bool = False
    """Whether a tool result can be marked as an error."""
    refuses_blanks: bool = False
    """Whether a blank text in a message of the user is refused."""
    joins_turns: bool = False
    """Neighbouring messages of one role are one turn; elsewhere chat templates may demand that roles alternate."""
    server_state: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Members that refer to what the provider stores, or ask it for something else than an answer -> what to send elsewhere."""
    has_sockets: bool = False
    """Whether its answers can be asked for over a WebSocket, at the same path."""
    private_members: tuple[str, ...] = ()
    """Members of the items of a history that a client sends to its own provider alone; a host whose row does not know them may refuse them."""
    compactions: tuple[str, ...] = ()
    """Types of blocks that stand for the whole conversation before them."""
    compaction_asked: str | None = None
    """The type of the block, at the end of a history, that asks for such a block instead of an answer."""
    effort_path: tuple[str, ...] = ()
    """Where a message of the history sets another effort for what follows, so that the prompt cache stays valid; empty: it has no such message."""
    effort_members: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    """What else such a message has."""
    effort_follows: bool = False
    """Such a message stands behind the user's turn; elsewhere before it."""
    effort_off: bool = False
    """Such a message can switch reasoning off, where the model can."""
    effort_flag: str | None = None
    """The flag of `anthropic-beta` that it needs."""
    effort_excludes: tuple[str, ...] = ()
    """Members of a body that are refused beside such a message."""
    file_references: tuple[str, ...] = ()
    """Members of blocks that name a file which the provider stores."""
    turns_are_items: bool = False
    """A turn of the model must be one item of the history, or its calls are refused; a turn that came in several is sent as one."""
    wraps_reasoning: str | None = None
    """The member that the settings for reasoning stand in; None: they stand in the body itself."""
    unstored: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    """What a body asks for when the model reasons and the server stores nothing."""
    has_prefill: bool = False
    """A request may end with a message of the model, with which the answer goes on; elsewhere such a message is one that broke off."""
    call_ids: re.Pattern[str] = re.compile(r"[A-Za-z0-9_-]{1,64}")
    """The ids of calls that it accepts."""
    call_id_start: str = "call_"
    """What an id that was shortened to nine characters begins with."""

    # ---- answers

    framing: Callable[[Frame], bytes] = sse_bytes
    media_type: str = "text/event-stream"
    """The content type of a stream."""
    streams_lists: bool = False
    """Without `alt=sse` in the query, a stream is one JSON array."""
    streams_unasked: bool = False
    """A body that does not mention `stream` asks for one."""
    thinks_visibly: bool = False
    """Models show their reasoning in every turn that they think in, so that a turn without any has lost it."""
    shows_asked: bool = False
    """Thinking that a request asks for is shown, unless it says otherwise; elsewhere it is always shown, or a setting of its own asks for that."""
    counts: str | None = None
    """The member of a reply that holds the count of tokens, where a server counts them."""
    count_members: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Further members of such a reply."""
    counts_at: tuple[str, str] | None = None
    """What is replaced in the URL of an answer, and by what, to have tokens counted; None: there is no such endpoint."""
    counted: tuple[str, ...] = ()
    """The members of a body that the endpoint takes; empty: the whole body, in `counted_in`."""
    counted_in: str | None = None
    """The member that holds the request whose tokens are counted."""
    about: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """What a server says of its version, where clients ask for it."""
    last_mark: bytes = b""
    """What stands in the frame that ends a stream, and hardly anywhere else."""
    other_marks: tuple[bytes, ...] = ()
    """The same of a frame that ends a stream in another way."""
    numbers_events: bool = False
    """Whether its events have the member `sequence_number`."""
    error_is_quiet: bool = False
    """Whether some SDK gives an error in the middle of a stream as an event like others, and raises nothing."""
    closing: bytes = b""
    """The frame that clients wait for behind the end of an answer."""
    seals: tuple[str, ...] = ()
    """The members of its blocks that hold seals, at whatever depth; `id` and `data` do so in some blocks only."""
    reasoning_blocks: tuple[str, ...] = ()
    """The types of its blocks, or items, that are reasoning."""
    reasoning_keys: tuple[str, ...] = ()
    """The members by which a block of reasoning is recognized, where blocks have no types."""
    reasoning_members: tuple[str, ...] = ()
    """The members of a message that are reasoning."""
    id_start: str = ""
    """What a server's ids of answers begin with."""
    is_local: bool = False
    """Servers on machines of one's own have it."""
    inline_reasoning: bool = False
    """Text of an unknown host is searched for inline reasoning: open models speak this dialect."""
    looks_like: Callable[[dict[str, Any], str | None], bool] = _never
    """Whether a message of a stream, or a whole answer, is of this dialect; the second argument is the event's name."""
    history_looks_like: Callable[[list[dict[str, Any]]], bool] = _never
    """Whether the messages of a history are of this dialect, and of no other."""
    turn_of: Callable[[dict[str, Any]], list[Any]] = _message_of
    """The model's turn as a history holds it, out of the body of a whole answer."""

    code: Code

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return self.package.rpartition(".")[2]

    @property
    def reader(self) -> type[Reader]:
        """The class that reads one answer."""
        reader: type[Reader] = _resolved(self.package, self.code.reader)
        return reader

    @property
    def writer(self) -> Writer:
        """The function that writes a request."""
        writer: Writer = _resolved(self.package, self.code.writer)
        return writer

    def without_reasoning(self, members: dict[str, Any], row: ModelRow) -> dict[str, Any]:
        """Received members without those that are refused when the model does not reason."""
        if self.code.without_reasoning is None:
            return members
        settled: dict[str, Any] = _resolved(self.package, self.code.without_reasoning)(members, row)
        return settled

    @property
    def request_reader(self) -> RequestReader:
        """The function that reads a request."""
        reader: RequestReader = self.server.read_request
        return reader

    @property
    def server(self) -> Server:
        """The server's side: writes answers, streams and errors."""
        server: Server = _resolved(self.package, self.code.server)
        return server

    @property
    def listing(self) -> ModelListing:
        """What its servers say of their models."""
        listing: ModelListing = _resolved(self.package, self.code.server)
        return listing

    def error_headers(self, refusal: Refusal) -> dict[str, str]:
        """The headers of a refusal, its own among them."""
        if self.code.error_headers is None:
            return dict(refusal.headers)
        headers: dict[str, str] = _resolved(self.package, self.code.error_headers)(refusal)
        return {**headers, **refusal.headers}

    @property
    def answer_writer(self) -> type[AnswerWriter]:
        """The class that writes one answer, as it comes."""
        writer: type[AnswerWriter] = _resolved(self.package, self.code.answer_writer)
        return writer

    @property
    def grammar(self) -> type[Grammar]:
        """The class that checks the order of one stream."""
        grammar: type[Grammar] = _resolved(self.package, self.code.grammar)
        return grammar

    @property
    def files(self) -> MediaModule:
        """Which files it accepts, and how they are read and written."""
        files: MediaModule = _resolved(self.package, self.code.files)
        return files

    @property
    def schema_profile(self) -> SchemaProfile | None:
        """What it accepts of JSON Schema for the form of an answer; None: anything."""
        if self.schema is None:
            return None
        profile: SchemaProfile = _resolved("innervoice.wire", f"response_schema:{self.schema}")
        return profile

    @property
    def rules(self) -> Rules:
        """The function that names what the API would refuse."""
        rules: Rules = _resolved(self.package, self.code.rules)
        return rules

    @property
    def shape_rules(self) -> Callable[[dict[str, Any], Target], Iterator[Refusal]]:
        """The function that names what the API would refuse about the shape of a request."""
        if self.code.shape_rules is None:
            return _no_problems
        rules: Callable[[dict[str, Any], Target], Iterator[Refusal]]
        rules = _resolved(self.package, self.code.shape_rules)
        return rules

    @property
    def stored_answers(self) -> StoredAnswers | None:
        """How its servers store answers; None if they do not."""
        if self.code.stored_answers is None:
            return None
        stored: StoredAnswers = _resolved(self.package, self.code.stored_answers)
        return stored

    @property
    def batches(self) -> BatchApi | None:
        """The batch API of its home; None if it has none."""
        if self.code.batches is None:
            return None
        batches: BatchApi = _resolved(self.package, self.code.batches)
        return batches

    @property
    def replay(self) -> Replay:
        """How the model's turns go back to it."""
        place = (self.package, self.code.replay) if self.code.replay else _PLAIN_REPLAY
        replay: Replay = _resolved(*place)
        return replay


_PLAIN_REPLAY = ("innervoice.wire", "replay:PLAIN")


@cache
def _resolved(package: str, reference: str) -> Any:
    module, _, name = reference.partition(":")
    code = import_module(f"{package}.{module}")
    return getattr(code, name) if name else code
