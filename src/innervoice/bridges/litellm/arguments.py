"""The arguments of `completion` -> a `CompletionCall`: target, request fields and client settings.

Nothing is sent here. Arguments of litellm that have no effect are listed in `CompletionCall.notes`, with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from innervoice.bridges.chat_turns import ChatTurns, TurnPosition, with_sent_ids
from innervoice.bridges.litellm.flags import flag
from innervoice.bridges.litellm.litellm_object import plain
from innervoice.bridges.litellm.message_fields import (
    KEY,
    calls_of,
    messages_from_litellm,
    system_blocks,
    thinking_blocks_of,
    thought_signature,
)
from innervoice.bridges.litellm.params import (
    CHAT_ONLY,
    FIELDS,
    is_openai,
    left_out,
    own_place,
    place,
    placed,
    unsupported,
)
from innervoice.bridges.litellm.providers import ResolvedModel, resolve_model
from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.reasoning import Reasoning
from innervoice.catalog.lookup import host_of, model_row_of
from innervoice.wire.gemini.replay import PLACEHOLDERS
from innervoice.wire.json_access import as_dict, as_list

__all__ = [
    "MEMORY",
    "CompletionCall",
    "Continuation",
    "PairedMessages",
    "caller_of",
    "completion_call",
    "continued",
    "paired",
    "strict_schema",
]

_CONTROL = (
    "api_key",
    "timeout",
    "request_timeout",
    "num_retries",
    "max_retries",
    "extra_headers",
    "headers",
    "extra_body",
    "custom_llm_provider",
    "drop_params",
    "additional_drop_params",
    "allowed_openai_params",
    "organization",
    "mock_response",
    "mock_tool_calls",
    "mock_timeout",
)
_BASES = ("api_base", "base_url", "aws_bedrock_runtime_endpoint")
_VARIABLES = {
    "aws_access_key_id": "AWS_ACCESS_KEY_ID",
    "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "aws_session_token": "AWS_SESSION_TOKEN",
    "aws_region_name": "AWS_REGION",
    "azure_ad_token": "AZURE_OPENAI_AD_TOKEN",
    "vertex_project": "GOOGLE_CLOUD_PROJECT",
    "vertex_location": "GOOGLE_CLOUD_LOCATION",
}
"""Arguments that override environment variables."""
_TIMEOUT = 600.0
_RETRIES = 2
# Suffixes of a base URL that litellm users write and that the dialect's path already contains.
_TAILS = {
    "anthropic": ("/v1/messages", "/v1"),
    "openai-chat": ("/chat/completions",),
    "openai-responses": ("/chat/completions", "/responses"),
    "mistral": ("/chat/completions",),
    "ollama": ("/api/chat", "/api/generate"),
    "cohere": ("/v2/chat", "/v1/chat"),
}
_AZURE_PATH = "/openai/v1"
_ADAPTIVE = {"type": "adaptive"}
"""Claude's adaptive thinking, with effort "high" by default."""
_SHOWN = ("anthropic", "bedrock-converse")
"""Dialects in which litellm requests reasoning text along with an effort."""


@dataclass(frozen=True)
class CompletionCall:
    """One call of `completion`, ready to send."""

    target: ResolvedModel
    dialect: str
    messages: list[Message]
    original_messages: list[Any]
    """The messages as the caller passed them."""
    fields: dict[str, Any]
    """The fields of our request."""
    settings: dict[str, Any]
    """The arguments of our client."""
    continuation: Continuation
    """The turns that were restored, and where the response is remembered."""
    http: Any = None
    """The httpx or httpx2 client that the caller passed."""
    stream: bool = False
    include_usage: bool = False
    notes: list[str] = field(default_factory=list)
    received: dict[str, str] = field(default_factory=dict)
    """The headers of the response, once it has begun."""

    @property
    def may_lack_responses(self) -> bool:
        """Whether the server may support chat completions but not Responses."""
        return self.dialect == "openai-responses" and self.settings["base_url"] is not None

    @property
    def model(self) -> str:
        """The model id for our client."""
        return f"{self.settings['provider']}/{self.target.model}"


def completion_call(
    model: str, messages: Iterable[Any] | None, options: Mapping[str, Any], *, chat: bool = False
) -> CompletionCall:
    """The call for these arguments; `chat=True` uses chat completions instead of Responses."""
    parameters = {name: value for name, value in options.items() if value is not None}
    target, base = _target(model, parameters)
    dialect = target.dialect(chat=chat or any(name in parameters for name in CHAT_ONLY))
    passed = list(messages or [])
    notes = (
        ["the server does not support Responses; the request was sent as chat completions"]
        if chat
        else []
    )
    fields = _fields(parameters, target, dialect, notes)
    settings = _settings(parameters, target, dialect, base, notes)
    http = _http_of(parameters.get("client"))
    continuation = continued(passed, caller_of(settings, http))
    with_ids = paired(continuation.messages)
    notes += [*continuation.notes, *with_ids.notes]
    marks = system_blocks(passed) if dialect == "anthropic" else None
    if marks:
        fields["extra"].setdefault("system", marks)
    return CompletionCall(
        target=target,
        dialect=dialect,
        messages=messages_from_litellm(
            with_ids.messages, dialect, cache_marks=target.host not in ("openai", "azure")
        ),
        original_messages=passed,
        fields=fields,
        settings=settings,
        http=http,
        continuation=continuation,
        stream=bool(parameters.get("stream")),
        include_usage=bool(_options(parameters).get("include_usage")),
        notes=notes,
    )


def _target(model: str, parameters: dict[str, Any]) -> tuple[ResolvedModel, str | None]:
    """The provider and model, and the base URL if it is not the default one."""
    provider, base = parameters.get("custom_llm_provider"), _base_of(parameters)
    target = resolve_model(model, provider, base)
    if base is None:
        name = target.provider.upper()
        variables = (f"{name}_API_BASE", f"{name}_BASE_URL")
        base = next((os.environ[item] for item in variables if os.environ.get(item)), None)
    return (resolve_model(model, provider, base) if base else target), base


def _options(parameters: dict[str, Any]) -> dict[str, Any]:
    options = parameters.get("stream_options")
    return options if isinstance(options, dict) else {}


# ---- the request -----------------------------------------------------------------------------------


def _fields(
    parameters: dict[str, Any], target: ResolvedModel, dialect: str, notes: list[str]
) -> dict[str, Any]:
    dropped = set(parameters.get("additional_drop_params") or ())
    parameters = {name: value for name, value in parameters.items() if name not in dropped}
    notes += [f"{name}: left out, as additional_drop_params asks" for name in sorted(dropped)]
    fields: dict[str, Any] = {
        "dialect": dialect,
        "extra": _extra(parameters, target, dialect, notes),
    }
    fields |= {
        name: parameters[name] for name in ("temperature", "top_p", "stop") if name in parameters
    }
    limit = parameters.get("max_completion_tokens", parameters.get("max_tokens"))
    if limit is not None:
        fields["max_tokens"] = limit
    if tools := parameters.get("tools") or parameters.get("functions"):
        fields["tools"] = list(tools)
    choice = parameters.get("tool_choice", parameters.get("function_call"))
    if choice is not None and "tools" in fields:
        fields["tool_choice"] = _choice(choice)
    if "response_format" in parameters:
        form = _response_format(parameters["response_format"], dialect, notes)
        if form is not None:
            fields["response_format"] = form
    if (setting := _reasoning(parameters, target, dialect)) is not None:
        fields["reasoning"] = setting
    if dialect == "openai-responses" and parameters.get("store") is not None:
        fields["store"] = bool(fields["extra"].pop("store"))
    if dialect == "anthropic" and "tool_choice" in fields["extra"]:
        fields.setdefault("tool_choice", "auto")
    return fields


def _extra(
    parameters: dict[str, Any], target: ResolvedModel, dialect: str, notes: list[str]
) -> dict[str, Any]:
    """Members of the body that are not fields of our request."""
    extra: dict[str, Any] = {}
    refused: list[str] = []
    handled = (*FIELDS, *_CONTROL, *_BASES, *_VARIABLES)
    for name, value in parameters.items():
        if name in handled:
            continue
        if (reason := left_out(name)) is not None:
            notes.append(f"{name}: left out, {reason}")
        elif not is_openai(name):
            place(extra, own_place(dialect, name), value)
        elif (path := placed(dialect, name)) is None:
            refused.append(name)
        elif path == "tool_choice.disable_parallel_tool_use":
            if value is False and parameters.get("tools"):
                place(extra, path, True)
        else:
            place(extra, path, value)
    drops = parameters.get("drop_params", flag("drop_params"))
    allowed = set(parameters.get("allowed_openai_params") or ())
    extra |= {name: parameters[name] for name in refused if name in allowed}
    refused = [name for name in refused if name not in allowed]
    if refused and not drops:
        raise unsupported(refused, target.provider, target.model)
    notes += [f"{name}: left out, {dialect} does not support it" for name in refused]
    return {**extra, **dict(parameters.get("extra_body") or {})}


def _choice(choice: Any) -> Any:
    match choice:
        case {"type": "function", "function": {"name": str(name)}}:
            return name
        case {"name": str(name)}:
            return name
        case _:
            return choice


def _response_format(form: Any, dialect: str, notes: list[str]) -> Any:
    """A response format in OpenAI's form; a pydantic class is converted to its schema."""
    schema = getattr(form, "model_json_schema", None)
    if callable(schema):
        return {
            "type": "json_schema",
            "json_schema": {
                "name": form.__name__,
                "schema": strict_schema(schema()),
                "strict": True,
            },
        }
    kind = form.get("type") if isinstance(form, dict) else None
    if kind == "text":
        return None
    if kind == "json_object" and "response_schema" in form:
        return {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": form["response_schema"]},
        }
    if kind == "json_object" and dialect == "anthropic":
        notes.append(
            "response_format: left out, anthropic supports a schema but not plain JSON mode"
        )
        return None
    return form


def _reasoning(parameters: dict[str, Any], target: ResolvedModel, dialect: str) -> Reasoning | None:
    """The reasoning setting; a request with an effort also asks for visible reasoning where that is optional."""
    effort, thinking = parameters.get("reasoning_effort"), parameters.get("thinking")
    members: dict[str, Any] = {}
    if isinstance(effort, dict):
        members |= {name: value for name, value in effort.items() if value is not None}
    elif effort in ("disable", "disabled"):
        members["effort"] = "none"
    elif effort is not None and effort != "default":
        members["effort"] = str(getattr(effort, "value", effort))
    if thinking is not None:
        members["thinking"] = dict(thinking) if isinstance(thinking, Mapping) else thinking
        if thinking == _ADAPTIVE and "effort" not in members:
            members["effort"] = "high"
    setting = Reasoning.from_any(members) if members else None
    if setting is None or setting.show is not None or setting.effort == "none":
        return setting
    row = model_row_of(target.model, target.host, dialect)
    hidden = row is not None and row.shown == "hidden" and "summary" in row.showable
    shows = dialect == "gemini" or (dialect in _SHOWN and effort is not None)
    return setting.replace(show="summary") if hidden and shows else setting


# ---- the client ------------------------------------------------------------------------------------


def _settings(
    parameters: dict[str, Any],
    target: ResolvedModel,
    dialect: str,
    base: str | None,
    notes: list[str],
) -> dict[str, Any]:
    provider = target.host or "custom"
    headers = {
        **dict(parameters.get("headers") or {}),
        **dict(parameters.get("extra_headers") or {}),
    }
    if organization := parameters.get("organization"):
        headers["openai-organization"] = organization
    more = {name: str(parameters[key]) for key, name in _VARIABLES.items() if key in parameters}
    retries = parameters.get("num_retries", parameters.get("max_retries", flag("num_retries")))
    return {
        "provider": provider,
        "api_key": _key_of(parameters, target, notes),
        "base_url": _address(base, provider, dialect),
        "headers": headers,
        "timeout": _seconds(parameters.get("timeout", parameters.get("request_timeout"))),
        "retries": _RETRIES if retries is None else int(retries),
        "environ": {**os.environ, **more} if more else None,
    }


def _base_of(parameters: dict[str, Any]) -> str | None:
    """The base URL from an argument, a flag, or the SDK client that was passed."""
    base = next((parameters[name] for name in _BASES if parameters.get(name)), None) or flag(
        "api_base"
    )
    if not base and (client := parameters.get("client")) is not None:
        url = getattr(client, "base_url", None)
        base = str(url).rstrip("/") if url and hasattr(client, "api_key") else None
    return str(base) if base else None


def _key_of(parameters: dict[str, Any], target: ResolvedModel, notes: list[str]) -> str | None:
    client = parameters.get("client")
    carried = getattr(client, "api_key", None)
    if parameters.get("api_key") is None and isinstance(carried, str) and carried:
        notes.append("client: its API key and base URL are used; innervoice sends the requests")
        return carried
    flags = (parameters.get("api_key"), flag(f"{target.provider}_key"), flag("api_key"))
    return next((str(key) for key in flags if key), None)


def _address(base: str | None, provider: str, dialect: str) -> str | None:
    if base is None:
        return None
    base = base.rstrip("/")
    for tail in _TAILS.get(dialect, ()):
        if base.endswith(tail):
            base = base.removesuffix(tail)
            break
    if provider == "azure" and "/openai" not in base:
        base += _AZURE_PATH
    host = host_of(provider)
    if dialect == "cohere" and host and base.endswith("/v2"):
        base = base.removesuffix("/v2")
    return base


def _seconds(timeout: Any) -> float | None:
    """A timeout in seconds; of an `httpx.Timeout` the read timeout is used."""
    if timeout is None:
        timeout = flag("request_timeout")
    inner = getattr(timeout, "read", timeout)
    return _TIMEOUT if inner is None else float(inner)


def _http_of(client: Any) -> Any:
    """The client, if it is one of httpx or httpx2."""
    is_http = all(hasattr(client, name) for name in ("build_request", "send", "stream"))
    return client if client is not None and is_http else None


# ---- Tool calls and results whose ids a program lost: the results belong to the calls in order.
#
# crewAI rebuilds the calls of a stream by name and arguments, so neither the call nor its result has an id. Providers refuse that.


class PairedMessages(NamedTuple):
    """Messages whose calls and results have ids."""

    messages: list[Any]
    added: int
    """How many ids were missing."""

    @property
    def notes(self) -> list[str]:
        """A note about what was added, for `_hidden_params`."""
        if not self.added:
            return []
        return ["messages: tool calls or results without ids were matched in order"]


def paired(messages: Iterable[Any]) -> PairedMessages:
    """The messages, with missing ids filled in; a result gets the id of the first call that has no result yet."""
    messages_paired: list[Any] = []
    open_calls: list[Any] = []
    added = 0
    for message in map(plain, messages):
        if _lacks_ids(message):
            added += 1
            message = _with_ids(message, len(messages_paired))  # noqa: PLW2901 - the same message, completed
        if calls := as_list(as_dict(message).get("tool_calls")):
            open_calls = [as_dict(call).get("id") for call in calls]
        if as_dict(message).get("role") == "tool":
            if not message.get("tool_call_id") and open_calls:
                added += 1
                message = {**message, "tool_call_id": open_calls[0]}  # noqa: PLW2901
            open_calls = [name for name in open_calls if name != message.get("tool_call_id")]
        messages_paired.append(message)
    return PairedMessages(messages_paired, added)


def _lacks_ids(message: Any) -> bool:
    calls = as_list(as_dict(message).get("tool_calls"))
    return any(isinstance(call, dict) and not call.get("id") for call in calls)


def _with_ids(message: dict[str, Any], position: int) -> dict[str, Any]:
    """The same ids in every request, so that caches and bound reasoning stay valid."""
    calls = []
    for number, call in enumerate(map(as_dict, message["tool_calls"])):
        digest = blake2b(dump_json([position, number, call.get("function")]), digest_size=10)
        calls.append({**call, "id": call.get("id") or f"call_{digest.hexdigest()}"})
    return {**message, "tool_calls": calls}


# ---- A JSON schema -> the same schema for OpenAI's strict mode: no additional properties, every property required.
#
# `wire/response_schema.py` lets a property that was optional be null instead. Here the caller validates the answer with the class that it
# passed, which may not accept null, so such a property must have a value.


def strict_schema(schema: Any) -> Any:
    """The strict schema; defaults are removed, because every property is required."""
    if isinstance(schema, list):
        return [strict_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {
        name: _members(value) if name in ("properties", "$defs") else strict_schema(value)
        for name, value in schema.items()
        if name != "default"
    }
    if isinstance(closed.get("properties"), dict):
        closed |= {"additionalProperties": False, "required": list(closed["properties"])}
    return closed


def _members(members: Any) -> Any:
    """A map of names to schemas; a name such as `default` is not a keyword here."""
    if not isinstance(members, dict):
        return members
    return {name: strict_schema(value) for name, value in members.items()}


# ---- Remembers the turns of this process, and restores those that a program sends back without their reasoning.
#
# Many programs keep `role`, `content` and `tool_calls` of an assistant message and nothing else. Such a message gets its stored turn
# back, as if the program had kept `provider_specific_fields`; `from_litellm.py` then treats edited members as usual. A message that
# has signatures or other seals of its own is sent as it is. Another API key, base URL or provider is another caller.


MEMORY = ChatTurns()
"""The turns of all callers in this process."""

_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "openai-organization")
_ACCOUNTS = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AZURE_OPENAI_AD_TOKEN", "GOOGLE_CLOUD_PROJECT")
_SEALED = ("reasoning_items", "reasoning_details")
_FIELDS = (KEY, "thought_signatures", "reasoning_details")


class Continuation(NamedTuple):
    """The messages to send, and where the response to them will be stored."""

    messages: list[Any]
    restored: int
    """How many turns got their reasoning back."""
    position: TurnPosition | None
    """None if turns are not remembered."""

    def remember(self, turn: Message) -> None:
        """Stores a turn of the response, with the tool call ids that the program sees."""
        if self.position is not None:
            MEMORY.keep(self.position, turn)

    @property
    def notes(self) -> list[str]:
        """What was restored, for `_hidden_params`."""
        if not self.restored:
            return []
        turns = "1 earlier turn" if self.restored == 1 else f"{self.restored} earlier turns"
        return [f"messages: the reasoning of {turns}, which the program left out, was restored"]


def continued(messages: Iterable[Any], caller: str) -> Continuation:
    """The messages of a request, with lost reasoning restored."""
    sent_messages = list(messages)
    if not flag("remember_turns"):
        return Continuation(sent_messages, 0, None)
    recalled = MEMORY.recall(map(plain, sent_messages), caller)
    restored = [
        _restored(message, turn) if turn is not None and not _is_sealed(message, turn) else None
        for message, turn in recalled.messages
    ]
    originals = [message for message, _ in recalled.messages]
    sent = [whole or message for whole, message in zip(restored, originals, strict=True)]
    return Continuation(with_sent_ids(originals, sent), sum(map(bool, restored)), recalled.position)


def caller_of(settings: Mapping[str, Any], http: Any) -> str:
    """The sender of a request: provider, base URL and credentials."""
    host = host_of(settings["provider"])
    environ = settings["environ"] or os.environ
    variables = (*host.keys, *host.tokens, *_ACCOUNTS) if host else _ACCOUNTS
    headers = {**dict(getattr(http, "headers", None) or {}), **settings["headers"]}
    facts = [
        settings["provider"],
        settings["base_url"],
        settings["api_key"],
        [environ.get(name) for name in variables],
        sorted((name, str(headers[name])) for name in headers if name.lower() in _HEADERS),
    ]
    return dump_json(facts).decode()


def _is_sealed(message: dict[str, Any], stored: Message) -> bool:
    """Whether a message has seals of its own; seals that the stored turn also has do not count."""
    blocks = [as_dict(block) for block in as_list(message.get("thinking_blocks"))]
    fields = as_dict(message.get("provider_specific_fields"))
    calls = zip(as_list(message.get("tool_calls")), stored.tool_calls, strict=False)
    return (
        (any(map(_seal, blocks)) and blocks != thinking_blocks_of(stored))
        or any(message.get(name) for name in _SEALED)
        or any(fields.get(name) for name in _FIELDS)
        or any(
            _signature(as_dict(call)) not in (None, *PLACEHOLDERS, thought_signature(stored_call))
            for call, stored_call in calls
        )
    )


def _seal(block: dict[str, Any]) -> Any:
    return block.get("signature") or block.get("data")


def _signature(call: dict[str, Any]) -> Any:
    """Gemini's signature of a call; some programs write the skip value if there is none."""
    fields = as_dict(call.get("provider_specific_fields"))
    google = as_dict(as_dict(call.get("extra_content")).get("google"))
    return fields.get("thought_signature") or google.get("thought_signature")


def _restored(message: dict[str, Any], stored: Message) -> dict[str, Any]:
    """The message with its stored turn; a member that is None was lost, not edited."""
    members = {name: value for name, value in message.items() if value is not None}
    if stored.tool_calls:
        # The same calls, but perhaps with their arguments serialized again.
        members["tool_calls"] = calls_of(stored)
    else:
        members.pop("content", None)
    fields = as_dict(message.get("provider_specific_fields"))
    return {**members, "provider_specific_fields": {**fields, KEY: stored}}
