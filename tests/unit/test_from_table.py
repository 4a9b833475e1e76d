"""Tables as people have them: what each column is taken for, and the stories and sentences in the rows."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import openpyxl
import pytest

from humaneval.cli.study.from_table import refuse
from humaneval.domain import Story
from humaneval.errors import InputError, PrerequisiteError, SettingsError, UsageError
from humaneval.foreign.excel import _Archive, _Book
from humaneval.resources import bundled
from humaneval.stories import Problem, read_stories
from humaneval.study.from_table import single_sentences, systems_of, unfit
from humaneval.study.from_table_columns import recognise, story_columns, taken_out
from humaneval.study.from_table_file import _without_empty, read_table_file
from humaneval.study.from_table_roles import Kind, Layout, parse_roles
from humaneval.study.from_table_rows import Contents, another_name, contents_of
from humaneval.study.from_table_settings import Asked, settle

NAMES = ("Ann", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana")
FIVE = ("sentence1", "sentence2", "sentence3", "sentence4", "sentence5")


def story(name: str) -> list[str]:
    return [
        f"{name} wanted to bake a cake.",
        f"The oven of {name} was broken.",
        f"So {name} asked a neighbour for help.",
        "They baked the cake together.",
        f"{name} won a prize at the fair.",
    ]


def by_a(name: str) -> str:
    return f"{name} bought some apples at the market."


def by_b(name: str) -> str:
    return f"Nobody had seen {name} for a week."


class Read(NamedTuple):
    layout: Layout
    contents: Contents

    @property
    def roles(self) -> list[str]:
        return [str(role.kind) + (str(role.number) if role.number else "") for role in self.layout.roles]

    @property
    def positions(self) -> list[int]:
        return [blank.position for blank in self.contents.blanks]

    def texts(self, system: str) -> list[str]:
        return [entry.text for entry in self.contents.systems[system]]


def read(path: Path, maps: Sequence[str] = (), known: Sequence[Story] = ()) -> Read:
    table = read_table_file(path)
    layout = recognise(table, parse_roles(maps, table.columns))
    return Read(layout, contents_of(table, layout, known))


def saved(rows: Sequence[Sequence[Any]], delimiter: str = ",", encoding: str = "utf-8") -> Path:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(rows)
    path = Path("table.csv")
    path.write_bytes(out.getvalue().encode(encoding))
    return path


def wide(header: Sequence[str] = (*FIVE, "position", "model a", "model b")) -> list[list[Any]]:
    rows = [[*story(name), at % 5 + 1, by_a(name), by_b(name)] for at, name in enumerate(NAMES)]
    return [list(header), *rows]


def is_whole(found: Read, systems: Sequence[str] = ("model a", "model b")) -> None:
    assert not found.contents.problems
    assert [list(one.sentences) for one in found.contents.stories] == [story(name) for name in NAMES]
    assert found.positions == [1, 2, 3, 4, 5, 1, 2, 3]
    assert list(found.contents.systems) == list(systems)
    assert found.texts(systems[0]) == [by_a(name) for name in NAMES]
    assert found.texts(systems[1]) == [by_b(name) for name in NAMES]


# Wide tables


@pytest.mark.parametrize(
    "header",
    [
        FIVE,
        ("Sentence 1", "Sentence 2", "SENTENCE 3", "Sentence 4", "Sentence 5"),
        ("s1", "s2", "s3", "s4", "s5"),
        ("sent_0", "sent_1", "sent_2", "sent_3", "sent_4"),
        ("InputSentence1", "InputSentence2", "InputSentence3", "InputSentence4", "ending"),
        ("first sentence", "second sentence", "third sentence", "fourth sentence", "fifth sentence"),
        ("Satz 1", "Satz 2", "Satz 3", "Satz 4", "Satz 5"),
    ],
)
@pytest.mark.parametrize("position", ["position", "Blank Position", "missing_sentence", "pos"])
def test_the_usual_headers_of_five_sentences_are_known(header: tuple[str, ...], position: str) -> None:
    is_whole(read(saved(wide([*header, position, "model a", "model b"]))))


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(";", "cp1252"), ("\t", "utf-16"), (",", "utf-8-sig"), ("|", "utf-8")]
)
def test_any_usual_delimiter_and_encoding_is_read(delimiter: str, encoding: str) -> None:
    is_whole(read(saved(wide(), delimiter, encoding)))


@pytest.mark.parametrize(
    "said", ["sentence{}", "{}.0", "{},0", "{}.", "s{}", "Sentence {}", "#{}", "{} of 5"], ids=str
)
def test_positions_are_read_as_people_write_them(said: str) -> None:
    rows = wide()
    for row in rows[1:]:
        row[5] = said.format(row[5])
    is_whole(read(saved(rows)))


def test_positions_that_count_from_0_are_recognised_and_said() -> None:
    rows = wide()
    for row in rows[1:]:
        row[5] -= 1
    found = read(saved(rows))
    is_whole(found)
    assert "(it counts from 0)" in str(found.layout.roles[5])


def test_columns_of_no_use_are_ignored_and_named() -> None:
    rows = [
        ["", "worker", "genre", "date", "notes", "empty", "prompt", *rows_[:5], "uuid", *rows_[5:]]
        if not at
        else [
            at - 1,
            "W7",
            "tale",
            "2026-01-02",
            "a long note here",
            "",
            "Fill the blank.",
            *rows_[:5],
            f"x-{at}",
            *rows_[5:],
        ]
        for at, rows_ in enumerate(wide())
    ]
    found = read(saved(rows))
    is_whole(found)
    assert found.roles[:7] == ["ignore"] * 7
    assert str(found.layout.roles[0]) == "not used: a row number"
    assert str(found.layout.roles[5]) == "not used: empty"
    assert found.contents.stories[2].id == "x-3"


STORIES = {
    "underscores": "{0} {1} ____ {3} {4}",
    "a word in brackets": "{0} {1} [blank] {3} {4}",
    "a mask": "{0} {1} <mask> {3} {4}",
    "a mask with a full stop": "{0} {1} [MASK]. {3} {4}",
    "an ellipsis": "{0} {1} [...] {3} {4}",
    "a sentinel": "{0} {1} <extra_id_0> {3} {4}",
    "lines": "{0}\n{1}\n_____\n{3}\n{4}",
}
MARKED = {
    "stars": "{0} {1} **{2}** {3} {4}",
    "brackets": "{0} {1} [{2}] {3} {4}",
    "tags": "{0} {1} <mask>{2}</mask> {3} {4}",
    "one star": "{0} {1} *{2}* {3} {4}",
    "braces": "{0} {1} {{{{{2}}}}} {3} {4}",
}


@pytest.mark.parametrize("pattern", STORIES.values(), ids=list(STORIES))
def test_a_story_with_a_blank_needs_only_the_original_sentence(pattern: str) -> None:
    rows = [["Story", "gold", "model a"]]
    rows += [[pattern.format(*story(name)), story(name)[2], by_a(name)] for name in NAMES]
    found = read(saved(rows))
    assert found.roles == ["story", "original", "system"]
    assert not found.contents.problems
    assert [list(one.sentences) for one in found.contents.stories] == [story(name) for name in NAMES]
    assert set(found.positions) == {3}


@pytest.mark.parametrize("pattern", MARKED.values(), ids=list(MARKED))
def test_a_marked_sentence_is_the_original_at_its_position(pattern: str) -> None:
    rows = [["text", "model a"], *([pattern.format(*story(name)), by_a(name)] for name in NAMES)]
    found = read(saved(rows))
    assert not found.contents.problems
    assert [list(one.sentences) for one in found.contents.stories] == [story(name) for name in NAMES]
    assert set(found.positions) == {3}


def test_one_of_the_five_cells_may_be_empty_or_a_blank() -> None:
    rows = [[*FIVE, "original", "model a"]]
    for at, name in enumerate(NAMES):
        five = story(name)
        original, five[at % 5] = five[at % 5], ["", "____", "N/A", "[MASK]"][at % 4]
        rows.append([*five, original, by_a(name)])
    found = read(saved(rows))
    assert found.positions == [1, 2, 3, 4, 5, 1, 2, 3]
    assert [list(one.sentences) for one in found.contents.stories] == [story(name) for name in NAMES]
    assert any("names no positions" in note for note in found.contents.notes)


def test_the_original_alone_tells_which_sentence_was_taken_out() -> None:
    rows = [[*FIVE, "human", "model a"], *([*story(name), story(name)[3], by_a(name)] for name in NAMES)]
    found = read(saved(rows))
    assert found.roles == [*(f"sentence{at}" for at in range(1, 6)), "original", "system"]
    assert set(found.positions) == {4}


def test_four_sentences_and_the_original_make_five() -> None:
    rows = [["s1", "s2", "s4", "s5", "target", "model a"]]
    rows += [[*story(n)[:2], *story(n)[3:], story(n)[2], by_a(n)] for n in NAMES]
    found = read(saved(rows))
    assert set(found.positions) == {3}
    assert list(found.contents.stories[0].sentences) == story("Ann")


def test_four_sentences_around_a_position_take_the_original_there() -> None:
    rows = [["s1", "s2", "s3", "s4", "position", "original", "model a"]]
    for at, name in enumerate(NAMES):
        five = story(name)
        original = five.pop(at % 5)
        rows.append([*five, str(at % 5 + 1), original, by_a(name)])
    found = read(saved(rows))
    assert not found.contents.problems
    assert [list(one.sentences) for one in found.contents.stories] == [story(name) for name in NAMES]


def test_the_story_may_stand_in_two_columns_around_the_blank() -> None:
    rows = [["left context", "right context", "original", "model a"]]
    for at, name in enumerate(NAMES):
        five = story(name)
        rows.append([" ".join(five[: at % 5]), " ".join(five[at % 5 + 1 :]), five[at % 5], by_a(name)])
    found = read(saved(rows))
    assert found.positions == [1, 2, 3, 4, 5, 1, 2, 3]


def test_a_whole_story_in_one_column_goes_with_a_position() -> None:
    rows = [["story", "removed", "model a"], *([" ".join(story(n)), 2, by_a(n)] for n in NAMES)]
    found = read(saved(rows))
    assert found.roles == ["story", "position", "system"]
    assert found.contents.blanks[0].original == "The oven of Ann was broken."


def test_an_ending_without_a_position_is_what_was_taken_out() -> None:
    rows = wide(["s1", "s2", "s3", "s4", "Gold Ending", "position", "model a", "model b"])
    assert set(read(saved([[*row[:5], *row[6:]] for row in rows])).positions) == {5}
    is_whole(read(saved(rows)))


def test_the_right_one_of_two_endings_is_read() -> None:
    quiz = ["RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2", "AnswerRightEnding", "model a", "model b"]
    rows = [["InputStoryid", *(f"InputSentence{at}" for at in range(1, 5)), *quiz]]
    for at, name in enumerate(NAMES):
        ends = ["It was a pity.", story(name)[4]]
        ends = ends if at % 2 else ends[::-1]
        rows.append([f"c{at}", *story(name)[:4], *ends, str(at % 2 + 1), by_a(name), by_b(name)])
    found = read(saved(rows))
    assert set(found.positions) == {5}
    assert [list(one.sentences) for one in found.contents.stories] == [story(name) for name in NAMES]


def test_lines_about_one_story_are_one_story() -> None:
    rows = [[*FIVE, "position", "model a"]]
    rows += [[*story(n), at, f"At {at} {n} sang a song."] for n in NAMES for at in range(1, 6)]
    found = read(saved(rows))
    assert len(found.contents.stories) == 8
    assert found.positions == [1, 2, 3, 4, 5] * 8


def test_a_column_for_each_system_and_position_is_read() -> None:
    header = [*FIVE, *(f"ilm_{at}" for at in range(1, 6)), *(f"lm_{at}" for at in range(1, 6))]
    rows = [[*story(n), *(f"{n} sang song {at}." for at in range(10))] for n in NAMES]
    found = read(saved([header, *rows]))
    assert list(found.contents.systems) == ["ilm", "lm"]
    assert found.texts("lm")[:5] == [f"Ann sang song {at}." for at in range(5, 10)]


def test_a_sentence_inside_its_whole_story_is_taken_out_of_it() -> None:
    rows = wide()
    for row in rows[1:]:
        at = row[5] - 1
        row[6] = " ".join([*row[:at], row[6], *row[at + 1 : 5]])
    found = read(saved(rows))
    is_whole(found)
    assert any("inside the whole story: 8" in note for note in found.contents.notes)


@pytest.mark.parametrize("names", [("s0", "s1"), ("s1", "s2"), ("s6", "s7")])
def test_beside_five_sentences_other_numbered_columns_are_systems(names: tuple[str, str]) -> None:
    is_whole(read(saved(wide((*FIVE, "position", *names)))), names)
    rows = [[*row[6:], *row[:6]] for row in wide((*FIVE, "position", *names))]  # the systems come first
    is_whole(read(saved(rows)), names)


def test_two_systems_may_write_the_same_and_lack_some() -> None:
    rows = wide()
    for row in rows[1:]:
        row[7] = row[6]
    rows[3][7] = ""
    rows[4][7] = "NaN"
    found = read(saved(rows))
    assert (len(found.texts("model a")), len(found.texts("model b"))) == (8, 6)
    assert len(found.contents.blanks) == 8


def test_what_a_system_lacks_is_counted_and_left_out_for_all() -> None:
    rows = many(5)
    rows[3][6] = ""
    made = settled(rows)
    assert made.lacking == {"model a": 1}
    assert "each of the 96 passages" in made.said[0]


def test_a_cell_without_a_sentence_is_named_with_its_line_and_column() -> None:
    rows = wide()
    rows[2][6], rows[4][7] = "", "N/A"
    assert [str(one) for one in read(saved(rows)).contents.empty] == [
        "table.csv:3: column model a: the cell is empty",
        "table.csv:5: column model b: 'N/A' is read as no sentence",
    ]


def test_positions_that_may_count_from_0_are_said_and_shown_with_their_sentence() -> None:
    rows = many(5, [1, 2, 3, 4])
    found = read(saved(rows))
    assert found.contents.notes == (
        "positions are counted from 1, and no line has 0 or 5. If yours count from 0, add --map"
        " position=position0",
    )
    assert taken_out(found.layout, [str(cell) for cell in rows[2]]) == 1
    counted_from_0 = read(saved(rows), ["position=position0"])
    assert set(counted_from_0.positions) == {2, 3, 4, 5}
    assert not counted_from_0.contents.notes
    assert taken_out(counted_from_0.layout, [str(cell) for cell in rows[2]]) == 2
    with_original = [[*row, row[row[5] - 1] if at else "original"] for at, row in enumerate(rows)]
    for clear in (many(5), with_original):
        assert not read(saved(clear)).contents.notes


def test_two_columns_of_one_name_are_said() -> None:
    found = read(saved(wide([*FIVE, "position", "ours", "ours"])))
    assert list(found.contents.systems) == ["ours", "ours (2)"]
    assert found.contents.notes == ("columns with the name of another are read as ours (2)",)


# Long tables


def long(with_human: bool = False) -> list[list[Any]]:
    rows = [["story", "position", "system", "output"]]
    for at, name in enumerate(NAMES):
        five = story(name)
        text = " ".join([*five[: at % 5], "____", *five[at % 5 + 1 :]]) if with_human else " ".join(five)
        rows += [
            [text, at % 5 + 1, system, said(name)] for system, said in (("model a", by_a), ("model b", by_b))
        ]
        if with_human:
            rows.append([text, at % 5 + 1, "Human", five[at % 5]])
    return rows


@pytest.mark.parametrize("with_human", [False, True])
def test_a_long_table_has_a_line_for_each_sentence(with_human: bool) -> None:
    found = read(saved(long(with_human)))
    assert found.roles == ["story", "position", "generator", "text"]
    is_whole(found)


def test_digits_beyond_all_numbers_are_neither_samples_nor_row_numbers() -> None:
    rows = [["", "sample", *row] if not at else ["9" * 5000, 1, *row] for at, row in enumerate(long())]
    is_whole(read(saved(rows)))
    rows[3][1] = "9" * 5000
    (problem,) = read(saved(rows)).contents.problems
    assert str(problem).startswith("table.csv:4: column sample: '999")


def test_a_long_table_may_name_stories_by_ids_that_are_known() -> None:
    known = [Story(f"t{at}", tuple(story(name))) for at, name in enumerate(NAMES)]
    rows = [["story", "position", "generator", "text"]]
    rows += [
        [f"t{at}", at % 5 + 1, system, by(n)]
        for at, n in enumerate(NAMES)
        for system, by in (("model a", by_a), ("model b", by_b))
    ]
    is_whole(read(saved(rows), known=known))
    rows[3][0] = "t99"
    (problem,) = read(saved(rows), known=known).contents.problems
    assert (
        str(problem) == "table.csv:4: column story: there is no story 't99'; there are t0, t1, t2 and 5 more"
    )


def test_a_blank_is_matched_by_the_sentences_around_it() -> None:
    known = [Story(f"t{at}", tuple(story(name))) for at, name in enumerate(NAMES)]
    rows = [["story", "model a"], *([STORIES["a mask"].format(*story(n)), by_a(n)] for n in NAMES)]
    found = read(saved(rows), known=known)
    assert [one.id for one in found.contents.stories] == [f"t{at}" for at in range(8)]
    assert "the original of sentence 3 is missing" in str(read(saved(rows)).contents.problems[0])


def test_the_person_of_a_long_table_must_say_what_was_taken_out() -> None:
    rows = [*long(), [" ".join(story("Ann")), 1, "human", "Ann slept all day."]]
    assert problem_of(rows) == "table.csv:18: column output: the text of human is not sentence 1"


# Other files


def test_an_excel_workbook_is_read() -> None:
    book = openpyxl.Workbook()
    for row in wide():
        book.active.append(row)
    book.save("table.xlsx")
    is_whole(read(Path("table.xlsx")))


@pytest.mark.parametrize("shape", ["lines", "array", "nested"])
def test_json_is_read(shape: str) -> None:
    records: list[dict[str, Any]] = [
        {"sentences": story(n), "position": at % 5 + 1, "infills": {"model a": by_a(n), "model b": by_b(n)}}
        for at, n in enumerate(NAMES)
    ]
    path = Path("table.jsonl")
    path.write_text(
        "\n".join(map(json.dumps, records))
        if shape == "lines"
        else json.dumps({"data": records} if shape == "nested" else records)
    )
    found = read(path)
    is_whole(found)
    assert [entry.line for entry in found.contents.systems["model a"]] == list(range(1, 9))


def test_parquet_is_read_or_the_package_for_it_named() -> None:
    path = Path("table.parquet")
    path.write_bytes(b"PAR1 and so on")
    with pytest.raises((PrerequisiteError, InputError)) as refused:
        read_table_file(path)
    if find_spec("pyarrow") is None:
        assert 'pip install "humaneval-toolkit[parquet]"' in refused.value.hint
        return
    assert "table.parquet is a damaged Parquet file" in refused.value.message
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    header, *lines = wide()
    parquet.write_table(arrow.Table.from_pylist([dict(zip(header, row, strict=True)) for row in lines]), path)
    is_whole(read(path))


def workbook_of(rows: int, *edits: tuple[str, bytes, bytes]) -> Path:
    """A workbook in which each edit replaces the first of two texts in a part by the second."""
    book = openpyxl.Workbook(write_only=True)
    book.create_chartsheet("Plot")
    sheet = book.create_sheet("Rows")
    for number in range(rows):
        sheet.append([f"a{number}", number])
    book.save("whole.xlsx")
    with ZipFile("whole.xlsx") as whole, ZipFile("made.xlsx", "w") as made:
        for name in whole.namelist():
            content = whole.read(name)
            for part, old, new in edits:
                content = content.replace(old, new, 1) if name == part else content
            made.writestr(name, content)
    return Path("made.xlsx")


SHEET = "xl/worksheets/sheet1.xml"


def test_a_chart_before_the_first_worksheet_is_passed_over() -> None:
    found = read_table_file(workbook_of(3))
    assert (found.columns, found.rows) == (("a0", "0"), (("a1", "1"), ("a2", "2")))


NAMES_OF_CELLS = b"".join(b'<definedName name="n%d">Rows!A1</definedName>' % at for at in range(250_000))
DECLARED = b'<!DOCTYPE x [<!ENTITY a "b">]>'


@pytest.mark.parametrize(
    ("part", "before", "new", "says"),
    [
        ("xl/workbook.xml", b"<calcPr", NAMES_OF_CELLS, "xl/workbook.xml has 11 MiB; at most 8 MiB are read"),
        (
            SHEET,
            b"<c ",
            b"<c><is>" + b"<r/>" * 1_000_001 + b"</is></c>",
            "more than 1,000,000 parts",
        ),
        (SHEET, b"<worksheet", DECLARED, "declares a document type"),
        ("xl/styles.xml", b"<styleSheet", DECLARED, "declares a document type"),
    ],
    ids=["names", "row", "sheet", "styles"],
)
def test_a_workbook_that_no_program_wrote_is_refused(part: str, before: bytes, new: bytes, says: str) -> None:
    path = workbook_of(2, (part, before, new + before))
    with pytest.raises(InputError, match=says):
        read_table_file(path)


def test_what_surrounds_the_rows_of_a_workbook_is_not_held() -> None:
    read_table_file(workbook_of(2))  # what is imported is not counted
    columns = b"<cols>" + b'<col min="1" max="1"/>' * 50_000 + b"</cols><sheetData>"
    path = workbook_of(20_000, (SHEET, b"<sheetData>", columns))
    with _Archive(path) as archive:
        book = _Book(archive)
        tracemalloc.start()
        assert sum(1 for _ in book.rows("Rows")) == 20_000
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 4_000_000


def parquet_of(columns: dict[str, Any], **how: Any) -> Path:
    """A file of pyarrow's arrays or lists. Tests of it are left out without pyarrow."""
    arrow = pytest.importorskip("pyarrow")
    import_module("pyarrow.parquet").write_table(arrow.table(columns), "made.parquet", **how)
    return Path("made.parquet")


def test_a_small_parquet_file_does_not_fill_the_memory() -> None:
    arrow = pytest.importorskip("pyarrow")
    text = "no end " * 50_000
    once = arrow.DictionaryArray.from_arrays(arrow.array([0] * 10_000, arrow.int32()), [text])
    long = arrow.ListArray.from_arrays([0, 6_000_000], arrow.array([0] * 6_000_000, arrow.int8()))
    unfolds = "made.parquet unfolds to more than 256 MiB"
    for columns, how, said in (
        ({"a": once}, {}, unfolds),
        ({"a": [text] * 800}, {"use_dictionary": False, "compression": "zstd"}, unfolds),
        ({"a": long}, {}, unfolds),
        ({"a": arrow.nulls(6_000_000, arrow.int8())}, {}, unfolds),
        ({f"a{number}": [1] for number in range(10_001)}, {}, "10,001 columns; at most 10,000"),
    ):
        path = parquet_of(columns, **how)
        assert path.stat().st_size < 5_000_000
        with pytest.raises(InputError, match=said):
            read_table_file(path)


def test_rows_of_a_parquet_file_are_numbered_through() -> None:
    path = parquet_of({"a": list(range(1_000)), "b": ["x"] * 1_000})
    found = read_table_file(path)
    assert (found.rows[999], found.lines) == (("999", "x"), tuple(range(1, 1_001)))


def test_texts_that_a_parquet_file_calls_bytes_are_texts() -> None:
    found = read_table_file(parquet_of({"a": ["Ä.".encode()], "b": [["Ö.".encode()]]}))
    assert found.rows == (("Ä.", '["Ö."]'),)
    with pytest.raises(InputError, match=r"made.parquet, row 2: .*xff.* is no text in UTF-8"):
        read_table_file(parquet_of({"a": [b"A.", b"\xff B."]}))


# What is refused, with line and column


def refused(rows: Sequence[Sequence[Any]], maps: Sequence[str] = ()) -> str:
    with pytest.raises((InputError, UsageError)) as error:
        read(saved(rows), maps)
    return error.value.message


def problem_of(rows: Sequence[Sequence[Any]]) -> str:
    problems = [str(problem) for problem in read(saved(rows)).contents.problems]
    assert len(problems) == 1, problems
    return problems[0]


def test_stories_with_a_sentence_too_few_or_too_many_are_refused_in_a_clear_line() -> None:
    four = [[*row[:4], *row[5:]] for row in wide()]
    assert refused(four).startswith(
        "table.csv has 4 sentences of each story (sentence1, sentence2, sentence3, sentence4), and a story"
    )
    six = [[*row[:5], row[4] if at else "sentence7", *row[5:]] for at, row in enumerate(wide())]
    assert "table.csv has 6 sentences of each story" in refused(six)
    rows = [
        ["story", "position", "model a"],
        [" ".join([*story("Ann"), "The end was good."]), 1, by_a("Ann")],
    ]
    assert problem_of(rows) == "table.csv:2: column story: 6 sentences, not 5: there is a sixth sentence"


def test_each_fault_names_its_line_and_column() -> None:
    rows = wide()
    rows[3][5] = 7
    assert problem_of(rows) == "table.csv:4: column position: '7' is no position from 1 to 5"
    rows[3][5] = ""
    said = "table.csv:4: column position: the cell is empty: a position is a number from 1 to 5"
    assert problem_of(rows) == said
    rows = wide()
    rows[2][1] = ""
    assert problem_of(rows) == "table.csv:3: the original of sentence 2 is missing"
    rows[2][1], rows[2][3] = "The oven broke.", ""
    assert (
        problem_of(rows)
        == "table.csv:3: column sentence4: the cell is empty, and sentence 2 was taken out, not 4"
    )
    rows[2][3] = "____"
    assert problem_of(rows).startswith("table.csv:3: the blank is at sentence 4, but the position is 2")
    twice = [*wide(), [*story("Ann"), 1, "Ann sang a song.", by_b("Ann")]]
    assert problem_of(twice) == (
        "table.csv:10: column model a: model a has another sentence for this blank on line 2"
    )
    with_original = [[*row, story(NAMES[at - 1])[1] if at else "original"] for at, row in enumerate(wide())]
    problems = read(saved(with_original)).contents.problems
    assert str(problems[0]) == (
        "table.csv:2: column original: it is sentence 2, but the position is 1; perhaps the table counts from"
        " 0"
    )


def test_lines_that_are_there_twice_are_named_and_positions_in_words_are_said() -> None:
    rows = wide()
    rows[5][5] = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}[rows[5][5]]
    notes = read(saved([*rows, list(rows[2]), list(rows[2])])).contents.notes
    assert f"positions in words: 1 ({rows[5][5]!r} is read as {wide()[5][5]})" in notes
    assert any("in the table twice: 4 (line 10 as line 3, line 11 as line 3);" in note for note in notes)


def test_one_id_for_two_stories_is_refused() -> None:
    rows = [[("id" if not at else "a" if at < 3 else at), *row] for at, row in enumerate(wide())]
    assert problem_of(rows) == "table.csv:3: column id: 'a' has other sentences on line 2"


def test_a_table_without_a_header_line_is_refused() -> None:
    said = "the first line of table.csv seems to be a story and no header: 'Ann wanted to bake a cake.'"
    assert refused(wide()[1:]) == said
    short = [[*told, at, "It was cold.", "A bus came."] for at, told in enumerate(told_of(5), 1)]
    assert "seems to be a story and no header" in refused(short)
    short[0][2] = short[0][6] = ""
    assert "seems to be a story and no header" in refused(short)


@pytest.mark.parametrize(
    ("names", "place"),
    [
        (("Sent. 1", "Sent. 2", "Sent. 3", "Sent. 4", "Sent. 5"), "position"),
        (("S. 1", "S. 2", "S. 3", "S. 4", "S. 5"), "which one"),
        (("1st sent.", "2nd sent.", "3rd sent.", "4th sent.", "5th sent."), "No."),
        (("Sentence no. one.", "Sentence no. two.", "The third.", "And four.", "The end."), "position"),
        (("1", "2", "3", "4", "5"), "position"),
        (("0", "1", "2", "3", "4"), "position"),
    ],
)
def test_a_header_with_full_stops_or_bare_numbers_is_a_header(names: tuple[str, ...], place: str) -> None:
    systems = ("Our model (v. 2)", "GPT-2 (ft.)")
    maps = [f"{name}=sentence{at}" for at, name in enumerate(names, 1)] if "one." in names[0] else []
    maps += [f"{place}=position"] if place != "position" else []
    is_whole(read(saved(wide((*names, place, *systems))), maps), systems)
    if not maps:
        is_whole(read(saved(wide((*FIVE, place, *systems)))), systems)


def test_numbers_beside_whole_stories_are_systems() -> None:
    rows = [["story", "position", "1", "2", "3", "4"]]
    rows += [[" ".join(story(n)), 2, by_a(n), by_b(n), f"{n} sang a song.", f"{n} ran away."] for n in NAMES]
    assert list(read(saved(rows)).contents.systems) == ["1", "2", "3", "4"]


def test_columns_of_sentences_that_are_not_known_are_named_in_the_hint() -> None:
    rows = wide(["Line A", "Line B", "Line C", "Line D", "Line E", "position", "model a", "model b"])
    with pytest.raises(InputError) as error:
        read(saved(rows))
    hint = "say which: --map 'Line A=sentence1' --map 'Line B=sentence2' and so on."
    assert error.value.hint.endswith(hint)
    maps = [f"Line {letter}=sentence{at}" for at, letter in enumerate("ABCDE", 1)]
    is_whole(read(saved(rows), maps))


def test_a_table_without_systems_or_stories_is_refused() -> None:
    assert "has no column with a system's sentences" in refused([row[:6] for row in wide()])
    assert "has no column with the story" in refused([row[5:] for row in wide()])
    assert "nothing says which sentence was taken out" in str(
        read(saved([[*row[:5], *row[6:]] for row in wide()])).contents.problems[0]
    )


def test_a_row_with_too_many_cells_names_its_line() -> None:
    assert refused([*wide(), [*wide()[1], "more"]]).startswith(
        "table.csv, line 10: 9 cells, but the header has 8"
    )


def test_sentences_that_cannot_be_shown_are_named_before_anything_is_stored() -> None:
    rows = wide()
    rows[2][6] = "She slept. He left."
    rows[3][7] = story("Cleo")[2]
    contents = read(saved(rows)).contents
    assert [str(one) for one in unfit(contents, Path("table.csv"), [])] == [
        "table.csv:3: column model a: several sentences (2 sentences): She slept. He left.",
        "table.csv:4: column model b: same as the original: So Cleo asked a neighbour for help.",
    ]
    assert len(unfit(contents, Path("table.csv"), ["several sentences"])) == 1


def test_a_title_above_the_header_is_refused() -> None:
    said = "table.csv, line 1: the header is not in the first line, which has 1 cell; line 2 has 8"
    assert refused([["Our results"], *wide()]) == said
    assert refused([["Our results", *[""] * 7], *wide()]) == said


def test_numbers_are_no_sentences_of_a_system() -> None:
    rows = [[*row, f"0.3{at}" if at else "bleu"] for at, row in enumerate(wide())]
    assert read(saved(rows)).roles[8] == "ignore"
    assert refused(rows, ["bleu=system"]) == (
        "--map takes the column 'bleu' for a system's sentences, and it holds '0.31'"
    )


def test_a_system_called_human_needs_another_name_and_the_hint_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = wide([*FIVE, "position", "model a", "human"])
    problems = read(saved(rows)).contents.problems
    assert len(problems) == 8
    with pytest.raises(InputError) as error:
        refuse(problems, "line", Path("table.csv"))
    assert "give it a name of its own: --map human=system:NAME." in error.value.hint
    assert "column human: it is no sentence of the story" in capsys.readouterr().err
    assert list(read(saved(rows), ["human=system:people"]).contents.systems) == ["model a", "people"]
    lines = long()
    lines += [[row[0], row[1], "Human", by_a("Ben")] for row in lines[1::2]]
    with pytest.raises(InputError) as error:
        refuse(read(saved(lines)).contents.problems, "line", Path("table.csv"))
    assert "If Human is a system, give it another name in the file." in error.value.hint


def test_one_line_is_corrected_as_it_and_several_as_them() -> None:
    one = [Problem("table.csv", 2, "there is no story")]
    for problems, words in ((one, "Correct it in the file"), ([*one, *one], "Correct them in the file")):
        with pytest.raises(InputError) as error:
            refuse(problems, "line", Path("table.csv"))
        assert error.value.hint.startswith(words)


def test_the_columns_of_a_story_file_are_known_as_those_of_a_table() -> None:
    rows = [["id", "s1", "s2", "s3", "s4", "s5"], *([n, *story(n)] for n in NAMES)]
    found = read_stories(saved(rows), mapping=story_columns(Path("table.csv")))
    assert [one.id for one in found.stories] == list(NAMES)
    assert [list(one.sentences) for one in found.stories] == [story(name) for name in NAMES]
    assert story_columns(saved([["what", "why"], ["a", "b"]])) is None


# What --map says


def test_a_map_sets_corrects_and_renames() -> None:
    found = read(saved(wide()), ["model a=ignore", "MODEL B=system:other"])
    assert list(found.contents.systems) == ["other"]
    odd = ["A", "B", "C", "D", "E", "what", "x", "y=z"]
    maps = [f"{letter}=sentence{at}" for at, letter in enumerate("ABCDE", 1)]
    found = read(saved(wide(odd)), [*maps, "what=position", "x=system:model a", "y=z=system:model b"])
    is_whole(found)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("model a", "--map 'model a' is not COLUMN=ROLE"),
        ("model c=system", "--map: there is no column 'model c'"),
        ("model a=robot", "--map: 'robot' is not what a column can hold"),
        ("model a=sentence21", "--map: 'sentence21': a story has at most 20 sentences"),
    ],
)
def test_a_wrong_map_is_refused(said: str, message: str) -> None:
    assert refused(wide(), [said]) == message


def test_two_columns_of_one_role_are_refused() -> None:
    assert refused(wide(), ["model a=original", "model b=original"]).startswith(
        "--map makes two columns the original"
    )


# What the table decides about the study


def settled(rows: Sequence[Sequence[Any]], **design: Any) -> Any:
    return settle(read(saved(rows)).contents, Asked(None, None, design))


def many(stories: int, positions: Sequence[int] = (1, 2, 3, 4, 5)) -> list[list[Any]]:
    names = [f"Tom{number}" for number in range(stories)]
    lines = [
        [*story(n), at, f"At {at} {n} sang.", f"Then {n} left {at} men."] for n in names for at in positions
    ]
    return [[*FIVE, "position", "model a", "model b"], *lines]


@pytest.mark.parametrize(("stories", "annotators"), [(4, 20), (5, 40), (12, 60), (21, 100)])
def test_every_passage_is_judged_once_up_to_a_hundred_annotators(stories: int, annotators: int) -> None:
    made = settled(many(stories))
    assert made.read.settings.design.annotators == annotators
    assert made.read.settings.design.generators == ("control", "human", "model a", "model b")
    times = "once or twice" if stories == 5 else "once"
    whole = (
        f"{annotators} forms will show each of the {stories * 20} passages {times}. A passage is a story with"
    )
    assert (whole in " ".join(made.said)) == (stories < 21)


def test_the_file_that_init_writes_changes_nothing_until_somebody_changes_it() -> None:
    for rows in (many(4), many(21)):
        plain = settled(rows)
        untouched = settle(read(saved(rows)).contents, Asked(bundled("bundled") / "study.toml", None, {}))
        assert untouched.read.settings.hash == plain.read.settings.hash
        assert untouched.said == plain.said
    file = Path("study.toml")
    file.write_text('[design]\ngenerators = ["control", "human"]\nannotators = 8\n')
    made = settle(read(saved(many(4))).contents, Asked(file, None, {}))
    assert made.said[-1].startswith("As study.toml says, 8 forms will show 32 of the 80 passages; the others")


def test_the_number_of_annotators_may_be_given() -> None:
    assert settled(many(4), annotators=7).read.settings.design.annotators == 7


def test_positions_with_too_few_stories_are_left_out_and_said() -> None:
    made = settled([*many(6, [1, 3]), *many(2, [5])[1:]])
    assert made.read.settings.design.positions == (1, 3)
    assert made.said[0] == (
        "Position 5 is left out: every system has filled 2 stories there, and a form needs 4."
    )
    others = [
        [cell.replace("Tom", "Jim") if at < 5 and row[5] else cell for at, cell in enumerate(row)]
        for row in many(2, [5])[1:]
    ]
    made = settled([*many(6, [1, 3]), *others])
    assert made.said[1] == "The study can show 6 of the 8 stories."
    with pytest.raises(InputError, match="too few stories: a form shows 4 passages") as error:
        settled(many(2))
    assert "Give 4 or more stories with the same position" in error.value.hint


def test_a_form_shows_fewer_generators_if_few_stories_share_a_position() -> None:
    made = settled([*many(3, [1, 3]), *many(2, [5])[1:]])
    assert (made.read.settings.design.passages_per_row, made.read.settings.design.positions) == (3, (1, 3))
    assert "A form shows 3 of the 4 generators" in made.said[0]


def test_a_form_of_prefer_shows_fewer_comparisons_and_does_not_call_them_generators() -> None:
    Path("study.toml").write_text('question = "prefer"\n[design]\ngenerators = ["control", "human"]\n')
    made = settle(read(saved(many(4, [1, 3]))).contents, Asked(Path("study.toml"), None, {}))
    assert any(said.startswith("A form shows 4 of the 8 comparisons of two generators") for said in made.said)


def test_a_table_of_single_sentences_is_no_table_of_rests() -> None:
    rows = wide()
    assert single_sentences(read(saved(rows)).contents)
    rows[1][6] = "She slept.\nHe left.\nThe sun rose.\nThey ate.\nIt was fun."
    table = read_table_file(saved(rows))
    assert not single_sentences(contents_of(table, recognise(table, {}), rest=True))


def test_a_name_that_is_taken_is_changed_by_a_map_that_a_shell_takes_or_in_a_long_table() -> None:
    assert another_name(read(saved(wide())).contents, "model a") == "--map 'model a=system:model a-2'"
    assert another_name(read(saved(long())).contents, "model a") == "write model a-2 in the file"


def test_a_system_with_the_name_of_the_person_is_refused() -> None:
    rows = [
        [*row[:5], row[5], row[6], "a person wrote this" if at else "human"] for at, row in enumerate(wide())
    ]
    with pytest.raises(InputError, match="calls a system 'human'"):
        settle(read(saved(rows), ["human=system"]).contents, Asked(None, None, {}))


def test_stories_in_another_language_get_a_control_in_it() -> None:
    five = [
        "Anna wollte einen Kuchen backen.",
        "Der Ofen war nicht mehr heiß und sie war traurig.",
        "Sie hatte die Nachbarin um Hilfe gebeten.",
        "Sie haben den Kuchen dann zusammen gebacken.",
        "Am Abend war das Fest und er war lecker.",
    ]
    rows = [[*FIVE, "position", "modell"]]
    rows += [
        [one.replace("Anna", n) if not at else f"{one[:-1]} mit {n}." for at, one in enumerate(five)]
        + [2, f"Der Hund von {n} hat das Mehl gefressen."]
        for n in NAMES
    ]
    made = settled(rows, annotators=3)
    assert made.read.settings.page.story_language == "de"
    assert made.read.settings.design.generators == ("control-de", "human", "modell")
    assert made.read.settings.design.control == "control-de"


# Provenance


def test_a_systems_provenance_is_of_its_own_sentences() -> None:
    one = systems_of(read(saved(wide())).contents, Path("a/table.csv"))
    rows = [row[:7] for row in wide()]
    other = systems_of(read(saved(rows, ";")).contents, Path("a/table.csv"))
    assert one[0].provenance == other[0].provenance
    assert (one[0].provenance.kind, one[0].provenance.checkpoint) == ("table", "table.csv")
    assert one[0].provenance.settings != one[1].provenance.settings


def test_the_kinds_have_a_meaning() -> None:
    layout = read(saved(wide())).layout
    assert layout.at(Kind.POSITION) == 5
    assert layout.systems == ("model a", "model b")


def told_of(sentences: int, number: int = 4) -> list[list[str]]:
    return [
        [f"Ann saw {word} at {at} o'clock." for at in range(1, sentences + 1)]
        for word in ("rain", "snow", "hail", "wind")[:number]
    ]


@pytest.mark.parametrize(
    ("kind", "sentences"),
    [("columns", 3), *product(("columns", "story", "around"), (6, 12))],
)
def test_a_table_of_stories_of_another_length_is_read(tmp_path: Path, kind: str, sentences: int) -> None:
    told, last = told_of(sentences), sentences
    rows = {
        "columns": lambda one: [*one, str(last), "It was late in the evening."],
        "story": lambda one: [" ".join(one), str(last), "It was late in the evening."],
        "around": lambda one: [" ".join([*one[:-1], "____"]), one[-1], "It was late in the evening."],
    }[kind]
    header = {
        "columns": [*(f"sentence{at}" for at in range(1, sentences + 1)), "position", "ours"],
        "story": ["story", "position", "ours"],
        "around": ["story", "original", "ours"],
    }[kind]
    path = tmp_path / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *(rows(one) for one in told)])
    table = read_table_file(path)
    layout = recognise(table, {})
    assert layout.length == sentences
    found = contents_of(table, layout)
    assert not found.problems
    assert [list(story.sentences) for story in found.stories] == told
    assert {entry.blank.position for entry in found.systems["ours"]} == {last}


def test_rests_of_stories_keep_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file)
        write.writerow(["sentence1", "sentence2", "sentence3", "position", "ours"])
        write.writerows([*one, "2", "It rained.\nShe slept."] for one in told_of(3))
    table = read_table_file(path)
    found = contents_of(table, recognise(table, {}), rest=True)
    assert {entry.text for entry in found.systems["ours"]} == {"It rained.\nShe slept."}


def test_a_study_file_without_a_design_is_told_what_is_wrong_in_it(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text('question = "rate"\n[answers]\npoints = 2\n', encoding="utf-8")
    with pytest.raises(SettingsError, match=r"answers\.points is 2"):
        settle(read(saved(many(4, [1, 3]))).contents, Asked(file, None, {}))
    file.write_text('question = "which"\n', encoding="utf-8")
    with pytest.raises(SettingsError, match="there is no question 'which'"):
        settle(read(saved(many(4, [1, 3]))).contents, Asked(file, None, {}))


def test_columns_of_the_same_name_each_get_one_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("x,x (2),x,y,x,x (2)\n1,2,3,4,5,6\n")
    assert read_table_file(path).columns == ("x", "x (2)", "x (3)", "y", "x (4)", "x (2) (2)")


def test_each_name_of_a_column_is_looked_up_and_not_compared_with_all_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A JSON file of 100 kB has room for 10,000: to compare them took ten seconds."""
    compared = 0

    class Name(str):
        __slots__ = ()

        def startswith(self, *those: Any) -> bool:
            nonlocal compared
            compared += 1
            return super().startswith(*those)

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    header = [Name(f"k{number}") for number in range(1000)]
    _without_empty("table", header, [tuple(header)], [1], ())
    assert compared < 10 * len(header)
