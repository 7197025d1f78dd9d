"""What would be refused, or would silently degrade."""

import ast
from pathlib import Path

import pytest

import innervoice as iv
from conformance.requests import accepted
from innervoice.canon.notes import ADVICE, SENTENCES
from innervoice.planning import lint as lint_module
from planning.test_matrix import TARGETS
from planning.turns import calling, claude, codes, field, item, loop, talk, turn
from shared import SHARED, needs_shared


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


OPUS = "anthropic/claude-opus-4-6"
TEXT = iv.Text("A")
CUT = iv.ToolCall("a", "f", "{", complete=False)
OPAQUE = iv.Opaque({"x": 1}, origin=iv.Origin(dialect="gemini", provider="gemini", model="g"))


@pytest.mark.parametrize(
    ("history", "target", "settings", "expected"),
    [
        (talk(claude(), TEXT), "openai/gpt-5.6", {}, [("thinking_omitted", "refused", 1, 0)]),
        (talk(claude(), TEXT), "openai/gpt-5.6", {"foreign": "text"}, [("thinking_as_text", "degraded", 1, 0)]),
        (talk(OPAQUE, TEXT), OPUS, {}, [("opaque_dropped", "refused", 1, 0)]),
        (talk(TEXT, CUT), OPUS, {}, [("call_omitted", "refused", 1, 1), ("call_without_result", "refused", 1, 1)]),
        (talk(iv.Thinking("R")), OPUS, {}, [("turn_removed", "refused", 1, None), ("thinking_omitted", "refused", 1, 0)]),
        (calling(), "deepseek/deepseek-v4-pro", {}, [("reasoning_filled", "refused", 1, None)]),
        (calling(), "gemini/gemini-3-flash-preview", {}, [("signature_filled", "refused", 1, 0)]),
        (calling(call_id="a b"), OPUS, {}, [("id_mapped", "refused", 1, 0)]),
        (calling(), "anthropic/claude-sonnet-4-5", {"reasoning": "high"}, [("reasoning_off_for_loop", "refused", 1, None)]),
        (calling(), "anthropic/claude-sonnet-4-5", {"reasoning": "none"}, []),
        ([*calling()[:2], iv.user("y")], OPUS, {}, [("call_without_result", "refused", 1, 0)]),
        (calling()[:2], OPUS, {}, [("prefill_refused", "refused", 1, None)]),
        ([iv.user("x"), iv.tool_result("z", "1")], OPUS, {}, [("result_without_call", "refused", 1, 0)]),
        ([iv.user("x"), iv.assistant("So")], OPUS, {}, [("prefill_refused", "refused", 1, None)]),
        (talk(TEXT), OPUS, {}, []),
    ],
)  # fmt: skip
def test_what_is_wrong(history, target, settings, expected):
    found = codes(history, target, **settings)
    assert sorted(expected, key=str) == sorted(found, key=str)


def test_reasoning_that_is_sent_and_not_read_is_no_refusal():
    part = item(model="gpt-6.1-sol", encrypted_content="E")
    part = part.replace(origin=part.origin.replace(prefix="a.b.0.c"))
    assert [("prefix_changed", "degraded", 1, 0)] == codes(talk(part, TEXT), "openai/gpt-6.1-sol")
    dead = claude(model="claude-opus-5-5", prefix="a.b.0.c")
    assert [("prefix_changed", "refused", 1, 0)] == codes(talk(dead, TEXT), "anthropic/claude-opus-5-5")  # fmt: skip


def test_a_lost_field_degrades():
    origin = iv.Origin(dialect="openai-chat", provider="groq", model="openai/gpt-oss-120b")
    turn = iv.Message("assistant", (iv.ToolCall("a", "f", "{}", origin=origin),))
    history = [iv.user("x"), turn, iv.tool_result("a", "1")]
    assert [("reasoning_missing", "degraded", 1, None)] == codes(history, "groq/openai/gpt-oss-120b")  # fmt: skip


def test_items_and_calls_of_responses():
    block = {"type": "message", "id": "msg_1", "content": []}
    origin = iv.Origin(dialect="openai-responses", provider="openai", model="gpt-5.6", block=block, led_by="rs_9")  # fmt: skip
    history = talk(iv.Text("A", origin=origin))
    assert [("item_id_dropped", "refused", 1, None)] == codes(history, "openai/gpt-5.6", store=True)
    mixed = [iv.user("x"), iv.Message("assistant", (iv.ToolCall("a", "f"), TEXT)), iv.tool_result("a", "1")]  # fmt: skip
    assert [("calls_moved", "refused", 1, None)] == codes(mixed, "deepseek/deepseek-v4-pro", dialect="openai-responses")  # fmt: skip


def test_in_the_order_of_the_history():
    history = [
        *talk(claude(), TEXT, claude()),
        iv.tool_result("z", "1"),
        iv.assistant("B"),
        iv.user("z"),
    ]
    assert [(1, 0), (1, 2), (3, 0)] == [row[2:] for row in codes(history, "openai/gpt-5.6")]


def test_a_problem_in_words():
    (problem,) = iv.lint(talk(claude(), TEXT), "openai/gpt-5.6")
    assert str(problem).startswith("message 1, part 0: ")
    assert "would be refused: " in str(problem)
    assert str(problem).endswith("when it sends. [thinking_omitted]")
    assert problem.fix in str(problem)
    (problem,) = iv.lint([iv.user("x"), iv.assistant("So")], OPUS)
    assert str(problem).startswith("message 1: ")


def test_the_sentence_names_the_call():
    (unanswered,) = iv.lint([*calling()[:2], iv.user("y")], OPUS)
    assert "'a'" in unanswered.why
    (stray,) = iv.lint([iv.user("x"), iv.tool_result("z", "1")], OPUS)
    assert "'z'" in stray.why


def test_lists_of_others():
    assert [] == iv.lint([{"role": "user", "content": "x"}], OPUS)


def test_reasoning_of_a_field_at_home():
    assert [] == codes(calling(field("deepseek", "deepseek-v4-pro")), "deepseek/deepseek-v4-pro")


MARKED = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}],
    }
]
NAMED = [{"role": "user", "content": "x", "name": "a"}]


@pytest.mark.parametrize(
    ("history", "target", "expected"),
    [
        (NAMED, OPUS, [("extra_dropped", "degraded", 0, None)]),
        (NAMED, "openai/gpt-5.6", [("extra_dropped", "degraded", 0, None)]),
        (MARKED, OPUS, []),
        (MARKED, "openai/gpt-5.6", [("cache_mark_dropped", "degraded", 0, 0)]),
        (MARKED, "gemini/gemini-3.5-flash", [("cache_mark_dropped", "degraded", 0, 0)]),
    ],
)
def test_members_that_only_another_api_has(history, target, expected):
    assert expected == codes(history, target)


def test_lint_knows_every_code_of_a_decision():
    """A code that lint has no advice for would end it with an error, in the one case where it is needed."""
    sources = [
        ast.parse(path.read_text("utf-8"))
        for path in Path(lint_module.__file__).parent.glob("*.py")
    ]
    calls = [
        node
        for tree in sources
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("kept", "omitted", "converted", "filled")
    ]
    used = {
        argument.value
        for call in calls
        for argument in call.args
        if isinstance(argument, ast.Constant) and argument.value in SENTENCES
    }

    assert len(used) > 15
    assert set() == used - ADVICE.keys()


@needs_shared
def test_every_recorded_request():
    """lint has an answer for whatever programs really send, towards any API."""
    requests = [
        iv.decode_request(exchange["request"]["body"], exchange["dialect"])
        for _, exchange in accepted(SHARED / "corpus")
    ]

    assert len(requests) > 300
    for request in requests:
        for target in TARGETS[::2]:
            for problem in iv.lint(request.messages, target, system=request.system):
                assert problem.why
                assert problem.fix
