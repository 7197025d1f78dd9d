"""gateway.toml and the environment -> a `GatewayConfig`, or one `ConfigError` with every problem of the file.

    [server]                 where the gateway listens, what it keeps, its limits
    [[models]]               names that callers may ask for, and what each of them reaches
    [[reasoning]]            how much is reasoned, by model, caller and kind of request
    [upstreams.NAME]         accounts and addresses of providers, and the user's own servers
    [keys]                   the callers' keys: TENANT = "env:..."

Secrets are references, `env:NAME` or `file:PATH`. They are read here once to check that they exist, and again by `routes.py`, which
puts them into a keyring; a config holds only the references.

A name of `[[models]]` may contain `*`, which stands for anything, and then `to` may contain it as well: `name = "claude-*"`, `to =
"anthropic/claude-*"`. An entry of `to` is always a model at a provider or an upstream, never another entry of `[[models]]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from innervoice.canon.reasoning import Effort
from innervoice.canon.rows import Row
from innervoice.errors import UsageError
from innervoice.gateway.config.checks import LOOPBACK, checked_tables, exposure_problem
from innervoice.gateway.config.reading import Problems
from innervoice.gateway.config.secrets import is_reference, secret, text_or_secret
from innervoice.gateway.config.upstreams import CALLERS_OWN
from innervoice.sources.housekeeping import RequestKind
from innervoice.steering.watch import Loops, Steering

__all__ = [
    "EXAMPLE",
    "ConfigError",
    "GatewayConfig",
    "ModelReasoning",
    "NamedModel",
    "ReasoningPolicy",
    "ReasoningRule",
    "Remember",
    "ServerSettings",
    "UpstreamSettings",
    "exposure_problem",
    "is_reference",
    "load_config",
    "secret",
    "text_or_secret",
]


EXAMPLE = Path(__file__).with_name("example.toml")
"""A file with every default as a comment."""
Remember: TypeAlias = Literal["off", "ram", "seals", "full"]


class ConfigError(UsageError):
    """A configuration that cannot be used; `problems` lists everything that is wrong with it."""

    def __init__(self, source: str, problems: tuple[str, ...]) -> None:
        self.source = source
        self.problems = problems
        count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
        super().__init__("\n  ".join((f"{source}: {count}", *problems)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.source, self.problems)


class ServerSettings(Row, frozen=True, kw_only=True):
    """Where the gateway listens, what it keeps, and its limits."""

    host: str = LOOPBACK
    port: int = 8807
    key: str | None = None
    """A reference to the gateway's own key, from which the keys for envelopes, look-ups and the store are derived, followed by older keys; None: the key file."""
    store: str | None = None
    """Where turns are kept, as `sqlite:gateway.db` or `redis://...`, or a reference to such a text; None: the embedded store."""
    remember: Remember = "seals"
    """What is kept of turns: nothing, everything in memory, the parts that are sent back to their provider, or everything."""
    keep_days: float = 30
    """How long a turn is kept after its last use."""
    keep_most_days: float = 90
    keep_bytes: int = 1_000_000_000
    """How much is kept for each owner."""
    log: Literal["none", "shape", "full"] = "shape"
    """What is kept of requests for the viewer: nothing, their shape without any text, or everything except seals, media and keys."""
    log_bytes: int = 500_000_000
    """The maximum size of the request log."""
    ping_seconds: float = 10
    """The silence after which the client of a stream gets a keep-alive."""
    whole_ping_seconds: float = 0
    """The same for a response that is sent as a whole, which gets white space; 0: never, so that a late error has its own status."""
    connect_seconds: float = 5
    first_byte_seconds: float = 600
    idle_seconds: float = 300
    """The longest silence of an upstream in the middle of an answer."""
    total_seconds: float = 3600
    retries: int = 2
    longest_wait: float = 60
    """The longest Retry-After, in seconds, that the gateway waits for before it calls another candidate."""
    other_paths: str | None = None
    """The upstream for paths that the gateway does not serve and that name no provider; "off": no such path is passed on at all."""
    unknown_ids: Literal["refuse", "allow"] = "refuse"
    """What becomes of ids at a provider (files, responses, ...) of which there is no record who got them, where several owners share an account."""
    body_bytes: int = 32 * 1024 * 1024
    streams_per_key: int = 1000
    """How many concurrent answers one caller's key may have."""


class ReasoningPolicy(Row, frozen=True, kw_only=True):
    """How much a model reasons, and what it shows of that, whatever a caller requests."""

    at_most: Effort | None = None
    """The highest effort."""
    at_least: Effort | None = None
    """The lowest effort."""
    default: Effort | None = None
    """The effort for requests that name none."""
    show: Literal["full", "summary", "hidden"] | None = None
    """What is shown of the reasoning, where the model can show it."""
    auto: bool | None = None
    """The gateway chooses the effort by the shape of the request."""


class ReasoningRule(ReasoningPolicy, frozen=True, kw_only=True):
    """The same for some models, callers and kinds of requests; an empty list stands for all."""

    models: tuple[str, ...] = ()
    """The names that callers ask for; `*` stands for any text."""
    keys: tuple[str, ...] = ()
    """The owners of keys."""
    kinds: tuple[RequestKind, ...] = ()


class ModelReasoning(ReasoningPolicy, frozen=True, kw_only=True):
    """The same for one name, and what is done about its reasoning while it runs."""

    limit: int | None = None
    """The most tokens of reasoning, about; then the answer is requested without reasoning."""
    loops: Loops | None = None
    """What is done if the reasoning repeats itself."""


class NamedModel(Row, frozen=True, kw_only=True, rename={"goes_on": "continue"}):
    """A model name that callers may request."""

    name: str
    to: tuple[str, ...]
    """The models that are called, the first one that works."""
    reasoning: ModelReasoning = ModelReasoning()
    goes_on: bool = False
    """Whether a stream that breaks off is continued; `continue` in the file."""

    @property
    def steering(self) -> Steering:
        """What is done about its answers while they run."""
        return Steering(self.reasoning.limit, self.reasoning.loops, self.goes_on)

    @property
    def is_glob(self) -> bool:
        """Whether the name stands for many."""
        return "*" in self.name


class UpstreamSettings(Row, frozen=True, kw_only=True):
    """The accounts and the base URL of a provider, or of the user's own server."""

    # Values are references or harmless; a repr need not decide which.
    hidden: ClassVar[frozenset[str]] = frozenset({"headers"})

    keys: tuple[str, ...] = ()
    """References to keys, one for each account; "caller": callers bring their own."""
    base_url: str | None = None
    provider: str | None = None
    """The provider whose catalog row describes it; by default the one with the upstream's name."""
    dialect: str | None = None
    headers: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Headers that are added to each request; a value may be a reference."""

    @property
    def takes_callers_keys(self) -> bool:
        """Whether it is called with the caller's own credential."""
        return self.keys == (CALLERS_OWN,)


class GatewayConfig(Row, frozen=True, kw_only=True):
    """All settings of a gateway. It holds no secrets, only references to them."""

    server: ServerSettings = ServerSettings()
    models: tuple[NamedModel, ...] = ()
    reasoning: tuple[ReasoningRule, ...] = ()
    """Rules, of which the first that has a member decides it; those of [[models]] come last."""
    upstreams: dict[str, UpstreamSettings] = {}  # noqa: RUF012 - msgspec copies it
    keys: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Tenants -> references to their keys."""


def load_config(
    path: Path | None,
    environ: Mapping[str, str],
    *,
    emulated: bool = False,
    may_have_stored_keys: bool = False,
) -> GatewayConfig:
    """Reads a file; None gives the defaults. Raises a `ConfigError` with every problem of the file.

    With `emulated`, the keys of upstreams need not exist. With `may_have_stored_keys`, the caller makes sure that a gateway that other
    machines can reach has callers.
    """
    if path is None:
        return GatewayConfig()
    problems = Problems()
    tables = checked_tables(
        _tables(path, problems),
        environ,
        problems,
        emulated=emulated,
        may_have_stored_keys=may_have_stored_keys,
    )
    if problems.found:
        raise ConfigError(str(path), tuple(problems.found))
    return GatewayConfig.from_row(tables)


def _tables(path: Path, problems: Problems) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - only a gateway with a file needs it

    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        problems.add("", f"the file cannot be read: {error.strerror or type(error).__name__}")
    except UnicodeDecodeError:
        problems.add("", "expected TOML in UTF-8, got other bytes")
    except tomllib.TOMLDecodeError as error:
        problems.add("", f"expected TOML: {error}")
    return {}
