"""Cards and hosts as types: what a model family writes and demands. The rows are in `hosts/`."""

from __future__ import annotations

from typing import Any, Literal, Self

import msgspec

from innervoice.canon.reasoning import Show
from innervoice.canon.value import Value

__all__ = ["Card", "Host", "ModelRow", "Row"]


class Row(Value, frozen=True, forbid_unknown_fields=True):
    """A row of data; a member that the type does not have is a mistake in the row."""

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Self:
        """Reads a row as TOML gives it."""
        return msgspec.convert(row, cls)


class Card(Row, frozen=True, kw_only=True):
    """One model family."""

    family: str
    match: tuple[str, ...]
    """Names of its models; `*` stands for anything."""
    tags: tuple[str, ...] = ("think", "thinking")
    """Which tag names it writes, for reading its answers."""
    markup: tuple[str, ...] = ()
    """Which other rows of the inline vocabulary it writes."""
    prefix_open: bool = False
    """Its prompt ends with the opening tag, so that its text starts inside thinking."""
    stutter: bool = False
    """It may write a line of a few characters and a spare closing tag behind its thinking."""
    ends: tuple[str, ...] = ()
    """Markers that end its thinking when it forgets to close it."""
    leaks: tuple[str, ...] = ()
    """Hosts that separate reasoning, but not that of this family."""
    source: str
    """Where this is known from, and when it was read."""


class Host(Row, frozen=True, kw_only=True):
    """Who answers."""

    id: str
    aliases: tuple[str, ...] = ()
    base_url: str
    """Where it answers; {braces} stand for what `url_variables` fill in."""
    url_variables: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - msgspec copies it
    """Environment variables that fill each of the braces of `base_url`."""
    server_variables: tuple[str, ...] = ()
    """Environment variables that hold the address of the whole server; the path of `base_url` follows it."""
    url_rewrites: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Text of the URL that is replaced once the braces are filled."""
    keys: tuple[str, ...]
    """Environment variables that may hold its key, in the order in which they are read."""
    tokens: tuple[str, ...] = ()
    """Those of `keys` that hold a bearer token, where the key itself goes into another header."""
    key_header: str = "authorization"
    """The header that carries the key; in "authorization" the word Bearer stands before it."""
    aws_service: str | None = None
    """Without a key, requests are signed with AWS Signature Version 4 for this service."""
    google_credentials: bool = False
    """Without a key, the token comes from Google's default credentials."""
    dialect: str
    fields: tuple[str, ...]
    """Where its answers carry reasoning, for people to read."""
    inline: bool
    """Whether its answers may carry reasoning as markup in the text."""
    cumulative: bool = False
    separate_reasoning: bool = False
    sealed_only: bool = False
    """Takes reasoning back by its seal, and refuses what is readable of it."""
    calls_last: bool = False
    """Wants the calls of a turn behind all else of it, in the Responses dialect."""
    stops_anywhere: bool = False
    """Looks for stop strings in all that the model writes, its reasoning included."""
    refuses: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Members of a message that it refuses, each with the words of the refusal."""
    exclusive: tuple[tuple[str, str], ...] = ()
    """Settings that it refuses together."""
    paths: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Paths of dialects that differ from the usual one; where the model stands in the path, it does not in the body."""
    verbs: dict[str, tuple[str, str]] = {}  # noqa: RUF012 - msgspec copies it
    """What stands for {verb} in the path of a dialect, for whole and for streamed answers, where it is its own."""
    speaks: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Names of models that are asked in another dialect there -> that dialect."""
    formats: tuple[str, ...] = ()
    """The types of `response_format` that it has, where they are not all of its dialect's."""
    members: dict[str, dict[str, str]] = {}  # noqa: RUF012 - msgspec copies it
    """What it wants in the body beside what a dialect has."""
    otel_name: str | None = None
    """Its name in OpenTelemetry's GenAI conventions, where it is not the id."""
    otel_operations: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Dialects whose requests those conventions do not call "chat" -> what they call them."""
    prices_name: str | None = None
    """Its name in genai-prices, where it is not the id."""
    langchain_name: str | None = None
    """Its `model_provider` in LangChain, where it is not the id."""
    source: str


class ModelRow(Row, frozen=True, kw_only=True):
    """What one model family, at some hosts, accepts when it is asked to reason."""

    match: tuple[str, ...]
    """Names of its models; `*` stands for anything."""
    hosts: tuple[str, ...] = ("*",)
    dialects: tuple[str, ...] = ()
    """The dialects this holds for; none: any."""
    control: str
    """How its wire is written: a name of `wire.controls.CONTROLS`."""
    efforts: tuple[str, ...] = ()
    """The words it accepts, in rising order, "none" left out."""
    default: str = "on"
    """What it does when nothing is sent: "none" is off, "on" is on with a level nobody states."""
    off: Literal["value", "omit", "between_tools", "never"] = "value"
    """How it is switched off: by a value, by sending nothing, or not at all."""
    budget: tuple[int, int] | None = None
    """The least and the most tokens it accepts as a budget."""
    shown: Show = "full"
    """What it shows of its reasoning when nothing is asked."""
    showable: tuple[Show, ...] = ()
    """What a switch can make it show."""
    refuses: tuple[str, ...] = ()
    """Parameters it refuses while it reasons."""
    refuses_always: tuple[str, ...] = ()
    forced_tools: bool = True
    """Whether a forced tool choice is accepted while it reasons."""
    tools: bool = True
    """Whether function tools are accepted while it reasons."""
    prefill: bool = True
    """Whether the last message may be the model's own."""
    prefill_thinking: bool = True
    """Whether it may be so while the model reasons."""
    limit: str = "max_tokens"
    """The name of the limit on its output."""
    max_output: int | None = None
    """The most it can write, to fill a limit that the API demands."""
    replay: Literal["must", "loop", "ignored", "never", "tags"] = "must"
    """What becomes of reasoning that is sent back."""
    replay_field: str | None = None
    """The field in which it goes back; none: the one it came in."""
    reads: tuple[str, ...] = ("*",)
    """Whose reasoning it reads, beside its own: names of models of its family."""
    readable_by: tuple[str, ...] = ("*",)
    """Who can read its reasoning."""
    bound: Literal["no", "refused", "dropped"] = "no"
    """What becomes of its reasoning once anything before it has changed."""
    off_up_to: str | None = None
    """The highest effort beside which it may be switched off."""
    stream_only: bool = False
    """Reasons only where the answer is streamed."""
    tolerates: tuple[str, ...] = ()
    """Settings that it takes beside those we write: deprecated, or without effect."""
    says: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """The words of its refusals where they are not its dialect's usual ones."""
    guess: bool = False
    """Stands for names that nobody here has heard of."""
    source: str
