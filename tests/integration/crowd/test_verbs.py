"""The verbs about people and money say where, what and how much, in one line each; and errors in two."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, select

from humaneval.market import MarketServer
from humaneval.store.engine import reading
from humaneval.store.tables import HitRow, RowRow

COST = "3.84"
"""Of four assignments at $0.80 with their fees."""


def test_status_says_where_what_and_how_much(
    study: Engine, verb: Callable, market: MarketServer, monkeypatch: pytest.MonkeyPatch, person: Callable
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", market.url)
    assert "not published" in verb("status", "study").out
    published = verb("publish", "study")
    assert "local: 1 HITs with 4 assignments to put up" in published.out
    assert "= $3.84" in published.out
    with reading(study) as session:
        external = session.scalars(select(HitRow.external_id)).one()
        form = session.scalars(select(RowRow.shown_hash)).first()
    work = person("Ada").accept(f"{market.url}/hits/{external}")
    work.submit_directly({"form": form, "consent": "1", **{f"choice-{n}": "2" for n in (1, 2, 3, 4)}})
    assert "1 submitted, 1 of them new; 4 responses" in verb("collect", "study").out
    waiting = verb("status", "study").out
    assert "local: 1 of 4 submitted" in waiting
    assert "approves the first waiting one by itself in 72 hours" in waiting
    assert "1 wait for approval; local approves the first by itself at" in verb("review", "study").out
    assert "1 approved at local now" in verb("approve", "study", work.id).out
    paid = ["bonus", "study", work.id, "--amount", "0.5", "--reason", "Thanks"]
    assert "$0.50 paid at local, and $0.10 in fees" in verb(*paid).out
    assert "nothing was paid now" in verb(*paid).out
    assert (
        "no payment due"
        in verb("bonus", "study", work.id, "--amount", "0", "--reason", "-", "--purpose", "z").out
    )
    (line,) = verb("status", "study", "--json").document["endpoints"]
    assert (line["rewards"], line["fees"], line["approved"]) == ("1.30", "0.26", 1)
    assert "1 HITs at local can be found for 2 days" in verb("extend", "study", "--days", "2").out
    assert "1 HITs at local taken down; 0 people" in verb("expire", "study").out
    for wrong in (
        ["extend", "study", "--days", "0"],
        ["publish", "nobody's"],
        ["publish", "study", "--top-up"],
    ):
        refused = verb(*wrong)
        assert refused.code == 2
        assert "Traceback" not in refused.err


def test_local_goes_where_it_is_told_with_keys_of_its_own_whatever_aws_says(
    study: Engine, verb: Callable, market: MarketServer, monkeypatch: pytest.MonkeyPatch, listed: Callable
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", market.url)
    monkeypatch.setenv("AWS_PROFILE", "a-profile-that-is-nowhere")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    dry = verb("publish", "study", "--dry-run", "--json")
    assert (dry.document["hits"], dry.document["cost"], listed()) == (1, COST, [])
    done = verb("publish", "study", "--json")
    assert done.code == 0, done.err
    assert done.document["preview_urls"][0].startswith(f"{market.url}/mturk/preview")
    assert len(listed()) == 1
    missing = verb("collect", "study", "--to", "sandbox")
    assert missing.code == 1
    assert "a-profile-that-is-nowhere" in missing.err


def test_wrong_keys_are_named_in_one_line(
    study: Engine, verb: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = verb("publish", "study", "--to", "sandbox")
    assert refused.code == 1
    assert "Unable to locate credentials" in refused.err
    assert "Traceback" not in refused.err
