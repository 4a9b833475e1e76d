"""What the stand-in for Prolific takes and refuses, as far as no database is asked."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode
from contextlib import suppress
from typing import Any

import pytest

from humaneval.errors import UsageError
from humaneval.market.faults.plan import read_line
from humaneval.market.prolific_standin.app import create_prolific_app
from humaneval.market.prolific_standin.database import Books, open_prolific
from humaneval.market.prolific_standin.deliveries import signature
from humaneval.market.prolific_standin.faults import API, BESIDE_API, KINDS, ProlificFault
from humaneval.market.prolific_standin.filters import passes
from humaneval.market.prolific_standin.paging import by_offset, by_page
from humaneval.market.prolific_standin.refusals import Refusal
from humaneval.market.prolific_standin.study_fields import FIELDS, check_study, least_maximum
from tests.integration.prolific_standin.conftest import BODY, CODES

MISSING = object()
SCREEN_OUT = {
    "code": "SCREEN01",
    "code_type": "FIXED_SCREENOUT",
    "actions": [{"action": "FIXED_SCREEN_OUT_PAYMENT"}],
}


def test_the_smallest_study_of_the_documents_is_taken() -> None:
    check_study(BODY)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", MISSING),
        ("name", " "),
        ("description", "<p>a</p><script>x</script>"),
        ("description", "<a href='https://lab.example'>us</a>"),
        ("external_study_url", MISSING),
        ("external_study_url", "lab.example"),
        ("prolific_id_option", "by_mail"),
        ("completion_codes", MISSING),
        ("completion_codes", []),
        ("completion_codes", [CODES[0], CODES[0]]),
        ("completion_codes", [{**CODES[0], "code": None}, CODES[1]]),
        ("completion_codes", [{**CODES[0], "actions": [{"action": "PAY"}]}]),
        (
            "completion_codes",
            [{**CODES[0], "actions": [{"action": "AUTOMATICALLY_APPROVE"}, {"action": "MANUALLY_REVIEW"}]}],
        ),
        ("completion_codes", [CODES[3]]),
        ("completion_codes", [{**CODES[4], "actor": "participant"}]),
        ("completion_codes", [CODES[0], SCREEN_OUT]),
        ("total_available_places", 0),
        ("total_available_places", True),
        ("estimated_completion_time", MISSING),
        ("maximum_allowed_time", 28),
        ("maximum_allowed_time", 24 * 60),
        ("reward", 1.5),
        ("reward", "150"),
        ("device_compatibility", ["watch"]),
        ("peripheral_requirements", "audio"),
        ("study_labels", ["survey", "annotation"]),
        ("study_labels", ["poem"]),
        ("content_warnings", ["rude"]),
        ("submissions_config", {"max_submissions_per_participant": 0}),
        ("naivety_distribution_rate", 2),
        ("filters", [{"filter_id": "shoe-size", "selected_values": ["1"]}]),
        ("filters", [{"filter_id": "custom_allowlist"}]),
        ("filters", {"filter_id": "age"}),
        ("access_details", [{"external_url": "https://lab.example/1", "total_allocation": 3}]),
    ],
)
def test_a_field_that_is_wrong_or_missing_is_named(field: str, value: object) -> None:
    body = {name: each for name, each in BODY.items() if name != field}
    with pytest.raises(Refusal) as refused:
        check_study(body if value is MISSING else {**body, field: value})
    assert isinstance(refused.value.detail, dict)
    (named,) = refused.value.detail
    assert named in (field, "external_study_url")


JUNK = (
    None,
    True,
    -1,
    1.5,
    10**30,
    "",
    " ",
    "\0",
    "4",
    [],
    [None],
    ["x"],
    [{}],
    [[]],
    {},
    {"a": 1},
    "https://[",
)


def test_whatever_is_in_a_field_is_taken_or_refused_and_never_breaks() -> None:
    for field in (*FIELDS, "filters", "filter_set_id", "completion_codes", "anything"):
        for junk in JUNK:
            with suppress(Refusal):
                check_study({**BODY, field: junk})
    for part in ("code", "code_type", "actor", "actions"):
        for junk in JUNK:
            with suppress(Refusal):
                check_study({**BODY, "completion_codes": [CODES[0], {**CODES[1], part: junk}]})
    for part in ("filter_id", "selected_values", "selected_range", "selected_filters"):
        for junk in JUNK:
            for name in ("age", "and", "custom_allowlist"):
                with suppress(Refusal):
                    check_study({**BODY, "filters": [{"filter_id": name, part: junk}]})


@pytest.mark.parametrize("minutes", [1, 4, 9, 10, 60])
def test_the_least_time_allowed_is_more_than_twice_the_estimate(minutes: int) -> None:
    least = least_maximum(minutes)
    body = {**BODY, "estimated_completion_time": minutes}
    check_study({**body, "maximum_allowed_time": -int(-least // 1)})
    with pytest.raises(Refusal):
        check_study({**body, "maximum_allowed_time": int(least - 0.001)})


def test_pages_tile_a_list_for_every_size_and_end_with_404() -> None:
    for count in range(8):
        for size in range(1, 5):
            items, seen, page = list(range(count)), [], 1
            while True:
                body = by_page(items, {"page": str(page), "page_size": str(size)}, "http://x/", 100)
                seen += body["results"]
                if body["_links"]["next"]["href"] is None:
                    break
                page += 1
            assert (seen, page) == (items, max(1, -(-count // size)))
            with pytest.raises(Refusal) as refused:
                by_page(items, {"page": str(page + 1), "page_size": str(size)}, "http://x/", 100)
            assert refused.value.status == 404
            parts = [
                by_offset(items, {"offset": str(at), "limit": str(size)}, "http://x/")["results"]
                for at in range(0, count + size, size)
            ]
            assert [each for part in parts for each in part] == items


def test_a_signature_is_of_the_timestamp_and_the_raw_body() -> None:
    made = b64decode(signature("key", "1767225600", b'{"a": "\xc3\xa9"}'))
    assert made == hmac.new(b"key", b'1767225600{"a": "\xc3\xa9"}', hashlib.sha256).digest()


class Someone:
    """A participant in group g who took part in study s."""

    id = "p"

    def in_group(self, group_id: str) -> bool:
        return group_id == "g"

    def took_part_in(self, study_id: str) -> bool:
        return study_id == "s"


@pytest.mark.parametrize(
    ("name", "value", "lets_in"),
    [
        ("participant_group_allowlist", "g", True),
        ("participant_group_allowlist", "other", False),
        ("participant_group_blocklist", "g", False),
        ("previous_studies_allowlist", "s", True),
        ("previous_studies_blocklist", "s", False),
        ("previous_studies_blocklist", "other", True),
        ("custom_allowlist", "p", True),
        ("custom_blocklist", "p", False),
        ("first-language", "4", True),
    ],
)
def test_filters_let_in_and_keep_out(name: str, value: str, lets_in: bool) -> None:
    leaf: dict[str, Any] = {"filter_id": name, "selected_values": [value]}
    nobody = {"filter_id": "custom_allowlist", "selected_values": []}
    assert passes([leaf], Someone()) is lets_in
    assert passes([{"filter_id": "and", "selected_filters": [leaf, nobody]}], Someone()) is False
    assert passes([{"filter_id": "or", "selected_filters": [leaf, nobody]}], Someone()) is lets_in


def test_every_call_and_every_step_of_participants_can_have_a_fault(tmp_path: Any) -> None:
    engine = open_prolific(tmp_path / "prolific.db")
    rules = create_prolific_app(Books(engine)).url_map.iter_rules()
    engine.dispose()
    served = {rule.endpoint.rpartition(".")[2] for rule in rules if rule.rule.startswith("/api/")}
    assert served == set(API)
    for kind in KINDS:
        fault = ProlificFault(kind=kind, seconds=1 if kind in ("slow", "clock") else 0)
        assert any(fault.is_for(step) for step in (*API, *BESIDE_API))
    with pytest.raises(UsageError, match="there is no step 'CreateHIT'"):
        read_line("throttled,only=CreateHIT", ProlificFault)
    with pytest.raises(UsageError, match="there is no fault 'empty-page'"):
        read_line("empty-page", ProlificFault)
