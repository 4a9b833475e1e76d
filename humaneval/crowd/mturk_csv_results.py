"""Reads the results of a batch, as Mechanical Turk's requester pages and Turkle write them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from csv import QUOTE_ALL, writer
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import select

from humaneval.crowd.answers import CONSENT, FORM
from humaneval.crowd.mturk_csv import MTurkCsv
from humaneval.crowd.platform import Submission
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.csv_file import read_csv_file
from humaneval.csv_text import guarded, unguarded
from humaneval.errors import InputError
from humaneval.store.engine import reading
from humaneval.store.tables import HitRow, RowRow
from humaneval.text import counted, listed, refused_characters, repeated, without_refused

ASSIGNMENT, WORKER = "AssignmentId", "WorkerId"
ANSWER, INPUT = "Answer.", "Input."
APPROVE, REJECT = "Approve", "Reject"
STATES = {"": "submitted", "submitted": "submitted", "approved": "approved", "rejected": "rejected"}
"""Turkle's files have no status."""
_ANSWERED = re.compile("[a-z][a-z0-9_]*-[0-9]+")
"""The name of the radio buttons for a field of a passage."""
_TIME = re.compile(r"\w{3} +(\w{3}) +(\d{1,2}) +(\d\d):(\d\d):(\d\d) +(\w+) +(\d{4})")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ZONES = {"UTC": 0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6}
_ZONES |= {"PST": -8, "PDT": -7, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3}
"""Names of time zones → hours east of Greenwich."""


class Result(NamedTuple):
    """One line of the results: the worker, the form, and the answers."""

    line: int
    form: str
    submission: Submission


class Results(NamedTuple):
    """A table of results as read, and what there is to say about it."""

    lines: tuple[Result, ...]
    notes: tuple[str, ...]


class FromFile(NamedTuple):
    """A study at a platform that has the submissions of a file, and what there is to say about the file."""

    at: StudyAtPlatform
    notes: tuple[str, ...]
    waiting: frozenset[int]
    """The lines of the file that are of this study and not decided."""


def moment(text: str) -> datetime | None:
    """A time as these sites write it, with the name of a zone. None if it is no time, the zone is unknown, or
    nobody can have worked then.

    >>> print(moment("Sat Jul 23 10:08:10 PDT 2022"))
    2022-07-23 17:08:10+00:00
    >>> moment("Fri Dec 31 23:08:10 PDT 9999")
    """
    found = _TIME.fullmatch(text.strip())
    if found is None or found[1] not in _MONTHS or found[6] not in _ZONES:
        return None
    if not 1970 <= int(found[7]) < 2200:
        return None
    day, hour, minute, second = map(int, found.group(2, 3, 4, 5))
    try:
        local = datetime(int(found[7]), _MONTHS.index(found[1]) + 1, day, hour, minute, second, tzinfo=UTC)
        return local - timedelta(hours=_ZONES[found[6]])
    except (ValueError, OverflowError):
        return None


def read_results(path: Path) -> Results:
    """The lines of a table of results, whatever program saved it. Raises InputError if it is none."""
    table = read_csv_file(path, what="the results of a batch")
    if not table.rows:
        raise InputError(f"{path} is empty", "Download the results of the batch as a CSV file.")
    header, *rows = table.rows
    missing = [name for name in (ASSIGNMENT, WORKER) if name not in header]
    if missing or not any(name.startswith(ANSWER) for name in header):
        raise InputError(
            f"{path} is no table of results: it has no column {listed(missing) if missing else 'Answer.…'}",
            "Download the results of the batch, not its input.",
        )
    if twice := repeated(filter(None, header)):
        raise InputError(
            f"{path} has the column {listed(sorted(twice))} twice", "Download the results again."
        )
    lines, unread = [], []
    for number, cells in zip(table.lines[1:], rows, strict=True):
        if len(cells) > len(header):
            raise InputError(
                f"{path}, line {number}: {len(cells)} cells, and the header has {len(header)}",
                "Check commas and quotes.",
            )
        # Files of Mechanical Turk end each row before the columns Approve and Reject.
        line = _result(
            path,
            number,
            dict(zip(header, map(unguarded, [*cells, *[""] * (len(header) - len(cells))]), strict=True)),
        )
        if line.submission.submitted_at is None:
            unread.append(number)
        lines.append(line)
    told = f"{path}: {counted(len(unread), 'line')} without a time that can be right: {listed(unread)}"
    return Results(tuple(lines), (*table.notes, *([told] if unread else [])))


def _result(path: Path, number: int, line: Mapping[str, str]) -> Result:
    state = STATES.get(line.get("AssignmentStatus", "").lower())
    refused = refused_characters(line[ASSIGNMENT] + line[WORKER])
    if not line[ASSIGNMENT] or not line[WORKER] or refused or state is None:
        what = f"an id contains {refused}" if refused else "an id is missing"
        what = f"AssignmentStatus is {line['AssignmentStatus']!r}" if state is None else what
        raise InputError(f"{path}, line {number}: {what}", "Download the results again.")
    fields = dict(_fields(line))
    accepted, submitted = moment(line.get("AcceptTime", "")), moment(line.get("SubmitTime", ""))
    if accepted and submitted and submitted < accepted:
        accepted = submitted = None
    submission = Submission(
        external_id=line[ASSIGNMENT],
        worker=line[WORKER],
        state=state,
        fields=fields,
        accepted_at=accepted,
        submitted_at=submitted,
        auto_approval_at=moment(line.get("AutoApprovalTime", "")) if state == "submitted" else None,
        approved_at=moment(line.get("ApprovalTime", "")) if state == "approved" else None,
    )
    return Result(number, fields.get(FORM, "") or line.get(INPUT + FORM, ""), submission)


def _fields(line: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The answers by field. Some sites have a column for each option (`Answer.choice-1.3`): true or false."""
    for column, value in line.items():
        value = without_refused(value)
        if not column.startswith(ANSWER) or not value:
            continue
        name = column.removeprefix(ANSWER)
        field, dot, option = name.partition(".")
        if dot and (field == CONSENT or _ANSWERED.fullmatch(field)):
            if value.lower() == "true":
                yield field, option
        else:
            yield name, value


def from_file(at: StudyAtPlatform, path: Path) -> FromFile:
    """The study with the submissions of a table of results. Raises InputError if none is of this study."""
    found = read_results(path)
    with reading(at.engine) as session:
        lines = session.execute(
            select(RowRow.shown_hash, HitRow.external_id)
            .join(HitRow, HitRow.row_id == RowRow.id)
            .where(HitRow.study_id == at.id, HitRow.endpoint == at.endpoint)
            .order_by(HitRow.id)
        ).all()
        hits = {line.shown_hash: line.external_id for line in lines if line.external_id is not None}
    others = [line.line for line in found.lines if line.form not in hits]
    if len(others) == len(found.lines):
        theirs = next((line.form for line in found.lines), "none")
        raise InputError(
            f"no line of {path} is of study {at.name!r}. Forms in the file: {theirs[:12] or 'none'}…; of the"
            f" study: {next(iter(hits), 'none')[:12]}…",
            "Name the study whose files were given to the site. Nothing was stored.",
        )
    notes = [f"{path}: lines of other forms left out: {listed(others)}"] if others else []
    mine = [line for line in found.lines if line.form in hits]
    platform = MTurkCsv(at.platform.endpoint, at.engine, pay=at.settings.link.pay)
    results: dict[str, list[Submission]] = defaultdict(list)
    first: dict[str, int] = {}
    for line in mine:
        submission = _named(line, hits[line.form])
        if (before := first.setdefault(submission.external_id, line.line)) != line.line:
            raise InputError(
                f"{path}, line {line.line}: the assignment {line.submission.external_id} is on line {before},"
                " too",
                "Download the results again, or delete one of the lines. Nothing was stored.",
            )
        results[hits[line.form]].append(submission)
    platform.results = results
    waiting = frozenset(line.line for line in mine if line.submission.state == "submitted")
    return FromFile(StudyAtPlatform(at.study, platform), (*found.notes, *notes), waiting)


def review_text(path: Path, waiting: frozenset[int]) -> str:
    """The table of results as a site takes decisions back: with an X in Approve for each of the lines
    `waiting`.

    Nothing is rejected, and what a person has decided in the file stays. To reject, a person deletes the X
    and writes the reason into Reject. People look at the table in a spreadsheet: formulas are guarded.
    """
    table = read_csv_file(path, what="the results of a batch")
    header, *rows = table.rows
    names = [*header, *(name for name in (APPROVE, REJECT) if name not in header)]
    written = StringIO()
    lines = writer(written, quoting=QUOTE_ALL, lineterminator="\r\n")
    lines.writerow(names)
    for number, cells in zip(table.lines[1:], rows, strict=True):
        line = dict(zip_longest(names, cells, fillvalue=""))
        if number in waiting and not line[APPROVE] and not line[REJECT]:
            line[APPROVE] = "X"
        lines.writerow(map(guarded, line.values()))
    return written.getvalue()


def _named(line: Result, hit: str) -> Submission:
    """The submission under an id that no other batch has: some sites count from 1."""
    submission = line.submission
    if not submission.external_id.isdecimal():
        return submission
    return replace(submission, external_id=f"{submission.external_id}-{hit}")
