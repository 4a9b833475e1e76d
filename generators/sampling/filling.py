"""What all generators with a model share: batches of texts with gaps, further tries, and the check of each
answer.

Each kind of model is a Filler: it gets a batch of texts and drafts answers. Everything else is done here, in
the same way for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, Protocol

from generators.masks.documents import UNTITLED
from generators.options import refuse_unless
from humaneval.domain import (
    Blank,
    Drawing,
    Filling,
    Gap,
    GappedText,
    Infill,
    InfillStatus,
    Provenance,
    depends_on_batch,
    verdict_on,
)
from humaneval.text import ENGLISH, language_of, normalise

OK = InfillStatus.OK
UNENDED = "no end within the longest length"
"""The detail of an answer that is cut because it did not end."""
WINDOW = 4
"""Batches that are sorted together, so that the texts of a batch are alike."""
COMMON = 40
"""Characters at the beginning of two texts: with so many in common, they are read in one batch."""


class Draft(NamedTuple):
    """What a model wrote for a gap; the status is OK unless the filler reports a fault."""

    text: str
    status: InfillStatus = OK
    detail: str = ""
    extra: Mapping[str, Any] = {}


class Filler(Protocol):
    """A model that fills gaps. The kinds differ in this."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types of gaps that it can fill."""

    @property
    def several(self) -> bool:
        """Whether it drafts all gaps of a text at once; otherwise it drafts the first gap, one after
        another."""

    @property
    def titled(self) -> bool:
        """Whether the title line goes before a story's sentences, because the model was trained like that."""

    @property
    def needs_original(self) -> bool:
        """Whether it needs the original text of a gap."""

    @property
    def origin(self) -> Provenance:
        """Kind, checkpoint, its own settings, device, precision and versions. Shared settings are added
        later."""

    def drawing(self, how: Drawing) -> Filler:
        """The same model, drawing like this, at random. What it does not draw by stays as it is."""

    def draft(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        """A draft for each gap of each text, or only for the first gap. `keys` name the random numbers of the
        texts: an answer may depend on the key and the seed, but not on the other texts."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The options of every model. `tries`: the most draws for a text, until all its answers are ok."""

    batch: int = 32
    tries: int = 1
    min_words: int = 0
    max_words: int = 0
    beginning: str = ""

    def __post_init__(self) -> None:
        refuse_unless(1 <= self.batch <= 4096, "batch", "1 to 4096")
        refuse_unless(1 <= self.tries <= 100, "tries", "1 to 100")
        refuse_unless(0 <= self.min_words <= 100, "min_words", "0 to 100")
        fits = self.max_words == 0 or max(self.min_words, 1) <= self.max_words <= 100
        refuse_unless(fits, "max_words", "0 (no limit), or min_words to 100")


@dataclass(frozen=True, slots=True)
class ModelGenerator:
    """A generator over a Filler."""

    name: str
    filler: Filler
    seed: int
    shared: Shared

    @property
    def provenance(self) -> Provenance:
        origin = self.filler.origin
        shared = asdict(self.shared)
        batch = shared.pop("batch")
        return replace(
            origin,
            seed=self.seed,
            settings={**shared, **origin.settings},
            batch={"size": batch, **origin.batch},
        )

    @property
    def types(self) -> tuple[str, ...]:
        return self.filler.types

    @property
    def several(self) -> bool:
        return self.filler.several

    @property
    def needs_original(self) -> bool:
        """Whether it uses the original text of a blank, for its length."""
        return self.filler.needs_original

    @property
    def heading(self) -> str:
        """The line that its model expects above a text; empty if it expects none."""
        return str(getattr(self.filler, "heading", ""))

    def drawing(self, how: Drawing) -> ModelGenerator:
        """The same generator, drawing like this."""
        return replace(self, filler=self.filler.drawing(how), seed=how.seed)

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        """One infill a blank, in order."""
        remaining = iter(blanks)
        while window := list(islice(remaining, WINDOW * self.shared.batch)):
            texts = [self._text(blank) for blank in window]
            for blank, (filling,) in zip(window, self.fill(texts), strict=True):
                yield Infill(blank, filling.text, filling.status, filling.detail, filling.extra)

    def fill(self, texts: Iterable[GappedText]) -> Iterator[tuple[Filling, ...]]:
        """One filling a gap, in order."""
        remaining = iter(texts)
        while window := list(islice(remaining, WINDOW * self.shared.batch)):
            order = beside(window)
            found: dict[int, tuple[Filling, ...]] = {}
            for at in range(0, len(order), self.shared.batch):
                chosen = order[at : at + self.shared.batch]
                filled = self._fill([window[number] for number in chosen])
                found.update(zip(chosen, filled, strict=True))
            for number in range(len(window)):
                yield found[number]

    def _text(self, blank: Blank) -> GappedText:
        sentences, position = blank.story.sentences, blank.position
        before = "".join(f"{sentence} " for sentence in sentences[: position - 1])
        title = f"{blank.story.title or UNTITLED}\n" if self.filler.titled else ""
        after = "".join(f" {sentence}" for sentence in sentences[position:])
        shared = self.shared
        gap = Gap(
            min_words=shared.min_words,
            max_words=shared.max_words,
            beginning=shared.beginning,
            original=blank.original if self.filler.needs_original else "",
        )
        return GappedText(f"{blank.story.id} {position}", (title + before, after), (gap,), blank.sample)

    def _fill(self, texts: Sequence[GappedText]) -> list[tuple[Filling, ...]]:
        """Fill a batch; texts with an answer that is not ok are drawn again."""
        answers: list[tuple[Filling, ...]] = [()] * len(texts)
        waiting = list(range(len(texts)))
        for attempt in range(1, self.shared.tries + 1):
            keys = [f"{texts[at].key} {texts[at].sample} {attempt}" for at in waiting]
            drafts = self._drafts([texts[at] for at in waiting], keys)
            unfit = []
            for at, found in zip(waiting, drafts, strict=True):
                language = language_of(" ".join(texts[at].pieces))
                checked = [
                    check(draft, gap, language) for draft, gap in zip(found, texts[at].gaps, strict=True)
                ]
                answers[at] = tuple(
                    Filling(one.text, one.status, one.detail, {"tries": attempt, **one.extra})
                    for one in checked
                )
                if any(one.status is not OK for one in checked):
                    unfit.append(at)
            waiting = unfit
            if not waiting:
                break
        return answers

    def _drafts(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        """A draft for every gap, from left to right if the model fills one gap at a time."""
        if self.filler.several:
            return self._within_memory(texts, keys)
        found: list[list[Draft]] = [[] for _ in texts]
        rest = list(texts)
        for step in range(max(len(text.gaps) for text in texts)):
            here = [at for at, text in enumerate(rest) if text.gaps]
            drafts = self._within_memory(
                [rest[at] for at in here], [f"{keys[at]} {step}" if step else keys[at] for at in here]
            )
            for at, (draft, *_) in zip(here, drafts, strict=True):
                found[at].append(draft)
                text = rest[at]
                joined = text.pieces[0] + check(draft, text.gaps[0]).text + text.pieces[1]
                rest[at] = replace(text, pieces=(joined, *text.pieces[2:]), gaps=text.gaps[1:])
        return found

    def _with_shape(self, drafts: list[list[Draft]]) -> list[list[Draft]]:
        """The drafts, with the number of texts in their batch where they depend on it."""
        if not depends_on_batch(self.filler.origin):
            return drafts
        size = len(drafts)
        return [[one._replace(extra={**one.extra, "batch": size}) for one in found] for found in drafts]

    def _within_memory(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        """Draft a batch; halve it as often as the memory requires."""
        try:
            return self._with_shape(self.filler.draft(texts, keys))
        except Exception as error:
            if not out_of_memory(error):
                raise
        if len(texts) == 1:
            lost = Draft("", InfillStatus.ERROR, "the memory is too small for this text")
            return [[lost] * (len(texts[0].gaps) if self.filler.several else 1)]
        half = len(texts) // 2
        return [
            *self._within_memory(texts[:half], keys[:half]),
            *self._within_memory(texts[half:], keys[half:]),
        ]


def beside(texts: Sequence[GappedText]) -> list[int]:
    """The order in which texts are put into batches: those that begin alike beside each other, such as the
    blanks of one story, and otherwise by length."""
    groups: list[list[int]] = []
    before = ""
    for at in sorted(range(len(texts)), key=lambda at: texts[at].pieces):
        begins = texts[at].pieces[0]
        if not groups or begins[:COMMON] != before[:COMMON] or len(begins) < COMMON:
            groups.append([])
        groups[-1].append(at)
        before = begins
    groups.sort(key=lambda group: sum(map(len, texts[group[0]].pieces)))
    return [at for group in groups for at in group]


def out_of_memory(error: Exception) -> bool:
    """Whether the memory of the GPU or the machine was too small."""
    words = str(error)
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "DefaultCPUAllocator" in words
        or "CUDA out of memory" in words
    )


def check(draft: Draft, gap: Gap, language: str = ENGLISH) -> Draft:
    """The draft as an answer: its white space normalised, and its status by its text if it was ok."""
    several_lines = gap.type in ("paragraph", "document")
    text = draft.text.strip() if several_lines else normalise(draft.text)
    verdict = verdict_on(
        text,
        needs_words=gap.type not in ("word", "ngram"),
        one_sentence=gap.type == "sentence",
        language=language,
    )
    if verdict.status is InfillStatus.UNPRINTABLE:
        return draft._replace(text="", status=verdict.status, detail=verdict.detail)
    draft = draft._replace(text=text)
    if draft.status is not OK:
        return draft
    if verdict.status is InfillStatus.EMPTY:
        return draft._replace(status=verdict.status, detail=verdict.detail)
    words = len(text.split())
    if words < gap.min_words or 0 < gap.max_words < words:
        limits = f"at least {gap.min_words}" if words < gap.min_words else f"at most {gap.max_words}"
        return draft._replace(status=InfillStatus.FILTERED, detail=f"{words} words, not {limits}")
    if not text.startswith(normalise(gap.beginning)):
        return draft._replace(status=InfillStatus.FILTERED, detail=f"does not begin with {gap.beginning!r}")
    return draft._replace(status=verdict.status, detail=verdict.detail or draft.detail)
