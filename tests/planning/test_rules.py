"""The rules refuse what the APIs refuse, and take the neighbour of it."""

import pytest

from innervoice.catalog.lookup import host_of
from innervoice.catalog.targets import target_at
from innervoice.wire.dialects import rules_of

ENABLED = {"max_tokens": 9000, "messages": []}
ADAPTIVE = {"max_tokens": 9000, "messages": []}
FUNCTION = {"type": "function", "function": {"name": "f"}}
LEVEL = "generationConfig"


def thinking(**config):
    return {"generationConfig": {"thinkingConfig": config}}


CASES = [
    # target, refused, the words of the refusal, taken
    ("anthropic/claude-opus-4-6", {"messages": []}, "max_tokens", ADAPTIVE),
    ("anthropic/claude-opus-4-7", {**ADAPTIVE, "thinking": {"type": "enabled", "budget_tokens": 2000}}, "thinking.type.enabled", {**ADAPTIVE, "thinking": {"type": "adaptive"}}),
    ("anthropic/claude-opus-5-5", {**ADAPTIVE, "thinking": {"type": "disabled"}}, "thinking.type.disabled", {**ADAPTIVE, "thinking": {"type": "adaptive"}}),
    ("anthropic/claude-sonnet-4-5", {**ENABLED, "thinking": {"type": "adaptive"}}, "adaptive thinking is not supported on this model", {**ENABLED, "thinking": {"type": "disabled"}}),
    ("anthropic/claude-sonnet-4-5", {**ENABLED, "thinking": {"type": "enabled", "budget_tokens": 500}}, "greater than or equal to 1024", {**ENABLED, "thinking": {"type": "enabled", "budget_tokens": 1024}}),
    ("anthropic/claude-sonnet-4-5", {**ENABLED, "thinking": {"type": "enabled", "budget_tokens": 9000}}, "max_tokens", {**ENABLED, "thinking": {"type": "enabled", "budget_tokens": 8999}}),
    ("anthropic/claude-opus-4-6", {**ADAPTIVE, "output_config": {"effort": "xhigh"}}, "output_config.effort", {**ADAPTIVE, "output_config": {"effort": "max"}}),
    ("anthropic/claude-opus-4-8", {**ADAPTIVE, "temperature": 0.3}, "temperature", ADAPTIVE),
    ("anthropic/claude-sonnet-4-5", {**ENABLED, "thinking": {"type": "enabled", "budget_tokens": 2000}, "tool_choice": {"type": "any"}}, "tool_choice", {**ENABLED, "tool_choice": {"type": "any"}}),
    ("anthropic/claude-opus-4-6", {**ADAPTIVE, "messages": [{"role": "assistant", "content": []}]}, "prefill", {**ADAPTIVE, "messages": [{"role": "user", "content": []}]}),
    ("openai:openai-chat/gpt-5.1", {"reasoning_effort": "minimal"}, "does not support 'minimal'", {"reasoning_effort": "none"}),
    ("openai:openai-chat/gpt-5.6", {"reasoning_effort": "max"}, "'max'", {"reasoning_effort": "xhigh"}),
    ("openai:openai-chat/gpt-5.6", {"max_tokens": 5}, "max_completion_tokens", {"max_completion_tokens": 5}),
    ("openai:openai-chat/gpt-5.6", {"tools": [FUNCTION]}, "Function tools", {"tools": [FUNCTION], "reasoning_effort": "none"}),
    ("openai:openai-chat/gpt-5.6", {"temperature": 0.2}, "temperature", {"temperature": 0.2, "reasoning_effort": "none"}),
    ("openai/gpt-6-astra", {"reasoning": {"effort": "none"}}, "'none'", {"reasoning": {"effort": "max"}}),
    ("openai/gpt-5.6", {"input": [{"type": "reasoning", "encrypted_content": "x"}]}, "missing required field 'summary'", {"input": [{"type": "reasoning", "summary": []}]}),
    ("openai/gpt-5.6", {"input": [{"type": "reasoning", "summary": [], "id": ""}]}, "Invalid 'input[0].id'", {"input": [{"type": "reasoning", "summary": [], "id": "rs_1"}, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]}),
    ("openai/gpt-5.6", {"top_p": 0.5}, "top_p", {"top_p": 0.5, "reasoning": {"effort": "none"}}),
    ("gemini/gemini-2.5-flash", thinking(thinkingLevel="LOW"), "level is not supported", thinking(thinkingBudget=0)),
    ("gemini/gemini-2.5-pro", thinking(thinkingBudget=0), "thinking budget (0)", thinking(thinkingBudget=-1)),
    ("gemini/gemini-2.5-flash", thinking(thinkingBudget=52428), "(52428)", thinking(thinkingBudget=24576)),
    ("gemini/gemini-3.7-flash", thinking(thinkingLevel="MINIMAL"), "MINIMAL", thinking(thinkingLevel="LOW")),
    ("gemini/gemini-3-flash-preview", thinking(thinkingLevel="LOW", thinkingBudget=5), "only one of", thinking(thinkingLevel="MINIMAL")),
    ("deepseek/deepseek-v4-pro", {"tool_choice": "required"}, "does not support this tool_choice", {"tool_choice": "required", "thinking": {"type": "disabled"}}),
    ("zai/glm-5.3", {"thinking": {"type": "disabled"}}, "cannot be disabled", {"thinking": {"type": "enabled"}}),
    ("alibaba/qwen3-max", {"thinking_budget": 10**7}, "thinking_budget", {"thinking_budget": 1000}),
    ("groq/openai/gpt-oss-120b", {"reasoning_effort": "none"}, "'none'", {"reasoning_effort": "low"}),
    ("openrouter/x/y", {"reasoning": {"effort": "low", "max_tokens": 5}}, "Only one of", {"reasoning": {"effort": "low"}}),
    ("mistral/mistral-small-latest", {"reasoning_effort": "low"}, "reasoning_effort low is not supported for this model, supported values: [high, none]", {"reasoning_effort": "high"}),
    ("mistral/mistral-small-latest", {"messages": [{"role": "assistant", "reasoning_content": "x"}]}, "Extra inputs", {"messages": [{"role": "user", "content": "x"}]}),
    ("cohere/command-a-reasoning-08-2025", {"thinking": {"type": "adaptive"}}, "one of enabled, disabled", {"thinking": {"type": "enabled"}}),
    ("cohere/command-a-reasoning-08-2025", {"thinking": {"type": "enabled", "token_budget": 0}}, "positive", {"thinking": {"type": "enabled", "token_budget": 1}}),
    ("cohere/command-a-plus-05-2026", {"messages": [{"role": "assistant", "tool_plan": "x"}]}, "tool_plan", {"messages": [{"role": "assistant", "content": "x"}]}),
    ("ollama/qwen3", {"think": "none"}, 'invalid think value: "none"', {"think": "max"}),
    ("bedrock/us.amazon.nova-2-lite-v1:0", {"additionalModelRequestFields": {"thinking": {}}}, "Extra inputs", {"additionalModelRequestFields": {"reasoningConfig": {"type": "disabled"}}}),
    ("bedrock/us.anthropic.claude-sonnet-4-5-v1:0", {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 9}}}, "1024", {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2000}}}),
    ("bedrock/us.anthropic.claude-sonnet-4-5-v1:0", {"messages": [{"role": "user", "content": [{"text": ""}]}]}, "is blank", {"messages": [{"role": "user", "content": [{"text": "x"}]}]}),
]  # fmt: skip


@pytest.mark.parametrize(("target", "refused", "says", "taken"), CASES)
def test_rule(target, refused, says, taken):
    provider, _, model = target.partition("/")
    host, _, dialect = provider.partition(":")
    dialect = dialect or host_of(host).dialect
    target = target_at(host, model, dialect)
    if dialect == "openai-chat":
        refused, taken = ({"messages": [], **body} for body in (refused, taken))
    said = [refusal.text for refusal in rules_of(dialect)(refused, target)]

    assert any(says in text for text in said), said
    assert [] == list(rules_of(dialect)(taken, target))
