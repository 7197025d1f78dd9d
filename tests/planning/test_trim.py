"""A history is shortened by whole turns."""

import pytest

import innervoice as iv
from planning.turns import claude, turn

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


class TestGroups:
    def test_a_group_without_its_beginning_goes(self):
        """Calls, results and reasoning before the first words of the user have lost what they belong to."""
        sealed = iv.Text("A", origin=iv.Origin(seals=("thoughtSignature",)))
        for part in (claude(), iv.ToolCall("a", "f"), sealed):
            cut = [iv.Message("assistant", (part,)), iv.user("1"), iv.assistant("b")]
            assert cut[1:] == iv.trim(cut, 9)
        result = [iv.tool_result("a", "1"), iv.user("1")]
        assert result[1:] == iv.trim(result, 9)

    def test_a_greeting_before_the_first_words_stays(self):
        talk = [iv.assistant("Hello."), iv.user("1"), iv.assistant("b")]
        assert talk == iv.trim(talk, 1)
        assert talk == iv.trim(talk, 9)

    def test_results_of_the_user_begin_no_turn(self):
        """Anthropic's users hand results over, with or without words."""
        results = iv.Message("user", (iv.ToolResult("a", "1"), iv.Text("see")))
        turn = iv.Message("assistant", (iv.ToolCall("a", "f"),))
        talk = [iv.user("0"), iv.user("1"), turn, results, iv.assistant("b")]
        assert talk[1:] == iv.trim(talk, 1)

    def test_what_the_system_said_in_between_stays_once(self):
        talk = [iv.user("1"), iv.system("s"), iv.assistant("a"), iv.user("2"), iv.system("t")]
        assert [iv.system("s"), iv.system("t"), iv.user("2")] == iv.trim(talk, 1)

    def test_nobody_said_anything(self):
        assert [] == iv.trim([], 3)
        assert [iv.system("s")] == iv.trim([iv.system("s")], 1)
        assert [] == iv.trim([iv.tool_result("a", "1")], 1)

    @pytest.mark.parametrize("keep", [True, False, -1, 1.0, "1", None])
    def test_what_is_no_number(self, keep):
        with pytest.raises(iv.UsageError, match="keep must be a number"):
            iv.trim(TALK, keep)

    def test_as_many_as_there_are(self):
        assert TALK == iv.trim(TALK, 3)
        assert TALK is not iv.trim(TALK, 3)
