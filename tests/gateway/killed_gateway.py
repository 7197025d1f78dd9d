"""A gateway in a process of its own that kills itself at a step: python -m gateway.killed_gateway FOLDER STEP

It serves the emulator, writes what that was asked and answered to FOLDER/upstream.jsonl, and its port to FOLDER/port. The store is
FOLDER/gateway.db. STEP is one of `STEPS`; each process does it once, at its first answer.
"""

import base64
import json
import os
import signal
import sys
import time
from pathlib import Path

from innervoice.client.embedded import embedded_async_http
from innervoice.emulator.core import Emulator
from innervoice.emulator.routes import base_urls
from innervoice.gateway.app import Gateway, create_app
from innervoice.gateway.config import GatewayConfig
from innervoice.gateway.in_thread import GatewayInThread
from innervoice.memory.stores.sqlite import SqliteStore

STEPS = ("never", "after the first piece", "before put", "after put", "after the end")
KEY = b"a key that outlives its process."


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


class Logged:
    """The emulator, and a file of all that it was asked."""

    def __init__(self, file):
        self._emulator = Emulator()
        self._file = file

    def reply(self, method, path, headers, body):
        reply = self._emulator.reply(method, path, headers, body)
        raw = reply.body
        line = {"path": path, "status": reply.status, "request": json.loads(body), "answer": base64.b64encode(raw).decode()}  # fmt: skip
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")
        from dataclasses import replace

        return replace(reply, pieces=iter([raw]))


class KilledStore(SqliteStore):
    """A store whose process ends at a put."""

    step = "never"

    def put_soon(self, item, keys):
        if self.step == "before put":
            killed()
        future = super().put_soon(item, keys)
        if future is not None and self.step == "after put":
            future.add_done_callback(lambda _: killed())
        return future

    async def put(self, item, keys):
        if self.step == "before put":
            killed()
        await super().put(item, keys)
        if self.step == "after put":
            killed()


def killing(app, step):
    """The application, in a process that ends with a piece of an answer."""

    async def served(scope, receive, send):
        async def sent(message):
            await send(message)
            if message["type"] != "http.response.body":
                return
            more = message.get("more_body")
            if (step == "after the first piece" and more) or (step == "after the end" and not more):
                killed()

        await app(scope, receive, sent if scope["type"] == "http" else send)

    return served


def main(folder, step):
    KilledStore.step = step
    gateway = Gateway(
        GatewayConfig(),
        {},
        http=embedded_async_http(Logged(folder / "upstream.jsonl")),
        base_url_of=base_urls("http://emulator").get,
        key=KEY,
        store=KilledStore(folder / "gateway.db"),
    )
    with GatewayInThread(killing(create_app(gateway), step)) as server:
        draft = folder / "port.new"
        draft.write_text(server.url)
        draft.rename(folder / "port")
        time.sleep(60)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
