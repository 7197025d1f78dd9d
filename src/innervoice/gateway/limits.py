"""All limits of the gateway, in one place; `scripts/formats` makes the table in docs/gateway-reference.md from it.

What an owner may want to change is an option of the configuration file (`config/`); these are the others. A word in parentheses in a
docstring is the unit.
"""

from __future__ import annotations

from dataclasses import dataclass

from innervoice.wire.refusals import DEEPEST, MOST_BYTES

__all__ = ["LIMITS", "Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large, how many, how long. The docstring of a limit is its row in the documentation."""

    # ---- one request of a client
    body_bytes: int = MOST_BYTES
    """The body of a request (bytes); `body_bytes` in the configuration."""
    depth: int = DEEPEST
    """Nested objects and lists in a body."""
    messages: int = 10_000
    """Messages of a request, and of a conversation behind `previous_response_id`."""
    header_bytes: int = 64 * 1024
    """All headers of a request (bytes)."""
    path_characters: int = 4096
    """The path of a request (characters)."""
    head_seconds: float = 30.0
    """How long a client may take to send the head of a request (seconds)."""
    body_seconds: float = 60.0
    """How long a client may take to send the body of a request (seconds)."""
    aside_bytes: int = 256 * 1024
    """A larger request is read and written in a thread, so that the streams of others go on meanwhile (bytes)."""

    upload_bytes: int = 4 * 1024**3
    """The body of a request for another path of a provider, which is passed on while it arrives (bytes)."""
    counted_bytes: int = 1_000_000
    """A larger answer from such a path is not searched for token counts (bytes)."""
    socket_bytes: int = 32 * 1024 * 1024
    """A message of a WebSocket (bytes)."""

    socket_queued_bytes: int = 64 * 1024 * 1024
    """Requests of one WebSocket of the Responses API that wait or are being answered (bytes)."""
    sockets_queued_bytes: int = 256 * 1024 * 1024
    """The same of all connections of a caller, and what they keep for later requests (bytes)."""
    socket_lanes: int = 64
    """Values of `stream_id` on a WebSocket of the Responses API, whose answers are written at once."""
    socket_waiting: int = 64
    """Requests of one `stream_id` that wait for the one before."""
    socket_steers: int = 16
    """Steers that wait for the end of one answer."""

    # ---- connections and processes
    keep_alive_seconds: int = 75
    """How long an idle connection stays open: longer than load balancers keep theirs, so that they close first (seconds)."""
    farewell_seconds: float = 1.0
    """How long a stream has to write its last event when the server stops (seconds)."""
    restarts: int = 5
    """How often a worker that ends is replaced within `restart_seconds`."""
    restart_seconds: float = 60.0
    """The time in which `restarts` are counted (seconds)."""
    kill_seconds: float = 5.0
    """How long a worker may take to end after the command to stop (seconds)."""
    batch_bytes: int = 16 * 1024
    """How much of a forwarded answer is read at once, where nobody waits for its events (bytes)."""
    together_seconds: float = 0.1
    """What came of it within this time is read in one piece: how exact the times of thoughts are (seconds)."""
    watched_batch_bytes: int = 512
    """The same where somebody may watch the answer in the viewer (bytes)."""

    # ---- what is remembered in a process
    forwarded_conversations: int = 20_000
    """Conversations whose next request may be forwarded unread."""
    appended_bytes: int = 256_000_000
    """What was sent of conversations that may continue (bytes)."""
    appended_seconds: float = 900.0
    """How long it is remembered (seconds)."""
    known_settings: int = 2_000
    """Settings, with their tools and system prompts, that are not read again."""
    broken_answers: int = 2_000
    """Answers that broke off, whose beginnings are not taken for a prefill."""
    refused_turns: int = 20_000
    """Turns whose reasoning a host refused."""
    memory_bytes: int = 64_000_000
    """Turns and responses of a caller in memory, where there is no store (bytes)."""
    homes: int = 8
    """Candidates that are remembered for a conversation: agents use a few models in one."""
    candidates: int = 10_000
    """Candidates whose failures are remembered."""
    conversations: int = 100_000
    """Conversations whose upstream is remembered."""
    known_callers: int = 10_000
    """Callers' keys that are remembered."""
    unknown_callers: int = 1_000
    """Wrong keys that are remembered, so that they need no look-up."""
    reserved_tokens: int = 4096
    """Tokens of the answer that are reserved for a request in progress of a caller with a limit on tokens or money, unless the request allows fewer."""
    counters: int = 50_000
    """Counters of quotas."""

    # ---- the store
    store_seconds: float = 0.25
    """How long a request waits for the store; then it is served without it (seconds)."""
    first_key_seconds: float = 2.0
    """How long the look-up of a new key may take; then the request is refused (seconds)."""
    keys_command_seconds: float = 10.0
    """How long `innervoice keys` waits for the store (seconds)."""
    fresh_key_seconds: float = 5.0
    """How long a key counts as valid without a look-up (seconds)."""
    stale_key_seconds: float = 600.0
    """The same while the store cannot be reached (seconds)."""
    stored_bytes: int = 16 * 1024 * 1024
    """A larger response is not stored (bytes)."""
    conversation_seconds: float = 100 * 86_400.0
    """How long a conversation can be added to: longer than the store keeps its beginning (seconds)."""
    beat_seconds: float = 1.0
    """How often the events of a response in the background are stored, and whether it was cancelled elsewhere is looked up (seconds)."""
    lost_seconds: float = 20.0
    """After so long without a sign of life, a response in the background counts as failed (seconds)."""
    cancel_seconds: float = 5.0
    """How long a request to cancel waits for the process that runs the response (seconds)."""

    # ---- upstreams
    failures: int = 5
    """Failures in a row after which an upstream is left alone for `open_seconds`."""
    open_seconds: float = 30.0
    """How long an upstream is left alone, and how long one request may probe it (seconds)."""
    cool_down_seconds: float = 3600.0
    """A longer Retry-After is shortened, so that a wrong header cannot disable an upstream (seconds)."""
    count_seconds: float = 5.0
    """How long a provider may take to count tokens; then an estimate is sent (seconds)."""

    # ---- what is reported
    explained_requests: int = 10_000
    """Requests that `/v1/explain` knows, the last ones of a process."""
    explained_decisions: int = 50
    """Decisions about parts of the history in `/v1/explain`."""
    explained_notes: int = 100
    """Notes in `/v1/explain`."""
    explained_rules: int = 20
    """Rules in `/v1/explain`."""
    explained_characters: int = 200
    """A text in `/v1/explain` (characters)."""
    journal_bytes: int = 1 << 20
    """Reports that the workers of a gateway share (bytes)."""
    label_values: int = 200
    """Values of one label in `/metrics`; further ones are counted together."""
    label_characters: int = 64
    """A label in `/metrics` (characters)."""
    name_characters: int = 200
    """The name of a model in an error (characters)."""
    nearest_names: int = 20
    """Names of models in an error."""
    view_seconds: int = 12 * 3600
    """How long a cookie of the viewer replaces a key (seconds)."""


LIMITS = Limits()
