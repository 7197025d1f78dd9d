"""Servers of one's own: budgets in their own members, and the template arguments without which sent reasoning does not count."""

import pytest

import innervoice as iv
from innervoice.catalog.lookup import all_hosts
from innervoice.planning.encode import decode_request

BUDGETS = {
    "vllm/some-model": {"thinking_token_budget": 2000},
    "sglang/some-model": {"custom_params": {"thinking_budget": 2000}},
    "llamacpp/some-model": {"reasoning_budget_tokens": 2000},
}
SWITCHES = {
    "Qwen/Qwen3.6-35B-A3B": {"preserve_thinking": True},
    "zai-org/GLM-4.7": {"clear_thinking": False},
    "zai-org/GLM-5.1": {"clear_thinking": False},
    "deepseek-ai/DeepSeek-V4-Flash": {"drop_thinking": False},
    "nvidia/nemotron-3-nano": {"truncate_history_thinking": False},
}
SERVERS = [host.id for host in all_hosts() if host.template_arguments]
HISTORY = (
    iv.user("Why?"),
    iv.assistant([iv.Thinking("Because."), iv.Text("So.")]),
    iv.user("And?"),
)


def wire(model, **fields):
    return iv.encode(iv.Request(model, HISTORY, base_url="http://127.0.0.1:1/v1", **fields))


@pytest.mark.parametrize("model", BUDGETS)
def test_a_budget_is_the_servers_own_member(model):
    """Seen failing: 2,000 tokens became the effort low."""
    sent = wire(model, reasoning=iv.Reasoning(budget=2000))
    for name, value in BUDGETS[model].items():
        assert value == sent.body[name]
    assert "reasoning_effort" not in sent.body
    assert "budget_as_effort" not in {note.code for note in sent.notes}
    assert 2000 == sent.reasoning_report.effective.budget


@pytest.mark.parametrize("member", [*BUDGETS.values(), {"thinking_budget_tokens": 2000}], ids=str)
def test_a_clients_budget_is_read_wherever_it_stands(member):
    """Seen failing: Gemini got 16,000 tokens for a budget of 2,000."""
    body = {"model": "m", "messages": [{"role": "user", "content": "Why?"}], **member}
    request = decode_request(body, "openai-chat")
    assert 2000 == request.reasoning.budget
    sent = iv.encode(request.replace(model="gemini/gemini-2.5-flash", dialect=None))
    assert 2000 == sent.body["generationConfig"]["thinkingConfig"]["thinkingBudget"]


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("model", SWITCHES)
@pytest.mark.parametrize("setting", [None, "high", iv.Reasoning(budget=2000)], ids=str)
def test_sent_reasoning_counts(server, model, setting):
    """Seen failing: only enable_thinking was sent, and the template dropped what was restored."""
    sent = wire(f"{server}/{model}", reasoning=setting)
    assert SWITCHES[model].items() <= sent.body["chat_template_kwargs"].items()


@pytest.mark.parametrize("server", SERVERS)
def test_no_switch_where_nothing_is_thought(server):
    sent = wire(f"{server}/Qwen/Qwen3.6-35B-A3B", reasoning="none")
    assert "preserve_thinking" not in sent.body.get("chat_template_kwargs", {})


def test_a_callers_own_argument_counts():
    extra = {"chat_template_kwargs": {"preserve_thinking": False, "more": 1}}
    sent = wire("vllm/Qwen/Qwen3.6-35B-A3B", reasoning="high", extra=extra)
    assert {"preserve_thinking": False, "more": 1}.items() <= sent.body[
        "chat_template_kwargs"
    ].items()


@pytest.mark.parametrize("model", ["ollama/qwen3.6", "openrouter/qwen/qwen3.6-27b"])
def test_no_switch_where_nobody_passes_it_on(model):
    sent = iv.encode(iv.Request(model, HISTORY, reasoning="high"))
    assert "chat_template_kwargs" not in sent.body
