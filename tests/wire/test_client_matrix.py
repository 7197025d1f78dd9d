"""Requests of real agents, from the dialect of each to every target: what they say arrives, and the target's API accepts it."""

import json
import re
from collections import Counter

import pytest

import innervoice as iv
from conformance.requests import accepted
from innervoice.catalog.lookup import all_model_rows
from innervoice.catalog.targets import target_of
from innervoice.wire.dialects import rules_of
from shared import SHARED, needs_shared
from wire.clients import CLIENTS, PNG
from wire.said import leaves, said_in

# Of each dialect: models that differ in what they accept. Behind "@" is a dialect that is not the host's usual one.
TARGETS = [
    "anthropic/claude-opus-5-5",
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-5.6",
    "openai/gpt-5.1@openai-chat",
    "deepseek/deepseek-v4-pro",
    "groq/openai/gpt-oss-120b",
    "openrouter/anthropic/claude-sonnet-4.6",
    "gemini/gemini-3-pro-preview",
    "gemini/gemini-2.5-flash",
    "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "mistral/mistral-small-latest",
    "cohere/command-a-reasoning-08-2025",
    "ollama/gpt-oss",
]
MARKS = re.compile(r"(?:system|asked|said|argument|result|tool|field)[-_]\d+")
TALK = re.compile(r"(?:asked|said|argument|result)-\d+")
# No dialect but these has a place for the file; that is an error, because the model would not see it.
REFUSED = {("llm", "cohere"), ("llm", "ollama")}
# What the APIs call the settings that all of them have.
NAMES = {
    **dict.fromkeys(
        (
            "max_tokens",
            "max_completion_tokens",
            "max_output_tokens",
            "maxOutputTokens",
            "maxTokens",
            "num_predict",
        ),
        "max_tokens",
    ),
    "temperature": "temperature",
    **dict.fromkeys(("top_p", "topP", "p"), "top_p"),
    **dict.fromkeys(("stop", "stop_sequences", "stopSequences"), "stop"),
    **dict.fromkeys(("top_k", "topK", "k"), "top_k"),
    **dict.fromkeys(("seed", "random_seed"), "seed"),
    "parallel_tool_calls": "parallel_tool_calls",
}


def request_for(client, target):
    model, _, dialect = target.partition("@")
    request = iv.decode_request(json.dumps(client.body), client.dialect)
    return request.replace(model=model, dialect=dialect or None)


def complaints(request, wire):
    refusals = rules_of(wire.dialect)(
        wire.body,
        target_of(request),
        {"anthropic-beta": "all,mid-conversation-output-config-2026-07-01"},
    )
    return [refusal.text for refusal in refusals]


def settings_lost(body, wire):
    """Settings of a body that are neither in what is sent nor in a note."""
    sent = {NAMES[name]: value for name, value in settings_in(wire.body)}
    noted = " ".join(f"{note.code} {note.detail}." for note in wire.notes)
    return [
        (name, value)
        for name, value in settings_in(body)
        if sent.get(NAMES[name]) != value and f"{name}" not in noted and NAMES[name] not in noted
    ]


def settings_in(body):
    """The settings that most APIs have: of the body itself, and of the object that some keep them in."""
    holders = ("generationConfig", "generation_config", "inferenceConfig", "options", "tool_choice")
    inner = [held for name in holders if isinstance(held := body.get(name), dict)]
    for name, value in [item for holder in (body, *inner) for item in holder.items()]:
        if name == "stop" and isinstance(value, str):
            yield name, [value]
        elif name == "disable_parallel_tool_use":
            yield "parallel_tool_calls", not value
        elif name in NAMES and value is not None and (name, value) != ("parallel_tool_calls", True):
            yield name, value


def in_order(body):
    """What was said, each once, in its order; the system prompt may stand elsewhere."""
    return list(dict.fromkeys(TALK.findall(json.dumps(body))))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CLIENTS)
def test_what_a_client_says_arrives(name, target):
    client = CLIENTS[name]
    request = request_for(client, target)
    if (name, target.partition("/")[0]) in REFUSED:
        with pytest.raises(iv.RuleError, match="accepts files of these kinds"):
            iv.encode(request)
        return
    wire = iv.encode(request)
    text = json.dumps(wire.body)

    assert set(MARKS.findall(json.dumps(client.body))) == set(MARKS.findall(text))
    assert in_order(client.body) == in_order(wire.body)
    assert json.dumps(client.body).count(PNG) == text.count(PNG)
    assert [] == complaints(request, wire)
    if wire.dialect != client.dialect:
        assert "thought-" not in text
        assert "own_" not in text
    assert [] == settings_lost(client.body, wire)


@pytest.mark.parametrize("name", CLIENTS)
def test_reasoning_is_read(name):
    """As far as a client says how much; one that says nothing, or only that it is on, leaves it to the model."""
    client = CLIENTS[name]
    asked = request_for(client, "x/y").reasoning or iv.Reasoning()
    if client.effort or client.budget or client.show:
        assert (client.effort, client.budget, client.show) == (
            asked.effort,
            asked.budget,
            asked.show,
        )


@pytest.mark.parametrize("name", CLIENTS)
def test_reasoning_arrives(name):
    """A target with efforts and one with budgets get what was asked for, each in its own words."""
    client = CLIENTS[name]
    if client.effort is None and client.budget is None:
        return
    responses = iv.encode(request_for(client, "openai/gpt-5.6")).body["reasoning"]["effort"]
    gemini = iv.encode(request_for(client, "gemini/gemini-2.5-flash")).body
    budget = gemini["generationConfig"]["thinkingConfig"]["thinkingBudget"]
    if client.effort:
        assert responses == client.effort
    if client.budget:
        assert budget == client.budget
    assert (budget == 0) == (responses == "none") == (client.effort == "none")


def test_every_client_of_a_dialect_goes_home_as_it_came():
    """To a host of its own dialect nothing is rewritten: what is left out there is in a note."""
    client = CLIENTS["claude code"]
    wire = iv.encode(request_for(client, "anthropic/claude-opus-5-5"))
    for name in (
        "system",
        "thinking",
        "output_config",
        "metadata",
        "context_management",
        "max_tokens",
    ):
        assert client.body[name] == wire.body[name]
    last = client.body["messages"][-1]
    assert last == wire.body["messages"][-1]


@needs_shared
def test_recorded_requests(capsys):
    """Every recorded request, to every target: nothing is lost that is not noted, and nothing is refused that can be known before."""
    counts = Counter()
    failures = []
    for name, exchange in accepted(SHARED / "corpus"):
        source = exchange["dialect"]
        wanted = said_in(exchange["request_body"], source)
        for target in TARGETS:
            model, _, dialect = target.partition("@")
            request = iv.decode_request(exchange["request_body"], source)
            request = request.replace(model=model, dialect=dialect or None)
            try:
                wire = iv.encode(request)
            except iv.RuleError as error:
                counts[source, target, error.rule] += 1
                continue
            text = "\n".join(leaves(wire.body))
            lost = [word for word in wanted if word not in text]
            lost += settings_lost(exchange["request_body"], wire)
            refused = complaints(request, wire)
            counts[source, target, "lost" if lost else "refused" if refused else "arrives"] += 1
            if lost or refused:
                failures.append((name, target, lost[:3], refused[:3]))
    with capsys.disabled():
        print(table_of(counts))  # noqa: T201 - the counts are for people
    assert [] == failures
    # A file that the target has no place for, and a history that ends with the model's own words.
    assert {"arrives", "file_refused", "prefill_refused"} == {became for _, _, became in counts}
    assert sum(count for key, count in counts.items() if key[2] != "arrives") < 10


def table_of(counts):
    """How many requests of each dialect arrive at each target."""
    sources = sorted({source for source, _, _ in counts})
    lines = [f"{'':45}" + "".join(f"{source:>18}" for source in sources)]
    for target in TARGETS:
        cells = []
        for source in sources:
            of_pair = {
                became: count
                for (one, other, became), count in counts.items()
                if (one, other) == (source, target)
            }
            cells.append(f"{of_pair.get('arrives', 0)}/{sum(of_pair.values())}")
        lines.append(f"{target:45}" + "".join(f"{cell:>18}" for cell in cells))
    return "\n" + "\n".join(lines)


# ---- every row of the catalog ------------------------------------------------------------------------

# What is known to be refused, and why it is not in our hands here.
KNOWN = {
    (
        "azure",
        "claude",
    ): "Claude at Azure is asked in Anthropic's dialect, which the caller has to name",
    (
        "deepseek",
        "openai-responses",
    ): "DeepSeek demands the reasoning of a tool loop, and takes no empty one in this dialect",
}
SWEPT = (
    "claude code",
    "after compaction",
    "codex",
    "gemini cli",
    "cline",
    "mini",
    "converse",
    "copilot",
    "aider",
)


def rows():
    """A host, a model and a dialect of every row."""
    found = set()
    for row in all_model_rows():
        name = row.match[0].rstrip("*").replace("*", "x") or "x"
        hosts = [host for host in row.hosts if host != "*"] or ["openrouter", "vllm"]
        found |= {(host, name, dialect) for host in hosts for dialect in (row.dialects or (None,))}
    return sorted(found, key=str)


@pytest.mark.parametrize("name", SWEPT)
def test_every_row_of_the_catalog(name):
    """A model may refuse tools, or a file; what is sent is accepted."""
    client = CLIENTS[name]
    failures = []
    for host, model, dialect in rows():
        request = request_for(client, f"{host}/{model}@{dialect or ''}")
        try:
            wire = iv.encode(request)
        except iv.RuleError as error:
            if error.rule not in ("reasoning_off_for_tools", "file_refused"):
                failures.append((host, model, dialect, [error.rule]))
            continue
        lost = set(MARKS.findall(json.dumps(client.body))) - set(
            MARKS.findall(json.dumps(wire.body))
        )
        found = [*lost, *complaints(request, wire)]
        is_known = (host, dialect) in KNOWN or (host, model[:6]) in KNOWN
        if found and not is_known:
            failures.append((host, model, dialect, found))
    assert [] == failures
