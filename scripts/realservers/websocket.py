"""A WebSocket server on loopback (Python's websockets), plain and over TLS.

    websocket.py PORT TLS_PORT CERTIFICATE KEY

`/socket/echo` sends back what comes, `/socket/fields` the fields of the handshake, `/socket/close` closes with another code.
"""

import asyncio
import ssl
import sys

import websockets

LIMIT = 64 * 1024 * 1024


async def converse(socket):
    path = socket.path.partition("?")[0]
    if path.endswith("/fields"):
        await socket.send("".join(f"{name.lower()}={value}\n" for name, value in socket.request_headers.raw_items()))
    elif path.endswith("/close"):
        await socket.close(4001, "enough")
    else:
        async for message in socket:
            await socket.send(message)


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    options = {"subprotocols": ["chat"], "max_size": LIMIT}
    async with websockets.serve(converse, "127.0.0.1", int(sys.argv[1]), **options):
        async with websockets.serve(converse, "127.0.0.1", int(sys.argv[2]), ssl=context, **options):
            await asyncio.Future()


asyncio.run(main())
