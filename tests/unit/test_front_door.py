"""What a requester reads on the way in: whom people can ask, what is missing, what comes next."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any, cast

import pytest

from humaneval.crowd.advice import next_steps
from humaneval.crowd.status import EndpointStatus
from humaneval.domain import Role
from humaneval.errors import HumanEvalError, PlatformError
from humaneval.infills import free_text
from humaneval.report.figures.forest import ceiling_band
from humaneval.report.phrases import Chanced, chance
from humaneval.running.borrowed_market import BorrowedMarket
from humaneval.scoring.questions.question import Scale
from humaneval.scoring.scores import DETECTION, Chance, ScoreTable
from humaneval.study.consent import consent_of, no_contact
from humaneval.study.file import read_study_file
from humaneval.study.presets import in_force
from humaneval.study.words import Channel, words_of


@pytest.mark.parametrize(
    ("channel", "asked"),
    [
        ("task", "ask the people who invited you to this marketplace"),
        ("hit", "write to us through the marketplace"),
        ("panel", "write to us through the panel"),
        ("personal", "ask the people who sent you the link"),
    ],
)
def test_a_consent_without_a_contact_says_whom_to_ask(channel: Channel, asked: str) -> None:
    study = read_study_file(None).settings
    assert asked in consent_of(study, channel).text
    assert "`humaneval init`" in no_contact(study)
    named = read_study_file(None, overrides={"consent": {"contact": "lab@example.org"}}).settings
    assert asked not in consent_of(named, channel).text
    assert no_contact(named) == ""


def test_a_consent_by_an_open_link_promises_nothing_that_nobody_can_ask_for() -> None:
    text = consent_of(read_study_file(None).settings, "open").text
    assert "On request" not in text
    assert "To have it deleted" not in text


@pytest.mark.parametrize("language", ["de", "zh-Hans", "ar"])
def test_every_language_says_whom_to_ask_and_asks_before_answers_are_lost(language: str) -> None:
    study = read_study_file(None, overrides={"page": {"language": language}}).settings
    words = words_of(study)
    for key in ("ask_task", "ask_hit", "ask_panel", "ask_personal", "decline_sure", "decline_now"):
        assert words.language_of(key) == language


def at_local(**counts: int) -> EndpointStatus:
    given: dict[str, Any] = {"endpoint": "local", "hits_up": 3, "planned": 20, "rejected": 0, **counts}
    return cast(EndpointStatus, SimpleNamespace(**given))


def test_status_leads_to_the_scores_once_everything_that_came_is_decided() -> None:
    assert "review" in str(next_steps("mine", [at_local(submitted=2, approved=1)], []).first)
    assert "score" in str(next_steps("mine", [at_local(submitted=2, approved=2)], []).first)
    assert "score" in str(next_steps("mine", [at_local(submitted=2, approved=1, rejected=1)], []).first)


def test_status_leads_to_the_review_only_if_there_is_something_to_review() -> None:
    nobody = at_local(submitted=0, approved=0)
    assert str(next_steps("mine", [nobody], []).first) == "humaneval collect mine --to local"
    assert str(next_steps("mine", [nobody], [], "humaneval up mine").first) == "humaneval up mine"


def table(marks: int, achieved: float, n: int, scale: Scale = DETECTION) -> ScoreTable:
    picks = (marks, 0, 0, 0, 0)
    made = SimpleNamespace(
        chance=Chance(nominal=0.8, achieved=achieved, picks=picks),
        scores=[SimpleNamespace(n=n, role=Role.SYSTEM)],
        level=0.95,
        scale=scale,
    )
    return cast(ScoreTable, made)


@pytest.mark.parametrize(("marks", "achieved", "n"), [(1, 1.0, 1), (2, 0.5, 2), (24, 0.8, 100), (30, 0.5, 1)])
def test_no_band_of_chance_is_drawn_from_too_few_answers(marks: int, achieved: float, n: int) -> None:
    assert ceiling_band(table(marks, achieved, n)) is None


def test_a_band_of_chance_is_drawn_from_enough_answers() -> None:
    band = ceiling_band(table(30, 0.8, 100))
    assert band is not None
    assert 0.7 < band.low < 0.8 < band.high < 0.9


def test_a_habit_is_not_put_in_numbers_from_one_mark() -> None:
    said = chance(cast(Chanced, table(1, 1.0, 1)))
    assert "100" not in said
    assert "1 mark on Human passages cannot tell" in said
    assert "by this habit alone it gives" in chance(cast(Chanced, table(30, 0.75, 100)))


def test_a_report_shows_the_study_file_with_the_settings_in_force() -> None:
    design = {
        "generators": ["control", "human", "bart_ft"],
        "annotators": 20,
        "positions": [3],
        "split": "a#b",
    }
    read = read_study_file(None, overrides={"design": design, "page": {"story_language": "de"}})
    text = in_force(read.text)
    assert "from the command line" not in text
    assert 'generators = ["control", "human", "bart_ft"]' in text
    assert "annotators = 20 " in text


def test_without_torch_the_way_to_it_and_to_a_model_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_text, "find_spec", lambda name: None)
    why, how = free_text.missing([free_text.alone()])
    assert how == "pip install '.[models]'"
    assert "humaneval train ilm" in why


def test_a_marketplace_that_another_program_ran_is_missed_once_and_by_name() -> None:
    told: list[HumanEvalError] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        market = BorrowedMarket(url, "mine", told.append)
        assert not market.look()
        market.trouble(PlatformError("something else", ""))
    assert [error.message for error in told] == ["something else"]
    assert market.look()
    assert market.look()
    market.trouble(PlatformError("could not look up a HIT", "Is `humaneval market serve` running?"))
    assert len(told) == 2
    assert told[1].message.startswith(f"the marketplace at {url} is gone")
    assert told[1].hint.endswith("humaneval up mine")
