"""Objects that also behave like dicts: at every level, by assignment, in dumps, and without printing a seal."""

import copy
import json
import pickle

import pytest

from innervoice import decode
from innervoice.bridges import litellm
from innervoice.bridges.litellm.types.utils import (
    ChatCompletionDeltaToolCall,
    ChatCompletionMessageToolCall,
    EmbeddingResponse,
    Function,
    StreamingChoices,
    Usage,
)
from innervoice.bridges.litellm.utils import Delta

CALL = {"function": {"arguments": "{}", "name": "f"}, "id": "c", "type": "function"}


def full_response():
    return litellm.ModelResponse(
        id="r",
        model="m",
        created=1,
        choices=[
            {
                "finish_reason": "tool_calls",
                "message": {
                    "content": None,
                    "tool_calls": [CALL],
                    "reasoning_content": "hm",
                    "thinking_blocks": [
                        {"type": "thinking", "thinking": "hm", "signature": "SECRET"}
                    ],
                    "provider_specific_fields": {"innervoice": {"secret": "SECRET"}},
                },
            }
        ],
        usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    )


def test_items_and_attributes_are_one():
    """Attributes and items are the same, at every level."""
    response = full_response()
    response["choices"][0]["message"]["content"] = "x"
    response.choices[0].message["tool_calls"][0].function["arguments"] = '{"a": 1}'
    response.usage["total_tokens"] = 9
    response["new"] = 1
    response.choices[0]["message"].extra = 2

    assert "x" == response.choices[0].message.content
    assert '{"a": 1}' == response["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    assert 9 == response["usage"].total_tokens
    assert 1 == response.new == response.get("new")
    assert 2 == response["choices"][0]["message"]["extra"]
    del response["new"]
    assert "new" not in response


def test_what_is_missing():
    """A missing item raises an error that is both KeyError and AttributeError."""
    message = litellm.Message("hi")
    for kind in (KeyError, AttributeError):
        with pytest.raises(kind):
            _ = message["thinking_blocks"]
        with pytest.raises(kind):
            del message["thinking_blocks"]
    assert message.get("thinking_blocks", []) == []
    assert "_hidden_params" not in litellm.ModelResponse()
    assert 7 not in message


def test_dumps():
    """Dumps are plain, whichever way they are asked for."""
    response = full_response()
    dumped = response.model_dump()

    assert dumped == response.json() == response.dict() == response.to_dict()
    assert dumped == json.loads(response.model_dump_json())
    assert dumped == json.loads(response.model_dump_json(indent=2))
    assert [CALL] == dumped["choices"][0]["message"]["tool_calls"]
    assert isinstance(dumped["choices"][0]["message"]["tool_calls"][0]["function"], dict)
    assert "system_fingerprint" not in response.model_dump(exclude_none=True)
    assert {"id": "r"} == response.model_dump(include={"id"})
    assert "usage" not in response.model_dump(exclude={"usage"})
    assert ' "' not in response.model_dump_json()
    assert dict(response).keys() == {**response}.keys() == dumped.keys()
    assert ("id", "r") in list(response)
    assert "r" in response.values()


def test_extra_members():
    """`model_extra` is what the type does not name: the usage of a response, for one."""
    response = full_response()

    assert {"usage"} == response.model_extra.keys()
    assert 3 == response.model_extra["usage"].total_tokens
    assert {} == litellm.Message("a").model_extra
    assert {"a": 1} == litellm.Message("a", a=1).model_extra
    assert {"id", "choices"} < response.model_fields_set


def test_values():
    """Equality, copying, pickling and validation."""
    response = full_response()

    assert full_response() == response != litellm.ModelResponse()
    assert response == copy.deepcopy(response) == pickle.loads(pickle.dumps(response))
    assert litellm.Message("a") != Delta("a")
    other = response.model_copy(update={"id": "s"}, deep=True)
    assert ("r", "s") == (response.id, other.id)
    other.choices[0].message.content = "y"
    assert response.choices[0].message.content is None
    assert response.choices[0].message == litellm.Message.model_validate(
        response.choices[0].message.model_dump()
    )
    with pytest.raises(TypeError):
        hash(response)


def test_no_seal_is_printed():
    """`repr` prints only the size of a seal."""
    shown = repr(full_response())

    assert "SECRET" not in shown
    assert "thinking_blocks=<list of 1>" in shown
    assert "reasoning_content='hm'" in shown


def test_an_empty_response():
    """One empty choice, tokens of zero; a chunk has a delta and no tokens."""
    response = litellm.ModelResponse()
    assert (0, 0, 0) == tuple(
        response.model_extra["usage"][name]
        for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    )
    assert response.id != litellm.ModelResponse().id
    assert "chat.completion" == response.object

    chunk = litellm.ModelResponse(stream=True)
    assert isinstance(chunk.choices[0], StreamingChoices)
    assert chunk.choices[0].delta.content is None
    assert chunk.get("usage") is None
    chunk["choices"][0]["delta"]["content"] = "x"
    assert "x" == chunk.model_dump()["choices"][0]["delta"]["content"]


def test_choices_of_both_kinds():
    """A dict with a delta becomes a chunk choice, one with a message a complete choice."""
    whole, piece = litellm.ModelResponse(
        choices=[{"message": {"content": "a"}}, {"delta": {"content": "b"}}]
    ).choices

    assert (litellm.Choices, StreamingChoices) == (type(whole), type(piece))
    assert ("stop", None) == (whole.finish_reason, piece.finish_reason)
    both = litellm.Choices(message={"content": "a"}, delta={"content": "b"})
    assert ("a", "b") == (both.message.content, both.delta.content)


def test_native_words_are_kept():
    choice = litellm.Choices(finish_reason="end_turn")
    assert "stop" == choice.finish_reason
    assert {"native_finish_reason": "end_turn"} == choice.provider_specific_fields


def test_calls():
    """Arguments are text; a missing id is generated."""
    assert '{"a": 1}' == Function({"a": 1}, "f").arguments
    assert "" == Function(name="f").arguments
    call = ChatCompletionMessageToolCall({"name": "f", "arguments": "{}"})
    assert call.id
    assert "function" == call.type
    piece = Delta(tool_calls=[{"index": 1, "function": {"arguments": "{"}}]).tool_calls[0]
    assert isinstance(piece, ChatCompletionDeltaToolCall)
    assert (1, "{", None) == (piece.index, piece.function.arguments, piece.id)


def test_usage_details():
    """Details are objects and dicts; the rest of the output is text."""
    usage = Usage(
        prompt_tokens=10,
        completion_tokens=5,
        completion_tokens_details={"reasoning_tokens": 2},
        cache_read_input_tokens=4,
    )
    assert 15 == usage.total_tokens
    assert 2 == usage["completion_tokens_details"]["reasoning_tokens"]
    assert 3 == usage.completion_tokens_details.text_tokens
    assert 4 == usage.prompt_tokens_details.cached_tokens == usage.cache_read_input_tokens


def test_what_is_assigned_stays_as_it_is():
    """As in litellm, only constructors convert dicts to objects."""
    response = EmbeddingResponse()
    response["data"] = [{"embedding": [0]}]
    response["usage"] = {"usage": {"prompt_tokens": 6}}

    assert {"usage": {"prompt_tokens": 6}} == response.usage
    assert [0] == response.model_dump()["data"][0]["embedding"]
    assert "list" == response.object
    assert 0 == EmbeddingResponse().usage.total_tokens


def test_our_core_reads_them():
    """`decode` reads a litellm response."""
    read = decode(full_response(), provider="deepseek")

    assert "hm" == read.thinking
    assert ["f"] == [call.name for call in read.tool_calls]


# ---- in pydantic, and what is private ------------------------------------------------------------------


def test_as_a_field_of_a_pydantic_model():
    pydantic = pytest.importorskip("pydantic")

    class Kept(pydantic.BaseModel):
        response: litellm.ModelResponse
        message: litellm.Message | None = None

    response = litellm.ModelResponse(model="x")
    kept = Kept(response=response, message={"content": "hello"})
    assert kept.response is response
    assert "hello" == kept.message.content
    assert response.model_dump() == kept.model_dump()["response"]
    assert response == Kept.model_validate_json(kept.model_dump_json()).response
    assert "object" == Kept.model_json_schema()["properties"]["response"]["type"]
    with pytest.raises(
        pydantic.ValidationError, match="expected a ModelResponse or a dict, got int"
    ):
        Kept(response=3)


def test_model_fields():
    assert {"id", "created", "model", "object", "system_fingerprint", "choices"} == set(
        litellm.ModelResponse.model_fields
    )
    assert "content" in litellm.Message().model_fields


def test_private_attributes_by_get():
    """As in litellm: some programs read the cost this way."""
    response = litellm.ModelResponse(hidden_params={"response_cost": 1})
    assert {"response_cost": 1} == response.get("_hidden_params") == response.hidden_params
    assert "_hidden_params" not in response
    assert "_hidden_params" not in response.model_dump()
