"""A score table for the terminal: numbers, intervals drawn to scale against the chance line, exclusions."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from humaneval.domain import Role
from humaneval.report import verdicts
from humaneval.report.phrases import (
    amount,
    between,
    chance,
    confidence,
    control,
    excluded,
    few,
    method,
    notes,
    percent,
    step_name,
)
from humaneval.scoring.comparisons import Comparison
from humaneval.scoring.questions.question import Scale
from humaneval.scoring.scores import GeneratorScore, ScoreTable

STYLES = {Role.CONTROL: "dim", Role.SYSTEM: "", Role.HUMAN: "yellow"}
COLOURS = {Role.CONTROL: "", Role.SYSTEM: "cyan", Role.HUMAN: "yellow"}
TIGHT = 50
"""With fewer columns, headings and cells are shortened."""
DRAWING = (21, 51)
"""The fewest and the most columns of a drawing; with fewer, only the numbers are printed."""


def render_table(table: ScoreTable, console: Console, *, methods: bool = True) -> None:
    """Print the scores to `console`, whatever its width. Drawings need about 72 columns; they are ASCII if
    the
    console cannot do more.

    Without `methods`, the lines below do not say how everything was computed.

    Control is set apart at the top, Human at the bottom. Scores and intervals are in percent.
    """
    ascii_only = console.options.ascii_only
    tight = console.width < TIGHT
    for one in table.all_scales:
        render_scores(one, console)
        console.print()
    for one in table.all_scales:
        _render_differences(one, console, ascii_only=ascii_only, tight=tight)
    if warning := few(table):
        console.print(Text(_plain(warning, ascii_only), "bold yellow"))
    console.print(_flow(table, ascii_only=ascii_only, tight=tight))
    console.print()
    for sentence in _below(table, methods):
        console.print(Text(_plain(sentence, ascii_only), "dim"), soft_wrap=False)


def _render_differences(table: ScoreTable, console: Console, *, ascii_only: bool, tight: bool) -> None:
    on = f" on {table.scale.name.replace('_', ' ')}" if table.scale.name else ""
    for family in ("systems", "below human"):
        chosen = [one for one in table.comparisons if one.family == family]
        if chosen:
            console.print(differences(chosen, table.level, ascii_only=ascii_only, tight=tight, on=on))
            for said in (verdicts.left_open, verdicts.family_decides):
                if line := said(chosen, table.level):
                    console.print(Text(_plain(line, ascii_only)))
            console.print()


def render_scores(table: ScoreTable, console: Console) -> None:
    """Print the scores alone."""
    ascii_only = console.options.ascii_only
    tight = console.width < TIGHT
    width = _room(table, console.width)
    lines = Table(
        box=None,
        padding=(0, 1),
        pad_edge=False,
        header_style="bold",
        title=_plain(_title(table), ascii_only),
        title_justify="left",
        title_style="bold",
    )
    lines.add_column("Generator", overflow="fold", min_width=9)
    scale, nominal = table.scale, table.chance.nominal if table.chance else None
    head = "Score %" if scale.share else "Mean"
    lines.add_column("Score" if tight else head, justify="right", no_wrap=True)
    lines.add_column(
        f"{confidence(table.level)} %" + ("" if tight else " interval"), justify="right", no_wrap=True
    )
    slash = "/" if tight else " / "
    lines.add_column(f"x{slash}n" if scale.binary else "n", justify="right", no_wrap=True)
    if width:
        lines.add_column(_scale(width, nominal, scale), no_wrap=True, min_width=width)
    previous = table.scores[0].role
    for row in table.scores:
        if row.role is not previous:
            lines.add_row()
            previous = row.role
        cells = [
            Text(_plain(row.generator, ascii_only), STYLES[row.role]),
            Text(amount(row.score, scale), f"bold {STYLES[row.role]}".strip()),
            Text(_plain(between(row.interval, scale), ascii_only), STYLES[row.role]),
            Text(_counts(row, scale, slash), STYLES[row.role]),
        ]
        if width:
            cells.append(_drawing(row, width, nominal, scale, ascii_only))
        lines.add_row(*cells)
    console.print(lines)


def _counts(row: GeneratorScore, scale: Scale, slash: str) -> str:
    return f"{row.not_identified:,}{slash}{row.n:,}" if scale.binary else f"{row.n:,}"


def _flow(table: ScoreTable, *, ascii_only: bool, tight: bool) -> Table:
    """The responses and annotators before and after each step of the rule."""
    lines = Table(
        box=None,
        padding=(0, 1),
        pad_edge=False,
        header_style="bold",
        title="Exclusions",
        title_justify="left",
        title_style="bold",
    )
    lines.add_column("Step", overflow="fold")
    for head in ("Resp.", "out", "Ann.", "out") if tight else ("Responses", "out", "Annotators", "out"):
        lines.add_column(head, justify="right", no_wrap=True)
    for step in table.exclusions:
        ends = step.step in ("collected", "analysed")
        out = ("", "") if ends else (f"{step.responses_out:,}", f"{step.annotators_out:,}")
        cells = (step_name(step, table), f"{step.responses:,}", out[0], f"{step.annotators:,}", out[1])
        lines.add_row(*(Text(_plain(cell, ascii_only)) for cell in cells))
    return lines


def differences(
    chosen: Sequence[Comparison], level: float, *, ascii_only: bool, tight: bool, on: str = ""
) -> Table:
    """A family of comparisons, largest difference first. `on` says on which scale, if there are several."""
    bounded = chosen[0].bound is not None
    family = f"Below {chosen[0].b}{on}? One-sided" if bounded else f"Systems compared{on}"
    lines = Table(
        box=None,
        padding=(0, 1),
        pad_edge=False,
        header_style="bold",
        title=family,
        title_justify="left",
        title_style="bold",
    )
    lines.add_column("Pair", overflow="fold")
    lines.add_column("Points", justify="right", no_wrap=True)
    at = f"{confidence(level)} %"
    # Against Human the bound decides: a two-sided interval beside it would seem to deny it.
    head = (f"At most ({at})" if bounded else f"{at} interval") if not tight else "At most" if bounded else at
    lines.add_column(head, justify="right", no_wrap=True)
    lines.add_column("p" if tight else "p, adjusted", justify="right", no_wrap=True)
    if not tight:
        lines.add_column("Verdict", overflow="fold")
    for one in sorted(chosen, key=lambda one: -abs(one.difference)):
        style = "dim" if one.verdict == "inconclusive" else "bold"
        cells = [
            f"{one.a} – {one.b}",
            verdicts.gap(one.difference, one.scale),
            (
                f"{verdicts.gap(one.interval.low, one.scale)} to {verdicts.gap(one.interval.high, one.scale)}"
                if one.bound is None
                else verdicts.gap(one.bound, one.scale)
            ),
            verdicts.p_value(one.p_adjusted),
            verdicts.outcome(one),
        ]
        texts = [Text(_plain(cell, ascii_only)) for cell in cells]
        texts[-1].stylize(style)
        lines.add_row(*(texts[:-1] if tight else texts))
    return lines


def _room(table: ScoreTable, columns: int) -> int:
    names = max(9, *(cell_len(row.generator) for row in table.scores))
    counts = max(len(_counts(row, table.scale, " / ")) for row in table.scores)
    left = columns - (names + len("Score %") + len("95 % interval") + counts + 4 * 2 + 1)
    return min(left, DRAWING[1]) if left >= DRAWING[0] else 0


def _title(table: ScoreTable) -> str:
    what = table.words.caption
    return f"{table.study}: {what[0].lower()}{what[1:]}" if table.study else what


def _below(table: ScoreTable, methods: bool) -> list[str]:
    sentences = [excluded(table)] * methods
    sentences += filter(None, [control(table)])
    if table.rule.tests == "only":
        sentences.append("These are tests or pilots, not results.")
    noted = [
        *notes((row.generator, row.note) for row in table.scores),
        *notes((f"{one.a} – {one.b}", one.note) for one in table.comparisons),
    ]
    if not methods:
        return [*sentences, *noted]
    return [
        *sentences,
        *filter(None, [chance(table)]),
        method(table.scores),
        *filter(None, [verdicts.method(table.comparisons, table.level, table.words.compared)]),
        *noted,
        f"Rule {table.rule.hash[:12]}. {table.rule.describe()}",
    ]


def _scale(width: int, nominal: float | None, scale: Scale) -> Text:
    """The heading of the drawings: the scale's ends, and chance above its line."""
    low, high = ("0", "100") if scale.share else (f"{scale.low:g}", f"{scale.high:g}")
    cells = list(low.ljust(width))
    end = 0
    if nominal is not None:
        mark = f"{percent(nominal, 0)}" if scale.share else amount(nominal, scale)
        start = max(_place(nominal, width, scale) - len(mark) // 2, 0)
        end = start + len(mark)
        cells[start:end] = mark
    if end < width - len(high):
        cells[-len(high) :] = high
    return Text("".join(cells), "bold")


def _drawing(row: GeneratorScore, width: int, nominal: float | None, scale: Scale, ascii_only: bool) -> Text:
    line, point, chance_line = ("-", "o", ":") if ascii_only else ("─", "●", "┊")
    cells = [" "] * width
    at = None if nominal is None else _place(nominal, width, scale)
    if at is not None:
        cells[at] = chance_line
    if row.interval:
        low, high = (_place(end, width, scale) for end in row.interval)
        cells[low : high + 1] = line * (high + 1 - low)
        cells[low], cells[high] = ("|", "|") if ascii_only else ("├", "┤")
        if at is not None and low <= at <= high:
            cells[at] = "+" if ascii_only else "┼"
    cells[_place(row.score, width, scale)] = point
    drawing = Text("".join(cells), COLOURS[row.role])
    if at is not None and cells[at] != point:
        drawing.stylize("red", at, at + 1)
    return drawing


def _place(score: float, width: int, scale: Scale) -> int:
    return round((score - scale.low) / scale.width * (width - 1))


def _plain(text: str, ascii_only: bool) -> str:
    for fine, plain in (
        (("–", "-"), ("−", "-"), ("’", "'"), ("\N{NO-BREAK SPACE}", " ")) if ascii_only else ()
    ):
        text = text.replace(fine, plain)
    return text.encode("ascii", "replace").decode() if ascii_only else text
