"""Files of any program that talked with models -> conversations: session files, captured traffic, logs, traces, batch files.

`open_source` in `sources/opening.py` finds out what a file is; each format has a module of its own, and a row in that module's `READER`.
"""
