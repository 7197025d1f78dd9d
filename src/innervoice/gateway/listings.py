"""What clients request besides answers: lists of models, one model, token counts, a version; in the dialect of the front.

An estimate counts one token for four bytes of text: four letters of English and code, and fewer of other scripts, which also cost more
tokens. Where the true count is unknown, the estimate is rather too high: a client then shortens its history a little early, not too late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.request import Wire
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.catalog.targets import resolved
from innervoice.client.auth import Outgoing
from innervoice.client.base_urls import with_quoted_model
from innervoice.errors import UsageError
from innervoice.gateway.callers import Caller, check_model
from innervoice.gateway.client_request import ClientRequest
from innervoice.gateway.endpoints import Front
from innervoice.gateway.errors import unknown_model
from innervoice.gateway.routes import Candidate, Routes, UnknownModelError
from innervoice.wire.dialects import DIALECTS, dialect_named
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.refusals import Refused
from innervoice.wire.serve import ModelFacts

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway

__all__ = [
    "ESTIMATED",
    "count_body",
    "counted",
    "estimate",
    "estimated_usage",
    "looked_up",
    "model_body",
    "models_body",
    "shown_model",
    "unfinished_usage",
    "version_body",
]

_NOWHERE: Mapping[str, str] = MappingProxyType({})
_OWNER = "innervoice"
"""The owner of the gateway's own model names."""


def models_body(
    front: Front, names: Sequence[str], reaches: Mapping[str, str] = _NOWHERE
) -> dict[str, Any]:
    """The list of models; `reaches` maps the gateway's own names to the `provider/model` that answers for them."""
    facts = [_facts(name, reaches) for name in names]
    return dialect_named(front.dialect).listing.model_list(facts)


def model_body(front: Front, name: str, reaches: Mapping[str, str] = _NOWHERE) -> dict[str, Any]:
    """The description of one model."""
    return dialect_named(front.dialect).listing.model_card(_facts(name, reaches))


def shown_model(body: Mapping[str, Any]) -> str | None:
    """The model that a request of the verb "show" asks about; older clients call the member `name`."""
    return as_text(body.get("model")) or as_text(body.get("name"))


def count_body(front: Front, tokens: int) -> dict[str, Any]:
    """The response to a request that counts tokens."""
    return {dialect_named(front.dialect).counts or "tokens": tokens}


def version_body(front: Front) -> dict[str, Any]:
    """The server's description of itself."""
    return dict(dialect_named(front.dialect).about)


def _facts(name: str, reaches: Mapping[str, str]) -> ModelFacts:
    """The catalog's facts about the model that a name reaches."""
    try:
        target = resolved(reaches.get(name, name))
    except UsageError:
        return ModelFacts(name, _OWNER)
    if not target.is_known:
        return ModelFacts(name, target.provider or _OWNER)
    row = target.row
    return ModelFacts(
        name,
        target.provider or _OWNER,
        row.context,
        row.max_output,
        reasons=row.reasons,
    )


# ---- counts ---------------------------------------------------------------------------------------------

ESTIMATED = {"x-innervoice-count": "estimate"}
"""The header that marks an estimated count."""

_BYTES_PER_TOKEN = 4
_FILE_TOKENS = 1600
"""An image or another file. The largest image costs about 1,600 tokens at Anthropic, 1,100 at OpenAI (high detail, 1024 pixels) and
1,120 at Gemini; the size of a file in bytes says nothing of this, and the pages of a PDF cannot be counted without reading it."""
_MESSAGE_TOKENS = 4
"""The tokens around a message: its role, its beginning and its end."""

_SAID = (
    "system", "systemInstruction", "system_instruction", "instructions", "messages", "contents", "input", "prompt", "tools",
    "toolConfig", "documents", "response_format", "output_config", "outputConfig", "format", "text", "generateContentRequest",
)  # fmt: skip
"""The members of a body, in any dialect, that a model reads."""
_UNREAD = frozenset({
    *(name for dialect in DIALECTS for name in dialect_named(dialect).seals if name != "data"), "cache_control", "cachePoint",
    "id", "call_id", "tool_use_id", "tool_call_id", "toolUseId", "tool_plan_id", "image_url", "file_data", "fileUri", "file_uri",
    "file_id", "url", "bytes", "media_type", "mimeType", "mime_type", "role", "type",
})  # fmt: skip
"""Members that hold seals, marks, names of calls, files, or constants of the API: a model reads none of their characters."""
_JSON = frozenset({
    "args", "arguments", "parameters", "parametersJsonSchema", "parameters_json_schema", "input_schema", "inputSchema", "schema",
    "response", "json", "custom",
})  # fmt: skip
"""Members whose names a model reads as well: schemas, arguments and results."""
_FILES = frozenset({"image", "image_url", "input_image", "document", "file", "input_file", "input_audio", "video", "audio"})  # fmt: skip
"""Types of blocks that hold a file, as their type or as the name of their member."""
_FILE_MEMBERS = frozenset({"inlineData", "inline_data", "fileData", "file_data", "image", "video", "audio", "document"})  # fmt: skip
_BINARY_TYPES = frozenset({"base64", "redacted_thinking", "reasoning.encrypted"})
_BINARY_SIGNS = frozenset({"mimeType", "mime_type", "format"})


def estimate(body: Mapping[str, Any]) -> int:
    """About how many tokens a request has: its system prompt, tools and messages, in any dialect. Never 0; more text never counts as fewer tokens."""
    size = sum(_size(body[name], name) for name in _SAID if name in body)
    return max(1, -(-size // _BYTES_PER_TOKEN))


def estimated_usage(response: Response, asked: int) -> Usage:
    """The token counts of an answer; estimates where its provider sent none. `asked` is the estimate for the request."""
    usage = response.usage
    if usage.total_tokens is not None:
        return usage
    return Usage(
        input_tokens=usage.input_tokens or asked,
        output_tokens=usage.output_tokens or _said_tokens(response),
        reasoning_tokens=usage.reasoning_tokens,
        cached_input_tokens=usage.cached_input_tokens,
    )


def unfinished_usage(response: Response, asked: int) -> Usage:
    """The counts of an answer that was cut off: at least the tokens that were received, though some providers count only the beginning until the end."""
    usage, written = estimated_usage(response, asked), _said_tokens(response)
    return usage.replace(output_tokens=written) if written > (usage.output_tokens or 0) else usage


def _said_tokens(response: Response) -> int:
    texts = dump_json([_text_of(part) for part in response.parts])
    return -(-len(texts) // _BYTES_PER_TOKEN)


def _text_of(part: Part) -> str:
    match part:
        case Text() | Thinking():
            return part.text
        case ToolCall():
            return part.name + part.arguments
        case _:
            return ""


def _size(value: Any, name: str) -> int:  # noqa: PLR0911 - one for each kind of value
    """The bytes of a value that a model reads, by the member that holds it; a file counts as text of the same cost."""
    match value:
        case None:
            return 0
        case str():
            return len(value.encode("utf-8", "surrogatepass"))
        case dict() | list() if name in _JSON or (name == "input" and isinstance(value, dict)):
            # `input` holds the arguments of a call; the conversation of that name is a list or a text.
            return len(dump_json(value))
        case list() if name == "images":
            return len(value) * _FILE_TOKENS * _BYTES_PER_TOKEN
        case list():
            return sum(_size(item, "") for item in value)
        case dict():
            return _block_size(value)
        case _:
            return len(str(value))


def _block_size(block: dict[str, Any]) -> int:
    tokens = (_FILE_TOKENS if _is_file(block) else 0) + (_MESSAGE_TOKENS if "role" in block else 0)
    size = tokens * _BYTES_PER_TOKEN
    for name, value in block.items():
        if name in _UNREAD or (name == "data" and _is_binary(value, block)):
            continue
        size += _size(value, name)
    return size


def _is_file(block: dict[str, Any]) -> bool:
    """Whether a block is a file that is not text itself."""
    if as_text(block.get("type")) not in _FILES and block.keys().isdisjoint(_FILE_MEMBERS):
        return False
    document = as_dict(block.get("document"))
    source = as_dict(document.get("source", block.get("source")))
    is_text = source.get("type") in ("text", "content") or not source.keys().isdisjoint(
        ("text", "content")
    )
    return not is_text and "data" not in document


def _is_binary(value: Any, block: dict[str, Any]) -> bool:
    """Whether `data` holds a file or a seal; in documents it may be text."""
    kind = as_text(block.get("type"))
    signed = kind in _BINARY_TYPES or not block.keys().isdisjoint(_BINARY_SIGNS)
    return isinstance(value, str) and (signed or ("media_type" in block and kind != "text"))


# ---- Requests that need no model: the list of models, one model, the version.


def looked_up(
    front: Front, value: Mapping[str, Any], routes: Routes, caller: Caller
) -> dict[str, Any]:
    """The response; raises `Refused` for anything that does not exist. A caller sees only the models that it may use."""
    if front.verb == "models":
        names = tuple(name for name in routes.names() if caller.may_ask(name))
        return models_body(front, names, {name: _reached(name, routes) for name in names})
    if front.verb == "version":
        return version_body(front)
    if front.verb in ("model", "show"):
        name = front.model or shown_model(value) or ""
        if not caller.may_ask(name):
            raise Refused(unknown_model(front.dialect, name, looked_up=True))
        try:
            return model_body(front, name, {name: routes.route(name).candidates[0].name})
        except UnknownModelError as error:
            refusal = unknown_model(front.dialect, name, error.nearest, looked_up=True)
            raise Refused(refusal) from None
    raise AssertionError(f"{front.verb} is looked up elsewhere")


def _reached(name: str, routes: Routes) -> str:
    try:
        return routes.route(name).candidates[0].name
    except UsageError:
        return name


# ---- Token counts: the provider's own, where it has an endpoint for that; elsewhere an estimate, marked as one.
#
# Clients count often, and some treat a failure as a broken model. So an endpoint that fails or is slow is replaced by the estimate.


_SECONDS = 5.0


async def counted(
    gateway: Gateway, front: Front, body: bytes, value: dict[str, Any], caller: Caller
) -> tuple[Mapping[str, str], dict[str, Any]]:
    """The headers and the body of the response."""
    inner = value.get(dialect_named(front.dialect).counted_in or "")
    value = as_dict(inner) if isinstance(inner, dict) else value
    report = gateway.new_report(caller, front.dialect)
    whole = Front(front.dialect, "answer", front.model, stream=False)
    passage = ClientRequest(
        whole, body, value, report=report, secret=gateway.lookup_key, sealer=gateway.sealer
    )
    check_model(caller, passage.name)
    route = gateway.routes.route(passage.name)
    candidate = route.candidates[0]
    host = candidate.target.host
    if host and host.counts and candidate.target.dialect == host.dialect:
        passage.restore(await gateway.found(passage))
        tokens = await _counted_by_provider(
            gateway, candidate, passage.attempt(candidate, route).wire
        )
        if tokens is not None:
            return {}, count_body(front, tokens)
    return ESTIMATED, count_body(front, estimate(value))


async def _counted_by_provider(gateway: Gateway, candidate: Candidate, wire: Wire) -> int | None:
    """The provider's count; None if it does not answer."""
    target = candidate.target
    dialect = dialect_named(target.dialect)
    assert dialect.counts_at is not None, "a host that counts does so in its default dialect"
    url = with_quoted_model(wire.url, target).replace(*dialect.counts_at)
    asked = {name: wire.body[name] for name in dialect.counted if name in wire.body}
    if dialect.counted_in:
        asked = {dialect.counted_in: {"model": f"models/{target.model}", **wire.body}}
    body = dump_json(asked)
    headers = {**wire.headers, **candidate.headers}
    outgoing = Outgoing("POST", url, headers, body)
    headers |= candidate.account.keyring.headers(candidate.destination, outgoing)
    try:
        async with asyncio.timeout(_SECONDS):
            status, answer = await gateway.posted(Outgoing("POST", url, headers, body))
            count = as_dict(load_json(answer)).get(dialect.counts or "") if status == 200 else None
    except Exception:  # noqa: BLE001 - whatever happens, there is an estimate
        return None
    return count if isinstance(count, int) else None
