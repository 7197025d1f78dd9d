"""Which proxy of the environment a URL is called through: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in either case.

A WebSocket goes through the proxy of HTTP, and nothing on this machine goes through any: a proxy elsewhere cannot reach it. `~/.netrc` is never
read: its `default` entry would be sent to every provider.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from innervoice.errors import UsageError

__all__ = ["has_proxies", "is_loopback", "proxy_of"]

_KINDS = ("http", "https", "all")
_SAME_AS = {"ws": "http", "wss": "https"}
_SPOKEN = ("http", "https")


def has_proxies() -> bool:
    """True if the environment names a proxy."""
    return not getproxies().keys().isdisjoint(_KINDS)


def proxy_of(url: str) -> str | None:
    """Returns the URL of the proxy for a URL; None for a direct connection. Raises `UsageError` for a kind of proxy that is not supported."""
    place = urlsplit(url)
    host = place.hostname or ""
    proxies = getproxies()
    proxy = proxies.get(_SAME_AS.get(place.scheme, place.scheme)) or proxies.get("all")
    if not proxy or is_loopback(host) or proxy_bypass(host):
        return None
    if "://" not in proxy:
        return f"http://{proxy}"
    kind = urlsplit(proxy).scheme.lower()
    if kind not in _SPOKEN:
        raise UsageError(f"expected an HTTP proxy in the environment, got one of the kind {kind}")
    return proxy


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """True for a name or an address of this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
