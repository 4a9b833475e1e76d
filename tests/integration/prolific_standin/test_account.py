"""The account at the stand-in: projects, groups, messages, filters, and advice on pay."""

from __future__ import annotations

from tests.integration.prolific_standin.conftest import Place


def test_a_new_project_holds_the_studies_that_name_it(place: Place) -> None:
    path = f"/workspaces/{place.workspace()}/projects/"
    project = place.call("POST", path, {"title": "Infills"})
    assert project.status == 201
    study = place.draft(project=project.body["id"])
    found = place.get(f"/projects/{project.body['id']}/studies/")["results"]
    assert [each["id"] for each in found] == [study]
    assert [each["title"] for each in place.get(path)["results"]] == ["Project", "Infills"]
    assert place.get(f"/projects/{project.body['id']}/")["title"] == "Infills"
    assert place.call("POST", path, {}).status == 400
    assert place.call("GET", f"/workspaces/{'0' * 24}/balance/").status == 404


def test_the_default_project_is_the_first_one(place: Place) -> None:
    path = f"/workspaces/{place.workspace()}/projects/"
    first = place.get(path)["results"][0]["id"]
    place.call("POST", path, {"title": "Newer"})
    assert place.get(f"/studies/{place.draft()}/")["project"] == first


def test_P22_a_group_belongs_to_the_workspace_and_its_members_change(place: Place) -> None:
    asked = {"workspace_id": place.workspace(), "name": "seen", "participant_ids": ["a", "b", "a"]}
    assert place.call("POST", "/participant-groups/", {**asked, "project_id": "x"}).status == 400
    group = place.call("POST", "/participant-groups/", asked)
    assert (group.status, group.body["participant_count"]) == (201, 2)
    path = f"/participant-groups/{group.body['id']}/"
    members = f"{path}participants/"
    ids = ["b", "c"]
    assert len(place.call("POST", members, {"participant_ids": ids}).body["results"]) == 3
    left = place.call("DELETE", members, {"participant_ids": ["a"]}).body["results"]
    assert [each["participant_id"] for each in left] == ids
    assert place.call("PATCH", path, {"participant_ids": ["d"]}).body["participant_count"] == 1
    listed = place.get("/participant-groups/", workspace_id=place.workspace())
    assert [each["name"] for each in listed["results"]] == ["seen"]
    assert place.call("GET", "/participant-groups/").status == 400
    assert place.call("DELETE", path).status == 204
    assert place.call("GET", path).status == 404


def test_who_joins_a_group_after_publishing_is_let_in(place: Place) -> None:
    group = place.call("POST", "/participant-groups/", {"workspace_id": place.workspace(), "name": "a"}).body
    only = [{"filter_id": "participant_group_allowlist", "selected_values": [group["id"]]}]
    study, first = place.live(filters=only), place.live()
    ada = place.person("ada")
    ada.do(first)
    assert ada.browser.post(f"/studies/{study}/reserve").status_code == 409
    who = place.get("/submissions/", study=first)["results"][0]["participant_id"]
    place.call("POST", f"/participant-groups/{group['id']}/participants/", {"participant_ids": [who]})
    assert ada.do(study)


def test_messages_go_both_ways_and_can_be_read_for_30_days(place: Place) -> None:
    study, ada, bob = place.live(), place.person("ada"), place.person("bob")
    taken = [ada.do(study), bob.do(study)]
    ids = [place.get(f"/submissions/{each}/")["participant"] for each in taken]
    one = {"recipient_id": ids[0], "study_id": study, "body": "Thank you."}
    assert place.call("POST", "/messages/", one).status == 204
    many = {"ids": ids, "study_id": study, "body": "A bonus came."}
    assert place.call("POST", "/messages/bulk/", many).status == 204
    assert "A bonus came." in bob.browser.get("/studies").text
    assert [each["body"] for each in place.get("/messages/", user_id=ids[0])["results"]] == [
        "Thank you.",
        "A bonus came.",
    ]
    ada.browser.post(f"/submissions/{taken[0]}/message", data={"body": "It was fun."})
    (unread,) = place.get("/messages/unread/")["results"]
    assert (unread["sender"], unread["sender_id"]) == (ids[0], ids[0])
    assert len(place.get("/messages/", created_after="2026-11-01T00:00:00Z")["results"]) == 4
    for since in ("2026-09-01T00:00:00Z", "9999-12-31T23:59:59-14:00"):
        assert place.call("GET", "/messages/", created_after=since).status == 400
    assert place.call("GET", "/messages/").status == 400
    assert place.call("POST", "/messages/", {**one, "recipient_id": "nobody"}).status == 400
    assert place.call("POST", "/messages/", {**one, "body": ""}).status == 400
    group = {"workspace_id": place.workspace(), "name": "all", "participant_ids": ids}
    group_id = place.call("POST", "/participant-groups/", group).body["id"]
    to_group = {"participant_group_id": group_id, "body": "Again?"}
    assert place.call("POST", "/messages/participant-group/", to_group).status == 204
    assert "Again?" in ada.browser.get("/studies").text


def test_few_people_are_counted_as_none(place: Place) -> None:
    asked = {"workspace_id": place.workspace(), "filters": []}
    for number in range(24):
        place.person(f"p{number}")
    assert place.call("POST", "/eligibility-count/", asked).body == {"count": 0}
    place.person("p24")
    assert place.call("POST", "/eligibility-count/", asked).body == {"count": 25}
    assert len(place.get("/filters/", limit=3)["results"]) == 3


def test_advice_on_pay_is_in_minor_units(place: Place) -> None:
    (advice,) = place.get("/reward-recommendations/", workspace_id=place.workspace(), currency="GBP")
    assert advice == {
        "currency": "GBP",
        "min_reward_per_hour": 600,
        "recommended_reward_per_hour": 900,
    }
    poor = place.draft(reward=90)
    assert place.get(f"/studies/{poor}/")["is_underpaying"] is True
