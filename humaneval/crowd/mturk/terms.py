"""The terms of a HIT as the service has them, in words that can be compared with those that were asked
for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree

from humaneval.crowd.mturk.requirements import WORDS
from humaneval.crowd.platform import Terms


def terms_of(hit: Mapping[str, Any]) -> Terms:
    """The figures in a HIT structure of any reply. What the reply leaves out is None."""
    asked = hit.get("QualificationRequirements")
    return Terms(
        reward=Decimal(hit["Reward"]) if "Reward" in hit else None,
        places=hit.get("MaxAssignments"),
        assignment_seconds=hit.get("AssignmentDurationInSeconds"),
        auto_approval_seconds=hit.get("AutoApprovalDelayInSeconds"),
        made_at=hit.get("CreationTime"),
        expires_at=hit.get("Expiration"),
        question=question_hash(hit["Question"]) if hit.get("Question") else None,
        requirements=None if asked is None else requirements_text(asked),
        title=hit.get("Title"),
        description=hit.get("Description"),
        keywords=hit.get("Keywords"),
    )


def question_hash(xml: str) -> str:
    """A short hash of a question. The service may write the same XML in another way."""
    try:
        canonical = ElementTree.canonicalize(xml, strip_text=True)
    except (ElementTree.ParseError, ValueError):
        canonical = xml
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def requirements_text(asked: Sequence[Mapping[str, Any]]) -> str:
    """Requirements in words and in one order.

    >>> requirements_text([{"QualificationTypeId": "3X", "Comparator": "Exists"}])
    '3X Exists'
    """
    return "; ".join(sorted(map(_requirement, asked))) or "none"


def _requirement(asked: Mapping[str, Any]) -> str:
    places = [
        "-".join(filter(None, (each.get("Country"), each.get("Subdivision"))))
        for each in asked.get("LocaleValues") or ()
    ]
    values = [*map(str, asked.get("IntegerValues") or ()), *places]
    type_id = asked["QualificationTypeId"]
    words = [WORDS.get(type_id, type_id), asked["Comparator"], ", ".join(sorted(values))]
    # A requirement that guards less lets more people see the HIT, or even take it.
    guarded = asked.get("ActionsGuarded", "DiscoverPreviewAndAccept")
    words.append("" if guarded == "DiscoverPreviewAndAccept" else f"({guarded} only)")
    return " ".join(filter(None, words))
