"""Python's aiohttp with the command line of C/limit.c. It speaks HTTP/1.1 only."""

import asyncio
import os
import sys
from functools import partial

import aiohttp

from measuring import Options, Tally, raise_descriptor_limit, worker


async def once(session, options, url):
    headers = {"Connection": "close"} if options.closes else None
    if options.mode == "upload":
        size = os.path.getsize(options.file)
        with open(options.file, "rb") as file:
            async with session.put(url, data=file, headers=headers) as response:
                response.raise_for_status()
                await response.read()
        return size
    count = 0
    async with session.get(url, headers=headers) as response:
        response.raise_for_status()
        if options.mode == "json":
            return len(await response.json())
        if options.mode != "download":
            return len(await response.read())
        async for chunk in response.content.iter_any():
            count += len(chunk)
    return count


async def main():
    options = Options(sys.argv)
    if options.http2:
        sys.exit("aiohttp has no HTTP/2")
    raise_descriptor_limit()
    tally = Tally(options)
    connector = aiohttp.TCPConnector(limit=options.in_flight, force_close=options.closes)
    timeout = aiohttp.ClientTimeout(total=None, connect=60)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=True) as session:
        await asyncio.gather(*(worker(tally, partial(once, session, options)) for _ in range(options.in_flight)))
    tally.report("aiohttp")


asyncio.run(main())
