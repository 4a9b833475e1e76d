"""Verbs go where the study is up, and status says what waits there to be collected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.simulated import Crowd, Skills, work_through
from humaneval.study.stored import open_study, study_key
from tests.integration.link.people import take


@pytest.fixture
def commands(
    verb: Callable, form_server: Callable, platform: MTurk, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """The command line, with the addresses of the marketplace and of a form server over an engine."""

    def make(engine: Engine) -> Callable[..., Any]:
        monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
        monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", form_server(engine).url)
        return verb

    return make


def test_X49_what_is_submitted_at_the_marketplace_counts_before_it_is_collected(
    sqlite_engine: Engine, put_up: Callable, commands: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 24})
    key = study_key(open_study(sqlite_engine, "study"))
    assert work_through(Crowd(24, Skills(0.5)), up.preview, key).submitted == 24
    verb = commands(sqlite_engine)
    said = verb("status", "study").out
    assert "local: 24 of 24 submitted, 0 usable" in said
    assert "24 submitted, not collected yet.\nNext: humaneval collect study --to local\n" in said
    assert "not yet submitted" not in said
    line = verb("status", "study", "--json").document["endpoints"][0]
    assert (line["submitted"], line["not_collected"], line["answered"]) == (24, 24, 0)
    verb("collect", "study")
    said = verb("status", "study").out
    assert "24 of 24 submitted" in said
    assert "not collected" not in said


def test_X49_answers_that_were_not_handed_over_are_not_called_submitted(
    sqlite_engine: Engine, put_up: Callable, person: Callable, answer: Callable, commands: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    answer(up, "Ada")
    person("Ben").accept(up.preview).post()
    said = commands(sqlite_engine)("status", "study").out
    assert "1 of 4 submitted" in said
    assert "1 submitted, not collected yet" in said
    assert "1 answered on our server and not yet submitted." in said


def test_X49_static_hits_are_asked_for_at_the_marketplace(
    sqlite_engine: Engine, put_up: Callable, person: Callable, commands: Callable
) -> None:
    up = put_up(sqlite_engine, static=True, design={"annotators": 2})
    person("Ada").accept(up.preview).submit_directly({"choice-1": "1"})
    assert "1 submitted, not collected yet" in commands(sqlite_engine)("status", "study").out


def test_X49_a_marketplace_that_does_not_answer_is_named_and_what_we_have_is_said(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, verb: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(put_up(sqlite_engine, design={"annotators": 4}))
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", "http://127.0.0.1:9")
    said = verb("status", "study")
    assert said.code == 0
    assert "1 answered on our server" in said.out
    assert "What is submitted at local is not known: local (http://127.0.0.1:9) could not" in said.out


def test_hits_that_lead_to_another_address_than_the_forms_are_named(
    sqlite_engine: Engine, study_factory: Callable, commands: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    study_factory(sqlite_engine, design={"annotators": 2})
    verb, words = (
        commands(sqlite_engine),
        "has HITs at local that lead people to forms at another address than",
    )
    assert verb("publish", "study").code == 0
    verbs = [["publish", "study"], ["doctor", "study", "--to", "local"], ["status", "study"]]
    for each in verbs:
        said = verb(*each)
        assert (said.code, words in said.out + said.err) == (0, False), said
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", "http://127.0.0.1:9")
    for each, code in zip(verbs, (2, 1, 0), strict=True):
        said = verb(*each)
        assert (said.code, f"{words} http://127.0.0.1:9" in said.out + said.err) == (code, True), said
    assert "humaneval expire study --to local" in verb("publish", "study").err
    assert verb("expire", "study", "--to", "local").code == 0
    assert verb("publish", "study").code == 0


def test_links_that_lead_to_another_address_than_the_forms_are_named_until_they_are_handed_out_again(
    sqlite_engine: Engine, study_factory: Callable, commands: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    study_factory(sqlite_engine, design={"annotators": 2})
    verb, words = commands(sqlite_engine), "has links that lead people to forms at another address than"
    monkeypatch.setattr("humaneval.cli.serve.run", lambda *given: given[-1](0))
    publish, verbs = (
        ["publish", "study", "--to", "link"],
        [["status", "study"], ["doctor", "study"], ["serve"]],
    )
    for each in (publish, publish, *verbs):
        said = verb(*each)
        assert (said.code, words in said.out + said.err) == (0, False), said
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", "http://127.0.0.1:9")
    for each in (*verbs, publish):
        said = verb(*each)
        assert f"{words} http://127.0.0.1:9" in said.out + said.err, said
        assert "MISSING Address" not in said.out  # publish goes on
    assert "http://127.0.0.1:9/take/" in said.out
    for each in (publish, *verbs):
        said = verb(*each)
        assert words not in said.out + said.err, said


def test_X50_verbs_go_to_the_link_if_the_study_is_up_only_there(
    sqlite_engine: Engine, study_factory: Callable, commands: Callable
) -> None:
    study_factory(sqlite_engine, design={"annotators": 2}, link={"pay": "elsewhere"})
    verb = commands(sqlite_engine)
    link = verb("publish", "study", "--to", "link", "--json").document["links"][0]
    take(link)
    assert verb("collect", "study", "--json").document["endpoint"] == "link"
    review = verb("review", "study", "--json").document
    assert (review["endpoint"], review["states"]) == ("link", {"submitted": 1})
    (work,) = review["assignments"]
    assert "1 approved at link now" in verb("approve", "study", work["assignment"]).out
    assert "1 worker at link" in verb("worker", "list", "study").out
    assert verb("extend", "study", "--days", "2").out.startswith("1 HIT at link")
    assert verb("doctor", "study").code == 0
    assert verb("simulate", "study", "--annotators", "1", "--yes", "--json").document["submitted"] == 1
    verb("collect", "study")
    assert verb("review", "study", "--approve", "--json").document["approved_now"] == 1
    assert verb("expire", "study", "--json").document["endpoint"] == "link"
    assert verb("close", "study").code == 0
    assert verb("review", "study", "--json").document["endpoint"] == "link"  # where it was up


def test_X50_a_study_that_is_up_at_several_places_wants_one_named(
    sqlite_engine: Engine, study_factory: Callable, commands: Callable, platform: MTurk
) -> None:
    study_factory(sqlite_engine, design={"annotators": 2})
    verb = commands(sqlite_engine)
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    publish_hits(open_study_at(sqlite_engine, "study", platform), public_url="http://localhost:9")
    assert verb("collect", "study").code == 0
    verb("publish", "study", "--to", "link")
    for arguments in (("collect", "study"), ("review", "study"), ("worker", "list", "study")):
        done = verb(*arguments)
        assert done.code == 2
        assert "study 'study' is up at local and at link: say which of them is meant" in done.err
        assert "Add --to local or --to link." in done.err
    assert verb("collect", "study", "--to", "link").code == 0


def test_X50_a_study_that_is_up_nowhere_is_looked_for_at_local(
    sqlite_engine: Engine, study_factory: Callable, commands: Callable
) -> None:
    study_factory(sqlite_engine)
    assert "study 'study' has no HITs at local" in commands(sqlite_engine)("expire", "study").err
