"""Scores of which only the counts are known, as papers print them: intervals, ranks, and unpaired
comparisons.

Counts do not say which annotator judged what. So the tests cannot pair answers or see that annotators recur:
they are of the χ² family, and the output says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from humaneval.csv_file import read_csv_file
from humaneval.domain import Role
from humaneval.errors import InputError
from humaneval.limits import check_systems
from humaneval.scoring.comparisons import Comparison, Declared, Family, adjusted
from humaneval.scoring.roles import refuse_spellings
from humaneval.scoring.verdicts import decide, inner_level
from humaneval.statistics.intervals import Interval, wilson
from humaneval.statistics.ranks import Rank, jeffreys_ranks
from humaneval.statistics.two_samples import chi_square, newcombe, z_test
from humaneval.text import repeated

METHOD = "newcombe, unpaired"
TEST = "χ², unpaired"
ONE_SIDED = "z, unpaired, one-sided"
GATED = "0 by construction, if annotators who missed a Control passage are excluded."
"""Why Control has no interval at 0."""
COLUMNS = ("generator", "not_identified", "n")
LONGEST = 9
"""Digits of a count: a floating-point number holds each of them exactly."""


@dataclass(frozen=True, slots=True)
class Count:
    """One generator: `not_identified` of `n` passages whose annotator did not mark the machine's sentence."""

    generator: str
    role: Role
    not_identified: int
    n: int
    interval: Interval | None
    """None for Control at 0: annotators who missed it were excluded, so it is 0 by construction."""
    rank: Rank | None = None
    """Rank among the systems, under Jeffreys' priors; None for other roles, and for a single system."""

    @property
    def score(self) -> float:
        """The share, 0..1."""
        return self.not_identified / self.n


@dataclass(frozen=True, slots=True)
class CountTable:
    """Scores from counts, in the order Control, systems by ascending score, Human; and their comparisons."""

    level: float
    scores: tuple[Count, ...]
    comparisons: tuple[Comparison, ...]

    def to_json(self) -> dict[str, Any]:
        """The document of `score --counts --json`; plain values only."""
        return {
            "level": self.level,
            "scores": [
                {
                    "generator": row.generator,
                    "role": str(row.role),
                    "n": row.n,
                    "not_identified": row.not_identified,
                    "score": row.score,
                    "interval": row.interval and list(row.interval),
                    "interval_method": "wilson" if row.interval else None,
                    "note": "" if row.interval else GATED,
                    "rank": (
                        row.rank
                        and {
                            "mean": row.rank.mean,
                            "low": row.rank.low,
                            "high": row.rank.high,
                            "best": row.rank.best,
                        }
                    ),
                }
                for row in self.scores
            ],
            "comparisons": [one.to_json() for one in self.comparisons],
        }


class CountLine(NamedTuple):
    """One generator as a paper prints it: `not_identified` of `n` passages."""

    generator: str
    role: Role
    not_identified: int
    n: int


def score_counts(
    counts: Sequence[CountLine], declared: Declared | None = None, level: float = 0.95
) -> CountTable:
    """Intervals, ranks and comparisons of generators.

    Raises InputError if a name occurs twice, a count is not valid, or there are none.
    """
    declared = declared or Declared()
    if not counts:
        raise InputError("there are no counts")
    check_systems(len(counts), "lines of counts, one for each generator")
    names = [one.generator for one in counts]
    for name in repeated(names):
        raise InputError(f"{name} occurs {names.count(name)} times", "Give one line per generator.")
    for one in counts:
        if one.role is not Role.SYSTEM:
            refuse_spellings(one.generator, names)
    systems = [one for one in counts if one.role is Role.SYSTEM]
    ranked: dict[str, Rank] = {}
    if len(systems) > 1:
        found = jeffreys_ranks([one.not_identified for one in systems], [one.n for one in systems], level)
        ranked = dict(zip((one.generator for one in systems), found, strict=True))
    rows = [Count(*one, _interval(one, level), ranked.get(one.generator)) for one in counts]
    order = {Role.CONTROL: 0, Role.SYSTEM: 1, Role.HUMAN: 2}
    rows.sort(key=lambda row: (order[row.role], row.score, row.generator))
    return CountTable(level, tuple(rows), _compared(rows, declared, level))


def _interval(count: CountLine, level: float) -> Interval | None:
    """Wilson's; none for a Control that nobody missed."""
    gated = count.role is Role.CONTROL and not count.not_identified
    return None if gated else wilson(count.not_identified, count.n, level)


def _compared(rows: Sequence[Count], declared: Declared, level: float) -> tuple[Comparison, ...]:
    by_name = {row.generator: row for row in rows}
    systems = [row.generator for row in rows if row.role is Role.SYSTEM]
    human = [row.generator for row in rows if row.role is Role.HUMAN]
    pairs = list(combinations(sorted(systems), 2)) if declared.pairs is None else list(declared.pairs)
    below = [(name, human[0]) for name in sorted(systems)] if human and declared.below_human else []
    made = []
    families: list[tuple[Family, list[tuple[str, str]], str]] = [
        ("systems", pairs, TEST),
        ("below human", below, ONE_SIDED),
    ]
    for family, chosen, test in families:
        tests = [_p(by_name[a], by_name[b], test) for a, b in chosen]
        for (a, b), p, p_adjusted in zip(
            chosen, tests, adjusted(np.array(tests), declared.adjust), strict=True
        ):
            interval, narrow = (_newcombe(by_name[a], by_name[b], at) for at in (level, inner_level(level)))
            one_sided = family == "below human"
            verdict = decide(interval, narrow, float(p_adjusted), declared.margin, level, one_sided=one_sided)
            made.append(
                Comparison(
                    a,
                    b,
                    family,
                    by_name[a].score - by_name[b].score,
                    interval,
                    METHOD,
                    test,
                    p,
                    float(p_adjusted),
                    declared.adjust,
                    verdict,
                    0,
                    bound=narrow.high if one_sided else None,
                    margin=declared.margin,
                )
            )
    return tuple(made)


def _p(a: Count, b: Count, test: str) -> float:
    counts = a.not_identified, a.n, b.not_identified, b.n
    return chi_square(*counts).p if test == TEST else z_test(*counts, "less").p


def _newcombe(a: Count, b: Count, level: float) -> Interval:
    return newcombe(a.not_identified, a.n, b.not_identified, b.n, level)


class CountFile(NamedTuple):
    """The lines of a file of counts, and what there is to say about it."""

    counts: list[CountLine]
    notes: tuple[str, ...]


def read_counts(path: Path) -> CountFile:
    """Counts from a CSV file with the columns generator, not_identified, n and, optionally, role.

    Without the column, generators called control and human have those roles. Raises InputError with the line.
    """
    table = read_csv_file(path, what="a table of counts")
    header = [name.casefold() for name in table.rows[0]] if table.rows else []
    if twice := [name for name in COLUMNS if header.count(name) > 1]:
        raise InputError(f"{path} has the column {twice[0]} twice", "Rename or delete one of them.")
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        first = f" Its first line is: {', '.join(table.rows[0])[:120]}" if table.rows else ""
        raise InputError(
            f"{path} lacks the columns {', '.join(missing)}",
            f"It needs a line with {', '.join(COLUMNS)}; role is optional.{first}",
        )
    found = []
    for cells, line in zip(table.rows[1:], table.lines[1:], strict=True):
        if len(cells) < len(header) or any(cells[len(header) :]):
            raise InputError(f"{path}, line {line}: {len(cells)} cells, but the header has {len(header)}")
        row = dict(zip(header, cells, strict=False))
        where = f"{path}, line {line}"
        name = row["generator"]
        role = row.get("role", "").casefold() or (
            name.casefold() if name.casefold() in ("control", "human") else "system"
        )
        if not name or role not in tuple(Role):
            raise InputError(
                f"{where}: {'the generator is empty' if not name else f'{role!r} is not a role'}"
            )
        if not (row["not_identified"].isdecimal() and row["n"].isdecimal()):
            raise InputError(f"{where}: not_identified and n must be whole numbers from 0")
        if max(map(len, (row["not_identified"], row["n"]))) > LONGEST:
            raise InputError(f"{where}: nobody has shown so many passages")
        x, n = int(row["not_identified"]), int(row["n"])
        if not 0 <= x <= n or n == 0:
            raise InputError(f"{where}: {x} of {n} is not a share")
        found.append(CountLine(name, Role(role), x, n))
    return CountFile(found, table.notes)
