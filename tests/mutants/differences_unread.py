"""A program that never compares what a platform shows with what was planned."""

from collections.abc import Mapping
from datetime import datetime

from humaneval.crowd import adopt, as_planned, figures
from humaneval.crowd.platform import Terms


def nothing(
    planned: Mapping[str, str], until: datetime | None, there: Terms, moment: datetime
) -> dict[str, figures.Differs]:
    return {}


as_planned.compare = nothing  # type: ignore[attr-defined]  # the name that it imported
adopt.compare = nothing  # type: ignore[attr-defined]  # it is there by its import
