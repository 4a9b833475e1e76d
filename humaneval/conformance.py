"""Rules that code of other packages must keep, tried one by one. The rooms that call such code have them.

A rule is a function that gets a trial and returns what is wrong, or nothing. If what is tried raises an
exception, it breaks the rule under test, and the other rules are still tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from humaneval.plugins import aside, raised

Trial = TypeVar("Trial")


class Finding(NamedTuple):
    """The result of a rule. `wrong` is empty if it is kept; `skipped` says why it does not apply."""

    rule: str
    wrong: str
    skipped: str = ""


class NotTriedError(Exception):
    """Raised by a rule that does not apply to what is tried. Its text says why."""


def tried(trial: Trial, rules: Mapping[str, Callable[[Trial], str | None]]) -> Iterator[Finding]:
    """Test every rule, by its name."""
    for name, rule in rules.items():
        try:
            with aside():
                wrong = rule(trial) or ""
        except NotTriedError as reason:
            yield Finding(name, "", str(reason))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever it raises is a finding
            yield Finding(name, f"raised {raised(error)}")
        else:
            yield Finding(name, wrong)
