"""An upstream that pauses between its frames: the gateway has one frame a read, and has sent what it can before the next one comes."""

from dataclasses import replace

from gateway.harness import Upstream

__all__ = ["Paced", "frames_of"]


def frames_of(body: bytes, media: str) -> list[bytes]:
    """The frames of a stream in any framing; a body that is no stream is one."""
    if "event-stream" in media:
        return [frame + b"\n\n" for frame in body.split(b"\n\n") if frame]
    if "ndjson" in media:
        return [line + b"\n" for line in body.split(b"\n") if line]
    pieces = []
    while "eventstream" in media and body:
        length = int.from_bytes(body[:4], "big")
        pieces.append(body[:length])
        body = body[length:]
    return pieces or [body]


class Paced(Upstream):
    """The emulator, one frame a read."""

    def reply(self, method, path, headers, body):
        reply = super().reply(method, path, headers, body)
        return replace(reply, pieces=iter(frames_of(self.raw_answers[-1], reply.media)))
