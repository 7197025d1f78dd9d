"""A caller's own credential for a provider: an API key, or whatever its program logged in with.

    [upstreams.anthropic]
    keys = "caller"

Such an upstream is called with what the client sent, unchanged, and with the headers that belong to it. A credential goes to the provider that it
belongs to and to no other. It is not stored and not logged; its owner is named by an HMAC of it.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from innervoice.canon.target import Target
from innervoice.catalog.lookup import all_hosts
from innervoice.client.auth import Destination, Outgoing
from innervoice.errors import UsageError
from innervoice.gateway.endpoints import KEY_HEADERS, given_key
from innervoice.gateway.upstreams import CallersKeyring
from innervoice.wire.dialects import dialect_named
from innervoice.wire.refusals import Refusal, Refused

if TYPE_CHECKING:
    from innervoice.gateway.routes import Route
    from innervoice.gateway.upstreams import Candidate

__all__ = ["Credential", "credential_of", "with_credential"]

_BESIDE = (
    "chatgpt-account-id",
    "openai-organization",
    "openai-project",
    "user-agent",
    "x-app",
    "x-goog-user-project",
)
"""Headers that name the account behind a credential, or the program that logged in."""
_OWNER_DIGITS = 24


@dataclass(frozen=True)
class Credential:
    """What a caller sent to authenticate itself at a provider."""

    provider: str
    """The provider that it belongs to; empty if any host of the client's API may have given it out."""
    dialect: str
    """The API that it was sent in."""
    owner: str
    """The name of its owner here: an HMAC of the credential."""
    headers: Mapping[str, str] = field(repr=False)
    beside: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers that belong to it."""
    is_only_key: bool = False
    """Whether it is all that its sender may use: the gateway has callers' keys, and this is none of them."""

    def may_go_to(self, target: Target) -> bool:
        """Whether it belongs to the provider of a target."""
        if self.provider:
            return target.provider == self.provider
        return target.dialect == self.dialect


def credential_of(
    headers: Mapping[str, str], query: str, dialect: str, secret: bytes
) -> Credential | None:
    """The credential of a request; None if it has none. The owner's name is derived with the secret."""
    key = given_key(headers, query)
    if key is None:
        return None
    own = {name: headers[name] for name in KEY_HEADERS if name in headers}
    beside = {name: headers[name] for name in _BESIDE if name in headers}
    if not own and parse_qs(query).get("key"):
        own["x-goog-api-key"] = key  # the same, where it is in no URL
    provider = next((host.id for host in all_hosts() if key.startswith(host.key_starts)), None)
    if provider is None:
        # Many hosts have OpenAI's chat API, each with its own keys.
        row = dialect_named(dialect)
        provider = "" if row.extensions else row.home
    data = key.encode("utf-8", "surrogatepass")
    owner = f"caller-{hmac.digest(secret, data, 'sha256').hex()[:_OWNER_DIGITS]}"
    return Credential(provider, dialect, owner, own, beside)


def with_credential(route: Route, credential: Credential | None) -> Route:
    """The route with the caller's credential at the upstreams that take it; raises `Refused` if none of them can be called."""
    if not any(candidate.takes_callers_key for candidate in route.candidates):
        if credential is not None and credential.is_only_key:
            text = "this gateway calls that model with its own key, so it needs a key of this gateway; what was sent is none"
            raise Refused(Refusal(text=text, status=401, code="invalid_api_key"))
        return route
    candidates: list[Candidate] = []
    refusals: list[Refusal] = []
    for candidate in route.candidates:
        if not candidate.takes_callers_key:
            if credential is None or not credential.is_only_key:
                candidates.append(candidate)
        elif credential is None:
            text = f"{candidate.target.provider} is called with the caller's own key here, and none was sent"
            refusals.append(Refusal(text=text, status=401))
        elif not credential.may_go_to(candidate.target):
            whose = credential.provider or f"a host of {credential.dialect}"
            text = f"the key that was sent belongs to {whose} and is not sent to {candidate.target.provider}; send a key of {candidate.target.provider} in its own API"
            refusals.append(Refusal(text=text, status=403, code="credential_of_another_provider"))
        else:
            account = candidate.account.with_keyring(_Sent(credential))
            headers = {**credential.beside, **candidate.headers}
            candidates.append(replace(candidate, account=account, headers=headers))
    if not candidates:
        raise Refused(refusals[0])
    return replace(route, candidates=tuple(candidates))


class _Sent(CallersKeyring):
    """A keyring that holds what the caller sent."""

    def __init__(self, credential: Credential) -> None:
        super().__init__(api_key=None, provider=None, keys={}, environ={})
        self._credential = credential
        self.owner = credential.owner

    def may_block(self, destination: Destination) -> bool:  # noqa: ARG002 - as in the base class
        return False

    def fixed_headers(self, destination: Destination) -> None:  # noqa: ARG002 - as in the base class
        return None

    def headers(self, destination: Destination, outgoing: Outgoing) -> dict[str, str]:  # noqa: ARG002 - as in the base class
        if not self._credential.may_go_to(destination.target):
            raise UsageError("a caller's credential is sent to its own provider only")
        return dict(self._credential.headers)
