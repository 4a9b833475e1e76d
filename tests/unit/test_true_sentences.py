"""What reports say of differences is true of the data, in the terminal, on the page, in Markdown, LaTeX."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import cache
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from humaneval.report import phrases, verdicts
from humaneval.report.chapters import sections
from humaneval.report.contents import ReportData
from humaneval.report.contradictions import any_difference
from humaneval.report.latex import render_latex
from humaneval.report.markdown import render_markdown
from humaneval.report.methods import methods_paragraph
from humaneval.report.page import render_report
from humaneval.report.terminal.analysis import render_details
from humaneval.report.terminal.scores import render_table
from humaneval.scoring.analysis.analyse import Analysis, analyse
from humaneval.scoring.comparisons import Declared
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.scores import score
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


@cache
def of_study(form: Form) -> str:
    return form(study())


def plain(text: str) -> str:
    return " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())


@FORMS
def test_X11_no_form_of_the_report_says_that_systems_cannot_be_told_apart(form: Form) -> None:
    said = plain(of_study(form))
    assert not re.search(r"cannot be told|group told apart|nobody can tell", said, re.I)
    if form is not latex:  # it has the tables alone
        assert re.search(r"no difference for \d of 6 pairs", said) or form is terminal


@FORMS
def test_X11_rows_against_human_say_that_their_bound_is_one_sided(form: Form) -> None:
    analysis = study()
    below = [one for one in analysis.table.comparisons if one.family == "below human"]
    assert {one.verdict for one in below} >= {"b_higher"}
    said = of_study(form)
    for one in below:
        row = (
            next(line for line in said.splitlines() if re.search(rf"\b{one.a} .{{1,3}} human\b", line))
            if (form is not page)
            else plain(said)[plain(said).index(f"{one.a} – human") :][:200]
        )
        assert one.bound is not None
        bound = verdicts.signed(one.bound)
        assert bound in row.replace("$-$", "−")
        assert ("below human" in row) == (one.verdict == "b_higher")


def test_X11_a_narrow_terminal_shows_the_bound_that_decides() -> None:
    said = terminal(study(), 48)
    lines = [line for line in said.splitlines() if " – human" in line]
    for one in (one for one in study().table.comparisons if one.bound is not None):
        assert any(line.startswith(one.a) and verdicts.signed(one.bound or 0) in line for line in lines)


@FORMS
def test_X11_intervals_are_said_to_be_for_one_pair_each(form: Form) -> None:
    words = r"Each interval is for its pair alone, and p for its whole family|Intervals are for one pair each"
    assert re.search(words, plain(of_study(form)))


def test_X11_what_is_not_adjusted_is_not_said_to_be_of_a_family() -> None:
    pair = [one for one in study().table.comparisons if one.family == "systems"][:1]
    assert verdicts.alone(pair) == ""
    assert verdicts.alone(()) == ""


def test_X11_cochrans_q_is_said_to_ignore_stories_only_where_they_recur() -> None:
    recurring, once = study().omnibus, study(stories=300).omnibus
    assert not isinstance(recurring, NotEstimable)
    assert not isinstance(once, NotEstimable)
    assert (recurring.stories_ignored, once.stories_ignored) == (True, False)
    assert "does not allow for that" in any_difference(recurring, (), 0.95)
    assert "does not allow for that" not in any_difference(once, (), 0.95)


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


@pytest.mark.parametrize(
    ("p", "printed"),
    [
        (0.0502, ".0502"),
        (0.04999, ".04999"),
        (0.05, ".050"),
        (0.0100004, ".0100004"),
        (0.0996, ".0996"),
        (0.0011, ".0011"),
        (0.0341, ".034"),
        (0.32, ".32"),
    ],
)
def test_X11_no_p_value_is_rounded_to_a_limit(p: float, printed: str) -> None:
    assert verdicts.p_value(p) == printed


def test_X11_the_end_of_an_interval_beside_0_does_not_look_like_0() -> None:
    assert verdicts.signed(0.0004) == "+0.04"
    assert verdicts.signed(-0.00002) == "−0.002"
    assert verdicts.signed(0.0) == verdicts.signed(1e-15) == "0.0"


def test_X11_a_level_is_not_rounded_to_certainty() -> None:
    table = score(answers(2, 0.5), Rule(control="none"), level=0.999)
    printed = io.StringIO()
    render_table(table, Console(file=printed, width=120))
    for said in (
        printed.getvalue(),
        methods_paragraph(ReportData("t", table)),
        render_report(ReportData("t", table)),
    ):
        assert "99.9" in said
        assert not re.search(r"100(\s|&nbsp;)%\s+(interval|level)", said)


def answers(each: int, share: float, *, missed: bool = False) -> pd.DataFrame:
    """30 annotators who judge two systems `each` times, another story each time, and a Control."""
    rng = np.random.default_rng(5)
    lines = []
    for worker in range(30):
        for number in range(each):
            for system in ("a", "b"):
                choice = 2 if (rng.random() if 0 < share < 1 else 0.5) < share else 1
                lines.append((f"w{worker}", f"s{worker}-{number}-{system}", system, 1, choice))
        lines.append((f"w{worker}", f"c{worker}", "control", 1, 2 if missed and worker < 3 else 1))
    return pd.DataFrame(lines, columns=["worker", "story", "generator", "position", "choice"])


def test_X11_the_t_quantile_is_named_only_where_it_widens_an_interval() -> None:
    alike = score(answers(2, 0.0), Rule(control="none"))
    assert {row.effective_n for row in alike.scores if row.generator != "control"} == {60}
    assert "t quantile" not in phrases.method(alike.scores)
    assert "no correlation of their answers widens it" in phrases.method(alike.scores)
    wide = score(answers(2, 0.5), Rule(control="none"))
    assert "t quantile" in phrases.method(wide.scores)
    single = score(answers(2, 0.5).query("worker == 'w0'"), Rule(control="none"))
    assert "t quantile" not in phrases.method([row for row in single.scores if row.n > 1])


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("none", "Annotators noticed 27 of 30 Control passages; nobody was excluded for missing one."),
        (
            "annotator",
            "Before annotators were excluded for missing one, they noticed 27 of 30 Control passages.",
        ),
        (
            "row",
            "Before forms with a missed one were left out, annotators noticed 27 of 30 Control passages.",
        ),
    ],
)
def test_X11_what_became_of_missed_controls_is_what_the_rule_says(
    rule: Literal["none", "annotator", "row"], said: str
) -> None:
    frame = answers(1, 0.5, missed=True)
    table = score(frame.assign(row=frame["worker"]), Rule(control=rule))
    printed = io.StringIO()
    render_table(table, Console(file=printed, width=100))
    assert said in methods_paragraph(ReportData("t", table))
    assert said in plain(printed.getvalue())


def test_X11_equivalence_names_its_margin_and_its_interval() -> None:
    table = score(answers(8, 0.5), Rule(control="none"), declared=Declared(margin=0.2))
    printed = io.StringIO()
    render_table(table, Console(file=printed, width=100))
    said = "equivalent if the 90 % interval of their difference lies within ± 20.0 points"
    assert said in plain(printed.getvalue())
    assert said in plain(methods_paragraph(ReportData("t", table)))
    assert "equivalent within ±20.0" in plain(printed.getvalue())
    assert verdicts.summary(table.comparisons, 0.95) == "Equivalent within ±20.0 points: a and b."
