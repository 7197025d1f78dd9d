"""A time that passes only while an emulated server writes: one second before each piece of an answer."""

from dataclasses import replace

import pytest

from innervoice.client.deadline import Deadline
from innervoice.emulator.core import Emulator

__all__ = ["Ticking", "ticking"]


class Ticking:
    """An emulator, and the clock of everybody who waits for it."""

    def __init__(self, emulator=None):
        self.emulator = emulator or Emulator()
        self.now = 1000.0
        self.pieces = []
        """What was written, and when."""

    def __call__(self):
        return self.now

    def tick(self, pieces):
        for piece in pieces:
            self.now += 1
            self.pieces.append((self.now, piece))
            yield piece

    def reply(self, method, path, headers, body):
        reply = self.emulator.reply(method, path, headers, body)
        return replace(reply, pieces=self.tick(reply.pieces))


@pytest.fixture
def ticking(monkeypatch):
    """The server and the clock; clients measure with it."""
    server = Ticking()
    monkeypatch.setitem(Deadline.__init__.__kwdefaults__, "clock", server)
    return server
