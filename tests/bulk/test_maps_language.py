"""The script of reasoning and answer, without a model."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bulk.batches import message, row
from innervoice.bulk.stats import SCRIPTS, language, script_of, scripts_of


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("The sum is 12.", "latin"),
        ("Die Größe des Körpers", "latin"),
        ("我们需要证明 x = 3，因此 f(x) = 9。", "han"),
        ("これは例です。計算してみましょう。", "kana"),
        ("정답은 삼입니다", "hangul"),
        ("Ответ равен трём", "cyrillic"),
        ("الجواب هو ثلاثة", "arabic"),
        ("उत्तर तीन है", "devanagari"),
        ("คำตอบคือสาม", "thai"),
        ("η απάντηση", "greek"),
        ("12 + 3 = 15", None),
        ("", None),
        ("\U0001f600 …", None),
    ],
)
def test_script_of_a_text(text, script):
    assert script == script_of(scripts_of(text))


def test_formulas_do_not_make_a_chinese_text_latin():
    assert "han" == script_of(
        scripts_of("因此我们得到 \\frac{a}{b} = \\sqrt{c}，所以答案是正确的。")
    )


def test_thinking_in_another_script_than_the_answer_is_seen():
    batch = row(
        prompt=[
            message("user", "Erst?"),
            message("assistant", "我们"),
            message("user", "Was ist 2+2?"),
        ],
        reasoning="用户问二加二等于多少。答案是四。ok",
        answer="Vier.",
    )
    added = language().run(batch)

    assert ["han"] == added["reasoning_script"]
    assert ["latin"] == added["answer_script"] == added["prompt_script"]
    assert 0 < added["script_mixing"][0] < 0.1


def test_blocks_are_in_order_and_apart():
    bounds = [bound for first, last, _ in SCRIPTS for bound in (first, last)]

    assert sorted(bounds) == bounds


@settings(deadline=None)
@given(st.text())
def test_every_text_has_a_histogram(text):
    letters = scripts_of(text)

    assert all(weight > 0 for weight in letters.values())
    assert (script_of(letters) is None) == (not letters)
