"""Finds what can fill the blanks of any text here: checkpoints under a folder, and kinds that need none."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from humaneval.domain import FillsText
from humaneval.errors import InputError
from humaneval.kinds import kind_of, open_filler, recogniser
from humaneval.text import command

DEEPEST = 3
"""Checkpoints lie at most so many folders below the one that is searched."""
MOST_FOLDERS = 3000
SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__"})
ALONE = "control"
"""The kind that needs neither a checkpoint nor torch. It shows how things work where nothing else is."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A generator that can be opened: its kind, its checkpoint, and the types of blanks that it fills, as far
    as its files tell them."""

    kind: str
    checkpoint: str = ""
    types: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What no other offer has."""
        return f"{self.kind}:{self.checkpoint}"

    @property
    def name(self) -> str:
        """What people call it: its folder, and its kind where the folder does not say it."""
        folder = Path(self.checkpoint).name if self.checkpoint else ""
        if not folder or folder == self.kind:
            return self.kind
        return folder if self.kind in folder.split("-") else f"{folder} ({self.kind})"

    def open(self, device: str = "auto") -> FillsText:
        """The generator. Raises what `open_filler` does."""
        return open_filler(self.kind, self.checkpoint, device=device, options=self.options)


def named_offers(
    kind: str, checkpoints: Sequence[str], options: Mapping[str, str] | None = None
) -> list[Offer]:
    """One offer for each checkpoint, of its own kind or of the named one; without checkpoints, that of the
    kind. Raises InputError for a checkpoint that does not tell its kind, if none is named."""
    options = options or {}
    if not checkpoints:
        return [Offer(kind, types=_types_alone(kind), options=options)] if kind else []
    look, found = recogniser(), []
    for checkpoint in checkpoints:
        folder = Path(checkpoint).expanduser()
        seen = look(folder) if folder.is_dir() else None
        its = kind or (seen.kind if seen else kind_of(checkpoint))
        types = seen.types if seen and seen.kind == its else ()
        found.append(Offer(its, checkpoint, types, options))
    return found


def found_offers(folder: Path) -> list[Offer]:
    """An offer for each checkpoint that lies under a folder, by name. Damaged ones are left out."""
    look, found = recogniser(), []
    for place in _folders(folder):
        try:
            seen = look(place)
        except InputError:
            continue
        if seen:
            found.append(Offer(seen.kind, str(place), seen.types))
    inside = {offer.checkpoint for offer in found}
    outer = [o for o in found if not inside & {str(parent) for parent in Path(o.checkpoint).parents}]
    return sorted(outer, key=lambda offer: offer.checkpoint)


def alone() -> Offer:
    """The generator that is always there."""
    return Offer(ALONE, types=_types_alone(ALONE))


class Missing(NamedTuple):
    """What is missing, and the one command that mends it; both empty if nothing is."""

    why: str = ""
    how: str = ""


def missing(offers: Sequence[Offer]) -> Missing:
    """What is missing for a model to write here."""
    train = command("train", "ilm", "--bundled", "--from-scratch", "--preset", "small", "--out", "ilm")
    if find_spec("torch") is None:
        return Missing(
            "The models need PyTorch, which is not installed. Install it in the folder of the toolkit. Then"
            f" copy a checkpoint into this folder, or train a small one: `{train}`.",
            "pip install '.[models]'",
        )
    if all(offer.kind == ALONE for offer in offers):
        return Missing(
            f"There is no model in this folder, {Path().absolute()}. Copy a checkpoint into it, or train a"
            " small one in ten minutes:",
            train,
        )
    return Missing()


def _types_alone(kind: str) -> tuple[str, ...]:
    return ("sentence",) if kind == ALONE else ()


def _folders(folder: Path) -> Iterator[Path]:
    """A folder and those below it, the nearest first. Links and hidden folders are left out."""
    waiting = deque([(folder, 0)])
    for _ in range(MOST_FOLDERS):
        if not waiting:
            return
        place, depth = waiting.popleft()
        yield place
        if depth == DEEPEST:
            continue
        try:
            below = sorted(
                entry.name
                for entry in os.scandir(place)
                if entry.is_dir(follow_symlinks=False) and entry.name not in SKIPPED
            )
        except OSError:
            continue
        waiting += [(place / name, depth + 1) for name in below if not name.startswith(".")]
