"""A tiny HTTP server that records requests and gives the answers that a test has laid out."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Recorded:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Answers:
    """(method, path) → answers in turn, the last one for ever. None drops the connection."""

    url: str = ""
    there: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    seen: list[Recorded] = field(default_factory=list)

    def to(self, method: str, path: str, *answers: Any) -> None:
        """Each answer is a value for JSON, a (status, value) or (status, value, headers), or None."""
        self.there[method, "/api/v1" + path] = list(answers)

    def calls(self, method: str = "") -> list[tuple[str, str]]:
        return [(each.method, each.path) for each in self.seen if method in ("", each.method)]

    def next(self, method: str, path: str) -> Any:
        waiting = self.there.get((method, path)) or self.there.get((method, path.partition("?")[0]))
        if not waiting:
            return 404, {"error": {"status": 404, "title": "Not found", "detail": f"no {path}"}}
        answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return answer


@contextmanager
def recording() -> Iterator[Answers]:
    answers = Answers()

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answers.seen.append(
                Recorded(self.command, self.path, dict(self.headers), json.loads(body) if body else None)
            )
            answer = answers.next(self.command, self.path)
            if answer is None:  # done, and the answer is lost
                self.close_connection = True
                return
            status, value, headers = 200, answer, {}
            if isinstance(answer, tuple):
                status, value, headers = (*answer, {})[:3]
            sent = b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = do_PATCH = do_DELETE = _any  # noqa: N815  # as the library calls them

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    answers.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield answers
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
