"""A checkpoint that is open, and how it is saved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from generators.checkpoints.card import Card
from generators.checkpoints.folder import CARD, complete, saving, write_json
from generators.checkpoints.sequences import SpecialIds
from generators.checkpoints.served import served_files
from generators.checkpoints.tokenizer import unread
from generators.checkpoints.weights import (
    CONFIG,
    WEIGHTS,
    digest,
    distinct,
    input_rows,
    positions,
    save_tensors,
)
from humaneval.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An opened checkpoint."""

    model: PreTrainedModel
    tokenizer: Tokenizer
    card: Card
    hash: str
    """SHA-256 of the weights."""
    unread: Sequence[int] = ()
    """Ids below the special ones that no text is read as, and that should not be written, such as
    end-of-text."""

    @property
    def special(self) -> SpecialIds:
        return SpecialIds(self.card.vocabulary, tuple(self.card.blanks))


def save(folder: Path, model: PreTrainedModel, tokenizer: Tokenizer, card: Card) -> None:
    """Write a checkpoint with its weights in full precision. Raises InputError if that fails; the earlier
    checkpoint is then still whole."""
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
        special = SpecialIds(card.vocabulary, tuple(card.blanks))
        files = served_files(tokenizer, special, unread(tokenizer, card.vocabulary), positions(model))
        for name, text in files.items():
            (part / name).write_text(text, encoding="utf-8")
        write_json(part / CARD, asdict(replace(card, weights=digest([part / WEIGHTS]))))


def ready(
    folder: Path, model: PreTrainedModel, tokenizer: Tokenizer, card: Card, sha: str, device: str
) -> Checkpoint:
    """An opened checkpoint on its device. Raises InputError if the card and the model have different numbers
    of ids."""
    import torch

    rows, total = input_rows(model), SpecialIds(card.vocabulary, tuple(card.blanks)).total
    if rows != total:
        raise InputError(
            f"{folder} has {rows} embeddings, not {total}",
            "Its files belong to different models: copy the whole folder again.",
        )
    torch.nn.Module.to(model, device)
    model.train(False)
    return Checkpoint(model, tokenizer, card, sha, unread(tokenizer, card.vocabulary))
