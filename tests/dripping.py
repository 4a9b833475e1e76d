"""A server whose replies come a byte at a time, and never to an end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

START = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
OFTEN = 0.05
"""Seconds between two bytes: much less than any timeout."""


@contextmanager
def dripping(start: bytes = START) -> Iterator[str]:
    """Its address. It sends `start` at once; without it, the head of the reply drips as well."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.sendall(start)
                while not done.wait(OFTEN):
                    connection.sendall(b"H")

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=drip, args=[listening.accept()[0]], daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            done.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
