"""A study's design laid out: its rows, and the passages that they show, before the database is held."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from humaneval.design.rows import Cell, Design, make_design
from humaneval.domain import Role
from humaneval.errors import DesignError
from humaneval.scoring.questions.question import Condition
from humaneval.study.file import StudyFile
from humaneval.study.usable_infills import CommonBlanks, Shown, infills_of
from humaneval.text import shown_hash


def of_length(study: StudyFile, sentences: int) -> StudyFile:
    """The settings for stories of so many sentences. Raises DesignError for positions that they lack."""
    study = study.with_sentences(sentences)
    allowed = study.asked.positions(sentences)
    if lacking := [at for at in study.design.positions if at not in allowed]:
        raise DesignError(
            f"design.positions names sentence {lacking[0]}, and the stories have {sentences} sentences",
            f"Positions here: {', '.join(map(str, allowed))}; [] means all of them.",
        )
    return study


def design_of(study: StudyFile, common: CommonBlanks, rows: int) -> Design:
    """The study's design with `rows` rows.

    If rows show some of the passages only, the control is in every row. Where several show the control, rows
    take turns.
    """
    conditions = study.conditions
    controls = [one.name for one in conditions if one.role is Role.CONTROL]
    in_turn = controls if study.row_size < len(conditions) else controls[:1]
    design = make_design(
        generators=[one.name for one in conditions if one.name not in in_turn[1:]],
        blanks=common.blanks,
        annotators=rows,
        seed=study.design.seed,
        positions=study.design.positions,
        passages_per_row=study.design.passages_per_row,
        responses_per_passage=study.design.responses_per_passage,
        control=next(iter(controls), ""),
    )
    several = study.design.responses_per_passage
    return _controls_in_turn(design, in_turn, several) if len(in_turn) > 1 else design


def _controls_in_turn(design: Design, controls: Sequence[str], several: int) -> Design:
    """The design with one of `controls` after another in place of the first. All positions come before the
    next, so that position and order stay apart; `several` rows that show the same passages stay together."""
    rows = []
    for number, cells in enumerate(design.rows):
        name = controls[number // several // len(design.positions) % len(controls)]
        rows.append(
            tuple(cell._replace(generator=name) if cell.generator == controls[0] else cell for cell in cells)
        )
    return Design(tuple(rows), design.positions)


def by_name(study: StudyFile) -> dict[str, Condition]:
    """The study's conditions by name."""
    return {one.name: one for one in study.conditions}


class PlannedPassage(NamedTuple):
    """A passage to store, without what only the database has: there may be hundreds of thousands."""

    generators: tuple[str, ...]
    story_id: int
    infill_id: int
    other_infill_id: int | None
    position: int
    role: str
    sentences: tuple[str, ...]
    alternative: str | None
    shown_hash: str

    @property
    def texts(self) -> tuple[str, ...]:
        """All that a reader sees of it."""
        return self.sentences if self.alternative is None else (*self.sentences, self.alternative)

    @property
    def columns(self) -> dict[str, Any]:
        """Its columns as they are stored."""
        columns = {**self._asdict(), "sentences": list(self.sentences)}
        del columns["generators"]
        return columns


@dataclass(frozen=True, slots=True)
class Planned:
    """Rows to store, and the passages that they show, worked out before the database is held."""

    first: int
    """The number of rows before these."""
    rows: Sequence[tuple[Cell, ...]]
    shown_hashes: Sequence[str]
    """What each of `rows` shows."""
    passages: Mapping[Cell, PlannedPassage]


def lay_out(study: StudyFile, design: Design, shown: Shown, first: int = 0) -> Planned:
    """The design's rows from index `first` on, and their passages."""
    rows, conditions, asked = design.rows[first:], by_name(study), study.asked
    passages: dict[Cell, PlannedPassage] = {}
    for cell in dict.fromkeys(cell for cells in rows for cell in cells):
        condition, story = conditions[cell.generator], shown.stories[cell.story]
        infills = [shown.filled[one] for one in infills_of(cell, conditions)]
        texts = tuple(one.text for one in infills)
        seen = asked.show(story.sentences, cell.position, texts, condition.role)
        passages[cell] = PlannedPassage(
            condition.generators,
            story.id,
            infills[0].infill_id,
            infills[1].infill_id if infills[1:] else None,
            seen.position,
            str(condition.role),
            tuple(seen.sentences),
            seen.alternative or None,
            shown_hash([seen.texts]),
        )
    hashes = [shown_hash([passages[cell].texts for cell in cells]) for cells in rows]
    return Planned(first, rows, hashes, passages)


def design_hash(study: StudyFile, rows: Sequence[Sequence[Cell]], shown: Shown) -> str:
    """SHA-256 over the rows and every text they show, as one JSON document, in hex."""
    whole, conditions = hashlib.sha256(b"["), by_name(study)
    for number, cells in enumerate(rows):
        told = [[*cell, *(shown.filled[one].text for one in infills_of(cell, conditions))] for cell in cells]
        whole.update((", " * (number > 0) + json.dumps(told, ensure_ascii=False)).encode())
    whole.update(b"]")
    return whole.hexdigest()
