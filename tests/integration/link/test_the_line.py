"""The whole study by link: publish, simulate, collect, review, score; and the same people at the
marketplace."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from sqlalchemy import Engine, select

from humaneval.crowd.approve import approve_work
from humaneval.crowd.collect import collect_work
from humaneval.crowd.costs import spent
from humaneval.crowd.link import open_invitation, panel_invitation
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.review import review_work
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import open_study_at
from humaneval.scoring.scores import score
from humaneval.simulated import Crowd, Skills, crowd_for, follow_links, work_through
from humaneval.store.engine import open_engine, reading
from humaneval.store.responses import response_lines
from humaneval.store.tables import AssignmentRow, OutboxRow, PaymentRow
from humaneval.study.stored import get_study, open_study, study_key
from tests.commands import Command
from tests.integration.link.people import LinkStudy, begin, heading, panel, take

CROWD = Crowd(12, Skills(0.3, {"control": 1.0, "example-poor": 0.9}), careless=0.2, seed=11)


@pytest.fixture
def walked(by_link: Callable) -> Callable[..., LinkStudy]:
    """A study that CROWD has come to by this kind of link."""

    def walk(engine: Engine, kind: str = "open", **sections: dict) -> LinkStudy:
        study = by_link(engine, design={"annotators": CROWD.size}, **sections)
        invitation = {"open": open_invitation, "panel": panel_invitation}[kind]()
        (link,) = study.invite(invitation)
        if kind == "panel":
            link = panel(link, "P{number}", "S{number}").replace("%7B", "{").replace("%7D", "}")
        worked = follow_links(CROWD, [link], study_key(open_study(engine, "study")))
        assert worked == (CROWD.size, 0)
        return study

    return walk


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize("kind", ["open", "panel"])
def test_a_study_goes_from_links_to_scores(engine: Engine, walked: Callable, kind: str) -> None:
    study = walked(engine, kind)
    found = study.collect()
    assert (found.submissions, found.new, found.responses, found.differences) == (12, 12, 48, ())
    assert study.collect().new == 0
    assert len(review_work(open_study(engine, "study"), "link")) == 12
    assert approve_work(open_study_at(engine, "study", study.platform)) == 12
    assert approve_work(open_study_at(engine, "study", study.platform)) == 0
    assert Counter(line["endpoint"] for line in study.responses()) == {"link": 48}
    scores = score(pd.DataFrame(study.responses()))
    assert {row.generator for row in scores.scores} == {"control", "human", "example-good", "example-poor"}


@pytest.fixture
def at_market(sqlite_template: Path, tmp_path: Path) -> Iterator[Engine]:
    """A second database, for the study at the marketplace."""
    file = tmp_path / "marketplace.db"
    file.write_bytes(sqlite_template.read_bytes())
    engine = open_engine(f"sqlite:///{file}")
    yield engine
    engine.dispose()


def test_the_same_crowd_gives_exactly_the_same_scores_at_the_marketplace_and_by_link(
    sqlite_engine: Engine,
    at_market: Engine,
    walked: Callable,
    study_factory: Callable,
    form_server: Callable,
    platform: MTurk,
) -> None:
    frames = [pd.DataFrame(walked(sqlite_engine).responses())]
    study_factory(at_market, "study", design={"annotators": CROWD.size})
    forms = form_server(at_market)
    plan_hits(open_study_at(at_market, "study", platform))
    up = publish_hits(open_study_at(at_market, "study", platform), public_url=forms.url)
    assert (
        work_through(CROWD, up.preview_urls[0], study_key(open_study(at_market, "study"))).submitted
        == CROWD.size
    )
    collect_work(open_study_at(at_market, "study", platform))
    with reading(at_market) as session:
        frames.append(pd.DataFrame(response_lines(session, get_study(session, "study"))))
    answered = ["row", "order", "story", "generator", "position", "choice"]
    first, second = (frame[answered].sort_values(["row", "order"]).reset_index(drop=True) for frame in frames)
    pd.testing.assert_frame_equal(first, second)
    tables = [json.loads(json.dumps(score(frame).to_json(), default=str)) for frame in frames]
    assert tables[0]["scores"] == tables[1]["scores"]
    assert tables[0]["annotators"] == tables[1]["annotators"]
    assert tables[0]["annotators"]["excluded"] > 0


def test_simulated_annotators_leave_a_panels_own_page_alone(sqlite_engine: Engine, walked: Callable) -> None:
    study = walked(sqlite_engine, link={"completion_url": "https://panel.example/done"})
    assert study.collect().new == 12


def test_nothing_is_paid_or_entered_where_the_study_says_none(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine)
    take(study.open_link())
    study.collect()
    assert approve_work(open_study_at(sqlite_engine, "study", study.platform)) == 1
    assert study.collect().new == 0
    with reading(sqlite_engine) as session:
        assert session.scalars(select(PaymentRow)).all() == []
    assert spent(open_study(sqlite_engine, "study")).total == 0


def test_rewards_paid_elsewhere_are_entered_once_and_without_fees(engine: Engine, by_link: Callable) -> None:
    study = by_link(engine, link={"pay": "elsewhere"}, hit={"reward": "1.25"})
    link = study.open_link()
    for _ in range(2):
        take(link)
    study.collect()
    assert approve_work(open_study_at(engine, "study", study.platform)) == 2
    study.collect()
    paid = spent(open_study(engine, "study"))
    assert (paid.rewards, paid.fees) == (Decimal("2.50"), Decimal("0.00"))


def test_top_up_hands_the_rows_of_excluded_people_out_by_the_same_link(
    engine: Engine, by_link: Callable
) -> None:
    study = by_link(engine, design={"annotators": 2, "top_up": "ask"})
    link = study.open_link()
    for _ in range(2):
        take(link, choice=1)
    study.collect()
    lost = sum(bool(work.excluded) for work in review_work(open_study(engine, "study"), "link"))
    assert lost
    assert heading(begin(link)) == "All forms are taken"
    study.invite(open_invitation(), top_up=True)
    pages = [begin(link) for _ in range(lost + 1)]
    assert [heading(page) for page in pages].count("All forms are taken") == 1
    (status,) = study_status(open_study(engine, "study"))
    assert (status.submitted, status.planned) == (2, 2 + lost)


@pytest.fixture
def commands(
    sqlite_database: str, sqlite_engine: Engine, by_link: Callable, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """A study behind the command line."""

    def make(name: str = "study", **sections: dict) -> str:
        study = by_link(sqlite_engine, name, **sections)
        monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
        monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", study.url)
        return name

    return make


def test_the_whole_line_as_commands(
    commands: Callable, command: Command, sqlite_engine: Engine, tmp_path: Path
) -> None:
    commands(link={"pay": "elsewhere"})
    (tmp_path / "people.csv").write_text("Name\nAda\nBen\nChi\nDee\n")
    made = command(
        "publish", "study", "--to", "link", "--people", "people.csv", "--out", "links.csv", "--json"
    )
    links = pd.read_csv("links.csv").link.to_list()
    assert (made.json["made"], made.json["links"]) == (4, links)
    assert (
        "0 links made, 4 were there already"
        in command("publish", "study", "--to", "link", "--people", "people.csv", "--out", "links.csv").out
    )
    study = open_study(sqlite_engine, "study")
    crowd = crowd_for(study, 4, Skills(by_generator={"control": 1.0}), seed=3)
    assert follow_links(crowd, links, study_key(study)) == (4, 0)
    assert "link: 4 of 4 submitted, 0 usable; spent $0.00" in command("status", "study").out
    assert "4 not collected yet" in command("status", "study").out
    assert command("collect", "study", "--to", "link", "--json").json["responses"] == 16
    assert command("review", "study", "--to", "link", "--approve", "--json").json["approved_now"] == 4
    assert "link: 4 of 4 submitted, 4 usable; spent $3.20" in command("status", "study").out
    assert command("score", "study", "--json").json["annotators"]["analysed"] == 4
    assert "4 HITs at link" in command("expire", "study", "--to", "link").out
    assert follow_links(crowd, links, study_key(study)).found_nothing == 4
    assert command("extend", "study", "--to", "link", "--days", "2").code == 0


def test_bonuses_and_letters_are_refused_in_words_and_leave_nothing_behind(
    commands: Callable, command: Command, sqlite_engine: Engine, by_link: Callable
) -> None:
    commands(link={"pay": "elsewhere"})
    link = command("publish", "study", "--to", "link", "--json").json["links"][0]
    take(link)
    command("collect", "study", "--to", "link")
    (work,) = review_work(open_study(sqlite_engine, "study"), "link")
    said = command("bonus", "study", work.external_id, "--amount", "1", "--reason", "Thanks", "--to", "link")
    assert (said.code, said.err.splitlines()[0]) == (1, "Error: no bonus can be paid by link")
    said = command("notify", "study", work.worker, "--subject", "a", "--text", "b", "--to", "link")
    assert (said.code, "by link cannot be written to" in said.err) == (1, True)
    with reading(sqlite_engine) as session:
        assert session.scalars(select(PaymentRow)).all() == []
        assert {row.state for row in session.scalars(select(OutboxRow))} == {"confirmed"}
    assert command("approve", "study", work.external_id, "--to", "link").code == 0


def test_X53_a_list_without_column_names_is_read_asked_about_or_refused(
    commands: Callable, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands(link={"pay": "elsewhere"})
    publish = ("publish", "study", "--to", "link", "--people", "people.csv", "--out", "links.csv")

    def linked() -> list[list[str]]:
        return pd.read_csv("links.csv", dtype=str)[lambda one: one.columns[:-1]].to_numpy().tolist()

    Path("people.csv").write_text("a@example.org\nb@example.org\n")
    said = command(*publish)
    assert "no line of column names: its first line is read as a person" in said.err
    assert linked() == [["a@example.org"], ["b@example.org"]]
    Path("people.csv").write_bytes("email;name\r\njörg@example.org;Jörg\r\n".encode("cp1252"))
    said = command(*publish)
    assert (said.code, "was read as cp1252" in said.err) == (0, True)
    assert "jörg@example.org" in Path("links.csv").read_text(encoding="utf-8-sig")
    Path("people.csv").write_text("Ada\nBen\n")
    said = command(*publish)
    assert (said.code, "its first line is Ada" in said.err) == (2, True)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    for names_columns in (False, True):
        monkeypatch.setattr("click.confirm", lambda *_, answer=names_columns, **__: answer)
        assert command(*publish).code == 0
        assert linked() == ([["Ben"]] if names_columns else [["Ada"], ["Ben"]])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--people", "people.csv"], "--people and --out go together"),
        (["--out", "links.csv"], "--people and --out go together"),
        (["--people", "people.csv", "--out", "links.csv", "--panel"], "--people is for one person a line"),
        (["--people", "people.csv", "--out", "people.csv"], "people.csv cannot be written"),
        (["--people", "people.csv", "--out", "nowhere/links.csv"], "nowhere/links.csv cannot be written"),
        (["--static"], "are not for links"),
    ],
)
def test_what_does_not_go_together_is_refused_before_any_link_is_made(
    commands: Callable, command: Command, tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    commands()
    (tmp_path / "people.csv").write_text("Name\nAda\n")
    said = command("publish", "study", "--to", "link", *arguments)
    assert (said.code, complaint in said.err) == (2, True), said.err
    assert "is not published" in command("status", "study").out
    assert (tmp_path / "people.csv").read_text() == "Name\nAda\n"


def test_a_panel_is_told_the_whole_address(commands: Callable, command: Command) -> None:
    commands(link={"worker_parameter": "rid", "session_parameter": "sid"})
    address = command("publish", "study", "--to", "link", "--panel", "--json").json["links"][0]
    assert address.endswith("?rid={{%PROLIFIC_PID%}}&sid={{%SESSION_ID%}}")
    assert address in command("publish", "study", "--to", "link", "--panel").out
    assert command("simulate", "study", "--to", "link", "--json").json["submitted"] == 4


def test_more_people_than_forms_are_counted_out(
    commands: Callable, command: Command, sqlite_engine: Engine, tmp_path: Path
) -> None:
    commands(design={"annotators": 2})
    (tmp_path / "people.csv").write_text("Name\nAda\nBen\nChi\n")
    said = command("publish", "study", "--to", "link", "--people", "people.csv", "--out", "links.csv")
    assert (said.code, said.err) == (0, "3 people for 2 forms: the last to come find no form left.\n")
    study, links = open_study(sqlite_engine, "study"), pd.read_csv("links.csv").link.to_list()
    assert follow_links(crowd_for(study, 3, Skills()), links, study_key(study)) == (2, 1)
    assert "2 of 2 submitted" in command("status", "study").out


def test_programs_do_not_come_among_people_unasked(
    commands: Callable, command: Command, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands()
    Path("people.csv").write_text("Name\nAda\nBen\n")
    publish = ("publish", "study", "--to", "link")
    command(*publish, "--people", "people.csv", "--out", "links.csv")
    simulate = ("simulate", "study", "--to", "link", "--json")
    refused = command(*simulate)
    assert (refused.code, "is up by personal links only" in refused.err) == (2, True)
    assert len(command(*publish, "--places", "4", "--json").json["links"]) == 1
    begin(pd.read_csv("links.csv").link[0])
    refused = command(*simulate)
    assert (refused.code, "has people: 1 form was opened by them" in refused.err) == (2, True)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.confirm", lambda *_, **__: False)
    assert "Nothing was answered." in command(*simulate).err
    assert not command("study", "show", "study", "--json").json["simulated"]
    with reading(sqlite_engine) as session:
        assert session.scalars(select(AssignmentRow.by_program)).all() == [False]
    assert command(*simulate, "--yes").json == {
        "study": "study",
        "simulated": True,
        "submitted": 3,
        "found_nothing": 1,
        "seed": 0,
    }
    with reading(sqlite_engine) as session:
        assert sorted(session.scalars(select(AssignmentRow.by_program))) == [False, True, True, True]


def test_pilot_and_main_study_are_never_pooled(commands: Callable, command: Command) -> None:
    commands("pilot", design={"pilot": True})
    commands("main")
    for name in ("pilot", "main"):
        link = command("publish", name, "--to", "link", "--json").json["links"][0]
        assert ("This is a pilot." in begin(link).html) == (name == "pilot")
        command("simulate", name, "--to", "link", "--skill", "control=1", "--annotators", "3", "--yes")
        command("collect", name, "--to", "link")
    main = command("score", "main", "--json").json
    assert main["annotators"]["collected"] == 3
    assert command("score", "main", "--tests").code == 1
    refused = command("score", "pilot", "--json")
    pooled = command("score", "pilot", "--tests", "--json")
    assert refused.code == 1 or refused.json["annotators"]["collected"] == 3
    assert pooled.json["annotators"]["collected"] == 3
