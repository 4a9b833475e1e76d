"""Personal links: one person, one form, the same link whenever the list is read, and nothing of the list is
stored."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, event, select

from humaneval.crowd import publish
from humaneval.crowd.link import People, read_people
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.published_hits import links_of
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import InputError
from humaneval.simulated.browser import Browser
from humaneval.store.engine import reading, writing
from humaneval.store.meta import stored_secret
from humaneval.store.tables import HitRow
from humaneval.study.stored import open_study
from tests.commands import Command
from tests.integration.link.people import LinkStudy, begin, form_hash, heading, send, take

LIST = "Name,E-mail\nAda Lovelace,ada@example.org\nBen “B” Öztürk,ben@example.org\nChioma,chi@example.org\n"


def people(folder: Path, text: str = LIST, encoding: str = "utf-8") -> People:
    file = folder / "people.csv"
    file.write_bytes(text.encode(encoding))
    return read_people(file, lambda first: False)


def test_X53_a_blank_line_in_a_list_of_people_is_said(tmp_path: Path) -> None:
    with_blank = LIST.replace("Ben", "\nBen") + "\n\n"
    (note,) = people(tmp_path, with_blank).notes
    assert note.endswith("people.csv: 1 blank line left out: 3")
    assert people(tmp_path).notes == ()


def links(study: LinkStudy, listed: People) -> list[str]:
    with writing(study.engine) as session:
        key = stored_secret(session, "pseudonym key")
    return study.invite(*listed.invitations(key))


def test_a_person_resumes_their_form_on_another_client_and_is_thanked_ever_after(
    engine: Engine, by_link: Callable, tmp_path: Path
) -> None:
    study = by_link(engine)
    ada, ben, _ = links(study, people(tmp_path))
    page = begin(ada)
    assert form_hash(begin(ada)) == form_hash(page) != form_hash(begin(ben))
    assert "Continue" in Browser().get(ada).html
    assert heading(send(page)) == "Thank you"
    assert heading(begin(ada)) == heading(Browser().get(page.url)) == "Thank you"
    assert study.states() == {"answered": 1, "opened": 1}


def test_after_an_interrupted_run_nobody_is_led_to_open_the_study_to_everybody(
    sqlite_engine: Engine, by_link: Callable, command: Command, tmp_path: Path
) -> None:
    study, listed = by_link(sqlite_engine), people(tmp_path)
    plan_hits(open_study_at(sqlite_engine, "study", study.platform), invitations=listed.invitations(b"key"))
    assert "publish study --to link --people FILE --out FILE" in command("status", "study").out
    refused = command("publish", "study", "--to", "link")
    assert refused.code == 2
    assert "--people FILE --out FILE" in refused.err
    asked = ("publish", "study", "--to", "link")
    links(study, listed)
    enlarged = command("study", "enlarge", "study", "--annotators", "4", "--yes").out
    assert "Next: humaneval publish study --to link --people FILE --out FILE" in enlarged
    assert command(*asked).code == 2
    assert command(*asked, "--places", "2").out.startswith("1 link made")
    assert command(*asked).out.startswith("0 links made")


def test_the_same_list_gives_the_same_links_and_a_longer_one_adds_only_the_new(
    sqlite_engine: Engine, by_link: Callable, tmp_path: Path
) -> None:
    study = by_link(sqlite_engine)
    first = links(study, people(tmp_path))
    assert len(set(first)) == 3
    assert links(study, people(tmp_path)) == first
    longer = LIST.replace("Ben", "Dora,dora@example.org\nBen")
    again = links(study, people(tmp_path, longer))
    assert [again[0], *again[2:]] == first
    assert again[1] not in first
    with reading(sqlite_engine) as session:
        assert len(session.scalars(select(HitRow)).all()) == 4


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (LIST.replace(",", ";"), "utf-8"),
        (LIST.replace(",", "\t").replace("\n", "\r\n"), "utf-8-sig"),
        (LIST.replace("\n", "\n\n").replace("Ada Lovelace", '  "Ada Lovelace" ').replace('"', ""), "utf-8"),
        (LIST.replace("Chioma", "CHIOMA") + " , \n", "utf-8"),
        (LIST.replace("Ö", "O\u0308"), "utf-8"),
    ],
    ids=["semicolons", "tabs, CRLF, BOM", "empty lines and spaces", "capitals", "accents apart"],
)
def test_what_a_spreadsheet_makes_of_the_list_changes_no_link(
    sqlite_engine: Engine, by_link: Callable, tmp_path: Path, text: str, encoding: str
) -> None:
    study = by_link(sqlite_engine)
    first = links(study, people(tmp_path))
    assert links(study, people(tmp_path, text, encoding)) == first


def test_a_long_list_is_planned_a_part_at_a_time_and_in_few_statements(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine)
    listed = People(("name",), tuple((f"person {number}",) for number in range(1200)))
    parts: list[int] = []

    def planned(connection: object, cursor: object, statement: str, rows: list, *_: object) -> None:
        statements.append(statement)
        if statement.startswith("INSERT INTO hits"):
            parts.append(len(rows))

    statements: list[str] = []
    event.listen(sqlite_engine, "before_cursor_execute", planned)
    first = study.invite(*listed.invitations(b"key"))
    assert parts == [500, 500, 200]
    assert len(statements) < 5 * len(first) + 200
    assert len(set(first)) == 1200
    statements.clear()
    assert study.invite(*listed.invitations(b"key")) == first
    assert len(statements) < 100
    assert parts == [500, 500, 200]


def test_the_list_comes_back_with_a_column_for_the_mail_merge(tmp_path: Path) -> None:
    text = 'Name;Note\n"Lovelace; Ada";"says ""hello""\nand more"\n'
    listed = people(tmp_path, text)
    merged = listed.with_links(["https://study.example.org/take/1"])
    rows = list(csv.reader(io.StringIO(merged, newline=""), delimiter=";"))
    assert rows == [
        ["Name", "Note", "link"],
        ["Lovelace; Ada", 'says "hello"\nand more', "https://study.example.org/take/1"],
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "names no people"),
        ("Name\n", "names no people"),
        ("Name\n \n", "names no people"),
        (LIST + "ada lovelace,ADA@example.org\n", "persons 1 and 4 are the same"),
        ("Name,E-mail\nAda\n", "person 1 has 1 cells, the header 2"),
        ("Name,Link\nAda,x\n", "has a column 'link' already"),
        ('Name\n"Ada\n', "line 2: a quotation mark is opened and never closed"),
    ],
)
def test_lists_that_are_none_are_refused_in_words(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        people(tmp_path, text)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-8-sig"])
def test_X53_a_list_in_another_encoding_gives_the_same_links_and_a_guess_is_said(
    sqlite_engine: Engine, by_link: Callable, tmp_path: Path, encoding: str
) -> None:
    study = by_link(sqlite_engine)
    first = links(study, people(tmp_path))
    again = people(tmp_path, LIST, encoding)
    assert links(study, again) == first
    assert any("read as cp1252" in note for note in again.notes) == (encoding == "cp1252")


@pytest.mark.parametrize(
    ("text", "names", "size"),
    [
        ("a@example.org\nb@example.org\n", ("email",), 2),
        ("a@example.org\n", ("email",), 1),
        ("Ada;ada@example.org;x@y.org\nBen;ben@example.org;z@y.org\n", ("column 1", "email", "column 3"), 2),
        ("A1B2C3D4E5F6G7\nA9B8C7D6E5F4G3\n", ("column 1",), 2),
        ("5f3c9a7be1d2044c1b8a9f00,Ada\n61aa00b1c2d3e4f5a6b7c8d9,Ben\n", ("column 1", "column 2"), 2),
        ("+49 30 1234567\n", ("column 1",), 1),
        ("Ada\nBen\n", ("column 1",), 2),
        ("email;name\nj@example.org;J\n", ("email", "name"), 1),
        ("Probandin;Wo\nJ;j@example.org\nZ;z@example.org\n", ("Probandin", "Wo"), 2),
        ("Worker ID\nw1\n", ("Worker ID",), 1),
        ("Ada,annotator\nBen,annotator\n", ("column 1", "column 2"), 2),
    ],
)
def test_X53_the_first_person_of_a_list_without_a_header_is_a_person(
    tmp_path: Path, text: str, names: tuple[str, ...], size: int
) -> None:
    listed = people(tmp_path, text)
    assert (listed.header, len(listed.lines)) == (names, size)
    assert bool(listed.notes) == (names[0] in ("email", "column 1") and text[:6] != "email;")


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_killed_while_publishing_and_run_again_nobody_has_two_links(
    engine: Engine, by_link: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    monkeypatch.setattr(publish, "LINKS_TOGETHER", 1)
    study = by_link(engine)
    listed = people(tmp_path)
    made = []

    def advance(_: int) -> None:
        made.append(1)
        if len(made) == nth + 1:  # the first says how many were adopted
            raise KeyboardInterrupt

    with writing(engine) as session:
        key = stored_secret(session, "pseudonym key")
    plan_hits(open_study_at(engine, "study", study.platform), invitations=listed.invitations(key))
    planned = links_of(open_study(engine, "study"), study.platform.endpoint, listed.invitations(key))
    with pytest.raises(KeyboardInterrupt):
        publish_hits(open_study_at(engine, "study", study.platform), public_url=study.url, advance=advance)
    not_yet = Browser().get(planned[-1]).status
    assert not_yet == (404 if nth < 3 else 200)
    assert links(study, listed) == planned
    with reading(engine) as session:
        assert len(session.scalars(select(HitRow)).all()) == 3
    assert [heading(take(link)) for link in planned] == ["Thank you"] * 3


def test_nothing_of_the_people_is_in_the_database_or_on_their_page(
    sqlite_engine: Engine, by_link: Callable, tmp_path: Path
) -> None:
    study = by_link(sqlite_engine)
    ada, *_ = links(study, people(tmp_path))
    form = begin(ada)
    send(form)
    study.collect()
    sqlite_engine.dispose()
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("humaneval.db*"))
    assert b"sentence" in stored
    for word in ("Lovelace", "ada@example.org", "ztürk", "Chioma", "chi@example.org"):
        assert word.encode() not in stored
        assert word not in form.html


def test_more_people_than_forms_may_be_asked(
    sqlite_engine: Engine, by_link: Callable, tmp_path: Path
) -> None:
    study = by_link(sqlite_engine, design={"annotators": 2})
    pages = [take(link) for link in links(study, people(tmp_path))[:2]]
    assert [heading(page) for page in pages] == ["Thank you"] * 2
    last = links(study, people(tmp_path))[2]
    assert heading(begin(last)) == "All forms are taken"
