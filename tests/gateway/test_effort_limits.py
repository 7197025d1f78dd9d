"""`at_most` holds wherever a request can ask for reasoning: at its top, in its history, and in forms that name no amount."""

import json

import pytest

from gateway.harness import BEHIND, Served
from gateway.test_effort import Program
from innervoice.gateway.config import ReasoningRule, load_config

ASKED, MORE = "Why is the sky blue?", "And at night?"
NAMES = frozenset({
    "effort", "reasoning_effort", "thinkingLevel", "thinking_level", "think", "maxReasoningEffort", "budget_tokens", "thinkingBudget", "thinking_budget", "token_budget",
})  # fmt: skip


def anthropic(*history, effort=None, **members):
    users = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "So."}, {"role": "user", "content": MORE}]  # fmt: skip
    top = {"output_config": {"effort": effort}} if effort else {}
    return "/v1/messages", {"max_tokens": 16000, "thinking": {"type": "adaptive"}, "messages": [*users, *history], **top, **members}  # fmt: skip


def responses(*history, effort=None, **members):
    top = {"reasoning": {"effort": effort}} if effort else {}
    turns = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "So."}, *history, {"role": "user", "content": MORE}]  # fmt: skip
    return "/v1/responses", {"store": False, "input": turns, **top, **members}


def chat(*history, effort=None, path="/v1/chat/completions", **members):
    top = {"reasoning_effort": effort} if effort else {}
    turns = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "So."}, *history, {"role": "user", "content": MORE}]  # fmt: skip
    return path, {"messages": turns, **top, **members}


def gemini(effort=None, **config):
    config = {"thinkingConfig": {"thinkingLevel": effort} if effort else config}
    turns = [{"role": role, "parts": [{"text": text}]} for role, text in (("user", ASKED), ("model", "So."), ("user", MORE))]  # fmt: skip
    return "/v1beta/models/m:generateContent", {"contents": turns, "generationConfig": config}


def interactions(effort=None, **config):
    config = {"thinking_level": effort} if effort else config
    return "/v1beta/interactions", {"store": False, "input": ASKED, "generation_config": config}


def converse(effort=None, **fields):
    fields = {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}} if effort else fields  # fmt: skip
    return "/model/m/converse", {"messages": [{"role": "user", "content": [{"text": ASKED}]}], "inferenceConfig": {"maxTokens": 16000}, "additionalModelRequestFields": fields}  # fmt: skip


def cohere(**members):
    return chat(path="/v2/chat", **members)


def ollama(**members):
    return chat(path="/api/chat", stream=False, **members)


def mistral(effort=None, **members):
    return chat(effort=effort, path="/mistral/v1/chat/completions", **members)


CLAUDE = {"role": "system", "content": [], "output_config": {"effort": "max"}}
CLAUDE_WORDS = {"role": "system", "content": [{"type": "text", "text": "Be brief."}], "output_config": {"effort": "max"}}  # fmt: skip
ITEM = {"type": "configuration_update", "reasoning": {"effort": "max"}}
CHAT = {"role": "system", "content": "", "configuration_update": {"reasoning": {"effort": "max"}}}
# Where an effort stands, with a top that the rule leaves alone, and with one that it changes.
PLACES = {
    "a message of Claude": [anthropic(CLAUDE, effort=top) for top in ("low", "max")],
    "a message of Claude with words": [anthropic(CLAUDE_WORDS, effort=top) for top in ("low", "max")],
    "an item of OpenAI": [responses(ITEM, effort=top) for top in ("low", "max")],
    "a message of OpenRouter": [chat(CHAT, effort=top) for top in ("low", "max")],
    "adaptive thinking": [anthropic(), anthropic(effort="max")],
    "a budget of Claude": [anthropic(thinking={"type": "enabled", "budget_tokens": budget}) for budget in (1024, 12000)],
    "any budget of Gemini": [gemini(thinkingBudget=-1), gemini(thinkingBudget=-1, includeThoughts=True)],
    "a budget of Gemini": [gemini(thinkingBudget=512), gemini(thinkingBudget=24000)],
    "a level of Gemini": [gemini("LOW"), gemini("HIGH")],
    "a level of Interactions": [interactions("low"), interactions("high")],
    "thinking of Cohere": [cohere(thinking={"type": "enabled"}), cohere(thinking={"type": "enabled", "token_budget": 12000})],
    "adaptive thinking in Converse": [converse(thinking={"type": "adaptive"}), converse("max")],
    "a setting of Nova": [converse(reasoningConfig={"type": "enabled", "maxReasoningEffort": word}) for word in ("low", "high")],
    "a word of Ollama": [ollama(think=word) for word in (True, "high")],
    "a word of Mistral": [mistral("low"), mistral("high")],
    "a switch of a chat host": [chat(thinking={"type": "enabled"}), chat(reasoning={"enabled": True})],
    "a budget of a chat host": [chat(enable_thinking=True, thinking_budget=budget) for budget in (512, 24000)],
}  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A gateway whose rule stands beside each model's name."""
    path = tmp_path_factory.mktemp("limits") / "gateway.toml"
    rows = [f'[[models]]\nname = "{name}"\nto = "{model}"\nreasoning = {{ at_most = "low" }}\n' for name, model in BEHIND.items()]  # fmt: skip
    rows.append('[upstreams.interactions]\nprovider = "gemini"\ndialect = "gemini-interactions"\n')
    path.write_text("".join(rows), "utf-8")
    return Served(load_config(path, {}))


def amounts(value):
    """What a body says of how much is reasoned, wherever it says that."""
    if isinstance(value, list):
        return set().union(*map(amounts, value))
    if not isinstance(value, dict):
        return set()
    own = {(name, json.dumps(item)) for name, item in value.items() if name in NAMES and not isinstance(item, dict)}  # fmt: skip
    return own.union(*map(amounts, value.values()))


def sent(served, shape, target):
    path, body = shape
    named = {} if "/m:" in path or "/m/" in path else {"model": target}
    reply = served.ask("POST", path.replace("/m:", f"/{target}:").replace("/m/", f"/{target}/"), {**body, **named})  # fmt: skip
    assert 200 == reply.status, reply.body
    return served.upstream.requests[-1]


@pytest.mark.parametrize("changed", [False, True], ids=["top as it is", "top changed"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("target", BEHIND)
def test_no_place_asks_for_more(served, target, place, changed):
    """Whatever asks for more than the rule allows, the model is asked for what a plain request for that level asks for, and nothing else."""
    allowed = [amounts(sent(served, shape(effort="low"), target)) for shape in (chat, anthropic)]
    asked = amounts(sent(served, PLACES[place][changed], target))

    assert asked <= set().union(*allowed)


def test_turns_that_were_written_with_more_do_not_bring_it_back(tmp_path):
    """A rule that is new, or of another name for the model, holds for the conversation that went on before: the model is asked for no more than it allows."""
    path = tmp_path / "gateway.toml"
    rows = ('reasoning = { at_most = "low" }', "")
    path.write_text("".join(f'[[models]]\nname = "sol{number}"\nto = "openai/gpt-6-sol"\n{row}\n' for number, row in enumerate(rows)), "utf-8")  # fmt: skip
    served = Served(load_config(path, {}))
    program = Program(served, "openai-responses", "sol1")
    program.ask(ASKED, "max")
    program.model = "sol0"
    program.ask(MORE, "max")

    assert {("effort", '"low"')} == amounts(served.upstream.requests[-1])


def test_a_shown_budget_stays_shown():
    """A limit takes the place of Gemini's dynamic budget, and thoughts are still asked for."""
    served = Served(load_config(None, {}).replace(reasoning=(ReasoningRule(at_most="low"),)))
    body = sent(served, gemini(thinkingBudget=-1, includeThoughts=True), BEHIND["gemini"])

    assert {"thinkingLevel": "LOW", "includeThoughts": True} == body["generationConfig"]["thinkingConfig"]  # fmt: skip
