"""Studies of the four questions: what their rows show, what is stored, and what is refused."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pandas as pd
import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import joinedload

from humaneval.domain import Blank, GeneratorRequest, Story
from humaneval.errors import DesignError, SettingsError, UsageError
from humaneval.infills.blanks import blanks_of
from humaneval.infills.forget import forget
from humaneval.infills.generate import run
from humaneval.infills.processing import Form
from humaneval.infills.rest_of_story import Rest
from humaneval.kinds import build
from humaneval.report.infill_release import write_release
from humaneval.scoring.response_table import read_responses, table_bytes
from humaneval.store.engine import reading
from humaneval.store.responses import response_columns
from humaneval.store.stories import add_stories
from humaneval.store.tables import PassageRow, RowPassageRow, RowRow
from humaneval.stories.reading import read_stories
from humaneval.study.audit import audit
from humaneval.study.create import Created, create_study
from humaneval.study.enlarge import enlarge
from humaneval.study.file import StudyFile, read_study_file
from humaneval.study.stored import get_study, open_study
from humaneval.text import shown_hash
from tests.answered import answer
from tests.commands import Command
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


def test_a_generator_that_is_only_second_is_not_forgotten(engine: Engine) -> None:
    fill(engine, stories_of(5))
    make(engine, "prefer", annotators=1, passages_per_row=2, seed=1)
    (row,) = passages(engine, "prefer")
    (name,) = {named(each)[1] for each in row} - {named(each)[0] for each in row}
    with pytest.raises(UsageError, match=f"study 'prefer' shows infills by '{name}'"):
        forget(engine, name)


def test_each_passage_of_short_rows_of_prefer_has_its_responses(sqlite_engine: Engine) -> None:
    fill(sqlite_engine, stories_of(5))
    make(sqlite_engine, "prefer", annotators=40, passages_per_row=3, responses_per_passage=2)
    times = Counter(each.id for row in passages(sqlite_engine, "prefer") for each in row)
    assert not {at % 2 for at in times.values()} - {0}


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


def test_a_long_storys_blanks_are_not_taken_for_those_of_another(sqlite_engine: Engine) -> None:
    stories = stories_of(20, 3)
    add_stories(sqlite_engine, stories)
    (human,) = build(GeneratorRequest("human"))
    first = run(sqlite_engine, human, blanks_of(stories[:1]))
    whole = run(sqlite_engine, human, blanks_of(stories))
    assert (first.written, whole.already_there, whole.written) == ({"ok": 20}, 20, {"ok": 40})


def test_stories_of_two_lengths_are_refused_with_counts(sqlite_engine: Engine) -> None:
    fill(sqlite_engine, [*stories_of(5, 6), *(replace(one, id=f"x{one.id}") for one in stories_of(7, 4))])
    with pytest.raises(DesignError, match=r"different numbers of sentences \(6 of 5, 4 of 7\)") as told:
        make(sqlite_engine, "detect", annotators=4)
    assert "a database of their own" in told.value.hint
    add_stories(sqlite_engine, [replace(one, id=f"y{one.id}", split="long") for one in stories_of(9, 2)])
    with pytest.raises(DesignError) as told:
        make(sqlite_engine, "detect", annotators=4)
    assert "Splits with stories of one length: long (9)." in told.value.hint


def test_a_file_whose_stories_are_all_too_long_says_how_to_import_it(command: Command) -> None:
    Path("a.jsonl").write_text('{"sentences": ["A b.", "C d.", "E f."]}\n', encoding="utf-8")
    said = command("stories", "import", "a.jsonl")
    assert said.err.endswith("If every story has 3 sentences: --sentences 3.\n")
    assert command("stories", "import", "a.jsonl", "--sentences", "3").code == 0


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


def table_of(path: Path, sentences: int, texts: Callable[[int], str]) -> None:
    """A table of stories with what ours and theirs wrote for their third sentence."""
    with path.open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file)
        write.writerow([*(f"sentence{at}" for at in range(1, sentences + 1)), "position", "ours", "theirs"])
        for story in stories_of(sentences):
            write.writerow([*story.sentences, 3, texts(1), texts(2)])


def test_a_table_of_rests_makes_a_study_of_boundary(command: Command, sqlite_engine: Engine) -> None:
    table_of(Path("table.csv"), 6, lambda n: "\n".join(f"Rest {n} has sentence {at}." for at in range(3, 7)))
    Path("study.toml").write_text('question = "boundary"\n[design]\nannotators = 8\n', encoding="utf-8")
    done = command("study", "create", "rests", "--from", "table.csv", "--file", "study.toml", "--yes")
    assert done.code == 0, done.err
    shown = [each for row in passages(sqlite_engine, "rests") for each in row]
    ours = next(each for each in shown if named(each) == ("ours",))
    assert ours.sentences[2:] == [f"Rest 1 has sentence {at}." for at in range(3, 7)]
    assert {each.position for each in shown if each.role == "human"} == {7}


def test_a_table_of_sentences_makes_a_study_of_prefer(command: Command, sqlite_engine: Engine) -> None:
    table_of(Path("table.csv"), 5, lambda number: f"System {number} wrote this sentence.")
    Path("study.toml").write_text(
        'question = "prefer"\n[design]\ngenerators = ["a", "b"]\n', encoding="utf-8"
    )
    done = command("study", "create", "pairs", "--from", "table.csv", "--file", "study.toml", "--yes")
    assert done.code == 0, done.err
    rows = passages(sqlite_engine, "pairs")
    assert {len(row) for row in rows} == {8}
    assert ("ours", "theirs") in {named(each) for row in rows for each in row}


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


def test_rests_of_a_file_are_replayed(command: Command, sqlite_engine: Engine) -> None:
    stories = stories_of(4, 2)
    add_stories(sqlite_engine, stories)
    text = "story,position,generator,text\n" + "".join(
        f'{story.id},{at},lm,"{chr(10).join(["It was so."] * (5 - at))}"\n'
        for story in stories
        for at in (2, 3, 4)
    )
    Path("rests.csv").write_text(text, encoding="utf-8")
    done = command("generate", "--generator", "replay", "--checkpoint", "rests.csv", "--rest", "--json")
    assert done.json[0]["written"] == {"ok": 6}
    Path("rests.csv").write_text(text.replace(",4,", ",5,"), encoding="utf-8")
    beyond = command("generate", "--generator", "replay", "--checkpoint", "rests.csv", "--rest", "--as", "x")
    assert "position 5, and story 's0' has 4 sentences" in beyond.err


def test_the_audit_of_boundary_has_a_column_for_the_end(command: Command, sqlite_engine: Engine) -> None:
    fill(sqlite_engine, stories_of(6), rest=True)
    make(sqlite_engine, "boundary", annotators=20)
    told = command("study", "audit", "boundary")
    assert told.code == 0, told.err
    assert re.search(r"^human +20 +20 *$", told.out, re.M), told.out
    assert "Chance alone gives a score of 2.17." in told.out


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


def columns_of(engine: Engine, name: str) -> dict[str, list]:
    answer(engine, name)
    with reading(engine) as session:
        return response_columns(session, get_study(session, name))


def test_the_response_table_has_the_second_generator_of_prefer(engine: Engine, tmp_path: Path) -> None:
    fill(engine, stories_of(5))
    make(engine, "prefer", annotators=6)
    columns = columns_of(engine, "prefer")
    assert set(zip(columns["generator"], columns["other"], strict=True)) == {
        pair for pair in permutations(NAMES, 2) if "control" not in pair or "human" in pair
    }
    assert set(columns["question"]) == {"prefer"}
    assert set(columns["choice"]) == {1, 2}
    assert "sentences" not in columns
    (tmp_path / "r.csv").write_bytes(table_bytes(pd.DataFrame(columns), tmp_path / "r.csv"))
    assert read_responses(tmp_path / "r.csv")["other"].tolist() == columns["other"]


def test_the_response_table_has_each_scale_of_rate(sqlite_engine: Engine, tmp_path: Path) -> None:
    fill(sqlite_engine, stories_of(5))
    scales = {"fit": ["does not fit", "fits"], "fluency": ["bad", "good"]}
    make(sqlite_engine, "rate", {"scales": scales, "points": 7}, annotators=6)
    columns = columns_of(sqlite_engine, "rate")
    assert columns["fit"] == columns["choice"]
    assert set(columns["fluency"]) <= set(range(1, 8))
    (tmp_path / "r.csv").write_bytes(table_bytes(pd.DataFrame(columns), tmp_path / "r.csv"))
    again = read_responses(tmp_path / "r.csv")
    assert list(map(int, again["fluency"])) == columns["fluency"]


def test_the_response_table_of_boundary_says_how_long_the_stories_are(
    sqlite_engine: Engine, tmp_path: Path
) -> None:
    fill(sqlite_engine, stories_of(9), rest=True)
    make(sqlite_engine, "boundary", annotators=16)
    columns = columns_of(sqlite_engine, "boundary")
    assert set(columns["sentences"]) == {9}
    whose = zip(columns["position"], columns["generator"], strict=True)
    assert {at for at, generator in whose if generator == "human"} == {10}
    (tmp_path / "r.csv").write_bytes(table_bytes(pd.DataFrame(columns), tmp_path / "r.csv"))
    assert read_responses(tmp_path / "r.csv")["position"].tolist() == columns["position"]


def test_five_sentences_and_a_marked_one_add_no_column(
    sqlite_engine: Engine, study_factory: Callable[..., object]
) -> None:
    study_factory(sqlite_engine, design={"annotators": 4})
    assert not {"question", "sentences", "other", "answer"} & set(columns_of(sqlite_engine, "study"))


def test_infills_are_exported_with_second_sentences_and_all_sentences(
    sqlite_engine: Engine, tmp_path: Path
) -> None:
    fill(sqlite_engine, stories_of(7))
    make(sqlite_engine, "prefer", annotators=6)
    study = open_study(sqlite_engine, "prefer")
    write_release(sqlite_engine, tmp_path / "all", study=study, stories=True)
    with (tmp_path / "all" / "passages.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    pair = next(line for line in lines if (line["generator"], line["other"]) == ("ilm", "lm"))
    assert pair[f"sentence{pair['position']}"] == "ilm wrote this."
    assert pair["alternative"] == "lm wrote this."
    assert pair["shown_hash"] == shown_hash(
        [[*(pair[f"sentence{at}"] for at in range(1, 8)), "lm wrote this."]]
    )
    again = read_stories(tmp_path / "all" / "stories.csv")
    assert {len(story.sentences) for story in again.stories} == {7}


ASKED: dict[str, dict] = {
    "detect": {},
    "prefer": {"ties": True},
    "rate": {"scales": {"fit": ["does not fit", "fits"], "fluency": ["not fluent", "fluent"]}},
    "boundary": {},
}


@pytest.mark.parametrize("question", ASKED)
def test_stories_of_seven_sentences_go_through_every_verb(
    command: Command, sqlite_engine: Engine, question: str
) -> None:
    fill(sqlite_engine, stories_of(7, 24), rest=question == "boundary")
    make(sqlite_engine, question, ASKED[question], annotators=24)
    answer(sqlite_engine, question)
    for words in (
        ("score", question, "--details"),
        ("report", question, "--out", "report.html"),
        ("export", question, "--out", "responses.csv"),
        ("archive", question, "--out", "archive.zip"),
        ("archive", "--check", "archive.zip"),
        ("study", "audit", question),
        ("study", "preview", question, "--out", "preview.html"),
    ):
        done = command(*words)
        assert done.code == 0, (words, done.err)
    said = command("score", "--responses", "responses.csv", "--json")
    assert said.code == 0, said.err
    of_study, of_table = (
        command("score", *words, "--json").json for words in ([question], ["--responses", "responses.csv"])
    )
    assert of_study["scores"] == of_table["scores"]
