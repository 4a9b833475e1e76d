"""A proxy by which nothing reaches Amazon: calls of Mechanical Turk reach the marketplace.

A client asks for a tunnel to one of Mechanical Turk's names. The proxy ends the encryption itself and passes
every byte on to the marketplace, so that the signed Host header stays as it was. A tunnel to any other name
of Amazon is refused, and one to somebody else's is opened as asked.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader, StreamWriter
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from types import TracebackType
from urllib.parse import urlsplit

from humaneval.running.amazon.names import MTURK_BEFORE_2017, leads_to_market, may_be_amazons, plain

CHUNK = 65536
GOODBYE = 1.0
"""Seconds to wait for the other side's end of a connection."""
_HOP = (b"connection:", b"proxy-connection:", b"proxy-authorization:", b"keep-alive:")
"""Headers that are meant for the proxy."""


class AmazonProxy:
    """The proxy in a thread, on a free port of this machine, as long as the context lasts.

    `tell` gets a line for every host that was refused, once for each.
    """

    def __init__(self, market: str, server: ssl.SSLContext, tell: Callable[[str], None]) -> None:
        parts = urlsplit(market)
        self._market = (parts.hostname or "", parts.port or 80)
        self._ssl = server
        self._tell = tell
        self._told: set[str] = set()
        self._open: set[StreamWriter] = set()
        self._started: Future[int] = Future()
        self._thread = Thread(target=self._run, name="proxy", daemon=True)

    def __enter__(self) -> AmazonProxy:
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._started.result()}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._loop.set_exception_handler(lambda *_: None)  # a client that hangs up is no fault of ours
        try:
            server = await asyncio.start_server(self._client, "127.0.0.1", 0)
        except OSError as error:
            self._started.set_exception(error)
            return
        self._started.set_result(server.sockets[0].getsockname()[1])
        await self._stop.wait()
        server.close()
        for writer in self._open:  # at once: an encrypted connection waits for the other side's goodbye
            writer.transport.abort()
        await asyncio.sleep(0.01)  # the transports close in the loop, which asyncio.run then ends

    async def _client(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._open.add(writer)
        try:
            await self._request(reader, writer)
        except (OSError, IncompleteReadError, LimitOverrunError):
            pass  # the client is gone, or never spoke HTTP
        finally:
            await self._close(writer)

    async def _close(self, writer: StreamWriter) -> None:
        writer.close()
        try:
            await asyncio.wait_for(writer.wait_closed(), GOODBYE)
        except (OSError, TimeoutError):
            writer.transport.abort()
        self._open.discard(writer)

    async def _request(self, reader: StreamReader, writer: StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        target = rest.rpartition(" ")[0]
        tunnel = method == "CONNECT"
        try:
            parts = urlsplit(f"//{target}" if tunnel else target)
            host, port = plain(parts.hostname or ""), parts.port or (443 if tunnel else 80)
        except ValueError:
            host = ""
        if not host:
            await _refuse(writer, 400, "This is the proxy of market run. Open no page here.")
        elif leads_to_market(host):
            await self._to_market(reader, writer, host, None if tunnel else head)
        elif may_be_amazons(host):
            await self._refuse_amazon(writer, host)
        else:
            await self._to_others(reader, writer, host, port, None if tunnel else head)

    async def _to_market(
        self, reader: StreamReader, writer: StreamWriter, host: str, head: bytes | None
    ) -> None:
        if host in MTURK_BEFORE_2017:
            self._once(host, f"{host} is an address from before 2017. Calls of that time are not understood.")
        try:
            onward = await asyncio.open_connection(*self._market)
        except OSError as error:
            message = f"the marketplace does not answer: {error.strerror or error}"
            self._once("market", message)
            await _refuse(writer, 502, message)
            return
        self._open.add(onward[1])
        try:
            if head is not None:
                onward[1].write(_for_server(head))
                await _exchange((reader, writer), onward)
                return
            await _agree(writer)
            await writer.start_tls(self._ssl)
            broken = await _exchange((reader, writer), onward)
        except OSError as error:
            broken = error
        finally:
            await self._close(onward[1])
        if isinstance(broken, ssl.SSLError) and "ALERT" in (broken.reason or ""):
            self._once(
                f"{host} TLS",
                f"the program does not trust the certificate for {host}. It may have a list of authorities of"
                " its own: give it the file in $SSL_CERT_FILE.",
            )

    async def _refuse_amazon(self, writer: StreamWriter, host: str) -> None:
        region = host.startswith(("mturk-requester.", "mturk-requester-sandbox."))
        why = "Mechanical Turk is in us-east-1 only" if region else "nothing may reach Amazon"
        self._once(host, f"stopped a connection to {host}: {why}")
        await _refuse(writer, 403, f"market run stopped a connection to {host}: {why}")

    async def _to_others(
        self, reader: StreamReader, writer: StreamWriter, host: str, port: int, head: bytes | None
    ) -> None:
        try:
            onward = await asyncio.open_connection(host, port)
        except OSError as error:
            await _refuse(writer, 502, f"{host} cannot be reached: {error.strerror or error}")
            return
        self._open.add(onward[1])
        try:
            if head is None:
                await _agree(writer)
            else:
                onward[1].write(_for_server(head))
            await _exchange((reader, writer), onward)
        finally:
            await self._close(onward[1])

    def _once(self, about: str, message: str) -> None:
        if about not in self._told:
            self._told.add(about)
            self._tell(message)


def _for_server(head: bytes) -> bytes:
    """The head of a plain request as its server expects it: a path only, and one request a connection."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    method, target, version = first.split(b" ", 2)
    path = b"/" + target.split(b"://", 1)[-1].partition(b"/")[2]
    kept = [line for line in lines if not line.lower().startswith(_HOP)]
    return b"\r\n".join([b" ".join((method, path, version)), *kept, b"Connection: close", b"", b""])


async def _agree(writer: StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await writer.drain()


async def _refuse(writer: StreamWriter, status: int, message: str) -> None:
    """The reason stands in the first line as well: many clients show nothing else."""
    body = f"{message}\n".encode()
    head = (
        f"HTTP/1.1 {status} {message}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()


async def _exchange(
    client: tuple[StreamReader, StreamWriter], server: tuple[StreamReader, StreamWriter]
) -> OSError | None:
    """Pass bytes on in both directions until both are at their end. Returns what broke the client's."""
    try:
        there, _ = await asyncio.gather(_pass_on(client[0], server[1]), _pass_on(server[0], client[1]))
        return there
    finally:
        server[1].close()


async def _pass_on(source: StreamReader, target: StreamWriter) -> OSError | None:
    try:
        while data := await source.read(CHUNK):
            target.write(data)
            await target.drain()
    except OSError as error:
        target.close()
        return error
    if target.can_write_eof():
        target.write_eof()
    else:
        target.close()
    return None
