"""All that is known about a study when its paper is written: its file, its answers' analysis, its plan, what it paid."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import pandas as pd
from sqlalchemy import Engine

from humaneval.analysis import Analysis
from humaneval.analysis.estimating import estimated
from humaneval.planning.outlook import Outlook, Plan, outlook
from humaneval.prospects import plan_of, stories_of
from humaneval.report.data import ReportData
from humaneval.report.study import study_report
from humaneval.statistics.columns import NotEstimable
from humaneval.statistics.pay import Pay, hourly_pay
from humaneval.study_file import StudyFile
from humaneval.study_scores import collected


@dataclass(frozen=True, slots=True)
class Dossier:
    """A study as datasheets and archives tell it."""

    name: str
    settings: StudyFile
    analysis: Analysis
    data: ReportData
    plan: Plan
    outlook: Outlook
    pay: Pay | NotEstimable


def dossier(engine: Engine, name: str, *, tests: bool = False) -> Dossier:
    """What the store knows of study `name`. Raises InputError where there are no responses, and as `score` does."""
    found = collected(engine, name, tests=tests)
    plan = plan_of(found.settings, stories=stories_of(engine, name))
    analysis = found.analysis()
    return Dossier(
        name, found.settings, analysis, study_report(engine, name, analysis.table), plan, outlook(plan),
        pay_of(found.frame, found.settings.hit.reward),
    )  # fmt: skip


def pay_of(frame: pd.DataFrame, reward: Decimal) -> Pay | NotEstimable:
    """Hourly pay from a response table: every form that was handed in, at `reward` each, however it was scored.

    Forms count from being opened, for only the platform knows when they were accepted.
    """
    forms = frame.drop_duplicates("assignment")
    seconds = frame.groupby("assignment")["seconds"].sum(min_count=1).reindex(forms["assignment"])
    opened, submitted = (
        pd.to_datetime(forms[name], utc=True, format="ISO8601") for name in ("shown_at", "submitted_at")
    )
    return estimated(
        lambda: hourly_pay(
            forms["worker"].to_numpy(), [float(reward)] * len(forms), opened, submitted,
            in_page_seconds=seconds.to_numpy(dtype="float64", na_value=float("nan")),
        )
    )  # fmt: skip
