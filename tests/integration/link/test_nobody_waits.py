"""While any verb works on thousands of forms, a person who has one open can send it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event, text

from humaneval.crowd.approve import approve_work
from humaneval.crowd.collect import collect_work
from humaneval.crowd.extend import expire_all, extend_all
from humaneval.crowd.link import Invitation
from humaneval.crowd.publish import moved_links
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.purge import purge
from humaneval.crowd.review import review_work
from humaneval.crowd.study_at import open_study_at
from humaneval.domain import GeneratorRequest, Story
from humaneval.infills.blanks import blanks_of
from humaneval.infills.forget import forget
from humaneval.infills.generate import run
from humaneval.kinds import build
from humaneval.report.archive import make_archive
from humaneval.report.infill_release import write_release
from humaneval.store.stories import add_stories
from humaneval.store.types import now
from humaneval.study.create import create_study
from humaneval.study.enlarge import enlarge
from humaneval.study.file import read_study_file
from humaneval.study.scores import collected
from humaneval.study.stored import open_study
from tests.integration.link.crowd_of_thousands import answer_by_link
from tests.integration.link.people import LinkStudy, begin, heading, send
from tests.pace import slowness

FORMS, SPARE = 500, 400
LONGEST = 0.25
"""Seconds of its own thread's work that a transaction may take while it keeps others from writing."""


class Held:
    """How long others cannot write, in seconds of the holder's own work: a busy machine does not count."""

    def __init__(self, engine: Engine) -> None:
        self.longest: dict[str, float] = {}
        self.doing = ""
        self._began: dict[int, float] = {}
        event.listen(engine, "begin", self._begin)
        for end in ("commit", "rollback"):
            event.listen(engine, end, self._end)

    def _begin(self, connection: Connection) -> None:
        if connection.get_execution_options().get("writes"):
            self._began[threading.get_ident()] = time.thread_time()

    def _end(self, connection: Connection) -> None:
        began = self._began.pop(threading.get_ident(), None)
        if began is not None:
            took = time.thread_time() - began
            self.longest[self.doing] = max(self.longest.get(self.doing, 0.0), took)


@contextmanager
def somebody_sends(link: str) -> Iterator[list[float]]:
    """People come one after the other, each with a form open, and send it while the block runs. Yields how
    long each of their pages took."""
    waits: list[float] = []
    stop, failed = threading.Event(), []

    def come() -> None:
        try:
            while not stop.is_set():
                page = begin(link)
                before = time.perf_counter()
                done = send(page)
                waits.append(time.perf_counter() - before)
                assert done.status == 200, done.html
                assert heading(done) == "Thank you"
                time.sleep(0.05)
        except BaseException as error:
            failed.append(error)

    person = threading.Thread(target=come)
    person.start()
    try:
        yield waits
    finally:
        stop.set()
        person.join()
    assert not failed, failed[0]


def test_a_form_can_be_sent_while_any_verb_works_on_thousands(
    by_link: Callable[..., LinkStudy], sqlite_engine: Engine, tmp_path: Path
) -> None:
    study = by_link(sqlite_engine, design={"annotators": FORMS + SPARE})
    link = study.open_link()
    answer_by_link(sqlite_engine, FORMS)
    at = open_study_at(sqlite_engine, "study", study.platform)
    opened = open_study(sqlite_engine, "study")
    told = [
        Story(
            f"more {number}",
            (f"It is {number}.", "It was.", "It is two.", "It was three.", "It is four."),
        )
        for number in range(3_000)
    ]
    settings, source = read_study_file(None, overrides={"design": {"annotators": 500, "seed": 5}})
    blanks = blanks_of(told, (1, 2))
    people = [Invitation("personal", f"person {number}", 1) for number in range(3_000)]
    verbs: dict[str, Callable[[], object]] = {
        "collect": lambda: collect_work(at),
        "collect again": lambda: collect_work(at),
        "review": lambda: review_work(opened, "link"),
        "score": lambda: collected(opened).table(),
        "archive": lambda: make_archive(opened),
        "export": lambda: write_release(sqlite_engine, tmp_path / "infills"),
        "import": lambda: add_stories(sqlite_engine, told),
        "generate": lambda: run(sqlite_engine, build(GeneratorRequest("control", "spare"))[0], blanks),
        "forget": lambda: forget(sqlite_engine, "spare"),
        "create": lambda: create_study(sqlite_engine, "another", settings, source),
        "enlarge": lambda: enlarge(opened, 400),
        "extend": lambda: extend_all(at, 3),
        "links, to look": lambda: plan_hits(at, invitations=people, dry_run=True),
        "links": lambda: plan_hits(at, invitations=people),
        "links again": lambda: plan_hits(at, invitations=people),
        "links moved": lambda: moved_links(at, "http://localhost:9", people[:1_000]),
        "purge": lambda: purge(sqlite_engine, now(), now()),
    }
    held = Held(sqlite_engine)
    with somebody_sends(link) as waits:
        for held.doing, verb in verbs.items():
            verb()
    expire_all(at)
    assert len(waits) >= 5
    assert max(held.longest.values()) < LONGEST * slowness(), held.longest
    assert collected(opened).frame["worker"].nunique() >= FORMS


@pytest.mark.long
def test_no_page_waits_a_second_while_verbs_go_over_ten_thousand_responses(
    by_link: Callable[..., LinkStudy], engine: Engine
) -> None:
    study = by_link(engine, design={"annotators": 3_600})
    link = study.open_link()
    answer_by_link(engine, 2_500)
    if engine.dialect.name == "postgresql":  # the loader gave its rows their numbers
        with engine.begin() as connection:
            for name in ("workers", "assignments"):
                connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), 100000)"))
    at, opened = open_study_at(engine, "study", study.platform), open_study(engine, "study")
    people = [Invitation("personal", f"person {number}", 1) for number in range(3_000)]
    verbs: dict[str, Callable[[], object]] = {
        "collect": lambda: collect_work(at),
        "review": lambda: review_work(opened, "link"),
        "approve": lambda: approve_work(at),
        "archive": lambda: make_archive(opened),
        "enlarge": lambda: enlarge(opened, 400),
        "extend": lambda: extend_all(at, 3),
        "links": lambda: plan_hits(at, invitations=people),
        "purge": lambda: purge(engine, now(), now()),
    }
    longest = {}
    for name, verb in verbs.items():
        with somebody_sends(link) as waits:
            verb()
        longest[name] = max(waits)
    assert max(longest.values()) < slowness(), longest
    assert collected(opened).frame["worker"].nunique() >= 2_500
