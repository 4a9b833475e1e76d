"""Writes docs/cli.md from the `--help` of every verb: `python -m tests.docs.write_cli_reference`."""

from __future__ import annotations

import click

from humaneval.cli.main import cli
from tests.conftest import ROOT

TARGET = ROOT / "docs" / "cli.md"
WIDTH = 88
INTRODUCTION = """\
# Commands

Every verb with the text of its `--help`. `make docs` writes this page; a test compares it with the program.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 done in part (run it again). Settings come from flags, the
environment, `humaneval.toml` or defaults, in this order; `humaneval config show` says which.

With `--json` a verb always prints one JSON document on stdout. Messages and progress go to stderr. A verb
that fails before it has a result prints this document instead, and the usual lines on stderr:

```json
{"error": {"kind": "UsageError", "message": "there is no study 'pilot'", "hint": "…", "exit_code": 2}}
```

`kind` is a class of `humaneval.errors` (`UsageError` also for options that click refuses), `Stopped` after
Ctrl-C, or Python's own error. Also check the exit code: a verb that did a part of its work (3) or found a
fault (1) has printed its own document.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *_sections(cli, None, "humaneval")])


def _sections(command: click.Command, parent: click.Context | None, name: str) -> list[str]:
    # Widths are given here: click would otherwise ask the terminal.
    context = click.Context(
        command,
        parent=parent,
        info_name=name,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    sections = [f"## {context.command_path}\n\n```text\n{text}\n```\n"]
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            sections += _sections(found, context, below)
    return sections


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8", newline="\n")
