"""The verb `train sa`: the self-attention model, from scratch on stories."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from generators.training.options import FILE, POSITIVE, Number
from generators.training.plan import readable
from generators.training.sa_plan import PASSES, PRESETS, Architecture, Plan
from humaneval.errors import InputError, PrerequisiteError


@click.command()
@click.option("--stories", type=FILE, help="The training stories.")
@click.option("--valid", type=FILE, help="The validation stories; else one in 20 of the others is set aside.")
@click.option("--bundled", is_flag=True, help="Train on the stories that come with the toolkit.")
@click.option("--skip-bad", is_flag=True, help="Leave out what cannot be used.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="The checkpoint's folder."
)
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    default="paper",
    show_default=True,
    help="What the other options start from: the paper's settings, or small: minutes on a CPU.",
)
@click.option("--minutes", type=POSITIVE, help="Of training, resumed runs included.")
@click.option("--steps", type=click.IntRange(min=1), help=f"At most so many steps; paper: {PASSES} passes.")
@click.option(
    "--evaluate-every", type=click.IntRange(min=1), help="Steps between evaluations, and saved states."
)
@click.option("--layers", type=click.IntRange(1, 96), help="Layers of the network.")
@click.option("--width", type=click.IntRange(16, 8192), help="Numbers that stand for a word in a layer.")
@click.option(
    "--heads", type=click.IntRange(1, 128), help="Attention heads of a layer; they divide the width."
)
@click.option("--hidden", type=click.IntRange(16, 65_536), help="Width of the feed-forward part.")
@click.option("--dropout", type=Number(0, 0.9), help="The share that training leaves out at random.")
@click.option(
    "--scale-template/--no-scale-template",
    default=None,
    help="Scale the template's words as the answer's are.",
)
@click.option("--words", type=click.IntRange(10, 1_000_000), help="Entries of the vocabulary.")
@click.option("--batch", type=click.IntRange(1, 65_536), help="Stories in a step.")
@click.option("--lr-scale", type=POSITIVE, help="What the learning rate's schedule is multiplied with.")
@click.option("--warm-up", type=click.IntRange(min=0), help="Steps in which the rate rises.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    help="Of everything that is drawn.",
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1, …")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
def sa(**given: Any) -> None:
    """Train SA, self-attention text infilling: it reads the lower-cased words of a story with one blank, then
    fills it.

    `generate --generator sa --checkpoint DIRECTORY` uses what was trained. Run again, an interrupted training
    goes on.
    """
    try:
        from generators.devices import pick_device
        from generators.training.state import held

        device = pick_device(given["device"])
        with held(given["out"]):
            _run(given, device)
    except ModuleNotFoundError as error:
        raise PrerequisiteError(
            f"training needs the package {error.name}", "pip install 'humaneval-toolkit[models]'"
        ) from None


def _run(given: dict[str, Any], device: str) -> None:
    from generators.self_attention.template import Corpus, read_corpus, sentences_of
    from generators.self_attention.vocabulary import learn
    from generators.training import train as common
    from generators.training.sa_run import train

    # Exactly one of --stories and --bundled: what is said where it is not so is the same for all that train
    # on stories.
    sources = {**given, "documents": None, "corpus": None}
    training, validation = common.given_texts(sources, common.corpus_name(sources))
    chosen = PRESETS[given["preset"]] | {name: value for name, value in given.items() if value is not None}
    architecture = Architecture(**{f.name: chosen[f.name] for f in fields(Architecture) if f.name in chosen})
    vocabulary = learn(
        (words for text in training.documents for words in sentences_of(text)), chosen["words"]
    )

    def read(texts: Any) -> Corpus:
        corpus = read_corpus(texts.documents, vocabulary)
        for cause, count in {**texts.left_out, **corpus.left_out}.items():
            click.echo(f"{texts.source}: {count:,} {cause}", err=True)
        if not len(corpus):
            raise InputError(
                f"none of the {len(texts.documents)} documents of {texts.source} can be used",
                "Give stories of two sentences at least.",
            )
        return corpus

    corpus, held_out = read(training), read(validation)
    if "steps" not in chosen and "minutes" not in chosen:
        chosen["steps"] = PASSES * -(-len(corpus) // chosen.get("batch", 400))
    plan = Plan(**{f.name: chosen[f.name] for f in fields(Plan) if f.name in chosen})
    click.echo(
        f"sa: {len(corpus):,} stories, {len(held_out):,} for validation, {len(vocabulary):,} words on"
        f" {device}",
        err=True,
    )
    with common.training_bar("sa", shown=True) as show:
        progress = train(
            given["out"], architecture, plan, vocabulary, corpus, held_out, device=device, report=show
        )
    common.plot(given["out"], "sa")
    found = {
        "kind": "sa",
        "checkpoint": str(given["out"]),
        "steps": progress.step,
        "tokens": progress.tokens,
        "seconds": round(progress.seconds, 1),
        "masked_perplexity": progress.best,
        "best_step": progress.best_step,
        "left_out": {**training.left_out, **corpus.left_out},
    }
    if given["as_json"]:
        click.echo(json.dumps(found))
        return
    click.echo(
        f"{progress.step} steps, {progress.tokens:,} words in {progress.seconds / 60:.1f} min; masked"
        f" sentences have perplexity {readable(progress.best)} a word at step {progress.best_step}:"
        f" {given['out']}"
    )
