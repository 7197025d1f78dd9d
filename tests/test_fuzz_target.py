"""The fuzz targets themselves work, and hold on bytes of our own."""

import importlib.util
import json
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.jsontext import dump_json
from shared import needs_shared

FOLDER = Path(__file__).parents[1] / "fuzz"


def loaded(name):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


target, bodies = loaded("fuzz_splitter"), loaded("fuzz_bodies")


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40))
def test_target(data):
    target.check(data)


@settings(max_examples=300, deadline=None)
@given(st.binary(min_size=4, max_size=4), st.lists(st.integers(1, len(target.WORDS)), max_size=20))
def test_target_on_markers(head, words):
    target.check(head + bytes(words))


# ---- recorded bodies with values of other types ------------------------------------------------------


@needs_shared
@pytest.mark.parametrize("seed", range(10))
def test_recorded_bodies_with_other_types(seed):
    """A slice of what `fuzz/fuzz_bodies.py` does for minutes."""
    random = Random(seed)
    for _ in range(150):
        bodies.check(random.randbytes(60))


ITEM = {"id": "m", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]}  # fmt: skip
UNHASHABLE = [[], {}, [["x"]]]


def answer(**members):
    return {"id": "r", "object": "response", "status": "completed", "output": [{**ITEM, **members}]}


@pytest.mark.parametrize("dialect", bodies.DIALECTS)
@pytest.mark.parametrize("member", ["type", "id", "role", "content", "status", "encrypted_content"])
@pytest.mark.parametrize("value", UNHASHABLE)
def test_an_item_of_a_response_with_a_list_for_a_word(dialect, member, value):
    body = answer(**{member: value})
    response = iv.decode(body)

    assert iv.encode_response(response, dialect)
    assert iv.convert(body, to=dialect)


@pytest.mark.parametrize("value", [*UNHASHABLE, 10**400, True, "x"])
@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("anthropic", lambda value: {"thinking": {"type": "enabled", "budget_tokens": 2000, "display": value}}),
        ("anthropic", lambda value: {"thinking": {"type": "enabled", "budget_tokens": value}}),
        ("gemini", lambda value: {"generationConfig": {"thinkingConfig": {"includeThoughts": value}}}),
        ("gemini", lambda value: {"generationConfig": {"thinkingConfig": {"thinkingBudget": value}}}),
        ("openai-chat", lambda value: {"reasoning_format": value}),
        ("openai-chat", lambda value: {"reasoning": {"max_tokens": value}}),
        ("openai-chat", lambda value: {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object", "properties": {"a": {}}, "required": [value]}}}}),
        ("bedrock-converse", lambda value: {"system": [{"text": value}]}),
    ],
)  # fmt: skip
def test_a_setting_of_another_type(dialect, body, value):
    messages = {"gemini": {"contents": [{"role": "user", "parts": [{"text": "x"}]}]}}
    common = messages.get(dialect, {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]})  # fmt: skip
    request = iv.decode_request({**common, **body(value)}, dialect=dialect)

    for other, model in bodies.TARGETS.items():
        with suppress(iv.InnervoiceError):  # a refusal says why
            iv.encode(request.replace(model=model, dialect=other))


@pytest.mark.parametrize("arguments", ['{"a": 1e400}', '{"a": -1.5e500}', '{"a": [NaN, Infinity]}'])
@pytest.mark.parametrize("dialect", bodies.DIALECTS)
def test_numbers_beyond_floats_in_arguments(dialect, arguments):
    """Any JSON library can write the body."""
    call = iv.ToolCall("call_0aaaaaa", "f", arguments)
    history = [iv.user("x"), iv.Message("assistant", (call,)), iv.tool_result(call.id, "1")]
    request = iv.Request(bodies.TARGETS[dialect], history, dialect=dialect)
    response = iv.Response(parts=(call,), ended=True, finish_reason="tool_calls")

    assert json.dumps(iv.encode(request).body)
    assert json.dumps(iv.encode_response(response, dialect))
    again = iv.decode(dump_json(iv.encode_response(response, dialect)), dialect=dialect)
    assert str(json.loads(arguments, parse_float=float)) == str(json.loads(again.tool_calls[0].arguments, parse_int=float))  # fmt: skip


def test_a_message_is_no_response():
    with pytest.raises(iv.UsageError, match="expected a Response, not Message"):
        iv.encode_response(iv.assistant("A"), "anthropic")


@pytest.mark.parametrize("body", ["\ud800", "x", "", b"\xff", b"{", "[", "[]", "1", b"[" * 100_000])
@pytest.mark.parametrize("dialect", bodies.DIALECTS)
def test_a_body_of_a_request_that_is_not_an_object(dialect, body):
    """Seen failing: an error of the JSON library."""
    with pytest.raises(iv.DecodeError, match="must be a JSON object"):
        iv.decode_request(body, dialect=dialect)
