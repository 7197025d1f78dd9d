"""What several owners keep in one account of a provider: each of them reaches its own alone."""

import asyncio
import gzip
import json
from contextlib import ExitStack

import pytest
from websockets.exceptions import ConnectionClosed

from gateway.calling import Counted, made
from gateway.harness import Served, Upstream
from gateway.test_admission import form, gateway
from innervoice.gateway.config import GatewayConfig, ServerSettings, UpstreamSettings
from innervoice.memory.stores.ram import RamStore


class Owners:
    """Two owners of keys, and what each of them is told."""

    def __init__(self, running, keys):
        self.running, self.keys = running, keys

    def ask(self, owner, method, path, **more):
        headers = {"authorization": f"Bearer {self.keys[owner]}", **more.pop("headers", {})}
        return self.running.ask(method, path, headers, **more)


@pytest.fixture
def owners():
    store = RamStore()
    keys = {name: made(store, name, other_paths=True)[0] for name in ("alice", "bob")}
    with gateway(store=store) as running:
        yield Owners(running, keys)


UPLOAD = form(('name="purpose"', "batch"), ('name="file"; filename="a.jsonl"', "{}"))

# What names a file of Alice's.
NAMING = {
    "a look-up": ("GET", "/openai/v1/files/file-1", None),
    "its content": ("GET", "/openai/v1/files/file-1/content", None),
    "a deletion": ("DELETE", "/openai/v1/files/file-1", None),
    "another spelling": ("GET", "/openai/v1/files/%66ile-1", None),
    "a batch": ("POST", "/openai/v1/batches", {"input_file_id": "file-1"}),
    "training": ("POST", "/openai/v1/fine_tuning/jobs", {"training_file": "file-1", "model": "m"}),
    "a part": ("POST", "/openai/v1/other", {"input": [{"content": [{"type": "input_file", "file_id": "file-1"}]}]}),
    "a container": ("POST", "/openai/v1/containers", {"name": "a", "file_ids": ["file-2", "file-1"]}),
    "an escaped name": ("POST", "/openai/v1/batches", b'{"input\\u005ffile_id": "file-1"}'),
}  # fmt: skip


@pytest.mark.parametrize("place", NAMING)
def test_a_file_belongs_to_the_owner_who_uploaded_it(owners, place):
    method, path, body = NAMING[place]
    assert 200 == owners.ask("alice", "POST", "/openai/v1/files", **UPLOAD).status_code
    more = {} if body is None else {"content": body} if isinstance(body, bytes) else {"json": body}
    count = len(owners.running.provider.requests)
    refused = owners.ask("bob", method, path, **more)
    assert (404, "unknown_id") == (refused.status_code, refused.json()["error"]["code"])
    assert count == len(owners.running.provider.requests)
    if place != "a container":
        own = owners.ask("alice", method, path, **more)
        assert "unknown_id" not in own.text


BATCH = json.dumps({"input_file_id": "file-1"})
JSON = {"content-type": "application/json"}
ENCODED = {"content-type": "application/x-www-form-urlencoded"}


def half_a_form(content):
    """A form whose last field has no end."""
    whole = form(("name=file_id", content))
    return {**whole, "content": whole["content"].removesuffix(b"--x--\r\n")}


# The same where a careless reader sees nothing, and a provider may.
HIDDEN = {
    "compressed": {"content": gzip.compress(BATCH.encode()), "headers": {**JSON, "content-encoding": "gzip"}},
    "UTF-16": {"content": BATCH.encode("utf-16-le"), "headers": JSON},
    "UTF-16 with a mark": {"content": BATCH.encode("utf-16"), "headers": {"content-type": "text/plain"}},
    "UTF-32": {"content": BATCH.encode("utf-32-be"), "headers": {"content-type": "text/plain"}},
    "UTF-8 with a mark": {"content": b"\xef\xbb\xbf" + BATCH.encode(), "headers": JSON},
    "the first of two": {"content": b'{"input_file_id": "file-1", "input_file_id": "file-2"}', "headers": JSON},
    "the first of two, deeper": {"content": b'{"a": [{"file_ids": ["file-1"], "file_ids": []}]}', "headers": JSON},
    "not quite JSON": {"content": b'{"input_file_id": "file-1",}', "headers": JSON},
    "an encoded form": {"content": b"a=b&file_id=file-1", "headers": ENCODED},
    "a list in an encoded form": {"content": b"file_ids[]=file-1", "headers": ENCODED},
    "a form": form(('name="file"; filename="a"', "x" * 99_999), ('name="file_id"', "file-1")),
    "a list in a form": form(('name="file_ids[]"', "file-1")),
    "JSON in a form": form(('name="session"', json.dumps({"tools": [{"file_ids": ["file-1"]}]}))),
    "a form that breaks off": half_a_form("file-1"),
    "a field that is a file": form(('name="file_id"; filename="a"', "file-1")),
    "a field with two names": form(('name="a"; name="file_id"', "file-1")),
    "a form in a form": {"content": form(("name=file_id", "file-1"))["content"].replace(b"--x", b"--y"), "headers": form()["headers"]},
    "requests in a request": {"content": b"--x\r\nContent-Type: application/http\r\n\r\nGET /v1/files/file-1\r\n--x--", "headers": {"content-type": "multipart/mixed; boundary=x"}},
}  # fmt: skip


@pytest.mark.parametrize("place", HIDDEN)
@pytest.mark.parametrize("chunked", [False, True])
def test_nothing_hides_a_file_of_another_owner(owners, place, chunked):
    owners.ask("alice", "POST", "/openai/v1/files", **UPLOAD)
    more = dict(HIDDEN[place])
    if chunked:
        more["headers"] = {**more["headers"], "transfer-encoding": "chunked"}
        size = b"%x\r\n" % len(more["content"])
        more["content"] = size + more["content"] + b"\r\n0\r\n\r\n"
    reply = owners.ask("bob", "POST", "/openai/v1/batches", **more)
    assert reply.status_code in (400, 404, 415), reply.text
    assert ["POST /v1/files"] == owners.running.provider.paths


@pytest.mark.parametrize("place", ["an encoded form", "a form", "a list in a form", "UTF-16"])
def test_its_owner_may_name_it_there(owners, place):
    owners.ask("alice", "POST", "/openai/v1/files", **UPLOAD)
    reply = owners.ask("alice", "POST", "/openai/v1/batches", **HIDDEN[place])
    assert 200 == reply.status_code, reply.text
    assert HIDDEN[place]["content"][:1000] == owners.running.provider.bodies[-1][:1000]


def test_a_large_file_is_passed_on_as_it_came(owners):
    """The fields around it are read, and nothing of it is kept."""
    upload = form(('name="purpose"', "batch"), ('name="file"; filename="a.jsonl"', "\r\n--y\r" * 900_000))  # fmt: skip
    assert 200 == owners.ask("bob", "POST", "/openai/v1/files", **upload).status_code
    assert len(upload["content"]) == owners.running.provider.requests[-1][3]


def test_an_id_is_recorded_before_its_owner_can_name_it(owners):
    """A client that has the whole answer asks at once, whatever the store takes."""
    order = []
    served = owners.running.served
    learn, serve = served.owned_ids.learn, served.other_paths.serve

    async def learned(*arguments, **more):
        await learn(*arguments, **more)
        order.append("recorded")

    async def passed(incoming, *arguments):
        send = incoming.send

        async def sent(message):
            order.append(len(message.get("body", b"")))
            await send(message)

        incoming.send = sent
        return await serve(incoming, *arguments)

    served.owned_ids.learn, served.other_paths.serve = learned, passed
    reply = owners.ask("alice", "POST", "/openai/v1/files", **UPLOAD)
    assert [0, "recorded", len(reply.content)] == order


def test_what_a_batch_gives_belongs_to_its_owner(owners):
    owners.ask("alice", "POST", "/openai/v1/files", **UPLOAD)
    batch = owners.ask("alice", "POST", "/openai/v1/batches", json={"input_file_id": "file-1"})
    assert "batch_1" == batch.json()["id"]
    assert "unknown_id" in owners.ask("bob", "GET", "/openai/v1/batches/batch_1").text
    assert "unknown_id" not in owners.ask("alice", "GET", "/openai/v1/batches/batch_1").text


# Ids of Alice's in the address, and in members that other APIs name them in.
ADDRESSED = {
    "letters alone": ("GET", "/gemini/v1beta/files/kxqhvnjtyrlw", None),
    "a name of one's own": ("GET", "/gemini/v1beta/fileSearchStores/alices", None),
    "an escape in an escape": ("GET", "/openai/v1/files%252Ffile-1", None),
    "behind a parameter": ("GET", "/openai/v1/files;x/file-1", None),
    "behind another spelling": ("GET", "/openai/v1/Files/filealice", None),
    "the query": ("POST", "/openai/v1/other?file_id=file-1", {}),
    "a list in the query": ("POST", "/openai/v1/other?a=1;file_ids[]=file-1", {}),
    "a call": ("GET", "/openai/v1/realtime?call_id=rtc_u1", None),
    "an upload": ("POST", "/gemini/upload/v1beta/files?upload_id=8", {}),
    "another case": ("POST", "/gemini/v1beta/models/m:embedContent", {"fileUri": "https://x/v1beta/Files/1"}),
    "a store that is searched": ("POST", "/gemini/v1beta/other", {"tools": [{"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/alices"]}}]}),
    "a skill": ("POST", "/anthropic/v1/other", {"container": {"skills": [{"type": "custom", "skill_id": "skill_01AbCdEf"}]}}),
    "an agent": ("POST", "/anthropic/v1/sessions", {"agent": {"type": "agent", "id": "agent_01AbCdEf"}}),
    "a vault": ("POST", "/anthropic/v1/sessions", {"vault_ids": ["vlt_01AbCdEf"]}),
    "a voice": ("POST", "/openai/v1/audio/speech", {"model": "m", "input": "a", "voice": {"id": "voice_1"}}),
}  # fmt: skip


@pytest.mark.parametrize("place", ADDRESSED)
def test_an_id_that_is_not_ones_own_is_not_sent(owners, place):
    method, path, body = ADDRESSED[place]
    reply = owners.ask("bob", method, path, **({} if body is None else {"json": body}))
    assert (404, []) == (reply.status_code, owners.running.provider.requests), reply.text


# What is for everybody, or no id at all.
FOR_ALL = {
    "a skill of the provider": ("/anthropic/v1/other", {"skills": [{"type": "anthropic", "skill_id": "pptx"}]}),
    "an agent of the provider": ("/gemini/v1beta/other", {"agent": "deep-research-pro-preview-12-2025"}),
    "a voice for everybody": ("/openai/v1/audio/speech", {"model": "m", "input": "a", "voice": "alloy"}),
    "no conversation": ("/openai/v1/other", {"conversation": "none"}),
    "a verb behind a collection": ("/openai/v1/threads/runs", {}),
}  # fmt: skip


@pytest.mark.parametrize("place", FOR_ALL)
def test_what_is_for_everybody_is_sent(owners, place):
    path, body = FOR_ALL[place]
    owners.ask("bob", "POST", path, json=body)
    assert 1 == len(owners.running.provider.requests)


def test_an_upload_goes_on_with_its_owner(owners):
    """Google names it in the address for the next part."""
    start = {"headers": {"x-goog-upload-command": "start"}, "json": {}}
    url = owners.ask("alice", "POST", "/gemini/upload/v1beta/files", **start).headers["x-goog-upload-url"]  # fmt: skip
    path = url.removeprefix(owners.running.url)
    assert 404 == owners.ask("bob", "POST", path, content=b"x").status_code
    assert 200 == owners.ask("alice", "POST", path, content=b"x").status_code


MESSAGES = {
    "a store": {"type": "session.update", "session": {"tools": [{"vector_store_ids": ["vs_alices"]}]}},
    "another connection": {"setup": {"model": "models/m", "sessionResumption": {"handle": "alices"}}},
}  # fmt: skip


@pytest.mark.parametrize("place", MESSAGES)
@pytest.mark.parametrize("binary", [False, True])
def test_messages_of_a_websocket_name_ones_own_alone(owners, place, binary):
    headers = {"authorization": f"Bearer {owners.keys['bob']}"}
    text = json.dumps(MESSAGES[place])
    with owners.running.connect("/openai/v1/realtime", headers) as socket:
        socket.recv(timeout=60)
        socket.send('{"type": "response.create", "response": {"conversation": "none", "input": [{"type": "item_reference", "id": "item_1"}]}}')  # fmt: skip
        assert "response.create" in socket.recv(timeout=60)
        socket.send(b"\x00\x01 sound")
        assert b"\x00\x01 sound" == socket.recv(timeout=60)
        socket.send(text.encode() if binary else text)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=60)
    assert 1008 == closed.value.rcvd.code


def test_a_connection_is_gone_on_with_by_its_owner(owners):
    """Gemini's live API gives a handle for that, in binary messages."""
    told = json.dumps({"sessionResumptionUpdate": {"newHandle": "handle-1", "resumable": True}})
    resumed = json.dumps({"setup": {"sessionResumption": {"handle": "handle-1"}}})
    with ExitStack() as sockets:
        alice, again, bob = (
            sockets.enter_context(owners.running.connect("/openai/v1/realtime", {"authorization": f"Bearer {owners.keys[name]}"}))
            for name in ("alice", "alice", "bob")
        )  # fmt: skip
        for socket in (alice, again, bob):
            socket.recv(timeout=60)
        alice.send(told.encode())  # which this provider repeats
        assert told.encode() == alice.recv(timeout=60)
        again.send(resumed)
        assert resumed == again.recv(timeout=60)
        bob.send(resumed)
        with pytest.raises(ConnectionClosed):
            bob.recv(timeout=60)


def test_lists_of_every_form_show_each_owner_its_own(owners):
    owners.ask("alice", "POST", "/gemini/v1beta/fileSearchStores", json={})
    stores = [owners.ask(name, "GET", "/gemini/v1beta/fileSearchStores").json() for name in owners.keys]  # fmt: skip
    assert [{"fileSearchStores": [{"name": "fileSearchStores/alices"}]}, {"fileSearchStores": []}] == stores  # fmt: skip
    assert [] == owners.ask("bob", "GET", "/mistral/v1/conversations").json()


def test_a_list_shows_each_owner_its_own(owners):
    owners.ask("alice", "POST", "/openai/v1/files", **UPLOAD)
    listed = {name: owners.ask(name, "GET", "/openai/v1/files").json() for name in owners.keys}
    assert (["file-1"], []) == tuple([item["id"] for item in listed[name]["data"]] for name in listed)  # fmt: skip


def test_a_list_that_is_too_large_to_be_read_is_an_error(owners):
    assert 502 == owners.ask("bob", "GET", "/openai/v1/batches").status_code


def test_an_id_that_nobody_got_here(owners):
    assert "unknown_id" in owners.ask("alice", "GET", "/openai/v1/files/file-9").text
    # To name it does not make it one's own.
    owners.ask("bob", "POST", "/openai/v1/embeddings", json={"metadata": {"id": "file-9"}})
    assert "unknown_id" in owners.ask("bob", "GET", "/openai/v1/files/file-9").text


def test_unknown_ids_may_be_allowed():
    """Those of another owner stay refused."""
    store = RamStore()
    keys = {name: made(store, name, other_paths=True)[0] for name in ("alice", "bob")}
    with gateway(store=store, unknown_ids="allow") as running:
        owners = Owners(running, keys)
        owners.ask("alice", "POST", "/openai/v1/files", **UPLOAD)
        assert "unknown_id" not in owners.ask("bob", "GET", "/openai/v1/files/file-9").text
        assert "unknown_id" in owners.ask("bob", "GET", "/openai/v1/files/file-1").text


@pytest.mark.parametrize("keys", [[], ["alice"]], ids=["keyless", "one owner"])
def test_one_owner_alone_needs_no_records(keys):
    store = RamStore()
    made_keys = {name: made(store, name, other_paths=True)[0] for name in keys}
    with gateway(store=store) as running:
        owners = Owners(running, made_keys or {"": "any"})
        name = keys[0] if keys else ""
        assert "unknown_id" not in owners.ask(name, "GET", "/openai/v1/files/file-9").text
        assert ["file-1", "file-2"] == [item["id"] for item in owners.ask(name, "GET", "/openai/v1/files").json()["data"]]  # fmt: skip


def test_own_credentials_need_no_records():
    """Each caller has an account of its own."""
    with gateway(("caller",)) as running:
        reply = running.ask("GET", "/openai/v1/files/file-9", {"authorization": "Bearer sk-proj-a"})
        assert "unknown_id" not in reply.text


def test_while_the_store_is_away_nobody_can_say_whose_it_is():
    store = Counted()
    keys = {name: made(store, name, other_paths=True)[0] for name in ("alice", "bob")}
    with gateway(store=store) as running:
        owners = Owners(running, keys)
        assert 200 == owners.ask("alice", "POST", "/openai/v1/files", **UPLOAD).status_code
        store.fails = True
        assert 503 == owners.ask("alice", "GET", "/openai/v1/files/file-1").status_code
        assert 200 == owners.ask("alice", "POST", "/openai/v1/embeddings", json={}).status_code


def test_a_key_for_certain_models_batches_lines_that_were_checked():
    store = RamStore()
    keys = {
        "all": made(store, "alice", other_paths=True)[0],
        "some": made(store, "alice", other_paths=True, models=("allowed",))[0],
    }
    line = json.dumps({"body": {"model": "allowed"}})
    lines = form(('name="purpose"', "batch"), ('name="file"; filename="a.jsonl"', line))
    batch = {"json": {"input_file_id": "file-1"}}
    with gateway(store=store) as running:
        owners = Owners(running, keys)
        assert 403 == owners.ask("some", "POST", "/openai/v1/batches", **batch).status_code
        owners.ask("some", "POST", "/openai/v1/files", **lines)
        done = owners.ask("some", "POST", "/openai/v1/batches", **batch)
        assert 200 == done.status_code, done.text


def test_lines_that_another_key_uploaded_were_not_checked():
    store = RamStore()
    keys = {
        "all": made(store, "alice", other_paths=True)[0],
        "some": made(store, "alice", other_paths=True, models=("allowed",))[0],
    }
    line = json.dumps({"body": {"model": "forbidden"}})
    lines = form(('name="purpose"', "batch"), ('name="file"; filename="a.jsonl"', line))
    batch = {"json": {"input_file_id": "file-1"}}
    with gateway(store=store) as running:
        owners = Owners(running, keys)
        owners.ask("all", "POST", "/openai/v1/files", **lines)
        refused = owners.ask("some", "POST", "/openai/v1/batches", **batch)
        assert (403, True) == (refused.status_code, "not checked" in refused.text)


# ---- answers -------------------------------------------------------------------------------------


def served_for(*names, **server):
    """A gateway before an emulator, with one account for all owners."""
    store = RamStore()
    keys = {name: made(store, name)[0] for name in names}
    config = GatewayConfig(server=ServerSettings(**server))
    served = Served(config, Upstream(), {"OPENAI_API_KEY": "k"}, store=store, key=b"g" * 32)
    return served, keys


def asked(served, key, body, path="/v1/responses"):
    headers = {"authorization": f"Bearer {key}"}
    return asyncio.run(served.call("POST", path, body, headers))


BODY = {"model": "openai/gpt-5.6", "input": "What is 15 * 23?", "store": True}


@pytest.mark.parametrize("remember", ["seals", "off"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_response_belongs_to_its_owner(remember, stream):
    """With and without a store of turns: the provider keeps the response all the same."""
    served, keys = served_for("alice", "bob", remember=remember)
    answer = asked(served, keys["alice"], {**BODY, "stream": stream})
    assert 200 == answer.status, answer.body
    last = answer.body.decode().split("data: ")[-1] if stream else answer.body
    body = json.loads(last)
    body = body.get("response", body)
    reasoning = next(item["id"] for item in body["output"] if item["type"] == "reasoning")
    count = len(served.upstream.requests)
    refused = {
        "previous": {"previous_response_id": body["id"], "input": "And 16?"},
        "reference": {"input": [{"type": "item_reference", "id": reasoning}, {"role": "user", "content": "a"}]},
        "bare image": {"input": [{"type": "image_generation_call", "id": "ig_1"}, {"role": "user", "content": "a"}]},
        "bare item": {"input": [{"type": "reasoning", "id": reasoning, "summary": []}, {"role": "user", "content": "a"}]},
        "conversation": {"conversation": "conv_1", "input": "a"},
        "file": {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}]},
        "container": {"input": "a", "tools": [{"type": "code_interpreter", "container": "cntr_1"}]},
        "container's file": {"input": "a", "tools": [{"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file-1"]}}]},
    }  # fmt: skip
    for place, more in refused.items():
        reply = asked(served, keys["bob"], {**BODY, **more})
        assert reply.status in (400, 403, 404), (place, reply.body)
    assert count == len(served.upstream.requests)
    for place in ("previous", "reference", "bare item"):
        reply = asked(served, keys["alice"], {**BODY, **refused[place]})
        assert b"unknown_id" not in reply.body, place


REPEATED = {
    "at the top": lambda last: f'"previous_response_id": "{last}", "previous_response_id": null',
    "deeper": lambda last: f'"tools": [{{"type": "a", "container": "{last}", "container": {{"type": "auto"}}}}]',
    "in an item": lambda last: f'"input": [{{"type": "item_reference", "id": "{last}", "id": "rs_1"}}], "input": "a"',
}  # fmt: skip


@pytest.mark.parametrize("place", REPEATED)
def test_of_repeated_members_each_may_count(place):
    served, keys = served_for("alice", "bob")
    last = asked(served, keys["alice"], BODY).json["id"]
    body = f"{json.dumps(BODY)[:-1]}, {REPEATED[place](last)}}}".encode()
    count = len(served.upstream.requests)
    reply = asked(served, keys["bob"], body)
    assert (404, "unknown_id") == (reply.status, reply.json["error"]["code"]), reply.body
    assert count == len(served.upstream.requests)


@pytest.mark.parametrize("more", [{"previous_response_id": "resp_alices"}, {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}]}], ids=str)  # fmt: skip
def test_nobody_counts_what_another_owner_has(more):
    served, keys = served_for("alice", "bob")
    reply = asked(served, keys["bob"], {**BODY, **more}, "/v1/responses/input_tokens")
    assert reply.status in (400, 404), reply.body
    assert [] == served.upstream.requests


def test_the_error_is_that_of_the_api():
    """Codex sends the whole conversation when it reads this one."""
    served, keys = served_for("alice", "bob")
    reply = asked(served, keys["bob"], {**BODY, "previous_response_id": "resp_unknown"})
    assert (400, "previous_response_not_found") == (reply.status, reply.json["error"]["code"])
    assert [] == served.upstream.requests


def test_arguments_of_calls_name_nothing():
    """A tool of the client's may have an argument with such a name."""
    served, keys = served_for("alice", "bob")
    call = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"file_id": "file-1"}'}  # fmt: skip
    result = {"type": "function_call_output", "call_id": "c1", "output": "a"}
    tools = [{"type": "function", "name": "read", "parameters": {"type": "object", "properties": {"file_id": {"type": "string"}}}}]  # fmt: skip
    body = {**BODY, "input": [{"role": "user", "content": "a"}, call, result], "tools": tools}
    assert 200 == asked(served, keys["alice"], body).status
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {"file_id": "file-1"}}]}  # fmt: skip
    told = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a"}]}  # fmt: skip
    body = {"model": "openai/gpt-5.6", "max_tokens": 2000, "messages": [{"role": "user", "content": "a"}, use, told]}  # fmt: skip
    assert 200 == asked(served, keys["alice"], body, "/v1/messages").status


def test_upstreams_of_callers_keys_are_nobodys_account():
    """A key of the gateway beside the caller's own credential: the account is the caller's."""
    store = RamStore()
    keys = {name: made(store, name)[0] for name in ("alice", "bob")}
    config = GatewayConfig(upstreams={"openai": UpstreamSettings(keys=("caller",))})
    served = Served(config, Upstream(), {}, store=store, key=b"g" * 32)
    headers = {"x-api-key": keys["bob"], "authorization": "Bearer sk-proj-own"}
    body = {**BODY, "previous_response_id": "resp_unknown"}
    reply = asyncio.run(served.call("POST", "/v1/responses", body, headers))
    assert 1 == len(served.upstream.requests), reply.body
