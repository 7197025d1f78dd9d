"""Badges: whose a seal is, whether it still fits, since which edit it does not, and whether it was refused."""

import json

import pytest

import innervoice as iv
from innervoice.canon.notes import Note
from innervoice.sources.conversation import Turn
from innervoice.view.rows import rows_of
from view.samples import answered, conversation, emulated, thinker, turn

BOUND = "anthropic/claude-fable-5-2"
DROPPING = "openai/gpt-6-sol"
QUESTIONS = ("How is Paris?", "And Rome?", "And Oslo?")


def badges(made, kinds=("thinking",)):
    """The badges of thoughts, by turn."""
    return {
        row["turn"]: row["seals"][0]
        for row in rows_of(made)
        if row["kind"] in kinds and row["seals"]
    }


def states(made):
    return [badge["state"] for badge in badges(made).values()]


def edited(made, number, message):
    """The conversation with another message in the place of one."""
    turns = list(made.turns)
    turns[number] = turns[number].replace(message=message, answer=None)
    return made.replace(turns=tuple(turns))


def questions_of(made):
    return [number for number, item in enumerate(made.turns) if item.message.role == "user"]


@pytest.fixture(scope="module")
def talk():
    return emulated(BOUND, *QUESTIONS)


def test_bound_blocks_fit_as_long_as_nothing_changes(talk):
    assert {"fits"} == set(states(talk))
    badge = next(iter(badges(talk).values()))
    assert "sealed by anthropic, fits" == badge["label"]
    assert "Written by anthropic/claude-fable-5-2; only anthropic can open it." in badge["why"]
    assert badge["size"].endswith(" bytes")


def test_an_edit_kills_what_is_behind_it_and_the_badge_says_where_it_is(talk):
    second = questions_of(talk)[1]
    made = edited(talk, second, iv.user("And Milan?"))
    after = badges(made)
    dead = [number for number, badge in after.items() if badge["state"] == "dead"]

    assert [number for number in after if number > second] == dead
    assert {"fits"} == {badge["state"] for number, badge in after.items() if number < second}
    # The block of the turn before does not cover its own turn: the edit is in that turn, or in the question.
    assert (
        f"a message before it was edited. The edit is in one of the turns {second} to {second + 1}."
        in after[dead[0]]["why"]
    )
    assert f"It is dead since the edit before turn {dead[0] + 1}" in after[dead[1]]["why"]


def test_an_edit_of_the_first_message_is_named_exactly(talk):
    made = edited(talk, 0, iv.user("How is Lyon?"))

    assert {"dead"} == set(states(made))
    assert "The edit is in turn 1." in badges(made)[1]["why"]


def test_a_message_that_is_gone_is_told_by_the_number_of_parts(talk):
    second = questions_of(talk)[1]
    made = talk.replace(turns=(*talk.turns[: second - 1], *talk.turns[second:]))
    told = [badge["why"] for badge in badges(made).values() if badge["state"] == "dead"]

    assert "parts are before it, but there were" in told[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [({"system": "Be brief."}, "the system prompt changed"), ({"tools": ()}, "the tools changed")],
)
def test_a_change_of_the_head_is_named(talk, change, words):
    made = talk.replace(request=talk.request.replace(**change))

    assert {"dead"} == set(states(made))
    assert all(words in badge["why"] for badge in badges(made).values())


def test_a_host_that_ignores_what_does_not_fit_is_told_from_one_that_refuses_it():
    made = emulated(DROPPING, *QUESTIONS)
    assert {"fits"} == set(states(made))
    changed = badges(edited(made, 0, iv.user("How is Lyon?")))

    assert {"dead"} == {badge["state"] for badge in changed.values()}
    assert "The host would ignore it" in changed[1]["why"]
    assert "The host would refuse it" in badges(edited(emulated(BOUND), 0, iv.user("x")))[1]["why"]


def test_without_the_request_nothing_is_claimed_about_system_and_tools(talk):
    made = talk.replace(request=None)

    assert {"present"} == set(states(made))
    assert "the source does not say what they are now" in badges(made)[1]["why"]


def test_a_block_that_is_bound_to_nothing_is_only_there():
    badge = badges(emulated("openai/gpt-5.6"))[1]

    assert ("present", "sealed by openai") == (badge["state"], badge["label"])
    assert "not bound" in badge["why"]


def test_the_account_and_an_unknown_writer_are_named():
    known = thinker("a", seal="S" * 40, scope="acme")
    origin = iv.Origin(block={"signature": "S" * 40}, seals=("signature",))
    made = conversation(answered(known), answered(iv.Thinking("b", origin=origin)))

    assert "account acme" in badges(made)[0]["why"]
    assert "Its owner is unknown" in badges(made)[1]["why"]


def test_an_item_that_is_only_stored_says_so_and_does_not_show_its_id():
    part = thinker(provider="openai", model="gpt-5.6", dialect="openai-responses", block={"type": "reasoning", "id": "rs_0123456789", "summary": []}, seals=("id",))  # fmt: skip
    made = conversation(answered(part))

    assert "stored by openai" == badges(made)[0]["label"]
    assert "under an id" in badges(made)[0]["why"]
    assert "rs_0123456789" not in json.dumps(rows_of(made))


def test_a_signature_of_a_call_is_shown_on_the_call():
    assert [("present", "sealed by gemini")] == [
        (badge["state"], badge["label"])
        for badge in badges(emulated("gemini/gemini-3-pro"), ("call",)).values()
    ]


def test_equal_seals_have_equal_hashes_and_others_do_not():
    made = conversation(*(answered(thinker("x", seal=letter * 40)) for letter in "AAB"))
    one, same, other = (badge["hash"] for badge in badges(made).values())

    assert one == same != other


def refused(refusal, *, as_mark=False):
    first = answered(thinker("a", seal="A" * 40), iv.Text("1"))
    second = answered(thinker("b", seal="B" * 40), iv.Text("2"))
    history = [iv.user("x"), first, iv.user("y"), second, iv.user("z")]
    if as_mark:
        return conversation(*history, turn(iv.assistant(refusal), marks=("api_error",)))
    return conversation(
        *history, answered(iv.Text("3"), notes=(Note("recovered_after_refusal", refusal),))
    )


@pytest.mark.parametrize("as_mark", [False, True])
def test_a_block_that_the_host_refused_says_so_and_only_that_one(as_mark):
    refusal = "messages.3.content.0: Invalid `signature` in `thinking` block"
    made = refused(refusal, as_mark=as_mark)

    assert ["present", "refused"] == states(made)
    assert refusal in badges(made)[3]["why"]


def test_a_refusal_about_something_else_is_none_of_a_seal():
    assert ["present", "present"] == states(refused("overloaded_error"))


def test_what_is_not_sent_again_is_not_checked(talk):
    marked = [
        item.replace(marks=("abandoned",)) if n else item for n, item in enumerate(talk.turns)
    ]
    made = talk.replace(turns=tuple(marked))
    assert "an abandoned branch" in badges(made)[1]["why"]

    summary = Turn(message=iv.user("So far: it is sunny."), marks=("compaction",))
    made = talk.replace(turns=(*talk.turns, summary))
    assert "the turns that were summarised" in badges(made)[1]["why"]


def test_a_model_that_nobody_knows_breaks_nothing():
    part = thinker(
        "a", seal="S" * 40, provider="nobody", model="m", dialect="no-such", prefix="a.b.1.c"
    )

    assert ["present"] == states(conversation(answered(part)))
