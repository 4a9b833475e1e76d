"""Every request that leaves for Prolific, field by field, against what its documents say."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from sqlalchemy import Engine

from humaneval.crowd.approve import approve_work, reject_work
from humaneval.crowd.ask_return import ask_returns
from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.close import close_all
from humaneval.crowd.extend import expire_all, extend_all
from humaneval.crowd.notify import notify_workers
from humaneval.crowd.prolific.client import ProlificClient
from humaneval.crowd.prolific.evidence import evidence_for
from humaneval.crowd.prolific.listen import listen
from humaneval.study.enlarge import enlarge
from tests.integration.prolific.people import World

ID = "[0-9a-f]{24}"
TEXT, NUMBER, IDS = str, int, [str]
CODE = {"code": TEXT, "code_type": TEXT, "actor": TEXT, "actions": list}
ACTIONS = {"MANUALLY_REVIEW": {"action"}, "REQUEST_RETURN": {"action", "return_reason"}}
STUDY = {
    "name": TEXT,
    "internal_name": TEXT,
    "description": TEXT,
    "external_study_url": TEXT,
    "prolific_id_option": TEXT,
    "completion_codes": [CODE],
    "total_available_places": NUMBER,
    "estimated_completion_time": NUMBER,
    "maximum_allowed_time": NUMBER,
    "reward": NUMBER,
    "device_compatibility": IDS,
    "peripheral_requirements": IDS,
    "filters": [{"filter_id": TEXT, "selected_values": IDS}],
    "submissions_config": {"max_submissions_per_participant": NUMBER},
    "study_labels": IDS,
    "project": TEXT,
    "metadata": TEXT,
}
WRITES: dict[str, Any] = {
    "POST /studies/": STUDY,
    f"PATCH /studies/{ID}/": {"total_available_places": NUMBER},
    f"POST /studies/{ID}/transition/": {"action": TEXT},
    "POST /study-cost-calculator/": {"reward": NUMBER, "total_available_places": NUMBER},
    f"POST /submissions/{ID}/transition/": {"action": TEXT, "message?": TEXT, "rejection_category?": TEXT},
    f"POST /submissions/{ID}/request-return/": {"request_return_reasons": IDS},
    "POST /submissions/bulk-approve/": {"submission_ids": IDS},
    "POST /submissions/bonus-payments/": {"study_id": TEXT, "csv_bonuses": TEXT},
    f"POST /bulk-bonus-payments/{ID}/pay/": None,
    "POST /participant-groups/": {"workspace_id": TEXT, "name": TEXT, "description": TEXT},
    f"POST /participant-groups/{ID}/participants/": {"participant_ids": IDS},
    "POST /messages/": {"recipient_id": TEXT, "study_id": TEXT, "body": TEXT},
    "POST /hooks/secrets/": {"workspace_id": TEXT},
    "POST /hooks/subscriptions/": {"workspace_id": TEXT, "event_type": TEXT, "target_url": TEXT},
    f"POST /hooks/subscriptions/{ID}/": {"secret": TEXT},
}
OFFSET = {"limit", "offset"}
READS: dict[str, set[str]] = {
    f"/projects/{ID}/studies/": {"page", "page_size"},
    f"/studies/{ID}/": set(),
    f"/studies/{ID}/submissions/counts/": set(),
    "/submissions/": {"page", "page_size", "study", "ordering"},
    f"/submissions/{ID}/": set(),
    "/workspaces/": OFFSET,
    f"/workspaces/{ID}/projects/": OFFSET,
    f"/workspaces/{ID}/balance/": set(),
    "/participant-groups/": {*OFFSET, "workspace_id"},
    f"/participant-groups/{ID}/": set(),
    f"/participant-groups/{ID}/participants/": set(),
    "/hooks/secrets/": {"workspace_id"},  # no document names it: see docs/prolific.md
    "/hooks/subscriptions/": {"workspace_id"},
}


def differs(value: Any, wanted: Any, at: str) -> list[str]:
    """Where a body is not what a document says; `name?` is a field that can be left out."""
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return [f"{at}: {value!r}"]
        names = {name.removesuffix("?"): each for name, each in wanted.items()}
        needed = {name for name in wanted if not name.endswith("?")}
        wrong = [f"{at}: {name}" for name in (value.keys() - names.keys()) | (needed - value.keys())]
        for name in value.keys() & names.keys():
            wrong += differs(value[name], names[name], f"{at}.{name}")
        return wrong
    if isinstance(wanted, list):
        if not isinstance(value, list):
            return [f"{at}: {value!r}"]
        return [each for one in value for each in differs(one, wanted[0], at)]
    same = value is None if wanted is None else type(value) is wanted
    return [] if same else [f"{at}: {value!r}"]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, Any]]:
    """Every request: method, path with its query, and body."""
    seen: list[tuple[str, str, Any]] = []
    really = ProlificClient._reply

    def recorded(self: ProlificClient, what: str, method: str, path: str, body: object) -> Any:
        seen.append((method, path, body))
        return really(self, what, method, path, body)

    monkeypatch.setattr(ProlificClient, "_reply", recorded)
    return seen


def test_P22_each_request_of_a_whole_study_has_the_documented_fields_and_no_other(
    world_of: Callable[..., World], sqlite_engine: Engine, sent: list[tuple[str, str, Any]]
) -> None:
    first = world_of(sqlite_engine, "first")
    first.publish()
    first.answered_by("Zoe")
    first.collect()
    excluding = {"exclude_studies": ["first"]}
    world = world_of(sqlite_engine, "second", design={"annotators": 16}, participants=excluding)
    listen(sqlite_engine, world.platform(), f"{world.forms}/prolific/events")
    world.publish()
    hasty, slow = world.answered_by("Hasty", "Slow", right=False)
    careful = world.answered_by(*(f"person {number}" for number in range(10)))
    world.collect()
    made = evidence_for(world.at(), hasty.submission)
    reject_work(world.at(), assignments=[hasty.submission], reason=made.reason, category=made.category)
    ask_returns(world.at(), [slow.submission], "Please return it.", dry_run=False)
    approve_work(world.at(), assignments=[each.submission for each in careful])
    bonus = {"amount": Decimal("0.50"), "reason": "thorough", "purpose": "thorough"}
    pay_bonus(world.at(), assignment=careful[0].submission, **bonus)
    notify_workers(world.at(), subject="Hello", text="Thanks", workers=[careful[0].id])
    enlarge(world.at().study, 4, "more")
    world.publish()
    expire_all(world.at())
    extend_all(world.at(), 1)
    approve_work(world.at())
    close_all(world.at(), wait=0)

    met, wrong = set(), list[str]()
    for method, path, body in sent:
        there = urlsplit(path)
        if method == "GET":
            found = [known for known in READS if re.fullmatch(known, there.path)]
            met.update(found)
            names = {name for name, _ in parse_qsl(there.query)}
            if not found or names - READS[found[0]]:
                wrong.append(f"GET {path}")
            continue
        found = [known for known in WRITES if re.fullmatch(known, f"{method} {there.path}")]
        met.update(found)
        wrong += differs(body, WRITES[found[0]], found[0]) if found else [f"{method} {path}"]
    assert wrong == []
    assert (WRITES.keys() | READS.keys()) - met == set(), "never sent"
    for made_study in (body for method, path, body in sent if (method, path) == ("POST", "/studies/")):
        for code in made_study["completion_codes"]:
            (action,) = code["actions"]
            assert action.keys() == ACTIONS[action["action"]]
        assert made_study["reward"] == 80  # minor units
        assert made_study["study_labels"] == ["ai_evaluation"]
    lines = [body["csv_bonuses"] for _, path, body in sent if path.endswith("/bonus-payments/")]
    assert lines == [f"{careful[0].submission},0.50"]  # major units
