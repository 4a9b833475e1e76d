"""What the benchmarks of generation compare: the same contexts, written by the paper's procedure, by
transformers' own `generate` and by ours.

Weights are by chance, but the output is sharpened until the nucleus has about as many tokens as that of a
trained model. Every sentence has 7 to 17 tokens by a schedule, and then an end, so that all do equal work.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from generators.checkpoints.sequences import SpecialIds
from generators.masks.documents import story_document
from generators.sampling.choosing import Sampling
from generators.sampling.decoding import Answer, Prompt, Rules, draw
from generators.training.causal_model import new_model
from generators.training.corpus import train_tokenizer
from generators.training.plan import SMALL, Architecture
from humaneval.stories import bundled_stories

DEVIATION = {"gpt2": 4.4, "small": 2.5, "tiny": 1.5}
"""Of the logits, so that the nucleus has some 100 tokens."""


class Row(NamedTuple):
    """A context as ids, and how many tokens are written."""

    ids: list[int]
    length: int


@dataclass(frozen=True)
class Bench:
    """A model, and the contexts of each story: one for each of its five sentences."""

    model: Any
    special: SpecialIds
    stories: list[list[list[int]]]

    def rows(self, batch: int, blanks: int, samples: int) -> list[Row]:
        """A batch: `samples` of each of `blanks` contexts of each story, in the order of the stories."""
        found: list[Row] = []
        for number in range(batch):
            context, story = number // samples, number // (samples * blanks)
            at = context % blanks if blanks > 1 else story % 5
            found.append(Row(self.stories[story % len(self.stories)][at], 7 + (number * 7) % 11))
        return found


def prepare(name: str, device: str = "cpu", dtype: torch.dtype = torch.float32) -> Bench:
    """The model `gpt2` (GPT-2 small's size and vocabulary) or `small` (4 layers of 256, and the vocabulary
    that bundled stories give), or `tiny`, to try the scripts."""
    stories = bundled_stories()
    tokenizer = train_tokenizer((story_document(story).text for story in stories), 8000)
    special = SpecialIds(50_257 if name == "gpt2" else tokenizer.get_vocab_size())
    size = {"gpt2": Architecture(), "small": Architecture(**SMALL), "tiny": Architecture(2, 32, 2)}[name]
    model = new_model(size, special, 0).eval()
    with torch.no_grad():
        model.transformer.ln_f.weight.fill_(DEVIATION[name] / 0.02 / math.sqrt(size.width))
    model = model.to(device=device, dtype=dtype)
    contexts = []
    for story in stories:
        sentences = list(story.sentences)
        contexts.append([])
        for at in range(5):
            before = f"{story.title}\n" + " ".join(sentences[:at])
            after = "".join(f" {sentence}" for sentence in sentences[at + 1 :])
            ids = [tokenizer.encode(text).ids for text in (before, after)]
            contexts[-1].append([*ids[0], special.blank("sentence"), *ids[1], special.start])
    return Bench(model, special, contexts)


def by_plain(bench: Bench, rows: Sequence[Row]) -> list[list[int]]:
    """One sentence after the other. Reads the whole text again for every token, with the logits of all places
    and the whole vocabulary sorted."""
    chance = torch.Generator(bench.model.device).manual_seed(0)
    found = []
    with torch.inference_mode():
        for row in rows:
            ids = list(row.ids)
            for _ in range(row.length + 1):  # the end is drawn, too
                read = torch.tensor([ids], device=bench.model.device)
                logits = bench.model(input_ids=read, use_cache=False).logits[0].float()[-1]
                shares, order = torch.softmax(logits, dim=-1).sort(descending=True)
                inside = shares.cumsum(-1) - shares < 0.95
                drawn = torch.multinomial(shares.where(inside, 0.0), 1, generator=chance)
                ids.append(int(order[drawn]))
            found.append(ids[len(row.ids) : -1])
    return found


def by_generate(bench: Bench, rows: Sequence[Row]) -> list[list[int]]:
    """As the documentation of transformers shows it: a batch padded on the left, and `generate` with
    sampling."""
    width = max(len(row.ids) for row in rows)
    device, end = bench.model.device, bench.special.end
    ids = torch.tensor([[0] * (width - len(row.ids)) + row.ids for row in rows], device=device)
    real = torch.tensor([[0] * (width - len(row.ids)) + [1] * len(row.ids) for row in rows], device=device)
    lengths = torch.tensor([row.length for row in rows], device=device)

    def scheduled(read: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        scores[:, end:] = -math.inf
        scores[read.shape[1] - width >= lengths, end] = 1e9
        return scores

    with torch.inference_mode():
        found = bench.model.generate(
            input_ids=ids,
            attention_mask=real,
            do_sample=True,
            top_p=0.95,
            top_k=0,
            temperature=1.0,
            max_new_tokens=18,
            eos_token_id=end,
            pad_token_id=0,
            logits_processor=[scheduled],
        )
    return [one[: row.length] for one, row in zip(found[:, width:].tolist(), rows, strict=True)]


def by_ours(bench: Bench, rows: Sequence[Row], seed: int = 0) -> list[list[int]]:
    """As the generators do it; `most` holds each answer to its length in tokens."""
    special = bench.special
    rules = Rules((special.end,), tuple(range(special.size + 2, special.total)), count=len)
    prompts = [
        Prompt(row.ids, str(number), (Answer(least=row.length, most=row.length),))
        for number, row in enumerate(rows)
    ]
    found = [written.ids for (written,) in draw(bench.model, prompts, rules, Sampling(longest=20), seed)]
    assert [len(ids) for ids in found] == [row.length for row in rows]
    return found


def alike(some: Sequence[Row], rows: Sequence[Row]) -> float:
    """How many sentences of the mean length of `rows` have as many tokens as `some`, with their ends.

    >>> alike([Row([], 5)], [Row([], 5), Row([], 17)])
    0.5
    """
    return len(rows) * sum(row.length + 1 for row in some) / sum(row.length + 1 for row in rows)


def nucleus_of(bench: Bench) -> int:
    """The median number of tokens in the nucleus after a context."""
    sizes = []
    with torch.inference_mode():
        for story in bench.stories[:32]:
            read = torch.tensor([story[2]], device=bench.model.device)
            shares = torch.softmax(bench.model(input_ids=read).logits[0, -1].float(), -1).sort(
                descending=True
            )
            sizes.append(int((shares.values.cumsum(-1) - shares.values < 0.95).sum()))
    return sorted(sizes)[len(sizes) // 2]


class Least(NamedTuple):
    """The least work for rows: tokens that have to be read, and bytes and operations."""

    tokens: int
    operations: float
    bytes: float
    seconds: float
    """Of a machine that does as many operations a second, or moves as many bytes, as it was measured to."""


def least_work(bench: Bench, rows: Sequence[Row], operations: float, bandwidth: float) -> Least:
    """The roofline: what is in common is read once, then one step a token, each bound by operations or by the
    bytes of all weights, keys and values."""
    config, item = bench.model.config, bench.model.dtype.itemsize
    body = 12 * config.n_layer * config.n_embd**2
    head = config.vocab_size * config.n_embd
    entry = 2 * config.n_layer * config.n_embd * item  # the keys and values of a token
    prefixes = {tuple(row.ids[:at]) for row in rows for at in range(1, len(row.ids) + 1)}
    ends = {tuple(row.ids) for row in rows}
    work = [(2 * body * len(prefixes) + 2 * head * len(ends), (body + head) * item + len(prefixes) * entry)]
    # The first token of a sentence comes from what was read; its end takes a step.
    for step in range(1, max(row.length for row in rows) + 1):
        going = [row for row in rows if row.length >= step]
        columns = sum(len(row.ids) + step for row in going)
        attention = 4 * config.n_layer * config.n_embd * columns
        work.append((2 * (body + head) * len(going) + attention, (body + head) * item + columns * entry))
    return Least(
        len(prefixes),
        sum(one for one, _ in work),
        sum(two for _, two in work),
        sum(max(one / operations, two / bandwidth) for one, two in work),
    )
