"""BART: a model that reads a text with masks in its gaps, and writes the whole text anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generators.options import read_options
from generators.sampling.filling import Draft, Shared
from generators.sequence.alignment import align
from generators.sequence.encoder_decoder import Drawn, Source, draw_pairs, open_pair
from generators.sequence.pair_filler import PairFiller, Seq2SeqOptions, generators_of, refused
from humaneval.domain import Gap, GappedText, Generator, GeneratorRequest, InfillStatus, Provenance
from humaneval.errors import InputError

BART = "facebook/bart-base"
MASK = "<mask>"
EDITS = 10
"""One token in so many of the context may come back changed."""


@dataclass(frozen=True, slots=True)
class BartFiller(PairFiller):
    """<mask> stands in each gap; the whole text is written anew, and the answers are what stands where the
    gaps were."""

    @property
    def origin(self) -> Provenance:
        return self.origin_as("bart")

    def pieces(self, text: GappedText) -> list[list[int]]:
        """The tokens of what is to stay. The space before a gap belongs to the answer, as to every word."""
        ends = [*(gap.beginning for gap in text.gaps), ""]
        whole = [f"{piece}{end}" for piece, end in zip(text.pieces, ends, strict=True)]
        return [*(self.encode(piece.rstrip()) for piece in whole[:-1]), self.encode(whole[-1])]

    def draft(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        opened, limit = self.opened, self.opened.reads(1024)
        begin, mask = opened.control["<s>"], opened.control[MASK]
        sources, kept = {}, {}
        found: list[list[Draft]] = [[] for _ in texts]
        for at, (text, key) in enumerate(zip(texts, keys, strict=True)):
            pieces = self.pieces(text)
            ids = [begin, *pieces[0]]
            for piece in pieces[1:]:
                ids += [mask, *piece]
            longest = sum(map(len, pieces)) + (self.options.longest + 1) * len(text.gaps) + 1
            # What is written holds the whole text, too.
            if max(len(ids) + 1, longest + 2) > limit:
                found[at] = refused(text, f"up to {longest + 2} tokens, the model reads and writes {limit}")
            elif not all(pieces[1:-1]):
                found[at] = refused(text, "two gaps side by side, which cannot be told apart")
            else:
                sources[at], kept[at] = Source([*ids, opened.end], key, longest), pieces
        if sources:
            drawn = draw_pairs(
                opened,
                list(sources.values()),
                sampling=self.sampling,
                seed=self.seed,
                prefix=[opened.start, begin],
                forbidden=opened.unwritten({opened.end}),
            )
            for at, row in zip(sources, drawn, strict=True):
                found[at] = self.answers(row, kept[at], texts[at].gaps)
        return found

    def answers(self, drawn: Drawn, pieces: Sequence[Sequence[int]], gaps: Sequence[Gap]) -> list[Draft]:
        """A draft a gap, where the rest of the text came back."""
        if not drawn.ended:
            return [Draft("", InfillStatus.CUT, "no end within the longest length")] * len(gaps)
        aligned = align(pieces, drawn.ids)
        if aligned.edits * EDITS > sum(map(len, pieces)):
            detail = f"the model did not keep the context: {aligned.edits} tokens differ"
            return [Draft("", InfillStatus.ERROR, detail)] * len(gaps)
        return [
            self.answer(gap, drawn.ids[start:end], {"edits": aligned.edits})
            for gap, (start, end) in zip(gaps, aligned.spans, strict=True)
        ]


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """BART and its like: a folder or a hub id. Options: temperature, top_p, longest, and those of every
    model."""
    shared = read_options(request, Shared, Seq2SeqOptions)
    options = read_options(request, Seq2SeqOptions, Shared)
    opened = open_pair(request.checkpoint or BART, request.device, BART)
    lacking = [name for name in ("<s>", MASK) if name not in opened.control]
    if lacking:
        raise InputError(
            f"{request.checkpoint or BART} has no token {lacking[0]}", f"Choose a model such as {BART}."
        )
    return generators_of(request, shared, BartFiller(opened, options, request.seed))
