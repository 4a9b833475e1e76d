"""The fields of a study: which there are, what each may hold, and which can change after publishing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from humaneval.market.prolific_standin.completion_codes import check_codes
from humaneval.market.prolific_standin.filters import check_filters
from humaneval.market.prolific_standin.refusals import Refusal

RETIRED = {
    "eligibility_requirements": "filters",
    "completion_code": "completion_codes",
    "completion_option": "completion_codes",
    "failed_attention_code": "completion_codes",
    "is_custom_screening": "completion_codes with FIXED_SCREEN_OUT_PAYMENT",
}
"""Fields that are gone, and what took their place. That the live service answers 400 is unverified."""
READ_ONLY = ("id", "status", "is_ready_to_publish", "has_credentials")
NOT_BUILT = ("data_collection_method", "is_external_study_url_secure", "credential_pool_id")
"""What selected workspaces have, and this one has not."""
REQUIRED = (
    "name",
    "description",
    "prolific_id_option",
    "total_available_places",
    "estimated_completion_time",
    "reward",
)
AFTER_PUBLISHING = (
    "internal_name",
    "total_available_places",
    "access_details",
    "submissions_config",
    "completion_codes",
)
"""What can change then. Of the codes, only the slots of a screen-out; of the places, only upward."""
LABELS = [
    "survey",
    "writing_task",
    "annotation",
    "decision_making_task",
    "interview",
    "other",
    "ai_annotation",
    "ai_evaluation",
    "ai_reasoning",
    "ai_fact_checking",
    "ai_safety",
    "ai_data_creation_text",
    "ai_data_creation_audio",
    "ai_data_creation_video",
    "ai_data_creation_images",
    "ai_other",
]
MOST_NUMBER = 10**9
TAGS = ["b", "i", "em", "strong", "s", "u", "h1", "h2", "ol", "ul", "li", "p"]

Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _optional_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def is_number(value: Any) -> bool:
    """Whether it is a whole number above 0, and no typing error."""
    return type(value) is int and 0 < value <= MOST_NUMBER  # True is no number


def _some_of(*allowed: str, most: int | None = None) -> Check:
    def check(value: Any) -> bool:
        if not isinstance(value, list) or (most is not None and len(value) > most):
            return False
        return all(each in allowed for each in value)

    return check


def _share(value: Any) -> bool:
    return value is None or (
        isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
    )


def _limits(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    for name in ("max_submissions_per_participant", "max_concurrent_submissions"):
        limit = value.get(name, -1)
        if type(limit) is not int or not (limit == -1 or limit >= 1):
            return False
    return set(value.get("auto_rejection_categories") or ()) <= {"EXCEPTIONALLY_FAST"}


def is_address(value: Any) -> bool:
    """Whether this is the address of a page on the web."""
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
    except ValueError:
        return False
    return parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)


def _allocations(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict)
        and is_address(each.get("external_url"))
        and is_number(each.get("total_allocation"))
        for each in value
    )


FIELDS: Mapping[str, Check] = {
    "name": _text,
    "internal_name": _optional_text,
    "description": _text,
    "external_study_url": lambda value: value is None or is_address(value),
    "prolific_id_option": lambda value: value in ("url_parameters", "question", "not_required"),
    "total_available_places": is_number,
    "estimated_completion_time": is_number,
    "maximum_allowed_time": lambda value: value is None or is_number(value),
    "reward": is_number,
    "device_compatibility": _some_of("desktop", "tablet", "mobile"),
    "peripheral_requirements": _some_of("audio", "camera", "download", "microphone"),
    "submissions_config": _limits,
    "study_labels": _some_of(*LABELS, most=1),
    "content_warnings": _some_of("sensitive", "explicit", most=1),
    "content_warning_details": _optional_text,
    "project": _text,
    "naivety_distribution_rate": _share,
    "metadata": _optional_text,
    "access_details": _allocations,
    "filter_set_id": _optional_text,
}


def check_study(body: Mapping[str, Any]) -> None:
    """Raises Refusal, which names the field, if a study with these fields cannot be made."""
    for name in body:
        _check_name(name, body[name])
    missing = [name for name in REQUIRED if body.get(name) is None]
    if missing:
        raise Refusal({name: ["This field is required."] for name in missing})
    for name, check in FIELDS.items():
        if name in body and not check(body[name]):
            raise Refusal({name: [f"{body[name]!r:.80} is not valid."]})
    _check_addresses(body)
    _check_time(body)
    _check_description(body["description"])
    if body.get("filters") and body.get("filter_set_id"):
        raise Refusal({"filters": ["Give filters or filter_set_id, not both."]})
    check_filters(body.get("filters") or [])
    check_codes(body)


def allocated(shares: object) -> int:
    """How many places the addresses of a study have in all; 0 for what is no list of addresses."""
    if not isinstance(shares, list) or not _allocations(shares):
        return 0
    return sum(each["total_allocation"] for each in shares)


def check_change(before: Mapping[str, Any], change: Mapping[str, Any]) -> None:
    """Raises Refusal if `change`, each field of which is valid, is not possible after publishing."""
    refused = [name for name in change if name not in AFTER_PUBLISHING and change[name] != before.get(name)]
    if refused:
        raise Refusal({name: ["This field cannot be changed after publishing."] for name in refused})
    if change.get("total_available_places", math.inf) < before["total_available_places"]:
        raise Refusal({"total_available_places": ["Places can only be added."]})
    if "completion_codes" in change and _without_slots(change["completion_codes"]) != _without_slots(
        before["completion_codes"]
    ):
        raise Refusal(
            {"completion_codes": ["Only the slots of a screen-out can be changed after publishing."]}
        )


def least_maximum(minutes: int) -> float:
    """The least `maximum_allowed_time` for an estimate, in minutes.

    >>> round(least_maximum(10), 2)
    28.32
    """
    return 2 + 2 * minutes + 2 * math.sqrt(minutes)


def _check_name(name: str, value: Any) -> None:
    if name in RETIRED:
        raise Refusal({name: [f"This field is no longer supported. Use {RETIRED[name]}."]})
    if name in READ_ONLY:
        raise Refusal({name: ["This field cannot be set."]})
    if name in NOT_BUILT and value:
        raise Refusal({name: ["This is not enabled for your workspace."]})


def _check_addresses(body: Mapping[str, Any]) -> None:
    url, shares = body.get("external_study_url"), body.get("access_details")
    if bool(url) == bool(shares):
        raise Refusal({"external_study_url": ["Give one of external_study_url and access_details."]})
    if shares and allocated(shares) != body["total_available_places"]:
        raise Refusal({"access_details": ["The allocations must sum to total_available_places."]})


def _check_time(body: Mapping[str, Any]) -> None:
    most = body.get("maximum_allowed_time")
    least = least_maximum(body["estimated_completion_time"])
    if most is not None and not least <= most < 24 * 60:
        raise Refusal(
            {"maximum_allowed_time": [f"It must be at least {least:.2f} minutes, and under 24 hours."]}
        )


def _check_description(html: str) -> None:
    """That the live service refuses other tags, and does not only drop them, is unverified."""
    for tag in re.findall(r"</?([a-zA-Z][a-zA-Z0-9]*)", html):
        if tag.lower() not in TAGS:
            raise Refusal({"description": [f"The tag {tag} is not allowed."]})


def _without_slots(codes: Iterable[Any]) -> list[Any]:
    return [
        {**code, "actions": [{**action, "slots": 0} for action in code.get("actions") or ()]}
        for code in codes
    ]
