"""`innervoice serve --demo`: what the gateway does for a client that loses its reasoning."""

from __future__ import annotations

import click

__all__ = ["run"]


def run() -> None:
    """Runs the demonstration."""
    raise click.ClickException("there is no demonstration of the gateway yet")
