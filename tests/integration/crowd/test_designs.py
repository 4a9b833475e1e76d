"""Designs meet people: more rows for a study that is up, passages that several judge, and what the audit
makes of it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine, select

from humaneval.crowd.claims import Outcome, open_form
from humaneval.crowd.collect import collect_work
from humaneval.crowd.form_of_row import load_form
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.review import review_work
from humaneval.crowd.store_answers import keep_answers
from humaneval.crowd.study_at import open_study_at
from humaneval.domain import Blank, Infill, InfillStatus, Provenance, Story
from humaneval.errors import DesignError, UsageError
from humaneval.infills.blanks import blanks_of
from humaneval.infills.generate import run
from humaneval.store.engine import reading, writing
from humaneval.store.tables import (
    AssignmentRow,
    HitRow,
    InfillRow,
    PassageRow,
    RowPassageRow,
    RowRow,
    StudyRow,
)
from humaneval.study.audit import audit
from humaneval.study.create import create_study
from humaneval.study.enlarge import WARNING, additions_of, enlarge
from humaneval.study.file import read_study_file
from humaneval.study.stored import get_study, open_study

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


def rows_of(engine: Engine, name: str = "study") -> list[list[int]]:
    """The infills that each row shows, in order."""
    with reading(engine) as session:
        return [[p.passage.infill_id or 0 for p in row.places] for row in get_study(session, name).rows]


PARTIAL = {"annotators": 13, "passages_per_row": 3}
TWICE = {"annotators": 12, "responses_per_passage": 2}


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize("design", [{"annotators": 13}, PARTIAL, TWICE], ids=["whole", "partial", "twice"])
def test_an_enlarged_study_begins_with_its_rows_and_is_the_larger_study(
    engine: Engine, study_factory: Callable, design: dict[str, int]
) -> None:
    study_factory(engine, "study", design=design)
    before = rows_of(engine)
    enlarge(open_study(engine, "study"), 30, "as planned")
    last = enlarge(open_study(engine, "study"), 2)
    assert rows_of(engine)[: len(before)] == before
    rows = design["annotators"] + 32
    settings, text = read_study_file(None, overrides={"design": {**design, "annotators": rows}})
    larger = create_study(engine, "larger", settings, text)
    assert rows_of(engine) == rows_of(engine, "larger")
    assert last.design_hash == larger.design_hash
    said = additions_of(open_study(engine, "study"))
    assert [(each.rows_before, each.rows_after, each.reason) for each in said] == [
        (rows - 32, rows - 2, "as planned"),
        (rows - 2, rows, ""),
    ]
    with reading(engine) as session:
        stored = get_study(session, "study")
        assert stored.settings["design"]["annotators"] == rows - 32  # the study file is frozen


def test_rows_that_do_not_go_round_are_refused(sqlite_engine: Engine, study_factory: Callable) -> None:
    study_factory(sqlite_engine, design=TWICE)
    with pytest.raises(UsageError, match="judged 2 times, and 3 is not a multiple of 2") as caught:
        enlarge(open_study(sqlite_engine, "study"), 3)
    assert caught.value.hint == "Add 4 forms."


def test_infills_that_came_later_do_not_matter_and_one_that_changed_forbids_more_rows(
    sqlite_engine: Engine, study_factory: Callable, stories: tuple[Story, ...]
) -> None:
    class More:
        name = "later"
        provenance = Provenance("later")

        def infill(self, blanks: Any) -> Any:
            for blank in blanks:
                yield Infill(Blank(blank.story, blank.position), "Later.", InfillStatus.OK)

    study_factory(sqlite_engine)
    run(sqlite_engine, More(), blanks_of(stories, (1, 2, 3, 4, 5)))
    enlarge(open_study(sqlite_engine, "study"), 1)
    shown = rows_of(sqlite_engine)[0][0]
    with writing(sqlite_engine) as session:
        session.get_one(InfillRow, shown).text = "Another sentence."
    with pytest.raises(DesignError, match=r"stories or infills have changed since"):
        enlarge(open_study(sqlite_engine, "study"), 1)
    assert len(rows_of(sqlite_engine)) == 41


@pytest.mark.parametrize("static", [False, True])
def test_publish_puts_up_hits_for_the_new_rows_alone(
    sqlite_engine: Engine, put_up: Callable, platform: MTurk, static: bool
) -> None:
    up = put_up(sqlite_engine, static=static, design={"annotators": 4})
    assert plan_hits(open_study_at(sqlite_engine, "study", platform), static=static).hits == 0
    enlarge(open_study(sqlite_engine, "study"), 11)
    plan = plan_hits(open_study_at(sqlite_engine, "study", platform), static=static)
    assert (plan.hits, plan.assignments, plan.already_up) == ((11, 11, 4) if static else (2, 11, 1))
    publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=up.forms)
    assert plan_hits(open_study_at(sqlite_engine, "study", platform), static=static).hits == 0
    if static:
        with reading(sqlite_engine) as session:
            assert Counter(session.scalars(select(HitRow.row_id))) == Counter(
                session.scalars(select(RowRow.id))
            )


def test_lost_rows_that_are_handed_out_again_are_not_taken_for_new_ones(
    sqlite_engine: Engine, put_up: Callable, work_at: Callable, platform: MTurk, verb: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 3, "top_up": "auto"})
    work_at(sqlite_engine, up.preview, "Ada", attentive=False)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    review_work(open_study(sqlite_engine, "study"), "local")
    enlarge(open_study(sqlite_engine, "study"), 2)
    said = verb("status", "study").out
    assert "2 new forms of the enlarged study not put up yet." in said
    assert "Next: humaneval publish study --to local\n" in said
    plan = plan_hits(open_study_at(sqlite_engine, "study", platform))
    assert plan.assignments == 3  # two new rows, one lost
    assert plan_hits(open_study_at(sqlite_engine, "study", platform)).assignments == 3
    publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=up.forms)
    assert "new form" not in verb("status", "study").out
    assert plan_hits(open_study_at(sqlite_engine, "study", platform)).hits == 0


def test_forms_that_were_added_are_put_up_at_one_place(
    sqlite_engine: Engine, put_up: Callable, verb: Callable
) -> None:
    put_up(sqlite_engine, design={"annotators": 3})
    study = open_study(sqlite_engine, "study")
    enlarge(study, 2)
    assert "2 new forms" in verb("status", "study").out
    link = {"study_id": study.id, "endpoint": "link", "audience": "open", "key": "k", "external_id": "k"}
    with writing(sqlite_engine) as session:
        session.add(HitRow(**link, assignments=5))
    assert "new form" not in verb("status", "study").out


def test_the_audit_says_what_was_achieved_and_every_verb_that_the_study_was_enlarged(
    sqlite_engine: Engine, put_up: Callable, work_at: Callable, platform: MTurk, verb: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    for name, attentive in (("Ada", True), ("Ben", False), ("Cleo", True)):
        work_at(sqlite_engine, up.preview, name, attentive=attentive)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    found = audit(open_study(sqlite_engine, "study"))
    assert (found.rows.planned, found.rows.answered, found.rows.analysed, found.rows.lost) == (4, 3, 2, 1)
    assert [(line.planned, line.analysed) for line in found.generators] == [(4, 2)] * 4
    achieved = {line.what: line.achieved for line in found.balance}
    assert achieved["generator × position"] == (0, 1)
    assert achieved["responses per passage"] == (0, 1)
    assert achieved["stories met twice in a form"] == (0, 0)
    assert found.chance_achieved is not None
    before = verb("study", "enlarge", "study", "--annotators", "2", "--dry-run")
    assert WARNING in before.err
    said = verb("study", "enlarge", "study", "--annotators", "2", "--reason", "written down before", "--yes")
    assert said.code == 0
    assert "now has 6 forms; it had 4" in said.out
    assert WARNING in said.err
    assert "Responses so far: 12." in said.err
    for line in ("study audit study", "score study"):
        assert "written down before" in verb(*line.split()).out
        (addition,) = verb(*line.split(), "--json").document["design_additions"]
        assert (addition["rows_before"], addition["rows_after"]) == (4, 6)
        assert addition["responses_before"] == 12
        assert addition["warning"] == WARNING
    assert verb("report", "study", "--out", "report.html").code == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert "enlarged from 4 to 6 forms" in page
    assert "<dt>Annotators planned</dt><dd>6</dd>" in page
    plan = page[page.index("Plan against what was achieved") :]
    assert re.search(r"Annotators</\w+>\s*<td[^>]*>6</td>", plan)


def test_enlarging_says_what_it_costs_and_what_was_added_before_and_asks(
    sqlite_engine: Engine, study_factory: Callable, verb: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    study_factory(sqlite_engine, "study", design={"annotators": 4})
    more = ("study", "enlarge", "study", "--annotators", "2")
    dry = verb(*more, "--dry-run")
    assert dry.code == 0
    assert "They get $1.60 if all are approved." in dry.out
    unasked = verb(*more)
    assert unasked.code == 2
    assert "adds 2 forms for $1.60 to study 'study', and there is no terminal" in unasked.err
    assert len(rows_of(sqlite_engine)) == 4
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    asked: list[str] = []
    monkeypatch.setattr("click.confirm", lambda question, **_: bool(asked.append(question)))
    assert verb(*more).code == 2
    assert len(rows_of(sqlite_engine)) == 4
    assert verb(*more, "--yes").code == 0
    assert len(rows_of(sqlite_engine)) == 6
    assert verb(*more).code == 2
    assert asked[0] == "Add 2 forms for $1.60?"
    assert re.fullmatch(r"Add 2 forms for \$1\.60 \(added before: on [\d-]+ 2\)\?", asked[1])
    document = verb(*more, "--dry-run", "--json").document
    assert (document["rows_after"], document["cost"]) == (8, "1.92")
    assert [each["rows_after"] for each in document["earlier_additions"]] == [6]
    again = verb(*more, "--yes")  # as after a kill before it could say anything
    assert (again.code, len(rows_of(sqlite_engine))) == (2, 6)
    assert "these forms were added already" in again.err
    assert "give another --reason" in again.err
    assert verb(*more, "--yes", "--reason", "planned before").code == 0
    assert len(rows_of(sqlite_engine)) == 8


def test_a_study_has_at_most_so_many_rows_and_grows_only_from_those_that_were_asked_about(
    sqlite_engine: Engine, study_factory: Callable
) -> None:
    study_factory(sqlite_engine, "study", design={"annotators": 4})
    with pytest.raises(UsageError, match="has 4 forms, and a study can have at most 100,000") as caught:
        enlarge(open_study(sqlite_engine, "study"), 99_997)
    assert caught.value.hint == "Add at most 99,996."
    enlarge(open_study(sqlite_engine, "study"), 2, rows_before=4)
    with pytest.raises(UsageError, match="had 4 forms a moment ago and now has 6"):
        enlarge(open_study(sqlite_engine, "study"), 2, rows_before=4)
    assert len(rows_of(sqlite_engine)) == 6


def test_an_enlarged_study_shows_its_addition_and_the_hash_of_all_its_rows(
    sqlite_engine: Engine, study_factory: Callable, verb: Callable
) -> None:
    study_factory(sqlite_engine, "study", design={"annotators": 4})
    first = verb("study", "show", "study", "--json").document
    assert first["design_hash"] == first["first_design_hash"]
    assert first["design_additions"] == []
    made = enlarge(open_study(sqlite_engine, "study"), 2, "as planned")
    shown = verb("study", "show", "study", "--json").document
    assert (shown["rows"], shown["design_hash"]) == (6, made.design_hash)
    assert shown["first_design_hash"] == first["design_hash"] != made.design_hash
    text = verb("study", "show", "study").out
    assert "enlarged from 4 to 6 forms" in text
    assert f"Design {made.design_hash}" in text
    assert f"Design of the first 4 forms {first['design_hash']}" in text


def test_the_audit_of_a_study_without_answers_has_no_columns_of_nothing(
    sqlite_engine: Engine, study_factory: Callable, verb: Callable
) -> None:
    study_factory(sqlite_engine, "one", design={"annotators": 1, "positions": [3]})
    text = verb("study", "audit", "one").out
    assert "1 form planned, none answered yet." in text
    assert "achieved" not in text
    assert "0/" not in text
    assert "every machine's sentence is sentence 3" in text


def test_a_worker_who_met_a_story_twice_is_named_by_pseudonym(
    sqlite_engine: Engine, put_up: Callable, work_at: Callable, platform: MTurk, verb: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 2, "responses_per_passage": 2})
    for name in ("Ada", "Ben"):
        work_at(sqlite_engine, up.preview, name, attentive=True)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert "Nobody met a story twice." in verb("study", "audit", "study").out
    with writing(sqlite_engine) as session:  # as an import of other people's answers could have it
        ada, ben = session.scalars(select(AssignmentRow).order_by(AssignmentRow.id))
        rows = {each.row_id: {p.passage.story_id for p in each.row.places} for each in (ada, ben)}
        both = set.intersection(*rows.values())
        ben.worker_id = ada.worker_id
    found = audit(open_study(sqlite_engine, "study")).stories_twice
    assert len(found) == len(both) > 0
    assert {each.passages for each in found} == {2}
    assert "met a story twice" in verb("study", "audit", "study").out


@pytest.mark.parametrize("seed", range(6))
def test_C57_whoever_comes_in_whatever_order_nobody_meets_a_story_twice(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk, seed: int
) -> None:
    rng = Random(seed)
    several, forms = rng.choice([1, 2, 3, 5]), rng.choice([1, 2, 3])
    rows = several * rng.randint(1, 6)
    design = {
        "annotators": rows,
        "responses_per_passage": several,
        "rows_per_annotator": forms,
        "passages_per_row": rng.choice([0, 2, 3]),
    }
    study_factory(sqlite_engine, design=design)
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    with reading(sqlite_engine) as session:
        keys = list(session.scalars(select(HitRow.key)))
    # Everybody tries more often than they may, in any order; some let their form run out, and come again or
    # not.
    visits = [f"W{number}" for number in range(rows + several) for _ in range(forms + 1)]
    rng.shuffle(visits)
    for number, worker in enumerate(visits):
        now = START + timedelta(hours=number)
        opened = open_form(
            sqlite_engine,
            hit_key=rng.choice(keys),
            external_hit="",
            assignment=f"A{number}",
            worker=worker,
            now=now,
        )
        if opened.outcome is Outcome.FORM and rng.random() < 0.8:
            form = load_form(sqlite_engine, opened.assignment_id).form
            choices = {f"choice-{shown.place}": "1" for shown in form.passages}
            keep_answers(
                sqlite_engine, opened.assignment_id, {"form": form.form_hash, "consent": "1", **choices}, now
            )
    with reading(sqlite_engine) as session:
        done = session.execute(
            select(AssignmentRow.worker_id, AssignmentRow.row_id, PassageRow.story_id, PassageRow.id)
            .join(RowPassageRow, RowPassageRow.row_id == AssignmentRow.row_id)
            .join(PassageRow, PassageRow.id == RowPassageRow.passage_id)
            .where(AssignmentRow.state == "answered")
        ).all()
        study = session.scalars(select(StudyRow)).one()
        planned = {row.id for row in study.rows}
    assert set(Counter((worker, story) for worker, _, story, _ in done).values()) == {1}
    judges: dict[int, list[int]] = defaultdict(list)
    for worker, _, _, passage in done:
        judges[passage].append(worker)
    assert all(len(set(each)) == len(each) for each in judges.values())
    # There were enough people for every row, whoever was ruled out for some of them.
    assert {row for _, row, _, _ in done} == planned
    assert {len(each) for each in judges.values()} == {several}
