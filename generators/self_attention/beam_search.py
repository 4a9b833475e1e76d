"""Writes answers by beam search (one beam is greedy) or by drawing: all texts of a batch at once, with a
cache.

Scores are sums of log-probabilities, without a length penalty. Longer answers only score lower. So a text is
done when an ended answer scores at least as high as all open ones; its rows then leave the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from generators.sampling.choosing import refuse_nan
from generators.sampling.decoding import uniforms
from generators.self_attention.model import Cache, Memory, SelfAttention
from generators.self_attention.template import Template, padded
from generators.self_attention.vocabulary import BOA, EOA, UNWRITTEN


class Answer(NamedTuple):
    """What was written: ids without <EOA>, whether <EOA> was reached, and the log-probability."""

    ids: tuple[int, ...]
    ended: bool
    logprob: float


@dataclass(frozen=True, slots=True)
class Chance:
    """How to draw: the usual nucleus, with random numbers for each text by seed and key."""

    temperature: float
    top_p: float
    seed: int
    keys: Sequence[str]


def write(
    model: SelfAttention,
    templates: Sequence[Template],
    beginnings: Sequence[Sequence[int]],
    *,
    beams: int,
    longest: int,
    chance: Chance | None = None,
) -> list[Answer]:
    """An answer to the first blank of each template, beginning with the given ids; `longest`: the most words,
    <EOA> included.

    With `chance` it is drawn, and `beams` must be 1. Log-probabilities are among the words that may be
    written.
    """
    if not templates:
        return []
    numbers = None
    if chance is not None:
        numbers = torch.tensor(np.array([uniforms(chance.seed, key, longest) for key in chance.keys]))
    with torch.inference_mode():
        batch = _begin(model, templates, beams)
        for step in range(longest):
            read = model(batch.words, batch.memory, batch.cache, start=step)
            logs = _logs(model.logits(read.states[:, -1]).float().view(len(batch.here), beams, -1))
            _force(logs, [beginnings[at][step : step + 1] for at in batch.here])
            total = (batch.scores.unsqueeze(-1) + logs).flatten(1)
            if chance is None or numbers is None:
                found = total.topk(2 * beams).indices
            else:
                found = _drawn(logs[:, 0], chance, numbers[batch.here, step])
            batch.write(found, total, logs.shape[-1])
            if not batch.leave(read.cache):
                break
        return batch.answers()


@dataclass(slots=True)
class _Beams:
    """The texts that are not finished, one row each, with their beams, the best first."""

    here: list[int]
    """The number of each row's text."""
    memory: Memory
    words: Tensor
    """(rows · beams, 1) the words to read next."""
    scores: Tensor
    """(rows, beams)."""
    written: Tensor
    """(rows, beams, words so far)."""
    best: list[Answer | None]
    """The best ended answer of every text."""
    came_from: Tensor
    """(rows, beams) the beam of the step before that each one continues."""
    cache: Cache | None = None

    def write(self, found: Tensor, total: Tensor, vocabulary: int) -> None:
        """Write the words at the indices `found` among the (rows, beams · vocabulary) scores `total`."""
        beams, step = self.scores.shape[1], self.written.shape[2]
        top, beam, word = total.gather(1, found), found // vocabulary, found % vocabulary
        ended = word == EOA
        # An end counts only among the best ones, of as many as there are beams: so one beam is greedy.
        for row, place in (ended[:, :beams] & top[:, :beams].isfinite()).nonzero().tolist():
            ids = self.written[row, beam[row, place]].tolist()
            answer = Answer(tuple(ids), True, float(top[row, place]))
            self.best[self.here[row]] = max(self.best[self.here[row]] or answer, answer, key=_logprob)
        self.scores, places = top.masked_fill(ended, float("-inf")).topk(beams)
        self.came_from, word = beam.gather(1, places), word.gather(1, places)
        kept = self.written.gather(1, self.came_from.unsqueeze(-1).expand(-1, -1, step))
        self.written = torch.cat([kept, word.unsqueeze(-1)], dim=-1)

    def leave(self, cache: Cache) -> bool:
        """Let the texts that are done leave the batch; whether any are left."""
        beams, device = self.scores.shape[1], self.scores.device
        rows = [
            row for row, at in enumerate(self.here) if _goes_on(self.best[at], float(self.scores[row, 0]))
        ]
        if not rows:
            return False
        left = torch.tensor(rows, device=device)
        flat = left.unsqueeze(1) * beams
        if len(rows) < len(self.here):
            self.memory = self.memory.rows((flat + torch.arange(beams, device=device)).flatten())
            self.here = [self.here[row] for row in rows]
        self.cache = cache.rows((flat + self.came_from[left]).flatten())
        self.scores, self.written = self.scores[left], self.written[left]
        self.words = self.written[:, :, -1].reshape(-1, 1)
        return True

    def answers(self) -> list[Answer]:
        """The best answer of every text; what has not ended is cut."""
        for row, at in enumerate(self.here):
            if self.best[at] is None:
                self.best[at] = Answer(
                    tuple(self.written[row, 0].tolist()), False, float(self.scores[row, 0])
                )
        return [answer for answer in self.best if answer is not None]


def _begin(model: SelfAttention, templates: Sequence[Template], beams: int) -> _Beams:
    """All texts, with nothing written: the first beam alone counts."""
    device, count = model.device, len(templates)
    ids, positions = (
        torch.from_numpy(padded(rows)).to(device)
        for rows in ([one.ids for one in templates], [one.positions for one in templates])
    )
    rows = torch.arange(count, device=device).repeat_interleave(beams)
    scores = torch.full((count, beams), float("-inf"), device=device)
    scores[:, 0] = 0
    return _Beams(
        here=list(range(count)),
        memory=model.remember(ids, positions).rows(rows),
        words=torch.full((count * beams, 1), BOA, device=device),
        scores=scores,
        written=torch.zeros((count, beams, 0), dtype=torch.long, device=device),
        best=[None] * count,
        came_from=torch.zeros((count, beams), dtype=torch.long, device=device),
    )


def _logprob(answer: Answer) -> float:
    return answer.logprob


def _goes_on(best: Answer | None, score: float) -> bool:
    return best is None or best.logprob < score


def _logs(logits: Tensor) -> Tensor:
    """Log-probabilities among the words that may be written."""
    logits[..., list(UNWRITTEN)] = float("-inf")
    logs = logits.log_softmax(-1)
    refuse_nan(logs)
    return logs


def _force(logs: Tensor, wanted: Sequence[Sequence[int]]) -> None:
    """Allow only the wanted id in rows that have one."""
    for row, ids in enumerate(wanted):
        for id in ids:
            logs[row] = float("-inf")
            logs[row, :, id] = 0


def _drawn(logs: Tensor, chance: Chance, numbers: Tensor) -> Tensor:
    """One id for each row, (rows, 1): the first at which the cumulative probability in the nucleus reaches
    the row's number."""
    shares, order = (logs / chance.temperature).softmax(-1).sort(dim=-1, descending=True, stable=True)
    inside = shares.cumsum(-1) - shares < chance.top_p
    inside[:, 0] = True
    mass = shares.where(inside, 0).cumsum(-1)
    passed = mass >= numbers.to(mass).unsqueeze(-1) * mass[:, -1:]
    return order.gather(-1, passed.int().argmax(-1, keepdim=True))
