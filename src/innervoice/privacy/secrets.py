"""Finds what looks like a key, a token or a seal in a text, and removes it.

One list for everything that shows other people's texts. Each pattern starts at the beginning of a word and never backtracks; so any text
is searched in time proportional to its length. Whole values are shown by `redactor.py`, which uses this list for their texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

__all__ = [
    "CREDENTIALS",
    "SEALS",
    "Secret",
    "may_be_secret",
    "redacted",
    "redacted_name",
    "secrets_in",
]

CREDENTIALS = (
    r"(?:api|access|private)[_-]?key|secret|token|passw(?:or)?d|credentials?|authorization|cookie"
)
"""Words in the names of members that hold what opens an account."""
SEALS = r"signature|encrypted|redacted"
"""Words in the names of members that hold what only a provider can read."""

_BODY = r"[A-Za-z0-9_.~-]"
_WORD_START = r"(?<![A-Za-z0-9_-])"

# The beginnings of keys. Those on the first line never begin a name in a program; the others must also contain a digit.
_SURE = r"sk-(?:ant|proj|or|svcacct|admin)-|AIza|AKIA|ASIA|ya29\.|nvapi-|gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|xapp-|dop_v1_|pypi-AgE|SG\.|eyJ"
_LIKELY = r"[spr]k[-_]|iv-|AQ\.|tgp_|fw_|gsk_|csk-|xai-|hf_|pplx-|r8_|npm_"
_KEY = re.compile(rf"{_WORD_START}(?:(?P<sure>{_SURE})|{_LIKELY}){_BODY}{{12,}}")

_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[^-]*(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|(?=-----)|\Z)"
)
# A name that says what its value is: in the environment, in JSON, in a header, in a query. Only the value is removed. The separator between
# the two is rarer than letters, so it is searched for first.
_VALUE = re.compile(
    r"""(?P<name>[:=][ \t]{0,3}(?:\\?["'])?)(?P<value>[A-Za-z0-9+/_.~%$!-]{8,}=*)"""
)
_NAME = re.compile(
    rf"""(?:{CREDENTIALS}|(?:{SEALS})(?:_?content|_?data)?)\\?["']?[ \t]{{0,3}}\Z""", re.IGNORECASE
)
_LONGEST_NAME = 40
_SCHEME = re.compile(
    r"(?P<name>\b(?:Bearer|Basic)[ \t]{1,3})(?P<value>[A-Za-z0-9+/_.~-]{12,}=*)",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"(?P<name>://[^\s/:@?#]{0,100}:)(?P<value>[^\s/:@]{3,200})(?=@)")

_BEGINNING = re.compile(rf"(?i:bearer |basic )|(?:{_SURE}|{_LIKELY})")
_LONG_SETTING = re.compile(r"[A-Za-z0-9+=]{24,}")

_CLUE = re.compile(r"[A-Za-z0-9+/_.~-]{12}|[:=]|-----")
"""What every secret has, and most short texts do not."""
_RUN = re.compile(r"[A-Za-z0-9+/=_.~-]{12,}")
_SHORTEST_CODED = 32
_LONG = re.compile(r"[A-Za-z0-9+]{32,}")
_LONG_WITH_SLASHES = re.compile(r"[A-Za-z0-9+/]{32,}")
_LONG_WITH_ALL = re.compile(r"[A-Za-z0-9+/=_.~-]{64,}")
_SEAL = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{120,}=*")


_RUN_OF = b"a"
_AS_RUNS = bytes(
    _RUN_OF[0]
    if chr(byte).isascii() and (chr(byte).isalnum() or chr(byte) in "_.~-+/")
    else ord(" ")
    for byte in range(256)
)
"""Maps every byte of a key or a seal to one, and all others to another."""


class Secret(NamedTuple):
    """A place in a text that looks like a secret."""

    kind: str
    start: int
    end: int


class _Pattern(NamedTuple):
    kind: str
    pattern: re.Pattern[str]
    group: int | str
    """The part of a match that is the secret."""
    is_secret: Callable[[re.Match[str]], bool]
    needles: tuple[str, ...] = ()
    """A text without all of these, in lower case, has no match; most texts have none of them."""
    separators: tuple[str, ...] = ()
    """The same for these, which are found sooner."""
    shortest: int = 0
    """A text without a run of so many characters of keys and seals has no match."""


def secrets_in(text: str, *, wary: bool = False) -> list[Secret]:
    """The keys, tokens, passwords and seals of a text, in order and without overlaps."""
    # Searching for strings in bytes, where all these characters are the same one, is many times as fast as the patterns.
    lowered, runs = text.lower(), text.encode("utf-8", "surrogatepass").translate(_AS_RUNS)
    secrets = [
        Secret(pattern.kind, match.start(pattern.group), match.end(pattern.group))
        for pattern in _PATTERNS
        if _may_match(pattern, text, lowered, runs)
        for match in pattern.pattern.finditer(text)
        if pattern.is_secret(match) or (wary and pattern.kind == _KEY_KIND)
    ]
    if len(secrets) < 2:
        return secrets
    apart: list[Secret] = []
    for secret in sorted(secrets, key=lambda secret: secret.start):
        if apart and secret.start < apart[-1].end:
            apart[-1] = apart[-1]._replace(end=max(apart[-1].end, secret.end))
        else:
            apart.append(secret)
    return apart


def _may_match(pattern: _Pattern, text: str, lowered: str, runs: bytes) -> bool:
    if pattern.shortest and _RUN_OF * pattern.shortest not in runs:
        return False
    for separators, whole in ((pattern.separators, text), (pattern.needles, lowered)):
        if separators and not any(map(whole.__contains__, separators)):
            return False
    return True


def redacted(text: str, *, wary: bool = False) -> str:
    """The text with a placeholder for each key, token, password and seal.

    With `wary`, every run of characters that is too long or too mixed for a name counts as one; for texts of names and messages, not
    for conversations.
    """
    if not _CLUE.search(text):
        return text
    secrets = secrets_in(text, wary=wary)
    if secrets:
        pieces: list[str] = []
        position = 0
        for secret in secrets:
            pieces += text[position : secret.start], _placeholder(secret.end - secret.start)
            position = secret.end
        text = "".join((*pieces, text[position:]))
    return _RUN.sub(_unless_plain, text) if wary else text


def redacted_name(text: str) -> str:
    """The same for a name or a message: there, a run of letters and digits that no word has is a seal as well."""
    return _redacted_short_name(text) if len(text) <= _SHORT_NAME else _redacted_name(text)


def _redacted_name(text: str) -> str:
    text = redacted(text)
    return _RUN.sub(_unless_words, text) if len(text) >= _SHORTEST_CODED else text


_SHORT_NAME = 64
_redacted_short_name = lru_cache(maxsize=1024)(_redacted_name)
"""The same few names come again and again."""


def may_be_secret(text: str) -> bool:
    """Whether a setting may be a secret: it begins like a key, or is longer than names are."""
    return bool(_BEGINNING.match(text) or _LONG_SETTING.search(text) or "@" in text)


def _placeholder(length: int) -> str:
    return f"[redacted, {length} characters]"


def _is_key(match: re.Match[str]) -> bool:
    """Whether it is a key, and not the name of a variable that begins like one."""
    return bool(match["sure"]) or any(character.isdigit() for character in match[0])


def _is_named(match: re.Match[str]) -> bool:
    before = match.string[max(match.start() - _LONGEST_NAME, 0) : match.start()]
    return _NAME.search(before) is not None and _is_value(match["value"])


def _has_value(match: re.Match[str]) -> bool:
    return _is_value(match["value"])


def _is_value(value: str) -> bool:
    """Whether the value after a name is not a word of a sentence or a program."""
    return any(character.isdigit() for character in value)


def _unless_plain(match: re.Match[str]) -> str:
    """Whether a run of characters is not a name: it is too long for a word, or too mixed for words."""
    run = match[0]
    return _placeholder(len(run)) if _LONG.search(run) or _is_coded(run) else run


def _unless_words(match: re.Match[str]) -> str:
    run = match[0]
    return _placeholder(len(run)) if _is_coded(run) else run


def _is_coded(run: str) -> bool:
    """Whether a part of a run is too long and too mixed for words."""
    return any(map(_is_mixed, (*_LONG_WITH_SLASHES.findall(run), *_LONG_WITH_ALL.findall(run))))


def _is_mixed(text: str) -> bool:
    return (
        any(character.isdigit() for character in text)
        and any(character.isupper() for character in text)
        and any(character.islower() for character in text)
    )


_KEY_KIND = "key"
_PATTERNS: tuple[_Pattern, ...] = (
    _Pattern("private key", _PEM, 0, bool, ("-----begin",)),
    _Pattern(_KEY_KIND, _KEY, 0, _is_key, shortest=15),
    _Pattern("authorization", _SCHEME, "value", _has_value, ("bearer", "basic")),
    _Pattern(
        "named value",
        _VALUE,
        "value",
        _is_named,
        (
            "key",
            "secret",
            "token",
            "passw",
            "credential",
            "authorization",
            "cookie",
            "signature",
            "encrypted",
            "redacted",
        ),
        (":", "="),
    ),
    _Pattern("password in a URL", _IN_URL, "value", _has_value, ("://",)),
    _Pattern("seal", _SEAL, 0, lambda match: _is_mixed(match[0]), shortest=120),
)
