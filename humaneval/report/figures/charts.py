"""The plots beside the forest plot, each with the table of what it draws. Shapes and lines tell things apart,
not colours alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from statistics import NormalDist, median

from scipy.stats import binom

from humaneval.domain import Role
from humaneval.report.figures.canvas import Canvas, short, ticks
from humaneval.report.phrases import between, percent
from humaneval.report.score_tables import NBSP, interval_head, named, provenance
from humaneval.report.sections import (
    Cell,
    Column,
    Figure,
    ReportTable,
    number,
    number_span,
    share,
    span,
    text,
    whole,
)
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.scoring.scores import GeneratorScore
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.intervals import Interval, wilson
from humaneval.statistics.mixed_model import BOUNDARY, MixedModel

EXTREME = 40
"""So many stories are drawn."""
LEFT, RIGHT, TOP, BOTTOM = 44.0, 350.0, 16.0, 40.0


def heat_maps(analysis: Analysis) -> Figure:
    """Where each generator's sentence stood against the sentence that was marked."""
    scores = analysis.table.scores
    judged = [row for row in scores if row.role is not Role.CONTROL] or scores
    strongest = max((max(line) / max(sum(line), 1) for row in judged for line in row.picks), default=1.0)
    rows = [
        (named(row), whole(place), *(whole(times) for times in line), whole(sum(line)))
        for row in scores
        for place, line in enumerate(row.picks, 1)
    ]
    table = ReportTable(
        "picks",
        "Sentence that annotators marked, by where the machine’s (for Human: the held-out one) stood",
        (
            Column("generator", "Generator", False),
            Column("stood_at", "Stood at"),
            *(Column(f"marked_{place}", f"Marked {place}", unit="responses") for place in range(1, 6)),
            Column("n", "All", unit="responses"),
        ),
        tuple(rows),
        apart=frozenset(range(5, len(rows), 5)),
    )
    return Figure(
        "picks",
        "Where the sentence stood, and which one was marked",
        tuple(_heat_map(row, at, strongest or 1.0) for at, row in enumerate(scores)),
        "Down: where the machine’s sentence (for Human: the held-out one) stood; across: the sentence that"
        " was marked. The darker a cell, the larger its share of its line. Framed: marked rightly. Columns"
        f" that are dark throughout are favourite places. {provenance(analysis)}",
        table,
    )


def _heat_map(row: GeneratorScore, at: int, strongest: float) -> str:
    size, left, top = 24.0, 26.0, 34.0
    right = sum(line[place] for place, line in enumerate(row.picks))
    canvas = Canvas(
        f"picks-{at}",
        top + 5 * size + 33,
        f"{row.generator}: stood at and marked",
        f"{row.generator}: {right} of {row.n} marked rightly. The numbers are in the table below.",
        left + 5 * size + 6,
    )
    canvas.text(left, 12, short(row.generator, 19))
    for place, line in enumerate(row.picks):
        y = top + place * size
        canvas.text(left - 8, y + 16, str(place + 1), "end", "muted")
        canvas.text(left + (place + 0.5) * size, top - 6, str(place + 1), "middle", "muted")
        for marked, times in enumerate(line):
            x = left + marked * size
            canvas.rectangle(
                x,
                y,
                size - 1,
                size - 1,
                "cell",
                0.04 + 0.46 * min(1.0, times / max(sum(line), 1) / strongest),
            )
            canvas.text(x + size / 2 - 0.5, y + 16, str(times), "middle", "small")
        canvas.rectangle(left + place * size, y, size - 1, size - 1, "found")
    canvas.text(left, top + 5 * size + 13, "across: marked", css="muted small")
    canvas.text(left, top + 5 * size + 26, "down: stood at", css="muted small")
    return canvas.svg()


def ranks_figure(analysis: Analysis) -> Figure | None:
    """How often each system came first among bootstrap replicates, and between which ranks it lay."""
    if isinstance(analysis.standings, NotEstimable):
        return None
    found = sorted(analysis.standings, key=lambda one: one.rank)
    step, top = 44.0, 26.0
    systems = len(found)
    said = " ".join(
        f"{one.generator}: first in {percent(one.best, 0)}{NBSP}%, rank {one.low} to {one.high}."
        for one in found
    )
    canvas = Canvas("ranks", top + step * systems + 34, "Ranks of the systems over replicates", said)
    bars, scale = (8.0, 150.0), (190.0, 340.0)
    canvas.text(bars[0], 13, "Came first, %", css="muted")
    canvas.text(scale[0] - 8, 13, "Rank", css="muted")
    end = top + step * systems

    def at(rank: float) -> float:
        return scale[0] + (scale[1] - scale[0]) * (rank - 1) / max(systems - 1, 1)

    for rank in range(1, systems + 1):
        if systems <= 12 or rank in (1, systems) or rank % 5 == 0:
            canvas.line(at(rank), top, at(rank), end, "grid")
            canvas.text(at(rank), end + 16, str(rank), "middle", "muted")
    canvas.line(bars[0], top, bars[0], end, "axis")
    for place, one in enumerate(found):
        y = top + place * step
        canvas.text(bars[0] + 4, y + 14, short(one.generator, 24))
        width = (bars[1] - bars[0] - 34) * one.best
        canvas.rectangle(bars[0], y + 20, width, 13, "mark")
        canvas.text(bars[0] + width + 5, y + 31, percent(one.best, 0))
        canvas.line(at(one.low), y + 26, at(one.high), y + 26, "data")
        for edge in (one.low, one.high):
            canvas.line(at(edge), y + 21, at(edge), y + 31, "data")
        canvas.circle(at(one.rank), y + 26, 4.5, "mark")
    level = f"{percent(analysis.table.level, 0)}{NBSP}%"
    table = ReportTable(
        "ranks",
        "Ranks of the systems over bootstrap replicates; rank 1 has the largest score",
        (
            Column("generator", "System", False),
            Column("first", "Came first, %", unit="share of replicates"),
            Column("rank", "Mean rank"),
            Column("rank_low", "Rank, from"),
            Column("rank_high", "to"),
            Column("group", "Group told apart"),
        ),
        tuple(
            (
                text(one.generator),
                share(one.best),
                number(one.rank, 1),
                whole(one.low),
                whole(one.high),
                whole(one.group),
            )
            for one in found
        ),
        "Systems of one group were not all told apart from each other.",
    )
    return Figure(
        "ranks",
        "How sure the order of the systems is",
        (canvas.svg(),),
        "Bars: in how many of 2,000 bootstrap replicates of annotators a system came first. Lines: the ranks"
        f" that {level} of replicates gave it; dots: its mean rank. Ranks are no test: verdicts are."
        f" {provenance(analysis)}",
        table,
    )


def order_figure(analysis: Analysis) -> Figure | None:
    """Detection of the systems' sentences by the place of the passage in its form."""
    found = analysis.effects.by_order
    if len(found) < 2:
        return None
    level = analysis.table.level
    intervals = [wilson(one.detected, one.responses, level) for one in found]
    said = " ".join(
        f"Place {one.place}: {percent(one.detected / one.responses)}{NBSP}%, interval {between(interval)}."
        for one, interval in zip(found, intervals, strict=True)
    )
    canvas = Canvas("order", 230, "Detection by place in the form", said)
    x0, x1, y0, y1 = LEFT, RIGHT, TOP + 8, 230 - BOTTOM
    top = ticks(100 * max(interval.high for interval in intervals))

    def y(value: float) -> float:
        return y1 - (y1 - y0) * 100 * value / top[-1]

    for mark in top:
        canvas.line(x0, y(mark / 100), x1, y(mark / 100), "grid")
        canvas.text(x0 - 6, y(mark / 100) + 4, f"{mark:g}", "end", "muted")
    luck = 1 - _ceiling(analysis)
    if 100 * luck <= top[-1]:
        canvas.line(x0, y(luck), x1, y(luck), "chance")
        canvas.text(x1, 12, f"dashed: chance {percent(luck, 0)}{NBSP}%", "end", "chance-text")
    for place, (one, interval) in enumerate(zip(found, intervals, strict=True)):
        x = x0 + (x1 - x0) * (place + 0.5) / len(found)
        canvas.line(x, y(interval.low), x, y(interval.high), "data")
        canvas.circle(x, y(one.detected / one.responses), 4.5, "mark")
        if len(found) <= 16 or place % 5 == 0:
            canvas.text(x, y1 + 16, str(one.place), "middle", "muted")
    canvas.line(x0, y1, x1, y1, "axis")
    canvas.text(x0, 12, "Detected, %", css="muted")
    canvas.text(x1, 230 - 6, "place of the passage in its form", "end", "muted")
    table = ReportTable(
        "order",
        "Detection of the systems’ sentences by place in the form",
        (
            Column("place", "Place", False),
            Column("responses", "Responses"),
            Column("detected", "Detected"),
            Column("share", "Detected, %", unit="share"),
            Column("interval", "Interval, %", span=True, unit="share"),
        ),
        tuple(
            (
                whole(one.place),
                whole(one.responses),
                whole(one.detected),
                share(one.detected / one.responses),
                span(interval),
            )
            for one, interval in zip(found, intervals, strict=True)
        ),
    )
    return Figure(
        "order",
        "Detection by place in the form",
        (canvas.svg(),),
        "Dots: share of the systems’ sentences that were marked, by the passage’s place in its form; lines:"
        f" {percent(level, 0)}{NBSP}% Wilson intervals that take responses as unrelated."
        f" {provenance(analysis)}",
        table,
    )


def worker_figure(analysis: Analysis) -> Figure | None:
    """Each annotator's detection of the systems' sentences against her time, with the band that chance
    gives."""
    known = [one for one in analysis.workers if one.systems and one.median_seconds is not None]
    if len(known) < 2:
        return None
    seconds = [one.median_seconds or 0.0 for one in known]
    usual = Counter(one.systems for one in known).most_common(1)[0][0]
    luck = 1 - _ceiling(analysis)
    low, high = (float(binom.ppf(at, usual, luck)) / usual for at in (0.025, 0.975))
    marks = ticks(max(seconds))
    canvas = Canvas(
        "workers",
        260,
        "Annotators: detection against time",
        f"{len(known)} annotators; medians:"
        f" {percent(median(one.detected / one.systems for one in known))}{NBSP}% detected,"
        f" {median(seconds):.1f} seconds a passage. One by one they are in the table of annotators.",
    )
    x0, x1, y0, y1 = LEFT, RIGHT - 8, TOP + 8, 260 - BOTTOM

    def y(value: float) -> float:
        return y1 - (y1 - y0) * value

    canvas.rectangle(x0, y(high), x1 - x0, y(low) - y(high), "band")
    for level in (0, 0.2, 0.4, 0.6, 0.8, 1):
        canvas.line(x0, y(level), x1, y(level), "grid")
        canvas.text(x0 - 6, y(level) + 4, percent(level, 0), "end", "muted")
    canvas.line(x0, y(luck), x1, y(luck), "chance")
    for mark in marks:
        canvas.text(x0 + (x1 - x0) * mark / marks[-1], y1 + 16, f"{mark:g}", "middle", "muted")
    canvas.line(x0, y1, x1, y1, "axis")
    # Shares of few passages are few: golden steps up and down, within a third of a passage, keep marks apart.
    for place, one in enumerate(sorted(known, key=lambda one: one.median_seconds or 0.0)):
        apart = ((place * 0.618034) % 1.0 - 0.5) * 0.66 / one.systems
        if one.detected in (0, one.systems):  # inside the frame
            apart = abs(apart) if not one.detected else -abs(apart)
        at = x0 + (x1 - x0) * (one.median_seconds or 0.0) / marks[-1], y(one.detected / one.systems + apart)
        if one.counted:
            canvas.circle(*at, 2.6, "ring")
        else:
            canvas.cross(*at, 2.6, "cross")
    canvas.text(x0, 12, "Detected, % of the systems’ passages", css="muted")
    canvas.text(x1, 260 - 6, "median seconds a passage", "end", "muted")
    table = ReportTable(
        "worker_scatter",
        "Annotators: detection against time",
        (
            Column("annotator", "Annotator", False),
            Column("detected", "Detected, %", unit="share"),
            Column("passages", "Passages of systems"),
            Column("seconds", "Median seconds", unit="seconds a passage"),
            Column("counted", "Counted", False),
        ),
        tuple(
            (
                Cell(short_pseudonym(one.worker), one.worker),
                share(one.detected / one.systems),
                whole(one.systems),
                number(one.median_seconds, 1),
                Cell("yes" if one.counted else "no", int(one.counted)),
            )
            for one in known
        ),
    )
    return Figure(
        "workers",
        "Annotators: detection against time",
        (canvas.svg(),),
        "Circles: annotators who count; crosses: those left out; moved up or down by up to a third of a"
        " passage, so that they do not hide each other. Dashed: what guessing finds,"
        f" {percent(luck, 0)}{NBSP}%; band: where at least 95{NBSP}% of annotators would lie who guess on"
        f" {usual} passages. {provenance(analysis)}",
        table,
    )


def story_figure(analysis: Analysis, titles: Mapping[str, str] | None = None) -> Figure | None:
    """The stories that stand out most by the mixed model, with intervals; `titles` are what to call them,
    by key."""
    model = analysis.model
    if not isinstance(model, MixedModel) or model.story_sd < BOUNDARY:
        return None
    titles, level = titles or {}, analysis.table.level
    reach = NormalDist().inv_cdf((1 + level) / 2)
    modes = sorted(
        (
            (
                analysis.stories[int(code)],
                float(mode),
                Interval(float(mode - reach * sd), float(mode + reach * sd)),
            )
            for code, mode, sd in zip(
                model.stories, model.story_modes, analysis.story_deviations, strict=True
            )
        ),
        key=lambda one: (-one[1], one[0]),
    )
    far = {one[0] for one in sorted(modes, key=lambda one: -abs(one[1]))[:EXTREME]}
    chosen = [one for one in modes if one[0] in far]
    widest = max(max(abs(interval.low), abs(interval.high)) for *_, interval in chosen) or 1.0
    step, top = 14.0, 22.0
    end = top + step * len(chosen)
    first, last = chosen[0], chosen[-1]
    canvas = Canvas(
        "stories",
        end + 40,
        "Stories that stand out",
        f"From {titles.get(first[0], first[0])} ({first[1]:+.2f}) to {titles.get(last[0], last[0])}"
        f" ({last[1]:+.2f}).",
    )
    x0, x1 = 160.0, RIGHT - 6
    middle, scale = (x0 + x1) / 2, (x1 - x0) / 2 / widest
    canvas.line(middle, top - 6, middle, end, "axis")
    for place, (name, mode, interval) in enumerate(chosen):
        y = top + step * (place + 0.5)
        canvas.text(x0 - 6, y + 3.5, short(titles.get(name, name), 23), "end", "small")
        canvas.line(middle + interval.low * scale, y, middle + interval.high * scale, y, "axis")
        canvas.circle(middle + mode * scale, y, 3.2, "mark")
    for value in (-widest, 0.0, widest):
        shown = f"{value:+.1f}".replace("-", "\N{MINUS SIGN}") if value else "0"
        canvas.text(middle + value * scale, end + 15, shown, "middle", "muted")
    canvas.text(x1, end + 33, "effect on the log odds of not being found", "end", "muted")
    of = f"the {len(chosen)} of {len(modes)} stories" if len(modes) > len(chosen) else "the stories"
    return Figure(
        "stories",
        "Stories that stand out",
        (canvas.svg(),),
        f"Dots: the most likely effects by the mixed model of {of} that lie farthest from 0; lines:"
        f" {percent(level, 0)}{NBSP}% intervals by their conditional standard deviations, all else in the"
        " model taken as known. To the right: sentences in them escape more often. Such effects are drawn"
        f" towards 0 by the model. {provenance(analysis)}",
        ReportTable(
            "stories",
            "Most likely effects of stories on the log odds of not being found",
            (
                Column("story", "Story", False),
                Column("title", "Title", False),
                Column("effect", "Effect", unit="log odds"),
                Column("interval", interval_head(analysis.table), span=True, unit="log odds"),
            ),
            tuple(
                (text(name), text(titles.get(name, "")), number(mode, 3), number_span(interval))
                for name, mode, interval in modes
            ),
        ),
    )


def short_pseudonym(worker: str) -> str:
    """The first eight characters: enough to find a line again, too few to look anybody up."""
    return short(worker, 9)


def _ceiling(analysis: Analysis) -> float:
    return analysis.table.chance.achieved or analysis.table.chance.nominal


__all__ = [
    "heat_maps",
    "order_figure",
    "ranks_figure",
    "short_pseudonym",
    "story_figure",
    "worker_figure",
]
