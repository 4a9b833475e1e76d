"""LM and its two relatives that write one sentence: left to right, right to left, and left to right after the
whole context.

The paper's code has no decoding for them; these are our definitions. None of them copies context: what is not
new is cut.
"""

from __future__ import annotations

from collections.abc import Sequence

from generators.causal.writer import (
    MAY_HAVE_ENDED,
    CheckpointFiller,
    Reading,
    build_from,
    first_sentence,
    read_first_sentence,
    second_begun,
)
from generators.sampling.decoding import Stop, Written
from generators.sampling.filling import Draft
from humaneval.domain import Gap, GappedText, Generator, GeneratorRequest, InfillStatus
from humaneval.text import normalise, split_sentences


class Lm(CheckpointFiller):
    """S and the text before the gap; the first sentence of what it writes on. What stands behind the gap is
    not seen."""

    kind = "lm"
    conditioning = "the text before the blank alone; several blanks from left to right"

    def prompt(self, text: GappedText) -> list[int]:
        """S and everything before the gap."""
        return [self.checkpoint.special.start, *self.encode(text.pieces[0].rstrip(" "))]

    def stop_rule(self) -> Stop:
        """Stop once a second sentence has begun."""
        return second_begun(self.decode)

    def read(self, written: Written, gap: Gap) -> Reading:
        """The first sentence, and how many tokens it takes."""
        return read_first_sentence(written.ids, self.decode)

    def complete(self, written: Written) -> bool:
        """Whether another sentence follows."""
        return first_sentence(self.decode(written.ids)).whole


class LmAll(Lm):
    """The whole text with its gaps, S, then the text before the gap once more; the first sentence of what it
    writes on."""

    kind = "lm-all"
    conditioning = "all text on both sides; several blanks from left to right"

    def prompt(self, text: GappedText) -> list[int]:
        """c S and everything before the gap."""
        special = self.checkpoint.special
        ids: list[int] = []
        for piece, gap in zip(text.pieces, text.gaps, strict=False):
            ids += [*self.encode(piece.rstrip(" ")), special.blank(gap.type)]
        head = self.encode(text.pieces[0].rstrip(" "))
        return [*ids, *self.encode(text.pieces[-1]), special.start, *head]


class LmRev(CheckpointFiller):
    """S and the text behind the gap, backwards; the last sentence of what it writes, turned round."""

    kind = "lm-rev"
    conditioning = "the text behind the blank alone; several blanks from left to right"

    def prompt(self, text: GappedText) -> list[int]:
        """S and everything behind the gap, last token first. Other gaps are left out."""
        behind = "".join(text.pieces[1:])
        return [self.checkpoint.special.start, *reversed(self.encode(behind))]

    def draft(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        """As always; a gap with a beginning is refused, for that would be written last."""
        drafts = super().draft(texts, keys)
        refused = Draft(
            "", InfillStatus.REFUSED, "lm-rev writes from the end: it cannot be told how to begin"
        )
        return [
            [refused] if text.gaps[0].beginning else found for text, found in zip(texts, drafts, strict=True)
        ]

    def ends(self, line_ends: tuple[int, ...]) -> tuple[int, ...]:
        """E stands before the first line, and a line end before the first sentence."""
        return (self.checkpoint.special.end, *line_ends)

    def stop_rule(self) -> Stop:
        """Stop once the sentence before has been begun, from its end: only then is this one known to be
        whole."""

        def stop(ids: Sequence[int]) -> bool:
            text = self.decode(ids[::-1])
            return bool(MAY_HAVE_ENDED.search(text)) and self._whole(text)

        return stop

    def read(self, written: Written, gap: Gap) -> Reading:
        """The last sentence, and how many tokens it takes."""
        text = self.decode(written.ids[::-1])
        sentences = split_sentences(text)
        sentence = sentences[-1] if sentences else ""
        tokens = len(written.ids)
        while tokens and normalise(self.decode(written.ids[: tokens - 1][::-1])).endswith(sentence):
            tokens -= 1
        return Reading(sentence, tokens)

    def complete(self, written: Written) -> bool:
        """Whether the end of another sentence stands before it."""
        return self._whole(self.decode(written.ids[::-1]))

    @staticmethod
    def _whole(text: str) -> bool:
        """Whether the text begins with (the end of) another sentence: one word of it at least, as in “Mr.
        Smith”."""
        sentences = split_sentences(text)
        return len(sentences) > 1 and any(character.isalnum() for character in sentences[0])


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """Options: those of `generators.causal.writer.Decoding` and `generators.sampling.filling.Shared`."""
    return build_from(request, Lm)


def build_all(request: GeneratorRequest) -> Sequence[Generator]:
    """As `build`."""
    return build_from(request, LmAll)


def build_rev(request: GeneratorRequest) -> Sequence[Generator]:
    """As `build`."""
    return build_from(request, LmRev)
