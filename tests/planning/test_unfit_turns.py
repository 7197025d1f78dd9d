"""Blank turns of the user, and system messages between a call and its result: what is left out or moved for each model, and what is refused before it is sent."""

import itertools

import pytest

import innervoice as iv
from innervoice.emulator import Emulator, emulated_client

MODELS = (
    "anthropic/claude-opus-5-5",
    "anthropic/claude-sonnet-4-5",
    "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "bedrock/amazon.nova-pro-v1:0",
    "openai/gpt-6-sol",
    "openai/gpt-4.1",
    "deepseek/deepseek-v4-pro",
    "gemini/gemini-3.5-flash",
    "mistral/mistral-small-latest",
    "cohere/command-a-reasoning-08-2025",
    "ollama/gpt-oss",
    "vllm/Qwen/Qwen3-32B",
    "xai/grok-4.5",
    "moonshot/kimi-k3",
)
REFUSE_BLANKS = ("anthropic/", "bedrock/")
TAKE_RESULTS_ANYWHERE = ("openai/", "xai/")
NO_PREFILL = ("anthropic/claude-opus-5-5", "mistral/mistral-small-latest")
TOOL = iv.Tool("build", "Builds.", {"type": "object", "properties": {}})
SETTINGS = {"tools": (TOOL,), "max_tokens": 4000}
BLANKS = ("", " \n")


def history(blank, *, at=None, has_system=False):
    """A conversation with a call, and with what may be wrong with it."""
    call = iv.Message("assistant", (iv.ToolCall("call_abc1", "build", "{}"),))
    between = (iv.system("Be brief."),) if has_system else ()
    messages = [iv.user("Build it."), call, *between, iv.tool_result("call_abc1", "Built.")]
    messages += [iv.assistant("It is built."), iv.user("And now?"), iv.assistant("Nothing.")]
    if at == "first":
        messages.insert(0, iv.user(blank))
    elif at == "middle":
        messages.insert(4, iv.user(blank))
    messages.append(iv.user(blank if at == "last" else "Thanks."))
    return messages


CASES = [(None, True), *itertools.product(("first", "middle", "last"), (False, True))]


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize(("at", "has_system"), CASES)
@pytest.mark.parametrize("model", MODELS)
def test_what_a_host_refuses_is_found_mended_and_not_sent(model, at, has_system, blank):
    """The plan, lint, repair and the request say and do the same, and the emulator accepts what is sent."""
    messages = history(blank, at=at, has_system=has_system)
    wanted = set()
    if at and model.startswith(REFUSE_BLANKS):
        wanted.add("blank_omitted")
    if has_system and not model.startswith(TAKE_RESULTS_ANYWHERE):
        wanted.add("system_behind_results")
    ends_refused = at == "last" and model == NO_PREFILL[0]

    def found(codes):
        return {"blank_omitted", "system_behind_results"} & set(codes)

    plan = iv.plan(messages, model, **SETTINGS)
    assert wanted == found(item.note for item in plan.decisions)
    problems = {item.code: item for item in iv.lint(messages, model, **SETTINGS)}
    assert wanted == found(problems)
    assert ends_refused == ("prefill_refused" in problems)
    assert all(problems[code].severity == "refused" for code in wanted)
    places = {"blank_omitted": messages.index(iv.user(blank)) if at else None, "system_behind_results": 2 + (at == "first")}  # fmt: skip
    assert {code: places[code] for code in wanted} == {code: problems[code].message for code in wanted}  # fmt: skip

    mended = iv.repair(messages, model, **SETTINGS)
    assert set() == found(item.code for item in iv.lint(mended, model, **SETTINGS))
    said = [message.text for message in mended if message.role in ("user", "system")]
    assert ("Be brief." in said) == has_system
    assert mended == iv.repair(mended, model, **SETTINGS)
    for sent in (messages, mended):
        request = iv.Request(model, tuple(sent), **SETTINGS)
        if ends_refused:
            with pytest.raises(iv.RuleError, match="prefill_refused"):
                iv.encode(request)
            continue
        noted = found(note.code for note in iv.encode(request).notes)
        assert noted == (wanted if sent is messages else set())
        answer = emulated_client(Emulator()).ask(model, sent, **SETTINGS)
        assert answer.error is None


@pytest.mark.parametrize("model", MODELS)
def test_a_blank_text_beside_other_parts_goes_alone(model):
    messages = [iv.Message("user", (iv.Text(""), iv.Text("Hi.")))]
    plan = iv.plan(messages, model)

    is_left_out = model.startswith(REFUSE_BLANKS)
    assert is_left_out == ("blank_omitted" in {item.note for item in plan.decisions})
    assert (1 if is_left_out else 2) == len(plan.messages[0].parts)


@pytest.mark.parametrize("model", MODELS)
def test_a_late_result_at_the_end_is_accepted_or_refused_here(model):
    """Behind its call it leaves the model's turn at the end, which a model without prefill refuses."""
    messages = history("")[:3]
    messages[2:2] = [iv.assistant("It is under way."), iv.user("2 + 2?"), iv.assistant("4")]
    if model in NO_PREFILL:
        with pytest.raises(iv.RuleError, match="moved to its call"):
            iv.encode(iv.Request(model, tuple(messages), **SETTINGS))
        problems = iv.lint(messages, model, **SETTINGS)
        assert {"result_moved", "prefill_refused"} <= {item.code for item in problems}
        messages.append(iv.user("And?"))

    assert emulated_client(Emulator()).ask(model, messages, **SETTINGS).error is None
