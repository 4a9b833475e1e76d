"""Which generators are Control and Human, as a table of responses or its reader says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from humaneval.domain import Role
from humaneval.errors import InputError, UsageError
from humaneval.scoring.columns import refuse
from humaneval.statistics.arrays import Codes, encoded
from humaneval.text import alike, listed, not_among, same_name


def roles_of(
    frame: pd.DataFrame, generator: Codes, names: tuple[str, ...], control: str | None, human: str | None
) -> tuple[Role, ...]:
    """The role of each of `names`; `control` and `human` override a column `role`."""
    given = (
        _role_column(frame, generator, names)
        if "role" in frame.columns
        else [_by_name(name) for name in names]
    )
    return _chosen(given, names, control, human)


def roles_of_pairs(
    frame: pd.DataFrame,
    pairs: tuple[Codes, Codes],
    names: tuple[str, ...],
    control: str | None,
    human: str | None,
) -> tuple[Role, ...]:
    """The same where passages have two generators. There a column `role` is that of the passages: the Control
    is in all passages of its role, and in no other."""
    given = [_by_name(name) for name in names]
    if control is None and "role" in frame.columns:
        words = frame["role"].astype(str).str.strip().str.casefold().to_numpy(dtype=object)
        gated = np.asarray(words == Role.CONTROL.value, dtype=np.bool_)
        inside, outside = (
            set(np.concatenate([one[some] for one in pairs]).tolist()) for some in (gated, ~gated)
        )
        found = [code for code in sorted(inside - outside) if (pairs[0] == code)[gated].any()]
        if len(found) == 1:
            given = [Role.SYSTEM if role is Role.CONTROL else role for role in given]
            given[found[0]] = Role.CONTROL
    return _chosen(given, names, control, human)


def _chosen(
    given: list[Role], names: tuple[str, ...], control: str | None, human: str | None
) -> tuple[Role, ...]:
    chosen: dict[Role, str | None] = {}
    for role, name in ((Role.CONTROL, control), (Role.HUMAN, human)):
        chosen[role] = None if name is None else same_name(name, names)
        if name is not None and chosen[role] is None:
            raise UsageError(
                not_among("generator", name, names, f" (--{role})"), f"There are: {', '.join(names)}."
            )
    control, human = chosen[Role.CONTROL], chosen[Role.HUMAN]
    if control is not None and control == human:
        raise UsageError(f"{control!r} cannot be both Control and Human", "Name two generators.")
    for name, role in zip(names, given, strict=True):
        if role is not Role.SYSTEM or name in (control, human):
            refuse_spellings(name, names)
    for role, chosen_name in chosen.items():
        if chosen_name is not None:
            given = [Role.SYSTEM if one is role else one for one in given]
    return tuple(
        Role.CONTROL if name == control else Role.HUMAN if name == human else role
        for name, role in zip(names, given, strict=True)
    )


def refuse_spellings(name: str, names: Sequence[str]) -> None:
    """Raise InputError if the Control or Human called `name` has several spellings: it would be two."""
    if len(same := alike(name, names)) > 1:
        raise InputError(
            f"the generators {listed(same)} differ only in case or blanks",
            "Write the Control, and the human, in one way throughout the table.",
        )


def _by_name(name: str) -> Role:
    folded = name.strip().casefold()
    return Role(folded) if folded in (Role.CONTROL, Role.HUMAN) else Role.SYSTEM


def _role_column(frame: pd.DataFrame, generator: Codes, names: tuple[str, ...]) -> list[Role]:
    given = encoded(frame["role"])
    words = [str(label).strip().casefold() for label in given.names]
    known = np.array([word in tuple(Role) for word in words])
    refuse(frame["role"], ~known[given.codes], f"is not a role ({', '.join(Role)})")
    pairs = np.unique(generator * len(words) + given.codes)
    found: dict[int, Role] = {}
    for pair in pairs:
        code, role = int(pair) // len(words), Role(words[int(pair) % len(words)])
        if found.setdefault(code, role) is not role:
            raise InputError(f"{names[code]} has two roles in the column role: {found[code]} and {role}")
    return [found[code] for code in range(len(names))]
