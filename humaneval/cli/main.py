"""The `humaneval` command: imports a verb when it is called, and turns errors into exit codes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from importlib.metadata import entry_points
from typing import Any, NamedTuple, TextIO, cast

import click

from humaneval import __version__
from humaneval.cli.groups import LazyGroup, Target
from humaneval.errors import HumanEvalError, UsageError
from humaneval.text import use_global_options, without_password

SECTIONS: dict[str, dict[str, str]] = {
    "Prepare": {
        "init": "humaneval.cli.init:init",
        "demo": "humaneval.cli.demo:demo",
        "doctor": "humaneval.cli.doctor:doctor",
        "stories": "humaneval.cli.stories:stories",
        "generators": "humaneval.cli.generators:generators",
        "generate": "humaneval.cli.generate:generate",
        "study": "humaneval.cli.study:study",
    },
    "Train": {},
    "Run": {
        "market": "humaneval.cli.market:market",
        "serve": "humaneval.cli.serve:serve",
        "publish": "humaneval.cli.publish:publish",
        "simulate": "humaneval.cli.simulate:simulate",
        "status": "humaneval.cli.status:status",
        "collect": "humaneval.cli.collect:collect",
        "extend": "humaneval.cli.extend:extend",
        "expire": "humaneval.cli.extend:expire",
        "close": "humaneval.cli.close:close",
    },
    "Review and pay": {
        "review": "humaneval.cli.review:review",
        "approve": "humaneval.cli.approve:approve",
        "reject": "humaneval.cli.approve:reject",
        "bonus": "humaneval.cli.bonus:bonus",
        "compensate": "humaneval.cli.compensate:compensate",
        "notify": "humaneval.cli.notify:notify",
        "worker": "humaneval.cli.worker:worker",
    },
    "Analyse": {
        "score": "humaneval.cli.score:score",
        "report": "humaneval.cli.report:report",
        "datasheet": "humaneval.cli.datasheet:datasheet",
        "export": "humaneval.cli.export:export",
        "archive": "humaneval.cli.archive:archive",
        "responses": "humaneval.cli.responses:responses",
    },
    "Maintain": {
        "config": "humaneval.cli.config:config",
        "db": "humaneval.cli.db:db",
    },
}
"""Section of `--help` → verb → where its code is. What the verb does stands in its docstring alone."""

VERBS = {verb: Target(code, section) for section, verbs in SECTIONS.items() for verb, code in verbs.items()}

PLUGINS = "humaneval.commands"
"""The entry-point group by which `generators` and other packages add verbs."""
MODELS, OTHERS = "Train", "Added by other packages"
"""The sections for these."""


class Verbs(LazyGroup):
    """The verbs of the toolkit, and those that packages add."""

    def targets(self) -> Mapping[str, Target]:
        found = dict(VERBS)
        for point in sorted(entry_points(group=PLUGINS)):
            section = MODELS if point.module.startswith("generators.") else OTHERS
            found.setdefault(point.name, Target(f"{point.module}:{point.attr}", section))
        order = [*SECTIONS, OTHERS]
        return dict(sorted(found.items(), key=lambda item: order.index(item[1].section)))

    def find(self, name: str) -> Target | None:
        return super().find(name) or self.targets().get(name)


@click.group(
    cls=Verbs,
    targets=VERBS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="humaneval")
@click.option("--database", metavar="URL", help="Database for everything: a file name or a URL.")
@click.pass_context
def cli(context: click.Context, database: str | None) -> None:
    """Can people tell that a machine wrote this sentence?

    From a file of stories to a table of detection scores: import stories, let generators fill blanks, design
    a study, publish it, collect the answers, and score them.
    """
    context.obj = {"database": database}
    use_global_options(*([] if database is None else ["--database", without_password(database)]))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. An error ends in one clear line on stderr and its exit code.

    With `--json`, an error is also a document on stdout, unless the verb has printed its own.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Stories have curly quotes, whatever the locale is. File names that it cannot read are printed as
            # they are.
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    sys.exit(_run(arguments))


class _Watched:
    """A stdout that remembers whether anything was printed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self.printed = stream, False

    def write(self, text: str) -> int:
        self.printed = True
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Failure(NamedTuple):
    """How a verb ended that did not do everything it should."""

    kind: str
    message: str
    hint: str
    exit_code: int


def _run(arguments: list[str] | None) -> int:
    if "--json" not in (sys.argv[1:] if arguments is None else arguments):
        return _call(arguments, lambda failure: None)
    watched = _Watched(sys.stdout)

    def document(failure: _Failure) -> None:
        # Some verbs print what they did and then fail, because a part is missing. There is only one document.
        if not watched.printed:
            click.echo(json.dumps({"error": failure._asdict()}, ensure_ascii=False, indent=2))

    with redirect_stdout(cast("TextIO", watched)):
        return _call(arguments, document)


def _plain(message: str) -> str:
    """What click says about a value of the wrong kind, without its names for kinds (`integer range`)."""
    for kind, words in (("integer|whole number", "whole number"), ("float|number", "number")):
        message = re.sub(rf"is not a valid ({kind})( range)?\.$", f"is not a {words}.", message)
    return message


def _call(arguments: list[str] | None, tell: Callable[[_Failure], None]) -> int:
    """Call the verb. An error goes to stderr and to `tell`; a fault of the program keeps its traceback."""
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
        failure = _Failure("Stopped", "Stopped.", "Run the same command again to continue.", 130)
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
