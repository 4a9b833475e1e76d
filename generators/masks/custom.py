"""Custom mask functions: any object with `types` and `mask`, named as `module:object`.

- `types`: the names of its types of blanks (lower-case letters and _), in the order of their tokens' ids;
- `mask(text, rng)`, or `mask(text)` if nothing is random: (type, character offset, length) of each span,
  in any order.

The object may be a class; it is then created without arguments. generators/masks/samples.py has two examples.
"""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter, index
from typing import Any, NoReturn

from generators.masks.documents import Document
from generators.masks.spans import FAULTS, Draw, Granularity, MaskedSpan
from humaneval.errors import UsageError

_TYPE = re.compile(r"[a-z_]+")

_HINT = (
    "It needs `types`, the names of its types of blanks, and `mask(text, rng)`:"
    " see generators/masks/samples.py."
)


@dataclass(frozen=True, slots=True)
class CustomMask:
    """A custom object as a MaskFunction. What it returns is checked when masks are drawn."""

    name: str
    types: tuple[str, ...]
    mask: Callable[[str, random.Random], Iterable[tuple[str, int, int]]]

    def prepare(self, document: Document) -> Draw:
        """Return a draw that gives the object the text for each mask; nothing is done in advance."""

        def draw(rng: random.Random) -> list[MaskedSpan]:
            spans = [
                MaskedSpan(str(type), index(offset), index(offset) + index(length))
                for type, offset, length in self.mask(document.text, rng)
            ]
            return sorted(spans, key=attrgetter("start"))

        return draw


def load_custom(name: str) -> CustomMask:
    """The mask function `module:object`. Raises UsageError if it does not exist or lacks something."""
    found = _find(name)
    if isinstance(found, type):
        try:
            found = found()
        except FAULTS as error:
            _refuse(name, f"cannot be created without arguments: {error}", error)
    for member in ("types", "mask"):
        if not hasattr(found, member):
            _refuse(name, f"has no `{member}`")
    return CustomMask(name, _types(name, found.types), _with_rng(name, found.mask))


def _find(name: str) -> Any:
    module, _, path = name.partition(":")
    if not module or not path:
        known = ", ".join(("hierarchical", *Granularity))
        raise UsageError(
            f"there is no mask function {name!r}",
            f"Choose one of {known}, or module:object for a custom one.",
        )
    try:
        found = import_module(module)
    except FAULTS as error:
        raise UsageError(
            f"mask function {name}: importing {module} failed: {type(error).__name__}: {error}",
            "Install the module, or put its folder into PYTHONPATH.",
        ) from error
    try:
        return attrgetter(path)(found)
    except AttributeError as error:
        raise UsageError(
            f"mask function {name}: the module {module} has no {path}", "Check the spelling of the name."
        ) from error


def _types(name: str, types: Any) -> tuple[str, ...]:
    if isinstance(types, str) or not isinstance(types, Iterable):
        _refuse(name, f"has `types` that are not a list of names: {types!r}")
    names = tuple(str(type) for type in types)
    if wrong := [type for type in names if not _TYPE.fullmatch(type)]:
        _refuse(name, f"has a type with other characters than lower-case letters and _: {wrong[0]!r}")
    if not names or len(set(names)) < len(names):
        _refuse(name, "has no types" if not names else f"has a type twice: {', '.join(names)}")
    return names


def _with_rng(name: str, mask: Any) -> Callable[[str, random.Random], Iterable[tuple[str, int, int]]]:
    if not callable(mask):
        _refuse(name, "has a `mask` that cannot be called")
    try:
        parameters = inspect.signature(mask)
    except ValueError:  # some built-in callables have no signature
        return mask  # type: ignore[no-any-return]  # what it returns is checked when masks are drawn
    for arguments in (2, 1):
        try:
            parameters.bind(*[None] * arguments)
        except TypeError:
            continue
        return mask if arguments == 2 else lambda text, rng: mask(text)
    _refuse(name, f"has a `mask` that takes neither a text and a random.Random nor a text: mask{parameters}")


def _refuse(name: str, what: str, cause: BaseException | None = None) -> NoReturn:
    raise UsageError(f"mask function {name} {what}", _HINT) from cause
