"""Every row of the vocabulary that is not a plain tag, by the card that switches it on."""

import json

import pytest

import innervoice as iv
from inline.test_rules import check, codes
from innervoice.catalog.lookup import all_cards
from innervoice.inline.formats import ROWS


@pytest.mark.parametrize(
    ("model", "text", "thinking", "answer"),
    [
        ("mistralai/Magistral-Small-2507", "[THINK]R[/THINK]A", "R", "A"),
        ("Magistral-Small-2507", "<think>R</think>A [think]x[/think]", "R", "A [think]x[/think]"),
        ("kimi-vl-a3b-thinking", "◁think▷R◁/think▷A", "R", "A"),
        (
            "OpenThinker2-32B",
            "<|begin_of_thought|>R<|end_of_thought|>\n\n<|begin_of_solution|>A<|end_of_solution|>",
            "R",
            "A",
        ),
        (
            "command-a-reasoning-08-2025",
            "<|START_THINKING|>R<|END_THINKING|><|START_RESPONSE|>A<|END_RESPONSE|>",
            "R",
            "A",
        ),
        ("command-a-reasoning-08-2025", "R<|END_THINKING|><|START_TEXT|>A<|END_TEXT|>", "R", "A"),
        (
            "Apertus-70B-Instruct-2509",
            "<|inner_prefix|>R<|inner_suffix|>A<|inner_prefix|>S<|inner_suffix|>",
            "R\n\nS",
            "A",
        ),
        (
            "granite-3.2-8b-instruct",
            "Here is my thought process:\nR\nHere is my response:\nA",
            "R",
            "A",
        ),
        ("granite-3.2-8b-instruct", "Here's my thought process: R Here's my response: A", "R", "A"),
        ("hunyuan-a13b-instruct", "<think>\nR\n</think>\n<answer>\nA\n</answer>", "R", "A"),
        ("hunyuan-a13b-instruct", '<think>R</think><answer>{"a": 1}</answer>', "R", '{"a": 1}'),
        ("ernie-4.5-21b-a3b-thinking", "R\n</think>\n\n<response>\nA\n</response>\n", "R", "A"),
        ("MiniMax-M3", "</mm:think>A", None, "A"),
        ("seed-oss-36b", "<seed:think>R</seed:think>A", "R", "A"),
        ("hy3-preview", "<think_7f>R</think_7f>A", "R", "A"),
        ("gemma-4-27b-it", "<|channel>thought\nR<channel|>A", "R", "A"),
        ("gemma-4-27b-it", "thought\nR<channel|>A", "R", "A"),
        ("gemma-4-27b-it", "<|channel>\nR<channel|>A", "R", "A"),
        ("gemma-4-27b-it", "R<channel|>A", "R", "A"),
        ("granite3.3:8b", "<think>R</think>\n<response>A</response>", "R", "A"),
        (
            "kimi-k3",
            "<|open|>think<|sep|>R<|close|>think<|sep|><|open|>response<|sep|>A<|close|>response<|sep|>",
            "R",
            "A",
        ),
        ("kimi-k3", "R<|close|> think <|sep|><|open|> response <|sep|>A", "R", "A"),
        ("kimi-k3", "R<|close|>think<|open|>response<|sep|>A<|close|>response", "R", "A"),
        ("kimi-k3", "R<|close|> think\n\nA", "R", "A"),
        ("kimi-k3", "R<|close|>think", "R", ""),
        (
            "inkling-1",
            "<|message_model|><|content_thinking|>R<|end_message|><|message_model|><|content_text|>A<|end_message|>",
            "R",
            "A",
        ),
        (
            "inkling-1",
            "<|content_thinking|>R<|end_message|><|message_model|><|content_text|>A<|end_message|>",
            "R",
            "A",
        ),
        ("inkling-1", "R<|end_message|><|message_model|><|content_text|>A", "R", "A"),
        ("inkling-1", "<|content_text|>A<|content_model_end_sampling|>", None, "A"),
        ("muse-glimmer-1", "to=self<|message|>R<|eom|>to=user<|message|>A<|eot|>", "R", "A"),
        ("muse-glimmer-1", "to=self<|message|>R to=user<|message|>A<|eot|>", "R", "A"),
    ],
)
def test_format(model, text, thinking, answer):
    check(text, thinking, answer, model=model)


@pytest.mark.parametrize(
    "model",
    [
        "ibm/granite-3-2-8b-instruct",
        "granite3.2:8b",
        "ibm-granite/granite-3.2-8b-instruct",
    ],
)
def test_granite_by_each_spelling(model):
    check("Here is my thought process: R Here is my response: A", "R", "A", model=model)


@pytest.mark.parametrize(
    "model", ["mistralai/Ministral-3-14B-Reasoning-2512", "ministral-3:14b", "ministral-3-8b-2512"]
)
def test_ministral_by_each_spelling(model):
    check("[THINK]R[/THINK]A", "R", "A", model=model)


@pytest.mark.parametrize(
    "model",
    [
        "Qwen/Qwen3-Next-80B-A3B-Thinking",
        "qwen3-vl:8b-thinking",
        "Qwen/Qwen3-VL-30B-A3B-Thinking-FP8",
        "qwen3-max-thinking",
        "qwen/qwen3-235b-a22b-thinking-2507",
    ],
)
def test_qwen_that_always_thinks(model):
    """Its prompt ends in the opening tag, so that a text which the limit cuts off is reasoning."""
    check("R only", "R only", "", model=model, finish_reason="length")


@pytest.mark.parametrize("name", ROWS)
def test_every_row_is_documented(name):
    """A row says who writes it and where that is known from, and something can be recognised by it."""
    row = ROWS[name]
    assert row.models
    assert row.source
    assert row.tags or row.opens or row.closes or row.headers or row.wrappers


def test_rows_are_off_by_default():
    text = "[THINK]R[/THINK] ◁think▷R◁/think▷ <answer>A</answer> <plan>p</plan>"
    check(text, None, text)


def test_cards_name_rows_that_exist():
    assert {name for card in all_cards() for name in card.markup} <= ROWS.keys()


def test_lm_studio_sentinel():
    """With structured output LM Studio ends the reasoning with a token of its own."""
    text = 'I will answer.__LM_STUDIO_INTERNAL_LSEP_SYNTHETIC_REASONING_END_0af3__{"a": 1}'
    check(text, "I will answer.", '{"a": 1}', markup=["lmstudio"], prefix_open=True)


def test_tags_as_rows():
    check("<plan>R</plan><inner_monologue>S</inner_monologue>A", "R\n\nS", "A", markup=["hermes"])
    check("<chain_of_thought>R</chain_of_thought>A", "R", "A", markup=["field_names"])
    check("<reason>R</reason>A", "R", "A", markup=["reason"])


class TestHarmony:
    MODEL = "openai/gpt-oss-120b"

    def test_channels(self):
        check(
            "<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>final<|message|>A<|return|>",
            "R",
            "A",
            model=self.MODEL,
        )

    def test_several_and_interleaved(self):
        check(
            "<|channel|>analysis<|message|>R1<|end|><|start|>assistant<|channel|>commentary<|message|>Let me see.<|end|>"
            "<|start|>assistant<|channel|>analysis<|message|>R2<|end|>"
            "<|start|>assistant<|channel|>final<|message|>A<|return|>",
            "R1\n\nR2",
            "Let me see. A",
            model=self.MODEL,
        )

    @pytest.mark.parametrize(
        "header",
        [
            "<|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>",
            "<|start|>assistant to=functions.weather<|channel|>commentary<|message|>",
            "<|channel|>commentary to=functions.weather<|message|>",
        ],
    )
    def test_call_is_opaque_and_noted(self, header):
        text = f'<|channel|>analysis<|message|>R<|end|>{header}{{"city": "Rome"}}<|call|>'
        result = check(text, "R", "", model=self.MODEL)

        assert ["thinking", "opaque"] == [part.type for part in result.parts]
        assert '{"city": "Rome"}' == result.parts[1].value["text"]
        assert "call_in_text" in codes(result)

    def test_header_ends_a_channel_that_was_not_ended(self):
        check(
            "<|channel|>analysis<|message|>R<|channel|>final<|message|>A",
            "R",
            "A",
            model=self.MODEL,
        )

    def test_cut_off(self):
        result = iv.split(
            "<|channel|>analysis<|message|>R", model=self.MODEL, finish_reason="length"
        )
        assert ("R", "") == (result.thinking, result.text)
        assert not result.parts[0].complete

    def test_json_answer_loses_its_tokens_only(self):
        answer = '{"tag": "<think>"}'
        check(
            f"<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>final<|message|>{answer}<|return|>",
            "R",
            answer,
            model=self.MODEL,
        )

    def test_text_outside_channels_is_kept(self):
        check("hello", None, "hello", model=self.MODEL)
        check("Well, <|channel|>final<|message|>A", None, "Well, A", model=self.MODEL)

    def test_without_special_tokens(self):
        check(
            "analysisWe need 4.assistantfinalThe answer is 4.",
            "We need 4.",
            "The answer is 4.",
            model=self.MODEL,
        )

    def test_without_special_tokens_several(self):
        text = 'analysisA1assistantcommentary to=functions.weather json{"city": "Rome"}assistantanalysisA2assistantfinalA'
        result = check(text, "A1\n\nA2", "A", model=self.MODEL)
        assert ["thinking", "opaque", "thinking", "text"] == [part.type for part in result.parts]
        assert '{"city": "Rome"}' == result.parts[1].value["text"]

    def test_without_special_tokens_and_cut_off(self):
        check("analysisWe need", "We need", "", model=self.MODEL, finish_reason="length")

    def test_an_answer_about_analysis(self):
        for text in (
            "analysis shows that",
            "analysis",
            "An analysisFoo",
            "commentary to=me",
        ):
            check(text, None, text, model=self.MODEL)

    @pytest.mark.parametrize(
        ("text", "thinking", "answer"),
        [
            ("assistantanalysisWe need 4.assistantfinalIt is 4.", "We need 4.", "It is 4."),
            ("assistantfinalIt is 4.", None, "It is 4."),
            ("We need 4.assistantfinalIt is 4.", "We need 4.", "It is 4."),
            ('commentary to=functions.f json{"a": 1}assistantfinalIt is 4.', None, "It is 4."),
        ],
    )
    def test_bare_forms(self, text, thinking, answer):
        """Seen failing: with `assistant` only after a header at the head, and with twenty characters before it."""
        check(text, thinking, answer, model=self.MODEL)

    @pytest.mark.parametrize(
        ("text", "thinking", "answer"),
        [
            ("analysis I need 4. assistantfinal It is 4.", "I need 4.", "It is 4."),
            ("analysis we need 4. assistantfinal It is 4.", "we need 4.", "It is 4."),
            ("analysis\nWe need 4.\nassistantfinal\nIt is 4.", "We need 4.", "It is 4."),
            ("ANALYSIS we need 4. ASSISTANTFINAL It is 4.", "we need 4.", "It is 4."),
            ("analysis This is all.", "This is all.", ""),
            ("commentary I will look. assistantfinal It is 4.", None, "I will look.  It is 4."),
            ("COMMENTARY I will look.ASSISTANTFINALIt is 4.", None, "I will look. It is 4."),
            ("analysisHm.assistantcommentary Let me see. assistantfinalIt is 4.", "Hm.", "Let me see. It is 4."),
            ("analysis shows that", None, "analysis shows that"),
            ("ANALYSIS OF THE DATA", None, "ANALYSIS OF THE DATA"),
            ("commentary on the text", None, "commentary on the text"),
            ("The AssistantFinal class", None, "The AssistantFinal class"),
        ],
    )  # fmt: skip
    def test_bare_headers_before_a_blank_and_in_upper_case(self, text, thinking, answer):
        """A word that may also begin the answer is a header if another header follows. Seen failing: the word was part of the reasoning."""
        check(text, thinking, answer, model=self.MODEL)

    def test_channels_in_upper_case(self):
        text = "<|channel|>ANALYSIS<|message|>R<|end|><|start|>assistant<|channel|>FINAL<|message|>A<|return|>"
        check(text, "R", "A", model=self.MODEL)

    @pytest.mark.parametrize("filler", ["commentary", "assistant", " commentary\n"])
    @pytest.mark.parametrize(
        "header", ["<|channel|>final<|message|>", "<|start|>assistant<|channel|>final<|message|>", "<|start|>assistant<|message|>"]
    )  # fmt: skip
    def test_a_stray_word_after_a_call(self, filler, header):
        """Seen failing: "commentary A" for "A"."""
        call = "<|channel|>commentary to=functions.f<|message|>{}<|call|>"
        result = check(f"{call}{filler}{call}{filler}{header}A<|return|>", None, "A", model=self.MODEL)  # fmt: skip
        assert ["opaque", "opaque", "text"] == [part.type for part in result.parts]

    def test_bare_with_the_opener_in_the_prompt(self):
        check("R.assistantfinalA", "R.", "A", model=self.MODEL, prefix_open=True)

    @pytest.mark.parametrize("hints", [{}, {"prefix_open": True}])
    def test_opener_in_the_prompt(self, hints):
        """The prompt ended in `<|channel|>analysis<|message|>`. Seen failing: the reasoning as the answer."""
        text = "R<|end|><|start|>assistant<|channel|>final<|message|>A<|return|>"
        check(text, "R", "A", model=self.MODEL, **hints)

    def test_an_end_alone_makes_no_reasoning(self):
        check("A<|end|>", None, "A", model=self.MODEL)
        check("A<|end|>B<|channel|>final<|message|>C", None, "A B C", model=self.MODEL)
        text = (
            "<|channel|>commentary<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>B"
        )
        check(text, None, "A B", model=self.MODEL)

    def test_recipient_first(self):
        """The prompt ended in `<|start|>assistant`. Seen failing: the recipient and the arguments as the answer."""
        text = ' to=functions.f<|channel|>commentary <|constrain|>json<|message|>{"a": 1}<|call|>'
        result = check(text, None, " ", model=self.MODEL)
        assert {"a": 1} == json.loads(result.parts[1].value["text"])
        assert "call_in_text" in codes(result)

    @pytest.mark.parametrize("word", ["commentary", " commentary ", "assistant", ""])
    def test_stray_word_between_calls(self, word):
        """Seen failing: the word as the answer."""
        call = "<|channel|>commentary to=functions.f<|message|>{}<|call|>"
        result = check(f"{call}{word}{call}", None, "", model=self.MODEL)
        assert ["opaque", "opaque"] == [part.type for part in result.parts]

    @pytest.mark.parametrize(
        "half", ["<|", "<|start|>assist", "<|channel|>ana", "<|channel|>final<|mess"]
    )
    def test_cut_off_in_a_control_token(self, half):
        """Two characters may be anything, unless the limit cut the text off. Seen failing: the half token as the answer."""
        text = f"<|channel|>analysis<|message|>R<|end|>{half}"
        check(text, "R", "", model=self.MODEL, finish_reason="length")
        check(text, "R", half if half == "<|" else "", model=self.MODEL, finish_reason="stop")

    def test_bedrock_writes_tags(self):
        body = {"choices": [{"message": {"content": "<reasoning>R</reasoning>A"}, "finish_reason": "stop"}]}  # fmt: skip
        result = iv.decode(body, provider="bedrock", model="openai.gpt-oss-120b-1:0", dialect="openai-chat")  # fmt: skip
        assert ("R", "A") == (result.thinking, result.text)

    def test_only_by_card(self):
        text = "<|channel|>analysis<|message|>R<|end|>"
        check(text, None, text)


class TestGemma:
    MODEL = "google/gemma-4-27b-it"

    def test_label_before_an_answer(self):
        """With thinking off the label still comes; what follows is the answer."""
        result = check("thought\nThe answer.", None, "The answer.", model=self.MODEL)
        assert "label_removed" in codes(result)

    def test_label_and_cut_off(self):
        check("thought\nR", "R", "", model=self.MODEL, finish_reason="length")

    def test_label_only_at_the_head(self):
        check("A thought\nB", None, "A thought\nB", model=self.MODEL)


class TestEchoes:
    """GLM-4.5-Air repeats the scaffolding of its prompt, then thinks."""

    MODEL = "z-ai/glm-4.5-air"
    ID = "<from_id>0b8f2c1e-5a5e-4a5a-9c3d-3f1a2b3c4d5e</from_id>"

    @pytest.mark.parametrize(
        ("text", "thinking", "answer"),
        [
            (f"{ID}\n<user>Ann</user>\n<message>R</message>A", "R", "A"),
            (f"{ID}A", None, "A"),
            ("<user>Ann</user>\n<analysis>R</analysis>A", "R", "A"),
            ("<character>Bo</character><analysis>R</analysis>A", "R", "A"),
            ("<user>Ann</user><character>Bo</character>\n<analysis>R", "R", ""),
            ("<user>Ann</user> said hi", None, "<user>Ann</user> said hi"),
            (f"Mind the {ID} tag", None, f"Mind the {ID} tag"),
            ("A <analysis>x</analysis>", None, "A <analysis>x</analysis>"),
            (f"{ID}\n<user>Ann</user>\n<message>R", "R", ""),
            ("<character_analysis>R</character_analysis>A", "R", "A"),
            ("<understanding>R</understanding>A", "R", "A"),
        ],
    )
    def test_echo(self, text, thinking, answer):
        check(text, thinking, answer, model=self.MODEL)

    @pytest.mark.parametrize(
        "text",
        [
            "<note><message>hi</message></note>",
            "<note><to>Ann</to><message>A longer message than that.</message></note>",
            "<message>A longer message than that.</message>",
            "<analysis>A longer text than that.</analysis><verdict>yes</verdict>",
            "<report>\n<analysis>A longer text than that.</analysis>\n</report>",
            "<from_id>42</from_id><user>Ann</user><message>hello</message>",
            "<user>Ann</user><message>A longer message than that.</message>",
        ],
    )
    def test_ordinary_xml_is_an_answer(self, text):
        """An echo is a whole scaffold at the head. Seen failing: `</message>` as a closer without an opener ate the answer."""
        result = check(text, None, text, model=self.MODEL)
        assert not codes(result)

    def test_echo_closers_do_not_close_other_thinking(self):
        text = "R <message>m</message> S</think>A"
        check(text, "R <message>m</message> S", "A", model=self.MODEL, prefix_open=True)

    def test_only_by_card(self):
        text = f"{self.ID}<user>Ann</user><message>R</message>A"
        check(text, None, text, model="z-ai/glm-4.6")


@pytest.mark.parametrize("finish_reason", [None, "stop", "length", "content_filter"])
class TestCutMarkers:
    """A control token that was cut off at the very end is no part of the answer, and `restore` gives it back."""

    @pytest.mark.parametrize(
        ("model", "text", "thinking", "answer"),
        [
            ("gpt-oss-20b", "<|channel|>final<|message|>A<|retu", None, "A"),
            ("gpt-oss-20b", "<|channel|>analysis<|message|>R<|en", "R", ""),
            ("gpt-oss-20b", "<|channel|>analysis<|message|>R<|end|><|start|>assist", "R", ""),
            ("gpt-oss-20b", "<|channel|>commentary to=f<|message|>{}<|call|>comment", None, ""),
            ("gpt-oss-20b", "A <|ret", None, "A"),
            ("kimi-k3", "R<|close|>think<|sep|><|open|>response<|sep|>A<|close|>resp", "R", "A"),
            ("kimi-k3", "R<|close|>think<|sep|><|open|>response<|sep|>A<|close|>response<|s", "R", "A"),
            ("inkling-1", "<|content_thinking|>R<|end_message|><|message_model|><|content_text|>A<|end_mess", "R", "A"),
            ("muse-glimmer-1", "to=self<|message|>R<|eom|>to=user<|message|>A<|eo", "R", "A"),
        ],
    )  # fmt: skip
    def test_is_removed(self, model, text, thinking, answer, finish_reason):
        """Seen failing: kept, unless the finish reason was length."""
        result = check(text, thinking, answer, model=model, finish_reason=finish_reason)
        assert text == iv.restore(result.parts)
        assert "wrapper_removed" in codes(result)

    @pytest.mark.parametrize(
        ("model", "text"),
        [
            ("gpt-oss-20b", "A <thi"),
            ("gpt-oss-20b", "A <|x"),
            ("gpt-oss-20b", "```\n<|ret"),
            ("gpt-oss-20b", "Your assistant"),
            ("qwen3-8b", "A <|ret"),
        ],
    )
    def test_what_may_be_text_stays(self, model, text, finish_reason):
        check(text, None, text, model=model, finish_reason=finish_reason)
