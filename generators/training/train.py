"""The verb `train`: one command for every kind of model. Killed at any point, the same command goes on."""

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
      ilm     the text with its blanks, then what belongs in each
      lm      left to right: sees what stands before a blank
      lm-rev  right to left: sees what stands behind a blank
      lm-all  the text with its blanks, then the whole text again
      sa      self-attention text infilling, from scratch on stories
      bert    a masked language model: a text's hidden pieces from all others

    Run the same command again to go on with an interrupted training; bert starts anew. Started by torchrun
    (`torchrun --nproc-per-node 2 -m humaneval train ilm …`), the processes share every step of ilm, lm,
    lm-rev and lm-all. `humaneval train KIND --help` shows the options of one kind.
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
