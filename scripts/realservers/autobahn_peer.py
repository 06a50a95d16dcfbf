"""A client for Autobahn's fuzzing server, to compare times with: echoes what comes in every case.

    autobahn_peer.py websockets|aiohttp ws://127.0.0.1:9001
"""

import asyncio
import sys

AGENT = sys.argv[1]
LIMIT = 64 * 1024 * 1024


async def with_websockets(server):
    import websockets

    async with websockets.connect(f"{server}/getCaseCount") as socket:
        count = int(await socket.recv())
    for case in range(1, count + 1):
        try:
            async with websockets.connect(f"{server}/runCase?case={case}&agent={AGENT}", max_size=LIMIT) as socket:
                async for message in socket:
                    await socket.send(message)
        except websockets.exceptions.WebSocketException:
            # The server evaluates how the connection ended.
            pass
    async with websockets.connect(f"{server}/updateReports?agent={AGENT}") as socket:
        await socket.wait_closed()


async def with_aiohttp(server):
    import aiohttp

    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(f"{server}/getCaseCount") as socket:
            count = int((await socket.receive()).data)
        for case in range(1, count + 1):
            url = f"{server}/runCase?case={case}&agent={AGENT}"
            async with session.ws_connect(url, max_msg_size=LIMIT, compress=15) as socket:
                async for message in socket:
                    if message.type == aiohttp.WSMsgType.TEXT:
                        await socket.send_str(message.data)
                    elif message.type == aiohttp.WSMsgType.BINARY:
                        await socket.send_bytes(message.data)
        async with session.ws_connect(f"{server}/updateReports?agent={AGENT}") as socket:
            await socket.receive()


asyncio.run({"websockets": with_websockets, "aiohttp": with_aiohttp}[AGENT](sys.argv[2]))
