"""The same people with the same rows give the same scores, from Prolific or by a panel's link."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.cli.main import main
from humaneval.crowd.approve import approve_work
from humaneval.crowd.endpoints import link
from humaneval.crowd.link import Link
from humaneval.crowd.reconcile import reconcile
from humaneval.settings import Settings
from humaneval.simulated.browser import Browser
from humaneval.store.engine import open_engine
from humaneval.web.app import create_app, running
from tests.integration.link.people import LinkStudy, begin, form_on, panel
from tests.integration.prolific.people import Person, World


def scored(engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("HUMANEVAL_DATABASE", engine.url.render_as_string(hide_password=False))
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["score", "study", "--json"])
    assert not ended.value.code
    return rounded(json.loads(capsys.readouterr().out))


def rounded(told: Any) -> Any:
    """Sums over people in another order differ in the last digit."""
    if isinstance(told, dict):
        return {name: rounded(each) for name, each in told.items()}
    if isinstance(told, list):
        return list(map(rounded, told))
    return round(told, 9) if isinstance(told, float) else told


def chosen(number: int, place: int) -> int:
    return (place * number) % 5 + 1


@pytest.mark.parametrize(
    ("count", "inattentive"),
    [(12, (3,)), pytest.param(100, (3, 11, 42, 43, 99), marks=pytest.mark.long)],
    ids=["twelve", "a hundred"],
)
def test_scores_are_those_by_link(
    count: int,
    inattentive: tuple[int, ...],
    world_of: Callable[..., World],
    study_factory: Callable[..., Any],
    sqlite_engine: Engine,
    sqlite_template: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    world = world_of(sqlite_engine, design={"annotators": count})
    world.publish()
    people: list[Person] = []
    for number in range(count):
        person = world.person(f"person {number}")
        person.take()
        person.answer(right=number not in inattentive, choose=partial(chosen, number))
        person.finish()
        people.append(person)
    world.collect()
    approve_work(world.at())
    books = reconcile(world.at())
    assert (books.differences, books.left) == ((), 0)

    other = open_engine(f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'link.db')}")
    study_factory(other, "study", design={"annotators": count})
    with running(create_app(Settings(), other)) as port:
        url = f"http://localhost:{port}"
        there = LinkStudy(other, "study", url, Link(link(url), other))
        address = there.panel_link()
        for person in people:
            page = begin(panel(address, person.id, person.submission))
            form = form_on(page)
            given = {name: value for name, value in person.sent.items() if name in form.names()}
            assert given["form"] == form.values["form"]  # the same row
            Browser().submit(page, form, {**given, "token": form.values["token"]})
        there.collect()
    by_prolific, by_link = (scored(each, monkeypatch, capsys) for each in (sqlite_engine, other))
    other.dispose()
    assert by_prolific == by_link  # nothing tells which it was
