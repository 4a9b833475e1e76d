"""LM and its relatives LM-Rev and LM-All write one sentence: left to right, right to left, and left to right
after the whole context.

The paper's code has no decoding for them; these are our definitions. None of them copies the context.
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
from humaneval.text import clear_sentences, normalise


class Lm(CheckpointFiller):
    """Reads S and the text before the gap; the answer is the first sentence that it writes. It does not see
    the text after the gap."""

    kind = "lm"
    conditioning = "the text before the blank alone; several blanks from left to right"

    def prompt(self, text: GappedText) -> list[int]:
        """S and everything before the gap."""
        return [self.checkpoint.special.start, *self.encode(text.pieces[0].rstrip(" "))]

    def stop_rule(self) -> Stop:
        """Stop when a second sentence has begun."""
        return second_begun(self.decode)

    def read(self, written: Written, gap: Gap) -> Reading:
        """The first sentence, and the number of its tokens."""
        return read_first_sentence(written.ids, self.decode)

    def complete(self, written: Written) -> bool:
        """Whether another sentence follows."""
        return first_sentence(self.decode(written.ids)).whole


class LmAll(Lm):
    """Reads the whole text with its gaps, S, and the text before the gap again; the answer is the first
    sentence that it writes."""

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
    """Reads S and the text after the gap in reverse; the answer is the last sentence of what it writes,
    reversed again."""

    kind = "lm-rev"
    conditioning = "the text behind the blank alone; several blanks from left to right"

    def prompt(self, text: GappedText) -> list[int]:
        """S and everything after the gap, last token first. Other gaps are left out."""
        behind = "".join(text.pieces[1:])
        return [self.checkpoint.special.start, *reversed(self.encode(behind))]

    def draft(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        """As for all, but a gap with a beginning is refused: the model would write it last."""
        drafts = super().draft(texts, keys)
        refused = Draft("", InfillStatus.REFUSED, "lm-rev writes from the end, so it cannot take a beginning")
        return [
            [refused] if text.gaps[0].beginning else found for text, found in zip(texts, drafts, strict=True)
        ]

    def ends(self, line_ends: tuple[int, ...]) -> tuple[int, ...]:
        """In reverse, E ends the first line, and a line end the first sentence."""
        return (self.checkpoint.special.end, *line_ends)

    def stop_rule(self) -> Stop:
        """Stop when the sentence before has begun, from its end: only then is this one known to be whole."""

        def stop(ids: Sequence[int]) -> bool:
            text = self.decode(ids[::-1])
            return bool(MAY_HAVE_ENDED.search(text)) and self._whole(text)

        return stop

    def read(self, written: Written, gap: Gap) -> Reading:
        """The last sentence, and the number of its tokens."""
        text = self.decode(written.ids[::-1])
        sentences = clear_sentences(text)
        sentence = sentences[-1] if sentences else ""
        tokens = len(written.ids)
        while tokens and normalise(self.decode(written.ids[: tokens - 1][::-1])).endswith(sentence):
            tokens -= 1
        return Reading(sentence, tokens)

    def complete(self, written: Written) -> bool:
        """Whether the end of another sentence comes before it."""
        return self._whole(self.decode(written.ids[::-1]))

    @staticmethod
    def _whole(text: str) -> bool:
        """Whether the text begins with another sentence, or its end: with at least one word of it."""
        sentences = clear_sentences(text)
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
