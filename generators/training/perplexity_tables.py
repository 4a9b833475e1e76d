"""Scores as tables: a plain list, or the paper's tables with the published values beside the new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.table import Table

from generators.training.checkpoint_perplexity import Score
from generators.training.log import readable
from generators.training.paper import LENGTHS, PUBLISHED, STRATEGIES, TABLES, Key

NAMES = {"lm": "LM", "lm-rev": "LM-Rev", "lm-all": "LM-All", "ilm": "ILM"}
NOT_COMPARABLE = (
    "The paper's values are per token of GPT-2's vocabulary of 50,257; another vocabulary's are not"
    " comparable with them."
)


def plain_table(scores: Sequence[Score]) -> Table:
    """A table with one line per score."""
    table = Table(box=None, pad_edge=False)
    table.add_column("Checkpoint", overflow="fold")
    for heading in ("Strategy", "Granularity"):
        table.add_column(heading, no_wrap=True)
    for heading in ("Perplexity", "Tokens", "Examples", "Left out", "Length"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in scores:
        found = one.perplexities
        table.add_row(
            one.checkpoint,
            NAMES[one.strategy],
            one.granularity,
            readable(found.masked, 2),
            f"{found.tokens:,}",
            f"{found.examples:,}",
            f"{lost(one):,}",
            f"{found.mean_length:.1f}",
        )
    return table


def lost(score: Score) -> int:
    """The number of documents that were not scored."""
    return sum(count for cause, count in score.left_out.items() if "nothing lost" not in cause)


class TitledTable(NamedTuple):
    """A table, and the title above it; none if empty."""

    title: str
    table: Table


def paper_tables(scores: Sequence[Score]) -> list[TitledTable]:
    """A table for each granularity, numbered as in the paper, with a row for each strategy."""
    tables = []
    for granularity, number in TABLES.items():
        here = [score for score in scores if score.granularity == granularity]
        if not here:
            continue
        corpora = list(dict.fromkeys(score.corpus for score in here))
        title = f"Perplexity of masked text: {granularity} (the paper's Table {number})"
        table = Table(box=None, pad_edge=False)
        table.add_column("Strategy")
        table.add_column("From")
        for corpus in corpora:
            table.add_column(corpus.capitalize(), justify="right")
            table.add_column("paper", justify="right", style="dim")
        if granularity == "sentence":
            table.add_column("Length", justify="right")
            table.add_column("paper", justify="right", style="dim")
        for scratch in (True, False):
            for strategy in STRATEGIES:
                row = {s.corpus: s for s in here if s.strategy == strategy and s.scratch == scratch}
                if row:
                    table.add_row(*_row(row, here, corpora, strategy, scratch, granularity))
        tables.append(TitledTable(title, table))
    return tables


def _row(
    row: dict[str, Score],
    here: Sequence[Score],
    corpora: Sequence[str],
    strategy: str,
    scratch: bool,
    granularity: str,
) -> list[str]:
    cells = [NAMES[strategy], "scratch" if scratch else "pre-trained"]
    for corpus in corpora:
        cells.append(readable(row[corpus].perplexities.masked) if corpus in row else "–")
        # The mixture in the paper is that of its own mask function.
        other = granularity == "mixture" and corpus in row and row[corpus].mask != "hierarchical"
        published = None if other else PUBLISHED.get(Key(granularity, strategy, scratch, corpus))
        cells.append("–" if published is None else f"{published:.1f}")
    if granularity == "sentence":
        corpus, one = next(iter(row.items()))
        base = [s for s in here if s.strategy == "lm" and s.corpus == corpus]
        ratio = one.perplexities.mean_length / base[0].perplexities.mean_length if base else None
        cells += ["–" if ratio is None else f"{ratio:.2f}", f"{LENGTHS[strategy]:.2f}"]
    return cells


def comparable(scores: Sequence[Score]) -> bool:
    """Whether the scores are per token of GPT-2's vocabulary, judged by its size."""
    return all(score.vocabulary == 50_257 for score in scores)
