"""A strict stand-in for the providers: it speaks every dialect and refuses what they refuse.

    bytes ──► core.Emulator.reply ──► route ──► wire/*/rules.py ──► seals of this dialect ──► brain ──► sealed parts ──► bytes

`Emulator` answers without a socket; `app` puts it behind one (starlette), and `server` runs that (uvicorn).
"""

from innervoice.emulator.core import Emulator, Reply

__all__ = ["Emulator", "Reply"]
