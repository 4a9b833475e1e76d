"""The draft of a Prolific study, made from an offer, and the figures of a study that is there. Makes no
calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, sqrt
from typing import Any
from urllib.parse import quote

from humaneval.crowd.platform import Offer, Terms
from humaneval.crowd.prolific.completion_codes import OUTCOMES
from humaneval.crowd.prolific.submission import major, minor, moment_of, whole
from humaneval.errors import UsageError

NAME = "humaneval "
"""The beginning of the internal name of every study that we make; other studies are never touched."""
PLACEHOLDERS = {"PROLIFIC_PID": "PROLIFIC_PID", "STUDY_ID": "STUDY_ID", "SESSION_ID": "SESSION_ID"}
"""Parameter of our address → what Prolific fills in."""
MOST_MINUTES = 24 * 60 - 1


def least_minutes(expected: int) -> int:
    """The shortest `maximum_allowed_time` that Prolific takes for an expected time, in minutes.

    >>> least_minutes(10)
    29
    """
    return ceil(2 + 2 * expected + 2 * sqrt(expected))


def expected_minutes(offer: Offer) -> int:
    """The expected time in whole minutes, at least one: Prolific takes no less."""
    return max(1, ceil(offer.expected_minutes))


def address(url: str) -> str:
    """The address of our form with Prolific's placeholders, which must not be escaped.

    >>> address("https://x.example/prolific/k?a=1")[:60]
    'https://x.example/prolific/k?a=1&PROLIFIC_PID={{%PROLIFIC_PI'
    """
    more = "&".join(f"{name}={{{{%{fills}%}}}}" for name, fills in PLACEHOLDERS.items())
    return f"{url}{'&' if '?' in url else '?'}{more}"


def refuse(offer: Offer) -> None:
    """Raise UsageError for an offer that Prolific would refuse, or could not keep to."""
    minutes, least = offer.assignment_seconds // 60, least_minutes(expected_minutes(offer))
    if offer.page:
        raise UsageError("Prolific shows no static pages", "Leave --static out.")
    if not offer.reward:
        raise UsageError("Prolific needs a reward above zero", "Make a study with hit.reward above 0.")
    if not least <= minutes <= MOST_MINUTES:
        raise UsageError(
            f"assignment_minutes is {minutes}; for {expected_minutes(offer)} expected minutes Prolific takes"
            f" {least} to {MOST_MINUTES:,}",
            f"Make a study with hit.assignment_minutes = {least} or more.",
        )
    people = offer.participants
    asked = {
        "countries": people.countries,
        "min_approved_percent": people.min_approved_percent,
        "min_approved_hits": people.min_approved_hits,
        "masters": people.masters,
    }
    given = [name for name, value in asked.items() if value]
    if given:
        raise UsageError(
            f"participants.{given[0]} is Mechanical Turk's; Prolific has filters instead",
            "Make a study with prolific.filters.",
        )
    if any(each.at_least is not None for each in people.qualified):
        raise UsageError(
            "at_least is Mechanical Turk's; a participant group of Prolific has no values",
            "Leave it out.",
        )


def filters(offer: Offer) -> list[dict[str, Any]]:
    """Filters for the people who may take part: the study's own, and groups of participants."""
    found = [dict(each) for each in offer.filters]
    for name, lacking in (("participant_group_allowlist", False), ("participant_group_blocklist", True)):
        groups = [each.id for each in offer.participants.qualified if each.lacking is lacking]
        if groups:
            found.append({"filter_id": name, "selected_values": groups})
    return found


def body(offer: Offer, project: str) -> dict[str, Any]:
    """What is sent to make the study, as a draft. It never names a status."""
    description = "".join(f"<p>{escape(line)}</p>" for line in offer.description.splitlines() if line.strip())
    return {
        "name": offer.title,
        "internal_name": NAME + offer.key,
        "description": description,
        "external_study_url": address(offer.form_url),
        "prolific_id_option": "url_parameters",
        "completion_codes": [
            {"code": offer.codes[outcome], "code_type": outcome, "actor": "participant", "actions": [action]}
            for outcome, action in OUTCOMES.items()
            if outcome in offer.codes  # an earlier version had planned fewer
        ],
        "total_available_places": offer.assignments,
        "estimated_completion_time": expected_minutes(offer),
        "maximum_allowed_time": offer.assignment_seconds // 60,
        "reward": minor(offer.reward),
        "device_compatibility": list(offer.devices),
        "peripheral_requirements": [],
        "filters": filters(offer),
        "submissions_config": {"max_submissions_per_participant": offer.forms_each},
        "study_labels": ["ai_evaluation"],
        "project": project,
        "metadata": NAME + offer.key,
    }


def study_path(study: object) -> str:
    """Where a study is found."""
    return f"/studies/{quote(str(study), safe='')}/"


def key_of(study: Mapping[str, Any]) -> str:
    """Our own key of a study that Prolific lists; empty if it is not ours."""
    names = [str(study.get(name) or "") for name in ("metadata", "internal_name")]
    return next((name.removeprefix(NAME) for name in names if name.startswith(NAME)), "")


def terms_of(study: Mapping[str, Any]) -> Terms:
    """The figures of a study that is there. What an answer leaves out is None."""
    reward, places = study.get("reward"), study.get("total_available_places")
    minutes, url, asked = (
        study.get(name) for name in ("maximum_allowed_time", "external_study_url", "filters")
    )
    return Terms(
        reward=None if reward is None else major(reward),
        places=None if places is None else whole(places),
        assignment_seconds=None if minutes is None else whole(minutes) * 60,
        made_at=moment_of(study.get("published_at")) or moment_of(study.get("date_created")),
        question=hashlib.sha256(url.encode()).hexdigest()[:12] if isinstance(url, str) else None,
        requirements=filters_text(asked) if isinstance(asked, list) else None,
        title=None if study.get("name") is None else str(study["name"]),
    )


def filters_text(asked: Sequence[Any]) -> str:
    """Filters in one order, without what Prolific adds.

    >>> filters_text([{"filter_id": "age", "selected_range": {"upper": 60, "lower": 18}, "weightings": None}])
    'age {"lower": 18, "upper": 60}'
    """
    return "; ".join(sorted(map(_filter, asked))) or "none"


def _filter(each: Any) -> str:
    if not isinstance(each, dict):
        return str(each)
    if isinstance(each.get("selected_filters"), list):
        return f"{each.get('filter_id')} ({filters_text(each['selected_filters'])})"
    values = each.get("selected_range") or each.get("selected_values") or []
    values = sorted(map(str, values)) if isinstance(values, list) else values
    return f"{each.get('filter_id')} {json.dumps(values, sort_keys=True, ensure_ascii=False)}"
