"""The marketplace's pure parts: questions, answers, texts, requirements."""

from __future__ import annotations

import doctest
from datetime import UTC, datetime, timedelta
from types import ModuleType
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humaneval.market import account, wording
from humaneval.market.protocol import addresses, characters, xml
from humaneval.market.protocol.answer_xml import Field, UnusableAnswerError, answer_xml
from humaneval.market.protocol.refusals import RefusedError
from humaneval.market.protocol.shapes import read_times, service_model, write_times
from humaneval.market.qualifications.requirements import NUMBER_APPROVED, PERCENT_APPROVED, Record, unmet
from humaneval.market.questions.question import (
    EXTERNAL_SCHEMA,
    HTML_SCHEMA,
    ExternalQuestion,
    HtmlQuestion,
    read_question,
)
from humaneval.market.security import safe_path
from humaneval.market.tables.database import Mode
from humaneval.market.wording import time_left

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def external(url: str, height: str = "400", schema: str = EXTERNAL_SCHEMA) -> str:
    root = ElementTree.Element("ExternalQuestion", xmlns=schema)
    ElementTree.SubElement(root, "ExternalURL").text = url
    ElementTree.SubElement(root, "FrameHeight").text = height
    return ElementTree.tostring(root, encoding="unicode")


@pytest.mark.parametrize("module", [account, addresses, characters, wording, xml])
def test_the_examples_in_the_docstrings_hold(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_C29_an_external_question_gives_its_address_with_everything_in_it() -> None:
    question = read_question(external("https://a.example:8443/q?a=1&b=%26<>\"'", "0"), Mode.SANDBOX)
    assert isinstance(question, ExternalQuestion)
    assert question.address(hitId="3 &") == "https://a.example:8443/q?a=1&b=%26<>\"'&hitId=3+%26"
    assert (question.origin, question.frame_height) == ("https://a.example:8443", 0)


def test_the_content_of_an_html_question_may_have_a_doctype_and_the_xml_may_not() -> None:
    xml = (
        f'<HTMLQuestion xmlns="{HTML_SCHEMA}"><HTMLContent><![CDATA[<!DOCTYPE'
        " html><p>&amp;]]></HTMLContent><FrameHeight>9</FrameHeight></HTMLQuestion>"
    )
    assert read_question(xml, Mode.LOCAL) == HtmlQuestion("<!DOCTYPE html><p>&amp;", 9)
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;">]>'
    with pytest.raises(RefusedError, match="document type declaration"):
        read_question(bomb + xml, Mode.LOCAL)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("javascript:alert(1)", "must begin with https"),
        ("//a.example/", "must begin with https"),
        ("https://", "must begin with https"),
        ("https://user@a.example/", "must begin with https"),
        ("https://a.example; script-src */", "spaces"),
        ("https://a.example;script-src/", "must begin with https"),
        ("https://a.example:x/", "not an address"),
        ("https://a.example/a b", "spaces"),
        ("http://a.example/", "must use https"),
    ],
)
def test_an_address_that_is_not_a_plain_https_one_is_refused(url: str, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        read_question(external(url), Mode.SANDBOX)


@pytest.mark.parametrize("url", ["http://localhost:5000/q", "http://127.0.0.1/", "http://[::1]:80/"])
def test_http_will_do_for_this_machine(url: str) -> None:
    assert isinstance(read_question(external(url), Mode.SANDBOX), ExternalQuestion)


def test_http_will_do_anywhere_in_local_mode() -> None:
    assert isinstance(read_question(external("http://lab.example/"), Mode.LOCAL), ExternalQuestion)


@pytest.mark.parametrize(
    ("xml", "why"),
    [
        (external("https://a.example/", "tall"), "FrameHeight"),
        (external("https://a.example/", "-1"), "FrameHeight"),
        (external("https://a.example/", ""), "no FrameHeight"),
        (external("", "1"), "no ExternalURL"),
        (external("https://a.example/", schema="urn:other"), "must be in the namespace"),
        (
            external("https://a.example/").replace(
                "<FrameHeight>", "<FrameHeight>1</FrameHeight><FrameHeight>"
            ),
            "There must be one",
        ),
        ('<QuestionForm xmlns="urn:x"/>', "must be in the namespace"),
        ("<other/>", "root is other"),
        ("", "not well-formed"),
    ],
)
def test_a_question_of_the_wrong_form_is_refused_with_what_is_wrong(xml: str, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        read_question(xml, Mode.LOCAL)


_TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"))


@given(st.lists(st.tuples(_TEXT, _TEXT)))
def test_C29_any_answer_that_xml_can_carry_comes_back_as_it_was(fields: list[tuple[str, str]]) -> None:
    root = ElementTree.fromstring(answer_xml(Field(*field) for field in fields))
    assert [(answer[0].text or "", answer[1].text or "") for answer in root] == fields


@pytest.mark.parametrize("bad", ["\x00", "\x0b", "\ufffe", "\ud800"])
def test_an_answer_that_xml_cannot_carry_is_refused(bad: str) -> None:
    with pytest.raises(UnusableAnswerError):
        answer_xml([Field("a", bad)])


@pytest.mark.parametrize(
    ("comparator", "values", "met"),
    [
        ("LessThan", [95], False),
        ("LessThanOrEqualTo", [95], True),
        ("GreaterThan", [94], True),
        ("GreaterThanOrEqualTo", [96], False),
        ("EqualTo", [95], True),
        ("NotEqualTo", [95], False),
        ("In", [1, 95], True),
        ("NotIn", [1, 95], False),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
    ],
)
def test_every_comparator_compares(comparator: str, values: list[int], met: bool) -> None:
    for kind, record in ((PERCENT_APPROVED, Record(95, 0, "")), (NUMBER_APPROVED, Record(0, 95, ""))):
        requirement = {"QualificationTypeId": kind, "Comparator": comparator, "IntegerValues": values}
        assert (not unmet([requirement], record, "accept")) is met
        assert not unmet([requirement], record, "preview"), (
            "only accepting is guarded unless more is asked for"
        )


@given(st.datetimes(datetime(1970, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC)))
def test_a_time_goes_over_the_wire_to_the_millisecond(moment: datetime) -> None:
    shape = service_model().shape_for("Timestamp")
    back = read_times(write_times(moment), shape)
    assert abs(back - moment) <= timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(2699, "45 minutes"), (599, "9 minutes"), (60, "1 minute"), (59, "59 seconds"), (-5, "0 seconds")],
)
def test_time_left_is_told_in_words(seconds: int, words: str) -> None:
    assert time_left(NOON + timedelta(seconds=seconds), NOON) == words


@pytest.mark.parametrize("path", ["//evil.example", "https://evil.example", "/\\evil", "", "/a\nb"])
def test_no_redirect_leaves_the_site(path: str) -> None:
    assert safe_path(path) == "/hits"
