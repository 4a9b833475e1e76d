"""`study preview`: a row as annotators will see it."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.cli.numbers import COUNT
from humaneval.cli.output_files import OUT_FILE, write_whole
from humaneval.crowd.form_of_row import form_of
from humaneval.crowd.form_page import Delivery, render_form
from humaneval.errors import UsageError
from humaneval.running.screenshots import screenshot
from humaneval.store.engine import reading
from humaneval.study.stored import get_study


@click.command()
@click.argument("name")
@click.option("--row", "ordinal", type=COUNT, default=1, show_default=True, help="Row to show.")
@click.option(
    "--out",
    type=OUT_FILE,
    help="File to write: .html, or .png for a picture, which needs Chromium. [default: NAME-row-N.html]",
)
@click.option(
    "--width",
    type=click.IntRange(320, 4000),
    default=900,
    show_default=True,
    help="Width of the picture, in pixels.",
)
@json_option
@with_app
def preview(app: App, name: str, ordinal: int, out: Path | None, width: int, as_json: bool) -> None:
    """Write a row as annotators will see it, as a web page or as a picture for a paper."""
    out = out or Path(f"{name}-row-{ordinal}.html")
    page = _page(app, name, ordinal)
    picture = out.suffix.lower() == ".png"
    if picture:
        with TemporaryDirectory() as folder:
            source = Path(folder) / "page.html"
            source.write_bytes(page)
            screenshot(source, out, width)
    else:
        write_whole(out, page)
    if as_json:
        emit(
            {
                "study": name,
                "row": ordinal,
                "html": None if picture else out,
                "png": out if picture else None,
            }
        )
        return
    say(f"{out} written")


def _page(app: App, name: str, ordinal: int) -> bytes:
    """The form of a row, without its scripts: nothing is sent here, and pictures need none."""
    with reading(app.engine) as session:
        study = get_study(session, name)
        row = next((row for row in study.rows if row.ordinal == ordinal), None)
        if row is None:
            raise UsageError(
                f"study {name!r} has no row {ordinal}", f"Rows run from 1 to {len(study.rows):,}."
            )
        page = render_form(form_of(session, study, row.id), Delivery(action="about:blank", static=True))
    return re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL).encode()
