"""QuestionForm on the worker site: shown, checked, and answered in MTurk's XML."""

from __future__ import annotations

import html as entities
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from xml.etree import ElementTree

import pytest

from humaneval import patterns
from tests.integration.market.asking import refusal
from tests.integration.market.forms import form, question, selection, text_answer
from tests.pace import PATIENCE

NewHit = Callable[..., dict[str, Any]]
SignIn = Callable[..., Any]
NUMBER = text_answer('<IsNumeric minValue="18" maxValue="120"/>')


def answers(mturk: Any, assignment_id: str) -> list[list[tuple[str, str]]]:
    """The stored answers: every element of each question, and its text."""
    root = ElementTree.fromstring(mturk.get_assignment(AssignmentId=assignment_id)["Assignment"]["Answer"])
    return [[(part.tag.rpartition("}")[2], part.text or "") for part in answer] for answer in root]


def send(worker: Any, assignment_id: str, *fields: tuple[str, str]) -> Any:
    """Send the form of an accepted HIT."""
    return worker.post_fields(f"/assignments/{assignment_id}/answer", [("csrf", worker.csrf()), *fields])


def test_every_kind_of_answer_is_stored_as_mturk_stored_it(
    mturk: Any, new_hit: NewHit, person: SignIn
) -> None:
    asked = form(
        question("words", text_answer(), required=True),
        question("age", NUMBER),
        question("one", selection("cat", "dog", other="<OtherSelection/>")),
        question("several", selection("red", "green", "blue", style="checkbox", most=2)),
        question("other", selection("en", "fr", style="combobox", other="<OtherSelection/>")),
        question("left out", selection("a", "b", style="dropdown")),
    )
    hit, worker = new_hit(Question=asked), person()
    assignment_id = worker.accept(hit["HITId"])
    reply = send(
        worker,
        assignment_id,
        ("q0", "]]> <b>&amp;</b> \U0001f600\r\ntwo"),
        ("q1", "42"),
        ("q2", "1"),
        ("q2-other", "left standing"),
        ("q3", "2"),
        ("q3", "0"),
        ("q4", ""),
        ("q4-other", "Welsh"),
        ("q5", ""),
        ("unknown", "x"),
    )
    assert (reply.status, reply.headers["Location"]) == (303, f"/assignments/{assignment_id}")
    assert answers(mturk, assignment_id) == [
        [("QuestionIdentifier", "words"), ("FreeText", "]]> <b>&amp;</b> \U0001f600\ntwo")],
        [("QuestionIdentifier", "age"), ("FreeText", "42")],
        [("QuestionIdentifier", "one"), ("SelectionIdentifier", "dog")],
        [("QuestionIdentifier", "several"), ("SelectionIdentifier", "red"), ("SelectionIdentifier", "blue")],
        [("QuestionIdentifier", "other"), ("OtherSelectionText", "Welsh")],
        [("QuestionIdentifier", "left out")],
    ]
    assert send(worker, assignment_id, ("q0", "again")).status == 303, "a second time changes nothing"
    assert answers(mturk, assignment_id)[1][1] == ("FreeText", "42")
    assert "waiting for review" in worker.get(f"/assignments/{assignment_id}").text


@pytest.mark.parametrize(
    ("answer", "fields", "words"),
    [
        (text_answer(), [("q0", "  ")], "Write an answer."),
        (NUMBER, [("q0", "twelve")], "Write a number"),
        (NUMBER, [("q0", "17.5")], "at least 18"),
        (NUMBER, [("q0", "121")], "at most 120"),
        (
            text_answer('<Length minLength="3" maxLength="5"/>'),
            [("q0", "ab")],
            "at least 3 characters; you have 2",
        ),
        (text_answer('<Length minLength="3" maxLength="5"/>'), [("q0", "abcdef")], "at most 5 characters"),
        (
            text_answer('<AnswerFormatRegex regex="^[a-z]+$" errorText="Small letters &lt;only&gt;"/>'),
            [("q0", "A1")],
            "Small letters <only>",
        ),
        (text_answer('<AnswerFormatRegex regex="^[a-z]+$"/>'), [("q0", "1")], "the required format"),
        (selection("a", "b"), [], "Choose one."),
        (selection("a", "b"), [("q0", "7")], "Choose one."),
        (selection("a", "b", "c", style="checkbox", least=2, most=2), [("q0", "0")], "Choose 2."),
        (
            selection("a", "b", "c", style="checkbox", most=2),
            [("q0", "0"), ("q0", "1"), ("q0", "2")],
            "Choose from 1 to 2.",
        ),
        (selection("a", other="<OtherSelection/>"), [("q0", "other")], "Write your other answer."),
        (
            selection(
                "a",
                other='<OtherSelection><Constraints><Length maxLength="2"/></Constraints></OtherSelection>',
            ),
            [("q0", "other"), ("q0-other", "abc")],
            "at most 2 characters",
        ),
    ],
)
def test_an_answer_that_is_not_as_asked_comes_back_with_what_to_mend_and_nothing_is_stored(
    mturk: Any,
    new_hit: NewHit,
    person: SignIn,
    answer: str,
    fields: list[tuple[str, str]],
    words: str,
) -> None:
    asked = form(question("first", answer, required=True), question("second", text_answer()))
    hit, worker = new_hit(Question=asked), person()
    assignment_id = worker.accept(hit["HITId"])
    reply = send(worker, assignment_id, *fields, ("q1", "kept <words>"))
    assert reply.status == 400
    page = entities.unescape(reply.text)
    assert words in page
    assert 'href="#q0"' in page
    assert 'id="q0"' in page
    assert "kept <words>" in page, "what was right is not lost"
    assert "<title>Error: " in page
    assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["NumberOfAssignmentsPending"] == 1


def test_a_regex_may_ignore_case_and_an_optional_answer_may_be_left_out(
    new_hit: NewHit, person: SignIn
) -> None:
    asked = form(
        question("code", text_answer('<AnswerFormatRegex regex="^ab$" flags="i"/>')),
        question("none", selection("a", "b", "c", style="checkbox", least=2, most=2)),
    )
    worker = person()
    assert send(worker, worker.accept(new_hit(Question=asked)["HITId"]), ("q0", "AB")).status == 303


@pytest.mark.parametrize(
    ("style", "most", "markup"),
    [
        ("radiobutton", 1, r'<input type="radio" name="q0"'),
        ("checkbox", 2, r'<input type="checkbox" name="q0"'),
        ("multichooser", 2, r'class="choices columns"'),
        ("dropdown", 1, r'<select id="q0" name="q0" aria-labelledby="[^"]*">'),
        ("list", 2, r'<select id="q0" [^>]*multiple size="2"'),
        ("list", 1, r'<select id="q0" [^>]*"[^>]* size="3"'),
        ("combobox", 1, r'name="q0-other"'),
    ],
)
def test_every_style_is_shown(new_hit: NewHit, person: SignIn, style: str, most: int, markup: str) -> None:
    other = "<OtherSelection/>" if style == "combobox" else ""
    asked = form(question("it", selection("yes", "no", style=style, most=most, other=other)))
    page = person().get(f"/hits/{new_hit(Question=asked)['HITId']}").text
    assert re.search(markup, page)


def test_content_is_shown_and_markup_in_texts_is_text(new_hit: NewHit, person: SignIn) -> None:
    overview = (
        "<Overview><Title>T &lt;b&gt;</Title><Text>one"
        " &lt;script&gt;</Text><List><ListItem>item</ListItem></List><Binary><MimeType><Type>image</Type><SubType>png</SubType></MimeType><DataURL>https://lab.example/a.png?x=1&amp;y=2</DataURL><AltText>a"
        " cat</AltText></Binary><FormattedContent><![CDATA[<p>See <a"
        " href='https://lab.example/'>this</a><br/>5 &lt; 6</p>]]></FormattedContent></Overview>"
    )
    hit = new_hit(Question=form(overview, question("it", text_answer())))
    reply = person().get(f"/hits/{hit['HITId']}")
    assert "T &lt;b&gt;" in reply.text
    assert "<script" not in reply.text
    assert "<li>item</li>" in reply.text
    assert 'src="https://lab.example/a.png?x=1&amp;y=2" alt="a cat"' in reply.text
    assert (
        '<p>See <a href="https://lab.example/" target="_blank" rel="noopener noreferrer">this</a><br>5 &lt;'
        " 6</p>" in reply.text
    )
    assert "disabled" in reply.text, "a preview takes no answers"
    policy = reply.headers["Content-Security-Policy"]
    assert "img-src 'self' data: https: http:;" in policy
    assert "default-src 'self'" in policy


@pytest.mark.parametrize(
    ("markup", "code"),
    [
        ("<script>alert(1)</script>", "XHTMLParseError"),
        ("<p onclick='x()'>a</p>", "XHTMLParseError"),
        ("<p style='position:fixed'>a</p>", "XHTMLParseError"),
        ("<form><input/></form>", "XHTMLParseError"),
        ("<iframe src='https://a.example/'/>", "XHTMLParseError"),
        ("<svg:svg xmlns:svg='http://www.w3.org/2000/svg'/>", "XHTMLParseError"),
        ("<p>not closed", "XHTMLParseError"),
        ("<p>&unknown;</p>", "XHTMLParseError"),
        ("<table background='https://a.example/x.png'/>", "XHTMLParseError"),
        ("<a href='javascript:alert(1)'>a</a>", "InvalidParameterValue"),
        ("<img src='data:image/png;base64,x' alt=''/>", "InvalidParameterValue"),
    ],
)
def test_formatted_content_that_could_do_harm_is_refused(new_hit: NewHit, markup: str, code: str) -> None:
    content = f"<FormattedContent><![CDATA[{markup}]]></FormattedContent>"
    assert refusal(new_hit, Question=form(question("it", text_answer(), content=content))) == code


@pytest.mark.parametrize(
    "xml",
    [
        form(),
        form(question("a", text_answer()), question("a", text_answer())),
        form(question("a", "")),
        form(question("a", "<OtherAnswer/>")),
        form(question("a", selection())),
        form(question("a", selection("x", "x"))),
        form(question("a", selection("x", style="wheel"))),
        form(question("a", selection("x", "y", least=2, most=1))),
        form(question("a", selection("x", most=5))),
        form(question("a", text_answer('<IsNumeric minValue="5" maxValue="4"/>'))),
        form(question("a", text_answer('<IsNumeric minValue="x"/>'))),
        form(question("a", text_answer('<AnswerFormatRegex regex="("/>'))),
        form(question("a", text_answer('<AnswerFormatRegex regex="a{99999999999999}"/>'))),
        form(question("a", text_answer(f'<AnswerFormatRegex regex="{"(" * 5000}{")" * 5000}"/>'))),
        form(question("a", text_answer('<Length maxLength="0"/>'))),
        form(question("a", text_answer('<Length minLength="-1"/>'))),
        form(
            question(
                "a",
                "<FileUploadAnswer><MinFileSizeInBytes>9</MinFileSizeInBytes>"
                "<MaxFileSizeInBytes>8</MaxFileSizeInBytes></FileUploadAnswer>",
            )
        ),
        form(question("a", text_answer(), content="<Text>See <b>this</b></Text>")),
        form(question("a", text_answer(), content="<FormattedContent><p>x</p></FormattedContent>")),
        form(question("a", text_answer("<IsNice/>"))),
        form(question("a", text_answer(rest="<NumberOfLinesSuggestion>many</NumberOfLinesSuggestion>"))),
        form(question("a", text_answer()).replace("true", "perhaps").replace("false", "perhaps")),
        form(question("a", text_answer(), content="<Application/>")),
        form(question("a", text_answer(), content="<Video/>")),
        form(question("a", text_answer()), "<Footer/>"),
        form(question("a", text_answer())).replace("<Question>", '<Question xmlns="urn:x">'),
        form(question("a", text_answer())).replace("2017-11-06", "latest"),
    ],
)
def test_a_form_of_the_wrong_make_is_refused(mturk: Any, new_hit: NewHit, xml: str) -> None:
    assert refusal(new_hit, Question=xml) == "InvalidParameterValue"
    assert mturk.list_hits()["NumResults"] == 0


def test_a_form_in_the_services_first_namespace_is_taken(new_hit: NewHit) -> None:
    xml = form(question("a", text_answer())).replace("2017-11-06", "2005-10-01")
    assert new_hit(Question=xml)["Question"] == xml


def test_nobody_answers_for_someone_else_or_after_the_time(
    new_hit: NewHit, person: SignIn, clock: Any
) -> None:
    hit = new_hit(Question=form(question("a", text_answer())))
    ada, grace = person("Ada"), person("Grace")
    assignment_id = ada.accept(hit["HITId"])
    assert send(grace, assignment_id, ("q0", "x")).status == 404
    assert ada.post(f"/assignments/{assignment_id}/answer", q0="x").status == 403
    bell = send(ada, assignment_id, ("q0", "bell \x07"))
    assert bell.status == 400
    assert "U+0007" in bell.text
    clock.pass_time(hours=1)
    late = send(ada, assignment_id, ("q0", "x"))
    assert late.headers["Location"] == f"/assignments/{assignment_id}"
    assert "ran out" in ada.get(f"/assignments/{assignment_id}").text


def test_C29_formatted_content_takes_tables_with_borders_and_named_characters(
    new_hit: NewHit, person: SignIn
) -> None:
    markup = (
        "<table border='1' cellpadding='2'><tr bgcolor='#eee'><td align='center'>&nbsp;</td>"
        "<td>&eacute; &lt;b&gt; &amp; &quot;</td></tr></table>"
    )
    content = f"<FormattedContent><![CDATA[{markup}]]></FormattedContent>"
    hit = new_hit(Question=form(question("it", text_answer(), content=content)))
    page = person().get(f"/hits/{hit['HITId']}").text
    assert '<table border="1" cellpadding="2"><tr bgcolor="#eee"><td align="center">\xa0</td>' in page
    assert "<td>é &lt;b&gt; &amp; &quot;</td>" in page


def test_XML_as_deep_as_no_page_is_gets_a_plain_refusal(new_hit: NewHit) -> None:
    deep = f"<FormattedContent><![CDATA[{'<b>' * 5000}{'</b>' * 5000}]]></FormattedContent>"
    asked = form(question("it", text_answer(), content=deep))
    assert refusal(new_hit, Question=asked) == "XHTMLParseError"
    assert refusal(new_hit, Question=f"{'<a>' * 9000}{'</a>' * 9000}") == "XMLParseError"
    level = f"<FormattedContent><![CDATA[{'<b>' * 90}x{'</b>' * 90}]]></FormattedContent>"
    new_hit(Question=form(question("it", text_answer(), content=level)))


def test_a_text_that_was_left_as_the_form_had_it_is_no_choice_beside_others(
    mturk: Any, new_hit: NewHit, person: SignIn
) -> None:
    other = "<OtherSelection><DefaultText>another one</DefaultText></OtherSelection>"
    asked = form(question("colours", selection("red", "green", style="checkbox", most=3, other=other)))
    hit, worker = new_hit(Question=asked, MaxAssignments=3), person()
    assignment_id = worker.accept(hit["HITId"])
    send(worker, assignment_id, ("q0", "0"), ("q0-other", "another one"))
    assert answers(mturk, assignment_id)[0][1:] == [("SelectionIdentifier", "red")]
    ticked, second = person("Grace"), [("q0", "0"), ("q0", "other"), ("q0-other", "another one")]
    assignment_id = ticked.accept(hit["HITId"])
    send(ticked, assignment_id, *second)
    assert answers(mturk, assignment_id)[0][2:] == [("OtherSelectionText", "another one")]


def test_an_answer_is_checked_as_it_is_stored_and_a_character_that_is_not_loses_nothing(
    new_hit: NewHit, person: SignIn
) -> None:
    lines = text_answer(
        '<AnswerFormatRegex regex="^a\\nb$"/>', "<NumberOfLinesSuggestion>2</NumberOfLinesSuggestion>"
    )
    hit, worker = new_hit(Question=form(question("x", lines), question("y", text_answer()))), person()
    assignment_id = worker.accept(hit["HITId"])
    bell = send(worker, assignment_id, ("q0", "a\r\nb"), ("q1", "bell \x07"))
    assert bell.status == 400
    assert 'href="#q1"' in bell.text
    assert "a\nb</textarea>" in bell.text.replace("\r\n", "\n"), "the other answer stays on the page"
    assert send(worker, assignment_id, ("q0", "a\r\nb"), ("q1", "bell")).status == 303


def test_a_file_with_an_odd_name_can_be_fetched(mturk: Any, new_hit: NewHit, person: SignIn) -> None:
    hit, worker = new_hit(Question=form(question("scan", "<FileUploadAnswer/>"))), person()
    assignment_id = worker.accept(hit["HITId"])
    name = "\"; filename*=UTF-8''a%0D%0AX-Bad:%201" + "b" * 300
    sent = worker.post_file(
        f"/assignments/{assignment_id}/answer", "q0", name, b"scanned", csrf=worker.csrf()
    )
    assert sent.status == 303, sent.text
    url = mturk.get_file_upload_url(AssignmentId=assignment_id, QuestionIdentifier="scan")["FileUploadURL"]
    reply = worker.get("/files/" + url.rpartition("/")[2])
    assert (reply.status, reply.text) == (200, "scanned")
    assert "X-Bad" not in reply.headers


def test_C07_what_comes_past_the_form_is_held_to_the_same_and_kept_as_the_form_keeps_it(
    mturk: Any, new_hit: NewHit, person: SignIn
) -> None:
    asked = form(
        question("age", NUMBER, required=True),
        question("pets", selection("cat", "dog", style="checkbox", most=3, other="<OtherSelection/>")),
    )
    worker = person()
    assignment_id = worker.accept(new_hit(Question=asked)["HITId"])
    for fields, words in [
        ({}, "Question 1: Write an answer."),
        ({"q0": "17"}, "Question 1: The number must be at least 18."),
        ({"q0": "42", "q1": "other"}, "Question 2: Write your other answer."),
        ({"age": "42"}, "no field &#39;age&#39;"),
        ({"q0": "42", "q1-other": "bell \x07"}, "U+0007"),
    ]:
        refused = worker.submit(assignment_id, **fields)
        assert (refused.status, words in refused.text) == (400, True), refused.text
    assert worker.submit(assignment_id, **{"q0": "42", "q1": "1", "q1-other": "a fish"}).status == 200
    assert answers(mturk, assignment_id) == [
        [("QuestionIdentifier", "age"), ("FreeText", "42")],
        [("QuestionIdentifier", "pets"), ("SelectionIdentifier", "dog"), ("OtherSelectionText", "a fish")],
    ]
    assert worker.submit(assignment_id, q0="50").status == 200, "a second time changes nothing"
    assert answers(mturk, assignment_id)[0][1] == ("FreeText", "42")


def test_a_file_that_comes_past_the_form_is_kept_too(mturk: Any, new_hit: NewHit, person: SignIn) -> None:
    worker = person()
    assignment_id = worker.accept(new_hit(Question=form(question("scan", "<FileUploadAnswer/>")))["HITId"])
    sent = worker.post_file("/mturk/externalSubmit", "q0", "a.txt", b"scanned", assignmentId=assignment_id)
    assert sent.status == 200, sent.text
    url = mturk.get_file_upload_url(AssignmentId=assignment_id, QuestionIdentifier="scan")["FileUploadURL"]
    assert worker.get("/files/" + url.rpartition("/")[2]).text == "scanned"


def test_the_worker_is_told_beforehand_what_an_answer_must_be(new_hit: NewHit, person: SignIn) -> None:
    asked = form(
        question("age", NUMBER, required=True),
        question("why", text_answer('<Length minLength="10"/>')),
        question("title", text_answer('<Length minLength="1" maxLength="2000"/>')),
        question("free", text_answer()),
        question("scan", "<FileUploadAnswer/>"),
    )
    worker = person()
    assignment_id = worker.accept(new_hit(Question=asked)["HITId"])
    page = worker.get(f"/assignments/{assignment_id}").text
    told = re.findall(r'<p class="hint" id="(q\d)-limits">([^<]+)</p>', page)
    assert told == [
        ("q0", "A number from 18 to 120."),
        ("q1", "Write at least 10 characters."),
        ("q2", "Write at most 2,000 characters."),
        ("q4", "A file of at most 2,000,000 bytes."),
    ]
    assert re.findall(r'aria-describedby="(q\d-limits)"', page) == [f"{name}-limits" for name, _ in told]
    again = send(worker, assignment_id)
    assert 'aria-describedby="q0-limits q0-fault"' in again.text
    assert "Choose the file again" in again.text


def endless(end: str = "") -> str:
    """A text whose pattern takes hours for forty letters and a sign."""
    return text_answer(rf'<AnswerFormatRegex regex="^(\w+\s?)+{end}$"/>')


def test_patterns_that_come_to_no_end_take_a_second_of_a_form_in_all_and_still_count_for_others(
    new_hit: NewHit, person: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "MOST_SECONDS", 0.5)
    hit = new_hit(Question=form(*(question(f"words{place}", endless(f"{place}")) for place in range(9))))
    worker, other = person(), person("Grace")
    assignment_id = worker.accept(hit["HITId"])
    sent = [(f"q{place}", "a" * 40 + "!") for place in range(9)]
    tried = list[float]()
    search = patterns._HELPER.search

    def noted(*asked: Any) -> Any:
        tried.append(asked[-1])
        return search(*asked)

    monkeypatch.setattr(patterns._HELPER, "search", noted)
    assert send(worker, assignment_id, *sent).status == 303, "it is no fault of the worker's"
    assert tried == [0.5], "the first has taken the time of all"
    again = send(other, other.accept(hit["HITId"]), *((f"q{place}", "?") for place in range(9)))
    assert again.text.count("does not have the required format") >= 9


@pytest.mark.parametrize("where", ["form", "frame", "test"])
def test_nobody_waits_while_patterns_are_tried(
    where: str, new_hit: NewHit, new_type: Callable[..., str], person: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "MOST_SECONDS", PATIENCE)
    asked, words = form(question("words", endless(where))), ("q0", "a" * 40 + "!")
    worker, other = person(), person("Grace")
    if where == "test":
        page = f"/qualifications/{new_type(Test=asked, TestDurationInSeconds=600)}"
        worker.post(f"{page}/ask", csrf=worker.csrf())
        fields, path = [("csrf", worker.csrf()), words], f"{page}/test"
    else:
        assignment_id = worker.accept(new_hit(Question=asked)["HITId"])
        fields, path = [("assignmentId", assignment_id), words], "/mturk/externalSubmit"
        if where == "form":
            fields, path = [("csrf", worker.csrf()), words], f"/assignments/{assignment_id}/answer"
    simple = new_hit()["HITId"]
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(worker.post_fields, path, fields)
        try:
            until = time.monotonic() + PATIENCE
            while not patterns.in_use() and time.monotonic() < until:
                time.sleep(0.01)
            other.do(simple)
            assert not waiting.done()
        finally:
            patterns.stop()
        assert waiting.result().status in (200, 303)
