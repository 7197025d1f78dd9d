"""A small application behind `serve`, in processes of its own: `python served.py '{"port": 0, ...}'`.

It writes `port N` once it listens, then what the server says. The first message of its configuration file is what `/` answers.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from innervoice.gateway.report import Report

__all__ = ["main"]


class Application:
    def __init__(self, settings):
        self.settings = settings
        self.file = Path(settings["file"]) if "file" in settings else None
        self.word = self.file.read_text() if self.file else "hello"
        self.metrics = None

    def create(self):
        if self.settings.get("broken"):
            raise OSError("no application today")
        if directory := self.settings.get("metrics"):
            from innervoice.gateway.operations.metrics import Metrics

            self.metrics = Metrics()
            self.metrics.share(Path(directory))
        return self.answer

    def load(self):
        word = self.file.read_text()
        if word in ("bad", ""):
            raise ValueError("no good word")
        return word

    def reload(self, word):
        self.word = word

    def stop(self):
        if self.metrics:
            self.metrics.write()

    async def answer(self, scope, receive, send):
        assert scope["type"] == "http"  # as for an application without lifespan
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        body = "".join([piece async for piece in self.pieces(scope, send)])
        await send({"type": "http.response.body", "body": body.encode()})

    async def pieces(self, scope, send):
        match scope["path"]:
            case "/pid":
                yield str(os.getpid())
            case "/stream":
                try:
                    await self.stream(float(scope["query_string"]), send)
                except asyncio.CancelledError:
                    await send(piece("last event\n"))
                    raise
                yield "end\n"
            case "/count":
                self.metrics.add(Report("id", "tenant", "anthropic", provider="openai", status=200))
                yield "counted"
            case "/metrics":
                yield self.metrics.page()
            case _:
                yield self.word

    async def stream(self, seconds, send):
        await send(piece(f"{os.getpid()}\n"))
        for number in range(round(seconds * 20)):
            await asyncio.sleep(0.05)
            await send(piece(f"{number}\n"))


def piece(text):
    return {"type": "http.response.body", "body": text.encode(), "more_body": True}


def tell(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main():
    from innervoice.errors import UsageError
    from innervoice.gateway.operations.metrics import retire
    from innervoice.gateway.operations.server import serve

    settings = json.loads(sys.argv[1])
    application = Application(settings)
    directory = settings.get("metrics")
    try:
        number = serve(
            application.create,
            host="127.0.0.1",
            port=settings.get("port", 0),
            workers=settings.get("workers", 1),
            stop_seconds=settings.get("stop_seconds", 30),
            load=application.load,
            on_reload=application.reload,
            watched=application.file,
            on_listening=lambda port: tell(f"port {port}"),
            on_stop=application.stop,
            on_lost=lambda process: retire(Path(directory), process) if directory else None,
            say=tell,
        )
    except (OSError, UsageError) as error:
        tell(f"failed: {error}")
        sys.exit(1)
    tell(f"stopped by {number}")


if __name__ == "__main__":
    main()
