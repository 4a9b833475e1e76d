"""Why infills cannot be shown in a study: errors with a count for each generator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from humaneval.design.partial_rows import refuse_few
from humaneval.errors import DesignError
from humaneval.store.tables import InfillRow, StoryRow
from humaneval.study.file import StudyFile
from humaneval.text import command


def unfit_infills(
    session: Session,
    generators: Mapping[str, int],
    infills: Sequence[ColumnElement[bool]],
    usable: Collection[str],
    only: Mapping[str, Collection[int]] | None,
) -> dict[str, dict[str, int]]:
    """For each generator that has some, how many infills of which status cannot be shown."""
    names = {number: name for name, number in generators.items()}
    lines = session.execute(
        select(InfillRow.generator_id, InfillRow.status, StoryRow.key, InfillRow.position)
        .join(StoryRow, StoryRow.id == InfillRow.story_id)
        .where(*infills, InfillRow.status.not_in(usable)),
        execution_options={"yield_per": 10_000},
    )
    unfit: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for generator, status, story, position in lines:
        if only is None or position in only.get(story, ()):
            unfit[names[generator]][status] += 1
    return unfit


def refuse_unfit(
    study: StudyFile, unfit: Mapping[str, Mapping[str, int]], allowed: NDArray[np.int64]
) -> NoReturn:
    """Raise DesignError: some infills may not be shown. `allowed` are the blanks if all were."""
    for position in study.design.positions:
        refuse_few(position, int((allowed & (1 << position) != 0).sum()), study.row_size)
    listed = "; ".join(
        f"{name}: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
        for name, counts in sorted(unfit.items())
    )
    statuses = sorted({status for counts in unfit.values() for status in counts})
    raise DesignError(
        f"some infills cannot be shown ({listed})",
        "Correct the generator, or accept these infills with "
        + " ".join(f"--allow '{status}'" for status in statuses)
        + f"; the study records it. It then has {int((allowed != 0).sum()):,} of {allowed.size:,} stories:"
        " blanks without any text are left out.",
    )


def refuse_nothing(
    session: Session, generators: Mapping[str, int], infills: Sequence[ColumnElement[bool]], texts: int
) -> NoReturn:
    """Raise DesignError: no story has infills by every generator."""
    counts = dict(
        session.execute(
            select(InfillRow.generator_id, func.count(InfillRow.story_id.distinct()))
            .where(*infills, InfillRow.text != "")
            .group_by(InfillRow.generator_id)
        ).all()
    )
    told = ", ".join(f"{name} {counts.get(number, 0):,}" for name, number in generators.items())
    raise DesignError(
        f"none of the {texts:,} stories has infills by every generator",
        f"Stories with infills: {told}."
        f" `{command('generate', '--generator', 'KIND', '--as', 'NAME')}` fills the others.",
    )
