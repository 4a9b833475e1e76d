"""T5 and BART: models that read a text with marks where something is missing, and write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from generators.masks.hierarchical import Granularity
from generators.options import read_options, refuse_unless
from generators.sampling.decoding import Sampling
from generators.sampling.filling import Draft, Filler, ModelGenerator, Shared
from generators.sequence.alignment import align
from generators.sequence.encoder_decoder import Drawn, Opened, Source, draw_pairs, open_pair
from humaneval.domain import Gap, GappedText, Generator, GeneratorRequest, InfillStatus, Provenance
from humaneval.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

T5, BART = "t5-base", "facebook/bart-base"
T5_READS = 512
"""Tokens that T5 was trained to read; its relative positions set no bound themselves."""
MASK = "<mask>"
EDITS = 10
"""One token in so many of the context may come back changed."""


@dataclass(frozen=True, slots=True)
class Seq2SeqOptions:
    """How tokens are drawn. `longest`: tokens of an answer at most."""

    temperature: float = 1.0
    top_p: float = 0.95
    longest: int = 64

    def __post_init__(self) -> None:
        refuse_unless(0 < self.temperature <= 10, "temperature", "above 0 to 10")
        refuse_unless(0 < self.top_p <= 1, "top_p", "above 0 to 1")
        refuse_unless(1 <= self.longest <= 200, "longest", "1 to 200")


@dataclass(frozen=True, slots=True)
class _PairFiller:
    """What both kinds share: all gaps of a text in one reading."""

    opened: Opened
    options: Seq2SeqOptions
    seed: int

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(Granularity)

    @property
    def several(self) -> bool:
        return True

    @property
    def titled(self) -> bool:
        return False

    @property
    def needs_original(self) -> bool:
        return False

    @property
    def sampling(self) -> Sampling:
        return Sampling(**asdict(self.options))

    def origin_as(self, kind: str) -> Provenance:
        """Where the answers of a filler of this kind come from."""
        return Provenance(
            kind=kind,
            checkpoint=self.opened.origin,
            settings=asdict(self.options),
            batch={"device": str(self.opened.model.device), "precision": "fp32"},
            versions={name: version(name) for name in ("torch", "transformers", "tokenizers")},
        )

    def encode(self, text: str) -> list[int]:
        """The tokens of a part of a text."""
        return self.opened.tokenizer.encode(text, add_special_tokens=False).ids

    def answer(self, gap: Gap, ids: Sequence[int], extra: Mapping[str, int]) -> Draft:
        """What was written for a gap; cut off if it is longer than an answer may be."""
        longest = self.options.longest
        written = self.opened.tokenizer.decode(list(ids[:longest])).strip()
        text = f"{gap.beginning} {written}" if gap.beginning else written
        if len(ids) > longest:
            return Draft(text, InfillStatus.CUT, f"more than {longest} tokens", extra)
        return Draft(text, extra={"tokens": len(ids), **extra})


@dataclass(frozen=True, slots=True)
class T5Filler(_PairFiller):
    """Sentinels <extra_id_0>, <extra_id_1>, … stand in the gaps; the answers come after the same
    sentinels."""

    sentinels: tuple[int, ...]

    @property
    def origin(self) -> Provenance:
        return self.origin_as("t5")

    def source(self, text: GappedText) -> list[int]:
        """The text as it is read. What an answer has to begin with stands before its sentinel."""
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
                found[at] = _refused(text, f"{count} gaps, not at most {len(self.sentinels)}")
            elif len(ids) > limit:
                found[at] = _refused(text, f"{len(ids)} tokens, the model reads {limit}")
            else:
                # One token more than an answer may have shows that it is longer.
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
        """A draft a gap: what follows its sentinel for the first time, wherever that is."""
        parts: dict[int, list[int]] = {}
        part: list[int] = []  # what stands before any sentinel, or after a repeated one, belongs nowhere
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
                draft = draft._replace(status=InfillStatus.CUT, detail="no end within the longest length")
            drafts.append(draft)
        return drafts


@dataclass(frozen=True, slots=True)
class BartFiller(_PairFiller):
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
                found[at] = _refused(text, f"up to {longest + 2} tokens, the model reads and writes {limit}")
            elif not all(pieces[1:-1]):
                found[at] = _refused(text, "two gaps side by side, which cannot be told apart")
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


def _refused(text: GappedText, why: str) -> list[Draft]:
    return [Draft("", InfillStatus.REFUSED, why)] * len(text.gaps)


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """T5 and its like: a folder or a hub id. Options: temperature, top_p, longest, and those of every
    model."""
    shared, options = read_options(request, Shared, Seq2SeqOptions)
    opened = open_pair(request.checkpoint or T5, request.device, T5)
    names = [f"<extra_id_{number}>" for number in range(len(opened.control))]
    sentinels = tuple(opened.control[name] for name in names if name in opened.control)
    if not sentinels:
        raise InputError(
            f"{request.checkpoint or T5} has no sentinels such as <extra_id_0>",
            f"Choose a model such as {T5}.",
        )
    return _generators(request, shared, T5Filler(opened, options, request.seed, sentinels))


def build_bart(request: GeneratorRequest) -> Sequence[Generator]:
    """BART and its like: a folder or a hub id. Options: temperature, top_p, longest, and those of every
    model."""
    shared, options = read_options(request, Shared, Seq2SeqOptions)
    opened = open_pair(request.checkpoint or BART, request.device, BART)
    lacking = [name for name in ("<s>", MASK) if name not in opened.control]
    if lacking:
        raise InputError(
            f"{request.checkpoint or BART} has no token {lacking[0]}", f"Choose a model such as {BART}."
        )
    return _generators(request, shared, BartFiller(opened, options, request.seed))


def _generators(request: GeneratorRequest, shared: Shared, filler: Filler) -> Sequence[Generator]:
    return [ModelGenerator(request.name or request.kind, filler, request.seed, shared)]
