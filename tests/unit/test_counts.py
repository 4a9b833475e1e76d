"""Scores from counts: the published table with its intervals, ranks and verdicts, and what it does not
show."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from humaneval.domain import Role
from humaneval.errors import InputError, SettingsError
from humaneval.foreign.comparisons import FIRST, OUTCOME, SECOND, Comparisons
from humaneval.foreign.judged import ITEM, VALUE, WORKER
from humaneval.foreign.ordinal_scales import ordinal
from humaneval.foreign.preferences import ranking, sign_tests
from humaneval.limits import SYSTEMS
from humaneval.report import verdicts
from humaneval.report.terminal.counts import render_counts
from humaneval.scoring.comparisons import Declared
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.from_counts import TEST, CountLine, CountTable, read_counts, score_counts
from humaneval.scoring.scores import score
from humaneval.statistics.intervals import wilson
from humaneval.study.file import read_study_file

PUBLISHED = [
    CountLine("Control", Role.CONTROL, 0, 95),
    CountLine("BERT", Role.SYSTEM, 19, 95),
    CountLine("SA", Role.SYSTEM, 28, 95),
    CountLine("LM scratch", Role.SYSTEM, 38, 95),
    CountLine("LM", Role.SYSTEM, 39, 95),
    CountLine("ILM scratch", Role.SYSTEM, 37, 95),
    CountLine("ILM", Role.SYSTEM, 43, 95),
    CountLine("Human", Role.HUMAN, 74, 95),
]


@pytest.fixture(scope="module")
def published() -> CountTable:
    return score_counts(PUBLISHED, Declared(margin=0.10))


def test_the_published_data_set_three_systems_above_bert_and_all_below_human(published: CountTable) -> None:
    told = {(one.a, one.b): one.verdict for one in published.comparisons if one.verdict != "inconclusive"}
    systems = {pair: verdict for pair, verdict in told.items() if "Human" not in pair}
    assert systems == dict.fromkeys([("BERT", "ILM"), ("BERT", "LM"), ("BERT", "LM scratch")], "b_higher")
    assert {pair[0] for pair in told if "Human" in pair} == {
        "BERT",
        "SA",
        "LM scratch",
        "LM",
        "ILM scratch",
        "ILM",
    }


def test_that_ilm_is_above_lm_is_not_shown(published: CountTable) -> None:
    (one,) = [one for one in published.comparisons if (one.a, one.b) == ("ILM", "LM")]
    assert (one.test, one.verdict) == (TEST, "inconclusive")
    assert [round(100 * end, 1) for end in one.interval] == [-9.7, 17.9]
    assert round(one.p, 2) == 0.56
    assert verdicts.outcome(one) == "inconclusive"


def test_ranks_are_wide(published: CountTable) -> None:
    found = {row.generator: row.rank for row in published.scores}
    assert found["Human"] is None
    assert found["Control"] is None
    ilm, lm = found["ILM"], found["LM"]
    assert ilm is not None
    assert lm is not None
    assert (ilm.low, ilm.high, lm.low, lm.high) == (1, 4, 1, 5)
    assert ilm.best == pytest.approx(0.56, abs=0.01)


def test_the_document_is_plain_and_the_same_each_time(published: CountTable) -> None:
    document = json.dumps(published.to_json(), allow_nan=False)
    assert json.loads(document)["scores"][0]["generator"] == "Control"
    assert score_counts(PUBLISHED, Declared(margin=0.10)) == published


def test_X03_control_at_0_has_no_interval_in_a_table_of_counts(published: CountTable) -> None:
    control, *others = published.to_json()["scores"]
    assert (control["interval"], control["interval_method"]) == (None, None)
    assert control["note"] == "0 by construction, if annotators who missed a Control passage are excluded."
    assert all(len(row["interval"]) == 2 and not row["note"] for row in others)
    (missed,) = score_counts([CountLine("Control", Role.CONTROL, 2, 95)]).scores
    assert missed.interval == wilson(2, 95)
    printed = io.StringIO()
    render_counts(published, Console(file=printed, width=100))
    told = printed.getvalue()
    assert re.search(r"^Control +0\.0 +none +0 / 95", told, re.MULTILINE)
    assert "Control: 0 by construction" in told


def said_of(*counts: CountLine, declared: Declared | None = None) -> str:
    printed = io.StringIO()
    render_counts(score_counts(counts, declared), Console(file=printed, width=100))
    return " ".join(printed.getvalue().replace("\N{NO-BREAK SPACE}", " ").split())


def test_X11_counts_say_how_p_and_intervals_are_adjusted() -> None:
    three = [CountLine(name, Role.SYSTEM, x, 1000) for name, x in (("a", 500), ("b", 502), ("c", 900))]
    said = said_of(*three, CountLine("people", Role.HUMAN, 800, 1000), declared=Declared(margin=0.1))
    assert "p-values are adjusted within each family by Holm. Each interval is for its pair alone" in said
    assert "against people, one-sided z" in said
    assert "equivalent if the 90 % interval of their difference lies within ± 10.0 points" in said
    assert "Equivalent within ±10.0 points: a and b." in said
    assert "p-values are not adjusted" in said_of(*three, declared=Declared(adjust="none"))


def test_X11_counts_tell_nothing_of_what_they_do_not_have() -> None:
    alone = said_of(CountLine("a", Role.SYSTEM, 50, 100))
    assert not re.search("χ²|Newcombe|Ranks|Human|p-values|at most", alone)
    assert alone.endswith("Intervals are Wilson’s, as if none did.")
    pair = said_of(CountLine("a", Role.SYSTEM, 50, 100), CountLine("b", Role.SYSTEM, 52, 100))
    assert "(χ²)" in pair
    assert not re.search("one-sided|equivalent|Human|whole family", pair)
    against = said_of(CountLine("a", Role.SYSTEM, 50, 100), CountLine("h", Role.HUMAN, 52, 100))
    assert not re.search("χ²|Ranks", against)


def test_a_file_of_counts(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("Generator,n,not_identified\nhuman,10,8\nx,10,3\n", encoding="utf-8-sig")
    assert read_counts(path).counts == [("human", Role.HUMAN, 8, 10), ("x", Role.SYSTEM, 3, 10)]
    table = score_counts(read_counts(path).counts)
    assert [row.rank for row in table.scores] == [None, None]
    assert [one.family for one in table.comparisons] == ["below human"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "lacks the columns"),
        ("generator,n\nx,3\n", "not_identified"),
        ("generator,not_identified,n\nx,4,3\n", "line 2: 4 of 3"),
        ("generator,not_identified,n\nx,a,3\n", "line 2: not_identified and n"),
        ("generator,not_identified,n\nx,-1,3\n", "whole numbers"),
        ("generator,not_identified,n\n,1,3\n", "is empty"),
        ("generator,not_identified,n,role\nx,1,3,judge\n", "not a role"),
        ("generator,not_identified,n\nx,1,3\nx,2,3\n", "x occurs 2 times"),
        ("generator,not_identified,n\n", "no counts"),
    ],
)
def test_what_is_no_table_of_counts_is_said(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        score_counts(read_counts(path).counts)


def test_counts_by_the_command_line(command: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(
        "generator,not_identified,n\n" + "".join(f"{name},{x},{n}\n" for name, _, x, n in PUBLISHED)
    )
    said = command("score", "--counts", str(path), "--margin", "0.10")
    assert said.code == 0
    assert "This study shows no difference for 12 of 15 pairs" in " ".join(said.out.split())
    assert "χ²" in said.out
    document = json.loads(command("score", "--counts", str(path), "--json").out)
    assert len(document["comparisons"]) == 21
    assert command("score", "--counts", str(path), "--responses", str(path)).code == 2


def test_X06_two_spellings_of_the_control_are_not_two_generators() -> None:
    counts = [CountLine("Control", Role.CONTROL, 0, 9), CountLine("control", Role.CONTROL, 1, 9)]
    with pytest.raises(InputError, match="the generators Control, control differ only in case"):
        score_counts([*counts, CountLine("a", Role.SYSTEM, 4, 9)])
    assert len(score_counts([CountLine(name, Role.SYSTEM, 4, 9) for name in ("a", "A")]).scores) == 2


def test_a_column_that_does_not_name_the_systems_is_refused_in_one_line_wherever_pairs_are_made() -> None:
    names = [f"{place}" for place in range(SYSTEMS + 1)]
    lines = [CountLine(name, Role.SYSTEM, 1, 2) for name in names]
    table = pd.DataFrame({"worker": names, "story": names, "generator": names, "position": 1, "choice": 1})
    judged = pd.DataFrame({"generator": names, VALUE: "3"})
    pairs = pd.DataFrame({FIRST: names[1:], SECOND: "0", OUTCOME: 1.0, WORKER: "ann", ITEM: "one"})
    met = Comparisons(pairs, ())
    for compare in (
        lambda: score_counts(lines),
        lambda: score(table, Rule(control="none")),
        lambda: score(table.assign(other="one more", question="prefer").iloc[1:], Rule(control="none")),
        lambda: ordinal(judged, ["generator"]),
        lambda: sign_tests(met),
        lambda: ranking(met),
        lambda: read_study_file(
            None, overrides={"design": {"generators": names, "control": "0", "human": "1"}}
        ),
    ):
        with pytest.raises((InputError, SettingsError), match=f"at most {SYSTEMS} are compared"):
            compare()
