"""What Chat Completions and its compatible hosts refuse about reasoning.

The words are OpenAI's unless the row of the model (`says`) or of the host (`refuses`) has others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.chat import write
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.media import misfit_files
from innervoice.wire.openai_words import openai_worded, unsupported_image
from innervoice.wire.refusals import NO_HEADERS, Headers, Refusal
from innervoice.wire.response_schema import strict_schema
from innervoice.wire.rules import company, is_forced, quoted, refused, supported
from innervoice.wire.shapes import Kinds, Misfit, Needs, bracketed, is_strict, refusals

__all__ = ["is_on", "problems", "problems_beside_shape", "shape_problems"]

_SAMPLING = (
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "stop",
)
MOST_CHOICES = 128
_NAMES = {name: name for name in _SAMPLING}
_TEMPLATES = ("chat_template_kwargs", "chat_template_args")
_SWITCHES = ("reasoning_effort", "enable_thinking", "thinking", "reasoning", *_TEMPLATES)


def problems(
    body: dict[str, Any], target: Target, headers: Headers = NO_HEADERS
) -> Iterator[Refusal]:
    """Why the API would refuse a body."""
    yield from shape_problems(body, target)
    yield from problems_beside_shape(body, target)


def problems_beside_shape(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """Why the API would refuse a body whose members are all known and of the right types."""
    row, on = target.row, is_on(body, target)
    yield from _together(body, target)
    if target.provider == "openrouter" and not row.effort_updates:
        messages = map(as_dict, as_list(body.get("messages")))
        if any("configuration_update" in message for message in messages):
            yield refused("configuration_update is not supported with this model.")
    if is_strict(target):
        for path, _ in misfit_files(body.get("messages"), write, ("messages",)):
            yield unsupported_image(bracketed(path))
    count = body.get("n")
    if count is not None and not 1 <= count <= MOST_CHOICES:
        side, word, sign, bound = (
            ("below", "minimum", ">=", 1) if count < 1 else ("above", "maximum", "<=", MOST_CHOICES)
        )
        yield refused(
            f"Invalid 'n': integer {side} {word} value. Expected a value {sign} {bound}, but got {count} instead.",
            code=f"integer_{side}_{word[:3]}_value",
            param="n",
        )
    yield from _effort(body.get("reasoning_effort"), target, "reasoning_effort")
    yield from _switches(body, target, on=on)
    yield from _reasoning(body, target)
    yield from company(body, target, _NAMES, on=on)
    form = as_dict(as_dict(body.get("response_format")).get("json_schema"))
    if form.get("strict") is True:
        yield from strict_schema(form.get("name"), form.get("schema"))
    # Models that never reason accept either name.
    renamed = row.limit == "max_completion_tokens" and row.control != "none"
    if renamed and "max_tokens" in body:
        yield refused(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            code="unsupported_parameter",
            param="max_tokens",
        )
    functions = [
        tool for tool in as_list(body.get("tools")) if as_dict(tool).get("type") == "function"
    ]
    if on and functions and not row.tools:
        yield refused(
            f"Function tools with reasoning_effort are not supported for {target.model} in /v1/chat/completions. "
            "To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
            param="reasoning_effort",
        )
    if on and is_forced(body.get("tool_choice")) and not row.forced_tools:
        yield refused(
            _words(target, "forced_tools", "Thinking mode does not support this tool_choice")
        )
    yield from _history(body, target, on=on)


def _words(target: Target, code: str, usual: str, **values: Any) -> str:
    """A refusal in the words of the model's row, or in the usual ones, which may quote the caller and have no placeholders."""
    text = target.row.says.get(code)
    return text.format(model=target.model, **values) if text is not None else usual


# ---- settings -------------------------------------------------------------------------------------


def is_on(body: dict[str, Any], target: Target) -> bool:
    """Whether the model will reason."""
    template = {
        name: item for member in _TEMPLATES for name, item in as_dict(body.get(member)).items()
    }
    if body.get("reasoning_effort") == "none" or body.get("enable_thinking") is False:
        return False
    if as_dict(body.get("thinking")).get("type") == "disabled" or False in template.values():
        return False
    reasoning = as_dict(body.get("reasoning"))
    if reasoning.get("effort") == "none" or reasoning.get("enabled") is False:
        return False
    return any(name in body for name in _SWITCHES) or target.row.default != "none"


def _effort(word: Any, target: Target, where: str) -> Iterator[Refusal]:
    row = target.row
    taken = supported(row)
    if word is None or word in taken or where in row.tolerates or word in row.tolerates:
        return
    if not row.efforts:
        usual = f"Unsupported parameter: '{where}' is not supported with this model."
    else:
        usual = (
            f"Unsupported value: '{where}' does not support '{word}' with this model. "
            f"Supported values are: {quoted(taken)}."
        )
    text = _words(target, "effort", usual, word=word, taken=", ".join(sorted(taken)))
    yield refused(text, code="unsupported_value", param=where)


def _switches(body: dict[str, Any], target: Target, *, on: bool) -> Iterator[Refusal]:
    row, thinking = target.row, body.get("thinking")
    if isinstance(thinking, bool) and row.control in ("thinking-type", "thinking-adaptive"):
        yield refused("thinking: Input should be an object")
    if as_dict(thinking).get("type") == "disabled" and row.off == "never":
        usual = "thinking cannot be disabled for this model"
        yield refused(_words(target, "off", usual, taken=", ".join(row.efforts)))
    if body.get("enable_thinking") is False and row.off == "never":
        yield refused("enable_thinking must be set to true for this model")
    if on and row.stream_only and not body.get("stream"):
        yield refused("parameter.enable_thinking must be set to false for non-streaming calls")
    budget = body.get("thinking_budget")
    if budget is not None and (not row.budget or not row.budget[0] <= budget <= row.budget[1]):
        yield refused(f"The thinking_budget parameter {budget} is invalid.")
    limit = body.get("thinking_token_budget")
    if isinstance(limit, int) and limit < -1:
        yield refused("`thinking_token_budget` must be a non-negative integer or -1 for unlimited.")
    if body.get("prompt_mode") == "reasoning":
        yield refused("Reasoning prompt mode is not enabled for this model", code=3051)


def _reasoning(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    if "reasoning" not in body:
        return
    reasoning, row = as_dict(body["reasoning"]), target.row
    if row.control == "effort" and target.provider in ("openai", "azure"):
        yield refused(
            "Unknown parameter: 'reasoning'.", code="unknown_parameter", param="reasoning"
        )
        return
    if "effort" in reasoning and "max_tokens" in reasoning:
        yield refused('Only one of "reasoning.effort" and "reasoning.max_tokens" can be specified')
    effort = body.get("reasoning_effort")
    if row.control == "openrouter" and effort not in (None, reasoning.get("effort")):
        yield refused('Only one of "reasoning" and "reasoning_effort" may be provided')
    off = reasoning.get("effort") == "none" or reasoning.get("enabled") is False
    if off and row.off == "never":
        yield refused("Reasoning is mandatory for this endpoint and cannot be disabled.")
    else:
        yield from _effort(reasoning.get("effort"), target, "reasoning.effort")


def _together(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """Settings that a host does not accept together."""
    host = target.host
    for one, other in host.exclusive if host else ():
        if body.get(one) is not None and body.get(other) is not None:
            yield refused(f"cannot specify both '{one}' and '{other}'")


# ---- histories ------------------------------------------------------------------------------------


def _history(body: dict[str, Any], target: Target, *, on: bool) -> Iterator[Refusal]:
    row, host = target.row, target.host
    called: set[Any] = set()
    numbers: dict[Any, int] = {}
    messages = [as_dict(message) for message in as_list(body.get("messages"))]
    yield from _answered(messages)
    is_prefill = bool(messages) and messages[-1].get("role") == "assistant"
    if on and is_prefill and not row.prefill_thinking:
        usual = "Assistant response prefill is incompatible with enable_thinking."
        yield refused(_words(target, "prefill", usual))
    for number, message in enumerate(messages):
        name = as_text(message.get("tool_call_id"))
        if message.get("role") == "tool" and name not in called:
            yield refused(
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                "'tool_calls'.",
                param=f"messages.[{number}].role",
            )
        if message.get("role") == "tool":
            yield from _twice(name, number, numbers)
        if message.get("role") != "assistant":
            continue
        calls = as_list(message.get("tool_calls"))
        called |= set(_ids(message))
        for called_id in _ids(message):
            numbers.pop(called_id, None)
        for field in message.keys() & (host.refuses if host else {}):
            yield refused(host.refuses[field] if host else "")
        demanded = row.replay == "must" and row.replay_field == "reasoning_content"
        lost = not isinstance(message.get("reasoning_content"), str)
        if on and demanded and calls and lost and "reasoning_content" in row.says:
            yield refused(_words(target, "reasoning_content", "", index=number))
        if row.replay == "never" and message.get("reasoning_content") and "replay" in row.says:
            yield refused(row.says["replay"])
        if not message.get("content") and not calls and message.keys() <= {"role", "content"}:
            yield refused(
                "Invalid assistant message: content or tool_calls must be set", param="messages"
            )


def _ids(message: dict[str, Any]) -> list[str | None]:
    """The ids of a message's calls."""
    return [as_text(as_dict(call).get("id")) for call in as_list(message.get("tool_calls"))]


def _twice(call_id: Any, number: int, numbers: dict[Any, int]) -> Iterator[Refusal]:
    """A call has one result; `given` are the results so far and their positions. Ids may be used again in a later turn."""
    if call_id in numbers:
        yield refused(
            f"Invalid parameter: Duplicate value for 'tool_call_id' of '{call_id}', in messages[{numbers[call_id]}] and "
            f"messages[{number}].",
            param=f"messages.[{number}].tool_call_id",
        )
    numbers[call_id] = number


def _answered(messages: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Each call has a result among the tool messages directly after its turn; the calls of the last message may wait."""
    calls: list[str | None] = []
    answered: set[str | None] = set()
    for message in [*messages, {}] if messages and messages[-1].get("role") == "tool" else messages:
        if message.get("role") == "tool":
            answered.add(as_text(message.get("tool_call_id")))
            continue
        missing = [str(name) for name in calls if name not in answered]
        if missing:
            yield refused(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                "'tool_call_id'. The following tool_call_ids did not have response messages: "
                + ", ".join(missing),
                param="messages",
            )
        calls, answered = _ids(message), set()


# ---- The members of a request of Chat Completions: OpenAI's, and the additional ones of compatible hosts.
#
# After the types of the openai SDK 3.49.0. Strict hosts refuse other members; most compatible hosts ignore them.


_BREAK = {"prompt_cache_breakpoint": None}
_TEXT = Needs({"type": None, "text": "string", **_BREAK}, ("text",))
_PARTS = Kinds(
    "type",
    {
        "text": _TEXT,
        "image_url": Needs(
            {"type": None, "image_url": {"url": "string", "detail": "string"}, **_BREAK}, ("image_url",)
        ),
        "input_audio": Needs(
            {"type": None, "input_audio": {"data": "string", "format": "string"}, **_BREAK}, ("input_audio",)
        ),
        "refusal": {"type": None, "refusal": "string"},
        "audio": None,
        "file": Needs(
            {"type": None, "file": {"file_data": "string", "file_id": "string", "filename": "string"}, **_BREAK},
            ("file",),
        ),
    },
)  # fmt: skip
_CONTENT = ("string", [_PARTS])
_CALLED = {"name": "string", "arguments": "string"}
_FREE = {"name": "string", "input": "string"}
_SAID = {"role": None, "content": _CONTENT, "name": "string"}
_ASSISTANT = {
    **_SAID, "refusal": "string", "audio": "object", "function_call": "object", "annotations": "list",
}  # fmt: skip
_FUNCTION = Needs(
    {"name": "string", "description": "string", "parameters": "object", "strict": "boolean"},
    ("name",),
)
_CUSTOM = Needs({"name": "string", "description": "string", "format": "object"}, ("name",))
_TOOLS = Kinds(
    "type",
    {
        "function": Needs({"type": None, "function": _FUNCTION}, ("function",)),
        "custom": Needs({"type": None, "custom": _CUSTOM}, ("custom",)),
    },
)
_SETTINGS: Mapping[str, Any] = {
    "model": "string",
    "temperature": "number",
    "top_p": "number",
    "n": "integer",
    "seed": "integer",
    "stream": "boolean",
    "stream_options": "object",
    "stop": ("string", ["string"]),
    "max_tokens": "integer",
    "max_completion_tokens": "integer",
    "presence_penalty": "number",
    "frequency_penalty": "number",
    "logit_bias": "object",
    "logprobs": "boolean",
    "top_logprobs": "integer",
    "reasoning_effort": "string",
    "response_format": "object",
    "tools": [_TOOLS],
    "tool_choice": ("string", "object"),
    "parallel_tool_calls": "boolean",
    "store": "boolean",
    "user": "string",
    "verbosity": "string",
    "metadata": "object",
    **dict.fromkeys(
        (
            "audio", "function_call", "functions", "modalities", "moderation", "prediction", "prompt_cache_key",
            "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "service_tier", "web_search_options",
        )
    ),
}  # fmt: skip
_ELSEWHERE: Mapping[str, Any] = {
    "reasoning": "object",
    "thinking": ("object", "boolean"),
    "thinking_budget": "integer",
    "thinking_token_budget": "integer",
    "thinking_budget_tokens": "integer",
    "reasoning_budget_tokens": "integer",
    "enable_thinking": "boolean",
    "chat_template_args": "object",
    "chat_template_kwargs": "object",
    "reasoning_format": "string",
    "include_reasoning": "boolean",
    "reasoning_split": "boolean",
    "prompt_mode": "string",
}
"""Settings of compatible hosts. OpenAI has none of them."""


def shape_problems(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """What the host refuses about the shape of a body."""
    return refusals(body, _shape(target), target, lambda misfit: _worded(misfit, target))


def _worded(misfit: Misfit, target: Target) -> Refusal:
    """The refusal in OpenAI's words, or in those that the host's row has for unknown members."""
    template = target.host.says.get("unknown_member") if target.host else None
    if template is None or misfit.what != "unknown":
        return openai_worded(misfit)
    place = bracketed(misfit.path[:-1])
    at = f" at '{place}'" if place else ""
    return Refusal(text=template.replace("{name}", str(misfit.path[-1])).replace("{at}", at))


def _shape(target: Target) -> Needs:
    """The shape of a body at a host, with the members that its row and the model's add."""
    further = dict.fromkeys(target.host.knows if target.host else ())
    replayed = dict.fromkeys([target.row.replay_field] if target.row.replay_field else [])
    common = {"type": None, "id": "string", **further}
    calls = Kinds(
        "type",
        {
            "function": Needs({**common, "function": _CALLED}, ("id", "function")),
            "custom": Needs({**common, "custom": _FREE}, ("id", "custom")),
        },
    )
    message = Kinds(
        "role",
        {
            "system": _SAID,
            "assistant": {**_ASSISTANT, "tool_calls": [calls], **further, **replayed},
            "user": _SAID,
            "function": _SAID,
            "tool": {**_SAID, "tool_call_id": "string"},
            "developer": _SAID,
        },
    )
    elsewhere = {} if is_strict(target) else _ELSEWHERE
    members = {**_SETTINGS, **elsewhere, **further, "messages": [message]}
    lacks = target.host.lacks if target.host else ()
    return Needs({name: members[name] for name in members if name not in lacks}, ("messages",))
