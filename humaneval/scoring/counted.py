"""The responses that count under a rule, added up once for all that is computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from humaneval.scoring.judgments import Entries, Judgments
from humaneval.statistics.arrays import Flags
from humaneval.statistics.cells import Cells, cells


@dataclass(frozen=True)
class Counted:
    """Answers on one scale, and which of them count."""

    answers: Judgments
    kept: Flags

    @cached_property
    def entries(self) -> Entries:
        """Their outcomes."""
        return self.answers.entries(self.kept)

    @cached_property
    def sums(self) -> Cells:
        """Outcomes of 0 or 1 added up; the names are the codes of the generators."""
        of = self.entries
        return cells(of.outcomes, of.worker, of.story, of.generator)

    def met(self) -> frozenset[tuple[int, int]]:
        """The pairs of generators that stood in one passage, in both orders."""
        answers = self.answers
        if answers.other is None:
            return frozenset()
        size = len(answers.names)
        found = np.unique(answers.generator[self.kept] * size + answers.other[self.kept]).tolist()
        pairs = {(code // size, code % size) for code in found}
        return frozenset(pairs | {(b, a) for a, b in pairs})
