"""Python's httpx with the command line of C/limit.c, over HTTP/1.1."""

import asyncio
import os
import sys
from functools import partial

import httpx

from measuring import Options, Tally, raise_descriptor_limit, worker


async def once(client, options, url):
    headers = {"Connection": "close"} if options.closes else None
    if options.mode == "upload":
        size = os.path.getsize(options.file)
        (await client.put(url, content=pieces(options.file), headers=headers)).raise_for_status()
        return size
    if options.mode != "download":
        response = await client.get(url, headers=headers)
        response.raise_for_status()
        return len(response.json() if options.mode == "json" else response.content)
    count = 0
    async with client.stream("GET", url, headers=headers) as response:
        response.raise_for_status()
        async for chunk in response.aiter_bytes():
            count += len(chunk)
    return count


async def pieces(path):
    with open(path, "rb") as file:
        while piece := file.read(1 << 16):
            yield piece


async def main():
    options = Options(sys.argv)
    if options.http2:
        sys.exit("httpx is measured without HTTP/2, for which it needs another package")
    raise_descriptor_limit()
    tally = Tally(options)
    limits = httpx.Limits(max_connections=options.in_flight, max_keepalive_connections=options.in_flight)
    # TLS is verified against the system's bundle, as by the others.
    verify = "/etc/ssl/certs/ca-certificates.crt" if options.url.startswith("https:") else True
    timeout = httpx.Timeout(None, connect=60)
    async with httpx.AsyncClient(limits=limits, verify=verify, timeout=timeout, trust_env=False) as client:
        await asyncio.gather(*(worker(tally, partial(once, client, options)) for _ in range(options.in_flight)))
    tally.report("httpx")


asyncio.run(main())
