"""The model that training starts from: a pre-trained one with added rows, or a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from generators.checkpoints.folder import CARD, NEXT
from generators.checkpoints.loading import load
from generators.checkpoints.pretrained import find_folder, read_model
from generators.checkpoints.sequences import CONTEXT_LENGTH, SpecialIds
from generators.checkpoints.tokenizer import check_byte_level, open_tokenizer
from generators.checkpoints.weights import input_rows, positions
from humaneval.errors import InputError

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

RELEASED_TYPES = "additional_ids_to_tokens.pkl"
"""The third file of the paper's published checkpoints: it distinguishes them from base models, and is never
opened."""


class Base(NamedTuple):
    """A model to train further, its tokenizer, the ids of the special tokens, and where it comes from."""

    model: PreTrainedModel
    tokenizer: Tokenizer
    special: SpecialIds
    origin: dict[str, Any]


def open_base(name: str, *, blanks: tuple[str, ...], seed: int = 0, tokenizer: Path | None = None) -> Base:
    """The model `name`: a hub id such as gpt2, a folder in the hub's layout, or a checkpoint to train
    further.

    `seed` draws the rows of the special tokens; `tokenizer` replaces the model's own. Raises InputError if
    anything is missing or does not fit.
    """
    folder, local = find_folder(name), Path(name).expanduser().exists()
    known = (CARD, NEXT, RELEASED_TYPES)
    if any((folder / file).exists() for file in known):
        base = _continued(folder, blanks)
    else:
        found = read_model(folder)
        reader = open_tokenizer(tokenizer or folder)
        check_byte_level(reader, name)
        special = SpecialIds(input_rows(found.model), blanks)
        ids = max(reader.get_vocab().values()) + 1
        if ids > special.size:
            raise InputError(
                f"the tokenizer of {name} has {ids:,} ids, its model {special.size:,}",
                "They belong to different models: name the right tokenizer with --tokenizer.",
            )
        deviation = enlarge(found.model, special.total, seed)
        origin = {"sha256": found.sha256, "new_rows": f"normal {deviation:g}", "seed": seed}
        base = Base(found.model, reader, special, origin)
    if positions(base.model) < CONTEXT_LENGTH:
        raise InputError(
            f"{name} reads at most {positions(base.model)} tokens, not {CONTEXT_LENGTH}",
            "Choose another model.",
        )
    origin = {
        "from": folder.resolve().name if local else name,
        # The hub's folders are named by commit.
        **({} if local else {"revision": folder.name}),
        "architecture": type(base.model).__name__,
        **base.origin,
    }
    return base._replace(origin=origin)


def _continued(folder: Path, blanks: tuple[str, ...]) -> Base:
    """A checkpoint to train further: it already has the special tokens, and they stay the same."""
    opened = load(folder)
    if opened.special.blanks != blanks:
        raise InputError(
            f"{folder} was trained with blanks for {', '.join(opened.special.blanks)}, not"
            f" {', '.join(blanks)}",
            "Train with the same masks, or start from the model that it was trained from.",
        )
    # The tables of perplexity must not call a model pre-trained if training went on from random weights.
    began = {"began": "scratch"} if opened.card.scratch else {}
    return Base(
        opened.model, opened.tokenizer, opened.special, {"sha256": opened.hash, "new_rows": "none", **began}
    )


def enlarge(model: PreTrainedModel, total: int, seed: int) -> float:
    """Give the embedding and the output layer `total` rows, and return the standard deviation of the new
    ones. The old rows stay the same bit for bit.

    The library's own method starts all new rows near the mean of the old ones, so that they hardly differ.
    """
    import torch

    layers: Any = model  # torch does not know the types of a layer's fields
    inputs, outputs = layers.get_input_embeddings(), layers.get_output_embeddings()
    rows = input_rows(model)
    if outputs is None or outputs.weight.shape[0] != rows:
        raise InputError(f"{type(model).__name__} has no output layer with the rows of its embedding")
    config = model.config.get_text_config()
    deviation = float(getattr(config, "initializer_range", None) or 0.02)
    chance = torch.Generator().manual_seed(seed)

    def longer(old: torch.Tensor) -> torch.nn.Parameter:
        new = torch.zeros(total - rows, *old.shape[1:])
        if old.dim() > 1:  # a bias starts at zero
            new.normal_(0.0, deviation, generator=chance)
        return torch.nn.Parameter(torch.cat([old.detach(), new.to(old)]))

    tied = outputs.weight is inputs.weight
    inputs.weight = longer(inputs.weight)
    inputs.num_embeddings = total
    outputs.weight = inputs.weight if tied else longer(outputs.weight)
    if getattr(outputs, "bias", None) is not None:
        outputs.bias = longer(outputs.bias)
    outputs.out_features = total
    config.vocab_size = total
    return deviation
