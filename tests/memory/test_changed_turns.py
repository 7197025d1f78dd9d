"""What programs do to a history, and which of its turns get their reasoning back."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, Thinking, ToolCall, ToolResult
from innervoice.canon.storage import from_json, to_json
from innervoice.conversation.turns import seals_of
from innervoice.memory.recent_turns import RecentTurns
from innervoice.memory.restoring import TurnRestorer
from memory.test_restoring import MODEL, SECRET, sealed, turn


def call(number):
    """A call; the members of its arguments are not sorted."""
    return ToolCall(f"toolu_01234567890{number}", "read", json.dumps({"path": f"{number}.txt", "at": 1}))  # fmt: skip


def result(number, text=None):
    return Message("tool", (ToolResult(call(number).id, text or f"Text {number}."),))


def bare(message):
    """What a careless program keeps of a message."""
    parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
    return Message(message.role, parts)


def remembered(history, tenant="me"):
    """The memory after a program that keeps no reasoning had this conversation."""
    recent = RecentTurns()
    for number, message in enumerate(history):
        if message.role == "assistant":
            before = iv.Request(MODEL, tuple(map(bare, history[:number])))
            if made := TurnRestorer(before, tenant, SECRET).record(message):
                recent.put(*made)
    return recent


def restored(recent, messages, tenant="me"):
    restorer = TurnRestorer(iv.Request(MODEL, tuple(messages)), tenant, SECRET)
    made = restorer.restored(recent.get(tenant, restorer.wanted))
    return made.request.messages, restorer.notebook.notes()


GREETING = turn(sealed("They greet me.", "Z3JlZXQ="), Text("Hello, I am here."))
CALLS = turn(sealed("I need both.", "Y2FsbHM="), Text("I read them."), call(1), call(2))
ANSWER = turn(sealed("They are empty.", "YW5zd2Vy"), Text("Both are empty."))
HISTORY = [
    iv.system("Be kind."), iv.user("Hello!"), GREETING, iv.user("Read both."), CALLS, result(1), result(2), ANSWER,
    iv.user("Thanks."),
]  # fmt: skip
SENT = list(map(bare, HISTORY))


def replaced(number, *messages, history=SENT):
    """The history with other messages in place of one."""
    return [*history[:number], *messages, *history[number + 1 :]]


def with_ids(history, name):
    """The history with other ids of its calls."""

    def renamed(part):
        if isinstance(part, ToolCall):
            return part.replace(id=name(part.id))
        return part.replace(call_id=name(part.call_id)) if isinstance(part, ToolResult) else part

    return [message.replace(parts=tuple(map(renamed, message.parts))) for message in history]


def others(name):
    return f"call_{name[-1]}xyz"


def counted(name):
    return f"call_{name[-1]}"


EACH = [turn(Text("I read them."), call(1)), result(1), turn(call(2)), result(2)]
AS_TURNS = [*SENT[:4], *EACH, *SENT[7:]]
SORTED = turn(Text("I read them."), *(call(n).replace(arguments=json.dumps(json.loads(call(n).arguments), sort_keys=True, indent=2)) for n in (1, 2)))  # fmt: skip
IN_WORDS = iv.assistant(f"I read them. (Called {call(1).id} and {call(2).id}.)")
LOST = [iv.tool_result("unknown", f"Text {number}.") for number in (1, 2)]
ALL = (True, True, True)

# What a program did -> the history, and whether the greeting, the turn with calls and the answer behind it are found. A turn
# without calls is found only if everything before it is the same.
CHANGES = {
    "nothing": (SENT, ALL),
    "a word of a turn edited": (replaced(2, iv.assistant("Hello, I was here.")), (False, True, False)),
    "a word beside calls edited": (replaced(4, turn(Text("I read it."), call(1), call(2))), (True, False, False)),
    "the text beside calls lost": (replaced(4, turn(call(1), call(2))), (True, False, False)),
    "a call edited": (replaced(4, turn(Text("I read them."), call(1), call(3))), (True, False, False)),
    "a call lost": (replaced(4, turn(Text("I read them."), call(1))), (True, False, False)),
    "a question edited": (replaced(3, iv.user("Read all.")), (True, True, False)),
    "a result edited": (replaced(5, result(1, "Something.")), (True, True, False)),
    "the head trimmed": (SENT[3:], (None, True, False)),
    "the head trimmed, and the ids renamed": (with_ids(SENT[3:], others), (None, True, False)),
    "the question trimmed": (SENT[4:], (None, True, False)),
    "a summary in place of the head": ([iv.user("They greeted."), iv.assistant("Good."), *SENT[3:]], (None, True, False)),
    "the system prompt dropped": (SENT[1:], ALL),
    "another system prompt": ([iv.system("Be brief."), *SENT[1:]], ALL),
    "text and calls as two turns": (replaced(4, iv.assistant("I read them."), turn(call(1), call(2))), ALL),
    "text and calls as two turns, with other ids":
        (with_ids(replaced(4, iv.assistant("I read them."), turn(call(1), call(2))), others), ALL),
    "text and calls as three turns": (replaced(4, iv.assistant("I read them."), turn(call(1)), turn(call(2))), ALL),
    "a text as two turns": (replaced(2, iv.assistant("Hello,"), iv.assistant("I am here.")), ALL),
    "half of a text": (replaced(2, iv.assistant("Hello,")), (False, True, False)),
    "every call a turn": (AS_TURNS, ALL),
    "every call a turn, and the head trimmed": (AS_TURNS[3:], (None, True, False)),
    "every call a turn, with other ids": (with_ids(AS_TURNS, others), (True, False, True)),
    "every call a turn, the second first": ([*SENT[:4], *EACH[2:], *EACH[:2], *SENT[7:]], (True, False, False)),
    "every call a turn, with words of its own":
        ([*SENT[:4], turn(Text("I read"), call(1)), result(1), turn(Text("them."), call(2)), *SENT[6:]], (True, False, False)),
    "results in another order": ([*SENT[:5], SENT[6], SENT[5], *SENT[7:]], ALL),
    "results twice": ([*SENT[:6], SENT[5], *SENT[6:]], ALL),
    "results in one message": ([*SENT[:5], Message("user", (*SENT[5].parts, *SENT[6].parts)), *SENT[7:]], ALL),
    "other ids": (with_ids(SENT, others), ALL),
    "counted ids": (with_ids(SENT, counted), ALL),
    "results without ids": ([*SENT[:5], *LOST, *SENT[7:]], ALL),
    "arguments written again": (replaced(4, SORTED), ALL),
    "white space": (replaced(2, iv.assistant(" Hello, I am here.\n")), ALL),
    "text in blocks": (replaced(2, turn(Text("Hello, "), Text("I am here."))), ALL),
    "text appended": (replaced(2, iv.assistant("Hello, I am here.\n\n(Logged.)")), (True, True, False)),
    "text put before": (replaced(2, iv.assistant("Bot: Hello, I am here.")), (False, True, False)),
    "calls written into the text": ([*SENT[:4], IN_WORDS, iv.user("Both are empty?"), *SENT[7:]], (True, True, False)),
    "resumed from a file": ([from_json(to_json(message)) for message in SENT], ALL),
    "a fork": ([*SENT[:3], iv.user("Say something else.")], (True, None, None)),
    "a fork in mid-loop": ([*SENT[:7], iv.user("Stop!")], (True, True, None)),
}  # fmt: skip


@pytest.mark.parametrize(("messages", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_what_programs_do_to_a_history(messages, expected):
    sent, notes = restored(remembered(HISTORY), messages)
    thoughts = {part.text for message in sent for part in message.parts if isinstance(part, Thinking)}  # fmt: skip

    for whole, is_found in zip((GREETING, CALLS, ANSWER), expected, strict=True):
        assert bool(is_found) == (whole.thinking in thoughts), whole.text
    assert flat(sent) == flat(messages), "no word is lost, and none is added"
    assert ("thinking_restored" in {note.code for note in notes}) == any(expected)
    if expected == ALL:
        assert turns_of(sent) == turns_of(HISTORY)


def turns_of(messages):
    return [message for message in messages if message.role == "assistant"]


@pytest.mark.parametrize("tenant", ["me", "you"])
@pytest.mark.parametrize("messages", [case[0] for case in CHANGES.values()], ids=CHANGES.keys())
def test_another_tenant_and_two_that_fit(messages, tenant):
    """The same conversation twice, with other reasoning: a turn at its exact place gets the newest, others get none. Another tenant never gets any."""
    recent = remembered(HISTORY)
    if tenant == "me":
        twin = [message.replace(parts=(sealed("Twin.", "dHdpbg=="), *message.parts[1:])) if message.role == "assistant" else message for message in HISTORY]  # fmt: skip
        for one in (twin[:3], twin[:5], twin[:8]):
            before = iv.Request(MODEL, tuple(map(bare, one[:-1])))
            recent.put(*TurnRestorer(before, "me", SECRET).record(one[-1]))
    sent, notes = restored(recent, messages, tenant)

    seals = {seal for message in sent for part in message.parts for seal in seals_of(part)}
    assert seals <= {seal for message in messages for part in message.parts for seal in seals_of(part)} | {"dHdpbg=="}  # fmt: skip
    if tenant == "you" or sent == tuple(messages):
        assert (sent, notes) == (tuple(messages), ())
    else:
        assert "several_turns_match" in {note.code for note in notes}


def flat(messages):
    """A conversation without the bounds of its turns: words of the user, words of the model, and calls with their results."""
    found = []
    results = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                results.setdefault(part.call_id, set()).add(part.content)
    for message in messages:
        for part in message.parts:
            match part:
                case Text():
                    found += [(message.role, sign) for sign in part.text if not sign.isspace()]
                case ToolCall():
                    told = json.dumps(json.loads(part.arguments), sort_keys=True)
                    found.append((part.name, told, *results.get(part.id, ())))
    return found


# ---- turns that follow each other ------------------------------------------------------------------

ONE = turn(sealed("First.", "b25l"), Text("One."))
PAIRS = {
    "text and text": turn(sealed("Second.", "dHdv"), Text("Two.")),
    "text and calls": turn(sealed("Second.", "dHdv"), call(1), call(2)),
    "text, and text with calls": turn(sealed("Second.", "dHdv"), Text("Two."), call(1), call(2)),
}
ASKED = iv.user("Count.")


def merged(one, two, joint):
    text = one.text + joint + two.text if two.text else one.text
    return turn(Text(text), *two.tool_calls)


def behind(two):
    """What follows the second turn, and a turn behind that."""
    said = [result(1), result(2)] if two.tool_calls else [iv.user("Go on.")]
    return [*said, turn(sealed("Third.", "dHJlcw=="), Text("Three."))]


@pytest.mark.parametrize("joint", ["", " ", "\n", "\n\n", "\n---\n"])
@pytest.mark.parametrize("two", PAIRS.values(), ids=PAIRS.keys())
def test_two_turns_that_were_merged(two, joint):
    """They are two again, and so are the turns behind them found; with something new between them the message is another."""
    history = [ASKED, ONE, two, *behind(two)]
    sent, notes = restored(remembered(history), [ASKED, merged(ONE, two, joint), *map(bare, behind(two))])  # fmt: skip
    is_new = bool(joint.strip() and two.text)

    if not is_new:
        assert list(sent) == history
        assert "turn_rejoined" in {note.code for note in notes}
    elif two.tool_calls:
        assert sent[1] == merged(ONE, two, joint)
    else:
        assert sent[1] == turn(*ONE.parts, Text("\n---\nTwo.")), "only words that were appended"


@pytest.mark.parametrize("two", PAIRS.values(), ids=PAIRS.keys())
def test_two_turns_that_stayed_two(two):
    history = [ASKED, ONE, two, *behind(two)]
    sent, notes = restored(remembered(history), list(map(bare, history)))

    assert list(sent) == history
    assert "turn_rejoined" not in {note.code for note in notes}


@pytest.mark.parametrize("two", PAIRS.values(), ids=PAIRS.keys())
def test_merged_turns_of_which_two_fit(two):
    recent = remembered([ASKED, ONE, two])
    twin = turn(sealed("Twin.", "dHdpbg=="), *two.parts[1:])
    before = iv.Request(MODEL, (ASKED, bare(ONE)))
    recent.put(*TurnRestorer(before, "me", SECRET).record(twin))

    assert restored(recent, [ASKED, merged(ONE, two, "\n")]) == ((ASKED, merged(ONE, two, "\n")), ())  # fmt: skip


def test_a_text_twice_is_not_two_turns():
    sent, _ = restored(remembered([ASKED, ONE]), [ASKED, iv.assistant("One. One.")])
    assert sent[1] == turn(*ONE.parts, Text(" One."))


FOREIGN = {
    "merged": [turn(sealed("Mine.", "bWluZQ=="), *merged(ONE, PAIRS["text and text"], "").parts)],
    "appended": [turn(sealed("Mine.", "bWluZQ=="), Text("One. Logged."))],
    "split": [turn(sealed("Mine.", "bWluZQ=="), Text("On")), iv.assistant("e.")],
}


@pytest.mark.parametrize("shown", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_seal_of_the_program_wins(shown):
    recent = remembered([ASKED, ONE, PAIRS["text and text"]])

    assert restored(recent, [ASKED, *shown]) == ((ASKED, *shown), ())
    unsealed = [ASKED, *map(bare, shown)]
    assert restored(recent, unsealed)[0] != tuple(unsealed)


def test_a_split_turn_that_kept_its_reasoning():
    """Its seal is known, so the turn is put together; only the other two count as restored."""
    shown = [turn(*CALLS.parts[:2]), turn(*CALLS.tool_calls)]
    sent, notes = restored(remembered(HISTORY), [*SENT[:4], *shown, *SENT[5:]])

    assert sent[4] == CALLS
    assert {note.code: note.count for note in notes} == {"thinking_restored": 2, "turn_rejoined": 1}


def test_a_turn_in_very_many_pieces():
    """Nothing looks further than a turn could reach, however the pieces fit."""
    long = turn(sealed(), Text("a" * 1000))
    recent = remembered([ASKED, long])
    pieces = [iv.assistant("a")] * 999
    assert restored(recent, [ASKED, *pieces])[0] == (ASKED, *pieces)


def test_an_id_that_stands_in_many_texts():
    """A text is not made of calls only because their ids are as short as a number."""
    recent = remembered([ASKED, turn(sealed(), ToolCall("1", "read", "{}"))])
    assert restored(recent, [ASKED, iv.assistant("It is 15.")])[1] == ()


def test_a_copy_of_a_conversation_goes_its_own_way():
    digest = TurnRestorer(iv.Request(MODEL, (ASKED, bare(CALLS))), "me", SECRET).digest
    other = digest.copy()
    for message in (result(1), iv.system("More."), iv.user("Go on."), iv.assistant("Yes.")):
        other.add(message)
    assert digest.keys(ONE) == TurnRestorer(iv.Request(MODEL, (ASKED, bare(CALLS))), "me", SECRET).digest.keys(ONE)  # fmt: skip
    assert digest.keys(ONE) != other.keys(ONE)


# ---- what holds for every history ------------------------------------------------------------------

words = st.sampled_from(["", "One.", "Two.", "One. Two.", "a b"])
turns = st.tuples(words, st.integers(0, 2), st.booleans())


@st.composite
def histories(draw):
    """A conversation, and the same with its turns cut and joined at random."""
    history, count = [ASKED], 0
    for text, calls, is_sealed in draw(st.lists(turns, min_size=1, max_size=5)):
        made = [call(count + number) for number in range(calls)]
        thought = (sealed(f"T{len(history)}", f"c2Vh{len(history):04}"),) if is_sealed else ()
        history.append(turn(*thought, *([Text(text)] if text else ()), *made))
        history += [result(count + number) for number in range(calls)]
        count += calls
        if draw(st.booleans()):
            history.append(iv.user(draw(words)))
    changed = []
    for message in map(bare, history):
        last = changed[-1] if changed else None
        if message.role == "assistant" and last and last.role == "assistant" and not last.tool_calls and draw(st.booleans()):  # fmt: skip
            changed[-1] = turn(*last.parts, *message.parts)
        elif message.role == "assistant" and len(message.parts) > 1 and draw(st.booleans()):
            changed += [turn(part) for part in message.parts]
        else:
            changed.append(message)
    return history, changed


@settings(deadline=None, max_examples=100)
@given(histories())
def test_no_word_is_lost_or_added(both):
    history, changed = both
    sent, _ = restored(remembered(history), changed)
    assert flat(sent) == flat(changed)
    assert flat(restored(remembered(history), list(map(bare, history)))[0]) == flat(history)


@settings(deadline=None, max_examples=100)
@given(histories())
def test_the_next_turn_is_found_behind_any_of_them(both):
    """Where turns begin and end does not count for what comes behind them."""
    history, changed = both
    end = iv.user("The end.")
    last = turn(sealed("Last.", "bGFzdA=="), Text("Good bye."))
    recent = RecentTurns()
    before = iv.Request(MODEL, (*map(bare, history), end))
    recent.put(*TurnRestorer(before, "me", SECRET).record(last))

    assert restored(recent, [*changed, end, bare(last)])[0][-1] == last
    assert restored(recent, [*changed, iv.user("More."), end, bare(last)])[0][-1] != last
