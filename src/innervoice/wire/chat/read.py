"""Chat Completions -> canonical events.

Input: a whole completion, or the chunks of a stream. Output: reasoning, content and calls as they arrive.

Rules, after https://platform.openai.com/docs/api-reference/chat (read 2026-11-15), the hosts' own pages and
recordings:

  1. A reasoning field is one part however its deltas alternate with the content (`reasoning.py`).
  2. Null, "" and absent mean nothing in a delta; a finish reason is never withdrawn.
  3. Calls are distinguished by their index, or by a new id; arguments are joined. Their type says which member holds them.
  4. Usage may come on a chunk with or without choices, in `x_groq`, or on the choice.
  5. Cloudflare's own models answer `{"response": "..."}`, and call `{"name": ..., "arguments": {...}}`.
  6. Refusal text is text, and the answer is refused.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.usage import Usage
from innervoice.wire.chat.content import ContentChunks
from innervoice.wire.chat.reasoning import DETAILS, FIELDS, NAMES, ReasoningFields
from innervoice.wire.json_access import arguments_of, as_count, as_dict, as_list, as_text
from innervoice.wire.protocol import Context, Reader, Slot

__all__ = ["ChatReader", "usage_of", "write_usage"]

_STEPS = "reasoning_steps"
_KNOWN = {"role", "content", "refusal", "tool_calls", "function_call", "channel", _STEPS, *FIELDS}
_USUAL = {"role", "content", *FIELDS}  # all that most deltas have
_CALLS = ("function", "custom")
_NOTHING = set(_CALLS)  # members of a call that say nothing when they are empty
_GOOGLE = "extra_content.google.thought_signature"


class ChatReader(Reader):
    """Reads one completion: its first choice."""

    dialect: ClassVar[str] = "openai-chat"
    ends_late: ClassVar[bool] = True
    _refusal: Slot | None = None

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._fields = ReasoningFields(cumulative=context.cumulative)
        self._content = ContentChunks()
        self._calls: dict[Any, Slot] = {}

    def read(self, value: Any, name: str | None) -> None:
        chunk = value if isinstance(value, dict) else {}
        has_choices = "choices" in chunk
        if chunk.get("error") or name == "error" or (not has_choices and _is_bare_error(chunk)):
            self.fail(chunk)
        # Every chunk repeats both: they are read when they change.
        if chunk.get("id") != self.id:
            self.id = as_text(chunk.get("id")) or self.id
        if chunk.get("model") != self.model:
            self.model = as_text(chunk.get("model")) or self.model
        if _STEPS in chunk or (not has_choices and "response" in chunk):
            self._read_beside(chunk)
        choices = chunk.get("choices")
        if type(choices) is list and len(choices) == 1 and type(only := choices[0]) is dict and not only.get("index"):  # fmt: skip
            self._read_choice(only)  # as in by far most chunks
        else:
            self._read_choices(as_list(choices), chunk)
        if chunk.get("usage") is not None or "x_groq" in chunk:
            self._use(chunk)

    def _read_choices(self, choices: list[Any], chunk: dict[str, Any]) -> None:
        for position, choice in enumerate(choices):
            members = as_dict(choice)
            index = as_count(members.get("index"))
            if not index and position == 0:
                self._read_choice(members)
            else:
                other = {**members, "index": 0}
                self.others.setdefault(index or position, []).append({**chunk, "choices": [other]})

    def _read_beside(self, chunk: dict[str, Any]) -> None:
        """Reads what stands next to the choices, or in their place."""
        if steps := chunk.get(_STEPS):
            self._read_steps(steps)
        if "choices" not in chunk and "response" in chunk:
            self._read_cloudflare(chunk)

    def _read_cloudflare(self, chunk: dict[str, Any]) -> None:
        answer = chunk["response"]
        text = arguments_of(answer) if isinstance(answer, (dict, list)) else answer
        members = {"tool_calls", *FIELDS} & chunk.keys()
        self._read_message(
            {"content": text, **{name: chunk[name] for name in members}}, is_delta=True
        )
        self.stop(chunk.get("finish_reason"))
        self.ended = self.ended or "usage" in chunk
        if self.ended and self._calls:
            self.finish_reason = "tool_calls"

    def _read_choice(self, choice: dict[str, Any]) -> None:
        message = self._message_of(choice) if "message" in choice else choice.get("delta")
        if isinstance(message, dict):
            is_delta = message is choice.get("delta")
            if self.context.whole and not is_delta and message.keys() <= _USUAL:
                self._read_whole(message)
            else:
                self._read_message(message, is_delta=is_delta)
        elif isinstance(choice.get("text"), str):
            self._content.read(self, choice["text"])
        elif message is not None:
            self.odd(message, "message")
        if reason := choice.get("finish_reason"):
            self.stop(reason)
        # A whole message has ended, even if a host sends no finish reason.
        if "message" in choice and "delta" not in choice:
            self.ended = True
        if self._refusal:
            self.finish_reason = "refusal"
        if "usage" in choice or "x_groq" in choice:
            self._use(choice)

    def _message_of(self, choice: dict[str, Any]) -> Any:
        """The delta or the message. Perplexity sends both: an empty delta next to a whole message, and in a
        stream a message that repeats all deltas so far."""
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict) and isinstance(message, dict):
            return (
                delta
                if self.parts or any(delta.get(key) for key in ("content", *FIELDS))
                else message
            )
        return message if delta is None else delta

    def _read_whole(self, message: dict[str, Any]) -> None:
        """Reads a message that has only texts, and that nothing continues."""
        fields = NAMES & message.keys()
        if fields and not self._fields.read_whole(self, message, fields):
            self._fields.read(self, message, is_delta=False)
        content = message.get("content")
        if type(content) is str:
            if content:
                self.whole(Text(content, origin=self.origin()))
        elif content is not None:
            self._content.read(self, content)

    def _read_message(self, message: dict[str, Any], *, is_delta: bool) -> None:
        if not message.keys().isdisjoint(NAMES):
            self._fields.read(self, message, is_delta=is_delta)
        if (content := message.get("content")) is not None:
            self._content.read(self, content)
        if not message.keys() <= _USUAL:
            self._read_rest(message)

    def _read_rest(self, message: dict[str, Any]) -> None:
        if refusal := message.get("refusal"):
            self._refuse(refusal)
        if (calls := message.get("tool_calls")) is not None:
            if calls and not isinstance(calls, list):
                self.odd(calls, "tool_calls")
            for position, call in enumerate(as_list(calls)):
                self._read_call(call, position)
        if steps := message.get(_STEPS):
            self._read_steps(steps)
        if call := message.get("function_call"):
            self._read_legacy_call(call)
        if not message.keys() <= _KNOWN:
            self._keep(
                {
                    key: value
                    for key, value in message.items()
                    if key not in _KNOWN and value is not None
                }
            )

    def _read_steps(self, steps: Any) -> None:
        """The steps of Perplexity's search: the thoughts are reasoning, and the whole list is kept with the message. A stream may repeat them."""
        before = as_list(self.message_block.get(_STEPS))
        new = [step for step in as_list(steps) if step not in before]
        for step in new:
            if thought := as_text(as_dict(step).get("thought")):
                self.whole(Thinking(thought, "summary", origin=self.origin()))
        self.message_block[_STEPS] = [*before, *new]

    def _keep(self, rest: dict[str, Any]) -> None:
        """Keeps the members of the message besides its parts, to be sent back."""
        # The last delta may repeat a member with nothing in it.
        block = self.message_block
        block.update({key: item for key, item in rest.items() if item != "" or key not in block})
        if as_dict(as_dict(rest.get("extra_content")).get("google")).get("thought_signature"):
            self.message_seals = (_GOOGLE,)

    def _refuse(self, text: Any) -> None:
        if not isinstance(text, str):
            self.odd(text, "refusal")
            return
        self._refusal = self._refusal or self.open("text", {"type": "refusal"})
        self.add(self._refusal, text)

    def open(
        self, kind: str, block: dict[str, Any] | None = None, part: Part | None = None
    ) -> Slot:
        if kind in ("text", "tool_call"):
            self._fields.end_sealed(self)
        if kind == "tool_call":
            self._content.end_thinking(self)
        return super().open(kind, block, part)

    # ---- calls ---------------------------------------------------------------------------------

    def _read_call(self, call: Any, position: int) -> None:
        if not isinstance(call, dict):
            self.odd(call, "tool_calls")
            return
        if "function" not in call and "custom" not in call and "name" in call:
            call = _nested(call)
        kind = _kind_of(call)
        inner = as_dict(call.get(kind))
        call_id = as_text(call.get("id"))
        index = call.get("index") if isinstance(call.get("index"), int) else None
        key = index if index is not None else call_id or position
        slot = self._calls.get(key)
        if slot is None and not inner and not call_id:
            return  # an empty call is none
        slot_id = slot.begun.id if slot and slot.begun and not slot.invented else None
        if slot is None or (call_id and slot_id and call_id != slot_id and inner.get("name")):
            origin = self.origin({kind: {}}) if kind == "custom" else None
            slot = self.open_call(call_id, inner.get("name"), {}, origin)
            slot.source = kind
            self._calls[key] = slot
        self._merge_call(slot, call, kind)
        text = inner.get("arguments", inner.get("input"))
        if text is not None:
            self.add(slot, arguments_of(text))

    def _merge_call(self, slot: Slot, call: dict[str, Any], kind: str) -> None:
        """Joins the pieces of a call's block; arguments are joined at its end."""
        block = slot.block
        for name, value in call.items():
            if name == "index":
                continue
            if name == kind:
                members = as_dict(block.get(kind))
                block[kind] = {
                    **members,
                    **{
                        key: item
                        for key, item in as_dict(value).items()
                        if item or key not in members
                    },
                }
            elif value or not (name in _NOTHING or name in block):
                block[name] = value

    def _read_legacy_call(self, call: Any) -> None:
        if not isinstance(call, dict):
            self.odd(call, "function_call")
        elif call.get("name") or call.get("arguments"):
            self._read_call({"index": -1, "function": call}, 0)

    def conclude(self, slot: Slot, *, complete: bool = True) -> None:
        if slot.kind == "tool_call":
            self._end_call(slot, complete=complete)
            return
        if slot.source == "reasoning":
            part = self._fields.part(self, slot, complete=complete)
        elif slot.source == "content":
            part = self._content.part(self, slot, complete=complete)
        else:
            part = Text(slot.text, complete, self.origin({"type": "refusal", "refusal": slot.text}))
        self.end(slot, part)

    def _end_call(self, slot: Slot, *, complete: bool) -> None:
        block = slot.block
        kind = slot.source
        inner = block[kind] = dict(as_dict(block.get(kind)))
        member = "input" if kind == "custom" else "arguments"
        if member in inner and not isinstance(inner[member], (dict, list)):
            inner[member] = slot.text
        signed = as_dict(as_dict(block.get("extra_content")).get("google")).get("thought_signature")
        seals = (_GOOGLE,) if signed and complete else ()
        self.end_call(slot, slot.text, complete=complete, name=inner.get("name"), seals=seals)

    def finish(self) -> list[Any]:
        events = super().finish()
        self._fields.compare(self)
        if self._fields.only_empty_details:
            self.message_block.setdefault(DETAILS, [])
        return events

    def _use(self, holder: dict[str, Any]) -> None:
        usage = holder.get("usage")
        if not usage and "x_groq" in holder:
            usage = as_dict(holder["x_groq"]).get("usage")
        if isinstance(usage, dict):
            self.use(usage_of(usage, separate=self.context.separate_reasoning))


def _kind_of(call: dict[str, Any]) -> str:
    """The member that holds a call: the one that its type names, unless only the other one has content (Snowflake sends both)."""
    filled = [kind for kind in _CALLS if call.get(kind)]
    named = call.get("type")
    if named in _CALLS and (named in filled or not filled):
        return str(named)
    return filled[0] if filled else "function"


def _nested(call: dict[str, Any]) -> dict[str, Any]:
    """A call whose name and arguments are in the call itself, as Cloudflare's models write it, in the usual form."""
    inner = {key: call[key] for key in ("name", "arguments") if key in call}
    rest = {key: value for key, value in call.items() if key not in inner}
    return {**rest, "type": "function", "function": inner}


def _is_bare_error(chunk: dict[str, Any]) -> bool:
    """Databricks, Mistral and servers built with FastAPI do not wrap their errors."""
    return "error_code" in chunk or "detail" in chunk or chunk.get("object") == "error"


# ---- Tokens as chat hosts count them -> one convention, and back.
#
# Most hosts count reasoning inside `completion_tokens`. xAI's chat and DeepInfra count it in addition, Perplexity
# in a separate field, and Gemini's compatible endpoint only in the total. The sums show which it is.


def usage_of(raw: dict[str, Any], *, separate: bool) -> Usage:
    """Reads a `usage` object; `separate` says that the host counts reasoning in addition to the output."""
    prompt, answer = as_count(raw.get("prompt_tokens")), as_count(raw.get("completion_tokens"))
    total = as_count(raw.get("total_tokens"))
    details = as_dict(raw.get("completion_tokens_details"))
    reasoning = as_count(details.get("reasoning_tokens"))
    if reasoning is None:
        reasoning = as_count(raw.get("reasoning_tokens"))
    cached = as_count(as_dict(raw.get("prompt_tokens_details")).get("cached_tokens"))
    if cached is None:
        cached = as_count(raw.get("prompt_cache_hit_tokens"))
    return Usage(
        input_tokens=prompt,
        output_tokens=_output(prompt, answer, total, reasoning, separate=separate),
        reasoning_tokens=reasoning,
        cached_input_tokens=cached,
        raw=raw,
    )


def _output(
    prompt: int | None,
    answer: int | None,
    total: int | None,
    reasoning: int | None,
    *,
    separate: bool,
) -> int | None:
    if answer is None:
        return (
            total - prompt
            if total is not None and prompt is not None and total > prompt
            else reasoning
        )
    if reasoning and (
        separate or reasoning > answer or total == (prompt or 0) + answer + reasoning
    ):
        return answer + reasoning
    if total is not None and prompt is not None and total > prompt + answer:
        return total - prompt
    return answer


def write_usage(usage: Usage) -> dict[str, Any]:
    """The `usage` object as OpenAI counts; counts that were not reported are left out."""
    counts = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
    }
    written: dict[str, Any] = {name: count for name, count in counts.items() if count is not None}
    if usage.cached_input_tokens is not None:
        written["prompt_tokens_details"] = {"cached_tokens": usage.cached_input_tokens}
    if usage.reasoning_tokens is not None:
        written["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return written
