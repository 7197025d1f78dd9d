"""What an API says when it refuses a request."""

from __future__ import annotations

from innervoice.canon.rows import Host, ModelRow
from innervoice.canon.value import Value

__all__ = ["Refusal", "Target"]


class Refusal(Value, frozen=True, kw_only=True):
    """A refusal in an API's own words."""

    text: str
    status: int = 400
    type: str | None = None
    """The provider's word for the kind of error; None: the usual one of the dialect for the status."""
    code: str | int | None = None
    param: str | None = None


class Target(Value, frozen=True, kw_only=True):
    """Who is asked: what a rule must know beside the body."""

    model: str
    row: ModelRow
    host: Host | None = None
    headers: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it for each target
    """Headers of the request, with their names in lower case."""

    @property
    def provider(self) -> str:
        """The host's id, or nothing."""
        return self.host.id if self.host else ""
