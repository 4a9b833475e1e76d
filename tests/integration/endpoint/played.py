"""Requests to a server that plays an OpenAI-compatible one, and its replies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from generators.sampling.filling import ModelGenerator

KEY = "sk-secret-0123456789abcdef"


class Asked(NamedTuple):
    """A request as it was received."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]


class Says(NamedTuple):
    """A reply of the server."""

    values: Any = None
    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({})
    raw: bytes | None = None
    slow: float = 0.0


def chat(text: str | None, finish: str = "stop", **more: Any) -> Says:
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **more}, "finish_reason": finish}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return Says(
        {"object": "chat.completion", "model": "tiny-2026-01-01", "choices": [choice], "usage": usage}
    )


def completion(text: str, finish: str = "stop") -> Says:
    choice = {"index": 0, "text": text, "finish_reason": finish}
    return Says({"object": "text_completion", "model": "tiny-2026-01-01", "choices": [choice]})


def error(status: int, message: str, code: str = "", **headers: str) -> Says:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Says({"error": {"message": message, "code": code}}, status, named)


def answers(*texts: str) -> Says:
    return chat(json.dumps(texts))


def good(asked: Asked) -> Says:
    """Fills every blank well: with a sentence that depends on the request's seed, and for a suffix with its
    last word."""
    if asked.path.endswith("/chat/completions"):
        count = len(re.findall(r"^\[+blank \d+\]+:", asked.body["messages"][1]["content"], re.MULTILINE))
        return answers(*(f"It was number {asked.body.get('seed')} of {n}." for n in range(count)))
    return completion(" Quillaby" if "Quillaby" in asked.body["suffix"] else " He met a friend.")


@dataclass
class PlayedServer:
    """`play` answers each request; `asked` has the requests."""

    url: str = ""
    play: Callable[[Asked], Says] = good
    asked: list[Asked] = field(default_factory=list)
    stop: Callable[[], None] = lambda: None

    @property
    def stories(self) -> list[Asked]:
        """The requests other than the trial."""
        return [asked for asked in self.asked if "Tom was very hungry" not in str(asked.body)]


Build = Callable[..., ModelGenerator]
