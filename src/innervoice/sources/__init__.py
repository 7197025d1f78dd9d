"""Files of any program that talked with models -> conversations: session files, captured traffic, logs, traces, batch files.

`open_source` in `sources/opening.py` detects the format of a file; each format has its own module, with a row `READER`.
"""
