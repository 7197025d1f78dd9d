"""What goes where, and why: plan, lint, repair, trim, recover."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.history.recover import recover
from wire.fixtures import ANSWERS
from wire.test_answers import body, hints

TARGETS = [
    "anthropic/claude-opus-4-6",
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-5.6",
    "gemini/gemini-3-flash-preview",
    "deepseek/deepseek-v4-pro",
    "mistral/mistral-small-latest",
    "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "groq/openai/gpt-oss-120b",
]


def turn(name):
    answer = next(answer for answer in ANSWERS if answer.name == name)
    return iv.decode(body(answer), **hints(answer)).message


def loop(message):
    return [
        iv.user("Weather?"),
        message,
        *(iv.tool_result(call.id, "rain") for call in message.tool_calls),
    ]


def test_decisions_name_part_action_rule_and_reason():
    planned = iv.plan(loop(turn("anthropic")), "openai/gpt-5.6")

    assert [("omitted", "H2")] * 3 == [(item.action, item.rule) for item in planned.decisions]
    assert [0, 1, 2] == [item.part for item in planned.decisions]
    assert "anthropic/claude-opus-4-6" in planned.decisions[0].why
    assert "omitted" in str(planned)


def test_home_keeps_all():
    history = loop(turn("anthropic"))
    planned = iv.plan(history, "anthropic/claude-opus-4-6")

    assert {"kept"} == {item.action for item in planned.decisions}
    assert tuple(history) == planned.messages


def test_gemini_skip_value():
    """H4, P03: only on the first call of a step of the current turn that nobody signed."""
    calls = iv.Message("assistant", (iv.ToolCall("a", "f", "{}"), iv.ToolCall("b", "g", "{}")))
    results = [iv.tool_result("a", "1"), iv.tool_result("b", "2")]
    now = iv.encode(iv.Request("gemini/gemini-3-flash-preview", [iv.user("x"), calls, *results]))
    parts = now.body["contents"][1]["parts"]
    assert ["skip_thought_signature_validator", None] == [
        part.get("thoughtSignature") for part in parts
    ]
    assert "signature_filled" in {note.code for note in now.notes}

    past = iv.encode(
        iv.Request("gemini/gemini-3-flash-preview", [iv.user("x"), calls, *results, iv.user("y")])
    )
    older = iv.encode(iv.Request("gemini/gemini-2.5-flash", [iv.user("x"), calls, *results]))
    for wire in (past, older):
        assert "thoughtSignature" not in json.dumps(wire.body)

    signed = loop(turn("gemini"))
    assert "skip" not in json.dumps(
        iv.encode(iv.Request("gemini/gemini-3-flash-preview", signed)).body
    )


@pytest.mark.parametrize(
    ("target", "pattern"),
    [
        ("mistral/mistral-small-latest", r"^[A-Za-z0-9]{9}$"),
        ("anthropic/claude-opus-4-6", r"^[A-Za-z0-9_-]{1,64}$"),
    ],
)
def test_ids_fit(target, pattern):
    """H6, P04"""
    import re

    name = "call.with spaces/" + "x" * 900
    history = [
        iv.user("x"),
        iv.Message("assistant", (iv.ToolCall(name, "f", "{}"),)),
        iv.tool_result(name, "1"),
    ]
    text = json.dumps(iv.encode(iv.Request(target, history, max_tokens=9)).body)
    ids = re.findall(r'"(?:id|tool_call_id|tool_use_id)": "([^"]*)"', text)
    assert 2 == len(ids)
    assert 1 == len(set(ids))
    assert re.match(pattern, ids[0])
    assert name == history[1].parts[0].id


def test_a_loop_begun_elsewhere():
    """H9: a Claude with a budget gets thinking off for that request, and it is said."""
    wire = iv.encode(
        iv.Request(
            "anthropic/claude-sonnet-4-5",
            loop(turn("chat reasoning_content")),
            reasoning="high",
            max_tokens=9000,
        )
    )
    assert "enabled" not in json.dumps(wire.body.get("thinking", {}))
    assert "reasoning_off_for_loop" in {note.code for note in wire.notes}


def test_claude_never_ends_in_thinking():
    message = iv.decode(
        {
            "type": "message",
            "id": "m",
            "content": [{"type": "thinking", "thinking": "R", "signature": "s"}],
            "stop_reason": "max_tokens",
        },
        provider="anthropic",
        model="claude-opus-4-6",
    ).message
    wire = iv.encode(
        iv.Request(
            "anthropic/claude-opus-4-6", [iv.user("x"), message, iv.user("go on")], max_tokens=9
        )
    )
    assert ["user"] == [turn["role"] for turn in wire.body["messages"]]


class TestLint:
    def test_nothing_at_home(self):
        assert [] == iv.lint(loop(turn("anthropic")), "anthropic/claude-opus-4-6")

    def test_foreign_seals(self):
        problems = iv.lint(loop(turn("anthropic")), "bedrock/us.anthropic.claude-sonnet-4-5-v1:0")
        assert {"thinking_omitted"} <= {problem.code for problem in problems}
        assert all("message 1" in str(problem) for problem in problems)

    def test_structure(self):
        history = [
            iv.user("x"),
            iv.Message("assistant", (iv.ToolCall("a", "f"),)),
            iv.user("y"),
            iv.tool_result("zz", "1"),
        ]
        assert ["call_without_result", "result_without_call"] == [
            problem.code for problem in iv.lint(history, "openai/gpt-5.6")
        ]

    def test_prefill(self):
        assert ["prefill_refused"] == [
            problem.code
            for problem in iv.lint([iv.user("x"), iv.assistant("So")], "anthropic/claude-opus-5")
        ]


def test_repair():
    """What lint found is gone, the input is as it was, and a second repair changes nothing."""
    history = [
        iv.user("x"),
        iv.Message("assistant", (iv.ToolCall("a", "f"),)),
        iv.user("y"),
        iv.tool_result("zz", "1"),
        turn("anthropic"),
    ]
    before = list(history)
    for target in TARGETS:
        repaired = iv.repair(history, target)
        left = [
            problem for problem in iv.lint(repaired, target) if problem.code != "prefill_refused"
        ]
        assert [] == left, target
        assert repaired == iv.repair(repaired, target)
    assert before == history


def test_repair_of_what_needs_none():
    history = loop(turn("anthropic"))
    assert history == iv.repair(history, "anthropic/claude-opus-4-6")


TALK = [
    iv.system("s"),
    iv.user("1"),
    turn("anthropic"),
    iv.tool_result("call_9", "r"),
    iv.user("2"),
    iv.assistant("b"),
    iv.user("3"),
    iv.assistant("c"),
]


class TestTrim:
    @pytest.mark.parametrize(("keep", "first"), [(9, "1"), (3, "1"), (2, "2"), (1, "3")])
    def test_keep(self, keep, first):
        kept = iv.trim(TALK, keep)
        assert ("system", first) == (kept[0].role, kept[1].text)
        assert TALK[-1] == kept[-1]

    def test_none(self):
        assert [iv.system("s")] == iv.trim(TALK, 0)
        with pytest.raises(iv.UsageError, match="-1"):
            iv.trim(TALK, -1)


class TestRecover:
    def request(self, **more):
        return iv.Request(
            "anthropic/claude-opus-4-6",
            [*loop(turn("anthropic")), iv.user("a"), turn("anthropic"), iv.user("b")],
            max_tokens=9,
            **more,
        )

    def recovered(self, request, refusal):
        return recover(request, refusal)

    def thinking_in(self, request):
        return [
            sum(part.type == "thinking" for part in message.parts)
            for message in request.messages
            if message.role == "assistant"
        ]

    @pytest.mark.parametrize(
        ("refusal", "left"),
        [
            ("messages.3.content.0: Invalid `signature` in `thinking` block", [3, 0]),
            ("messages.1.content.0: Invalid `signature` in `thinking` block", [0, 3]),
            (
                "messages.1.content.0: Invalid `signature` ... The block is bound to a different conversation.",
                [0, 0],
            ),
            ("The encrypted content for item rs_1 could not be verified.", [0, 0]),
        ],
    )
    def test_smallest_removal(self, refusal, left):
        assert left == self.thinking_in(self.recovered(self.request(), refusal))

    @pytest.mark.parametrize(
        "refusal",
        [
            "`thinking` blocks in the latest assistant message cannot be modified",
            "max_tokens: Field required",
            "",
        ],
    )
    def test_nothing_to_do(self, refusal):
        assert None is self.recovered(self.request(), refusal)

    def test_once_and_not_in_strict(self):
        refusal = "messages.1.content.0: Invalid `signature` in `thinking` block"
        once = self.recovered(self.request(), refusal)
        assert None is self.recovered(once, refusal)
        assert None is self.recovered(self.request(mode="strict"), refusal)


turns = st.sampled_from(
    [turn(answer.name) for answer in ANSWERS]
    + [iv.assistant("plain"), iv.Message("assistant", (iv.ToolCall("x y", "f", "{}"),))]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(turns, st.booleans()), min_size=1, max_size=5), st.sampled_from(TARGETS))
def test_any_history_can_be_planned_repaired_and_sent(steps, target):
    """Whoever answered and whatever was left open: repaired it encodes, lints clean, and seals went home only."""
    history = [iv.user("start")]
    for message, answered in steps:
        history.append(message)
        if answered:
            history += [iv.tool_result(call.id, "r") for call in message.tool_calls]
        history.append(iv.user("next"))
    repaired = iv.repair(history, target)
    wire = iv.encode(iv.Request(target, repaired, max_tokens=9000, reasoning="high"))

    assert repaired == iv.repair(repaired, target)
    assert [] == iv.lint(repaired, target)
    text = json.dumps(wire.body)
    for answer in ANSWERS:
        if not target.startswith(f"{answer.provider}/"):
            assert not any(seal in text for seal in answer.seals)


class TestPrefix:
    """H7, P11: what changed before a block is said, and which blocks are dead of it."""

    MODEL = "anthropic/claude-opus-5-5"

    def history(self, **settings):
        from emulator.talk import converse
        from innervoice.emulator import Emulator

        messages: list[iv.Message] = []
        emulator = Emulator()
        converse(emulator, self.MODEL, messages, "What is 2 + 2?", **settings)
        converse(emulator, self.MODEL, messages, "What is 3 + 3?", **settings)
        return [*messages, iv.user("And now?")]

    def lint(self, messages, **settings):
        from emulator.talk import TOOL

        settings = {"tools": [TOOL], **settings}
        problems = iv.lint(messages, self.MODEL, **settings)
        return [(problem.code, problem.message, problem.why) for problem in problems]

    def test_nothing_changed(self):
        assert [] == self.lint(self.history(system="S"), system="S")

    def test_the_system_prompt_changed(self):
        found = self.lint(self.history(system="S"), system="T")
        why = "the system prompt changed"
        assert [("prefix_changed", 1, why), ("prefix_changed", 3, why)] == found

    def test_the_tools_changed(self):
        found = self.lint(self.history(), tools=[])
        assert [1, 3] == [number for _, number, _ in found]
        assert all("the tools" in why for *_, why in found)

    def test_a_message_was_edited(self):
        messages = self.history()
        messages[2] = iv.user("What is 3 + 4?")
        assert [("prefix_changed", 3, "a message before it was edited")] == self.lint(messages)

    def test_messages_were_forgotten(self):
        found = self.lint(self.history()[2:])
        assert [("prefix_changed", 1)] == [(code, number) for code, number, _ in found]
        assert "1 parts are before it, but there were 4 when it was generated" == found[0][2]

    def test_a_change_that_is_undone(self):
        messages = self.history()
        edited = [*messages[:2], iv.user("x"), *messages[3:]]
        assert self.lint(edited)
        assert [] == self.lint(messages)


class TestServerHeldState:
    """H10: only what is new is sent."""

    def test_only_what_is_new(self):
        history = [*loop(turn("responses")), iv.user("go on")]
        request = iv.Request("openai/gpt-5.6", history, extra={"previous_response_id": "resp_1"})
        items = iv.encode(request).body["input"]
        assert {"function_call_output", None} == {item.get("type") for item in items}
        assert "reasoning" not in json.dumps(items)

    def test_lint_says_what_it_cannot_see(self):
        history = [*loop(turn("responses")), iv.user("go on")]
        extra = {"previous_response_id": "resp_1"}
        problems = iv.lint(history, "openai/gpt-5.6", extra=extra)
        assert [("held_by_server", "degraded")] == [(p.code, p.severity) for p in problems]


class TestCache:
    def test_what_holds(self):
        history = loop(turn("anthropic"))
        model = "anthropic/claude-opus-4-6"
        first = iv.plan(history, model)
        more = iv.plan([*history, iv.user("more")], model, last=first)
        assert more.cache.message is None
        edited = iv.plan([iv.user("Edited"), *history[1:]], model, last=first)
        assert (0, "it was edited") == (edited.cache.message, edited.cache.why)
        told = iv.plan(history, model, last=first, system="New.")
        assert "the system prompt changed" == told.cache.why
        elsewhere = iv.plan(history, "openai/gpt-5.6", last=first)
        assert "another model" in elsewhere.cache.why
        assert "cache" in str(edited)

    def test_reasoning_that_is_no_longer_sent(self):
        history = [*loop(turn("anthropic")), iv.user("more")]
        model = "anthropic/claude-opus-4-6"
        first = iv.plan(history, model)
        off = iv.plan(history, model, last=first, reasoning="none")
        assert (0, 0) == (off.cache.message, off.cache.byte)
        assert "the reasoning setting changed from default to off" in off.cache.why
        assert "message 1: its reasoning: thinking is off" in off.cache.why


def test_calls_go_last():
    """DeepSeek's Responses refuse anything between the calls of a turn and their results."""
    mixed = iv.Message(
        "assistant",
        (iv.ToolCall("a", "f", "{}"), iv.Text("Looking."), iv.ToolCall("b", "g", "{}")),
    )
    history = [iv.user("x"), mixed, iv.tool_result("a", "1"), iv.tool_result("b", "2")]
    request = iv.Request("deepseek/deepseek-v4-pro", history, dialect="openai-responses")
    wire = iv.encode(request)
    kinds = [item.get("type", "message") for item in wire.body["input"]]
    assert ["message", "message", *["function_call"] * 2, *["function_call_output"] * 2] == kinds
    assert "calls_moved" in {note.code for note in wire.notes}


def test_unsigned_thinking_is_never_sent():
    """P13: a block without a signature, whatever cut it off."""
    message = iv.decode(
        {
            "type": "message",
            "id": "m",
            "content": [
                {"type": "thinking", "thinking": "R", "signature": ""},
                {"type": "text", "text": "A"},
            ],
            "stop_reason": "end_turn",
        },
        provider="anthropic",
        model="claude-opus-4-6",
    ).message
    wire = iv.encode(iv.Request("anthropic/claude-opus-4-6", [iv.user("x"), message, iv.user("y")]))
    assert [{"type": "text", "text": "A"}] == wire.body["messages"][1]["content"]
    assert "thinking_omitted" in {note.code for note in wire.notes}


def test_a_refusal_names_turns_as_the_wire_has_them():
    """A turn that was never sent does not count."""
    signed = turn("anthropic")
    lost = iv.Message("assistant", (iv.Thinking("cut", complete=False),))
    history = [iv.user("a"), lost, iv.user("b"), signed, *(iv.tool_result(c.id, "1") for c in signed.tool_calls)]  # fmt: skip
    request = iv.Request("anthropic/claude-opus-4-6", history)
    refusal = "messages.1.content.0: Invalid `signature` in `thinking` block"
    reduced = recover(request, refusal)
    assert reduced.messages[1] == lost
    assert not any(isinstance(part, iv.Thinking) for part in reduced.messages[3].parts)
