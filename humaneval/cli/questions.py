"""`questions`: list or check what annotators can be asked."""

from __future__ import annotations

import tomllib

import click
from rich.table import Table

from humaneval.cli.context import console, emit, json_option, say
from humaneval.crowd.question_rules import PAGES
from humaneval.encodings import read_toml
from humaneval.errors import InputError, UsageError
from humaneval.progress import progress
from humaneval.scoring.questions.conformance import RULES, Finding, Trial
from humaneval.scoring.questions.conformance import check as try_rules
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
    findings: list[Finding] = []
    with progress(f"Trying {name}", len(RULES) + len(PAGES), unit="rules") as advance:
        for finding in try_rules(trial, PAGES):
            findings.append(finding)
            advance(1)
            if not as_json:
                mark = "fails" if finding.wrong else "–" if finding.skipped else "ok"
                say(f"{mark:5}  {finding.rule:12} {finding.wrong or finding.skipped}".rstrip())
    broken = [finding.rule for finding in findings if finding.wrong]
    if as_json:
        rules = [
            {"rule": f.rule, "kept": None if f.skipped else not f.wrong, "why": f.wrong or f.skipped}
            for f in findings
        ]
        emit({"question": name, "rules": rules})
    elif not broken:
        say(f"\n{name} keeps all {sum(not finding.skipped for finding in findings)} rules that apply to it.")
    if broken:
        raise InputError(
            f"{name} breaks {len(broken)} of {len(findings)} rules: {', '.join(broken)}",
            "docs/questions.md says what each rule asks for.",
        )
