"""H7: reasoning that is bound to what stood before it."""

import pytest

import innervoice as iv
from planning.turns import claude, talk


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


MODEL = "anthropic/claude-opus-5-5"
BASE = [iv.user("x"), iv.assistant("A"), iv.user("y")]
IMAGE = iv.Media("image/png", data="AA==")


def prefix(messages=BASE, **settings):
    return iv.plan(messages, MODEL, **settings).prefix


def last(*parts, role="user"):
    return [*BASE[:2], iv.Message(role, parts)]


def test_the_digest_is_that_of_what_is_sent():
    assert prefix() == prefix()
    omitted = [BASE[0], iv.Message("assistant", (iv.Thinking("R"), iv.Text("A"))), BASE[2]]
    assert prefix() == prefix(omitted)
    assert prefix() != prefix([*BASE[:2], iv.user("z")])
    assert prefix() != prefix([BASE[0], BASE[2]])
    assert prefix([iv.user("x"), iv.user("A")]) != prefix([iv.user("x"), iv.assistant("A")])


def test_tools_and_system():
    tool = iv.Tool("f", "Does.", {"type": "object"})
    changed = [
        tool.replace(name="g"),
        tool.replace(description=None),
        tool.replace(parameters=None),
        tool.replace(members={"strict": True}),
        iv.Tool("f", own={"type": "f"}),
    ]
    digests = [prefix(tools=[made]) for made in (tool, *changed)]
    assert 7 == len({prefix(), *digests})
    assert digests[0] == prefix(tools=[tool])
    assert 3 == len({prefix(), prefix(system="S"), prefix(system="T")})
    assert prefix(tools=[]) == prefix()


def test_what_the_system_says_at_the_beginning_is_the_system_prompt():
    """A message there is as good as the setting; a later one is no part of the prompt, and counts where it stands."""
    assert prefix(system="S") == prefix([iv.system("S"), *BASE])
    assert prefix(system="S") != prefix([*BASE, iv.system("S")])
    assert prefix(system="S") != prefix()


def test_a_system_message_in_the_middle_belongs_to_what_follows_it():
    """Claude Code adds one when the model is switched; what stands before it has not changed, and Claude still accepts it."""
    own = iv.decode_request({"model": "m", "messages": [{"role": "system", "content": "S"}]}, "anthropic").messages  # fmt: skip
    turns = [iv.user("x"), iv.assistant("A")]
    after = prefix([*turns, *own, iv.user("y")])

    assert 3 == len({after, prefix([*own, *turns, iv.user("y")]), prefix(BASE)})
    assert prefix(BASE).split(".")[:2] == after.split(".")[:2], "the head is the same"


@pytest.mark.parametrize("model", ["openai/gpt-5.6", "deepseek/deepseek-v4-pro", "gemini/gemini-3.5-flash", "anthropic/claude-opus-5-5"])  # fmt: skip
def test_only_the_first_system_messages_are_the_head(model):
    """Codex adds a developer message when the model is switched."""

    def head(messages):
        return iv.plan(messages, model).prefix.split(".")[:2]

    assert head(BASE) == head([*BASE, iv.system("S")])
    assert head(BASE) != head([iv.system("S"), *BASE])
    assert iv.plan(BASE, model).prefix != iv.plan([*BASE, iv.system("S")], model).prefix


def test_results_are_the_users():
    """Some dialects hand results over as a message of the user."""
    call = iv.Message("assistant", (iv.ToolCall("a", "f", "{}"),))
    results = [iv.Message(role, (iv.ToolResult("a", "1"),)) for role in ("tool", "user")]
    one, other = (prefix([iv.user("x"), call, result]) for result in results)
    assert one == other


def test_a_result_of_one_text_is_its_string():
    """Agents mark the last result for the cache, which makes it a block; in the next request it is a string again."""
    call = iv.Message("assistant", (iv.ToolCall("a", "f", "{}"),))
    results = [iv.Message("tool", (iv.ToolResult("a", content),)) for content in ("1", (iv.Text("1"),))]  # fmt: skip
    one, other = (prefix([iv.user("x"), call, result]) for result in results)
    assert one == other


def test_each_kind_of_part():
    call = iv.Message("assistant", (iv.ToolCall("a", "f", "{}"),))
    kinds = [
        last(iv.Text("y")),
        last(iv.Text("y"), iv.Text("y")),
        last(IMAGE),
        last(IMAGE.replace(data="BB==")),
        last(IMAGE.replace(mime="image/gif")),
        last(iv.Media("image/png", url="http://x")),
        last(iv.Opaque({"a": 1})),
        last(iv.Opaque({"a": 2})),
        last(claude(model="claude-opus-5-5"), iv.Text("y"), role="assistant"),
        last(claude(model="claude-opus-5-5", signature="t"), iv.Text("y"), role="assistant"),
        last(iv.ToolCall("a", "f", "{}"), role="assistant"),
        last(iv.ToolCall("b", "f", "{}"), role="assistant"),
        last(iv.ToolCall("a", "g", "{}"), role="assistant"),
        last(iv.ToolCall("a", "f", "[]"), role="assistant"),
        [*BASE[:1], call, iv.tool_result("a", "1")],
        [*BASE[:1], call, iv.tool_result("a", "2")],
        [*BASE[:1], call, iv.tool_result("a", "1", error=True)],
        [*BASE[:1], call, iv.Message("tool", (iv.ToolResult("a", (iv.Text("1"), iv.Text("1"))),))],
        [*BASE[:1], call, iv.Message("tool", (iv.ToolResult("a", (iv.Text("1"), IMAGE)),))],
    ]
    assert len(kinds) == len({prefix(messages) for messages in kinds})


def test_what_changed_is_named():
    made = iv.plan([iv.user("x")], MODEL, system="S").prefix
    dead = talk(claude(model="claude-opus-5-5", prefix=made), iv.Text("A"))

    def why(messages=dead, **settings):
        (decision,) = iv.plan(messages, MODEL, **settings).decisions
        return decision.why

    assert "kept" == iv.plan(dead, MODEL, system="S").decisions[0].action
    assert "the system prompt" in why()
    assert "the tools" not in why()
    assert "the tools" in why(system="S", tools=[iv.Tool("f")])
    both = why(tools=[iv.Tool("f")])
    assert both.index("the system prompt") < both.index("the tools")
    assert "edited" in why([iv.user("z"), *dead[1:]], system="S")
    longer = why([iv.user("w"), *dead], system="S")
    assert {"1", "2"} <= set(longer.replace(",", "").split())
    foreign = talk(claude(model="claude-opus-5-5", prefix="another form"), iv.Text("A"))
    assert "changed" in why(foreign)
