"""Rules of the configuration for how much is reasoned: by model, owner of the key and kind of request; `/v1/explain` says which rule decided."""

import itertools
import json
from pathlib import Path

import pytest

from gateway.harness import TOOLS, Served
from gateway.test_effort import Program, items_of, settings_of
from innervoice.gateway.config import ConfigError, load_config

KEYS = {"ALICE": "alice-0123456789-0123456789", "BOB": "bob-0123456789-0123456789"}
MODELS = """
[[models]]
name = "sol"
to = "openai/gpt-6-sol"
{sol}
[[models]]
name = "claude"
to = "anthropic/claude-opus-5-5"
[[models]]
name = "older"
to = "openai/gpt-5.6"
[keys]
alice = "env:ALICE"
bob = "env:BOB"
"""
TITLE = "You are a title generator. You output ONLY a thread title."
CHECKPOINT = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary."


def configured(tmp_path, rules="", sol=""):
    path = tmp_path / "gateway.toml"
    path.write_text(rules + MODELS.format(sol=sol), "utf-8")
    return load_config(path, KEYS)


@pytest.fixture
def serve(tmp_path):
    def serve(rules="", sol=""):
        return Served(configured(tmp_path, rules, sol), environ=KEYS)

    return serve


def claude_code(model, effort="high", text="Find the bug.", *, sub_agent=False, system="You are Claude Code."):  # fmt: skip
    """The shape of Claude Code's requests: adaptive thinking, nothing shown, a session header, one more header in a sub-agent."""
    headers = {"x-claude-code-session-id": "s1", "anthropic-version": "2023-06-01"}
    headers |= {"anthropic-beta": "per-turn-control-2026-07-01"}
    headers |= {"x-claude-code-agent-id": "a1"} if sub_agent else {}
    body = {
        "model": model, "max_tokens": 32000, "system": [{"type": "text", "text": system}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}],
        "thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": effort},
        "tools": [{"name": "Bash", "description": "Runs.", "input_schema": {"type": "object"}}],
    }  # fmt: skip
    return "/v1/messages", body, headers


def codex(model, effort="high", text="Find the bug.", *, header=None):
    headers = {"session-id": "s1", "thread-id": "t1", **(header or {})}
    body = {
        "model": model, "store": False, "include": ["reasoning.encrypted_content"], "reasoning": {"effort": effort},
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You are Codex."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
        ],
        "tools": [{"type": "function", "name": "exec_command", "parameters": {"type": "object"}, "strict": False}],
    }  # fmt: skip
    return "/v1/responses", body, headers


def opencode(
    model, effort="high", text="Find the bug.", *, header=None, system="You are opencode."
):
    body = {"model": model, "reasoning_effort": effort, "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}]}  # fmt: skip
    return "/v1/chat/completions", body, {"x-session-id": "s1", **(header or {})}


def ask(served, shape, key="ALICE"):
    """What was sent upstream, and what `/v1/explain` says of the policy."""
    path, body, headers = shape
    headers = {**headers, "authorization": f"Bearer {KEYS[key]}"}
    reply = served.ask("POST", path, body, headers)
    assert 200 == reply.status, reply.body
    explained = served.ask("GET", f"/v1/explain/{reply.headers['x-innervoice-id']}", None, {"authorization": headers["authorization"]})  # fmt: skip
    return served.upstream.requests[-1], explained.json


def effort_of(body):
    holder = body.get("reasoning") or body.get("output_config") or {}
    return holder.get("effort")


KINDS = {
    "Claude Code": ("main", claude_code("sol")),
    "a sub-agent of Claude Code": ("sub-agent", claude_code("sol", sub_agent=True)),
    "a summary of Claude Code": ("summary", claude_code("sol", text="Your task is to create a detailed summary of the conversation so far.")),
    "a title of Claude Code": ("title", claude_code("sol", system="Generate a concise, technical issue title for this.")),
    "Codex": ("main", codex("sol")),
    "a sub-agent of Codex": ("sub-agent", codex("sol", header={"x-openai-subagent": "collab_spawn"})),
    "a compaction of Codex": ("summary", codex("sol", text=CHECKPOINT)),
    "the same by its header": ("summary", codex("sol", header={"x-openai-subagent": "compact"})),
    "opencode": ("main", opencode("sol")),
    "a sub-agent of opencode": ("sub-agent", opencode("sol", header={"x-parent-session-id": "s0"})),
    "a title of opencode": ("title", opencode("sol", system=TITLE)),
}  # fmt: skip


@pytest.mark.parametrize("client", KINDS)
def test_a_rule_for_one_kind_counts_for_that_kind_alone(serve, client):
    kind, shape = KINDS[client]
    served = serve('[[reasoning]]\nkinds = ["sub-agent", "title", "summary"]\nat_most = "low"\n')
    body, explained = ask(served, shape)
    assert ("high" if kind == "main" else "low") == effort_of(body)
    assert kind == explained["policy"]["kind"]
    assert ({} if kind == "main" else {"at_most": "reasoning[0]"}) == explained["policy"]["rules"]
    assert "high" == explained["policy"]["asked"]["effort"]
    assert effort_of(body) == explained["policy"]["sent"]["effort"]


MEMBERS = [
    # rule, asked, sent, the member that decided
    ('at_most = "medium"', "high", "medium", "at_most"),
    ('at_most = "medium"', "low", "low", None),
    ('at_least = "medium"', "low", "medium", "at_least"),
    ('at_least = "medium"', "high", "high", None),
    ('default = "low"', None, "low", "default"),
    ('default = "low"', "high", "high", None),
    ('at_least = "medium"\nat_most = "high"', "max", "high", "at_most"),
    ("auto = true", "high", "low", "auto"),
    ('auto = true\nat_least = "high"', "medium", "high", "at_least"),
    ('at_most = "low"', None, "low", "at_most"),
]


@pytest.mark.parametrize(("rule", "asked", "expected", "member"), MEMBERS)
@pytest.mark.parametrize(
    ("where", "model"),
    [("reasoning", "sol"), ("reasoning", "claude"), ("reasoning", "older"), ("models", "sol")],
)
def test_each_member(serve, model, rule, asked, expected, member, where):
    """In [[reasoning]] for all models, and in [[models]] for one."""
    if where == "models":
        members = ", ".join(rule.split("\n"))
        served = serve(sol=f"reasoning = {{ {members} }}")
    else:
        served = serve(f"[[reasoning]]\n{rule}\n")
    path, body, headers = opencode(model)
    body["reasoning_effort"] = asked
    if asked is None:
        del body["reasoning_effort"]
    sent, explained = ask(served, (path, body, headers))
    assert expected == effort_of(sent)
    place = "reasoning[0]" if where == "reasoning" else "models[0].reasoning"
    rules = explained["policy"]["rules"]
    assert (place if member else None) == rules.get(member)
    assert bool(member) == bool(rules)


def test_rules_by_model_and_key_and_the_first_one_counts(serve):
    served = serve(
        '[[reasoning]]\nkeys = ["bob"]\nat_most = "low"\n'
        '[[reasoning]]\nmodels = ["s*"]\nat_most = "medium"\n',
        sol='reasoning = { at_most = "high", at_least = "medium" }',
    )
    expected = {
        ("ALICE", "sol"): "medium", ("BOB", "sol"): "low", ("ALICE", "claude"): "max", ("BOB", "claude"): "low",
    }  # fmt: skip
    for (key, model), effort in expected.items():
        body, explained = ask(served, opencode(model, "max"), key)
        assert effort == effort_of(body), (key, model)
    assert {"at_most": "reasoning[0]"} == explained["policy"]["rules"]


def test_without_rules_there_is_no_policy(serve):
    _, explained = ask(serve(), opencode("sol"))
    assert explained["policy"] is None


def test_show_makes_thinking_visible_to_a_client_that_hides_it(serve):
    """Claude Code asks for hidden thinking, Codex for none."""
    served = serve('[[reasoning]]\nshow = "summary"\n')
    body, explained = ask(served, claude_code("claude"))
    assert "summarized" == body["thinking"]["display"]
    assert {"show": "reasoning[0]"} == explained["policy"]["rules"]
    reply = served.ask("POST", *claude_code("claude")[:2], {**claude_code("claude")[2], "authorization": f"Bearer {KEYS['ALICE']}"})  # fmt: skip
    assert any(block.get("thinking") for block in reply.json["content"])
    body, _ = ask(served, codex("sol"))
    assert "auto" == body["reasoning"]["summary"]
    assert "high" == body["reasoning"]["effort"]


def test_show_leaves_a_request_without_reasoning_alone(serve):
    body, _ = ask(serve('[[reasoning]]\nshow = "summary"\n'), codex("sol", "none"))
    assert "summary" not in body["reasoning"]


def test_an_effort_that_a_client_sets_in_its_history_is_limited_as_well(serve):
    """Claude Code repeats its effort in a message: the model would obey that one."""
    served = serve('[[reasoning]]\nat_most = "low"\n')
    path, body, headers = claude_code("claude", "max")
    body["messages"].append({"role": "system", "content": [], "output_config": {"effort": "max"}})
    sent, _ = ask(served, (path, body, headers))
    assert "max" not in json.dumps(sent["messages"])
    assert "low" == sent["output_config"]["effort"]


LONG = "Please look at this. " * 250
SHAPES = {
    "short": (opencode("sol", "high", "Hi?"), "low"),
    "usual": (opencode("sol", "high", "Please explain this. " * 20), "medium"),
    "long": (opencode("sol", "low", LONG), "high"),
    "with tools": (codex("sol", "low", "Find the bug."), "medium"),
    "a long task with tools": (codex("sol", "low", LONG[:2000]), "high"),
    "a title": (opencode("sol", "high", LONG, system=TITLE), "low"),
    "off": (codex("sol", "none"), "none"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_auto_goes_by_the_shape(serve, shape):
    asked, expected = SHAPES[shape]
    body, explained = ask(serve("[[reasoning]]\nauto = true\n"), asked)
    assert expected == effort_of(body)
    assert (shape == "off") == (explained["policy"]["shape"] is None)


@pytest.mark.parametrize("model", ["sol", "claude", "older"])
def test_auto_breaks_no_cache(serve, model):
    """A tool loop keeps the level of its question; later questions get their own where the model reads changes, else that of the first one."""
    served = serve("[[reasoning]]\nauto = true\n")
    headers = {"authorization": f"Bearer {KEYS['ALICE']}"}
    program = Program(served, "openai-chat", model, tools=TOOLS, headers=headers)
    answer = program.ask("What is the weather in Lisbon, then the weather in Oslo?", "high")
    while answer.tool_calls:
        program.give(answer)
        answer = program.go_on("high")
    loop = len(served.upstream.requests)
    assert loop > 2
    assert 1 == len({json.dumps(settings_of(one)) for one in served.upstream.requests})
    program.ask(LONG, "low")
    program.ask("Thanks.", "low")
    assert {0} == {*served.upstream.lost}
    assert ("'effort': 'high'" in str(items_of(served.upstream.requests[loop]))) == (model != "older")  # fmt: skip


def test_auto_gives_the_same_level_in_another_process(serve):
    levels = [effort_of(ask(serve("[[reasoning]]\nauto = true\n"), codex("sol", "max", LONG))[0]) for _ in range(2)]  # fmt: skip
    assert ["high", "high"] == levels


# ---- mistakes

MISTAKES = {
    '[[reasoning]]\nat_most = "hihg"': "reasoning[0].at_most: expected one of none, minimal, low, medium, high, xhigh, max, got 'hihg'; did you mean 'high'?",
    '[[reasoning]]\nmost = "high"': "reasoning[0].most: unknown setting; did you mean 'at_most'?",
    '[[reasoning]]\nkinds = ["subagent"]\nat_most = "low"': "reasoning[0].kinds[0]: expected one of main, sub-agent, title, summary, check, got 'subagent'; did you mean 'sub-agent'?",
    '[[reasoning]]\nkeys = ["carol"]\nat_most = "low"': "reasoning[0].keys[0]: expected one of alice, bob, got 'carol'",
    '[[reasoning]]\nat_most = "low"\nat_least = "high"': "reasoning[0].at_least: expected low or less, as in at_most, got 'high'",
    '[[reasoning]]\nat_most = "low"\ndefault = "high"': "reasoning[0].default: expected low or less, as in at_most, got 'high'",
    '[[reasoning]]\nat_least = "high"\ndefault = "low"': "reasoning[0].default: expected high or more, as in at_least, got 'low'",
    "[[reasoning]]\nauto = 1": "reasoning[0].auto: expected true or false, got 1",
    '[[reasoning]]\nmodels = "sol"\nauto = true': "reasoning[0].models: expected a list of names, got 'sol'",
    '[[reasoning]]\nmodels = ["sol"]': "reasoning[0]: expected one of at_most, at_least, default, show, auto, got none of them",
    '[[reasoning]]\nshow = "all"': "reasoning[0].show: expected one of full, summary, hidden, got 'all'",
}  # fmt: skip


@pytest.mark.parametrize("rules", MISTAKES)
def test_a_mistake_is_an_error_with_its_place(tmp_path, rules):
    with pytest.raises(ConfigError) as caught:
        configured(tmp_path, f"{rules}\n")
    assert [MISTAKES[rules]] == [problem.split(" (")[0] for problem in caught.value.problems]


def test_the_same_in_models(tmp_path):
    with pytest.raises(ConfigError) as caught:
        configured(tmp_path, sol='reasoning = { at_most = "low", at_least = "high" }')
    assert ("models[0].reasoning.at_least: expected low or less, as in at_most, got 'high'",) == caught.value.problems  # fmt: skip


def test_the_pages_name_every_member():
    text = Path(__file__).parents[2].joinpath("docs/gateway-reference.md").read_text("utf-8")
    names = ("at_most", "at_least", "default", "show", "auto", "kinds", "sub-agent")
    assert [] == list(itertools.filterfalse(text.__contains__, names))
