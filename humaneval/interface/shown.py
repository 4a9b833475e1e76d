"""What a notebook or a Python prompt shows of scores and plans."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape

from rich.console import Console

from humaneval.report.conclusion import conclusion
from humaneval.report.phrases import amount, between, confidence, few, warned
from humaneval.report.score_tables import score_head
from humaneval.report.terminal.scores import render_scores
from humaneval.scoring.scores import ScoreTable
from humaneval.text import Answerers

WIDTH = 100
RIGHT = ' style="text-align: right"'
LEFT = ' style="text-align: left"'


def scores_text(table: ScoreTable, who: Answerers | None = None, early: str = "") -> str:
    """The table of scores with its warnings and its conclusion, as text of 100 columns. `who` answered, if
    any of them is a program."""
    out = io.StringIO()
    # A notebook's console would print instead of giving the text; the environment must change nothing.
    console = Console(
        file=out, width=WIDTH, color_system=None, force_terminal=False, force_jupyter=False, _environ={}
    )
    for one in table.all_scales:
        render_scores(one, console)
        console.print()
    for sentence in (*_warnings(table, who, early), table.words.higher, *conclusion(table)):
        console.print(sentence, markup=False, emoji=False, highlight=False)
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines())


def scores_html(table: ScoreTable, who: Answerers | None = None, early: str = "") -> str:
    """The same as a fragment of HTML."""
    warned = "".join(f"<p><strong>{escape(text)}</strong></p>" for text in _warnings(table, who, early))
    said = f"<p>{escape(' '.join(conclusion(table)))}</p>"
    return warned + "".join(_scale_html(one) for one in table.all_scales) + said


def _scale_html(table: ScoreTable) -> str:
    scale = table.scale
    score = "Score, %" if table.detects else score_head(scale)
    counts = ("x",) if scale.binary else ()
    heads = ("Generator", score, f"{confidence(table.level)}\N{NO-BREAK SPACE}% interval", *counts, "n")
    rows = [
        (
            row.generator,
            amount(row.score, scale),
            between(row.interval, scale),
            *((f"{row.not_identified:,}",) if counts else ()),
            f"{row.n:,}",
        )
        for row in table.scores
    ]
    return table_html(f"{table.words.caption}. {table.words.higher}", heads, rows)


def _warnings(table: ScoreTable, who: Answerers | None, early: str) -> list[str]:
    """What must not be overlooked: programs among the annotators, tests, missing forms, few annotators or
    stories."""
    first = warned(who or Answerers(0, 0), tests=table.rule.tests == "only")
    return list(filter(None, [first, early, few(table)]))


def table_html(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column names the rows, with or without heads; all text in it is escaped."""
    head = "".join(
        f'<th scope="col"{RIGHT if at else LEFT}>{escape(name)}</th>' for at, name in enumerate(heads)
    )
    body = "".join(
        f'<tr><th scope="row"{LEFT}>{escape(row[0])}</th>'
        + "".join(f"<td{RIGHT}>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<table><caption style="text-align: left">{escape(caption)}</caption>'
        + (f"<thead><tr>{head}</tr></thead>" if heads else "")
        + f"<tbody>{body}</tbody></table>"
    )
