"""Pages that were written for Mechanical Turk come here as they are: their addresses, their script, answers
by GET."""

from __future__ import annotations

import html as markup
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.chromium import profile
from tests.pace import PATIENCE

SCRIPT = "https://s3.amazonaws.com/mturk-public/externalHIT_v1.js"
PAGE = """<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd">
<HTMLContent><![CDATA[<!DOCTYPE html><html lang="en"><title>q</title><script src="{script}"></script>
<form name="mturk_form" id="mturk_form" {form}><input type="hidden" name="assignmentId" id="assignmentId">
<label>Words <input name="submit"></label><input type="submit" id="submitButton" value="Send"></form>
<script>turkSetAssignmentID();</script></html>]]></HTMLContent><FrameHeight>0</FrameHeight></HTMLQuestion>"""
BY_POST = 'method="post" action="https://www.mturk.com/mturk/externalSubmit"'


def page_of(form: str = BY_POST, script: str = SCRIPT) -> str:
    return PAGE.format(form=form, script=script)


@pytest.mark.parametrize(
    "address",
    [
        "https://www.mturk.com/mturk/externalSubmit",
        "http://www.mturk.com/mturk/externalSubmit",
        "//workersandbox.mturk.com/mturk/externalSubmit",
        "https://worker.mturk.com/mturk/externalSubmit",
    ],
)
def test_a_form_for_any_of_amazons_addresses_is_sent_here(
    address: str, new_hit: Any, person: Any, server: Any
) -> None:
    hit = new_hit(Question=page_of(f'method="post" action="{address}"'))
    shown = person().get(f"/question/{hit['HITId']}").text
    scheme = "http:" if "http" in address else ""
    assert f'action="{scheme}{server.url.removeprefix("http:")}/mturk/externalSubmit"' in shown
    assert "mturk.com" not in shown


def test_html_that_stands_bare_in_its_question_is_told_where_to_go(mturk: Any, new_hit: Any) -> None:
    bare = page_of().replace("<![CDATA[<!DOCTYPE html>", "").replace("]]>", "")
    bare = re.sub("<html.*</html>", "<form></form>", bare, flags=re.DOTALL)
    with pytest.raises(mturk.exceptions.RequestError, match="CDATA"):
        new_hit(Question=bare)


@pytest.mark.parametrize("address", [SCRIPT, "//mturk-public.s3.amazonaws.com/externalHIT_v1.js"])
def test_mechanical_turks_own_script_comes_from_the_marketplace(
    address: str, new_hit: Any, person: Any
) -> None:
    hit = new_hit(Question=page_of(script=address))
    shown = person().get(f"/question/{hit['HITId']}").text
    found = re.search(r'<script src="(.+?)">', shown)
    assert found
    with urllib.request.urlopen(found.group(1), timeout=PATIENCE) as script:
        assert "turkSetAssignmentID" in script.read().decode()


def test_answers_in_an_address_are_stored_when_the_page_there_sends_them_on(
    mturk: Any, new_hit: Any, person: Any, server: Any, submit_raw: Callable[..., Any]
) -> None:
    """jsPsych's submitToTurk and many others came by GET. A look at the address, by whomever, stores
    nothing."""
    worker = person()
    assignment = worker.accept(new_hit()["HITId"])
    page = worker.get(f"/mturk/externalSubmit?assignmentId={assignment}&words=%22a%22+%3C+b&c=1&c=2")
    assert page.status == 200
    policy = page.headers["Content-Security-Policy"]
    assert f"form-action {server.url};" in policy
    assert "frame-ancestors *" in policy
    with pytest.raises(mturk.exceptions.RequestError, match="Accepted"):
        mturk.get_assignment(AssignmentId=assignment)
    fields = [
        (name, markup.unescape(value))
        for name, value in re.findall(r'<input type="hidden" name="(.+?)" value="(.*?)">', page.text)
    ]
    assert fields == [("assignmentId", assignment), ("words", '"a" < b'), ("c", "1"), ("c", "2")]
    assert submit_raw(fields).status == 200
    assert mturk.get_assignment(AssignmentId=assignment)["Assignment"]["AssignmentStatus"] == "Submitted"


@pytest.mark.parametrize(
    "name", ["AssignmentID", "assignmentid", "ASSIGNMENTID", "assignment_id", "amp;assignmentId"]
)
@pytest.mark.parametrize("empty", [(), (("assignmentId", ""),)])
def test_X47_the_id_of_an_answer_is_understood_however_it_is_spelt(
    name: str, empty: Any, mturk: Any, new_hit: Any, person: Any, submit_raw: Callable[..., Any]
) -> None:
    assignment = person().accept(new_hit()["HITId"])
    assert submit_raw([*empty, ("a", "1"), (name, assignment), ("b", "2")]).status == 200
    answer = mturk.get_assignment(AssignmentId=assignment)["Assignment"]["Answer"]
    assert re.findall("<(?:QuestionIdentifier|FreeText)>(.*?)<", answer) == ["a", "1", "b", "2"]


@pytest.mark.parametrize(
    ("query", "kind", "body"),
    [
        ("?amp;assignmentId={0}&amp;hitId=H&amp;a=1", "application/x-www-form-urlencoded", "b=2"),
        ("", "text/plain;charset=UTF-8", "assignmentId={0}&a=1&b=2"),
        ("?assignmentId={0}&workerId=W&turkSubmitTo=x", "application/json", '{{"a": 1, "b": "2"}}'),
        ("", "application/json; charset=utf-8", '{{"assignmentId": "{0}", "a": [1], "b": 2}}'),
        ("?assignmentId={0}&a=3", "application/x-www-form-urlencoded", "a=1&b=2"),
    ],
)
def test_X45_answers_of_a_script_are_read_from_body_and_address(
    query: str, kind: str, body: str, mturk: Any, new_hit: Any, person: Any, server: Any
) -> None:
    assignment = person().accept(new_hit()["HITId"])
    request = urllib.request.Request(
        f"{server.frames_url}/mturk/externalSubmit{query.format(assignment)}",
        body.format(assignment).encode(),
        {"Content-Type": kind, "Origin": "https://lab.example"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        assert reply.headers["Access-Control-Allow-Origin"] == "https://lab.example"
    answer = mturk.get_assignment(AssignmentId=assignment)["Assignment"]["Answer"]
    found = re.findall("<QuestionIdentifier>(.*?)</QuestionIdentifier><FreeText>(.*?)<", answer)
    assert sorted(found) == [("a", "1"), ("b", "2")]


def test_X45_a_script_that_asks_by_get_is_told_that_nothing_was_stored(
    mturk: Any, new_hit: Any, person: Any, server: Any
) -> None:
    assignment = person().accept(new_hit()["HITId"])
    address = f"{server.url}/mturk/externalSubmit?assignmentId={assignment}&a=1"
    asked = urllib.request.Request(address, headers={"Sec-Fetch-Dest": "empty"})
    with pytest.raises(urllib.error.HTTPError, match="405") as refused:
        urllib.request.urlopen(asked, timeout=PATIENCE)
    assert "by POST" in refused.value.read().decode()
    assert mturk.list_assignments_for_hit(HITId=mturk.list_hits()["HITs"][0]["HITId"])["NumResults"] == 0


@pytest.mark.parametrize(
    ("query", "words"),
    [("", "has no assignmentId"), ("?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&a=1", "was a preview")],
)
def test_an_address_that_belongs_to_no_work_says_so(query: str, words: str, person: Any) -> None:
    page = person().get(f"/mturk/externalSubmit{query}")
    assert page.status == 400
    assert words in page.text


@pytest.mark.browser
@pytest.mark.parametrize(
    "form", [BY_POST, 'method="get" action="https://workersandbox.mturk.com/mturk/externalSubmit"', ""]
)
def test_a_page_of_that_time_works_in_a_browser(
    form: str, mturk: Any, new_hit: Any, server: Any, chromium: Browser
) -> None:
    hit = new_hit(Question=page_of(form))
    page = profile(chromium).new_page()
    page.goto(f"{server.url}/hits/{hit['HITId']}")
    page.get_by_label("Name").fill("Ada")
    page.get_by_role("button", name="Sign in").press("Enter")
    frame = page.frame_locator("iframe")
    assert frame.get_by_role("button", name="accept the HIT").is_disabled()
    page.get_by_role("button", name="Accept").click()
    frame.get_by_label("Words").fill("ä & b")
    frame.get_by_role("button", name="Send").click()
    frame.get_by_role("heading", name="Thank you").wait_for()
    (done,) = mturk.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    assert "<FreeText>ä &amp; b</FreeText>" in done["Answer"]
    page.context.close()
