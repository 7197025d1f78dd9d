"""Histories and session files that other programs keep: read, and repaired in their own form."""
