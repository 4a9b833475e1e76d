"""Mask functions by name."""

from __future__ import annotations

from generators.masks.custom import load_custom
from generators.masks.hierarchical_mask import Hierarchical
from generators.masks.spans import Granularity, MaskFunction


def load_mask(name: str, *, parity: bool = False) -> MaskFunction:
    """The mask function of that name: `hierarchical`, a granularity to mask that only, or `module:object`.

    `parity` is that of `Hierarchical`; it does not affect a custom mask function. `generators.masks.custom`
    describes what such an object needs. Raises UsageError if there is no function of that name.
    """
    if name == "hierarchical":
        return Hierarchical(parity=parity)
    if name in tuple(Granularity):
        return Hierarchical(only=Granularity(name), parity=parity)
    return load_custom(name)
