"""Filters: whether they are in order, and whether a participant of the stand-in passes them.

Nobody here has an age or a country. So a demographic filter is checked for its form, and everybody passes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from humaneval.market.prolific_standin.refusals import Refusal

COMPOSITE = ("and", "or")
CATALOGUE: tuple[Mapping[str, Any], ...] = (
    {"filter_id": "participant_group_allowlist", "title": "Participant group allowlist", "type": "select"},
    {"filter_id": "participant_group_blocklist", "title": "Participant group blocklist", "type": "select"},
    {"filter_id": "previous_studies_allowlist", "title": "Previous studies allowlist", "type": "select"},
    {"filter_id": "previous_studies_blocklist", "title": "Previous studies blocklist", "type": "select"},
    {"filter_id": "custom_allowlist", "title": "Custom allowlist", "type": "select"},
    {
        "filter_id": "custom_blocklist",
        "title": "Custom blocklist",
        "type": "select",
    },  # seen in practice alone
    {
        "filter_id": "first-language",
        "title": "First language",
        "type": "select",
        "choices": {"4": "English", "5": "French", "6": "German"},
    },
    {"filter_id": "age", "title": "Age", "type": "range", "min": 18, "max": 100},
    {"filter_id": "approval_rate", "title": "Approval rate", "type": "range", "min": 0, "max": 100},
)
_TYPES = {each["filter_id"]: each["type"] for each in CATALOGUE}


class Person(Protocol):
    """What filters ask about a participant."""

    @property
    def id(self) -> str:
        """The participant's id."""

    def in_group(self, group_id: str) -> bool:
        """Whether the participant is in a group now."""

    def took_part_in(self, study_id: str) -> bool:
        """Whether the participant has a submission in a study."""


def check_filters(filters: Any) -> None:
    """Raises Refusal if `filters` is not a list of filters that there are."""
    if not isinstance(filters, list):
        raise _wrong("It must be a list.")
    for each in filters:
        if not isinstance(each, dict) or not isinstance(each.get("filter_id"), str):
            raise _wrong("Each filter needs a filter_id.")
        name = each["filter_id"]
        if name in COMPOSITE:
            check_filters(each.get("selected_filters"))
            continue
        if name not in _TYPES:
            raise _wrong(f"There is no filter {name}.")
        if _TYPES[name] == "range":
            if not isinstance(each.get("selected_range"), dict):
                raise _wrong(f"{name} needs selected_range.")
            continue
        values = each.get("selected_values")
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise _wrong(f"{name} needs selected_values, a list of texts.")


def passes(filters: list[Any], person: Person) -> bool:
    """Whether somebody may see a study with these filters. All of them must hold."""
    return all(_passes(each, person) for each in filters)


def _passes(each: Mapping[str, Any], person: Person) -> bool:
    name, values = each["filter_id"], each.get("selected_values") or []
    if name in COMPOSITE:
        inner = (_passes(inner, person) for inner in each["selected_filters"])
        return all(inner) if name == "and" else any(inner)
    if name.startswith("participant_group"):
        found = any(person.in_group(value) for value in values)
    elif name.startswith("previous_studies"):
        found = any(person.took_part_in(value) for value in values)
    elif name.startswith("custom"):
        found = person.id in values
    else:
        return True
    return found != str(name).endswith("blocklist")


def _wrong(why: str) -> Refusal:
    return Refusal({"filters": [why]})
