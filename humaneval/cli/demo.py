"""`demo`: the whole line on the bundled stories, with simulated annotators; or with the person at the
keyboard."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from humaneval.cli.run import App, say
from humaneval.errors import DesignError, InputError, PrerequisiteError, UsageError
from humaneval.resources import bundled

if TYPE_CHECKING:
    from humaneval.scoring.scores import ScoreTable

STUDY = "demo"
MARK = ".humaneval-demo"
"""A folder with this file is the demo's own, and is emptied before the next one."""

SKILLS: Mapping[str, float] = {"human": 0.0, "control": 1.0, "example-good": 0.25, "example-poor": 0.7}
"""How often an attentive simulated annotator knows which sentence it is; nobody can know it of a human's."""
MODEL_SKILLS: Mapping[str, float] = {"lm-scratch": 0.85, "ilm-scratch": 0.8}
"""The same for the models that the demo trains: set beforehand like the others, whatever they write."""
MODEL_MINUTES: Mapping[str, float] = {"lm": 0.7, "ilm": 1.0}
TRIES = 20
CARELESS = 0.05
SEED = 2020
ANNOTATORS, QUICK_ANNOTATORS, MY_ROWS = 90, 40, 20
UNFIT = ("unprintable", "cut", "empty", "several sentences", "same as the original", "same as a neighbour")

SUMMARY = (
    "This is a demonstration. The annotators are simulated: programs that went through the real pages over"
    " HTTP, with a skill that was set beforehand for each generator, whatever it wrote. The stories and the"
    " sentences of example-good and example-poor were written as examples and are not the output of any"
    " system. The scores say nothing about people or models."
)


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    help="Where everything goes.",
)
@click.option("--quick", is_flag=True, help="No models, fewer annotators: under 20 seconds.")
@click.option("--me", is_flag=True, help="No simulation: open the worker site and wait for you.")
def demo(folder: Path, quick: bool, me: bool) -> None:
    """Run a whole small study here: stories, models, infills, study, marketplace, annotators, scores, report.

    Trains a small LM and a small ILM on the bundled stories, and asks about stories that they have not seen.
    Everything lies in one folder that can be thrown away.
    """
    started = time.monotonic()
    models = not (quick or me)
    if models and find_spec("torch") is None:
        raise PrerequisiteError(
            "the demo trains two small models, and torch is not installed",
            "pip install 'humaneval-toolkit[models]', or leave them out: humaneval demo --quick",
        )
    _prepare(folder)
    with _servers(folder):
        _make_infills(folder if models else None)
        _make_study(ANNOTATORS if models else QUICK_ANNOTATORS if quick else MY_ROWS, models)
        app = App({})
        if me:
            _wait_for_me(app)
        else:
            _simulate(models)
        _verb("review", STUDY, "--approve")
        report = _scores_and_report(app, folder, me)
        app.engine.dispose()
    say()
    if report is not None:
        say(f"Report: {report.resolve()}")
    say(
        f"Done in {time.monotonic() - started:.0f} s. Everything is in {folder}/; look around with: cd"
        f" {folder} && humaneval status {STUDY}"
    )


def _prepare(folder: Path) -> None:
    """An empty folder of the demo's own; never one with other people's files."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise UsageError(f"{folder} has files that no demo made", "Name another folder with --folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.is_dir() and (path / "infilling.json").exists():
            shutil.rmtree(path)
        elif path.is_file():
            path.unlink()
    (folder / MARK).write_text(
        "Made by `humaneval demo`, which empties this folder at its next run.\n", encoding="utf-8"
    )


@contextmanager
def _servers(folder: Path) -> Iterator[None]:
    """The marketplace and the form server on free ports, and an environment in which every verb finds
    them."""
    from humaneval.cli.init import config_text
    from humaneval.market import MarketServer, Mode, open_market
    from humaneval.settings import Settings
    from humaneval.store.engine import open_engine
    from humaneval.store.migrate import open_current
    from humaneval.web.app import create_app, running

    database = folder.resolve() / "humaneval.db"
    engine, market_engine = open_engine(f"sqlite:///{database}"), open_market(folder / "market.db")
    open_current(engine)
    with MarketServer(market_engine, mode=Mode.LOCAL) as market:
        settings = Settings(database=f"sqlite:///{database}", market_url=market.url)
        with running(create_app(settings, engine)) as port:
            (folder / "humaneval.toml").write_text(
                f'database = "humaneval.db"\n\n{config_text()}', encoding="utf-8"
            )
            say(f"Marketplace on {market.url}, forms on http://localhost:{port}")
            with _environment(
                HUMANEVAL_CONFIG=os.devnull,
                HUMANEVAL_DATABASE=str(database),
                HUMANEVAL_MARKET_URL=market.url,
                HUMANEVAL_PUBLIC_URL=f"http://localhost:{port}",
            ):
                yield
    engine.dispose()
    market_engine.dispose()


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


def _verb(*arguments: str) -> None:
    """Run a verb as a person would type it, and show what was typed."""
    from humaneval.cli.main import cli

    click.secho(f"\n$ humaneval {shlex.join(arguments)}", bold=True)
    cli.main(args=list(arguments), prog_name="humaneval", standalone_mode=False)


def _make_infills(checkpoints: Path | None) -> None:
    """Stories and infills; with `checkpoints`, a folder for them, also those of two models trained here
    and now."""
    _verb("stories", "import", "--bundled")
    _verb("generate", "--generator", "human")
    _verb("generate", "--generator", "control")
    _verb(
        "generate", "--generator", "replay", "--checkpoint", str(bundled("bundled") / "example_infills.csv")
    )
    if checkpoints is None:
        return
    for kind, minutes in MODEL_MINUTES.items():
        folder = str(checkpoints / f"{kind}-scratch")
        _verb(
            "train",
            kind,
            "--bundled",
            "--from-scratch",
            "--preset",
            "small",
            "--out",
            folder,
            "--minutes",
            f"{minutes:g}",
            "--evaluate-every",
            "25",
        )
        name = ("--as", f"{kind}-scratch", "--option", f"tries={TRIES}")
        _verb("generate", "--generator", kind, "--checkpoint", folder, *name)


def _make_study(annotators: int, models: bool) -> None:
    generators = ",".join([*SKILLS, *(MODEL_SKILLS if models else ())])
    create = ("study", "create", STUDY, "--generators", generators, "--annotators", str(annotators))
    try:
        _verb(*create)
    except DesignError as error:
        # Small models do not always manage one whole sentence, and a study does not pass over that in
        # silence.
        say(f"{error.message}\n{error.hint}")
        _verb(*create, *(part for status in UNFIT for part in ("--allow", status)))
    _verb("publish", STUDY, "--to", "local")


def _simulate(models: bool) -> None:
    known = {**SKILLS, **(MODEL_SKILLS if models else {})}
    skills = [part for generator, skill in known.items() for part in ("--skill", f"{generator}={skill:g}")]
    _verb("simulate", STUDY, *skills, "--careless", f"{CARELESS:g}", "--seed", str(SEED))
    _verb("collect", STUDY)


def _wait_for_me(app: App) -> None:
    """Open the worker site, wait until something was submitted, and say how each guess went."""
    from humaneval.crowd.addresses import preview_urls
    from humaneval.crowd.collect import collect_work
    from humaneval.store.engine import reading
    from humaneval.store.queries import response_lines
    from humaneval.study.stored import get_study

    at = app.study_at("local", STUDY)
    url = preview_urls(at.study, at.platform.endpoint)[0]
    say(
        f"\nYour turn: {url}\nSign in with any name, accept the HIT, answer, send. Waiting for you; Ctrl-C"
        " stops."
    )
    if _has_screen():
        webbrowser.open(url)
    while not collect_work(at).submissions:
        time.sleep(1)
    say("\nThank you! This is how it went:")
    with reading(app.engine) as session:
        for line in response_lines(session, get_study(session, STUDY)):
            found = "found" if line["choice"] == line["position"] else "missed"
            what = (
                f"the held-out sentence was {line['position']}, and no machine wrote any"
                if line["role"] == "human"
                else f"{line['generator']} wrote {line['position']}"
            )
            say(f"  Story {line['order']}: you marked {line['choice']}; {what}: {found}")


def _scores_and_report(app: App, folder: Path, me: bool) -> Path | None:
    """Print the scores and write the report; None where nothing is left to score, as when the only person
    missed the control."""
    from humaneval.cli.report import write_report
    from humaneval.cli.score import study_table

    try:
        _verb("score", STUDY)
    except InputError as error:
        if not me:
            raise
        say(f"{error.message}. A study would leave you out, and pay you all the same.")
        return None
    if me:
        return write_report(app, STUDY, folder / "report.html", title="Demo study: you")
    _compare_with_truth(study_table(app, STUDY))
    return write_report(
        app, STUDY, folder / "report.html", title="Demo study, simulated annotators", summary=SUMMARY
    )


def _has_screen() -> bool:
    """Whether opening a browser shows one: in a bare terminal `webbrowser` would take over the terminal
    instead."""
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )


def _compare_with_truth(table: ScoreTable) -> None:
    """Say how many intervals hold the score that was put in, whatever that number is."""
    from humaneval.domain import Role
    from humaneval.simulated import Skills

    skills = Skills(0.0, {**SKILLS, **MODEL_SKILLS})
    judged = [row for row in table.scores if row.role is not Role.CONTROL]
    held = [
        row for row in judged if row.interval.low <= skills.true_score(row.generator) <= row.interval.high
    ]
    say()
    say(
        "Simulated annotators: the truth is known. An attentive one knows the sentence with probability s,"
        " else guesses"
    )
    say(
        f"one of five, so the true score is 80 % × (1 − s). {CARELESS:.0%} read nothing and guess everywhere."
    )
    for row in judged:
        truth = skills.true_score(row.generator)
        verdict = "inside" if row in held else "OUTSIDE"
        say(
            f"  {row.generator}: s = {skills.of(row.generator):g}, truth {truth:.0%}, {verdict}"
            f" {row.interval.low:.1%} to {row.interval.high:.1%}"
        )
    say(
        f"{len(held)} of {len(judged)} intervals hold the truth. (Control is 0 by construction once those who"
        " missed it are excluded.)"
    )
