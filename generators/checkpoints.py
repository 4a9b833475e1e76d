"""Checkpoints: a folder with config.json, model.safetensors, tokenizer.json and infilling.json. No pickles."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generators.formats import SpecialIds
from humaneval.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import GPT2LMHeadModel

CARD = "infilling.json"
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
PROBE = "“Don’t!” said Zoë — 12 naïve  apples…\n"
"""A text whose ids the card keeps: a tokenizer that reads it in another way is another tokenizer."""


@dataclass(frozen=True, slots=True)
class Card:
    """What a checkpoint is: how it was made, and what to check when it is opened."""

    kind: str
    """The generator kind: lm, ilm."""
    vocabulary: int
    """Tokens without the special ones; the special ids follow."""
    probe: list[int]
    training: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An opened checkpoint."""

    model: GPT2LMHeadModel
    tokenizer: Tokenizer
    card: Card
    hash: str
    """SHA-256 of the weights."""

    @property
    def special(self) -> SpecialIds:
        return SpecialIds(self.card.vocabulary)


def save(folder: Path, model: GPT2LMHeadModel, tokenizer: Tokenizer, card: Card) -> None:
    """Write a checkpoint; each file appears whole or not at all, the card last."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    # The output layer is the embedding (tied): one copy is kept.
    weights = {
        name: value.detach().contiguous().cpu()
        for name, value in model.state_dict().items()
        if name != "lm_head.weight"
    }
    _whole(folder / WEIGHTS, lambda part: save_file(weights, part, metadata={"format": "pt"}))
    _whole(folder / "config.json", lambda part: model.config.to_json_file(str(part), use_diff=False))
    _whole(folder / TOKENIZER, lambda part: tokenizer.save(str(part)))
    text = json.dumps(
        {"kind": card.kind, "vocabulary": card.vocabulary, "probe": card.probe, "training": card.training},
        ensure_ascii=False,
        indent=2,
    )
    _whole(folder / CARD, lambda part: Path(part).write_text(text + "\n", encoding="utf-8"))


def _whole(path: Path, write: Any) -> None:
    part = path.with_name(path.name + ".part")
    try:
        write(part)
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(
            f"{path} cannot be written: {error.strerror or error}", "The checkpoint before it is still whole."
        ) from None


def load(folder: Path, *, kind: str, device: str = "cpu") -> Checkpoint:
    """Open a checkpoint of `kind`. Missing or strange weights, another tokenizer or another kind are InputErrors."""
    import torch
    from safetensors.torch import load_file
    from tokenizers import Tokenizer
    from transformers import GPT2Config, GPT2LMHeadModel

    card = read_card(folder)
    if card.kind != kind:
        raise InputError(
            f"{folder} is a checkpoint of kind {card.kind!r}, not {kind!r}", f"Use --generator {card.kind}."
        )
    for name in ("config.json", WEIGHTS, TOKENIZER):
        if not (folder / name).exists():
            raise InputError(f"{folder} lacks {name}", "Copy the whole folder, or train again.")
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    if tokenizer.encode(PROBE, add_special_tokens=False).ids != card.probe:
        raise InputError(
            f"the tokenizer in {folder} does not read as the one the model was trained with",
            "Restore its tokenizer.json.",
        )
    model = GPT2LMHeadModel(GPT2Config.from_json_file(str(folder / "config.json")))
    weights = load_file(folder / WEIGHTS)
    found = model.load_state_dict(weights, strict=False)
    missing = [name for name in found.missing_keys if name != "lm_head.weight"]
    if missing or found.unexpected_keys:
        raise InputError(
            f"the weights in {folder} do not fit: {len(missing)} missing, {len(found.unexpected_keys)} unexpected",
            "The checkpoint is damaged or of another model.",
        )
    model.tie_weights()
    rows = model.transformer.wte.num_embeddings
    if rows != SpecialIds(card.vocabulary).total:
        raise InputError(f"{folder} has {rows} embeddings, not {SpecialIds(card.vocabulary).total}")
    digest = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    torch.nn.Module.to(model, device)
    model.train(False)
    return Checkpoint(model, tokenizer, card, digest)


def read_card(folder: Path) -> Card:
    """The card of the checkpoint in `folder`."""
    try:
        values = json.loads((folder / CARD).read_text(encoding="utf-8"))
        return Card(values["kind"], values["vocabulary"], values["probe"], values.get("training", {}))
    except FileNotFoundError:
        raise InputError(
            f"{folder} is not a checkpoint: it has no {CARD}",
            "Name the folder that `humaneval train` wrote with --checkpoint.",
        ) from None
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise InputError(f"{folder / CARD} is damaged: {error}") from None
