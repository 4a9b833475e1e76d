"""Scores from counts for the terminal: intervals, ranks, comparisons, and what counts cannot tell."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from humaneval.report import verdicts
from humaneval.report.phrases import between, confidence, notes, percent
from humaneval.report.terminal.scores import TIGHT, differences
from humaneval.scoring.from_counts import GATED, CountTable


def render_counts(table: CountTable, console: Console) -> None:
    """Print the scores, the comparisons by family, and how they were made."""
    ascii_only, tight = console.options.ascii_only, console.width < TIGHT
    lines = Table(box=None, padding=(0, 1), pad_edge=False, header_style="bold")
    lines.add_column("Generator", overflow="fold", min_width=9)
    for heading in ("Score %", f"{confidence(table.level)} % interval", "x / n", "Rank", "Best %"):
        lines.add_column(heading, justify="right", no_wrap=True)
    for row in table.scores:
        rank = row.rank
        lines.add_row(
            row.generator,
            percent(row.score),
            between(row.interval),
            f"{row.not_identified:,} / {row.n:,}",
            f"{rank.low}–{rank.high}" if rank else "",
            percent(rank.best, 0) if rank else "",
        )
    console.print(lines)
    console.print()
    for family in ("systems", "below human"):
        chosen = [one for one in table.comparisons if one.family == family]
        if chosen:
            console.print(differences(chosen, table.level, ascii_only=ascii_only, tight=tight))
            console.print(verdicts.summary(chosen, table.level))
            for said in (verdicts.left_open, verdicts.family_decides):
                if line := said(chosen, table.level):
                    console.print(line)
            console.print()
    for note in notes((row.generator, "" if row.interval else GATED) for row in table.scores):
        console.print(note)
    console.print(method(table))


def method(table: CountTable) -> str:
    """How the numbers of a table of counts were made: only of those that it has."""
    found = table.comparisons
    families = {one.family: one.b for one in found}
    tests = ["χ²"] if "systems" in families else []
    if human := families.get("below human"):
        tests.append(f"against {human}, one-sided z")
    text = "Counts do not say which annotator judged what, nor whether annotators or stories recur. "
    if not found:
        text += "Intervals are Wilson’s, as if none did."
    else:
        text += (
            f"So comparisons are unpaired ({'; '.join(tests)}), and intervals are Wilson’s, of differences"
            f" Newcombe’s; {verdicts.adjustment(found)}.{verdicts.alone(found)}{verdicts.bounds(found)}"
            f"{verdicts.margins(found, table.level)}"
        )
    if any(row.rank for row in table.scores):
        text += " Ranks and the odds of being best follow from Jeffreys’ priors."
    return text
