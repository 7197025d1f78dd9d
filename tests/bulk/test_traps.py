"""The traps that trainers have for reasoning: each is seen in a template, and not in what is written."""

import importlib.metadata
import importlib.util
import json

import pytest
from hypothesis import given, settings

from bulk.batches import message, row
from bulk.conversations import conversations
from bulk.templates import DEEPSEEK, GPT_OSS, QWEN3, TEMPLATES
from innervoice import bulk
from innervoice.bulk.filtering import Divider
from innervoice.bulk.training.checks import (
    load_template,
    render,
    template_problem,
    template_problems,
)
from innervoice.bulk.training.examples import recipe, to
from innervoice.bulk.training.targets import FAMILIES
from innervoice.errors import UsageError

needs_jinja = pytest.mark.skipif(
    importlib.util.find_spec("jinja2") is None, reason="jinja2 is in .venv-bulk"
)
CALL = '[{"id":"c","name":"look","arguments":"{\\"a\\":1}"}]'
TWO_TURNS = [message("user", "Q1"), message("assistant", "A1", "R1"), message("user", "Q2")]
IN_A_LOOP = [
    message("user", "Q"),
    message("assistant", "", "R1", CALL),
    message("tool", "sunny", call_id="c"),
]


def written(batch, *arguments, **options):
    """The example of the last row of a batch."""
    return json.loads(to(*arguments, **options).run(batch)["example"][-1])


def messages_of(example):
    return example.get("messages") or [*example["prompt"], *example["completion"]]


def read(tmp_path, *rows):
    """A batch, read from a file."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (batch,) = bulk.read(path)
    return batch


# ---- TRL 6361, 6363: a completion with a closing tag only gets an empty block around nothing ---------------


@needs_jinja
def test_text_with_a_closer_only_is_no_empty_block(tmp_path):
    """Models whose prompt opens the block write `...</think>answer`."""
    batch = read(
        tmp_path, {"prompt": "Q", "response": "I look at both sides of it first.</think>\n\nA"}
    )
    example = written(batch, "trl", "qwen3")
    rendered = render(QWEN3, messages_of(example))

    assert "I look at both sides of it first." == example["completion"][0]["reasoning_content"]
    assert "A" == example["completion"][0]["content"]
    assert "<think>\nI look at both sides of it first.\n</think>" in rendered
    assert 1 == rendered.count("<think>")


# ---- the name of the field ----------------------------------------------------------------------------------


@needs_jinja
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("template", TEMPLATES)
def test_a_field_of_another_family_is_found_out(family, template):
    """Written for one family and rendered with the template of another, reasoning is silently missing, unless the field is the same."""
    example = written(row(answer="A", reasoning="R"), "trl", family)
    problem = template_problem(example, TEMPLATES[template], FAMILIES[family].field)

    if FAMILIES[family].field == FAMILIES[template].field:
        assert problem is None
    else:
        assert problem in (
            "the template writes the reasoning 0 times, not once",
            "the prompt alone is not a prefix of prompt and completion together, so the trainer would mask the wrong tokens",
        )


@pytest.mark.parametrize(
    ("family", "field"), [("gpt-oss", "thinking"), ("qwen3", "reasoning_content")]
)
def test_axolotl_is_told_both_names_of_the_field(family, field):
    said = recipe("axolotl", family).settings

    assert f"field_thinking: {field}" in said
    assert f"template_thinking_key: {field}" in said
    assert field in written(row(), "axolotl", family)["messages"][-1]


def test_axolotl_trains_only_the_last_answer_of_an_unrolled_example():
    batch = row(prompt=TWO_TURNS)
    trained = [
        one["train"]
        for one in written(batch, "axolotl", "qwen3")["messages"]
        if one["role"] == "assistant"
    ]

    assert [False, True] == trained
    assert "message_field_training: train" in recipe("axolotl", "qwen3").settings


# ---- LLaMA-Factory 9218: tags that are not the template's get an empty block before them -----------------------


def llama_factory(value, thought_words):
    """What its ReasoningTemplate adds before an answer without its own tags."""
    known = any(words.strip() in value for words in thought_words)
    return value if known else "".join(thought_words) + value


@pytest.mark.parametrize("family", FAMILIES)
def test_llama_factory_finds_its_own_tags(family, tmp_path):
    """Whatever tags the data set has, those of the template are written, and no empty block is added."""
    words = FAMILIES[family].tags
    batch = read(
        tmp_path,
        {
            "messages": [
                {"role": "user", "content": "Q"},
                {"role": "assistant", "content": "<thought>R</thought>A"},
            ]
        },
    )
    value = written(batch, "llama-factory", family)["conversations"][-1]["value"]

    assert f"{words[0]}R{words[1]}A" == value == llama_factory(value, words)
    assert llama_factory("<thought>R</thought>A", words).startswith("".join(words)), (
        "the trap itself"
    )


def test_llama_factory_is_told_its_template_and_what_to_train():
    said = recipe("llama-factory", "gpt-oss").settings

    assert {"template: gpt", "mask_history: true", "enable_thinking: true"} <= {*said}


# ---- Qwen3: reasoning before the last question is dropped ------------------------------------------------------


@needs_jinja
def test_qwen3_drops_the_reasoning_of_earlier_turns_unless_unrolled():
    both = {
        name: values * 2
        for name, values in row(prompt=TWO_TURNS, answer="A2", reasoning="R2").items()
    }
    both.update(
        prompt=[TWO_TURNS[:1], TWO_TURNS],
        answer=["A1", "A2"],
        reasoning=["R1", "R2"],
        last=[False, True],
        turn=[0, 1],
    )
    together = render(QWEN3, messages_of(written(both, "trl", "qwen3", history="all")))
    unrolled = [
        render(QWEN3, messages_of(json.loads(text)))
        for text in to("trl", "qwen3").run(both)["example"]
    ]

    assert (0, 1) == (together.count("R1"), together.count("R2")), "the trap itself"
    assert [(1, 0), (0, 1)] == [(text.count("R1"), text.count("R2")) for text in unrolled]
    assert any(
        "drops the reasoning of earlier turns" in line
        for line in recipe("trl", "qwen3", "all").settings
    )


@needs_jinja
def test_qwen3_does_not_split_a_text_that_mentions_its_tag():
    """A row without reasoning whose text has the closing tag, in code, is split by the template if the field is missing."""
    batch = row(answer="End it with `</think>` and go on.", reasoning=None)
    example = written(batch, "trl", "qwen3")
    without = [
        {name: value for name, value in one.items() if name != "reasoning_content"}
        for one in messages_of(example)
    ]

    assert template_problem(example, QWEN3) is None
    assert "the template reads a part of a text as its own markup" == template_problem(
        {"messages": without}, QWEN3
    )


@needs_jinja
@pytest.mark.parametrize("family", FAMILIES)
def test_reasoning_of_a_tool_loop_is_there_once(family):
    """The turn with the call is an example with its reasoning; so is the answer after it."""
    call = row(prompt=IN_A_LOOP[:1], answer="", reasoning="R1", calls=CALL, status="tool_calls")
    answer = row(prompt=IN_A_LOOP, answer="A", reasoning="R2")

    for batch, reasoning in ((call, "R1"), (answer, "R2")):
        example = written(batch, "messages", family)
        assert template_problem(example, TEMPLATES[family], FAMILIES[family].field) is None
        assert 1 == render(TEMPLATES[family], messages_of(example)).count(reasoning)


# ---- gpt-oss: channel tags raise, and a turn with a call has one place for text and reasoning ----------------------


@needs_jinja
def test_gpt_oss_gets_no_channel_tags():
    batch = row(answer="The token <|channel|>final<|message|> begins it.")
    by_hand = {
        "messages": [
            {"role": "user", "content": "Q"},
            {"role": "assistant", "content": batch["answer"][0], "thinking": "R"},
        ]
    }

    assert "the template refuses it: channel tags in a message" == template_problem(
        by_hand, GPT_OSS, "thinking"
    ), "the trap itself"
    assert [
        "an answer holds <|channel|>, which the template of gpt-oss reads as its own markup"
    ] == to("trl", "gpt-oss").run(batch)["left_out"]


@needs_jinja
def test_gpt_oss_gets_text_and_reasoning_of_a_call_in_one_place():
    batch = row(answer="I look it up.", reasoning="R", calls=CALL, status="tool_calls")
    example = written(batch, "trl", "gpt-oss")

    assert {"thinking": "R\n\nI look it up.", "content": ""}.items() <= example["completion"][
        0
    ].items()
    assert {"a": 1} == example["completion"][0]["tool_calls"][0]["function"]["arguments"]
    assert template_problem(example, GPT_OSS, "thinking") is None


def test_gpt_oss_reads_one_call_of_a_turn():
    two = json.dumps(json.loads(CALL) * 2)

    assert ["a turn has 2 tool calls, and the template of gpt-oss reads one"] == to(
        "trl", "gpt-oss"
    ).run(row(calls=two, status="tool_calls"))["left_out"]
    assert [None] == to("trl", "qwen3").run(row(calls=two, status="tool_calls"))["left_out"]


# ---- DeepSeek ---------------------------------------------------------------------------------------------------


@needs_jinja
def test_deepseek_drops_text_before_its_tag_and_keeps_the_reasoning_of_a_loop():
    mention = row(answer="End it with `</think>`.", reasoning=None)
    loop = written(row(prompt=IN_A_LOOP, answer="A", reasoning="R2"), "trl", "deepseek")

    assert [
        "an answer holds </think>, which the template of deepseek reads as its own markup"
    ] == to("trl", "deepseek").run(mention)["left_out"]
    assert (1, 1) == tuple(render(DEEPSEEK, messages_of(loop)).count(text) for text in ("R1", "R2"))


# ---- slime 330, OpenRLHF 1080: what is masked --------------------------------------------------------------------


@needs_jinja
def test_a_prompt_that_is_rendered_otherwise_alone_is_found_out():
    """A template that shows all reasoning once an answer follows shifts what a trainer masks."""
    shifting = "{% for m in messages %}{% if not loop.last %}{{ m.content }}{% else %}{{ m.reasoning_content or '' }}{{ m.content }}!{% endif %}{% endfor %}"
    example = written(row(), "prompt_completion")

    assert "the prompt alone is not a prefix of prompt and completion together" in template_problem(
        example, shifting
    )


@needs_jinja
@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{% for m in messages %}{{ m.content }}{% endfor %}", "the reasoning 0 times"),
        (
            "{% for m in messages %}{{ m.content }}{{ m.reasoning_content }}{{ m.reasoning_content }}{% endfor %}",
            "the reasoning 2 times",
        ),
        (
            "{{ messages[-1].reasoning_content }}{{ messages[-1].content }}",
            "the text of message 0 0 times",
        ),
        ("{{ raise_exception('no') }}", "the template refuses it: no"),
    ],
)
def test_templates_that_lose_or_repeat_are_found_out(template, problem):
    example = {
        "messages": [
            {"role": "user", "content": "Q"},
            {"role": "assistant", "content": "A", "reasoning_content": "R"},
        ]
    }

    assert problem in template_problem(example, template)


@needs_jinja
@settings(max_examples=40, deadline=None)
@given(conversations())
def test_what_is_written_survives_the_templates(batch):
    """For every family: no row that is written is lost, doubled or cut by its template."""
    for family, template in TEMPLATES.items():
        made = recipe("messages", family, "unroll")
        assert {None} == {*template_problems(made, batch, template)}


@needs_jinja
def test_rows_that_a_template_breaks_are_rejected():
    batch = row(answer="A", reasoning="R")
    divided = Divider(recipe=recipe("trl", "qwen3"), template=GPT_OSS)(batch)

    assert [] == divided[""]["id"]
    assert ["the template writes the reasoning 0 times, not once"] == divided["rejected"][
        "rejected"
    ]


def test_a_template_comes_from_a_file(tmp_path):
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": "{{ 1 }}"}), "utf-8"
    )
    (tmp_path / "chat.jinja").write_text("{{ 2 }}", "utf-8")

    assert (
        "{{ 1 }}"
        == load_template(str(tmp_path))
        == load_template(str(tmp_path / "tokenizer_config.json"))
    )
    assert "{{ 2 }}" == load_template(str(tmp_path / "chat.jinja"))
    with pytest.raises(UsageError, match=r"not a file with a template|neither a file"):
        load_template(str(tmp_path / "nothing"))


# ---- the official ones --------------------------------------------------------------------------------------------

OFFICIAL = [
    ("qwen3", "qwen3.jinja"),
    ("qwen3", "qwen3_training.jinja"),
    ("gpt-oss", "gptoss.jinja"),
    ("gpt-oss", "gptoss_training.jinja"),
]


@pytest.mark.skipif(
    importlib.util.find_spec("trl") is None, reason="TRL is in .venv-engines: scripts/test engines"
)
@pytest.mark.parametrize(("family", "name"), OFFICIAL)
@settings(max_examples=40, deadline=None)
@given(conversations())
def test_reasoning_survives_the_templates_that_trl_has(family, name, batch):
    template = trl_template(name)
    made = recipe("messages", family, "unroll")

    assert {None} == {*template_problems(made, batch, template)}


@pytest.mark.skipif(
    importlib.util.find_spec("trl") is None, reason="TRL is in .venv-engines: scripts/test engines"
)
def test_transformers_renders_what_we_render():
    """With the official environment the same text comes out."""
    from transformers.utils.chat_template_utils import render_jinja_template

    template = trl_template("qwen3.jinja")
    messages = messages_of(written(row(prompt=TWO_TURNS), "trl", "qwen3"))
    theirs, _ = render_jinja_template([messages], chat_template=template)

    assert theirs == [render(template, messages)]


@pytest.mark.skipif(
    importlib.util.find_spec("trl") is None, reason="TRL is in .venv-engines: scripts/test engines"
)
def test_the_template_of_r1_that_drops_all_reasoning_is_found_out():
    example = written(row(), "trl", "deepseek")

    assert "the reasoning 0 times" in template_problem(example, trl_template("deepseekv3.jinja"))


def trl_template(name):
    """A template in TRL's package, which is not imported: it wants torch."""
    found = [file for file in importlib.metadata.files("trl") if file.name == name]
    return found[0].locate().read_text("utf-8")
