"""Submissions at the stand-in: every status and action, what time does to them, and what is paid."""

from __future__ import annotations

from typing import Any

import pytest

from humaneval.market.prolific_standin.tables import Status
from tests.integration.prolific_standin.conftest import (
    AUTO,
    AWAY,
    BODY,
    CODE,
    CODES,
    OURS,
    PART,
    REASON,
    Person,
    Place,
)

REJECT: dict[str, Any] = {"message": REASON, "rejection_category": "LOW_EFFORT"}
ASKED: dict[str, dict[str, Any]] = {
    "APPROVE": {},
    "REJECT": REJECT,
    "COMPLETE": {"completion_code": OURS},
    "RETURN": {},
    "START": {},
    "SCREEN_OUT": {},
    "UNREJECT": {},
    "UNRETURN": {},
    "PAY": {},
}
MOVES = {
    ("AWAITING REVIEW", "APPROVE"): "APPROVED",
    ("AWAITING REVIEW", "REJECT"): "REJECTED",
    ("APPROVED", "APPROVE"): "APPROVED",
    ("REJECTED", "REJECT"): "REJECTED",
    ("ACTIVE", "COMPLETE"): "AWAITING REVIEW",
    ("TIMED-OUT", "COMPLETE"): "AWAITING REVIEW",
}
"""Every status and action that go together, and what comes of it. Any other pair is refused."""
SCREEN_OUT = {
    "code": "SCREEN01",
    "code_type": "FIXED_SCREENOUT",
    "actions": [{"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": 20, "slots": 50}],
}


def bring_to(place: Place, study: str, person: Person, status: str) -> str:
    """A submission of this status."""
    submission = person.reserve(study)
    if status == "RESERVED":
        return submission
    person.start(submission)
    if status == "TIMED-OUT":
        place.clock.pass_time(minutes=30)
    elif status == "RETURNED":
        person.give_back(submission)
    elif status in ("AWAITING REVIEW", "APPROVED", "REJECTED"):
        person.come_back()
    elif status == "SCREENED OUT":
        person.come_back("SCREEN01")
    elif status == "PARTIALLY APPROVED":
        data = {"percentage_of_reward": 50}
        place.decide(submission, "COMPLETE", completion_code=PART, completion_code_data=data)
    if status in ("APPROVED", "REJECTED"):
        action = "APPROVE" if status == "APPROVED" else "REJECT"
        place.decide(submission, action, **ASKED[action])
    return submission


@pytest.mark.parametrize("status", list(Status))
def test_each_status_takes_its_actions_and_refuses_all_others(place: Place, status: str) -> None:
    study = place.live(total_available_places=50, completion_codes=[*CODES, SCREEN_OUT])
    for action, asked in ASKED.items():
        submission = bring_to(place, study, place.person(f"for {action}"), status)
        assert place.status(submission) == status
        money = place.money()
        reply = place.decide(submission, action, **asked)
        leads = MOVES.get((status, action))
        if leads is None:
            assert reply.status in (400, 403), (status, action)
            assert (place.status(submission), place.money()) == (status, money)
        else:
            assert (reply.status, reply.body["status"]) == (200, leads)


def test_P07_approving_before_the_participant_submitted_is_an_error(place: Place) -> None:
    study, ada = place.live(), place.person("ada")
    submission = ada.begin(study)
    assert place.decide(submission, "APPROVE").status == 400
    ada.come_back()
    assert place.decide(submission, "APPROVE").status == 200


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({**REJECT, "message": "x" * 99}, "message"),
        ({"rejection_category": "OTHER"}, "message"),
        ({**REJECT, "rejection_category": ["LOW_EFFORT"]}, "rejection_category"),
        ({**REJECT, "rejection_category": "LAZY"}, "rejection_category"),
        ({"message": REASON}, "rejection_category"),
    ],
)
def test_P24_a_rejection_needs_a_long_message_and_one_category(
    place: Place, asked: dict[str, Any], field: str
) -> None:
    submission = place.person("ada").do(place.live())
    reply = place.decide(submission, "REJECT", **asked)
    assert (reply.status, list(reply.detail)) == (400, [field])
    assert place.status(submission) == "AWAITING REVIEW"


@pytest.mark.parametrize("end", ["TIMED-OUT", "RETURNED", "REJECTED"])
def test_P05_a_place_reopens_once_when_a_submission_comes_to_nothing(place: Place, end: str) -> None:
    before = place.money()
    study = place.live(total_available_places=1)
    bring_to(place, study, place.person("ada"), end)
    found = place.get(f"/studies/{study}/")
    assert (found["status"], found["places_taken"]) == ("ACTIVE", 0)
    assert before - place.money() == 210
    submission = place.person("bob").do(study)
    assert place.person("cleo").browser.post(f"/studies/{study}/reserve").status_code == 409
    assert place.state(study) == "AWAITING REVIEW"
    place.decide(submission, "APPROVE")
    assert place.state(study) == "COMPLETED"
    assert before - place.money() == 210


def test_a_reservation_runs_out_and_can_be_made_again(place: Place) -> None:
    study, ada = place.live(total_available_places=1), place.person("ada")
    first = ada.reserve(study)
    assert ada.reserve(study) == first
    place.clock.pass_time(minutes=9)
    assert place.status(first) == "RESERVED"
    place.clock.pass_time(minutes=2)
    assert place.status(first) == "RETURNED"
    second = ada.do(study)
    assert second != first


def test_what_nobody_reviews_is_approved_after_21_days_as_of_that_moment(place: Place) -> None:
    before = place.money()
    submission = place.person("ada").do(place.live(total_available_places=1))
    place.clock.pass_time(days=20, hours=23)
    assert place.status(submission) == "AWAITING REVIEW"
    place.clock.pass_time(hours=2)
    assert place.status(submission) == "APPROVED"
    assert before - place.money() == 210


def test_P08_list_and_detail_name_the_same_things_differently(place: Place) -> None:
    study, ada = place.live(), place.person("ada")
    submission = ada.do(study)
    (listed,) = place.get("/submissions/", study=study)["results"]
    detail = place.get(f"/submissions/{submission}/")
    assert (listed["id"], listed["study_code"]) == (submission, CODE)
    assert (detail["participant"], detail["entered_code"]) == (listed["participant_id"], CODE)
    assert "participant" not in listed
    assert "study_code" not in detail
    (longer,) = place.get(f"/studies/{study}/submissions/")["results"]
    assert (longer["bonus_payments"], longer["reward"]) == ([], 150)


def test_P39_a_submission_without_a_code_waits_as_nocode_and_holds_its_place(place: Place) -> None:
    study = place.live(total_available_places=1)
    submission = place.person("ada").do(study, "")
    detail = place.get(f"/submissions/{submission}/")
    assert (detail["status"], detail["entered_code"]) == ("AWAITING REVIEW", "NOCODE")
    assert place.state(study) == "AWAITING REVIEW"


def test_a_code_that_the_study_does_not_have_waits_for_review(place: Place) -> None:
    submission = place.person("ada").do(place.live(), "WRONG")
    assert place.get(f"/submissions/{submission}/")["entered_code"] == "WRONG"
    assert place.status(submission) == "AWAITING REVIEW"
    other = place.person("bob").do(place.live(), OURS)  # the researcher's code is no code for participants
    assert place.status(other) == "AWAITING REVIEW"


def test_codes_approve_ask_for_a_return_and_fill_groups(place: Place) -> None:
    group = place.call(
        "POST", "/participant-groups/", {"workspace_id": place.workspace(), "name": "seen"}
    ).body
    joins = {"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": group["id"]}
    codes = [*CODES, {"code": "JOIN", "code_type": "SCREENED_IN", "actions": [joins]}]
    study = place.live(completion_codes=codes)
    assert place.status(place.person("ada").do(study, AUTO)) == "APPROVED"
    bob = place.person("bob")
    away = bob.do(study, AWAY)
    detail = place.get(f"/submissions/{away}/")
    assert (detail["status"], detail["return_requested"] is not None) == ("AWAITING REVIEW", True)
    bob.give_back(away)
    assert place.status(away) == "RETURNED"
    joined = place.get(f"/submissions/{place.person('cleo').do(study, 'JOIN')}/")["participant"]
    (member,) = place.get(f"/participant-groups/{group['id']}/participants/")["results"]
    assert member["participant_id"] == joined


def test_P06_a_participant_who_was_asked_to_return_can_submit_all_the_same(place: Place) -> None:
    study, ada = place.live(), place.person("ada")
    submission = ada.begin(study)
    asked = {"request_return_reasons": ["No consent"]}
    reply = place.call("POST", f"/submissions/{submission}/request-return/", asked)
    assert (reply.status, reply.body["status"]) == (200, "ACTIVE")
    assert reply.body["return_requested"] is not None
    ada.come_back()
    (listed,) = place.get("/submissions/", study=study)["results"]
    assert (listed["status"], listed["return_requested"] is not None) == ("AWAITING REVIEW", True)
    assert place.call("POST", f"/submissions/{submission}/request-return/", {}).status == 400


def test_submitting_twice_changes_nothing_and_work_that_ran_out_is_refused(place: Place) -> None:
    study, ada, bob = place.live(), place.person("ada"), place.person("bob")
    submission = ada.do(study)
    before = place.get(f"/submissions/{submission}/")
    place.clock.pass_time(minutes=1)
    assert ada.come_back("OTHER").status_code == 303
    assert place.get(f"/submissions/{submission}/") == before
    late = bob.begin(study)
    place.clock.pass_time(minutes=30)
    assert bob.come_back().status_code == 409
    assert place.status(late) == "TIMED-OUT"


def test_the_researchers_code_completes_and_can_pay_a_part(place: Place) -> None:
    before, study = place.money(), place.live()
    submission = place.person("ada").begin(study)
    assert place.decide(submission, "COMPLETE", completion_code=CODE).status == 400
    for percent in (7, 100, "50", None):
        data = {"percentage_of_reward": percent}
        reply = place.decide(submission, "COMPLETE", completion_code=PART, completion_code_data=data)
        assert reply.status == 400
    data = {"percentage_of_reward": 50}
    place.decide(submission, "COMPLETE", completion_code=PART, completion_code_data=data)
    assert place.status(submission) == "PARTIALLY APPROVED"
    place.act(study, "STOP")
    assert before - place.money() == place.books.terms.cost(75).total


def test_P22_a_bulk_approval_is_read_later_and_never_mixes_ids(place: Place) -> None:
    study = place.live()
    first, second = place.person("ada").do(study), place.person("bob").do(study)
    people = [place.get(f"/submissions/{each}/")["participant"] for each in (first, second)]
    path = "/submissions/bulk-approve/"
    for wrong in (
        {"study_id": study, "submission_ids": [first]},
        {"submission_ids": [first], "participant_ids": people},
        {"participant_ids": people},
        {"submission_ids": []},
        {},
    ):
        assert place.call("POST", path, wrong).status == 400
    assert place.call("POST", path, {"submission_ids": ["0" * 24]}).status == 404
    reply = place.call("POST", path, {"submission_ids": [first]})
    assert (reply.status, reply.body) == (200, None)  # a text, and no JSON
    assert place.status(first) == "AWAITING REVIEW"
    place.clock.pass_time(seconds=1)
    assert (place.status(first), place.status(second)) == ("APPROVED", "AWAITING REVIEW")
    place.call("POST", path, {"study_id": study, "participant_ids": people})
    place.clock.pass_time(seconds=1)
    assert place.status(second) == "APPROVED"


def test_a_bonus_is_set_up_in_major_units_paid_later_and_twice_if_it_is_sent_twice(place: Place) -> None:
    study = place.live()
    submission = place.person("ada").do(study)
    person = place.get(f"/submissions/{submission}/")["participant"]
    before = place.money()
    asked = {"study_id": study, "csv_bonuses": f"{submission},1.50\n{person},0.20\n"}
    made = place.call("POST", "/submissions/bonus-payments/", asked)
    assert made.status == 201
    costs = [place.books.terms.cost(each) for each in (150, 20)]
    total = sum(each.total for each in costs)
    assert (made.body["amount"], made.body["total_amount"]) == (170, total)
    assert place.money() == before
    pay = f"/bulk-bonus-payments/{made.body['id']}/pay/"
    assert place.call("POST", pay).status == 202
    assert place.get(f"/submissions/{submission}/")["bonus_payments"] == []
    place.clock.pass_time(seconds=1)
    assert place.get(f"/submissions/{submission}/")["bonus_payments"] == [150, 20]
    place.call("POST", pay)
    place.clock.pass_time(seconds=1)
    assert place.get(f"/submissions/{submission}/")["bonus_payments"] == [150, 20, 150, 20]
    assert before - place.money() == 2 * total
    assert place.get(f"/studies/{study}/cost/")["bonuses"]["rewards"]["amount"] == 340


@pytest.mark.parametrize(
    "line",
    [
        "{s},0",
        "{s},-1",
        "{s},0.001",
        "{s},x",
        "{s}",
        "{s},NaN",
        "{s},1e999999",
        "{s},Infinity",
        "nobody,1.00",
    ],
)
def test_a_bonus_line_that_is_wrong_is_named(place: Place, line: str) -> None:
    study = place.live()
    line = line.format(s=place.person("ada").do(study))
    asked = {"study_id": study, "csv_bonuses": line}
    reply = place.call("POST", "/submissions/bonus-payments/", asked)
    assert reply.status == 400
    assert line.partition(",")[0] in reply.detail


def test_bonuses_beyond_the_balance_are_refused(place: Place) -> None:
    study = place.live()
    submission = place.person("ada").do(study)
    asked = {"study_id": study, "csv_bonuses": f"{submission},9000"}
    made = place.call("POST", "/submissions/bonus-payments/", asked)
    assert place.call("POST", f"/bulk-bonus-payments/{made.body['id']}/pay/").status == 400
    assert place.call("POST", f"/bulk-bonus-payments/{'0' * 24}/pay/").status == 404


def test_lists_can_be_filtered_counted_and_ordered(place: Place) -> None:
    study = place.live(total_available_places=9)
    ids = []
    for name, status in (("ada", "AWAITING REVIEW"), ("bob", "TIMED-OUT"), ("cleo", "RETURNED")):
        ids.append(bring_to(place, study, place.person(name), status))
        place.clock.pass_time(minutes=1)

    def found(**query: str) -> list[str]:
        return [each["id"] for each in place.get("/submissions/", study=study, **query)["results"]]

    assert found() == ids[::-1]
    assert found(ordering="started_at") == ids
    assert found(status="TIMED_OUT") == found(status="TIMED-OUT") == found(timeout="true") == [ids[1]]
    assert found(status="AWAITING_REVIEW") == found(awaiting_review="true") == [ids[0]]
    assert found(returned="false", ordering="started_at") == ids[:2]
    assert found(submitted_from="02/11/2026") == [ids[0]]
    assert found(submitted_before="02/11/2026") == []
    counts = place.get(f"/studies/{study}/submissions/counts/")
    assert {name: each for name, each in counts.items() if each} == {
        "AWAITING REVIEW": 1,
        "TIMED-OUT": 1,
        "RETURNED": 1,
        "TOTAL": 3,
    }
    assert place.call("GET", "/submissions/").status == 400


def test_P02_a_page_past_the_end_is_not_found_though_the_last_one_was_full(place: Place) -> None:
    study = place.live(total_available_places=40)
    for number in range(40):
        place.person(f"p{number}").reserve(study)
    seen: list[str] = []
    page, url = 1, "first"
    while url is not None:
        body = place.get("/submissions/", study=study, page=page)
        seen += [each["id"] for each in body["results"]]
        assert body["meta"]["count"] == 40
        url, page = body["_links"]["next"]["href"], page + 1
    assert (len(seen), len(set(seen)), page) == (40, 40, 3)
    reply = place.call("GET", "/submissions/", study=study, page=3)
    assert (reply.status, reply.detail) == (404, "Invalid page.")
    assert place.call("GET", "/submissions/", study=study, page=0).status == 404
    assert len(place.get("/submissions/", study=study, page_size=500)["results"]) == 40
    past = place.get(f"/studies/{study}/submissions/", offset=40)
    assert (past["results"], past["meta"]["count"], past["_links"]["next"]["href"]) == ([], 40, None)


def test_people_are_let_in_by_the_studys_limits_and_filters(place: Place) -> None:
    one_at_a_time = {"max_submissions_per_participant": -1, "max_concurrent_submissions": 1}
    study = place.live(submissions_config=one_at_a_time)
    ada, bob = place.person("ada"), place.person("bob")
    ada.begin(study)
    assert bob.browser.post(f"/studies/{study}/reserve").status_code == 409
    ada.come_back()
    assert ada.do(study)
    mine = place.get("/submissions/", study=study)["results"][0]["participant_id"]
    only = [{"filter_id": "custom_allowlist", "selected_values": [mine]}]
    allowed = place.live(filters=[{"filter_id": "or", "selected_filters": only}])
    assert bob.browser.post(f"/studies/{allowed}/reserve").status_code == 409
    assert ada.do(allowed)
    assert BODY["name"] in ada.browser.get("/studies").text


def test_looking_at_the_completion_link_submits_nothing(place: Place) -> None:
    study, ada = place.live(), place.person("ada")
    submission = ada.begin(study)
    assert ada.browser.head("/submissions/complete", query_string={"cc": CODE}).status_code == 303
    assert place.status(submission) == Status.ACTIVE
    ada.come_back()
    assert place.status(submission) == Status.AWAITING_REVIEW
