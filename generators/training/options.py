"""The options of `train`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from generators.training.plan import PRESETS

F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


class Number(click.FloatRange):
    """A finite number of a range: nan is in every range of click's."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number.", param, ctx)
        return float(number)


POSITIVE = Number(min=0, min_open=True)
CORPUS = click.option(
    "--corpus",
    type=click.Choice(["abstracts", "lyrics", "texts"]),
    help="What the documents are: lyrics are read as verse. Default: texts.",
)
ON_OFF = click.Choice(["on", "off"])

_OPTIONS = (
    click.option("--stories", type=FILE, help="The training stories."),
    click.option(
        "--valid", type=FILE, help="The validation stories; else one in 20 of the others is set aside."
    ),
    click.option("--bundled", is_flag=True, help="Train on the stories that come with the toolkit."),
    click.option(
        "--documents",
        type=FOLDER,
        help="A folder with train.txt and valid.txt, two blank lines between documents.",
    ),
    CORPUS,
    click.option("--skip-bad", is_flag=True, help="Leave out what cannot be used."),
    click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        required=True,
        help="The checkpoint's folder.",
    ),
    click.option(
        "--from",
        "base",
        metavar="NAME",
        help="Start from gpt2, gpt2-medium, …, another causal LM, or a local folder.",
    ),
    click.option("--from-scratch", is_flag=True, help="Start from random weights."),
    click.option(
        "--preset",
        type=click.Choice(list(PRESETS)),
        help=(
            "What the other options start from: the paper's settings for a corpus, or small: minutes on a"
            " CPU."
        ),
    ),
    click.option(
        "--mask",
        default="hierarchical",
        show_default=True,
        help="The mask function: hierarchical, document, paragraph, sentence, ngram, word, or module:object.",
    ),
    click.option("--parity", is_flag=True, help="Draw masks in the order of the paper's code."),
    click.option(
        "--copies", type=click.IntRange(1, 1000), default=16, show_default=True, help="Masks a document."
    ),
    click.option(
        "--empty-masks", type=ON_OFF, default="on", show_default=True, help="Keep masks without a span."
    ),
    click.option(
        "--context-loss",
        type=ON_OFF,
        default="on",
        show_default=True,
        help="Also learn the text around the blanks.",
    ),
    click.option("--minutes", type=POSITIVE, help="Of training, resumed runs included."),
    click.option("--steps", type=click.IntRange(min=1), help="At most so many steps."),
    click.option("--passes", type=POSITIVE, help="At most so many passes over the documents."),
    click.option(
        "--patience",
        type=click.IntRange(min=0),
        help="Stop after so many evaluations without a better one; 0: never.",
    ),
    click.option(
        "--evaluate-every", type=click.IntRange(min=1), help="Steps between evaluations, and saved states."
    ),
    click.option("--layers", type=click.IntRange(1, 96), help="Layers of the network."),
    click.option("--width", type=click.IntRange(16, 8192), help="Numbers that stand for a token in a layer."),
    click.option(
        "--heads", type=click.IntRange(1, 128), help="Attention heads of a layer; they divide the width."
    ),
    click.option("--dropout", type=Number(0, 0.9), help="The share that training leaves out at random."),
    click.option("--attention-dropout", type=Number(0, 0.9), help="0 lets a GPU use its fastest attention."),
    click.option(
        "--vocabulary",
        type=click.IntRange(300, 60_000),
        help="From scratch: tokens of a vocabulary made from the corpus.",
    ),
    click.option(
        "--tokenizer",
        metavar="FILE|NAME",
        help="A tokenizer.json or a folder; from scratch also a name: gpt2.",
    ),
    click.option("--batch", type=click.IntRange(1, 65_536), help="Examples in a step."),
    click.option(
        "--micro-batch", type=click.IntRange(min=1), help="Examples worked on at once, where memory is short."
    ),
    click.option("--lr", "learning_rate", type=POSITIVE, help="The learning rate at its highest."),
    click.option("--warm-up", type=click.IntRange(min=0), help="Steps in which the rate rises."),
    click.option(
        "--decay/--no-decay", default=None, help="Whether the rate then falls to 0 at the end of the budget."
    ),
    click.option("--weight-decay", type=Number(min=0), help="How strongly weights are drawn to 0."),
    click.option(
        "--precision", type=click.Choice(["auto", "fp32", "bf16"]), help="auto: bf16 on a GPU, else fp32."
    ),
    click.option(
        "--compile/--no-compile", default=None, help="Compile the model: a minute first, then faster steps."
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**31 - 1),
        default=0,
        show_default=True,
        help="Of everything that is drawn.",
    ),
    click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1, …"),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text."),
)


def options(function: F) -> F:
    """All options of a strategy's command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
