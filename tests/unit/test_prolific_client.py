"""What leaves for Prolific, and what is made of its answers, whatever shape they have."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from sqlalchemy import create_engine

from humaneval import __version__
from humaneval.crowd.endpoints import prolific
from humaneval.crowd.platform import Offer, Participants, Qualified
from humaneval.crowd.prolific.account import Account
from humaneval.crowd.prolific.advice import account_lines
from humaneval.crowd.prolific.client import ProlificClient
from humaneval.crowd.prolific.completion_codes import OUTCOMES, codes_from
from humaneval.crowd.prolific.draft import body, refuse, terms_of
from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.prolific.replies import reason_in
from humaneval.crowd.prolific.submission import session_of
from humaneval.errors import PlatformError, SettingsError, UsageError
from tests.unit.recording import Answers, recording

TOKEN = "t0ken-of-nobody"


@pytest.fixture
def server() -> Iterator[Answers]:
    with recording() as answers:
        yield answers


@pytest.fixture
def client(server: Answers) -> ProlificClient:
    return ProlificClient(server.url, TOKEN, wait=lambda seconds: None)


def offer(**changed: Any) -> Offer:
    given = {
        "key": "fKEY",
        "title": "Pick the sentence",
        "description": "Read & mark <it>.",
        "keywords": (),
        "reward": Decimal("1.50"),
        "assignments": 30,
        "assignment_seconds": 29 * 60,
        "lifetime_seconds": 0,
        "auto_approval_seconds": 0,
        "form_url": "https://forms.example/prolific/fKEY",
        "expected_minutes": 10,
        "codes": {outcome: outcome[:8] for outcome in OUTCOMES},
    }
    return Offer(**{**given, **changed})


def page(ids: list[str], **more: Any) -> dict[str, Any]:
    return {"results": [{"id": each} for each in ids], **more}


def test_a_call_bears_the_token_and_its_body_as_json(client: ProlificClient, server: Answers) -> None:
    server.to("POST", "/submissions/S1/transition/", {"id": "S1"})
    client.send("approve", "/submissions/S1/transition/", {"action": "APPROVE"})
    (seen,) = server.seen
    assert (seen.method, seen.path) == ("POST", "/api/v1/submissions/S1/transition/")
    assert seen.headers["Authorization"] == f"Token {TOKEN}"
    assert seen.headers["Content-Type"] == "application/json"
    assert seen.headers["Referer"] == f"humaneval-toolkit/{__version__}"
    assert seen.body == {"action": "APPROVE"}


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 200, 250])
@pytest.mark.parametrize("style", ["links", "count", "nothing"])
def test_P02_every_page_is_read_and_none_past_the_last(
    client: ProlificClient, server: Answers, count: int, style: str
) -> None:
    ids = [f"s{number}" for number in range(count)]
    pages = max(1, -(-count // 100))
    for number in range(1, pages + 1):
        more: dict[str, Any] = {}
        if style == "links":
            following = f"{server.url}/api/v1/submissions/?study=X&page={number + 1}&page_size=100"
            more["_links"] = {"next": {"href": following if number < pages else None}}
        if style != "nothing":
            more["meta"] = {"count": count}
        server.to(
            "GET",
            f"/submissions/?page={number}&page_size=100&study=X",
            page(ids[(number - 1) * 100 : number * 100], **more),
        )
    found = [each["id"] for each in client.pages("list", "/submissions/", {"study": "X"})]
    assert found == ids
    past = pages + 1 if style == "nothing" and count in (99, 100, 200) else pages
    assert len(server.seen) == past  # only if nothing says where the end is, the page after it is asked for


@pytest.mark.parametrize("count", [19, 20, 45, 60])
@pytest.mark.parametrize("past", ["empty", "missing", "again"])
def test_P02_a_list_whose_pages_are_shorter_than_asked_for_is_read_to_the_end(
    client: ProlificClient, server: Answers, count: int, past: str
) -> None:
    ids = [f"s{number}" for number in range(count)]
    for start in range(0, count, 20):
        some = page(ids[start : start + 20])
        server.to("GET", f"/participant-groups/?limit=100&offset={start}&workspace_id=W", some)
        server.to("GET", f"/projects/P/studies/?page={start // 20 + 1}&page_size=100", some)
    if past != "missing":
        after = page([]) if past == "empty" else page(ids[-20:])
        server.to("GET", f"/projects/P/studies/?page={-(-count // 20) + 1}&page_size=100", after)
    server.to("GET", f"/participant-groups/?limit=100&offset={count}&workspace_id=W", page([]))
    groups = client.by_offset("list groups", "/participant-groups/", workspace_id="W")
    assert [each["id"] for each in groups] == ids
    assert [each["id"] for each in client.pages("list studies", "/projects/P/studies/")] == ids


def test_P02_a_list_that_ignores_the_offset_ends(client: ProlificClient, server: Answers) -> None:
    server.to("GET", "/workspaces/", page([f"w{number}" for number in range(30)]))
    assert len(list(client.by_offset("list workspaces", "/workspaces/"))) == 30


def test_P02_a_list_that_is_shorter_than_its_count_is_an_error(
    client: ProlificClient, server: Answers
) -> None:
    server.to("GET", "/submissions/", page(["a", "b"], meta={"count": 3}, _links={"next": {"href": None}}))
    with pytest.raises(PlatformError, match="counts 3 and lists 2"):
        list(client.pages("list", "/submissions/"))


def test_P02_a_list_that_changes_while_it_is_read_loses_nobody(
    client: ProlificClient, server: Answers
) -> None:
    ids = [f"s{number}" for number in range(150)]
    moved = [*ids[1:], ids[0]]  # somebody begins late, and stands last from then on
    first, second = page(ids[:100], meta={"count": 150}), page(moved[100:], meta={"count": 150})
    server.to("GET", "/submissions/?page=1&page_size=100", first, page(moved[:100], meta={"count": 150}))
    server.to("GET", "/submissions/?page=2&page_size=100", second)
    found = [each["id"] for each in client.pages("list", "/submissions/")]
    assert (len(found), set(found)) == (150, set(ids))
    assert len(server.seen) == 5  # twice, and once past the end


def test_P02_a_next_page_that_leads_to_itself_ends(client: ProlificClient, server: Answers) -> None:
    again = {"next": {"href": f"{server.url}/api/v1/submissions/?page=1&page_size=100"}}
    server.to("GET", "/submissions/", page(["a", "b"], _links=again))
    assert [each["id"] for each in client.pages("list", "/submissions/")] == ["a", "b"]
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    "address", ["https://api.prolific.co/api/v1/submissions/?page=2", "//elsewhere.example/x?page=2"]
)
def test_P16_a_next_page_on_another_host_is_not_asked_for(
    client: ProlificClient, server: Answers, address: str
) -> None:
    server.to("GET", "/submissions/", page(["a"], _links={"next": {"href": address}}))
    with pytest.raises(PlatformError, match="must not get the token"):
        list(client.pages("list", "/submissions/"))
    assert len(server.seen) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_P16_a_redirect_to_the_old_host_is_refused(
    client: ProlificClient, server: Answers, status: int, method: str
) -> None:
    server.to(method, "/users/me/", (status, {}, {"Location": "https://api.prolific.co/api/v1/users/me/"}))
    with pytest.raises(PlatformError, match=r"api\.prolific\.co") as caught:
        client.read("look", "/users/me/") if method == "GET" else client.send("look", "/users/me/")
    assert caught.value.nothing_done
    assert TOKEN not in str(caught.value) + caught.value.hint


def test_P16_addresses_are_those_of_the_setting() -> None:
    there = prolific("https://api.prolific.com")
    assert (there.submit_origin, there.spends_money) == ("https://app.prolific.com", True)
    here = prolific("http://127.0.0.1:8732/")
    assert (here.submit_origin, here.spends_money) == ("http://127.0.0.1:8732", False)


def test_a_token_never_goes_over_the_net_unencrypted() -> None:
    with pytest.raises(SettingsError, match="unencrypted"):
        ProlificClient("http://api.prolific.com", TOKEN)


@pytest.mark.parametrize("fault", [(429, {}, {"Retry-After": "7"}), (429, {}), (503, {}), None])
def test_reads_wait_and_try_again(server: Answers, fault: Any) -> None:
    waited: list[float] = []
    client = ProlificClient(server.url, TOKEN, wait=waited.append)
    server.to("GET", "/users/me/", fault, fault, {"id": "me"})
    assert client.read("look", "/users/me/") == {"id": "me"}
    assert waited == ([7.0, 7.0] if isinstance(fault, tuple) and len(fault) == 3 else [0.5, 1.0])


@pytest.mark.parametrize(
    ("fault", "nothing_done"), [((429, {}), True), ((400, {}), True), ((500, {}), False), (None, False)]
)
def test_what_pays_is_sent_once(
    client: ProlificClient, server: Answers, fault: Any, nothing_done: bool
) -> None:
    server.to("POST", "/bulk-bonus-payments/B/pay/", fault, {})
    with pytest.raises(PlatformError) as caught:
        client.send("pay", "/bulk-bonus-payments/B/pay/")
    assert len(server.seen) == 1
    assert caught.value.nothing_done is nothing_done


def test_a_write_that_may_have_got_through_is_not_called_refused(
    client: ProlificClient, server: Answers
) -> None:
    server.to("PATCH", "/studies/X/", None, (400, {"error": {"detail": "no"}}))
    with pytest.raises(PlatformError) as caught:
        client.set("change", "PATCH", "/studies/X/", {})
    assert not caught.value.nothing_done


def test_nobody_there_means_nothing_was_done() -> None:
    client = ProlificClient("http://127.0.0.1:9", TOKEN, wait=lambda seconds: None)
    with pytest.raises(PlatformError) as caught:
        client.send("pay", "/pay/")
    assert caught.value.nothing_done


def test_P08_list_detail_and_event_give_one_shape() -> None:
    listed = session_of(
        {"id": "S", "participant_id": "P", "status": "AWAITING REVIEW", "study_code": "C", "ip": "192.0.2.1"}
    )
    detail = session_of(
        {"id": "S", "participant": "P", "status": "AWAITING_REVIEW", "entered_code": "C", "study_id": "X"}
    )
    event = session_of({"resource_id": "S", "participant_id": "P", "status": "AWAITING REVIEW"})
    assert {(each.id, each.participant, each.state) for each in (listed, detail, event)} == {
        ("S", "P", "submitted")
    }
    assert listed.code == detail.code == "C"
    assert "ip" not in listed.more


@pytest.mark.parametrize("status", ["PROCESSING", "UNKNOWN", "NEW STATE", None, "", "TIMED-OUT", "RETURNED"])
def test_P38_unknown_states_and_fields_are_kept_and_never_final(status: Any) -> None:
    found = session_of({"id": "S", "status": status, "completed_at": None, "started_at": "soon", "new": [1]})
    assert found.state is None
    assert found.completed_at is None
    assert found.more == {"new": [1]}


def test_P09_a_study_is_made_without_a_status_and_with_every_field_that_has_a_trap() -> None:
    asked = offer(participants=Participants(qualified=(Qualified("g1", lacking=True),)))
    sent = body(asked, "project")
    assert "status" not in sent
    assert {name: sent[name] for name in ("reward", "maximum_allowed_time", "project", "filters")} == {
        "reward": 150,
        "maximum_allowed_time": 29,
        "project": "project",
        "filters": [{"filter_id": "participant_group_blocklist", "selected_values": ["g1"]}],
    }
    assert sent["external_study_url"].endswith(
        "/prolific/fKEY?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    assert sent["description"] == "<p>Read &amp; mark &lt;it&gt;.</p>"
    assert terms_of(sent).reward == Decimal("1.50")


def test_C72_P15_no_retired_field_is_sent() -> None:
    retired = {"eligibility_requirements", "completion_code", "completion_option", "failed_attention_code"}
    retired |= {"study_type", "is_custom_screening"}
    assert not retired & body(offer(), "project").keys()


@pytest.mark.parametrize(
    "url",
    ["https://x.example/prolific/k", "https://x.example/prolific/k?lang=de", "https://x.example/a%20b/k?"],
)
def test_P34_ids_are_added_to_any_address(url: str) -> None:
    sent = body(offer(form_url=url), "p")["external_study_url"]
    assert sent.count("?") == 1
    assert "SESSION_ID={{%SESSION_ID%}}" in sent.partition("?")[2].split("&")


def test_P13_each_outcome_has_a_code_of_its_own() -> None:
    sent = body(offer(), "p")["completion_codes"]
    assert [each["code_type"] for each in sent] == list(OUTCOMES)
    assert len({each["code"] for each in sent}) == len(OUTCOMES)
    actions = {action["action"] for each in sent for action in each["actions"]}
    assert actions == {"MANUALLY_REVIEW", "REQUEST_RETURN"}  # nothing is approved by itself


def test_P23_codes_are_random_and_say_nothing_of_the_study() -> None:
    keyed = [partial(hmac.digest, str(key).encode(), digest="sha256") for key in range(100)]
    drawn = [code for one in keyed for code in codes_from(lambda of: one(of.encode())).values()]  # noqa: B023
    assert len(set(drawn)) == len(drawn)
    assert all(len(code) == 10 for code in drawn)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"reward": Decimal("0.00")}, "reward above zero"),
        ({"assignment_seconds": 28 * 60}, "takes 29 to"),
        ({"assignment_seconds": 24 * 3600}, "takes 29 to"),
        ({"page": "<p>"}, "static"),
        ({"participants": Participants(countries=("GB",))}, "participants.countries"),
        ({"participants": Participants(masters=True)}, "participants.masters"),
        ({"participants": Participants(qualified=(Qualified("g", 3),))}, "at_least"),
    ],
)
def test_an_offer_that_prolific_cannot_keep_to_is_refused_first(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        refuse(offer(**changed))


def test_P22_a_group_is_made_in_a_workspace_and_found_again(client: ProlificClient, server: Answers) -> None:
    server.to("GET", "/workspaces/", page(["W"]))
    server.to("GET", "/workspaces/W/projects/", page(["P"]))
    server.to(
        "GET", "/participant-groups/", {"results": []}, {"results": [{"id": "G", "name": "people of s"}]}
    )
    server.to("POST", "/participant-groups/", (201, {"id": "G"}))
    account = Account(client, "P")
    assert [account.group("people of s", "people who took part") for _ in range(2)] == ["G", "G"]
    (made,) = [each for each in server.seen if each.method == "POST"]
    assert made.body == {"workspace_id": "W", "name": "people of s", "description": "people who took part"}


def test_a_missing_project_names_those_that_there_are(client: ProlificClient, server: Answers) -> None:
    server.to("GET", "/workspaces/", page(["W"]))
    server.to("GET", "/workspaces/W/projects/", {"results": [{"id": "P", "title": "Stories"}]})
    with pytest.raises(SettingsError) as caught:
        print(Account(client, "").project)
    assert "P (Stories)" in caught.value.hint


def test_P37_submissions_of_another_study_are_left_out(server: Answers) -> None:
    listed = [{"id": "S1", "study_id": "X"}, {"id": "S2", "study_id": "OTHER"}, {"id": "S3"}]
    server.to("GET", "/submissions/", {"results": listed})
    platform = Prolific(prolific(server.url), create_engine("sqlite://"), token=TOKEN)
    assert [each.id for each in platform.sessions("X")] == ["S1", "S3"]


def test_P22_bulk_approval_names_submissions_and_nothing_else(server: Answers) -> None:
    ids = [f"S{number}" for number in range(10)]
    server.to("GET", "/submissions/S0/", {"id": "S0", "study_id": "X"})
    server.to("POST", "/submissions/bulk-approve/", {"message": "on its way"})
    waiting = [{"id": each, "status": "AWAITING REVIEW"} for each in ids]
    done = [{"id": each, "status": "APPROVED"} for each in ids]
    server.to("GET", "/submissions/", {"results": waiting}, {"results": done})
    waits: list[float] = []
    platform = Prolific(prolific(server.url), create_engine("sqlite://"), token=TOKEN, wait=waits.append)
    platform.start_approving(ids)
    calls = len(server.seen)
    for each in ids:
        platform.approve(each)
    assert len(server.seen) == calls  # the list has shown that all are approved
    (sent,) = [each.body for each in server.seen if each.method == "POST"]
    assert sent == {"submission_ids": ids}


@pytest.mark.parametrize("fault", [None, (500, {}), (504, {})])
def test_a_payment_without_an_answer_is_made_once_and_called_unsure(server: Answers, fault: Any) -> None:
    server.to("GET", "/submissions/S/", {"id": "S", "bonus_payments": []})
    server.to("POST", "/bulk-bonus-payments/B/pay/", fault, (202, {}))
    platform = Prolific(prolific(server.url), create_engine("sqlite://"), token=TOKEN, wait=lambda s: None)
    with pytest.raises(PlatformError) as caught:
        platform.bonus("S", "P", Decimal("1.00"), "thanks", "B")
    assert not caught.value.nothing_done
    assert len(server.calls("POST")) == 1


def test_a_payment_is_called_made_only_when_it_is_shown(server: Answers) -> None:
    none, paid = {"id": "S", "bonus_payments": [100]}, {"id": "S", "bonus_payments": [100, 100]}
    server.to("GET", "/submissions/S/", none, none, none, paid)
    server.to("POST", "/bulk-bonus-payments/B/pay/", (202, {}))
    platform = Prolific(prolific(server.url), create_engine("sqlite://"), token=TOKEN, wait=lambda s: None)
    platform.bonus("S", "P", Decimal("1.00"), "thanks", "B")
    assert len(server.calls("GET")) == 4


def test_P24_what_leaves_for_a_rejection(server: Answers) -> None:
    awaiting, rejected = {"id": "S", "status": "AWAITING REVIEW"}, {"id": "S", "status": "REJECTED"}
    server.to("GET", "/submissions/S/", awaiting, rejected)
    server.to("POST", "/submissions/S/transition/", rejected)
    platform = Prolific(prolific(server.url), create_engine("sqlite://"), token=TOKEN, wait=lambda s: None)
    platform.reject("S", "r" * 100, "FAILED_CHECK")
    (sent,) = [each.body for each in server.seen if each.method == "POST"]
    assert sent == {"action": "REJECT", "message": "r" * 100, "rejection_category": "FAILED_CHECK"}


@pytest.mark.parametrize("status", ["PROCESSING", "RETURNED", "TIMED-OUT", "ON HOLD"])
def test_P38_what_is_not_awaiting_review_is_not_approved(server: Answers, status: str) -> None:
    server.to("GET", "/submissions/S/", {"id": "S", "status": status})
    platform = Prolific(prolific(server.url), create_engine("sqlite://"), token=TOKEN, wait=lambda s: None)
    with pytest.raises(PlatformError) as caught:
        platform.approve("S")
    assert caught.value.never_done
    assert server.calls("POST") == []


def test_a_study_is_found_although_the_list_tells_only_its_name(server: Answers) -> None:
    server.to("GET", "/projects/P/studies/", page(["other", "ours"]))
    server.to("GET", "/studies/other/", {"id": "other", "internal_name": "somebody's", "status": "ACTIVE"})
    server.to("GET", "/studies/ours/", {"id": "ours", "internal_name": "humaneval fKEY", "status": "ACTIVE"})
    platform = Prolific(prolific(server.url), create_engine("sqlite://"), token=TOKEN, project="P")
    assert platform.publish(offer(), "token").external_id == "ours"
    assert server.calls("POST") == []


def test_P38_a_field_that_an_answer_should_have_is_named(server: Answers) -> None:
    server.to("GET", "/projects/P/studies/", page([]))
    server.to("POST", "/studies/", (201, {"study_id": "new"}), (201, ["new"]))
    platform = Prolific(prolific(server.url), create_engine("sqlite://"), token=TOKEN, project="P")
    for _ in range(2):
        with pytest.raises(PlatformError, match="did not say 'id' when it was to make a study") as caught:
            platform.publish(offer(), "token")
        assert not caught.value.nothing_done


@pytest.mark.parametrize(
    "told", ["12", {"amount": 5}, [None], ["a"], [float("nan")], [{"amount": 5}], [True]]
)
def test_P38_bonuses_that_are_no_amounts_are_none_that_anybody_knows_of(told: Any) -> None:
    assert session_of({"id": "S", "bonus_payments": told}).bonuses is None


def test_P38_an_amount_that_is_none_is_said(server: Answers) -> None:
    server.to("GET", "/workspaces/", page(["W"]))
    server.to("GET", "/workspaces/W/projects/", page(["P"]))
    server.to("GET", "/workspaces/W/balance/", {"available_balance": "ten pounds"})
    server.to("GET", "/studies/S/", {"id": "S"})
    platform = Prolific(prolific(server.url), create_engine("sqlite://"), token=TOKEN, project="P")
    with pytest.raises(PlatformError, match="did not say 'total_available_places'") as caught:
        platform.more_places("S", 3)
    assert caught.value.nothing_done
    with pytest.raises(PlatformError, match="says ten pounds where an amount should be"):
        platform.balance()


@pytest.mark.parametrize(
    ("hourly", "told"),
    [
        ("5.99", "£5.99 an hour is below the £6.00 that Prolific asks for at least."),
        ("8.99", "Prolific recommends £9.00 an hour."),
        ("9.00", ""),
    ],
)
def test_pay_is_compared_with_the_newest_recommendation(server: Answers, hourly: str, told: str) -> None:
    server.to("GET", "/workspaces/", page(["W"]))
    server.to("GET", "/workspaces/W/projects/", page(["P"]))
    server.to("GET", "/workspaces/W/balance/", {"currency_code": "GBP", "available_balance": 1250})
    newest = {"currency": "GBP", "min_reward_per_hour": 600, "recommended_reward_per_hour": 900}
    older = {"currency": "GBP", "min_reward_per_hour": 500, "recommended_reward_per_hour": 750}
    server.to("GET", "/reward-recommendations/?workspace_id=W&currency=GBP", [newest, older])
    platform = Prolific(prolific(server.url), create_engine("sqlite://"), token=TOKEN, project="P")
    balance, *advice = account_lines(platform, Decimal(hourly), "£")
    assert balance == "Balance at the stand-in: £12.50 of play money."
    assert [each.partition(" It counts")[0] for each in advice] == ([told] if told else [])


def test_P38_a_draft_that_is_corrected_without_an_answer_is_looked_up(server: Answers) -> None:
    draft = {"id": "D", "internal_name": "humaneval fKEY", "status": "UNPUBLISHED"}
    server.to("GET", "/projects/P/studies/", {"results": [draft]})
    server.to("PATCH", "/studies/D/", (204, None))
    server.to("GET", "/studies/D/", {**draft, "reward": 999})
    platform = Prolific(prolific(server.url), create_engine("sqlite://"), token=TOKEN, project="P")
    with pytest.raises(PlatformError, match="made the draft D with another reward: 999, not 150"):
        platform.publish(offer(), "token")
    assert server.calls("POST") == []


ODD: list[Any] = [
    [],
    [1],
    {"results": 1},
    {"results": {"id": "x"}},
    {"results": [1]},
    {"results": [[]], "meta": {"count": "many"}},
    {"results": [{"id": "x"}], "meta": 3, "_links": 5},
    {"results": [{"id": "x"}], "_links": {"next": "further"}},
    {"results": [{"id": "x"}], "_links": {"next": {"href": "http://[::1"}}},
    {"results": [{"id": "x", "bonus_payments": [{}], "started_at": []}]},
    {"id": [], "status": {}, "available_balance": {}, "currency_code": 5, "is_deleted": []},
    {"total_available_places": "many", "reward": []},
    {"total_available_places": 1e300, "maximum_allowed_time": "1e999999999"},
    {"total_available_places": "9" * 5000, "name": 5, "filters": [{"selected_values": 5}]},
    {"filters": [{"selected_filters": 7, "selected_range": 7}], "ACTIVE": {}, "total_available_places": True},
]
"""Replies that no document promises."""


@pytest.mark.parametrize("reply", ODD, ids=[str(number) for number in range(len(ODD))])
def test_an_odd_reply_ends_in_one_line_whatever_was_asked(
    server: Answers, monkeypatch: pytest.MonkeyPatch, reply: Any
) -> None:
    platform = Prolific(
        prolific(server.url), create_engine("sqlite://"), token=TOKEN, project="p1", wait=lambda seconds: None
    )
    account = platform.account
    account._workspace = "w1"
    monkeypatch.setattr(platform._submitted, "away", lambda study: [])  # there are no tables
    server.next = lambda method, path: reply  # type: ignore[method-assign]  # whatever was asked
    asked: list[Callable[[], Any]] = [
        account.balance,
        account.currency,
        account.pay_advice,
        lambda: account.cost(Decimal("1.00"), 3),
        lambda: account.has_group("g1"),
        lambda: account.group("g", "of ours"),
        lambda: Account(platform._client, "p1").workspace,
        platform.check_access,
        lambda: platform.find(["fKEY"]),
        lambda: platform.publish(offer(), "token"),
        lambda: platform.standing("s1"),
        lambda: platform.sessions("s1"),
        lambda: platform.session("a1"),
        lambda: platform.more_places("s1", 9),
        lambda: platform.prepare_bonus("a1", Decimal("0.50")),
        lambda: platform._transition("s1", "START", "PAUSED"),
        lambda: platform.hooks.secrets("w1"),
        lambda: platform.hooks.subscriptions("w1"),
        lambda: platform.hooks.new_secret("w1"),
    ]
    for ask in asked:
        with suppress(PlatformError, SettingsError):
            ask()


def test_a_page_in_reply_to_a_write_confirms_nothing(client: ProlificClient, server: Answers) -> None:
    server.to("POST", "/submissions/S1/transition/", "<html>Please sign in to the network</html>")
    for write in (client.send, lambda what, path, body: client.set(what, "POST", path, body)):
        with pytest.raises(PlatformError, match="did not say it could approve") as error:
            write("approve", "/submissions/S1/transition/", {"action": "APPROVE"})
        assert not error.value.nothing_done
    assert len(server.seen) == 2


def test_a_redirect_to_an_address_that_cannot_be_read_is_refused(
    client: ProlificClient, server: Answers
) -> None:
    server.to("GET", "/users/me/", (302, {}, {"Location": "http://[::1"}))
    with pytest.raises(PlatformError, match="must not get the token"):
        client.read("look up the account", "/users/me/")


@pytest.mark.parametrize("reply", [{"status": "ACTIVE"}, {}, "Thank you.", "<html>"])
def test_a_transition_is_done_once_the_study_says_so(server: Answers, reply: Any) -> None:
    platform = Prolific(prolific(server.url), create_engine("sqlite://"), token=TOKEN, project="p1")
    server.to("POST", "/studies/s1/transition/", reply)
    server.to("GET", "/studies/s1/", {"status": "UNPUBLISHED"}, {"status": "ACTIVE"})
    if not (isinstance(reply, dict) and reply):
        with pytest.raises(PlatformError):
            platform._transition("s1", "PUBLISH", "UNPUBLISHED")
    assert platform._transition("s1", "PUBLISH", "UNPUBLISHED") == {"id": "s1", "status": "ACTIVE"}


@pytest.mark.parametrize("reply", [{}, "Thank you."])
def test_a_decision_is_done_once_the_submission_says_so(server: Answers, reply: Any) -> None:
    platform = Prolific(
        prolific(server.url), create_engine("sqlite://"), token=TOKEN, project="p1", wait=lambda seconds: None
    )
    waits, done = {"id": "a1", "status": "AWAITING REVIEW"}, {"id": "a1", "status": "APPROVED"}
    server.to("POST", "/submissions/a1/transition/", reply)
    server.to("GET", "/submissions/a1/", *[waits] * 8, done)
    with pytest.raises(PlatformError, match="does not show it") as error:
        platform.approve("a1")
    assert not error.value.nothing_done
    platform.approve("a1")


@pytest.mark.parametrize("reply", [{}, "Thank you."])
def test_a_return_is_asked_for_once_the_submission_says_so(server: Answers, reply: Any) -> None:
    platform = Prolific(prolific(server.url), create_engine("sqlite://"), token=TOKEN, project="p1")
    waits = {"id": "a1", "status": "AWAITING REVIEW"}
    server.to("POST", "/submissions/a1/request-return/", reply)
    server.to("GET", "/submissions/a1/", *[waits] * 3, waits | {"return_requested": "2026-11-30T10:00:00Z"})
    with pytest.raises(PlatformError, match="does not show it"):
        platform.request_return("a1", "ours")
    platform.request_return("a1", "ours")


def test_an_error_of_many_levels_has_no_reason() -> None:
    deep: Any = "too low"
    for _ in range(900):
        deep = [deep]
    assert reason_in(json.dumps({"error": deep}).encode()) == ""
