"""The plots of a report as files of their own: SVG, and PDF for papers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from humaneval.report.chapters import chapters
from humaneval.report.contents import ReportData
from humaneval.report.figures.drawing import Drawing
from humaneval.report.figures.forest import score_plot
from humaneval.report.figures.pdf import pdf_pages
from humaneval.report.sections import Figure


def drawings(data: ReportData) -> dict[str, tuple[Drawing, ...]]:
    """All plots by the key of their figure, in the order of the report; without an analysis the scores
    alone."""
    found: dict[str, tuple[Drawing, ...]] = {"scores": tuple(map(score_plot, data.table.all_scales))}
    for section in chapters(data).values():
        found |= {block.key: block.drawings for block in section.blocks if isinstance(block, Figure)}
    return {key: tuple(replace(one, mark=data.mark) for one in plots) for key, plots in found.items()}


def figures_pdf(data: ReportData) -> bytes:
    """All plots in one PDF, a figure a page."""
    return pdf_pages(list(drawings(data).values()))


def figure_files(data: ReportData) -> Mapping[str, bytes]:
    """Each figure as PDF and each of its plots as SVG, by file name."""
    files: dict[str, bytes] = {}
    for key, plots in drawings(data).items():
        files[f"{key}.pdf"] = pdf_pages([plots])
        for plot in plots:
            name = key if len(plots) == 1 else plot.key
            files[f"{name}.svg"] = plot.svg(alone=True).encode()
    return files
