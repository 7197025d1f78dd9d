"""litellm's loggers, by the names for which programs set levels; innervoice writes only errors of callbacks to them."""

from __future__ import annotations

import logging
from typing import Any, NoReturn

from innervoice.bridges.litellm.unsupported import missing

__all__ = [
    "_disable_debugging",
    "_enable_debugging",
    "_turn_on_debug",
    "_turn_on_json",
    "print_verbose",
    "verbose_logger",
    "verbose_proxy_logger",
    "verbose_router_logger",
]

verbose_logger = logging.getLogger("LiteLLM")
verbose_router_logger = logging.getLogger("LiteLLM Router")
verbose_proxy_logger = logging.getLogger("LiteLLM Proxy")
_LOGGERS = (verbose_logger, verbose_router_logger, verbose_proxy_logger)


def _turn_on_debug() -> None:
    """Sets litellm's loggers to DEBUG."""
    for logger in _LOGGERS:
        logger.setLevel(logging.DEBUG)


def _turn_on_json() -> None:
    """Accepted; the handlers of your program decide how a record is written."""


def _disable_debugging() -> None:
    """Turns litellm's loggers off."""
    for logger in _LOGGERS:
        logger.disabled = True


def _enable_debugging() -> None:
    """Turns litellm's loggers on."""
    for logger in _LOGGERS:
        logger.disabled = False


def print_verbose(statement: Any) -> None:
    """Logs a statement at DEBUG."""
    verbose_logger.debug(statement)


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
