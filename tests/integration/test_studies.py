"""Studies: frozen, seeded, honest about what is left out; and the key that only the researcher has."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, update

from humaneval.crowd.form_of_row import form_of
from humaneval.crowd.form_page import Delivery, render_form
from humaneval.domain import Blank, GeneratorRequest, Infill, InfillStatus, Provenance, Story
from humaneval.errors import DesignError, UsageError
from humaneval.infills.blanks import blanks_of
from humaneval.infills.generate import run
from humaneval.infills.processing import Processed
from humaneval.kinds import build
from humaneval.store.engine import reading, writing
from humaneval.store.stories import add_stories
from humaneval.store.tables import InfillRow, PassageRow, RowRow, StoryRow, StudyRow
from humaneval.study.audit import audit
from humaneval.study.create import Created, LeftOut, create_study
from humaneval.study.file import StudyFile, read_study_file
from humaneval.study.stored import get_study, open_study, study_key
from humaneval.study.words import words_of
from humaneval.text import shown_hash

POSITIONS = (1, 2, 3, 4, 5)
Place = tuple[str, int]


@dataclass(frozen=True)
class Scripted:
    """Writes a plain sentence for each blank, but at the (story, position) pairs of `statuses` has that
    status."""

    name: str
    statuses: Mapping[Place, InfillStatus] = field(default_factory=dict)

    @property
    def provenance(self) -> Provenance:
        return Provenance("scripted")

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        for blank in blanks:
            status = self.statuses.get((blank.story.id, blank.position), InfillStatus.OK)
            text = "" if status in (InfillStatus.EMPTY, InfillStatus.MISSING) else f"{self.name} wrote this."
            yield Infill(blank, text, status)


@pytest.fixture
def filled(stories: tuple[Story, ...]) -> Callable[..., None]:
    """Puts stories and the infills of control, human and scripted generators into a database."""

    def fill(engine: Engine, *generators: Scripted, first: int = 24) -> None:
        add_stories(engine, stories)
        blanks = blanks_of(stories[:first], POSITIONS)
        (control,), (human,) = build(GeneratorRequest("control")), build(GeneratorRequest("human"))
        for generator in (control, human, *generators):
            run(engine, generator, blanks)

    return fill


def create(engine: Engine, name: str = "study", **sections: dict[str, Any]) -> Created:
    return create_study(engine, name, *read_study_file(None, overrides=sections))


def three(annotators: int = 30, **settings: Any) -> dict[str, Any]:
    return {"generators": ["control", "human", "system"], "annotators": annotators, **settings}


def shown(engine: Engine, name: str = "study") -> list[list[tuple[str, int, str, list[str]]]]:
    """Every row's passages in order: story, position, generator, sentences."""
    with reading(engine) as session:
        return [
            [
                (str(p.story_id), p.position, p.generator.name, p.sentences)
                for p in (place.passage for place in row.places)
            ]
            for row in get_study(session, name).rows
        ]


def test_the_same_seed_gives_the_same_study_and_another_seed_another(
    sqlite_engine: Engine, filled: Callable[..., None]
) -> None:
    filled(sqlite_engine, Scripted("system"))
    first = create(sqlite_engine, "first", design=three(seed=4))
    again = create(sqlite_engine, "again", design=three(seed=4))
    other = create(sqlite_engine, "other", design=three(seed=5))
    assert (first.design_hash, first.settings_hash) == (again.design_hash, again.settings_hash)
    assert other.design_hash != first.design_hash
    assert shown(sqlite_engine, "first") == shown(sqlite_engine, "again")


def test_the_same_seed_gives_the_same_study_in_another_database(
    engine: Engine, filled: Callable[..., None]
) -> None:
    filled(engine, Scripted("system"))
    made = create(engine, design=three(seed=4))
    # Whatever the database, the machine and the version: what a paper says of its seed must stay true.
    assert made.design_hash == "0ebd341a3c21dcd05435ee6aebe640e7c1ec6a2c1d0c5904f9760fcbd11cb33e"
    assert made.settings_hash == "87c07790f4fb4b5f22aadaa4bc79ebeb74cadb84994c583d07f5a33e373885df"


def test_creating_a_study_twice_changes_nothing(sqlite_engine: Engine, filled: Callable[..., None]) -> None:
    filled(sqlite_engine, Scripted("system"))
    first, before = create(sqlite_engine, design=three()), shown(sqlite_engine)
    again = create(sqlite_engine, design=three())
    assert not first.was_there
    assert again.was_there
    assert (again.rows, again.passages, again.stories) == (first.rows, first.passages, first.stories)
    assert again.design_hash == first.design_hash
    assert shown(sqlite_engine) == before


def test_other_settings_under_the_same_name_are_refused(
    sqlite_engine: Engine, filled: Callable[..., None]
) -> None:
    filled(sqlite_engine, Scripted("system"))
    create(sqlite_engine, design=three())
    before = shown(sqlite_engine)
    with pytest.raises(UsageError, match="study 'study' exists with other settings"):
        create(sqlite_engine, design=three(), page={"question": "Which one is odd?"})
    assert shown(sqlite_engine) == before


@pytest.mark.parametrize("name", ["", "a/b", "../x", " a", "a\n", "-a", "a\x00", "."])
def test_a_name_that_could_not_name_a_file_is_refused(sqlite_engine: Engine, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a study") as error:
        create(sqlite_engine, name)
    assert "letters, digits, spaces, hyphens, underscores and dots" in error.value.hint


def test_infills_that_are_not_ok_are_refused_with_a_count_for_each_generator(
    sqlite_engine: Engine, filled: Callable[..., None], stories: tuple[Story, ...]
) -> None:
    several, cut = InfillStatus.SEVERAL_SENTENCES, InfillStatus.CUT
    filled(
        sqlite_engine,
        Scripted(
            "system", {(stories[0].id, 1): several, (stories[1].id, 1): several, (stories[2].id, 2): cut}
        ),
        Scripted("other", {(stories[0].id, 1): cut}),
    )
    design = {"generators": ["control", "human", "other", "system"], "annotators": 20}
    with pytest.raises(DesignError) as caught:
        create(sqlite_engine, design=design)
    assert "(other: 1 cut; system: 1 cut, 2 several sentences)" in caught.value.message
    assert "--allow 'cut' --allow 'several sentences'" in caught.value.hint
    with reading(sqlite_engine) as session:
        assert session.scalars(select(StudyRow)).all() == []


def test_what_was_allowed_is_shown_and_recorded_in_the_settings(
    sqlite_engine: Engine, filled: Callable[..., None], stories: tuple[Story, ...]
) -> None:
    statuses = {(story.id, position): InfillStatus.CUT for story in stories for position in POSITIONS}
    filled(sqlite_engine, Scripted("system", statuses))
    made = create(sqlite_engine, design=three(allow=["cut"]))
    assert made.left_out.lacking == {}
    assert open_study(sqlite_engine, "study").settings.design.allow == (InfillStatus.CUT,)
    assert made.settings_hash != read_study_file(None, overrides={"design": three()})[0].hash
    sentences = [s for row in shown(sqlite_engine) for _, _, g, s in row if g == "system"]
    assert all("system wrote this." in passage for passage in sentences)


def test_a_passage_is_never_dropped_for_one_generator_alone(
    sqlite_engine: Engine, filled: Callable[..., None], stories: tuple[Story, ...]
) -> None:
    missing = {(story.id, 3): InfillStatus.MISSING for story in stories[:20]}
    empty = {(stories[23].id, 1): InfillStatus.EMPTY}
    filled(sqlite_engine, Scripted("system", missing), Scripted("other", empty))
    design = {"generators": ["control", "human", "other", "system"], "annotators": 100}
    made = create(sqlite_engine, design=design | {"allow": ["missing", "empty"]})
    assert made.left_out.lacking == {"system": 20, "other": 1}
    by_generator: dict[str, set[tuple[str, int]]] = {}
    for row in shown(sqlite_engine):
        for story, position, generator, sentences in row:
            by_generator.setdefault(generator, set()).add((story, position))
            assert all(sentences)
    assert len({frozenset(blanks) for blanks in by_generator.values()}) == 1


def test_X27_stories_that_one_generator_has_not_filled_are_counted_and_left_out_for_all(
    sqlite_engine: Engine, filled: Callable[..., None], stories: tuple[Story, ...]
) -> None:
    filled(sqlite_engine, Scripted("system"))
    run(sqlite_engine, Scripted("late"), blanks_of(stories[:10], POSITIONS))
    made = create(sqlite_engine, design={"generators": ["control", "human", "late"], "annotators": 60})
    assert made.stories == 10
    assert made.left_out == LeftOut(stories=24, without_infills=14)


def test_a_generator_without_infills_is_named_with_what_to_run(
    sqlite_engine: Engine, filled: Callable[..., None]
) -> None:
    filled(sqlite_engine)
    with pytest.raises(DesignError, match="no infills from system") as caught:
        create(sqlite_engine, design=three())
    assert "--as system" in caught.value.hint
    assert "control, human" in caught.value.hint


def test_a_split_without_stories_is_named(sqlite_engine: Engine) -> None:
    with pytest.raises(DesignError, match="no stories of split 'valid'"):
        create(sqlite_engine, design={"split": "valid"})


def test_a_passage_is_the_story_with_the_infill_at_its_position_and_the_roles_are_right(
    sqlite_engine: Engine, filled: Callable[..., None], stories: tuple[Story, ...]
) -> None:
    filled(sqlite_engine, Scripted("system"))
    create(sqlite_engine, design=three())
    by_key = {story.id: story for story in stories}
    with reading(sqlite_engine) as session:
        for passage in session.scalars(select(PassageRow)):
            original = by_key[passage.story.key].sentences
            expected = {
                "control": "This sentence was generated by a computer.",
                "human": original[passage.position - 1],
                "system": "system wrote this.",
            }[passage.generator.name]
            assert tuple(passage.sentences) == Blank(by_key[passage.story.key], passage.position).filled(
                expected
            )
            assert passage.role == passage.generator.name
            assert session.get_one(InfillRow, passage.infill_id).text == expected


def test_the_key_gives_each_form_by_the_hash_of_what_it_shows(
    sqlite_engine: Engine, filled: Callable[..., None]
) -> None:
    filled(sqlite_engine, Scripted("system"))
    create(sqlite_engine, design=three())
    key = study_key(open_study(sqlite_engine, "study"))
    rows = shown(sqlite_engine)
    assert len(key) == len(rows) == 30
    for row in rows:
        entry = key[shown_hash([sentences for *_, sentences in row])]
        assert entry == [{"position": position, "generator": generator} for _, position, generator, _ in row]


def test_an_audit_counts_what_is_stored(sqlite_engine: Engine, filled: Callable[..., None]) -> None:
    filled(sqlite_engine, Scripted("a"), Scripted("b"))
    create(sqlite_engine, design={"generators": ["control", "human", "a", "b"], "annotators": 40})
    found = audit(open_study(sqlite_engine, "study"))
    assert [tuple(line) for line in found.balance] == [
        ("generator × position", 20, (8, 8), None),
        ("generator × place in the form", 16, (10, 10), None),
        ("ordered neighbours", 12, (10, 10), None),
        ("responses per blank", 40, (4, 4), None),
        ("responses per passage", 160, (1, 1), None),
        ("stories met twice in a form", 40, (0, 0), None),
    ]
    assert [(line.generator, line.planned, line.analysed) for line in found.generators] == [
        (name, 40, 0) for name in ("control", "human", "a", "b")
    ]
    assert (found.chance_nominal, found.chance_achieved, found.stories_twice) == (0.8, None, ())


def test_a_partial_study_is_stored_and_audited_without_its_control(
    sqlite_engine: Engine, filled: Callable[..., None]
) -> None:
    filled(sqlite_engine, Scripted("a"), Scripted("b"), Scripted("c"))
    names = ["control", "human", "a", "b", "c"]
    create(sqlite_engine, design={"generators": names, "annotators": 60, "passages_per_row": 3})
    assert {len(row) for row in shown(sqlite_engine)} == {3}
    assert all("control" in {generator for *_, generator, _ in row} for row in shown(sqlite_engine))
    counts = {line.what: line.planned for line in audit(open_study(sqlite_engine, "study")).balance}
    # Four others in pairs: 6 blocks, 3 places, 5 positions.
    assert counts["generator × position (without control)"] == (6, 6)
    assert counts["generator × place in the form (without control)"] == (10, 10)
    assert counts["pairs in one form (without control)"] == (10, 10)
    assert counts["stories met twice in a form"] == (0, 0)


def test_each_passage_is_shown_to_so_many_annotators_when_the_study_says_so(
    sqlite_engine: Engine, filled: Callable[..., None]
) -> None:
    filled(sqlite_engine, Scripted("a"), Scripted("b"))
    create(
        sqlite_engine,
        design={"generators": ["control", "human", "a", "b"], "annotators": 60, "responses_per_passage": 3},
    )
    counts = {line.what: line.planned for line in audit(open_study(sqlite_engine, "study")).balance}
    assert counts["responses per passage"] == (3, 3)
    assert counts["generator × position"] == (12, 12)
    assert len(study_key(open_study(sqlite_engine, "study"))) == 60


def page(engine: Engine, row: int = 1) -> str:
    with reading(engine) as session:
        study = get_study(session, "study")
        form = form_of(session, study, study.rows[row - 1].id)
        return render_form(form, Delivery(action="about:blank", static=True))


@pytest.mark.parametrize("show_titles", [True, False])
def test_titles_are_shown_only_when_the_study_says_so(
    sqlite_engine: Engine, filled: Callable[..., None], show_titles: bool
) -> None:
    filled(sqlite_engine, Scripted("system"))
    create(sqlite_engine, design=three(), page={"show_titles": show_titles})
    with reading(sqlite_engine) as session:
        row = session.scalars(select(RowRow).where(RowRow.ordinal == 1)).one()
        titles = [place.passage.story.title for place in row.places]
    assert all(titles)
    assert [title in page(sqlite_engine) for title in titles] == [show_titles] * 3


def test_the_consent_names_minutes_and_reward(sqlite_engine: Engine, filled: Callable[..., None]) -> None:
    filled(sqlite_engine, Scripted("system"))
    create(
        sqlite_engine,
        design=three(),
        hit={"reward": "1.25", "expected_minutes": 7.5},
        consent={"text": "About {minutes} minutes for ${reward}. {other} {{minutes}}"},
    )
    settings = open_study(sqlite_engine, "study").settings
    assert words_of(settings).consent(settings, "hit") == "About 7.5 minutes for $1.25. {other} {7.5}"
    assert "About 7.5 minutes for $1.25." in page(sqlite_engine)
    assert str(settings.hit.hourly) == "10.00"


def test_settings_are_parsed_once_for_each_stored_hash(
    sqlite_engine: Engine, filled: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("humaneval.study.stored._parsed", {})  # whatever other tests have parsed
    filled(sqlite_engine, Scripted("system"))
    create(sqlite_engine, design=three(seed=1), name="one")
    create(sqlite_engine, design=three(seed=2), name="two")
    one, two = (open_study(sqlite_engine, name) for name in ("one", "two"))
    assert (one.settings.design.seed, two.settings.design.seed) == (1, 2)

    def parse(_: object) -> StudyFile:
        raise AssertionError("parsed again")

    monkeypatch.setattr(StudyFile, "model_validate", parse)
    assert open_study(sqlite_engine, "one") == one
    assert open_study(sqlite_engine, "one").settings is one.settings


def test_the_preset_is_the_papers_design(
    sqlite_engine: Engine, filled: Callable[..., None], stories: tuple[Story, ...], tmp_path: Path
) -> None:
    filled(sqlite_engine)
    systems = ["bert", "sa", "lm-scratch", "lm", "ilm-scratch", "ilm"]
    with (tmp_path / "systems.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["story", "position", "generator", "text"])
        writer.writerows(
            [blank.story.id, blank.position, system, f"{system} filled blank {blank.position}."]
            for system in systems
            for blank in blanks_of(stories, POSITIONS)
        )
    for generator in build(GeneratorRequest("replay", checkpoint=str(tmp_path / "systems.csv"))):
        run(sqlite_engine, generator, blanks_of(stories, POSITIONS))
    settings, text = read_study_file(None, preset="acl2020")
    made = create_study(sqlite_engine, "paper", settings, text)
    assert (made.rows, made.stories) == (100, 24)
    assert text.startswith("# preset: acl2020\n")
    assert settings.design.top_up == "never"
    assert settings.exclusions.missed_control == "annotator"
    rows = shown(sqlite_engine, "paper")
    assert {len(row) for row in rows} == {8}
    assert {generator for row in rows for *_, generator, _ in row} == {"control", "human", *systems}
    counts = {line.what: line.planned for line in audit(open_study(sqlite_engine, "paper")).balance}
    assert counts["generator × position"] == (20, 20)
    assert counts["generator × place in the form"] == (12, 13)
    assert counts["ordered neighbours"] == (12, 13)
    assert counts["stories met twice in a form"] == (0, 0)


def test_systems_whose_texts_were_processed_differently_make_no_study(
    engine: Engine, stories: tuple[Story, ...], filled: Callable[..., None]
) -> None:
    filled(
        engine,
        Scripted("plain"),
        Processed(Scripted("one"), ("stop",)),
        Processed(Scripted("two"), ("stop",)),
    )
    both = {"generators": ["control", "human", "plain", "one"], "annotators": 12}
    with pytest.raises(DesignError, match="processed differently") as error:
        create(engine, design=both)
    assert "one: stop; plain: none" in error.value.message
    assert "--processing" in error.value.hint
    create(engine, design={**both, "generators": ["control", "human", "one", "two"]})


def test_X28_a_control_in_another_language_than_the_stories_is_doubted(
    sqlite_engine: Engine, filled: Callable[..., None]
) -> None:
    filled(sqlite_engine, Scripted("system"))
    for language, option in (("ar", "language=ar"), ("id", "wordings=TEXT")):
        settings, text = read_study_file(
            None, overrides={"design": three(), "page": {"story_language": language}}
        )
        (doubt,) = create_study(sqlite_engine, language, settings, text).doubts
        assert f"--as NAME --option {option}" in doubt
    settings, text = read_study_file(None, overrides={"design": three()})
    assert create_study(sqlite_engine, "en", settings, text).doubts == ()


def test_X25_settings_that_the_texts_do_not_bear_out_are_doubted(
    sqlite_engine: Engine, filled: Callable[..., None]
) -> None:
    filled(sqlite_engine, Scripted("system"))
    with writing(sqlite_engine) as session:
        session.execute(update(StoryRow).values(title=""))
    overrides = {
        "design": three(),
        "page": {"show_titles": True},
        "exclusions": {"words_per_second": 0.3},
    }
    settings, text = read_study_file(None, overrides=overrides)
    titles, speed = create_study(sqlite_engine, "study", settings, text).doubts
    assert "page.show_titles = true, but" in titles
    assert "have no title" in titles
    assert "exclusions.words_per_second = 0.3 excludes people who take hit.expected_minutes = 4" in speed


def test_X25_a_study_that_excludes_those_of_an_absent_one_is_refused(
    sqlite_engine: Engine, filled: Callable[..., None]
) -> None:
    filled(sqlite_engine, Scripted("system"))
    create(sqlite_engine, "pilot", design=three())
    with pytest.raises(UsageError, match=r"exclude_studies names 'pilott', and there is no study") as told:
        create(sqlite_engine, design=three(), participants={"exclude_studies": ["pilott"]})
    assert told.value.hint.startswith("Studies: pilot. ")
    create(sqlite_engine, design=three(), participants={"exclude_studies": ["pilot"]})


def test_X25_a_study_that_excludes_its_own_participants_is_refused(
    sqlite_engine: Engine, filled: Callable[..., None]
) -> None:
    filled(sqlite_engine, Scripted("system"))
    with pytest.raises(UsageError, match=r"names itself in participants\.exclude_studies"):
        create(sqlite_engine, design=three(), participants={"exclude_studies": ["study"]})
