"""What workers see and may do, driven over plain HTTP without a browser or JavaScript."""

from __future__ import annotations

import html as entities
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from xml.etree import ElementTree

import pytest

from humaneval.market import assignments, offers
from humaneval.market.qualifications import standing

NewHit = Callable[..., dict[str, Any]]
SignIn = Callable[..., Any]
NewType = Callable[..., str]
PERCENT, NUMBER, LOCALE = "000000000000000000L0", "00000000000000000040", "00000000000000000071"


def frame_address(page: str) -> str:
    """The address of the only frame of a page."""
    (address,) = re.findall(r'<iframe[^>]* src="([^"]+)"', page)
    return entities.unescape(address)


def answer_of(mturk: Any, assignment_id: str) -> list[tuple[str, str]]:
    """The stored answer's fields, in order."""
    root = ElementTree.fromstring(mturk.get_assignment(AssignmentId=assignment_id)["Assignment"]["Answer"])
    return [(answer[0].text or "", answer[1].text or "") for answer in root]


def test_C35_a_preview_allocates_nothing_and_stores_nothing(
    mturk: Any, new_hit: NewHit, person: SignIn
) -> None:
    hit = new_hit()
    page = person().get(f"/hits/{hit['HITId']}")
    parameters = dict(parse_qsl(urlsplit(frame_address(page.text)).query))
    assert parameters["assignmentId"] == "ASSIGNMENT_ID_NOT_AVAILABLE"
    assert "workerId" not in parameters
    assert "turkSubmitTo" not in parameters
    refused = person().submit("ASSIGNMENT_ID_NOT_AVAILABLE", choice="1")
    assert refused.status == 400
    assert "preview" in refused.text
    assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["NumberOfAssignmentsAvailable"] == 2


def test_C35_a_submission_without_an_assignment_gets_a_clear_page(person: SignIn) -> None:
    worker = person()
    assert "has no assignmentId" in worker.submit("").text
    assert worker.submit("3NOSUCHASSIGNMENT").status == 404


def test_C33_the_frame_gets_the_four_parameters_behind_the_query_it_already_has(
    new_hit: NewHit, person: SignIn, server: Any
) -> None:
    worker = person()
    hit = new_hit()
    assignment_id = worker.accept(hit["HITId"])
    page = worker.get(f"/assignments/{assignment_id}")
    parts = urlsplit(frame_address(page.text))
    assert parts.query.startswith("study=7&x=%26&assignmentId=")
    assert parse_qsl(parts.query)[2:] == [
        ("assignmentId", assignment_id),
        ("hitId", hit["HITId"]),
        ("workerId", worker.id),
        ("turkSubmitTo", server.url),
    ]
    policy = page.headers["Content-Security-Policy"]
    assert f"frame-src 'self' https://lab.example {server.url};" in policy
    assert "frame-ancestors 'none'" in policy
    assert "X-Frame-Options" not in page.headers


def test_C33_html_for_the_closed_mturk_submits_here_in_a_box_of_its_own(
    new_hit: NewHit, person: SignIn, server: Any, html: str
) -> None:
    worker = person()
    page = worker.get(f"/assignments/{worker.accept(new_hit(Question=html)['HITId'])}").text
    assert "allow-scripts" in page
    address = frame_address(page)
    assert address.startswith(f"{server.frames_url}/question/")
    content = worker.get(address.removeprefix(server.frames_url))
    assert f'action="{server.url}/mturk/externalSubmit"' in content.text
    assert content.headers["Content-Security-Policy"].startswith("sandbox ")
    assert "allow-same-origin" not in content.headers["Content-Security-Policy"], "at the site's own address"


def test_C32_C11_an_answer_needs_no_cookie_and_a_second_submission_changes_nothing(
    mturk: Any, new_hit: NewHit, person: SignIn
) -> None:
    worker = person()
    assignment_id = worker.accept(new_hit()["HITId"])
    first, second = worker.submit(assignment_id, choice="3"), worker.submit(assignment_id, choice="5")
    assert first.status == second.status == 200
    assert first.text == second.text
    assert 'target="_top"' in first.text
    assert "frame-ancestors *" in first.headers["Content-Security-Policy"]
    assert answer_of(mturk, assignment_id) == [("choice", "3")]


def test_an_answer_arrives_as_it_was_written_and_repeated_fields_are_kept(
    mturk: Any, new_hit: NewHit, person: SignIn, submit_raw: Callable[..., Any]
) -> None:
    assignment_id = person().accept(new_hit()["HITId"])
    text = "]]> <b>&amp;</b> \U0001f600\r\nline\ttwo {{7*7}}"
    sent = [("assignmentId", assignment_id), ("box", "a"), ("box", "b"), ("text", text), ("empty", "")]
    assert submit_raw(sent).status == 200
    assert answer_of(mturk, assignment_id) == [
        ("box", "a"),
        ("box", "b"),
        ("text", text.replace("\r\n", "\n")),
        ("empty", ""),
    ]


def test_a_control_character_in_an_answer_is_refused_and_the_work_stays_in_hand(
    new_hit: NewHit, person: SignIn
) -> None:
    worker = person()
    assignment_id = worker.accept(new_hit()["HITId"])
    refused = worker.submit(assignment_id, text="bell \x07")
    assert refused.status == 400
    assert "U+0007" in refused.text
    assert worker.submit(assignment_id, text="no bell").status == 200


def test_a_hit_is_done_once_but_returned_work_may_be_taken_up_again(new_hit: NewHit, person: SignIn) -> None:
    worker = person()
    hit_id = new_hit()["HITId"]
    first = worker.accept(hit_id)
    assert worker.accept(hit_id) == first
    assert worker.post(f"/assignments/{first}/return", csrf=worker.csrf()).status == 303
    assert worker.submit(first, choice="1").status == 409
    second = worker.accept(hit_id)
    assert second != first
    worker.submit(second, choice="1")
    assert worker.post(f"/hits/{hit_id}/accept", csrf=worker.csrf()).status == 409
    assert hit_id not in worker.get("/hits").text


def test_work_whose_time_runs_out_is_abandoned_and_its_place_is_free_again(
    mturk: Any, new_hit: NewHit, person: SignIn, clock: Any
) -> None:
    hit = new_hit(MaxAssignments=1)
    ada, grace = person("Ada"), person("Grace")
    late = ada.accept(hit["HITId"])
    assert hit["HITId"] not in grace.get("/hits").text
    clock.pass_time(hours=1)
    refused = ada.submit(late, choice="1")
    assert refused.status == 409
    assert "ran out" in refused.text
    assert grace.submit(grace.accept(hit["HITId"]), choice="2").status == 200
    assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Reviewable"


def test_of_many_workers_at_the_last_place_exactly_one_gets_it(
    mturk: Any, new_hit: NewHit, person: SignIn
) -> None:
    hit = new_hit(MaxAssignments=2)
    workers = [person(f"Worker {number}") for number in range(12)]
    tokens = [worker.csrf() for worker in workers]
    with ThreadPoolExecutor(12) as pool:
        replies = pool.map(
            lambda pair: pair[0].post(f"/hits/{hit['HITId']}/accept", csrf=pair[1]).status,
            zip(workers, tokens, strict=True),
        )
    assert sorted(replies) == [303, 303] + [409] * 10
    assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["NumberOfAssignmentsPending"] == 2


def test_one_worker_in_many_windows_holds_one_place(mturk: Any, new_hit: NewHit, person: SignIn) -> None:
    hit = new_hit(MaxAssignments=5)
    worker = person()
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: worker.accept(hit["HITId"]), range(8)))
    assert len(ids) == 1
    assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["NumberOfAssignmentsPending"] == 1


def test_a_form_must_be_this_workers_own_and_from_this_site(new_hit: NewHit, person: SignIn) -> None:
    hit_id = new_hit()["HITId"]
    ada, grace = person("Ada"), person("Grace")
    path = f"/hits/{hit_id}/accept"
    assert ada.post(path).status == 403
    assert ada.post(path, csrf=grace.csrf()).status == 403
    assert ada.post(path, headers={"Origin": "https://evil.example"}, csrf=ada.csrf()).status == 403
    assignment_id = ada.accept(hit_id)
    assert grace.get(f"/assignments/{assignment_id}").status == 404
    assert grace.post(f"/assignments/{assignment_id}/return", csrf=grace.csrf()).status == 404


def test_someone_who_is_not_signed_in_is_asked_to_and_comes_back(person: SignIn, new_hit: NewHit) -> None:
    hit_id = new_hit()["HITId"]
    worker = person()
    assert worker.post("/signout", csrf=worker.csrf()).status == 303
    worker.cookie = "market_worker=forged"
    asked = worker.get(f"/hits/{hit_id}")
    assert (asked.status, asked.headers["Location"]) == (303, f"/signin?next=%2Fhits%2F{hit_id}")
    back = worker.post("/signin", name="ADA", next=f"/hits/{hit_id}")
    assert back.headers["Location"] == f"/hits/{hit_id}"
    assert "HttpOnly" in back.headers["Set-Cookie"]
    assert "SameSite=Lax" in back.headers["Set-Cookie"]
    worker.cookie = back.headers["Set-Cookie"].split(";")[0]
    assert worker.id in worker.get("/hits").text, "the same name, in any case, is the same worker"
    for elsewhere in ("https://evil.example/", "//evil.example", "/\\evil.example"):
        assert worker.post("/signin", name="Ada", next=elsewhere).headers["Location"] == "/hits"


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "a\x00b"])
def test_a_name_that_is_none_is_refused_with_a_reason(person: SignIn, name: str) -> None:
    refused = person().post("/signin", name=name)
    assert refused.status == 400
    assert 'role="alert"' in refused.text


def test_markup_in_a_title_is_shown_as_text(new_hit: NewHit, person: SignIn) -> None:
    hit = new_hit(Title="<script>alert(1)</script>{{7*7}}", Description='"><img src=x>')
    worker = person("<i>Ada</i>")
    for path in ("/hits", f"/hits/{hit['HITId']}"):
        page = worker.get(path).text
        assert "<script" not in page
        assert "<img" not in page
        assert "<i>" not in page
        assert "{{7*7}}" in page


def test_earnings_are_shown_with_bonuses_and_the_requesters_words(
    mturk: Any, new_hit: NewHit, person: SignIn
) -> None:
    worker = person()
    assignment_id = worker.do(new_hit()["HITId"])
    worker.do(new_hit()["HITId"])
    mturk.approve_assignment(AssignmentId=assignment_id, RequesterFeedback="Well read")
    mturk.send_bonus(WorkerId=worker.id, AssignmentId=assignment_id, BonusAmount="0.25", Reason="Thanks")
    page = worker.get("/my-work").text
    assert "<dd>$0.75</dd>" in page
    assert "<dd>$0.50</dd>" in page
    assert "Well read" in page
    assert "Bonus $0.25" in page
    assert "Thanks" in page


class TestQualifications:
    """Only a worker's record here, and the country they gave, can be required."""

    def requirement(self, kind: str, comparator: str, **values: Any) -> list[dict[str, Any]]:
        return [{"QualificationTypeId": kind, "Comparator": comparator, **values}]

    def test_a_country_is_enforced_and_an_unknown_one_meets_nothing(
        self, new_hit: NewHit, person: SignIn
    ) -> None:
        only = self.requirement(LOCALE, "In", LocaleValues=[{"Country": "US"}, {"Country": "CA"}])
        path = f"/hits/{new_hit(QualificationRequirements=only)['HITId']}"
        not_us = self.requirement(LOCALE, "NotEqualTo", LocaleValues=[{"Country": "US"}])
        other = f"/hits/{new_hit(QualificationRequirements=not_us)['HITId']}"
        ada, luc, nemo = person("Ada", "GB"), person("Luc", "CA"), person("Nemo")

        def accepts(worker: Any, at: str) -> int:
            return worker.post(f"{at}/accept", csrf=worker.csrf()).status

        assert [accepts(worker, path) for worker in (ada, luc, nemo)] == [403, 303, 403]
        assert [accepts(worker, other) for worker in (ada, luc, nemo)] == [303, 303, 403]
        assert "your country is one of United States, Canada" in ada.get(path).text

    def test_a_record_of_approved_hits_is_enforced(self, mturk: Any, new_hit: NewHit, person: SignIn) -> None:
        worker = person()
        wanted = self.requirement(
            NUMBER, "GreaterThanOrEqualTo", IntegerValues=[1], ActionsGuarded="DiscoverPreviewAndAccept"
        )
        guarded = new_hit(QualificationRequirements=wanted, Title="Experienced only")
        new_hit(
            QualificationRequirements=self.requirement(PERCENT, "EqualTo", IntegerValues=[100]),
            Title="Clean record",
        )
        page = worker.get("/hits").text
        assert "Experienced only" not in page
        assert "Clean record" in page
        assert worker.get(f"/hits/{guarded['HITId']}").status == 403
        mturk.approve_assignment(AssignmentId=worker.do(new_hit(Title="First")["HITId"]))
        assert "Experienced only" in worker.get("/hits").text
        worker.accept(guarded["HITId"])

    @pytest.mark.parametrize(
        ("kind", "rest", "words"),
        [
            ("2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", {"Comparator": "Exists"}, "no Masters"),
            ("2ARFPLSP75KLA8M8DH1HTEQVJT3SY6", {"Comparator": "Exists"}, "no Masters"),
            ("00000000000000000060", {"Comparator": "EqualTo", "IntegerValues": [1]}, "no Worker_Adult"),
            ("3OWNTYPE", {"Comparator": "Exists"}, "does not exist"),
            (PERCENT, {"Comparator": "GreaterThan"}, "must have 1"),
            (PERCENT, {"Comparator": "EqualTo", "LocaleValues": [{"Country": "US"}]}, "cannot be used"),
            (LOCALE, {"Comparator": "LessThan", "LocaleValues": [{"Country": "US"}]}, "cannot be used"),
            (
                LOCALE,
                {"Comparator": "In", "LocaleValues": [{"Country": "US", "Subdivision": "NY"}]},
                "Subdivision",
            ),
        ],
    )
    def test_what_cannot_be_enforced_is_refused(
        self, mturk: Any, new_hit: NewHit, kind: str, rest: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(mturk.exceptions.RequestError, match=words):
            new_hit(QualificationRequirements=[{"QualificationTypeId": kind, **rest}])

    @pytest.mark.parametrize("code", ["ZZ", "us", "EU"])
    def test_a_country_that_is_none_can_neither_be_asked_for_nor_given(
        self, mturk: Any, new_hit: NewHit, person: SignIn, code: str
    ) -> None:
        here = {"QualificationTypeId": LOCALE, "Comparator": "In"}
        asked = [{**here, "LocaleValues": [{"Country": "US"}, {"Country": code}]}]
        with pytest.raises(mturk.exceptions.RequestError, match=f"ISO 3166 has no country '{code}'"):
            new_hit(QualificationRequirements=asked)
        refused = person().post("/signin", name="Ada", country=code)
        assert (refused.status, "from the list" in refused.text) == (400, True)


def test_what_the_site_does_not_have_gets_a_page_of_its_own_in_plain_words(
    mturk: Any, new_hit: NewHit, person: SignIn, server: Any
) -> None:
    worker = person()
    lost, form_only = worker.get("/no/such/page"), worker.get("/messages/read")
    assert (lost.status, "There is no page at this address" in lost.text) == (404, True)
    assert (form_only.status, form_only.headers["Allow"]) == (405, "OPTIONS, POST")
    assert "cannot be opened by itself" in form_only.text
    assignment_id = worker.accept(new_hit()["HITId"])
    large = worker.submit(assignment_id, words="x" * 5_000_000)
    outside = worker.post("/signin", name="x" * 5_000_000)
    for page in (lost, form_only, large, outside):
        assert "market.css" in page.text
        assert "<main" in page.text
    assert (large.status, outside.status) == (413, 413)
    assert "larger than the 4 MB" in large.text
    assert "frame-ancestors *" in large.headers["Content-Security-Policy"], "it is read inside the frame"
    assert worker.submit(assignment_id, words="fewer").status == 200


def accept_form(page: str) -> tuple[str, dict[str, str]]:
    """The first form with which a page accepts a HIT: its address and its fields."""
    found = re.search(r'action="([^"]+/accept)">(.*?)</form>', page, re.DOTALL)
    assert found, page
    return found[1], dict(re.findall(r'name="(\w+)" value="([^"]*)"', found[2]))


@pytest.mark.parametrize("way", ["/hits", "preview", "/mturk/preview?groupId="])
def test_people_who_were_all_offered_the_same_hit_each_get_one_of_its_group(
    way: str, new_hit: NewHit, person: SignIn
) -> None:
    hits = [new_hit(MaxAssignments=1) for _ in range(6)]
    workers = [person(f"worker {place}") for place in range(6)]
    first, group = hits[0]["HITId"], hits[0]["HITGroupId"]
    if way == "preview":
        way = f"/hits/{first}?groupId={group}"
    elif "groupId" in way:
        way = workers[0].get(f"{way}{group}").headers["Location"]
    forms = [accept_form(worker.get(way).text) for worker in workers]
    assert {path for path, _ in forms} == {f"/hits/{first}/accept"}
    with ThreadPoolExecutor(6) as pool:
        taken = list(
            pool.map(lambda each: each[0].post(each[1][0], **each[1][1]), zip(workers, forms, strict=True))
        )
    assert [reply.status for reply in taken] == [303] * 6
    late = person("late")
    assert late.post(f"/hits/{first}/accept", csrf=late.csrf(), groupId=group).status == 409


def test_the_preview_of_a_taken_hit_of_a_group_shows_the_next_one(new_hit: NewHit, person: SignIn) -> None:
    first, second = (new_hit(MaxAssignments=1) for _ in range(2))
    ada, grace = person(), person("Grace")
    ada.accept(first["HITId"])
    at = f"/hits/{{}}?groupId={first['HITGroupId']}"
    assert grace.get(at.format(first["HITId"])).headers["Location"] == at.format(second["HITId"])
    assert grace.get(f"/hits/{first['HITId']}").status == 200
    assert grace.post(f"/hits/{first['HITId']}/accept", csrf=grace.csrf()).status == 409


def test_nobody_holds_more_than_twenty_five_hits(
    new_hit: NewHit, person: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assignments, "MOST_IN_HAND", 2)
    hits, worker = [new_hit() for _ in range(3)], person()
    in_hand = [worker.accept(each["HITId"]) for each in hits[:2]]
    refused = worker.post(f"/hits/{hits[2]['HITId']}/accept", csrf=worker.csrf())
    assert (refused.status, "You have 2 tasks in hand" in refused.text) == (409, True)
    worker.submit(in_hand[0], choice="1")
    worker.accept(hits[2]["HITId"])


def test_a_hit_can_be_returned_some_times_and_not_without_end(
    new_hit: NewHit, person: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assignments, "MOST_RETURNED", 2)
    hit, other, worker = new_hit()["HITId"], new_hit()["HITId"], person()
    for _ in range(2):
        worker.post(f"/assignments/{worker.accept(hit)}/return", csrf=worker.csrf())
    refused = worker.post(f"/hits/{hit}/accept", csrf=worker.csrf())
    assert (refused.status, "returned this task 2 times" in refused.text) == (409, True)
    worker.accept(other)
    person("Grace").accept(hit)


def test_long_lists_of_requirements_come_in_pages(
    mturk: Any, new_type: Callable[..., str], person: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "TYPES_ON_A_PAGE", 2)
    worker, kinds = person(), [new_type(f"Kind {name}") for name in "BADCE"]
    for kind in kinds:  # the last one is of nobody's concern
        if kind != kinds[4]:
            mturk.associate_qualification_with_worker(QualificationTypeId=kind, WorkerId=worker.id)
        mturk.update_qualification_type(QualificationTypeId=kind, QualificationTypeStatus="Inactive")
    path, shown = "/qualifications", list[list[str]]()
    while path:
        page = worker.get(path).text
        shown.append(re.findall(r"<h2>Kind (\w)</h2>", page))
        path = next(iter(re.findall(r'href="(/qualifications\?before=\d+)"', page)), "")
    assert shown == [["C", "D"], ["A", "B"], []]


def test_long_lists_of_hits_work_and_messages_come_in_pages(
    mturk: Any, new_hit: NewHit, person: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assignments, "WORK_ON_A_PAGE", 2)
    monkeypatch.setattr(offers, "GROUPS_ON_A_PAGE", 2)
    monkeypatch.setattr("humaneval.market.messages.MESSAGES_ON_A_PAGE", 2)
    monkeypatch.setattr("humaneval.market.pages.messages.MESSAGES_ON_A_PAGE", 2)
    worker = person()
    for place in range(3):
        done = worker.do(new_hit(Title=f"HIT {place}", Reward="0.10", MaxAssignments=1)["HITId"])
        mturk.approve_assignment(AssignmentId=done)
        mturk.notify_workers(Subject=f"Letter {place}", MessageText="m", WorkerIds=[worker.id])
        new_hit(Title=f"Group {place}")
    for path, name in (("/my-work", "HIT"), ("/messages", "Letter"), ("/hits", "Group")):
        page = worker.get(path).text
        assert re.findall(rf"<h[23]>{name} (\d)<", page) == ["2", "1"]
        (older,) = re.findall(rf'href="({path}\?before=\d+)"', page)
        assert re.findall(rf"<h[23]>{name} (\d)<", worker.get(older).text) == ["0"]
        assert worker.get(f"{path}?before={10**30}").status == 200
    assert "$0.30" in worker.get("/my-work").text


def test_the_link_of_a_group_leads_back_to_what_is_in_hand_and_then_says_that_it_is_done(
    mturk: Any, new_hit: NewHit, person: SignIn
) -> None:
    hit = new_hit()
    link, worker = f"/mturk/preview?groupId={hit['HITGroupId']}", person()
    assignment = worker.accept(hit["HITId"])
    assert worker.get(link).headers["Location"] == f"/assignments/{assignment}"
    assert "In hand" in worker.get("/my-work").text
    worker.submit(assignment, choice="1")
    page = worker.get(link)
    assert "You have taken part" in page.text
    assert "Not found" not in page.text
    assert "Not found" in worker.get("/mturk/preview?groupId=NONE").text


@pytest.mark.parametrize("once", [True, False])
def test_the_link_of_a_group_opened_again_leads_back_to_what_is_in_hand(
    mturk: Any, new_hit: NewHit, new_type: NewType, person: SignIn, once: bool
) -> None:
    """Also if another task of the group is free. Of what may be done several times it offers both."""
    lack = {"QualificationTypeId": new_type(), "Comparator": "DoesNotExist"}
    kind = {"QualificationRequirements": [lack]} if once else {}
    hits, worker = [new_hit(**kind, MaxAssignments=2) for _ in range(2)], person()
    group = hits[0]["HITGroupId"]
    assert group == hits[1]["HITGroupId"]
    link, csrf = f"/mturk/preview?groupId={group}", worker.csrf()
    preview = worker.get(link).headers["Location"]
    mine = worker.post(f"/hits/{hits[0]['HITId']}/accept", groupId=group, csrf=csrf).headers["Location"]
    again = worker.get(worker.get(link).headers["Location"])
    other = worker.post(f"/hits/{hits[1]['HITId']}/accept", groupId=group, csrf=csrf).headers["Location"]
    if once:
        assert again.headers["Location"] == worker.get(preview).headers["Location"] == other == mine
        worker.post(f"{mine}/return", csrf=csrf)
        assert worker.get(link).headers["Location"] == preview
    else:
        assert f'href="{mine}">Continue the one in hand' in again.text
        assert "Accept another" in again.text
        assert other != mine
