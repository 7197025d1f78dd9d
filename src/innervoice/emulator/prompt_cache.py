"""How much of an earlier prompt of its conversation a request finds in the prompt cache, as the providers' pages say it.

    OpenAI      tools, their order, parallel calls, the format and verbosity of the text, and the effort at the top: another one loses everything,
                one that was used before finds its own prompts again (openai/codex 35416)
    Anthropic   tools, then the system prompt, then the messages; thinking, its budget, the tool choice and the effort at the top lose the messages.
                Reports about the effort differ (claude-code 63962, distill 2.0.29): the loss is assumed

A message that sets the effort is a message like others. The counts are in a header of each reply: `x-emulator-prompt-cache: kept=812 lost=0`.
"""

from __future__ import annotations

from itertools import takewhile
from operator import eq
from typing import Any

from innervoice.canon.bounded import Bounded
from innervoice.canon.jsontext import dump_json
from innervoice.conversation.stable import SYSTEM_MEMBERS, stable_value
from innervoice.emulator.call import EmulatedCall, digest
from innervoice.wire.controls import is_claude
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict, as_list

__all__ = ["HEADER", "PromptCache"]

HEADER = "x-emulator-prompt-cache"
_REMEMBERED = 256
_PROMPTS = 16
_OF_TOOLS = ("tools", "toolConfig")
_OF_MESSAGES = (
    "tool_choice", "parallel_tool_calls", "thinking", "response_format", "text", "think", "context_management", "generationConfig", "additionalModelRequestFields", "chat_template_kwargs",
)  # fmt: skip

Prompt = tuple[bytes, ...]


class PromptCache:
    """The last prompts of each conversation, at one server."""

    def __init__(self) -> None:
        self._prompts: Bounded[str, list[Prompt]] = Bounded(_REMEMBERED)

    def count(self, call: EmulatedCall) -> str:
        """The bytes of the conversation's last prompt that the cache still has, and those that are lost; remembers the prompt."""
        items = as_list(call.body.get(dialect_named(call.dialect).history))
        opening = next((one for one in items if as_dict(one).get("role") == "user"), None)
        owner = digest([call.account, call.provider, call.model, stable_value(opening)])
        prompt = _prompt(call, items)
        earlier_prompts = self._prompts.get(owner, [])
        cached = max((_common(prompt, earlier) for earlier in earlier_prompts), default=0)
        lost = max(0, _size(earlier_prompts[-1]) - cached) if earlier_prompts else 0
        self._prompts[owner] = [*earlier_prompts, prompt][-_PROMPTS:]
        return f"kept={cached} lost={lost}"


def _prompt(call: EmulatedCall, items: list[Any]) -> Prompt:
    body = call.body
    settings = {name: body[name] for name in _OF_MESSAGES if name in body}
    config = as_dict(body.get("output_config"))
    settings["output_config"] = {name: config[name] for name in config if name != "effort"}
    reasoning = call.request.reasoning
    settings["effort"] = (reasoning.effort if reasoning else None) or call.target.row.default
    tools = {name: body[name] for name in _OF_TOOLS if name in body}
    system = {name: call.as_read(body[name]) for name in SYSTEM_MEMBERS if name in body}
    head = [tools, system, settings] if is_claude(call.target.row) else [[settings, tools], system]
    return tuple(dump_json(stable_value(piece)) for piece in (*head, *items))


def _common(prompt: Prompt, earlier: Prompt) -> int:
    """The bytes that two prompts have in common at their beginning."""
    same = takewhile(lambda pair: eq(*pair), zip(prompt, earlier, strict=False))
    return sum(len(piece) for piece, _ in same)


def _size(prompt: Prompt) -> int:
    return sum(map(len, prompt))
