"""`study show`: a stored study, or the list of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click
from sqlalchemy import func, select

from humaneval.cli.context import App, emit, json_option, say, simulated_line, with_app
from humaneval.cli.study.pay import pay
from humaneval.store.engine import reading
from humaneval.store.tables import RowRow, StudyRow
from humaneval.study.consent import CHANNELS, consent_of
from humaneval.study.enlarge import Addition, stored_additions
from humaneval.study.file import StudyFile
from humaneval.study.stored import get_study, hash_of_rows, is_simulated, settings_of, study_key, who_answered
from humaneval.study.words import AT_MARKETPLACES
from humaneval.text import Answerers, command, counted


@click.command()
@click.argument("name", required=False)
@click.option(
    "--key", is_flag=True, help="Print the key: form hash → position and generator of each passage."
)
@click.option("--file", "show_file", is_flag=True, help="Print the study file as it was.")
@json_option
@with_app
def show(app: App, name: str | None, key: bool, show_file: bool, as_json: bool) -> None:
    """Show the study NAME, or list all studies."""
    if name is None:
        _list(app, as_json)
        return
    if key:
        emit(study_key(app.study(name)))
        return
    with reading(app.engine) as session:
        row = get_study(session, name)
        settings, additions = settings_of(row), stored_additions(session, row.id)
        consents = {
            channel: consent_of(settings if channel in AT_MARKETPLACES else settings.by_link, channel)
            for channel in CHANNELS
        }
        facts: dict[str, Any] = {
            "study": name,
            "rows": len(row.rows),
            "pilot": row.is_test,
            "simulated": is_simulated(app.study(name)),
            "seed": row.seed,
            "design_hash": hash_of_rows(session, row),
            "first_design_hash": row.design_hash,
            "design_additions": [each.to_json() for each in additions],
            "settings_hash": row.settings_hash,
            "created_at": row.created_at.isoformat(),
            "published_at": row.published_at and row.published_at.isoformat(),
            "hourly": str(settings.hit.hourly),
            "consent": {channel: asdict(one) | {"hash": one.hash} for channel, one in consents.items()},
            "settings": row.settings,
        }
        text = row.settings_text
    if show_file:
        say(text.rstrip())
    elif as_json:
        emit(facts)
    else:
        _tell(facts, settings, additions, who_answered(app.study(name)))


def _list(app: App, as_json: bool) -> None:
    query = (
        select(StudyRow.name, StudyRow.is_test, func.count(RowRow.id))
        .outerjoin(RowRow, RowRow.study_id == StudyRow.id)
        .group_by(StudyRow.id)
        .order_by(StudyRow.id)
    )
    with reading(app.engine) as session:
        studies = [(name, rows, pilot) for name, pilot, rows in session.execute(query)]
    if as_json:
        emit([{"study": name, "rows": rows, "pilot": pilot} for name, rows, pilot in studies])
        return
    for name, rows, pilot in studies:
        say(f"{name}: {counted(rows, 'form')}{', pilot' if pilot else ''}")
    if not studies:
        say(f"No studies yet: {command('study', 'create', 'NAME')}")


def _tell(facts: dict[str, Any], settings: StudyFile, additions: Sequence[Addition], who: Answerers) -> None:
    say(
        f"{facts['study']}: {counted(facts['rows'], 'form')} of"
        f" {counted(settings.row_size, 'passage')} ({', '.join(settings.design.generators)}),"
        f" seed {facts['seed']}"
    )
    if facts["simulated"]:
        say(simulated_line(who))
    say(f"Question: {settings.page.question}")
    say(pay(settings.hit))
    say(f"Created {facts['created_at'][:19]}; published {(facts['published_at'] or 'not yet')[:19]}")
    for each in additions:
        say(each.describe())
    say(f"Design {facts['design_hash']}")
    if additions:
        say(f"Design of the first {counted(additions[0].rows_before, 'form')} {facts['first_design_hash']}")
    say(f"Settings {facts['settings_hash']}")
