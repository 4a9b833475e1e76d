"""The options of `train` and `perplexity`, each written once; those of `train` know the kinds they go
with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from generators.training import plan, sa_plan
from humaneval.errors import UsageError
from humaneval.text import command

F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
ON_OFF = click.Choice(["on", "off"])
SEEDS = click.IntRange(0, 2**31 - 1)

CAUSAL = ("ilm", "lm", "lm-rev", "lm-all")
KINDS = (*CAUSAL, "sa", "bert")
ALL = frozenset(KINDS)
STARTED = frozenset((*CAUSAL, "bert"))
"""Kinds that start from another model, or from random weights if that is said; SA has no other model."""
EVALUATED = frozenset((*CAUSAL, "sa"))
"""Kinds that are evaluated on the way, and resume where they stopped."""
ONLY_CAUSAL = frozenset(CAUSAL)
WITH_CONTEXT = frozenset(("ilm", "lm-all"))
"""Kinds whose examples have the text around the blanks before the answers."""
ONLY_SA = frozenset(("sa",))


class Number(click.FloatRange):
    """A finite number of a range: nan is in every range of click's."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return float(number)


POSITIVE = Number(min=0, min_open=True)
CORPUS: dict[str, Any] = {
    "type": click.Choice(["abstracts", "lyrics", "texts"]),
    "help": "What the documents are; lyrics are read as verse.  [default: texts]",
}
SKIP_BAD: dict[str, Any] = {"is_flag": True, "help": "Leave out the documents that cannot be used."}
DEVICE: dict[str, Any] = {
    "default": "auto",
    "show_default": True,
    "help": "Device: auto, cpu, cuda, cuda:1, …",
}
JSON: dict[str, Any] = {"is_flag": True, "help": "Print one JSON document instead of text."}


class KindOption(click.Option):
    """An option of `train` that goes with some kinds."""

    def __init__(self, *args: Any, kinds: frozenset[str] = ALL, **more: Any) -> None:
        super().__init__(*args, **more)
        self.kinds = kinds


def named(kinds: Iterable[str]) -> str:
    """Kinds in their order, as a sentence names them.

    >>> named({"sa", "ilm"})
    'ilm and sa'
    """
    *others, last = (kind for kind in KINDS if kind in kinds)
    return f"{', '.join(others)} and {last}" if others else last


class KindCommand(click.Command):
    """A command whose first argument is a kind: each option is listed under the kinds that it goes with."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments. Raises UsageError for an option of other kinds than the one that is named."""
        # Help is asked for before the kind is read.
        ctx.meta["kind"] = args[0] if args and args[0] in KINDS else None
        rest = super().parse_args(ctx, args)
        for option in self.params:
            if not isinstance(option, KindOption) or ctx.params["kind"] in option.kinds:
                continue
            if ctx.get_parameter_source(str(option.name)) is click.core.ParameterSource.COMMANDLINE:
                raise UsageError(
                    f"{option.opts[0]} goes with {named(option.kinds)}, not with {ctx.params['kind']}",
                    f"See `{command('train', ctx.params['kind'], '--help')}`.",
                )
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The kind comes first."""
        return ["KIND", "[OPTIONS]"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in sections, or those of one kind alone: `humaneval train sa --help`."""
        kind = ctx.meta.get("kind")
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            if not isinstance(option, click.Option):
                continue
            record = option.get_help_record(ctx)
            kinds = option.kinds if isinstance(option, KindOption) else ALL
            if record is None or (kind and kind not in kinds):
                continue
            title = "every kind" if kinds == ALL else named(kinds)
            sections.setdefault(f"Options of {kind or title}", []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def _option(*names: str, kinds: frozenset[str] = ALL, **more: Any) -> Callable[[F], F]:
    return click.option(*names, cls=KindOption, kinds=kinds, **more)


_OPTIONS = (
    _option("--stories", type=FILE, help="File of training stories."),
    _option("--skip-bad", **SKIP_BAD),
    _option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        required=True,
        help="Folder to write the checkpoint to.",
    ),
    _option(
        "--minutes",
        type=POSITIVE,
        help="Minutes of training at most, those of resumed runs included.  [default for bert: 10]",
    ),
    _option("--steps", type=click.IntRange(min=1), help="Steps of training at most."),
    _option(
        "--plan",
        "only_plan",
        is_flag=True,
        kinds=EVALUATED,
        help="Do not train: measure for some seconds, and say how many steps, tokens and passes the budget"
        " gives here.",
    ),
    _option("--batch", type=click.IntRange(1, 65_536), help="Examples in a step.  [default for bert: 32]"),
    _option("--seed", type=SEEDS, default=0, show_default=True, help="Random seed."),
    _option("--device", **DEVICE),
    _option("--json", "as_json", **JSON),
    _option(
        "--valid",
        type=FILE,
        kinds=EVALUATED,
        help="File of validation stories.  [default: one in 20 of the training stories]",
    ),
    _option(
        "--bundled", is_flag=True, kinds=EVALUATED, help="Train on the stories that come with the toolkit."
    ),
    _option(
        "--preset",
        type=click.Choice(list(dict.fromkeys((*plan.PRESETS, *sa_plan.PRESETS)))),
        kinds=EVALUATED,
        help="Default values of the other options: small learns something in minutes on a CPU; the others are"
        " the paper's settings (for sa: paper; for the others: by corpus).",
    ),
    _option(
        "--evaluate-every",
        type=click.IntRange(min=1),
        kinds=EVALUATED,
        help="Steps between evaluations; each saves the state of the run.",
    ),
    _option("--layers", type=click.IntRange(1, 96), kinds=EVALUATED, help="Layers of the network."),
    _option("--width", type=click.IntRange(16, 8192), kinds=EVALUATED, help="Size of the vector of a token."),
    _option(
        "--heads",
        type=click.IntRange(1, 128),
        kinds=EVALUATED,
        help="Attention heads of a layer; the width is a multiple of them.",
    ),
    _option("--dropout", type=Number(0, 0.9), kinds=EVALUATED, help="Dropout probability."),
    _option(
        "--vocabulary",
        type=click.IntRange(10, 1_000_000),
        kinds=EVALUATED,
        help="Size of the vocabulary that is made from the training texts: words for sa; tokens for the"
        " others, from scratch only.",
    ),
    _option("--warm-up", type=click.IntRange(min=0), kinds=EVALUATED, help="Steps in which the rate rises."),
    _option(
        "--from",
        "base",
        metavar="NAME",
        kinds=STARTED,
        help="Start from this model: a hub id such as gpt2, for bert bert-base-cased, or a folder.",
    ),
    _option("--from-scratch", is_flag=True, kinds=STARTED, help="Start from random weights."),
    _option(
        "--lr",
        "learning_rate",
        type=POSITIVE,
        kinds=STARTED,
        help="Highest learning rate.  [default for bert: 0.0001; small models can take 0.001]",
    ),
    _option(
        "--documents",
        type=FOLDER,
        kinds=ONLY_CAUSAL,
        help="Folder with train.txt and valid.txt, two blank lines between documents.",
    ),
    _option("--corpus", kinds=ONLY_CAUSAL, **CORPUS),
    _option(
        "--mask",
        default="hierarchical",
        show_default=True,
        kinds=ONLY_CAUSAL,
        help="Mask function: hierarchical, document, paragraph, sentence, ngram, word, or module:object.",
    ),
    _option("--parity", is_flag=True, kinds=ONLY_CAUSAL, help="Draw masks in the order of the paper's code."),
    _option(
        "--copies",
        type=click.IntRange(1, 1000),
        default=16,
        show_default=True,
        kinds=ONLY_CAUSAL,
        help="Masks per document.",
    ),
    _option(
        "--empty-masks",
        type=ON_OFF,
        default="on",
        show_default=True,
        kinds=ONLY_CAUSAL,
        help="Keep masks without a span.",
    ),
    _option(
        "--loss",
        metavar="LOSS",
        kinds=WITH_CONTEXT,
        help="With two-means, as in the paper, answers and the text around them have a mean each. With"
        " one-mean they share one. With answers=W, an answer's token counts W times in it. With answers, the"
        " text around them does not count.  [default: two-means; one-mean with the preset small]",
    ),
    _option(
        "--plain-rows",
        type=Number(0, 1, max_open=True),
        kinds=frozenset(("ilm",)),
        help="Share of the examples that are read without blanks, as lm reads them.  [default: 0]",
    ),
    _option("--passes", type=POSITIVE, kinds=ONLY_CAUSAL, help="Passes over the documents at most."),
    _option(
        "--patience",
        type=click.IntRange(min=0),
        kinds=ONLY_CAUSAL,
        help="Evaluations without a better one after which training stops; 0: never.",
    ),
    _option(
        "--attention-dropout",
        type=Number(0, 0.9),
        kinds=ONLY_CAUSAL,
        help="Dropout probability within attention; 0 lets a GPU use its fastest attention.",
    ),
    _option(
        "--tokenizer",
        metavar="FILE|NAME",
        kinds=ONLY_CAUSAL,
        help="File tokenizer.json or its folder; from scratch also a hub id such as gpt2.",
    ),
    _option(
        "--micro-batch",
        type=click.IntRange(min=1),
        kinds=ONLY_CAUSAL,
        help="Examples that are processed at once, if memory is short.",
    ),
    _option(
        "--decay/--no-decay",
        default=None,
        kinds=ONLY_CAUSAL,
        help="Let the rate fall to 0 at the end of the budget.",
    ),
    _option("--weight-decay", type=Number(min=0), kinds=ONLY_CAUSAL, help="Weight decay of AdamW."),
    _option(
        "--precision",
        type=click.Choice(["auto", "fp32", "bf16"]),
        kinds=ONLY_CAUSAL,
        help="Precision of the computation; auto is bf16 on a GPU, else fp32.",
    ),
    _option(
        "--compile/--no-compile",
        default=None,
        kinds=ONLY_CAUSAL,
        help="Compile the model: it takes a minute, and steps are then faster.",
    ),
    _option(
        "--hidden", type=click.IntRange(16, 65_536), kinds=ONLY_SA, help="Width of the feed-forward layers."
    ),
    _option(
        "--scale-template/--no-scale-template",
        default=None,
        kinds=ONLY_SA,
        help="Scale the embeddings of the template as those of the answer.",
    ),
    _option("--lr-scale", type=POSITIVE, kinds=ONLY_SA, help="Factor of the learning rate's schedule."),
)


def options(function: F) -> F:
    """All options of `train`, after the kind."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return click.argument("kind", type=click.Choice(KINDS), metavar="KIND")(function)
