"""Heat maps of picks: where each generator's sentence stood, and which sentence was marked."""

from __future__ import annotations

from functools import partial

from humaneval.domain import Role
from humaneval.report.figures.drawing import SMALL, Box, Drawing, Sheet, shortened
from humaneval.report.score_tables import named, provenance
from humaneval.report.sections import Column, Figure, ReportTable, whole
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.scoring.scores import GeneratorScore

CELL, LEFT, TOP = 24.0, 26.0, 34.0
FAINTEST, STRONGEST = 0.04, 0.5
"""How opaque a cell is; text on the strongest one keeps a contrast of 4.5."""


def heat_maps(analysis: Analysis) -> Figure:
    """Where each generator's sentence stood against the sentence that was marked."""
    scores = analysis.table.scores
    judged = [row for row in scores if row.role is not Role.CONTROL] or scores
    largest = max((max(line) / max(sum(line), 1) for row in judged for line in row.picks), default=1.0)
    places = max(len(row.picks) for row in scores)
    rows = [
        (named(row), whole(place), *(whole(times) for times in line), whole(sum(line)))
        for row in scores
        for place, line in enumerate(row.picks, 1)
    ]
    table = ReportTable(
        "picks",
        "Sentence that annotators marked, by the position of the machine’s (for Human: the held-out one)",
        (
            Column("generator", "Generator", False),
            Column("stood_at", "Position"),
            *(
                Column(f"marked_{place}", f"Marked {place}", unit="responses")
                for place in range(1, places + 1)
            ),
            Column("n", "All", unit="responses"),
        ),
        tuple(rows),
        apart=frozenset(range(places, len(rows), places)),
    )
    return Figure(
        "picks",
        "Position of the sentence, and the sentence marked",
        tuple(_heat_map(row, at, largest or 1.0) for at, row in enumerate(scores)),
        "Rows: the position of the machine’s sentence (for Human: the held-out one). Columns: the sentence"
        " that was marked. The stronger the colour of a cell, the larger its share of its row. Framed: marked"
        " correctly. A column that is strong throughout is a position that annotators favour."
        f" {provenance(analysis)}",
        table,
    )


def _heat_map(row: GeneratorScore, at: int, largest: float) -> Drawing:
    right = sum(line[place] for place, line in enumerate(row.picks))
    return Drawing(
        f"picks-{at + 1}",
        f"{row.generator}: position and sentence marked",
        f"{row.generator}: {right} of {row.n} marked correctly. The numbers are in the table below.",
        TOP + len(row.picks) * CELL + 33,
        partial(_draw, row=row, largest=largest),
        LEFT + len(row.picks) * CELL + 6,
    )


def _draw(sheet: Sheet, row: GeneratorScore, largest: float) -> None:
    from matplotlib.patches import Rectangle

    side = len(row.picks) * CELL
    axes = sheet.axes(Box(LEFT, TOP, LEFT + side, TOP + side), (0, side), (side, 0), line=False)
    sheet.text(LEFT, 12, shortened(row.generator, 17))
    for place, line in enumerate(row.picks):
        y = place * CELL
        sheet.text(LEFT - 8, TOP + y + 16, str(place + 1), "right", "muted")
        sheet.text(LEFT + y + CELL / 2, TOP - 6, str(place + 1), "center", "muted")
        for marked, times in enumerate(line):
            share = min(1.0, times / max(sum(line), 1) / largest)
            cell = Rectangle((marked * CELL, y), CELL - 1, CELL - 1, linewidth=0)
            cell.set_facecolor(sheet.colour("system"))
            cell.set_alpha(FAINTEST + (STRONGEST - FAINTEST) * share)
            axes.add_artist(cell)
            sheet.text(LEFT + (marked + 0.5) * CELL - 0.5, TOP + y + 15.5, str(times), "center", size=SMALL)
        frame = Rectangle((y, y), CELL - 1, CELL - 1, fill=False, linewidth=1.4, clip_on=False)
        frame.set_edgecolor(sheet.colour("ink"))
        axes.add_artist(frame)
    sheet.text(LEFT, TOP + side + 13, "columns: marked", colour="muted", size=SMALL)
    sheet.text(LEFT, TOP + side + 26, "rows: position", colour="muted", size=SMALL)
