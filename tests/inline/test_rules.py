"""Rules S1-S10, an example or more for each clause; every one also holds in pieces."""

import pytest

import innervoice as iv
from inline.streams import check_events, cut, events_of

ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff"
LONG = "I should look at this carefully first."  # more than twenty characters that are not blank


def check(text: str, thinking: str | None, answer: str, **hints) -> iv.Response:
    """Splits a text whole and in pieces; all agree, nothing is lost, and this is the result."""
    whole = iv.split(text, **hints)
    assert (thinking, answer) == (whole.thinking, whole.text)
    assert iv.restore(whole.parts) == text
    for size in (1, 2, 3, 7):
        events = events_of(cut(text, size), **hints)
        check_events(events)
        assert iv.fold(events).parts == whole.parts
    return whole


def codes(response: iv.Response) -> set[str]:
    return {note.code for note in response.notes}


class TestNames:
    """S1"""

    @pytest.mark.parametrize(
        "name",
        [
            "think",
            "thinking",
            "ant_thinking",
            "antThinking",
            "reasoning",
            "thought",
            "reflection",
            "scratchpad",
        ],
    )
    def test_eight_names(self, name):
        check(f"<{name}>R</{name}>A", "R", "A")
        check(f"<{name.upper()}>R</{name.title()}>A", "R", "A")

    @pytest.mark.parametrize("tag", ["mm:think", "seed:think", "budget:thinking", "x-y.z:thought"])
    def test_any_namespace(self, tag):
        check(f"<{tag}>R</{tag}>A", "R", "A")

    @pytest.mark.parametrize(
        "tag", ['think type="x"', "think  ", "think\n", "thinking a b='c' ", "think\ta"]
    )
    def test_attributes_and_blanks(self, tag):
        check(f"<{tag}>R</think>A", "R", "A")

    @pytest.mark.parametrize("closer", ["</think >", "</think\n>", "</x:think>"])
    def test_closer_with_blanks_or_namespace(self, closer):
        check(f"<think>R{closer}A", "R", "A")

    def test_longest_tag(self):
        longest = "<think " + "a" * (256 - len("<think >")) + ">"
        check(f"{longest}R</think>A", "R", "A")
        check(f"{longest[:-1]}a>R", None, f"{longest[:-1]}a>R")

    @pytest.mark.parametrize(
        "text",
        [
            "<thinker>R</thinker>A",
            "<rethink>R</rethink>",
            "<a:b:think>R",
            "<:think>R",
            "<think",
            "a < b",
            "<>",
            "<think/>",
            "<think x/>A",
            "< think>R",
            "<plan>R</plan>A",
        ],
    )
    def test_no_tags(self, text):
        assert not codes(check(text, None, text))

    def test_unknown_markup_is_an_error(self):
        with pytest.raises(iv.UsageError, match=r"harmony.*not 'nonsense'"):
            iv.split("x", markup=["nonsense"])
        with pytest.raises(iv.UsageError, match="list of names"):
            iv.split("x", markup="harmony")

    def test_markup_by_its_opener(self):
        check("[THINK]R[/THINK]A", "R", "A", markup=["[THINK]"])


class TestPairs:
    """S2"""

    def test_several_pairs(self):
        result = check(
            "<think>a</think>1 <think>b</think>2 <reasoning>c</reasoning>3", "a\n\nb\n\nc", "1 2 3"
        )
        assert ["thinking", "text"] * 3 == [part.type for part in result.parts]

    def test_any_closer_closes(self):
        check("<think>R</reflection>A", "R", "A")

    @pytest.mark.parametrize(
        ("opener", "inside", "closer", "markup"),
        [
            ("<think>", "a [/THINK] b", "</think>", ["mistral"]),
            ("[THINK]", "a </think> b", "[/THINK]", ["mistral"]),
            ("<think>", "a<|end|>b", "</think>", ["harmony"]),
            ("<|channel|>analysis<|message|>", "a </think> b", "<|end|>", ["harmony"]),
        ],
    )
    def test_a_closer_of_another_format_is_text(self, opener, inside, closer, markup):
        """Seen failing: every closer closing whatever is open."""
        check(f"{opener}{inside}{closer}Yes.", inside, "Yes.", markup=markup)

    def test_other_opener_inside_is_text(self):
        check("<think>a <reasoning> b</think>A", "a <reasoning> b", "A")

    @pytest.mark.parametrize(
        "text",
        [
            '{"a": "<think>x</think>"}',
            '\n {"a": 1}</think>',
            '{"x": "<think>"}',
            "{<think>x</think>",
        ],
    )
    def test_json_is_left_alone(self, text):
        check(text, None, text)

    def test_json_behind_thinking(self):
        answer = '{"a": "<think>b</think>"}'
        check(f"<think>draft: {{}} </think>{answer}", "draft: {}", answer)
        check(f"{LONG}</think>\n{answer}", LONG, answer)

    def test_brace_later_is_no_json(self):
        check("So {x} <think>R</think>A", "R", "So {x} A")


class TestCode:
    """S3"""

    @pytest.mark.parametrize(
        "text",
        [
            "Use `<think>` and `</think>`.",
            "Use ``a ` <think>b</think>`` ok",
            "```\n<think>x</think>\n",
            "````\n```\n<think>x</think>\n````\n",
            "~~~xml\n<think>x</think>\n~~~\n",
            "text\n  ~~~\n<think>x</think>",
            "one line: ```<think>x</think>``` done",
            "```\n~~~\n</think>\n",
            "A span `a` and `<think>b</think>` c",
        ],
    )
    def test_code_keeps_its_tags(self, text):
        assert not codes(check(text, None, text))

    @pytest.mark.parametrize(
        ("text", "thinking", "answer"),
        [
            ("```\nx\n```\n<think>R</think>A", "R", "```\nx\n```\nA"),
            ("````\n```\n````\n<think>R</think>A", "R", "````\n```\n````\nA"),
            ("~~~\n```\n~~~\n<think>R</think>A", "R", "~~~\n```\n~~~\nA"),
            ("a ~~~\n<think>R</think>A", "R", "a ~~~\nA"),
            ("`a` <think>R</think>A", "R", "`a` A"),
            ("It`s <think>R</think>A\nNext `line", "R", "It`s A\nNext `line"),
            ("It`s\n<think>R</think>A", "R", "It`s\nA"),
            ("a `` b ` <think>R</think> ok", "R", "a `` b `  ok"),
            ("`` <think>R\n</think>A", "R", "`` A"),
            ("Don`t say </think>!\nmore", None, "Don`t say !\nmore"),
        ],
    )
    def test_what_is_no_code(self, text, thinking, answer):
        check(text, thinking, answer)

    @pytest.mark.parametrize(
        "text",
        [
            "Say `a ``<think>x</think>` here.",
            "Say `<think>x`` </think>` here.",
            "Say ``a ```<think>x</think>`` here.",
            "Say ``<think>x``` </think>`` here.",
        ],
    )
    def test_a_longer_run_closes_no_span(self, text):
        """Seen failing: a run of at least the length, instead of exactly it, closing a span; before a marker and behind one."""
        check(text, None, text)

    def test_a_longer_run_behind_a_marker_closes_no_span(self):
        """Seen failing: the same, where the closing run is looked for behind a marker."""
        check("Say `<think>x`` y\nz</think>Yes.", "x`` y\nz", "Say ` Yes.")

    def test_span_on_an_open_line_is_recast(self):
        """The tags of a line are text until the line ends without closing its span."""
        splitter = iv.Splitter()
        first = splitter.feed("It`s <think>R</think> so")
        assert "It`s <think>R</think> so" == "".join(
            event.text for event in first if isinstance(event, iv.TextDelta)
        )

        (recast, *_) = [event for event in splitter.feed("\nEnd") if isinstance(event, iv.Recast)]
        assert ["text", "thinking", "text"] == [part.type for part in recast.parts]

        splitter.finish()
        assert "It`s  so\nEnd" == splitter.response.text
        assert "span_reopened" in codes(splitter.response)

    def test_span_that_closes_is_not_recast(self):
        assert not [
            event
            for event in events_of(cut("a `<think>b</think>` c\n", 1))
            if isinstance(event, iv.Recast)
        ]

    def test_code_is_not_tracked_inside_thinking(self):
        check("<think>a ``` b</think>A", "a ``` b", "A")


class TestJson:
    """S2: an answer that is JSON is left alone."""

    @pytest.mark.parametrize(
        "text",
        [
            '["<think>x</think>"]',
            ' [ {"a": "<think>x</think>"}]',
            '[[1], "<think>x</think>"]',
            '[\n  "a", "</think>"]',
            '[-1, "<think>x</think>"]',
            '[0, "<think>x</think>"]',
            '[true, "<think>x</think>"]',
            '[false,"<think>x</think>"]',
            '[null , "<think>x</think>"]',
            "[] <think>x</think>",
        ],
    )
    def test_array(self, text):
        """Seen failing: left alone only behind `{`."""
        check(text, None, text)
        check(f"<think>R</think>{text}", "R", text.lstrip())

    @pytest.mark.parametrize(
        "start",
        [
            "[link](x) ",
            "[x] ",
            "[",
            "[ ",
            "[tr",
            "[true",
            "[trust](x) ",
            "[-",
            "[- a",
            "[nullable] ",
        ],
    )
    def test_what_is_no_array(self, start):
        check(f"{start}<think>R</think>.", "R", f"{start}.")

    def test_markers_in_brackets(self):
        check("[THINK]R[/THINK]A", "R", "A", markup=["mistral"])
        check('["[THINK]R[/THINK]"]', None, '["[THINK]R[/THINK]"]', markup=["mistral"])

    def test_settled_once_it_tells(self):
        splitter = iv.Splitter()
        splitter.feed("[ t")
        assert (0, 0) == splitter.settled
        splitter.feed("rue,")
        assert (0, 7) == splitter.settled


class TestUnclosed:
    """S4"""

    @pytest.mark.parametrize("blank", [*ZERO_WIDTH, "\ufeff\n \u200b"])
    def test_zero_width_characters_are_blank(self, blank):
        """Seen failing: an opener behind a byte order mark as one in mid-text."""
        check(f"{blank}<think>R", "R", "")
        check(f'{blank}<think>R</think>{{"a": "</think>"}}', "R", '{"a": "</think>"}')
        assert "stopped_inside_thinking" == iv.split(f"{blank}<think>R").status

    @pytest.mark.parametrize("text", ["<think>R", " \n<think>R", "<think>a</think><think>R"])
    def test_head_is_thinking(self, text):
        result = iv.split(text)
        assert not result.parts[-1].complete
        assert "" == result.text
        assert "stopped_inside_thinking" == result.status
        assert "unclosed_thinking" in codes(result)

    def test_mid_text_is_text(self):
        result = check("The tag <think> opens. Then", None, "The tag <think> opens. Then")
        assert "opener_in_text" in codes(result)

    def test_mid_text_keeps_what_was_found_before(self):
        check("<think>a</think>The tag <think>b<think>c", "a", "The tag <think>b<think>c")

    def test_length_at_the_head(self):
        assert "budget_exhausted" == iv.split("<think>R", finish_reason="length").status

    def test_recast_in_a_stream(self):
        events = events_of(["The tag ", "<think>", " opens"])
        assert isinstance(events[-1], iv.Recast)
        assert ("The tag <think> opens",) == tuple(part.text for part in events[-1].parts)


class TestOrphans:
    """S5"""

    def test_twenty_characters(self):
        nineteen, twenty = "a " * 19, "a " * 20
        check(f"{nineteen}</think>A", None, f"{nineteen}A")
        check(f"{twenty}</think>A", twenty.strip(), "A")

    def test_the_text_is_shown_first_and_recast(self):
        events = events_of([LONG, "</think>", "A"])
        kinds = [type(event).__name__ for event in events]
        assert [
            "PartStart",
            "TextDelta",
            "PartEnd",
            "Recast",
            "PartStart",
            "TextDelta",
            "PartEnd",
        ] == kinds
        assert "orphan_closer" in codes(iv.split(f"{LONG}</think>A"))

    def test_only_before_anything_was_split(self):
        check(f"<think>R</think>{LONG}</think>A", "R", f"{LONG} A")

    def test_short_ones_do_not_spend_the_chance(self):
        check(f"a</think>{LONG}</think>A", f"a{LONG}", "A")

    def test_told(self):
        check("R</think>A", "R", "A", prefix_open=True)
        result = check("R only", "R only", "", prefix_open=True)
        assert not result.parts[0].complete

    def test_told_and_written(self):
        check("<think>R</think>A", "R", "A", prefix_open=True)
        check("\n<think>R</think>A</think>B", "R", "A B", prefix_open=True)
        check("</think>A", None, "A", prefix_open=True)
        assert () == iv.split("", prefix_open=True).parts

    def test_card(self):
        check("R</think>A", "R", "A", model="qwq-32b")
        check("R</think>A", None, "R A", model="qwq-32b", prefix_open=False)

    def test_card_was_wrong(self):
        result = check(
            "Just an answer", None, "Just an answer", model="qwq-32b", finish_reason="stop"
        )
        assert "prefix_withdrawn" in codes(result)
        assert "Just an answer" == iv.split("Just an answer", model="qwq-32b").text

    def test_card_and_cut_short(self):
        check("R only", "R only", "", model="qwq-32b", finish_reason="length")

    def test_card_but_opened_at_the_head(self):
        """An explicit opener is no guess: unclosed, it stays thinking."""
        check("<think>R only", "R only", "", model="qwq-32b", finish_reason="stop")

    def test_card_ignored_when_a_field_has_text(self):
        splitter = iv.Splitter(model="qwq-32b")
        events = splitter.feed("The ans")
        events += splitter.reasoning_elsewhere()
        events += splitter.feed(f"wer {LONG}</think> is 4.")
        events += splitter.finish()
        check_events(events)
        result = iv.fold(events)
        assert (None, f"The answer {LONG} is 4.") == (result.thinking, result.text)

    @pytest.mark.parametrize(
        ("text", "thinking", "answer", "model"),
        [
            ("Simple sum.</think>4", "Simple sum.", "4", "qwen3:8b"),
            ("x</think>4", "x", "4", "z-ai/glm-4.6"),
            ("x</think_7f>4", "x", "4", "hy3-preview"),
            ("x[/THINK]4", "x", "4", "magistral-small"),
            (" \n</think>4", None, "4", "qwen3:8b"),
            ("x</reasoning>4", None, "x 4", "qwen3:8b"),
            ("x</think>4", None, "x 4", None),
            ("x</think>4", None, "x 4", "unheard-of"),
        ],
    )
    def test_any_text_where_the_card_names_the_tag(self, text, thinking, answer, model):
        """Seen failing: twenty characters asked for, whatever the card says."""
        check(text, thinking, answer, model=model)


class TestRepeated:
    """S6"""

    @pytest.mark.parametrize(
        ("text", "thinking", "answer"),
        [
            ("<think>a<think>b</think>c</think>d", "abc", "d"),
            ("<think><think>a</think>b", "a", "b"),
            ("<think><think>a</think></think>b", "a", "b"),
            ("<think><think><think>a</think>b</think>c</think>d</think>e", "abc", "d e"),
            ("<think>a<think>b</think>c<think>e</think>d</think>f", "ab\n\ned", "c f"),
            ("<think>a</think>b</think>c", "a", "b c"),
            ("<think>a<mm:THINK>b</think>c</think>d", "abc", "d"),
            ("<think>a</think>b<think>x</think>", "a\n\nx", "b"),
        ],
    )
    def test_swallowed(self, text, thinking, answer):
        check(text, thinking, answer)

    def test_one_part_with_what_came_before(self):
        result = check("<think>a<think>b</think>c</think>d", "abc", "d")
        assert [("thinking", "abc"), ("text", "d")] == [
            (part.type, part.text) for part in result.parts
        ]
        assert {"opener_repeated", "rethought"} <= codes(result)

    @pytest.mark.parametrize(
        ("text", "answer"),
        [
            ("<think>R</think>A line one.\nok. </think>\nA2", "A line one.\nA2"),
            ("<think>R</think>sm.\n</think>Answer", "Answer"),
            ("<think>R</think>\n\nsm.\n</think>\nAnswer", "Answer"),
            ("<think>R</think>Here is one.\n</think>A", "Here is one.\nA"),
            ("<think>R</think>A longer line that ends.\n</think>B", "A longer line that ends.\nB"),
        ],
    )
    def test_stutter(self, text, answer):
        check(text, "R", answer, model="tngtech/deepseek-r1t2-chimera")

    def test_stutter_stays_without_the_card(self):
        check("<think>R</think>sm.\n</think>A", "R", "sm.\nA")


class TestWhiteSpace:
    """S7"""

    @pytest.mark.parametrize(
        ("text", "answer"),
        [
            ("<think>R</think>\n\n    code()\n", "    code()\n"),
            ("<think>R</think> A", "A"),
            ("\n\n <think>R</think>\tA", "A"),
            ("A\n\n<think>R</think>", "A"),
            ("A  <think>R</think>\n ", "A"),
            ("one<think>R</think>two", "one two"),
            ("one<think>R</think>, two", "one, two"),
            ("one\n<think>R</think>two", "one\ntwo"),
            ("def f():\n<think>R</think>    return 1", "def f():\n    return 1"),
            ("  A  ", "  A  "),
            ("<think>R</think>  \n  ", ""),
            ("4<think>R</think>5", "4 5"),
            ("\tA\n<think>R</think>\n\tB", "\tA\n\n\tB"),
        ],
    )
    def test_view(self, text, answer):
        assert answer == iv.split(text).text

    def test_parts_keep_what_was_written(self):
        result = iv.split(" <think> R </think> A ")
        assert [" ", " R ", " A "] == [part.text for part in result.parts]
        assert ("R", "A ") == (result.thinking, result.text)


class TestImplicitEnd:
    """S8"""

    def test_card_says_so(self):
        call = '<tool_call>{"x":1}</tool_call>'
        result = check(f"<think>R{call}", "R", call, model="qwen3:0.6b")
        assert result.parts[0].complete
        assert "closed_by_marker" in codes(result)

    @pytest.mark.parametrize(
        ("model", "marker"),
        [
            ("qwen3:0.6b", "<tool_call>"),
            ("kimi-k2-thinking", "<|tool_calls_section_begin|>"),
            ("minimax-m3", "<minimax:tool_call>"),
            ("hunyuan-a13b-instruct", "<tool_calls>"),
        ],
    )
    def test_a_draft_of_a_call_is_thinking(self, model, marker):
        """A closer follows. Seen failing: the marker ended the thinking at once, and the rest of it was the answer."""
        text = f"<think>I could {marker}f() but no.</think>A"
        result = check(text, f"I could {marker}f() but no.", "A", model=model)
        assert "closed_by_marker" not in codes(result)

    def test_the_first_of_several(self):
        rest = "<tool_call>a<think>b<tool_call>c"
        check(f"<think>R{rest}", "R", rest, model="qwen3:0.6b")

    def test_where_the_prompt_opened_the_tag(self):
        check("R<tool_call>x", "R", "<tool_call>x", model="qwq-32b")
        check("R<tool_call>x</think>A", "R<tool_call>x", "A", model="qwq-32b")

    def test_recast_at_the_end(self):
        events = events_of(["<think>R", "<tool_call>", "x"], model="qwen3:0.6b")
        assert isinstance(events[-1], iv.Recast)
        assert ["R", "<tool_call>x"] == [part.text for part in events[-1].parts]
        assert ["R", "<tool_call>", "x"] == [
            event.text for event in events if isinstance(event, iv.ThinkingDelta)
        ]

    def test_what_stands_before_the_marker_is_settled(self):
        splitter = iv.Splitter(model="qwen3:0.6b")
        splitter.feed("<think>R<tool_call>x")
        assert (0, 1) == splitter.settled

    def test_only_inside_thinking(self):
        check("<think>R</think>A<tool_call>", "R", "A<tool_call>", model="qwen3:0.6b")

    def test_card_does_not_say_so(self):
        check("<think>R<tool_call>", "R<tool_call>", "")


def test_second_message_starts_inside_thinking():
    """S9: what one message of a tool loop opened, the next closes."""
    first = iv.split("<think>I need the weather.", model="minimax-m2.7", finish_reason="tool_calls")
    second = iv.split("Now I know.</think>It rains.", model="minimax-m2.7", prefix_open=True)

    assert ("I need the weather.", "") == (first.thinking, first.text)
    assert ("Now I know.", "It rains.") == (second.thinking, second.text)


def test_off():
    """S10: nothing is looked for, whatever the card says."""
    text = "<think>R</think>A"
    check(text, None, text, inline="off")
    check(text, None, text, inline="off", model="qwq-32b", prefix_open=True)
    with pytest.raises(iv.UsageError, match="'off'"):
        iv.split(text, inline="no")


def test_a_span_is_not_closed_on_another_line_behind_a_fence():
    """The backtick of the first line is no code, so that the next line has a span of its own before the block (S3)."""
    check("```x``` `a\nb` `<think>R</think>` A", "R", "```x``` `a\nb` `` A")


def test_an_opener_in_backticks_stays_in_the_thought():
    """It is what the thought is about; any other repeated opener is swallowed (S6)."""
    thought = "It asks about `<think>`, and ``<think>``."
    check(f"<think>{thought}</think>A", thought, "A")
