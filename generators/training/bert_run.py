"""Trains a masked language model on stories, so that BERT learns what a sentence in a story looks like.

Half of the examples hide from one to all pieces of a sentence, as the generator does; the other half hide 15
% of all pieces, as in BERT's training. The result has the hub's layout. There is no state to resume from:
only whole runs are kept.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from generators.checkpoints.pretrained import quiet
from generators.checkpoints.tokenizer import PIECES, TOKENIZER
from generators.masked.masked_lm import MaskedLM
from generators.training.log import Report
from generators.training.run import Budget, refuse_worse_than_chance
from generators.training.state import Progress
from humaneval.domain import Story
from humaneval.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SINGLE = 0.15
WARM_UP = 0.05
"""The part of the budget in which the rate rises; then it falls to 0."""


class Result(NamedTuple):
    steps: int
    loss: float
    """The mean loss of the last steps, in nats per masked piece."""


def new_masked_lm(
    folder: Path, stories: Sequence[Story], *, vocabulary: int = 8000, seed: int = 0, **config: Any
) -> None:
    """Write an untrained, cased BERT with word pieces made from the stories. `config`: settings of
    `BertConfig`."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    tokenizer = word_pieces([line for story in stories for line in story.sentences], vocabulary)
    size = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model: Any = BertForMaskedLM(BertConfig(vocab_size=tokenizer.get_vocab_size(), **{**size, **config}))
    with quiet():
        model.save_pretrained(folder)
    tokenizer.save(str(folder / TOKENIZER))


def word_pieces(lines: Sequence[str], size: int, special: Sequence[str] = SPECIAL) -> Tokenizer:
    """A cased vocabulary of BERT's kind, of at most `size` pieces: the same for the same lines."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normal = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = words = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    # The trainer numbers the letters inside words by chance, and the numbers decide between equal pieces. It
    # numbers special tokens as they are given: so these letters are given as such, and are none afterwards.
    inside = {
        f"##{letter}"
        for line in lines
        for word, _ in words.pre_tokenize_str(normal.normalize_str(line))
        for letter in word[1:]
    }
    given = [*special, *sorted(inside)]
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=given, show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    trained = json.loads(tokenizer.to_str())
    del trained["added_tokens"][len(special) :]
    return Tokenizer.from_str(json.dumps(trained))


def hidden_places(bounds: Sequence[int], chance: random.Random) -> list[int]:
    """The places to mask in a text whose sentences end before bounds[1:]: part of one sentence, or single
    places of all."""
    if chance.random() < 0.5:
        at = chance.randrange(len(bounds) - 1)
        sentence = range(bounds[at], bounds[at + 1])
        return sorted(chance.sample(sentence, chance.randint(1, len(sentence))))
    every = range(bounds[0], bounds[-1])
    return sorted(chance.sample(every, max(1, round(SINGLE * len(every)))))


def train_masked_lm(
    opened: MaskedLM,
    stories: Sequence[Story],
    *,
    minutes: float = 10.0,
    steps: int | None = None,
    batch: int = 32,
    learning_rate: float = 1e-4,
    seed: int = 0,
    report: Callable[[Report], None] = lambda line: None,
) -> Result:
    """Train the model in place, until the minutes or the steps are over. Raises InputError if no story fits
    the model."""
    import torch

    model: Any = opened.model
    texts = [text for story in stories if (text := _read(opened, story)) and len(text.ids) <= opened.longest]
    if not texts:
        raise InputError(
            f"none of the {len(stories)} stories fits {opened.name}", "Name a file with shorter stories."
        )
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.01)
    examples = _examples(texts, random.Random(seed))
    budget, progress = Budget(minutes, steps, evaluate_every=0), Progress()
    began, loss_shown = time.monotonic(), float("nan")
    device = opened.model.device
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)  # for the dropout
        model.train()
        while (done := budget.used(progress)) < 1:
            share = min(done / WARM_UP, (1 - done) / (1 - WARM_UP), 1.0)
            rate = max(learning_rate * share, learning_rate / 100)
            for group in optimizer.param_groups:
                group["lr"] = rate
            chosen = [next(examples) for _ in range(batch)]
            loss = _loss(opened, chosen)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            value = float(loss.detach())
            loss_shown = 0.98 * loss_shown + 0.02 * value if progress.step else value
            progress.step += 1
            refuse_worse_than_chance(
                math.exp(min(loss_shown, 700.0)),
                model.config.vocab_size,
                f"by step {progress.step}",
                f"Train with a lower rate than --lr {learning_rate:g}.",
            )
            progress.tokens += sum(len(example.ids) for example in chosen)
            progress.seconds = time.monotonic() - began
            report(_line(progress, loss_shown, rate, min(1.0, budget.used(progress))))
    model.train(False)
    return Result(progress.step, loss_shown)


def _line(progress: Progress, loss: float, rate: float, used: float) -> Report:
    speed = progress.tokens / max(progress.seconds, 1e-9)
    return Report(progress.step, progress.seconds, progress.tokens, loss, rate, speed, used)


class _Text(NamedTuple):
    """The ids of a story, and where its sentences begin."""

    ids: list[int]
    bounds: list[int]


class _Example(NamedTuple):
    """The ids of a story, and the places that are hidden."""

    ids: list[int]
    hidden: list[int]


def _read(opened: MaskedLM, story: Story) -> _Text | None:
    """A story as ids; None if one of its sentences has no pieces."""
    ids, bounds = [opened.pieces.first], [1]
    for number, sentence in enumerate(story.sentences):
        ids += opened.pieces.read(f" {sentence}" if number else sentence)
        bounds.append(len(ids))
    whole = all(start < end for start, end in pairwise(bounds))
    return _Text([*ids, opened.pieces.last], bounds) if whole else None


def _examples(texts: Sequence[_Text], chance: random.Random) -> Iterator[_Example]:
    """Examples without end; every text comes once in each pass."""
    while True:
        for text in chance.sample(texts, len(texts)):
            yield _Example(text.ids, hidden_places(text.bounds, chance))


def _loss(opened: MaskedLM, examples: Sequence[_Example]) -> Any:
    """The mean loss over the hidden places of all examples."""
    import torch

    width = max(len(ids) for ids, _ in examples)
    shape = (len(examples), width)
    ids, mask = torch.zeros(shape, dtype=torch.long), torch.zeros(shape)
    rows: list[int] = []
    columns: list[int] = []
    for row, (text, hidden) in enumerate(examples):
        ids[row, : len(text)] = torch.tensor(text)
        mask[row, : len(text)] = 1
        rows += [row] * len(hidden)
        columns += hidden
    device = opened.model.device
    targets = ids[rows, columns].to(device)
    ids[rows, columns] = opened.pieces.mask
    at = torch.tensor(rows, device=device), torch.tensor(columns, device=device)
    logits = opened.logits_at(ids.to(device), mask.to(device), at)
    return torch.nn.functional.cross_entropy(logits.float(), targets)


def save_masked_lm(opened: MaskedLM, source: Path, out: Path) -> None:
    """Save the model in the hub's layout, with the tokenizer's files of the folder that it was opened
    from."""
    model: Any = opened.model
    with quiet():
        model.save_pretrained(out)
    for name in (TOKENIZER, *PIECES):
        if (source / name).exists():
            shutil.copyfile(source / name, out / name)
