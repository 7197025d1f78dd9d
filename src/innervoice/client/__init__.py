"""Clients that call models over HTTP, synchronous and asynchronous with the same methods.

    ask, stream ──► settings ──► exchange ──► http ──► exchange ──► events, Response
                               (pure: what is sent, what an outcome means, whether the request is sent again)

`sync.py` and `aio.py` only wait; `exchange.py` decides what they do. httpx2 is imported with the first request.
"""
