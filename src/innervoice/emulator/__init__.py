"""An emulator of the providers: it speaks every dialect and refuses what they refuse.

    bytes ──► core.Emulator.reply ──► route ──► wire/*/rules.py ──► seals of this dialect ──► scripted model ──► sealed parts ──► bytes

`Emulator` answers without a socket; `emulated_client` is a client that talks to one in this process. `app` serves it over a
socket (starlette), and `server` runs that (uvicorn).
"""

from typing import TYPE_CHECKING, Any

from innervoice.emulator.core import Emulator, Reply

if TYPE_CHECKING:
    from innervoice.emulator.app import create_app
    from innervoice.emulator.embedded import emulated_async_client, emulated_client

__all__ = ["Emulator", "Reply", "create_app", "emulated_async_client", "emulated_client"]


def __getattr__(name: str) -> Any:
    """Clients and the application are imported on first use: the emulator alone needs no HTTP."""
    if name == "create_app":
        from innervoice.emulator.app import create_app  # noqa: PLC0415

        return create_app
    if name in ("emulated_client", "emulated_async_client"):
        from innervoice.emulator import embedded  # noqa: PLC0415

        return getattr(embedded, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
