"""Studies of the four questions: what their rows show, what is stored, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import joinedload

from humaneval.domain import Blank, GeneratorRequest, Story
from humaneval.errors import DesignError, SettingsError
from humaneval.infills.blanks import blanks_of
from humaneval.infills.generate import run
from humaneval.infills.processing import Form
from humaneval.infills.rest import Rest
from humaneval.kinds import build
from humaneval.store.engine import reading
from humaneval.store.stories import add_stories
from humaneval.store.tables import PassageRow, RowPassageRow, RowRow
from humaneval.study.audit import audit
from humaneval.study.create import Created, create_study
from humaneval.study.enlarge import enlarge
from humaneval.study.file import StudyFile, read_study_file
from humaneval.study.stored import open_study
from humaneval.text import shown_hash
from tests.integration.test_studies import Scripted

NAMES = ("control", "human", "ilm", "lm")


def stories_of(sentences: int, number: int = 12) -> list[Story]:
    return [
        Story(f"s{at}", tuple(f"Person {at} wrote sentence {place}." for place in range(1, sentences + 1)))
        for at in range(number)
    ]


def fill(engine: Engine, stories: Iterable[Story], *, rest: bool = False) -> None:
    """Stories with infills by the control, the human, ilm and lm."""
    stories = list(stories)
    add_stories(engine, stories)
    (control,), (human,) = build(GeneratorRequest("control")), build(GeneratorRequest("human"))
    form = Form(rest=rest)
    for generator in (*form.of((control,), ()), human, *form.of((Scripted("ilm"), Scripted("lm")), ())):
        run(engine, generator, blanks_of(stories, rest=rest))


def read(question: str, answers: dict | None = None, **design: object) -> StudyFile:
    overrides = {"question": question, "answers": answers or {}}
    return read_study_file(None, overrides={**overrides, "design": {"generators": NAMES, **design}}).settings


def make(engine: Engine, question: str, answers: dict | None = None, **design: object) -> Created:
    return create_study(engine, question, read(question, answers, **design), "")


def passages(engine: Engine, study: str) -> list[list[PassageRow]]:
    with reading(engine) as session:
        rows: dict[int, list[PassageRow]] = {}
        for ordinal, passage in session.execute(
            select(RowRow.ordinal, PassageRow)
            .join(RowPassageRow, RowPassageRow.row_id == RowRow.id)
            .join(PassageRow, PassageRow.id == RowPassageRow.passage_id)
            .where(RowRow.study_id == open_study(engine, study).id)
            .options(joinedload(PassageRow.generator), joinedload(PassageRow.other_generator))
            .order_by(RowRow.ordinal, RowPassageRow.place)
        ):
            rows.setdefault(ordinal, []).append(passage)
        session.expunge_all()
        return list(rows.values())


def named(passage: PassageRow) -> tuple[str, ...]:
    other = passage.other_generator
    return (passage.generator.name, *([other.name] if other else []))


def test_a_row_of_prefer_shows_every_pair_in_both_orders(engine: Engine) -> None:
    fill(engine, stories_of(5))
    make(engine, "prefer", annotators=40)
    shown = passages(engine, "prefer")
    for row in shown:
        assert sorted(map(named, row)) == sorted(
            [("control", "human"), ("human", "control")]
            + [(a, b) for a in NAMES[1:] for b in NAMES[1:] if a != b]
        )
    one = next(each for row in shown for each in row if named(each) == ("ilm", "lm"))
    assert (one.sentences[one.position - 1], one.alternative) == ("ilm wrote this.", "lm wrote this.")
    assert one.shown_hash == shown_hash([[*one.sentences, one.alternative]])
    at = Counter((named(each), each.position) for row in shown for each in row)
    assert set(at.values()) == {8}
    found = audit(open_study(engine, "prefer"))
    assert [line.generator for line in found.generators][:2] == ["human | ilm", "human | lm"]
    assert found.chance_nominal == 0.5
    assert {(line.planned.smallest, line.planned.largest) for line in found.balance[:1]} == {(8, 8)}


def test_controls_of_short_rows_of_prefer_take_turns(sqlite_engine: Engine) -> None:
    fill(sqlite_engine, stories_of(5))
    make(sqlite_engine, "prefer", annotators=40, passages_per_row=3)
    rows = passages(sqlite_engine, "prefer")
    controls = [[each for each in row if each.role == "control"] for row in rows]
    assert all(len(row) == 3 and len(control) == 1 for row, control in zip(rows, controls, strict=True))
    assert Counter(named(*control) for control in controls) == {
        ("control", "human"): 20,
        ("human", "control"): 20,
    }


def test_an_enlarged_study_of_prefer_goes_on_as_it_began(sqlite_engine: Engine) -> None:
    fill(sqlite_engine, stories_of(5))
    make(sqlite_engine, "prefer", annotators=10)
    before = [[one.shown_hash for one in row] for row in passages(sqlite_engine, "prefer")]
    enlarge(open_study(sqlite_engine, "prefer"), 10)
    after = [[one.shown_hash for one in row] for row in passages(sqlite_engine, "prefer")]
    assert len(after) == 20
    assert after[:10] == before


@pytest.mark.parametrize("sentences", [3, 5, 10, 20])
def test_stories_may_have_3_to_20_sentences(sqlite_engine: Engine, sentences: int) -> None:
    fill(sqlite_engine, stories_of(sentences))
    make(sqlite_engine, "detect", annotators=4 * sentences)
    again = make(sqlite_engine, "detect", annotators=4 * sentences)
    assert again.was_there
    rows = passages(sqlite_engine, "detect")
    at = Counter((named(each), each.position) for row in rows for each in row)
    assert set(at.values()) == {4}
    assert len(at) == 4 * sentences
    assert audit(open_study(sqlite_engine, "detect")).chance_nominal == pytest.approx(1 - 1 / sentences)


def test_stories_of_two_lengths_are_refused_with_counts(sqlite_engine: Engine) -> None:
    fill(sqlite_engine, [*stories_of(5, 6), *(replace(one, id=f"x{one.id}") for one in stories_of(7, 4))])
    with pytest.raises(DesignError, match=r"different numbers of sentences \(6 of 5, 4 of 7\)"):
        make(sqlite_engine, "detect", annotators=4)


def test_a_study_of_boundary_shows_the_rest_by_a_machine_or_all_by_a_person(engine: Engine) -> None:
    fill(engine, stories_of(6), rest=True)
    make(engine, "boundary", annotators=20)
    rows = passages(engine, "boundary")
    for one in (each for row in rows for each in row):
        person = [text.startswith("Person") for text in one.sentences]
        assert len(one.sentences) == 6
        assert one.position == (7 if one.role == "human" else person.index(False) + 1)
        assert all(person) or not any(person[one.position - 1 :])
    at = Counter((named(each), each.position) for row in rows for each in row)
    assert {at[("ilm",), place] for place in range(2, 7)} == {4}
    assert at[("human",), 7] == 20
    found = audit(open_study(engine, "boundary"))
    assert {(line.planned.smallest, line.planned.largest) for line in found.balance[:1]} == {(4, 20)}


def test_a_position_that_the_stories_lack_is_named(sqlite_engine: Engine) -> None:
    fill(sqlite_engine, stories_of(3))
    with pytest.raises(DesignError, match="names sentence 4, and the stories have 3 sentences"):
        make(sqlite_engine, "detect", annotators=4, positions=[2, 4])


def test_rests_and_sentences_are_not_mixed_up(sqlite_engine: Engine) -> None:
    fill(sqlite_engine, stories_of(5))
    with pytest.raises(
        DesignError, match=r"boundary' shows the rest of a story, and .*ilm.* wrote one sentence"
    ):
        make(sqlite_engine, "boundary", annotators=4)


class Sees:
    """Writes what it sees of the story."""

    name = "sees"

    def __init__(self) -> None:
        self.provenance = Scripted("sees").provenance

    def infill(self, blanks: Iterable[Blank]):
        for blank in blanks:
            one = next(iter(Scripted("sees").infill([blank])))
            yield replace(
                one, text=f"Saw {blank.position - 1} before and {len(blank.story.sentences)} in all."
            )


def test_the_rest_is_written_sentence_by_sentence_and_sees_nothing_after() -> None:
    story = stories_of(6)[0]
    (found,) = Rest(Sees()).infill([Blank(story, 4)])
    assert found.text == (
        "Saw 3 before and 4 in all.\nSaw 4 before and 5 in all.\nSaw 5 before and 6 in all."
    )
    assert found.blank == Blank(story, 4)


@pytest.mark.parametrize(
    ("question", "design", "said"),
    [
        ("rank", {}, "there is no question 'rank'"),
        ("boundary", {"positions": [1, 2]}, "cannot take out sentence 1"),
        ("prefer", {"passages_per_row": 9}, "from 2 to the 8 passages"),
        ("detect", {"passages_per_row": 5}, "from 2 to the 4 generators"),
        ("detect", {"positions": [21]}, "from 1 to 20"),
    ],
)
def test_a_study_file_that_its_question_contradicts_is_refused(
    question: str, design: dict, said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        read(question, **design)


def test_the_question_is_in_the_hash_only_if_it_is_another() -> None:
    plain = read("detect")
    assert read_study_file(None, overrides={"design": {"generators": NAMES}}).settings.hash == plain.hash
    assert read("prefer").hash != plain.hash
    assert read("prefer", {"ties": True}).hash != read("prefer").hash
