"""An answer that is still queued or in progress says its id and status, so that it can be retrieved later."""

import httpx2
import pytest

import innervoice as iv
from innervoice.canon.jsontext import dump_json

MESSAGE = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]}  # fmt: skip
STEP = {"type": "model_output", "content": [{"type": "text", "text": "A"}]}
# The API, the model, and the body of an answer with a status.
APIS = {
    "openai-responses": (
        "openai/gpt-5.6",
        lambda status: {"id": "resp_1", "object": "response", "status": status, "output": [MESSAGE] if status == "completed" else []},
    ),
    "gemini-interactions": (
        "gemini/gemini-3-pro-preview",
        lambda status: {"id": "resp_1", "object": "interaction", "status": status, "steps": [STEP] if status == "completed" else []},
    ),
}  # fmt: skip
matrix = pytest.mark.parametrize("status", ["queued", "in_progress"])
apis = pytest.mark.parametrize("dialect", APIS)


@matrix
@apis
@pytest.mark.parametrize("form", [lambda body: body, dump_json], ids=["dict", "bytes"])
def test_decode(dialect, status, form):
    _, body = APIS[dialect]
    with pytest.raises(iv.DecodeError) as caught:
        iv.decode(form(body(status)))

    assert ("resp_1", status) == (caught.value.id, caught.value.status)
    assert "A" == iv.decode(form(body("completed"))).text


@matrix
@apis
def test_a_conversation_goes_on_with_the_finished_one(dialect, status):
    """Seen failing: the client said that the body is not an answer, with the status 200."""
    model, body = APIS[dialect]
    request = iv.Request(model, [iv.user("x")], dialect=dialect, extra={"background": True})
    http = httpx2.Client(
        transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json=body(status))),
        trust_env=False,
    )
    client = iv.Client(base_url="http://x", keys={"openai": "k", "gemini": "k"}, http=http)
    with pytest.raises(iv.DecodeError) as caught:
        client.ask(model, "x", dialect=dialect, extra={"background": True})
    answer = iv.decode(body("completed"), request=request)
    encoded = iv.encode(request.replace(messages=(*request.messages, answer.message, iv.user("y"))))

    assert ("resp_1", status) == (caught.value.id, caught.value.status)
    assert status in str(caught.value)
    assert "A" in dump_json(encoded.body).decode()


def test_what_is_no_answer_has_neither():
    with pytest.raises(iv.DecodeError) as caught:
        iv.decode({"a": 1})

    assert (None, None) == (caught.value.id, caught.value.status)
