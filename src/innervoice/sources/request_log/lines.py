"""Some lines of a request log: those that were added since the last look, and those that belong to one tenant.

Of the other tenants nothing is read, not even how many lines they have.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from innervoice.canon.jsontext import load_json
from innervoice.sources.reader import Data

__all__ = ["LogTail", "TenantData", "TenantLines"]

_REQUEST = re.compile(
    rb'\{"record":"request","id":"([^"\\]+)","at":([-+.0-9eE]+),"level":"[a-z]+","tenant":("(?:[^"\\]|\\.)*"),'
)
_LATER = re.compile(rb'\{"record":"(growth|end|moved)","id":"([^"\\]+)"(?:,"at":([-+.0-9eE]+))?')


class LogTail:
    """A file that grows, as far as it was read."""

    def __init__(self, status: os.stat_result) -> None:
        self._inode = status.st_ino
        self.position = 0

    def is_of(self, status: os.stat_result) -> bool:
        """Whether this is still the same file, and not another one with its name."""
        return status.st_ino == self._inode and status.st_size >= self.position

    def lines(self, path: Path) -> Iterator[bytes]:
        """The whole lines that were added; a line that is still being written comes later, and so do those that nobody takes."""
        with path.open("rb") as file:
            file.seek(self.position)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self.position += len(line)
                yield line


class TenantLines:
    """Decides line by line, in the order of the file, which ones belong to a tenant."""

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant
        self._open: set[bytes] = set()
        """The tenant's requests that have no end yet."""
        self.size = 0
        """The bytes of its lines."""
        self.at = 0.0
        """When the last of its requests began or ended."""

    def is_own(self, line: bytes) -> bool:
        """Whether a line is about a request of the tenant; a line without an end is nobody's yet."""
        if not line.endswith(b"\n"):
            return False
        if later := _LATER.match(line):
            is_own = later[2] in self._open
            if later[1] != b"growth":
                self._open.discard(later[2])
            at = later[3]
        else:
            # The members before the tenant are the gateway's own words, in the order in which it writes them. A line in any other form is nobody's.
            request = _REQUEST.match(line)
            is_own = request is not None and self._is_tenant(request[3])
            at = None
            if request is not None and is_own:
                self._open.add(request[1])
                at = request[2]
        if is_own:
            self.size += len(line)
            self.at = float(at) if at else self.at
        return is_own

    def _is_tenant(self, name: bytes) -> bool:
        try:
            return bool(load_json(name) == self._tenant)
        except ValueError:
            return False


class TenantData(Data):
    """A request log as if it had only the lines of one tenant: its size, its lines and their numbers are those alone."""

    def __init__(self, path: Path, tenant: str) -> None:
        super().__init__(path)
        self._tenant = tenant
        self._size: int | None = None

    @property
    def size(self) -> int:
        """The bytes of the tenant's lines, when they were last read."""
        if self._size is None:
            list(self.lines())
        return self._size or 0

    def lines(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """The tenant's lines, each with its position in the file; `start` is the beginning of a line."""
        own = TenantLines(self._tenant)
        for position, line in super().lines():
            if own.is_own(line) and position >= start:
                yield position, line
        self._size = own.size
