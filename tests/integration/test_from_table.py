"""`study create --from`: from nothing to a published study; what a refused or killed run leaves behind."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from humaneval.store.engine import open_engine, reading
from humaneval.store.tables import (
    GeneratorRow,
    InfillRow,
    PassageRow,
    RunRow,
    StoryRow,
    StudyBlankRow,
    StudyRow,
)
from humaneval.study import from_table
from tests.commands import Command, program
from tests.unit.test_from_table import FIVE, by_a, by_b, story

HEADER = (*FIVE, "position", "model a", "model b")


def rows(names: int = 20) -> list[list[Any]]:
    people = [f"Tom{number}" for number in range(names)]
    return [[*story(name), at % 5 + 1, by_a(name), by_b(name)] for at, name in enumerate(people)]


def save(lines: Sequence[Sequence[Any]], header: Sequence[str] = HEADER, name: str = "table.csv") -> None:
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *lines])


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the database will be. It is not there yet."""
    path = tmp_path / "new.db"
    monkeypatch.setenv("HUMANEVAL_DATABASE", str(path))
    return path


def count(path: Path, what: Any) -> int:
    engine = open_engine(f"sqlite:///{path}")
    with reading(engine) as session:
        number = session.scalar(select(func.count()).select_from(what))
    engine.dispose()
    return number or 0


def test_half_of_a_character_in_json_is_named_and_nothing_is_stored(
    there: Path,
) -> None:
    made = [dict(zip(HEADER, row, strict=True)) for row in rows()]
    for row in made:
        row["model a"] = f"{row['model a'][:-1]}\ud800."
    Path("half.json").write_text(json.dumps(made), encoding="utf-8")
    said = program("study", "create", "mine", "--from", "half.json", "--yes")
    told = said.stderr.decode()
    assert said.returncode == 1, told
    assert "characters that no page can carry: U+D800" in told
    assert "\\ud800" in told
    assert not there.exists()


def test_a_table_becomes_a_published_study_with_nothing_imported_before(
    command: Command, there: Path, market: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(rows())
    made = command("study", "create", "mine", "--from", "table.csv", "--yes")
    assert made.code == 0
    assert (
        "Study 'mine' created: 20 forms, 80 passages from 20 stories, 2 systems, Control and Human."
        in made.out
    )
    assert made.out.endswith("Next: humaneval up mine\n")
    assert "The form promises $0.80 for about 4 minutes, $12.00 per hour. You pay people yourself" in made.out
    assert " of such studies find a difference of 10.0 points between two scores." in made.out
    assert len(made.out.splitlines()) <= 7
    assert "model a    system model a" in made.err
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", market.url)
    published = command("publish", "mine", "--to", "local", "--json").json
    assert (published["made"], published["assignments"]) == (3, 20)
    assert "study 'mine' was published or used" in command("study", "delete", "mine", "--yes").err
    again = command("study", "create", "mine", "--from", "table.csv", "--yes")
    assert again.code == 0
    assert again.out == (
        "Study 'mine' is there already: 20 forms, 80 passages from 20 stories, 2 systems, Control and Human."
        " It stays as it is.\nNext: humaneval status mine\n"
    )
    assert "--annotators" not in again.err
    assert "delete" not in again.err
    save(changed_in("position")[0], name="corrected.csv")
    corrected = command("study", "create", "mine", "--from", "corrected.csv", "--yes")
    assert "It was published or used, so it never changes: choose another name." in corrected.err
    assert count(there, StudyRow) == 1
    engine = open_engine(f"sqlite:///{there}")
    with reading(engine) as session:
        generator = session.scalars(select(GeneratorRow).where(GeneratorRow.name == "model a")).one()
        run = session.scalars(select(RunRow).where(RunRow.generator_id == generator.id)).one()
        assert (generator.kind, run.checkpoint, run.settings["column"]) == ("table", "table.csv", "model a")
        infills = session.scalars(select(InfillRow).where(InfillRow.run_id == run.id)).all()
        assert {one.status for one in infills} == {"ok"}
        assert infills[0].extra == {"line": 2}
    engine.dispose()


def test_the_same_command_again_says_that_it_is_there(command: Command, there: Path) -> None:
    save(rows())
    command("study", "create", "mine", "--from", "table.csv", "--yes")
    again = command("study", "create", "mine", "--from", "table.csv", "--yes", "--json")
    assert again.json["was_there"] is True
    assert again.json["table"]["systems"] == {"model a": 20, "model b": 20}
    assert (count(there, StoryRow), count(there, InfillRow), count(there, StudyRow)) == (20, 80, 1)


def test_a_killed_run_goes_on(command: Command, there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(rows())

    def killed(*arguments: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(from_table, "create_study", killed)
        assert command("study", "create", "mine", "--from", "table.csv", "--yes").code == 130
    assert (count(there, InfillRow), count(there, StudyRow)) == (80, 0)
    assert command("study", "create", "mine", "--from", "table.csv", "--yes").code == 0
    assert (count(there, StoryRow), count(there, InfillRow), count(there, StudyRow)) == (20, 80, 1)


def test_without_a_terminal_the_command_to_repeat_is_said_and_nothing_stored(
    command: Command, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(rows())
    arguments = ("study", "create", "my study", "--from", "table.csv", "--map", "model b=ignore", "--pilot")
    asked = command(*arguments)
    assert asked.code == 2
    assert "position   which sentence was taken out" in asked.err
    repeat = "humaneval study create 'my study' --from table.csv --yes --pilot --map 'model b=ignore'"
    assert f"If they are: `{repeat}`. If not, add --map COLUMN=ROLE." in asked.err
    assert not there.exists()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.confirm", lambda *told, **more: False)
    save([*rows(), *([f"X {cell}" if at < 5 else cell for at, cell in enumerate(row)] for row in rows(1))])
    lines = Path("table.csv").read_text().splitlines()
    Path("table.csv").write_text("\n".join([*lines[:-1], lines[-1].replace(by_a("Tom0"), "")]))
    refused = command(*arguments)
    assert refused.code == 2
    assert "Nothing was stored. Correct the file, or say what a column holds" in refused.err
    assert "Error" not in refused.err
    assert "table.csv:22: column model a: the cell is empty" in refused.err  # before the question
    assert "The study can show 20 of the 21 stories." in refused.err
    assert not there.exists()
    monkeypatch.setattr("click.confirm", lambda *told, **more: True)
    assert "1 system, Control and Human" in command(*arguments).out


@pytest.mark.parametrize("fault", ["a line", "an infill", "too few", "the study's name", "a generator"])
def test_a_refused_table_changes_nothing(command: Command, there: Path, fault: str) -> None:
    lines = rows()
    name, more = "mine", []
    if fault == "a line":
        lines[3][5] = 9
    elif fault == "an infill":
        lines[3][6] = "She slept. He left."
    elif fault == "too few":
        lines = lines[:3]
    elif fault == "the study's name":
        name = "a/b"
    else:
        more = ["--generators", "control,human,model c"]
    save(lines)
    told = command("study", "create", name, "--from", "table.csv", "--yes", *more)
    assert told.code in (1, 2)
    said = {
        "a line": "table.csv:5: column position: '9' is no position from 1 to 5",
        "an infill": "table.csv:5: column model a: several sentences (2 sentences): She slept. He left.",
        "too few": "the table has too few stories",
        "the study's name": "'a/b' cannot be the name of a study",
        "a generator": "neither the table nor the database has infills by model c",
    }
    assert said[fault] in told.err
    if there.exists():  # a generator may be in the database, which is then looked into
        assert fault == "a generator"
        assert (count(there, StoryRow), count(there, GeneratorRow), count(there, StudyRow)) == (0, 0, 0)


def test_the_same_sentences_are_used_again_whatever_file_they_are_in(command: Command, there: Path) -> None:
    """Another name, order, line ends, a column that is not used, more stories, and one system more."""
    save(rows())
    command("study", "create", "first", "--from", "table.csv", "--yes")
    save(list(reversed(rows())), name="sorted.csv")
    save([[*row, "by hand"] for row in rows()], [*HEADER, "notes"], "notes.csv")
    Path("ends.csv").write_bytes(Path("notes.csv").read_bytes().replace(b"\r\n", b"\n"))
    save([[*row, f"Then {row[6]}"] for row in rows()], [*HEADER, "model c"], "third.csv")
    save(rows(24), name="more.csv")
    for name in ("sorted", "notes", "ends", "third", "more"):
        made = command("study", "create", name, "--from", f"{name}.csv", "--yes")
        assert made.code == 0, made.err
    assert "96 passages from 24 stories" in made.out
    assert (count(there, StoryRow), count(there, InfillRow), count(there, StudyRow)) == (24, 4 * 24 + 20, 6)


def test_a_sentence_that_differs_is_named_and_each_way_out_works(
    command: Command, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(rows())
    command("study", "create", "mine", "--from", "table.csv", "--yes")
    changed = rows()
    changed[4][6] = changed[7][6] = "It was a fine day."
    save(changed)
    told = command("study", "create", "other", "--from", "table.csv", "--yes")
    assert told.code == 2
    assert (
        "line 6, column model a: the sentence is “It was a fine day.”, but for this blank the database"
        f" has “{rows()[4][6]}” by model a (and 1 more cell)"
    ) in told.err
    assert "Study 'mine' shows it, and nobody has seen that study" in told.err
    assert "something else here: --map 'model a=system:model a-2'." in told.err
    assert "run export HUMANEVAL_DATABASE=other.db and then this command again" in told.err
    renamed = ("--map", "model a=system:model a-2")
    assert command("study", "create", "again", "--from", "table.csv", "--yes", *renamed).code == 0
    assert (count(there, StoryRow), count(there, StudyRow)) == (20, 2)
    assert command("study", "delete", "mine", "--yes").code == 0
    assert command("study", "create", "other", "--from", "table.csv", "--yes").code == 0
    monkeypatch.setenv("HUMANEVAL_DATABASE", "other.db")
    made = command("study", "create", "other", "--from", "table.csv", "--yes")
    assert "80 passages from 20 stories" in made.out


def changed_in(what: str) -> tuple[list[list[Any]], Sequence[str]]:
    """The usual table with one difference."""
    lines, header = rows(), HEADER
    if what == "sentence":
        lines[4][6] = "It was a fine day."
    elif what == "position":
        lines[4][5], lines[5][5] = lines[5][5], lines[4][5]
    elif what == "story":
        lines[4][0] = "Tom4 wanted to bake a large cake."
    elif what == "cell":
        lines[4][6] = ""
    elif what == "line":
        lines[7:8] = []
    else:
        header = (*FIVE, "position", "model a", "model c")
    return lines, header


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("sentence", "they differ in 1 sentence of systems"),
        ("position", "they differ in 2 blanks that only it has and 2 blanks that only this one has, for"),
        ("story", "they differ in 1 blank that only it has and 1 blank that only this one has, for example"),
        ("cell", "they differ in 4 blanks that only it has"),
        ("line", "they differ in 4 blanks that only it has"),
        (
            "system",
            "it shows control, human, model a, model b; this one shows control, human, model a, model c",
        ),
    ],
)
def test_another_table_under_a_studys_name_changes_nothing_until_the_study_is_deleted(
    command: Command, there: Path, what: str, said: str
) -> None:
    save(rows())
    command("study", "create", "mine", "--from", "table.csv", "--yes")
    before = [count(there, table) for table in (StoryRow, GeneratorRow, RunRow, InfillRow)]
    save(*changed_in(what))
    arguments = ("study", "create", "mine", "--from", "table.csv", "--yes")
    told = command(*arguments)
    assert told.code == 2
    assert f"study 'mine' was made from another table: {said}" in told.err
    assert "delete it with `humaneval study delete mine`, and run this command again." in told.err
    assert [count(there, table) for table in (StoryRow, GeneratorRow, RunRow, InfillRow)] == before
    asked = command("study", "delete", "mine")
    assert asked.code == 2
    assert "must be confirmed" in asked.err
    deleted = command("study", "delete", "mine", "--yes")
    assert deleted.out == "Study 'mine' and 40 sentences of its table are deleted.\n"
    assert count(there, StudyBlankRow) == 0
    made = command(*arguments)
    assert "Study 'mine' created" in made.out
    assert command(*arguments, "--json").json["was_there"] is True
    save(rows())
    assert "was made from another table" in command(*arguments).err


def test_deleting_a_study_keeps_the_sentences_that_another_one_shows(command: Command, there: Path) -> None:
    save(rows())
    command("study", "create", "first", "--from", "table.csv", "--yes")
    save(rows(24))
    command("study", "create", "second", "--from", "table.csv", "--yes")
    Path("study.toml").write_text('[participants]\nexclude_studies = ["second"]\n')
    arguments = ("study", "create", "third", "--from", "table.csv", "--file", "study.toml", "--yes")
    assert command(*arguments).code == 0
    assert "study 'second' was published or used" in command("study", "delete", "second", "--yes").err
    assert command("study", "delete", "third", "--yes", "--json").json == {"study": "third", "infills": 0}
    assert command("study", "delete", "second", "--yes", "--json").json == {"study": "second", "infills": 8}
    assert command("study", "enlarge", "first", "--annotators", "20", "--yes").code == 0
    assert "there is no study 'second'" in command("study", "delete", "second", "--yes").err
    assert (count(there, StudyRow), count(there, StoryRow)) == (1, 24)
    assert command("study", "delete", "first", "--yes", "--json").json["infills"] == 40
    assert count(there, RunRow) == count(there, GeneratorRow) == 2  # the control and the human


def test_a_study_shows_the_passages_of_its_table_alone(command: Command, there: Path) -> None:
    save(rows())
    command("study", "create", "first", "--from", "table.csv", "--yes")
    people = [f"Ann{number}" for number in range(20)]
    save([[*story(name), at % 5 + 1, by_a(name), by_b(name)] for at, name in enumerate(people)])
    made = command("study", "create", "second", "--from", "table.csv", "--yes")
    assert (
        "Study 'second' created: 20 forms, 80 passages from 20 stories, 2 systems, Control and Human."
        in made.out
    )
    for name, first in (("first", "Tom"), ("second", "Ann")):
        assert command("study", "enlarge", name, "--annotators", "20", "--yes").code == 0
        engine = open_engine(f"sqlite:///{there}")
        with reading(engine) as session:
            shown = session.scalars(
                select(PassageRow.sentences)
                .join(StudyRow, StudyRow.id == PassageRow.study_id)
                .where(StudyRow.name == name)
            )
            assert {sentences[0][:3] for sentences in shown if sentences[0][:3] in ("Tom", "Ann")} == {first}
        engine.dispose()


def test_a_corrected_story_takes_the_place_of_the_mistyped_one(command: Command, there: Path) -> None:
    save(rows())
    command("study", "create", "mine", "--from", "table.csv", "--yes")
    corrected = rows()
    corrected[2][0] = "Tom2 wanted to bake a large cake."
    save(corrected)
    made = command("study", "create", "other", "--from", "table.csv", "--yes")
    assert "80 passages from 20 stories" in made.out
    assert count(there, StoryRow) == 21


def test_sentences_that_no_study_shows_may_be_forgotten(
    command: Command, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(rows())

    def killed(*arguments: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(from_table, "create_study", killed)
        command("study", "create", "mine", "--from", "table.csv", "--yes")
    save([[*row[:6], "It was a fine day.", row[7]] for row in rows()])
    told = command("study", "create", "mine", "--from", "table.csv", "--yes")
    assert "delete them with `humaneval generators forget 'model a'`" in told.err
    assert command("generators", "forget", "model a").code == 0
    assert command("study", "create", "mine", "--from", "table.csv", "--yes").code == 0


def test_stories_that_are_there_are_used_whatever_their_ids_and_split(command: Command, there: Path) -> None:
    save(
        [[f"r{at}", "", *row[:5]] for at, row in enumerate(rows())], ["storyid", "storytitle", *FIVE], "s.csv"
    )
    command("stories", "import", "s.csv", "--split", "train")
    command("stories", "import", "--bundled")
    save([[at, *row] for at, row in enumerate(rows())], ["id", *HEADER])
    made = command("study", "create", "mine", "--from", "table.csv", "--yes", "--json").json
    assert made["stories"] == 20
    assert made["lacking"] == {}


def test_a_second_file_has_the_stories(command: Command, there: Path) -> None:
    save(
        [[f"r{at}", "", *row[:5]] for at, row in enumerate(rows())], ["storyid", "storytitle", *FIVE], "s.csv"
    )
    lines = [
        [f"r{at}", row[5], system, row[6 + number]]
        for at, row in enumerate(rows())
        for number, system in enumerate("ab")
    ]
    save(lines, ["story", "position", "generator", "text"])
    alone = command("study", "create", "mine", "--from", "table.csv", "--yes")
    assert alone.code == 1
    assert not there.exists()
    assert "names stories only by their ids, and there is no database" in alone.err
    made = command("study", "create", "mine", "--from", "table.csv", "--stories", "s.csv", "--yes")
    assert "80 passages from 20 stories" in made.out
    save(
        [[f"r{at}", *row[:5]] for at, row in enumerate(rows())], ["id", "s1", "s2", "s3", "s4", "s5"], "s.csv"
    )
    made = command("study", "create", "other", "--from", "table.csv", "--stories", "s.csv", "--yes")
    assert "80 passages from 20 stories" in made.out
    save([[f"r{at}", *row[:4]] for at, row in enumerate(rows())], ["id", "a", "b", "c", "d"], "s.csv")
    told = command("study", "create", "third", "--from", "table.csv", "--stories", "s.csv", "--yes")
    assert "Call its columns id, title (if there is one) and sentence1 to sentence5." in told.err


def test_what_a_system_lacks_is_left_out_for_all_and_counted_once(command: Command, there: Path) -> None:
    lines = [[*row[:5], at, *row[6:]] for row in rows(6) for at in range(1, 6)]
    lines = [[*row[:6], f"{row[6][:-1]} at {row[5]}.", f"{row[7][:-1]} at {row[5]}."] for row in lines]
    lines[7][6] = ""
    save(lines)
    made = command("study", "create", "mine", "--from", "table.csv", "--yes", "--annotators", "20")
    assert "1 blank left out: model a has no infill that may be shown there." in made.err
    assert "table.csv:9: column model a: the cell is empty\n" in made.err
    assert "left out: human" not in made.err


def test_of_more_columns_than_a_study_can_use_the_first_are_shown_and_the_number(
    command: Command, there: Path
) -> None:
    stories = [row[: HEADER.index("model a")] for row in rows(8)]
    systems = [f"system {number}" for number in range(300)]
    save(
        [[*story, *(f"It was {at}." for at, _ in enumerate(systems))] for story in stories],
        [*HEADER[: HEADER.index("model a")], *systems],
    )
    made = command("study", "create", "mine", "--from", "table.csv", "--yes")
    columns = len(stories[0]) + 300
    assert f"\n… and {columns - 250} more\n" in made.err
    assert "system 243" in made.err
    assert "system 244 " not in made.err
    assert made.code == 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('passages_per_row = "{0}"', "passages_per_row"),
        ("positions = [9]", "positions"),
        ('positions = ["x"]', "positions"),
        ("positions = [{}]", "positions"),
    ],
)
def test_a_setting_that_cannot_be_is_named_before_the_table_is_counted(
    command: Command, there: Path, line: str, told: str
) -> None:
    save(rows())
    Path("study.toml").write_text(f"[design]\n{line}\n", encoding="utf-8")
    said = command("study", "create", "mine", "--from", "table.csv", "--file", "study.toml", "--yes")
    assert said.code in (1, 2), said.out
    assert told in said.err
    assert not there.exists()
