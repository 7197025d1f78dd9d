"""Bytes -> frames, without meaning: server-sent events, JSON lines, AWS event streams."""
