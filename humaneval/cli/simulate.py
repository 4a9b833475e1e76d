"""`simulate`: let simulated annotators answer a study: at the marketplace, at a stand-in, or by link."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from sqlalchemy import func, select

from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.cli.numbers import ANNOTATORS, Number
from humaneval.crowd.endpoints import endpoint
from humaneval.crowd.link import panel_address
from humaneval.crowd.platform import Endpoint
from humaneval.crowd.published_hits import hits_of, is_static, preview_urls
from humaneval.errors import DeclinedError, InputError, PlatformError, UsageError
from humaneval.limits import DOCUMENT, read_whole
from humaneval.progress import progress
from humaneval.simulated import Crowd, Skills, crowd_for, follow_links, take_part, work_through
from humaneval.simulated.annotator import Key
from humaneval.simulated.browser import UNREACHED
from humaneval.simulated.marketplace import Worked
from humaneval.store.engine import reading
from humaneval.store.responses import rows_in
from humaneval.store.tables import AssignmentRow
from humaneval.study.stored import Study, mark_simulated, put_up, study_key, unmark_unanswered
from humaneval.text import command, counted, listed


@click.command()
@click.argument("study")
@click.option(
    "--annotators",
    type=ANNOTATORS,
    help="Number of annotators. [default: as many as the study has forms]",
)
@click.option(
    "--skill",
    "skills",
    multiple=True,
    metavar="[GENERATOR=]SKILL",
    help="Skill, 0 to 1: how often annotators find the machine's sentence, or how low they rate it."
    " Repeatable.",
)
@click.option(
    "--careless",
    type=Number(0, 1),
    default=0.0,
    show_default=True,
    help="Share of annotators who read nothing and guess.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Random seed: another seed gives other annotators and guesses.",
)
@click.option(
    "--to",
    "where",
    type=click.Choice(["local", "link", "prolific"]),
    show_default="where STUDY is up",
    help="Endpoint where the simulated annotators work.",
)
@click.option(
    "--key",
    "key_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="File with the output of `study show --key`, instead of the database's key.",
)
@click.option("--yes", is_flag=True, help="Do not ask, even if people have opened forms of STUDY.")
@json_option
@with_app
def simulate(
    app: App,
    study: str,
    annotators: int | None,
    skills: tuple[str, ...],
    careless: float,
    seed: int,
    where: str | None,
    key_file: Path | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Let simulated annotators go through the real pages of STUDY over HTTP. The study is marked as simulated
    permanently.

    `humaneval serve` must be running, with `humaneval market serve` for --to local, and
    `humaneval prolific serve` for --to prolific. Unless --skill says otherwise, they notice the control, as
    people who read do, and nothing else of a machine. They leave people's personal links alone.
    """
    opened, where = app.study(study), where or app.where(study)
    there = endpoint(where, app.settings)
    if where == "prolific" and there.spends_money:
        raise UsageError(
            f"simulated annotators take part only at a stand-in on this machine, not at {there.api_url}",
            f"Set PROLIFIC_URL to what `{command('prolific', 'serve')}` prints.",
        )
    key = _key(opened, key_file)
    personal, people = _of_people(opened, there)
    urls = [each for each in preview_urls(opened, there) if each not in personal]
    if personal and not urls:
        raise UsageError(
            f"study {study!r} is up by personal links only, and each of them is for its person",
            "Rehearse with another study, by an open link.",
        )
    if not urls:
        raise UsageError(
            f"study {study!r} is not up at {where}",
            put_up(opened) if where == "local" else command("publish", study, "--to", where),
        )
    if is_static(opened, where):
        raise UsageError(
            f"study {study!r} was published with --static: its page works in a browser only",
            "Simulated annotators run no scripts. Rehearse with another study, published without --static.",
        )
    generators = opened.settings.design.generators
    skilled = parse_skills(skills, generators, opened.settings.design.control)
    crowd = crowd_for(opened, annotators or _rows(opened), skilled, careless=careless, seed=seed)
    if people and not yes:
        _ask(study, people)
    mark_simulated(opened)
    try:
        worked = _answer(opened, where, urls, crowd, key)
    except PlatformError as error:
        unmark_unanswered(opened)
        if UNREACHED in error.message and (again := app.started_by(study)):
            error.hint = f"It is there while `{again}` runs."
        raise
    if as_json:
        emit({"study": study, "simulated": True, **worked._asdict(), "seed": seed})
    else:
        _tell(worked, crowd, generators)


def _of_people(study: Study, there: Endpoint) -> tuple[set[str], int]:
    """The personal links of a study that are up, and how many of its forms people have opened anywhere."""
    theirs = (AssignmentRow.study_id == study.id, ~AssignmentRow.by_program)
    with reading(study.engine) as session:
        hits = hits_of(session, study, there.name)
        opened = session.scalar(select(func.count()).select_from(AssignmentRow).where(*theirs)) or 0
    return {there.preview_url.format(type=hit.key) for hit in hits if hit.audience == "personal"}, opened


def _ask(study: str, forms: int) -> None:
    """Ask once before programs come among people."""
    opened = counted(forms, "form", "was", "were")
    if not sys.stdin.isatty():
        raise UsageError(
            f"study {study!r} has people: {opened} opened by them. Simulated annotators would take forms that"
            " people could get, and every report of the study would name them",
            "Rehearse with another study. To go on all the same, say --yes.",
        )
    if not click.confirm(f"{opened} opened by people. Mix programs among them for ever?", err=True):
        raise DeclinedError("Nothing was answered.", "Rehearse with another study.")


def _tell(worked: Worked, crowd: Crowd, generators: Sequence[str]) -> None:
    rest = f"; for {worked.found_nothing:,} more there was no form left" if worked.found_nothing else ""
    say(f"{counted(worked.submitted, 'simulated annotator')} submitted a form{rest}.")
    for generator in generators:
        told = "".join(f", true {line}" for line in crowd.true_scores(generator, generators))
        say(f"  {generator}: skill {crowd.skills.of(generator):g}{told}")


def _rows(study: Study) -> int:
    with reading(study.engine) as session:
        return rows_in(session, study.id)


def _answer(study: Study, where: str, urls: Sequence[str], crowd: Crowd, key: Key) -> Worked:
    """Send the crowd to the study's pages."""
    with progress("Simulated annotators", crowd.size, unit="annotators") as advance:
        if where == "prolific":
            site, _, study_there = urls[0].rpartition("/studies/")
            return take_part(crowd, site, study_there, key, advance)
        if where != "link":
            return work_through(crowd, urls[0], key, advance)
        # A panel's ids do no harm to links of other kinds.
        worker, session = f"simulated-{crowd.seed}-{{number}}", f"simulated-session-{crowd.seed}-{{number}}"
        links = [panel_address(study.settings, url, worker=worker, session=session) for url in urls]
        return follow_links(crowd, links, key, advance)


def _key(study: Study, file: Path | None) -> Key:
    """The key of the study, from the database or from a file. InputError if the file is of another study."""
    own = study_key(study)
    if file is None:
        return own
    key = read_key(file)
    if own.keys().isdisjoint(key):
        raise InputError(
            f"{file} has none of the forms of study {study.name!r}. Forms in the file: {_first(key)};"
            f" of the study: {_first(own)}",
            f"`{command('study', 'show', study.name, '--key')}` prints its key.",
        )
    return key


def _first(key: Iterable[str]) -> str:
    """The beginnings of the first hashes of a key."""
    return listed([form[:12] for form in key], most=3)


def read_key(file: Path) -> dict[str, list[dict[str, object]]]:
    """A key that `study show --key` printed."""
    try:
        key: dict[str, list[dict[str, object]]] = json.loads(read_whole(file, "utf-8-sig", DOCUMENT))
        if not isinstance(key, dict):
            raise ValueError("it has no forms")
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(
            f"{file} is not a key: {why}", f"`{command('study', 'show', 'STUDY', '--key')}` prints one."
        ) from None
    return key


def parse_skills(texts: tuple[str, ...], generators: tuple[str, ...], control: str = "") -> Skills:
    """Skills as given: `0.5` for all generators, `ilm=0.4` for one. Without any for the control, annotators
    notice it: else none of their answers would count."""
    default, by_generator, everybody = 0.0, {}, False
    for text in texts:
        name, equals, number = text.rpartition("=")
        try:
            skill = float(number)
        except ValueError:
            raise UsageError(
                f"skill {text!r} is not a number", "Write for example 0.5, or ilm=0.5."
            ) from None
        if not 0 <= skill <= 1:
            raise UsageError(f"skill {text!r} is not between 0 and 1")
        if equals and name not in generators:
            raise UsageError(f"the study has no generator {name!r}", f"It has: {', '.join(generators)}.")
        if equals:
            by_generator[name] = skill
        else:
            default, everybody = skill, True
    if control in generators and not everybody:
        by_generator.setdefault(control, 1.0)
    return Skills(default, by_generator)
