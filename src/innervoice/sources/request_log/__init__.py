"""Our own log of requests: written by the gateway and the emulator, read by the viewer."""

from __future__ import annotations

from innervoice.sources.request_log.lines import LogTail, TenantData, TenantLines
from innervoice.sources.request_log.read import READER

__all__ = ["READER", "LogTail", "TenantData", "TenantLines"]
