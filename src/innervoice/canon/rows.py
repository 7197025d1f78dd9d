"""The types of rows in `catalog/`: markup cards, hosts, and what models accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, Self, get_type_hints

import msgspec

from innervoice.canon.reasoning import Show
from innervoice.canon.value import Value

__all__ = ["Card", "Host", "HostPlace", "ModelRow", "Price", "Row", "WrongColumn"]


class WrongColumn(NamedTuple):
    """A column of a row that cannot be read, and why."""

    column: str
    problem: str


class Row(Value, frozen=True, forbid_unknown_fields=True):
    """A row of data; an unknown member is an error."""

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Self:
        """Converts a row of a TOML file."""
        return msgspec.convert(row, cls)

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        """The names of all columns."""
        return cls.__struct_fields__

    @classmethod
    def required(cls) -> tuple[str, ...]:
        """The names of the columns that a row must have."""
        return tuple(field.name for field in msgspec.structs.fields(cls) if field.required)

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The columns that a row may leave out -> their values then."""
        fields = msgspec.structs.fields(cls)
        return {field.name: _default(field) for field in fields if not field.required}

    @classmethod
    def wrong_columns(cls, row: dict[str, Any]) -> Iterator[WrongColumn]:
        """Every column of a row that is unknown or has a wrong value; missing ones are not mentioned."""
        kinds = get_type_hints(cls)
        for name, value in row.items():
            if name not in cls.__struct_fields__:
                yield WrongColumn(name, "unknown column")
                continue
            try:
                msgspec.convert(value, kinds[name])
            except msgspec.ValidationError as error:
                yield WrongColumn(name, str(error))


def _default(field: Any) -> Any:
    made = field.default_factory is not msgspec.NODEFAULT
    return field.default_factory() if made else field.default


class Card(Row, frozen=True, kw_only=True):
    """The inline markup of one model family."""

    family: str
    match: tuple[str, ...]
    """Names of its models; `*` stands for anything."""
    tags: tuple[str, ...] = ("think", "thinking")
    """The tag names that it writes around reasoning."""
    markup: tuple[str, ...] = ()
    """Other rows of the inline vocabulary that it writes."""
    prefix_open: bool = False
    """Whether its prompt ends with the opening tag, so that its text starts inside the reasoning."""
    stutter: bool = False
    """Whether it may write a line of a few characters and an extra closing tag after its reasoning."""
    ends: tuple[str, ...] = ()
    """Markers that end its reasoning when the closing tag is missing."""
    replay_switch: dict[str, bool] = {}  # noqa: RUF012 - msgspec copies it
    """Arguments of its chat template without which reasoning that is sent back is left out of the prompt."""
    leaks: tuple[str, ...] = ()
    """Hosts that separate reasoning from text, except for this family."""
    source: str
    """Where these facts come from, and when they were read."""

    @property
    def writes(self) -> tuple[str, ...]:
        """The tag names and the rows of the vocabulary that it writes."""
        return (*self.tags, *self.markup)


class HostPlace(Row, frozen=True, kw_only=True):
    """The base URL and the keys of a host for one dialect; None is as in the host's row."""

    base_url: str | None = None
    url_variables: dict[str, tuple[str, ...]] | None = None
    server_variables: tuple[str, ...] | None = None
    keys: tuple[str, ...] | None = None
    tokens: tuple[str, ...] | None = None
    key_header: str | None = None
    fields: tuple[str, ...] | None = None


class Host(Row, frozen=True, kw_only=True):
    """A provider's API: its base URL, its authentication, and what it expects."""

    id: str
    aliases: tuple[str, ...] = ()
    base_url: str
    """The base URL; {braces} stand for values that `url_variables` fill in."""
    url_variables: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - msgspec copies it
    """Environment variables that fill each of the braces of `base_url`."""
    server_variables: tuple[str, ...] = ()
    """Environment variables with the URL of the whole server; the path of `base_url` follows it."""
    url_rewrites: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Text of the URL that is replaced once the braces are filled."""
    keys: tuple[str, ...]
    """Environment variables that may hold its key, in the order in which they are read."""
    key_starts: tuple[str, ...] = ()
    """What its keys begin with, where those of no other host do."""
    tokens: tuple[str, ...] = ()
    """Those of `keys` that hold a bearer token, where the key itself goes into another header."""
    key_header: str = "authorization"
    """The header that carries the key; in "authorization" the word Bearer precedes it."""
    account_headers: tuple[str, ...] = ()
    """Headers that name the account behind a caller's own credential."""
    key_queries: tuple[str, ...] = ()
    """Names in a query that carry a caller's own credential."""
    header_variables: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - msgspec copies it
    """Headers that environment variables fill."""
    aws_service: str | None = None
    """Without a key, requests are signed with AWS Signature Version 4 for this service."""
    google_credentials: bool = False
    """Without a key, the token comes from Google's default credentials."""
    token_url: str | None = None
    """The URL where its key is exchanged for the token that it accepts."""
    token_variables: tuple[str, ...] = ()
    """Environment variables that may hold another URL for that."""
    dialect: str
    fields: tuple[str, ...]
    """Where its answers carry reasoning; documentation only."""
    inline: bool
    """Whether its answers may carry reasoning as markup in the text."""
    cumulative: bool = False
    """Whether every delta of the reasoning repeats the earlier ones."""
    separate_reasoning: bool = False
    """Whether it reports reasoning tokens in addition to the output tokens, not as part of them."""
    counts_reasoning: bool = True
    """Whether the token counts of its answers mention their reasoning."""
    sealed_only: bool = False
    """Whether it accepts sealed reasoning back, but refuses readable reasoning."""
    calls_last: bool = False
    """Whether it requires the calls of a turn after everything else of the turn, in the Responses dialect."""
    template_arguments: bool = False
    """Whether it passes `chat_template_kwargs` to the template of the model."""
    budget_member: str | None = None
    """The member that limits the tokens of a thought, whatever the model; its path, with dots."""
    continues: dict[str, dict[str, Any]] = {}  # noqa: RUF012 - msgspec copies it
    """Dialects in which a model goes on with its own last message -> members that the body needs for it."""
    stops_anywhere: bool = False
    """Whether it also applies stop strings to the reasoning."""
    refuses: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Members of a message that it refuses -> the message of the refusal."""
    strict: tuple[str, ...] = ()
    """Dialects in which it refuses members, roles and kinds of blocks that its API does not have; elsewhere it ignores them."""
    knows: tuple[str, ...] = ()
    """Members of messages, calls and schemas that it has in addition to those of its dialects."""
    lacks: tuple[str, ...] = ()
    """Members of a body that its dialects have and it does not."""
    models: tuple[str, ...] | None = None
    """Patterns of models that it serves in addition to those with a row; None: it serves any name."""
    makes: tuple[str, ...] = ()
    """Patterns of the models that are its own, as it names them; other hosts may serve them as well."""
    says: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Messages of its refusals, where they differ from those of the dialect: `unknown_member`, `unknown_model`."""
    exclusive: tuple[tuple[str, str], ...] = ()
    """Pairs of settings that it refuses in one request."""
    paths: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Dialects -> their paths, where they differ; a path with {model} leaves the model out of the body."""
    verbs: dict[str, tuple[str, str]] = {}  # noqa: RUF012 - msgspec copies it
    """Dialects -> the value of {verb} in the path, for whole and for streamed answers, where it differs."""
    speaks: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Patterns of models -> the dialect that they speak at this host, where it is not `dialect`."""
    places: dict[str, HostPlace] = {}  # noqa: RUF012 - msgspec copies it
    """Dialects that it serves at another base URL, or with other keys."""
    envelope: str | None = None
    """The dialect whose errors and frames wrap its answers; each message of a stream is base64 in a `chunk`."""
    formats: tuple[str, ...] = ()
    """The types of `response_format` that it accepts, where they are not all of its dialect's."""
    members: dict[str, dict[str, str]] = {}  # noqa: RUF012 - msgspec copies it
    """Dialects -> members that this host requires in the body in addition."""
    member_variables: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - msgspec copies it
    """Members of the body that environment variables fill: the first with a value."""
    renames: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Members of the body that it names differently if they are text."""
    betas: tuple[str, ...] = ()
    """The flags of `anthropic-beta` that it knows; "*" for all."""
    billing_line: bool = False
    """Whether the line about billing, with which Claude Code begins its system prompt, is meant for it."""
    compacts: bool = False
    """Whether it answers requests for a compaction in its default dialect."""
    keyed_cache: bool = False
    """Whether it looks up its prompt cache by `prompt_cache_key`."""
    counts: bool = False
    """Whether it counts tokens, in its default dialect."""
    otel_name: str | None = None
    """Its name in OpenTelemetry's GenAI conventions, where it is not the id."""
    otel_operations: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Dialects whose requests those conventions do not call "chat" -> what they call them."""
    prices_name: str | None = None
    """Its name in genai-prices, where it is not the id."""
    langchain_name: str | None = None
    """Its `model_provider` in LangChain, where it is not the id."""
    source: str

    def in_dialect(self, dialect: str) -> Self:
        """The row for requests in this dialect, with the base URL and the keys of its place."""
        place = self.places.get(dialect)
        if place is None:
            return self
        members = {name: getattr(place, name) for name in place.__struct_fields__}
        changed = {name: value for name, value in members.items() if value is not None}
        return self.replace(**changed, places={})


class ModelRow(Row, frozen=True, kw_only=True):
    """What a model family accepts at some hosts, above all about reasoning."""

    match: tuple[str, ...]
    """Names of its models; `*` stands for anything."""
    hosts: tuple[str, ...] = ("*",)
    dialects: tuple[str, ...] = ()
    """The dialects that the row applies to; empty for all."""
    control: str
    """How reasoning is configured on the wire: a name of `wire.controls.CONTROLS`."""
    efforts: tuple[str, ...] = ()
    """The effort levels it accepts, in rising order, without "none"."""
    default: str = "on"
    """The effort when nothing is sent: "none" is off, "on" is on with an undocumented level."""
    off: Literal["value", "omit", "between_tools", "never"] = "value"
    """How reasoning is switched off: by a value, by sending nothing, or not at all."""
    budget: tuple[int, int] | None = None
    """The minimum and maximum token budget."""
    shown: Show = "full"
    """What it shows of its reasoning by default."""
    showable: tuple[Show, ...] = ()
    """What it can be asked to show."""
    refuses: tuple[str, ...] = ()
    """Parameters that it refuses while reasoning is on."""
    refuses_always: tuple[str, ...] = ()
    """Parameters that it refuses in any case."""
    forced_tools: bool = True
    """Whether it accepts a forced tool choice while reasoning is on."""
    tools: bool = True
    """Whether it accepts function tools while reasoning is on."""
    prefill: bool = True
    """Whether the last message may be an assistant message (prefill)."""
    prefill_thinking: bool = True
    """Whether it accepts prefill while reasoning is on."""
    limit: str = "max_tokens"
    """The parameter that limits its output."""
    max_output: int | None = None
    """Its maximum output, for APIs that require a limit."""
    context: int | None = None
    """The tokens that its context window holds; None: unknown."""
    async_tools: bool = False
    """Whether it goes on while a tool works, and takes the result in any later request."""
    effort_updates: bool = False
    """Whether it reads an item that sets another effort inside the conversation."""
    replay: Literal["must", "loop", "ignored", "never", "tags"] = "must"
    """What it does with reasoning that is sent back."""
    replay_field: str | None = None
    """The field for reasoning that is sent back; by default the one it came in."""
    reads: tuple[str, ...] = ("*",)
    """Models of its family whose sealed reasoning it can read."""
    readable_by: tuple[str, ...] = ("*",)
    """Models of its family that can read its sealed reasoning."""
    bound: Literal["no", "refused", "dropped"] = "no"
    """What happens to its reasoning when the messages before it have changed."""
    off_up_to: str | None = None
    """The highest effort at which reasoning may be switched off."""
    stream_only: bool = False
    """Whether it reasons only in streamed answers."""
    tolerates: tuple[str, ...] = ()
    """Settings that it accepts but that are never sent: deprecated, or without effect."""
    says: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Messages of its refusals, where they differ from those of the dialect."""
    guess: bool = False
    """Whether it is a fallback for model names that no other row matches."""
    source: str

    @property
    def reasons(self) -> bool:
        """Whether a model of this row is known to reason."""
        return not self.guess and (self.control != "none" or self.default != "none")


class Price(Row, frozen=True, kw_only=True):
    """What a model costs at some hosts, in US dollars for a million tokens."""

    match: tuple[str, ...]
    """Names of its models; `*` stands for anything."""
    hosts: tuple[str, ...] = ("*",)
    input: float
    output: float
    """Of the answer, its reasoning included."""
    cached_input: float | None = None
    """Of input that the provider had in its cache; None: as other input."""
    source: str
