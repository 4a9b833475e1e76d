"""Human: the original sentence. It is the upper end that machines are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from humaneval.domain import Blank, Generator, GeneratorRequest, Infill, Provenance


@dataclass(frozen=True, slots=True)
class Human:
    """Fills each blank with its original sentence."""

    name: str

    @property
    def provenance(self) -> Provenance:
        return Provenance(kind="human")

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        for blank in blanks:
            yield Infill(blank, blank.original)


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """No options."""
    request.allow_options()
    return [Human(request.name or "human")]
