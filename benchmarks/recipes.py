"""Which recipe brings ILM ahead of LM, and at which budget: many small models trained side by side.

python benchmarks/recipes.py --stories FOLDER [--masked FOLDER] [--out FOLDER] [--seconds 440]
[--device cpu --small]

First every recipe is tuned alike: four rates that fall to 0 and two that stay, at one budget. Then each is
trained from three seeds at its two best rates, at one budget after another, as long as the seconds last.
Every model is one JSON line in OUT/recipes.jsonl, written when its stack of models is ready: the perplexity
of one masked sentence in each validation and test story. FOLDER has train.csv, valid.csv, test.csv and
perhaps train_more.csv.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from tokenizers import Tokenizer

from benchmarks.recipe_cells import LM, OTHERS, PAPER, RECIPES, Cell, Found, Recipe, Setting
from benchmarks.recipe_feed import Feed, score
from benchmarks.stacked import Net, Stack, Trainer
from generators.checkpoints.sequences import SpecialIds
from generators.checkpoints.tokenizer import TOKENIZER
from generators.masks.documents import Document, story_document
from generators.masks.named import load_mask
from generators.masks.spans import Granularity
from generators.training.checkpoint_perplexity import OneSpan
from generators.training.corpus import train_tokenizer
from generators.training.examples import MaskedCorpus, mask_corpus
from generators.training.packing import capacity
from generators.training.plan import Architecture
from humaneval.stories import read_stories

BEGAN = time.monotonic()
RATES = (7e-4, 1.4e-3, 2.8e-3, 5.6e-3)
CONSTANT = (7e-4, 1.4e-3)
SEEDS = (0, 1, 2)
WARM_UP = 0.05
DECAY = 0.01
MASKS = ("hierarchical", "sentence")
HELD_OUT = ("valid", "test")
BUDGETS = (10e6, 30e6, 3e6, 1e6)
BETWEEN = (18e6, 5.5e6)


class Trial:
    """The corpora and sizes that all models share, and the clock."""

    def __init__(self, options: argparse.Namespace, said: Any) -> None:
        self.options, self.said = options, said
        self.architecture = Architecture(4, 256, 4, 0.0, 0.0)
        self.size, vocabulary, scale = 96, 8000, 1.0
        if options.small:
            self.architecture = Architecture(1, 32, 2, 0.0, 0.0)
            self.size, vocabulary, scale = 8, 400, 5e-4
        self.tune_at = options.tune_at * scale
        self.budgets, self.between = (tuple(b * scale for b in some) for some in (BUDGETS, BETWEEN))
        if not (options.masked / TOKENIZER).exists():
            self._mask(vocabulary)
        tokenizer = Tokenizer.from_file(str(options.masked / TOKENIZER))
        self.special = SpecialIds(tokenizer.get_vocab_size())
        opened = {name: MaskedCorpus.open(self.folder(name)) for name in (*MASKS, *HELD_OUT)}
        self.corpora = {name: opened[name] for name in MASKS}
        self.held_out = {name: opened[name] for name in HELD_OUT}
        formats = [(self.corpora[recipe.masks], recipe) for recipe in RECIPES]
        self.capacity = max(
            capacity(corpus, recipe.strategy, self.size, plain_rows=recipe.plain_rows > 0)
            for corpus, recipe in formats
        )
        self.net = Net(self.architecture, self.special)
        compiled = "cuda" in options.device and not options.no_compile
        self.trainer = Trainer(self.net, options.device, decay=DECAY, compiled=compiled)
        self.speed = 0.0
        """Tokens a second of a stack, once measured."""
        self.say(
            masked={name: corpus.examples for name, corpus in self.corpora.items()},
            capacity=self.capacity,
            vocabulary=self.special.size,
            parameters=len(self.net.decayed),
            device=torch.cuda.get_device_name() if "cuda" in options.device else options.device,
            torch=torch.__version__,
        )

    def _mask(self, vocabulary: int) -> None:
        """Make the vocabulary and the masked examples; the tokenizer's file is the last."""
        options = self.options
        documents: dict[str, list[Document]] = {}
        for split, names in {
            "train": ("train", "train_more"),
            "valid": ("valid",),
            "test": ("test",),
        }.items():
            files = [options.stories / f"{name}.csv" for name in names]
            found = [story_document(s) for f in files if f.exists() for s in read_stories(f).stories]
            documents[split] = found[:400] if options.small else found
        tokenizer = train_tokenizer((one.text for one in documents["train"]), vocabulary)
        given = tokenizer, SpecialIds(tokenizer.get_vocab_size())
        sentence = OneSpan(Granularity.SENTENCE)
        workers = 1 if options.small else options.workers
        mask_corpus(documents["train"], *given, load_mask(MASKS[0]), copies=8, workers=workers).save(
            self.folder(MASKS[0])
        )
        for name, split, copies in ((MASKS[1], "train", 5), *((one, one, 1) for one in HELD_OUT)):
            corpus = mask_corpus(documents[split], *given, sentence, copies=copies, allow_empty=False)
            corpus.save(self.folder(name))
        tokenizer.save(str(options.masked / TOKENIZER))

    def folder(self, name: str) -> Path:
        return self.options.masked.resolve() / name

    def say(self, **record: Any) -> None:
        line = json.dumps({"at": round(time.monotonic() - BEGAN, 1), **record})
        print(line, flush=True)
        print(line, file=self.said, flush=True)

    def tokens_a_step(self, recipe: Recipe) -> float:
        corpus, share = self.corpora[recipe.masks], recipe.plain_rows
        mean = corpus.lengths(recipe.strategy).mean()
        return float(self.size * ((1 - share) * mean + share * corpus.lengths("lm").mean()))

    def steps(self, cell: Cell) -> int:
        return max(1, round(cell.budget / self.tokens_a_step(cell.recipe)))

    def fits(self, cells: Sequence[Cell]) -> bool:
        """Whether the seconds that are left are enough for these models."""
        left = self.options.seconds - (time.monotonic() - BEGAN)
        needed = sum(cell.budget for cell in cells) / self.speed + 8 if self.speed else 0
        return needed < left


def main() -> None:
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    torch._dynamo.config.recompile_limit = 64
    with (options.out / "recipes.jsonl").open("a", encoding="utf-8") as said:
        trial = Trial(options, said)
        if not options.only_mask:
            sweep(trial)
        trial.say(done=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--stories", type=Path, default=Path(), help="Not needed where --masked is ready.")
    parser.add_argument("--out", type=Path, default=Path("gpu-results"))
    parser.add_argument(
        "--masked",
        type=Path,
        default=Path("/tmp/recipes"),
        help="A folder for the vocabulary and the masked examples; used if it has them.",
    )
    parser.add_argument("--only-mask", action="store_true", help="Prepare that folder, and train nothing.")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=440, help="Begin no stack that would end later.")
    parser.add_argument("--tune-at", type=float, default=4e6, help="Tokens of each model that tunes a rate.")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument(
        "--only",
        action="append",
        choices=[recipe.name for recipe in RECIPES],
        help="A recipe to train, instead of all of them. Repeatable.",
    )
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--small", action="store_true", help="Tiny models and 400 stories.")
    return parser.parse_args()


def sweep(trial: Trial) -> None:
    """Tune, then train the finals in the order of what they tell."""
    settings = [*(Setting(rate, True) for rate in RATES), *(Setting(rate, False) for rate in CONSTANT)]
    tuned: list[Found] = []
    chosen = [recipe for recipe in RECIPES if recipe.name in (trial.options.only or [recipe.name])]
    half = (len(chosen) + 1) // 2
    for some in (chosen[:half], chosen[half:]):
        cells = [Cell(recipe, one, 0, trial.tune_at) for recipe in some for one in settings]
        tuned += train(trial, cells, "tune") if cells else []
    best = {recipe: _two_best(tuned, recipe) for recipe in chosen}
    ahead = {recipe: min(f.valid for f in tuned if f.cell.recipe == recipe) for recipe in chosen}
    first = chosen if trial.options.only else [LM, PAPER, *_best_of_each_mask(ahead)]
    second = [recipe for recipe in chosen if recipe not in first]
    trial.say(
        tuned={
            recipe.name: {"settings": [one._asdict() for one in best[recipe]], "valid": _shown(ahead[recipe])}
            for recipe in chosen
        }
    )
    ten, thirty, three, one = trial.budgets
    order = [(first, ten), (first, thirty), (first, three), (first, one), (second, ten)]
    order += [(first, budget) for budget in trial.between]
    order += [(second, budget) for budget in (thirty, three, one)]
    for recipes, budget in order:
        cells = [
            Cell(recipe, setting, seed, budget)
            for recipe in recipes
            for setting in best[recipe]
            for seed in SEEDS
        ]
        if cells and trial.fits(cells):
            train(trial, cells, "final")
        elif cells:
            trial.say(left_out=[recipe.name for recipe in recipes], budget=budget)


def _best_of_each_mask(ahead: dict[Recipe, float]) -> list[Recipe]:
    return [min((r for r in OTHERS if r.masks == masks), key=lambda r: ahead[r]) for masks in MASKS]


def _two_best(tuned: Sequence[Found], recipe: Recipe) -> list[Setting]:
    """The best setting, and the better one of its neighbours with the same schedule."""
    mine = {found.cell.setting: found.valid for found in tuned if found.cell.recipe == recipe}
    best = min(mine, key=lambda setting: mine[setting])
    rates = RATES if best.falls else CONSTANT
    at = rates.index(best.rate)
    near = [Setting(rates[i], best.falls) for i in (at - 1, at + 1) if 0 <= i < len(rates)]
    return [best, min(near, key=lambda setting: mine[setting])]


def train(trial: Trial, cells: Sequence[Cell], stage: str) -> list[Found]:
    """Train these models in one stack, score them and write their lines."""
    device, small = trial.options.device, "cuda" not in trial.options.device
    stack = Stack(trial.architecture, trial.special, [cell.seed for cell in cells], device)
    last = np.array([trial.steps(cell) for cell in cells])
    tokens = np.zeros(len(cells), dtype=np.int64)
    began = time.monotonic()
    with Feed(trial, cells, ragged=not small) as feed:
        for step in range(int(last.max())):
            rows, counts = feed.next()
            rates = np.array([_rate(cell, step, end) for cell, end in zip(cells, last, strict=True)])
            trial.trainer.step(stack, rows, torch.tensor(rates, dtype=torch.float32).to(device))
            tokens += np.where(step < last, counts, 0)
            if step == 20:
                _wait(device)
                warm, seen = time.monotonic(), int(tokens.sum())
    _wait(device)
    ends = time.monotonic()
    if last.max() > 40:
        trial.speed = (int(tokens.sum()) - seen) / (ends - warm)
    scores = {split: score(trial, stack, cells, split) for split in trial.held_out}
    trial.say(
        stage=stage,
        models=len(cells),
        budget=cells[0].budget,
        seconds=round(ends - began, 1),
        scoring=round(time.monotonic() - ends, 1),
        tokens_per_second=round(trial.speed),
        failed=trial.trainer.failed,
    )
    found = [Found(cell, scores["valid"][n], scores["test"][n]) for n, cell in enumerate(cells)]
    for one, count, steps in zip(found, tokens.tolist(), last.tolist(), strict=True):
        trial.say(
            stage=stage,
            **asdict(one.cell.recipe),
            **one.cell.setting._asdict(),
            seed=one.cell.seed,
            budget=one.cell.budget,
            tokens=count,
            steps=steps,
            valid_sentence=_shown(one.valid),
            test_sentence=_shown(one.test),
        )
    return found


def _rate(cell: Cell, step: int, last: int) -> float:
    """The rate of a step, as `humaneval train` has it; 0 after the budget."""
    if step >= last:
        return 0.0
    warm = min(1.0, (step + 1) / max(1, round(WARM_UP * last)))
    return cell.setting.rate * warm * (1 - step / last if cell.setting.falls else 1.0)


def _wait(device: str) -> None:
    if "cuda" in device:
        torch.cuda.synchronize()


def _shown(perplexity: float) -> float | None:
    return round(perplexity, 3) if math.isfinite(perplexity) else None


if __name__ == "__main__":
    main()
