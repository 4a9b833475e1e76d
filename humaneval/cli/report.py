"""`report`: one self-contained HTML file about a study."""

from __future__ import annotations

from pathlib import Path

import click

from humaneval.cli.context import App, emit, json_option, say, with_app


@click.command()
@click.argument("study")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write it. [default: STUDY-report.html]",
)
@click.option("--title", default="", help="Instead of the study's name.")
@click.option("--tests", is_flag=True, help="Report pilots and sandbox answers alone.")
@json_option
@with_app
def report(app: App, study: str, out: Path | None, title: str, tests: bool, as_json: bool) -> None:
    """Write the report of STUDY: scores, plot, design, exclusions, and everything needed to repeat it."""
    path = write_report(app, study, out or Path(f"{study}-report.html"), title=title, tests=tests)
    if as_json:
        emit({"study": study, "report": path.resolve()})
        return
    say(f"Report written to {path.resolve()}")


def write_report(
    app: App,
    study: str,
    out: Path,
    *,
    title: str = "",
    summary: str = "",
    tests: bool = False,
    commands: tuple[str, ...] = (),
) -> Path:
    """Write the report to `out`, whole or not at all."""
    from humaneval.report.page import render_report
    from humaneval.report.study import study_report
    from humaneval.study_scores import collected

    analysis = collected(app.engine, study, tests=tests).analysis()
    html = render_report(
        study_report(
            app.engine,
            study,
            analysis.table,
            title=title,
            analysis=analysis,
            summary=summary,
            commands=commands,
        )
    )
    part = out.with_name(out.name + ".part")
    part.write_text(html, encoding="utf-8", newline="\n")
    part.replace(out)
    return out
