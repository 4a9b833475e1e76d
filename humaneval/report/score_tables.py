"""The tables of scores and comparisons: the main table, one for each family, other rules, other intervals,
and
the exclusion flow."""

from __future__ import annotations

from collections.abc import Sequence

from humaneval.report import verdicts
from humaneval.report.phrases import ROLES, confidence, notes, percent, step_name
from humaneval.report.sections import (
    NOT_ESTIMABLE,
    Cell,
    Column,
    ReportTable,
    number,
    points,
    points_span,
    probability,
    score_cell,
    score_span,
    share,
    span,
    text,
    whole,
    why_not,
)
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.scoring.comparisons import Comparison
from humaneval.scoring.from_counts import Count, CountTable
from humaneval.scoring.questions.question import Scale
from humaneval.scoring.scores import GeneratorScore, ScoreTable
from humaneval.statistics.arrays import NotEstimable
from humaneval.text import counted

OF_SCORES = "score of the first minus score of the second, in points"
NBSP = "\N{NO-BREAK SPACE}"


def provenance(analysis: Analysis) -> str:
    """The number of responses: the end of every caption."""
    table = analysis.table
    responses = table.exclusions[-1].responses
    return f"n{NBSP}={NBSP}{counted(responses, 'response')}."


def drawn(analysis: Analysis) -> str:
    """The same with the seed, for the end of a caption of what was drawn at random."""
    return f"{provenance(analysis)} Drawn with seed {analysis.seed}."


def named(row: GeneratorScore | Count) -> Cell:
    """A generator's name, with its role if the name does not say it."""
    plain = row.role.value in (row.generator.lower(), "system")
    return Cell(row.generator if plain else f"{row.generator} ({ROLES[row.role.value]})", row.generator)


def interval_head(table: ScoreTable | CountTable) -> str:
    """`95 % interval`."""
    return f"{confidence(table.level)}{NBSP}% interval"


def headline(row: GeneratorScore | Count, scale: Scale | None = None) -> Cell:
    """The interval of a score; Control has none once those who missed it are excluded."""
    return score_span(row.interval, scale) if row.interval else Cell("none")


def borders(rows: Sequence[GeneratorScore | Count]) -> frozenset[int]:
    """The rows at which the role changes."""
    return frozenset(at for at in range(1, len(rows)) if rows[at].role is not rows[at - 1].role)


def main_tables(analysis: Analysis) -> tuple[ReportTable, ...]:
    """The scores on each scale."""
    if analysis.table.detects:
        return (main_table(analysis),)
    return tuple(scale_table(analysis, one) for one in analysis.table.all_scales)


def scale_table(analysis: Analysis, table: ScoreTable) -> ReportTable:
    """The scores on one scale, and how long a passage took."""
    scale, title = table.scale, table.words.caption
    counts = scale.binary
    rows = tuple(
        (
            named(row),
            score_cell(row.score, scale, strong=True),
            headline(row, scale),
            *([whole(row.not_identified)] if counts else []),
            whole(row.n),
            number(analysis.seconds.get(row.generator), 1),
        )
        for row in table.scores
    )
    said = notes((row.generator, row.note) for row in table.scores)
    kind = unit_of(table)
    return ReportTable(
        f"scores_{scale.name}" if scale.name else "scores",
        title,
        (
            Column("generator", "Generator", False),
            Column("score", score_head(scale), unit=kind),
            Column("interval", interval_head(table), span=True, unit=kind),
            *([Column("x", "x", unit="responses")] if counts else []),
            Column("n", "n", unit="responses"),
            Column("mean_seconds", "Seconds", unit="seconds a passage"),
        ),
        rows,
        " ".join(
            [
                "Seconds: mean time on a passage, by the page’s timer.",
                *said,
                provenance(analysis),
            ]
        ),
        borders(table.scores),
    )


def score_head(scale: Scale) -> str:
    """The head of a column of scores: `% preferred`, `Mean fluency (1–5)`."""
    return f"{scale.title[:1].upper()}{scale.title[1:]}"


def unit_of(table: ScoreTable | CountTable) -> str:
    """The unit of scores and differences, for the codebook."""
    scale = table.scale if isinstance(table, ScoreTable) else None
    return "share" if scale is None or scale.share else f"points from {scale.low:g} to {scale.high:g}"


def main_table(analysis: Analysis) -> ReportTable:
    """Scores, scores corrected for chance, and how long a passage took."""
    table = analysis.table
    off = {one.generator: one for one in analysis.luck_off}
    rows = []
    for row in table.scores:
        one = off.get(row.generator)
        rows.append(
            (
                named(row),
                share(row.score, strong=True),
                headline(row),
                whole(row.not_identified),
                whole(row.n),
                share(one.detection.normalised if one else None),
                span(one.detection.normalised_interval if one else None),
                number(one.d_prime if one else None),
                number(analysis.seconds.get(row.generator), 1),
            )
        )
    ceiling = next((one.ceiling for one in analysis.luck_off), table.ceiling)
    note = (
        f"Of chance: the score as a share of the {percent(ceiling)}{NBSP}% that chance gives here. d′:"
        " how far the sentences stand out, in standard"
        " deviations of an annotator’s impression; 0 means not at all. Seconds: mean time on a passage, by"
        " the page’s timer. "
    )
    note += why_not((f"d′ of {one.generator}", one.d_prime) for one in analysis.luck_off)
    return ReportTable(
        "scores",
        table.words.caption,
        (
            Column("generator", "Generator", False),
            Column("score", "Score, %", unit="share"),
            Column("interval", interval_head(table), span=True, unit="share"),
            Column("not_identified", "x", unit="responses"),
            Column("n", "n", unit="responses"),
            Column("of_ceiling", "Of chance, %", unit="share"),
            Column("of_ceiling_interval", interval_head(table), span=True, unit="share"),
            Column("d_prime", "d′", unit="standard deviations"),
            Column("mean_seconds", "Seconds", unit="seconds a passage"),
        ),
        tuple(rows),
        " ".join(
            [note.strip(), *notes((row.generator, row.note) for row in table.scores), provenance(analysis)]
        ),
        borders(table.scores),
    )


def comparison_tables(table: ScoreTable | CountTable, origin: str) -> tuple[ReportTable, ...]:
    """A table for each family of comparisons, largest difference first. Their notes end with `origin`."""
    found = []
    for family, key in (("systems", "comparisons_systems"), ("below human", "comparisons_human")):
        chosen = [one for one in table.comparisons if one.family == family]
        if chosen:
            scale = table.scale.name if isinstance(table, ScoreTable) else ""
            found.append(_family(chosen, f"{key}_{scale}" if scale else key, table, origin))
    return tuple(found)


def _family(chosen: list[Comparison], key: str, table: ScoreTable | CountTable, origin: str) -> ReportTable:
    ordered = sorted(chosen, key=lambda one: -abs(one.difference))
    adjust = verdicts.ADJUSTED[chosen[0].adjust]
    among = chosen[0].family == "systems"
    title = "Systems compared" if among else f"Each system against {chosen[0].b}, one-sided"
    if isinstance(table, ScoreTable) and table.scale.name:
        title = f"{title} on {table.scale.name.replace('_', ' ')}"
    kind, scale = unit_of(table), chosen[0].scale
    minus = table.words.difference if isinstance(table, ScoreTable) else OF_SCORES
    said = notes((f"{one.a} – {one.b}", one.note) for one in ordered)
    bounded = all(one.bound is not None for one in ordered)
    paired = any(one.pairs for one in ordered)
    if bounded:
        level = f"{confidence(table.level)}{NBSP}%"
        said.append(
            f"At most: the one-sided bound at {level}. It decides the verdict, as the test is one-sided; the"
            " interval is two-sided."
        )
    said += filter(None, [verdicts.left_open(ordered, table.level)])
    if verdicts.alone(ordered):
        said.append("Intervals are for one pair each, adjusted p-values for all pairs together.")
    return ReportTable(
        key,
        f"{title}: {minus}",
        (
            Column("pair", "Pair", False),
            Column("verdict", "Verdict", False),
            Column("difference", "Points", unit=kind),
            Column("interval", interval_head(table), span=True, unit=kind),
            *([Column("bound", "At most", unit=kind)] if bounded else []),
            Column("p", "p"),
            Column("p_adjusted", "p, unadjusted" if adjust == "unadjusted" else f"p, {adjust}"),
            *([_counted(table)] if paired else []),
        ),
        tuple(
            (
                Cell(f"{one.a} – {one.b}", f"{one.a} - {one.b}"),
                Cell(verdicts.outcome(one), one.verdict, one.verdict != "inconclusive"),
                points(one.difference, scale),
                points_span(one.interval, scale),
                *([points(one.bound, scale)] if bounded and one.bound is not None else []),
                probability(one.p),
                probability(one.p_adjusted),
                *([whole(one.pairs)] if paired else []),
            )
            for one in ordered
        ),
        " ".join([*said, *filter(None, [origin])]),
    )


def _counted(table: ScoreTable | CountTable) -> Column:
    """How many answers a comparison rests on."""
    if isinstance(table, ScoreTable) and table.words.compared:
        return Column("pairs", "Answers", unit="answers about the two")
    return Column("pairs", "Pairs", unit="pairs of answers by one annotator")


def exclusion_table(table: ScoreTable) -> ReportTable:
    """The steps from the responses collected to those analysed."""
    rows = []
    for step in table.exclusions:
        end = step.step in ("collected", "analysed")
        out = (Cell(""), Cell("")) if end else (whole(step.annotators_out), whole(step.responses_out))
        rows.append((text(step_name(step, table)), whole(step.annotators), whole(step.responses), *out))
    return ReportTable(
        "exclusions",
        "From the responses collected to those analysed",
        (
            Column("step", "Step", False),
            Column("annotators", "Annotators left"),
            Column("responses", "Responses left"),
            Column("annotators_out", "Annotators out"),
            Column("responses_out", "Responses out"),
        ),
        tuple(rows),
    )


def rules_table(analysis: Analysis) -> ReportTable:
    """The scores under each rule; the notes say what each rule excludes."""
    scores, scale, kind = analysis.table.scores, analysis.table.scale, unit_of(analysis.table)
    columns = [Column("generator", "Generator", False)]
    for place, one in enumerate(analysis.rules):
        columns += [
            Column(f"score_{place}", f"{one.name}, %" if scale.share else one.name, unit=kind),
            Column(f"interval_{place}", interval_head(analysis.table), span=True, unit=kind),
            Column(f"n_{place}", "n", unit="responses"),
        ]
    rows = []
    for row in scores:
        cells = [named(row)]
        for one in analysis.rules:
            if isinstance(one.table, NotEstimable):
                cells += [Cell(NOT_ESTIMABLE), Cell(NOT_ESTIMABLE), Cell("")]
                continue
            other = next((each for each in one.table.scores if each.generator == row.generator), None)
            cells += (
                [score_cell(other.score, scale), headline(other, scale), whole(other.n)]
                if other
                else [Cell("")] * 3
            )
        rows.append(tuple(cells))
    notes = [
        f"{one.name[:1].upper()}{one.name[1:]}: {one.rule.describe()} (rule {one.rule.hash[:12]})"
        for one in analysis.rules
    ]
    notes.append(why_not((one.name, one.table) for one in analysis.rules))
    return ReportTable(
        "rules",
        "Scores under other rules",
        tuple(columns),
        tuple(rows),
        " ".join(filter(None, notes)),
        borders(scores),
    )


def intervals_table(analysis: Analysis) -> ReportTable:
    """Other intervals of the same scores."""
    by = {one.generator: one for one in analysis.intervals}
    scores = [row for row in analysis.table.scores if row.generator in by]
    rows = []
    for row in scores:
        one = by[row.generator]
        others = (one.naive, one.exact, one.jeffreys, one.by_workers, one.by_stories, one.by_both)
        rows.append((named(row), share(row.score), headline(row), *map(span, others)))
    level = f"{confidence(analysis.table.level)}{NBSP}%"
    note = (
        "Naive, exact and Jeffreys take responses as independent. The bootstraps resample annotators,"
        " stories, or both; the two-way one is conservative: it is wider than it need be. "
        + drawn(analysis)
        + " "
    )
    note += why_not(
        (f"{name} of {one.generator}", value)
        for one in analysis.intervals
        for name, value in (
            ("bootstrap by annotators", one.by_workers),
            ("bootstrap by stories", one.by_stories),
            ("two-way bootstrap", one.by_both),
        )
    )
    return ReportTable(
        "intervals",
        f"Other {level} intervals of the same scores, %",
        (
            Column("generator", "Generator", False),
            Column("score", "Score, %", unit="share"),
            Column("headline", "This report’s", span=True, unit="share"),
            Column("naive", "Naive (Wilson)", span=True, unit="share"),
            Column("exact", "Exact", span=True, unit="share"),
            Column("jeffreys", "Jeffreys", span=True, unit="share"),
            Column("by_annotators", "Bootstrap, annotators", span=True, unit="share"),
            Column("by_stories", "Bootstrap, stories", span=True, unit="share"),
            Column("by_both", "Bootstrap, two-way (conservative)", span=True, unit="share"),
        ),
        tuple(rows),
        note.strip(),
        borders(scores),
    )
