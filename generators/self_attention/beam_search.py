"""Writes answers: by beam search, of which one beam is greedy, or by drawing; all texts of a batch at once,
with a cache.

Scores are sums of log-probabilities, without a length penalty. A text is done when an ended answer scores at
least as high as everything that goes on, for longer answers only score lower; its rows then leave the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from generators.sampling.decoding import uniforms
from generators.self_attention.model import Cache, SelfAttention
from generators.self_attention.template import Template, padded
from generators.self_attention.vocabulary import BOA, EOA, UNWRITTEN


class Answer(NamedTuple):
    """What was written: ids without <EOA>, whether that came within the longest length, and the
    log-probability."""

    ids: tuple[int, ...]
    ended: bool
    logprob: float


@dataclass(frozen=True, slots=True)
class Chance:
    """How to draw, and where from: the usual nucleus, and a stream for each text by seed and key."""

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
    """An answer to the first blank of each template, beginning with the given ids; `longest`: words and <EOA>
    at most.

    With `chance` it is drawn, and `beams` has to be 1. Log-probabilities are among what may be written.
    """
    if not templates:
        return []
    device = model.device
    numbers = None
    if chance is not None:
        numbers = torch.tensor(np.array([uniforms(chance.seed, key, longest) for key in chance.keys]))
    best: list[Answer | None] = [None] * len(templates)
    here = list(range(len(templates)))
    with torch.inference_mode():
        ids, positions = (
            torch.from_numpy(padded(rows)).to(device)
            for rows in ([one.ids for one in templates], [one.positions for one in templates])
        )
        memory = model.remember(ids, positions).rows(
            torch.arange(len(here), device=device).repeat_interleave(beams)
        )
        words = torch.full((len(here) * beams, 1), BOA, device=device)
        scores = torch.full((len(here), beams), float("-inf"), device=device)
        scores[:, 0] = 0
        written = torch.zeros((len(here), beams, 0), dtype=torch.long, device=device)
        cache: Cache | None = None
        for step in range(longest):
            states, cache = model(words, memory, cache, start=step)
            logs = _logs(model.logits(states[:, -1]).float().view(len(here), beams, -1))
            _force(logs, [beginnings[at][step : step + 1] for at in here])
            total = (scores.unsqueeze(-1) + logs).flatten(1)
            if chance is None or numbers is None:
                found = total.topk(2 * beams).indices
            else:
                found = _drawn(logs[:, 0], chance, numbers[here, step])
            top, beam, word = total.gather(1, found), found // logs.shape[-1], found % logs.shape[-1]
            ended = word == EOA
            # An end that is not among the best ones, of as many as there are beams, is no answer: so one beam
            # is greedy.
            for row, place in (ended[:, :beams] & top[:, :beams].isfinite()).nonzero().tolist():
                answer = Answer(tuple(written[row, beam[row, place]].tolist()), True, float(top[row, place]))
                best[here[row]] = max(best[here[row]] or answer, answer, key=_logprob)
            scores, places = top.masked_fill(ended, float("-inf")).topk(beams)
            beam, word = beam.gather(1, places), word.gather(1, places)
            kept = written.gather(1, beam.unsqueeze(-1).expand(-1, -1, step))
            written = torch.cat([kept, word.unsqueeze(-1)], dim=-1)
            rows = [row for row, at in enumerate(here) if _goes_on(best[at], float(scores[row, 0]))]
            if not rows:
                break
            left = torch.tensor(rows, device=device)
            flat = left.unsqueeze(1) * beams
            if len(rows) < len(here):
                memory = memory.rows((flat + torch.arange(beams, device=device)).flatten())
                here = [here[row] for row in rows]
            cache = cache.rows((flat + beam[left]).flatten())
            words, scores, written = word[left].view(-1, 1), scores[left], written[left]
        for row, at in enumerate(here):
            if best[at] is None:
                best[at] = Answer(tuple(written[row, 0].tolist()), False, float(scores[row, 0]))
    return [answer for answer in best if answer is not None]


def _logprob(answer: Answer) -> float:
    return answer.logprob


def _goes_on(best: Answer | None, score: float) -> bool:
    return best is None or best.logprob < score


def _logs(logits: Tensor) -> Tensor:
    """Log-probabilities among what may be written."""
    logits[..., list(UNWRITTEN)] = float("-inf")
    return logits.log_softmax(-1)


def _force(logs: Tensor, wanted: Sequence[Sequence[int]]) -> None:
    """Where an id is wanted, nothing else can be written."""
    for row, ids in enumerate(wanted):
        for id in ids:
            logs[row] = float("-inf")
            logs[row, :, id] = 0


def _drawn(logs: Tensor, chance: Chance, numbers: Tensor) -> Tensor:
    """One id a row, (rows, 1): the first whose cumulated share of the nucleus reaches the row's number."""
    shares, order = (logs / chance.temperature).softmax(-1).sort(dim=-1, descending=True, stable=True)
    inside = shares.cumsum(-1) - shares < chance.top_p
    inside[:, 0] = True
    mass = shares.where(inside, 0).cumsum(-1)
    passed = mass >= numbers.to(mass).unsqueeze(-1) * mass[:, -1:]
    return order.gather(-1, passed.int().argmax(-1, keepdim=True))
