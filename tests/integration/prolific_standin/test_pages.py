"""The participant's pages of the stand-in: the way in, what leads where, and what is refused."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.integration.prolific_standin.conftest import CODE, REASON, Place


def test_starting_leads_to_the_study_with_all_placeholders_filled(place: Place) -> None:
    study, ada = place.live(), place.person("ada")
    submission = ada.reserve(study)
    address = ada.start(submission)
    assert "{{%" not in address
    who = place.get(f"/submissions/{submission}/")["participant"]
    assert parse_qs(urlsplit(address).query) == {
        "PROLIFIC_PID": [who],
        "STUDY_ID": [study],
        "SESSION_ID": [submission],
    }
    assert ada.start(submission) == address  # a second window
    assert place.get("/submissions/", study=study)["meta"]["count"] == 1


def test_who_comes_back_without_a_name_is_asked_for_it_and_goes_on(place: Place) -> None:
    study, ada = place.live(), place.person("ada")
    submission = ada.begin(study)
    browser = place.app.test_client()
    asked = browser.get(f"/submissions/complete?cc={CODE}")
    assert asked.status_code == 303
    target = parse_qs(urlsplit(asked.headers["Location"]).query)["next"][0]
    entered = browser.post("/enter", data={"name": "ada", "next": target})
    assert browser.get(entered.headers["Location"]).status_code == 303
    assert place.status(submission) == "AWAITING REVIEW"


def test_of_two_studies_in_hand_the_code_says_which_is_done(place: Place) -> None:
    codes = [{"code": "OTHER", "code_type": "COMPLETED"}]
    first, second, ada = place.live(), place.live(completion_codes=codes), place.person("ada")
    one, two = ada.begin(first), ada.begin(second)
    ada.come_back(CODE)
    assert (place.status(one), place.status(two)) == ("AWAITING REVIEW", "ACTIVE")


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\\\evil.example", "x"])
def test_no_page_leads_to_another_site_but_a_study(place: Place, target: str) -> None:
    entered = place.app.test_client().post("/enter", data={"name": "ada", "next": target})
    assert entered.headers["Location"] == "/studies"


def test_another_sites_form_a_forged_cookie_and_no_name_are_refused(place: Place) -> None:
    study, ada = place.live(), place.person("ada")
    path = f"/studies/{study}/reserve"
    assert ada.browser.post(path, headers={"Origin": "http://evil.example"}).status_code == 403
    stranger = place.app.test_client()
    stranger.set_cookie("prolific_participant", "forged")
    assert stranger.post(path).headers["Location"].startswith("/enter")
    for name in ("", " ", "a" * 61, "a\x00"):
        assert stranger.post("/enter", data={"name": name}).status_code == 400
    assert place.get("/submissions/", study=study)["meta"]["count"] == 0


def test_nobody_acts_for_another(place: Place) -> None:
    study, ada, bob = place.live(), place.person("ada"), place.person("bob")
    submission = ada.begin(study)
    for act in ("start", "complete", "return", "message"):
        assert bob.browser.post(f"/submissions/{submission}/{act}").status_code == 404
    assert bob.browser.get(f"/submissions/{submission}").status_code == 404
    assert place.status(submission) == "ACTIVE"


def test_what_a_study_says_is_text_and_a_rejection_has_its_reason(place: Place) -> None:
    study = place.live(name="<script>alert(1)</script>")
    ada = place.person("ada")
    submission = ada.do(study)
    place.decide(submission, "REJECT", message=REASON, rejection_category="LOW_EFFORT")
    shown = ada.browser.get(f"/submissions/{submission}").text
    assert "<script>" not in shown
    assert REASON.strip() in shown


def test_a_code_can_be_entered_by_hand(place: Place) -> None:
    study, ada = place.live(), place.person("ada")
    submission = ada.begin(study)
    ada.browser.post(f"/submissions/{submission}/complete", data={"cc": f" {CODE} "})
    assert place.get(f"/submissions/{submission}/")["entered_code"] == CODE


def test_the_only_code_can_be_null(place: Place) -> None:
    study, ada = place.live(completion_codes=[{"code": None, "code_type": "COMPLETED"}]), place.person("ada")
    submission = ada.do(study, "")
    assert place.get(f"/submissions/{submission}/")["entered_code"] is None
    assert place.status(submission) == "AWAITING REVIEW"
