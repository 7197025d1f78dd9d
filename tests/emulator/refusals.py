"""Every error text that the providers are known to send about reasoning, with a request that provokes it.

Each case has a neighbour that differs in the one thing the text is about, and is accepted. `words` is a
piece of the provider's own text.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import innervoice as iv
from emulator.talk import TOOL, send, weather
from innervoice.emulator import Emulator

__all__ = ["CASES", "Case"]

Body = dict[str, Any]
Edit = Callable[[Body], Any]
QUESTION = "What is the weather in Paris and Rome, then the weather in Oslo?"
ASKED = [{"role": "user", "content": "What is 2 + 2?"}]
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


class Case(NamedTuple):
    """A refusal: who says it, the words, the request, and its neighbour."""

    target: str
    words: str
    refused: Callable[[Emulator], Body]
    taken: Callable[[Emulator], Body]
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed
    status: int = 400
    key: str = "test-key"
    """The key of who sends what is refused."""


def plain(target: str, words: str, refused: Body, taken: Body, **more: Any) -> Case:
    """A case whose bodies stand alone; what both share is the question."""
    dialect = iv.encode(
        iv.Request(target.replace(":chat", "").replace(":responses", ""), [])
    ).dialect
    dialect = "openai-chat" if ":chat" in target else "openai-responses" if ":responses" in target else dialect  # fmt: skip
    start: Body = {"messages": ASKED}
    if dialect == "gemini":
        start = {"contents": [{"role": "user", "parts": [{"text": "What is 2 + 2?"}]}]}
    elif dialect == "openai-responses":
        start = {"input": ASKED}
    elif dialect == "bedrock-converse":
        start = {"messages": [{"role": "user", "content": [{"text": "What is 2 + 2?"}]}]}
    elif dialect == "anthropic":
        start["max_tokens"] = 9000
    return Case(target, words, lambda _: {**start, **refused}, lambda _: {**start, **taken}, **more)


def looped(
    target: str, words: str, edit: Edit, *, turns: int = 1, behave: str = "", **more: Any
) -> Case:
    """A case in a tool loop: the edited history is refused, the unedited one is not."""

    def made(emulator: Emulator) -> Body:
        history: list[iv.Message] = [iv.user(QUESTION)]
        settings = {"tools": [TOOL], "reasoning": iv.Reasoning("high", show="summary"), **more}
        for _ in range(turns):
            request = iv.Request(target, history, **settings)
            response = send(emulator, target, iv.encode(request), behave=behave).response
            history += [response.message, *map(weather, response.tool_calls)]
        if turns > 2:
            history.append(iv.user("And 2 + 2?"))
        return iv.encode(iv.Request(target, history, **settings)).body

    def edited(emulator: Emulator) -> Body:
        body = copy.deepcopy(made(emulator))
        edit(body)
        return body

    return Case(target, words, edited, made)


def thinking(config: Body) -> Body:
    return {"generationConfig": {"thinkingConfig": config}}


def fields(**members: Any) -> Body:
    return {"additionalModelRequestFields": members}


def blocks(body: Body, number: int = 1) -> list[Any]:
    return body["messages"][number]["content"]


def first_call(body: Body) -> Body:
    return next(part for part in body["contents"][1]["parts"] if "functionCall" in part)


def reasoning_item(body: Body) -> Body:
    return next(item for item in body["input"] if item.get("type") == "reasoning")


SONNET, OPUS, CONVERSE = (
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-opus-5-5",
    "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
)
ENABLED = {"thinking": {"type": "enabled", "budget_tokens": 2000}}

_CLAUDE = [
    plain("anthropic/claude-opus-4-7", '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.', ENABLED, {"thinking": {"type": "adaptive"}}),
    plain(OPUS, '"thinking.type.disabled" is not supported for this model.', {"thinking": {"type": "disabled"}}, {"thinking": {"type": "adaptive"}}),
    plain("anthropic/claude-sonnet-5-5", "between_tools", {"thinking": {"type": "disabled"}}, {"thinking": {"type": "between_tools"}}),
    plain("anthropic/claude-opus-5", '"thinking.type.disabled" is not supported', {"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}}, {"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}}),
    plain(SONNET, "adaptive thinking is not supported on this model", {"thinking": {"type": "adaptive"}}, ENABLED),
    plain(SONNET, "This model does not support the effort parameter.", {"output_config": {"effort": "low"}}, {}),
    plain("anthropic/claude-opus-4-6", "output_config.effort: Input should be 'low', 'medium', 'high' or 'max'", {"output_config": {"effort": "xhigh"}}, {"output_config": {"effort": "max"}}),
    plain(SONNET, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", {"thinking": {"type": "enabled", "budget_tokens": 1023}}, {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
    plain(SONNET, "`temperature` may only be set to 1 when thinking is enabled.", {**ENABLED, "temperature": 0.5}, {**ENABLED, "temperature": 1}),
    plain(SONNET, "Thinking may not be enabled when tool_choice forces tool use.", {**ENABLED, "tool_choice": {"type": "any"}}, {"tool_choice": {"type": "any"}}),
    plain(SONNET, "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive", {"context_management": {"edits": [{"type": "clear_thinking_20251015"}]}}, {**ENABLED, "context_management": {"edits": [{"type": "clear_thinking_20251015"}]}}),
    plain(SONNET, "temperature", {"temperature": 0.5}, {}, headers={"anthropic-version": "2026-10-21"}),
    looped(SONNET, "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block", lambda body: blocks(body).pop(0)),
    looped(SONNET, "The final block in an assistant message cannot be `thinking`.", lambda body: blocks(body, 5).append(blocks(body, 5)[0]), turns=3),
    looped(SONNET, "messages.1.content.0: Invalid `signature` in `thinking` block", lambda body: blocks(body)[0].update(signature="forged"), turns=2),
    looped(SONNET, "thinking.signature: Field required", lambda body: blocks(body)[0].pop("signature")),
    looped(SONNET, "thinking.thinking: Field required", lambda body: blocks(body)[0].pop("thinking")),
    looped(SONNET, "thinking.signature.str: Input should be a valid string", lambda body: blocks(body)[0].update(signature=None)),
    looped(SONNET, "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", lambda body: blocks(body)[0].update(thinking="Edited.")),
    looped(SONNET, "cannot be modified", lambda body: blocks(body).pop(0), behave="pieces=2"),
    looped(SONNET, "Invalid `signature` in `thinking` block", lambda body: blocks(body)[0].update(data="forged"), behave="redact", turns=2),
    looped(OPUS, "The block is bound to a different conversation. Remove the block, or set thinking.block_binding.prefix_mismatch_behavior to", lambda body: body.update(system="Another."), turns=2),
    looped(OPUS, "bound to a different conversation", lambda body: body["messages"][0]["content"][0].update(text="Edited: the weather in Paris and Rome?")),
    looped(SONNET, "messages: text content blocks must be non-empty", lambda body: blocks(body).append({"type": "text", "text": ""})),
]  # fmt: skip


def _final_thinking(emulator: Emulator) -> Body:
    made = next(case for case in _CLAUDE if "Expected" in case.words).taken(emulator)
    return {**made, "messages": made["messages"][:2], "thinking": {"type": "disabled"}}


def _final_call(emulator: Emulator) -> Body:
    body = _final_thinking(emulator)
    blocks(body).pop(0)
    return body


_CLAUDE.append(Case(SONNET, "When thinking is disabled, an 'assistant' message in the final position cannot contain 'thinking'", _final_thinking, _final_call))  # fmt: skip

_GEMINI = [
    plain("gemini/gemini-3.5-flash", "You can only set only one of thinking budget and thinking level.", thinking({"thinkingLevel": "LOW", "thinkingBudget": 100}), thinking({"thinkingLevel": "LOW"})),
    plain("gemini/gemini-2.5-flash", "Thinking level is not supported for this model", thinking({"thinkingLevel": "LOW"}), thinking({"thinkingBudget": 100})),
    plain("gemini/gemini-2.5-flash", "The thinking budget (52428) is invalid.", thinking({"thinkingBudget": 52428}), thinking({"thinkingBudget": 24576})),
    plain("vertex/gemini-2.5-pro", "Unable to submit request because Thinking can't be disabled for this model. Remove 't", thinking({"thinkingBudget": 0}), thinking({"thinkingBudget": 128})),
    plain("gemini/gemini-3.7-flash", "MINIMAL", thinking({"thinkingLevel": "MINIMAL"}), thinking({"thinkingLevel": "LOW"})),
    looped("gemini/gemini-3.5-flash", "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:", lambda body: first_call(body).pop("thoughtSignature")),
    looped("gemini/gemini-3.5-flash", "Corrupted thought signature", lambda body: first_call(body).update(thoughtSignature="Zm9yZ2Vk")),
    looped("gemini/gemini-3.5-flash", "Base64 decoding failed", lambda body: first_call(body).update(thoughtSignature="no base64!")),
]  # fmt: skip

_R1 = "bedrock/us.deepseek.r1-v1:0"
_UNSIGNED = {"reasoningContent": {"reasoningText": {"text": "R"}}}
_CONVERSE = [
    plain("bedrock/us.amazon.nova-2-lite-v1:0", "Extra inputs are not permitted", fields(thinking={}), fields(reasoningConfig={"type": "disabled"})),
    plain(_R1, "User messages cannot contain reasoning content. Please remove the reasoning content and try again.", {"messages": [{"role": "user", "content": [{"text": "x"}]}, {"role": "assistant", "content": [_UNSIGNED, {"text": "y"}]}, {"role": "user", "content": [{"text": "z"}]}]}, {"messages": [{"role": "user", "content": [{"text": "x"}]}, {"role": "assistant", "content": [{"text": "y"}]}, {"role": "user", "content": [{"text": "z"}]}]}),
    plain("bedrock/qwen.qwen3-32b-v1:0", "This model doesn't support the reasoningContent.reasoningText.signature field", {"messages": [{"role": "user", "content": [{"text": "x"}]}, {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "R", "signature": ""}}}, {"text": "y"}]}, {"role": "user", "content": [{"text": "z"}]}]}, {"messages": [{"role": "user", "content": [{"text": "x"}]}, {"role": "assistant", "content": [_UNSIGNED, {"text": "y"}]}, {"role": "user", "content": [{"text": "z"}]}]}),
    plain(CONVERSE, "The text field in the ContentBlock object at messages.0.content.1 is blank.", {"messages": [{"role": "user", "content": [{"text": "x"}, {"text": ""}]}]}, {}),
    looped(CONVERSE, "reasoningContent.reasoningText.text' failed to satisfy constraint: Member must not be null", lambda body: blocks(body)[0]["reasoningContent"]["reasoningText"].pop("text")),
    looped(CONVERSE, "The model returned the following errors: messages.1.content.0: Invalid `signature` in `thinking` block", lambda body: blocks(body)[0]["reasoningContent"]["reasoningText"].update(signature="forged"), turns=2),
    looped(CONVERSE, "messages.1.content.0.thinking.signature: Field required", lambda body: blocks(body)[0]["reasoningContent"]["reasoningText"].pop("signature")),
    looped(CONVERSE, "Expected `thinking` or `redacted_thinking`", lambda body: blocks(body).pop(0)),
]  # fmt: skip

CHAT = "openai:chat/gpt-5.6"
_CHAT = [
    plain(CHAT, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", {"max_tokens": 50}, {"max_completion_tokens": 50}),
    plain(CHAT, "Unsupported parameter: 'temperature' is not supported with this model.", {"temperature": 0.2}, {"temperature": 0.2, "reasoning_effort": "none"}),
    plain(CHAT, "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.", {"tools": [FUNCTION]}, {"tools": [FUNCTION], "reasoning_effort": "none"}),
    plain("openai:chat/gpt-5.1", "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model", {"reasoning_effort": "minimal"}, {"reasoning_effort": "low"}),
    plain("deepseek/deepseek-v4-pro", "Thinking mode does not support this tool_choice", {"tool_choice": "required", "tools": [FUNCTION]}, {"tool_choice": "auto", "tools": [FUNCTION]}),
    looped("deepseek/deepseek-v4-pro", "The reasoning_content in the thinking mode must be passed back to the API.", lambda body: body["messages"][1].pop("reasoning_content")),
    looped("deepseek/deepseek-v3.2", "Missing reasoning_content field in the assistant message at message index 1", lambda body: body["messages"][1].pop("reasoning_content")),
    looped("moonshot/kimi-k3", "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1", lambda body: body["messages"][1].pop("reasoning_content")),
    plain("moonshot/kimi-k2.6", "cannot specify both 'thinking' and 'reasoning_effort'", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}, {"thinking": {"type": "enabled"}}),
    plain("alibaba/qwen3-32b", "parameter.enable_thinking must be set to false for non-streaming calls", {"enable_thinking": True}, {"enable_thinking": False}),
    looped("groq/openai/gpt-oss-120b", "property 'reasoning_content' is unsupported", lambda body: body["messages"][1].update(reasoning_content="R")),
    looped("fireworks/accounts/fireworks/models/glm-5", "Extra inputs are not permitted", lambda body: body["messages"][1].update(thinking_blocks=[])),
    plain("openrouter/anthropic/claude-sonnet-4.5", 'Only one of "reasoning.effort" and "reasoning.max_tokens" can be specified', {"reasoning": {"effort": "low", "max_tokens": 5}}, {"reasoning": {"effort": "low"}}),
    plain("openrouter/anthropic/claude-sonnet-4.5", 'Only one of "reasoning" and "reasoning_effort" may be provided', {"reasoning": {"effort": "low"}, "reasoning_effort": "high"}, {"reasoning": {"effort": "low"}, "reasoning_effort": "low"}),
    plain("snowflake/claude-opus-4-7", "Reasoning is mandatory for this endpoint and cannot be disabled.", {"reasoning": {"enabled": False}}, {}),
    looped("openrouter/anthropic/claude-sonnet-4.5", "Invalid signature in thinking block", lambda body: body["messages"][1]["reasoning_details"][0].pop("signature")),
    looped("openrouter/google/gemini-3-pro", "Corrupted thought signature", lambda body: body["messages"][1]["reasoning_details"][0].update(signature="forged")),
    looped("openrouter/openai/gpt-5.6", "Duplicate item found with id", lambda body: body["messages"][1]["reasoning_details"].append(body["messages"][1]["reasoning_details"][-1])),
    plain("mistral/mistral-small-latest", "reasoning_effort low is not supported for this model, supported values: [high, none]", {"reasoning_effort": "low"}, {"reasoning_effort": "high"}),
    plain("mistral/mistral-small-latest", "Reasoning prompt mode is not enabled for this model", {"prompt_mode": "reasoning"}, {}),
    plain("mistral/mistral-small-latest", "Extra inputs are not permitted", {"reasoning": {"effort": "high"}}, {"reasoning_effort": "high"}, status=422),
    plain("ollama/gemma3", '"gemma3" does not support thinking', {"think": True}, {"think": False}),
    plain("ollama:chat/qwen3", "invalid reasoning value: ", {"reasoning_effort": "enormous"}, {"reasoning_effort": "high"}),
    plain("ollama/qwen3", 'invalid think value: "none" (must be "high", "medium", "low", "max", true, or false)', {"think": "none"}, {"think": "max"}),
]  # fmt: skip


def _again(body: Body) -> None:
    """The same turn without what came behind its reasoning."""
    body["store"] = True
    item = reasoning_item(body)
    body["input"][:] = [body["input"][0], {**item, "id": "rs_1"}, {"role": "user", "content": "x"}]


def _without_reasoning(body: Body) -> None:
    body["input"].remove(reasoning_item(body))


def _twice(body: Body) -> None:
    """Two items of one id, as programs make them that send one for each entry of a summary."""
    item = {**reasoning_item(body), "id": "rs_1", "encrypted_content": None}
    body["input"][1:1] = [item, item]


_CALLED = [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, {"type": "function_call_output", "call_id": "c", "output": "1"}]  # fmt: skip

_RESPONSES = [
    plain("openai/gpt-5.1", "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.", {"reasoning": {"effort": "minimal"}}, {"reasoning": {"effort": "none"}}),
    plain("openai/gpt-5.6", "Your organization must be verified to generate reasoning summaries.", {"model": "gpt-5.6+unverified", "reasoning": {"summary": "auto"}}, {"model": "gpt-5.6+unverified"}),
    plain("openai/gpt-4.1", "Encrypted content is not supported with this model.", {"include": ["reasoning.encrypted_content"]}, {}),
    plain("openai/gpt-6-sol", "The 'configuration_update' item type is not supported with pro or tournament models.", {"input": [{"type": "configuration_update", "reasoning": {"effort": "low"}}, *ASKED], "reasoning": {"mode": "pro"}}, {"input": [{"type": "configuration_update", "reasoning": {"effort": "low"}}, *ASKED]}),
    looped("openai/gpt-5.6", "missing required field 'summary'", lambda body: reasoning_item(body).pop("summary")),
    looped("openai/gpt-5.6", "Expected an ID that begins with 'rs'.", lambda body: reasoning_item(body).update(id="")),
    looped("openai/gpt-5.6", "string too long. Expected a string with maximum length 64", lambda body: reasoning_item(body).update(id="rs_" + "x" * 100)),
    looped("openai/gpt-5.6", "array too long. Expected an array with maximum length 0, but got an array with length 1 instead.", lambda body: reasoning_item(body).update(content=[{"type": "reasoning_text", "text": "R"}])),
    looped("openai/gpt-5.6", "was provided without its required following item.", _again),
    looped("openai/gpt-5.6", "could not be verified. Reason: Encrypted content could not be decrypted or parsed.", lambda body: reasoning_item(body).update(encrypted_content="forged")),
    looped("openai/gpt-5.6", "item_id did not match the target item id.", lambda body: reasoning_item(body).update(id="rs_other")),
    looped("openai/gpt-5.6", "not found. Items are not persisted when 'store' is set to false. Try again with 'store' set to true, or remove this item from your input.", lambda body: reasoning_item(body).update(id="rs_lost", encrypted_content=None) )._replace(status=404),
    looped("xai/grok-4.5", "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content from a previous response.", lambda body: reasoning_item(body).update(encrypted_content="forged")),
    looped("xai/grok-4.5", "Could not decode the compaction blob. Ensure it is unmodified from the compact response.", lambda body: reasoning_item(body).pop("summary")),
    looped("openai/gpt-5.6", "organization_id did not match the target organization.", lambda body: None)._replace(key="another"),
    looped("azure/gpt-5.6", "The requested item was created under a different Azure OpenAI resource.", lambda body: None)._replace(key="another"),
    looped("openai/gpt-5.6", "was provided without its required 'reasoning' item: 'rs_", _without_reasoning, store=True),
    looped("xai/grok-4.5", "Invalid request content: Each message must have at least one content element.", _twice),
    plain("deepseek:responses/deepseek-v4-pro", "The 'reasoning_text' in the thinking mode must be passed back", {"input": [*ASKED, *_CALLED]}, {"input": [*ASKED, {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "R"}]}, *_CALLED]}),
    plain("xai/grok-4.20-0309-reasoning", "does not support parameter reasoningEffort.", {"reasoning": {"effort": "low"}}, {}),
    looped("bedrock-mantle/gpt-5.6", "encrypted content missing recognized prefix (expected 'rsn_' or 'smry_')", lambda body: reasoning_item(body).update(encrypted_content="forged")),
]  # fmt: skip

CASES = [*_CLAUDE, *_GEMINI, *_CONVERSE, *_CHAT, *_RESPONSES]
