"""What is looked for while others wait is found by an index, whatever the number of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    event,
    select,
    update,
)

from humaneval.crowd.answers import COMMENT
from humaneval.crowd.forgotten import left_alone
from humaneval.crowd.personal_data import writes_about_forms
from humaneval.crowd.platform import Submission
from humaneval.crowd.purge import purge
from humaneval.crowd.uncollected import Place, still_new
from humaneval.domain import GeneratorRequest, Story
from humaneval.infills.blanks import blanks_of
from humaneval.infills.forget import forget
from humaneval.infills.generate import run
from humaneval.kinds import build
from humaneval.simulated.browser import Browser
from humaneval.store.engine import reading, writing
from humaneval.store.tables import METADATA, AnswerRow, AssignmentRow
from humaneval.store.types import now, table
from humaneval.study.delete import delete_study
from tests.integration.link.people import LinkStudy, begin, send

NEVER_DELETED = ("stories",)
"""Nobody looks for what leads to one of these."""
FEW = ("forgotten", "generators", "meta", "runs", "studies", "study_additions")
"""Tables that do not grow with infills or answers."""


def known(column: Column[Any]) -> str:
    return f"{column.name} IS NOT NULL"


def leads(column: Column[Any]) -> bool:
    """Whether an index begins with a column, of all lines that have a value there."""
    of = column.table
    assert isinstance(of, Table)
    keys: list[Sequence[Column[Any]]] = [
        list(each.columns)
        for each in of.constraints
        if isinstance(each, (PrimaryKeyConstraint, UniqueConstraint))
    ]
    for index in of.indexes:
        where = index.dialect_options["sqlite"]["where"]
        if where is None or str(where) == known(column):
            keys.append(list(index.columns))
    return any(key[0] is column for key in keys if key)


def test_what_leads_to_a_line_that_may_be_deleted_is_found_by_an_index() -> None:
    missing = [
        f"{table.name}.{key.parent.name}"
        for table in METADATA.sorted_tables
        for key in table.foreign_keys
        if key.column.table.name not in NEVER_DELETED and not leads(key.parent)
    ]
    assert missing == []


@contextmanager
def read_whole(engine: Engine, *, only_writers: bool = True) -> Iterator[list[str]]:
    """The tables that are read whole, with the statement that does so; by those who write, or by all."""
    found: list[str] = []

    def look(
        connection: Connection, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool
    ) -> None:
        if only_writers and not connection.get_execution_options().get("writes"):
            return
        if statement.partition(" ")[0] not in ("SELECT", "UPDATE", "DELETE"):
            return
        driver: Any = connection.connection.driver_connection
        first = parameters[0] if many else parameters
        for *_, step in driver.execute(f"EXPLAIN QUERY PLAN {statement}", first):
            word, _, rest = step.partition(" ")
            whole = rest.partition(" ")[0]
            if word == "SCAN" and whole in METADATA.tables and whole not in FEW:
                found.append(f"{whole}: {statement}")

    event.listen(engine, "before_cursor_execute", look)
    yield found
    event.remove(engine, "before_cursor_execute", look)


def test_a_study_is_deleted_and_a_generator_forgotten_by_indexes(
    sqlite_engine: Engine, study_factory: Callable, stories: tuple[Story, ...]
) -> None:
    study_factory(sqlite_engine, "one")
    run(sqlite_engine, build(GeneratorRequest("control", "spare"))[0], blanks_of(stories[:4]))
    with read_whole(sqlite_engine) as found:
        assert forget(sqlite_engine, "spare") == 20
        delete_study(sqlite_engine, "one")
    assert found == []


def test_a_form_is_opened_again_sent_and_collected_by_indexes(
    by_link: Callable[..., LinkStudy], sqlite_engine: Engine
) -> None:
    study = by_link(sqlite_engine)
    link = study.open_link()
    with read_whole(sqlite_engine) as found:
        browser = Browser()
        page = begin(link, browser)
        send(browser.get(page.url))
        study.collect()
    assert study.states() == {"submitted": 1}
    assert found == []


def test_old_people_are_purged_by_indexes(by_link: Callable[..., LinkStudy], sqlite_engine: Engine) -> None:
    study = by_link(sqlite_engine)
    link = study.open_link()
    send(begin(link))
    begin(link)  # who never sends
    study.let_leases_run_out()
    study.collect()
    with writing(sqlite_engine) as session:
        for answer in session.scalars(select(AnswerRow)):
            answer.fields = {**answer.fields, COMMENT: "Fine."}
    with read_whole(sqlite_engine) as found:
        assert purge(sqlite_engine, now(), now()).comments == 1
    assert found == []


def test_a_few_submissions_are_looked_up_by_indexes(
    by_link: Callable[..., LinkStudy], sqlite_engine: Engine
) -> None:
    study = by_link(sqlite_engine)
    send(begin(study.open_link()))
    study.collect()
    with writing(sqlite_engine) as session:
        session.execute(update(AssignmentRow).values(external_id="a1"))
    one = Submission("a1", "visitor", "submitted", {}, None, None, None)
    with reading(sqlite_engine) as session:
        forms = [dict(row) for row in session.execute(select(table(AssignmentRow))).mappings()]
    with read_whole(sqlite_engine, only_writers=False) as found:
        assert still_new(sqlite_engine, [Place(1, "a1"), Place(1, "a2")]) == [Place(1, "a2")]
        with reading(sqlite_engine) as session:
            assert left_alone(session, "link", [one]) == [False]
            assert writes_about_forms(session, forms) == []
    assert found == []
