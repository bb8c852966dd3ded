"""A service whose work for a request is set by work.py beside it: what the bisected history changes."""

import asyncio
import hashlib
import sys

import work

BODY = bytes(64 * 1024)


async def serve(reader, writer):
    try:
        while (head := await reader.readuntil(b"\r\n\r\n")):
            for _ in range(work.ROUNDS):
                digest = hashlib.sha256(BODY).hexdigest()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(digest), digest.encode()))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
