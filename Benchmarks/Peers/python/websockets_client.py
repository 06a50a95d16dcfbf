"""The echo of C/websocket.c by Python's websockets, with its C extension and without compression."""

import asyncio
import json
import sys
import time

import websockets
import websockets.speedups  # where it is missing this is no comparison
from measuring import cpu_seconds, raise_descriptor_limit, status
from websockets.asyncio.client import connect


async def echo(url, size, window, seconds, warm_up):
    payload = b"x" * size
    async with connect(url, compression=None, max_size=None, ping_interval=None, proxy=None) as socket:
        for _ in range(window):
            await socket.send(payload)
        received = counted_from = 0
        began, cpu = time.monotonic(), cpu_seconds()
        count_at = began + warm_up
        stop_at, is_warm = count_at + seconds, False
        async for message in socket:
            received += 1
            now = time.monotonic()
            if now >= stop_at:
                break
            if not is_warm and now >= count_at:
                is_warm, began, cpu, counted_from = True, now, cpu_seconds(), received
            await socket.send(message)
        return {"client": "websockets", "requests": received - counted_from, "failures": 0, "seconds": now - began,
                "cpu": cpu_seconds() - cpu, "bytes": (received - counted_from) * size, "rss_peak_kb": status("VmHWM")}


async def idle(url, count):
    sockets = [await connect(url, compression=None, ping_interval=None, proxy=None)]
    before = status("VmRSS")
    readers = []
    for _ in range(count):
        sockets.append(await connect(url, compression=None, ping_interval=None, proxy=None))
        readers.append(asyncio.ensure_future(sockets[-1].recv()))
    await asyncio.sleep(0)
    held = status("VmRSS") - before
    for reader in readers:
        reader.cancel()
    return {"client": "websockets", "requests": count, "failures": 0, "held_kb": held}


def main():
    raise_descriptor_limit()
    mode, url = sys.argv[1:3]
    given = dict(argument.split("=", 1) for argument in sys.argv[3:])
    url = url.replace("http://", "ws://", 1)
    if mode == "idle":
        found = asyncio.run(idle(url, int(given.get("count", 1000))))
    else:
        found = asyncio.run(echo(url, int(given.get("size", 32)), int(given.get("window", 1)),
                                 float(given.get("seconds", 2)), float(given.get("warm-up", 0.3))))
    print(json.dumps(found | {"version": websockets.__version__}))


main()
