"""Pre-trained models: fetched from the hub or read from a folder, and checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import is_zipfile

from generators.checkpoints.folder import RELEASED
from generators.checkpoints.tokenizer import PAIRS, PIECES, TOKENIZER, check_byte_level, open_tokenizer
from generators.checkpoints.weights import (
    BESIDE,
    CONFIG,
    DAMAGED,
    GROWTH,
    WEIGHTS,
    digest,
    first_line,
    no_larger_than,
    refuse_misfits,
    refuse_not_numbers,
)
from humaneval.errors import InputError
from humaneval.limits import DOCUMENT, read_whole

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

SHARDED = ".index.json"
MASKS = (".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias")
"""Causal masks that old files have among the weights; not every version of the library has them."""


class Read(NamedTuple):
    """A model as it was read, and the SHA-256 of its weights."""

    model: PreTrainedModel
    sha256: str


def find_tokenizer(name: str) -> Tokenizer:
    """The tokenizer of a tokenizer.json, a folder or a hub id such as gpt2. Raises InputError if it is not a
    byte-level BPE."""
    path = Path(name).expanduser()
    tokenizer = open_tokenizer(path if path.exists() else fetch(name, weights=False))
    check_byte_level(tokenizer, name)
    return tokenizer


def find_folder(name: str, *, example: str = "gpt2") -> Path:
    """The folder of that name, or the hub's copy of the model of that name. Raises InputError for a file."""
    folder = Path(name).expanduser()
    if not folder.exists():
        return fetch(name, example=example)
    if not folder.is_dir():
        raise InputError(f"{name} is a file, not a model's folder", "Name a folder in the hub's layout.")
    return folder


def fetch(name: str, *, weights: bool = True, example: str = "gpt2") -> Path:
    """The folder of the hub's model `name` in the local cache, or of its tokenizer alone. It is fetched if
    necessary."""
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
            # Old models have nothing else; only plain tensors are read from it.
            folder = Path(snapshot_download(name, allow_patterns=[*small, "pytorch_model*"]))
    except (RepositoryNotFoundError, HFValidationError):
        raise InputError(
            f"there is no folder {name}, and no such model on the hub (or it is not public)", hint
        ) from None
    except Exception as error:  # the hub's client has used several HTTP libraries, each with its own errors
        lost = isinstance(error, NotInCache)
        reason = "the hub cannot be reached, and the local cache lacks it" if lost else first_line(error)
        raise InputError(
            f"there is no folder {name}, and the model of that name cannot be fetched: {reason}",
            f"On a machine with a network, download {CONFIG}, {WEIGHTS} and {TOKENIZER}, and name their"
            " folder; or copy the hub's cache from there (HF_HOME). HF_HUB_OFFLINE=1 asks the cache alone.",
        ) from None
    return folder


def read_model(folder: Path) -> Read:
    """The causal language model in a folder, in full precision, and the SHA-256 of its weights.

    Raises InputError if weights are missing, left over, of another shape or not finite, or if the model looks
    ahead.
    """
    from transformers import AutoModelForCausalLM

    found = open_weights(
        folder, AutoModelForCausalLM, unused=lambda name: name.endswith(MASKS), refuse_others=_refuse_others
    )
    _refuse_foresight(found.model, folder)
    return found


def open_weights(
    folder: Path, auto: Any, *, unused: Callable[[str], bool], refuse_others: Callable[[Path], None]
) -> Read:
    """The model in a folder, opened in full precision by one of the library's Auto classes, and the SHA-256
    of its weights.

    `unused` recognises weights that the file may have and the class does not need. `refuse_others` may raise
    a more precise error if the model does not fit. Raises InputError if weights are missing, left over, of
    another shape or not finite.
    """
    import torch

    files = weight_files(folder)
    for present, file in (((folder / CONFIG).exists(), CONFIG), (bool(files), WEIGHTS)):
        if not present:
            raise InputError(f"{folder} lacks {file}", "Name a folder in the hub's layout.")
    with quiet(), no_larger_than(files, folder / CONFIG):
        try:
            for path in files:
                _refuse_repeated(path)
            opened: Any = auto.from_pretrained(
                folder,
                dtype=torch.float32,
                local_files_only=True,
                trust_remote_code=False,
                weights_only=True,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
            )
        except Exception as error:  # a damaged file raises different errors in each architecture
            refuse_others(folder)
            if isinstance(error, InputError):
                raise
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
    return Read(model, digest(files))


def weight_files(folder: Path) -> list[Path]:
    """The files with the weights, in the order in which they are looked for."""
    for whole in (WEIGHTS, RELEASED):
        if (folder / whole).exists():
            return [folder / whole]
        index = folder / (whole + SHARDED)
        if index.exists():
            try:
                names = set(json.loads(read_whole(index, most=DOCUMENT))["weight_map"].values())
                lacking = sorted(name for name in names if not (folder / name).exists())
            except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise InputError(f"{index} is damaged", DAMAGED) from None
            if lacking:
                raise InputError(f"{folder} lacks {lacking[0]}", "Copy all files of the weights.")
            return [folder / name for name in sorted(names)]
    return []


def _refuse_repeated(file: Path) -> None:
    """Raise InputError if the tensors of an old file are far larger than it: one number may stand for all of
    a tensor's, until the tensor is copied."""
    import torch

    if file.suffix == ".bin":
        # Files of before 2020 are no archives, and cannot be read without their numbers.
        tensors = torch.load(file, map_location="meta" if is_zipfile(file) else "cpu", weights_only=True)
        claimed = sum(one.numel() * one.element_size() for one in tensors.values())
        if claimed > GROWTH * file.stat().st_size + BESIDE:
            raise InputError(f"{file} has tensors that are far larger than the file", DAMAGED)


def _reason(error: Exception) -> str:
    if isinstance(error, UnpicklingError):
        return f"{RELEASED} contains more than tensors, and was not opened"
    return first_line(error)


def architectures(folder: Path) -> list[str]:
    """The architectures that the config of a model names; empty if it names none."""
    try:
        names = json.loads(read_whole(folder / CONFIG, most=DOCUMENT)).get("architectures") or []
    except (OSError, ValueError, AttributeError, RecursionError):
        return []
    return [name for name in names if isinstance(name, str)]


def _refuse_others(folder: Path) -> None:
    """Raise InputError if a model that does not fit is not a causal one by its own config: BERT, T5, a
    classifier."""
    for name in architectures(folder):
        if "For" in name and not name.endswith("ForCausalLM"):
            raise InputError(
                f"{folder} has a {name}, which is not a causal language model",
                "Choose one that writes from left to right, such as gpt2.",
            )


def _refuse_foresight(model: PreTrainedModel, folder: Path) -> None:
    """Raise InputError if the logits at a token depend on a later one: models such as BERT do not write
    text."""
    import torch

    ids = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 5]], device=model.device)
    with torch.inference_mode():
        first, second = model(input_ids=ids, use_cache=False).logits[:, :3]
    if model.config.is_encoder_decoder or not torch.allclose(first, second, rtol=1e-3, atol=1e-3):
        raise InputError(
            f"{type(model).__name__} in {folder} does not write from left to right",
            "Choose a causal language model such as gpt2.",
        )


@contextmanager
def quiet() -> Iterator[None]:
    """Hide progress bars and warnings of the library while a model is read; real faults are raised as
    errors."""
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
