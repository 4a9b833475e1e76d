"""Opens checkpoints."""

from __future__ import annotations

from pathlib import Path

from generators.checkpoints.card import Card, card_of_kind, check_weights, probe, read_card
from generators.checkpoints.checkpoint import Checkpoint, ready
from generators.checkpoints.folder import file_of, is_release, refuse_missing
from generators.checkpoints.release import open_release, release_card
from generators.checkpoints.tokenizer import TOKENIZER, open_tokenizer
from generators.checkpoints.weights import CONFIG, WEIGHTS, build_model, fill, no_larger_than
from humaneval.errors import InputError


def load(folder: Path, *, kind: str | None = None, device: str = "cpu") -> Checkpoint:
    """Open a checkpoint of `kind`, or of any kind; published checkpoints, too. Raises InputError for missing
    or wrong weights, another tokenizer or another kind.
    """
    if is_release(folder):
        return open_release(folder, kind=kind or "ilm", device=device)
    card = card_of_kind(folder, kind)
    refuse_missing(folder, (CONFIG, WEIGHTS, TOKENIZER))
    tokenizer = open_tokenizer(file_of(folder, TOKENIZER))
    if probe(tokenizer) != card.probe:
        raise InputError(
            f"the tokenizer in {folder} is not the one that the model was trained with",
            f"Restore its {TOKENIZER}.",
        )
    config, weights = file_of(folder, CONFIG), file_of(folder, WEIGHTS)
    with no_larger_than([weights], config):
        model = build_model(config)
    fill(model, weights)
    return ready(folder, model, tokenizer, card, check_weights(folder, card), device)


def peek(folder: Path) -> Card:
    """The card of a checkpoint without opening it; published checkpoints, too. Raises InputError as
    `read_card` does."""
    if is_release(folder):
        return release_card(folder)
    return read_card(folder)
