"""Records what one version of innervoice stores of conversations, so that later versions are held against it.

    PYTHONPATH=SOURCES python vectors/stored_turns.py VERSION > vectors/stored_turns/VERSION.json

SOURCES is the folder `src` of that version. A gateway on its emulator gets the first request of each conversation, and the second one as a client sends
it that drops reasoning. The file has, for each: both requests, the provider's answer to the first one, the keys that the version looks up for the second
one, and what the reasoning is bound to; and the SQLite file as it is after all first requests.

`tests/gateway/test_stored_turns.py` reads them: versions are recorded when a release changes keys, records or their place, and retired a release later.
"""

import asyncio
import gzip
import json
import sys
import tempfile
from base64 import b64encode
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from innervoice.emulator.core import Emulator
from innervoice.emulator.routes import base_urls
from innervoice.gateway.app import Gateway, create_app
from innervoice.gateway.callers import ANYBODY
from innervoice.gateway.config import load_config
from innervoice.memory.stores.sqlite import SqliteStore

try:
    from innervoice.client.embedded import embedded_async_http
except ImportError:  # where it was before
    from innervoice.emulator.embedded import embedded_async_http

KEY = bytes(range(32))
LINE = "x-anthropic-billing-header: cc_version=2.1.328.1df; cc_entrypoint=cli;"
PROMPT = "You are an agent."
BLOCKS = [{"type": "text", "text": LINE}, {"type": "text", "text": PROMPT}]
WEATHER = "What is the weather in Lisbon?"
SUM = "What is 1 + 1?"
TOOLS = [{"name": "get_weather", "description": "The weather of a city.", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]  # fmt: skip
THINKING = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}
CLAUDE, GEMINI = "anthropic/claude-opus-5-5", "gemini/gemini-3.5-flash"
MESSAGES, CHAT = "/v1/messages", "/v1/chat/completions"


def asked(model: str, system: Any, text: str = WEATHER) -> dict[str, Any]:
    return {"model": model, "max_tokens": 8000, **THINKING, "system": system, "tools": TOOLS, "messages": [{"role": "user", "content": text}]}  # fmt: skip


CONVERSATIONS = [
    ("calls of Claude", MESSAGES, asked(CLAUDE, PROMPT)),
    ("calls of Claude, with a billing line", MESSAGES, asked(CLAUDE, BLOCKS)),
    ("calls of Gemini", MESSAGES, asked(GEMINI, PROMPT)),
    ("calls of Gemini, with a billing line", MESSAGES, asked(GEMINI, BLOCKS)),
    ("words of DeepSeek", CHAT, {"model": "deepseek/deepseek-v4-pro", "messages": [{"role": "system", "content": PROMPT}, {"role": "user", "content": SUM}]}),
    # The same question under two prompts, each in one text with the line: versions that left out all of it take them for one.
    ("words of Gemini, with a line in one text", MESSAGES, asked(GEMINI, f"{LINE}\n{PROMPT}", SUM)),
    ("words of Gemini, with a line in another text", MESSAGES, asked(GEMINI, f"{LINE}\nYou are a cook.", SUM)),
    ("words of Gemini, with a line in blocks of text", MESSAGES, asked(GEMINI, [{"type": "text", "text": f"{LINE}\n{PROMPT}"}], "What is 2 + 2?")),
]  # fmt: skip


class Provider:
    """The emulator, which reads no billing line, as Anthropic does; and its last answer."""

    def __init__(self) -> None:
        self.emulator, self.answer = Emulator(), b""

    def reply(self, method: str, path: str, headers: Any, body: bytes) -> Any:
        """The emulator's reply."""
        value = json.loads(body)
        if isinstance(value.get("system"), list):
            value["system"] = [block for block in value["system"] if block != BLOCKS[0]]
        reply = self.emulator.reply(method, path, headers, json.dumps(value).encode())
        self.answer = reply.body
        return replace(reply, pieces=iter([self.answer]))


class Store(SqliteStore):
    """A store that says what was looked up."""

    looked_up: Sequence[str] = ()

    async def get(self, tenant: str, keys: Sequence[bytes], known: Collection[str] = ()) -> Any:
        """The items under these keys."""
        self.looked_up = [key.hex() for key in keys]
        return await super().get(tenant, keys, known)


async def ask(app: Any, path: str, body: Any) -> Any:
    """What a client gets."""
    waiting = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json"), (b"host", b"127.0.0.1")]
    await app({"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers}, receive, send)  # fmt: skip
    assert sent[0]["status"] == 200, sent
    return json.loads(b"".join(message.get("body", b"") for message in sent[1:]))


def following(body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """The next request of a client that keeps no reasoning."""
    if "choices" in answer:
        turn = {"role": "assistant", "content": answer["choices"][0]["message"]["content"]}
        return {**body, "messages": [*body["messages"], turn, {"role": "user", "content": "And?"}]}
    content = [block for block in answer["content"] if block["type"] in ("text", "tool_use")]
    results = [{"type": "tool_result", "tool_use_id": block["id"], "content": "Sunshine"} for block in content if block["type"] == "tool_use"]  # fmt: skip
    turns = [{"role": "assistant", "content": content}, {"role": "user", "content": results or "And?"}]  # fmt: skip
    return {**body, "messages": [*body["messages"], *turns]}


def prefixes_in(value: Any) -> list[str]:
    """What reasoning in a stored turn is bound to."""
    if isinstance(value, list):
        return [found for item in value for found in prefixes_in(item)]
    if not isinstance(value, dict):
        return []
    own = [value["prefix"]] if isinstance(value.get("prefix"), str) else []
    return [*own, *(found for item in value.values() for found in prefixes_in(item))]


async def record(version: str) -> dict[str, Any]:
    """What the file has."""
    with tempfile.TemporaryDirectory() as folder:
        path, provider = Path(folder) / "gateway.db", Provider()

        def opened() -> tuple[Store, Gateway, Any]:
            store = Store(path)
            gateway = Gateway(load_config(None, {}), {}, http=embedded_async_http(provider), base_url_of=base_urls("http://emulator").get, key=KEY, store=store)  # fmt: skip
            return store, gateway, create_app(gateway)

        store, gateway, app = opened()
        rows = []
        for name, endpoint, first in CONVERSATIONS:
            answer = await ask(app, endpoint, first)
            (newest,) = sorted(await gateway.sealed.items(ANYBODY.name, "turn"), key=lambda item: item.created)[-1:]  # fmt: skip
            prefixes = prefixes_in(json.loads(newest.data))
            rows.append({"name": name, "path": endpoint, "first": first, "answer": provider.answer.decode(), "second": following(first, answer), "prefix": prefixes[0] if prefixes else None})  # fmt: skip
        await gateway.close()
        database = b64encode(gzip.compress(path.read_bytes(), mtime=0)).decode()
        store, gateway, app = opened()
        for row in rows:
            await ask(app, row["path"], row["second"])
            row["looked_up"] = store.looked_up
        await gateway.close()
    return {"version": version, "key": KEY.hex(), "conversations": rows, "database": database}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(record(sys.argv[1])), indent=1) + "\n")
