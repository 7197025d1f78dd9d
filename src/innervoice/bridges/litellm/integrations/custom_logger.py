"""`CustomLogger`: the class whose methods are called before and after a call, and after a failure."""

from __future__ import annotations

from typing import Any, NoReturn

from innervoice.bridges.litellm.unsupported import missing

__all__ = ["CustomLogger"]


class CustomLogger:
    """Derive from it, override what you need, and put an instance into `litellm.callbacks`.

    `kwargs` describes the call; `response_obj` is the response, None after a failure. The times are `datetime` values.
    """

    def __init__(self, message_logging: bool = True, **_: Any) -> None:
        self.message_logging = message_logging

    def log_pre_api_call(self, model: str, messages: Any, kwargs: Any) -> None:
        """Before the request."""

    def log_post_api_call(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """After the request, if the response was not streamed."""

    def log_stream_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Never called; a stream is logged as a success when it ends."""

    def log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """After `completion`, or at the end of its stream."""

    def log_failure_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """After an error of `completion`."""

    async def async_log_pre_api_call(self, model: str, messages: Any, kwargs: Any) -> None:
        """Never called, as in litellm; `log_pre_api_call` is."""

    async def async_log_stream_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Never called; a stream is logged as a success when it ends."""

    async def async_log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """After `acompletion`, or at the end of its stream."""

    async def async_log_failure_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """After an error of `acompletion`."""


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
