"""Readers of the histories and session files that other programs keep."""
