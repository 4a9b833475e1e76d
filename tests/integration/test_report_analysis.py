"""The report with an analysis: its sections, that it claims no more than its verdicts, and that its forms
agree."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from decimal import Decimal
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from humaneval.planning.cues import CueScore
from humaneval.planning.forecast import outlook
from humaneval.planning.plan import Plan
from humaneval.report.chapters import chapters, sections
from humaneval.report.conclusion import HIGHER
from humaneval.report.contents import MoneyFacts, ReportData
from humaneval.report.contradictions import any_difference
from humaneval.report.figures.files import drawings, figures_pdf
from humaneval.report.figures.forest import ceiling_band
from humaneval.report.figures.outlying_stories import story_figure
from humaneval.report.figures.pdf import pdf_pages
from humaneval.report.figures.ranks import ranks_figure
from humaneval.report.latex import render_latex
from humaneval.report.markdown import render_markdown
from humaneval.report.numbers_csv import csv_files, r_files
from humaneval.report.page import render_report, warnings
from humaneval.report.phrases import few
from humaneval.report.score_tables import intervals_table, main_table
from humaneval.report.sections import Figure, ReportTable
from humaneval.report.terminal.analysis import render_details
from humaneval.report.terminal.scores import render_table
from humaneval.scoring.analysis.analyse import Analysis, analyse
from humaneval.scoring.comparisons import Declared
from humaneval.scoring.exclusions import Rule
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.intervals import Interval
from humaneval.statistics.mixed_model import MixedModel
from humaneval.statistics.pay import hourly_pay
from tests.unit.test_report import HOSTILE, Outline, prose

CLAIMS = r"\b(higher|lower|better|worse|outperform\w*|beats?|significan\w*|above|equivalent)\b"


def without_rules(text: str) -> str:
    """The text without what says when a generator would be called higher, and which end of a score is
    good."""
    for rule in ("by the rule above", "A generator is called higher if", HIGHER):
        text = text.replace(rule, "")
    return text


def responses(
    names: tuple[str, ...] = ("Control", "SA", "ILM", "Human"),
    found: tuple[float, ...] = (1.0, 0.25, 0.2, 0.2),
    annotators: int = 40,
    seed: int = 1,
) -> pd.DataFrame:
    """Every annotator judges every generator; `found` is how often each one's sentence is marked."""
    rng = np.random.default_rng(seed)
    rows = []
    for annotator in range(annotators):
        for place, (name, share) in enumerate(zip(names, found, strict=True)):
            position = (annotator + place) % 5 + 1
            hit = annotator > 1 and rng.random() < share
            choice = position if hit else (position + int(rng.integers(4))) % 5 + 1
            rows.append(
                {
                    "worker": f"worker{annotator:04}",
                    "story": f"s{(annotator + 3 * place) % 20}",
                    "generator": name,
                    "position": position,
                    "choice": choice,
                    "seconds": 5.0 + rng.random() * 20,
                    "words": 45,
                    "order": (annotator + place) % len(names) + 1,
                }
            )
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def alike() -> Analysis:
    """Two systems of which nothing can be said."""
    return analyse(responses(), also={"rows": Rule(control="row")}, control="Control", human="Human", seed=5)


@pytest.fixture(scope="module")
def apart() -> Analysis:
    """SA is found at once."""
    return analyse(responses(found=(1.0, 0.95, 0.1, 0.1)), control="Control", human="Human", seed=5)


def data(analysis: Analysis) -> ReportData:
    return ReportData("Scores", analysis.table, analysis)


def tables(one: ReportData) -> dict[str, ReportTable]:
    return {table.key: table for section in chapters(one).values() for table in section.tables}


def test_the_main_table_has_scores_with_luck_taken_off_and_seconds(alike: Analysis) -> None:
    table = main_table(alike)
    row = {column.key: cell for column, cell in zip(table.columns, table.rows[1], strict=True)}
    score, off = alike.table.scores[1], alike.luck_off[0]
    assert row["generator"].value == off.generator == score.generator
    assert row["score"].value == score.score
    assert row["of_ceiling"].value == off.detection.normalised
    assert row["d_prime"].value == off.d_prime
    frame = responses()
    kept = frame[~frame["worker"].isin(["worker0000", "worker0001"])]
    mean = kept[kept["generator"] == score.generator]["seconds"].mean()
    assert row["mean_seconds"].value == pytest.approx(mean)
    assert alike.stories == tuple(sorted(set(frame["story"])))


def test_the_comparisons_stand_with_p_adjusted_p_and_verdict(apart: Analysis) -> None:
    table = tables(data(apart))["comparisons_systems"]
    one = next(one for one in apart.table.comparisons if one.family == "systems")
    row = {column.key: cell for column, cell in zip(table.columns, table.rows[0], strict=True)}
    assert row["difference"].value == one.difference
    assert row["interval"].value == one.interval
    assert (row["p"].value, row["p_adjusted"].value) == (one.p, one.p_adjusted)
    assert row["verdict"].text == "ILM higher"
    text = prose(render_report(data(apart)))
    assert "ILM above SA." in text
    assert "p-values are adjusted within each family by Holm" in text
    assert "Below Human: SA." in text


def test_no_sentence_claims_more_than_its_verdict(alike: Analysis) -> None:
    assert {one.verdict for one in alike.table.comparisons} == {"inconclusive"}
    text = prose(render_report(whole(alike)))
    assert not re.search(CLAIMS, without_rules(text), re.I)
    assert "This study shows no difference" in text
    assert "No system is shown to score below Human." in text
    assert "systems differ at all" not in text  # with two systems, that is the pair's own test


def test_an_omnibus_that_cannot_be_had_says_why() -> None:
    said = any_difference(NotEstimable("fewer than two systems were judged"), (), 0.95)
    assert (
        said
        == "Whether the systems differ at all is not estimable, because fewer than two systems were judged."
    )


def test_scores_stand_under_every_rule_and_other_intervals_beside(alike: Analysis) -> None:
    found = tables(data(alike))
    rules, intervals = found["rules"], found["intervals"]
    assert [column.head for column in rules.columns][1::3] == [
        "this study’s rule, %",
        "nobody excluded, %",
        "rows, %",
    ]
    for place, one in enumerate(alike.rules):
        if isinstance(one.table, NotEstimable):
            assert {row[1 + 3 * place].text for row in rules.rows} == {"not estimable"}
            assert f"rows: not estimable, because {one.table.because}." in rules.note
            continue
        assert [row[1 + 3 * place].value for row in rules.rows] == [row.score for row in one.table.scores]
    assert "Bootstrap, two-way (conservative)" in [column.head for column in intervals.columns]
    assert [row[4].value for row in intervals.rows] == [one.exact for one in alike.intervals]
    assert "seed 5" in intervals.note
    assert "Rule" not in intervals.note


def test_hostile_names_stay_text_in_every_section() -> None:
    names = ("Control", HOSTILE, f"B{HOSTILE}", "Human")
    frame = responses(names).assign(
        story=lambda one: one["story"] + HOSTILE, worker=lambda one: HOSTILE + one["worker"]
    )
    analysis = analyse(frame, control="Control", human="Human", declared=Declared())
    page = render_report(replace(whole(analysis), cues=(CueScore(HOSTILE, HOSTILE, 4, 1.0),)))
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; {{7*7}}") >= 15
    Outline(page)


def test_ids_are_there_once_and_links_lead_somewhere(alike: Analysis) -> None:
    tags = Outline(render_report(data(alike))).tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {attributes["href"] for tag, attributes in tags if tag == "a"} <= {f"#{one}" for one in ids}
    labels = " ".join(attributes.get("aria-labelledby") or "" for _, attributes in tags).split()
    assert set(labels) <= set(ids)


def test_the_page_with_an_analysis_is_one_small_file_without_scripts(alike: Analysis) -> None:
    page = render_report(data(alike))
    assert len(page.encode()) < 2_000_000
    assert page == render_report(data(alike))
    tags = Outline(page).tags
    assert not {"script", "link", "img", "iframe", "form"} & {tag for tag, _ in tags}
    assert not any(name.startswith("on") for _, attributes in tags for name in attributes)


def test_every_figure_has_the_table_of_its_data(alike: Analysis) -> None:
    for section in chapters(data(alike)).values():
        for block in section.blocks:
            if isinstance(block, Figure):
                assert min(len(block.table.rows), len(block.caption), len(block.drawings)) > 0


FIGURES = {"ranks", "power", "picks", "order", "stories", "workers"}


def whole(analysis: Analysis) -> ReportData:
    """With all that a study's store adds."""
    pay = hourly_pay(
        ["a", "a", "b"], [0.8, 0.8, 0.8], [0, 10, 0], [240, 250, 360], in_page_seconds=[200, 200, 300]
    )
    cues = (CueScore("longest", "SA", 100, 40.0), CueScore("longest", "ILM", 100, 20.0))
    plan = Plan(40, passages_per_row=4, generators=4, comparisons=1)
    money = MoneyFacts(hourly_target=Decimal("20"))
    return replace(data(analysis), plan=plan, cues=cues, hourly=pay, money=money)


def figures(one: ReportData) -> dict[str, Figure]:
    return {
        block.key: block
        for section in chapters(one).values()
        for block in section.blocks
        if isinstance(block, Figure)
    }


def test_every_plot_is_there_and_is_well_formed_and_says_n(alike: Analysis) -> None:
    found = figures(whole(alike))
    spread = isinstance(alike.model, MixedModel) and alike.model.story_sd > 1e-3
    assert set(found) == FIGURES - (set() if spread else {"stories"})
    for figure in found.values():
        for drawing in figure.drawings:
            svg = drawing.svg()
            root = ElementTree.fromstring(svg)
            assert root.get("role") == "img"
            assert root.findtext("{http://www.w3.org/2000/svg}desc")
            assert "nan" not in svg
        assert "n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}" in figure.caption
        assert "Rule" not in figure.caption
        # Only what was drawn at random names a seed.
        assert ("seed 5" in figure.caption) == (figure.key == "ranks")
    page, latex = prose(render_report(whole(alike))), render_latex(whole(alike))
    assert "Table 1 has the numbers. n" in page
    # In LaTeX there are no figures: every table says it, in its caption or in the note below.
    assert len(re.findall(r"\bn\W{1,3}=\W{1,3}\d+ responses?", latex)) == latex.count("\\caption{")


def test_heat_maps_hold_the_counts_of_the_score_table(alike: Analysis) -> None:
    figure = figures(whole(alike))["picks"]
    assert len(figure.drawings) == len(alike.table.scores)
    for drawing, row in zip(figure.drawings, alike.table.scores, strict=True):
        parts = ElementTree.fromstring(drawing.svg()).iter()
        small = [one.text or "" for one in parts if "font-size:10.5" in one.get("style", "")]
        drawn = [words for words in small if words.isdigit()]
        assert drawn == [str(times) for line in row.picks for times in line]


def test_plan_stands_against_what_was_achieved(alike: Analysis) -> None:
    found = {row[0].text: row for row in tables(whole(alike))["plan"].rows}
    plan = whole(alike).plan
    assert plan is not None
    assert found["Annotators"][1].value == 40
    assert found["Annotators"][2].value == 38
    assert found["Detectable difference, points"][1].value == outlook(plan).detectable
    assert not any("hardest" in name for name in found), "one comparison is no family"
    after = found["Detectable difference, points"][2].value
    assert after is None or 0 < float(str(after)) < 0.5


def test_the_power_curve_is_the_plans_calculation_and_reaches_the_power_wanted(alike: Analysis) -> None:
    one = whole(alike)
    assert one.plan is not None
    found = tables(one)
    achieved = {row[0].value: row[2].value for row in found["plan"].rows}
    effect = f"{one.plan.smallest_effect:g}"
    (line,) = [row for row in found["power"].rows if "achieved" in row[0].text]
    assert line[1].value == achieved[f"Power for a difference of {effect}: one comparison"]
    assert float(str(found["power"].rows[-1][1].value)) >= one.plan.power
    assert "Score of a system" in achieved


def test_the_stories_have_titles_and_intervals_and_ranks_go_by_mean_rank() -> None:
    rough = responses(annotators=120)
    hard = rough["story"].str[1:].astype(int) % 2 == 0
    rough.loc[hard & (rough["generator"] != "Control"), "choice"] = rough["position"] % 5 + 1
    found = analyse(rough, control="Control", human="Human", seed=5)
    figure = story_figure(found, {"s0": "The lost dog"})
    assert figure is not None
    svg = figure.drawings[0].svg()
    assert "The lost dog" in svg
    assert svg.count("<use") == 20
    assert isinstance(found.model, MixedModel)
    for row in figure.table.rows:
        assert isinstance(row[3].value, Interval)
        assert row[3].value.low < float(str(row[2].value)) < row[3].value.high
    # No interval is wider than the spread of stories alone allows.
    assert 0 < max(found.story_deviations) < found.model.story_sd
    ranks = ranks_figure(found)
    assert ranks is not None
    means = [float(str(row[2].value)) for row in ranks.table.rows]
    assert means == sorted(means)


def test_few_annotators_are_warned_of_wherever_scores_stand() -> None:
    one = responses(annotators=1).assign(choice=lambda frame: frame["position"])
    table = analyse(one, control="Control", human="Human").table
    assert "a single annotator" in few(table)
    out = io.StringIO()
    render_table(table, Console(file=out, width=80))
    assert "Few annotators or stories: a single annotator and a single story for each" in out.getvalue()
    assert "Few annotators or stories" in dict(warnings(ReportData("Scores", table)))
    assert few(analyse(responses(), control="Control", human="Human").table) == ""
    text = io.StringIO()
    render_details(analyse(one, control="Control", human="Human"), Console(file=text, width=80))
    assert not re.search(r"not\s+estimable,\s+because\s+[^.]*not\s+estimable,\s+because", text.getvalue())


def test_at_80_columns_no_number_of_the_details_is_cut(alike: Analysis) -> None:
    out = io.StringIO()
    render_details(alike, Console(file=out, width=80))
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    for row in intervals_table(alike).rows:
        for cell in row[1:]:
            assert cell.text in text


def test_pay_is_told_three_ways_and_cues_beside_scores(alike: Analysis) -> None:
    found = tables(whole(alike))
    pay = found["hourly_pay"].rows
    assert [row[1].value for row in pay] == pytest.approx(
        [(1.6 * 3600 / 480 + 8) / 2, (1.6 * 3600 / 250 + 8) / 2, (1.6 * 3600 / 400 + 9.6) / 2]
    )
    assert [row[3].value for row in pay] == [1.0, 0.5, 1.0]
    assert [row[1].value for row in found["cues"].rows if row[0].text == "SA"] == [0.6]


def test_workers_are_pseudonyms_cut_short_with_their_flags(alike: Analysis) -> None:
    rows = tables(whole(alike))["workers"].rows
    assert [row[0].text for row in rows[:2]] == ["worker00…", "worker00…"]
    assert rows[0][1].text == "no"
    assert "missed a Control passage" in rows[0][-1].text
    assert "worker0001" not in render_report(whole(alike))


def test_what_cannot_be_estimated_says_why() -> None:
    frame = responses(annotators=12).drop(columns=["seconds", "words", "order"])
    frame["story"] = [f"s{at}" for at in range(len(frame))]
    analysis = analyse(frame, control="Control", human="Human")
    text = prose(render_report(replace(whole(analysis), hourly=NotEstimable("no form was paid"))))
    assert (
        "Agreement between annotators: not estimable, because no passage was judged by two annotators."
        in text
    )
    assert "Pay per hour: not estimable, because no form was paid." in text
    assert "Learning: not estimable, because" in text
    assert "mixed model is not estimable, because" in text
    assert " nan" not in text


def test_the_band_of_the_ceiling_holds_what_chance_gives(alike: Analysis) -> None:
    band = ceiling_band(alike.table)
    achieved = alike.table.chance.achieved
    assert band is not None
    assert achieved is not None
    assert band.low < achieved < band.high
    assert "Band between dotted lines" in render_report(data(alike))


def latex_cells(text: str) -> set[str]:
    plain = text.replace("$-$", "\N{MINUS SIGN}").replace("--", "\N{EN DASH}").replace("\\%", "%")
    return {
        cell.strip().removesuffix("\\\\").strip() for line in plain.splitlines() for cell in line.split(" & ")
    }


def test_all_forms_carry_equal_numbers(alike: Analysis) -> None:
    one = whole(alike)
    markdown, latex, files = render_markdown(one), latex_cells(render_latex(one)), csv_files(one)
    page, document = render_report(one), one.analysis.to_json() if one.analysis else {}
    html = {text.strip() for text in Outline(page).text}
    for section in sections(one):
        for table in section.tables:
            lines = list(csv.DictReader(io.StringIO(files[f"{table.key}.csv"])))
            assert len(lines) == len(table.rows)
            for row, line in zip(table.rows, lines, strict=True):
                for column, cell in zip(table.columns, row, strict=True):
                    if not cell.text or not column.number:
                        continue
                    assert cell.text in html
                    assert f"| {cell.text.replace('<', chr(92) + '<')} |" in markdown
                    assert cell.text.replace("<", r"\textless{}").replace("′", "$'$") in latex
                    if isinstance(cell.value, Interval):
                        ends = float(line[f"{column.key}_low"]), float(line[f"{column.key}_high"])
                        assert ends == pytest.approx(tuple(cell.value), rel=1e-9)
                    elif cell.value is not None:
                        assert float(line[column.key]) == pytest.approx(cell.value, rel=1e-9)
    scores = list(csv.DictReader(io.StringIO(files["scores.csv"])))
    assert [float(row["score"]) for row in scores] == pytest.approx(
        [row["score"] for row in document["scores"]], rel=1e-9
    )
    pairs = {(row["a"], row["b"]): row for row in document["comparisons"] if row["family"] == "systems"}
    for line in csv.DictReader(io.StringIO(files["comparisons_systems.csv"])):
        a, b = line["pair"].split(" - ")
        entry = pairs[a, b]
        assert float(line["p_adjusted"]) == pytest.approx(entry["p_adjusted"], rel=1e-9)
        assert line["verdict"] == entry["verdict"]
    said = {row["generator"]: row["best"] for row in document["details"]["standings"]}
    assert said == {
        row["generator"]: float(row["first"]) for row in csv.DictReader(io.StringIO(files["ranks.csv"]))
    }


def test_no_form_claims_more_than_the_verdicts(alike: Analysis) -> None:
    for text in (render_markdown(whole(alike)), render_latex(whole(alike))):
        assert not re.search(CLAIMS, without_rules(text), re.I)


def test_text_of_others_is_never_markup_in_markdown_latex_or_a_spreadsheet() -> None:
    evil = r"=1+1|\input{/etc/passwd} $x$ % & # _a_ ~ ^ [b](c) <b>" + "\n# heading"
    analysis = analyse(responses(("Control", evil, "ILM", "Human")), control="Control", human="Human")
    one = replace(data(analysis), title=evil)
    markdown, latex = render_markdown(one), render_latex(one)
    body = "\n".join(line for line in latex.splitlines() if not line.startswith("%"))
    assert r"\input" not in body
    assert (
        r"\textbackslash{}input\{/etc/passwd\} \$x\$ \% \& \# \_a\_ \textasciitilde{} \textasciicircum{}"
        in body
    )
    assert not re.search(r"^# heading|(?<!\\)<b>|[^\\]\[b\]", markdown, re.M)
    assert r"\|" in markdown
    for block in markdown.split("\n\n"):
        if block.startswith("| "):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1
    for text in csv_files(one).values():
        for row in csv.reader(io.StringIO(text)):
            assert not any(cell.startswith("=") for cell in row)


def test_latex_is_booktabs_with_every_table_opened_and_closed(alike: Analysis) -> None:
    text = render_latex(whole(alike))
    for kind in ("table", "tabular", "longtable"):
        assert text.count(f"\\begin{{{kind}}}") == text.count(f"\\end{{{kind}}}")
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == text.count(r"\caption{")
    labels = re.findall(r"\\label\{([^}]*)\}", text)
    assert len(labels) == len(set(labels))


def test_r_gets_the_rows_that_count_with_a_codebook_and_the_model(alike: Analysis) -> None:
    frame = responses().assign(
        role=lambda one: one["generator"].map({"Control": "control", "Human": "human"}).fillna("system")
    )
    files = r_files(frame, alike)
    rows = pd.read_csv(io.StringIO(files["responses_r.csv"]))
    assert set(rows["generator"]) == {"SA", "ILM", "Human"}
    for row in alike.table.scores[1:]:
        mine = rows[rows["generator"] == row.generator]
        assert (len(mine), int((1 - mine["identified"]).sum())) == (row.n, row.not_identified)
    assert [row[0] for row in csv.reader(io.StringIO(files["responses_r_codebook.csv"]))][1:] == list(
        rows.columns
    )
    assert (
        "glmer(identified ~ generator + (1 | worker) + (1 | story), data = responses, family = binomial)"
        in files["model.R"]
    )
    # The omnibus test is of systems, as in the report.
    assert 'subset(responses, role == "system")' in files["model.R"]


def test_the_codebook_knows_every_column_of_every_file(alike: Analysis) -> None:
    files = dict(csv_files(whole(alike)))
    book = {(row["file"], row["column"]) for row in csv.DictReader(io.StringIO(files.pop("codebook.csv")))}
    assert book == {
        (name, column) for name, text in files.items() for column in next(csv.reader(io.StringIO(text)))
    }


def test_the_terminal_shows_the_details(alike: Analysis) -> None:
    out = io.StringIO()
    render_details(alike, Console(file=out, width=100))
    for heading in ("Ranks", "Scores under other rules", "Mixed model", "Annotators", "Positions and picks"):
        assert heading in out.getvalue()


SHAPES = {
    "one annotator": lambda frame: frame[frame["worker"] == "worker0005"],
    "no systems": lambda frame: frame[frame["generator"].isin(["Control", "Human"])],
    "no controls": lambda frame: frame[frame["generator"].isin(["SA", "ILM"])],
    "all found": lambda frame: frame.assign(choice=frame["position"]),
    "none found": lambda frame: frame.assign(choice=frame["position"] % 5 + 1),
    "no time at all": lambda frame: frame.assign(seconds=0.0),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_study_has_a_report_without_nan(shape: str) -> None:
    frame = SHAPES[shape](responses(annotators=12))
    names = set(frame["generator"])
    analysis = analyse(
        frame,
        Rule(control="none"),
        control="Control" if "Control" in names else None,
        human="Human" if "Human" in names else None,
    )
    one = whole(analysis)
    page = render_report(one)
    Outline(page)
    for text in (page, render_markdown(one), render_latex(one), *csv_files(one).values()):
        assert not re.search(r"\b(nan|inf|None|Undefined)\b", text)


def test_without_an_analysis_there_are_no_new_sections(alike: Analysis) -> None:
    assert chapters(replace(data(alike), analysis=None)) == {}


def test_plots_are_the_same_bytes_again_whatever_the_user_has_set_for_matplotlib(alike: Analysis) -> None:
    from matplotlib import rc_context

    plots = [one for several in drawings(whole(alike)).values() for one in several]
    first, pdf = [one.svg() for one in plots], figures_pdf(whole(alike))
    with rc_context({"svg.fonttype": "path", "savefig.bbox": "tight", "font.size": 40, "axes.grid": True}):
        assert [one.svg() for one in plots] == first
        assert figures_pdf(whole(alike)) == pdf
    assert pdf.startswith(b"%PDF")
    assert b"CreationDate" not in pdf
    assert b"/Type3" not in pdf
    assert b"/FontFile2" in pdf


def test_an_svg_file_has_a_size_and_colours_of_its_own(alike: Analysis) -> None:
    for several in drawings(whole(alike)).values():
        for one in several:
            svg = one.svg(alone=True)
            assert 'width="' in svg.partition(">")[0]
            assert "var(" not in svg
            assert "#0101" not in svg
            assert "#0101" not in one.svg()


def test_a_name_that_looks_like_a_colour_of_the_plots_stays_as_it_is() -> None:
    names = ("Control", "#010104", 'id="text_1"', "Human")
    analysis = analyse(responses(names), control="Control", human="Human")
    for one in (several[0] for several in drawings(data(analysis)).values()):
        ElementTree.fromstring(one.svg())
    svg = drawings(data(analysis))["scores"][0].svg()
    assert ">#010104<" in svg
    assert '>id="text_1"<' in svg
    assert pdf_pages([drawings(data(analysis))["picks"]]).startswith(b"%PDF")
