"""The study file: every setting of a study, checked, with a hash that freezes it."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from humaneval.domain import LEVELS, MOST_SENTENCES, POSITIONS, InfillStatus, Role, rounded_up
from humaneval.encodings import read_toml
from humaneval.errors import HumanEvalError, SettingsError
from humaneval.limits import SYSTEMS, read_whole
from humaneval.resources import bundled
from humaneval.scoring.questions.question import (
    DETECT,
    Condition,
    Question,
    Settings,
    load_question,
    question_names,
)
from humaneval.store.stories import AUTO
from humaneval.study.contradictions import refuse_contradictions
from humaneval.study.file_errors import TogetherError, fault, together, unreadable
from humaneval.study.hit_section import HitSection
from humaneval.study.panels import LinkSection, PanelSection, as_before, with_panel
from humaneval.study.participants_section import ParticipantsSection
from humaneval.study.presets import laid_by, lay_over, noted
from humaneval.study.prolific_section import ProlificSection
from humaneval.study.section import NEW, Printable, PrintableWithin, Required, Whole, printable, something
from humaneval.study.section import Section as _Section
from humaneval.study.words import refuse_words, with_texts, worded_for
from humaneval.text import repeated


def _word(text: str, info: ValidationInfo) -> str:
    """Unlike other texts, with the white space around it: some words stand between others."""
    something(printable(text, info))
    return text


Word = Annotated[str, AfterValidator(_word)]
LANGUAGE = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]+)*$"
SEEDS = 2**31
"""Seeds run from −SEEDS to SEEDS − 1, which every database can store."""
MOST_ROWS = 100_000
"""The most rows of a study, including added ones."""


class DesignSection(_Section):
    """Which passages annotators see, and in which order."""

    generators: tuple[Required, ...] = Field(min_length=2)
    control: Required = "control"
    human: Required = "human"
    annotators: Whole = Field(40, ge=1, le=MOST_ROWS)
    rows_per_annotator: Whole = Field(1, ge=1)
    passages_per_row: Whole = Field(0, ge=0)
    responses_per_passage: Whole = Field(1, ge=1)
    split: Printable = AUTO
    stories: Whole = Field(0, ge=0)
    positions: tuple[Whole, ...] = POSITIONS
    seed: Whole = Field(0, ge=-SEEDS, lt=SEEDS)
    top_up: Literal["never", "ask", "auto"] = "never"
    pilot: bool = False
    allow: tuple[InfillStatus, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _no_positions(cls, values: Any) -> Any:
        """No positions are as if nothing were said: `StudyFile.with_sentences` fills them in."""
        if isinstance(values, dict) and values.get("positions") == []:
            return {name: value for name, value in values.items() if name != "positions"}
        return values

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> DesignSection:
        if info.context == NEW and len(self.generators) > SYSTEMS:
            said = f"generators lists {len(self.generators):,} names; at most {SYSTEMS} are compared"
            raise TogetherError(said, "design.generators")
        if twice := repeated(self.generators):
            raise TogetherError(f"generators lists {', '.join(twice)} twice", "design.generators")
        if not all(1 <= position <= MOST_SENTENCES for position in self.positions) or len(
            set(self.positions)
        ) != len(self.positions):
            raise TogetherError(
                f"positions must be different numbers from 1 to {MOST_SENTENCES}", "design.positions"
            )
        if self.annotators % self.responses_per_passage:
            raise TogetherError(
                "annotators must be a multiple of responses_per_passage, for example "
                f"{rounded_up(self.annotators, self.responses_per_passage)}",
                "design.annotators",
                "design.responses_per_passage",
            )
        if self.control == self.human:
            raise TogetherError("control and human are the same generator", "design.control", "design.human")
        for setting, name in (("control", self.control), ("human", self.human)):
            # A study without a control or human may keep the default name. Any other missing name is a typing
            # error.
            if name not in self.generators and name != setting:
                raise TogetherError(
                    f"{setting} names {name!r}, which is not among the generators",
                    f"design.{setting}",
                    "design.generators",
                )
        return self

    def role(self, generator: str) -> Role:
        """What `generator` is in this study."""
        if generator == self.control:
            return Role.CONTROL
        return Role.HUMAN if generator == self.human else Role.SYSTEM


class PageSection(_Section):
    """The text that annotators read above the stories."""

    question: Required = "Which sentence of this story was written by a machine?"
    instructions: Printable = ""
    show_titles: bool = False
    practice: bool = False
    language: str = Field("en", pattern=LANGUAGE)
    story_language: str = Field("", pattern=f"^$|{LANGUAGE}")

    @property
    def language_of_stories(self) -> str:
        """The language of the stories: the page's unless the file names another."""
        return self.story_language or self.language


class ConsentSection(_Section):
    """The text that annotators agree to."""

    version: Required = "1"
    text: Printable = ""
    contact: Printable = ""
    retention_days: Whole = Field(0, ge=0, le=36_500)


class ExclusionRule(_Section):
    """Which responses do not count; 0 turns a check off."""

    missed_control: Literal["annotator", "row", "none"] = "annotator"
    incomplete: bool = True
    words_per_second: float = Field(0, ge=0)
    straight_lining: float = Field(0, ge=0, lt=1)
    spam: float = Field(0, ge=0, lt=1)


class OtherRule(ExclusionRule):
    """A rule whose scores are shown beside the study's own."""

    name: Required


class ExclusionsSection(ExclusionRule):
    """The study's rule, fixed before the first response arrives, and the rules shown beside it."""

    also: tuple[OtherRule, ...] = ()

    @model_validator(mode="after")
    def _different_names(self) -> ExclusionsSection:
        if len({rule.name for rule in self.also}) != len(self.also):
            raise ValueError("also has two rules with the same name")
        return self


Share = Annotated[float, Field(gt=0, lt=1)]


def _level(level: float, info: ValidationInfo) -> float:
    least, most = LEVELS
    if info.context == NEW and not least <= level <= most:
        raise ValueError(f"must be from {least} to {most}")
    return level


Level = Annotated[Share, AfterValidator(_level)]


class AnalysisSection(_Section):
    """What is compared and how. Like the exclusions, it is fixed before the first response arrives."""

    level: Level = 0.95
    adjust: Literal["holm", "benjamini-hochberg", "none"] = "holm"
    comparisons: tuple[tuple[Required, Required], ...] = ()
    below_human: bool = True
    equivalence_margin: float = Field(0, ge=0, lt=1)
    smallest_effect: Share = 0.10
    expected_score: Share = 0.40
    power: Share = 0.80
    worker_sd: float = Field(0.5, ge=0, le=10)
    story_sd: float = Field(0.7, ge=0, le=10)
    spammers: float = Field(0.05, ge=0, lt=1)

    @property
    def alpha(self) -> float:
        """The allowed error, 1 − level."""
        return 1 - self.level

    @model_validator(mode="after")
    def _sensible(self) -> AnalysisSection:
        if any(a == b for a, b in self.comparisons):
            raise ValueError("comparisons compares a generator with itself")
        if len({frozenset(pair) for pair in self.comparisons}) != len(self.comparisons):
            raise ValueError("comparisons lists a pair twice")
        if self.expected_score + self.smallest_effect >= 1:
            raise ValueError("expected_score + smallest_effect must stay below 1")
        return self


class StudyFile(_Section):
    """A study file as a whole."""

    question: str = DETECT
    """The name of the question that annotators are asked."""
    answers: PrintableWithin = Field(default_factory=dict)
    """The question's own settings, as written."""
    design: DesignSection
    page: PageSection = PageSection()
    consent: ConsentSection = ConsentSection()
    hit: HitSection = HitSection()
    link: LinkSection = LinkSection()
    panel: PanelSection = PanelSection()
    prolific: ProlificSection = ProlificSection()
    words: dict[str, Word] = Field(default_factory=dict)
    participants: ParticipantsSection = ParticipantsSection()
    exclusions: ExclusionsSection = ExclusionsSection()
    analysis: AnalysisSection = AnalysisSection()

    @model_validator(mode="after")
    def _known_question(self, info: ValidationInfo) -> StudyFile:
        if info.context != NEW:  # a stored study stays readable without its question
            return self
        if "question" in self.answers:
            raise TogetherError("question is in [answers]; put it above all sections", "answers.question")
        if " " not in self.page.question.strip() and self.page.question in question_names():
            raise TogetherError(
                f"page.question is the text that people read; to ask {self.page.question!r}, put question ="
                f' "{self.page.question}" above all sections',
                "page.question",
            )
        try:
            rows, settings = len(self.conditions), self.answer_settings
        except HumanEvalError as error:
            raise TogetherError(f"{error.message}. {error.hint}", "question", "answers") from None
        design = self.design
        if design.passages_per_row and not 2 <= design.passages_per_row <= rows:
            several = "" if rows == len(design.generators) else f" that question = {self.question!r} makes of"
            raise TogetherError(
                f"design: passages_per_row must be 0 (every generator) or from 2 to the {rows}"
                + (f" passages{several} the generators" if several else " generators"),
                "design.passages_per_row",
                "design.generators",
            )
        fault = self.asked.refuses(design.positions, settings)
        if fault and "positions" in design.model_fields_set:
            raise TogetherError(f"design: positions: {fault}", "design.positions", "question")
        return self

    @model_validator(mode="after")
    def _known_pairs(self) -> StudyFile:
        for name in dict.fromkeys(name for pair in self.analysis.comparisons for name in pair):
            if name not in self.design.generators:
                raise TogetherError(
                    f"analysis.comparisons names {name!r}, which is not among the generators",
                    "analysis.comparisons",
                    "design.generators",
                )
            if self.design.role(name) is Role.CONTROL:
                raise ValueError("analysis.comparisons names the control, which is not compared with systems")
        return self

    @property
    def asked(self) -> Question:
        """The question that annotators are asked. Raises UsageError if it is not installed."""
        return load_question(self.question)

    @property
    def answer_settings(self) -> Settings:
        """The question's own settings, with defaults filled in."""
        return self.asked.settings(self.answers)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What each row shows once, if rows show everything."""
        design = self.design
        return self.asked.conditions(design.generators, design.control, design.human, self.answer_settings)

    @property
    def row_size(self) -> int:
        """The number of passages in a row."""
        return self.design.passages_per_row or len(self.conditions)

    def with_sentences(self, sentences: int) -> StudyFile:
        """The settings for stories of so many sentences. Our own texts say how many. If the file names no
        positions, they are all that the question allows."""
        study = worded_for(self, sentences)
        positions = self.asked.positions(sentences)
        if "positions" in self.design.model_fields_set or positions == self.design.positions:
            return study
        return study.model_copy(update={"design": self.design.model_copy(update={"positions": positions})})

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of systems to compare: as declared, or every pair in the order of the generators."""
        if self.analysis.comparisons:
            return self.analysis.comparisons
        systems = [name for name in self.design.generators if self.design.role(name) is Role.SYSTEM]
        return tuple(combinations(systems, 2))

    @property
    def hash(self) -> str:
        """SHA-256 over every setting, whatever their order in the file."""
        values = self.model_dump(mode="json")
        page = values["page"]
        for section, name in (
            (values, "words"),
            (values, "answers"),
            (page, "story_language"),
            (page, "practice"),
            (values["consent"], "retention_days"),
        ):
            if not section[name]:  # studies made before there was such a setting keep their hash
                del section[name]
        if self.question == DETECT:
            del values["question"]
        if self.hit.currency == "USD":
            del values["hit"]["currency"]
        as_before(values)
        if self.prolific == ProlificSection():
            del values["prolific"]
        canonical = json.dumps(values, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    @property
    def by_link(self) -> StudyFile:
        """The settings for people who come by link: without a reward if nothing is paid."""
        if self.link.pay == "elsewhere":
            return self
        return self.model_copy(update={"hit": self.hit.model_copy(update={"reward": Decimal("0.00")})})


class ReadStudyFile(NamedTuple):
    """A study file as read: its settings, and its text with the preset and the overrides noted."""

    settings: StudyFile
    text: str


def read_study_file(
    path: Path | None, *, preset: str | None = None, overrides: Mapping[str, Mapping[str, Any]] | None = None
) -> ReadStudyFile:
    """The study in `path` (None: the bundled one), with a preset and overrides applied.

    Raises SettingsError naming the setting that is wrong.
    """
    where = "the bundled study.toml" if path is None else str(path)
    try:
        text = read_whole(bundled("bundled") / "study.toml" if path is None else path, "utf-8-sig")
        values = read_toml(text)
    except OSError as error:
        raise unreadable(error, where) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{where} is not valid TOML: {error}") from None
    laid = laid_by(preset)
    lay_over(values, laid)
    lay_over(values, overrides or {})
    with_texts(values)
    with_panel(values)
    try:
        study = StudyFile.model_validate(values, context=NEW)
    except ValidationError as error:
        raise fault(error, where, preset, laid, overrides or {}) from None
    # Not rules of StudyFile, because stored studies must stay readable.
    refuse_words(study, where)
    try:
        refuse_contradictions(study)
    except TogetherError as error:
        raise together(error, where, preset, laid, overrides or {}) from None
    return ReadStudyFile(study, noted(text, preset, overrides or {}))
