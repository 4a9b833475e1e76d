"""Reading story files: what is sound comes back as it was, what is not is named by file, line and reason."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from humaneval import limits
from humaneval.errors import InputError, UsageError
from humaneval.planning.cues import word_counts
from humaneval.store.stories import running_text
from humaneval.stories import Reading, parse_mapping, plain, read_stories, reading
from humaneval.text import Parts, as_read, split_into

HEADER = "storyid,storytitle,sentence1,sentence2,sentence3,sentence4,sentence5"
SOUP = (
    "Ada wanted soup.",
    "She had no pot.",
    "Her neighbour lent one, with a lid.",
    "The soup boiled over.",
    "They ate bread instead.",
)
KITE = ("Ben built a kite.", "It was red.", "The wind took it. Twice.", "He ran after it.", "A tree kept it.")
CURLY = (
    "“Don’t,” said Zoë — twice…",
    "The café was shut.",
    "It’s “fine”.",
    "He paid €5.",
    "Nobody laughed.",
)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: str | bytes, name: str = "stories.csv", encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


def table(*rows: tuple[str, ...], header: str = HEADER, delimiter: str = ",", line_end: str = "\n") -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=line_end)
    writer.writerow(header.split(","))
    writer.writerows(rows)
    return out.getvalue()


def reasons(reading: Reading) -> list[str]:
    return [f"{problem.line}: {problem.reason}" for problem in reading.problems]


def refusal(path: Path, **options: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read_stories(path, **options)
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message + caught.value.hint
    assert caught.value.hint
    return caught.value


# Tables


def test_a_rocstories_table_is_read_with_ids_and_titles(write: Write) -> None:
    reading = read_stories(write(table(("a1", "Soup", *SOUP), ("a2", "", *KITE))))
    assert (reading.format, reading.encoding, reading.delimiter) == ("ROCStories CSV", "utf-8", ",")
    assert [(story.id, story.title) for story in reading.stories] == [("a1", "Soup"), ("a2", "")]
    assert [story.sentences for story in reading.stories] == [SOUP, KITE]
    assert not reading.problems
    assert not reading.notes


def test_a_field_with_two_full_stops_stays_one_sentence(write: Write) -> None:
    (story,) = read_stories(write(table(("k", "", *KITE)))).stories
    assert story.sentences[2] == "The wind took it. Twice."


def test_the_right_ending_of_a_story_cloze_table_becomes_the_fifth_sentence(write: Write) -> None:
    header = (
        "InputStoryid,InputSentence1,InputSentence2,InputSentence3,InputSentence4,"
        "RandomFifthSentenceQuiz1,RandomFifthSentenceQuiz2,AnswerRightEnding"
    )
    rows = [("c1", *SOUP[:4], SOUP[4], "Wrong.", "1"), ("c2", *KITE[:4], "Wrong.", KITE[4], "2")]
    reading = read_stories(write(table(*rows, header=header)))
    assert reading.format == "Story Cloze CSV"
    assert [story.sentences for story in reading.stories] == [SOUP, KITE]


@pytest.mark.parametrize(("first", "second"), [("0", "1"), ("1", "2")])
def test_an_answer_column_may_count_from_zero_or_from_one(write: Write, first: str, second: str) -> None:
    header = "Id,sentence1,sentence2,sentence3,sentence4,end1,end2,answer"
    rows = [("7", *SOUP[:4], SOUP[4], "Wrong.", first), ("8", *KITE[:4], "Wrong.", KITE[4], second)]
    reading = read_stories(write(table(*rows, header=header)))
    assert [story.sentences for story in reading.stories] == [SOUP, KITE]
    assert [story.id for story in reading.stories] == ["7", "8"]
    assert "the ids are only numbers" in reading.notes[0]


def test_an_ending_that_is_not_marked_is_a_problem(write: Write) -> None:
    header = "InputStoryid,sentence1,sentence2,sentence3,sentence4,end1,end2,AnswerRightEnding"
    reading = read_stories(write(table(("c", *SOUP[:4], "A.", "B.", "3"), header=header)))
    assert "2: the right ending is '3', not 1 or 2" in reasons(reading)[0]


def test_two_endings_without_an_answer_are_refused(write: Write) -> None:
    path = write(
        table(("c", *SOUP[:4], "A b.", "B c."), header="id,sentence1,sentence2,sentence3,sentence4,end1,end2")
    )
    assert "no column for the right ending" in refusal(path).message


def test_columns_that_are_not_needed_are_named(write: Write) -> None:
    reading = read_stories(write(table(("0", "a1", "", *SOUP), header=",".join(["", HEADER]))))
    assert reading.stories[0].sentences == SOUP
    assert reading.notes == ("columns not used: (no name)",)


def test_C61_missing_and_unknown_columns_are_listed(write: Write) -> None:
    path = write(table(("a", *SOUP[:4], "x"), header="storyid,sentence1,sentence2,sentence3,sentence4,mood"))
    message = refusal(path).message
    assert "missing columns: sentence5" in message
    assert "unknown: mood" in message


def test_a_column_given_twice_is_refused(write: Write) -> None:
    path = write(table((*SOUP, "x"), header="sentence1,sentence2,sentence3,sentence4,sentence5,sentence5"))
    assert "sentence5 twice" in refusal(path).message


def test_a_mapping_names_the_columns(write: Write) -> None:
    path = write(table(("w", *SOUP), header="key,l1,l2,l3,l4,l5"))
    mapping = parse_mapping("id=key,sentence1=l1,sentence2=l2,sentence3=l3,sentence4=l4,sentence5=l5")
    (story,) = read_stories(path, mapping=mapping).stories
    assert (story.id, story.sentences) == ("w", SOUP)
    assert "missing columns" in refusal(path).message


def test_a_mapping_to_a_column_that_is_not_there_is_refused(write: Write) -> None:
    with pytest.raises(InputError, match="has no column l9; its columns are key, l1"):
        read_stories(write("key,l1\na,b\n"), mapping={"id": "key", "sentence1": "l9"})


@pytest.mark.parametrize("text", ["id", "=x", "id=", "colour=c", "id=a,id=b", ""])
def test_a_mapping_that_makes_no_sense_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_mapping(text)
    assert caught.value.hint


# Encodings, delimiters, line ends


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_C61_every_delimiter_line_end_and_encoding_of_spreadsheets_is_read(
    write: Write, delimiter: str, line_end: str, encoding: str
) -> None:
    content = table(("a1", "Soup", *SOUP), ("a2", "", *CURLY), delimiter=delimiter, line_end=line_end)
    reading = read_stories(write(content, encoding=encoding))
    assert [story.sentences for story in reading.stories] == [SOUP, CURLY]
    assert reading.delimiter == delimiter
    assert reading.encoding.startswith(encoding)


def test_C61_a_line_end_inside_quotation_marks_is_a_space_and_lines_are_still_counted(write: Write) -> None:
    content = f'{HEADER}\r\na1,,"Ada wanted\r\nsoup.",b c.,c.,d.,e.\r\na2,,,b.,c.,d.,e.\r\n'
    reading = read_stories(write(content))
    assert reading.stories[0].sentences[0] == "Ada wanted soup."
    assert reasons(reading) == ["4: sentence 1 is empty"]


def test_C61_excels_sep_line_is_passed_over(write: Write) -> None:
    reading = read_stories(write("sep=;\r\n" + table(("a1", "", *SOUP), delimiter=";"), encoding="utf-8-sig"))
    assert reading.stories[0].sentences == SOUP


def test_C61_a_guessed_encoding_is_said(write: Write) -> None:
    reading = read_stories(write(table(("a", "", *CURLY)), encoding="cp1252"))
    assert "cp1252" in reading.notes[0]
    assert "--encoding" in reading.notes[0]


@pytest.mark.parametrize(
    ("damage", "byte"),
    [(b"x\x81y", "0x81"), (b"\xe9\x02", "0x02"), (b"\xc3\xa9\xc3\xa9\x80\xc3\xa9", "0x80")],
)
def test_C61_bytes_of_no_known_encoding_are_refused_by_line(write: Write, damage: bytes, byte: str) -> None:
    content = table(("a", "", *SOUP)).encode() + b"b,," + damage + b"\n"
    error = refusal(write(content))
    assert f"line 3: byte {byte}" in error.message
    assert "--encoding" in error.hint


def test_C61_mac_roman_is_not_taken_for_windows(write: Write) -> None:
    path = write(table(("a", "", "It didn’t rain.", *SOUP[1:])), encoding="mac_roman")
    assert "--encoding mac_roman" in refusal(path).hint
    assert read_stories(path, encoding="mac_roman").stories[0].sentences[0] == "It didn’t rain."


def test_C61_an_encoding_that_does_not_fit_is_refused_by_line(write: Write) -> None:
    path = write(table(("a", "", *SOUP), ("b", "", *CURLY)), encoding="cp1252")
    assert "line 3: byte 0x93" in refusal(path, encoding="utf-8").message


@pytest.mark.parametrize("encoding", ["klingon", "hex"])
def test_an_unknown_encoding_is_a_usage_error(write: Write, encoding: str) -> None:
    with pytest.raises(UsageError, match="is not an encoding"):
        read_stories(write("x"), encoding=encoding)


def test_utf_16_cut_short_is_refused(write: Write) -> None:
    refusal(write(table(("a", "", *SOUP)).encode("utf-16") + b"x"))


def test_C64_files_are_read_alike_where_the_locale_is_not_utf_8(write: Write) -> None:
    path = write(table(("a", "Käse 🧀", *CURLY)))
    program = (
        "import sys; from pathlib import Path; from humaneval.stories import read_stories; "
        "print(ascii(read_stories(Path(sys.argv[1])).stories[0].sentences))"
    )
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    root = str(Path(__file__).resolve().parents[2])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environment.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "warn_default_encoding",
            "-W",
            "error::EncodingWarning",
            "-c",
            program,
            str(path),
        ],
        env=environment,
        capture_output=True,
        encoding="ascii",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ascii(CURLY)


# Stories that cannot be taken


def test_every_bad_story_is_named_by_line_and_reason_and_the_rest_is_read(write: Write) -> None:
    rows: list[tuple[str, ...]] = [
        ("good", "", *SOUP),
        ("short", "", *SOUP[:4]),
        ("long", "", *SOUP, "And then."),
        ("empty", "", *SOUP[:2], " ", *SOUP[3:]),
        ("good", "", *KITE),
        ("", "", *KITE),
        ("damaged", "", "It didnâ€™t rain.", *SOUP[1:]),
        ("bell", "Ding\x07", *SOUP),
        ("last", "", *KITE),
    ]
    path = write(table(*rows))
    reading = read_stories(path)
    assert [story.id for story in reading.stories] == ["good", "last"]
    assert reasons(reading) == [
        "3: 6 fields, but the header has 7: a sentence or another field is missing",
        "4: 8 fields, but the header has 7: a sixth sentence, or a delimiter outside quotation marks",
        "5: sentence 3 is empty",
        "6: duplicate id good, first on line 2 with other sentences",
        "7: the id is empty",
        "8: sentence 1: mojibake: 'â€' is UTF-8 read in another encoding",
        "9: the title contains U+0007, which cannot be stored or shown",
    ]
    assert str(reading.problems[0]).startswith(f"{path}:3: ")


def test_a_duplicate_id_with_the_same_text_is_a_problem_too(write: Write) -> None:
    reading = read_stories(write(table(("a", "", *SOUP), ("a", "", *SOUP))))
    assert reasons(reading) == ["3: duplicate id a, first on line 2 with the same sentences"]


def test_the_same_story_under_two_ids_is_noted(write: Write) -> None:
    reading = read_stories(write(table(("a", "", *SOUP), ("b", "", *SOUP))))
    assert reading.problems == ()
    (note,) = reading.notes
    assert note.startswith("stories with the text of another one, case, marks and spaces aside: 1;")


def test_a_column_for_a_sixth_sentence_counts_only_where_it_is_filled(write: Write) -> None:
    reading = read_stories(
        write(table(("a", "", *SOUP, ""), ("b", "", *KITE, "And."), header=HEADER + ",sentence6"))
    )
    assert reasons(reading) == ["3: a sixth sentence"]


def test_empty_cells_and_lines_that_spreadsheets_add_do_not_count(write: Write) -> None:
    content = f"{HEADER},,\r\na1,,{','.join(KITE)},,\r\n,,,,,,,,\r\n\r\n"
    reading = read_stories(write(content))
    assert [story.sentences for story in reading.stories] == [KITE]
    assert reading.problems == ()


@pytest.mark.parametrize(
    "bad", ['a1,,"Ada wanted,b.,c.,d.,e.', 'a1,,"Ada" wanted,b.,c.,d.,e.', 'a1,,x,b.,c.,d.,"e.']
)
def test_C61_unbalanced_quotation_marks_cost_only_their_own_line(write: Write, bad: str) -> None:
    rest = "\n".join(f'g{n},,"One, two.",b {n}.,c.,d.,"e, f."' for n in range(3))
    reading = read_stories(write(f"{HEADER}\n{bad}\n{rest}\n"))
    assert reasons(reading) == ["2: unbalanced quotation marks"]
    assert [story.id for story in reading.stories] == ["g0", "g1", "g2"]


def test_tabs_without_quoting_keep_their_quotation_marks(write: Write) -> None:
    content = HEADER.replace(",", "\t") + '\na\t\t"Go," he said.\tb.\tc.\t"d\te.\n'
    (story,) = read_stories(write(content, "stories.tsv")).stories
    assert (story.sentences[0], story.sentences[3]) == ('"Go," he said.', '"d')


def test_a_very_long_field_is_no_error_of_the_reader(write: Write) -> None:
    long = "word " * 60_000
    (story,) = read_stories(write(table(("a", "", long, *SOUP[1:])))).stories
    assert len(story.sentences[0]) == 5 * 60_000 - 1


# JSON


def test_jsonl_is_read_in_each_of_its_shapes(write: Write) -> None:
    values: list[dict[str, object]] = [
        {"id": 7, "title": "Soup", "sentences": SOUP, "split": "test", "source": "made up"},
        {"storyid": "b", **{f"sentence{n}": text for n, text in enumerate(SOUP, start=1)}},
        {
            "text": "Ben built a kite. It was red. The wind took it. He ran after it. A tree kept it.",
            "mood": None,
        },
    ]
    reading = read_stories(write("\n".join(map(json.dumps, values)), "stories.jsonl"))
    assert reading.format == "JSONL"
    first, second, third = reading.stories
    assert (first.id, first.title, first.split, first.source) == ("7", "Soup", "test", "made up")
    assert first.sentences == second.sentences == SOUP
    assert third.sentences[4] == "A tree kept it."
    assert third.id.startswith("s-")
    assert len(third.id) == 14
    assert reading.notes[0] == "fields not used: mood"


def test_a_json_array_is_read_with_its_lines(write: Write) -> None:
    content = json.dumps([{"id": "a", "sentences": SOUP}, {"id": "b", "sentences": SOUP[:4]}], indent=1)
    reading = read_stories(write(content, "stories.json"))
    assert [story.id for story in reading.stories] == ["a"]
    assert reasons(reading) == ["12: 4 sentences, not 5"]


def test_C63_objects_that_differ_or_repeat_a_field_are_problems_by_line(write: Write) -> None:
    good = json.dumps({"sentences": SOUP})
    lines = [
        good,
        json.dumps({"sentence1": "Only one."}),
        '{"id": "x", "id": "y", "sentences": []}',
        '{"id": "cut", "sentences": ["One.',
        json.dumps({"sentences": [*SOUP, "More."]}),
        json.dumps({"sentences": [1, *SOUP[1:]]}),
        json.dumps({"sentences": "One."}),
        "[]",
        good,
    ]
    reading = read_stories(write("\r\n".join(lines), "stories.jsonl"))
    assert len(reading.stories) == 1
    assert reasons(reading) == [
        "2: missing: sentence2, sentence3, sentence4, sentence5",
        "3: the field 'id' occurs twice",
        "4: not JSON: Invalid control character at",
        "5: 6 sentences, not 5: there is a sixth sentence",
        "6: sentence 1 is a number, not text",
        "7: `sentences` is text, not a list of five sentences",
        "8: a list, not an object with the fields of a story",
        "9: the same story as on line 1",
    ]


def test_a_file_of_lines_that_are_not_json_is_refused_before_all_are_read(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them opens as many objects as can be read at all."""
    monkeypatch.setattr("humaneval.stories.jsonl.MOST_BROKEN", 100)
    trouble = refusal(write('{"a":\n' * 12_000, "s.jsonl"))
    assert "line 101: not JSON: nested too deeply; nor were 100 lines before it" in trouble.message


def test_more_records_than_any_file_has_are_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STORIES", 2)
    three = table(*((f"a{number}", "Soup", *SOUP) for number in range(3)))
    assert "more than 2 stories" in refusal(write(three)).message
    assert "more than 2 stories" in refusal(write("[[],[],[]]", "s.json")).message


def test_an_array_cut_short_is_refused(write: Write) -> None:
    content = json.dumps([{"sentences": SOUP}] * 2)
    assert "not closed" in refusal(write(content[:-1], "s.json")).message
    assert "line 1: not JSON" in refusal(write(content[:-20], "s.json")).message


@pytest.mark.parametrize(
    ("value", "why"), [("[" * 5_000, "nested too deeply"), ("9" * 5_000, "a number is too long")]
)
def test_json_that_nobody_can_read_is_refused(write: Write, value: str, why: str) -> None:
    assert f"not JSON: {why}" in refusal(write(f'[{{"id": {value}}}]', "s.json")).message
    assert f"not JSON: {why}" in refusal(write(f'{{"id": {value}}}', "s.jsonl")).message


def test_objects_without_a_story_are_refused_by_their_fields(write: Write) -> None:
    error = refusal(write('{"prompt": "a", "line1": "b"}\n', "s.jsonl"))
    assert "prompt, line1" in error.message
    assert "--map" in error.hint


# Plain text


def test_a_story_a_line_is_cut_into_sentences(write: Write) -> None:
    content = " ".join(SOUP) + "\r" + "\r" + " ".join(CURLY[1:]) + "\r"
    reading = read_stories(write(content, "stories.txt"))
    assert (reading.format, reading.delimiter) == ("text, one story a line", "")
    assert [story.sentences for story in reading.stories] == [SOUP]
    assert reasons(reading) == ["3: 4 sentences, not 5"]


def test_a_story_a_paragraph_may_be_wrapped_anywhere(write: Write) -> None:
    soup, words = (
        " ".join(SOUP),
        "Ben built a kite. It was red. The wind took it. He ran after it. A tree kept it.",
    )
    content = "\n\n".join(text[:40] + "\n" + text[41:] for text in (soup[:40] + " " + soup[40:], words))
    reading = read_stories(write(content, "stories.txt"))
    assert reading.format == "text, one story a paragraph"
    assert [len(story.sentences) for story in reading.stories] == [5, 5]


def test_five_lines_that_end_like_sentences_are_the_sentences_as_they_stand(write: Write) -> None:
    reading = read_stories(write("\n".join(KITE) + "\n\n" + "\n".join(SOUP) + "\n", "stories.txt"))
    assert reading.format == "text, one story a paragraph"
    assert [story.sentences for story in reading.stories] == [KITE, SOUP]


def test_a_line_above_each_paragraph_is_its_title_and_no_part_of_its_first_sentence(write: Write) -> None:
    content = f"# Soup\n{' '.join(SOUP)}\n\nThe Bread of Others\n{' '.join(SOUP).replace('soup', 'stew')}\n"
    reading = read_stories(write(content, "stories.txt"))
    assert [story.title for story in reading.stories] == ["Soup", "The Bread of Others"]
    assert reading.stories[0].sentences == SOUP
    assert "title" in reading.notes[0]


def test_the_id_that_is_made_is_the_same_every_time(write: Write) -> None:
    line = read_stories(write(" ".join(SOUP), "a.txt")).stories[0]
    listed = read_stories(write(json.dumps({"sentences": SOUP}), "b.jsonl")).stories[0]
    assert line.id == listed.id


def test_one_sentence_a_line_is_said(write: Write) -> None:
    reading = read_stories(write("\n".join(SOUP + KITE[:4]), "stories.txt"))
    assert reading.stories == ()
    assert "each line is one sentence" in reading.notes[0]


PROSE = (
    "It was late when the cart came over the\nhill, and nobody had lit the lamps. The old\nman at the gate"
    " looked up and saw that\nthe horse was lame.\n\n“Who drives there?” he called.\n\nNo one\nanswered"
    " him.\n\n"
)


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        (PROSE * 5, "running text"),
        (
            "A rose upon the hill,\nA lily by the sea,\nThe wind is never still\nThat brings them both to"
            " me.\n\n" * 5,
            "verse",
        ),
        ("The Project Gutenberg eBook of Nothing\n\n" + PROSE, "licence header"),
        ("a title <EOT> </s> ada made soup . </s> it burned .\n" * 6, "markers in its text (</s>, <EOT>)"),
        ("12 5 7 -1 9 88 4 -1\n3 4 5 -1\n", "token ids"),
        (
            "ada made soup , and it burned . she left . he ate . they slept . all was well .\n" * 3,
            "tokenised",
        ),
        (
            "worker,story,generator,position,choice\nw1,a,ILM,3,2\nw2,b,LM,1,1\n",
            "a table of responses (worker, choice)",
        ),
        ("worker\ttext\tlabel\nw1\tHe left.\t1\n", "a table of responses"),
        (
            "\t".join(SOUP[:4]) + "\n" + "\t".join(KITE[:4]) + "\n",
            "four sentences of a story without the fifth",
        ),
        ("|".join([*SOUP, "They ate it."]) + "\n", "four sentences and two endings"),
        ("Soup\tIt burned.\nKite\tIt flew.\n", "2 columns and no header line"),
        ("\t".join(SOUP) + "\n", "five sentences a line"),
        ("id\tline\tmood\nx\ty\tz\n", "missing columns"),
        ("<!DOCTYPE html><html><body>Soup.</body></html>", "a web page"),
        ("   \n\r\n", "is empty"),
        (HEADER + "\n", "contains no stories"),
    ],
)
def test_what_is_no_story_file_is_refused_with_what_it_looks_like(
    write: Write, content: str, looks: str
) -> None:
    assert looks in refusal(write(content, "stories.txt")).message


@pytest.mark.parametrize(
    ("magic", "what"), [(b"PK\x03\x04", "Excel"), (b"\x1f\x8b", "gzip"), (b"%PDF-1.7", "PDF")]
)
def test_files_that_are_not_text_are_named(write: Write, magic: bytes, what: str) -> None:
    assert what in refusal(write(magic + bytes(50), "stories.xlsx")).message


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "nothing.csv").message
    assert "is a folder" in refusal(tmp_path).message


def test_split_and_source_that_are_given_go_before_the_files(write: Write) -> None:
    path = write(
        table(("a", *SOUP, "train", "web"), header="id," + HEADER.split(",", 2)[2] + ",split,source")
    )
    (own,) = read_stories(path).stories
    (given,) = read_stories(path, split="test", source="lab").stories
    assert (own.split, own.source) == ("train", "web")
    assert (given.split, given.source) == ("test", "lab")


# Public formats


TEXT = " ".join(SOUP)


@pytest.mark.parametrize(
    "content",
    [
        json.dumps([TEXT]) + "\n" + json.dumps([TEXT.replace("soup", "tea")]) + "\n",
        json.dumps([TEXT, TEXT.replace("soup", "tea")]),
        json.dumps([[TEXT], [[*SOUP[:4], "All was well."]]]),
        "\n".join(map(json.dumps, (list(SOUP), [*SOUP[:4], "All was well."]))),
        json.dumps({"a": {"lines": SOUP}, "b": {"lines": [*SOUP[:4], "All was well."]}}),
        json.dumps({"a": list(SOUP), "b": TEXT.replace("soup", "tea")}),
        "Soup\t" + TEXT + "\nTea\t" + TEXT.replace("soup", "tea") + "\n",
        f"1a\tSoup\t{TEXT}\n2a\t\t{TEXT.replace('soup', 'tea')}\n",
        json.dumps({"data": [{"sentences": SOUP}, {"text": TEXT.replace("soup", "tea")}]}),
        json.dumps({"tale": TEXT}) + "\n" + json.dumps({"tale": TEXT.replace("soup", "tea")}),
    ],
)
def test_X26_common_public_formats_are_read(write: Write, content: str) -> None:
    reading = read_stories(write(content, "stories.txt"))
    assert reasons(reading) == []
    assert reading.stories[0].sentences == SOUP
    assert len(reading.stories) == 2


def test_X26_the_keys_of_an_object_are_the_ids_and_lines_are_named(write: Write) -> None:
    content = (
        '{\n"a": {"title": "Soup", "lines": ' + json.dumps(SOUP) + '},\n"b": {"lines": ["One.", "Two."]}\n}'
    )
    reading = read_stories(write(content, "stories.json"))
    assert [(story.id, story.title) for story in reading.stories] == [("a", "Soup")]
    assert reasons(reading) == ["3: 2 sentences, not 5"]
    assert "read as the story: lines" in reading.notes


@pytest.mark.parametrize(
    ("first", "id", "title"),
    [("Soup", "", "Soup"), ("The Hot Soup", "", "The Hot Soup"), ("s-17", "s-17", "")],
)
def test_X26_the_cell_before_the_tab_is_a_title_or_an_id(
    write: Write, first: str, id: str, title: str
) -> None:
    (story,) = read_stories(write(f"{first}\t{TEXT}\n", "stories.txt")).stories
    assert story.title == title
    assert story.id.startswith(id or "s-")


def test_X26_an_array_of_five_sentences_is_one_story(write: Write) -> None:
    (story,) = read_stories(write(json.dumps(SOUP), "stories.json")).stories
    assert story.sentences == SOUP


# What the splitter cannot tell


def test_X20_stories_in_the_first_person_are_read(write: Write) -> None:
    text = "A man hit me. I fell over. Dad said no. Katie cried. We went home."
    (story,) = read_stories(write(json.dumps({"text": text}), "stories.jsonl")).stories
    assert story.sentences == (
        "A man hit me.",
        "I fell over.",
        "Dad said no.",
        "Katie cried.",
        "We went home.",
    )


def test_X20_a_story_that_may_be_cut_otherwise_is_read_and_listed(write: Write) -> None:
    text = "Tom took vitamin C. Ann did not. It rained. They left. All was well.\n"
    reading = read_stories(write(text * 1 + "Tom ate it. Ann did not. It rained.\n", "stories.txt"))
    assert [story.sentences[0] for story in reading.stories] == ["Tom took vitamin C."]
    assert [str(one).partition(":")[2] for one in reading.doubtful] == ["1: one sentence or two at: C. Ann"]
    assert reasons(reading) == ["2: 3 sentences, not 5"]


def test_X20_french_blanks_before_marks_are_no_tokenised_text(write: Write) -> None:
    text = "Quelle joie ! Il dort. Où est-il ? Elle le cherche. « Viens ! » crie Anne.\n"
    reading = read_stories(write(text, "stories.txt"))
    assert reading.stories[0].sentences[2:] == ("Où est-il ?", "Elle le cherche.", "« Viens ! » crie Anne.")
    assert reading.notes == ()


def test_X20_lines_of_other_scripts_end_like_sentences(write: Write) -> None:
    lines = ["他来了。", "她走了。", "天下雨了。", "“你好！”他说。", "他们回家。"]
    (story,) = read_stories(write("\n".join(lines) + "\n\n" + "\n".join(lines[::-1]), "s.txt")).stories[:1]
    assert list(story.sentences) == lines
    (story,) = read_stories(write(json.dumps({"erzählung": "".join(lines)}), "s.jsonl")).stories
    assert list(story.sentences) == lines


def test_X23_a_text_is_the_same_for_an_import_as_for_a_study(write: Write) -> None:
    other = [sentence.upper().replace(".", "!") for sentence in SOUP]
    (note,) = read_stories(write(table(("a", "", *SOUP), ("b", "", *other)))).notes
    assert "case, marks and spaces aside: 1;" in note
    reading = read_stories(write(json.dumps(SOUP) + "\n" + json.dumps(other) + "\n", "stories.jsonl"))
    assert len(reading.stories) == 1
    assert reasons(reading) == ["2: the same story as on line 1"]


# What people see


@pytest.mark.parametrize(
    "text", ["\u200b", "\u00ad", "\ufeff", "\u202eShe left.\u202c", "\u0301", "\u00a0", "?!", "\u3164"]
)
def test_X24_a_sentence_that_nobody_can_read_is_refused_with_its_line(write: Write, text: str) -> None:
    rows = [("a", "Soup", *SOUP), ("b", "Soup", SOUP[0], text, *SOUP[2:])]
    reading = read_stories(write(table(*rows)))
    assert [story.id for story in reading.stories] == ["a"]
    (reason,) = reasons(reading)
    assert reason.startswith("3: sentence 2 ")


@pytest.mark.parametrize("column", [0, 1])
def test_X24_an_id_or_a_title_that_nobody_can_see_is_refused(write: Write, column: int) -> None:
    row = ["a", "Soup", *SOUP]
    row[column] = "x\u200b"
    (reason,) = reasons(read_stories(write(table(tuple(row)))))
    assert "U+200B, which is invisible" in reason


def told_in(sentences: int, number: int = 4) -> list[list[str]]:
    return [
        [f"Ann saw {word} at {at} o'clock." for at in range(1, sentences + 1)]
        for word in ("rain", "snow", "hail", "wind")[:number]
    ]


@pytest.mark.parametrize("sentences", [3, 4, 6, 10, 20])
@pytest.mark.parametrize("kind", ["columns", "lists", "texts", "lines", "paragraphs", "titled"])
def test_a_file_whose_stories_all_have_another_length_is_read(
    write: Callable[..., Path], kind: str, sentences: int
) -> None:
    told = told_in(sentences)
    text = {
        "columns": lambda: "\n".join(
            [",".join(["id", *(f"sentence{at}" for at in range(1, sentences + 1))])]
            + [",".join([f"s{number}", *one]) for number, one in enumerate(told)]
        ),
        "lists": lambda: "\n".join(json.dumps({"sentences": one}) for one in told),
        "texts": lambda: "\n".join(json.dumps({"text": " ".join(one)}) for one in told),
        "lines": lambda: "\n".join(" ".join(one) for one in told),
        "paragraphs": lambda: "\n\n".join("\n".join(one) for one in told),
        "titled": lambda: "\n".join(f"t{number}\t{' '.join(one)}" for number, one in enumerate(told)),
    }[kind]()
    read = read_stories(write(text + "\n"))
    assert [list(story.sentences) for story in read.stories] == told
    assert not read.problems


def test_other_lengths_are_tried_on_some_lines_of_a_long_file(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cut: list[str] = []

    def cutting(wanted: int, text: str, language: str) -> Parts:
        cut.append(text)
        return split_into(wanted, text, language)

    monkeypatch.setattr(plain, "split_into", cutting)
    monkeypatch.setattr(reading, "LOOKED_AT", 50)
    lines = 20 * reading.LOOKED_AT
    assert len(read_stories(write("It rained.\n" * lines)).problems) == lines
    assert len(cut) < 4 * lines
    told = [[f"Ann saw {word} at {at} o'clock." for at in range(10)] for word in range(reading.LOOKED_AT)]
    read = read_stories(write("\n\n".join("\n".join(one) for one in told)))
    assert [list(story.sentences) for story in read.stories] == told


@pytest.mark.parametrize(("before", "sentences"), [(3, 4), (1, 4), (1, 9)])
def test_most_stories_may_begin_late(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, before: int, sentences: int
) -> None:
    monkeypatch.setattr(reading, "LOOKED_AT", 10)
    monkeypatch.setattr(plain, "_LOOKED_AT", 10)
    few, many = [
        [" ".join(f"Ann saw {word} at {at}:{number}." for at in range(length)) for number in range(lines)]
        for word, length, lines in (("hail", before, 12), ("rain", sentences, 18))
    ]
    assert len(read_stories(write("\n".join([*few, *many]))).stories) == len(many)
    titled = [f"t{number}\t{story}" for number, story in enumerate([*few, *many])]
    assert len(read_stories(write("\n".join(titled)), sentences=sentences).stories) == len(many)


def test_one_story_of_five_makes_the_others_wrong(write: Callable[..., Path]) -> None:
    told = [*told_in(10, 3), *told_in(5, 1)]
    read = read_stories(write("\n".join(json.dumps({"sentences": one}) for one in told)))
    assert len(read.stories) == 1
    assert {problem.reason for problem in read.problems} == {"10 sentences, not 5"}


def test_few_stories_of_another_length_are_read_if_it_is_said(write: Callable[..., Path]) -> None:
    path = write("\n".join(json.dumps({"sentences": one}) for one in told_in(4, 2)))
    assert {problem.reason for problem in read_stories(path).problems} == {"4 sentences, not 5"}
    assert len(read_stories(path, sentences=4).stories) == 2
    assert {problem.reason for problem in read_stories(path, sentences=7).problems} == {"4 sentences, not 7"}


def test_a_mapping_says_how_many_sentences_there_are(write: Callable[..., Path]) -> None:
    path = write("a,b,c\n" + "\n".join(",".join(one) for one in told_in(3, 2)))
    mapping = parse_mapping("sentence1=a,sentence2=b,sentence3=c")
    assert [len(story.sentences) for story in read_stories(path, mapping=mapping).stories] == [3, 3]


def test_a_seventh_column_that_some_stories_fill_is_too_many(write: Callable[..., Path]) -> None:
    lines = [",".join([f"s{at}", *one]) for at, one in enumerate(told_in(6))]
    header = ",".join(["id", *(f"sentence{at}" for at in range(1, 8))])
    read = read_stories(write("\n".join([header, *(f"{line}," for line in lines)])), sentences=6)
    assert len(read.stories) == 4
    longer = [f"{lines[0]},Too much.", *(f"{line}," for line in lines[1:])]
    read = read_stories(write("\n".join([header, *longer])), sentences=6)
    assert [problem.reason for problem in read.problems] == ["more than 6 sentences"]


@pytest.mark.parametrize(
    "sentences",
    [["He ran.", "It rained."], ["“No”, he said.", 'A "1"\n\\.'], ["Да.", "e\u0301", "\u0301a"], []],
)
@pytest.mark.parametrize("escaped", [True, False])
def test_a_story_reads_as_it_is_stored(sentences: list[str], escaped: bool) -> None:
    stored = running_text(json.dumps(sentences, ensure_ascii=escaped))
    assert as_read([stored]) == as_read(["\n".join(sentences)])
    assert word_counts([stored]) == word_counts(sentences)
