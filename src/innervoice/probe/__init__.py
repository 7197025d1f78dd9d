"""Measures what a model does with reasoning, and compares it with the catalog.

    facts.toml ──► run.Run ──► looks ──► session.Session ──► recipes (a request) ──► exchanges (a server, a recording, the emulator)

Each row of `facts.toml` is one fact: which requests are sent, and what to look for in the answers. The same look at the emulator, which
does what the catalog says, gives what the catalog expects.
"""
