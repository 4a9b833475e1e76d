"""Notes on a response table: stories seen twice, incomplete workers, generators with few responses."""

from __future__ import annotations

import pandas as pd

from humaneval.foreign.sheet import Sheet, at
from humaneval.text import counted, listed

FEW = 10
"""Responses: a generator with fewer is named in a note."""
NAMED = 8


def with_remarks(sheet: Sheet, frame: pd.DataFrame) -> Sheet:
    """The sheet with notes on the responses in `frame`."""
    return sheet.noted(_stories_again(frame), _unequal(frame), _few(frame))


def with_row_passages(frame: pd.DataFrame, unanswered: pd.DataFrame) -> pd.DataFrame:
    """The responses, with the number of passages of each form in `row_passages`.

    `unanswered` are the passages without an answer. A file that has such passages says what workers were
    shown, so they are counted, unless the file has the column `row_passages` itself.
    """
    passage = ["story", "generator"]
    there = unanswered.dropna(subset=["worker", *passage])
    if "row_passages" in frame.columns or there.empty:
        return frame
    known = [name for name in ("row", "assignment") if _told(frame, name) and _told(there, name)]
    form = ["worker", *known[:1]]
    every = pd.concat([frame[[*form, *passage]], there[[*form, *passage]]]).drop_duplicates()
    counts = every.groupby(form, sort=False).size()
    keys = pd.MultiIndex.from_frame(frame[form]) if len(form) > 1 else pd.Index(frame["worker"])
    return frame.assign(row_passages=counts.reindex(keys).to_numpy())


def _told(frame: pd.DataFrame, name: str) -> bool:
    return name in frame.columns and bool(frame[name].notna().all())


def _stories_again(frame: pd.DataFrame) -> str:
    """Workers who judged one story under two generators: the second time they know it."""
    pairs = frame[["worker", "story", "generator"]].drop_duplicates()
    times = pairs.groupby(["worker", "story"], sort=False).size()
    twice = times[times > 1]
    if twice.empty:
        return ""
    names = list(dict.fromkeys(twice.index.get_level_values("worker")))
    stories = list(dict.fromkeys(twice.index.get_level_values("story")))
    where = pd.MultiIndex.from_frame(frame[["worker", "story"]]).isin(twice.index)
    return (
        f"{counted(len(names), 'worker')} saw a story more than once, under different generators. All these"
        f" responses count: {listed(names, NAMED)} ({'story' if len(stories) == 1 else 'stories'}"
        f" {listed(stories, NAMED)}; {at(list(frame.loc[where, 'line']), NAMED)})"
    )


def _unequal(frame: pd.DataFrame) -> str:
    """Workers who judged fewer generators than there are, unless the file says how many they were shown."""
    if "row_passages" in frame.columns:
        empty = int(frame["row_passages"].isna().sum())
        told = (
            f"row_passages is empty for {counted(empty, 'response')}, so no worker is left out as incomplete"
        )
        return told if empty else ""
    generators = frame["generator"].nunique()
    judged = frame.groupby("worker", sort=False)["generator"].nunique()
    fewer = int((judged < generators).sum())
    if not fewer:
        return ""
    return (
        f"{fewer:,} of {counted(len(judged), 'worker')} judged fewer than the {generators} generators. The"
        " file does not say how many they were shown, so no worker is left out as incomplete. A column"
        " row_passages would say it"
    )


def _few(frame: pd.DataFrame) -> str:
    sizes = frame["generator"].value_counts(sort=False)
    few = sizes[sizes < FEW]
    if few.empty or (sizes < FEW).all():
        return ""
    told = ", ".join(f"{name} has {counted(int(n), 'response')}" for name, n in few.items())
    return f"{told}: too few for a useful score"
