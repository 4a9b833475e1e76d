"""Story files as people really keep them (outside the project), and any stories in any spreadsheet's
dialect."""

from __future__ import annotations

import csv
import io
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.errors import InputError
from humaneval.stories import parse_mapping, read_stories
from humaneval.text import mojibake, normalise
from tests.pace import slowness


@pytest.mark.parametrize(
    ("file", "stories"), [("test.csv", 1866), ("valid.csv", 1867), ("train_more.csv", 17539)]
)
def test_real_stories_are_read_without_complaint(test_data: Path, file: str, stories: int) -> None:
    reading = read_stories(test_data / "stories" / file)
    assert len(reading.stories) == stories
    assert not reading.problems
    assert not reading.notes


def test_sixty_thousand_stories_take_a_few_seconds(test_data: Path) -> None:
    started = time.process_time()
    reading = read_stories(test_data / "stories" / "train.csv")
    assert time.process_time() - started < 15 * slowness()
    assert len(reading.stories) == 57_541
    assert [problem.line for problem in reading.problems] == [8796]
    assert "mojibake" in reading.problems[0].reason


def test_an_index_is_taken_as_ids_with_a_word(test_data: Path) -> None:
    path = test_data / "awkward" / "crlf_csv_val_stories.csv"
    reading = read_stories(path)
    assert (reading.format, len(reading.stories), reading.problems) == ("Story Cloze CSV", 199, ())
    with path.open(encoding="utf-8", newline="") as file:
        rows = {row["Id"]: row for row in csv.DictReader(file)}
    for story in reading.stories:
        row = rows[story.id]
        assert story.sentences[4] == normalise(row["end1"] if row["answer"] == "0" else row["end2"])
    assert "index" in reading.notes[0]


def test_many_fields_are_read_by_a_mapping_and_else_refused_by_their_names(test_data: Path) -> None:
    path = test_data / "awkward" / "pasta_many_fields.jsonl"
    with pytest.raises(InputError, match=r"Input\.line1, Input\.line2") as caught:
        read_stories(path)
    assert "--map" in caught.value.hint
    lines = ",".join(f"sentence{n}=Input.line{n}" for n in range(1, 6))
    reading = read_stories(path, mapping=parse_mapping(f"id=Input.storyid,title=Input.Title,{lines}"))
    assert len(reading.stories) == 20
    assert len(reading.problems) == 40
    assert all(problem.reason.startswith("duplicate id") for problem in reading.problems)


def test_stories_without_five_sentences_are_refused_by_line(test_data: Path) -> None:
    reading = read_stories(test_data / "awkward" / "not_five_under_punkt.txt")
    assert len(reading.stories) + len(reading.problems) == 79
    assert 0 < len(reading.stories) < 20
    assert all(", not 5" in problem.reason for problem in reading.problems)


def test_damaged_sentences_are_refused_by_line(test_data: Path) -> None:
    reading = read_stories(test_data / "awkward" / "damaged_sentences.txt")
    assert reading.stories == ()
    assert [problem.line for problem in reading.problems] == list(range(1, 13))
    assert sum("mojibake" in problem.reason for problem in reading.problems) == 11


@pytest.mark.parametrize(
    ("file", "looks"),
    [
        ("noheader_6col_unlabelled.csv", "four sentences and two endings"),
        ("ptb_tokenised.post.tsv", "four sentences of a story.*tokenised"),
        ("planwrite_markers.txt", "markers.*<EOT>"),
        ("ids_not_text.ids", "token ids"),
        ("gutenberg_bom_crlf_curly.txt", "licence header"),
        ("gutenberg_aesop_header_footer.txt", "licence header"),
        ("nonutf8_poems_sidney.txt", "line 1047: byte 0x80"),
        ("crowd_annotations_html_backquotes.tsv", "responses"),
    ],
)
def test_files_that_hold_no_stories_are_refused_in_one_line(test_data: Path, file: str, looks: str) -> None:
    with pytest.raises(InputError, match=looks) as caught:
        read_stories(test_data / "awkward" / file)
    assert caught.value.hint
    assert "\n" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("file", ["gutenberg_bom_crlf_curly.txt", "gutenberg_aesop_header_footer.txt"])
def test_a_book_without_its_licence_is_running_text(test_data: Path, tmp_path: Path, file: str) -> None:
    body = (test_data / "awkward" / file).read_text(encoding="utf-8-sig")[6_000:]
    path = tmp_path / "book.txt"
    path.write_text(body, encoding="utf-8")
    with pytest.raises(InputError, match="running text"):
        read_stories(path)


# A non-ASCII character is always followed by an ASCII one: a Windows-1252 file whose bytes are UTF-8 by
# chance can be told from UTF-8 by nobody.
_PIECES = st.sampled_from(
    [
        "a",
        "b ",
        "Cc",
        ", ",
        ";",
        "|",
        "\t",
        '"',
        "'",
        "\n",
        "\r\n",
        "?",
        ". ",
        "“n",
        "”.",
        "’s",
        "— ",
        "é ",
        "ñ.",
        "€5",
        "1",
    ]
)
# "A??a" is what a lost character looks like, and is refused as such.
_SENTENCE = (
    st.lists(_PIECES, min_size=1, max_size=12)
    .map(lambda pieces: "A" + "".join(pieces) + ".")
    .filter(lambda sentence: mojibake(normalise(sentence)) is None)
)


@settings(deadline=None, max_examples=200)
@given(
    stories=st.lists(st.lists(_SENTENCE, min_size=5, max_size=5), min_size=1, max_size=6),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"]),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_C61_any_stories_that_a_spreadsheet_writes_come_back_equal(
    stories: list[list[str]], encoding: str, delimiter: str, line_end: str, quoting: int
) -> None:
    out = io.StringIO(newline="")
    if line_end == "\r":  # Python 3.11's writer leaves a line feed unquoted where lines end with CR
        quoting = csv.QUOTE_ALL
    writer = csv.writer(out, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    writer.writerow(["storyid", "storytitle", *(f"sentence{n}" for n in range(1, 6))])
    for number, sentences in enumerate(stories):
        writer.writerow([f"id{number}", "", *sentences])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stories.csv"
        path.write_bytes(out.getvalue().encode(encoding))
        reading = read_stories(path)
    assert [str(problem) for problem in reading.problems] == []
    expected = [tuple(normalise(sentence) for sentence in sentences) for sentences in stories]
    assert [story.sentences for story in reading.stories] == expected
