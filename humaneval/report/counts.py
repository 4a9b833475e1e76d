"""The report of published counts: the same page and tables, of what counts can tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from humaneval.domain import CEILING, Role
from humaneval.errors import UsageError
from humaneval.report import verdicts
from humaneval.report.conclusion import HIGHER, conclusion_from_counts
from humaneval.report.figures.drawing import STYLE
from humaneval.report.figures.forest import Plotted, score_plot
from humaneval.report.figures.pdf import pdf_pages
from humaneval.report.formats import FILES, json_text
from humaneval.report.latex import latex_of
from humaneval.report.markdown import markdown_of, markdown_text
from humaneval.report.numbers_csv import csv_of
from humaneval.report.page import Numbers, environment
from humaneval.report.phrases import notes
from humaneval.report.score_tables import borders, comparison_tables, headline, interval_head, named
from humaneval.report.sections import Cell, Column, ReportTable, Section, number, share, whole
from humaneval.report.terminal.counts import method
from humaneval.scoring.from_counts import GATED, CountTable
from humaneval.scoring.scores import Chance, GeneratorScore


@dataclass(frozen=True, slots=True)
class CountsReport:
    """A report of scores of which only the counts are known."""

    title: str
    table: CountTable


def render_counts_report(data: CountsReport) -> str:
    """The page as text. The same data give the same bytes."""
    plotted = _plotted(data.table)
    page = (
        environment()
        .get_template("counts.html")
        .render(
            data=data,
            conclusion=conclusion_from_counts(data.table),
            higher=HIGHER,
            main=counts_table(data.table),
            plot=score_plot(plotted),
            narrow_plot=score_plot(plotted, narrow=True),
            sections={section.key: section for section in counts_sections(data.table)},
            method=method(data.table),
            human=next((row.generator for row in data.table.scores if row.role is Role.HUMAN), ""),
            numbers=Numbers(),
            plot_style=Markup(STYLE),
        )
    )
    return page + "\n"


def counts_files(data: CountsReport, form: str) -> Mapping[str, bytes]:
    """The files of a form, by name. Raises UsageError for none."""
    sections = counts_sections(data.table)
    plot = score_plot(_plotted(data.table))
    texts: dict[str, str] = {}
    files: dict[str, bytes] = {}
    if form in ("html", "all"):
        texts[FILES["html"]] = render_counts_report(data)
    if form in ("markdown", "all"):
        above = markdown_text(" ".join(conclusion_from_counts(data.table)))
        texts[FILES["markdown"]] = markdown_of(data.title, (above,), sections)
    if form in ("latex", "all"):
        texts[FILES["latex"]] = latex_of(data.title, sections, "")
    if form in ("json", "all"):
        texts[FILES["json"]] = json_text(data.table.to_json())
    if form in ("csv", "all"):
        texts |= csv_of(sections)
    if form == "pdf":
        files[FILES["pdf"]] = pdf_pages([(plot,)])
    if form in ("figures", "all"):
        files |= {"scores.pdf": pdf_pages([(plot,)]), "scores.svg": plot.svg(alone=True).encode()}
    if not texts and not files:
        raise UsageError(f"counts have no report in the form {form}", f"Forms: {', '.join(FILES)}.")
    return {name: text.encode() for name, text in texts.items()} | files


def counts_sections(table: CountTable) -> tuple[Section, ...]:
    """Scores, comparisons, and how both were made."""
    families = ("systems", "below human")
    chosen = [[one for one in table.comparisons if one.family == family] for family in families]
    words = " ".join(filter(None, (verdicts.summary(one, table.level) for one in chosen)))
    found = (
        Section("scores", "Scores", (HIGHER, counts_table(table), method(table))),
        Section("comparisons", "Comparisons", (*filter(None, [words]), *comparison_tables(table, ""))),
    )
    return tuple(section for section in found if section.blocks)


def counts_table(table: CountTable) -> ReportTable:
    """Scores with intervals, and ranks where there are several systems."""
    ranked = any(row.rank for row in table.scores)
    columns = [
        Column("generator", "Generator", False),
        Column("score", "Score, %", unit="share"),
        Column("interval", interval_head(table), span=True, unit="share"),
        Column("not_identified", "x", unit="passages"),
        Column("n", "n", unit="passages"),
    ]
    if ranked:
        columns += [
            Column("rank", "Mean rank"),
            Column("rank_from", "Rank, from"),
            Column("rank_to", "to"),
            Column("best", "Best, %", unit="share"),
        ]
    rows = []
    for row in table.scores:
        cells = [named(row), share(row.score, strong=True), headline(row)]
        cells += [whole(row.not_identified), whole(row.n)]
        if ranked and row.rank:
            rank = row.rank
            cells += [number(rank.mean, 1), whole(rank.low), whole(rank.high), share(rank.best)]
        elif ranked:
            cells += [Cell("")] * 4
        rows.append(tuple(cells))
    return ReportTable(
        "scores",
        "Passages whose annotator did not mark the machine’s sentence",
        tuple(columns),
        tuple(rows),
        " ".join(notes((row.generator, "" if row.interval else GATED) for row in table.scores)),
        borders(table.scores),
    )


def _plotted(table: CountTable) -> Plotted:
    """The counts as a plot takes them: what nobody knows of them is not drawn."""
    rows = (
        GeneratorScore(
            row.generator,
            row.role,
            row.n,
            row.not_identified,
            0,
            0,
            row.interval,
            "wilson",
            1.0,
            float(row.n),
            (),
            "" if row.interval else GATED,
        )
        for row in table.scores
    )
    return Plotted(table.level, tuple(rows), Chance(CEILING, None, (), ()))
