"""Items of the Responses API that were received with and without a store (H5)."""

import pytest

import innervoice as iv
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.emulator import Emulator

TARGETS = ("openai/gpt-5.6", "xai/grok-4")
QUESTION = "What is 15 * 23?"


def answered(emulator, request):
    """The response of the emulator, with the member `store` that the APIs repeat."""
    wire = iv.encode(request)
    path = wire.url.removeprefix("https://")
    host = {"openai": "openai", "xai": "xai"}[request.model.partition("/")[0]]
    path = f"/{host}/" + path.partition("/")[2]
    reply = emulator.reply("POST", path, {"authorization": "Bearer k"}, dump_json(wire.body))
    body = load_json(reply.body)
    assert reply.status == 200, body
    return iv.decode({**body, "store": wire.body["store"]}, request=request), wire


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("stores", [(False, True), (True, False), (False, False), (True, True)])
def test_a_change_of_store_is_not_refused(target, stores):
    emulator = Emulator()
    history = [iv.user(QUESTION)]
    for store in stores:
        request = iv.Request(
            target, history, reasoning="low", store=store, dialect="openai-responses"
        )
        response, _ = answered(emulator, request)
        history += [response, iv.user("And then?")]
    answered(
        emulator,
        request.replace(
            messages=tuple(r.message if isinstance(r, iv.Response) else r for r in history)
        ),
    )


def turn(store, **reasoning):
    """A turn with a reasoning item and a message."""
    said = {"type": "output_text", "text": "345", "annotations": []}
    body = {
        "object": "response",
        "status": "completed",
        "model": "gpt-5.6",
        "store": store,
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], **reasoning},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            {"type": "message", "id": "msg_1", "role": "assistant", "content": [said]},
        ],
    }
    return iv.decode(body, provider="openai", model="gpt-5.6")


def body_for(response, store):
    history = [iv.user(QUESTION), response, iv.user("Sure?")]
    return iv.encode(iv.Request("openai/gpt-5.6", history, store=store))


def test_ids_that_no_server_knows():
    """The next request stores, and still the items of a turn without store have no ids."""
    wire = body_for(turn(store=False, encrypted_content="E"), store=True)
    assert [item.get("id") for item in wire.body["input"]] == [None] * 5
    assert "item_not_stored" in {note.code for note in wire.notes}
    kept = body_for(turn(store=True, encrypted_content="E"), store=True)
    assert [item.get("id") for item in kept.body["input"]][1:4] == ["rs_1", "ws_1", "msg_1"]


def test_reasoning_that_only_a_store_could_hold():
    wire = body_for(turn(store=False), store=True)
    assert [item.get("type") for item in wire.body["input"]][1:3] == ["web_search_call", "message"]
    assert "thinking_omitted" in {note.code for note in wire.notes}
    problems = iv.lint(
        [iv.user("x"), turn(store=False), iv.user("y")], "openai/gpt-5.6", store=True
    )
    assert [problem.code for problem in problems] == ["thinking_omitted", "item_not_stored"]
