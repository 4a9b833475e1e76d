"""A program that never compares what a platform shows with what was planned."""

from collections.abc import Mapping
from datetime import datetime

from humaneval.crowd import adopt, hit_terms, plan_differences
from humaneval.crowd.platform import Terms


def nothing(
    planned: Mapping[str, str], until: datetime | None, there: Terms, moment: datetime
) -> dict[str, hit_terms.Differs]:
    return {}


plan_differences.compare = nothing  # type: ignore[attr-defined]  # the name that it imported
adopt.compare = nothing  # type: ignore[attr-defined]  # it is there by its import
