"""The tables of gateway.toml -> the same tables with only their valid members, and a list of what is wrong.

Each problem has its place (`models[2].to[0]`), what was expected and what was received. Nothing here shows a secret.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import urlsplit

from innervoice.canon.reasoning import Effort
from innervoice.canon.request import check_base_url
from innervoice.catalog.lookup import host_of
from innervoice.catalog.makers import maker_of
from innervoice.gateway.config.names import MODEL_NAME, is_safe, split_name
from innervoice.gateway.config.reading import (
    MemberKind,
    Problems,
    did_you_mean,
    number,
    shown,
    text,
    word,
)
from innervoice.gateway.config.secrets import is_reference
from innervoice.gateway.config.upstreams import (
    check_keys,
    check_secret,
    check_upstream_names,
    checked_upstream,
    provider_ids,
)
from innervoice.plugins import plugin_names
from innervoice.sources.housekeeping import KINDS
from innervoice.steering.watch import LOOPS

__all__ = ["LOOPBACK", "checked_tables", "exposure_problem"]

LOOPBACK = "127.0.0.1"
"""Where the gateway listens by default."""

_SHORTEST_GATEWAY_KEY = 32
_ANY = MemberKind("a value", lambda _: True)
_SECONDS = number("a number of seconds above 0", least=0.001, most=1e9)
_STORE = re.compile(r"(?:env:|file:|sqlite:|rediss?://|valkeys?://|postgres(?:ql)?://).+|ram")


def _is_store(value: str) -> bool:
    """Whether a text is the address of a store, ours or one of another package."""
    scheme, colon, rest = value.partition(":")
    return bool(_STORE.fullmatch(value) or (colon and rest and scheme in plugin_names("stores")))


_TOP = {
    "server": MemberKind("a table [server]", lambda value: isinstance(value, dict)),
    "models": MemberKind("a list of tables [[models]]", lambda value: isinstance(value, list)),
    "reasoning": MemberKind(
        "a list of tables [[reasoning]]", lambda value: isinstance(value, list)
    ),
    "upstreams": MemberKind("tables [upstreams.NAME]", lambda value: isinstance(value, dict)),
    "keys": MemberKind("a table [keys]", lambda value: isinstance(value, dict)),
}
_SERVER = {
    "host": text("a host name or an address, such as '127.0.0.1'", r"[A-Za-z0-9._:-]+"),
    "key": text("a reference, 'env:NAME' or 'file:PATH'"),
    "port": number("a port from 0 to 65535", least=0, most=65535, whole=True),
    "store": MemberKind(
        "'ram', 'sqlite:FILE', 'redis://...', 'postgresql://...' or a reference",
        lambda value: isinstance(value, str) and _is_store(value),
    ),
    "remember": word("off", "ram", "seals", "full"),
    "keep_days": number("a number of days above 0", least=0.001, most=36_500),
    "keep_most_days": number("a number of days above 0", least=0.001, most=36_500),
    "keep_bytes": number("a number of bytes, 1000000 or more", least=1_000_000, whole=True),
    "log": word("none", "shape", "full"),
    "log_bytes": number("a number of bytes, 1000000 or more", least=1_000_000, whole=True),
    "ping_seconds": _SECONDS,
    "whole_ping_seconds": number("a number of seconds, or 0 for never", least=0, most=1e9),
    "connect_seconds": _SECONDS,
    "first_byte_seconds": _SECONDS,
    "idle_seconds": _SECONDS,
    "total_seconds": _SECONDS,
    "retries": number("a whole number from 0 to 10", least=0, most=10, whole=True),
    "longest_wait": number("a number of seconds, 0 or more", least=0, most=1e9),
    "other_paths": text("a provider's name, or 'off'"),
    "unknown_ids": word("refuse", "allow"),
    "body_bytes": number("a number of bytes, 1024 or more", least=1024, whole=True),
    "streams_per_key": number("a whole number, 1 or more", least=1, whole=True),
}
_MODEL = {
    "name": text("a name", r"[^\s\x00-\x1f](?:[^\x00-\x1f]{0,254}[^\s\x00-\x1f])?"),
    "to": MemberKind(
        "'provider/model' or a list of these",
        lambda value: isinstance(value, str) or (isinstance(value, list) and bool(value)),
    ),
    "reasoning": _ANY,
    "continue": MemberKind("true or false", lambda value: isinstance(value, bool)),
}
_EFFORT = word(*get_args(Effort))
_REASONING = {
    "at_most": _EFFORT,
    "at_least": _EFFORT,
    "default": _EFFORT,
    "show": word("full", "summary", "hidden"),
    "auto": MemberKind("true or false", lambda value: isinstance(value, bool)),
}
_NAMES = MemberKind(
    "a list of names",
    lambda value: (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, str) and one for one in value)
    ),
)
_MODEL_REASONING = {
    **_REASONING,
    "limit": number("a number of tokens, 1 or more", least=1, whole=True),
    "loops": word(*LOOPS),
}
_RULE = {**_REASONING, "models": _NAMES, "keys": _NAMES, "kinds": _NAMES}


def checked_tables(
    tables: Mapping[str, Any],
    environ: Mapping[str, str],
    problems: Problems,
    *,
    emulated: bool,
    may_have_stored_keys: bool = False,
) -> dict[str, Any]:
    """The tables, in the form of a `GatewayConfig` if no problem was found.

    With `may_have_stored_keys` it is not yet a problem if other machines can reach a gateway that has no [keys].
    """
    top = problems.members(tables, "", _TOP)
    server = _server(top.get("server", {}), environ, problems)
    upstreams = {
        name: checked_upstream(name, value, environ, problems, emulated=emulated)
        for name, value in top.get("upstreams", {}).items()
    }
    check_upstream_names(upstreams, problems)
    _check_other_paths(server.get("other_paths"), upstreams, problems)
    models = _models(top.get("models", []), upstreams, problems)
    exposed = exposure_problem(server.get("host", LOOPBACK), {})
    keys = top.get("keys", {})
    check_keys(keys, environ, problems, exposed=exposed is not None)
    if exposed and not keys and not may_have_stored_keys:
        problems.add("server.host", exposed)
    rules = _rules(top.get("reasoning", []), keys, problems, may_have_more=may_have_stored_keys)
    return {
        "server": server,
        "models": models,
        "reasoning": rules,
        "upstreams": upstreams,
        "keys": keys,
    }


# ---- the server ------------------------------------------------------------------------------------


def _server(value: Any, environ: Mapping[str, str], problems: Problems) -> dict[str, Any]:
    server = problems.members(value, "server", _SERVER)
    if "key" in server:
        _check_key(server["key"], environ, problems)
    store = server.get("store", "")
    if is_reference(store):
        check_secret(store, environ, "server.store", problems)
    elif _has_password(store):
        problems.add(
            "server.store", "expected a URL without a password; write 'env:NAME' for a URL with one"
        )
    return server


def _check_other_paths(name: str | None, upstreams: Mapping[str, Any], problems: Problems) -> None:
    """The upstream for other paths must exist."""
    if name in (None, "off", *upstreams) or host_of(name or "") is not None:
        return
    near = did_you_mean(name or "", [*upstreams, *provider_ids()])
    problems.add(
        "server.other_paths",
        f"expected a provider, the name of a table [upstreams.NAME], or 'off', got {shown(name)}{near}",
    )


def _check_key(reference: str, environ: Mapping[str, str], problems: Problems) -> None:
    """The gateway's own key, with older ones on the following lines. Callers hold envelopes, so a short key could be guessed offline."""
    key = check_secret(reference, environ, "server.key", problems, in_lines=True)
    lines = [line.strip() for line in (key or "").splitlines()]
    if any(0 < len(line) < _SHORTEST_GATEWAY_KEY for line in lines):
        problems.add(
            "server.key",
            f"expected {_SHORTEST_GATEWAY_KEY} characters or more, for example from `openssl rand -base64 32`",
        )


def _has_password(url: str) -> bool:
    """Whether a URL has a password; a user name alone is not one."""
    try:
        address = urlsplit(url)
        check_base_url(address._replace(netloc=address.netloc.rpartition("@")[2]).geturl())
        return bool(address.password)
    except ValueError:
        return True


def exposure_problem(host: str, keys: Mapping[str, str]) -> str | None:
    """What is wrong with listening at a host, if the store has no callers' keys; None if nothing is."""
    if keys or _is_loopback(host):
        return None
    return (
        f"other machines can reach {host!r}, and without callers' keys everyone there could use your providers' keys;"
        " add a caller with `innervoice keys add` or to [keys], or listen on 127.0.0.1"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


# ---- models ----------------------------------------------------------------------------------------


def _models(
    values: list[Any], upstreams: Mapping[str, Any], problems: Problems
) -> list[dict[str, Any]]:
    names: dict[str, int] = {}
    for index, value in enumerate(values):
        name = value.get("name") if isinstance(value, dict) else None
        if not isinstance(name, str):
            continue
        if name in names:
            what = "this glob can never match" if "*" in name else "the name is not unique"
            problems.add(
                f"models[{index}].name", f"{what}: models[{names[name]}] is also {shown(name)}"
            )
        names.setdefault(name, index)
    return [
        _model(value, f"models[{index}]", names, upstreams, problems)
        for index, value in enumerate(values)
    ]


def _model(
    value: Any,
    place: str,
    names: Mapping[str, int],
    upstreams: Mapping[str, Any],
    problems: Problems,
) -> dict[str, Any]:
    model = problems.members(value, place, _MODEL, required=("name", "to"))
    name, to = model.get("name"), model.get("to", [])
    if name is not None and ("**" in name or "?" in name):
        problems.add(f"{place}.name", "expected one `*` for any text; other wildcards are unknown")
    targets = [to] if isinstance(to, str) else to
    for index, target in enumerate(targets):
        problem = _target_problem(target, name, names, upstreams)
        if problem is None and target in targets[:index]:
            problem = f"{shown(target)} is in the list twice"
        if problem:
            at = "" if isinstance(to, str) else f"[{index}]"
            problems.add(f"{place}.to{at}", problem)
    if "reasoning" in model:
        model["reasoning"] = problems.members(
            model["reasoning"], f"{place}.reasoning", _MODEL_REASONING
        )
        _check_range(model["reasoning"], f"{place}.reasoning", problems)
    return {**model, "to": targets}


def _target_problem(
    target: Any, name: str | None, names: Mapping[str, int], upstreams: Mapping[str, Any]
) -> str | None:
    """What is wrong with an entry of `to`; None if nothing is."""
    if not isinstance(target, str):
        return f"expected 'provider/model', got {shown(target)}"
    if target in names and target != name:
        return (
            f"{shown(target)} is models[{names[target]}]; an entry cannot point to another one;"
            " write the provider and the model"
        )
    parsed = split_name(target)
    if parsed is None:
        maker = maker_of(target)
        hint = f"; did you mean '{maker.id}/{target}'?" if maker else ""
        return f"expected 'provider/model', got {shown(target)}{hint}"
    if parsed.provider not in upstreams and host_of(parsed.provider) is None:
        providers = [*upstreams, *provider_ids()]
        return (
            f"expected a provider or one of [upstreams], got {shown(parsed.provider)}"
            f"{did_you_mean(parsed.provider, providers)}"
        )
    return _model_problem(parsed.model, name)


def _model_problem(model: str, name: str | None) -> str | None:
    if not is_safe(model.replace("*", "x")):
        return f"expected {MODEL_NAME}, got {shown(model)}"
    stars = (name or "").count("*")
    if name is not None and model.count("*") not in (0, stars):
        allowed = f"no `*`, or {stars} as in the name" if stars else "no `*`: the name has none"
        return f"expected {allowed}, got {shown(model)}"
    return None


# ---- how much is reasoned --------------------------------------------------------------------------


def _rules(
    values: list[Any], keys: Mapping[str, Any], problems: Problems, *, may_have_more: bool
) -> list[dict[str, Any]]:
    """The tables [[reasoning]]; with `may_have_more`, the store may have other owners of keys."""
    rules = []
    for index, value in enumerate(values):
        place = f"reasoning[{index}]"
        rule = problems.members(value, place, _RULE)
        is_known = isinstance(value, dict) and value.keys() <= _RULE.keys()
        if is_known and not value.keys() & _REASONING.keys():
            problems.add(place, f"expected one of {', '.join(_REASONING)}, got none of them")
        _check_range(rule, place, problems)
        known = {"kinds": KINDS, **({} if may_have_more else {"keys": [*keys]})}
        for member, words in known.items():
            for position, name in enumerate(rule.get(member, ())):
                if name not in words:
                    expected = f"one of {', '.join(words)}" if words else "an owner in [keys]"
                    problem = f"expected {expected}, got {shown(name)}{did_you_mean(name, words)}"
                    problems.add(f"{place}.{member}[{position}]", problem)
        rules.append(rule)
    return rules


def _check_range(policy: Mapping[str, Any], place: str, problems: Problems) -> None:
    """The lowest effort must not be above the highest, and the default must be between them."""
    ranks = {word: rank for rank, word in enumerate(get_args(Effort))}
    most, least = policy.get("at_most"), policy.get("at_least")
    if most is not None and least is not None and ranks[least] > ranks[most]:
        problems.add(f"{place}.at_least", f"expected {most} or less, as in at_most, got {least!r}")
        return
    default = policy.get("default")
    if default is not None and most is not None and ranks[default] > ranks[most]:
        problems.add(f"{place}.default", f"expected {most} or less, as in at_most, got {default!r}")
    if default is not None and least is not None and ranks[default] < ranks[least]:
        problems.add(
            f"{place}.default", f"expected {least} or more, as in at_least, got {default!r}"
        )
