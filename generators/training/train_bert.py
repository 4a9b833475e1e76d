"""`train bert`: a masked language model on stories. Only whole runs are kept."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from generators.checkpoints.pretrained import find_folder
from generators.masked.masked_lm import DEFAULT, open_masked_lm
from generators.training.bert_run import new_masked_lm, save_masked_lm, train_masked_lm
from generators.training.corpus import sound_stories
from generators.training.showing import training_bar
from humaneval.errors import UsageError

MINUTES, BATCH, RATE = 10.0, 32, 1e-4


def train_bert(given: dict[str, Any], device: str) -> None:
    """Train a BERT as the options say, and print the result."""
    base, out, minutes = given["base"], given["out"], given["minutes"] or MINUTES
    if not given["stories"]:
        raise UsageError("name what to train on", "Give --stories FILE.")
    if out.exists() and any(out.iterdir()):
        raise UsageError(f"{out} is not empty", "Name another folder with --out.")
    stories, left_out = sound_stories(given["stories"], skip_bad=given["skip_bad"])
    for cause, count in left_out.items():
        click.echo(f"{given['stories']}: {count:,} {cause}", err=True)
    with TemporaryDirectory() as room:
        if base is None:
            new_masked_lm(Path(room), stories, seed=given["seed"])
        source = find_folder(base or room, example=DEFAULT)
        opened = open_masked_lm(base or room, device)
        with training_bar("bert") as show:
            result = train_masked_lm(
                opened,
                stories,
                minutes=minutes,
                steps=given["steps"],
                batch=given["batch"] or BATCH,
                learning_rate=given["learning_rate"] or RATE,
                seed=given["seed"],
                report=show,
            )
        save_masked_lm(opened, source, out)
    if given["as_json"]:
        found = {"kind": "bert", "checkpoint": str(out), **result._asdict(), "left_out": left_out}
        click.echo(json.dumps(found))
        return
    click.echo(
        f"{result.steps} steps in at most {minutes:g} min, loss {result.loss:.3f} per masked piece: {out}"
    )
