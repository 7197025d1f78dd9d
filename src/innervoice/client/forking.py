"""Clients in a forked child process: they open their own connections.

A child has copies of its parent's sockets. If both used them, each would read parts of the other's responses.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["after_fork"]

_CALLS: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()


def after_fork(client: Any, forget: Callable[[Any], None]) -> None:
    """Registers `forget(client)` to be called in every child process, for as long as the client exists."""
    _CALLS[client] = forget


def _forget_all() -> None:
    for client, forget in list(_CALLS.items()):
        forget(client)


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(after_in_child=_forget_all)
