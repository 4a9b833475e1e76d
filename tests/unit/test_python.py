"""The toolkit from Python: light to import, with the command line's numbers, and errors that help."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import humaneval as he
from humaneval.errors import UsageError
from humaneval.interface.scores import COMPARISON_FIELDS, SCORE_FIELDS
from humaneval.planning.forecast import outlook
from humaneval.scoring.scores import score as compute
from humaneval.store.files import HEAD
from humaneval.study.file import read_study_file
from humaneval.study.plan import plan_of
from tests.commands import Command
from tests.conftest import ROOT
from tests.unit.test_report import HOSTILE, Outline, responses

NAMES = ("Control", "sa", "lm", "ilm", "Human")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return responses(NAMES)


@pytest.fixture(scope="module")
def scores(frame: pd.DataFrame) -> he.Scores:
    return he.score(frame)


def test_importing_the_toolkit_loads_nothing_of_it_and_no_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import humaneval; print(*sorted(set(sys.modules) - before))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    loaded = {name for name in said.stdout.split() if name.partition(".")[0] not in sys.stdlib_module_names}
    assert loaded == {"humaneval"}


def test_every_name_is_there_listed_and_documented() -> None:
    assert set(he.__all__) <= set(dir(he))
    for name in set(he.__all__) - {"__version__"}:
        thing = getattr(he, name)
        assert thing.__doc__, name
        for inner, member in inspect.getmembers(thing if inspect.isclass(thing) else None):
            if not inner.startswith("_") and name in ("Scores", "Database", "StoredStudy", "StudyPlan"):
                assert inspect.getdoc(member) or inner in ("plan", "outlook"), f"{name}.{inner}"
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        he.scores  # noqa: B018 - to look is what fails


def test_one_annotator_is_spoken_of_in_the_singular(frame: pd.DataFrame) -> None:
    one = frame[frame["worker"] == frame["worker"].iloc[0]]
    assert "0 of 1 annotator was excluded; 1 was analysed." in he.score(one).conclusion


def test_an_argument_that_makes_no_study_is_refused_with_one_that_does() -> None:
    with pytest.raises(he.UsageError) as refused:
        he.plan(systems=0)
    assert refused.value.hint == "For example systems=2."


def test_the_frame_has_the_fields_of_the_document(frame: pd.DataFrame, scores: he.Scores) -> None:
    document = scores.json()
    assert document["scores"] == compute(frame).to_json()["scores"]
    for table, key, fields in (
        (scores.frame, "scores", SCORE_FIELDS),
        (scores.comparisons, "comparisons", COMPARISON_FIELDS),
    ):
        assert list(table.columns) == list(fields) == list(document[key][0])
        for row, line in zip(table.to_dict("records"), document[key], strict=True):
            for name, value in line.items():
                there = tuple(value) if isinstance(value, list) else value
                assert row[name] == there or (there is None and pd.isna(row[name])), name
    assert scores.frame["interval"].str[0].notna().sum() == len(NAMES) - 1


def test_nothing_to_compare_is_an_empty_frame_with_its_columns() -> None:
    alone = he.score(responses(("Control", "lm")))
    assert alone.comparisons.empty
    assert list(alone.comparisons.columns) == list(COMPARISON_FIELDS)


def test_a_prompt_and_a_notebook_show_the_table_with_its_conclusion(scores: he.Scores) -> None:
    text, html = repr(scores), scores._repr_html_()
    Outline(html)
    for row in scores.table.scores:
        assert re.search(rf"{row.generator} +{100 * row.score:.1f} ", text)
        assert f">{row.generator}</th>" in html
        assert f">{100 * row.score:.1f}</td>" in html
    assert scores.conclusion in " ".join(text.split())
    assert scores.conclusion in html
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_names_of_generators_are_never_markup_in_a_notebook() -> None:
    evil = he.score(responses(("Control", HOSTILE, "Human")))
    assert "<script" not in evil._repr_html_()
    assert "[bold]" in repr(he.score(responses(("Control", "[bold]lm", "Human"))))


def test_the_plot_is_the_reports_as_a_figure_that_shows_itself(scores: he.Scores) -> None:
    figure = scores.plot()
    assert isinstance(figure, Figure)
    words = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert set(NAMES) <= words
    picture = figure._repr_png_()  # type: ignore[attr-defined]  # only notebooks call it
    assert picture.startswith(b"\x89PNG")
    assert picture == scores.plot()._repr_png_()  # type: ignore[attr-defined]  # only notebooks call it


def test_the_callers_frame_is_not_changed_and_its_index_and_cases_do_not_matter(frame: pd.DataFrame) -> None:
    odd = frame.rename(columns={"worker": " Worker", "choice": "CHOICE"}).set_index(
        pd.Index([7] * len(frame))
    )
    before = odd.copy()
    found = he.score(odd)
    pd.testing.assert_frame_equal(odd, before)
    assert found.json() == he.score(frame).json()


def test_a_path_gives_the_same_scores_as_the_frame_and_as_the_command(
    frame: pd.DataFrame, tmp_path: Path, command: Command
) -> None:
    for name, separator in (("r.csv", ","), ("r.tsv", "\t")):
        frame.to_csv(tmp_path / name, index=False, sep=separator)
        found = he.score(tmp_path / name)
        assert found.json() == command("score", "--responses", tmp_path / name, "--json").json
        assert found.json()["scores"] == he.score(frame).json()["scores"]
    frame.to_json(tmp_path / "r.jsonl", orient="records", lines=True)
    assert he.score(str(tmp_path / "r.jsonl")).json()["scores"] == he.score(frame).json()["scores"]


MISTAKES: dict[str, tuple[Any, type[he.HumanEvalError], str, str]] = {
    "a column is missing": (
        lambda one: one.rename(columns={"worker": "who"}),
        he.InputError,
        "the frame lacks the columns worker",
        "It has: who, story",
    ),
    "choices from 0": (
        lambda one: one.assign(choice=one["choice"] - 1),
        he.InputError,
        "choice counts sentences from 0",
        'frame["choice"] += 1',
    ),
    "both from 0": (
        lambda one: one.assign(choice=one["choice"] - 1, position=one["position"] - 1),
        he.InputError,
        "position and choice count sentences from 0",
        'frame["position"] += 1; frame["choice"] += 1',
    ),
    "no Control": (
        lambda one: one.replace({"generator": {"Control": "check"}}),
        he.InputError,
        "no generator is the Control",
        'control="NAME", or exclude nobody: missed_control="none"',
    ),
    "not a frame": (lambda one: one.to_dict("records"), he.UsageError, "not as list", "pandas.DataFrame"),
    "no rows": (lambda one: one.iloc[:0], he.InputError, "no responses to score", ""),
    "a choice of 9": (
        lambda one: one.assign(choice=9),
        he.InputError,
        "choice 9 is not a whole number from 1 to 5",
        "",
    ),
    "two studies": (
        lambda one: one.assign(study=["a", "b"] * (len(one) // 2)),
        he.InputError,
        "studies are not pooled",
        "one study at a time",
    ),
    "a column twice": (
        lambda one: pd.concat([one, one[["worker"]]], axis=1),
        he.InputError,
        "the frame has several columns worker",
        "Drop or rename",
    ),
    "no file": (lambda one: "nowhere.csv", he.InputError, "nowhere.csv", ""),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_notebooks_have_an_error_whose_hint_is_seen(mistake: str, frame: pd.DataFrame) -> None:
    make, kind, message, hint = MISTAKES[mistake]
    with pytest.raises(kind, match=re.escape(message)) as raised:
        he.score(make(frame))
    error = raised.value
    assert hint in "".join(getattr(error, "__notes__", []))
    assert hint in error.hint
    assert not re.search(r"(^|\s)--\w", f"{error} {error.hint}")


def test_roles_are_named_by_arguments(frame: pd.DataFrame) -> None:
    other = frame.replace({"generator": {"Control": "check", "Human": "people"}})
    found = he.score(other, control="check", human="people")
    assert list(found.frame["role"]) == ["control", "system", "system", "system", "human"]
    with pytest.raises(he.UsageError, match="there is no generator 'chek'") as raised:
        he.score(other, control="chek")
    assert "--" not in str(raised.value)


def test_a_report_that_cannot_be_written_is_an_error_of_ours(scores: he.Scores, tmp_path: Path) -> None:
    with pytest.raises(he.InputError, match="none does not exist"):
        scores.report(tmp_path / "none" / "x.html")
    (tmp_path / "x.json").write_bytes(HEAD)
    with pytest.raises(he.InputError, match="a database is there"):
        scores.report(tmp_path / "x.json")
    assert (tmp_path / "x.json").read_bytes() == HEAD
    with pytest.raises(he.UsageError, match="docx"):
        scores.report(tmp_path / "x.docx")


def test_a_plan_is_that_of_the_study_file() -> None:
    found = he.plan(systems=4, annotators=100, difference=0.1)
    names = ["control", "a", "b", "c", "d", "human"]
    design = {"generators": names, "annotators": 100}
    settings = read_study_file(None, overrides={"design": design}).settings
    assert found.outlook == outlook(plan_of(settings))
    assert (found.power, found.width, found.cost) == (
        found.outlook.power,
        found.outlook.half_width,
        found.outlook.cost,
    )
    assert found.json()["outlook"]["power"] == found.power


@pytest.mark.parametrize("sentences", [3, 7, 20])
def test_a_plan_knows_how_long_stories_are(sentences: int) -> None:
    made = he.plan(systems=2, sentences=sentences).plan
    assert (len(made.positions), made.foreseen.guess) == (sentences, pytest.approx(1 / sentences))
    assert he.plan(systems=2, question="boundary", sentences=sentences).plan.positions[-1] == sentences
    with pytest.raises(he.UsageError, match="sentences=21 is not a whole number from 3 to 20"):
        he.plan(systems=2, sentences=21)


def test_a_plan_shows_itself() -> None:
    found = he.plan(systems=4, annotators=100)
    for text in (repr(found), found._repr_html_()):
        assert f"${found.outlook.rewards}" in text
        assert f"${found.outlook.fees}" in text
        assert "as one of 6, adjusted by Holm" in text
    alone = he.plan(systems=1, human=False)
    assert (alone.power, alone.detectable, alone.annotators_needed) == (None, None, None)
    assert "Power" not in repr(alone)


@pytest.mark.parametrize(
    "wrong",
    [
        {"systems": 0},
        {"systems": 2, "annotators": 0},
        {"systems": 2, "annotators": 2.5},
        {"systems": 2, "difference": 10},
        {"systems": 2, "difference": -0.1},
        {"systems": 2, "score": 40},
        {"systems": 2, "power": 80},
        {"systems": 2, "level": 95},
        {"systems": 2, "level": 0.9999999999999999},
        {"systems": 2, "spammers": 5},
        {"systems": 2, "stories": -1},
        {"systems": 2, "minutes": 0},
        {"systems": 2, "reward": "a lot"},
        {"systems": 2, "reward": -1},
    ],
)
def test_a_number_that_makes_no_study_is_refused_by_its_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(he.UsageError, match=list(wrong)[-1]):
        he.plan(**wrong)


def test_a_level_at_which_intervals_have_no_ends_is_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(he.UsageError, match=r"level=0\.9999999999999999 is not from 0\.5 to 0\.999"):
        he.score(frame, level=0.9999999999999999)


def test_what_leaves_the_page_says_that_programs_answered(frame: pd.DataFrame, tmp_path: Path) -> None:
    programs = he.score(frame.assign(simulated="yes"))
    warned = "40 annotators in this study are programs."
    marked = "40 of 40 annotators are simulated, not people"
    assert programs.conclusion.startswith(warned)
    assert marked in [text.get_text() for text in programs.plot().findobj(Text)]
    files = programs.files("all")
    assert files["scores.csv"].decode().splitlines()[0].endswith(",warning")
    for name, content in files.items():
        if name.endswith((".csv", ".R")) and "codebook" not in name:
            assert warned in content.decode(), name
        if name.endswith(".svg"):
            assert content.decode().count(marked) == 2, name
    tables = files["tables.tex"].decode().split(r"\label{tab:")[1:]
    assert len(tables) > 5
    assert all(warned in table for table in tables)
    assert "programs" not in he.score(frame).conclusion


def test_a_report_without_a_name_fills_no_folder(
    scores: he.Scores, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counts.csv").write_text("generator,not_identified,n\na,3,9\n", encoding="utf-8")
    with pytest.raises(he.UsageError, match="no name of its own"):
        scores.report("")
    for words in ((), ("--format", "all"), ("--format", "csv")):
        for name, why in (("", "the name is empty"), (".", "no name of its own")):
            refused = command("report", "--counts", "counts.csv", "--out", name, *words)
            assert (refused.code, why in refused.err) == (2, True)
    assert [each.name for each in tmp_path.iterdir()] == ["counts.csv"]


@pytest.mark.parametrize("question", ["detect", "prefer", "rate", "boundary"])
def test_a_plan_of_each_question_is_that_of_its_study_file(question: str) -> None:
    answers = {"points": 7} if question == "rate" else {}
    names = ["control", "a", "b", "human"]
    overrides = {
        "question": question,
        "answers": answers,
        "design": {"generators": names, "annotators": 60, "stories": 100},
    }
    settings = read_study_file(None, overrides=overrides).settings
    expected = outlook(plan_of(settings, stories=100))
    found = he.plan(systems=2, annotators=60, stories=100, question=question, answers=answers)
    assert found.power == pytest.approx(expected.power)
    assert found.width == pytest.approx(expected.half_width)
    unit = {"rate": "± 0.", "boundary": "± 0."}.get(question, "± ")
    assert unit in str(found)
    with pytest.raises(UsageError, match="there is no question"):
        he.plan(systems=2, question="taste")
