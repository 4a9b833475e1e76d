"""The verbs about people and money say where, what and how much, in one line each; and errors in two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, MetaData, select

from humaneval.crowd.collect import collect_work
from humaneval.crowd.endpoints import local
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.settle import TAKE_BACK
from humaneval.crowd.study_at import open_study_at
from humaneval.crowd.workers import list_workers
from humaneval.market import MarketServer, Mode, open_market
from humaneval.store.engine import reading, writing
from humaneval.store.tables import HitRow, OutboxRow, RowRow
from humaneval.study.stored import open_study
from tests.integration.link.test_no_ids_get_out import contents

COST = "3.84"
"""Of four assignments at $0.80 with their fees."""


def test_status_says_where_what_and_how_much(
    study: Engine, verb: Callable, market: MarketServer, monkeypatch: pytest.MonkeyPatch, person: Callable
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", market.url)
    assert "not published" in verb("status", "study").out
    published = verb("publish", "study")
    assert "local: 1 HIT with 4 assignments to put up" in published.out
    assert "You owe people $3.20 if all are approved." in published.out
    with reading(study) as session:
        external = session.scalars(select(HitRow.external_id)).one()
        form = session.scalars(select(RowRow.shown_hash)).first()
    work = person("Ada").accept(f"{market.url}/hits/{external}")
    work.submit_directly({"form": form, "consent": "1", **{f"choice-{n}": "2" for n in (1, 2, 3, 4)}})
    assert "1 submitted, 1 of them new; 4 responses" in verb("collect", "study").out
    waiting = verb("status", "study").out
    assert "local: 1 of 4 submitted" in waiting
    assert "Without a decision, local will approve the oldest form that waits, in 72 hours" in waiting
    assert "you owe people $0.00, and" in waiting
    assert "$0.80 will be due when 1 form is approved." in waiting
    assert "1 form waits for approval. Without a decision, " in verb("review", "study").out
    assert "Nothing that is approved at local is left to pay." in verb("review", "study", "--paid").out
    assert "1 approved at local now" in verb("approve", "study", work.id).out
    paid = ["bonus", "study", work.id, "--amount", "0.5", "--reason", "Thanks"]
    assert "$0.50 approved at local: you pay it yourself" in verb(*paid).out
    assert "nothing was paid now" in verb(*paid).out
    assert (
        "no payment due"
        in verb("bonus", "study", work.id, "--amount", "0", "--reason", "-", "--purpose", "z").out
    )
    (line,) = verb("status", "study", "--json").document["endpoints"]
    assert (line["rewards"], line["fees"], line["approved"]) == ("1.30", "0.26", 1)
    pay = "humaneval review study --to local --paid --spend 1.30"
    owed = f"Once you have paid people the $1.30 that you owe: {pay}"
    assert owed in verb("status", "study").out
    assert owed in verb("review", "study", "--approve").out
    assert "Would enter $1.30 as paid." in verb("review", "study", "--paid", "--dry-run").out
    bare = verb("review", "study", "--paid")
    assert (bare.code, bare.err.splitlines()) == (
        2,
        [
            "Error: this enters $1.30 of 2 payments at local as paid, and there is no terminal to ask on",
            f"  Give the sum: {pay}",
        ],
    )
    more = verb("review", "study", "--paid", "--spend", "0.80")  # 0.50 was approved since
    assert (more.code, "$1.30 is owed now, not $0.80" in more.err) == (2, True)
    assert (
        verb("review", "study", "--paid", "--spend", "1.30").out
        == "$1.30 is entered as paid. Nothing was sent.\n"
    )
    again = verb("review", "study", "--paid", "--json").document
    assert (again["payments"], again["entered"], again["before"]) == (0, "0.00", "1.30")
    settled = verb("status", "study").out
    assert "you owe people $0.00, and nobody takes fees" in settled
    assert "$1.30 is entered as paid." in settled
    assert "Once you have paid" not in settled
    assert "Our books and local's agree." in verb("status", "study", "--reconcile").out
    undo = ["review", "study", "--paid", "--undo"]
    assert verb(*undo, "--dry-run").out.startswith("Would take back $1.30, entered 2")
    assert "takes back $1.30 of 2 payments at local, entered 2" in (asked := verb(*undo).err)
    assert " UTC, and there is no terminal" in asked
    assert "$1.30 was entered last, not $0.80" in verb(*undo, "--spend", "0.80").err
    assert verb(*undo, "--spend", "1.30").out.endswith(" UTC. You owe it again.\n")
    assert owed in verb("status", "study").out
    assert verb(*undo, "--spend", "1.30").out == "Nothing is entered as paid.\n"
    with reading(study) as session:
        kept = session.scalars(select(OutboxRow).where(OutboxRow.operation == TAKE_BACK)).one()
        assert (kept.state, list(kept.request["payments"].values())) == ("confirmed", ["0.80", "0.50"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.prompt", lambda *_, **__: Decimal("1.30"))
    assert "$1.30 is entered as paid." in verb("review", "study", "--paid").out
    assert "Give both" in verb("review", "study", "--undo").err
    assert "two steps" in verb("review", "study", "--paid", "--approve").err
    assert "counts as paid" in verb("review", "study", "--paid", "--to", "link").err
    assert "1 HIT at local can be found for 2 days" in verb("extend", "study", "--days", "2").out
    assert "1 HIT at local taken down; 0 people" in verb("expire", "study").out
    for wrong in (
        ["extend", "study", "--days", "0"],
        ["publish", "nobody's"],
        ["publish", "study", "--top-up"],
    ):
        refused = verb(*wrong)
        assert refused.code == 2
        assert "Traceback" not in refused.err


@pytest.mark.parametrize("balance", [Decimal("3.83")])
def test_C13_status_is_plain_about_a_study_that_the_balance_could_not_carry(
    study: Engine,
    verb: Callable,
    market: MarketServer,
    monkeypatch: pytest.MonkeyPatch,
    listed: Callable,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", market.url)
    refused = verb("publish", "study")
    assert (refused.code, "the balance at local is $3.83" in refused.err, listed()) == (1, True, [])
    assert verb("status", "study").out == "study is not published.\nNext: humaneval up study\n"
    assert verb("status", "study", "--json").document["endpoints"] == []


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


def test_every_dry_run_says_what_it_would_do_and_writes_nothing_anywhere(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    verb: Callable,
    market: MarketServer,
    market_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    platform: MTurk,
    troubles: Any,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", market.url)
    up_there = put_up(sqlite_engine, design={"annotators": 12})
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", up_there.forms)
    first = answer(up_there, "Ada")
    collect_work(open_study_at(sqlite_engine, "study", platform))
    answer(up_there, "Ben")
    ada, *_ = [line.worker for line in list_workers(open_study(sqlite_engine, "study"), "local")]
    mail = ["--subject", "s", "--text", "t"]
    reads = ("Get", "List")
    before = (everything(sqlite_engine), everything(market_engine))
    troubles.seen.clear()
    for command, says in {
        ("publish", "study"): "0 HITs with 0 assignments to put up, 2 up already",
        ("collect", "study"): "2 submitted at local, 1 of them new. Nothing was stored.",
        ("review", "study", "--approve"): "Would approve 1 at local: $0.80, which you pay yourself",
        ("approve", "study", first): "Would approve 1 at local: $0.80, which you pay yourself",
        ("reject", "study", first, "--reason", "-"): "Would reject 1 at local",
        (
            "bonus",
            "study",
            first,
            "--amount",
            "1",
            "--reason",
            "-",
        ): "Would give $1.00 at local for 'bonus': $1.00, which you pay yourself. Nothing was done.",
        ("notify", "study", ada, *mail): "Would write to 1 at local",
        ("extend", "study", "--days", "3"): "Would extend 2 HITs at local",
        ("expire", "study"): "Would expire 2 HITs at local",
        ("worker", "block", "study", ada, "--reason", "-"): "1 would be blocked at local",
        ("worker", "unblock", "study", ada): "0 would be unblocked at local; 1 are so already",
        ("worker", "exclude", "study", ada): "0 would be excluded at local; 1 are so already",
        ("worker", "include", "study", ada): "1 would be readmitted at local",
    }.items():
        done = verb(*command, "--dry-run")
        assert done.code == 0, (command, done.err)
        assert says in done.out
    told = verb("reject", "study", first, "--reason", "-", "--dry-run", "--json").document
    assert told == {"study": "study", "endpoint": "local", "would_reject": [first]}
    for command, words in {
        ("compensate", "study", first, "--amount", "1", "--reason", "-"): f"assignment {first} was submitted",
        ("bonus", "study", first, "--amount", "-1", "--reason", "-"): "a bonus cannot be negative: -1.00",
        ("bonus", "study", "nope", "--amount", "1", "--reason", "-"): "has no assignment 'nope'",
        ("bonus", "study", first, "--amount", "9" * 20, "--reason", "-"): "is not an amount of money",
        ("bonus", "study", first, "--amount", "1", "--reason", "-", "--purpose", " "): "the purpose is empty",
        ("bonus", "study", first, "--amount", "1", "--reason", "-", "--spend", "2"): "the sum does not match",
        ("reject", "study", first, "--reason", "\U0001f600"): "characters that the platform does not accept",
        ("notify", "study", ada, "--subject", "\U0001f600", "--text", "t"): "characters that the platform",
        ("approve", "study", first, "--feedback", "x" * 1025): "1,025 characters; the platform accepts 1,024",
    }.items():
        refused = verb(*command, *([] if "--spend" in command else ["--dry-run"]))
        assert refused.code == 2, (command, refused)
        assert words in refused.err
    not_yet = verb("close", "study", "--dry-run")
    assert (not_yet.code, "1 submission at local is not collected yet" in not_yet.err) == (1, True)
    assert {operation for operation in troubles.seen if not operation.startswith(reads)} == set()
    assert (everything(sqlite_engine), everything(market_engine)) == before


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[MarketServer]:
    """Another marketplace, with nothing in it, that is called `local` as well."""
    engine = open_market(tmp_path / "elsewhere.db")
    with MarketServer(engine, mode=Mode.LOCAL) as server:
        yield server
    engine.dispose()


def test_C19_a_study_that_is_up_at_another_marketplace_is_not_touched_from_here(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    verb: Callable,
    market: MarketServer,
    platform: MTurk,
    elsewhere: MarketServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 12, "top_up": "auto"})
    collected = answer(up)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    done = answer(up, "Ben")
    before = everything(sqlite_engine)
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", elsewhere.url)
    for command in (
        ("publish", "study"),
        ("publish", "study", "--dry-run"),
        ("collect", "study"),
        ("collect", "study", "--dry-run"),
        ("status", "study", "--reconcile"),
        ("extend", "study", "--days", "3"),
        ("expire", "study"),
        ("close", "study"),
        ("close", "study", "--dry-run"),
        ("notify", "study", "--subject", "Hello", "--text", "Thank you."),
        ("worker", "block", "study", "A1EXAMPLE", "--reason", "A robot."),
        ("worker", "exclude", "study", "A1EXAMPLE"),
        ("compensate", "study", done, "--amount", "0.50", "--reason", "It was lost."),
        ("approve", "study", collected),
        ("review", "study", "--approve"),
        ("review", "study", "--approve", "--dry-run"),
        ("reject", "study", collected, "--reason", "No."),
        ("reject", "study", collected, "--reason", "No.", "--dry-run"),
        ("bonus", "study", collected, "--amount", "0.50", "--reason", "Thanks"),
    ):
        refused = verb(*command)
        assert refused.code == 1, command
        assert f"local ({elsewhere.url}) has none of the 2 HITs of study 'study'" in refused.err
        assert "Set HUMANEVAL_MARKET_URL to where the HITs are" in refused.err
        assert everything(sqlite_engine) == before, command
    assert MTurk(local(elsewhere.url)).client.list_hits()["NumResults"] == 0
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", market.url)
    assert "2 submitted, 1 of them new" in verb("collect", "study").out


def test_C19_a_hit_that_is_gone_makes_no_other_marketplace_of_it(
    sqlite_engine: Engine, put_up: Callable, platform: MTurk, troubles: Any
) -> None:
    put_up(sqlite_engine, design={"annotators": 12})
    troubles.seen.clear()
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    assert troubles.seen == ["GetHIT"], "one look"
    with writing(sqlite_engine) as session:
        last = session.scalars(select(HitRow).order_by(HitRow.id.desc())).first()
        assert last is not None
        last.external_id = "3GONE0000000000000000000000000"
    assert plan_hits(open_study_at(sqlite_engine, "study", platform)).already_up == 2


def everything(engine: Engine) -> dict[str, list[Any]]:
    """Every row of every table."""
    metadata = MetaData()
    metadata.reflect(engine)
    with engine.connect() as connection:
        return {
            name: sorted(map(repr, connection.execute(select(table))))
            for name, table in metadata.tables.items()
        }


def test_the_verbs_about_people_say_what_they_did_once_and_then_that_it_was_so(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    verb: Callable,
    market: MarketServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", market.url)
    assignment = answer(put_up(sqlite_engine, design={"annotators": 4}))
    verb("collect", "study")
    mail = ("notify", "study", "--subject", "s", "--text", "t")
    early = verb(*mail, "--dry-run").out.splitlines()
    assert early[0] == "Would write to 0 at local; 0 had it before. Nothing was sent."
    assert "No work is approved or rejected yet" in early[1]
    assert "1 rejected at local now" in verb("reject", "study", assignment, "--reason", "No.").out
    assert "0 rejected at local now" in verb("reject", "study", assignment, "--reason", "No.").out
    assert "No work is approved or rejected yet" not in verb(*mail, "--dry-run").out
    listed = verb("worker", "list", "study", "--json").document["workers"]
    (pseudonym,) = [line["worker"] for line in listed]
    shown = verb("worker", "list", "study").out.splitlines()
    assert shown[0].split() == [
        "Worker",
        "Done",
        "Approved",
        "Rejected",
        "Not",
        "counted",
        "Earned",
        "Kept",
        "out",
    ]
    assert shown[1].split() == [pseudonym, "1", "of", "1", "0", "1", "1", "$0.00", "—"]
    undone = verb("approve", "study", assignment, "--undo-rejection")
    assert "1 approved at local now" in undone.out
    letter = ("notify", "study", "--subject", "Sorry", "--text", "It is paid after all.")
    assert "Written to 1 at local; 0 had it before" in verb(*letter).out
    assert "Written to 0 at local; 1 had it before" in verb(*letter).out
    block = ("worker", "block", "study", pseudonym, "--reason", "-")
    assert "1 blocked at local; 0 were so already" in verb(*block).out
    assert "0 blocked at local; 1 were so already" in verb(*block).out
    assert "blocked" in verb("worker", "list", "study").out
    assert "1 unblocked at local" in verb("worker", "unblock", "study", pseudonym).out
    assert verb("notify", "study", "--subject", "x").code == 2
    assert verb("reject", "study", assignment).code == 2  # no reason
    assert "1 HIT deleted at local" in verb("close", "study").out


def test_what_is_no_marketplace_is_told_in_a_line_and_not_with_its_page(
    sqlite_engine: Engine, put_up: Callable, verb: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    forms = put_up(sqlite_engine, design={"annotators": 4}).forms
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", forms)
    refused = verb("collect", "study")
    assert refused.code == 1
    assert "answered HTTP 405 with a page, which no marketplace does" in refused.err
    assert "<" not in refused.err


def test_X52_who_took_part_is_not_listed_as_kept_out(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    verb: Callable,
    market: MarketServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", market.url)
    answer(put_up(sqlite_engine, design={"annotators": 20}))
    verb("collect", "study")
    (listed,) = verb("worker", "list", "study", "--json").document["workers"]
    assert (listed["forms"], listed["allowed"], listed["on_list"]) == (1, 1, True)
    shown = verb("worker", "list", "study").out.splitlines()
    assert shown[1].split()[-1] == "—"
    assert "1 readmitted at local" in verb("worker", "include", "study", listed["worker"]).out
    assert "1 excluded at local" in verb("worker", "exclude", "study", listed["worker"]).out
    assert verb("worker", "list", "study").out.splitlines()[1].split()[-1] == "excluded"


def test_no_verb_names_a_worker_by_the_marketplaces_id(
    sqlite_engine: Engine,
    put_up: Callable,
    platform: MTurk,
    verb: Callable,
    person: Callable,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    caplog.set_level("DEBUG", logger="humaneval")
    up = put_up(sqlite_engine, design={"annotators": 4}, exclusions={"missed_control": "none"})
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    (tmp_path / "out").mkdir()
    work = [person(name).accept(up.preview) for name in ("Ada", "Bo", "Cy")]
    one, two, three = [each.do(choice) for choice, each in enumerate(work, 1)]
    ids = [each.person.id for each in work]
    said = verb("collect", "study").out
    workers = [one["worker"] for one in verb("worker", "list", "study", "--json").document["workers"]]
    for line in (
        "worker list study",
        "review study",
        f"approve study {one}",
        f"reject study {two} --reason wrong",
        f"bonus study {one} --amount 0.50 --reason thanks",
        f"notify study {workers[0]} --subject hello --text words",
        f"worker exclude study {workers[0]}",
        f"worker block study {workers[1]} --reason spam",
        f"worker show {workers[1]}",
        f"compensate study {three} --amount 1 --reason late",
        "review study --approve",
        "status study --reconcile --json",
        "extend study --days 2",
        "export study --all --out out/all.csv",
        "report study --out out/report.html",
        "archive study --out out/a.zip",
        "close study",
        "study delete study --yes",
        f"worker forget {workers[0]} --yes",
    ):
        done = verb(*line.split())
        refused = line.startswith(
            ("compensate", "study delete")
        )  # for work that was sent, a study that was used
        assert done.code == (2 if refused else 0), (line, done.err)
        said += done.out + done.err
    everything = {"the terminal": said, "the log": caplog.text, **contents(tmp_path / "out")}
    assert {"all.csv", "report.html", "a.zip/responses.csv"} <= set(everything)
    assert len(set(ids)) == 3
    assert [name for name, text in everything.items() if any(each in text for each in ids)] == []
