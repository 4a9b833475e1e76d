"""The model that training starts from: a pre-trained one with rows for the special tokens, or a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from generators.checkpoints.folder import CARD, NEXT
from generators.checkpoints.loading import load
from generators.checkpoints.pretrained import find_folder, read_model
from generators.checkpoints.sequences import SpecialIds
from generators.checkpoints.tokenizer import check_byte_level, open_tokenizer
from generators.checkpoints.weights import input_rows, positions
from humaneval.errors import InputError

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

RELEASED_TYPES = "additional_ids_to_tokens.pkl"
"""The third file of the paper's published checkpoints: it tells one from a base model, and is never
opened."""


class Base(NamedTuple):
    """A model to train further, its tokenizer, the ids of the special tokens, and where it comes from."""

    model: PreTrainedModel
    tokenizer: Tokenizer
    special: SpecialIds
    origin: dict[str, Any]


def open_base(
    name: str, *, blanks: tuple[str, ...], seed: int = 0, context: int = 256, tokenizer: Path | None = None
) -> Base:
    """The model `name`: a hub id such as gpt2, a folder in the hub's layout, or a checkpoint to train further.

    `seed` draws the rows of the special tokens; `context` is how many tokens it must be able to read;
    `tokenizer` stands in for the model's own. InputError where anything is missing or does not fit.
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
                "They are of different models: name the right one with --tokenizer.",
            )
        deviation = enlarge(found.model, special.total, seed)
        origin = {"sha256": found.sha256, "new_rows": f"normal {deviation:g}", "seed": seed}
        base = Base(found.model, reader, special, origin)
    if positions(base.model) < context:
        raise InputError(
            f"{name} reads at most {positions(base.model)} tokens, not {context}", "Choose another model."
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
    """A checkpoint to train further: it has the special tokens, and they stay what they are."""
    opened = load(folder)
    if opened.special.blanks != blanks:
        raise InputError(
            f"{folder} was trained with blanks for {', '.join(opened.special.blanks)}, not"
            f" {', '.join(blanks)}",
            "Train with the same masks, or start from the model that it was made from.",
        )
    # The tables of perplexity must not call a model pre-trained that was only trained on.
    began = {"began": "scratch"} if opened.card.scratch else {}
    return Base(
        opened.model, opened.tokenizer, opened.special, {"sha256": opened.hash, "new_rows": "none", **began}
    )


def enlarge(model: PreTrainedModel, total: int, seed: int) -> float:
    """Give the embedding and the output layer `total` rows; the old ones stay bit for bit. Returns the new
    ones' deviation.

    The library's own way starts all new rows near the mean of the old, so that no two of them differ much.
    """
    import torch

    layers: Any = model  # torch knows a layer's fields only by name
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
