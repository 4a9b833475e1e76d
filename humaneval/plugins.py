"""Calls code of other packages: what it prints goes to stderr, and what it raises becomes one clear line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from traceback import extract_tb
from typing import Any

from humaneval.errors import HumanEvalError, InputError

FAULT = "This is a fault in the code of its package."
"""What to do: only the author of the package can mend it."""

_OURS = frozenset({"humaneval", "generators"})
_at_work: ContextVar[bool] = ContextVar("at_work", default=False)


def at_work() -> bool:
    """Whether code of another package is being called: stdout may hold a document, which is none of its."""
    return _at_work.get()


@contextmanager
def aside() -> Iterator[None]:
    """A context in which what is printed goes to stderr."""
    token = _at_work.set(True)
    try:
        yield
    finally:
        _at_work.reset(token)


@contextmanager
def calling(whose: str, module: str) -> Iterator[None]:
    """A context in which code in `module` is called; `whose` names it, as "generator 'coin'".

    Raises InputError if it raises anything or ends the program. Our own errors and those of files pass, and
    faults in our modules keep their traceback.
    """
    try:
        with aside():
            yield
    except (HumanEvalError, OSError, MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:
        package = module.partition(".")[0]
        if package in _OURS:
            raise
        raise InputError(f"{whose} raised {raised(error)}{_place(error, package)}", FAULT) from error


def raised(error: BaseException) -> str:
    """An exception and its message, on one line.

    >>> raised(KeyError("a"))
    "KeyError: 'a'"
    """
    return f"{type(error).__name__}: {(str(error).strip() or 'no message').splitlines()[0][:300]}"


def typed(value: object) -> str:
    """What a value is, for an error.

    >>> typed(None), typed(3)
    ('nothing', 'a value of type int')
    """
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


def _place(error: BaseException, package: str) -> str:
    """Where in the package it happened, as far as that is known: the innermost place."""
    inside = [
        frame
        for frame in extract_tb(error.__traceback__)
        if package in (Path(frame.filename).stem, *Path(frame.filename).parts)
    ]
    return f" ({Path(inside[-1].filename).name}, line {inside[-1].lineno})" if inside else ""


def no_json(value: Any) -> str:
    """Why JSON cannot hold a value; empty if it can. NaN and infinity are replaced where they are kept."""
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        return str(error).splitlines()[0][:200]
    return ""
