"""Which generators the answers of a comparison by pairs connect, and which of them have a finite strength."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csgraph

from humaneval.errors import InputError
from humaneval.statistics.arrays import Codes, Flags, Floats


@dataclass(frozen=True, slots=True)
class Bouts:
    """Comparisons: codes of the first and of the second generator, and 1, −1 or 0 for a tie."""

    names: tuple[Any, ...]
    first: Codes
    second: Codes
    outcome: Floats

    def only(self, kept: Flags) -> Bouts:
        """Some of them, with the same names."""
        return Bouts(self.names, self.first[kept], self.second[kept], self.outcome[kept])

    def preferred(self) -> Floats:
        """Generators × generators: how often one is preferred to the other; a tie counts half to each."""
        size = len(self.names)
        wins = np.zeros((size, size))
        np.add.at(wins, (self.first, self.second), (self.outcome + 1.0) / 2.0)
        np.add.at(wins, (self.second, self.first), (1.0 - self.outcome) / 2.0)
        return wins


class Apart(NamedTuple):
    """A generator without a strength: on which side of the others it is, if on one, and why."""

    name: Any
    side: Literal["above", "below", "beside"]
    because: str


def largest_group(bouts: Bouts) -> Codes:
    """The largest set of generators of which any part is preferred to the rest at least once, or tied.

    Raises InputError if the comparisons fall into parts without a comparison between them, or if such a set
    has a single member.
    """
    wins = bouts.preferred()
    parts, part_of = csgraph.connected_components(wins, directed=False)
    if parts > 1:
        groups = [", ".join(_named(bouts, np.flatnonzero(part_of == part))) for part in range(parts)]
        raise InputError(
            f"the comparisons do not connect all generators: {' | '.join(groups)}",
            "Rank each part on its own, or have generators of different parts compared.",
        )
    _, group_of = csgraph.connected_components(wins, connection="strong")
    members = np.flatnonzero(group_of == int(np.argmax(np.bincount(group_of))))
    if members.size == 1:
        order = " > ".join(_named(bouts, np.argsort(-(wins.sum(axis=1) - wins.sum(axis=0)), kind="stable")))
        raise InputError(
            f"the strengths are not estimable, because no answer contradicts one order: {order}",
            "Show the shares preferred, pair by pair: they have intervals.",
        )
    return members


def apart_from(bouts: Bouts, members: Codes) -> tuple[Apart, ...]:
    """The generators that are not `members`, each with a sentence why it has no strength."""
    wins = bouts.preferred()
    reach = np.isfinite(csgraph.shortest_path(wins, unweighted=True))
    found = []
    for one in np.setdiff1d(np.arange(len(bouts.names)), members):
        name = bouts.names[one]
        won, lost = wins[one].sum(), wins[:, one].sum()
        if reach[members[0], one]:
            end = "never wins" if not won else "never wins against those with a strength"
            found.append(Apart(name, "below", f"{name} {end}, so that its strength has no lower end."))
        elif reach[one, members[0]]:
            end = "always wins" if not lost else "always wins against those with a strength"
            found.append(Apart(name, "above", f"{name} {end}, so that its strength has no upper end."))
        else:
            found.append(
                Apart(
                    name,
                    "beside",
                    f"{name} is compared with those with a strength through generators that never win, or"
                    " always, so that it has none.",
                )
            )
    return tuple(found)


def refuse_unbounded(bouts: Bouts) -> None:
    """Raise InputError if Davidson's model has no finite fit, though ties connect all generators.

    It has none if some strengths make each preferred generator at least 2 stronger, and those of a tie at
    most 2 apart: multiplied, they only make the answers more likely. To find out, draw an edge of length 2
    from each preferred generator, and edges of −2 both ways for a tie. Such strengths exist if no circle has
    a length over 0.
    """
    size, tied = len(bouts.names), bouts.outcome == 0.0
    if tied.all():
        raise InputError("the strengths are not estimable, because all answers are ties")
    steps = np.full((size, size), -np.inf)
    steps[bouts.first[tied], bouts.second[tied]] = steps[bouts.second[tied], bouts.first[tied]] = -2.0
    for sign, one, other in ((1.0, bouts.first, bouts.second), (-1.0, bouts.second, bouts.first)):
        won = bouts.outcome == sign
        steps[one[won], other[won]] = 2.0
    height = np.zeros(size)
    for _ in range(size + 1):
        raised = np.maximum(height, (height[None, :] + steps).max(axis=1))
        if np.array_equal(raised, height):
            order = " > ".join(_named(bouts, np.argsort(-height, kind="stable")))
            raise InputError(
                "the strengths are not estimable with ties, because no answer contradicts one order:"
                f" {order}",
                "Let ties count half, or leave them out.",
            )
        height = raised


def _named(bouts: Bouts, codes: Codes) -> list[str]:
    return [str(bouts.names[one]) for one in codes]
