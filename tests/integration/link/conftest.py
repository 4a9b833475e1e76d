"""A study of a few rows on a running form server, for people who come by link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.crowd import claims
from humaneval.crowd.endpoints import link
from humaneval.crowd.link import Link
from humaneval.settings import Settings
from humaneval.web.app import create_app, running
from tests.integration.link.people import LinkStudy


@pytest.fixture
def by_link(study_factory: Callable, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., LinkStudy]]:
    """Makes a study of four rows in a database and serves its forms: `by_link(engine, design={…},
    link={…})`."""
    # Tests end leases within the second in which a server does not look again.
    monkeypatch.setattr(claims, "LOOK_EVERY", timedelta(0))
    with ExitStack() as stack:
        servers: dict[Engine, str] = {}

        def make(
            engine: Engine, name: str = "study", *, secret: str = "", **sections: dict[str, Any]
        ) -> LinkStudy:
            sections = {**sections, "design": {"annotators": 4, **sections.get("design", {})}}
            settings = study_factory(engine, name, **sections)
            if engine not in servers:
                port = stack.enter_context(running(create_app(Settings(panel_secret=secret), engine)))
                servers[engine] = f"http://localhost:{port}"
            url = servers[engine]
            return LinkStudy(engine, name, url, Link(link(url), engine, pay=settings.link.pay))

        yield make
