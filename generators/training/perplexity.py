"""The verb `perplexity`: how well checkpoints predict masked text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from generators.checkpoints.loading import load, peek
from generators.devices import pick_device
from generators.training.checkpoint_perplexity import Score, granularities, score
from generators.training.corpus import Texts
from generators.training.options import CORPUS, DEVICE, FILE, FOLDER, JSON, SEEDS, SKIP_BAD
from generators.training.perplexity_tables import (
    NOT_COMPARABLE,
    TitledTable,
    comparable,
    paper_tables,
    plain_table,
)
from generators.training.sources import corpus_named, texts_named
from humaneval.errors import PrerequisiteError, UsageError

CHOICES = ("sentence", "document", "paragraph", "ngram", "word", "mixture", "all")


@click.command()
@click.argument("checkpoints", nargs=-1, required=True, type=FOLDER, metavar="CHECKPOINT…")
@click.option("--stories", type=FILE, help="File of test stories.")
@click.option("--bundled", is_flag=True, help="Score on the test stories that come with the toolkit.")
@click.option("--documents", type=FOLDER, help="Folder with test.txt, two blank lines between documents.")
@click.option("--corpus", **CORPUS)
@click.option(
    "--split",
    default="test",
    show_default=True,
    help="Split of --documents to score on: train, valid or test.",
)
@click.option("--skip-bad", **SKIP_BAD)
@click.option(
    "--granularity",
    type=click.Choice(CHOICES),
    multiple=True,
    help=(
        "What is masked, one span per document; mixture: the mask of training. Repeatable.  [default:"
        " sentence]"
    ),
)
@click.option(
    "--table", is_flag=True, help="Print the paper's tables, with the published values beside the new ones."
)
@click.option("--seed", type=SEEDS, default=0, show_default=True, help="Random seed of the masks.")
@click.option(
    "--batch",
    type=click.IntRange(1, 4096),
    default=32,
    show_default=True,
    help="Texts that are scored at once.",
)
@click.option(
    "--precision",
    type=click.Choice(["fp32", "bf16"]),
    default="fp32",
    show_default=True,
    help="Precision of the computation; bf16 is faster and less exact.",
)
@click.option("--device", **DEVICE)
@click.option("--json", "as_json", **JSON)
def perplexity(checkpoints: tuple[Path, ...], **given: Any) -> None:
    """Measure how well checkpoints predict masked text.

    Perplexity is exp of the mean loss over its tokens.
    """
    try:
        device = pick_device(given["device"])
    except ModuleNotFoundError as error:
        raise PrerequisiteError(
            f"perplexity needs the package {error.name}", "pip install 'humaneval-toolkit[models]'"
        ) from None
    corpus = corpus_named(given, "score on")
    texts = texts_named(given, corpus)
    asked = given["granularity"] or (("all",) if given["table"] else ("sentence",))
    # Everything is checked before the first checkpoint is scored, which takes minutes.
    work: dict[Path, Sequence[str]] = {}
    rows: dict[tuple[str, bool], Path] = {}
    for folder in checkpoints:
        card = peek(folder)
        row = card.kind, card.scratch
        if given["table"] and row in rows:
            raise UsageError(
                f"{rows[row]} and {folder} would be the same row of the tables: {row[0]}",
                "Name one of them, or leave out --table.",
            )
        rows[row] = folder
        work[folder] = granularities(str(folder), card, asked)
    scores: list[Score] = []
    for folder, chosen in work.items():
        checkpoint = load(folder, device=device)
        for granularity in chosen:
            click.echo(f"{folder}: {granularity} …", err=True)
            scores.append(
                score(
                    str(folder),
                    checkpoint,
                    texts.documents,
                    granularity,
                    corpus=corpus,
                    seed=given["seed"],
                    batch=given["batch"],
                    autocast=given["precision"],
                )
            )
    if given["as_json"]:
        where = {
            "documents": texts.source,
            "seed": given["seed"],
            "precision": given["precision"],
            "device": device,
        }
        click.echo(json.dumps({**where, "scores": [one.record() for one in scores]}))
    else:
        _print(scores, texts, table=given["table"])


def _print(scores: list[Score], texts: Texts, *, table: bool) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)
    tables = paper_tables(scores) if table else [TitledTable("", plain_table(scores))]
    for number, shown in enumerate(tables):
        if number:
            console.print()
        if shown.title:
            console.print(shown.title, style="bold")
        console.print(shown.table)
    causes: dict[str, int] = dict(texts.left_out)
    for one in scores:
        causes |= {cause: max(count, causes.get(cause, 0)) for cause, count in one.left_out.items()}
    for cause, count in causes.items():
        click.echo(f"{texts.source}: {count:,} {cause}", err=True)
    if table and not comparable(scores):
        click.echo(NOT_COMPARABLE, err=True)
    if table and not any(one.strategy == "lm" for one in scores if one.granularity == "sentence"):
        click.echo("Length is relative to the examples of an LM: score an LM, too, to see it.", err=True)
    if len({one.mask for one in scores if one.granularity == "mixture"}) > 1:
        click.echo("Each mixture is that of the checkpoint's own mask: they cannot be compared.", err=True)
    if len({one.vocabulary for one in scores}) > 1:
        click.echo(
            "These checkpoints have different vocabularies: their perplexities cannot be compared.", err=True
        )
