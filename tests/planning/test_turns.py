"""What becomes of whole turns: rules H3, H4, H5, H9 and H10."""

import json

import pytest

import innervoice as iv
from planning.turns import calling, claude, decided, field, item, loop, talk, thought, turn


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


class TestServerHeldState:
    """H10: only what is new is sent."""

    def test_only_what_is_new(self):
        history = [*loop(turn("responses")), iv.user("go on")]
        request = iv.Request("openai/gpt-5.6", history, extra={"previous_response_id": "resp_1"})
        items = iv.encode(request).body["input"]
        assert {"function_call_output", None} == {item.get("type") for item in items}
        assert "reasoning" not in json.dumps(items)

    def test_a_result_whose_call_the_server_has(self):
        for messages, extra in (
            ([iv.tool_result("call_1", "1")], {"previous_response_id": "resp_1"}),
            (
                iv.decode_request(
                    {
                        "input": [
                            {"type": "item_reference", "id": "fc_1"},
                            {"type": "function_call_output", "call_id": "call_1", "output": "1"},
                        ]
                    },
                    "openai-responses",
                ).messages,
                {},
            ),
        ):
            body = iv.encode(iv.Request("openai/gpt-5.6", messages, extra=extra)).body
            assert body["input"][-1]["call_id"] == "call_1"
        with pytest.raises(iv.UsageError, match="no earlier message"):
            iv.encode(iv.Request("openai/gpt-5.6", [iv.tool_result("call_1", "1")]))

    def test_lint_says_what_it_cannot_see(self):
        history = [*loop(turn("responses")), iv.user("go on")]
        extra = {"previous_response_id": "resp_1"}
        problems = iv.lint(history, "openai/gpt-5.6", extra=extra)
        assert [("held_by_server", "degraded")] == [(p.code, p.severity) for p in problems]


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


DEEPSEEK = "deepseek/deepseek-v4-pro"
GEMINI = "gemini/gemini-3-flash-preview"
OPUS = "anthropic/claude-opus-4-6"
TEXT = iv.Text("A")


class TestField:
    """H3: a host that wants the field on a turn with calls gets it, empty where it is unknown."""

    FILLED = (1, None, "thinking", "filled", "H3", "reasoning_filled")

    def test_filled(self):
        assert [self.FILLED] == decided(calling(), DEEPSEEK)
        first = iv.plan(calling(), DEEPSEEK).messages[1].parts[0]
        assert ("", "hidden", {"reasoning_content": ""}) == (first.text, first.form, first.origin.block)  # fmt: skip
        body = iv.encode(iv.Request(DEEPSEEK, calling())).body
        assert "" == body["messages"][1]["reasoning_content"]

    def test_inline_reasoning_is_not_the_field(self):
        inline = iv.Thinking("R", origin=iv.Origin(markup=((0, "<think>"),)))
        assert self.FILLED in decided(calling(inline), DEEPSEEK)

    def test_not_filled(self):
        part = field("deepseek", "deepseek-v4-pro")
        assert ["kept"] == [row[3] for row in decided(calling(part), DEEPSEEK)]
        assert [] == decided(talk(TEXT), DEEPSEEK)
        assert [] == decided(calling(), DEEPSEEK, reasoning="none")
        assert [] == decided(calling(), "groq/openai/gpt-oss-120b")
        assert [] == decided(calling(), DEEPSEEK, dialect="openai-responses")


class TestLooseEnds:
    """Claude's turns must not end in thinking, and a reasoning item needs what it produced."""

    def test_claude(self):
        history = talk(claude(), TEXT, claude(), claude())
        assert (1, None, "thinking", "omitted", "H1", "thinking_omitted") in decided(history, OPUS)
        assert ["thinking", "text"] == [
            part.type for part in iv.plan(history, OPUS).messages[1].parts
        ]

    def test_responses(self):
        history = talk(TEXT, item(encrypted_content="E"))
        assert (1, None, "thinking", "omitted", "H5", "thinking_omitted") in decided(history, "openai/gpt-5.6")  # fmt: skip

    def test_others_may(self):
        part = field("deepseek", "deepseek-v4-pro")
        assert ["kept"] == [row[3] for row in decided(talk(TEXT, part), DEEPSEEK)]


class TestLostIds:
    """H5: what no longer follows its reasoning goes without its id, where the host has stored items."""

    def history(self, *before, led_by="rs_1"):
        block = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
        origin = iv.Origin(dialect="openai-responses", provider="openai", model="gpt-5.6", block=block, item="msg_1", led_by=led_by)  # fmt: skip
        return talk(*before, iv.Text("A", origin=origin))

    def ids(self, history, **settings):
        parts = iv.plan(history, "openai/gpt-5.6", **settings).messages[1].parts
        return [part.origin.block.get("id") for part in parts]

    def test_lost(self):
        dropped = (1, None, "message", "converted", "H5", "item_id_dropped")
        assert [dropped] == decided(self.history(), "openai/gpt-5.6", store=True)
        assert [None] == self.ids(self.history(), store=True)
        other = item(encrypted_content="E").replace(origin=item().origin.replace(item="rs_2"))
        assert ["rs_1", None] == self.ids(self.history(other), store=True)

    def test_kept(self):
        assert ["rs_1", "msg_1"] == self.ids(self.history(item(encrypted_content="E")), store=True)
        assert ["msg_1"] == self.ids(self.history(led_by=None), store=True)
        assert ["msg_1"] == self.ids(self.history())


class TestCallsLast:
    MIXED = (iv.ToolCall("a", "f", "{}"), TEXT)
    MOVED = (1, None, "tool_call", "converted", "H5", "calls_moved")

    def history(self, *parts):
        return [iv.user("x"), iv.Message("assistant", parts), iv.tool_result("a", "1")]

    def test_moved(self):
        assert [self.MOVED] == decided(self.history(*self.MIXED), DEEPSEEK, dialect="openai-responses")  # fmt: skip

    def test_not_moved(self):
        assert [] == decided(self.history(*reversed(self.MIXED)), DEEPSEEK, dialect="openai-responses")  # fmt: skip
        for target in ("openai/gpt-5.6", "xai/grok-4.5"):
            parts = iv.plan(self.history(*self.MIXED), target).messages[1].parts
            assert self.MIXED == parts
        assert self.MOVED not in decided(self.history(*self.MIXED), DEEPSEEK)


class TestThinkingOff:
    """H1: Claude refuses thinking in its latest turn when thinking is off."""

    def test_the_latest_turn_alone(self):
        history = [*talk(claude(), TEXT), *talk(claude(), TEXT)[1:]]
        planned = iv.plan(history, OPUS, reasoning="none")
        assert ["thinking", "text"] == [part.type for part in planned.messages[1].parts]
        assert ["text"] == [part.type for part in planned.messages[3].parts]
        assert (3, None, "thinking", "omitted", "H1", "thinking_omitted") in decided(history, OPUS, reasoning="none")  # fmt: skip

    def test_nothing_to_remove(self):
        assert [] == decided(talk(TEXT), OPUS, reasoning="none")
        assert [] == decided([iv.user("x"), iv.tool_result("a", "1")], OPUS, reasoning="none")

    def test_others(self):
        part = item(encrypted_content="E")
        assert ["kept"] == [row[3] for row in decided(talk(part, TEXT), "openai/gpt-5.6", reasoning="low")]  # fmt: skip
        assert ["kept"] == [row[3] for row in decided(talk(claude(), TEXT), OPUS, reasoning="high")]
        part = thought("gemini", "gemini-2.5-flash", "gemini", {"text": "R", "thought": True})
        rows = decided(talk(part, TEXT), "gemini/gemini-2.5-flash", reasoning="none")
        assert ["kept"] == [row[3] for row in rows]


class TestSkipValues:
    """H4: the skip value on the first call of a step of the current turn that nobody signed."""

    FILLED = (1, 0, "tool_call", "filled", "H4", "signature_filled")

    def test_filled(self):
        assert [self.FILLED] == decided(calling(), GEMINI)
        assert [(1, 1, *self.FILLED[2:])] == decided(calling(TEXT), GEMINI)
        call = iv.plan(calling(), GEMINI).messages[1].parts[0]
        assert ("thoughtSignature",) == call.origin.seals
        assert {"id": "a", "name": "f", "args": {}} == call.origin.block["functionCall"]

    def test_a_block_keeps_its_members(self):
        block = {"functionCall": {"name": "f", "args": {}}, "more": 1}
        origin = iv.Origin(dialect="gemini", provider="gemini", model="gemini-3-flash-preview", block=block)  # fmt: skip
        turn = iv.Message("assistant", (iv.ToolCall("a", "f", "{}", origin=origin),))
        history = [iv.user("x"), turn, iv.tool_result("a", "1")]
        made = iv.plan(history, GEMINI).messages[1].parts[0].origin.block
        assert {**block, "thoughtSignature": "skip_thought_signature_validator"} == made

    def test_every_step_of_the_current_turn(self):
        steps = [*calling(), *calling(call_id="b")[1:]]
        assert [1, 3] == [row[0] for row in decided(steps, GEMINI)]
        assert [] == decided([*steps, iv.user("more")], GEMINI)
        with_results = iv.Message("user", (iv.ToolResult("a", "1"),))
        assert [1] == [row[0] for row in decided([*calling()[:2], with_results], GEMINI)]
        both = iv.Message("user", (iv.ToolResult("a", "1"), iv.Text("more")))
        assert [] == decided([*calling()[:2], both], GEMINI)

    def test_which_models(self):
        for model in ("gemini-3-pro", "gemini-4-flash", "gemini-10-pro"):
            assert "H4" in {row[4] for row in decided(calling(), f"gemini/{model}")}
        assert [] == decided(calling(), "gemini/gemini-2.5-flash")
        assert [] == decided(calling(), "openai/gpt-5.6")


class TestResults:
    """H1: every call gets a result, and a turn of which nothing is left is not sent."""

    def test_a_call_that_was_never_answered(self):
        history = [*calling()[:2], iv.user("y")]
        assert [(1, 0, "tool_result", "filled", "H1", "result_filled")] == decided(history, "openai/gpt-5.6")  # fmt: skip
        messages = iv.plan(history, "openai/gpt-5.6").messages
        assert ["user", "assistant", "tool", "user"] == [message.role for message in messages]
        result = messages[2].parts[0]
        assert ("a", True) == (result.call_id, result.error)

    def test_each_gets_one(self):
        turn = iv.Message("assistant", (iv.ToolCall("a", "f"), iv.ToolCall("b", "f"), TEXT))
        messages = iv.plan([iv.user("x"), turn, iv.tool_result("b", "1")], "openai/gpt-5.6").messages  # fmt: skip
        assert ["a", "b"] == [message.parts[0].call_id for message in messages[2:]]

    def test_calls_at_the_end_may_wait(self):
        assert 2 == len(iv.plan(calling()[:2], "openai/gpt-5.6").messages)

    def test_an_empty_turn(self):
        history = talk(iv.Thinking("R"))
        planned = iv.plan(history, "openai/gpt-5.6")
        assert ["user", "user"] == [message.role for message in planned.messages]
        assert (1,) == planned.gaps
        assert (1, None, "message", "omitted", "H1", "turn_removed") in decided(history, "openai/gpt-5.6")  # fmt: skip

    def test_an_empty_message_of_the_user_stays(self):
        history = [iv.Message("user", ()), iv.assistant("A"), iv.user("y")]
        assert tuple(history) == iv.plan(history, "openai/gpt-5.6").messages

    def test_a_call_that_was_cut_off(self):
        """Nor is a result of it sent, if somebody made one."""
        cut = iv.ToolCall("a", "f", '{"ci', complete=False)
        history = [iv.user("x"), iv.Message("assistant", (TEXT, cut)), iv.Message("tool", (iv.ToolResult("a", "1"), iv.ToolResult("b", "2"))), iv.user("y")]  # fmt: skip
        assert [
            (1, 1, "tool_call", "omitted", "H1", "call_omitted"),
            (2, 0, "tool_result", "omitted", "H1", "call_omitted"),
        ] == decided(history, "openai/gpt-5.6")
        sent = iv.plan(history, "openai/gpt-5.6").messages
        assert [(TEXT,), (iv.ToolResult("b", "2"),)] == [message.parts for message in sent[1:3]]


class TestLoopBegunElsewhere:
    """H9: Claude with a budget refuses an open tool loop that does not begin with its thinking."""

    SONNET = "anthropic/claude-sonnet-4-5"

    @pytest.mark.parametrize(
        ("history", "target", "off"),
        [
            (calling(), SONNET, True),
            (calling(TEXT), SONNET, True),
            (calling(claude(model="claude-sonnet-4-5")), SONNET, False),
            (calling(), OPUS, False),
            (talk(TEXT), SONNET, False),
            ([iv.user("x")], SONNET, False),
            ([*calling(), iv.assistant("A"), iv.user("y")], SONNET, False),
            ([iv.user("x"), iv.tool_result("a", "1")], SONNET, False),
            ([], SONNET, False),
            (calling()[1:], SONNET, True),
        ],
    )
    def test_thinking_goes_off(self, history, target, off):
        assert off == iv.plan(history, target, reasoning="high").thinking_off
        assert off == ("off" == iv.plan(history, target, reasoning="high").setting)


class TestHeldByTheServer:
    """H10: what a server holds is not sent again."""

    @pytest.mark.parametrize(
        "name", ["previous_response_id", "previous_interaction_id", "conversation", "thread"]
    )
    def test_what_is_new(self, name):
        history = [*talk(TEXT), iv.assistant("B"), iv.user("z")]
        planned = iv.plan(history, "openai/gpt-5.6", extra={name: "1"})
        assert ["z"] == [message.text for message in planned.messages if message.parts]
        expected = (0, None, "message", "omitted", "H10", "held_by_server")
        assert [expected] == decided(history, "openai/gpt-5.6", extra={name: "1"})

    def test_nothing_is_held(self):
        new = {"thread": {"type": "create"}}
        for extra in ({}, {"previous_response_id": None}, {"other": 1}, new):
            assert [] == decided(talk(TEXT), "openai/gpt-5.6", extra=extra)
        assert [] == decided([iv.user("x")], "openai/gpt-5.6", extra={"thread": "1"})

    def test_an_empty_turn_before_it_is_no_gap(self):
        history = [*talk(iv.Thinking("R")), iv.assistant("B"), iv.user("z")]
        planned = iv.plan(history, "openai/gpt-5.6", extra={"thread": "1"})
        assert () == planned.gaps
        assert "turn_removed" not in {item.note for item in planned.decisions}
