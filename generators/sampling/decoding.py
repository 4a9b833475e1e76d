"""Draws the tokens that a language model writes: in batches, with a cache. Each row has its own random
numbers and its own end.

What a row gets does not depend on the other rows or their order. Its random numbers come from (seed, row
key), and its positions are counted from its own first token.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from generators.checkpoints.weights import positions
from generators.sampling.choosing import Sampling, choose
from generators.sampling.stepping import steps

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import PreTrainedModel

Stop = Callable[[Sequence[int]], bool]
"""Whether an answer is finished, given the ids that were drawn for it so far."""
Count = Callable[[Sequence[int]], int]
"""The number of words that ids make."""
Barred = tuple[bool, bool, bool]
"""Whether a row may not draw a line end (its answer may have none), nor an end (it has too few words), nor a
token that continues a word (its forced beginning is written, and nothing else yet)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The constraints of an answer."""

    forced: tuple[int, ...] = ()
    """The ids that it begins with."""
    lines: bool = False
    """Whether it may contain line ends."""
    least: int = 0
    """The fewest words it may have."""
    most: int = 0
    """The most words it may have; 0: no limit."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The ids that a row starts from, the key of its random numbers, and the answers to draw one after
    another."""

    ids: Sequence[int]
    key: str
    answers: tuple[Answer, ...] = (Answer(),)


@dataclass(slots=True)
class Written:
    """An answer: its ids without the end token, and the natural logarithm of the probability of each, among
    the tokens that may be drawn. For a forced id it is 0."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ended: bool = False
    """Whether the end token or the stop rule ended it, not its length."""
    held: bool = False
    """Whether it was ended at its most words."""


def uniforms(seed: int, key: str, count: int) -> NDArray[np.float64]:
    """The random numbers of one row."""
    digest = hashlib.sha256(f"{seed} {key}".encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16]))).random(count)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for all rows of a model."""

    ends: tuple[int, ...]
    """The ids that end an answer; the first is put after an answer that is cut off."""
    forbidden: tuple[int, ...] = ()
    continuing: tuple[int, ...] = ()
    """The ids that continue a word: not drawn right after the forced beginning of an answer."""
    line_ends: tuple[int, ...] = ()
    """The ids that only answers with line ends may have."""
    stop: Stop | None = None
    count: Count = len


def draw(
    model: PreTrainedModel, prompts: Sequence[Prompt], rules: Rules, sampling: Sampling, seed: int
) -> list[list[Written]]:
    """Draw the answers to all prompts in one batch. A row that reaches the longest text that the model can
    read has fewer answers, or a last answer that is not ended."""
    import torch

    if not prompts:
        return []
    rows = [_Row(number, prompt, rules, sampling.longest) for number, prompt in enumerate(prompts)]
    most = positions(model)
    room = [min(most - len(prompt.ids), len(prompt.answers) * (sampling.longest + 1)) for prompt in prompts]
    chance = torch.tensor(
        np.array([uniforms(seed, prompt.key, max(*room, 1)) for prompt in prompts]), device=model.device
    )
    limits = _Limits(rules, model.device)
    active = [row for row in rows if room[row.number] > 0]
    if not active:
        return [row.written for row in rows]
    with torch.inference_mode():
        run = steps(model, [row.prompt.ids for row in active], max(room))
        chance = chance[[row.number for row in active]]
        logits = run.read()
        for step in range(max(room)):
            limits.apply(logits, active)
            chosen = choose(logits.float(), sampling, chance.select(1, step))
            drawn = zip(active, chosen.tokens, chosen.logprobs, strict=True)
            fed = [row.take(token, logprob) for row, token, logprob in drawn]
            going = [at for at, row in enumerate(active) if not row.finished and step + 1 < room[row.number]]
            if not going:
                break
            if len(going) < len(active) and len(going) <= run.patience * len(active):
                order = _moved_up(going)
                kept = torch.tensor(order, device=model.device)
                run.keep(kept)
                active, fed, chance = [active[at] for at in order], [fed[at] for at in order], chance[kept]
            logits = run.feed(fed)
    return [row.written for row in rows]


def _moved_up(going: Sequence[int]) -> list[int]:
    """The rows that continue, the last of them in the places of those that do not: few have to move.

    >>> _moved_up([0, 2, 3])
    [0, 3, 2]
    """
    late = (at for at in reversed(going) if at >= len(going))
    staying = set(going)
    return [at if at in staying else next(late) for at in range(len(going))]


class _Row:
    """A row in progress, and the answer that it is at."""

    def __init__(self, number: int, prompt: Prompt, rules: Rules, longest: int) -> None:
        self.number, self.prompt, self.rules, self.longest = number, prompt, rules, longest
        self.written = [Written()]
        self.finished = False

    @property
    def answer(self) -> Answer:
        return self.prompt.answers[len(self.written) - 1]

    @property
    def barred(self) -> Barred:
        answer, ids = self.answer, self.written[-1].ids
        at_beginning = 0 < len(answer.forced) == len(ids)
        return not answer.lines, 0 < answer.least > self.rules.count(ids), at_beginning

    def take(self, token: int, logprob: float) -> int:
        """Write a drawn token, or the one that replaces it; returns the id that the model reads next."""
        if self.finished:
            return token
        now, answer, rules = self.written[-1], self.answer, self.rules
        at = len(now.ids)
        if at < len(answer.forced):
            token, logprob = answer.forced[at], 0.0
        elif token in rules.ends:
            now.ended = True
        elif answer.most and rules.count([*now.ids, token]) > answer.most:
            now.held, token = True, rules.ends[0]
        elif at >= self.longest:
            token = rules.ends[0]
        if token in rules.ends and at >= len(answer.forced):
            if now.ended:
                now.logprobs.append(logprob)
            self._next()
            return token
        now.ids.append(token)
        now.logprobs.append(logprob)
        if rules.stop is not None and rules.stop(now.ids):
            now.ended = self.finished = True
        return token

    def _next(self) -> None:
        if len(self.written) < len(self.prompt.answers):
            self.written.append(Written())
        else:
            self.finished = True


class _Limits:
    """Changes logits so that what is not allowed is not drawn."""

    def __init__(self, rules: Rules, device: torch.device) -> None:
        self.rules, self.device = rules, device
        self.banned: dict[Barred, Tensor] = {}

    def apply(self, logits: Tensor, rows: Sequence[_Row]) -> None:
        """Set the logits of the tokens that a row may not draw to minus infinity."""
        import torch

        groups: dict[Barred, list[int]] = {}
        for at, row in enumerate(rows):
            groups.setdefault(row.barred, []).append(at)
        for barred, members in groups.items():
            banned = self._banned(barred)
            if len(groups) == 1:
                logits.index_fill_(-1, banned, float("-inf"))
            else:
                which = torch.tensor(members, device=self.device)
                logits[which[:, None], banned] = float("-inf")

    def _banned(self, barred: Barred) -> Tensor:
        import torch

        if barred not in self.banned:
            rules = self.rules
            parts = zip(barred, (rules.line_ends, rules.ends, rules.continuing), strict=True)
            ids = {*rules.forbidden, *(one for is_barred, part in parts if is_barred for one in part)}
            self.banned[barred] = torch.tensor(sorted(ids), dtype=torch.long, device=self.device)
        return self.banned[barred]
