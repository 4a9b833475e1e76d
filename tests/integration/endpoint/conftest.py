"""A real HTTP server that plays an OpenAI-compatible one, well or badly, and generators that ask it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from generators.endpoint.generator import build_chat, build_completions
from generators.sampling.filling import ModelGenerator
from humaneval.domain import GeneratorRequest
from tests.integration.endpoint.played import KEY, Asked, Build, PlayedServer


@pytest.fixture
def server() -> Iterator[PlayedServer]:
    played = PlayedServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked = Asked(self.path, body, dict(self.headers))
            played.asked.append(asked)
            says = played.play(asked)
            time.sleep(says.slow)
            data = says.raw if says.raw is not None else json.dumps(says.values).encode()
            try:
                self.send_response(says.status)
                for name, value in says.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):
                pass

        def log_message(self, format: str, *args: Any) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    played.url = f"http://127.0.0.1:{httpd.server_port}/v1"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()

    def stop() -> None:
        httpd.shutdown()
        thread.join()
        httpd.server_close()

    played.stop = stop
    yield played
    if thread.is_alive():
        stop()


@pytest.fixture
def build(server: PlayedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """A generator of the server's model, with a key in the environment; options by name."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def make(kind: str = "chat", seed: int = 0, **options: str) -> ModelGenerator:
        chosen = {
            "url": server.url,
            "model": "tiny",
            "retries": "0",
            "cache": str(tmp_path / "kept"),
            **options,
        }
        builder = {"chat": build_chat, "completions": build_completions}[kind]
        (generator,) = builder(GeneratorRequest(kind, seed=seed, options=chosen))
        assert isinstance(generator, ModelGenerator)
        return generator

    return make
