"""Frames <-> canonical values: one folder a dialect."""
