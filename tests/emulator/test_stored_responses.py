"""What OpenAI's server has stored, at the emulator: responses in the background, their events, conversations."""

import json

from gateway.open_responses import events_of, problems_of_response, problems_of_stream
from innervoice.emulator.core import Emulator

AT = "/openai/v1"
ASK = {"model": "gpt-5.6", "input": "What is 15 * 23?"}


def call(emulator, method, path, body=None):
    reply = emulator.reply(method, AT + path, {}, b"" if body is None else json.dumps(body).encode())  # fmt: skip
    data = reply.body
    is_json = reply.media == "application/json"
    return reply.status, json.loads(data) if is_json else data


def test_a_response_in_the_background():
    emulator = Emulator()
    _, queued = call(emulator, "POST", "/responses", {**ASK, "background": True})
    path = f"/responses/{queued['id']}"
    seen = [queued, *(call(emulator, "GET", path)[1] for _ in range(3))]
    assert ["queued", "in_progress", "completed", "completed"] == [one["status"] for one in seen]
    assert [[]] * 4 == list(map(problems_of_response, seen))
    assert (200, "completed") == (call(emulator, "POST", f"{path}/cancel")[0], call(emulator, "POST", f"{path}/cancel")[1]["status"])  # fmt: skip


def test_cancelled_in_time():
    emulator = Emulator()
    _, queued = call(emulator, "POST", "/responses", {**ASK, "background": True})
    path = f"/responses/{queued['id']}"
    status, cancelled = call(emulator, "POST", f"{path}/cancel")
    assert (200, "cancelled", []) == (status, cancelled["status"], cancelled["output"])
    assert "cancelled" == call(emulator, "GET", path)[1]["status"]


def test_a_stream_in_the_background_is_resumed():
    emulator = Emulator()
    _, data = call(emulator, "POST", "/responses", {**ASK, "background": True, "stream": True})
    assert [] == problems_of_stream(data)
    events = events_of(data)[0]
    assert "response.queued" == events[1]["type"]
    path = f"/responses/{events[0]['response']['id']}"
    assert events == events_of(call(emulator, "GET", f"{path}?stream=true")[1])[0]
    rest = call(emulator, "GET", f"{path}?stream=true&starting_after=4")[1]
    assert events[5:] == events_of(rest)[0]


def test_what_is_refused():
    emulator = Emulator()
    _, whole = call(emulator, "POST", "/responses", ASK)
    assert 400 == call(emulator, "POST", f"/responses/{whole['id']}/cancel")[0]
    assert 404 == call(emulator, "GET", "/responses/resp_1")[0]
    assert 400 == call(emulator, "POST", "/responses", {**ASK, "background": True, "store": False})[0]  # fmt: skip
    assert 404 == call(emulator, "POST", "/responses", {**ASK, "conversation": "conv_1"})[0]
    _, made = call(emulator, "POST", "/conversations", {})
    both = {**ASK, "conversation": made["id"], "previous_response_id": whole["id"]}
    assert 400 == call(emulator, "POST", "/responses", both)[0]
    assert 200 == call(emulator, "GET", f"/responses/{whole['id']}/input_items")[0]
    assert 200 == call(emulator, "DELETE", f"/responses/{whole['id']}")[0]
    assert 404 == call(emulator, "GET", f"/responses/{whole['id']}")[0]


def test_a_conversation():
    emulator = Emulator()
    _, made = call(emulator, "POST", "/conversations", {"metadata": {"a": "b"}, "items": [{"role": "user", "content": "My name is Alice."}]})  # fmt: skip
    path = f"/conversations/{made['id']}"
    assert made == call(emulator, "GET", path)[1]
    _, answer = call(emulator, "POST", "/responses", {**ASK, "conversation": {"id": made["id"]}})
    assert {"id": made["id"]} == answer["conversation"]
    items = call(emulator, "GET", f"{path}/items?order=asc")[1]["data"]
    assert [item["id"] for item in answer["output"]] == [item["id"] for item in items[2:]]
    assert items[0] == call(emulator, "GET", f"{path}/items/{items[0]['id']}")[1]
    call(emulator, "DELETE", f"{path}/items/{items[0]['id']}")
    added = call(emulator, "POST", f"{path}/items", {"items": [{"role": "user", "content": "Hi"}]})
    assert 200 == added[0]
    assert items[1:] == call(emulator, "GET", f"{path}/items?order=asc")[1]["data"][:-1]
    assert {"c": "d"} == call(emulator, "POST", path, {"metadata": {"c": "d"}})[1]["metadata"]
    assert call(emulator, "DELETE", path)[1]["deleted"]
    assert 404 == call(emulator, "GET", path)[0]
