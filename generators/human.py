"""Human: the sentence that stood there. The ceiling that machines are held against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from humaneval.domain import Blank, Generator, GeneratorRequest, Infill, Provenance


@dataclass(frozen=True, slots=True)
class Human:
    """Gives each blank its own sentence back."""

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
