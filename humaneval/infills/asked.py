"""Asks a generator for infills, and checks each of them when it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from humaneval.domain import Blank, ChecksStories, Generator, Infill, Story, fault_in
from humaneval.errors import InputError
from humaneval.plugins import FAULT, calling, typed


def in_order(generator: Generator, blanks: Sequence[Blank]) -> Iterator[Infill]:
    """The generator's infills. Raises InputError unless there is one a blank, in the order of the blanks, and
    each can be kept."""
    whose, module = _named(generator)
    with calling(whose, module):
        made = generator.infill(blanks)
        if not isinstance(made, Iterable):
            raise InputError(f"{whose} returned {typed(made)} instead of infills", FAULT)
        given = iter(made)
    for blank in blanks:
        with calling(whose, module):
            infill = next(given, None)
        if fault := fault_of(infill, blank):
            raise InputError(
                f"{whose} returned {fault} for {blank.story.id} position {blank.position}",
                f"A generator must fill every blank, in order. {FAULT}",
            )
        yield infill  # type: ignore[misc]  # as fault_of says


def let_check(generator: Generator, stories: Mapping[str, Story], blanks: Sequence[Blank]) -> None:
    """Let a generator say that it does not fit `stories`, all that there are by id, or any of `blanks`."""
    if isinstance(generator, ChecksStories):
        with calling(*_named(generator)):
            generator.check(stories, blanks)


def _named(generator: Generator) -> tuple[str, str]:
    return f"generator {generator.name!r}", type(generator).__module__


def fault_of(infill: object, blank: Blank) -> str:
    """What is wrong with what a generator returned for `blank`; empty if nothing is."""
    if not isinstance(infill, Infill):
        got = typed(infill)
    elif not isinstance(infill.blank, Blank):
        got = f"an infill for {typed(infill.blank)}"
    elif infill.blank != blank:
        got = f"{infill.blank.story.id} position {infill.blank.position}"
    else:
        fault = fault_in(infill)
        return f"an infill {fault}" if fault else ""
    return f"{got} instead of an infill"
