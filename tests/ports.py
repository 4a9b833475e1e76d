"""Ports for servers whose number has to be known before they listen."""

from __future__ import annotations

import random
import socket
from pathlib import Path

FIRST = 10_000
EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port(following: int = 0) -> int:
    """A port of 127.0.0.1 that nothing listens on, nor on the `following` ports after it.

    It lies below those that the system gives to outgoing connections, which could take it before the server
    listens.
    """
    last = int(EPHEMERAL.read_text(encoding="ascii").split()[0]) if EPHEMERAL.exists() else 32_768
    for _ in range(100):
        port = random.SystemRandom().randrange(FIRST, last - following)
        if all(_is_free(port + step) for step in range(following + 1)):
            return port
    raise AssertionError(f"no free port between {FIRST} and {last}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
