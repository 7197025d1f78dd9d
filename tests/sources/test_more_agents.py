"""The same conversation in the files of pi, Copilot CLI, Cline, Langfuse and LangSmith: a thought, a call, its result, an answer."""

import os

import pytest

from innervoice.sources.housekeeping import HELPERS, helper_of
from innervoice.sources.injected import INJECTED, is_injected
from innervoice.sources.opening import open_source, paths_in
from sources.made_sessions import MADE

AGENTS = ("pi", "copilot-cli", "cline", "langfuse", "langsmith")


def opened(kind):
    source = open_source(MADE[kind]())
    assert kind == source.kind
    return source


def sent(kind):
    """The turns of the conversation that the user had."""
    conversation = opened(kind).conversation()
    return [turn for turn in conversation.sent if turn.message.role != "system" and not turn.marks]


@pytest.mark.parametrize("kind", AGENTS)
def test_everything_in_order(kind):
    question, step, result, answer = sent(kind)

    assert "Show me the file a.txt" == question.message.text
    assert ["thinking", "tool_call"] == [part.type for part in step.message.parts]
    assert "I read it." == step.message.parts[0].text
    assert "cat a.txt" in step.message.parts[1].arguments
    [part] = result.message.parts
    assert (step.message.parts[1].id, "hello file") == (part.call_id, part.content if isinstance(part.content, str) else part.content[0].text)  # fmt: skip
    assert "It says hello." == answer.message.text


@pytest.mark.parametrize("kind", AGENTS)
def test_what_is_known_of_an_answer(kind):
    _, step, _, answer = sent(kind)

    model = "deepseek-v4-pro" if kind == "langfuse" else "claude-opus-5-5"
    assert (model, 100, 23) == (step.answer.model, step.answer.usage.input_tokens, step.answer.usage.output_tokens)  # fmt: skip
    assert step.answer.provider == ("deepseek" if kind == "langfuse" else "anthropic")
    assert "answered" == answer.answer.status
    assert step.seconds is not None
    assert step.at is not None


@pytest.mark.parametrize(
    ("kind", "seals"),
    [("pi", ("signature",)), ("copilot-cli", ("signature",)), ("cline", ()), ("langfuse", ()), ("langsmith", ("signature",))],
)  # fmt: skip
def test_seals_stay_where_the_program_kept_them(kind, seals):
    thought = sent(kind)[1].message.parts[0]
    assert seals == (thought.origin.seals if thought.origin else ())


@pytest.mark.parametrize("kind", ["pi", "copilot-cli"])
def test_the_folder_is_the_project(kind):
    assert "shop" == opened(kind).entries[0].project


def test_the_folder_of_cline_is_in_the_file_beside(tmp_path):
    file = tmp_path / "s1.messages.json"
    file.write_bytes(MADE["cline"]())
    (tmp_path / "s1.json").write_text('{"cwd": "/home/u/shop", "metadata": {"title": "A file"}}')
    [entry] = open_source(file).entries
    assert ("shop", "A file") == (entry.project, entry.title)
    assert [file] == list(paths_in([tmp_path]))


def test_a_question_that_was_taken_back_in_pi_is_abandoned():
    turns = opened("pi").conversation().turns
    assert ["Something else"] == [turn.message.text for turn in turns if "abandoned" in turn.marks]


def test_the_system_prompt_of_pi_is_no_question():
    """It comes in sections, and later those that have changed; a line about tools alone is no turn."""
    turns = opened("pi").conversation().turns
    prompts = [turn.message.text for turn in turns if turn.message.role == "system"]

    assert ["You are at home in a terminal.\n\n/home/u/shop", "Be brief.\n\nYou can sail."] == prompts  # fmt: skip
    assert [] == [turn for turn in turns if not turn.message.parts]


def test_pi_says_how_many_tokens_were_thought():
    assert 9 == sent("pi")[1].answer.usage.reasoning_tokens


def test_a_subagent_of_copilot_is_a_conversation_of_its_own():
    source = opened("copilot-cli")
    assert [("main", None), ("toolu_9", "main")] == [(entry.id, entry.parent) for entry in source.entries]  # fmt: skip
    assert ["Look around.", "Seen."] == [turn.message.text for turn in source.conversation("toolu_9").turns]  # fmt: skip


def test_an_error_that_cline_showed_was_never_sent():
    turns = opened("cline").conversation().turns
    assert [("injected",), ("api_error",)] == [turn.marks for turn in turns if turn.marks]


@pytest.mark.parametrize("row", HELPERS, ids=lambda row: f"{row.client}: {row.asks_for}")
def test_a_request_of_a_client_for_itself(row):
    assert row.asks_for == helper_of([f"\n{row.beginning} and so on"]).asks_for
    assert helper_of([f"What does it mean: {row.beginning}"]) is None


@pytest.mark.parametrize("beginning", INJECTED)
def test_texts_in_the_name_of_the_user(beginning):
    assert is_injected(f"  {beginning} x")
    assert not is_injected(f"What is {beginning}?")


def test_links_in_a_circle_and_folders_that_cannot_be_read(tmp_path, monkeypatch):
    """They are named, and the rest is found."""
    (tmp_path / "good.jsonl").write_bytes(MADE["pi"]())
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def refusing(folder):
        if str(folder).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(folder))
        return scandir(folder)

    monkeypatch.setattr("os.scandir", refusing)
    paths = paths_in([tmp_path, tmp_path / "self"])

    assert ["good.jsonl"] == [path.name for path in paths if not path.is_symlink()]
    told = " ".join(why for _, why in paths.troubles)
    assert "closed: cannot be read: Permission denied" in told
    assert "circle" in told
