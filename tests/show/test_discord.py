"""Discord: reasoning behind spoilers that stay closed, in messages that are short enough."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.show import render
from innervoice.show.visible import visible
from show.hostile import PIECES, hostile

LONG = st.lists(st.sampled_from([*PIECES, "word " * 30, "x" * 130, "\n" * 5]), max_size=60).map(
    "".join
)


def response(*parts, **fields):
    return iv.Response(parts=parts, ended=True, **fields)


def units(text):
    return len(text.encode("utf-16-le")) // 2


def read(message):
    """A message as Discord parses it: spoilers, code and the rest, without escapes."""
    spoilers, code, rest = [], [], []
    position = 0
    while position < len(message):
        for kind, pattern in [
            (rest, r"\\([^0-9A-Za-z\s])"),
            (code, r"```(?:[a-z0-9_+\-.#]*\n)?((?s:.+?))```"),
            (code, r"(?:(`+)((?s:.*?)[^`]))\1(?!`)"),
            (spoilers, r"\|\|((?s:.+?))\|\|"),
            (rest, r"((?s:.))"),
        ]:
            if match := re.compile(pattern, re.IGNORECASE).match(message, position):
                kind.append(match[match.lastindex])
                position = match.end()
                break
    return spoilers, code, "".join(rest)


def unescaped(text):
    return re.sub(r"\\([^0-9A-Za-z\s])", r"\1", text).replace("@\u200b", "@")


def test_full():
    value = response(
        iv.Thinking("15 * 23\n= 345 ||"),
        iv.Text("It is **345**."),
        usage=iv.Usage(reasoning_tokens=412),
    )

    assert render(value, "discord") == [
        "-# Thinking (16 characters, 412 tokens)\n||15 \\* 23\n= 345 \\|\\| ||\nIt is **345**."
    ]


def test_length_and_none():
    value = response(iv.Thinking("abc"), iv.Text("ANSWER"))

    assert render(value, "discord", "length") == ["-# Thinking (3 characters)\nANSWER"]
    assert render(value, "discord", "none") == ["ANSWER"]


def test_nothing_to_show_is_no_message():
    assert [] == render(iv.user("\n \n"), "discord")


def test_masks_and_mentions_in_the_answer_are_seen_for_what_they_are():
    answer = "||secret|| [bank](http://evil.example) @everyone <@1> `a || b` and \\| stays"

    (message,) = render(response(iv.Text(answer)), "discord")

    assert message == (
        "\\|\\|secret\\|\\| \\[bank\\](http://evil.example) @\u200beveryone <@\u200b1> "
        "`a || b` and \\| stays"
    )


def test_a_long_thought_is_closed_and_opened_again():
    thinking = "".join(f"step {n} of the thought\n" for n in range(200))
    messages = render(response(iv.Thinking(thinking), iv.Text("ANSWER")), "discord")

    assert 3 == len(messages)
    assert all(message.count("||") == 2 for message in messages)
    assert messages[0].startswith("-# Thinking (")
    assert messages[-1].endswith("||\nANSWER")
    spoken = "\n".join(spoiler for message in messages for spoiler in read(message)[0])
    assert thinking.split() == spoken.split()


def test_long_code_is_closed_and_opened_again():
    lines = [f"    print({n}) or x || y" for n in range(200)]
    answer = "Here:\n```python\n" + "\n".join(lines) + "\n```\nDone."
    messages = render(response(iv.Text(answer)), "discord")

    assert 3 == len(messages)
    assert messages[0].startswith("Here:\n```python\n")
    assert all(message.startswith("```python\n") for message in messages[1:])
    assert messages[-1].endswith("```\nDone.")
    code = [line for message in messages for body in read(message)[1] for line in body.splitlines()]
    assert lines == code


def test_code_that_was_cut_off_is_closed():
    assert render(response(iv.Text("```sh\nls")), "discord") == ["```sh\nls\n```"]


def test_text_is_parted_between_words():
    messages = render(response(iv.Text("word " * 1000)), "discord")

    assert all(message.rstrip().endswith("word") for message in messages)
    assert 1000 == sum(message.split().count("word") for message in messages)


def test_emoji_count_as_the_clients_count_them():
    messages = render(response(iv.Text("🙂" * 1500)), "discord")

    assert [2000, 1000] == [units(message) for message in messages]
    assert "🙂" * 1500 == "".join(messages)


def test_a_spoiler_never_follows_an_answer_in_its_message():
    value = response(iv.Text("`a || b"), iv.Thinking("hidden"), iv.Text("END"))

    assert ["\\`a \\|\\| b", "-# Thinking (6 characters)\n||hidden||\nEND"] == render(
        value, "discord"
    )


def test_a_history():
    history = [
        iv.user("15 * 23?"),
        iv.Message("assistant", (iv.ToolCall("1", "mul_it", "{}"), iv.Thinking("x"))),
    ]

    assert render(history, "discord") == [
        "**user**\n15 * 23?\n**assistant**\n-# call mul\\_it({})",
        "-# Thinking (1 character)\n||x||",
    ]


def test_a_limit_that_nothing_fits_in_is_refused():
    with pytest.raises(iv.UsageError, match="limit must be"):
        render(response(iv.Text("x")), "discord", limit=10)


@settings(deadline=None)
@given(hostile | LONG, st.integers(120, 400))
def test_reasoning_stays_behind_the_spoiler(thinking, limit):
    messages = render(
        response(iv.Thinking(f"!{thinking}!"), iv.Text("ANSWER")), "discord", limit=limit
    )

    spoken, rest = "", ""
    for message in messages:
        assert units(message) <= limit
        assert not re.search(r"@everyone|@here|<@[!&]?\d", message)
        title = re.match(r"-# .*\n?", message)
        spoilers, code, outside = read(message[title.end() if title else 0 :])
        assert not code
        spoken += "".join(unescaped(spoiler) + "\n" for spoiler in spoilers)
        rest += outside
    assert "ANSWER" == rest.strip()
    expected = visible(f"!{thinking}!").replace("@\u200b", "@")
    assert "".join(expected.split()) == "".join(spoken.split())


@settings(max_examples=200, deadline=None)
@given(hostile | LONG, st.integers(120, 400))
def test_an_answer_has_neither_spoilers_nor_mentions_and_loses_nothing(answer, limit):
    messages = render(response(iv.Text(f"!{answer}!")), "discord", limit=limit)

    for message in messages:
        assert units(message) <= limit
        assert message.strip()
        assert not re.search(r"@everyone|@here|<@[!&]?\d", message)
        assert not read(message)[0]
    kept = re.sub(r"[\s\\`]", "", "".join(messages)).replace("\u200b", "")
    assert kept.replace("python", "") == re.sub(r"[\s\\`]", "", visible(answer).join("!!")).replace(
        "\u200b", ""
    ).replace("python", "")


@pytest.mark.parametrize(
    "unit", ["`<b>", "```\n", "``` ", "` `` ", "\\`", "||", "@everyone ", "\n"]
)
def test_a_megabyte_takes_no_time(unit):
    text = unit * (200_000 // len(unit))

    assert render(response(iv.Thinking(f"!{text}"), iv.Text(f"!{text}")), "discord")
