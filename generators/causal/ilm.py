"""ILM: infilling by language modelling. It reads the whole text with its blanks, then writes an answer for
each, in order."""

from __future__ import annotations

from collections.abc import Sequence

from generators.causal.writer import CheckpointFiller, open_filler
from generators.sampling.filling import ModelGenerator
from humaneval.domain import GappedText, Generator, GeneratorRequest
from humaneval.errors import InputError


class Ilm(CheckpointFiller):
    """Reads c S, then writes an answer and E for each blank."""

    kind = "ilm"
    conditioning = "all text on both sides; blanks from left to right, each sees the answers before it"
    several = True

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(self.checkpoint.special.blanks)

    def prompt(self, text: GappedText) -> list[int]:
        """The text with a blank for each gap, and S. The space before a gap is part of the answer, as in
        training."""
        special = self.checkpoint.special
        ids: list[int] = []
        for piece, gap in zip(text.pieces, text.gaps, strict=False):
            ids += [*self.encode(piece.rstrip(" ")), special.blank(gap.type)]
        return [*ids, *self.encode(text.pieces[-1]), special.start]


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """Options: those of `generators.causal.writer.Decoding` and `generators.sampling.filling.Shared`."""
    opened = open_filler(request, Ilm)
    types = opened.filler.types
    if "sentence" not in types:
        raise InputError(
            f"{request.checkpoint} has no blank for a sentence, only for {', '.join(types)}",
            "Choose a model that was trained with blanks for sentences.",
        )
    return [ModelGenerator(request.name or "ilm", opened.filler, request.seed, opened.shared)]
