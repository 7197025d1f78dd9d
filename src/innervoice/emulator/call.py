"""One request to the emulator, and what all dialects need for it."""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

from innervoice.canon.bounded import Bounded
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Form, Part, Text, Thinking, ToolCall
from innervoice.canon.request import Request, Tool
from innervoice.canon.target import Target
from innervoice.canon.tools import tools_from
from innervoice.canon.value import Value
from innervoice.conversation.stable import unbilled_system
from innervoice.emulator.deviations import AS_CATALOGED, Deviations, Manners
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.refusals import Headers

__all__ = [
    "FREE_FORM",
    "HEADER",
    "Behaviour",
    "EmulatedCall",
    "Sealer",
    "ServerMemory",
    "behaviour_of",
    "digest",
    "tokens",
    "tools_of",
]

_REMEMBERED = 4096
_MOST_TOOLS = 1000
"""Further ones are ignored."""
FREE_FORM = {"type": "string"}
"""The schema of a tool that takes text, not arguments."""


class ServerMemory:
    """The data that a server stores: responses, conversations, items, and which reasoning led to which item."""

    def __init__(self) -> None:
        self.responses: Bounded[str, dict[str, Any]] = Bounded(_REMEMBERED)
        self.conversations: Bounded[str, dict[str, Any]] = Bounded(_REMEMBERED)
        self.items: Bounded[str, dict[str, Any]] = Bounded(_REMEMBERED)
        self.made_by: Bounded[str, str] = Bounded(_REMEMBERED)


@dataclass(frozen=True)
class EmulatedCall:
    """A request that reached a host."""

    body: dict[str, Any]
    headers: Headers
    request: Request
    target: Target
    account: str
    behaviour: Behaviour
    stream: bool
    listed: bool
    """Whether the stream is one JSON array, not frames."""
    sealer: Sealer
    memory: ServerMemory
    number: str = field(default="")
    """A digest of the request, for the ids in its answer."""
    manners: Manners = AS_CATALOGED
    """What this server does beyond the columns of the catalog."""
    deviations: Deviations = field(default_factory=Deviations)

    @property
    def provider(self) -> str:
        """The host's id."""
        return self.target.provider or ""

    @property
    def dialect(self) -> str:
        """The dialect of the request."""
        return self.target.dialect

    @property
    def model(self) -> str:
        """The model's name as its host spells it."""
        return self.target.model

    def as_read(self, system: Any) -> Any:
        """A system prompt as the model reads it: without the billing line, where the host takes that out."""
        host = self.target.host
        return unbilled_system(system) if host and host.billing_line else system

    def seal(self, **claims: Any) -> str:
        """A seal of this host, for this model, account and request."""
        bound = {"host": self.provider, "model": self.model, "account": self.account}
        return self.sealer.seal(**bound, request=self.number, **claims)

    def claims(self, seal: Any) -> dict[str, Any] | None:
        """The claims of a seal; None if this host did not issue it."""
        claims = self.sealer.claims(seal)
        return claims if claims and claims.get("host") == self.provider else None

    def id(self, start: str, position: int = 0) -> str:
        """An id for something in the answer to this call."""
        return f"{start}{digest([self.number, start, position])}"

    # ---- parts with the wire blocks of this host ---------------------------------------------------

    def thinking(
        self, text: str, block: dict[str, Any], form: Form = "full", item: str | None = None
    ) -> Part:
        """A piece of reasoning that is sent as this block."""
        return Thinking(text, form, origin=Origin(dialect=self.dialect, block=block, item=item))

    def text(self, text: str, block: dict[str, Any] | None = None) -> Part:
        """A piece of the answer."""
        return Text(text, origin=Origin(dialect=self.dialect, block=block) if block else None)

    def tool_call(
        self, name: str, arguments: str, given_id: str, block: dict[str, Any] | None = None
    ) -> Part:
        """A call."""
        origin = Origin(dialect=self.dialect, block=block) if block else None
        return ToolCall(given_id, name, arguments, origin=origin)


def tokens(text: str) -> int:
    """The number of tokens of a text, counted as one for every four characters."""
    return (len(text) + 3) // 4


def tools_of(body: dict[str, Any]) -> list[Tool]:
    """The functions and free-form tools that a request offers, in any dialect."""
    config = as_dict(body.get("toolConfig")).get("tools")
    offered = as_list(config if config is not None else body.get("tools"))
    tools: list[Tool] = []
    for tool in tools_from(map(as_dict, offered[:_MOST_TOOLS])):
        if tool.own is None:
            tools.append(tool if tool.parameters is not None else tool.replace(parameters={}))
        elif as_dict(tool.own).get("type") == "custom":
            declared = as_dict(tool.own.get("custom")) or tool.own
            tools.append(Tool(str(declared.get("name")), parameters=FREE_FORM))
    return tools


# ---- How the emulated model behaves, set by a suffix of its name or by a header.
#
# `claude-opus-5-5+redact` and the header `x-innervoice-emulate: redact, slow=0.05` have the same form:
# words with commas (in a name: plus signs) between them, some with a value.


HEADER = "x-innervoice-emulate"
_MAGIC = "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING"
"""The documented text that makes Claude redact its thinking."""

Visible: TypeAlias = Literal["full", "summary", "hidden"]


class Behaviour(Value, frozen=True, kw_only=True):
    """Switches for tests and demonstrations."""

    redact: bool = False
    """Every second piece of reasoning is encrypted."""
    show: Visible | None = None
    """Shows its reasoning in full, as a summary, or not at all, whatever was requested."""
    inline: str | None = None
    """Writes its reasoning into the text, in tags of this name."""
    unclosed: bool = False
    """Leaves out the closing tag."""
    opened: bool = False
    """Leaves out the opening tag, as if the prompt ended with it."""
    stutter: bool = False
    """Repeats a closing tag after its reasoning."""
    mirror: bool = False
    """Sends the reasoning in two fields."""
    silent: bool = False
    """Thinks, and returns no answer."""
    pieces: int = 1
    """How many pieces its reasoning has."""
    loops: int = 0
    """Its reasoning ends in so many repetitions of one thought."""
    circles: int = 0
    """Its reasoning ends in so many sentences that come back in other orders, as models do that penalties keep from repeating themselves."""
    rambles: int = 0
    """Its reasoning has so many words more, with something new in each sentence."""
    overruns: bool = False
    """Its reasoning does not end at the budget."""
    cut: int | None = None
    """The stream stops without its end after this many frames."""
    fail: int | None = None
    """The stream fails with an error after this many frames; 0: the request is refused."""
    slow: float = 0.0
    """Seconds between two frames."""
    size: int = 12
    """Characters in a delta."""
    expire: int = 0
    """Every so many requests of a batch one expires, the first time that it is sent; 0: none."""
    flaky: int = 0
    """Every so many requests of a batch one fails, the first time that it is sent; 0: none."""
    unverified: bool = False
    """The organisation is not allowed to see summaries."""


_FLAGS = ("redact", "unclosed", "opened", "stutter", "mirror", "silent", "unverified", "overruns")
_SHOWS = {"full": "full", "summarise": "summary", "summary": "summary", "hide": "hidden"}
_NUMBER = re.compile(r"[0-9]{1,6}")
_SECONDS = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,6})?")
_MOST_PIECES = 100
_NUMBERS = ("pieces", "cut", "fail", "size", "expire", "flaky", "loops", "circles", "rambles")


def behaviour_of(model: str, header: str | None, prompt: str) -> tuple[str, Behaviour]:
    """The model's name without the suffix, and its behaviour."""
    name, *words = model.split("+")
    switches: dict[str, object] = {"redact": _MAGIC in prompt}
    for word in [*words, *(header or "").split(",")]:
        key, _, value = word.strip().partition("=")
        if key in _FLAGS:
            switches[key] = True
        elif key in _SHOWS:
            switches["show"] = _SHOWS[key]
        elif key in _NUMBERS and _NUMBER.fullmatch(value):
            least = 1 if key in ("size", "pieces") else 0
            switches[key] = min(
                max(int(value), least), _MOST_PIECES if key == "pieces" else int(value)
            )
        elif key == "fail":
            switches["fail"] = 3
        elif key == "inline":
            switches["inline"] = value or "think"
        elif key == "slow":
            switches["slow"] = min(float(value), 10.0) if _SECONDS.fullmatch(value) else 0.02
    return name, Behaviour(**switches)  # type: ignore[arg-type]


# ---- Seals: signed claims about a piece of reasoning.
#
# A seal is a value in a block that only its provider can read: here the claims (which model, which account,
# which text, what was before it) and an HMAC of them, in base64. So the emulator can distinguish a forged seal from a genuine
# one in the wrong place, as the providers do.


_MAC = 16


def digest(value: Any) -> str:
    """A short digest of any JSON value; the order of keys does not matter."""
    return blake2b(dump_json(_sorted(value)), digest_size=9).hexdigest()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


class Sealer:
    """Makes seals with one key and reads them again."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, **claims: Any) -> str:
        """A seal over these claims."""
        content = dump_json(claims)
        return b64encode(self._mac(content) + content).decode("ascii")

    def claims(self, seal: Any) -> dict[str, Any] | None:
        """The claims of a seal; None if it was not made with this key."""
        try:
            text = str(seal).translate(str.maketrans("-_", "+/"))
            raw = b64decode(text + "=" * (-len(text) % 4), validate=True)
        except ValueError:
            return None
        if not hmac.compare_digest(raw[:_MAC], self._mac(raw[_MAC:])):
            return None
        claims: dict[str, Any] = load_json(raw[_MAC:])
        return claims

    def _mac(self, content: bytes) -> bytes:
        return hmac.digest(self._key, content, "sha256")[:_MAC]
