"""Options that say what `responses summarise` computes, from which columns and answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from humaneval.cli.responses.file_options import FILE, pairs
from humaneval.errors import UsageError
from humaneval.foreign.preferences import TiesAre

F = TypeVar("F", bound=Callable[..., Any])
PREFERENCES = ("preference", "sign-test", "bradley-terry")
KINDS = (
    "means",
    "counts",
    "majority",
    "agreement",
    *PREFERENCES,
    "ordinal",
    "workload",
    "workers",
    "differences",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be computed: the options of `summarise`, read."""

    values: tuple[str, ...]
    show: str | None
    by: tuple[str, ...]
    conditions: dict[str, str]
    numbers: range | None
    separator: str | None
    words: dict[str, str]
    gold: Path | None
    gold_column: str | None
    options: dict[str, str]
    tie_answers: tuple[str, ...]
    ties: TiesAre | None
    reference: str | None
    valid: tuple[str, ...]
    methods: tuple[str, ...]
    ignore_case: bool
    worker: str | None

    def check(self, kind: str) -> None:
        """Raise UsageError for options that do not go with this kind of summary."""
        if (self.options and kind not in PREFERENCES) or (kind == "preference" and not self.options):
            raise UsageError(
                "--show preference and --option go together",
                "For example --option A=Input.system1 --option B=Input.system2. --show sign-test and"
                " bradley-terry take them, too.",
            )
        if self.methods and kind != "differences":
            raise UsageError("--method goes with --show differences")
        for flag, given, kinds in (
            ("--tie", self.tie_answers, PREFERENCES[1:]),
            ("--ties", self.ties, PREFERENCES[1:]),
            ("--reference", self.reference, (*PREFERENCES[1:], "ordinal")),
        ):
            if given and kind not in kinds:
                raise UsageError(f"{flag} goes with --show {' or '.join(kinds)}")
        if self.by and kind in ("agreement", "preference", "bradley-terry", "workload", "workers"):
            raise UsageError(
                f"--by does not go with --show {kind}", "Look at one group at a time: --where COLUMN=TEXT."
            )


OPTIONS = (
    click.option(
        "--value",
        "values",
        multiple=True,
        required=True,
        metavar="COLUMN",
        help=(
            "Column with the judgments; {} in its name stands for a number, * for any text. Repeatable;"
            " columns are pooled."
        ),
    ),
    click.option(
        "--show",
        type=click.Choice(KINDS),
        help="Kind of summary. [default: means if all values are numbers, else counts]",
    ),
    click.option(
        "--by",
        multiple=True,
        metavar="COLUMN",
        help=(
            "Column to group by: one line for each of its values. {} stands for the number of --value, and"
            " (column) for the column of --value itself. Repeatable."
        ),
    ),
    click.option(
        "--where",
        "conditions",
        multiple=True,
        metavar="COLUMN=TEXT",
        help="Text that a row must have in this column. Repeatable.",
    ),
    click.option("--numbers", metavar="A-B", help="Numbers to read of columns with {}. [default: all]"),
    click.option(
        "--separator",
        metavar="SEPARATOR",
        help="Separator of several judgments in one cell, json, or auto. Their places are the numbers of {}.",
    ),
    click.option(
        "--map",
        "words",
        multiple=True,
        metavar="ANSWER=TEXT",
        help="What an answer stands for, for example 'Very typical=5'; 'NA=' is no judgment. Repeatable.",
    ),
    click.option(
        "--gold",
        type=FILE,
        help=(
            "Table with the right answers, in the order of the HITs and their passages: values become 1 or 0."
        ),
    ),
    click.option("--gold-column", help="Column of --gold, or else of FILE, with the right answer."),
    click.option(
        "--option",
        "options",
        multiple=True,
        metavar="ANSWER=COLUMN",
        help=(
            "Column that names the system of an answer, for --show preference, sign-test and bradley-terry;"
            " {} stands for the number of --value. Repeatable."
        ),
    ),
    click.option(
        "--tie",
        "tie_answers",
        multiple=True,
        metavar="ANSWER",
        help="Answer that prefers neither. Repeatable. [default: the usual words, for example tie]",
    ),
    click.option(
        "--ties",
        type=click.Choice(["left-out", "half", "davidson"]),
        help="How ties count. [default: left-out in sign tests, davidson in bradley-terry]",
    ),
    click.option(
        "--reference", metavar="SYSTEM", help="System to compare the others with. [default: all pairs]"
    ),
    click.option(
        "--valid",
        multiple=True,
        metavar="ANSWER",
        help="Answer that can agree with the majority, for --show agreement. Repeatable. [default: all]",
    ),
    click.option(
        "--method",
        "methods",
        multiple=True,
        type=click.Choice(["naive", "workers", "cr2", "two-way", "gee", "mixed", "bootstrap"]),
        help="Method to use, for --show differences. Repeatable. [default: all]",
    ),
    click.option("--ignore-case", is_flag=True, help="Treat answers that differ only in case as the same."),
    click.option(
        "--worker",
        help=(
            "Column that says who answered, if it is not recognised; {} stands for the number of --value,"
            " (number) and (column) for one person for each number or column of --value."
        ),
    ),
)


def summary_options(function: F) -> F:
    """Give a verb these options, which it gets as one value: `asked`."""

    @wraps(function)
    def call(
        *args: Any,
        conditions: tuple[str, ...],
        numbers: str | None,
        words: tuple[str, ...],
        options: tuple[str, ...],
        **kwargs: Any,
    ) -> Any:
        names = {name: kwargs.pop(name) for name in Asked.__slots__ if name in kwargs}
        asked = Asked(
            **names,
            conditions=pairs(conditions, "--where"),
            numbers=_number_range(numbers),
            words=pairs(words, "--map", last=True),
            options=pairs(options, "--option"),
        )
        return function(*args, asked=asked, **kwargs)

    decorated: Any = call
    for option in reversed(OPTIONS):
        decorated = option(decorated)
    made: F = decorated
    return made


def _number_range(text: str | None) -> range | None:
    """The numbers of `--numbers 1-5`."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", text)
    if not found or int(found[2] or found[1]) < int(found[1]):
        raise UsageError(f"{text!r:.60} is not a range of numbers", "Say for example --numbers 1-5.")
    return range(int(found[1]), int(found[2] or found[1]) + 1)
