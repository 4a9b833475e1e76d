"""`study`: plan, create, enlarge, show, preview, audit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from humaneval.cli.output_files import OUT_FILE, write_whole
from humaneval.cli.run import SEED, SIMULATED, App, emit, json_option, say, with_app
from humaneval.cli.study_audit import audit
from humaneval.cli.study_created import plan_document_of, tell_plan_of
from humaneval.cli.study_enlarge import enlarge
from humaneval.cli.study_plan import plan
from humaneval.errors import UsageError
from humaneval.fees import dollars
from humaneval.text import counted

if TYPE_CHECKING:
    from humaneval.study.file import HitSection


@click.group()
def study() -> None:
    """Plan, create, enlarge, show, preview and audit studies."""


study.add_command(plan)
study.add_command(audit)
study.add_command(enlarge)


@study.command()
@click.argument("name")
@click.option(
    "--file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The study file; the bundled one if not given.",
)
@click.option("--preset", help="A design by name: acl2020.")
@click.option("--generators", help="Instead of the file's: names separated by commas.")
@click.option("--annotators", type=click.IntRange(min=1), help="Instead of the file's.")
@click.option("--split", help="Instead of the file's.")
@click.option("--seed", type=SEED, help="Instead of the file's.")
@click.option(
    "--allow", multiple=True, metavar="STATUS", help="Show infills of this status too; the study records it."
)
@click.option("--pilot", is_flag=True, help="Mark the study as a pilot: never pooled.")
@json_option
@with_app
def create(
    app: App,
    name: str,
    file: Path | None,
    preset: str | None,
    generators: str | None,
    annotators: int | None,
    split: str | None,
    seed: int | None,
    allow: tuple[str, ...],
    pilot: bool,
    as_json: bool,
) -> None:
    """Design the study NAME from stored infills: passages, rows, order. A study never changes once it is made.

    Prints what `study plan` says of it: what it can find out, what cues alone would score, what it costs.
    """
    from humaneval.study.create import create_study
    from humaneval.study.file import read_study_file
    from humaneval.study.presets import preset_over

    given = {
        "generators": None if generators is None else [part.strip() for part in generators.split(",")],
        "annotators": annotators,
        "split": split,
        "seed": seed,
        "allow": list(allow) or None,
        "pilot": pilot or None,
    }
    design = {setting: value for setting, value in given.items() if value is not None}
    settings, text = read_study_file(file, preset=preset, overrides={"design": design})
    if replaced := preset_over(file, preset, design):
        say(replaced, err=True)
    made = create_study(app.engine, name, settings, text)
    if as_json:
        emit(
            {
                "study": name,
                "rows": made.rows,
                "passages": made.passages,
                "stories": made.stories,
                "design_hash": made.design_hash,
                "settings_hash": made.settings_hash,
                "was_there": made.was_there,
                "lacking": made.lacking,
                "hourly": str(settings.hit.hourly),
                **plan_document_of(app, name),
            }
        )
        return
    for generator, blanks in made.lacking.items():
        say(
            f"{counted(blanks, 'blank')} left out: {generator} has no infill fit to be shown there.", err=True
        )
    was = "was there already" if made.was_there else "created"
    say(
        f"Study {name!r} {was}: {counted(made.rows, 'row')}, {counted(made.passages, 'passage')} from"
        f" {'1 story' if made.stories == 1 else f'{made.stories:,} stories'},"
        f" {counted(len(settings.design.generators), 'generator')}."
    )
    say(_pay(settings.hit))
    say()
    tell_plan_of(app, name)
    say()
    say(f"Design {made.design_hash[:12]}, settings {made.settings_hash[:12]}.")
    say(f"Next: humaneval publish {name} --to local")


def _pay(hit: HitSection) -> str:
    minutes = "1 minute" if hit.expected_minutes == 1 else f"{hit.expected_minutes:g} minutes"
    return f"Pay: {dollars(hit.reward)} for about {minutes}, {dollars(hit.hourly)} an hour."


@study.command()
@click.argument("name", required=False)
@click.option(
    "--key", is_flag=True, help="Print the key: form hash → position and generator of each passage."
)
@click.option("--file", "show_file", is_flag=True, help="Print the study file as it was.")
@json_option
@with_app
def show(app: App, name: str | None, key: bool, show_file: bool, as_json: bool) -> None:
    """Show the study NAME, or list all studies."""
    from sqlalchemy import select

    from humaneval.store.engine import reading
    from humaneval.store.tables import StudyRow
    from humaneval.study.enlarge import stored_additions
    from humaneval.study.stored import get_study, hash_of_rows, settings_of, study_key

    if name is None:
        with reading(app.engine) as session:
            names = [
                (row.name, len(row.rows), row.is_test)
                for row in session.scalars(select(StudyRow).order_by(StudyRow.id))
            ]
        if as_json:
            emit([{"study": n, "rows": rows, "pilot": pilot} for n, rows, pilot in names])
        else:
            say(
                "\n".join(
                    f"{n}: {counted(rows, 'row')}{', pilot' if pilot else ''}" for n, rows, pilot in names
                )
                or "No studies yet: humaneval study create NAME"
            )
        return
    if key:
        emit(study_key(app.study(name)))
        return
    with reading(app.engine) as session:
        row = get_study(session, name)
        settings, rows, additions = settings_of(row), len(row.rows), stored_additions(session, row.id)
        facts: dict[str, Any] = {
            "study": name,
            "rows": rows,
            "pilot": row.is_test,
            "simulated": row.simulated,
            "seed": row.seed,
            "design_hash": hash_of_rows(session, row),
            "first_design_hash": row.design_hash,
            "design_additions": [each.to_json() for each in additions],
            "settings_hash": row.settings_hash,
            "created_at": row.created_at.isoformat(),
            "published_at": row.published_at and row.published_at.isoformat(),
            "hourly": str(settings.hit.hourly),
            "settings": row.settings,
        }
        text = row.settings_text
    if show_file:
        say(text.rstrip())
    elif as_json:
        emit(facts)
    else:
        say(
            f"{name}: {counted(rows, 'row')} of {counted(settings.design.row_size, 'passage')} "
            f"({', '.join(settings.design.generators)}), seed {facts['seed']}"
        )
        if facts["simulated"]:
            say(SIMULATED)
        say(f"Question: {settings.page.question}")
        say(_pay(settings.hit))
        say(f"Made {facts['created_at'][:19]}; published {(facts['published_at'] or 'not yet')[:19]}")
        for each in additions:
            say(each.describe())
        say(f"Design {facts['design_hash']}")
        if additions:
            say(
                f"Design of the first {counted(additions[0].rows_before, 'row')} {facts['first_design_hash']}"
            )
        say(f"Settings {facts['settings_hash']}")


@study.command()
@click.argument("name")
@click.option("--row", "ordinal", type=click.IntRange(min=1), default=1, show_default=True, help="Which row.")
@click.option(
    "--html",
    type=OUT_FILE,
    help="Where to write the page. [default: NAME-row-N.html]",
)
@click.option("--png", type=OUT_FILE, help="Also take a picture of it, with Chromium.")
@click.option(
    "--width",
    type=click.IntRange(320, 4000),
    default=900,
    show_default=True,
    help="Of the picture, in pixels.",
)
@json_option
@with_app
def preview(
    app: App, name: str, ordinal: int, html: Path | None, png: Path | None, width: int, as_json: bool
) -> None:
    """Write a row as annotators will see it to one HTML file, and a PNG for a paper's appendix."""
    from humaneval.crowd.form_of_row import form_of
    from humaneval.crowd.form_page import Delivery, render_form
    from humaneval.store.engine import reading
    from humaneval.study.stored import get_study

    with reading(app.engine) as session:
        row = get_study(session, name)
        chosen = next((r for r in row.rows if r.ordinal == ordinal), None)
        if chosen is None:
            raise UsageError(f"study {name!r} has no row {ordinal}", f"Rows run from 1 to {len(row.rows):,}.")
        page = render_form(form_of(session, row, chosen.id), Delivery(action="about:blank", static=True))
    target = html or Path(f"{name}-row-{ordinal}.html")
    # Without its script: nothing here is to be sent, and the picture must not depend on it.
    page = page[: page.rindex("<script>")] + page[page.rindex("</script>") + len("</script>") :]
    write_whole(target, page.encode())
    if png is not None:
        from humaneval.running.screenshots import screenshot

        screenshot(target, png, width)
    if as_json:
        emit({"study": name, "row": ordinal, "html": target, "png": png})
        return
    say(f"{target} written")
    if png is not None:
        say(f"{png} written")
