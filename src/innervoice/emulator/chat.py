"""Chat Completions and related APIs: which field carries the reasoning, and OpenRouter's sealed details."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from innervoice.canon.parts import Part
from innervoice.canon.response import Response
from innervoice.canon.rows import Host
from innervoice.canon.usage import Usage
from innervoice.catalog.lookup import host_of
from innervoice.emulator import gemini
from innervoice.emulator.call import EmulatedCall, digest
from innervoice.emulator.dialect_server import DialectServer
from innervoice.emulator.scripted_model import AnswerDraft
from innervoice.wire.chat.reasoning import FIELDS
from innervoice.wire.chat.rules import is_on as rules_say_on
from innervoice.wire.gemini.rules import needs_signatures, signed_steps
from innervoice.wire.gemini.serve import write_error
from innervoice.wire.json_access import arguments_of, as_dict, as_list
from innervoice.wire.refusals import Refusal
from innervoice.wire.rules import refused
from innervoice.wire.serve import openai_error

__all__ = ["SERVER"]

_DETAILS = "reasoning_details"
_TAG = re.compile(r"<(\w+)>")
_FORMATS = {
    "anthropic": "anthropic-claude-v1",
    "google": "google-gemini-v1",
    "openai": "openai-responses-v1",
    "x-ai": "xai-responses-v1",
}
_SIGNED = {
    "anthropic-claude-v1": "Invalid signature in thinking block",
    "google-gemini-v1": "Corrupted thought signature.",
}


def is_on(call: EmulatedCall) -> bool:
    """Whether the model reasons in this call."""
    return rules_say_on(call.body, call.target)


def check(call: EmulatedCall) -> Iterator[Refusal]:
    """Which of OpenRouter's details are refused: unsigned, edited, or sent twice."""
    if _serves_gemini(call.target.host):
        yield from _check_gemini(call)
    if call.provider != "openrouter":
        return
    seen: set[str] = set()
    for message in map(as_dict, as_list(call.body.get("messages"))):
        details = [as_dict(entry) for entry in as_list(message.get(_DETAILS))]
        if message.get("reasoning") and not details and _format(call) in _SIGNED:
            yield refused(_SIGNED[_format(call)])
        for entry in details:
            name = str(entry.get("id") or entry.get("data") or entry.get("signature") or "")
            if name and name in seen:
                yield refused(f"Duplicate item found with id {name}")
            seen.add(name)
            yield from _detail(call, entry)


def _detail(call: EmulatedCall, entry: dict[str, Any]) -> Iterator[Refusal]:
    form = str(entry.get("format"))
    if entry.get("type") == "reasoning.text" and form in _SIGNED:
        claims = call.claims(entry.get("signature"))
        if not claims or claims.get("text") != digest(entry.get("text", "")):
            yield refused(_SIGNED[form])
    elif entry.get("type") == "reasoning.encrypted" and not call.claims(entry.get("data")):
        yield refused(
            f"The encrypted content for item {entry.get('id')} could not be verified. Reason: Encrypted content could "
            "not be decrypted or parsed.",
            code="invalid_encrypted_content",
        )


def parts(call: EmulatedCall, draft: AnswerDraft) -> list[Part]:
    """The turn, its reasoning in the field of this host."""
    field = _field(call)
    text = draft.text
    parts_here: list[Part] = []
    if field == "inline":
        text = _inline(call, draft) + text
    elif field == _DETAILS:
        parts_here += [
            call.thinking(entry.get("text", entry.get("summary", "")), entry)
            for entry in _details(call, draft)
        ]
    elif field and draft.thoughts:
        thought = "\n\n".join(draft.thoughts)
        fields = ("reasoning_content", "reasoning") if call.behaviour.mirror else (field,)
        parts_here.append(call.thinking(thought, dict.fromkeys(fields, thought)))
    if text:
        parts_here.append(call.text(text))
    for position, (name, values) in enumerate(draft.calls):
        parts_here.append(_call(call, draft, name, values, position))
    return parts_here


def _call(
    call: EmulatedCall,
    draft: AnswerDraft,
    name: str,
    values: dict[str, Any] | str,
    position: int,
) -> Part:
    call_id, text = call.id("call_", position), arguments_of(values)
    if isinstance(values, str):
        block = {"id": call_id, "type": "custom", "custom": {"name": name, "input": values}}
        return call.tool_call(name, text, call_id, block)
    if not _serves_gemini(call.target.host):
        return call.tool_call(name, text, call_id)
    block = {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}
    _sign_gemini(call, draft, block, position)
    return call.tool_call(name, text, call_id, block)


def _field(call: EmulatedCall) -> str | None:
    """The field in which this host returns the model's reasoning; None if it returns none."""
    body, row, host = call.body, call.target.row, call.target.host
    hidden = as_dict(body.get("reasoning")).get("exclude") is True
    hidden = (
        hidden or body.get("reasoning_format") == "hidden" or body.get("include_reasoning") is False
    )
    if call.behaviour.show == "hidden" or hidden:
        return None
    if call.behaviour.inline or body.get("reasoning_format") == "raw":
        return "inline"
    if body.get("reasoning_split"):
        return _DETAILS
    usual = host.fields[0] if host else "reasoning_content"
    if usual in FIELDS:
        return usual
    return "inline" if _tag_of(host) else row.replay_field


def _tag_of(host: Host | None) -> str | None:
    """The tag in which a host leaves reasoning in the text; None if it leaves none there."""
    matches = (_TAG.match(field) for field in (host.fields if host else ()))
    return next((tag[1] for tag in matches if tag), None)


def _inline(call: EmulatedCall, draft: AnswerDraft) -> str:
    if not draft.thoughts:
        return ""
    tag = call.behaviour.inline or _tag_of(call.target.host) or "think"
    thought = "\n".join(draft.thoughts)
    opener = "" if call.behaviour.opened else f"<{tag}>\n"
    if call.behaviour.unclosed or draft.cut:
        return f"{opener}{thought}\n"
    again = f"ok.\n</{tag}>\n" if call.behaviour.stutter else ""
    return f"{opener}{thought}\n</{tag}>\n{again}\n"


def _format(call: EmulatedCall) -> str:
    return _FORMATS.get(call.model.split("/", 1)[0], "unknown")


def _details(call: EmulatedCall, draft: AnswerDraft) -> list[dict[str, Any]]:
    form = _format(call)
    entries: list[dict[str, Any]] = []
    for index, thought in enumerate(draft.thoughts):
        common = {"format": form, "index": index}
        match form:
            case "anthropic-claude-v1" | "google-gemini-v1":
                signature = call.seal(kind="detail", text=digest(thought))
                entry = {"type": "reasoning.text", "text": thought, "signature": signature}
                entries.append({**entry, **common})
            case "openai-responses-v1" | "xai-responses-v1":
                entries.append({"type": "reasoning.summary", "summary": thought, **common})
                data = call.seal(kind="detail", text=digest(thought))
                name = call.id("rs_", index)
                entries.append({"type": "reasoning.encrypted", "data": data, "id": name, **common})
            case _:
                entries.append({"type": "reasoning.text", "text": thought, **common})
    return entries


def _streamed(call: EmulatedCall, answer: Response) -> Response:
    """Removes the token counts unless they are requested: the chunk with counts has no choices, which clients do not expect."""
    options = as_dict(call.body.get("stream_options"))
    return answer if options.get("include_usage") else answer.replace(usage=Usage())


def _choices(call: EmulatedCall) -> int:
    return int(call.body.get("n") or 1)


def _error_body(refusal: Refusal, provider: str) -> Any:
    """Gemini's errors have Google's form on this path as well."""
    here = _serves_gemini(host_of(provider))
    return _google_error(refusal) if here else openai_error(refusal)


SERVER = DialectServer(
    is_on=is_on,
    check=check,
    parts=parts,
    streamed=_streamed,
    choices=_choices,
    error_body=_error_body,
)


# ---- Gemini behind Chat Completions: its signatures on tool calls, and its errors.
#
# A signature is at `tool_calls[].extra_content.google.thought_signature`. The history is checked as `generateContent` checks it.


_PLACE = "extra_content"


def _serves_gemini(host: Host | None) -> bool:
    """Whether a host serves Gemini through Chat Completions: it has the member for signatures."""
    return host is not None and _PLACE in host.knows


def _check_gemini(call: EmulatedCall) -> Iterator[Refusal]:
    """Which signatures are refused: missing ones where Gemini requires them, forged and moved ones."""
    contents = [_content(message) for message in map(as_dict, as_list(call.body.get("messages")))]
    if needs_signatures(call.model):
        yield from signed_steps(contents)
    yield from gemini.check_signatures(call, contents)


def _sign_gemini(
    call: EmulatedCall, draft: AnswerDraft, block: dict[str, Any], position: int
) -> None:
    """Adds the signature to the first call of a turn."""
    if draft.thoughts and position == 0:
        seal = call.seal(kind="thought", call=as_dict(block.get("function")).get("name"))
        block[_PLACE] = {"google": {"thought_signature": seal}}


def _google_error(refusal: Refusal) -> list[Any]:
    """A refusal as Google sends it on this path: its own form, in a list."""
    return [write_error(refusal)]


def _content(message: dict[str, Any]) -> dict[str, Any]:
    """A message as one of Gemini's contents, as far as signatures are concerned."""
    if message.get("role") == "tool":
        return {"role": "user", "parts": [{"functionResponse": {}}]}
    if message.get("role") != "assistant":
        return {"role": "user", "parts": [{"text": ""}]}
    calls = [as_dict(call) for call in as_list(message.get("tool_calls"))]
    return {"role": "model", "parts": [_part(call) for call in calls]}


def _part(call: dict[str, Any]) -> dict[str, Any]:
    google = as_dict(as_dict(call.get(_PLACE)).get("google"))
    part: dict[str, Any] = {"functionCall": {"name": as_dict(call.get("function")).get("name")}}
    signature = google.get("thought_signature")
    return {**part, "thoughtSignature": signature} if signature is not None else part
