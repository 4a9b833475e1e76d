"""`datasheet`: the Human Evaluation Datasheet of a study, filled in as far as the database knows it."""

from __future__ import annotations

from pathlib import Path

import click

from humaneval.cli.output_files import OUT_FILE, write_whole
from humaneval.cli.run import App, emit, json_option, say, with_app
from humaneval.errors import UsageError
from humaneval.report import datasheet as heds
from humaneval.report.dossier import dossier


@click.command()
@click.argument("study")
@click.option(
    "--out",
    type=OUT_FILE,
    help="File to write: .md, or .json in the format of the HEDS web form. [default: STUDY-datasheet.md]",
)
@click.option("--tests", is_flag=True, help="Use only pilots and answers from the sandbox.")
@json_option
@with_app
def datasheet(app: App, study: str, out: Path | None, tests: bool, as_json: bool) -> None:
    """Write the Human Evaluation Datasheet (HEDS) of STUDY.

    Lists what only you can fill in.
    """
    path = out or Path(f"{study}-datasheet.md")
    if path.suffix.lower() not in (".md", ".json"):
        raise UsageError(f"the file name {path} does not end in .md or .json", "End it in one of the two.")
    sheet = heds.datasheet(dossier(app.study(study), tests=tests))
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
