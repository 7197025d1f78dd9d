"""References to secrets, `env:NAME` and `file:PATH` -> the secrets. No error shows a secret, or what may be one."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

from innervoice.errors import UsageError
from innervoice.privacy.secrets import may_be_secret

__all__ = ["is_reference", "key_bytes_of", "secret", "text_or_secret"]

_SCHEMES = ("env:", "file:")
_KEY_BYTES = 32
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_reference(value: str) -> bool:
    """Whether a text is a reference to a secret."""
    return value.startswith(_SCHEMES)


def secret(reference: str, environ: Mapping[str, str]) -> str:
    """The secret that a reference names. White space around it is removed.

    Raises a `UsageError` if it is not a reference, or leads to nothing.
    """
    scheme, _, name = reference.partition(":")
    name = name.strip()
    if not is_reference(reference) or not name:
        raise UsageError(
            "expected a reference, 'env:NAME' or 'file:PATH', got another text; secrets are not written into the file"
        )
    value = _variable(name, environ) if scheme == "env" else _content(Path(name).expanduser())
    if not value:
        raise UsageError(f"the secret of {reference} is empty")
    return value


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if name in environ:
        return environ[name].strip()
    # Someone may have written the key itself after `env:`.
    if not _VARIABLE.fullmatch(name) or may_be_secret(name):
        raise UsageError("expected the name of an environment variable after 'env:'")
    raise UsageError(f"the environment variable {name} is not set")


def _content(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except ValueError:
        reason = "it is not text"
    where = "the file after 'file:'" if may_be_secret(path.name) else f"the file {path}"
    raise UsageError(f"{where} cannot be read: {reason}")


def text_or_secret(value: str, environ: Mapping[str, str]) -> str:
    """A setting that may be a reference, like `store` and the values of `headers`."""
    return secret(value, environ) if is_reference(value) else value


def key_bytes_of(text: str) -> bytes:
    """A key of the gateway: 32 bytes in base64 are used directly, any other text through its digest."""
    try:
        decoded = b64decode(text, validate=True)
    except (Base64Error, ValueError):
        decoded = b""
    if len(decoded) == _KEY_BYTES:
        return decoded
    return blake2b(text.encode(), digest_size=_KEY_BYTES).digest()
