"""The device that a model runs on."""

from __future__ import annotations

from humaneval.errors import UsageError


def pick_device(name: str) -> str:
    """The name of a device; `auto` is the GPU if there is one. Raises UsageError for a device that does not
    exist."""
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise UsageError(f"there is no GPU for --device {name}", "Use --device cpu.")
    try:
        torch.device(name)
    except RuntimeError:
        raise UsageError(f"{name} is not a device", "Use auto, cpu or cuda.") from None
    return name
