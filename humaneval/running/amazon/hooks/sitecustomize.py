# mypy: ignore-errors
"""Loaded by every Python of a program under `market run`: it stops connections that go past the proxy.

It has no types, because Python 2 reads it, too. Before 3.8 there are no audit hooks, and it does nothing.
"""

import importlib.machinery
import importlib.util
import os
import sys

_told = set()


def _host_of(event, args):
    """The host that a program is about to look up or to call, if this event is one of those."""
    host = None
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = args[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(args[1], tuple):
        host = args[1][0]
    if isinstance(host, bytes):
        host = host.decode("latin-1")
    return host.rstrip(".").lower() if isinstance(host, str) else ""


def _stop_amazon(domains):
    def hook(event, args):
        host = _host_of(event, args) if event.startswith("socket.") else ""
        if not any(host == domain or host.endswith("." + domain) for domain in domains):
            return
        message = "market run: stopped a connection past the proxy to " + host + ": nothing may reach Amazon"
        if host not in _told:
            _told.add(host)
            sys.stderr.write(message + "\n")
        raise ConnectionRefusedError(message)

    sys.addaudithook(hook)


def _load_hidden():
    """Load the sitecustomize that this one hides, if there is one."""
    here = os.path.dirname(os.path.abspath(__file__))
    others = [folder for folder in sys.path if os.path.abspath(folder) != here]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if found is not None and found.loader is not None:
        found.loader.exec_module(importlib.util.module_from_spec(found))


if hasattr(sys, "addaudithook"):
    _stop_amazon(os.environ.get("MARKET_RUN_AMAZON", "").split())
_load_hidden()
