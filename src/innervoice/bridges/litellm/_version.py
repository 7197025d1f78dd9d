"""The version, where litellm has it."""

from innervoice.bridges.litellm.takeover import VERSION

__all__ = ["version"]

version = VERSION
