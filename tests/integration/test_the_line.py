"""The straight line from stories to scores: marketplace, forms and simulated annotators over real HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd
import pytest
from sqlalchemy import Engine

from humaneval.crowd.approve import approve_work
from humaneval.crowd.collect import collect_work
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.platform import Submission
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.review import review_work
from humaneval.crowd.study_at import open_study_at
from humaneval.scoring.scores import score
from humaneval.simulated import Crowd, Skills, work_through
from humaneval.store.engine import reading
from humaneval.store.responses import response_lines
from humaneval.study.stored import get_study, open_study, study_key

Line = Callable[[Engine, Crowd], pd.DataFrame]


@pytest.fixture
def line(platform: MTurk, form_server: Callable, study_factory: Callable) -> Line:
    """Publishes a study of `crowd.size` rows, lets the crowd work, and gives the responses."""

    def walk(engine: Engine, crowd: Crowd, **sections: dict) -> pd.DataFrame:
        study_factory(engine, "study", design={"annotators": crowd.size}, **sections)
        forms = form_server(engine)
        plan_hits(open_study_at(engine, "study", platform))
        result = publish_hits(open_study_at(engine, "study", platform), public_url=forms.url)
        worked = work_through(crowd, result.preview_urls[0], study_key(open_study(engine, "study")))
        assert worked.submitted == crowd.size
        collect_work(open_study_at(engine, "study", platform))
        with reading(engine) as session:
            return pd.DataFrame(response_lines(session, get_study(session, "study")))

    return walk


def test_a_study_goes_from_stories_to_scores(line: Line, engine: Engine, platform: MTurk) -> None:
    frame = line(engine, Crowd(20, Skills(by_generator={"control": 1.0, "example-poor": 1.0})))
    assert len(frame) == 80
    assert {work.excluded for work in review_work(open_study(engine, "study"), "local")} == {""}
    assert approve_work(open_study_at(engine, "study", platform)) == 20
    assert approve_work(open_study_at(engine, "study", platform)) == 0
    scores = {row.generator: row for row in score(frame).scores}
    assert scores["control"].not_identified == scores["example-poor"].not_identified == 0
    assert scores["human"].n == 20


@pytest.mark.slow
def test_a_crowd_without_skill_scores_as_chance_does_whoever_wrote(line: Line, sqlite_engine: Engine) -> None:
    frame = line(sqlite_engine, Crowd(40, Skills(0.0), seed=7))
    before = score(frame).before_exclusions
    assert [row.n for row in before] == [40] * 4
    assert all(0.65 <= row.score <= 0.95 for row in before), [(row.generator, row.score) for row in before]


@pytest.mark.slow
def test_a_crowd_that_knows_everything_is_never_deceived(line: Line, sqlite_engine: Engine) -> None:
    frame = line(sqlite_engine, Crowd(12, Skills(1.0), seed=7))
    assert [row.not_identified for row in score(frame).before_exclusions] == [0] * 4


class Killed(BaseException):
    """As a kill is: nothing catches it."""


def test_collecting_that_is_killed_goes_on_to_the_same_end(
    platform: MTurk,
    form_server: Callable,
    study_factory: Callable,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study_factory(engine, "study", design={"annotators": 20})
    plan_hits(open_study_at(engine, "study", platform))
    result = publish_hits(open_study_at(engine, "study", platform), public_url=form_server(engine).url)
    work_through(Crowd(20, Skills()), result.preview_urls[0], study_key(open_study(engine, "study")))
    whole, asked = platform.submissions, []

    def dies_within_the_third_hit(external_id: str) -> Iterator[Submission]:
        asked.append(external_id)
        for number, submission in enumerate(whole(external_id)):
            if len(asked) == 3 and number == 1:
                raise Killed
            yield submission

    monkeypatch.setattr(platform, "submissions", dies_within_the_third_hit)
    with pytest.raises(Killed):
        collect_work(open_study_at(engine, "study", platform))
    monkeypatch.undo()
    collected = collect_work(open_study_at(engine, "study", platform))
    assert (collected.submissions, collected.new, collected.responses) == (20, 2, 80)
    with reading(engine) as session:
        lines = response_lines(session, get_study(session, "study"))
    assert len({(line["assignment"], line["order"]) for line in lines}) == len(lines) == 80
