"""Checkpoints: a folder with config.json, model.safetensors, tokenizer.json and infilling.json. No pickles.

A save is all or nothing: the four files are written into `next.part`, which becomes `next` by one rename;
from then on they count, and are moved to their places. Killed or out of space at any point, either the old
four or the new load.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generators.checkpoints.sequences import SpecialIds
from generators.checkpoints.tokenizer import PROBE as PROBE
from generators.checkpoints.tokenizer import TOKENIZER as TOKENIZER
from generators.checkpoints.tokenizer import open_tokenizer, unread
from generators.checkpoints.weights import (
    CONFIG,
    build_model,
    digest,
    distinct,
    fill,
    first_line,
    save_tensors,
)
from generators.checkpoints.weights import WEIGHTS as WEIGHTS
from generators.masks.hierarchical import Granularity
from humaneval.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

CARD, NEXT, PART = "infilling.json", "next", "next.part"
RELEASED = "pytorch_model.bin"


@dataclass(frozen=True, slots=True)
class Card:
    """What a checkpoint is: how it was made, and what to check when it is opened."""

    kind: str
    """The generator kind: lm, lm-rev, lm-all, ilm."""
    vocabulary: int
    """Ids without the special ones; the special ids follow."""
    probe: list[int]
    training: dict[str, Any] = field(default_factory=dict)
    blanks: list[str] = field(default_factory=lambda: [str(type) for type in Granularity])
    """The mask's types of spans: each has a blank token."""
    mask: str = "hierarchical"
    corpus: str = "stories"
    weights: str = ""
    """SHA-256 of the weights' file, written when it is saved."""

    @property
    def scratch(self) -> bool:
        """Whether it goes back to random weights, perhaps by way of other checkpoints of ours."""
        return bool(self.training.get("began", self.training.get("from", "scratch")) == "scratch")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An opened checkpoint."""

    model: PreTrainedModel
    tokenizer: Tokenizer
    card: Card
    hash: str
    """SHA-256 of the weights."""
    unread: Sequence[int] = ()
    """Ids below the special ones that no text is read as, and that none should be written with: end-of-text
    and the like."""

    @property
    def special(self) -> SpecialIds:
        return SpecialIds(self.card.vocabulary, tuple(self.card.blanks))


def save(folder: Path, model: PreTrainedModel, tokenizer: Tokenizer, card: Card) -> None:
    """Write a checkpoint, its weights in full precision. InputError where that fails: the one before is then
    still whole."""
    import torch

    weights = {
        name: (value.to(torch.float32) if value.is_floating_point() else value).contiguous().cpu()
        for name, value in distinct(model).items()
    }
    config = {
        **json.loads(model.config.to_json_string(use_diff=False)),
        "architectures": [type(model).__name__],
        "dtype": "float32",
    }
    with saving(folder, complete) as part:
        save_tensors(weights, part / WEIGHTS, {"format": "pt"})
        write_json(part / CONFIG, config)
        (part / TOKENIZER).write_text(tokenizer.to_str(pretty=True), encoding="utf-8")
        write_json(part / CARD, asdict(replace(card, weights=digest([part / WEIGHTS]))))


@contextmanager
def saving(folder: Path, complete: Callable[[Path], bool]) -> Iterator[Path]:
    """Where to write the files of a checkpoint; they take their places in `folder` once all of them are on
    the disk.

    InputError where anything fails; `complete` tells whether there is one from before.
    """
    from safetensors import SafetensorError

    part = folder / PART
    try:
        folder.mkdir(parents=True, exist_ok=True)
        settle(folder)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        yield part
        for path in (*part.iterdir(), part):
            sync(path)
        part.rename(folder / NEXT)
        sync(folder)
        settle(folder)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(part, ignore_errors=True)
        reason = getattr(error, "strerror", None) or first_line(error)
        raise InputError(
            f"the checkpoint in {folder} cannot be written: {reason}",
            "The one before it is still whole." if complete(folder) else "Make room, or name another folder.",
        ) from None


def write_json(path: Path, values: dict[str, Any]) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def settle(folder: Path) -> None:
    """Move the files of a finished save to their places; a save that was killed while it did so is
    finished here."""
    ready = folder / NEXT
    if ready.is_dir():
        for path in ready.iterdir():
            path.replace(folder / path.name)
        ready.rmdir()
        sync(folder)


def sync(path: Path) -> None:
    """See that what is written is on the disk: a rename must not overtake it."""
    with suppress(PermissionError):  # Windows opens no folder
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def file_of(folder: Path, name: str) -> Path:
    ready = folder / NEXT / name
    return ready if ready.exists() else folder / name


def load(folder: Path, *, kind: str | None = None, device: str = "cpu") -> Checkpoint:
    """Open a checkpoint of `kind`, or of any; one of the original release too.

    Missing or strange weights, another tokenizer or another kind are InputErrors.
    """
    if is_release(folder):
        from generators.checkpoints.release import open_release

        return open_release(folder, kind=kind or "ilm", device=device)
    card = read_card(folder)
    if kind is not None and card.kind != kind:
        raise InputError(
            f"{folder} is a checkpoint of kind {card.kind!r}, not {kind!r}", f"Use --generator {card.kind}."
        )
    for name in (CONFIG, WEIGHTS, TOKENIZER):
        if not file_of(folder, name).exists():
            raise InputError(f"{folder} lacks {name}", "Copy the whole folder, or train again.")
    tokenizer = open_tokenizer(file_of(folder, TOKENIZER))
    if probe(tokenizer) != card.probe:
        raise InputError(
            f"the tokenizer in {folder} does not read as the one the model was trained with",
            f"Restore its {TOKENIZER}.",
        )
    model = build_model(file_of(folder, CONFIG))
    fill(model, file_of(folder, WEIGHTS))
    sha = digest([file_of(folder, WEIGHTS)])
    if card.weights not in ("", sha):
        raise InputError(
            f"{WEIGHTS} in {folder} is not the file that {CARD} was written with",
            "Copy the whole folder again.",
        )
    return checkpoint(folder, model, tokenizer, card, sha, device)


def checkpoint(
    folder: Path, model: PreTrainedModel, tokenizer: Tokenizer, card: Card, sha: str, device: str
) -> Checkpoint:
    """An opened checkpoint on its device; InputError where the card names another number of ids than the
    model has."""
    import torch

    rows, total = input_rows(model), SpecialIds(card.vocabulary, tuple(card.blanks)).total
    if rows != total:
        raise InputError(f"{folder} has {rows} embeddings, not {total}", "Its files are of different models.")
    torch.nn.Module.to(model, device)
    model.train(False)
    return Checkpoint(model, tokenizer, card, sha, unread(tokenizer, card.vocabulary))


def input_rows(model: PreTrainedModel) -> int:
    """How many ids the model has an embedding for."""
    embedding: Any = model.get_input_embeddings()
    return int(embedding.weight.shape[0])


def probe(tokenizer: Tokenizer) -> list[int]:
    """How the tokenizer reads a text that shows whether it is the same one later."""
    return list(tokenizer.encode(PROBE, add_special_tokens=False).ids)


def complete(folder: Path) -> bool:
    """Whether the folder has all files of a checkpoint of ours."""
    return all(file_of(folder, name).exists() for name in (CARD, CONFIG, WEIGHTS, TOKENIZER))


def is_release(folder: Path) -> bool:
    """Whether a folder is laid out as the paper's published checkpoints are: config and weights, and no
    card."""
    return not file_of(folder, CARD).exists() and (folder / CONFIG).exists() and (folder / RELEASED).exists()


def peek(folder: Path) -> Card:
    """The card of a checkpoint that is not opened yet, one of the original release too. Raises as `read_card`
    does."""
    if is_release(folder):
        from generators.checkpoints.release import release_card

        return release_card(folder)
    return read_card(folder)


def read_card(folder: Path) -> Card:
    """The card of the checkpoint in `folder`. InputError where there is none, or it makes no sense."""
    path = file_of(folder, CARD)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        card = Card(**{name: values[name] for name in ("kind", "vocabulary", "probe")})
        later = ("training", "blanks", "mask", "corpus", "weights")
        card = replace(card, **{name: values[name] for name in later if name in values})
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{folder} is not a checkpoint: it has no {CARD}",
            "Name the folder that `humaneval train` wrote with --checkpoint.",
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged: {first_line(error)}", "Restore it.") from None
    fine = (
        isinstance(card.kind, str)
        and isinstance(card.vocabulary, int)
        and isinstance(card.probe, list)
        and isinstance(card.training, dict)
        and isinstance(card.blanks, list)
        and all(isinstance(blank, str) for blank in card.blanks)
    )
    if not fine:
        raise InputError(f"{path} is damaged: a value is of the wrong type", "Restore it.")
    return card
