"""The `humaneval` command: finds a verb's file when it is called, and turns errors into one line and an exit
code."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple, TextIO, cast

import click

from humaneval import __version__
from humaneval.errors import HumanEvalError, UsageError

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
    "compensate": ("humaneval.cli.compensate:compensate", "Pay somebody whose work was lost."),
    "notify": ("humaneval.cli.notify:notify", "Write to workers."),
    "worker": ("humaneval.cli.worker:worker", "List, exclude and block workers."),
    "extend": ("humaneval.cli.extend:extend", "Keep a study's HITs up longer."),
    "expire": ("humaneval.cli.extend:expire", "Take a study's HITs down; accepted work may finish."),
    "close": ("humaneval.cli.close:close", "Delete a study's HITs at the platform when all is done."),
    "score": ("humaneval.cli.score:score", "Compute detection scores."),
    "report": ("humaneval.cli.report:report", "Write a self-contained HTML report."),
    "datasheet": ("humaneval.cli.datasheet:datasheet", "Write the Human Evaluation Datasheet, filled in."),
    "export": ("humaneval.cli.export:export", "Write the response table, with pseudonyms."),
    "responses": ("humaneval.cli.responses:responses", "Read other people's judgments."),
    "archive": ("humaneval.cli.archive:archive", "Zip all that recomputes the scores; check such a zip."),
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


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="humaneval")
@click.option("--database", metavar="URL", help="Where everything is kept: a file name or a database URL.")
@click.pass_context
def cli(context: click.Context, database: str | None) -> None:
    """Can people tell that a machine wrote this sentence?

    From a file of stories to a table of detection scores: import stories, let generators fill blanks, design
    a study, publish it, collect what people answer, and score it.
    """
    context.obj = {"database": database}


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors end in one clear line on stderr and their exit code.

    With `--json` an error is a document on stdout, too, unless the verb has printed its own.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Whatever the locale says: stories have curly quotes. File names that it could not read go out as
            # they came.
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    sys.exit(_run(arguments))


class _Heard:
    """A stdout that remembers whether anything was printed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self.printed = stream, False

    def write(self, text: str) -> int:
        self.printed = True
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Failure(NamedTuple):
    """How a verb ended that did not do all it should."""

    kind: str
    message: str
    hint: str
    exit_code: int


def _run(arguments: list[str] | None) -> int:
    if "--json" not in (sys.argv[1:] if arguments is None else arguments):
        return _call(arguments, lambda failure: None)
    heard = _Heard(sys.stdout)

    def document(failure: _Failure) -> None:
        # Some verbs print what they did and then say that a part of it is missing: there is only one
        # document.
        if not heard.printed:
            click.echo(json.dumps({"error": failure._asdict()}, ensure_ascii=False, indent=2))

    with redirect_stdout(cast("TextIO", heard)):
        return _call(arguments, document)


def _plain(message: str) -> str:
    """What click says of a value of the wrong kind, without its names for kinds: `integer range`, for
    example."""
    for kind, words in (("integer|whole number", "whole number"), ("float|number", "number")):
        message = re.sub(rf"is not a valid ({kind})( range)?\.$", f"is not a {words}.", message)
    return message


def _call(arguments: list[str] | None, tell: Callable[[_Failure], None]) -> int:
    """Call the verb. What goes wrong is said on stderr, and to `tell`; a fault of the code keeps its
    traceback."""
    try:
        code: Any = cli.main(args=arguments, prog_name="humaneval", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except HumanEvalError as error:
        failure = _Failure(type(error).__name__, error.message, error.hint, error.exit_code)
        click.echo(f"Error: {failure.message}", err=True)
        if failure.hint:
            click.echo(f"  {failure.hint}", err=True)
    except click.ClickException as error:
        vars(error).update(message=_plain(error.message))
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "humaneval"
        failure = _Failure(
            UsageError.__name__ if isinstance(error, click.UsageError) else type(error).__name__,
            error.format_message(),
            f"See {where} --help.",
            error.exit_code,
        )
        error.show()
    except (click.Abort, KeyboardInterrupt):
        failure = _Failure("Stopped", "Stopped.", "Run the same command again to go on.", 130)
        click.echo(f"{failure.message} {failure.hint}", err=True)
    except OSError as error:
        if error.filename is None:
            tell(_Failure(type(error).__name__, str(error), "", 1))
            raise
        failure = _Failure(type(error).__name__, f"{error.filename}: {error.strerror}", "", 1)
        click.echo(f"Error: {failure.message}", err=True)
    except Exception as error:
        tell(_Failure(type(error).__name__, str(error), "This is a fault of the program.", 1))
        raise
    tell(failure)
    return failure.exit_code
