"""Opens checkpoints: the door of the room for everything that reads one."""

from __future__ import annotations

from pathlib import Path

from generators.checkpoints.card import Card, probe, read_card
from generators.checkpoints.checkpoint import Checkpoint, ready
from generators.checkpoints.folder import CARD, file_of, is_release
from generators.checkpoints.release import open_release, release_card
from generators.checkpoints.tokenizer import TOKENIZER, open_tokenizer
from generators.checkpoints.weights import CONFIG, WEIGHTS, build_model, digest, fill
from humaneval.errors import InputError


def load(folder: Path, *, kind: str | None = None, device: str = "cpu") -> Checkpoint:
    """Open a checkpoint of `kind`, or of any; one of the original release too.

    Missing or strange weights, another tokenizer or another kind are InputErrors.
    """
    if is_release(folder):
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
    return ready(folder, model, tokenizer, card, sha, device)


def peek(folder: Path) -> Card:
    """The card of a checkpoint that is not opened yet, one of the original release too. Raises as `read_card`
    does."""
    if is_release(folder):
        return release_card(folder)
    return read_card(folder)
