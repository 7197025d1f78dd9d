"""API keys that are exchanged for tokens: IBM Cloud issues a token for an hour in exchange for a key.

A token is kept in memory until shortly before it expires, for all clients of the process, under a digest of its key. Neither the
key nor the token is in an error or a log. https://cloud.ibm.com/docs/iam?topic=iam-iamtoken_from_apikey, read 2026-11-16.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import sha256
from importlib import import_module
from time import monotonic, sleep
from typing import Any, NamedTuple

from innervoice.canon.jsontext import load_json
from innervoice.errors import (
    AuthenticationError,
    ConnectionFailedError,
    ProviderError,
    ServerError,
)

__all__ = ["exchanged", "is_exchanged"]

_GRANT = "urn:ibm:params:oauth:grant-type:apikey"
_TIMEOUT = 30.0
_TRIES = 3
_PAUSE = 0.2
_EARLY = 0.1
"""The last part of a token's life, in which a new one is requested."""
_MOST_TOKENS = 1000
_MOST_TEXT = 500


class _Token(NamedTuple):
    text: str
    renewed_at: float
    ends_at: float

    def __repr__(self) -> str:
        return "_Token()"


_tokens: OrderedDict[tuple[str, bytes], _Token] = OrderedDict()
_lock = threading.Lock()


def is_exchanged(url: str, key: str) -> bool:
    """Whether a token for this key is cached, so that `exchanged` does not use the network."""
    known = _tokens.get(_name(url, key))
    return known is not None and monotonic() < known.renewed_at


def exchanged(url: str, key: str, provider: str) -> str:
    """A token for a key, from memory or from the server at `url`."""
    name = _name(url, key)
    with _lock:  # of several requests one asks, and the others get its token
        known, now = _tokens.get(name), monotonic()
        if known and now < known.renewed_at:
            return known.text
        try:
            token = _asked(url, key, provider)
        except (ConnectionFailedError, ServerError):
            if known and now < known.ends_at:
                return known.text  # still valid; the next request asks again
            raise
        _tokens[name] = token
        _tokens.move_to_end(name)
        while len(_tokens) > _MOST_TOKENS:
            _tokens.popitem(last=False)
        return token.text


def _name(url: str, key: str) -> tuple[str, bytes]:
    return url, sha256(key.encode()).digest()


def _asked(url: str, key: str, provider: str) -> _Token:
    """Calls the server, with retries after a temporary failure."""
    http = import_module("httpx2")
    for left in reversed(range(_TRIES)):
        begun = monotonic()
        try:
            answer = http.post(
                url,
                data={"grant_type": _GRANT, "apikey": key},
                headers={"accept": "application/json"},
                timeout=_TIMEOUT,
            )
        except http.HTTPError as error:
            problem: ConnectionFailedError | ProviderError = ConnectionFailedError(
                f"no token for {provider} from {url}: {type(error).__name__}"
            )
        else:
            if answer.status_code == 200:
                return _token(answer.content, url, provider, begun)
            problem = _refusal(answer, key, provider)
            if not isinstance(problem, ServerError):
                break
        if left:
            sleep(_PAUSE)
    problem.provider = provider
    raise problem


def _token(content: bytes, url: str, provider: str, begun: float) -> _Token:
    value = _json(content)
    text, seconds = value.get("access_token"), value.get("expires_in")
    if not isinstance(text, str) or not text.isascii() or not text.isprintable() or not text:
        problem = AuthenticationError(
            None, None, f"no token for {provider}: the response of {url} has no access_token"
        )
        problem.provider = provider
        raise problem
    life = 0.0  # of unknown life: for one request
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
        life = max(float(seconds), 0.0)
    return _Token(text, begun + life * (1 - _EARLY), begun + life)


def _refusal(answer: Any, key: str, provider: str) -> ProviderError:
    value = _json(answer.content)
    code = value.get("errorCode")
    said = value.get("errorMessage") or f"status {answer.status_code}"
    # The server might repeat the data that it was sent.
    said = str(said)[:_MOST_TEXT].replace(key, "***")
    passing = answer.status_code == 429 or answer.status_code >= 500
    kind = ServerError if passing else AuthenticationError
    code = str(code)[:_MOST_TEXT].replace(key, "***") if code else None
    error = kind(None, code, f"no token for {provider}: {said}")
    error.status = answer.status_code
    return error


def _json(content: bytes) -> dict[str, Any]:
    try:
        value = load_json(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
