"""T5: a model that reads a text with sentinels in its gaps, and writes what belongs in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generators.options import read_options
from generators.sampling.filling import UNENDED, Draft, Shared
from generators.sequence.encoder_decoder import Drawn, Source, draw_pairs, open_pair
from generators.sequence.pair_filler import PairFiller, Seq2SeqOptions, generators_of, refused
from humaneval.domain import Gap, GappedText, Generator, GeneratorRequest, InfillStatus, Provenance
from humaneval.errors import InputError

T5 = "t5-base"
T5_READS = 512
"""The tokens that T5 was trained to read; its relative positions set no limit."""


@dataclass(frozen=True, slots=True)
class T5Filler(PairFiller):
    """The gaps are sentinels, <extra_id_0>, <extra_id_1>, …; the answers come after the same sentinels."""

    sentinels: tuple[int, ...]

    @property
    def origin(self) -> Provenance:
        return self.origin_as("t5")

    def source(self, text: GappedText) -> list[int]:
        """The ids of the text as it is read. The beginning of an answer is put before its sentinel."""
        ids: list[int] = []
        for piece, gap, sentinel in zip(text.pieces, text.gaps, self.sentinels, strict=False):
            ids += [*self.encode(f"{piece}{gap.beginning}"), sentinel]
        return [*ids, *self.encode(text.pieces[-1]), self.opened.end]

    def draft(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        sources, limit = {}, self.opened.reads(T5_READS)
        found: list[list[Draft]] = [[] for _ in texts]
        for at, (text, key) in enumerate(zip(texts, keys, strict=True)):
            count, ids = len(text.gaps), self.source(text)
            if count > len(self.sentinels):
                found[at] = refused(text, f"{count} gaps, not at most {len(self.sentinels)}")
            elif len(ids) > limit:
                found[at] = refused(text, f"{len(ids)} tokens, the model reads {limit}")
            else:
                # One token more than an answer may have shows that it is too long.
                longest = (self.options.longest + 2) * count
                sources[at] = Source(ids, key, longest, frozenset(self.sentinels[count:]))
        if sources:
            drawn = draw_pairs(
                self.opened,
                list(sources.values()),
                sampling=self.sampling,
                seed=self.seed,
                prefix=[self.opened.start],
                forbidden=self.opened.unwritten({self.opened.end, *self.sentinels}),
            )
            for at, row in zip(sources, drawn, strict=True):
                found[at] = self.answers(row, texts[at].gaps)
        return found

    def answers(self, drawn: Drawn, gaps: Sequence[Gap]) -> list[Draft]:
        """A draft for each gap: what follows the first occurrence of its sentinel."""
        parts: dict[int, list[int]] = {}
        part: list[int] = []  # what comes before all sentinels, or after a repeated one, belongs to no gap
        last = -1
        for id in drawn.ids:
            if id in self.sentinels:
                part, last = [], id
                parts.setdefault(id, part)
            else:
                part.append(id)
        drafts = []
        for sentinel, gap in zip(self.sentinels, gaps, strict=False):
            if sentinel not in parts:
                drafts.append(Draft("", InfillStatus.MISSING, "the model wrote nothing for this gap"))
                continue
            draft = self.answer(gap, parts[sentinel], {})
            if sentinel == last and not drawn.ended and draft.status is InfillStatus.OK:
                draft = draft._replace(status=InfillStatus.CUT, detail=UNENDED)
            drafts.append(draft)
        return drafts


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """Models such as T5: a folder or a hub id. Options: temperature, top_p, longest, and those of every
    model."""
    shared = read_options(request, Shared, Seq2SeqOptions)
    options = read_options(request, Seq2SeqOptions, Shared)
    opened = open_pair(request.checkpoint or T5, request.device, T5)
    names = [f"<extra_id_{number}>" for number in range(len(opened.control))]
    sentinels = tuple(opened.control[name] for name in names if name in opened.control)
    if not sentinels:
        raise InputError(
            f"{request.checkpoint or T5} has no sentinels such as <extra_id_0>",
            f"Choose a model such as {T5}.",
        )
    return generators_of(request, shared, T5Filler(opened, options, request.seed, sentinels))
