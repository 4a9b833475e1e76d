"""The rest of a story, written sentence by sentence by a generator of single sentences.

For each sentence the generator sees the story so far and nothing after it, so that any generator will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from humaneval.domain import Blank, Generator, Infill, InfillStatus, Provenance, verdict_on
from humaneval.infills.asked import in_order
from humaneval.text import counted, normalise, split_into

REST = "rest"
"""The setting, in a run's provenance, of a generator whose infills are the rest of a story."""
CHUNK = 32
"""Stories that are continued together."""


@dataclass(frozen=True, slots=True)
class Rest:
    """A generator whose infill is everything from the blank on, a sentence a line."""

    inner: Generator

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def provenance(self) -> Provenance:
        found = self.inner.provenance
        return replace(found, settings={**found.settings, REST: True})

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        remaining = iter(blanks)
        while chunk := list(islice(remaining, CHUNK)):
            yield from self._continued(chunk)

    def _continued(self, blanks: Sequence[Blank]) -> Iterator[Infill]:
        written: list[list[Infill]] = [[] for _ in blanks]
        going = list(range(len(blanks)))
        while going:
            asked = [_next(blanks[at], written[at]) for at in going]
            for at, infill in zip(going, in_order(self.inner, asked), strict=True):
                written[at].append(infill)
            going = [at for at in going if _goes_on(blanks[at], written[at])]
        for blank, infills in zip(blanks, written, strict=True):
            last = infills[-1]
            text = "\n".join(_lines(infills))
            yield Infill(blank, text, last.status, last.detail, last.extra if len(infills) == 1 else {})


def _next(blank: Blank, written: Sequence[Infill]) -> Blank:
    """The blank after what was written: the last sentence of a story that ends there."""
    story, at = blank.story, blank.position - 1
    so_far = (*story.sentences[:at], *_lines(written))
    shorter = replace(story, sentences=(*so_far, story.sentences[len(so_far)]))
    return Blank(shorter, len(shorter.sentences), blank.sample)


def _lines(written: Sequence[Infill]) -> list[str]:
    """The sentences of infills. One from a file may have several, a line each."""
    return [normalise(line) for one in written for line in one.text.strip().split("\n")]


def _goes_on(blank: Blank, written: Sequence[Infill]) -> bool:
    """Whether there is more to write: not after a sentence that nothing can follow."""
    whole, last = len(blank.story.sentences) - blank.position + 1, written[-1]
    return len(_lines(written)) < whole and last.status is InfillStatus.OK and bool(last.text.strip())


def judge_rest(infill: Infill) -> Infill:
    """Give an `ok` rest the status that it deserves: that of its first faulty sentence. Others keep theirs
    unless a sentence is unprintable.

    A text without line feeds is split. There must be as many sentences as the story has left.
    """
    blank = infill.blank
    story, whole = blank.story, len(blank.story.sentences) - blank.position + 1
    lines = [normalise(line) for line in infill.text.strip().split("\n")]
    if len(lines) == 1 < whole:
        lines = list(split_into(whole, lines[0], story.language).sentences)
    infill = replace(infill, text="\n".join(lines))
    faults = [
        verdict
        for line in lines
        if (verdict := verdict_on(line, language=story.language)).status is not InfillStatus.OK
    ]
    for fault in faults:
        if fault.status is InfillStatus.UNPRINTABLE:
            return replace(infill, text="", status=fault.status, detail=fault.detail)
    if infill.status is not InfillStatus.OK:
        return infill
    if faults:
        return replace(infill, status=faults[0].status, detail=faults[0].detail)
    if len(lines) != whole:
        status = InfillStatus.CUT if len(lines) < whole else InfillStatus.SEVERAL_SENTENCES
        return replace(infill, status=status, detail=f"{counted(len(lines), 'sentence')}, not {whole}")
    if lines == [normalise(one) for one in story.sentences[blank.position - 1 :]]:
        return replace(infill, status=InfillStatus.SAME_AS_ORIGINAL)
    return infill
