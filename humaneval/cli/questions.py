"""`questions`: list or check what annotators can be asked."""

from __future__ import annotations

import tomllib

import click
from rich.table import Table

from humaneval.cli.context import console, emit, json_option, say
from humaneval.cli.rules import as_documents, kept, refuse_broken, told
from humaneval.crowd.question_rules import PAGES
from humaneval.encodings import read_toml
from humaneval.errors import UsageError
from humaneval.scoring.questions.conformance import RULES, Trial
from humaneval.scoring.questions.question import load_question, question_names


@click.group()
def questions() -> None:
    """List or check the questions that annotators can be asked."""


@questions.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List every question: what annotators are asked, and its settings in [answers] of the study file."""

    found = []
    for name in question_names():
        question = load_question(name)
        settings = dict(question.settings({}))
        found.append(
            {
                "question": name,
                "summary": question.summary,
                "settings": settings,
                "folder": str(question.folder),
            }
        )
    if as_json:
        emit(found)
        return

    table = Table("Question", "What is asked", "Settings", box=None, pad_edge=False, header_style="bold")
    for line in found:
        table.add_row(str(line["question"]), str(line["summary"]), ", ".join(line["settings"]) or "none")
    console().print(table)


@questions.command()
@click.argument("name")
@click.option(
    "--answers", metavar="TOML", default="", help="Settings of [answers] to try, for example 'ties = true'."
)
@json_option
def check(name: str, answers: str, as_json: bool) -> None:
    """Check the question NAME against the rules for all questions.

    The exit code is 1 if it breaks one.
    """

    try:
        values = read_toml(answers)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"--answers is not TOML: {error}", "Write for example --answers 'ties = true'."
        ) from None
    trial = Trial(name, load_question(name), values)
    findings = told(name, trial, {**RULES, **PAGES}, quiet=as_json)
    if as_json:
        emit({"question": name, "rules": as_documents(findings)})
    elif not any(one.wrong for one in findings):
        say(kept(name, findings))
    refuse_broken(name, findings, "docs/questions.md")
