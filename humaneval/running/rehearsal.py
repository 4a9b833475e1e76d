"""Rehearses a study: a simulated worker goes through a copy of it, on a temporary marketplace and form
server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Engine, Select, insert, select

from humaneval.crowd.approve import approve_work
from humaneval.crowd.collect import collect_work
from humaneval.crowd.doctor import Finding
from humaneval.crowd.endpoints import local
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.published_hits import preview_urls
from humaneval.crowd.reconcile import reconcile
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import HumanEvalError, PlatformError
from humaneval.market import MarketServer, Mode, open_account, open_market
from humaneval.settings import Settings
from humaneval.simulated import Skills, crowd_for, work_through
from humaneval.store.engine import open_engine
from humaneval.store.migrate import open_current
from humaneval.store.tables import (
    GeneratorRow,
    InfillRow,
    PassageRow,
    RowPassageRow,
    RowRow,
    RunRow,
    StoryRow,
    StudyRow,
)
from humaneval.store.types import Base
from humaneval.study.file import StudyFile
from humaneval.study.stored import Study, mark_simulated, open_study, study_key
from humaneval.text import counted
from humaneval.web.app import create_app, running

BATCH = 500


def rehearse(study: Study, *, as_new_marketplace: bool) -> Iterator[Finding]:
    """Go from publishing to paying. Each step is a finding; the first one that fails is the last.

    With `as_new_marketplace`, the study's requirements for workers are kept. Otherwise those are dropped that
    no new worker can meet.
    """
    with TemporaryDirectory(prefix="humaneval-") as folder:
        copy = open_engine(f"sqlite:///{folder}/copy.db")
        try:
            open_current(copy)
            _copy_study(study, copy, keep_requirements=as_new_marketplace)
            step = "Rehearsal"
            try:
                for step, detail in _walk(open_study(copy, study.name), Path(folder)):
                    yield Finding(step, True, True, detail)
            except HumanEvalError as error:
                yield Finding(f"After {step.lower()}", False, True, f"{error.message}. {error.hint}")
        finally:
            copy.dispose()


def _walk(study: Study, folder: Path) -> Iterator[tuple[str, str]]:
    """What was done, and how it went; `study` is the copy."""
    market = open_market(folder / "market.db")
    try:
        open_account(market, Mode.LOCAL, balance=None)
        with MarketServer(market, mode=Mode.LOCAL) as server:
            # Here nobody is paid, so any currency will do.
            here = replace(local(server.url), currency=study.settings.hit.currency)
            at = StudyAtPlatform(study, MTurk(here))
            app = create_app(Settings(market_url=server.url), study.engine)
            with running(app) as port:
                plan_hits(at)
                made = publish_hits(at, public_url=f"http://127.0.0.1:{port}")
                yield "Publishing", counted(made.made, "HIT")
                mark_simulated(study)
                countries = study.settings.participants.countries
                crowd = crowd_for(study, 1, Skills(), country=countries[0] if countries else "")
                preview, key = preview_urls(study, at.platform.endpoint)[0], study_key(study)
                if not work_through(crowd, preview, key).submitted:
                    raise PlatformError(
                        "the simulated worker found no HIT that it may take",
                        "No worker who is new to the marketplace meets [participants] of the study.",
                    )
                yield "Taking part", "a simulated worker took a HIT, saw the form, answered and submitted"
                found = collect_work(at)
                if (found.submissions, found.responses) != (1, study.settings.row_size):
                    submissions = counted(found.submissions, "submission")
                    raise PlatformError(f"collect found {submissions}", "Report this.")
                if found.differences or found.strays:
                    raise PlatformError("; ".join(found.differences) or "a stray", "Report this.")
                yield "Collecting", counted(found.responses, "response")
                if made.made > 1 and work_through(crowd, preview, key).submitted:
                    raise PlatformError("the same worker could take part twice", "Report this.")
                yield "Taking part again", "is not possible"
                approve_work(at)
                books = reconcile(at)
                if books.differences or books.unexplained:
                    raise PlatformError("the books do not agree", "; ".join(books.differences))
                yield "Paying", f"{at.sign}{books.paid} with fees, and the books agree"
    finally:
        market.dispose()


def _copy_study(study: Study, target: Engine, *, keep_requirements: bool) -> None:
    """Copy everything that a form of the study shows, and nothing about people."""
    excluded = study.settings.participants.exclude_studies
    with study.engine.connect() as reader, target.begin() as writer:
        for query, table in _queries(study.name, excluded):
            rows = [dict(row) for row in reader.execute(query).mappings()]
            if table is StudyRow and not keep_requirements:
                for row in rows:
                    row["settings"] = _without_requirements(row["settings"])
                    # Settings are kept by their hash.
                    row["settings_hash"] = StudyFile.model_validate(row["settings"]).hash
            for start in range(0, len(rows), BATCH):
                writer.execute(insert(table), rows[start : start + BATCH])


def _queries(name: str, others: tuple[str, ...]) -> list[tuple[Select[Any], type[Base]]]:
    studies = select(StudyRow.id).where(StudyRow.name == name)
    passages = select(PassageRow.__table__).where(PassageRow.study_id.in_(studies))
    shown = passages.subquery()
    infills = select(InfillRow.__table__).where(InfillRow.id.in_(select(shown.c.infill_id)))
    runs = select(RunRow.__table__).where(RunRow.id.in_(select(infills.subquery().c.run_id)))
    rows = select(RowRow.__table__).where(RowRow.study_id.in_(studies))
    return [
        (select(StoryRow.__table__).where(StoryRow.id.in_(select(shown.c.story_id))), StoryRow),
        (select(GeneratorRow.__table__), GeneratorRow),
        (runs, RunRow),
        (infills, InfillRow),
        (select(StudyRow.__table__).where(StudyRow.name.in_((name, *others))), StudyRow),
        (passages, PassageRow),
        (rows, RowRow),
        (
            select(RowPassageRow.__table__).where(RowPassageRow.row_id.in_(select(rows.subquery().c.id))),
            RowPassageRow,
        ),
    ]


def _without_requirements(settings: dict[str, Any]) -> dict[str, Any]:
    people = settings["participants"] | {
        "min_approved_percent": 0,
        "min_approved_hits": 0,
        "masters": False,
        "qualifications": [],
    }
    return settings | {"participants": people}
