"""The browser of simulated annotators: a connection for each server, and redirects as people follow them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from flask import Flask, redirect, request
from werkzeug.wrappers import Response

from humaneval.errors import PlatformError
from humaneval.serving import Servers, listen
from humaneval.simulated.browser import Browser


@contextmanager
def served(port: int = 0) -> Iterator[str]:
    """A server that says through which connection each page was asked for, and with which cookie."""
    app = Flask(__name__)

    @app.route("/", methods=["GET", "POST"])
    def page() -> str:
        told = f"{request.environ['REMOTE_PORT']} {request.method} {request.cookies.get('who', 'nobody')}"
        return f"<p>{told}</p><form method=post action=/moved><input name=a></form>"

    @app.post("/moved")
    def moved() -> Response:
        answer = redirect("/", 303)
        answer.set_cookie("who", "somebody")
        return answer

    @app.get("/away")
    def away() -> Response:
        return redirect("http://127.0.0.1:1/x", 303)

    listening, servers = listen("127.0.0.1", port, "the test"), Servers()
    servers.add(app, listening, threads=2, most_bytes=10_000)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    thread = threading.Thread(target=servers.run)
    thread.start()
    try:
        yield address
    finally:
        servers.stop()
        thread.join()


def told(html: str) -> list[str]:
    return html.partition("<p>")[2].partition("</p>")[0].split()


def test_a_person_keeps_a_connection_and_opens_another_if_the_server_has_closed_it() -> None:
    browser = Browser()
    with served() as address:
        first = browser.get(f"{address}/")
        second = browser.submit(first, first.forms[0], {"a": "1"})
        assert told(second.html) == [told(first.html)[0], "GET", "somebody"]
        assert second.url == f"{address}/"
        assert browser.get(f"{address}/away").leads_to == "http://127.0.0.1:1/x"
    with served(int(address.rpartition(":")[2])):
        assert told(browser.get(f"{address}/").html)[0] != told(first.html)[0]
    with pytest.raises(PlatformError, match="cannot be reached"):
        browser.get(f"{address}/")
