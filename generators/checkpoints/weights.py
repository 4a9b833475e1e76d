"""The weights of a model: read from a file completely, saved and hashed. No pickles."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from humaneval.errors import InputError
from humaneval.limits import DOCUMENT, MIB, read_whole

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

WEIGHTS, CONFIG = "model.safetensors", "config.json"
DAMAGED = "The file is damaged or belongs to another model: copy it again."
GROWTH, BESIDE, EACH = 16, 256 * MIB, 16 * 1024
"""How many bytes a model may take for each of its files', building and reading counted separately; how many
for what no file has, such as masks; and what a tensor costs beside its numbers."""


def distinct(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    """The tensors of the model by name, each once: if the output layer is tied to the embedding, only the
    embedding."""
    found: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:
            found[name] = tensor
            seen.add(tensor.data_ptr())
    return found


@contextmanager
def no_larger_than(files: Iterable[Path], config: Path) -> Iterator[None]:
    """While the block builds a model, raise InputError once it has more than the files can fill: a config of
    a hundred bytes can describe one that takes all memory. Layers call this before their memory is used."""
    from torch.nn.modules import module

    left = GROWTH * sum(map(_filled, files)) + BESIDE
    thread = threading.get_ident()

    def count(_layer: object, _name: str, tensor: torch.Tensor | None) -> None:
        nonlocal left
        if tensor is not None and threading.get_ident() == thread:
            left -= tensor.nbytes + EACH
            if left < 0:
                raise InputError(f"{config} describes a far larger model than the weights beside it", DAMAGED)

    parameters = module.register_module_parameter_registration_hook(count)
    buffers = module.register_module_buffer_registration_hook(count)
    try:
        yield
    finally:
        parameters.remove()
        buffers.remove()


def _filled(file: Path) -> int:
    """The bytes of a file without its holes: a file of a terabyte may take 4 KiB. Some disks do not tell."""
    status = file.stat()
    return min(status.st_size, 512 * status.st_blocks or status.st_size)


def build_model(config: Path) -> PreTrainedModel:
    """A causal language model of the architecture in a config.json, with random weights."""
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    auto: Any = transformers.AutoModelForCausalLM  # untyped
    try:
        values = json.loads(read_whole(config, most=DOCUMENT))
        described = CONFIG_MAPPING[values["model_type"]].from_dict(values)
        model: PreTrainedModel = auto.from_config(described, trust_remote_code=False)
    except InputError:
        raise
    except Exception as error:  # a wrong value raises different errors in each architecture
        raise InputError(
            f"{config} does not describe a language model: {first_line(error)}", DAMAGED
        ) from None
    model.tie_weights()
    return model


def fill(model: PreTrainedModel, file: Path) -> None:
    """Read every weight of the model from a safetensors file. Raises InputError if one is missing, left over
    or of another shape."""
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
    # Tied weights are not in the file; they are filled together with the ones that they are tied to.
    model.load_state_dict(weights, strict=False)
    refuse_not_numbers(model, str(file))


def save_tensors(tensors: dict[str, torch.Tensor], file: Path, words: dict[str, str]) -> None:
    """Write a safetensors file with the usual permissions; the library makes it readable for its owner
    alone."""
    from safetensors.torch import save_file

    file.touch()
    mode = file.stat().st_mode
    save_file(tensors, file, metadata=words)
    file.chmod(mode)


def refuse_misfits(
    whose: str, *, missing: Collection[str], unexpected: Collection[str], misshapen: Collection[str]
) -> None:
    """Raise InputError with the number of weights that do not fit, and the names of some."""
    kinds = (("missing", missing), ("unexpected", unexpected), ("of another shape", misshapen))
    counts = ", ".join(f"{len(names)} {what}" for what, names in kinds if names)
    if counts:
        names = sorted([*missing, *unexpected, *misshapen])
        some = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        raise InputError(f"the weights in {whose} do not fit the model: {counts} ({some})", DAMAGED)


def refuse_not_numbers(model: PreTrainedModel, whose: str) -> None:
    """Raise InputError if a weight is infinite or not a number."""
    for name, tensor in distinct(model).items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise InputError(f"{whose} has weights that are not finite numbers, in {name}", DAMAGED)


def digest(files: Iterable[Path]) -> str:
    """SHA-256 of the bytes of the files, one after the other, as `cat FILES | sha256sum` prints it."""
    sha = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                sha.update(block)
    return sha.hexdigest()


def positions(model: PreTrainedModel) -> int:
    """How many tokens the model can read; a very large number if its architecture sets no limit."""
    config = model.config.get_text_config()
    found = (
        getattr(config, name, None) for name in ("max_position_embeddings", "n_positions", "max_seq_len")
    )
    return next((value for value in found if isinstance(value, int) and value > 0), 1 << 30)


def input_rows(model: PreTrainedModel) -> int:
    """The number of ids that the model has an embedding for."""
    embedding: Any = model.get_input_embeddings()
    return int(embedding.weight.shape[0])


def json_object(file: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is no such file. Raises InputError if it is damaged."""
    try:
        values = json.loads(read_whole(file, most=DOCUMENT))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read: {first_line(error)}", DAMAGED) from None
    return values if isinstance(values, dict) else {}


def first_line(error: Exception) -> str:
    """The first line of the message of another library's error."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
