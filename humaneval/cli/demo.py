"""`demo`: a small study from stories to report, on this machine."""

from __future__ import annotations

import time
from pathlib import Path

import click

from humaneval.cli.context import say
from humaneval.cli.main import cli
from humaneval.cli.output_files import NamedPath
from humaneval.running.demo import STUDY, run_demo
from humaneval.text import command, shell_words


@click.command()
@click.option(
    "--out",
    "folder",
    type=NamedPath(file_okay=False),
    default=Path("demo"),
    show_default=True,
    help="Folder for everything that the demo writes.",
)
@click.option("--quick", is_flag=True, help="Train no models and use fewer annotators: under 20 seconds.")
@click.option("--me", is_flag=True, help="Open the worker site and wait for you, instead of simulating.")
def demo(folder: Path, quick: bool, me: bool) -> None:
    """Run a whole small study here, with simulated annotators or with you.

    Trains a small LM and a small ILM on the bundled stories. Then designs a study of stories that the models
    have not seen, publishes it on a marketplace of its own, collects answers, scores them and writes a
    report. You can delete the folder afterwards.
    """
    started = time.monotonic()
    report = run_demo(folder, quick=quick, me=me, run_verb=_run_verb, say=say)
    say()
    if report is not None:
        say(f"Report: {report.resolve()}")
    say(
        f"Done in {time.monotonic() - started:.0f} s. Everything is in {folder}/; look around with: cd"
        f" {shell_words(str(folder))} && {command('status', STUDY)}"
    )


def _run_verb(*words: str) -> None:
    """Run a verb as a person would type it, and show what was typed."""
    click.secho(f"\n$ humaneval {shell_words(*words)}", bold=True)
    cli.main(args=list(words), prog_name="humaneval", standalone_mode=False)
