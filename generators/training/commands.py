"""The verb `train`: a model from scratch on a file of stories; killed at any point, the same command goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from humaneval.domain import Story
from humaneval.errors import InputError, PrerequisiteError, UsageError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from generators.training.loop import Report

F = TypeVar("F", bound=Callable[..., Any])
VALIDATION_SHARE = 20
"""Where no validation stories are given, one in so many of the training stories is set aside."""


@click.group()
def train() -> None:
    """Train a model on stories: lm or ilm."""


def _options(function: F) -> F:
    for option in reversed(
        (
            click.option(
                "--stories",
                type=click.Path(path_type=Path, exists=True, dir_okay=False),
                help="The training stories.",
            ),
            click.option(
                "--valid",
                type=click.Path(path_type=Path, exists=True, dir_okay=False),
                help="The validation stories; else some of the training stories are set aside.",
            ),
            click.option("--bundled", is_flag=True, help="Train on the stories that come with the toolkit."),
            click.option("--skip-bad", is_flag=True, help="Leave out stories that cannot be used."),
            click.option(
                "--out",
                type=click.Path(path_type=Path, file_okay=False),
                required=True,
                help="The checkpoint's folder.",
            ),
            click.option(
                "--minutes",
                type=click.FloatRange(min=0, min_open=True),
                default=10.0,
                show_default=True,
                help="Of training, resumed runs included.",
            ),
            click.option(
                "--steps", type=click.IntRange(min=1), default=1_000_000, help="At most so many steps."
            ),
            click.option("--layers", type=click.IntRange(1, 48), default=4, show_default=True),
            click.option("--width", type=click.IntRange(16, 4096), default=256, show_default=True),
            click.option("--heads", type=click.IntRange(1, 64), default=4, show_default=True),
            click.option(
                "--vocabulary",
                type=click.IntRange(300, 60_000),
                default=8000,
                show_default=True,
                help="Tokens of the vocabulary made from the stories.",
            ),
            click.option(
                "--tokenizer",
                type=click.Path(path_type=Path, exists=True, dir_okay=False),
                help="A tokenizer.json instead of a vocabulary of its own.",
            ),
            click.option(
                "--batch",
                type=click.IntRange(1, 1024),
                default=16,
                show_default=True,
                help="Documents in a step.",
            ),
            click.option(
                "--lr",
                "learning_rate",
                type=click.FloatRange(min=0, min_open=True),
                default=1e-3,
                show_default=True,
            ),
            click.option("--dropout", type=click.FloatRange(0, 0.9), default=0.1, show_default=True),
            click.option(
                "--evaluate-every",
                type=click.IntRange(min=1),
                default=100,
                show_default=True,
                help="Steps between evaluations, and between saved states.",
            ),
            click.option(
                "--patience",
                type=click.IntRange(min=0),
                default=0,
                show_default=True,
                help="Stop after so many evaluations without a better one; 0: never.",
            ),
            click.option("--seed", type=int, default=0, show_default=True),
            click.option("--device", default="auto", show_default=True),
            click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text."),
        )
    ):
        function = option(function)
    return function


@train.command()
@_options
def lm(**options: Any) -> None:
    """Train a left-to-right language model from scratch."""
    _train("lm", options)


@train.command()
@_options
def ilm(**options: Any) -> None:
    """Train a model from scratch to fill in blanks: infilling by language modelling."""
    _train("ilm", options)


def _train(kind: str, options: dict[str, Any]) -> None:
    try:
        from generators.infilling import pick_device
        from generators.training.corpus import build_corpus
        from generators.training.loop import Plan
        from generators.training.loop import train as run

        device = pick_device(options["device"])
    except ModuleNotFoundError as error:
        raise PrerequisiteError(
            f"training needs the package {error.name}", "pip install 'humaneval-toolkit[models]'"
        ) from None
    training, validation = _stories(options)
    plan = Plan(
        kind=kind,
        **{
            name: options[name]
            for name in (
                "layers",
                "width",
                "heads",
                "dropout",
                "learning_rate",
                "batch",
                "seed",
                "minutes",
                "steps",
                "evaluate_every",
                "patience",
            )
        },
    )
    tokenizer = _tokenizer(options, training)
    corpus, held_out = build_corpus(training, tokenizer), build_corpus(validation, tokenizer)
    click.echo(
        f"{kind} from scratch: {len(corpus.documents):,} stories, {len(held_out.documents):,} for validation, "
        f"{tokenizer.get_vocab_size():,} tokens, {plan.layers} layers of {plan.width} on {device}",
        err=True,
    )
    with _bar(kind) as show:
        progress = run(options["out"], plan, corpus, held_out, tokenizer, device=device, report=show)
    if options["as_json"]:
        import json

        click.echo(
            json.dumps(
                {
                    "kind": kind,
                    "checkpoint": str(options["out"]),
                    "steps": progress.step,
                    "tokens": progress.tokens,
                    "seconds": round(progress.seconds, 1),
                    "masked_perplexity": progress.best,
                    "best_step": progress.best_step,
                }
            )
        )
    else:
        click.echo(
            f"{progress.step} steps, {progress.tokens:,} tokens in {progress.seconds / 60:.1f} min; masked text has perplexity {progress.best:.1f} "
            f"at step {progress.best_step}: {options['out']}"
        )


def _stories(options: dict[str, Any]) -> tuple[list[Story], list[Story]]:
    from humaneval.stories import bundled_stories, read_stories

    if options["bundled"] == (options["stories"] is not None):
        raise UsageError("name the training stories with --stories FILE, or say --bundled")
    if options["bundled"]:
        found = bundled_stories()
        return [s for s in found if s.split == "train"], [s for s in found if s.split == "valid"]

    def read(path: Path) -> list[Story]:
        reading = read_stories(path)
        if reading.problems and not options["skip_bad"]:
            raise InputError(
                f"{len(reading.problems)} stories cannot be used, the first: {reading.problems[0]}",
                "Mend them, or leave them out with --skip-bad.",
            )
        if reading.problems:
            click.echo(
                f"{path}: {len(reading.problems)} stories left out, the first: {reading.problems[0]}",
                err=True,
            )
        return list(reading.stories)

    stories = read(options["stories"])
    if options["valid"] is not None:
        return stories, read(options["valid"])
    if len(stories) < 2:
        raise InputError(
            f"{options['stories']} has {len(stories)} story: none is left for validation",
            "Give more, or validation stories with --valid.",
        )
    held_out = stories[::VALIDATION_SHARE]
    return [story for number, story in enumerate(stories) if number % VALIDATION_SHARE], held_out


def _tokenizer(options: dict[str, Any], stories: list[Story]) -> Tokenizer:
    from tokenizers import Tokenizer

    from generators.checkpoints import TOKENIZER
    from generators.masking import story_document
    from generators.training.corpus import train_tokenizer

    if options["tokenizer"] is not None:
        return Tokenizer.from_file(str(options["tokenizer"]))
    made = options["out"] / TOKENIZER
    tokenizer = train_tokenizer([story_document(story).text for story in stories], options["vocabulary"])
    made.parent.mkdir(parents=True, exist_ok=True)
    return tokenizer


def _bar(kind: str) -> Any:
    """A bar on stderr with loss, tokens a second and time left; silent when piped."""
    from contextlib import contextmanager

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    @contextmanager
    def shown() -> Any:
        console = Console(stderr=True)
        if not console.is_terminal:
            yield lambda line: None
            return
        columns = (
            TextColumn(f"Training {kind}"),
            BarColumn(),
            TextColumn("{task.percentage:.0f} %"),
            TextColumn("{task.fields[words]}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            at = bar.add_task("", total=1.0, words="")
            perplexity = ""

            def show(line: Report) -> None:
                nonlocal perplexity
                if line.perplexity is not None:
                    perplexity = f", perplexity {line.perplexity:.1f}"
                left = line.seconds * (1 - line.fraction) / max(line.fraction, 1e-9)
                bar.update(
                    at,
                    completed=line.fraction,
                    words=f"loss {line.loss:.2f}{perplexity}, {line.tokens_per_second:,.0f} tokens/s, {left / 60:.1f} min left",
                )

            yield show

    return shown()
