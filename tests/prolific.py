"""A study that is not up yet, its forms, and a stand-in for Prolific."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.crowd import claims
from humaneval.crowd.endpoints import prolific
from humaneval.crowd.prolific.account import Account
from humaneval.crowd.prolific.client import ProlificClient
from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.market.prolific_standin import Faults, ProlificServer, open_prolific
from humaneval.settings import Settings
from humaneval.web.app import create_app, running
from humaneval.web.prolific_check import Checker
from tests.integration.prolific.people import Clock, World


@pytest.fixture
def faults() -> Faults | None:
    """A plan of faults for the stand-in."""
    return None


@pytest.fixture
def world_of(
    study_factory: Callable, tmp_path: Path, faults: Faults | None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., World]]:
    """Makes a study in a database, and serves its forms: `world_of(engine, design={…}, hit={…})`."""
    monkeypatch.setattr(claims, "LOOK_EVERY", timedelta(0))
    clock, books = Clock(), open_prolific(tmp_path / "prolific.db")
    with ExitStack() as stack:
        server = stack.enter_context(ProlificServer(books, clock=clock, faults=faults, delivers=False))

        def make(engine: Engine, name: str = "study", **sections: dict[str, Any]) -> World:
            design = {"annotators": 4, **sections.pop("design", {})}
            hit = {"currency": "GBP", **sections.pop("hit", {})}
            study_factory(engine, name, design=design, hit=hit, **sections)
            client = ProlificClient(server.url, server.token, wait=lambda seconds: None)
            project = next(Account(client, "")._projects())["id"]

            def open_at(endpoint: str, study: str) -> StudyAtPlatform:
                there, token = prolific(server.url), server.token
                platform = Prolific(there, engine, token=token, project=project, wait=lambda seconds: None)
                return open_study_at(engine, study, platform)

            app = create_app(Settings(prolific_url=server.url), engine, checker=Checker(open_at))
            port = stack.enter_context(running(app))
            return World(engine, server, clock, f"http://localhost:{port}", project, name)

        yield make
    books.dispose()


@pytest.fixture
def world(world_of: Callable[..., World], sqlite_engine: Engine) -> World:
    """A study of four rows."""
    return world_of(sqlite_engine)


@pytest.fixture
def anywhere(world_of: Callable[..., World], engine: Engine) -> World:
    """The same on SQLite and on PostgreSQL, where money, rows or concurrency are at stake."""
    return world_of(engine)
