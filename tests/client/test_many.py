"""Many streams at once, in one process and through real sockets."""

import asyncio
import gc
import tracemalloc

import innervoice as iv
from innervoice.testing import EmulatorServer

STREAMS = 256


async def wave(client, count):
    async def one(number):
        async with client.stream("deepseek/deepseek-v4-pro", f"What is {number} * 3?") as events:
            return [event async for event in events][-1].response.text

    return await asyncio.gather(*map(one, range(count)))


async def held():
    """The bytes in use once the server's thread has closed what a wave left."""
    sizes = []
    for _ in range(10):
        await asyncio.sleep(0.05)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    return min(sizes)


def test_256_streams_finish_and_memory_stays_flat():
    async def main(server):
        slow = {"x-innervoice-emulate": "slow=0.001, size=60"}
        async with iv.AsyncClient(base_urls=server.base_url, api_key="any", headers=slow) as client:
            sizes = []
            tracemalloc.start()
            for _ in range(5):  # the first wave opens the connections that the others use again
                texts = await wave(client, STREAMS)
                sizes.append(await held())
            tracemalloc.stop()
            return texts, min(sizes[3:]) - min(sizes[1:3])

    with EmulatorServer() as server:
        texts, grown = asyncio.run(main(server))
    assert [f"{number} * 3 = {number * 3}." for number in range(STREAMS)] == texts
    # A stream that stayed alive would keep its parts, its decoder and its connection: tens of kilobytes each.
    assert grown < STREAMS * 4_000
