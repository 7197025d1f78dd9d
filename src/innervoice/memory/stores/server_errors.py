"""Errors of a server's driver as errors of the store, without the secrets of a URL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, unquote_plus, urlsplit

from innervoice.memory.stores.store import StoreError

__all__ = ["ServerErrors"]


class ServerErrors:
    """Turns a driver's errors into `StoreError`."""

    def __init__(self, name: str, url: str, *kinds: type[BaseException]) -> None:
        address = urlsplit(url)
        self._name = f"{name} at {address.hostname or 'its default address'}"
        members = (member.partition("=") for member in address.query.split("&"))
        passwords = [value for name, _, value in members if "password" in name]
        passwords.append(address.password or "")
        # As written in the URL, and decoded.
        self._secrets = {
            form for one in passwords for form in (one, unquote_plus(one), unquote(one)) if form
        }
        # A driver reports an unexpected response of a server as one of Python's own errors.
        self._kinds: tuple[type[BaseException], ...] = (
            *kinds,
            OSError,
            TimeoutError,
            ValueError,
            TypeError,
            LookupError,
        )

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raises `StoreError` in place of the driver's error."""
        try:
            yield
        except StoreError:
            raise
        except self._kinds as error:
            text = f"{self._name}: {error or type(error).__name__}"
            if isinstance(error, TimeoutError) or type(error).__name__ == "TimeoutError":
                text = f"{self._name} did not answer in time"
            for secret in self._secrets:
                text = text.replace(secret, "***")
        else:
            return
        # The driver's error may contain the URL, so it is not chained.
        raise StoreError(text) from None
