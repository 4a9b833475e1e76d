"""The report: one file, nothing executable in it, the same bytes for the same data, and no claim of a
difference."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from html.parser import HTMLParser
from importlib.resources import files
from xml.etree import ElementTree

import pandas as pd
import pytest
from rich.console import Console

from humaneval.domain import Role
from humaneval.report import phrases
from humaneval.report.conclusion import HIGHER
from humaneval.report.contents import DesignFacts, GeneratorFacts, MoneyFacts, RepeatFacts, ReportData
from humaneval.report.figures.drawing import COLOURS
from humaneval.report.figures.forest import score_plot
from humaneval.report.page import render_report
from humaneval.report.terminal.scores import render_table
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.scores import GeneratorScore, ScoreTable, score
from humaneval.statistics.intervals import wilson

HOSTILE = "<script>alert(1)</script> {{7*7}} $x_1$ ]]> \N{GRINNING FACE}"
VOID = {"br", "meta", "link", "img", "input", "hr"}


def responses(
    names: tuple[str, ...] = ("Control", "SA", "ILM", "Human"), annotators: int = 40
) -> pd.DataFrame:
    rows = []
    for annotator in range(annotators):
        for place, name in enumerate(names):
            position = (annotator + place) % 5 + 1
            gone = annotator >= annotators - 2 or (place > 0 and annotator % 5 < place)
            rows.append(
                (
                    f"w{annotator}",
                    f"s{annotator}-{place}",
                    name,
                    position,
                    position % 5 + 1 if gone else position,
                )
            )
    return pd.DataFrame(rows, columns=["worker", "story", "generator", "position", "choice"])


@pytest.fixture(scope="module")
def table() -> ScoreTable:
    return score(responses())


@pytest.fixture(scope="module")
def full(table: ScoreTable) -> str:
    """The page with everything that it can be given."""
    return render_report(whole(table))


@pytest.fixture(scope="module")
def bare(table: ScoreTable) -> str:
    """The page of scores alone."""
    return render_report(ReportData("Scores", table))


def whole(table: ScoreTable) -> ReportData:
    return ReportData(
        title="Can people tell?",
        table=replace(table, study="acl2020"),
        summary="A replication.",
        generators=(
            GeneratorFacts(
                "ILM",
                "system",
                "ilm",
                "checkpoints/ilm",
                7,
                {"top_p": 0.95},
                {"batch": 64},
                {"torch": "2.13.0"},
                {"ok": 498, "empty": 2},
                "cd34" * 16,
            ),
            GeneratorFacts("Human", "human", "human"),
        ),
        design=DesignFacts(
            "Which sentence did a machine write?",
            100,
            (1, 2, 3, 4, 5),
            40,
            4,
            40,
            1,
            "Williams square",
            "never",
            "acl2020",
            11,
            "9f" * 32,
        ),
        money=MoneyFacts(
            "USD",
            Decimal("0.70"),
            Decimal("28.00"),
            Decimal("1.25"),
            Decimal("5.85"),
            Decimal("33.60"),
            Decimal("35.10"),
            210.0,
            Decimal("12.00"),
            Decimal("11.50"),
            "from opening the form to sending it",
        ),
        repeat=RepeatFacts(
            'seed = 11\nquestion = "Which & why?"',
            "1a" * 32,
            "2b" * 32,
            "3c" * 32,
            "4d" * 32,
            "local",
            {"humaneval-toolkit": "0.1.0"},
            datetime(2026, 3, 1, 9, tzinfo=UTC),
        ),
    )


class Outline(HTMLParser):
    """Checks that tags are closed in order, and gathers what the tests ask for."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "desc", "title"):
            self.text.append(data)


def prose(page: str) -> str:
    return re.sub(r"\s+", " ", " ".join(Outline(page).text)).replace("\N{NO-BREAK SPACE}", " ")


def test_the_page_tells_everything_that_it_was_given(table: ScoreTable, full: str) -> None:
    text = prose(full)
    for expected in (
        "Can people tell?",
        "A replication.",
        "38 of 40 annotators analysed",
        "2 of 40 annotators were excluded (missed a Control passage: 2)",
        "Which sentence did a machine write?",
        "Williams square",
        "498 ok",
        "top_p = 0.95, batch = 64",
        "torch 2.13.0",
        "checkpoints/ilm",
        "seed 7",
        "$0.70",
        "$12.00, against a target of $11.50",
        "3.5 minutes (from opening the form to sending it)",
        "$33.60",
        "$35.10",
        "$5.85",
        'seed = 11 question = "Which & why?"',
        "1a" * 32,
        "9f" * 32,
        table.rule.hash,
        "2026-03-01 09:00 UTC",
        "humaneval-toolkit",
        "local",
        "How to read this",
        table.rule.describe(),
    ):
        assert expected in text


def test_a_table_of_responses_alone_makes_a_page_without_empty_sections(bare: str) -> None:
    text = prose(bare)
    for absent in (
        "Question and design",
        "Generators Table",
        "Pay and cost",
        "Study file Study",
        "None",
        "Undefined",
    ):
        assert absent not in text
    targets = {attributes["href"] for tag, attributes in Outline(bare).tags if tag == "a"}
    ids = {f"#{attributes['id']}" for _, attributes in Outline(bare).tags if attributes.get("id")}
    assert targets <= ids


def test_the_scores_stand_with_counts_intervals_and_values_before_exclusions(
    table: ScoreTable, full: str
) -> None:
    row = next(row for row in table.scores if row.generator == "ILM")
    before = next(row for row in table.before_exclusions if row.generator == "ILM")
    assert (
        f"ILM {100 * row.score:.1f} {100 * row.interval.low:.1f}–{100 * row.interval.high:.1f} "
        f"{row.not_identified} / 38 {100 * before.score:.1f} {before.not_identified} / 40" in prose(full)
    )


def test_c50_the_page_shows_every_exclusion_with_its_numbers(bare: str) -> None:
    text = prose(bare)
    assert "Collected 40 160" in text
    assert "Missed a Control passage 38 152 2 8" in text
    assert "Analysed 38 152" in text


def test_c58_page_and_plot_explain_human_and_show_the_line_of_chance(table: ScoreTable, bare: str) -> None:
    assert "The sentence at the held-out position stands for it" in prose(bare)
    assert "chance 80\N{NO-BREAK SPACE}%" in score_plot(table).svg()


def test_the_page_needs_nothing_from_outside_and_runs_nothing(full: str) -> None:
    tags = Outline(full).tags
    assert not {"script", "link", "img", "iframe", "form"} & {tag for tag, _ in tags}
    for _, attributes in tags:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("href", "src", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert set(re.findall(r"https?://[^\s\"<]+", full)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert not re.search(r"url\((?!#)|@import|@font-face", full)


def test_text_that_looks_like_markup_stays_text() -> None:
    hostile = score(responses(("Control", HOSTILE, "Human")))
    data = whole(hostile)
    data = replace(
        data,
        title=HOSTILE,
        summary=HOSTILE,
        repeat=replace(data.repeat, study_file=HOSTILE, endpoint=HOSTILE),
    )
    page = render_report(data)
    assert "<script" not in page
    assert "49" not in prose(page).split("Study file")[-1]
    assert prose(page).count("<script>alert(1)</script> {{7*7}}") >= 5
    ElementTree.fromstring(score_plot(hostile).svg())


def test_stories_are_counted_for_each_generator_where_few_are_warned_of() -> None:
    table = score(responses(annotators=1).assign(choice=lambda frame: frame["position"]))
    uneven = [replace(row, stories=1 + 2 * (at == 0)) for at, row in enumerate(table.scores)]
    few = phrases.few(replace(table, scores=tuple(uneven)))
    assert few.startswith(
        "Few annotators or stories: a single annotator and 1 to 3 stories for each generator."
    )
    alike = [replace(row, stories=4) for row in table.scores]
    assert "and 4 stories for each generator." in phrases.few(replace(table, scores=tuple(alike)))


def test_the_wage_is_among_the_first_figures_only_if_five_people_worked() -> None:
    wage = "$12.00 per hour, at the median time"
    assert wage in prose(render_report(whole(score(responses()))))
    assert wage not in prose(render_report(whole(score(responses(annotators=4)))))


def test_few_clusters_are_owned_up_to() -> None:
    repeated = responses(annotators=40)
    few = repeated.assign(story="s" + (repeated["worker"].str[1:].astype(int) % 4).astype(str))
    text = prose(render_report(ReportData("Scores", score(few))))
    assert "annotators or stories recur, but no correlation of their answers widens it" in text
    assert "With fewer than 8 of either, intervals are wide and p-values coarse" in text
    one = prose(render_report(ReportData("Scores", score(repeated.assign(story="s")))))
    assert "With a single annotator or story, all responses count as one" in one
    assert "design effect" not in prose(render_report(ReportData("Scores", score(repeated))))


def test_ids_are_there_once(full: str) -> None:
    ids = [str(attributes["id"]) for _, attributes in Outline(full).tags if "id" in attributes]
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize(("simulated", "test"), [(3, False), (0, True), (1, True), (0, False)])
def test_simulated_annotators_and_tests_are_announced_at_the_top(
    table: ScoreTable, simulated: int, test: bool
) -> None:
    text = prose(render_report(replace(whole(table), simulated=simulated, test=test))).split(
        "annotators analysed"
    )[0]
    assert ("Simulated annotators" in text) == bool(simulated)
    assert ("They are not results" in text) == test


def test_scores_of_tests_alone_are_announced_too() -> None:
    table = score(responses().assign(test=True), Rule(tests="only"))
    assert "They are not results" in prose(render_report(ReportData("Scores", table)))


def test_the_same_data_give_the_same_bytes_and_nothing_of_this_machine(table: ScoreTable, full: str) -> None:
    assert full == render_report(whole(table))
    for leak in ("Matplotlib v", "/home/", "/tmp", "dc:date"):
        assert leak not in full


def test_only_a_verdict_says_that_one_score_is_higher(table: ScoreTable, full: str) -> None:
    table = replace(table, comparisons=())
    console = Console(file=io.StringIO(), width=100)
    render_table(table, console)
    text = prose(full).replace(HIGHER, "") + console.file.getvalue()
    assert not re.search(r"\b(higher|lower|better|worse|outperform\w*|beats?|significan\w*)\b", text, re.I)


def test_the_plot_has_words_and_real_text(table: ScoreTable) -> None:
    svg = score_plot(table).svg()
    root = ElementTree.fromstring(svg)
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    assert (root.findtext(f"{space}title") or "").startswith("Scores with 95")
    description = (root.findtext(f"{space}desc") or "").replace("\N{NO-BREAK SPACE}", " ")
    for row in table.scores:
        assert f"{row.generator}: {100 * row.score:.1f} %" in description
    texts = {element.text for element in root.iter(f"{space}text")}
    assert {"Control", "SA", "ILM", "Human", "0", "100"} <= texts
    assert root.get("width") is None
    assert "<metadata" not in svg
    assert score_plot(table, narrow=True).svg() != svg


def test_the_plot_takes_long_names_and_all_shapes_of_studies() -> None:
    one = score(responses(("Control", "x" * 60), annotators=5))
    assert "x" * 25 + "…" in score_plot(one).svg()
    alone = score(responses(("only system",), annotators=5), Rule(control="none"))
    assert "Shaded band" not in render_report(ReportData("Scores", alone))
    ElementTree.fromstring(score_plot(alone, narrow=True).svg())


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_colours_have_the_contrast_of_wcag_aa_in_light_and_dark() -> None:
    css = (files("humaneval.report") / "templates" / "report.css").read_text(encoding="utf-8")
    roots = re.findall(r":root \{(.*?)\}", css, re.S)[:2]
    assert len(roots) == 2
    for kind, root in enumerate(roots, 1):
        named = dict(re.findall(r"--([\w-]+): (#\w{6})", root))
        for ink in ("ink", "muted", "accent"):
            assert contrast(named[ink], named["page"]) >= 4.5
            assert contrast(named[ink], named["soft"]) >= 4.5
        assert contrast(named["warn"], named["warn-page"]) >= 4.5
        for name, colours in COLOURS.items():
            if name != "grid":
                assert contrast(colours[kind], named["page"]) >= 4.5


def printed(table: ScoreTable, width: int, encoding: str = "utf-8") -> list[str]:
    class Terminal(io.StringIO):
        pass

    Terminal.encoding = encoding
    out = Terminal()
    render_table(table, Console(file=out, width=width, legacy_windows=False))
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [30, 40, 50, 60, 80, 120, 200])
def test_the_terminal_table_fits_and_keeps_its_numbers(table: ScoreTable, width: int) -> None:
    lines = printed(table, width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for row in table.scores:
        if width >= 40:
            assert re.search(
                rf"{row.generator} +{100 * row.score:.1f} +\S+ +{row.not_identified} ?/ ?38", text
            )
    assert ("●" in text) == (width >= 80)
    assert "annotators were excluded" in " ".join(text.split())


def test_the_terminal_table_draws_every_point_to_scale() -> None:
    interval = wilson(20, 40)
    row = GeneratorScore(
        "LM", Role.SYSTEM, 40, 20, 40, 40, interval, "wilson", 1.0, 40.0, ((20, 20, 0, 0, 0), *[(0,) * 5] * 4)
    )
    table = score(responses(), Rule(control="none"))
    line = next(line for line in printed(replace(table, scores=(row,)), 200) if line.startswith("LM"))
    drawing = line[-51:]
    assert drawing.index("●") == 25
    assert drawing.index("├") == round(50 * interval.low)
    assert drawing.index("┊") == 40


def test_X03_no_table_or_plot_gives_control_an_interval_after_its_gate(table: ScoreTable, full: str) -> None:
    text = prose(full)
    assert "0 by construction, as annotators who missed a Control passage are excluded." in text
    plot = score_plot(table)
    assert "Control: 0.0\N{NO-BREAK SPACE}%, 0 of 38, 0 by construction" in plot.description
    (line,) = [line for line in printed(table, 100) if line.startswith("Control ")]
    assert re.search(r"^Control +0\.0 +none +0 / 38 +●", line)
    assert not set(line) & set("├┤─")


def test_a_plain_terminal_gets_plain_characters() -> None:
    lines = printed(score(responses(("Control", "Zoë", "Human"))), 100, "ascii")
    "\n".join(lines).encode("ascii")
    assert any("|" in line and "o" in line for line in lines)
