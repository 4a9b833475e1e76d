"""BERT: a masked language model. It gets as many masks as the sentence had pieces, and fills them one after
another.

The model sees both sides of every gap and what it has filled so far; it is not trained for this. It knows the
length of the original, in pieces. The paper gives neither the order of the masks nor how pieces are drawn;
`generators.masked.mask_orders` has several. All gaps of a text are filled together, as if they were one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from generators.devices import pick_device
from generators.masked.mask_orders import OWN, WORDS, Row, Visiting, fill_masks
from generators.masked.masked_lm import DEFAULT, MaskedLM, open_masked_lm
from generators.masks.spans import Granularity
from generators.options import read_options
from generators.sampling.filling import Draft, ModelGenerator, Shared
from humaneval.domain import Drawing, GappedText, Generator, GeneratorRequest, InfillStatus, Provenance

SHOWN = 64
"""The most visits that are recorded with an answer."""
READS = "[CLS] the whole text without its title [SEP], both sides of every gap and what is filled so far"
REFUSED = InfillStatus.REFUSED


class Layout(NamedTuple):
    """A text as ids with masks: its row; and for each gap, the numbers of its holes and the places of its
    ids."""

    row: Row
    holes: list[range]
    places: list[range]


@dataclass(frozen=True, slots=True)
class BertFiller:
    """Fills gaps by a masked language model."""

    opened: MaskedLM
    visiting: Visiting
    seed: int
    types: tuple[str, ...] = tuple(Granularity)
    several: bool = True
    titled: bool = False
    needs_original: bool = True

    @property
    def origin(self) -> Provenance:
        import torch
        import transformers

        opened = self.opened
        return Provenance(
            kind="bert",
            checkpoint=f"{opened.name} sha256:{opened.sha256}",
            settings={
                **asdict(self.visiting),
                "visits": WORDS[self.visiting.order],
                "reads": READS,
                "pieces": "as many as the original has",
                "gaps": "all of a text together, as one row of masks",
                "cased": opened.pieces.cased,
            },
            batch={"device": str(opened.model.device), "precision": "fp32"},
            versions={"torch": torch.__version__, "transformers": transformers.__version__},
        )

    def drawing(self, how: Drawing) -> BertFiller:
        visiting = replace(self.visiting, sampling="sampled", temperature=how.temperature, top_p=how.nucleus)
        return replace(self, visiting=visiting, seed=how.seed)

    def draft(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        layouts = [self._layout(text, key) for text, key in zip(texts, keys, strict=True)]
        too_long = [len(one.row.ids) > self.opened.longest for one in layouts]
        rows = [one.row for one, long in zip(layouts, too_long, strict=True) if one.row.holes and not long]
        fill_masks(self.opened, rows, self.visiting, self.seed)
        return [
            [self._too_long(one)] * len(text.gaps) if long else self._drafts(one)
            for text, one, long in zip(texts, layouts, too_long, strict=True)
        ]

    def _layout(self, text: GappedText, key: str) -> Layout:
        """The ids of a text. White space before a gap belongs to the first piece of the gap, as in
        vocabularies with spaces."""
        pieces = self.opened.pieces
        ids, masked = [pieces.first], list[int]()
        holes, places = list[range](), list[range]()
        for before, gap in zip(text.pieces, text.gaps, strict=False):
            kept = before.rstrip()
            space = before[len(kept) :]
            ids += pieces.read(kept)
            count = len(pieces.read(space + gap.original)) if gap.original.strip() else 0
            given = pieces.read(space + gap.beginning)[:count] if gap.beginning.strip() else []
            start = len(ids)
            ids += given + [pieces.mask] * (count - len(given))
            places.append(range(start, start + count))
            holes.append(range(len(masked), len(masked) + count - len(given)))
            masked += range(start + len(given), start + count)
        ids += [*pieces.read(text.pieces[-1]), pieces.last]
        return Layout(Row(ids, tuple(masked), key, pieces.mask), holes, places)

    def _too_long(self, one: Layout) -> Draft:
        found, longest = len(one.row.ids), self.opened.longest
        return Draft("", REFUSED, f"the text has {found} pieces, {self.opened.name} reads at most {longest}")

    def _drafts(self, one: Layout) -> list[Draft]:
        row = one.row
        drafts = []
        for holes, places in zip(one.holes, one.places, strict=True):
            if not places:
                drafts.append(
                    Draft("", REFUSED, "BERT needs the original text here, for its number of pieces")
                )
                continue
            extra = {
                "pieces": len(places),
                "visits": row.visits[:SHOWN],
                "logprob": round(sum(row.logprobs[hole] for hole in holes), 4),
            }
            text = self.opened.pieces.write([row.ids[at] for at in places])
            drafts.append(Draft(text, extra=extra))
        return drafts


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """Options: order, sampling, temperature, top_k, top_p, steps, rounds, and those of every model."""
    own = OWN.get(request.options.get("order", ""), {})
    filled_up = replace(request, options={**own, **request.options})
    visiting = read_options(filled_up, Visiting, Shared)
    shared = read_options(filled_up, Shared, Visiting)
    opened = open_masked_lm(request.checkpoint or DEFAULT, pick_device(request.device))
    # The model decides what is written, so its name is part of the generator's name.
    name = request.name or f"bert-{opened.name}"
    return [ModelGenerator(name, BertFiller(opened, visiting, request.seed), request.seed, shared)]
