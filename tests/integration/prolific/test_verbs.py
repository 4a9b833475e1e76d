"""The verbs with --to prolific, as somebody types them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from humaneval.cli.main import main
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow
from tests.integration.prolific.people import World


@pytest.fixture
def run(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Runs a verb: its exit code, and what it said."""
    monkeypatch.setenv("HUMANEVAL_DATABASE", world.engine.url.render_as_string(hide_password=False))
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", world.forms)
    monkeypatch.setenv("PROLIFIC_URL", world.server.url)
    monkeypatch.setenv("PROLIFIC_TOKEN", world.server.token)
    monkeypatch.setenv("PROLIFIC_PROJECT", world.project)

    def call(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([*arguments])
        code = int(ended.value.code or 0)
        said = capsys.readouterr()
        assert world.server.token not in said.out + said.err
        assert "$" not in said.out + said.err  # the account is in pounds
        return code, said.out + said.err

    return call


def test_a_study_goes_its_way_by_the_verbs(world: World, run: Callable[..., tuple[int, str]]) -> None:
    for verb in ("status", "score"):  # no marketplace pays in pounds
        assert "publish study --to prolific" in run(verb, "study")[1], verb
    said = run("doctor", "study", "--to", "prolific")[1]
    assert ("Taking part again" in said, "USD" in said) == (True, False)
    code, said = run("publish", "study", "--to", "prolific", "--dry-run")
    assert (code, "Cost if all are approved: £3.20" in said) == (0, True)
    assert "Balance at the stand-in: £10000.00 of play money." in said
    code, said = run("publish", "study", "--to", "prolific")
    assert (code, "Published 1 HIT at prolific" in said) == (0, True)
    ann, ben = world.answered_by("Ann", "Ben", right=False)
    cleo = world.person("Cleo")
    cleo.take()
    assert run("status", "study")[0] == 0
    code, said = run("collect", "study")
    assert (code, "2 submitted, 2 of them new" in said) == (0, True)
    code, said = run("reject", "study", ann.submission)
    assert (code, "FAILED_CHECK: We are sorry" in said, "nobody has agreed" in said) == (2, True, True)
    assert world.status_of(ann.submission) == "AWAITING REVIEW"
    code, said = run("ask-return", "study", cleo.submission, "--reason", "It was our fault.")
    assert (code, "1 person was asked at prolific now." in said) == (0, True)
    code, said = run("review", "study", "--approve")
    assert (code, "2 approved at prolific now." in said) == (0, True)
    bonus = ("bonus", "study", ben.submission, "--amount", "0.20", "--reason", "thorough")
    assert run(*bonus)[0] == 0
    assert "nothing was paid now" in run(*bonus)[1]
    code, said = run("approve", "study", ann.submission, "--undo-rejection")
    assert code == 0
    said = run("status", "study", "--reconcile")[1]
    assert ("of play money." in said, "fees, which nobody pays" in said) == (True, True)
    assert "£" in run("worker", "list", "study", "--to", "prolific")[1]
    for kind in ("arr", "board"):
        assert run("datasheet", "study", f"--{kind}", "--out", f"{kind}.md")[0] == 0
        written = Path(f"{kind}.md").read_text(encoding="utf-8")
        assert ("£0.80" in written, "$" in written) == (True, False)
    assert "a stand-in for Prolific" in Path("arr.md").read_text(encoding="utf-8")
    code, said = run("status", "study", "--reconcile", "--json")
    books: dict[str, Any] = json.loads(said)["books"]["prolific"]
    assert (code, books["differences"], books["left"]) == (0, [], "0.00")
    assert run("compensate", "study", cleo.submission, "--amount", "0.50", "--reason", "ours")[0] == 2
    assert run("expire", "study")[0] == 0
    cleo.give_back()
    world.collect()
    assert run("close", "study")[0] == 0
    assert world.study_there()["status"] == "COMPLETED"


def test_P15_the_real_host_needs_the_switch_the_sum_and_https(
    world: World, run: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROLIFIC_URL", "https://api.prolific.com")
    code, said = run("publish", "study", "--to", "prolific")
    assert (code, "shows forms from https addresses only" in said) == (2, True)
    monkeypatch.delenv("PROLIFIC_TOKEN")
    code, said = run("publish", "study", "--to", "prolific")
    assert (code, "PROLIFIC_TOKEN" in said) == (2, True)


def test_P19_listening_is_confirmed_and_can_be_repeated(
    world: World, run: Callable[..., tuple[int, str]]
) -> None:
    world.publish()
    for _ in range(2):
        code, said = run("listen", "study")
        assert (code, f"{world.forms}/prolific/events" in said) == (0, True)
    platform = world.platform()
    assert len(platform.hooks.subscriptions(platform.account.workspace)) == 1
    ann = world.person("Ann")
    ann.take()
    ann.give_back()
    assert world.rows() != []
    assert world.server.deliver()
    assert world.rows() == []


def test_P10_simulated_annotators_try_a_study_at_the_stand_in_and_never_at_prolific(
    world: World, run: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    simulate = ("simulate", "study", "--skill", "control=1")
    code, said = run(*simulate, "--annotators", "3")
    assert (code, "3 simulated annotators submitted a form." in said) == (0, True)
    code, said = run(*simulate, "--seed", "1", "--annotators", "2", "--json")
    told = json.loads(said)
    assert (code, told["submitted"], told["found_nothing"]) == (0, 1, 1)
    assert world.collect().new == 4
    with reading(world.engine) as session:
        assert set(session.scalars(select(AssignmentRow.by_program))) == {True}
    monkeypatch.setenv("PROLIFIC_URL", "https://api.prolific.com")
    code, said = run(*simulate, "--to", "prolific")
    assert (code, "only at a stand-in on this machine, not at https://api.prolific.com" in said) == (2, True)
