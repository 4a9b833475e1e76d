"""`study plan`: what it reads in a study file, and what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

from humaneval.store.engine import reading
from humaneval.store.tables import StoryRow
from humaneval.study.file import StudyFile
from humaneval.study.plan import plan_of, plan_of_study, stories_of
from humaneval.study.stored import open_study


def settings(**sections: dict[str, Any]) -> StudyFile:
    names = ["control", "human", "a", "b", "c"]
    return StudyFile.model_validate(
        {**sections, "design": {"generators": names, **sections.get("design", {})}}
    )


def test_a_study_files_plan_is_what_it_declares() -> None:
    plan = plan_of(settings())
    assert (plan.annotators, plan.comparisons, plan.below_human, plan.controls, plan.adjust) == (
        40,
        3,
        3,
        1,
        "holm",
    )
    plan = plan_of(
        settings(
            design={
                "annotators": 80,
                "rows_per_annotator": 4,
                "top_up": "auto",
                "stories": 30,
                "positions": [3],
            },
            exclusions={"missed_control": "none"},
            analysis={"adjust": "none", "below_human": False},
        )
    )
    assert (plan.annotators, plan.people, plan.stories, plan.positions) == (80, 20, 30, (3,))
    assert (plan.controls, plan.top_up, plan.adjust, plan.below_human) == (0, True, "none", 0)
    assert plan.spammers == 0.05  # they stay in, where there is no gate


def test_study_plan_simulates_where_it_is_asked_to(command: Callable[..., Any]) -> None:
    document = json.loads(command("study", "plan", "--simulate", "100", "--annotators", "30", "--json").out)
    assert document["simulated"]["studies"] == 100
    assert 0 <= document["simulated"]["power"] <= 1
    assert json.loads(command("study", "plan", "--json").out)["simulated"] is None
    assert (
        "of 100 simulated studies" in command("study", "plan", "--simulate", "100", "--annotators", "30").out
    )


def planned(command: Callable[..., Any], *given: str, **sections: dict[str, Any]) -> str:
    """What `study plan` prints about a study file with these settings."""
    path = Path("plan.toml")
    lines = [
        line
        for section, settings in sections.items()
        for line in (f"[{section}]", *(f"{name} = {json.dumps(value)}" for name, value in settings.items()))
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(command("study", "plan", "--file", str(path), *given).out)


SYSTEMS = ["control", "human", "a", "b", "c"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("here")
def test_study_plan_counts_annotators_as_the_study_file_does(command: Callable[..., Any]) -> None:
    design = {"generators": SYSTEMS, "annotators": 80, "rows_per_annotator": 4}
    out = planned(command, design=design)
    assert "20 annotators with 4 forms each, 80 forms (annotators = 80 in the file)" in out
    advised = re.search(r"find it in 80% of them takes .*annotators = (\d+) in the file\)", out)
    assert advised
    # What it says is what one types.
    enough = planned(command, "--annotators", advised[1], design=design)
    assert f"{int(advised[1]):,} forms" in enough
    assert "Only " not in enough
    assert "Only " in planned(command, "--annotators", str(int(advised[1]) - 1), design=design)


@pytest.mark.usefixtures("here")
def test_study_plan_says_how_many_forms_the_stories_are_enough_for(command: Callable[..., Any]) -> None:
    design = {"generators": SYSTEMS, "rows_per_annotator": 4}
    assert "the 9 stories are enough for 1." in planned(command, design={**design, "stories": 9})
    assert "takes 20 stories at least" in planned(command, design=design)


@pytest.mark.usefixtures("here")
def test_study_plan_names_the_declared_rule(command: Callable[..., Any]) -> None:
    design = {"generators": SYSTEMS}
    assert "one of 3 (Holm)" in planned(command, design=design)
    assert "one of 3 (BH)" in planned(command, design=design, analysis={"adjust": "benjamini-hochberg"})
    assert "one of 3" not in planned(command, design=design, analysis={"adjust": "none"})


@pytest.mark.usefixtures("here")
def test_study_plan_plans_only_what_is_compared(command: Callable[..., Any]) -> None:
    for generators in (["control", "a"], ["control", "human"]):
        out = planned(command, design={"generators": generators, "annotators": 10})
        assert "nothing to compare" in out
        assert "against" not in out
        assert "Only " not in out
    out = planned(command, design={"generators": ["control", "human", "a"], "annotators": 10})
    assert "below Human's 80%" in out
    assert "against" not in out
    assert "Only " in out


@pytest.mark.usefixtures("here")
def test_study_plan_claims_no_gate_where_there_is_none(command: Callable[..., Any]) -> None:
    design = {"generators": SYSTEMS}
    for out in (
        planned(command, design=design, exclusions={"missed_control": "none"}),
        planned(command, design={"generators": SYSTEMS[1:]}, exclusions={"missed_control": "none"}),
    ):
        assert "left out once" not in out
        assert "Nobody is left out" in out
    assert "once those who miss a Control passage are left out" in planned(command, design=design)
    again = planned(command, design={**design, "top_up": "auto"})
    assert "about 40 responses" in again
    assert "all 42 forms" in again


@pytest.mark.usefixtures("here")
def test_study_plan_says_what_is_more_than_none(command: Callable[..., Any]) -> None:
    out = planned(
        command,
        "--annotators",
        "1",
        "--spammers",
        "0.999",
        "--effect",
        "0.0001",
        design={"generators": SYSTEMS},
    )
    assert "1 annotator:" in out
    assert "If 99.9% of annotators only click" in out
    assert "a difference of 0.01 points between" in out
    assert "A score of 40.00% against one of 40.01%" in out
    out = planned(command, design={"generators": SYSTEMS})
    assert "1.04% of those who pass their Control passage" in out
    assert "Annotators who fill in 2 forms each meet 2" in out


@pytest.mark.usefixtures("here")
def test_study_plan_takes_a_width_and_an_icc(command: Callable[..., Any]) -> None:
    design = {"generators": SYSTEMS}
    wide, narrow = (planned(command, "--width", width, design=design) for width in ("0.1", "0.02"))
    taken = [int(re.search(r"take ([\d,]+) annotators", out)[1].replace(",", "")) for out in (wide, narrow)]
    assert taken[0] < 110 < 2000 < taken[1]
    assert "correlated by 0.100" in planned(command, "--icc", "0.1", design=design)


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--effect", "nan", "'nan' is not a number"),
        ("--spammers", "inf", "in the range"),
        ("--power", "0", "in the range"),
        ("--annotators", "many", "'many' is not a whole number"),
        ("--annotators", "10000000000000000000", "1<=x<=100000"),
        ("--width", "0.6", "in the range"),
    ],
)
def test_study_plan_refuses_numbers_that_are_none(
    command: Callable[..., Any], option: str, value: str, reason: str
) -> None:
    done = command("study", "plan", option, value)
    assert done.code == 2
    assert reason in done.err


def test_a_stored_study_is_planned_with_the_stories_that_are_there_for_more_rows(
    sqlite_engine: Engine, study_factory: Callable[..., Any]
) -> None:
    study_factory(sqlite_engine, "small", design={"annotators": 1})
    plan = plan_of_study(open_study(sqlite_engine, "small"))
    assert plan.annotators == 1
    with reading(sqlite_engine) as session:
        there = session.scalar(select(func.count()).select_from(StoryRow).where(StoryRow.split == "test"))
    assert stories_of(open_study(sqlite_engine, "small")) < plan.stories
    assert plan.stories == there
