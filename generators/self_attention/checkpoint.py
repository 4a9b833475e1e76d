"""The checkpoints of SA: a folder with config.json, model.safetensors, vocabulary.json and infilling.json. A
save is all or nothing."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from generators.checkpoints.card import Card, card_of_kind, check_weights
from generators.checkpoints.folder import CARD, file_of, refuse_missing, saving, write_json
from generators.checkpoints.tokenizer import PROBE
from generators.checkpoints.weights import (
    CONFIG,
    DAMAGED,
    WEIGHTS,
    digest,
    fill,
    first_line,
    no_larger_than,
    save_tensors,
)
from generators.self_attention.architecture import Architecture
from generators.self_attention.model import SelfAttention
from generators.self_attention.vocabulary import Vocabulary, open_vocabulary, save_vocabulary
from humaneval.errors import HumanEvalError, InputError
from humaneval.limits import DOCUMENT, read_whole

KIND, WORDS = "sa", "vocabulary.json"


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened checkpoint; the model is on its device, in evaluation mode."""

    model: SelfAttention
    vocabulary: Vocabulary
    card: Card
    hash: str
    """SHA-256 of the weights."""


def card_of(vocabulary: Vocabulary, training: dict[str, Any]) -> Card:
    """The card of a model with this vocabulary."""
    return Card(
        KIND, len(vocabulary), vocabulary.read(PROBE), training=training, blanks=["sentence"], mask="sentence"
    )


def save(
    folder: Path, model: SelfAttention, architecture: Architecture, vocabulary: Vocabulary, card: Card
) -> None:
    """Write a checkpoint. Raises InputError if that fails; the earlier checkpoint is then still whole."""
    with saving(folder, complete) as part:
        weights = {name: value.detach().contiguous().cpu() for name, value in model.state_dict().items()}
        save_tensors(weights, part / WEIGHTS, {"format": "pt"})
        write_json(part / CONFIG, {"model_type": KIND, **asdict(architecture)})
        save_vocabulary(vocabulary, part / WORDS)
        write_json(part / CARD, asdict(replace(card, weights=digest([part / WEIGHTS]))))


def complete(folder: Path) -> bool:
    """Whether the folder has all files of a checkpoint of SA."""
    return all(file_of(folder, name).exists() for name in (CARD, CONFIG, WEIGHTS, WORDS))


def load(folder: Path, device: str = "cpu") -> Opened:
    """Open a checkpoint. Raises InputError if a file is missing, damaged or of another model, or if the
    checkpoint is of another kind."""
    card = card_of_kind(folder, KIND)
    refuse_missing(folder, (CONFIG, WEIGHTS, WORDS))
    vocabulary = open_vocabulary(file_of(folder, WORDS))
    if len(vocabulary) != card.vocabulary or vocabulary.read(PROBE) != card.probe:
        raise InputError(f"the vocabulary in {folder} is not that of the model", f"Restore its {WORDS}.")
    config, weights = file_of(folder, CONFIG), file_of(folder, WEIGHTS)
    with no_larger_than([weights], config):
        model = SelfAttention(_architecture(config), len(vocabulary))
    any_model: Any = model
    fill(any_model, weights)
    return Opened(model.to(device).eval(), vocabulary, card, check_weights(folder, card))


def _architecture(config: Path) -> Architecture:
    try:
        values = json.loads(read_whole(config, most=DOCUMENT))
        numbers = {name: values[name] for name in ("layers", "width", "heads", "hidden")}
        if not all(isinstance(value, int) and value > 0 for value in numbers.values()):
            raise ValueError("a size is not a positive number")
        return Architecture(
            **numbers, dropout=float(values["dropout"]), scale_template=values["scale_template"] is True
        )
    except (
        OSError,
        ArithmeticError,
        ValueError,
        LookupError,
        TypeError,
        RecursionError,
        HumanEvalError,
    ) as error:
        raise InputError(f"{config} does not describe the model: {first_line(error)}", DAMAGED) from None
