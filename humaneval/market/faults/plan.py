"""A plan of faults: what goes wrong, how often and at which steps. `effects` makes it happen.

Whether a fault is due at the n-th call of a step depends only on the seed, the step and n. So a run with many
clients meets the same faults, in whatever order their calls arrive.
"""

from __future__ import annotations

import os
import random
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from humaneval.encodings import read_toml
from humaneval.errors import UsageError
from humaneval.limits import read_whole
from humaneval.market.faults.kinds import CLOCK, KINDS, SITE_STEPS, SLOW, Trouble
from humaneval.market.protocol.shapes import service_model
from humaneval.market.tables.database import Clock


class Fault(BaseModel):
    """One line of a plan: what goes wrong, how often, and at which steps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    chance: float = Field(1.0, ge=0, le=1)
    only: tuple[str, ...] = ()
    after: int = Field(0, ge=0)
    """How many calls of each step are spared at first."""
    times: int | None = Field(None, ge=1)
    """How often it happens to each step at most."""
    seconds: float = Field(0.0, ge=-1e9, le=1e9)
    """How long `slow` waits, and how far `clock` jumps; less than 0 is back."""

    @classmethod
    def kinds(cls) -> Iterable[str]:
        """The names of the faults that there are. Another server's faults are a subclass."""
        return KINDS

    @classmethod
    def problem_with(cls, step: str) -> str:
        """Why nothing can go wrong at `step`; empty if it is one of the server's."""
        if step in SITE_STEPS or step in service_model().operation_names:
            return ""
        return (
            f"there is no step {step!r}; a step is an operation of the API, or one of {', '.join(SITE_STEPS)}"
        )

    @field_validator("kind")
    @classmethod
    def _known_kind(cls, value: str) -> str:
        if value not in cls.kinds():
            raise ValueError(f"there is no fault {value!r}; the faults are {', '.join(cls.kinds())}")
        return value

    @field_validator("only", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(value.split("+")) if isinstance(value, str) else value

    @field_validator("only")
    @classmethod
    def _known_steps(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for step in value:
            if problem := cls.problem_with(step):
                raise ValueError(problem)
        return value

    @model_validator(mode="after")
    def _has_seconds(self) -> Fault:
        if (self.kind in (SLOW, CLOCK)) != bool(self.seconds) or (self.kind == SLOW and self.seconds < 0):
            raise ValueError(
                f"seconds must be given for {SLOW} (more than 0) and {CLOCK}, and for nothing else"
            )
        return self

    def is_for(self, step: str) -> bool:
        """Whether it may happen at this step. Without `only` it may happen in all of the API, not on the
        site."""
        if self.only:
            return step in self.only
        trouble = KINDS[self.kind]
        if trouble is Trouble.EMPTY_PAGE:
            return step.startswith("List")
        if trouble is Trouble.REUSED_ID:
            return step == "accept"
        if trouble is Trouble.UNSEEN:
            return step == "work"
        return step not in SITE_STEPS


class Plan(NamedTuple):
    """What goes wrong, and the random seed."""

    faults: tuple[Fault, ...]
    seed: int


class Faults:
    """A plan in use, which can be replaced while the marketplace runs. A TroubleSource.

    At most one fault happens to a call: the first one of the plan that is due.
    """

    def __init__(
        self,
        faults: Iterable[Fault] = (),
        seed: int = 0,
        *,
        sleep: Callable[[float], None] = time.sleep,
        of: type[Fault] = Fault,
    ) -> None:
        """`of`: the class of the faults that may replace the plan."""
        self.of = of
        self._lock = Lock()
        self._sleep = sleep
        self.replace(faults, seed)

    def replace(self, faults: Iterable[Fault], seed: int) -> None:
        """Start another plan: all counts at zero, and the clock right again."""
        with self._lock:
            self.plan = Plan(tuple(faults), seed)
            self._calls: Counter[str] = Counter()
            self._happened: Counter[tuple[int, str]] = Counter()
            self._offset = timedelta()

    def __call__(self, step: str) -> Trouble | None:
        """What goes wrong with the next call of `step`. Waiting and moving the clock happen in here."""
        fault = self.next_at(step)
        return None if fault is None else KINDS[fault.kind]

    def next_at(self, step: str) -> Fault | None:
        """The fault of the next call of `step`. Waiting and moving the clock have happened then."""
        fault = self._due(step)
        if fault is not None and fault.kind == SLOW:
            self._sleep(fault.seconds)
        return fault

    def _due(self, step: str) -> Fault | None:
        with self._lock:
            self._calls[step] += 1
            nth = self._calls[step]
            for place, fault in enumerate(self.plan.faults):
                if not fault.is_for(step) or nth <= fault.after:
                    continue
                if fault.times is not None and self._happened[place, step] >= fault.times:
                    continue
                if random.Random(f"{self.plan.seed} {place} {step} {nth}").random() < fault.chance:
                    self._happened[place, step] += 1
                    if fault.kind == CLOCK:
                        self._offset += timedelta(seconds=fault.seconds)
                    return fault
        return None

    def moved(self, clock: Clock) -> Clock:
        """`clock` with all jumps so far added."""
        return lambda: clock() + self._offset

    def happened(self) -> list[dict[str, Any]]:
        """The plan's faults as they were given, each with the number of times that it has happened."""
        with self._lock:
            counts = Counter[int]()
            for (place, _), count in self._happened.items():
                counts[place] += count
            return [
                {**fault.model_dump(mode="json", exclude_defaults=True), "happened": counts[place]}
                for place, fault in enumerate(self.plan.faults)
            ]


def read_plan(source: str, of: type[Fault] = Fault) -> tuple[Fault, ...]:
    """The faults in `source`: a TOML file with a [[fault]] table for each, or a line. Raises UsageError."""
    return _from_toml(Path(source), of) if os.path.isfile(source) else read_line(source, of)


def read_line(line: str, of: type[Fault] = Fault) -> tuple[Fault, ...]:
    """Faults from one line: `KIND` or `KIND=CHANCE` for each, followed by `,name=value` for the rest.

    Spaces separate faults, `+` separates steps, and `none` is no fault. Raises UsageError.

    >>> [fault.chance for fault in read_line("throttled=0.1,only=CreateHIT+SendBonus slow,seconds=2,times=3")]
    [0.1, 1.0]
    """
    return faults_from([_from_words(words) for words in line.split() if words != "none"], of)


def faults_from(given: object, of: type[Fault] = Fault) -> tuple[Fault, ...]:
    """Faults from parsed TOML or JSON. Raises UsageError, which names the fault that is not valid."""
    if not isinstance(given, list):
        raise UsageError("faults must be a list")
    faults = []
    for place, each in enumerate(given, start=1):
        try:
            faults.append(of.model_validate(each))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            reason = first["msg"].removeprefix("Value error, ")
            raise UsageError(f"fault {place}: {f'{where}: ' if where else ''}{reason}") from None
    return tuple(faults)


def _from_words(words: str) -> dict[str, str]:
    head, *rest = words.split(",")
    kind, _, chance = head.partition("=")
    values = {"kind": kind, **dict(part.partition("=")[::2] for part in rest)}
    return {**values, "chance": chance} if chance else values


def _from_toml(file: Path, of: type[Fault]) -> tuple[Fault, ...]:
    try:
        document = read_toml(read_whole(file, "utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not valid TOML: {error}") from None
    if set(document) != {"fault"}:
        raise UsageError(f"{file} must have [[fault]] tables and nothing else")
    return faults_from(document["fault"], of)
