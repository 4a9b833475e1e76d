"""What a report says, as plain values. Fill in what is known; the page leaves out a section without
values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from humaneval.fees import sign_of
from humaneval.planning.cues import CueScore
from humaneval.planning.plan import Plan
from humaneval.report.phrases import mark, warned
from humaneval.report.places import PLATFORMS
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.scoring.scores import ScoreTable
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.pay import Pay
from humaneval.store.responses import NOTHING_DELETED, Deleted
from humaneval.text import Answerers


@dataclass(frozen=True, slots=True)
class GeneratorFacts:
    """A generator of the study and where its infills come from (see `humaneval.domain.Provenance`)."""

    name: str
    role: str
    kind: str = ""
    checkpoint: str = ""
    seed: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    batch: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    infills: Mapping[str, int] = field(default_factory=dict)
    """How many infills of each status there are, for example {"ok": 498, "empty": 2}."""
    hash: str = ""
    """Hash of the provenance."""


@dataclass(frozen=True, slots=True)
class DesignFacts:
    """The design of the study before anybody answered."""

    question: str = ""
    """The question as the annotators read it."""
    stories: int | None = None
    positions: tuple[int, ...] = ()
    rows: int | None = None
    """Forms planned."""
    passages_per_row: int | None = None
    annotators: int | None = None
    """Annotators planned."""
    rows_per_annotator: int | None = None
    order: str = ""
    """The order of passages within rows, for example "Williams square"."""
    top_up: str = ""
    preset: str = ""
    seed: int | None = None
    hash: str = ""
    additions: tuple[str, ...] = ()
    """When rows were added after the study was created: one sentence each."""


@dataclass(frozen=True, slots=True)
class MoneyFacts:
    """What was paid and what it cost: amounts in `currency`, None if unknown."""

    currency: str = "USD"
    reward: Decimal | None = None
    """For one row, as planned."""
    rewards: Decimal | None = None
    bonuses: Decimal | None = None
    fees: Decimal | None = None
    planned: Decimal | None = None
    """Rewards and fees as planned, by the platforms' own rates."""
    spent: Decimal | None = None
    """All of it and fees, as confirmed by the platform."""
    median_seconds: float | None = None
    """Median of the time for one form, from opening it to sending it."""
    median_hourly: Decimal | None = None
    """What an hour pays at the median time."""
    hourly_target: Decimal | None = None
    time_source: str = ""
    """The source of the times, for example "in-page timers"."""
    rewards_paid: tuple[Decimal, ...] = ()
    """The rewards for one row that were paid, each once: a platform may pay otherwise than planned."""
    compensations: Decimal | None = None
    """For lost work; None if there are none."""
    pretended: Decimal | None = None
    """Play money of the sandbox or at a stand-in, in no other sum here; None if there is none."""

    @property
    def otherwise(self) -> str:
        """The rewards that were paid and are not the planned one, in words; empty if there are none."""
        return " and ".join(
            f"{sign_of(self.currency)}{paid}" for paid in self.rewards_paid if paid != self.reward
        )


@dataclass(frozen=True, slots=True)
class RepeatFacts:
    """Everything that somebody needs to repeat the study and get the same."""

    study_file: str = ""
    """The full text of the study file."""
    study_hash: str = ""
    stories_hash: str = ""
    passages_hash: str = ""
    responses_hash: str = ""
    endpoint: str = ""
    """Those with answers, with commas between them."""
    software: Mapping[str, str] = field(default_factory=dict)
    """Package: version."""
    published_at: datetime | None = None
    first_response_at: datetime | None = None
    last_response_at: datetime | None = None
    scored_at: datetime | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    """Endpoint → the place in words; see `places_of`."""

    @property
    def through(self) -> list[str]:
        """The places where the answers come from, in words."""
        named = {**PLATFORMS, **self.places}
        return [named.get(name, name) for name in self.endpoint.split(", ") if name]


@dataclass(frozen=True, slots=True)
class ExampleFacts:
    """A blank as annotators met it: a story with one sentence removed, and the sentence of each generator."""

    title: str
    sentences: tuple[str, ...]
    """The story's five sentences as people wrote them."""
    position: int
    """Which of them was removed, 1–5."""
    infills: Mapping[str, str]
    """Generator: its sentence, in the study's order."""


@dataclass(frozen=True, slots=True)
class ReportData:
    """A whole report. `score --responses` has only `table`; the rest comes from the store."""

    title: str
    table: ScoreTable
    analysis: Analysis | None = None
    """The analysis that `table` belongs to. Without it, the report has only scores."""
    plan: Plan | None = None
    """What the study was planned to find out."""
    cues: tuple[CueScore, ...] = ()
    """The scores on its passages if annotators went by one cue alone."""
    hourly: Pay | NotEstimable | None = None
    """Hourly pay of annotators, by three ways of counting time."""
    summary: str = ""
    """A paragraph by the researcher, plain text."""
    simulated: int = 0
    """How many of the annotators are programs."""
    platform_lost: int = 0
    """How many forms a person accepted although the platform no longer has them."""
    deleted: Deleted = NOTHING_DELETED
    """What was deleted because its annotators were forgotten."""
    early: str = ""
    """That not all forms of the design are in; empty if they are."""
    test: bool = False
    """The study is a test or pilot."""
    generators: tuple[GeneratorFacts, ...] = ()
    design: DesignFacts | None = None
    examples: tuple[ExampleFacts, ...] = ()
    money: MoneyFacts | None = None
    story_titles: Mapping[str, str] = field(default_factory=dict)
    """The name of a story by its key: its title, or its first words if it has none."""
    repeat: RepeatFacts = field(default_factory=RepeatFacts)

    @property
    def answerers(self) -> Answerers:
        """How many annotators are programs, and how many are people."""
        return Answerers(self.simulated, max(0, self.table.annotators.collected - self.simulated))

    @property
    def warning(self) -> str:
        """What stands at every table: that programs answered, or that it was a pilot; empty if neither."""
        return warned(self.answerers, tests=self._is_test)

    @property
    def mark(self) -> str:
        """The same in one line, for plots."""
        return mark(self.answerers, tests=self._is_test)

    @property
    def _is_test(self) -> bool:
        return self.test or self.table.rule.tests == "only"
