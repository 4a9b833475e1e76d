"""The demonstration: a study from stories to report, with simulated annotators or with the user."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import Engine

from humaneval.crowd.endpoints import endpoint
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.published_hits import preview_urls
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.domain import Role
from humaneval.errors import DesignError, InputError, PrerequisiteError, UsageError
from humaneval.report.from_study import study_report
from humaneval.report.page import render_report
from humaneval.resources import bundled
from humaneval.running.browser import open_pages
from humaneval.running.servers import forms_up, market_up
from humaneval.running.watch import Ending, watch
from humaneval.scoring.scores import ScoreTable
from humaneval.settings import Settings, config_text
from humaneval.simulated import Skills
from humaneval.store.engine import open_engine, reading
from humaneval.store.migrate import open_current
from humaneval.store.responses import response_lines
from humaneval.study.scores import collected
from humaneval.study.stored import get_study, open_study
from humaneval.text import command, listed

RunVerb = Callable[..., None]
"""Runs a verb of the command line, given its words one by one, and shows what it prints."""
Say = Callable[[str], None]
"""Prints a line for the user."""

STUDY = "demo"
MARK = ".humaneval-demo"
"""A folder with this file was made by a demo. The next one makes its files anew."""
LOCK = f"{MARK}-lock"
"""An empty database, which a demo holds while it runs."""
DATABASES, PAGES = ("humaneval.db", "market.db"), ("humaneval.toml", "report.html")

SKILLS: Mapping[str, float] = {"human": 0.0, "control": 1.0, "example-good": 0.25, "example-poor": 0.7}
"""How often an attentive simulated annotator knows the machine's sentence; of a human's nobody can know."""
MODEL_SKILLS: Mapping[str, float] = {"lm-scratch": 0.85, "ilm-scratch": 0.8}
"""The same for the models that the demo trains; fixed beforehand, whatever they write."""
MODEL_MINUTES: Mapping[str, float] = {"lm": 0.7, "ilm": 1.0}
TRIES = 20
CARELESS = 0.05
SEED = 2020
ANNOTATORS, QUICK_ANNOTATORS, MY_ROWS = 90, 40, 20
UNFIT = ("unprintable", "cut", "empty", "several sentences", "same as the original", "same as a neighbour")

SUMMARY = (
    "This is a demonstration. The annotators are simulated: programs that went through the real pages over"
    " HTTP. Their skill was fixed beforehand for each generator, whatever it wrote. The stories and the"
    " sentences of example-good and example-poor were written as examples; no system wrote them. The scores"
    " say nothing about people or models."
)


@dataclass(frozen=True)
class _Demo:
    """A demonstration that is running: where it is, and how it talks to the user."""

    folder: Path
    settings: Settings
    engine: Engine
    run_verb: RunVerb
    say: Say


def run_demo(folder: Path, *, quick: bool, me: bool, run_verb: RunVerb, say: Say) -> Path | None:
    """Run a small study from stories to report in `folder`. Returns the path of the report, if there is one.

    `quick` leaves the models out; `me` waits for the user instead of simulating annotators. Every step that
    has a verb goes through `run_verb`, so that the user sees it as a command.

    Raises PrerequisiteError without torch where models are to be trained; UsageError if `folder` holds files
    that the demo did not make.
    """
    models = not (quick or me)
    if models and find_spec("torch") is None:
        raise PrerequisiteError(
            "the demo trains two small models, and torch is not installed",
            f"pip install 'humaneval-toolkit[models]', or leave them out: {command('demo', '--quick')}",
        )
    with _prepared(folder), _servers(folder, run_verb, say) as demo:
        _make_infills(demo, models)
        _make_study(demo, ANNOTATORS if models else QUICK_ANNOTATORS if quick else MY_ROWS, models)
        if me:
            _wait_for_me(demo)
        else:
            _simulate(demo, models)
        run_verb("review", STUDY, "--approve")
        return _scores_and_report(demo, me)


@contextmanager
def _prepared(folder: Path) -> Iterator[None]:
    """Make the folder, or delete what a demo made in it, and keep other demos out. Raises UsageError if it is
    a folder of other files, has other studies, or has a demo that is running."""
    folder.mkdir(parents=True, exist_ok=True)
    if {path.name for path in folder.iterdir()} - {LOCK} and not (folder / MARK).exists():
        raise UsageError(f"{folder} has files that the demo did not make", "Name another folder with --out.")
    with closing(sqlite3.connect(folder / LOCK, timeout=0, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")  # until this program ends, however it ends
        except sqlite3.OperationalError:
            raise UsageError(f"a demo is running in {folder}", "Name another folder with --out.") from None
        if others := _other_studies(folder / DATABASES[0]):
            raise UsageError(
                f"{folder} has studies that are not the demo's: {listed(others)}",
                "Name another folder with --out.",
            )
        (folder / MARK).write_text(
            "Made by `humaneval demo`, which makes its files here anew at its next run.\n", encoding="utf-8"
        )
        for name in (*DATABASES, *PAGES):
            for suffix in ("", "-wal", "-shm", "-journal"):
                (folder / f"{name}{suffix}").unlink(missing_ok=True)
        for kind in MODEL_MINUTES:
            shutil.rmtree(folder / f"{kind}-scratch", ignore_errors=True)
        yield


def _other_studies(database: Path) -> list[str]:
    if not database.exists():
        return []
    with closing(sqlite3.connect(database)) as connection, suppress(sqlite3.Error):  # a demo that was killed
        return [name for (name,) in connection.execute("SELECT name FROM studies") if name != STUDY]
    return []


@contextmanager
def _servers(folder: Path, run_verb: RunVerb, say: Say) -> Iterator[_Demo]:
    """The marketplace and the form server on free ports, in an environment in which every verb finds them."""
    database = folder.resolve() / DATABASES[0]
    engine = open_engine(f"sqlite:///{database}")
    open_current(engine)
    with market_up(folder / DATABASES[1]) as market:
        settings = Settings(database=f"sqlite:///{database}", market_url=market.url)
        demo = _Demo(folder, settings, engine, run_verb, say)
        with forms_up(settings, engine, lambda endpoint, name: _at(demo, name)) as port:
            (folder / PAGES[0]).write_text(f'database = "humaneval.db"\n\n{config_text()}', encoding="utf-8")
            say(f"Marketplace on {market.url}, forms on http://127.0.0.1:{port}")
            with _environment(
                HUMANEVAL_CONFIG=os.devnull,
                HUMANEVAL_DATABASE=str(database),
                HUMANEVAL_MARKET_URL=market.url,
                HUMANEVAL_PUBLIC_URL=f"http://127.0.0.1:{port}",
            ):
                yield demo
    engine.dispose()


def _at(demo: _Demo, study: str) -> StudyAtPlatform:
    return open_study_at(demo.engine, study, MTurk(endpoint("local", demo.settings)))


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _make_infills(demo: _Demo, models: bool) -> None:
    """Import stories and make infills; with `models`, also train two models and make theirs."""
    run_verb = demo.run_verb
    run_verb("stories", "import", "--bundled")
    run_verb("generate", "--generator", "human")
    run_verb("generate", "--generator", "control")
    run_verb(
        "generate", "--generator", "replay", "--checkpoint", str(bundled("bundled") / "example_infills.csv")
    )
    if not models:
        return
    for kind, minutes in MODEL_MINUTES.items():
        folder = str(demo.folder / f"{kind}-scratch")
        start = ("--bundled", "--from-scratch", "--preset", "small")
        length = ("--minutes", f"{minutes:g}", "--evaluate-every", "25")
        run_verb("train", kind, *start, "--out", folder, *length)
        name = ("--as", f"{kind}-scratch", "--option", f"tries={TRIES}")
        run_verb("generate", "--generator", kind, "--checkpoint", folder, *name)


def _make_study(demo: _Demo, annotators: int, models: bool) -> None:
    generators = ",".join([*SKILLS, *(MODEL_SKILLS if models else ())])
    create = ("study", "create", STUDY, "--generators", generators, "--annotators", str(annotators))
    try:
        demo.run_verb(*create)
    except DesignError as error:
        # Small models do not always write one whole sentence, and a study does not ignore that.
        demo.say(f"{error.message}\n{error.hint}")
        demo.run_verb(*create, *(part for status in UNFIT for part in ("--allow", status)))
    demo.run_verb("publish", STUDY, "--to", "local")


def _simulate(demo: _Demo, models: bool) -> None:
    known = {**SKILLS, **(MODEL_SKILLS if models else {})}
    skills = [part for generator, skill in known.items() for part in ("--skill", f"{generator}={skill:g}")]
    demo.run_verb("simulate", STUDY, *skills, "--careless", f"{CARELESS:g}", "--seed", str(SEED))
    demo.run_verb("collect", STUDY)


def _wait_for_me(demo: _Demo) -> None:
    """Open the worker site, wait until something was submitted, and say how each guess went."""
    at = _at(demo, STUDY)
    url = preview_urls(at.study, at.platform.endpoint)[0]
    demo.say(
        f"\nYour turn: {url}\nSign in with any name, accept the HIT, answer and submit. Press Ctrl-C to stop"
        " waiting."
    )
    open_pages(url)
    watch(at, Ending(), until=lambda line: line.submitted > 0)
    demo.say("\nThank you! This is how it went:")
    with reading(demo.engine) as session:
        for line in response_lines(session, get_study(session, STUDY)):
            found = "found" if line["choice"] == line["position"] else "missed"
            what = (
                f"a person wrote all of them; the held-out one was {line['position']}"
                if line["role"] == "human"
                else f"{line['generator']} wrote {line['position']}"
            )
            demo.say(f"  Story {line['order']}: you marked {line['choice']}; {what}: {found}")


def _scores_and_report(demo: _Demo, me: bool) -> Path | None:
    """Print the scores and write the report. None if nothing is left to score: the only person missed the
    Control passage."""
    try:
        demo.run_verb("score", STUDY)
    except InputError as error:
        if not me:
            raise
        demo.say(f"{error.message}. A study would leave your answers out, but still pay you.")
        return None
    study = open_study(demo.engine, STUDY)
    analysis = collected(study).judged().analysis()
    if me:
        title, summary = "Demo study: you", ""
    else:
        title, summary = "Demo study, simulated annotators", SUMMARY
        _compare_with_truth(demo, analysis.table)
    report = study_report(study, analysis.table, title=title, analysis=analysis, summary=summary)
    path = demo.folder / PAGES[1]
    path.write_text(render_report(report), encoding="utf-8", newline="\n")
    return path


def _compare_with_truth(demo: _Demo, table: ScoreTable) -> None:
    """Say how many intervals contain the true score of the simulated annotators."""
    say = demo.say
    skills = Skills(0.0, {**SKILLS, **MODEL_SKILLS})
    judged = [(row, row.interval) for row in table.scores if row.role is not Role.CONTROL and row.interval]
    held = 0
    say("")
    say(
        "The annotators are simulated, so the truth is known. An attentive one knows the sentence with"
        " probability s and else guesses"
    )
    say(
        f"one of five, so the true score is 80 % × (1 − s). {CARELESS:.0%} read nothing and guess everywhere."
    )
    for row, interval in judged:
        truth = skills.true_score(row.generator)
        inside = interval.low <= truth <= interval.high
        held += inside
        say(
            f"  {row.generator}: s = {skills.of(row.generator):g}, truth {truth:.0%},"
            f" {'inside' if inside else 'OUTSIDE'} {interval.low:.1%} to {interval.high:.1%}"
        )
    say(
        f"{held} of {len(judged)} intervals contain the truth. (Control is 0 by construction:"
        " annotators who missed it are excluded.)"
    )
