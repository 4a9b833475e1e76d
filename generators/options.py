"""Options of a generator: text from `--option NAME=VALUE` as values of dataclasses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from humaneval.domain import GeneratorRequest
from humaneval.errors import UsageError

A = TypeVar("A")
B = TypeVar("B")

_SWITCH = {"on": True, "off": False, "true": True, "false": False, "yes": True, "no": False}
_READ: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": lambda text: _SWITCH[text.lower()],
}


_WORDS = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "on or off"}


def read_options(request: GeneratorRequest, first: type[A], second: type[B]) -> tuple[A, B]:
    """The request's options, shared out to two dataclasses by the names of their fields.

    UsageError names an option that neither has, one that is no number, and what the dataclasses themselves
    refuse.
    """
    names = [field.name for cls in (first, second) for field in fields(cls)]  # type: ignore[arg-type]  # dataclasses
    request.allow_options(*names)
    return _values(first, request), _values(second, request)


def _values(cls: type[A], request: GeneratorRequest) -> A:
    found: dict[str, Any] = {}
    for field in fields(cls):  # type: ignore[arg-type]  # a dataclass
        if field.name in request.options:
            text = request.options[field.name]
            try:
                found[field.name] = _READ[str(field.type)](text)
            except (ValueError, KeyError):
                raise UsageError(
                    f"option {field.name} of {request.kind} cannot be {text!r}",
                    f"It is {_WORDS[str(field.type)]}.",
                ) from None
    return cls(**found)


def refuse_unless(right: bool, option: str, range: str) -> None:
    """UsageError where an option is out of its range."""
    if not right:
        raise UsageError(f"option {option} is out of range", f"{option}: {range}.")
