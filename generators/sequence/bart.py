"""BART: a model that reads a text with masks in its gaps, and writes the whole text again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generators.options import read_options
from generators.sampling.filling import UNENDED, Draft, Shared
from generators.sequence.alignment import align
from generators.sequence.encoder_decoder import Drawn, Source, draw_pairs, open_pair
from generators.sequence.pair_filler import PairFiller, Seq2SeqOptions, generators_of, refused
from humaneval.domain import Gap, GappedText, Generator, GeneratorRequest, InfillStatus, Provenance
from humaneval.errors import InputError

BART = "facebook/bart-base"
MASK = "<mask>"
EDITS = 10
"""One token of the context in this many may come back changed."""


@dataclass(frozen=True, slots=True)
class BartFiller(PairFiller):
    """Each gap is a <mask>. The model writes the whole text again; the answers are what it writes at the
    gaps."""

    @property
    def origin(self) -> Provenance:
        return self.origin_as("bart")

    def pieces(self, text: GappedText) -> list[list[int]]:
        """The ids of the text between the gaps. The space before a gap belongs to the answer, as for every
        word."""
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
            # The model also writes the whole text.
            if max(len(ids) + 1, longest + 2) > limit:
                found[at] = refused(text, f"up to {longest + 2} tokens, the model reads and writes {limit}")
            elif not all(pieces[1:-1]):
                found[at] = refused(text, "two adjacent gaps, which cannot be distinguished")
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
        """A draft for each gap, if the rest of the text came back."""
        if not drawn.ended:
            return [Draft("", InfillStatus.CUT, UNENDED)] * len(gaps)
        aligned = align(pieces, drawn.ids)
        if aligned.edits * EDITS > sum(map(len, pieces)):
            detail = f"the model did not keep the context: {aligned.edits} tokens differ"
            return [Draft("", InfillStatus.ERROR, detail)] * len(gaps)
        return [
            self.answer(gap, drawn.ids[start:end], {"edits": aligned.edits})
            for gap, (start, end) in zip(gaps, aligned.spans, strict=True)
        ]


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """Models such as BART: a folder or a hub id. Options: temperature, top_p, longest, and those of every
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
