"""From a table of stories and systems' sentences to a stored study, in one step. This module is the door.

`from_table_file` reads the file, `from_table_columns` recognises its columns, `from_table_rows` makes stories
and infills of its rows, and `from_table_settings` the study's settings. None of them reads the database:
`from_table_stored` compares the table with it.

Whatever can be refused is refused before anything is stored. What is stored goes through the same doors as
imported stories and replayed infills, so that after a kill the same step continues.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine

from humaneval.domain import (
    FROM_TABLE,
    Blank,
    Generator,
    GeneratorRequest,
    Infill,
    Provenance,
    shown_statuses,
)
from humaneval.infills.generate import run
from humaneval.infills.processing import Form
from humaneval.infills.rest_of_story import REST, judge_rest
from humaneval.infills.statuses import judge
from humaneval.kinds import build
from humaneval.resources import words_in
from humaneval.store.stories import add_stories
from humaneval.stories import Problem
from humaneval.study.create import Created, create_study
from humaneval.study.file import StudyFile
from humaneval.study.from_table_rows import Contents, Entry
from humaneval.study.usable_infills import Only
from humaneval.text import ENGLISH


@dataclass(frozen=True, slots=True)
class TableSystem:
    """A system's sentences as a generator: it fills exactly the blanks for which the table has one."""

    name: str
    file: str
    entries: Mapping[Blank, Entry]
    rest: bool = False
    """Whether its texts are the rest of a story."""

    @property
    def provenance(self) -> Provenance:
        """The file, and the hash of this system's sentences with their stories: another system in the file,
        or other line ends, do not change it."""
        told = sorted(
            [*blank.story.sentences, blank.position, blank.sample, entry.text]
            for blank, entry in self.entries.items()
        )
        column = next(iter(self.entries.values())).column
        sha256 = hashlib.sha256(json.dumps(told).encode()).hexdigest()
        settings = {"sha256": sha256, "column": column, **({REST: True} if self.rest else {})}
        return Provenance(kind=FROM_TABLE, checkpoint=self.file, settings=settings)

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        for blank in blanks:
            entry = self.entries[blank]
            yield Infill(blank, entry.text, extra={"line": entry.line})


def systems_of(contents: Contents, file: Path, *, rest: bool = False) -> list[TableSystem]:
    """The systems of a table as generators."""
    return [
        TableSystem(name, file.name, {entry.blank: entry for entry in entries}, rest)
        for name, entries in contents.systems.items()
        if entries
    ]


def unfit(contents: Contents, file: Path, allow: Sequence[str], *, rest: bool = False) -> list[Problem]:
    """The sentences that a study cannot show, with their line and column: the rule of every infill."""
    shown = shown_statuses(allow)  # type: ignore[arg-type]  # statuses are their words
    found = []
    for entries in contents.systems.values():
        for entry in entries:
            judged = (judge_rest if rest else judge)(Infill(entry.blank, entry.text))
            if judged.status not in shown:
                detail = f" ({judged.detail})" if judged.detail else ""
                said = f"column {entry.column}: {judged.status}{detail}: {entry.text[:200]}"
                found.append(Problem(str(file), entry.line, said))
    return sorted(found, key=lambda problem: problem.line)


def single_sentences(contents: Contents) -> bool:
    """Whether no system wrote more than one sentence, although more of the stories follow."""
    rests = [
        judge_rest(Infill(entry.blank, entry.text)).text
        for entries in contents.systems.values()
        for entry in entries
        if entry.blank.position < len(entry.blank.story.sentences)
    ]
    return bool(rests) and not any("\n" in rest for rest in rests)


def own_generators(settings: StudyFile) -> list[Generator]:
    """The control and the human of a study, as far as it shows them."""
    design = settings.design
    language = settings.page.language_of_stories
    spoken = {"language": language} if "control" in words_in(language) and not _english(language) else {}
    requests = {
        design.control: GeneratorRequest("control", design.control, options=spoken),
        design.human: GeneratorRequest("human", design.human),
    }
    made = {name: build(request) for name, request in requests.items() if name in design.generators}
    form = Form(rest=settings.asked.rest)
    return [
        one
        for name, generators in made.items()
        for one in (generators if name == design.human else form.of(generators, ()))
    ]


def _english(language: str) -> bool:
    return language.lower().split("-")[0] == ENGLISH


def store_table(
    engine: Engine,
    name: str,
    settings: StudyFile,
    text: str,
    contents: Contents,
    generators: Sequence[Generator],
    only: Only,
    advance: Callable[[int], None] = lambda amount: None,
) -> Created:
    """Store stories, infills and study, each through its own door. After a kill, the same call continues.

    The study shows the blanks in `only`.
    """
    add_stories(engine, contents.stories)
    for generator in generators:
        blanks = list(generator.entries) if isinstance(generator, TableSystem) else _first(contents.blanks)
        run(engine, generator, blanks, advance)
    return create_study(engine, name, settings, text, only)


def number_of_infills(contents: Contents, generators: Sequence[Generator]) -> int:
    """How many infills `store_table` goes through."""
    own = len(_first(contents.blanks))
    return sum(len(one.entries) if isinstance(one, TableSystem) else own for one in generators)


def _first(blanks: Sequence[Blank]) -> list[Blank]:
    return [blank for blank in blanks if blank.sample == 1]
