"""A table of responses as checked columns of numbers, for scoring and the statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from humaneval.domain import SENTENCES, Role
from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import Codes, Flags, Floats, Labels, encoded
from humaneval.text import alike, listed, not_among, same_name

REQUIRED = ("worker", "story", "generator", "position", "choice")

YES = frozenset({"1", "1.0", "true", "yes", "test", "pilot", "simulated"})
NO = frozenset({"", "0", "0.0", "false", "no", "nan", "none", "<na>"})


@dataclass(frozen=True, slots=True)
class Judgments:
    """Responses as arrays of one length: labels as codes from 0, `position` and `choice` in 1..5.

    `names` and `roles` belong to the generators' codes. The methods that take `kept` look at those responses
    only.
    """

    study: str
    names: tuple[str, ...]
    roles: tuple[Role, ...]
    worker: Codes
    story: Codes
    generator: Codes
    position: Codes
    choice: Codes
    test: Flags
    row: Codes | None
    """Which form of which worker; None if the table does not say."""
    answered: Codes
    """Rank in time, or the line in the table if it does not say."""
    passages: Codes | None = None
    """How many passages the answer's form showed (its worker was shown, if `row` is None); None if
    unknown."""
    seconds: Floats | None = None
    """In-page time of each answer, NaN if unknown; None if the table does not say."""
    words: Floats | None = None
    """Words of the passage; missing as in `seconds`."""
    order: Floats | None = None
    """Place of the passage in its row, from 1; missing as in `seconds`."""
    people: tuple[str, ...] = ()
    """The workers' labels, in the order of their codes."""
    stories: tuple[str, ...] = ()
    """The stories' labels, in the order of their codes."""

    @property
    def outcomes(self) -> Floats:
        """1 if the machine's (held-out) sentence was not marked, else 0."""
        return self.missed.astype(np.float64)

    @property
    def size(self) -> int:
        """Number of responses."""
        return int(self.worker.size)

    @property
    def missed(self) -> Flags:
        """Which annotators did not mark the machine's (held-out) sentence."""
        return np.not_equal(self.position, self.choice)

    def in_order(self, kept: Flags) -> Codes:
        """Indices of the `kept` responses by generator, worker and story. The order of lines does not change
        it."""
        at = np.flatnonzero(kept)
        # A second answer to the same passage may differ in its time alone.
        times = [one[at] for one in (self.seconds, self.order) if one is not None]
        codes = (self.choice, self.position, self.story, self.worker, self.generator)
        return at[np.lexsort((*times, *(one[at] for one in codes)))]

    def is_role(self, role: Role) -> Flags:
        """Which responses are to passages by generators of this role."""
        return np.array([one is role for one in self.roles], dtype=np.bool_)[self.generator]

    def workers(self, kept: Flags) -> int:
        """Number of different workers."""
        return int(np.unique(self.worker[kept]).size)

    def repeated(self, kept: Flags) -> Flags:
        """A worker's answers to a story and generator that she had answered before."""
        stories, generators = int(self.story.max()) + 1, len(self.names)
        key = (self.worker * stories + self.story) * generators + self.generator
        in_time = np.argsort(self.answered, kind="stable")
        in_time = in_time[kept[in_time]]
        first = in_time[np.unique(key[in_time], return_index=True)[1]]
        repeats = kept.copy()
        repeats[first] = False
        return repeats

    def by_incomplete_workers(self, kept: Flags) -> Flags:
        """Answers of workers who left a passage of a form unanswered; none if the table does not say what was
        shown.

        A worker without an answer to some generator is not a sign of it: forms may show only some generators.
        """
        if self.passages is None:
            return np.zeros(self.size, dtype=np.bool_)
        return self._by_worker_with_gaps(kept, self.worker if self.row is None else self.row, self.passages)

    def _by_worker_with_gaps(self, kept: Flags, row: Codes, passages: Codes) -> Flags:
        stories, generators = int(self.story.max()) + 1, len(self.names)
        # Once each, with second answers that another step excluded: they show that the passage was answered.
        key = (row * stories + self.story) * generators + self.generator
        first = np.unique(key, return_index=True)[1]
        answered = np.bincount(row[first], minlength=int(row.max()) + 1)
        lacking = np.zeros(int(self.worker.max()) + 1, dtype=np.bool_)
        lacking[self.worker[kept & (answered[row] < passages)]] = True
        return lacking[self.worker]

    def by_worker_who_missed(self, kept: Flags) -> Flags:
        """Answers of workers who missed any Control passage."""
        return self._sharing(self.worker, kept)

    def in_missed_row(self, kept: Flags) -> Flags:
        """Answers on forms on which a Control passage was missed; `row` must be known."""
        if self.row is None:
            raise ValueError("the responses do not say which row they belong to")
        return self._sharing(self.row, kept)

    def _sharing(self, groups: Codes, kept: Flags) -> Flags:
        failed = np.zeros(int(groups.max()) + 1, dtype=np.bool_)
        failed[groups[kept & self.missed & self.is_role(Role.CONTROL)]] = True
        return failed[groups]


def judgments(frame: pd.DataFrame, *, control: str | None = None, human: str | None = None) -> Judgments:
    """Check a table of responses and turn it into arrays; the frame is not changed.

    Columns and the ways to say which generators are Control and Human: see `humaneval.scoring.scores.score`.
    Lines are counted from 1 in error messages. Raises InputError and UsageError as described there.
    """
    missing = [name for name in REQUIRED if name not in frame.columns]
    if missing:
        there = ", ".join(map(str, frame.columns)) or "none"
        raise InputError(f"missing columns: {', '.join(missing)}", f"The table has: {there}.")
    doubled = [str(name) for name in frame.columns[frame.columns.duplicated()]]
    if doubled:
        raise InputError(f"duplicate columns: {', '.join(doubled)}")
    if frame.empty:
        raise InputError("there are no responses to score")
    generators, workers, stories = (_labels(frame[name]) for name in ("generator", "worker", "story"))
    generator, worker = generators.codes, workers.codes
    names = tuple(map(str, generators.names))
    return Judgments(
        study=_study(frame),
        names=names,
        roles=_roles(frame, generator, names, control, human),
        worker=worker,
        story=stories.codes,
        generator=generator,
        position=_numbered(frame["position"]),
        choice=_numbered(frame["choice"]),
        test=_flags(frame["test"]) if "test" in frame.columns else np.zeros(len(frame), dtype=np.bool_),
        row=_rows(frame, worker),
        answered=_answered(frame),
        seconds=_measured(frame, "seconds"),
        words=_measured(frame, "words"),
        order=_measured(frame, "order"),
        passages=_passages(frame),
        people=tuple(map(str, workers.names)),
        stories=tuple(map(str, stories.names)),
    )


def _labels(column: pd.Series[Any]) -> Labels:
    # Ordered: the order of a table's lines must change nothing that is computed from the codes.
    found = encoded(column, ordered=True)
    blank = np.array([str(label).strip() == "" for label in found.names], dtype=np.bool_)
    _refuse(column, found.missing | blank[found.codes], "is empty")
    return found


def _numbered(column: pd.Series[Any]) -> Codes:
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(invalid="ignore"):
        good = (numbers >= 1) & (numbers <= SENTENCES) & (numbers == np.floor(numbers))
    _refuse(column, ~good, f"is not a whole number from 1 to {SENTENCES}")
    return numbers.astype(np.int64)


def _flags(column: pd.Series[Any]) -> Flags:
    found = encoded(column)
    words = [str(label).strip().casefold() for label in found.names]
    known = np.array([word in YES or word in NO for word in words])
    _refuse(column, ~known[found.codes], "is neither true nor false")
    flags: Flags = np.array([word in YES for word in words])[found.codes]
    return flags


def _refuse(column: pd.Series[Any], bad: Flags, what: str) -> None:
    if bad.any():
        at = int(np.argmax(bad))
        value = column.iloc[at]
        shown = "" if what == "is empty" else f" {value!r}" if isinstance(value, str) else f" {value}"
        others = f" (and {int(bad.sum()) - 1} more like it)" if bad.sum() > 1 else ""
        raise InputError(f"line {at + 1} of the responses: {column.name}{shown} {what}{others}")


def _measured(frame: pd.DataFrame, name: str) -> Floats | None:
    """A column of numbers, NaN if empty; None if it is missing or holds nothing."""
    if name not in frame.columns or frame[name].isna().all():
        return None
    numbers = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(invalid="ignore"):
        wrong = np.isnan(numbers) & frame[name].notna().to_numpy() | (numbers < 0)
    _refuse(frame[name], wrong, "is not a number from 0")
    return numbers


def _study(frame: pd.DataFrame) -> str:
    if "study" not in frame.columns:
        return ""
    studies = [str(name) for name in frame["study"].dropna().unique() if str(name).strip()]
    if len(studies) > 1:
        raise InputError(
            f"the table holds {len(studies)} studies ({', '.join(studies[:5])}), and studies are not pooled",
            "Score one study at a time.",
        )
    return studies[0] if studies else ""


def _roles(
    frame: pd.DataFrame, generator: Codes, names: tuple[str, ...], control: str | None, human: str | None
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
    given = (
        _role_column(frame, generator, names)
        if "role" in frame.columns
        else [_by_name(name) for name in names]
    )
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
    _refuse(frame["role"], ~known[given.codes], f"is not a role ({', '.join(Role)})")
    pairs = np.unique(generator * len(words) + given.codes)
    found: dict[int, Role] = {}
    for pair in pairs:
        code, role = int(pair) // len(words), Role(words[int(pair) % len(words)])
        if found.setdefault(code, role) is not role:
            raise InputError(f"{names[code]} has two roles in the column role: {found[code]} and {role}")
    return [found[code] for code in range(len(names))]


def _rows(frame: pd.DataFrame, worker: Codes) -> Codes | None:
    for name in ("row", "assignment"):
        if name in frame.columns and frame[name].notna().all():
            form = encoded(frame[name])
            return encoded(worker * form.number + form.codes).codes
    return None


def _passages(frame: pd.DataFrame) -> Codes | None:
    if "row_passages" not in frame.columns or frame["row_passages"].isna().any():
        return None
    numbers = pd.to_numeric(frame["row_passages"], errors="coerce").to_numpy(
        dtype=np.float64, na_value=np.nan
    )
    with np.errstate(invalid="ignore"):
        good = (numbers >= 1) & (numbers == np.floor(numbers))
    _refuse(frame["row_passages"], ~good, "is not a whole number from 1")
    return numbers.astype(np.int64)


def _answered(frame: pd.DataFrame) -> Codes:
    place = np.arange(len(frame), dtype=np.int64)
    if "submitted_at" not in frame.columns or frame["submitted_at"].isna().all():
        return place
    times = pd.to_datetime(frame["submitted_at"], errors="coerce", utc=True, format="ISO8601")
    # An answer without a time comes after the last one with a time.
    order = np.lexsort((place, times.isna().to_numpy(), times.fillna(times.max()).to_numpy()))
    ranks = np.empty_like(place)
    ranks[order] = place
    return ranks
