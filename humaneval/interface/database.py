"""The studies of a database: `he.open("humaneval.db")`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import pandas as pd
from sqlalchemy import Engine, event, make_url, select

from humaneval.errors import StoreError
from humaneval.interface.errors import in_python, refuse_level
from humaneval.interface.scores import Scores, Source
from humaneval.report.from_study import study_report
from humaneval.report.phrases import early
from humaneval.settings import database_url
from humaneval.store.engine import open_engine, reading, shown
from humaneval.store.export_pseudonyms import published_columns
from humaneval.store.migrate import HEAD, known_revision
from humaneval.store.responses import deleted_forms, forms_set_aside
from humaneval.store.tables import StudyRow
from humaneval.study.asked import with_settings
from humaneval.study.enlarge import additions_of
from humaneval.study.scores import collected, no_responses, own_rules, ready
from humaneval.study.stored import Study, get_study, is_simulated, open_study, who_answered
from humaneval.text import shell_words

if TYPE_CHECKING:
    from humaneval.report.contents import ReportData
    from humaneval.scoring.analysis.analyse import Analysis


class Database:
    """An opened database. Close it with `close()`, or use it in a `with` statement."""

    def __init__(self, engine: Engine) -> None:
        self._engine: Engine | None = engine

    @property
    def engine(self) -> Engine:
        """The SQLAlchemy engine, for queries of your own. Raises StoreError once the database is closed."""
        if self._engine is None:
            raise StoreError("the database is closed", "Open it again with humaneval.open.")
        return self._engine

    @property
    def studies(self) -> tuple[str, ...]:
        """The names of its studies, oldest first."""
        with in_python(), reading(self.engine) as session:
            return tuple(session.scalars(select(StudyRow.name).order_by(StudyRow.id)))

    def study(self, name: str) -> StoredStudy:
        """The study called `name`. Raises UsageError with the names that there are."""
        with in_python():
            return StoredStudy(self, open_study(self.engine, name))

    def close(self) -> None:
        """Close every connection. A second call does nothing."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._engine is None:
            return "<Database, closed>"
        where = shown(self._engine.url)
        return f"<Database {where}: {', '.join(self.studies) or 'no studies'}>"


class StoredStudy:
    """A study of a database."""

    def __init__(self, database: Database, study: Study) -> None:
        self._database = database
        self._study = study

    @property
    def name(self) -> str:
        """Its name."""
        return self._study.name

    def responses(self, *, everything: bool = False) -> pd.DataFrame:
        """The responses as `export` writes them: one row each, workers under this study's pseudonyms.

        `everything` includes forms that were rejected, or by people who had taken part before. Raises
        InputError if there are none.
        """
        with in_python(), reading(self._database.engine) as session:
            row = get_study(session, self.name)
            columns = published_columns(session, row, everything=everything)
            if not columns["worker"]:
                raise no_responses(session, row)
        return pd.DataFrame(with_settings(columns, self._study.settings))

    def scores(self, *, level: float | None = None, tests: bool = False, everything: bool = False) -> Scores:
        """The scores under the rule and the comparisons that the study fixed, as `score` prints them.

        `level` is that of the intervals, by default the study's. `tests` scores pilots alone. Raises
        InputError if there are no responses.
        """
        with in_python():
            self._database.engine  # noqa: B018  raises if it is closed
            if level is not None:
                refuse_level(level)
            found = scores_of_study(
                self._study,
                level=level,
                tests=tests,
                everything=everything,
                still_open=lambda: self._database.engine,
            )
            return found.computed()

    def __repr__(self) -> str:
        return f"<Study {self.name}>"


def open(  # as a name of `humaneval`: `he.open`
    database: str | PathLike[str], *, mode: Literal["read", "write"] = "read"
) -> Database:
    """Open a database by its path, or by the URL of a PostgreSQL or SQLite one.

    It is opened to be read: no statement can change it, unless `mode` is "write". Raises StoreError if there
    is no such database, if it is not this toolkit's, or if it needs `humaneval db upgrade` first.
    """
    url = fspath(database)
    with in_python():
        url = database_url(url)
        file = Path(str(make_url(url).database or "")) if url.startswith("sqlite") else None
        if file is not None and not file.is_file():
            raise StoreError(f"there is no database {file}", "Give the path or the URL of yours.")
        engine = open_engine(url, make=False)
        try:
            if mode == "read":
                event.listen(engine, "connect", partial(_only_read, engine.dialect.name))
            _refuse_other_revision(engine)
        except BaseException:
            engine.dispose()
            raise
    return Database(engine)


def scores_of_study(
    study: Study,
    *,
    level: float | None = None,
    tests: bool = False,
    everything: bool = False,
    still_open: Callable[[], object] | None = None,
) -> Scores:
    """The scores of a stored study. Raises InputError if there are no responses.

    `still_open` raises once the database is closed, whose engine would quietly open it again for a report.
    """
    found = collected(study, tests=tests, everything=everything)

    def page(analysis: Analysis, title: str) -> ReportData:
        if still_open is not None:
            still_open()
        return study_report(study, analysis.table, title=title, analysis=analysis)

    def facts() -> dict[str, Any]:
        known = study_facts(study)
        return {**known, "forms_set_aside": 0} if everything else known

    return Scores(
        Source(
            found.frame,
            found.rule,
            found.declared,
            level or study.settings.analysis.level,
            page,
            facts,
            who if (who := who_answered(study)).programs else None,
            "" if tests != study.settings.design.pilot else early(*ready(study)),
            **found.gates._asdict(),
            told=found.told,
            also=found.also,
            seed=study.settings.design.seed,
            advising=partial(own_rules, study.name),
        )
    )


def study_facts(study: Study) -> dict[str, Any]:
    """What the document about a study has beside its scores."""
    with reading(study.engine) as session:
        row = session.get_one(StudyRow, study.id)
        aside, deleted = forms_set_aside(session, row), deleted_forms(session, row.id)
    return {
        "simulated": is_simulated(study),
        "forms_set_aside": aside,
        "forms_deleted": deleted.forms,
        "responses_deleted": deleted.responses,
        "design_additions": [each.to_json() for each in additions_of(study)],
    }


def _only_read(dialect: str, connection: Any, _record: object) -> None:
    """Let the database itself refuse every change."""
    statement = (
        "PRAGMA query_only=ON"
        if dialect == "sqlite"
        else "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"
    )
    cursor = connection.cursor()
    cursor.execute(statement)
    cursor.close()
    if dialect != "sqlite":
        connection.commit()


def _refuse_other_revision(engine: Engine) -> None:
    """Raise StoreError unless the database has the tables of this version."""
    where = shown(engine.url)
    found = known_revision(engine)
    if found is None:
        raise StoreError(f"{where} holds no data of this toolkit", "Give the path or the URL of yours.")
    if found != HEAD:
        file = engine.url.database if engine.dialect.name == "sqlite" else where
        raise StoreError(
            f"{where} has the older revision {found}; this version needs {HEAD}",
            f"Run `{shell_words('humaneval', '--database', str(file), 'db', 'upgrade')}`: it makes a backup,"
            " then upgrades the database.",
        )
