"""What one asks for, and what each model gets to hear."""

import pytest

import innervoice as iv


def wire(model, **settings):
    settings.setdefault("max_tokens", 10_000)
    return iv.encode(iv.Request(model, [iv.user("Hi")], **settings))


def codes(wire):
    return {note.code for note in wire.notes}


@pytest.mark.parametrize(
    ("value", "setting"),
    [
        (None, None),
        ("high", iv.Reasoning("high")),
        (8000, iv.Reasoning(budget=8000)),
        (0, iv.Reasoning("none")),
        (False, iv.Reasoning("none")),
        (True, iv.Reasoning("medium")),
        ({"effort": "low"}, iv.Reasoning("low")),
        ({"max_tokens": 2000}, iv.Reasoning(budget=2000)),
        ({"enabled": False, "effort": "high"}, iv.Reasoning("none")),
        ({"enabled": True}, iv.Reasoning("medium")),
        ({"effort": "low", "exclude": True}, iv.Reasoning("low", show="hidden")),
        ({"type": "enabled", "budget_tokens": 3000}, iv.Reasoning(budget=3000)),
        ({"type": "adaptive", "display": "summarized"}, iv.Reasoning("medium", show="summary")),
        ({"type": "disabled"}, iv.Reasoning("none")),
        (
            {"reasoning_effort": "high", "thinking": {"type": "enabled", "budget_tokens": 9}},
            iv.Reasoning("high", 9),
        ),
        ({"budget": 5, "show": "full"}, iv.Reasoning(budget=5, show="full")),
    ],
)
def test_from_any(value, setting):
    assert setting == iv.Reasoning.from_any(value)
    assert setting == iv.Request("openai/gpt-5.6", [iv.user("Hi")], reasoning=value).reasoning


@pytest.mark.parametrize("value", ["lots", -1, 2.5, {"efort": "low"}, {"effort": "lots"}, [1]])
def test_what_is_no_setting(value):
    with pytest.raises(iv.UsageError):
        iv.Reasoning.from_any(value)


def test_absent_is_not_off():
    """Nothing is sent unless something is asked; off is sent as each model wants it."""
    assert "thinking" not in wire("anthropic/claude-opus-5").body
    assert {"type": "disabled"} == wire("anthropic/claude-opus-5", reasoning=False).body["thinking"]
    assert {"type": "between_tools"} == wire("anthropic/claude-sonnet-5-5", reasoning=False).body[
        "thinking"
    ]
    assert {"type": "disabled"} == wire("deepseek/deepseek-v4-pro", reasoning=False).body[
        "thinking"
    ]
    assert {"effort": "none"} == wire("openai/gpt-5.6", reasoning="none").body["reasoning"]
    assert "none" == wire("groq/qwen/qwen3-32b", reasoning="none").body["reasoning_effort"]


@pytest.mark.parametrize(
    "model",
    [
        "anthropic/claude-opus-5-5",
        "openai/gpt-6-astra",
        "gemini/gemini-3-flash-preview",
        "moonshot/kimi-k3",
    ],
)
def test_off_that_is_impossible(model):
    """P56: reported, not silently ignored; strict refuses."""
    assert "off_impossible" in codes(wire(model, reasoning="none"))
    with pytest.raises(iv.RuleError, match="off_impossible"):
        wire(model, reasoning="none", mode="strict")


def test_claude_by_generation():
    """P54"""
    assert {"type": "adaptive"} == wire("anthropic/claude-opus-4-7", reasoning="xhigh").body[
        "thinking"
    ]
    assert {"effort": "xhigh"} == wire("anthropic/claude-opus-4-7", reasoning="xhigh").body[
        "output_config"
    ]
    old = wire("anthropic/claude-sonnet-4-5-20250929", reasoning="high")
    assert {"type": "enabled", "budget_tokens": 8000} == old.body["thinking"]
    assert "effort_as_budget" in codes(old)
    for name in ("claude-opus-5-5", "us.anthropic.claude-opus-5-5-v1:0"):
        host = "bedrock" if "us." in name else "anthropic"
        body = wire(f"{host}/{name}", reasoning="low").body
        fields = body.get("additionalModelRequestFields", body)
        assert {"type": "adaptive"} == fields["thinking"]


def test_shown():
    """P35: the switch of each provider."""
    asked = iv.Reasoning("high", show="summary")
    assert (
        "summarized"
        == wire("anthropic/claude-opus-5-5", reasoning=asked).body["thinking"]["display"]
    )
    assert "auto" == wire("openai/gpt-5.6", reasoning=asked).body["reasoning"]["summary"]
    assert wire("gemini/gemini-3-flash-preview", reasoning=asked).body["generationConfig"][
        "thinkingConfig"
    ]["includeThoughts"]
    hidden = iv.Reasoning("high", show="hidden")
    assert wire("openrouter/openai/gpt-5.6", reasoning=hidden).body["reasoning"]["exclude"]


def test_room_for_the_answer():
    """P53: a budget leaves a share of max_tokens, or max_tokens is raised; always said."""
    lowered = wire("anthropic/claude-sonnet-4-5", reasoning=9_900, max_tokens=10_000)
    assert 9_500 == lowered.body["thinking"]["budget_tokens"]
    assert "budget_lowered" in codes(lowered)
    raised = wire("anthropic/claude-sonnet-4-5", reasoning=2000, max_tokens=500)
    assert raised.body["max_tokens"] > raised.body["thinking"]["budget_tokens"] >= 1024
    assert "max_tokens_raised" in codes(raised)


@pytest.mark.parametrize(
    ("budget", "word"),
    [
        (500, "minimal"),
        (1500, "low"),
        (3500, "medium"),
        (5000, "medium"),
        (7000, "high"),
        (9000, "high"),
    ],
)
def test_a_budget_as_an_effort(budget, word):
    """The nearest share, ties upward."""
    made = wire("openai/gpt-5-mini", reasoning=budget)
    assert word == made.body["reasoning"]["effort"]
    assert "budget_as_effort" in codes(made)


def test_effort_wins_over_a_budget():
    made = wire("openai/gpt-5.6", reasoning=iv.Reasoning("low", 9000))
    assert {"effort": "low"} == made.body["reasoning"]
    assert "effort_wins" in codes(made)


def test_words_that_do_not_exist_everywhere():
    """P55"""
    made = wire("openai/gpt-5.6", reasoning="minimal")
    assert ("low", iv.Reasoning("minimal"), "low") == (
        made.body["reasoning"]["effort"],
        made.reasoning_report.requested,
        made.reasoning_report.effective.effort,
    )
    assert (
        "minimal"
        == wire("openai/gpt-5.6", reasoning="minimal", mode="passthrough").body["reasoning"][
            "effort"
        ]
    )


def test_company():
    """P58: what the model refuses is left out and said; what it takes is kept."""
    assert "temperature" not in wire("openai/gpt-5.6", reasoning="high", temperature=0.2).body
    assert 0.2 == wire("openai/gpt-5.6", reasoning="none", temperature=0.2).body["temperature"]
    assert "temperature" not in wire("anthropic/claude-opus-4-8", temperature=0.2).body
    with pytest.raises(iv.RuleError, match="temperature"):
        wire("openai/gpt-5.6", reasoning="high", temperature=0.2, mode="strict")


TOOL = iv.Tool("look", None, {"type": "object"})


def test_tools_on_chat():
    """P59: to Responses by itself; on a fixed chat dialect reasoning is switched off, and that is said."""
    assert wire("openai/gpt-5.6", reasoning="high", tools=[TOOL]).url.endswith("/responses")
    fixed = wire("openai/gpt-5.6", reasoning="high", tools=[TOOL], dialect="openai-chat")
    assert "none" == fixed.body["reasoning_effort"]
    assert "reasoning_off_for_tools" in codes(fixed)


def test_forced_tools():
    """P57: thinking goes off where it can, else the choice is relaxed; both are said."""
    off = wire("deepseek/deepseek-v4-pro", reasoning="high", tools=[TOOL], tool_choice="required")
    assert ({"type": "disabled"}, "required") == (off.body["thinking"], off.body["tool_choice"])
    relaxed = wire("anthropic/claude-opus-5-5", reasoning="high", tools=[TOOL], tool_choice="look")
    assert {"type": "auto"} == relaxed.body["tool_choice"]
    assert "tool_choice_relaxed" in codes(relaxed)


def test_limits_by_their_names():
    assert 10_000 == wire("openai/gpt-5.6").body["max_output_tokens"]
    assert 10_000 == wire("openai/gpt-5.6", dialect="openai-chat").body["max_completion_tokens"]
    assert (
        10_000 == wire("gemini/gemini-3-flash-preview").body["generationConfig"]["maxOutputTokens"]
    )
    assert 10_000 == wire("ollama/qwen3").body["options"]["num_predict"]
    filled = wire("anthropic/claude-haiku-4-5", max_tokens=None)
    assert 64_000 == filled.body["max_tokens"]
    assert "max_tokens_filled" in codes(filled)


def test_unknown_models():
    """Optimistic by their host; without any row, said and left out."""
    assert "high" == wire("openai/gpt-9", reasoning="high").body["reasoning"]["effort"]
    nothing = wire("custom/whatever", reasoning="high", base_url="http://x")
    assert "control_unknown" in codes(nothing)
    with pytest.raises(iv.RuleError):
        wire("custom/whatever", reasoning="high", mode="strict")


def test_extra_is_merged_last():
    made = wire(
        "openai/gpt-5.6", reasoning="high", extra={"reasoning": {"summary": "concise"}, "user": "u"}
    )
    assert ({"effort": "high", "summary": "concise"}, "u") == (
        made.body["reasoning"],
        made.body["user"],
    )


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: iv.encode(iv.Request("gpt-5.6", [iv.user("x")])), "provider/model"),
        (lambda: iv.encode(iv.Request("nobody/gpt", [iv.user("x")])), "nobody"),
        (lambda: iv.encode(iv.Request("nobody/gpt", [iv.user("x")], dialect="klingon")), "dialect"),
        (lambda: iv.Request("a/b", "text"), "list of messages"),
        (lambda: iv.Request("a/b", ["text"]), "not str"),
        (lambda: iv.Request("a/b", [], max_tokens=0), "max_tokens"),
        (lambda: iv.Request("a/b", [], mode="loose"), "loose"),
        (lambda: iv.Request("a/b", [], tools=[3]), "tool"),
        (
            lambda: iv.encode(
                iv.Request("openai/gpt-5.6", [iv.user("x"), iv.tool_result("c9", "y")])
            ),
            "c9",
        ),
        (lambda: iv.tool_result("", "y"), "id of its call"),
        (lambda: iv.user(3), "int"),
        (lambda: iv.decode_request({}, dialect="klingon"), "klingon"),
    ],
)
def test_bad_input(make, says):
    with pytest.raises(iv.UsageError, match=says):
        make()


def test_setting_ignored():
    """A response that reasons although off was asked, or hides what was asked for, says so."""
    off = iv.Request("deepseek/deepseek-v4-pro", [iv.user("x")], reasoning="none")
    show = iv.Request(
        "openai/gpt-5.6", [iv.user("x")], reasoning=iv.Reasoning("high", show="summary")
    )
    reasoned = {
        "choices": [
            {"message": {"content": "A", "reasoning_content": "R"}, "finish_reason": "stop"}
        ]
    }
    plain = {"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]}

    def ignored(body, request):
        return "setting_ignored" in {note.code for note in iv.decode(body, request=request).notes}

    assert [True, False, False, True] == [
        ignored(reasoned, off),
        ignored(plain, off),
        ignored(reasoned, show),
        ignored(plain, show),
    ]
    assert off.reasoning == iv.decode(plain, request=off).reasoning_report.requested
