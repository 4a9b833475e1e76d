"""`study create`: design a study from stored infills."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from humaneval.cli.context import SEED, App, emit, json_option, say, with_app
from humaneval.cli.study.from_table import Source, from_options, make_from_table
from humaneval.cli.study.pay import made_anew, pay
from humaneval.cli.study.plan import plan_document
from humaneval.cli.study.plan_text import tell_outlook
from humaneval.crowd.published_hits import endpoints_of
from humaneval.crowd.status import study_status
from humaneval.domain import POSITIONS
from humaneval.errors import HumanEvalError
from humaneval.infills.doubtful import told
from humaneval.planning.cues import CueScore
from humaneval.planning.forecast import Outlook, outlook
from humaneval.planning.plan import Plan
from humaneval.scoring.questions.question import DETECT
from humaneval.study.contradictions import doubts
from humaneval.study.create import Created, LeftOut, create_study
from humaneval.study.delete import used_study
from humaneval.study.file import DesignSection, StudyFile, read_study_file
from humaneval.study.from_table_settings import Asked, passage_is
from humaneval.study.plan import cues_of, plan_of_study
from humaneval.study.presets import preset_over
from humaneval.study.stored import put_up
from humaneval.text import command, counted, listed


@click.command()
@click.argument("name")
@click.option(
    "--file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Study file. [default: the bundled one]",
)
@click.option("--preset", help="Design by name: acl2020.")
@click.option("--generators", metavar="NAMES", help="Generators instead of the file's, separated by commas.")
@click.option("--annotators", type=click.IntRange(min=1), help="Number of annotators instead of the file's.")
@click.option("--split", help="Split of the stories instead of the file's.")
@click.option("--seed", type=SEED, help="Random seed instead of the file's.")
@click.option(
    "--allow",
    multiple=True,
    metavar="STATUS",
    help="Also show infills of this status, which the study records. Repeatable.",
)
@click.option("--pilot", is_flag=True, help="Mark the study as a pilot, which is never pooled with others.")
@from_options
@json_option
@with_app
def create(
    app: App,
    name: str,
    file: Path | None,
    preset: str | None,
    generators: str | None,
    annotators: int | None,
    split: str | None,
    seed: int | None,
    allow: tuple[str, ...],
    pilot: bool,
    source: Source | None,
    as_json: bool,
) -> None:
    """Design the study NAME from stored infills, or from a table: passages, forms, order.

    With --from FILE the table brings stories and infills, and nothing has to be imported before. It has a
    story's five sentences, or the story with a blank and the original sentence; which sentence was taken out;
    and a column for each system. FILE is CSV, TSV, Excel, JSON or Parquet.

    A study never changes once it is created; `study enlarge` adds forms, and `study delete` removes
    one that nobody has seen. Prints in short what the study can find out. `study plan NAME` says more, and
    what it costs.
    """
    given = {
        "generators": None if generators is None else [part.strip() for part in generators.split(",")],
        "annotators": annotators,
        "split": split,
        "seed": seed,
        "allow": list(allow) or None,
        "pilot": pilot or None,
    }
    design = {setting: value for setting, value in given.items() if value is not None}
    if replaced := preset_over(file, preset, design):
        say(replaced, err=True)
    more: dict[str, Any] = {}
    if source is None:
        settings, text = read_study_file(file, preset=preset, overrides={"design": design})
        made = create_study(app.engine, name, settings, text)
    else:
        made, settings, more = make_from_table(app, name, source, Asked(file, preset, design))
    found = [*doubts(settings), *made.doubts]
    for doubt in found:
        say(f"Please check: {doubt}.", err=True)
    if as_json:
        hourly = str(settings.hit.hourly)
        emit(
            {**_document(name, made), "doubts": found, "hourly": hourly, **more, **_plan_document(app, name)}
        )
    else:
        used = made.was_there and used_study(app.engine, name)
        _tell(app, name, settings, made, file, was_asked=source is not None, used=used)
        say(f"Next: {_next(app, name, from_table=source is not None, used=used)}")


def _document(name: str, made: Created) -> dict[str, Any]:
    return {
        "study": name,
        "rows": made.rows,
        "passages": made.passages,
        "stories": made.stories,
        "design_hash": made.design_hash,
        "settings_hash": made.settings_hash,
        "was_there": made.was_there,
        "lacking": made.left_out.lacking,
        "stories_without_infills": made.left_out.without_infills,
        "stories_with_the_same_text": made.left_out.same_text,
        "doubtful": [one.to_json() for one in made.doubtful],
    }


def _tell(
    app: App,
    name: str,
    settings: StudyFile,
    made: Created,
    file: Path | None,
    *,
    was_asked: bool,
    used: bool,
) -> None:
    left = made.left_out
    if was_asked:  # the question said already how many stories the table gives
        left = replace(left, without_infills=0)
    for line in [*_left_out(left, settings.design.positions), *told(made.doubtful)]:
        say(line, err=True)
    say(
        f"Study {name!r} {'is there already' if made.was_there else 'created'}:"
        f" {counted(made.rows, 'form')}, {counted(made.passages, 'passage')} from"
        f" {counted(made.stories, 'story', plural='stories')}, {_who(settings.design)}."
        + (" It stays as it is." if made.was_there else "" if was_asked else f" {passage_is(settings)}")
    )
    if used:
        return
    no_contact = "" if settings.consent.contact else " It names no contact."
    say(f"{pay(settings.hit)}{_for_another(settings)}{no_contact} {made_anew(name, file)}")
    _tell_plan(app, name)
    say(f"More about what it can find out, and what it costs: {command('study', 'plan', name)}")


def _for_another(settings: StudyFile) -> str:
    """That the bundled time and pay are meant for another question, if nobody has set the study's own."""
    bundled = read_study_file(None).settings.hit
    same = (settings.hit.reward, settings.hit.expected_minutes) == (bundled.reward, bundled.expected_minutes)
    if settings.asked.name == DETECT or not same:
        return ""
    return " That is meant for detect: try the form yourself, and set the minutes that it takes."


def _who(design: DesignSection) -> str:
    """The systems of a study, and what they are compared with: `2 systems, Control and Human`."""
    beside = [
        name
        for name, role in (("Control", design.control), ("Human", design.human))
        if role in design.generators
    ]
    number = len(design.generators) - len(beside)
    systems = [counted(number, "system")] if number else []
    return ", ".join([*systems, *filter(None, [" and ".join(beside)])])


def _next(app: App, name: str, *, from_table: bool, used: bool) -> str:
    """The command that goes on with a study: for one that was published or used, a look at how it stands."""
    if used:
        study = app.study(name)
        here = endpoints_of(study) in ((), ("local",))
        missing = any(line.submitted < line.planned for line in study_status(study))
        return command("up", name) if here and missing and app.started_by(name) else command("status", name)
    made = app.study(name)
    if from_table or made.settings.hit.currency != "USD":
        return put_up(made)
    return command("publish", name, "--to", "local")


def _left_out(left: LeftOut, positions: Sequence[int]) -> Iterator[str]:
    """Lines about what a new study cannot show."""
    if left.without_infills:
        of_all = left.stories - left.without_infills
        noun = "position" if len(positions) == 1 else "positions"
        where = "" if len(positions) >= len(POSITIONS) else f" at {noun} {listed(positions)}"
        yield (
            f"The study uses {of_all:,} of {left.stories:,} stories: those with infills by every generator"
            f"{where}."
        )
    if left.same_text:
        yield (
            f"Each text is used once: {counted(left.same_text, 'id')} of these stories"
            f" {'has' if left.same_text == 1 else 'have'} the text of another."
        )
    for generator, blanks in left.lacking.items():
        yield f"{counted(blanks, 'blank')} left out: {generator} has no infill that may be shown there."


# The study is stored by now. A fault of its plan must not hide that.


def _tell_plan(app: App, name: str) -> None:
    """Print the plan of study `name` in short, or say on stderr why it cannot be made."""
    try:
        found = _planned(app, name)
        tell_outlook(found.plan, found.outlook, found.cues)
    except Exception as error:
        say(f"The study is stored, but its plan cannot be made: {_cause(error)}", err=True)
        say(f"  To see more: {command('study', 'plan', name)}", err=True)


def _plan_document(app: App, name: str) -> dict[str, Any]:
    """What `study plan --json` prints for study `name`, or `{"plan": None, "plan_error": why}`."""
    try:
        found = _planned(app, name)
        return plan_document(found.plan, found.outlook, found.cues)
    except Exception as error:
        return {"plan": None, "plan_error": _cause(error)}


class _Planned(NamedTuple):
    plan: Plan
    outlook: Outlook
    cues: Sequence[CueScore]


def _planned(app: App, name: str) -> _Planned:
    study = app.study(name)
    plan = plan_of_study(study)
    return _Planned(plan, outlook(plan), cues_of(study))


def _cause(error: Exception) -> str:
    return error.message if isinstance(error, HumanEvalError) else f"{type(error).__name__}: {error}"
