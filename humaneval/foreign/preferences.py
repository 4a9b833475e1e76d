"""Which system is preferred: how often each was, pairs with sign tests, and a ranking by strength."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from humaneval.errors import UsageError
from humaneval.foreign.clusters import clusters
from humaneval.foreign.comparisons import FIRST, OUTCOME, SECOND, Comparisons, shown
from humaneval.foreign.judged import VALUE
from humaneval.foreign.sheet import Sheet
from humaneval.foreign.summaries import Summary, groups
from humaneval.limits import check_systems
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.bradley_terry import TiesAs, bradley_terry
from humaneval.statistics.multiplicity import holm
from humaneval.statistics.sign_test import SignTest, sign_test
from humaneval.text import listed

TiesAre = Literal["left-out", "half", "davidson"]


def preference(sheet: Sheet, frame: pd.DataFrame, options: Mapping[str, str]) -> Summary:
    """How often each system was shown, preferred and passed over, and 100·(preferred − passed over)/shown.

    `options` gives, for each answer, the column with the system that it stands for ({"A": "Input.system1",
    …}). Any other answer prefers no system and counts as neither.
    """
    seen: Counter[str] = Counter()
    won: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    strange: Counter[str] = Counter()
    for one, value in zip(shown(sheet, frame, options), frame[VALUE], strict=True):
        seen.update(one.systems.values())
        if one.answer is None:
            strange[value] += 1
            continue
        won[one.systems[one.answer]] += 1
        lost.update(system for answer, system in one.systems.items() if answer != one.answer)
    rows = tuple(
        (
            system,
            n,
            won[system],
            lost[system],
            n - won[system] - lost[system],
            100 * (won[system] - lost[system]) / n,
        )
        for system, n in sorted(seen.items())
    )
    notes = (f"answers other than {', '.join(options)}: {dict(strange)}",) if strange else ()
    return Summary(("system", "shown", "preferred", "passed over", "neither", "score"), rows, notes)


class _Pair(NamedTuple):
    key: tuple[Any, ...]
    first: str
    second: str
    found: SignTest


def sign_tests(
    made: Comparisons, by: Sequence[str] = (), ties: TiesAre = "left-out", reference: str | None = None
) -> Summary:
    """Each pair of systems: how often each was preferred, the share of the first with its interval, and the
    sign test (`statistics.sign_test`), with Holm's p if there are several pairs.

    With a `reference` it stands second, and only its pairs are shown.
    """
    if ties == "davidson":
        raise UsageError("--ties davidson goes with --show bradley-terry", "Choose half or left-out.")
    _check(reference, _systems(made))
    who = clusters(made.frame)
    places = pd.Series(np.arange(len(made.frame)), index=made.frame.index)
    pairs = []
    for key, part in groups(made.frame, by):
        of_pair, none = part.groupby([FIRST, SECOND], sort=False).indices, np.empty(0, dtype=np.int64)
        for first, second in _pairs(part, reference):
            either_way = [of_pair.get((first, second), none), of_pair.get((second, first), none)]
            mine = part.iloc[np.sort(np.concatenate(either_way))]
            signs = np.where(mine[FIRST] == first, mine[OUTCOME], -mine[OUTCOME])
            there = who.at(places[mine.index].to_numpy())
            rule: Literal["half", "left out"] = "half" if ties == "half" else "left out"
            found = sign_test(signs, there.worker, there.item, ties=rule)
            pairs.append(_Pair(key, first, second, found))
    adjusted = holm([one.found.p for one in pairs])
    rows = []
    for place, one in enumerate(pairs):
        found = one.found
        share = None if isinstance(found.share, NotEstimable) else found.share
        low, high = (None, None) if isinstance(found.interval, NotEstimable) else found.interval
        counts = (found.wins, found.losses, found.ties)
        more = (float(adjusted[place]),) if len(pairs) > 1 else ()
        rows.append((*one.key, one.first, one.second, *counts, share, low, high, found.p, *more))
    own = ("first", "second", "wins", "losses", "ties", "share", "low", "high", "p")
    columns = (*(f"{name} (group)" if name in own else name for name in by), *own)
    told = "; ".join(dict.fromkeys(one.found.test for one in pairs))
    counts_as = "ties count half" if ties == "half" else "ties are left out"
    notes = (
        f"Share: of the answers for the first; {counts_as}. p of no preference: {told}"
        + (f"; Holm: among {len(pairs)} pairs." if len(pairs) > 1 else "."),
        who.note,
        *made.notes,
        *dict.fromkeys(one.found.note for one in pairs if one.found.note),
    )
    return Summary((*columns, *(("Holm",) if len(pairs) > 1 else ())), tuple(rows), notes)


def ranking(made: Comparisons, ties: TiesAre = "davidson", reference: str | None = None) -> Summary:
    """The systems by strength (`statistics.bradley_terry`): log-odds against their average, or against the
    `reference`, with standard errors, intervals and the ranks that the answers leave open."""
    _check(reference, _systems(made))
    frame, who = made.frame, clusters(made.frame)
    names: dict[TiesAre, TiesAs] = {"left-out": "left out", "half": "half", "davidson": "davidson"}
    fit = bradley_terry(
        frame[FIRST].to_numpy(dtype=object),
        frame[SECOND].to_numpy(dtype=object),
        frame[OUTCOME],
        who.worker,
        who.item,
        ties=names[ties],
    )
    _check(reference, list(fit.names))
    often = Counter([*frame[FIRST], *frame[SECOND]])
    rows: list[tuple[Any, ...]] = []
    for rank in fit.ranks():
        if reference is None:
            own = fit.strength(rank.name)
            figures = [own.estimate, own.standard_error, *own.interval]
        elif rank.name == reference:
            figures = [0.0, nan, nan, nan]
        else:
            pair = fit.contrast(rank.name, reference)
            figures = [pair.estimate, pair.standard_error, *pair.interval]
        shown_as = [None if isnan(one) else float(one) for one in figures]
        span = f"{rank.low}" if rank.low == rank.high else f"{rank.low}-{rank.high}"
        rows.append((rank.name, often[rank.name], *shown_as, rank.rank, span))
    rows += [(one.name, often[one.name], *[None] * 6) for one in fit.apart]
    notes = [
        "Strength: log-odds of being preferred"
        + (f" to {reference}." if reference else ", against the average of all.")
        + " Ranks: those that pairwise tests, by Holm for each system, leave open.",
        who.note,
        *made.notes,
        *(one.because for one in fit.apart),
    ]
    if fit.tie:
        notes.append(f"Ties by Davidson's model: nu {fit.tie:.4f}.")
    notes += [fit.note] if fit.note else []
    columns = ("system", "n", "strength", "se", "low", "high", "rank", "ranks")
    return Summary(columns, tuple(rows), tuple(notes))


def _systems(made: Comparisons) -> list[str]:
    """The systems that were compared. Raises InputError if there are too many to take every pair of them."""
    named: list[str] = pd.unique(made.frame[[FIRST, SECOND]].to_numpy().ravel()).tolist()
    check_systems(len(named))
    return named


def _check(reference: str | None, names: Sequence[str]) -> None:
    if reference is not None and reference not in names:
        raise UsageError(f"no system is called {reference!r}", f"There are: {listed(sorted(names), 40)}.")


def _pairs(part: pd.DataFrame, reference: str | None) -> list[tuple[str, str]]:
    """Pairs that were compared, each once, in order of their names; the reference stands second."""
    found = {
        tuple(sorted(pair, key=lambda name: (name == reference, name)))
        for pair in zip(part[FIRST], part[SECOND], strict=True)
    }
    return sorted((a, b) for a, b in found if reference is None or b == reference)
