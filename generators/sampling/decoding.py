"""Draws what a language model writes on: batched, cached, each row with its own stream of chance and its own
end.

What a row gets does not depend on which rows stand beside it or in which order: its random numbers come from
(seed, row key), and its positions are counted from its own first token.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from generators.checkpoints.weights import positions
from generators.options import refuse_unless
from generators.sampling.stepping import steps

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

Stop = Callable[[Sequence[int]], bool]
"""Whether an answer is finished, given the ids drawn for it so far."""
Count = Callable[[Sequence[int]], int]
"""How many words ids are."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn.

    The usual nucleus keeps the likeliest tokens up to the one with which their mass reaches `top_p`;
    `reference`, as the paper's code has it, leaves that one out (but keeps the first).
    """

    temperature: float = 1.0
    top_p: float = 0.95
    top_k: int = 0
    """0: all."""
    nucleus: str = "usual"
    longest: int = 64
    """New tokens of an answer at most."""

    def __post_init__(self) -> None:
        refuse_unless(0 < self.temperature <= 100, "temperature", "above 0, to 100")
        refuse_unless(0 < self.top_p <= 1, "top_p", "above 0, to 1")
        refuse_unless(self.top_k >= 0, "top_k", "0 (all) or more")
        refuse_unless(self.nucleus in ("usual", "reference"), "nucleus", "usual or reference")
        refuse_unless(1 <= self.longest <= 1000, "longest", "1 to 1000")


@dataclass(frozen=True, slots=True)
class Answer:
    """What an answer that is to be drawn has to keep to."""

    forced: tuple[int, ...] = ()
    """Ids that it begins with."""
    lines: bool = False
    """Whether it may have line ends."""
    least: int = 0
    """Words before it may end."""
    most: int = 0
    """Words with which it has to end; 0: any number."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a row starts from, the key of its stream of chance, and the answers that are to be drawn one after
    another."""

    ids: Sequence[int]
    key: str
    answers: tuple[Answer, ...] = (Answer(),)


@dataclass(slots=True)
class Written:
    """An answer: its ids without the end token, and the natural logarithm of each one's probability in the
    model, given what may be drawn at all. A forced id has none: 0."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ended: bool = False
    """By the end token or the stop rule; not by length."""
    held: bool = False
    """To its number of words."""


def uniforms(seed: int, key: str, count: int) -> NDArray[np.float64]:
    """The stream of chance of one row."""
    digest = hashlib.sha256(f"{seed} {key}".encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16]))).random(count)


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for all rows of a model."""

    ends: tuple[int, ...]
    """Ids that end an answer; the first is put behind one that is cut off."""
    forbidden: tuple[int, ...] = ()
    continuing: tuple[int, ...] = ()
    """Ids that go on with a word: not drawn right behind what an answer has to begin with."""
    line_ends: tuple[int, ...] = ()
    """Ids that only answers with line ends may have."""
    stop: Stop | None = None
    count: Count = len


def draw(
    model: PreTrainedModel, prompts: Sequence[Prompt], rules: Rules, sampling: Sampling, seed: int
) -> list[list[Written]]:
    """The answers of every prompt, all rows in one batch. A row that reaches the end of what the model can
    read has fewer answers than were asked for, or a last one that is not ended."""
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
            chosen = choose(logits.float(), sampling, chance[:, step])
            drawn = zip(active, chosen.tokens.tolist(), chosen.logprobs.tolist(), strict=True)
            fed = [row.take(token, logprob) for row, token, logprob in drawn]
            going = [at for at, row in enumerate(active) if not row.finished and step + 1 < room[row.number]]
            if not going:
                break
            if 2 * len(going) <= len(active):
                kept = torch.tensor(going, device=model.device)
                run.keep(kept)
                active, fed, chance = [active[at] for at in going], [fed[at] for at in going], chance[kept]
            logits = run.feed(torch.tensor(fed, device=model.device))
    return [row.written for row in rows]


class _Row:
    """A row on its way: which answer it is at."""

    def __init__(self, number: int, prompt: Prompt, rules: Rules, longest: int) -> None:
        self.number, self.prompt, self.rules, self.longest = number, prompt, rules, longest
        self.written = [Written()]
        self.finished = False

    @property
    def answer(self) -> Answer:
        return self.prompt.answers[len(self.written) - 1]

    @property
    def at_beginning(self) -> bool:
        """Whether what it has to begin with stands there, and nothing else yet."""
        return 0 < len(self.answer.forced) == len(self.written[-1].ids)

    @property
    def may_end(self) -> bool:
        """Whether it has its words."""
        answer = self.answer
        return not answer.least or self.rules.count(self.written[-1].ids) >= answer.least

    def take(self, token: int, logprob: float) -> int:
        """Write a drawn token, or what has to stand in its place; the id that the model is to read."""
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
    """What must not be drawn, as a change to logits."""

    def __init__(self, rules: Rules, device: object) -> None:
        import torch

        def tensor(ids: Sequence[int]) -> Tensor:
            return torch.tensor(list(ids), dtype=torch.long, device=device)  # type: ignore[arg-type]  # as the model says it

        self.forbidden, self.line_ends, self.ends, self.continuing = map(
            tensor, (rules.forbidden, rules.line_ends, rules.ends, rules.continuing)
        )

    def apply(self, logits: Tensor, rows: Sequence[_Row]) -> None:
        """Set what each row must not draw to minus infinity."""
        import torch

        never = float("-inf")
        logits.index_fill_(-1, self.forbidden, never)
        for banned, barred in (
            (self.line_ends, [not row.answer.lines for row in rows]),
            (self.ends, [not row.may_end for row in rows]),
            (self.continuing, [row.at_beginning for row in rows]),
        ):
            if not len(banned) or not any(barred):
                continue
            if all(barred):
                logits.index_fill_(-1, banned, never)
            else:
                which = torch.tensor([at for at, is_barred in enumerate(barred) if is_barred])
                logits[which.to(logits.device)[:, None], banned] = never


class Chosen(NamedTuple):
    """(B,) tokens, and their log-probabilities at temperature 1."""

    tokens: Tensor
    logprobs: Tensor


def choose(logits: Tensor, sampling: Sampling, chance: Tensor) -> Chosen:
    """Choose one token for each row of (B, V) logits, by (B,) random numbers from 0 to 1."""
    import torch

    shares = torch.softmax(logits / sampling.temperature, dim=-1)
    kept = limited(shares, sampling.top_p, sampling.top_k, reference=sampling.nucleus == "reference")
    tokens = pick(kept, chance)
    plain = shares if sampling.temperature == 1.0 else torch.softmax(logits, dim=-1)
    return Chosen(tokens, plain.gather(-1, tokens.unsqueeze(-1)).squeeze(-1).log())


def limited(shares: Tensor, top_p: float, top_k: int = 0, *, reference: bool = False) -> Tensor:
    """(B, V) shares with 0 outside top_k (0: no limit) and top_p; the likeliest is always in.

    The nucleus is one of all tokens, or of the top_k where that is a limit.
    """
    import torch

    width = shares.shape[-1]
    if top_p >= 1 and not top_k and not reference:
        return shares
    # The nucleus is nearly always within the likeliest 1,024; where it is not, all are sorted.
    best, order = shares.topk(min(top_k or 1024, width), dim=-1)
    if not top_k and best.shape[-1] < width and bool((best.sum(-1) < top_p).any()):
        best, order = shares.sort(dim=-1, descending=True)
    total = best.sum(-1, keepdim=True) if top_k else 1.0
    mass = best.cumsum(-1)
    outside = (mass if reference else mass - best) >= top_p * total
    outside[:, 0] = False
    return torch.zeros_like(shares).scatter(-1, order, best.masked_fill(outside, 0.0))


def pick(shares: Tensor, chance: Tensor) -> Tensor:
    """One token a row of (B, V) shares: where their sum, cumulated, passes the row's number in `chance` (0 to 1).

    Cumulated in the vocabulary's order: in that of the shares, near ties would change places with the batch.
    """
    import torch

    mass = shares.to(torch.float32 if shares.device.type == "mps" else torch.float64).cumsum(-1)
    # Below 1 even in single precision: every number passes somewhere, and only where a token has a share.
    passed = mass > chance.to(mass).clamp(max=1 - 2**-20).unsqueeze(-1) * mass[:, -1:]
    return passed.int().argmax(-1)
