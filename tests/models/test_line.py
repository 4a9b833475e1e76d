"""Models in the whole pipeline: what a small ILM writes, and how a study treats it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from humaneval.domain import GeneratorRequest, InfillStatus, Story
from humaneval.errors import DesignError
from humaneval.infills.blanks import blanks_of
from humaneval.infills.generate import run
from humaneval.kinds import build
from humaneval.store.engine import reading
from humaneval.store.tables import InfillRow, PassageRow, StudyRow
from humaneval.study.create import create_study
from humaneval.study.file import read_study_file

pytestmark = pytest.mark.models


def test_a_study_refuses_a_model_that_does_not_write_one_sentence_until_that_is_allowed_and_then_says_so(
    sqlite_engine: Engine, study_factory: Callable, stories: tuple[Story, ...], checkpoints: dict[str, Path]
) -> None:
    study_factory(sqlite_engine, "without")
    (ilm,) = build(GeneratorRequest("ilm", "ilm-scratch", str(checkpoints["ilm"]), "cpu"))
    run(sqlite_engine, ilm, blanks_of(stories, (1, 2, 3, 4, 5)))
    with reading(sqlite_engine) as session:
        statuses = Counter(session.scalars(select(InfillRow.status).where(InfillRow.status != "ok")))
    assert statuses, "the model is meant to be too small for this"
    overrides = {"design": {"generators": ["control", "human", "ilm-scratch"], "annotators": 6}}
    study, text = read_study_file(None, overrides=overrides)
    with pytest.raises(DesignError) as refusal:
        create_study(sqlite_engine, "with", study, text)
    for status, count in statuses.items():
        assert f"{count} {status}" in refusal.value.message
        assert f"--allow '{status}'" in refusal.value.hint
    assert "ilm-scratch: " in refusal.value.message
    allowed = replace_allowed(study, [InfillStatus(status) for status in statuses])
    create_study(sqlite_engine, "with", allowed, text)
    with reading(sqlite_engine) as session:
        stored = session.scalars(select(StudyRow).where(StudyRow.name == "with")).one()
        assert set(stored.settings["design"]["allow"]) == set(statuses)
        shown = session.scalars(select(PassageRow).where(PassageRow.study_id == stored.id)).all()
    assert all(passage.sentences[passage.position - 1] for passage in shown)


def replace_allowed(study, allow):
    return study.model_copy(update={"design": study.design.model_copy(update={"allow": tuple(allow)})})


def test_generating_goes_on_where_a_kill_stopped_it(
    sqlite_engine: Engine, stories: tuple[Story, ...], checkpoints: dict[str, Path]
) -> None:
    from humaneval.store.stories import add_stories

    add_stories(sqlite_engine, stories)
    blanks = blanks_of(stories[:14], (1, 2, 3, 4, 5))
    (whole,) = build(GeneratorRequest("lm", "whole", str(checkpoints["lm"]), "cpu"))
    run(sqlite_engine, whole, blanks)
    (again,) = build(GeneratorRequest("lm", "killed", str(checkpoints["lm"]), "cpu"))

    def infill(given):
        for number, infill in enumerate(again.infill(given)):
            if number == 60:
                raise KeyboardInterrupt
            yield infill

    dying = type(
        "Dying", (), {"name": "killed", "provenance": again.provenance, "infill": staticmethod(infill)}
    )()
    with pytest.raises(KeyboardInterrupt):
        run(sqlite_engine, dying, blanks)
    run(sqlite_engine, again, blanks)
    with reading(sqlite_engine) as session:
        lines = session.execute(
            select(InfillRow.generator_id, InfillRow.story_id, InfillRow.position, InfillRow.text)
        ).all()
    by_generator: dict[int, dict[tuple[int, int], str]] = {}
    for generator, story, position, text in lines:
        by_generator.setdefault(generator, {})[story, position] = text
    first, second = by_generator.values()
    assert first == second
