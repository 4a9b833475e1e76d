"""What one GPU does: speed against the plain baseline, and GPT-2 small from scratch on real stories for
some minutes.

python benchmarks/gpu.py --part speed|models|ordering|generate --stories FOLDER [--tokenizer tokenizer.json]
[--out FOLDER]

FOLDER has train.csv, valid.csv and test.csv, perhaps train_more.csv. Nothing has to be installed but torch,
transformers, numpy, tokenizers and safetensors; nothing is fetched. Without --tokenizer a vocabulary is made
from the stories, and perplexities are then not comparable with published ones. `models` trains all four for
the same tokens. Every result is one JSON line, written as it comes. `--small` tries everything with a small
model and few steps; with it, `--device cpu` works, too.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from tokenizers import Tokenizer

from benchmarks.gpu_generation import generate
from benchmarks.gpu_models import models
from benchmarks.gpu_speed import speed
from generators.checkpoints.sequences import SpecialIds
from generators.masks.documents import Document, story_document
from generators.masks.named import load_mask
from generators.masks.spans import Granularity
from generators.training.causal_model import new_model
from generators.training.causal_run import train
from generators.training.checkpoint_perplexity import OneSpan
from generators.training.corpus import train_tokenizer
from generators.training.examples import WORDS, MaskedCorpus, mask_corpus
from generators.training.log import Report
from generators.training.model_perplexity import perplexities
from generators.training.packing import evaluation_batches
from generators.training.plan import Architecture, Plan
from humaneval.domain import Story
from humaneval.stories import read_stories

BEGAN = time.monotonic()


@dataclass
class Setting:
    """What all parts share."""

    options: argparse.Namespace
    stories: dict[str, list[Story]]
    tokenizer: Tokenizer
    special: SpecialIds
    said: Any

    @property
    def device(self) -> str:
        return self.options.device

    @property
    def architecture(self) -> Architecture:
        """Attention on a GPU has no dropout here; that of embeddings and residuals is the paper's 0.1."""
        return Architecture(2, 64, 2, 0.1, 0.0) if self.options.small else Architecture(attention_dropout=0.0)

    def say(self, **record: Any) -> None:
        line = json.dumps({"part": self.options.part, "at": round(time.monotonic() - BEGAN, 1), **record})
        print(line, flush=True)
        print(line, file=self.said, flush=True)

    def documents(self, split: str) -> list[Document]:
        return [story_document(story) for story in self.stories[split.partition("-")[0]]]

    def masked(self, split: str, copies: int, mask: Any = None) -> MaskedCorpus:
        """Masked examples by as many processes as pay; those of `--masked` if it has them."""
        began = time.monotonic()
        kept = self.options.masked / split if self.options.masked else None
        if kept and (kept / WORDS).exists():
            found = MaskedCorpus.open(kept)
            self.say(opened=str(kept), examples=found.examples)
            return found
        documents = self.documents(split)
        workers = 1 if mask else min(self.options.workers, max(1, len(documents) // 3000))
        mask = mask or load_mask("hierarchical")
        found = mask_corpus(documents, self.tokenizer, self.special, mask, copies=copies, workers=workers)
        if kept:
            found.save(kept)
        self.say(
            masked=split,
            documents=found.documents,
            examples=found.examples,
            left_out=found.left_out,
            seconds=round(time.monotonic() - began, 1),
            workers=workers,
        )
        return found

    def sentences(self, split: str) -> MaskedCorpus:
        """One sentence masked in each story."""
        one = OneSpan(Granularity.SENTENCE)
        return mask_corpus(
            self.documents(split), self.tokenizer, self.special, one, copies=1, allow_empty=False
        )


def main() -> None:
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / f"gpu-{options.part}.jsonl").open("a", encoding="utf-8") as said:
        setting = _setting(options, said)
        parts = {
            "speed": speed,
            "models": models,
            "ordering": ordering,
            "generate": generate,
        }
        parts[options.part](setting)
        setting.say(done=True, seconds=round(time.monotonic() - BEGAN, 1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", required=True, choices=("speed", "models", "ordering", "generate"))
    parser.add_argument("--stories", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--out", type=Path, default=Path("gpu-results"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument(
        "--seconds", type=float, default=540, help="All that `models` takes, the masks and tests included."
    )
    parser.add_argument("--tokens", type=float, help="Of training a model; default: what the seconds allow.")
    parser.add_argument("--loss", default="two-means", help="ILM's and LM-All's, as `train` spells it.")
    parser.add_argument("--plain-rows", type=float, default=0.0, help="ILM's, as `train` has it.")
    parser.add_argument("--masks", choices=("hierarchical", "sentence"), default="hierarchical")
    parser.add_argument("--masked", type=Path, help="A folder for the masked examples, used if it has them.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[24, 512], help="Examples a step, for speed.")
    parser.add_argument("--batch", type=int, default=256, help="Examples a step of the models.")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--copies", type=int, default=12)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--ordering-tokens", type=float, default=10e6)
    parser.add_argument(
        "--small", action="store_true", help="Try it: a small model, and few examples a step."
    )
    options = parser.parse_args()
    if options.small:
        options.batch, options.ordering_tokens = min(options.batch, 32), min(options.ordering_tokens, 1e5)
    return options


def _setting(options: argparse.Namespace, said: Any) -> Setting:
    torch.manual_seed(0)
    stories: dict[str, list[Story]] = {}
    for split, names in {"train": ("train", "train_more"), "valid": ("valid",), "test": ("test",)}.items():
        files = [options.stories / f"{name}.csv" for name in names]
        stories[split] = [s for f in files if f.exists() for s in read_stories(f).stories]
        if options.small:
            stories[split] = stories[split][:400]
    if options.part == "ordering" or not options.tokenizer:
        texts = (story_document(story).text for story in stories["train"])
        size = 2000 if options.small else 8000 if options.part == "ordering" else 50_257
        tokenizer = train_tokenizer(texts, size)
    else:
        tokenizer = Tokenizer.from_file(str(options.tokenizer))
    setting = Setting(options, stories, tokenizer, SpecialIds(tokenizer.get_vocab_size()), said)
    import transformers

    setting.say(
        device=torch.cuda.get_device_name() if "cuda" in options.device else "cpu",
        torch=torch.__version__,
        transformers=transformers.__version__,
        vocabulary=setting.special.size,
        stories={split: len(some) for split, some in stories.items()},
    )
    return setting


# Ordering


def ordering(setting: Setting) -> None:
    """Small models, the four strategies over the same documents: sentence perplexity as training goes on."""
    corpus, test = setting.masked("train", 16), setting.sentences("test")
    valid = setting.sentences("valid")
    size = 96
    steps = int(setting.options.ordering_tokens / (size * corpus.lengths("lm").mean()))
    for strategy in ("lm", "lm-rev", "lm-all", "ilm"):
        architecture = Architecture(4, 256, 4, 0.0, 0.0)
        model = new_model(architecture, setting.special, 0).to(setting.device)
        plan = Plan(
            strategy,
            learning_rate=1e-3,
            warm_up=100,
            batch=size,
            steps=10 if setting.options.small else steps,
            evaluate_every=5 if setting.options.small else 125,
            patience=0,
            weight_decay=0.01,
            compile=not setting.options.no_compile,
        )
        folder = setting.options.out / f"ordering-{strategy}"

        def said(line: Report, strategy: str = strategy) -> None:
            if line.perplexity:
                setting.say(
                    strategy=strategy,
                    step=line.step,
                    tokens=line.tokens,
                    seconds=line.seconds,
                    valid_sentence=round(line.perplexity, 2),
                )

        progress = train(folder, plan, model, setting.tokenizer, corpus, valid, keep=False, report=said)
        model.eval()
        found = perplexities(model, evaluation_batches(test, strategy, size=64))
        setting.say(
            strategy=strategy,
            steps=progress.step,
            documents=progress.step * size,
            tokens=progress.tokens,
            sentence_perplexity=round(found.masked, 2),
            best_valid_sentence=round(progress.best, 2),
            masked_tokens=found.tokens,
            seconds=round(progress.seconds, 1),
        )


if __name__ == "__main__":
    main()
