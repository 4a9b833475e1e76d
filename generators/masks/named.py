"""Mask functions by name."""

from __future__ import annotations

from generators.masks.custom import load_custom
from generators.masks.hierarchical import Hierarchical
from generators.masks.spans import Granularity, MaskFunction


def load_mask(name: str, *, parity: bool = False) -> MaskFunction:
    """The mask function of that name: `hierarchical`, a granularity to mask that only, or `module:object`.

    `parity` is that of `Hierarchical`; a function of your own has its own draws. What such an object must
    have is told in `generators.masks.custom`. Raises UsageError where there is none.
    """
    if name == "hierarchical":
        return Hierarchical(parity=parity)
    if name in tuple(Granularity):
        return Hierarchical(only=Granularity(name), parity=parity)
    return load_custom(name)
