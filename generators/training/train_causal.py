"""`train ilm`, `lm`, `lm-rev` and `lm-all`: a model from scratch or from a pre-trained one."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generators.checkpoints.base import Base, open_base
from generators.checkpoints.card import probe
from generators.checkpoints.pretrained import find_tokenizer
from generators.checkpoints.sequences import SpecialIds
from generators.masks.named import load_mask
from generators.masks.spans import MaskFunction
from generators.training.causal_model import new_model, set_dropout
from generators.training.causal_run import new_run
from generators.training.corpus import Split, Texts, train_tokenizer
from generators.training.examples import CHUNK, MaskedCorpus, kept_corpus, mask_corpus, nothing_left
from generators.training.forecast import say_forecast
from generators.training.log import readable
from generators.training.loss import Mean
from generators.training.plan import PRESETS, Architecture, Plan
from generators.training.showing import outcome, plot, training_bar
from generators.training.sources import corpus_named, split_named
from generators.training.state import held
from humaneval.errors import InputError, UsageError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

EXAMPLES = "examples"
FEWEST_TOKENS = 300
"""The fewest tokens of a byte-level vocabulary: 256 bytes and some merges."""
MOST_TOKENS = 60_000


def train_causal(strategy: str, given: dict[str, Any], device: str) -> None:
    """Train a model of a strategy as the options say, and print the result."""
    first, device = _join(device)
    with held(given["out"]) if first else nullcontext():
        _run(strategy, given, device, first=first)


def _run(strategy: str, given: dict[str, Any], device: str, *, first: bool) -> None:
    corpus = corpus_named(given, "train on")
    chosen = _settings(given, corpus)
    plan = Plan(strategy, **{f.name: chosen[f.name] for f in fields(Plan) if f.name in chosen})
    mask = load_mask(given["mask"], parity=given["parity"])
    split = split_named(given, corpus)
    base = _model(given, chosen, split.training, mask)
    base.model.to(device)
    training, validation = (
        _examples(given, name, texts, base, mask, copies)
        for name, texts, copies in (
            ("train", split.training, given["copies"]),
            ("valid", split.validation, 1),
        )
    )
    if first:
        _say(strategy, split, training, base, device)
        if plan.loss == Mean.ANSWERS and given["from_scratch"]:
            click.echo(
                "--loss answers teaches a model from scratch the language by its few answers alone: with"
                " one-mean it learns far more in the same time",
                err=True,
            )
    out = given["out"]
    run = new_run(
        out,
        plan,
        base.model,
        base.tokenizer,
        training,
        validation,
        mask=mask.name,
        name=corpus,
        origin=base.origin,
    )
    if given["only_plan"]:
        say_forecast(strategy, run, plan.batch, training.documents, as_json=given["as_json"], shown=first)
        return
    with training_bar(strategy, shown=first) as show:
        progress = run.go(report=show)
    if not first:
        return
    plot(out)
    impatient = plan.budget(training.documents).impatient(progress)
    if given["as_json"]:
        found = outcome(strategy, out, progress, {**split.training.left_out, **training.left_out})
        click.echo(json.dumps({**found, "stopped_by_patience": impatient}))
        return
    early = (
        f"; stopped after {progress.bad_evaluations} evaluations without a better one" if impatient else ""
    )
    click.echo(
        f"{progress.step} steps, {progress.tokens:,} tokens in {progress.seconds / 60:.1f} min{early}; "
        f"masked text has perplexity {readable(progress.best)} at step {progress.best_step}: {out}"
    )


def _settings(given: dict[str, Any], corpus: str) -> dict[str, Any]:
    """The preset's settings, and over them those that are given."""
    preset = given["preset"] or ("stories" if corpus == "texts" else corpus)
    if preset not in PRESETS:
        raise UsageError(f"the preset {preset} is only for sa", f"Choose one of {', '.join(PRESETS)}.")
    size = given["vocabulary"]
    if size is not None and not FEWEST_TOKENS <= size <= MOST_TOKENS:
        raise UsageError(
            f"a vocabulary cannot have {size:,} tokens",
            f"Choose a --vocabulary of {FEWEST_TOKENS} to {MOST_TOKENS:,} tokens.",
        )
    return PRESETS[preset] | {name: value for name, value in given.items() if value is not None}


def _join(device: str) -> tuple[bool, str]:
    """Join the processes that torchrun started, if it did. Returns whether this is the first one, and its
    device."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return True, device
    import torch
    from torch import distributed

    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if "cuda" in device else "gloo")
    if "cuda" in device:
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    return distributed.get_rank() == 0, device


def _model(given: dict[str, Any], chosen: dict[str, Any], training: Texts, mask: MaskFunction) -> Base:
    if given["base"]:
        wrong = [name for name in ("layers", "width", "heads", "vocabulary") if given[name] is not None]
        if wrong:
            raise UsageError(f"--{wrong[0]} goes with --from-scratch", f"{given['base']} has its own.")
        own = Path(given["tokenizer"]) if given["tokenizer"] else None
        base = open_base(given["base"], blanks=mask.types, seed=given["seed"], tokenizer=own)
        set_dropout(base.model, given["dropout"], given["attention_dropout"])
        return base
    if given["vocabulary"] and given["tokenizer"]:
        raise UsageError("--vocabulary and --tokenizer exclude each other", "Give one of them.")
    size = given["vocabulary"] or (None if given["tokenizer"] else chosen.get("vocabulary"))
    if size:
        tokenizer = train_tokenizer((document.text for document in training.documents), size)
    else:
        tokenizer = _found_tokenizer(given["tokenizer"])
    special = SpecialIds(tokenizer.get_vocab_size(), tuple(mask.types))
    architecture = Architecture(**{f.name: chosen[f.name] for f in fields(Architecture) if f.name in chosen})
    return Base(new_model(architecture, special, given["seed"]), tokenizer, special, {"from": "scratch"})


def _found_tokenizer(name: str | None) -> Tokenizer:
    if name:
        return find_tokenizer(name)
    try:
        return find_tokenizer("gpt2")
    except InputError as error:
        raise InputError(
            f"the tokenizer of the paper's models cannot be found: {error.message}",
            "Name a file with --tokenizer, or make a vocabulary from the corpus: --vocabulary 8000.",
        ) from None


def _examples(
    given: dict[str, Any],
    split: str,
    texts: Texts,
    base: Base,
    mask: MaskFunction,
    copies: int,
) -> MaskedCorpus:
    """The masked examples of a split. They are kept beside the checkpoint, and a resumed run opens them."""
    settings = [
        mask.name,
        given["parity"],
        copies,
        given["seed"],
        given["empty_masks"],
        base.special,
        probe(base.tokenizer),
    ]
    key = hashlib.sha256(json.dumps(settings).encode())
    for document in texts.documents:
        key.update(document.text.encode() + b"\0")

    def make() -> MaskedCorpus:
        chunks = -(-len(texts.documents) // CHUNK)
        return mask_corpus(
            texts.documents,
            base.tokenizer,
            base.special,
            mask,
            copies=copies,
            seed=given["seed"],
            allow_empty=given["empty_masks"] == "on",
            workers=min(os.cpu_count() or 1, chunks // 4) or 1,
        )

    corpus = kept_corpus(given["out"] / EXAMPLES / split, key.hexdigest(), make)
    if not corpus.examples:
        raise nothing_left(
            f"none of the {len(texts.documents)} documents of {texts.source} can be used", corpus
        )
    return corpus


def _say(strategy: str, split: Split, examples: MaskedCorpus, base: Base, device: str) -> None:
    parameters = sum(parameter.numel() for parameter in base.model.parameters())
    click.echo(
        f"{strategy}: {examples.documents:,} documents in {examples.examples:,} masked examples, "
        f"{len(split.validation.documents):,} documents for validation, {base.special.size:,} tokens, "
        f"{parameters / 1e6:.1f} M parameters on {device}",
        err=True,
    )
    for cause, count in {**split.training.left_out, **examples.left_out}.items():
        click.echo(f"{split.training.source}: {count:,} {cause}", err=True)
