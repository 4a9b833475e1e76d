"""`train sa`: the self-attention model, from scratch on stories."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from typing import Any

import click

from generators.self_attention.architecture import Architecture
from generators.self_attention.vocabulary import Vocabulary
from generators.training.corpus import Texts
from generators.training.forecast import say_forecast
from generators.training.log import readable
from generators.training.sa_corpus import Corpus, learn_vocabulary, read_corpus, sentences_of
from generators.training.sa_plan import PASSES, PRESETS, Plan
from generators.training.sa_run import SelfAttentionRun
from generators.training.showing import outcome, plot, training_bar
from generators.training.sources import corpus_named, split_named
from generators.training.state import held
from humaneval.errors import InputError, UsageError


def train_sa(given: dict[str, Any], device: str) -> None:
    """Train SA as the options say, and print the result."""
    with held(given["out"]):
        _run(given, device)


def _run(given: dict[str, Any], device: str) -> None:
    split = split_named(given, corpus_named(given, "train on"))
    chosen = _settings(given)
    architecture = Architecture(**{f.name: chosen[f.name] for f in fields(Architecture) if f.name in chosen})
    sentences = (words for text in split.training.documents for words in sentences_of(text))
    vocabulary = learn_vocabulary(sentences, chosen["vocabulary"])
    training, validation = _read(split.training, vocabulary), _read(split.validation, vocabulary)
    plan = Plan(**{f.name: chosen[f.name] for f in fields(Plan) if f.name in chosen})
    if plan.steps is None and math.isinf(plan.minutes):
        plan = replace(plan, steps=PASSES * -(-len(training) // plan.batch))
    click.echo(
        f"sa: {len(training):,} stories, {len(validation):,} for validation, {len(vocabulary):,} words on"
        f" {device}",
        err=True,
    )
    out = given["out"]
    run = SelfAttentionRun(out, architecture, plan, vocabulary, training, validation, device)
    if given["only_plan"]:
        say_forecast("sa", run, plan.batch, len(training), as_json=given["as_json"])
        return
    with training_bar("sa") as show:
        progress = run.go(report=show)
    plot(out)
    if given["as_json"]:
        left_out = {**split.training.left_out, **training.left_out}
        click.echo(json.dumps(outcome("sa", out, progress, left_out)))
        return
    click.echo(
        f"{progress.step} steps, {progress.tokens:,} words in {progress.seconds / 60:.1f} min; masked"
        f" sentences have perplexity {readable(progress.best)} a word at step {progress.best_step}: {out}"
    )


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """The preset's settings, and over them those that are given."""
    preset = given["preset"] or "paper"
    if preset not in PRESETS:
        raise UsageError(f"the preset {preset} is not for sa", f"Choose one of {', '.join(PRESETS)}.")
    return PRESETS[preset] | {name: value for name, value in given.items() if value is not None}


def _read(texts: Texts, vocabulary: Vocabulary) -> Corpus:
    """The texts as ids; what was left out is printed."""
    corpus = read_corpus(texts.documents, vocabulary)
    for cause, count in {**texts.left_out, **corpus.left_out}.items():
        click.echo(f"{texts.source}: {count:,} {cause}", err=True)
    if not len(corpus):
        raise InputError(
            f"none of the {len(texts.documents)} documents of {texts.source} can be used",
            "Give stories of two sentences at least.",
        )
    return corpus
