"""Panels as tables of values: what each is given, what people take back, what a panel's reply means."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from humaneval import patterns
from humaneval.crowd.link import panel_address
from humaneval.crowd.panel_list_file import read_list
from humaneval.crowd.panel_postbacks import read_reply
from humaneval.crowd.panels import (
    Ended,
    HandBack,
    Person,
    handed_back,
    known_as,
    postback_address,
    with_parameter,
)
from humaneval.errors import InputError, PlatformError, SettingsError
from humaneval.resources import bundled
from humaneval.study.contradictions import doubts
from humaneval.study.file import StudyFile, read_study_file
from humaneval.study.panels import known_panels

LINK = "https://lab.example/take/f1"
ANN = Person("12345", "S-1", {})


def study(works: dict[str, Any] | None = None, **link: Any) -> StudyFile:
    """A study file with these settings of [link], and of [panel] in `works`."""
    return read_study_file(None, overrides={"link": link, "panel": works or {}}).settings


ADDRESSES = {
    "": f"{LINK}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&SESSION_ID={{{{%SESSION_ID%}}}}",
    "sona": f"{LINK}?survey_code=%SURVEY_CODE%",
    "microworkers": f"{LINK}?MW_ID={{{{MW_ID}}}}&SLOT_ID={{{{SLOT_ID}}}}&CAMP_ID={{{{CAMP_ID}}}}"
    "&RAND_KEY={{RAND_KEY}}",
    "cloudresearch": LINK,
    "clickworker": LINK,
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_P35_each_panel_is_given_an_address_with_its_own_names(name: str) -> None:
    assert panel_address(study(panel=name, completion_code="C1"), LINK) == ADDRESSES[name]


def test_P34_an_address_that_has_a_query_gets_the_parameters_behind_it() -> None:
    address = panel_address(study(), f"{LINK}?lang=de", worker="a", session="b")
    assert address == f"{LINK}?lang=de&PROLIFIC_PID=a&SESSION_ID=b"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://h.example/x", "https://h.example/x?id=7%267"),
        ("https://h.example/x?", "https://h.example/x?id=7%267"),
        ("https://h.example/x?a=1", "https://h.example/x?a=1&id=7%267"),
        ("https://h.example/x?id=XXXX&a=%C3%A4+b", "https://h.example/x?id=7%267&a=%C3%A4+b"),
        ("https://h.example/x?id=1&a&id=2#top", "https://h.example/x?id=7%267&a#top"),
        ("https://h.example?a=1&&id", "https://h.example?a=1&id=7%267"),
    ],
)
def test_P34_the_persons_id_goes_into_any_address_once_and_encoded(address: str, expected: str) -> None:
    assert with_parameter(address, "id", "7&7") == expected


def test_P33_sonas_address_goes_back_with_the_code_of_the_person() -> None:
    url = "https://uni.sona-systems.com/webstudy_credit.aspx?experiment_id=4&credit_token=ab&survey_code=XXXX"
    back = handed_back(study(panel="sona", completion_url=url), Ended.COMPLETE, ANN)
    assert back.address == url.replace("XXXX", "12345")


def test_P31_microworkers_code_is_of_this_campaign_and_this_person_alone() -> None:
    file, secret = study(panel="microworkers"), "s3cret"

    def code(worker: str, campaign: str) -> str:
        person = Person(worker, "S", {"CAMP_ID": campaign})
        return handed_back(file, Ended.COMPLETE, person, secret).code

    assert code("w1", "c1") == "mw-" + hashlib.sha256(b"c1w1s3cret").hexdigest()
    assert len({code("w1", "c1"), code("w1", "c2"), code("w2", "c1")}) == 3
    with pytest.raises(SettingsError, match="secret is not set") as caught:
        handed_back(file, Ended.COMPLETE, Person("w1", "S", {"CAMP_ID": "c1"}))
    assert "HUMANEVAL_PANEL_SECRET" in caught.value.hint


def test_P13_every_outcome_has_its_own_code() -> None:
    codes = {"failed_control": "F", "screened_out": "S", "quota_full": "Q", "no_consent": "N"}
    file = study(panel="prolific", completion_code="C", **codes)
    backs = {ended: handed_back(file, ended, ANN) for ended in Ended}
    assert {ended.value: back.code for ended, back in backs.items()} == {"complete": "C", **codes}
    for back in backs.values():
        assert back.address == f"https://app.prolific.com/submissions/complete?cc={back.code}"


def test_people_who_are_sent_away_never_get_what_people_get_who_are_done() -> None:
    file = study(panel="cloudresearch", completion_code="C1")
    assert handed_back(file, Ended.COMPLETE, ANN).address.endswith("/project/C1/complete")
    for ended in (Ended.SCREENED_OUT, Ended.QUOTA_FULL, Ended.NO_CONSENT):
        assert handed_back(file, ended, ANN) == HandBack(ended)
    fixed = study(completion_url="https://p.example/done", screened_out="OUT")
    assert handed_back(fixed, Ended.SCREENED_OUT, ANN) == HandBack(Ended.SCREENED_OUT, "OUT")


def test_an_outcome_may_have_an_address_of_its_own_with_the_ids_that_came() -> None:
    file = study(
        {"extra_parameters": {"AID": "[AID]"}},
        worker_parameter="PID",
        session_parameter="",
        quota_full="https://cint.example/end?status=3&id={worker}&aid={AID}",
    )
    person = Person("a/b", "", {"AID": "ü"})
    back = handed_back(file, Ended.QUOTA_FULL, person)
    assert back.address == "https://cint.example/end?status=3&id=a%2Fb&aid=%C3%BC"


def test_P16_no_table_names_an_address_that_prolific_has_left() -> None:
    text = (bundled("bundled") / "panels.toml").read_text(encoding="utf-8")
    assert not re.search(r"prolific\.co\b(?!m)", text)
    assert "app.prolific.com" in text


@pytest.mark.parametrize("name", known_panels())
def test_every_table_of_a_panel_makes_a_study_file_that_can_be_read(name: str) -> None:
    table = known_panels()[name]
    assert table["title"]
    assert table["notes"]
    file = study(panel=name, completion_code="C1")
    for section in ("link", "panel"):
        stored = getattr(file, section).model_dump()
        for setting, value in table.get(section, {}).items():
            assert stored[setting] == ("C1" if setting == "completion_code" else value)
    assert StudyFile.model_validate(file.model_dump(mode="json")) == file


def test_what_the_study_file_says_itself_comes_before_the_table() -> None:
    file = study({"id_pattern": "[0-9]{5}"}, panel="sona", worker_parameter="id")
    assert (file.link.worker_parameter, file.link.session_parameter) == ("id", "")
    assert (file.panel.id_pattern, file.panel.postback_granted) == ("[0-9]{5}", "credit_status=G")


def test_a_study_made_before_there_were_panels_keeps_its_hash() -> None:
    file = study()
    values = file.model_dump(mode="json")
    del values["panel"]
    for name in ("panel", "failed_control", "screened_out", "quota_full", "no_consent", "postback_url"):
        del values["link"][name]
    assert StudyFile.model_validate(values).hash == file.hash
    assert study(panel="sona").hash != study().hash


REFUSED = [
    ({}, {"panel": "sonna"}, 'there is no panel "sonna"; there are prolific, sona'),
    (
        {},
        {"completion_url": "https://p.example/?id={id}"},
        r"completion_url has \{id\}.* may have: \{worker\}",
    ),
    ({}, {"completion_url": "https://p.example/?c={code}"}, "completion_code is empty"),
    ({}, {"completion_url": "https://{worker}.example/"}, "link.completion_url: does not match"),
    ({}, {"completion_url": "https://p.example/?s={secret}"}, r"has \{secret\}"),
    ({}, {"completion_code": "mw-{sha256}"}, r"completion_code has \{sha256\}"),
    ({}, {"session_parameter": "", "quota_full": "https://p.example/{session}"}, r"has \{session\}"),
    ({}, {"completion_code": "C", "screened_out": "C"}, "the panel would pay them alike"),
    ({}, {"quota_full": "https://"}, "no address that a browser can open"),
    ({"id_pattern": "["}, {}, "panel.id_pattern: is no regular expression"),
    ({"postback_granted": "yes"}, {}, "panel.postback_granted: does not match"),
]


@pytest.mark.parametrize(("panel", "link", "complaint"), REFUSED)
def test_settings_of_a_panel_that_cannot_be_meant_are_refused(
    panel: dict[str, Any], link: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(SettingsError, match=complaint):
        read_study_file(None, overrides={"link": link, "panel": panel})


def test_a_code_for_who_misses_the_control_needs_a_rule_that_excludes_them() -> None:
    overrides = {"link": {"failed_control": "F"}, "exclusions": {"missed_control": "none"}}
    with pytest.raises(SettingsError, match=r"link\.failed_control .*exclusions\.missed_control"):
        read_study_file(None, overrides=overrides)


def test_a_secret_in_the_study_file_and_a_panel_that_credits_nobody_are_doubted() -> None:
    url = "https://uni.example/services/SonaAPI.svc/WebstudyCredit?experiment_id=4&credit_token="
    assert "HUMANEVAL_PANEL_SECRET" in " ".join(doubts(study(postback_url=f"{url}abc")))
    assert not doubts(study(panel="sona", postback_url=f"{url}{{secret}}"))
    assert "nobody is credited" in " ".join(doubts(study(panel="sona")))


def sona_reply(credit: str = "G", error: str = "") -> str:
    errors = f"<a:Error><a:Message>{error}</a:Message></a:Error>" if error else ""
    return (
        '<?xml version="1.0"?><WebstudyCreditResponse xmlns="urn:x" xmlns:a="urn:a">'
        f"<Errors>{errors}</Errors><Result><a:credit_status>{credit}</a:credit_status></Result>"
        "</WebstudyCreditResponse>"
    )


SONA = study(panel="sona", postback_url="https://uni.example/credit?credit_token={secret}&survey_code=XXXX")


def test_sonas_address_for_the_server_holds_token_and_code() -> None:
    assert (
        postback_address(SONA, ANN, "t&k")
        == "https://uni.example/credit?credit_token=t%26k&survey_code=12345"
    )


def test_only_the_status_of_the_credit_says_that_it_is_granted() -> None:
    assert "credit_status: G" in read_reply(SONA, 200, sona_reply(), [])
    assert read_reply(SONA, 200, sona_reply("", "Credit was already granted"), []).startswith("before: ")


@pytest.mark.parametrize(
    ("status", "text", "sure"),
    [
        (200, sona_reply("", "The survey code is unknown"), True),
        (200, sona_reply("N"), True),
        (200, "<html><body>Please log in<br></body></html>", False),
        (200, "", False),
        (200, '<!DOCTYPE x [<!ENTITY a "G">]><credit_status>&a;</credit_status>', False),
        (302, "", True),
        (404, "not here", True),
        (500, sona_reply(), False),
    ],
)
def test_http_200_is_no_yes_and_only_a_clear_no_is_a_no(status: int, text: str, sure: bool) -> None:
    with pytest.raises(PlatformError) as caught:
        read_reply(SONA, status, text, [])
    assert caught.value.nothing_done == sure


def test_a_pattern_that_comes_to_no_end_says_nothing_of_a_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MOST_SECONDS", 0.5)
    slow = study({"postback_already": "([a-z]+ ?)+!"}, postback_url="https://p.example/done?id={worker}")
    with pytest.raises(PlatformError, match="refuses the call"):
        read_reply(slow, 400, "a" * 100, [])


def test_what_a_panel_says_is_kept_without_the_persons_code_and_the_token() -> None:
    with pytest.raises(PlatformError, match="survey code … is unknown") as caught:
        read_reply(SONA, 200, sona_reply("", "survey code 12345 is unknown, token T0KEN"), ["12345", "T0KEN"])
    assert "T0KEN" not in caught.value.message


@pytest.mark.parametrize(
    "written",
    ["leak@Two/=", "leak%40Two%2F%3D", "leak%2540two%252f%253d", "leak&#64;Two&sol;=", r"leak\u0040Two\/="],
)
def test_a_persons_id_is_hidden_in_a_reply_however_pages_write_it(written: str) -> None:
    for page in (f"no credit for {written}", "." * 294 + f" {written}", sona_reply("", written)):
        with pytest.raises(PlatformError) as caught:
            read_reply(SONA, 200, page, ["leak@Two/="])
        assert "leak" not in caught.value.message


def test_a_panel_without_an_element_to_look_at_says_yes_with_its_status() -> None:
    plain = study(postback_url="https://p.example/done?id={worker}")
    assert read_reply(plain, 204, "", []) == "HTTP 204"
    with pytest.raises(PlatformError):
        read_reply(plain, 400, "no", [])


def test_P27_columns_are_found_by_their_names_however_the_panel_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("\ufeffState;PARTICIPANT_ID;x\nok;a;1\nreturned;b\n;;\n", encoding="utf-8")
    file = study({"list_outcome": "State", "list_done": "ok"}, panel="cloudresearch", completion_code="C")
    found = read_list(path, file)
    assert [(each.line, each.worker, each.is_done) for each in found.lines] == [
        (2, "a", True),
        (3, "b", False),
    ]
    assert not found.has_codes


def test_P27_a_list_without_the_column_of_ids_is_refused_with_the_columns_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("Name,Code\nAnn,1\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no column 'PROLIFIC_PID'; it has: Name, Code") as caught:
        read_list(path, study())
    assert "panel.list_worker" in caught.value.hint


def test_an_outcome_at_which_list_done_comes_to_no_end_is_told_and_not_done(tmp_path: Path) -> None:
    file = study(
        {"list_outcome": "State", "list_done": "ok|(a+)+b"}, panel="cloudresearch", completion_code="C"
    )
    path = tmp_path / "list.csv"
    path.write_text(f"participantId,State\nA,OK\nB,{'a' * 60}\n", encoding="utf-8")
    found = read_list(path, file)
    assert [(line.worker, line.is_done) for line in found.lines] == [("A", True), ("B", False)]
    assert "panel.list_done came to no end at" in found.notes[-1]


def test_C40_whoever_excludes_studies_by_a_panel_that_knows_nobody_again_reads_so() -> None:
    asked = {"link": {"panel": "sona", "completion_url": "https://sona.example/c"}}
    for participants, told in (({}, 0), ({"exclude_studies": ["pilot"]}, 1)):
        file = read_study_file(None, overrides={**asked, "participants": participants}).settings
        assert sum("exclude_studies keeps nobody out" in each for each in doubts(file)) == told
    assert known_as(file, 3, "12345") == "study 3 12345"
    assert known_as(study(), 3, "12345") == "12345"
