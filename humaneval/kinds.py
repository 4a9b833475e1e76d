"""The kinds of generators that are installed: found by entry point, and imported only to be built.

A second entry-point group tells what lies in a folder, so that nobody has to name the kind of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import NamedTuple

from humaneval.domain import FillsText, Generator, GeneratorRequest, Provenance, refuse_name
from humaneval.errors import InputError, PrerequisiteError, UsageError
from humaneval.plugins import FAULT, calling, no_json, typed

GROUP = "humaneval.generators"
CHECKPOINTS = "humaneval.checkpoints"
"""The group of functions that look at a folder and return what it is, or None."""


class Kind(NamedTuple):
    """A registered kind of generator. None of its code is imported."""

    name: str
    target: str
    distribution: str


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a folder holds: a checkpoint for this kind of generator, and the types of blanks that it fills."""

    kind: str
    types: tuple[str, ...]


def kinds() -> list[Kind]:
    """Every registered kind, by name."""
    return sorted(
        Kind(point.name, point.value, point.dist.name if point.dist else "")
        for point in entry_points(group=GROUP)
    )


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """The generators that `request` describes: nearly always one. Raises UsageError for a name that none can
    have."""
    if request.name:
        refuse_name(request.name)
    point, whose = _entry_point(request.kind), f"generator {request.kind!r}"
    with calling(whose, point.module):
        try:
            made: Sequence[Generator] = point.load()(request)
        except ModuleNotFoundError as error:
            ours = point.module.partition(".")[0] == "generators"
            package = "'humaneval-toolkit[models]'" if ours else (error.name or "").partition(".")[0]
            raise PrerequisiteError(
                f"{whose} needs the package {error.name}", f"pip install {package}"
            ) from None
        if fault := _fault_in(made):
            raise InputError(f"{whose}: {point.value} returned {fault}", FAULT)
    for generator in made:
        refuse_name(generator.name)
    return made


def _fault_in(made: object) -> str:
    """What is wrong with what the function of a kind returned; empty if nothing is."""
    if not isinstance(made, list | tuple) or not made:
        return f"{'an empty list' if made == [] else typed(made)} instead of a list of generators"
    for one in made:
        if not isinstance(one, Generator):
            return f"{typed(one)}, which lacks a name, a provenance or infill()"
        from_where = one.provenance
        if not isinstance(one.name, str) or not isinstance(from_where, Provenance):
            return "a generator whose name is no str, or whose provenance is no Provenance"
        if not isinstance(from_where.kind, str) or not isinstance(from_where.seed, int):
            return "a provenance whose kind is no str, or whose seed is no int"
        if why := no_json(asdict(from_where)):
            return f"a provenance that is no JSON: {why}"
    return ""


def _entry_point(kind: str) -> EntryPoint:
    found = list(entry_points(group=GROUP, name=kind))
    if not found:
        raise UsageError(
            f"there is no generator kind {kind!r}", f"Kinds: {', '.join(k.name for k in kinds())}."
        )
    return found[0]


def recogniser() -> Callable[[Path], Recognised | None]:
    """A function that says what the checkpoint in a folder is, as far as its files tell. It opens no model.

    It raises InputError for a checkpoint that is damaged.
    """
    points = sorted(entry_points(group=CHECKPOINTS))

    def look(point: EntryPoint, folder: Path) -> Recognised | None:
        with calling(f"checkpoints {point.name!r}", point.module):
            found = point.load()(folder)
            if found is None or isinstance(found, Recognised):
                return found
        raise InputError(f"{point.value} returned {typed(found)} instead of a Recognised", FAULT)

    return lambda folder: next(filter(None, (look(point, folder) for point in points)), None)


def kind_of(checkpoint: str) -> str:
    """The kind of a checkpoint's folder. Raises InputError if its files do not tell."""
    folder = Path(checkpoint).expanduser()
    found = recogniser()(folder) if folder.is_dir() else None
    if found is None:
        why = "does not say which kind of generator it is for" if folder.is_dir() else "is not a folder here"
        raise InputError(
            f"{checkpoint} {why}",
            f"Name the kind with --generator: {', '.join(kind.name for kind in kinds())}.",
        )
    return found.kind


def open_filler(
    kind: str, checkpoint: str = "", *, device: str = "auto", options: Mapping[str, str] | None = None
) -> FillsText:
    """The generator of a kind, or of a checkpoint that tells its kind, which fills the blanks of any text.

    Raises UsageError if it fills only stories.
    """
    if not kind and not checkpoint:
        raise UsageError("no generator is named", "Name a kind, or the folder of a checkpoint.")
    kind = kind or kind_of(checkpoint)
    request = GeneratorRequest(kind, checkpoint=checkpoint, device=device, options=options or {})
    generator, *others = build(request)
    if others or not isinstance(generator, FillsText):
        raise UsageError(
            f"{kind} fills only stories",
            "Choose a kind that writes, such as ilm, lm or bert, or control to try things out.",
        )
    return generator
