"""innervoice with aiohttp as its HTTP client, for concurrent streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import innervoice as iv
from contenders import CROWD, QUESTION, Job, Jobs, Said
from contenders.innervoice import MODELS, of_response
from innervoice.client.over_aiohttp import OverAiohttp
from payloads import MAKERS


def jobs(base: str) -> Jobs:
    """Streams alone."""
    return streams(base, OverAiohttp)


def streams(base: str, new_http: Callable[[], Any]) -> Jobs:
    """Concurrent streams over an HTTP client."""
    return {("streams", name): _job(base, name, new_http()) for name in MAKERS}


def _job(base: str, name: str, http: Any) -> Job:
    model = MODELS[name]
    provider = model.split("/", maxsplit=1)[0]
    crowd = iv.AsyncClient(base_url=f"{base}/{name}{CROWD}", keys={provider: "k"}, http=http)

    async def one_of_many() -> Said:
        async with crowd.stream(model, QUESTION) as events:
            async for _ in events:
                pass
            return of_response(events.response)

    return one_of_many
