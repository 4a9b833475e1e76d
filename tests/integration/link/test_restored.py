"""An older copy of the database is put back while people who came by link have forms open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Engine, delete

from humaneval.crowd.link import open_invitation, panel_invitation, read_people
from humaneval.settings import Settings
from humaneval.simulated.browser import Browser
from humaneval.store.engine import writing
from humaneval.store.tables import MetaRow
from humaneval.web.app import create_app
from humaneval.web.tokens import LAST_UNMARKED
from tests.integration.link.people import begin, send


def test_an_address_of_before_leads_to_nobody_elses_form(
    sqlite_engine: Engine, by_link: Callable, backup: Callable
) -> None:
    study = by_link(sqlite_engine)
    link = study.open_link()
    put_back = backup()
    ada = begin(link)
    put_back()
    ben = begin(link)
    assert ben.url != ada.url
    for refused in (Browser().get(ada.url), send(ada, 5)):
        assert (refused.status, "open your link" in refused.html) == (404, True)
    assert study.answers() == []
    assert send(ben, 2).status == 200
    assert [given["choice-1"] for given in study.answers()] == ["2"]


def test_addresses_of_an_earlier_version_lead_on_and_to_no_later_form(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine)
    link = study.open_link()
    key = link.rpartition("/")[2]
    begin(link)
    with writing(sqlite_engine) as session:  # as the earlier version left it
        session.execute(delete(MetaRow).where(MetaRow.key == LAST_UNMARKED))
    app = create_app(Settings(), sqlite_engine)
    old = [app.extensions["humaneval"].signer.dumps(claim, salt=f"take {key}") for claim in (1, 2)]
    begin(link)
    client = app.test_client()
    assert [client.get(f"/take/{key}/{token}").status_code for token in old] == [200, 404]


def test_links_that_are_out_are_made_again(
    sqlite_engine: Engine, by_link: Callable, backup: Callable, tmp_path: Path
) -> None:
    study = by_link(sqlite_engine)
    people = tmp_path / "people.csv"
    people.write_text("name\nAnn\nBob\n", encoding="utf-8")
    listed = read_people(people, lambda row: True).invitations(b"key")
    put_back = backup()
    invited = [open_invitation(), panel_invitation(), *listed]
    out = [study.invite(each)[0] for each in invited]
    put_back()
    assert [study.invite(each)[0] for each in reversed(invited)] == out[::-1]
    assert len(set(out)) == 4
