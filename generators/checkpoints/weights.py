"""A model's weights: built from a config, filled from a file with nothing missing or left over, and hashed.
No pickles."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from humaneval.errors import InputError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

WEIGHTS, CONFIG = "model.safetensors", "config.json"
DAMAGED = "It is damaged or of another model: copy it again."


def distinct(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    """The model's tensors by name, each once: of an output layer that is the embedding (tied), only the
    embedding."""
    found: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:
            found[name] = tensor
            seen.add(tensor.data_ptr())
    return found


def build_model(config: Path) -> PreTrainedModel:
    """A causal language model of the architecture that a config.json describes, weights still by chance."""
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    auto: Any = transformers.AutoModelForCausalLM  # untyped
    try:
        values = json.loads(config.read_text(encoding="utf-8"))
        described = CONFIG_MAPPING[values["model_type"]].from_dict(values)
        model: PreTrainedModel = auto.from_config(described, trust_remote_code=False)
    except Exception as error:  # what a wrong value raises differs with the architecture
        raise InputError(
            f"{config} does not describe a language model: {first_line(error)}", DAMAGED
        ) from None
    model.tie_weights()
    return model


def fill(model: PreTrainedModel, file: Path) -> None:
    """Read every weight of the model from a safetensors file. InputError where one is missing, left over or
    of another shape."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        weights = load_file(file)
    except (SafetensorError, OSError) as error:
        raise InputError(f"{file} cannot be read: {first_line(error)}", DAMAGED) from None
    wanted = distinct(model)
    refuse_misfits(
        str(file),
        missing=wanted.keys() - weights.keys(),
        unexpected=weights.keys() - wanted.keys(),
        misshapen={
            name for name in wanted.keys() & weights.keys() if wanted[name].shape != weights[name].shape
        },
    )
    # What is tied is not in the file, and is filled with what it is tied to.
    model.load_state_dict(weights, strict=False)
    refuse_not_numbers(model, str(file))


def save_tensors(tensors: dict[str, torch.Tensor], file: Path, words: dict[str, str]) -> None:
    """Write a safetensors file, as readable for others as any file of this process: the library's are its
    owner's alone."""
    from safetensors.torch import save_file

    file.touch()
    mode = file.stat().st_mode
    save_file(tensors, file, metadata=words)
    file.chmod(mode)


def refuse_misfits(
    whose: str, *, missing: Collection[str], unexpected: Collection[str], misshapen: Collection[str]
) -> None:
    """InputError that counts the weights that do not fit, and names some."""
    kinds = (("missing", missing), ("unexpected", unexpected), ("of another shape", misshapen))
    counts = ", ".join(f"{len(names)} {what}" for what, names in kinds if names)
    if counts:
        names = sorted([*missing, *unexpected, *misshapen])
        some = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        raise InputError(f"the weights in {whose} do not fit the model: {counts} ({some})", DAMAGED)


def refuse_not_numbers(model: PreTrainedModel, whose: str) -> None:
    """InputError where a weight is infinite or not a number."""
    for name, tensor in distinct(model).items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise InputError(f"{whose} has weights that are no numbers, in {name}", DAMAGED)


def digest(files: Iterable[Path]) -> str:
    """SHA-256 of the files' bytes, one file after the other: what `cat FILES | sha256sum` prints."""
    sha = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                sha.update(block)
    return sha.hexdigest()


def positions(model: PreTrainedModel) -> int:
    """How many tokens the model can read; where nothing bounds it, more than anyone has."""
    config = model.config.get_text_config()
    found = (
        getattr(config, name, None) for name in ("max_position_embeddings", "n_positions", "max_seq_len")
    )
    return next((value for value in found if isinstance(value, int) and value > 0), 1 << 30)


def input_rows(model: PreTrainedModel) -> int:
    """How many ids the model has an embedding for."""
    embedding: Any = model.get_input_embeddings()
    return int(embedding.weight.shape[0])


def json_object(file: Path) -> dict[str, Any]:
    """What a JSON file beside the weights says; nothing where there is no such file. InputError where it is
    damaged."""
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {first_line(error)}", DAMAGED) from None
    return values if isinstance(values, dict) else {}


def first_line(error: Exception) -> str:
    """What an error of another library says, on one line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
