"""Pay three ways: by hand, and the ReproHum batches where the platform's own times mislead."""

from __future__ import annotations

import json
import zipfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import median
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.errors import InputError
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.pay import HourlyPay, hourly_pay, union_of_intervals

QUICK = settings(max_examples=40, deadline=None)
SPREADSHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
NAN = float("nan")


def test_queued_assignments_count_once_in_the_union() -> None:
    # ann holds two HITs for the same hour and a third for half an hour; bob works 30 minutes
    workers = ["ann", "ann", "ann", "bob"]
    accepted, submitted = [0, 0, 7200, 0], [3600, 3600, 9000, 1800]
    pay = hourly_pay(
        workers, [3.0, 3.0, 3.0, 4.0], accepted, submitted, in_page_seconds=[600, 600, 600, 1200]
    )
    assert isinstance(pay.work_time, HourlyPay)
    assert isinstance(pay.union, HourlyPay)
    assert isinstance(pay.in_page, HourlyPay)
    assert pay.work_time.by_worker == pytest.approx([9 / 2.5, 8])
    assert pay.union.by_worker == pytest.approx([9 / 1.5, 8])
    assert pay.in_page.by_worker == pytest.approx([9 / 0.5, 12])
    assert (pay.union.median, pay.union.overall) == pytest.approx((7, 13 / 2))
    assert (pay.union.seconds, pay.union.workers, pay.union.unknown) == (7200, 2, 0)


def test_times_may_be_datetimes_and_the_platforms_own_working_time_counts() -> None:
    accepted = pd.to_datetime(["2023-05-22T07:00:00Z", "2023-05-22T09:00:00+02:00"], utc=True)
    submitted = accepted + pd.Timedelta(minutes=30)
    pay = hourly_pay(["ann", "bob"], [1.0, 1.0], accepted, submitted, work_seconds=[900, 900])
    assert isinstance(pay.union, HourlyPay)
    assert isinstance(pay.work_time, HourlyPay)
    assert (pay.union.median, pay.work_time.median) == pytest.approx((2, 4))
    texts = hourly_pay(["ann"], [1.0], ["2023-05-22T07:00:00Z"], ["2023-05-22T07:30:00Z"])
    assert isinstance(texts.union, HourlyPay)
    assert texts.union.median == pytest.approx(2)


def test_times_of_any_year_can_be_counted() -> None:
    begun = [datetime(year, 1, 1, tzinfo=UTC) for year in (1, 2026, 9999)]
    ended = [each.replace(hour=1) for each in begun]
    with suppress(InputError):  # pandas 2 reads no such years
        pay = hourly_pay(["ann", "bob", "cy"], [1.0, 2.0, 3.0], begun, ended).work_time
        assert isinstance(pay, HourlyPay)
        assert pay.median == 2.0


def test_unknown_times_are_counted_and_left_out_with_their_reward() -> None:
    pay = hourly_pay(
        ["ann", "ann", "bob"], [1.0, 1.0, 1.0], [0, 0, 0], [3600, NAN, NAN], in_page_seconds=[NAN] * 3
    )
    assert isinstance(pay.union, HourlyPay)
    assert (pay.union.median, pay.union.overall, pay.union.workers, pay.union.unknown) == (1, 1, 1, 2)
    assert np.isnan(pay.union.by_worker[1])
    assert str(pay.in_page) == "not estimable, because no assignment has a time above 0"
    zero = hourly_pay(["ann", "bob"], [1.0, 1.0], in_page_seconds=[0, 3600]).in_page
    assert isinstance(zero, HourlyPay)
    assert (zero.median, zero.unknown) == (1, 1)


def test_without_times_there_is_no_estimate() -> None:
    pay = hourly_pay(["ann"], [1.0])
    assert str(pay.work_time) == "not estimable, because no working times are known"
    assert isinstance(pay.union, NotEstimable)
    assert str(pay.in_page) == "not estimable, because the pages had no timers"


intervals = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 50), st.integers(0, 20)), min_size=1, max_size=30
)


@QUICK
@given(intervals, st.randoms())
def test_the_union_is_that_of_the_seconds_covered(rows: list[tuple[int, int, int]], random: Random) -> None:
    covered = [
        {s for group, start, length in rows if group == one for s in range(start, start + length)}
        for one in range(4)
    ]
    random.shuffle(rows)
    groups, start, length = (np.array(column) for column in zip(*rows, strict=True))
    found = union_of_intervals(groups, start.astype(float), (start + length).astype(float), 4)
    assert found.tolist() == [len(seconds) for seconds in covered]


def test_reprohum_coherence_pays_a_quarter_a_dollar_or_44_dollars(test_data: Path) -> None:
    rows = _sheet(test_data / "responses" / "reprohum_d2t" / "Combined_Coherence.xlsx")
    assert len(rows) == 600
    rows = [
        row for row in rows if row["Answer.best_coh"] in ("A", "B")
    ]  # the published figures leave four out
    times = [
        [datetime.strptime(row[name].replace("PDT", "-0700"), "%a %b %d %H:%M:%S %z %Y") for row in rows]
        for name in ("AcceptTime", "SubmitTime")
    ]
    pay = hourly_pay(
        [row["WorkerId"] for row in rows],
        [float(row["Reward"].lstrip("$")) for row in rows],
        *times,
        work_seconds=[float(row["WorkTimeInSeconds"]) for row in rows],
    )
    assert isinstance(pay.work_time, HourlyPay)
    assert isinstance(pay.union, HourlyPay)
    assert (pay.work_time.seconds, round(pay.work_time.overall, 2)) == (2_615_294, 0.28)
    assert (pay.union.seconds, round(pay.union.overall, 2)) == (696_051, 1.05)

    decided = [_decision(row["Answer.clicks"]) for row in rows]
    assert median(seconds for seconds in decided if not np.isnan(seconds)) == 28
    each = hourly_pay(range(len(rows)), [0.34] * len(rows), in_page_seconds=decided).in_page
    assert isinstance(each, HourlyPay)
    assert round(each.median) == 44
    assert each.unknown == 6


def _decision(cell: str) -> float:
    """Seconds from leaving the introduction to leaving the two texts, by the page's own clicks."""
    times: dict[str, float] = {}
    for click in json.loads(cell)["clicks"]:
        moment = datetime.strptime(click["time"][:33], "%a %b %d %Y %H:%M:%S GMT%z")
        times[click["id_tag"]] = moment.timestamp()
    return times.get("next-summary1", NAN) - times.get("next-intro", NAN)


def _sheet(file: Path) -> list[dict[str, str]]:
    """The first sheet of an xlsx file whose texts are shared strings."""
    with zipfile.ZipFile(file) as archive:
        strings = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
        sheet = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
    shared = ["".join(text.text or "" for text in entry.iter(f"{SPREADSHEET}t")) for entry in strings]
    rows = []
    for row in sheet.iter(f"{SPREADSHEET}row"):
        cells = {}
        for cell in row:
            value = cell.findtext(f"{SPREADSHEET}v") or ""
            column = (cell.get("r") or "").rstrip("0123456789")
            cells[column] = shared[int(value)] if cell.get("t") == "s" else value
        rows.append(cells)
    header, *rest = rows
    return [{name: row.get(column, "") for column, name in header.items()} for row in rest]


def test_what_cannot_be_paid_is_refused() -> None:
    with pytest.raises(InputError, match="2 workers, 1 rewards"):
        hourly_pay(["a", "b"], [1.0])
    with pytest.raises(InputError, match="no workers and no rewards"):
        hourly_pay([], [])
    with pytest.raises(InputError, match="1 of 1 rewards are missing"):
        hourly_pay(["a"], [NAN])
    with pytest.raises(InputError, match="1 of 1 rewards are below 0"):
        hourly_pay(["a"], [-1.0])
    with pytest.raises(InputError, match="submitted before they were accepted, the first is entry 2"):
        hourly_pay(["a", "b"], [1.0, 1.0], [0, 10], [5, 5])
    with pytest.raises(InputError, match="times of acceptance are not times"):
        hourly_pay(["a"], [1.0], ["soon"], ["later"])
    with pytest.raises(InputError, match="1 workers, 2 seconds"):
        hourly_pay(["a"], [1.0], in_page_seconds=[1, 2])
