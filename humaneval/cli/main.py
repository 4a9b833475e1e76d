"""The `humaneval` command: imports a verb when it is called, and turns errors into exit codes."""

from __future__ import annotations

import codecs
import errno
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib.metadata import entry_points
from typing import Any, NamedTuple, TextIO, cast

import click

from humaneval import __version__
from humaneval.cli.groups import LazyGroup, Target
from humaneval.errors import DeclinedError, HumanEvalError, UsageError
from humaneval.plugins import at_work
from humaneval.text import printable, shell_words, use_global_options, without_password

SECTIONS: dict[str, dict[str, str]] = {
    "Prepare": {
        "init": "humaneval.cli.init:init",
        "demo": "humaneval.cli.demo:demo",
        "doctor": "humaneval.cli.doctor:doctor",
        "stories": "humaneval.cli.stories:stories",
        "generators": "humaneval.cli.generators:generators",
        "questions": "humaneval.cli.questions:questions",
        "generate": "humaneval.cli.generate:generate",
        "infill": "humaneval.cli.infill:infill",
        "study": "humaneval.cli.study:study",
    },
    "Train": {},
    "Run": {
        "up": "humaneval.cli.up:up",
        "market": "humaneval.cli.market:market",
        "prolific": "humaneval.cli.prolific:prolific",
        "serve": "humaneval.cli.serve:serve",
        "publish": "humaneval.cli.publish:publish",
        "listen": "humaneval.cli.listen:listen",
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
        "ask-return": "humaneval.cli.ask_return:ask_return",
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


BLAS_THREADS = "OPENBLAS_NUM_THREADS"
"""Unless this is set, numpy and scipy compute in one thread. Our matrices are small: on a busy machine,
threads that wait for each other take two to a hundred times the work. numpy reads it when it is imported.
What computes with torch keeps its threads."""
CANNOT_WRITE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EPIPE, errno.EIO, errno.EROFS})
"""Errors of writing, for which Python names no file."""


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
        if name in VERBS and name != "generate":
            os.environ.setdefault(BLAS_THREADS, "1")
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


_PRINTED = "humaneval.printed"


def _printed(error: UnicodeError) -> tuple[str | bytes, int]:
    """File names that nobody can read are printed as they are, and halves of a character by their number."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


codecs.register_error(_PRINTED, _printed)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. An error ends in one clear line on stderr and its exit code.

    With `--json`, an error is also a document on stdout, unless the verb has printed its own.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Stories have curly quotes, whatever the locale is.
            stream.reconfigure(encoding="utf-8", errors=_PRINTED)
    sys.exit(_run(arguments))


class _Output:
    """A stdout or stderr that remembers whether anything was printed, and goes nowhere once it cannot be
    written.

    click and rich would end the program for a pipe that nobody reads, in the middle of its work.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream, self.printed = stream, False
        self.error: OSError | None = None
        """Why the rest is lost, if it is."""

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("only text can be printed")  # click tries out what a stream takes
        if text and self is sys.stdout and at_work():
            sys.stderr.write(text)
        elif text:
            self.printed = True
            self._try(lambda stream: stream.write(text))
        return len(text)

    def flush(self) -> None:
        if self._stream is not None:
            self._try(lambda stream: stream.flush())

    def _try(self, act: Callable[[TextIO], object]) -> None:
        if self._stream is None:
            self.error = self.error or OSError(errno.EBADF, "it is closed")
        elif self.error is None:
            try:
                act(self._stream)
            except OSError as error:
                self.error = error
                _silence(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Failure(NamedTuple):
    """How a verb ended that did not do everything it should."""

    kind: str
    message: str
    hint: str
    exit_code: int


def _silence(stream: TextIO) -> None:
    """What is left in the buffer goes nowhere. Otherwise Python tries again at the end, and fails."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _run(arguments: list[str] | None) -> int:
    as_json = "--json" in (sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None:
        os.open(os.devnull, os.O_WRONLY)  # so that no file of ours gets the number of the closed output
    output, errors = _Output(sys.stdout), _Output(sys.stderr)

    def document(failure: _Failure) -> None:
        # Some verbs print what they did and then fail, because a part is missing. There is only one document.
        if as_json and not output.printed:
            error = {"error": failure._asdict()}
            click.echo(printable(json.dumps(error, ensure_ascii=False, indent=2)))

    with redirect_stdout(cast("TextIO", output)), redirect_stderr(cast("TextIO", errors)):
        code = _call(arguments, document)
        output.flush()
        lost = output.error
        if lost is not None and lost.errno != errno.EPIPE:  # `| head` is no mistake, and all else was done
            if not code:
                _complain(f"Error: the output cannot be written: {lost.strerror or lost}")
            code = code or 1
        errors.flush()
    return code


def _complain(*lines: str) -> None:
    """Print lines on stderr."""
    for line in lines:
        click.echo(printable(line), err=True)


def _plain(message: str) -> str:
    """What click says about a value of the wrong kind, without its names for kinds (`integer range`)."""
    for kind, words in (("integer|whole number", "whole number"), ("float|number", "number")):
        message = re.sub(rf"is not a valid ({kind})( range)?\.$", f"is not a {words}.", message)
    return message


def _as_value(error: click.ClickException, words: Sequence[str]) -> str:
    """What to type if an unknown option is a value, as an id that begins with a hyphen is; else nothing."""
    if not isinstance(error, click.NoSuchOption) or error.possibilities or error.ctx is None:
        return ""
    if error.option_name.startswith("--"):  # no platform has such ids, and a typing error is likely
        return ""
    meant = next((word for word in words if word.startswith(error.option_name)), "")
    if not meant or not any(isinstance(each, click.Argument) for each in error.ctx.command.params):
        return ""
    rest = [word for word in words if word not in (meant, "--")]
    return f"If {meant} is an id, put it last, after --: `{shell_words('humaneval', *rest, '--', meant)}`"


def _call(arguments: list[str] | None, tell: Callable[[_Failure], None]) -> int:
    """Call the verb. An error goes to stderr and to `tell`; a fault of the program keeps its traceback."""
    try:
        code: Any = cli.main(args=arguments, prog_name="humaneval", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except HumanEvalError as error:
        failure = _Failure(type(error).__name__, error.message, error.hint, error.exit_code)
        if isinstance(error, DeclinedError):
            _complain(f"{failure.message} {failure.hint}".rstrip())
        else:
            _complain(f"Error: {failure.message}", *(f"  {line}" for line in failure.hint.splitlines()))
    except click.ClickException as error:
        vars(error).update(message=_plain(error.message))
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "humaneval"
        as_value = _as_value(error, sys.argv[1:] if arguments is None else arguments)
        failure = _Failure(
            UsageError.__name__ if isinstance(error, click.UsageError) else type(error).__name__,
            error.format_message(),
            as_value or f"See `{where} --help`.",
            error.exit_code,
        )
        error.show()
        if as_value:
            _complain(f"  {as_value}")
    except (click.Abort, KeyboardInterrupt):
        failure = _Failure("Stopped", "Stopped.", "Run the same command again to continue.", 130)
        _complain(f"{failure.message} {failure.hint}")
    except OSError as error:
        reason = error.strerror or str(error)
        said = f"{error.filename}: {reason}" if error.filename is not None else f"cannot write: {reason}"
        if error.filename is None and error.errno not in CANNOT_WRITE:
            said = str(error)
        failure = _Failure(type(error).__name__, said, "", 1)
        _complain(f"Error: {failure.message}")
    except MemoryError as error:
        failure = _Failure(type(error).__name__, "there is not enough memory", "Is a file too large?", 1)
        _complain(f"Error: {failure.message}", f"  {failure.hint}")
    except Exception as error:
        tell(_Failure(type(error).__name__, str(error), "This is a fault of the program.", 1))
        raise
    tell(failure)
    return failure.exit_code
