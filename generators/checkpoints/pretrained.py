"""Pre-trained language models to start from: from the hub or a folder, checked, with rows for the special
tokens added."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from generators.checkpoints.folder import CARD, NEXT, RELEASED, input_rows, load
from generators.checkpoints.sequences import SpecialIds
from generators.checkpoints.tokenizer import PAIRS, PIECES, TOKENIZER, check_byte_level, open_tokenizer
from generators.checkpoints.weights import (
    CONFIG,
    DAMAGED,
    WEIGHTS,
    digest,
    first_line,
    positions,
    refuse_misfits,
    refuse_not_numbers,
)
from humaneval.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

RELEASED_TYPES = "additional_ids_to_tokens.pkl"
"""The third file of the paper's published checkpoints: it tells one from a base model, and is never
opened."""
SHARDED = ".index.json"
MASKS = (".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias")
"""Causal masks, which old files hold among the weights: not every version of the library knows them."""


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
    folder = Path(name).expanduser()
    local = folder.exists()
    if not local:
        folder = fetch(name)
    elif not folder.is_dir():
        raise InputError(
            f"{name} is a file, not a model's folder", f"Name a folder with {CONFIG} and {WEIGHTS}."
        )
    known = (CARD, NEXT, RELEASED_TYPES)
    if any((folder / file).exists() for file in known):
        base = _continued(folder, blanks)
    else:
        model, sha = read_model(folder)
        reader = open_tokenizer(tokenizer or folder)
        check_byte_level(reader, name)
        special = SpecialIds(input_rows(model), blanks)
        ids = max(reader.get_vocab().values()) + 1
        if ids > special.size:
            raise InputError(
                f"the tokenizer of {name} has {ids:,} ids, its model {special.size:,}",
                "They are of different models: name the right one with --tokenizer.",
            )
        deviation = enlarge(model, special.total, seed)
        base = Base(
            model, reader, special, {"sha256": sha, "new_rows": f"normal {deviation:g}", "seed": seed}
        )
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


def find_tokenizer(name: str) -> Tokenizer:
    """The tokenizer of a tokenizer.json, a folder or a hub id such as gpt2. InputError where it is not
    byte-level BPE."""
    path = Path(name).expanduser()
    tokenizer = open_tokenizer(path if path.exists() else fetch(name, weights=False))
    check_byte_level(tokenizer, name)
    return tokenizer


def fetch(name: str, *, weights: bool = True, example: str = "gpt2") -> Path:
    """The hub's model `name` in its local cache, or its tokenizer alone; fetched where it is not there
    yet."""
    hint = f"Name a model's folder or a hub id such as {example}."
    if name.startswith((".", "/", "~")) or "\\" in name or name.count("/") > 1:
        raise InputError(f"there is no folder {name}", hint)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError
    from huggingface_hub.errors import LocalEntryNotFoundError as NotInCache

    pairs = (file for pair in PAIRS for file in pair)
    small = [CONFIG, TOKENIZER, *pairs, *PIECES, "chat_template.jinja"]
    try:
        large = ["model*.safetensors", WEIGHTS + SHARDED] if weights else []
        folder = Path(snapshot_download(name, allow_patterns=[*small, *large]))
        if weights and not weight_files(folder):
            # Old models have nothing else; it is read as plain tensors.
            folder = Path(snapshot_download(name, allow_patterns=[*small, "pytorch_model*"]))
    except (RepositoryNotFoundError, HFValidationError):
        raise InputError(
            f"there is no folder {name}, and no such model on the hub (or it is not public)", hint
        ) from None
    except Exception as error:  # the hub's client has had several HTTP libraries, each with its own errors
        lost = isinstance(error, NotInCache)
        reason = "the hub cannot be reached, and the local cache lacks it" if lost else first_line(error)
        raise InputError(
            f"there is no folder {name}, and the model of that name cannot be fetched: {reason}",
            f"Download {CONFIG}, {WEIGHTS} and {TOKENIZER} where there is a network, and name their folder;"
            " or copy the hub's cache from there (HF_HOME). HF_HUB_OFFLINE=1 asks the cache alone.",
        ) from None
    return folder


def read_model(folder: Path) -> tuple[PreTrainedModel, str]:
    """The causal language model in a folder, in full precision, and the SHA-256 of its weights.

    InputError where weights are missing, left over, of another shape or no numbers, or the model looks ahead.
    """
    from transformers import AutoModelForCausalLM

    model, sha = open_weights(
        folder, AutoModelForCausalLM, unused=lambda name: name.endswith(MASKS), refuse_others=_refuse_others
    )
    _refuse_foresight(model, folder)
    return model, sha


def open_weights(
    folder: Path, auto: Any, *, unused: Callable[[str], bool], refuse_others: Callable[[Path], None]
) -> tuple[PreTrainedModel, str]:
    """The model in a folder by one of the library's Auto classes, in full precision, and the SHA-256 of its
    weights.

    `unused` tells names of weights that the file may hold and the class does not need; `refuse_others` may
    say better what is wrong where the model does not fit. InputError where weights are missing, left over, of
    another shape or no numbers.
    """
    import torch

    files = weight_files(folder)
    for present, file in (((folder / CONFIG).exists(), CONFIG), (bool(files), WEIGHTS)):
        if not present:
            raise InputError(f"{folder} lacks {file}", "Name a folder in the hub's layout.")
    with quiet():
        try:
            opened: Any = auto.from_pretrained(
                folder,
                dtype=torch.float32,
                local_files_only=True,
                trust_remote_code=False,
                weights_only=True,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
            )
        except Exception as error:  # what a damaged file raises differs with file and architecture
            refuse_others(folder)
            raise InputError(f"the model in {folder} cannot be opened: {_reason(error)}", DAMAGED) from None
    model: PreTrainedModel = opened[0]
    found: dict[str, Any] = opened[1]
    misfits = {
        "missing": found["missing_keys"],
        "unexpected": [name for name in found["unexpected_keys"] if not unused(name)],
        "misshapen": [name for name, *_ in found["mismatched_keys"]],
    }
    if any(misfits.values()):
        refuse_others(folder)
    refuse_misfits(str(folder), **misfits)
    refuse_not_numbers(model, str(folder))
    model.train(False)
    return model, digest(files)


def weight_files(folder: Path) -> list[Path]:
    """The files that hold the weights, in the order in which they are looked for."""
    for whole in (WEIGHTS, RELEASED):
        if (folder / whole).exists():
            return [folder / whole]
        index = folder / (whole + SHARDED)
        if index.exists():
            try:
                names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
            except (ValueError, KeyError, TypeError, AttributeError):
                raise InputError(f"{index} is damaged", DAMAGED) from None
            lacking = sorted(name for name in names if not (folder / name).exists())
            if lacking:
                raise InputError(f"{folder} lacks {lacking[0]}", "Copy all parts of the weights.")
            return [folder / name for name in sorted(names)]
    return []


def _reason(error: Exception) -> str:
    from pickle import UnpicklingError

    if isinstance(error, UnpicklingError):
        return f"{RELEASED} holds more than tensors, and was not opened"
    return first_line(error)


def architectures(folder: Path) -> list[str]:
    """What the model in a folder says itself that it is; nothing where it does not say."""
    try:
        names = json.loads((folder / CONFIG).read_text(encoding="utf-8")).get("architectures") or []
    except (OSError, ValueError, AttributeError):
        return []
    return [name for name in names if isinstance(name, str)]


def _refuse_others(folder: Path) -> None:
    """InputError where the model, which does not fit, says itself that it is no causal one: BERT, T5, a
    classifier."""
    for name in architectures(folder):
        if "For" in name and not name.endswith("ForCausalLM"):
            raise InputError(
                f"{folder} holds a {name}, which is no causal language model",
                "Choose one that writes from left to right, such as gpt2.",
            )


def _refuse_foresight(model: PreTrainedModel, folder: Path) -> None:
    """InputError where what the model says about a token depends on a later one: BERT and its like write
    no text."""
    import torch

    ids = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 5]], device=model.device)
    with torch.inference_mode():
        first, second = model(input_ids=ids, use_cache=False).logits[:, :3]
    if model.config.is_encoder_decoder or not torch.allclose(first, second, rtol=1e-3, atol=1e-3):
        raise InputError(
            f"{type(model).__name__} in {folder} does not write from left to right",
            "Choose a causal language model such as gpt2.",
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


@contextmanager
def quiet() -> Iterator[None]:
    """No bars and warnings of the library while a model is read: what matters is said as an error."""
    import transformers.utils.logging

    logging: Any = transformers.utils.logging  # untyped
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
