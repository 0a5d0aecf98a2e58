"""A TCP proxy that takes its time: `python -m tests.hosting.proxy DELAY_S TARGET_PORT PORT ADDRESS...`."""

import asyncio
import sys


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    """Every byte arrives `delay_s` after it was read, whatever came before it."""
    loop = asyncio.get_running_loop()
    try:
        while data := await reader.read(1 << 16):
            loop.call_later(delay_s, writer.write, data)
    except OSError:
        pass
    loop.call_later(delay_s, writer.close)


async def serve(delay_s: float, target_port: int, port: int, addresses: list[str]) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", target_port)
        await asyncio.gather(pass_on(reader, far_writer, delay_s), pass_on(far_reader, writer, delay_s))

    server = await asyncio.start_server(connected, addresses, port)
    print("up", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
