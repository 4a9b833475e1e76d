"""Verbs that try code of other packages against rules: a line a rule, and what it comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from humaneval.cli.context import say
from humaneval.conformance import Finding, Trial, tried
from humaneval.errors import InputError
from humaneval.progress import progress


def told(
    name: str, trial: Trial, rules: Mapping[str, Callable[[Trial], str | None]], *, quiet: bool
) -> list[Finding]:
    """What `rules` find, with a line for each as it comes; `quiet` leaves the lines out."""
    found = []
    with progress(f"Trying {name}", len(rules), unit="rules") as advance:
        for finding in tried(trial, rules):
            found.append(finding)
            advance(1)
            if not quiet:
                mark = "fails" if finding.wrong else "–" if finding.skipped else "ok"
                say(f"{mark:5}  {finding.rule:22} {finding.wrong or finding.skipped}".rstrip())
    return found


def as_documents(findings: Iterable[Finding]) -> list[Mapping[str, Any]]:
    """Findings as `--json` prints them."""
    return [
        {"rule": f.rule, "kept": None if f.skipped else not f.wrong, "why": f.wrong or f.skipped}
        for f in findings
    ]


def kept(name: str, findings: Iterable[Finding]) -> str:
    """The line that says that all rules are kept."""
    return f"\n{name} keeps all {sum(not one.skipped for one in findings)} rules that apply to it."


def refuse_broken(name: str, findings: Sequence[Finding], page: str) -> None:
    """Raise InputError if a rule is broken; `page` says what each asks for."""
    if broken := [one.rule for one in findings if one.wrong]:
        raise InputError(
            f"{name} breaks {len(broken)} of {len(findings)} rules: {', '.join(broken)}",
            f"{page} says what each rule asks for.",
        )
