"""Results of batches as sites wrote them, with the quirks of real files; and texts as sites need them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from humaneval.crowd.mturk_csv import _raw
from humaneval.crowd.mturk_csv_results import moment, read_results, review_text
from humaneval.errors import InputError

HEAD = [
    *("HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime", "ApprovalTime"),
    *("Input.form", "Answer.choice-1", "Answer.choice-10", "Answer.choice-2", "Answer.consent"),
    *("Answer.form", "Approve", "Reject"),
]
LINE = [
    *("3H", "3ASSIGNMENTONE", "A1WORKER", "Submitted", "Sat Jul 23 10:08:10 PDT 2022"),
    *("Sat Jul 23 10:09:40 PDT 2022", "", "f0", "3", "1", "5", "1", "f1"),
]


def table(
    folder: Path, *lines: list[str], head: list[str] = HEAD, start: str = "", end: str = "\r\n"
) -> Path:
    path = folder / "results.csv"
    rows = [",".join(f'"{cell}"' for cell in line) for line in (head, *lines)]
    path.write_bytes((start + end.join(rows) + end).encode())
    return path


@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["plain", "with a byte order mark"])
@pytest.mark.parametrize("end", ["\r\n", "\n"], ids=["CRLF", "LF"])
def test_P40_rows_that_are_shorter_than_the_header_and_a_mark_before_it_are_read(
    tmp_path: Path, start: str, end: str
) -> None:
    head = ["AssignmentId", *(name for name in HEAD if name != "AssignmentId")]
    line = [LINE[1], LINE[0], *LINE[2:]]
    for one, names in ((LINE, HEAD), (line, head), ([*LINE, "", ""], HEAD)):
        (result,) = read_results(table(tmp_path, one, head=names, start=start, end=end)).lines
        said = result.submission
        assert (result.form, said.external_id, said.worker, said.state) == (
            "f1",
            "3ASSIGNMENTONE",
            "A1WORKER",
            "submitted",
        )
        assert said.fields == {
            "choice-1": "3",
            "choice-10": "1",
            "choice-2": "5",
            "consent": "1",
            "form": "f1",
        }
        assert said.submitted_at == datetime(2022, 7, 23, 17, 9, 40, tzinfo=UTC)


def test_answers_with_a_column_for_each_option_are_the_options_that_are_true(tmp_path: Path) -> None:
    options = [f"Answer.choice-1.{number}" for number in range(1, 6)]
    scale = [f"Answer.fits_well-12.{number}" for number in range(1, 4)]
    head = ["AssignmentId", "WorkerId", "Input.form", *options, "Answer.consent.1.2", *scale]
    truth = ["false", "true", "false", "false", "false", "TRUE", "false", "false", "true"]
    (result,) = read_results(table(tmp_path, ["3A", "A1", "f7", *truth], head=head)).lines
    told = {"choice-1": "2", "consent": "1.2", "fits_well-12": "3"}
    assert (result.form, result.submission.fields) == ("f7", told)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sat Jul 23 10:08:10 PDT 2022", datetime(2022, 7, 23, 17, 8, 10, tzinfo=UTC)),
        ("Thu Dec  1 23:59:59 PST 2022", datetime(2022, 12, 2, 7, 59, 59, tzinfo=UTC)),
        ("Sun Nov 29 23:34:25 UTC 2026", datetime(2026, 11, 29, 23, 34, 25, tzinfo=UTC)),
        ("Sun Nov 29 23:34:25 CEST 2026", datetime(2026, 11, 29, 21, 34, 25, tzinfo=UTC)),
        ("Sun Nov 29 23:34:25 XYZ 2026", None),
        ("Sun Nov 31 23:34:25 UTC 2026", None),
        ("Fri Jan 01 00:00:00 PST 9999", None),
        ("Mon Jan 01 00:00:00 UTC 0001", None),
        ("2022-07-23", None),
        ("", None),
    ],
)
def test_times_with_the_name_of_a_zone_are_read_and_others_are_left_open(
    text: str, expected: datetime | None
) -> None:
    assert moment(text) == expected


@pytest.mark.parametrize(
    "text", ["yesterday", "Sat Jul 23 10:08:10 PDT 9999", "Sat Jul 23 10:08:09 PDT 2022"]
)
def test_a_time_that_cannot_be_right_is_said_with_its_line(tmp_path: Path, text: str) -> None:
    line = [*LINE[:5], text, *LINE[6:]]
    found = read_results(table(tmp_path, LINE, line))
    assert found.lines[1].submission.submitted_at is None
    assert "1 line without a time that can be right: 3" in found.notes[-1]


REFUSED = [
    ({"head": ["form", "story_1"]}, ["f", "s"], "no column AssignmentId, WorkerId"),
    ({"head": ["AssignmentId", "WorkerId"]}, ["a", "b"], "no column Answer"),
    ({}, [*LINE, "", "", "", ""], "line 2: 17 cells, and the header has 15"),
    ({}, ["3H", "", *LINE[2:]], "line 2: an id is missing"),
    ({}, ["3H", "3A", "W\0x", *LINE[3:]], r"line 2: an id contains U\+0000"),
    ({}, [*LINE[:3], "Gone", *LINE[4:]], "AssignmentStatus is 'Gone'"),
    ({"head": [*HEAD[:-1], "Approve"]}, LINE, "column Approve twice"),
]


@pytest.mark.parametrize(("names", "line", "complaint"), REFUSED)
def test_what_is_no_table_of_results_is_refused_with_its_line(
    tmp_path: Path, names: dict[str, list[str]], line: list[str], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        read_results(table(tmp_path, line, **names))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ('He said "a < b & c".', "He said &#34;a &lt; b &amp; c&#34;."),
        ("It cost ${form}.", "It cost &#36;{form}."),
        ("A 🦊 came.", "A &#x1F98A; came."),
        ("-No, she said.", "&#45;No, she said."),
        ("=1+1", "&#61;1+1"),
        ("Ünïcode stays.", "Ünïcode stays."),
    ],
)
def test_a_text_comes_through_a_site_that_escapes_nothing(text: str, html: str) -> None:
    assert _raw(text) == html


def test_P40_the_review_file_approves_what_waits_and_leaves_what_a_person_wrote(tmp_path: Path) -> None:
    others = [[*LINE[:1], f"3ASSIGNMENT{name}", *LINE[2:]] for name in ("TWO", "THREE", "FOUR")]
    rejected = [*others[0], "", "It was empty, sorry."]
    path = table(tmp_path, LINE, rejected, others[1], [*others[2], "X"], start="\ufeff")
    text = review_text(path, frozenset({2, 3}))
    assert text.startswith('"HITId","AssignmentId"')
    assert text.endswith('"\r\n')
    (tmp_path / "results.csv").write_text(text, encoding="utf-8", newline="")
    again = [line.submission.external_id for line in read_results(tmp_path / "results.csv").lines]
    assert len(again) == 4
    ends = [line.rpartition('"f1",')[2] for line in text.splitlines()[1:]]
    assert ends == ['"X",""', '"","It was empty, sorry."', '"",""', '"X",""']
