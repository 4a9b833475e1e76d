"""Where a model runs."""

from __future__ import annotations

from humaneval.errors import UsageError


def pick_device(name: str) -> str:
    """`auto` is the GPU where there is one. UsageError for a device that there is not."""
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise UsageError(f"there is no GPU for --device {name}", "Use --device cpu.")
    try:
        torch.device(name)
    except RuntimeError:
        raise UsageError(f"there is no device {name}", "Say auto, cpu or cuda.") from None
    return name
