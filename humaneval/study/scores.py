"""A stored study's scores and analysis, with the rule and the comparisons that its file fixed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from humaneval.domain import SENTENCES
from humaneval.errors import InputError
from humaneval.scoring.analysis.analyse import Analysis, analyse_judged
from humaneval.scoring.asked import TableQuestion
from humaneval.scoring.comparisons import Declared
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.judgments import Judgments, judgments
from humaneval.scoring.scores import ScoreTable, score
from humaneval.store.addresses import KEY as ADDRESSES
from humaneval.store.engine import reading
from humaneval.store.export_pseudonyms import published_columns
from humaneval.store.responses import TEST_ENDPOINTS, response_columns, rows_in
from humaneval.store.tables import COLLECTED, AssignmentRow, HitRow, MetaRow, StudyRow
from humaneval.store.types import now
from humaneval.study.file import ExclusionRule, StudyFile
from humaneval.study.stored import (
    Study,
    fetch_command,
    length_of_study,
    longer_command,
    put_up_command,
)
from humaneval.text import command


class Gates(NamedTuple):
    """Names of generators; None leaves it to the table."""

    control: str | None = None
    human: str | None = None


@dataclass(frozen=True, slots=True)
class Collected:
    """What a study is scored from: its responses, and the settings fixed before them."""

    frame: pd.DataFrame
    settings: StudyFile
    tests: bool = False
    sentences: int = SENTENCES
    """Of each passage."""

    @property
    def told(self) -> TableQuestion:
        """What was asked."""
        return TableQuestion(self.settings.asked, self.settings.answer_settings, self.sentences)

    @property
    def gates(self) -> Gates:
        """The names of the Control and of Human where passages have two generators: their roles are not those
        of one of them."""
        design = self.settings.design
        if "other" not in self.frame.columns:
            return Gates()
        there = set(self.frame["generator"]) | set(self.frame["other"].dropna())
        return Gates(*(name if name in there else None for name in (design.control, design.human)))

    @property
    def rule(self) -> Rule:
        """The study's own rule."""
        return rule_from(self.settings.exclusions, tests=self.tests)

    @property
    def also(self) -> dict[str, Rule]:
        """The other rules that the study declares."""
        return {one.name: rule_from(one, tests=self.tests) for one in self.settings.exclusions.also}

    @property
    def declared(self) -> Declared:
        """The comparisons that the study declares."""
        analysis = self.settings.analysis
        # While a study runs, some generators may not have been judged yet.
        judged = set(self.frame["generator"])
        if "other" in self.frame.columns:
            judged |= set(self.frame["other"].dropna())
        pairs = tuple(pair for pair in analysis.comparisons if judged.issuperset(pair))
        return Declared(
            pairs if analysis.comparisons else None,
            analysis.below_human,
            analysis.adjust,
            analysis.equivalence_margin,
        )

    def table(self, level: float | None = None) -> ScoreTable:
        """The scores; raises the errors of `humaneval.scoring.scores.score`."""
        return score(
            self.frame,
            self.rule,
            **self.gates._asdict(),
            level=level or self.settings.analysis.level,
            declared=self.declared,
            told=self.told,
        )

    def judged(self) -> Judged:
        """What the analysis needs of them; raises the errors of `humaneval.scoring.scores.score`."""
        answers = judgments(self.frame, **self.gates._asdict(), told=self.told)
        return Judged(answers, self.rule, self.also, self.declared, self.settings)


class Judged(NamedTuple):
    """Responses as checked columns of numbers, with the settings. Meanwhile their table can be let go."""

    answers: Judgments
    rule: Rule
    also: dict[str, Rule]
    declared: Declared
    settings: StudyFile

    def analysis(self) -> Analysis:
        """The scores with all details."""
        return analyse_judged(
            self.answers,
            self.rule,
            also=self.also,
            declared=self.declared,
            level=self.settings.analysis.level,
            seed=self.settings.design.seed,
        )


def collected(study: Study, *, tests: bool = False, everything: bool = False) -> Collected:
    """The responses to the study. Raises InputError if there are none."""
    with reading(study.engine) as session:
        row = session.get_one(StudyRow, study.id)
        columns = published_columns(session, row, everything=everything)
        if not columns["worker"]:
            raise no_responses(session, row)
        sentences = length_of_study(session, study.id)
    return Collected(pd.DataFrame(columns), study.settings, tests, sentences)


@contextmanager
def own_rules(study: str) -> Iterator[None]:
    """Errors of scoring advise what goes with a stored study, whose rules are fixed, and not options for a
    table."""
    try:
        yield
    except InputError as error:
        for option in ("--missed-control none", "--keep-incomplete"):
            if option in error.hint:
                file = "responses.csv"
                error.hint = (
                    f"`{command('review', study)}` says why each is left out. To score all answers:"
                    f" `{command('export', study, '--out', file)}`, then"
                    f" `{command('score', '--responses', file, *option.split())}`."
                )
        raise


class Ready(NamedTuple):
    """How many forms of the design are in."""

    forms: int
    planned: int
    closed: bool
    """Whether nobody can take part any more."""

    @property
    def complete(self) -> bool:
        return self.forms >= self.planned


def ready(study: Study) -> Ready:
    """How many forms of the design have an answer that is collected, and is not to be replaced."""
    found = select(func.count(AssignmentRow.row_id.distinct())).where(
        AssignmentRow.study_id == study.id,
        AssignmentRow.state.in_(COLLECTED),
        ~AssignmentRow.row_replaced,
    )
    there = select(HitRow.closed_at.is_not(None)).where(HitRow.external_id.is_not(None))
    if not study.settings.design.pilot:  # a rehearsal's answers are left out of the scores
        found = found.where(AssignmentRow.endpoint.not_in(TEST_ENDPOINTS))
        there = there.where(HitRow.endpoint.not_in(TEST_ENDPOINTS))
    with reading(study.engine) as session:
        closed = set(session.scalars(there.where(HitRow.study_id == study.id)))
        return Ready(session.scalar(found) or 0, rows_in(session, study.id), closed == {True})


def no_responses(session: Session, study: StudyRow) -> InputError:
    """The error for a study without responses: it says where the study is up, and how to fetch responses."""
    if response_columns(session, study, everything=True)["worker"]:
        return InputError(
            f"all forms of study {study.name!r} are left out: rejected, or by people who had taken part"
            " before",
            f"With --all they count: `{command('score', study.name, '--all')}`.",
        )
    there = select(HitRow.endpoint, HitRow.closed_at, HitRow.expires_at <= now())
    hits = session.execute(there.where(HitRow.study_id == study.id).order_by(HitRow.endpoint)).all()
    up = dict.fromkeys(endpoint for endpoint, closed, _ in hits if closed is None)
    fetch = " and ".join(f"`{fetch_command(study.name, endpoint)}`" for endpoint in up)
    hint = f"Next: `{put_up_command(session, study)}`."
    if hits and not up:
        another = command("study", "create", "NAME")
        hint = f"It is closed, and stays so. To ask people, make another: `{another}`."
    elif list(up) == ["local"] and session.get(MetaRow, ADDRESSES) is not None:
        hint = f"`{command('up', study.name)}` collects them while it runs, and those of all other studies."
    elif fetch:
        hint = f"{fetch} {'fetch' if len(up) > 1 else 'fetches'} submitted work."
    if up and all(over for _, closed, over in hits if closed is None):
        longer = " and ".join(f"`{longer_command(study.name, endpoint)}`" for endpoint in up)
        hint += f" Nobody finds the forms any more: {longer} lets people come again."
    return InputError(f"study {study.name!r} has no responses yet", hint)


def rule_from(settings: ExclusionRule, *, tests: bool = False) -> Rule:
    """The rule that a study file states; 0 in the file turns a check off."""
    return Rule(
        control=settings.missed_control,
        incomplete=settings.incomplete,
        tests="only" if tests else "leave out",
        speed=settings.words_per_second or None,
        straight_lining=settings.straight_lining or None,
        spam=settings.spam or None,
    )
