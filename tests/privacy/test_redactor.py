"""The redactor leaves alone what is not private, at every level."""

import json

import pytest

import innervoice as iv
from innervoice.privacy.redactor import Redactor, identifier

LEVELS = ("screen", "share", "log")
SEAL = "EqoBCkgIARABGAIiQLongSealOfTheTest0123456789" * 2
BODY = {
    "model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "max_tokens": 100,
    "messages": [
        {"role": "user", "content": "Read https://example.org/a?b=c and tell me: is it true?"},
        {"role": "tool", "tool_call_id": "call_B9MBs8CjcvOU2jLn4n570S5q", "content": "12 tokens"},
    ],
    "tools": [
        {
            "name": "GetCustomerAccountTransactionHistoryForPeriod",
            "parameters": {
                "type": "object",
                "properties": {"password": {"type": "string", "description": "The password."}},
                "required": ["password"],
            },
        }
    ],
}


@pytest.mark.parametrize("level", LEVELS)
def test_an_ordinary_request_stays_as_it_is(level):
    assert Redactor(level).foreign(BODY) == BODY


@pytest.mark.parametrize(
    "id_",
    [
        "call_1", "toolu_01A09q90qw90lq917835lq9", "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT", "functions.get_weather:0",
        "rs_68af4030baa48193b0b43b4c2a176a1a0e6967589f080e78", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    ],
)  # fmt: skip
def test_an_id_stays_as_it_is(id_):
    assert identifier(id_) == id_
    assert repr(id_) in repr(iv.ToolCall(id_, "f"))


@pytest.mark.parametrize("id_", ["call_1__thought__c2ln", SEAL, f"call_{SEAL}", "a b", "x" * 65])
def test_an_id_that_may_carry_a_seal_is_a_hash_and_still_matches(id_):
    shown = identifier(id_)

    assert shown.startswith("id-")
    assert shown == identifier(id_)
    assert shown != identifier(f"{id_}2")


def test_a_seal_is_replaced_wherever_it_stands():
    """Known from the part that it came with, whatever the member is called in the next request."""
    origin = iv.Origin(block={"steps": [{"mark": "short-seal"}]}, seals=("steps.0.mark",))
    message = iv.assistant(iv.Thinking("I think.", origin=origin))

    shown = Redactor("screen", [message]).foreign({"anything": ["short-seal", "text"]})

    assert shown == {"anything": ["<sealed, 10 bytes>", "text"]}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "value",
    [
        {"signature": "short-seal"},
        {"thoughtSignature": "short-seal"},
        {"encrypted_content": ["short-seal"]},
        {"redactedContent": {"inner": "short-seal"}},
        {"type": "redacted_thinking", "data": "short-seal"},
        {"password": "short-seal"},
        {"password": {"default": "short-seal"}},
        {"url": "https://short-seal@host/a"},
        {"url": "https://host/a?x=short-seal"},
        {"call_id": "call_1__thought__short-seal"},
    ],
    ids=str,
)
def test_a_private_member_is_never_shown(value, level):
    assert "short-seal" not in json.dumps(Redactor(level).foreign(value))


def test_words_belong_to_who_looks_at_them():
    text = "token: abcdefgh12345678"

    assert Redactor("screen").text(text) == text
    assert "12345678" not in Redactor("share").text(text)
    assert "12345678" not in Redactor("log").text(text)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Bash(command=\"curl -H 'x: aB3aB3aB3aB3aB3aB3…)", "Bash(command=\"curl -H 'x: …)"),
        ("I was understanding…", "I was understanding…"),
        ("It is done.", "It is done."),
    ],
)
def test_half_a_secret_before_a_cut_is_left_out(line, shown):
    assert Redactor("share").line(line) == shown
