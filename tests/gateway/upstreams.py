"""Upstreams that do what a test says, in place of an HTTP client: they wait, break off, refuse, and see when they are left."""

import asyncio
from collections.abc import AsyncIterator

__all__ = ["Answer", "BrokenError", "Scripted", "Wait", "frames"]


class BrokenError(OSError):
    """The connection broke."""


class Wait:
    """A silence of so many seconds; without end if None."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds


class Answer:
    """What one request gets: a status, headers, and steps: bytes, silences and errors."""

    def __init__(self, *steps, status=200, headers=None) -> None:
        self.steps, self.status_code, self.headers = steps, status, headers or {}
        self.is_closed = self.is_stream_consumed = False
        self.given = 0
        """How many steps were read."""
        self.waits = asyncio.Event()
        """It has come to a silence."""

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        for step in self.steps:
            self.given += 1
            if isinstance(step, Wait):
                self.waits.set()
                await (
                    asyncio.sleep(step.seconds)
                    if step.seconds is not None
                    else asyncio.Event().wait()
                )
            elif isinstance(step, Exception):
                raise step
            else:
                yield step

    @property
    def stream(self):
        return self.aiter_bytes()

    async def aclose(self) -> None:
        self.is_closed = True


class Scripted:
    """An HTTP client whose requests get these answers, one after the other; an error in place of one is raised."""

    limits_silence = True
    errors = (OSError,)

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.requests: list[dict] = []
        self.given: list[Answer] = []

    def build_request(self, method, url, *, headers, content, extensions):
        return {"method": method, "url": url, "headers": dict(headers), "body": content}

    async def send(self, request, *, stream=True):
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Wait):
            await asyncio.sleep(answer.seconds) if answer.seconds else await asyncio.Event().wait()
        self.given.append(answer)
        return answer

    async def aclose(self) -> None:
        pass


def frames(data: bytes) -> list[bytes]:
    """The frames of a stream of server-sent events."""
    return [frame + b"\n\n" for frame in data.split(b"\n\n") if frame]
