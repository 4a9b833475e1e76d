"""What T5 and BART share: their options, and a filler that reads all gaps of a text at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Self

from generators.masks.spans import Granularity
from generators.options import refuse_unless
from generators.sampling.choosing import Sampling
from generators.sampling.filling import Draft, Filler, ModelGenerator, Shared
from generators.sequence.encoder_decoder import Opened
from humaneval.domain import Drawing, Gap, GappedText, Generator, GeneratorRequest, InfillStatus, Provenance


@dataclass(frozen=True, slots=True)
class Seq2SeqOptions:
    """How tokens are drawn. `longest`: the most tokens of an answer."""

    temperature: float = 1.0
    top_p: float = 0.95
    longest: int = 64

    def __post_init__(self) -> None:
        refuse_unless(0.001 <= self.temperature <= 10, "temperature", "0.001 to 10")
        refuse_unless(0 < self.top_p <= 1, "top_p", "above 0 to 1")
        refuse_unless(1 <= self.longest <= 200, "longest", "1 to 200")


@dataclass(frozen=True, slots=True)
class PairFiller:
    """The part of a filler that both kinds share. It fills all gaps of a text at once."""

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

    def drawing(self, how: Drawing) -> Self:
        longest = how.longest or self.options.longest
        options = Seq2SeqOptions(how.temperature, how.nucleus, longest)
        return replace(self, options=options, seed=how.seed)

    def origin_as(self, kind: str) -> Provenance:
        """The provenance of the answers of a filler of this kind."""
        return Provenance(
            kind=kind,
            checkpoint=self.opened.origin,
            settings=asdict(self.options),
            batch={"device": str(self.opened.model.device), "precision": "fp32"},
            versions={name: version(name) for name in ("torch", "transformers", "tokenizers")},
        )

    def encode(self, text: str) -> list[int]:
        """The ids of a part of a text."""
        return self.opened.tokenizer.encode(text, add_special_tokens=False).ids

    def answer(self, gap: Gap, ids: Sequence[int], extra: Mapping[str, int]) -> Draft:
        """The draft for a gap; cut off after the most tokens of an answer."""
        longest = self.options.longest
        written = self.opened.tokenizer.decode(list(ids[:longest])).strip()
        text = f"{gap.beginning} {written}" if gap.beginning else written
        if len(ids) > longest:
            return Draft(text, InfillStatus.CUT, f"more than {longest} tokens", extra)
        return Draft(text, extra={"tokens": len(ids), **extra})


def refused(text: GappedText, why: str) -> list[Draft]:
    return [Draft("", InfillStatus.REFUSED, why)] * len(text.gaps)


def generators_of(request: GeneratorRequest, shared: Shared, filler: Filler) -> Sequence[Generator]:
    return [ModelGenerator(request.name or request.kind, filler, request.seed, shared)]
