"""What reports say of differences is true of the data, in the terminal, on the page, in Markdown, LaTeX."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from humaneval.report import verdicts
from humaneval.report.chapters import sections
from humaneval.report.contents import ReportData
from humaneval.report.latex import render_latex
from humaneval.report.markdown import render_markdown
from humaneval.report.page import render_report
from humaneval.report.terminal.analysis import render_details
from humaneval.report.terminal.scores import render_table
from humaneval.scoring.analysis.analyse import Analysis, analyse
from humaneval.scoring.exclusions import Rule
from humaneval.statistics.arrays import NotEstimable


@cache
def study(stories: int = 20, seed: int = 3) -> Analysis:
    """Four systems and Human; each of 60 annotators judges every generator once."""
    rng = np.random.default_rng(seed)
    rows = []
    for annotator in range(60):
        shares = {"a": 0.15, "b": 0.4, "c": 0.5, "d": 0.6, "human": 0.75}
        for place, (name, share) in enumerate(shares.items()):
            position = int(rng.integers(1, 6))
            choice = position % 5 + 1 if rng.random() < share else position
            rows.append((f"w{annotator}", f"s{(annotator * 5 + place) % stories}", name, position, choice))
    frame = pd.DataFrame(rows, columns=["worker", "story", "generator", "position", "choice"])
    return analyse(frame, Rule(control="none"))


def terminal(analysis: Analysis, width: int = 100) -> str:
    said = io.StringIO()
    console = Console(file=said, width=width)
    render_table(analysis.table, console)
    render_details(analysis, console)
    return said.getvalue()


def page(analysis: Analysis) -> str:
    return re.sub(r"<[^>]*>", " ", render_report(ReportData("Study", analysis.table, analysis)))


def markdown(analysis: Analysis) -> str:
    return render_markdown(ReportData("Study", analysis.table, analysis)).replace("\\", "")


def latex(analysis: Analysis) -> str:
    return render_latex(ReportData("Study", analysis.table, analysis))


FORMS = pytest.mark.parametrize("form", [terminal, page, markdown, latex])
Form = Callable[[Analysis], str]


def plain(text: str) -> str:
    return " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())


@FORMS
def test_X11_no_form_of_the_report_says_that_systems_cannot_be_told_apart(form: Form) -> None:
    said = plain(form(study()))
    assert not re.search(r"cannot be told|group told apart|nobody can tell", said, re.I)
    if form is not latex:  # it has the tables alone
        assert re.search(r"\d of 6 pairs were not told apart by this study", said) or form is terminal


@FORMS
def test_X11_rows_against_human_say_that_their_bound_is_one_sided(form: Form) -> None:
    analysis = study()
    below = [one for one in analysis.table.comparisons if one.family == "below human"]
    assert {one.verdict for one in below} >= {"b_higher"}
    said = form(analysis)
    for one in below:
        row = (
            next(line for line in said.splitlines() if re.search(rf"\b{one.a} .{{1,3}} human\b", line))
            if (form is not page)
            else plain(said)[plain(said).index(f"{one.a} – human") :][:200]
        )
        assert one.bound is not None
        bound = verdicts.signed(one.bound)
        assert bound in row.replace("$-$", "−")
        assert ("human higher (one-sided)" in row) == (one.verdict == "b_higher")


def test_X11_a_narrow_terminal_shows_the_bound_that_decides() -> None:
    said = terminal(study(), 48)
    lines = [line for line in said.splitlines() if " – human" in line]
    for one in (one for one in study().table.comparisons if one.bound is not None):
        assert any(line.startswith(one.a) and verdicts.signed(one.bound or 0) in line for line in lines)


@FORMS
def test_X11_intervals_are_said_to_be_for_one_pair_each(form: Form) -> None:
    words = r"Each interval is for its pair alone, and p for its whole family|Intervals are for one pair each"
    assert re.search(words, plain(form(study())))


def test_X11_what_is_not_adjusted_is_not_said_to_be_of_a_family() -> None:
    pair = [one for one in study().table.comparisons if one.family == "systems"][:1]
    assert verdicts.alone(pair) == ""
    assert verdicts.alone(()) == ""


def test_X11_cochrans_q_is_said_to_ignore_stories_only_where_they_recur() -> None:
    recurring, once = study().omnibus, study(stories=300).omnibus
    assert not isinstance(recurring, NotEstimable)
    assert not isinstance(once, NotEstimable)
    assert (recurring.stories_ignored, once.stories_ignored) == (True, False)
    assert "does not allow for that" in verdicts.any_difference(recurring, 0.95)
    assert "does not allow for that" not in verdicts.any_difference(once, 0.95)


def test_X11_letters_stand_beside_the_ranks() -> None:
    analysis = study()
    assert isinstance(analysis.standings, tuple)
    letters = {one.generator: one.letters for one in analysis.standings}
    for one in analysis.table.comparisons:
        if one.family == "systems":
            apart = one.verdict in ("a_higher", "b_higher")
            assert bool(set(letters[one.a]) & set(letters[one.b])) != apart
    (ranks,) = [
        section
        for section in sections(ReportData("Study", analysis.table, analysis))
        if section.key == "ranks"
    ]
    table = ranks.tables[0]
    at = [column.key for column in table.columns].index("letters")
    assert {row[0].text: row[at].text for row in table.rows} == letters
