"""Whatever researchers and participants do, in any order: no cent is lost, and no place is taken twice."""

from __future__ import annotations

import random

import pytest
from sqlalchemy import select

from humaneval.market.prolific_standin.money import OPEN, PAID, pots
from humaneval.market.prolific_standin.tables import Study, Submission
from tests.integration.prolific_standin.conftest import AUTO, AWAY, CODE, OURS, REASON, Place

OPENING = 1_000_000
ENDS = {"APPROVED", "REJECTED", "RETURNED", "SCREENED OUT", "PARTIALLY APPROVED"}
"""No status follows one of these."""


@pytest.mark.parametrize("seed", range(6))
def test_money_places_and_ends_hold_in_any_order(place: Place, seed: int) -> None:
    rng = random.Random(seed)
    study = place.live(total_available_places=3)
    people = [place.person(f"p{number}") for number in range(6)]
    known: dict[str, str] = {}

    def step() -> None:
        person = rng.choice(people)
        ids = list(known) or ["none"]
        path = f"/submissions/{rng.choice(ids)}"
        rng.choice(
            [
                lambda: person.browser.post(f"/studies/{study}/reserve"),
                lambda: person.browser.post(f"{path}/start"),
                lambda: person.come_back(rng.choice([CODE, AUTO, AWAY, "", "WRONG"])),
                lambda: person.browser.post(f"{path}/return"),
                lambda: place.call("POST", f"{path}/transition/", {"action": "APPROVE"}),
                lambda: place.call(
                    "POST",
                    f"{path}/transition/",
                    {"action": "REJECT", "message": REASON, "rejection_category": "OTHER"},
                ),
                lambda: place.call(
                    "POST", f"{path}/transition/", {"action": "COMPLETE", "completion_code": OURS}
                ),
                lambda: place.call("POST", "/submissions/bulk-approve/", {"submission_ids": ids[:3]}),
                lambda: place.act(study, rng.choice(["PAUSE", "START", "START"])),
                lambda: place.clock.pass_time(minutes=rng.choice([1, 11, 31, 60 * 24 * 22])),
            ]
        )()

    for _ in range(60):
        step()
        place.get(f"/studies/{study}/")
        with place.books.writing() as work:
            row = work.session.scalars(select(Study)).one()
            submissions = list(work.session.scalars(select(Submission)))
            held = pots(work)
            states = {each.id: each.status for each in submissions}
            taken = sum(each.status in (*OPEN, *PAID) for each in submissions)
            completed_for = sum(each.code == OURS for each in submissions)
        assert sum(held) == OPENING
        assert min(held) >= 0
        assert held.paid == 150 * sum(each == "APPROVED" for each in states.values())
        # Who ran out of time may be completed by the researcher although the place was given again.
        assert taken <= row.body["total_available_places"] + completed_for
        for each, before in known.items():
            assert states[each] == before or before not in ENDS
        known.update(states)
