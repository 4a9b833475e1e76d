"""Where answers come from: the cache, else the server; the cache then keeps them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generators.endpoint.budget import Budget
from generators.endpoint.cache import Cache, Tokens
from generators.endpoint.client import REFUSALS, Client, Pace, Reply
from generators.endpoint.options import EndpointOptions
from generators.sampling.replies import usage_of
from humaneval.errors import InputError


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of one model at one server. Thread-safe."""

    options: EndpointOptions
    seed: int
    client: Client
    cache: Cache
    budget: Budget

    @property
    def endpoint(self) -> str:
        """The server's address."""
        return str(self.client.url)

    def ask(
        self, path: str, body: Mapping[str, Any], key: str, accepted: Collection[int] = REFUSALS
    ) -> Reply:
        """The reply to a request. `key` names the draw: another key gives another answer.

        Raises InputError if the server does not answer, if the ceiling is reached, or offline if the cache
        has no answer.
        """
        request = {**body, "model": self.options.model}
        if self.options.send_seed:
            request["seed"] = _number(f"{self.seed} {key}")
        place = _digest([self.endpoint, path, request, self.seed, key])
        kept = self.cache.get(place)
        if kept is not None:
            return Reply(*kept)
        if self.options.offline:
            raise InputError(
                f"offline, and the cache {self.options.cache} has no answer of {self.options.model} to this",
                "Run the command with a network first, with the same cache; earlier answers are kept.",
            )
        with self.budget.room_for(request) as most:
            reply = self.client.post(path, request, accepted)
            # A refusal is kept only if the text is the reason: another reason may pass.
            if reply.status == 200 or reply.refuses_text or accepted is not REFUSALS:
                self.cache.put(place, reply, self.endpoint, self.options.model, _paid(reply, most))
        return reply


def open_answers(options: EndpointOptions, seed: int) -> Answers:
    """The answers of the model that the options name. No request is made yet."""
    cache = Cache(Path(options.cache).expanduser())
    client = Client(options.address(), options.key(), options, Pace(options.per_minute))
    return Answers(options, seed, client, cache, Budget(options, str(client.url), cache))


def _paid(reply: Reply, most: Tokens) -> Tokens:
    """What a reply cost; the most that it can have cost if the server does not count. Refusals are free."""
    if reply.status != 200:
        return Tokens(0, 0)
    read, written = usage_of(reply.values, "prompt_tokens"), usage_of(reply.values, "completion_tokens")
    return Tokens(most.read if read is None else read, most.written if written is None else written)


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _number(text: str) -> int:
    """A seed of 31 bits, which every server accepts."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:4]) >> 1
