"""Asking models over HTTP, sync and async with the same verbs.

    ask, stream ──► settings ──► exchange ──► http ──► exchange ──► events, Response
                               (pure: what is sent, what an outcome means, whether it is tried again)

`sync.py` and `aio.py` hold nothing but waiting; all they do is decided in `exchange.py`. httpx2 is loaded with the first request.
"""
