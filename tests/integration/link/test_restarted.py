"""The database's server is started again under a form server, whose connections had nothing to do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from humaneval.simulated.browser import Browser, Page
from humaneval.store.engine import open_engine
from humaneval.store.migrate import upgrade
from tests.fixtures import _on_server
from tests.integration.link.people import begin, send
from tests.postgres import Server, own_server

PEOPLE = 4


@pytest.fixture
def server(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that this test alone uses."""
    if os.environ.get("HUMANEVAL_TEST_POSTGRES"):
        pytest.skip("needs PostgreSQL of npm: unset HUMANEVAL_TEST_POSTGRES")
    folder = Path(postgres_server.partition("host=")[2]).parent / "started-again"
    folder.mkdir(mode=0o755)
    with own_server(folder) as made:
        yield made


def test_a_server_that_is_started_again_costs_nobody_an_answer(server: Server, by_link: Callable) -> None:
    engine = open_engine(_on_server(server.url, "postgres"))
    upgrade(engine)
    study = by_link(engine)
    link = study.open_link()
    over, seen = Event(), list[Page]()

    def look_on() -> None:
        while not over.is_set():
            seen.append(Browser().get(link))

    def sent(page: Page) -> Page:
        answer = send(page)
        while answer.status == 503 and not over.is_set():  # what it says: try again in a moment
            seen.append(answer)
            answer = send(page)
        return answer

    with ThreadPoolExecutor(2 * PEOPLE) as people:
        pages = list(people.map(begin, [link] * PEOPLE))  # as many connections wait from now on
        looking = people.submit(look_on)
        server.stop()
        sending = [people.submit(sent, page) for page in pages[1:]]
        server.start()
        first = send(pages[0])
        done = [one.result() for one in sending]
        over.set()
        looking.result()
    engine.dispose()
    assert {page.status for page in seen} <= {200, 503}
    told = [page.html for page in seen if page.status == 503]
    assert all("Please send once more" in each or "Please try again in a moment" in each for each in told)
    assert [page.status for page in (first, *done)] == [200] * PEOPLE
    assert len(study.answers()) == PEOPLE
