"""The `humaneval` command: finds a verb's file when it is called, and turns errors into one line and an exit code."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import click

from humaneval import __version__
from humaneval.errors import HumanEvalError

VERBS: dict[str, tuple[str, str]] = {
    "init": ("humaneval.cli.init:init", "Write a commented humaneval.toml and study.toml."),
    "demo": ("humaneval.cli.demo:demo", "Run a whole small study with simulated annotators."),
    "doctor": ("humaneval.cli.doctor:doctor", "Check this machine; rehearse a study before it is published."),
    "stories": ("humaneval.cli.stories:stories", "Import, list and show stories."),
    "generators": ("humaneval.cli.generators:generators", "List, check or forget generators."),
    "generate": ("humaneval.cli.generate:generate", "Fill blanks: write infills into the database."),
    "study": ("humaneval.cli.study:study", "Create, show, preview and audit studies."),
    "serve": ("humaneval.cli.serve:serve", "Serve the annotators' forms."),
    "market": ("humaneval.cli.market:market", "Run the self-hosted, MTurk-compatible marketplace."),
    "publish": ("humaneval.cli.publish:publish", "Put a study up at local, sandbox or production."),
    "status": ("humaneval.cli.status:status", "Say how far a study is and what it has cost."),
    "simulate": ("humaneval.cli.simulate:simulate", "Let simulated annotators answer a study."),
    "collect": ("humaneval.cli.collect:collect", "Fetch submitted work."),
    "review": ("humaneval.cli.review:review", "Look through collected work; approve it."),
    "approve": ("humaneval.cli.approve:approve", "Approve submitted work; undo a rejection."),
    "reject": ("humaneval.cli.approve:reject", "Reject submitted work, with a reason."),
    "bonus": ("humaneval.cli.bonus:bonus", "Pay a bonus, once."),
    "compensate": ("humaneval.cli.notify:compensate", "Pay somebody whose work was lost."),
    "notify": ("humaneval.cli.notify:notify", "Write to workers."),
    "worker": ("humaneval.cli.worker:worker", "List, exclude and block workers."),
    "extend": ("humaneval.cli.extend:extend", "Keep a study's HITs up longer."),
    "expire": ("humaneval.cli.extend:expire", "Take a study's HITs down; accepted work may finish."),
    "close": ("humaneval.cli.close:close", "Delete a study's HITs at the platform when all is done."),
    "score": ("humaneval.cli.score:score", "Compute detection scores."),
    "report": ("humaneval.cli.report:report", "Write a self-contained HTML report."),
    "export": ("humaneval.cli.export:export", "Write the response table, with pseudonyms."),
    "responses": ("humaneval.cli.responses:responses", "Read other people's judgments."),
    "db": ("humaneval.cli.db:db", "Upgrade, copy or check the database."),
    "config": ("humaneval.cli.config:config", "Show settings and where they come from."),
}
"""Verb → where its code is, and its line in `--help`, so that help imports none of it."""

PLUGINS = "humaneval.commands"
"""The entry-point group by which `generators` and other packages add verbs."""
LINES = {
    "train": "Train a model to fill in blanks: ilm, lm, lm-rev or lm-all.",
    "perplexity": "Say how well checkpoints predict masked text.",
}
"""Lines in `--help` for the verbs of `generators`, which is not imported for it."""


class Verbs(click.Group):
    """A group that imports a verb's module only when the verb is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*VERBS, *sorted(point.name for point in entry_points(group=PLUGINS))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in VERBS:
            module, _, attribute = VERBS[cmd_name][0].partition(":")
            command: click.Command = getattr(import_module(module), attribute)
            return command
        for point in entry_points(group=PLUGINS, name=cmd_name):
            plugin: click.Command = point.load()
            return plugin
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = [
            (name, VERBS[name][1] if name in VERBS else LINES.get(name, "(from another package)"))
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(lines)


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="humaneval")
@click.option("--database", metavar="URL", help="Where everything is kept: a file name or a database URL.")
@click.pass_context
def cli(context: click.Context, database: str | None) -> None:
    """Can people tell that a machine wrote this sentence?

    From a file of stories to a table of detection scores: import stories, let generators fill blanks, design a
    study, publish it, collect what people answer, and score it.
    """
    context.obj = {"database": database}


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors end in one clear line on stderr and their exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Whatever the locale says: stories have curly quotes. File names that it could not read go out as they came.
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    try:
        code: Any = cli.main(args=arguments, prog_name="humaneval", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except HumanEvalError as error:
        click.echo(f"Error: {error.message}", err=True)
        if error.hint:
            click.echo(f"  {error.hint}", err=True)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped. Run the same command again to go on.", err=True)
        return 130
    except OSError as error:
        if error.filename is None:
            raise
        click.echo(f"Error: {error.filename}: {error.strerror}", err=True)
        return 1
