"""What the stand-in makes go wrong, by plan: refusals, lost answers, odd statuses, late people."""

from __future__ import annotations

from pathlib import Path

import pytest
from waitress.channel import ClientDisconnected

from humaneval.errors import StoreError
from humaneval.market import Faults
from humaneval.market.faults.admin import PATH, TOKEN, TOKEN_HEADER
from humaneval.market.faults.plan import read_line
from humaneval.market.prolific_standin import ProlificFault, open_prolific
from humaneval.market.prolific_standin.database import Books
from humaneval.market.prolific_standin.money import pots
from tests.integration.prolific_standin.conftest import BODY, Place


def plan(faults: Faults, line: str) -> None:
    """From now on, this goes wrong."""
    faults.replace(read_line(line, ProlificFault), 0)


@pytest.mark.parametrize(
    ("line", "status", "retry"),
    [("throttled", 429, "2"), ("throttled-bare", 429, None), ("unavailable", 503, None)],
)
def test_a_refused_call_does_nothing_and_says_when_to_come_again(
    place: Place, faults: Faults, line: str, status: int, retry: str | None
) -> None:
    plan(faults, f"{line},only=create_study,times=1")
    reply = place.call("POST", "/studies/", BODY)
    assert (reply.status, reply.headers.get("Retry-After")) == (status, retry)
    assert reply.body["error"]["status"] == status
    assert place.get("/studies/")["meta"]["count"] == 0
    assert place.draft()


def test_a_lost_answer_comes_after_the_work_was_done(place: Place, faults: Faults) -> None:
    submission = place.person("ada").do(study := place.live())
    asked = {"study_id": study, "csv_bonuses": f"{submission},1.50"}
    made = place.call("POST", "/submissions/bonus-payments/", asked)
    plan(faults, "reply-lost,only=pay_bonuses,times=1 dropped,only=pay_bonuses,times=1")
    pay = f"/bulk-bonus-payments/{made.body['id']}/pay/"
    assert place.call("POST", pay).status == 500
    with pytest.raises(ClientDisconnected):  # waitress closes the connection for it
        place.call("POST", pay)
    place.clock.pass_time(seconds=1)
    assert place.get(f"/submissions/{submission}/")["bonus_payments"] == [150, 150]


def test_statuses_can_be_processing_or_unknown_for_once(place: Place, faults: Faults) -> None:
    submission = place.person("ada").do(study := place.live())
    plan(faults, "processing,times=1 unknown-status,times=1")
    for shown in ("PROCESSING", "ON HOLD", "AWAITING REVIEW"):
        assert place.status(submission) == shown
        assert place.get("/submissions/", study=study)["results"][0]["status"] == shown


def test_somebody_can_submit_after_the_time(place: Place, faults: Faults) -> None:
    study, ada = place.live(total_available_places=1), place.person("ada")
    submission = ada.begin(study)
    place.clock.pass_time(minutes=30)
    assert place.status(submission) == "TIMED-OUT"
    plan(faults, "late")
    assert ada.come_back().status_code == 303
    assert place.status(submission) == "AWAITING REVIEW"


def test_the_clock_jumps_by_plan(place: Place, faults: Faults) -> None:
    submission = place.person("ada").do(place.live())
    plan(faults, f"clock,only=get_me,times=1,seconds={22 * 24 * 3600}")
    place.money()
    assert place.status(submission) == "APPROVED"


def test_the_plan_can_be_changed_while_it_runs_with_the_token_alone(place: Place) -> None:
    client, token = place.app.test_client(), place.app.config[TOKEN]
    asked = {"faults": "throttled,only=get_me"}
    assert client.put(PATH, json=asked).status_code == 403
    wrong = client.put(PATH, json={"faults": "throttled,only=GetHIT"}, headers={TOKEN_HEADER: token})
    assert wrong.status_code == 400
    assert client.put(PATH, json=asked, headers={TOKEN_HEADER: token}).status_code == 200
    assert place.call("GET", "/users/me/").status == 429
    assert client.delete(PATH, headers={TOKEN_HEADER: token}).status_code == 200
    assert place.call("GET", "/users/me/").status == 200


def test_a_wrong_token_an_unknown_address_and_another_host_are_refused(place: Place) -> None:
    client = place.app.test_client()
    for header in ({}, {"Authorization": "Token x"}, {"Authorization": f"Bearer {place.books.token}"}):
        reply = client.get("/api/v1/users/me/", headers=header)
        assert (reply.status_code, reply.get_json()["error"]["status"]) == (401, 401)
    assert place.call("GET", "/nothing/").detail == "Not found."
    assert place.call("DELETE", "/users/me/").status == 405
    assert place.call("POST", "/studies/", ["no object"]).status == 400
    assert client.get("/studies", base_url="http://evil.example").status_code == 421
    assert place.call("GET", "/users/me").status == 200  # both with and without a slash at the end


def test_newer_endpoints_have_another_shape_of_errors(place: Place) -> None:
    body = place.call("POST", "/eligibility-count/", {"workspace_id": place.workspace(), "filters": 1}).body
    assert set(body) == {"message", "detail"}


def test_a_file_of_another_kind_or_version_is_refused(tmp_path: Path, place: Place) -> None:
    engine = open_prolific(tmp_path / "prolific.db")
    kept = Books(engine).token
    assert kept == place.books.token
    with engine.connect() as connection:
        connection.exec_driver_sql("UPDATE workspaces SET version = 0")
        connection.commit()
    with pytest.raises(StoreError, match="version 0"):
        Books(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("DROP TABLE tasks")
        connection.commit()
    with pytest.raises(StoreError, match="not the stand-in's"):
        Books(engine)
    engine.dispose()


NAMES = (
    *("action", "publish_at", "message", "rejection_category", "completion_code", "completion_code_data"),
    *("request_return_reasons", "submission_ids", "participant_ids", "study_id", "csv_bonuses", "reward"),
    *("total_available_places", "title", "email", "recipient_id", "ids", "body", "participant_group_id"),
    *("workspace_id", "filters", "name", "description", "event_type", "target_url", "secret", "is_enabled"),
    *("access_details", "completion_codes", "project", "submissions_config"),
)


@pytest.mark.parametrize("junk", [None, -1, 10**30, "x", "\0", [], [None], [{}], {"a": []}])
def test_whatever_is_sent_is_answered_and_no_call_breaks(place: Place, junk: object) -> None:
    study = place.live()
    submission = place.person("ada").do(study)
    workspace = place.workspace()
    group = place.call("POST", "/participant-groups/", {"workspace_id": workspace, "name": "a"}).body["id"]
    place.call("POST", "/hooks/secrets/", {"workspace_id": workspace})
    known = {"study_id": study, "submission_id": submission, "workspace_id": workspace, "group_id": group}
    known |= {"project_id": "p", "batch_id": "b", "subscription_id": "s"}
    bodies = [dict.fromkeys(NAMES, junk)]
    bodies.append({**bodies[0], "workspace_id": workspace, "study_id": study, "name": "a", "body": "b"})
    bodies += [{"action": action, "completion_code": junk} for action in ("COMPLETE", "APPROVE", "REJECT")]
    for rule in place.app.url_map.iter_rules():
        methods = (rule.methods or set()) & {"GET", "POST", "PATCH"}
        if not rule.rule.startswith("/api/v1/") or rule.endpoint.endswith("transition_study"):
            continue
        path = rule.rule.removeprefix("/api/v1")
        for name, value in known.items():
            path = path.replace(f"<{name}>", value)
        for method in methods:
            for body in bodies:
                reply = place.call(method, path, body, page=junk, offset=junk, ordering=junk, status=junk)
                assert reply.status < 500, (method, path, body, reply.body)
    assert sum(pots_of(place)) == place.books.terms.opening


def pots_of(place: Place) -> tuple[int, ...]:
    """Where the money is."""
    with place.books.writing() as work:
        return pots(work)
