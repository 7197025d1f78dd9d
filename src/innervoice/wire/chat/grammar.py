"""The order of the chunks of Chat Completions.

    role, (text | reasoning | calls)*, finish_reason, usage?, [DONE]

After https://platform.openai.com/docs/api-reference/chat-streaming (read 2026-11-15) and recordings.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.frames.frame import Frame
from innervoice.wire.grammar import Grammar, counts_missing
from innervoice.wire.json_access import as_dict, as_list, as_text

__all__ = ["ChatGrammar"]

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_HEAD: dict[str, type] = {"id": str, "created": int, "model": str}
_OF_ALL = {"id": "changed", "model": "changed", "created": "created"}
"""What all chunks have in common, and the rule that says so."""
_SAYING = ("content", "reasoning_content", "reasoning", "tool_calls", "refusal")


class ChatGrammar(Grammar):
    """Checks one completion."""

    has_done: ClassVar[bool] = True
    incidental: ClassVar[dict[str, str]] = {
        "created": "the time of the answer or of the chunk",
        "usage": "counts",
        "choices.delta.role": "the assistant's role, in the first chunk or in all",
        "choices.logprobs": "how likely each token was",
        "system_fingerprint": "the name of a configuration of the server",
        "service_tier": "a setting of the request, once more",
        "obfuscation": "padding of a random length",
        "provider": "the name of the host behind OpenRouter",
        "choices.native_finish_reason": "`finish_reason` once more, as the host behind OpenRouter calls it",
        "choices.delta.channel": "repeats what the name of the field says",
        "choices.content_filter_results": "the result of Azure's filter for each chunk; if it blocks one, `finish_reason` says so as well",
        "x_groq": "the id once more, and counts",
    }
    words: ClassVar[frozenset[str]] = frozenset(
        {"stop", "length", "tool_calls", "content_filter", "function_call", "error"}
    )
    """The finish reasons. `error` is OpenRouter's, for an answer that the model could not complete."""
    calls_whole: ClassVar[bool] = False
    """Whether a call is sent in one piece."""
    usage_with_reason: ClassVar[bool] = False
    """Whether the counts come with the finish reason, not after it."""
    tolerates: ClassVar[dict[str, frozenset[str]]] = {
        # The role is in every chunk.
        "second_role": frozenset({"openrouter", "ollama", "snowflake", "zai"}),
        # Compound systems never send it.
        "no_role": frozenset({"groq"}),
        # Counts in the chunk with the reason.
        "usage_place": frozenset({"deepseek", "groq", "openrouter", "zai", "snowflake"}),
        # A chunk with the results of the content filter comes first: no choices, no counts, no type.
        "no_choices": frozenset({"azure"}),
        "object": frozenset({"azure"}),
        # The time of each chunk instead of the completion's; compound systems: the id of each step.
        "created": frozenset({"groq", "llamacpp", "ollama", "ollama-cloud", "xai"}),
        "changed": frozenset({"groq"}),
        # The same reason twice: once more with the counts.
        "second_reason": frozenset({"openrouter"}),
        # No reason at all.
        "no_reason": frozenset({"snowflake"}),
        # An error is the last frame.
        "no_done_after_error": frozenset({"groq"}),
    }

    def __init__(self, host: str | None = None) -> None:
        super().__init__(host)
        self._head: dict[str, Any] = {}
        self._roles: set[int] = set()  # the choices whose role came
        self._reasons: dict[int, str] = {}
        self._calls: dict[int, int] = {}  # how many calls have begun, by choice
        self._has_usage = False

    def message(self, message: dict[str, Any], frame: Frame) -> None:
        if message.get("error") or message.get("object") == "error":
            self.fail()
            if "choices" not in message:
                return
        else:
            self.expect(not self._has_usage, "after_usage", "a chunk comes after the counts")
        self._check_head(message)
        choices = message.get("choices")
        self.expect(isinstance(choices, list), "members", "the chunk lacks 'choices'")
        for choice in as_list(choices):
            self._choice(as_dict(choice))
        if usage := message.get("usage"):
            self._usage(usage, has_choices=bool(choices))
        elif not choices:
            self.expect(False, "no_choices", "the chunk has neither choices nor counts")

    def end(self) -> None:
        if not self.has_failed:
            self.expect(self._reasons, "no_reason", "no chunk has a finish_reason")

    def _check_head(self, chunk: dict[str, Any]) -> None:
        self.expect_members(chunk, _HEAD, "the chunk")
        kind = chunk.get("object")
        self.expect(kind == "chat.completion.chunk", "object", f"the object is {kind!r}")
        if not self._head and chunk.get("choices"):
            self._head = chunk
        for name, rule in _OF_ALL.items() if self._head else ():
            same = chunk.get(name) == self._head.get(name)
            self.expect(same, rule, f"{name!r} is not that of the first chunk")

    # ---- choices -------------------------------------------------------------------------------

    def _choice(self, choice: dict[str, Any]) -> None:
        index, delta = choice.get("index"), as_dict(choice.get("delta"))
        if not self.expect(type(index) is int, "members", "the choice has no index"):
            return
        assert isinstance(index, int)
        self.expect(isinstance(choice.get("delta"), dict), "members", "the choice has no delta")
        if role := delta.get("role"):
            self.expect(role == "assistant", "role", f"the role is {role!r}")
            self.expect(index not in self._roles, "second_role", "the role comes again")
        else:
            self.expect(index in self._roles, "no_role", "the first delta has no role")
        self._roles.add(index)
        says = any(delta.get(name) for name in _SAYING)
        self.expect(
            not says or index not in self._reasons,
            "after_reason", "a delta comes after the finish reason",
        )  # fmt: skip
        self._check_content(delta)
        for call in as_list(delta.get("tool_calls")):
            self._call(index, as_dict(call))
        if word := as_text(choice.get("finish_reason")):
            self._reason(index, word)

    def _check_content(self, delta: dict[str, Any]) -> None:
        for name in ("content", "reasoning_content", "reasoning", "refusal"):
            value = delta.get(name)
            self.expect(
                value is None or isinstance(value, str), "content", f"{name!r} is not a string"
            )

    def _call(self, choice: int, call: dict[str, Any]) -> None:
        index, begun = call.get("index"), self._calls.get(choice, 0)
        kind, member = ("custom", "input") if "custom" in call else ("function", "arguments")
        function = as_dict(call.get(kind))
        if not self.expect(type(index) is int, "members", "the call has no index"):
            return
        assert isinstance(index, int)
        if index < begun:
            again = [name for name, value in (("id", call.get("id")), ("name", function.get("name"))) if value]  # fmt: skip
            self.expect(not again, "call_again", f"call {index} begins again, with {again}")
            self.expect(not self.calls_whole, "call_again", f"call {index} comes in pieces")
            return
        self.expect(index == begun, "call_index", f"call {index} begins, but {begun} is next")
        self._calls[choice] = begun + 1
        self.expect_members(call, {"id": str}, "the call")
        self.expect_members(function, {"name": str, member: str}, "the function")
        self.expect(function.get("name"), "members", "the function has no name")

    def _reason(self, index: int, word: str) -> None:
        self.expect(index not in self._reasons, "second_reason", "finish_reason comes twice")
        self.expect(word in self.words, "word", f"{word!r} is not a finish_reason")
        self._reasons[index] = word
        self.is_over = True

    def _usage(self, usage: Any, *, has_choices: bool) -> None:
        missing = counts_missing(usage, _COUNTS)
        self.expect(not missing, "usage", f"the usage lacks {missing}")
        text = "the usage is not in a chunk of its own, after the finish reason"
        if self.usage_with_reason:
            text = "the usage does not come with the finish reason"
        fits = self._reasons and has_choices == self.usage_with_reason
        self.expect(fits, "usage_place", text)
        self._has_usage = True
        self.is_over = True
