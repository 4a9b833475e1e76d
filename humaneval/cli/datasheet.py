"""`datasheet`: what is known of a study, as HEDS, as answers to the ARR checklist, or for a review board."""

from __future__ import annotations

from pathlib import Path

import click

from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.cli.output_files import OUT_FILE, write_whole
from humaneval.errors import InputError, UsageError
from humaneval.report import datasheet as heds
from humaneval.report.datasheet_arr import arr_answers
from humaneval.report.datasheet_board import board_text
from humaneval.report.dossier import dossier
from humaneval.report.ethics import EthicsText
from humaneval.report.people_facts import people_facts
from humaneval.store.engine import reading
from humaneval.store.responses import rows_in
from humaneval.study.stored import Study


@click.command()
@click.argument("study")
@click.option(
    "--out",
    type=OUT_FILE,
    help="File to write: .md, or .json in the format of the HEDS web form. [default: STUDY-datasheet.md]",
)
@click.option("--tests", is_flag=True, help="Use only pilots and answers from the sandbox.")
@click.option("--arr", is_flag=True, help="Write answers to D1–D5 of the ARR checklist instead.")
@click.option("--board", is_flag=True, help="Write a description for an ethics review board instead.")
@json_option
@with_app
def datasheet(
    app: App, study: str, out: Path | None, tests: bool, arr: bool, board: bool, as_json: bool
) -> None:
    """Write the Human Evaluation Datasheet (HEDS) of STUDY.

    Lists what only you can fill in. With --board, no answers are needed yet.
    """
    if arr and board:
        raise UsageError("--arr and --board do not go together", "Write the one, then the other.")
    if board and tests:
        raise UsageError("--tests does not go with --board", "Leave it out.")
    kind = "arr" if arr else "board" if board else "datasheet"
    path = out or Path(f"{study}-{kind}.md")
    if path.suffix.lower() not in (".md", ".json"):
        raise UsageError(f"the file name {path} does not end in .md or .json", "End it in one of the two.")
    opened = app.study(study)
    if arr or board:
        _tell(study, path, _arr(opened, tests) if arr else _board(opened), as_json)
        return
    sheet = heds.datasheet(dossier(opened, tests=tests))
    text = sheet.json_text() if path.suffix.lower() == ".json" else sheet.markdown()
    write_whole(path, text.encode())
    still = [f"Q{question.number} {question.label}" for question in sheet.open]
    if as_json:
        emit(
            {
                "study": study,
                "datasheet": path.resolve(),
                "filled": sheet.filled,
                "questions": len(sheet.lines),
                "to_fill_in": still,
            }
        )
        return
    say(
        f"Datasheet written to {path.resolve()}: {sheet.filled} of {len(sheet.lines)} questions are answered."
    )
    say(f"To fill in: {'; '.join(still)}.")


def _arr(study: Study, tests: bool) -> EthicsText:
    """Without answers, pay is not known yet, and everything else is."""
    try:
        pay = dossier(study, tests=tests).pay
    except InputError:
        pay = None
    return arr_answers(study.name, study.settings, people_facts(study), pay)


def _board(study: Study) -> EthicsText:
    with reading(study.engine) as session:
        rows = rows_in(session, study.id)
    return board_text(study.name, study.settings, people_facts(study), rows)


def _tell(study: str, path: Path, text: EthicsText, as_json: bool) -> None:
    written = text.json_text() if path.suffix.lower() == ".json" else text.markdown()
    write_whole(path, written.encode())
    if as_json:
        emit({"study": study, "file": path.resolve(), "parts": len(text.parts), "to_fill_in": text.open})
        return
    say(f"{text.title}: written to {path.resolve()}.")
    for question in text.open:
        say(f"To fill in: {question}")
