"""The keys that came with a request: the gateway's own, and a caller's own credentials for providers.

    [upstreams.anthropic]
    keys = "caller"

Such an upstream is called with what the client sent, unchanged, and with the headers that belong to it. A key of the gateway is consumed here. Of the
others only the upstream's own leaves: it is told by its beginning, or else by the header of the client's API. The rest is left out, with a
note. A credential is not stored and not logged; its owner is named by an HMAC of it.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from innervoice.canon.notes import Note
from innervoice.canon.target import Target
from innervoice.catalog.lookup import all_hosts
from innervoice.client.auth import Destination, Outgoing
from innervoice.errors import UsageError
from innervoice.gateway.upstreams import CallersKeyring
from innervoice.wire.dialects import dialect_named
from innervoice.wire.refusals import Refusal, Refused

if TYPE_CHECKING:
    from innervoice.gateway.routes import Route
    from innervoice.gateway.upstreams import Candidate

__all__ = ["Credentials", "SentKey", "credentials_of", "sent_keys", "with_credentials"]

_BEARER = "authorization"
_KEY_HEADERS = ("x-api-key", _BEARER, "x-goog-api-key", "api-key")
_IN_QUERIES = "x-goog-api-key"
"""The header that stands for `?key=`, so that it is in no URL."""
_ABOUT_PROGRAM = ("user-agent", "x-app")
"""Headers that name the program that logged in, which every provider may know."""
_OWNER_DIGITS = 24


@dataclass(frozen=True)
class SentKey:
    """One key of a request, with every header that it came in."""

    value: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    """The headers as they came."""

    @property
    def provider(self) -> str | None:
        """The provider whose keys begin like it; None where that says nothing."""
        return next((host.id for host in all_hosts() if self.value.startswith(host.key_starts)), None)  # fmt: skip


def sent_keys(headers: Mapping[str, str], query: str) -> tuple[SentKey, ...]:
    """Returns the keys of a request, in headers or as `?key=`; one that came in several places is one key.

    An AWS signature is not a key: it proves a secret that only AWS knows. Converse's clients send a bearer token instead if
    AWS_BEARER_TOKEN_BEDROCK is set.
    """
    found: dict[str, dict[str, str]] = {}
    for name in _KEY_HEADERS:
        text = headers.get(name, "").strip()
        kind, _, token = text.partition(" ")
        if kind.startswith("AWS4-"):
            continue
        if key := token.strip() if kind.lower() == "bearer" else text:
            found.setdefault(key, {})[name] = headers[name]
    for key in parse_qs(query).get("key", ()):
        if key and key not in found:
            found[key] = {_IN_QUERIES: key}
    return tuple(SentKey(value, places) for value, places in found.items())


@dataclass(frozen=True)
class Credentials:
    """What a caller sent to authenticate itself at providers, without keys of the gateway."""

    keys: tuple[SentKey, ...]
    dialect: str
    """The API that they were sent in."""
    owner: str
    """The name of their owner here: an HMAC of them all, so that nobody shares a name by sending a word that others send too."""
    secret: bytes = field(repr=False)
    beside: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers that belong to them."""
    is_only_key: bool = False
    """Whether they are all that their sender may use: the gateway has callers' keys, and these are none of them."""

    def key_for(self, target: Target) -> SentKey | None:
        """Returns the key that belongs to a target's provider; None if none does.

        Raises `Refused` if two different ones may be that.
        """
        own = [key for key in self.keys if key.provider == target.provider]
        if not own:
            own = [key for key in self.keys if key.provider is None and self._is_apis(key, target)]
        if len(own) > 1:
            names = " and ".join(sorted({name for key in own for name in key.headers}))
            text = f"the headers {names} have different keys, and each may be the one for {target.provider}; send one"
            raise Refused(Refusal(text=text, code="ambiguous_credential"))
        return own[0] if own else None

    def _is_apis(self, key: SentKey, target: Target) -> bool:
        """True if a key came in a header of the client's API, and the target is a provider of that API."""
        row = dialect_named(self.dialect)
        # Many hosts have OpenAI's chat API, each with its own keys.
        is_here = target.dialect == self.dialect if row.extensions else target.provider == row.home
        host = target.host
        names = {_BEARER, row.key_header, host.key_header if host else None}
        return is_here and not names.isdisjoint(key.headers)

    def left_out(self, sent: SentKey) -> str:
        """Returns the names of the headers whose keys are not sent beside this one; empty if there are none."""
        return ", ".join(sorted({name for key in self.keys if key is not sent for name in key.headers}))  # fmt: skip

    def account_of(self, key: SentKey) -> str:
        """Returns the name of the account behind one of the keys."""
        return _owner((key,), self.secret)

    def headers_for(self, target: Target) -> dict[str, str]:
        """Returns the headers beside the key that its provider may see."""
        names = (*_ABOUT_PROGRAM, *(target.host.account_headers if target.host else ()))
        return {name: value for name, value in self.beside.items() if name in names}


def credentials_of(
    keys: Sequence[SentKey], headers: Mapping[str, str], dialect: str, secret: bytes
) -> Credentials | None:
    """Returns the credentials of a request, from those of its keys that are not the gateway's; None if it has none. The owner's name is derived with the secret."""
    if not keys:
        return None
    beside = {name: headers[name] for name in _beside() if name in headers}
    return Credentials(tuple(keys), dialect, _owner(keys, secret), secret, beside)


@cache
def _beside() -> tuple[str, ...]:
    """Every header that may belong to a credential."""
    return (*_ABOUT_PROGRAM, *{name for host in all_hosts() for name in host.account_headers})


def _owner(keys: Sequence[SentKey], secret: bytes) -> str:
    data = "\0".join(sorted(key.value for key in keys)).encode("utf-8", "surrogatepass")
    return f"caller-{hmac.digest(secret, data, 'sha256').hex()[:_OWNER_DIGITS]}"


def with_credentials(
    route: Route, credentials: Credentials | None, note: Callable[[Note], None]
) -> Route:
    """Returns the route with the caller's credential at the upstreams that take it; raises `Refused` if none of them can be called.

    `note` takes what is left out.
    """
    if not any(candidate.takes_callers_key for candidate in route.candidates):
        if credentials is not None and credentials.is_only_key:
            text = "this gateway calls that model with its own key, so it needs a key of this gateway; what was sent is none"
            raise Refused(Refusal(text=text, status=401, code="invalid_api_key"))
        return route
    candidates: list[Candidate] = []
    refusals: list[Refusal] = []
    for candidate in route.candidates:
        if not candidate.takes_callers_key:
            if credentials is None or not credentials.is_only_key:
                candidates.append(candidate)
        elif credentials is None:
            text = f"{candidate.target.provider} is called with the caller's own key here, and none was sent"
            refusals.append(Refusal(text=text, status=401))
        elif (key := credentials.key_for(candidate.target)) is None:
            refusals.append(_foreign(credentials, candidate.target))
        else:
            if others := credentials.left_out(key):
                note(Note("credential_left_out", others))
            account = candidate.account.with_keyring(_Sent(credentials, key))
            headers = {**credentials.headers_for(candidate.target), **candidate.headers}
            candidates.append(replace(candidate, account=account, headers=headers))
    if not candidates:
        raise Refused(refusals[0])
    return replace(route, candidates=tuple(candidates))


def _foreign(credentials: Credentials, target: Target) -> Refusal:
    """The refusal of a request none of whose keys belongs to the provider that it asks for."""
    row = dialect_named(credentials.dialect)
    unknown = f"a host of {credentials.dialect}" if row.extensions else row.home
    whose = " or ".join(dict.fromkeys(key.provider or unknown for key in credentials.keys))
    text = f"the key that was sent belongs to {whose} and is not sent to {target.provider}; send a key of {target.provider} in its own API"
    return Refusal(text=text, status=403, code="credential_of_another_provider")


class _Sent(CallersKeyring):
    """A keyring that holds what the caller sent."""

    def __init__(self, credentials: Credentials, key: SentKey) -> None:
        super().__init__(api_key=None, provider=None, keys={}, environ={})
        self._credentials, self._key = credentials, key
        self.owner = credentials.account_of(key)

    def may_block(self, destination: Destination) -> bool:  # noqa: ARG002 - as in the base class
        return False

    def fixed_headers(self, destination: Destination) -> None:  # noqa: ARG002 - as in the base class
        return None

    def headers(self, destination: Destination, outgoing: Outgoing) -> dict[str, str]:  # noqa: ARG002 - as in the base class
        if self._credentials.key_for(destination.target) is not self._key:
            raise UsageError("a caller's credential is sent to its own provider only")
        return dict(self._key.headers)
