"""One table that sums up a response file: means, counts, majorities, agreement, preferences or workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from humaneval.errors import InputError, UsageError
from humaneval.foreign.header import column
from humaneval.foreign.mapping import PLACE, numbered
from humaneval.foreign.sheet import Sheet
from humaneval.statistics.agreement import (
    Coefficient,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percentage_agreement,
    tally,
)
from humaneval.text import counted, listed

TIE = "(tie)"
LINE, COLUMN, NUMBER, VALUE, WORKER, ITEM = "(line)", "(column)", "(number)", "(value)", "(worker)", "(item)"


@dataclass(frozen=True, slots=True)
class Summary:
    """A table: column names, rows of text and numbers (None for what cannot be computed), and notes."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()
    digits: int | None = None
    """Decimal places for display; None chooses them by the size of a figure."""

    def to_json(self) -> list[dict[str, Any]]:
        """The rows as objects."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def where(sheet: Sheet, conditions: Mapping[str, str]) -> Sheet:
    """The rows whose columns equal `conditions`, as text or as numbers; the others are counted."""
    for name, wanted in conditions.items():
        cells = sheet.frame[column(sheet.frame, name, "--where")]
        other = ~cells.map(lambda cell, wanted=wanted: _same(_text(cell), wanted))
        sheet = sheet.without(f"{name} is not {wanted}", list(cells.index[other]))
    if sheet.frame.empty:
        raise InputError("no rows are left: " + "; ".join(str(left) for left in sheet.left_out))
    return sheet


def judged(
    sheet: Sheet,
    values: Sequence[str],
    *,
    items: Sequence[str] = (),
    by: Sequence[str] = (),
    worker: str | None = None,
    numbers: range | None = None,
    ignore_case: bool = False,
) -> pd.DataFrame:
    """One row for each judgment in the columns `values`. {} stands for a number (in `numbers`, if given).

    Blank cells are not judgments. With `ignore_case`, values that differ only in case become the most common
    one. Raises UsageError for unknown columns.
    """
    found: list[tuple[str, int | None]] = []
    for name in values:
        if PLACE in name:
            found += [
                (one, number)
                for number, one in numbered(sheet.frame, name).items()
                if numbers is None or number in numbers
            ]
        else:
            found.append((column(sheet.frame, name, "--value"), None))
    if not found:
        raise UsageError("--numbers leaves no column", "Widen the range.")
    groups = [column(sheet.frame, name, "--by") for name in by]
    things = [column(sheet.frame, name, "--item") for name in items]
    base = pd.DataFrame({LINE: list(sheet.frame.index)}, dtype=object)
    for name in groups:
        base[name] = [_text(cell) for cell in sheet.frame[name]]
    base[WORKER] = list(sheet.frame[worker]) if worker else None
    keys = [[_text(cell) for cell in sheet.frame[name]] for name in things]
    base[ITEM] = list(zip(*keys, strict=True)) if keys else None
    parts = []
    for name, number in found:
        part = base.copy()
        part[COLUMN], part[NUMBER] = name, number
        part[VALUE] = [_text(cell) or None for cell in sheet.frame[name]]
        parts.append(part)
    frame = pd.concat([part.astype(object) for part in parts], ignore_index=True)
    frame = frame[frame[VALUE].notna()]
    if frame.empty:
        raise InputError(f"all cells are empty in {listed([name for name, _ in found])}")
    if ignore_case:
        spellings = {text.casefold(): text for text in reversed(frame[VALUE].value_counts().index.tolist())}
        frame = frame.assign(**{VALUE: frame[VALUE].map(lambda text: spellings[text.casefold()])})
    return frame


def correct(frame: pd.DataFrame, sheet: Sheet, gold: Sequence[str | None]) -> pd.DataFrame:
    """The same judgments as 1 if they equal the right answer in `gold`, else 0.

    `gold` has an entry for each HIT and number (1-2-3… of the file's first HIT, then of its second), like
    forms whose passages follow the order of a file. Text with one number is compared by that number
    (Paragraph 2 equals paragraph_2), other text in any case. Raises InputError if the counts differ.
    """
    if "hit_number" not in sheet.frame.columns or frame[NUMBER].isna().any():
        raise UsageError("--gold needs a file in the format hits-json and a --value with {}")
    places = sorted(set(frame[NUMBER]))
    hits = sheet.frame["hit_number"].astype(int)
    expected = int(hits.max()) * len(places)
    if expected != len(gold):
        raise InputError(
            f"{int(hits.max())} HITs with {len(places)} passages each need {expected} right answers; the file"
            f" has {len(gold)}",
            "Choose the passages to compare, for example --numbers 1-5.",
        )
    rank = {number: place for place, number in enumerate(places)}
    right = [
        _key(value) == _key(gold[(int(hits[line]) - 1) * len(places) + rank[number]] or "")
        for line, number, value in zip(frame[LINE], frame[NUMBER], frame[VALUE], strict=True)
    ]
    return frame.assign(**{VALUE: [str(int(one)) for one in right]})


def all_numbers(frame: pd.DataFrame) -> bool:
    """Whether every value is a number."""
    return bool(pd.to_numeric(frame[VALUE], errors="coerce").notna().all())


def means(frame: pd.DataFrame, by: Sequence[str]) -> Summary:
    """Number, mean, standard deviation (n − 1), median and range of numeric values, by group."""
    numbers = pd.to_numeric(frame[VALUE], errors="coerce")
    if numbers.isna().any():
        words = list(dict.fromkeys(frame.loc[numbers.isna(), VALUE]))
        raise InputError(
            f"{int(numbers.isna().sum())} of {len(frame)} values are not numbers: {listed(words)}",
            "Count them instead: --show counts.",
        )
    rows = []
    for key, part in _groups(frame.assign(**{VALUE: numbers.astype(float)}), by):
        values = part[VALUE].to_numpy(dtype=float)
        rows.append(
            (
                *key,
                len(values),
                values.mean(),
                values.std(ddof=1) if len(values) > 1 else None,
                float(np.median(values)),
                values.min(),
                values.max(),
            )
        )
    return Summary((*by, "n", "mean", "sd", "median", "min", "max"), _plain(rows))


def counts(frame: pd.DataFrame, by: Sequence[str]) -> Summary:
    """How often each value was given, by group, the most common first."""
    rows = []
    for key, part in _groups(frame, by):
        found = Counter(part[VALUE])
        rows += [
            (*key, value, n, n / len(part))
            for value, n in sorted(found.items(), key=lambda one: (-one[1], one[0]))
        ]
    return Summary((*by, "value", "n", "share"), _plain(rows))


def majority(frame: pd.DataFrame, by: Sequence[str]) -> Summary:
    """The majority value of each item, and how many items have it. Two equally frequent values are a tie."""
    need_items(frame)
    rows, sizes = [], []
    for key, part in _groups(frame, by):
        votes: Counter[str] = Counter()
        for _, answers in part.groupby(ITEM, sort=False)[VALUE]:
            (first, most), *others = Counter(answers).most_common(2)
            votes[TIE if others and others[0][1] == most else str(first)] += 1
            sizes.append(len(answers))
        rows += [
            (*key, value, n, n / votes.total())
            for value, n in sorted(votes.items(), key=lambda one: (one[0] == TIE, -one[1]))
        ]
    return Summary((*by, "value", "items", "share"), _plain(rows), (_sizes(sizes),))


def preference(sheet: Sheet, frame: pd.DataFrame, options: Mapping[str, str]) -> Summary:
    """How often each system was shown, preferred and passed over, and 100·(preferred − passed over)/shown.

    `options` gives, for each answer, the column with the system that it stands for ({"A": "Input.system1",
    …}). Any other answer prefers no system and counts as neither.
    """
    columns = {answer: column(sheet.frame, name, "--option") for answer, name in options.items()}
    shown: Counter[str] = Counter()
    won: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    strange: Counter[str] = Counter()
    for line, value in zip(frame[LINE], frame[VALUE], strict=True):
        systems = {answer: _text(sheet.frame.at[line, name]) for answer, name in columns.items()}
        shown.update(systems.values())
        if value in systems:
            won[systems[value]] += 1
            lost.update(system for answer, system in systems.items() if answer != value)
        else:
            strange[value] += 1
    rows = [
        (
            system,
            n,
            won[system],
            lost[system],
            n - won[system] - lost[system],
            100 * (won[system] - lost[system]) / n,
        )
        for system, n in sorted(shown.items())
    ]
    notes = (f"answers other than {', '.join(options)}: {dict(strange)}",) if strange else ()
    return Summary(("system", "shown", "preferred", "passed over", "neither", "score"), _plain(rows), notes)


def workload(frame: pd.DataFrame) -> Summary:
    """How many workers there were, and how many judgments each gave."""
    need_workers(frame)
    n = frame.groupby(WORKER)[VALUE].size().to_numpy()
    row = (
        len(n),
        int(n.sum()),
        int(n.min()),
        float(np.median(n)),
        n.mean(),
        n.std(ddof=1) if len(n) > 1 else None,
        int(n.max()),
    )
    return Summary(("workers", "judgments", "min", "median", "mean", "sd", "max"), _plain([row]))


def agreement(frame: pd.DataFrame, valid: Sequence[str]) -> Summary:
    """How far answers to the same item agree: coefficients, and the share of answers with the majority.

    A majority is more than half of an item's answers; with `valid`, other answers are never in it. The mean
    over workers weighs each worker equally. A worker's second answer to an item is left out and counted: it
    is not agreement between workers.
    """
    need_items(frame)
    notes = []
    item = pd.Series(list(zip(frame[ITEM], frame[COLUMN], strict=True)), index=frame.index)
    known = bool(frame[WORKER].notna().all())
    if known:
        again = pd.DataFrame({"item": item, "worker": frame[WORKER]}).duplicated()
        notes += (
            [f"{counted(int(again.sum()), 'repeated answer')} by the same worker to the same item: left out"]
            if again.any()
            else []
        )
        frame, item = frame[~again], item[~again]
    codes = pd.Series(pd.factorize(item)[0], index=frame.index)
    votes = pd.crosstab(codes, frame[VALUE])
    own = pd.Series(
        votes.to_numpy()[codes.to_numpy(), votes.columns.get_indexer(pd.Index(frame[VALUE]))],
        index=frame.index,
    )
    with_most = 2 * own > codes.map(votes.sum(axis=1))
    if valid:
        with_most &= frame[VALUE].isin(list(valid))
    rows: list[tuple[Any, ...]] = [
        *_coefficients(codes, frame[VALUE]),
        ("answers with the majority", len(frame), float(with_most.mean())),
    ]
    if known:
        people = with_most.groupby(frame[WORKER]).mean()
        rows.append(("answers with the majority, mean over workers", len(people), float(people.mean())))
    return Summary(("measure", "n", "value"), _plain(rows), (*notes, _sizes(list(votes.sum(axis=1)))))


def _coefficients(items: pd.Series[Any], values: pd.Series[Any]) -> list[tuple[str, int, float | str]]:
    counts = tally(items.to_numpy(), values.to_numpy(dtype=object))
    wanted: dict[str, Coefficient] = {
        "agreeing pairs": percentage_agreement,
        "Fleiss' kappa": fleiss_kappa,
        "Krippendorff's alpha (nominal)": krippendorff_alpha,
        "Gwet's AC1": gwet_ac1,
    }
    found = []
    for name, coefficient in wanted.items():
        value = coefficient(counts)
        found.append((name, counts.rated_twice, value if isinstance(value, float) else str(value)))
    return found


def _groups(frame: pd.DataFrame, by: Sequence[str]) -> list[tuple[tuple[Any, ...], pd.DataFrame]]:
    if not by:
        return [((), frame)]
    return [(tuple(key), part) for key, part in frame.groupby(list(by), sort=True)]


def need_items(frame: pd.DataFrame) -> None:
    """Raise UsageError if it is not known what was judged."""
    if frame[ITEM].isna().any():
        raise UsageError("the file does not say what was judged", "Name the column: --item COLUMN.")


def need_workers(frame: pd.DataFrame) -> None:
    """Raise UsageError if it is not known who answered."""
    if frame[WORKER].isna().any():
        raise UsageError("the file does not say who answered", "Name the column: --worker COLUMN.")


def _sizes(sizes: Sequence[int]) -> str:
    found = sorted(Counter(sizes).items())
    return "; ".join(f"{n} items with {size} answers" for size, n in found)


def _plain(rows: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(cell.item() if hasattr(cell, "item") else cell for cell in row) for row in rows)


def _text(cell: object) -> str:
    return "" if cell is None or cell != cell else str(cell).strip()


def _key(text: str) -> str:
    digits = "".join(one if one.isdigit() else " " for one in text).split()
    return str(int(digits[0])) if len(digits) == 1 else text.strip().casefold()


def _same(text: str, wanted: str) -> bool:
    if text == wanted.strip():
        return True
    try:
        return float(text) == float(wanted)
    except ValueError:
        return False
