"""Plots as the pages of a PDF."""

from __future__ import annotations

import io
from collections.abc import Sequence
from math import ceil

from humaneval.report.figures.drawing import Drawing, plotting

BESIDE = 4
"""How many plots of one figure stand beside each other on a page of a PDF."""


def pdf_pages(pages: Sequence[Sequence[Drawing]]) -> bytes:
    """A PDF with one page for each group of drawings; those of a group are alike and stand in rows.

    Text is text in embedded TrueType fonts; nothing in the file says when it was made. Characters that DejaVu
    Sans lacks, such as Chinese ones, are boxes here: the SVG files leave them to the fonts of the reader.
    """
    out = io.BytesIO()
    with plotting("pdf"):
        from matplotlib.backends.backend_pdf import FigureCanvasPdf, PdfPages
        from matplotlib.figure import Figure

        with PdfPages(out, metadata=dict.fromkeys(("CreationDate", "Creator", "Producer"))) as file:
            for drawings in pages:
                columns = min(BESIDE, len(drawings))
                lines = ceil(len(drawings) / columns)
                width, height = columns * drawings[0].width, lines * drawings[0].full_height
                figure = Figure(figsize=(width / 72, height / 72))
                FigureCanvasPdf(figure)
                grid = figure.add_gridspec(
                    lines, columns, left=0, right=1, top=1, bottom=0, wspace=0, hspace=0
                )
                for place, drawing in enumerate(drawings):
                    part = figure.add_subfigure(grid[divmod(place, columns)])
                    drawing.draw_on(part, themed=False)
                file.savefig(figure)
    return out.getvalue()
