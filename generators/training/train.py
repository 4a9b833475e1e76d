"""The verb `train`: one command for every kind of model. After a kill at any point, the same command
continues."""

from __future__ import annotations

from typing import Any

import click

from generators.devices import pick_device
from generators.training.options import KindCommand, options
from generators.training.train_bert import train_bert
from generators.training.train_causal import train_causal
from humaneval.errors import PrerequisiteError, UsageError


@click.command(cls=KindCommand)
@options
def train(kind: str, **given: Any) -> None:
    """Train a model to fill in blanks: ilm, lm, lm-rev, lm-all, sa or bert.

    \b
    KIND is one of:
      ilm     The text with its blanks, then what belongs in each.
      lm      Left to right: the model sees the text before a blank.
      lm-rev  Right to left: the model sees the text after a blank.
      lm-all  The text with its blanks, then the whole text again.
      sa      Self-attention text infilling, from scratch on stories.
      bert    A masked language model: a text's hidden pieces from the others.

    Run the same command again to continue an interrupted training; bert starts from the beginning. Started by
    torchrun (`torchrun --nproc-per-node 2 -m humaneval train ilm …`), the processes share every step of ilm,
    lm, lm-rev and lm-all. `humaneval train KIND --help` shows the options of one kind.
    """
    if kind != "sa" and bool(given["base"]) == given["from_scratch"]:
        example = "bert-base-cased" if kind == "bert" else "gpt2 as in the paper"
        raise UsageError(
            "say what to start from", f"Give --from-scratch, or --from NAME: {example}, or a local folder."
        )
    try:
        device = pick_device(given["device"])
        if kind == "sa":
            from generators.training.train_sa import train_sa  # brings torch
    except ModuleNotFoundError as error:
        raise PrerequisiteError(
            f"training needs the package {error.name}", "pip install 'humaneval-toolkit[models]'"
        ) from None
    if kind == "sa":
        train_sa(given, device)
    elif kind == "bert":
        train_bert(given, device)
    else:
        train_causal(kind, given, device)
