"""The kinds of generators that are installed: found by entry point, and imported only to be built.

A second entry-point group tells what lies in a folder, so that nobody has to name the kind of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import NamedTuple

from humaneval.domain import FillsText, Generator, GeneratorRequest, refuse_name
from humaneval.errors import InputError, PrerequisiteError, UsageError

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
    point = _entry_point(request.kind)
    try:
        builder: Callable[[GeneratorRequest], Sequence[Generator]] = point.load()
        made = builder(request)
    except ModuleNotFoundError as error:
        ours = point.module.partition(".")[0] == "generators"
        package = "'humaneval-toolkit[models]'" if ours else (error.name or "").partition(".")[0]
        raise PrerequisiteError(
            f"generator {request.kind!r} needs the package {error.name}", f"pip install {package}"
        ) from None
    for generator in made:
        refuse_name(generator.name)
    return made


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
    looks: list[Callable[[Path], Recognised | None]] = [
        point.load() for point in sorted(entry_points(group=CHECKPOINTS))
    ]
    return lambda folder: next(filter(None, (look(folder) for look in looks)), None)


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
