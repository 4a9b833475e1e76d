"""Studies at the stand-in: what can be made, what can be changed, and every state and action."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from humaneval.market.prolific_standin import Terms
from humaneval.market.prolific_standin.studies import ACTIONS, MOVES
from humaneval.market.prolific_standin.tables import StudyStatus
from tests.integration.prolific_standin.conftest import BODY, CODE, CODES, Place

SCREEN_OUT = {
    "code": "SCREEN01",
    "code_type": "FIXED_SCREENOUT",
    "actions": [{"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": 20, "slots": 1}],
}


def test_a_draft_has_what_was_sent_and_what_the_service_adds(place: Place) -> None:
    made = place.call("POST", "/studies/", BODY)
    assert made.status == 201
    assert {name: made.body[name] for name in BODY} == BODY
    assert made.body["status"] == "UNPUBLISHED"
    assert len(made.body["id"]) == 24
    assert made.body["is_ready_to_publish"] is True
    assert made.body["total_cost"] == 3 * (150 + 50 + 10)
    assert place.get(f"/studies/{made.body['id']}/")["date_created"] == "2026-11-02T09:00:00.000000Z"


def test_a_field_that_is_wrong_is_named_and_nothing_is_made(place: Place) -> None:
    reply = place.call("POST", "/studies/", {**BODY, "reward": "150"})
    assert (reply.status, reply.body["error"]["status"], list(reply.detail)) == (400, 400, ["reward"])
    assert place.get("/studies/")["meta"]["count"] == 0


@pytest.mark.parametrize("field", ["eligibility_requirements", "completion_code", "completion_option"])
def test_P15_a_retired_field_is_refused_with_what_took_its_place(place: Place, field: str) -> None:
    reply = place.call("POST", "/studies/", {**BODY, field: []})
    assert reply.status == 400
    assert "no longer supported" in reply.detail[field][0]


def test_P09_a_status_in_the_body_is_refused(place: Place) -> None:
    assert place.call("POST", "/studies/", {**BODY, "status": "ACTIVE"}).status == 400
    study = place.draft()
    assert place.call("PATCH", f"/studies/{study}/", {"status": "ACTIVE"}).status == 400
    assert place.state(study) == "UNPUBLISHED"


@pytest.mark.parametrize(
    "raw",
    [
        "[" * 5_000 + "]" * 5_000,
        '{"name": "\\ud800"}',
        f'{{"name": {"9" * 5_000}}}',
        '{"name": ',
        "[]",
        "null",
    ],
    ids=["nested", "half a character", "a long number", "cut off", "a list", "nothing"],
)
def test_what_is_no_object_that_can_be_kept_is_refused(place: Place, raw: str) -> None:
    headers = {"Authorization": f"Token {place.books.token}"}
    for path in ("/studies/", "/messages/", "/hooks/secrets/", "/participant-groups/"):
        said = place.app.test_client().post(f"/api/v1{path}", data=raw, headers=headers)
        assert said.status_code == 400, (path, said.text)


def test_an_unknown_field_is_kept_and_a_missing_time_gets_the_longest(place: Place) -> None:
    study = place.call("POST", "/studies/", {**BODY, "study_type": "SINGLE", "maximum_allowed_time": None})
    assert study.body["study_type"] == "SINGLE"
    assert study.body["maximum_allowed_time"] == 1439


def bring_to(place: Place, state: str) -> str:
    """A study in this state."""
    study = place.draft(total_available_places=1)
    if state == StudyStatus.SCHEDULED:
        place.act(study, "SCHEDULE_PUBLISH", publish_at="2026-11-03T09:00:00Z")
    elif state != StudyStatus.UNPUBLISHED:
        place.act(study, "PUBLISH")
    if state == StudyStatus.PAUSED:
        place.act(study, "PAUSE")
    elif state == StudyStatus.COMPLETED:
        place.act(study, "STOP")
    elif state == StudyStatus.AWAITING_REVIEW:
        place.person("ada").do(study)
    assert place.state(study) == state
    return study


@pytest.mark.parametrize("state", [each for each in StudyStatus if each != StudyStatus.PUBLISHING])
def test_each_state_takes_its_actions_and_refuses_all_others(place: Place, state: str) -> None:
    for action in ACTIONS:
        study = bring_to(place, state)
        money = place.money()
        reply = place.act(study, action, publish_at="2026-11-04T09:00:00Z")
        leads = MOVES.get((state, action))
        if leads is None:
            assert reply.status == 400, (state, action)
            assert (place.state(study), place.money()) == (state, money)
        else:
            assert reply.status == 200, reply.body
            assert place.state(study) == ("ACTIVE" if leads == StudyStatus.PUBLISHING else leads)
        place.act(study, "STOP")


def test_an_action_that_there_is_not_is_named(place: Place) -> None:
    reply = place.act(place.draft(), "LAUNCH")
    assert (reply.status, list(reply.detail)) == (400, ["action"])


def test_a_scheduled_study_is_published_at_its_moment(place: Place) -> None:
    study = place.draft()
    for moment in ("2026-11-02T08:00:00Z", "9999-12-31T23:59:59-14:00"):
        assert place.act(study, "SCHEDULE_PUBLISH", publish_at=moment).status == 400
    place.act(study, "SCHEDULE_PUBLISH", publish_at="2026-11-02T10:00:00Z")
    place.clock.pass_time(minutes=59)
    assert place.state(study) == "SCHEDULED"
    place.clock.pass_time(minutes=2)
    assert place.state(study) == "ACTIVE"
    assert place.get(f"/studies/{study}/")["published_at"] == "2026-11-02T10:00:00.000000Z"


class TestWhilePublishing:
    """Between draft and live."""

    @pytest.fixture
    def terms(self) -> Terms:
        return Terms(publishing=timedelta(minutes=2))

    def test_a_study_takes_nobody_and_no_action_until_it_is_live(self, place: Place) -> None:
        study, before = place.draft(), place.money()
        assert place.act(study, "PUBLISH").body["status"] == "PUBLISHING"
        assert place.money() < before
        for action in ACTIONS:
            assert place.act(study, action, publish_at="2026-11-04T09:00:00Z").status == 400
        assert place.person("ada").browser.post(f"/studies/{study}/reserve").status_code == 409
        place.clock.pass_time(minutes=3)
        assert place.state(study) == "ACTIVE"


def test_publishing_locks_the_money_and_stopping_releases_it(place: Place) -> None:
    before, study = place.money(), place.draft()
    assert place.money() == before
    place.act(study, "PUBLISH")
    assert place.money() == before - 3 * 210
    balance = place.get(f"/workspaces/{place.workspace()}/balance/")
    assert (balance["total_balance"], balance["available_balance"]) == (before, before - 630)
    place.act(study, "STOP")
    assert place.money() == before


def test_publishing_without_the_money_is_refused_and_changes_nothing(place: Place) -> None:
    study = place.draft(total_available_places=4762)
    reply = place.act(study, "PUBLISH")
    assert reply.status == 400
    assert "balance" in reply.detail
    assert place.state(study) == "UNPUBLISHED"
    assert place.call("PATCH", f"/studies/{study}/", {"total_available_places": 4761}).status == 200
    assert place.act(study, "PUBLISH").status == 200
    assert place.call("PATCH", f"/studies/{study}/", {"total_available_places": 4762}).status == 400
    assert place.get(f"/studies/{study}/")["total_available_places"] == 4761


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"internal_name": "new"}, 200),
        ({"total_available_places": 4}, 200),
        ({"total_available_places": 2}, 400),
        ({"submissions_config": {"max_concurrent_submissions": 5}}, 200),
        ({"name": "new"}, 400),
        ({"reward": 200}, 400),
        ({"filters": [{"filter_id": "custom_allowlist", "selected_values": []}]}, 400),
        ({"completion_codes": CODES[:2]}, 400),
        ({"total_available_places": "4"}, 400),
        ({"access_details": 7}, 400),
    ],
)
def test_after_publishing_only_some_fields_can_change(
    place: Place, change: dict[str, Any], status: int
) -> None:
    draft, live = place.draft(), place.live()
    (name,) = change
    assert (place.call("PATCH", f"/studies/{draft}/", change).status == 200) == (change[name] not in ("4", 7))
    reply = place.call("PATCH", f"/studies/{live}/", change)
    assert reply.status == status
    assert (place.get(f"/studies/{live}/").get(name) == change[name]) == (status == 200)


def test_more_places_reopen_a_finished_study(place: Place) -> None:
    study = place.live(total_available_places=1)
    submission = place.person("ada").do(study)
    assert place.state(study) == "AWAITING REVIEW"
    place.decide(submission, "APPROVE")
    assert place.state(study) == "COMPLETED"
    place.call("PATCH", f"/studies/{study}/", {"total_available_places": 2})
    assert place.state(study) == "ACTIVE"
    place.act(study, "STOP")
    assert place.state(study) == "COMPLETED"


def test_only_more_places_reopen_a_study_that_was_stopped(place: Place) -> None:
    study = place.live(total_available_places=2)
    submission = place.person("ada").do(study)
    place.act(study, "STOP")
    assert place.decide(submission, "REJECT", message="x" * 100, rejection_category="OTHER").status == 200
    assert place.state(study) == "COMPLETED"
    place.call("PATCH", f"/studies/{study}/", {"total_available_places": 3})
    assert place.state(study) == "ACTIVE"


def test_drafts_alone_can_be_deleted(place: Place) -> None:
    draft, live = place.draft(), place.live()
    assert place.call("DELETE", f"/studies/{draft}/").status == 204
    assert place.call("GET", f"/studies/{draft}/").status == 404
    assert place.call("DELETE", f"/studies/{live}/").status == 400


def test_a_copy_can_keep_out_who_took_part(place: Place) -> None:
    study, ada = place.live(), place.person("ada")
    ada.do(study)
    copy = place.call("POST", f"/studies/{study}/clone/", {"block_previous_participants": True})
    assert (copy.status, copy.body["status"]) == (200, "UNPUBLISHED")
    place.act(copy.body["id"], "PUBLISH")
    assert ada.browser.post(f"/studies/{copy.body['id']}/reserve").status_code == 409
    assert place.person("bob").do(copy.body["id"])


def test_a_test_study_costs_nothing(place: Place) -> None:
    study, before = place.draft(), place.money()
    reply = place.call("POST", f"/studies/{study}/test-study")
    assert reply.status == 200
    assert reply.body["study_url"].endswith(f"/studies/{reply.body['study_id']}")
    made = place.call("POST", "/researchers/participants/", {"email": "tess@example.org"})
    submission = place.person("tess").do(reply.body["study_id"])
    assert place.get(f"/submissions/{submission}/")["participant"] == made.body["participant_id"]
    place.decide(submission, "APPROVE")
    assert place.money() == before


def test_costs_are_in_minor_units(place: Place) -> None:
    cost = place.call("POST", "/study-cost-calculator/", {"reward": 150, "total_available_places": 30})
    assert cost.body == {"total_cost": 6300}
    assert place.call("POST", "/study-cost-calculator/", {"reward": 1.5}).status == 400
    study = place.live()
    found = place.get(f"/studies/{study}/cost/")
    assert found["rewards"]["rewards"] == {"amount": 450, "currency": "GBP"}
    assert found["bonuses"]["fees"] == {"amount": 0, "currency": "GBP"}


def test_a_full_screen_out_pauses_the_study_until_it_has_more_slots(place: Place) -> None:
    codes = [CODES[0], SCREEN_OUT]
    before = place.money()
    study = place.live(completion_codes=codes)
    one = place.books.terms.cost(20).total
    assert before - place.money() == 630 + one
    submission = place.person("ada").do(study, "SCREEN01")
    assert place.status(submission) == "SCREENED OUT"
    assert (place.state(study), place.get(f"/studies/{study}/")["places_taken"]) == ("PAUSED", 0)
    more = {**SCREEN_OUT, "actions": [{**SCREEN_OUT["actions"][0], "slots": 2}]}
    assert place.call("PATCH", f"/studies/{study}/", {"completion_codes": [CODES[0], more]}).status == 200
    assert place.act(study, "START").body["status"] == "ACTIVE"
    place.act(study, "STOP")
    assert before - place.money() == one


def test_several_addresses_are_filled_one_after_the_other(place: Place) -> None:
    shares = [
        {"external_url": f"https://lab.example/{name}?s={{{{%SESSION_ID%}}}}", "total_allocation": 1}
        for name in "ab"
    ]
    study = place.live(external_study_url=None, access_details=shares, total_available_places=2)
    ada, bob = place.person("ada"), place.person("bob")
    first = ada.reserve(study)
    assert ada.start(first) == f"https://lab.example/a?s={first}"
    assert bob.start(bob.reserve(study)).startswith("https://lab.example/b?s=")
    third = {"external_url": "https://lab.example/c", "total_allocation": 2}
    reply = place.call("PATCH", f"/studies/{study}/", {"access_details": [*shares, third]})
    assert reply.body["total_available_places"] == 4
    cleo = place.person("cleo")
    assert cleo.start(cleo.reserve(study)) == "https://lab.example/c"


def test_lists_are_short_and_can_be_of_one_state(place: Place) -> None:
    live = place.live()
    place.draft()
    assert [each["id"] for each in place.get("/studies/", state="ACTIVE")["results"]] == [live]
    assert "completion_codes" not in place.get("/studies/")["results"][0]
    assert place.call("GET", "/studies/", state="OPEN").status == 400
    assert CODE in str(place.get(f"/studies/{live}/"))


def test_P37_the_studies_of_a_project_ignore_the_state(place: Place) -> None:
    draft, live = place.draft(), place.live()
    project = place.get(f"/studies/{draft}/")["project"]
    found = place.get(f"/projects/{project}/studies/", state="ACTIVE")["results"]
    assert {each["id"] for each in found} == {draft, live}


def test_of_eight_people_at_once_one_gets_the_last_place(place: Place) -> None:
    study = place.live(total_available_places=1)
    people = [place.person(f"p{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda each: each.browser.post(f"/studies/{study}/reserve"), people))
    assert sorted(each.status_code for each in replies) == [303] + [409] * 7
    assert place.get(f"/studies/{study}/")["places_taken"] == 1
