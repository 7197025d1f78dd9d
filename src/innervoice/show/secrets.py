"""What looks like a key, a token or a seal in a text, and the text without it.

One list for everything that shows texts of others: exports of the viewer, the lines and explanations of the gateway. Each pattern begins where a word
begins, and takes what it has read; so a text of any kind is searched in time in proportion to its length.
"""

from __future__ import annotations

import re

__all__ = ["redacted"]

_BODY = r"[A-Za-z0-9_.~-]"
_WORD_START = r"(?<![A-Za-z0-9_-])"

# How keys begin. Those on the first line are no beginnings of names in programs; after the others there is a digit, too.
_SURE = r"sk-(?:ant|proj|or|svcacct|admin)-|AIza|AKIA|ASIA|ya29\.|nvapi-|gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|xapp-|dop_v1_|pypi-AgE|SG\.|eyJ"
_LIKELY = r"[spr]k[-_]|iv-|AQ\.|tgp_|fw_|gsk_|csk-|xai-|hf_|pplx-|r8_|npm_"
_KEY = re.compile(rf"{_WORD_START}(?:(?P<sure>{_SURE})|{_LIKELY}){_BODY}{{12,}}+")

_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:[^-]|-(?!----))*+(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?"
)
# A name that says what its value is: in the environment, in JSON, in a header, in a query. Only the value is taken.
_NAMED = re.compile(
    r"""(?P<name>(?:api[_-]?key|access[_-]?key|secret|token|password|passwd|credentials?|signature|encrypted_content)
        \\?["']?[ \t]{0,3}[:=][ \t]{0,3}(?:\\?["'])?)(?P<value>[A-Za-z0-9+/_.~%$!-]{8,}+=*+)""",
    re.IGNORECASE | re.VERBOSE,
)
_SCHEME = re.compile(
    r"(?P<name>\b(?:Bearer|Basic)[ \t]{1,3})(?P<value>[A-Za-z0-9+/_.~-]{12,}+=*+)",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"(?P<name>://[^\s/:@?#]{0,100}+:)(?P<value>[^\s/:@]{3,200}+)(?=@)")

_RUN = re.compile(r"[A-Za-z0-9+/=_.~-]{12,}+")
_LONG = re.compile(r"[A-Za-z0-9+]{32,}")
_LONG_WITH_SLASHES = re.compile(r"[A-Za-z0-9+/]{32,}")
_LONG_WITH_ALL = re.compile(r"[A-Za-z0-9+/=_.~-]{64,}")
_SEAL = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{120,}+=*+")


def redacted(text: str, *, wary: bool = False) -> str:
    """The text with a placeholder for each key, token, password and seal.

    With `wary`, every run of characters that is too long or too mixed for a name counts as one; for texts that hold names and messages, not
    a conversation.
    """
    text = _PEM.sub(_placeholder, text)
    text = _KEY.sub(_unless_name if not wary else _placeholder, text)
    for pattern in (_SCHEME, _NAMED, _IN_URL):
        text = pattern.sub(_with_name, text)
    if wary:
        return _RUN.sub(_unless_plain, text)
    return _SEAL.sub(_unless_words, text)


def _placeholder(found: re.Match[str]) -> str:
    return f"[redacted, {len(found[0])} characters]"


def _unless_name(found: re.Match[str]) -> str:
    """A key, but not the name of a variable that begins like one."""
    is_key = found["sure"] or any(character.isdigit() for character in found[0])
    return _placeholder(found) if is_key else found[0]


def _with_name(found: re.Match[str]) -> str:
    value = found["value"]
    if not _is_value(value):
        return found[0]
    return f"{found['name']}[redacted, {len(value)} characters]"


def _is_value(value: str) -> bool:
    """Whether what stands behind a name is no word of a sentence or a program."""
    return any(character.isdigit() for character in value) and not value.isdigit()


def _unless_words(found: re.Match[str]) -> str:
    return _placeholder(found) if _is_mixed(found[0]) else found[0]


def _unless_plain(found: re.Match[str]) -> str:
    """Whether a run of characters is no name: it is too long for a word, or too mixed for words."""
    run = found[0]
    is_secret = _LONG.search(run) or any(
        map(_is_mixed, (*_LONG_WITH_SLASHES.findall(run), *_LONG_WITH_ALL.findall(run)))
    )
    return _placeholder(found) if is_secret else run


def _is_mixed(text: str) -> bool:
    return (
        any(character.isdigit() for character in text)
        and any(character.isupper() for character in text)
        and any(character.islower() for character in text)
    )
