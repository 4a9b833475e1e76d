"""What is known about a study when its paper is written: its file, the analysis of its answers, its plan, its
payments."""

from __future__ import annotations

from dataclasses import dataclass

from humaneval.planning.forecast import Outlook, outlook
from humaneval.planning.plan import Plan
from humaneval.report.contents import ReportData
from humaneval.report.from_study import study_report
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.pay import Pay
from humaneval.study.file import StudyFile
from humaneval.study.scores import collected, own_rules
from humaneval.study.stored import Study


@dataclass(frozen=True, slots=True)
class Dossier:
    """What datasheets and archives need of a study."""

    name: str
    settings: StudyFile
    analysis: Analysis
    data: ReportData
    plan: Plan
    outlook: Outlook
    pay: Pay | NotEstimable


def dossier(study: Study, *, tests: bool = False, analysis: Analysis | None = None) -> Dossier:
    """What the store knows of `study`. `analysis` is that of its responses, if it is known already.

    Raises InputError if there are no responses, and the errors of `score`.
    """
    with own_rules(study.name):
        analysis = analysis or collected(study, tests=tests).judged().analysis()
    data = study_report(study, analysis.table, analysis=analysis)
    assert data.plan is not None
    assert data.hourly is not None
    return Dossier(study.name, study.settings, analysis, data, data.plan, outlook(data.plan), data.hourly)
