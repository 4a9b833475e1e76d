"""`generators`: what can fill blanks."""

from __future__ import annotations

import click

from humaneval.cli.context import App, console, emit, json_option, say, with_app


@click.group()
def generators() -> None:
    """List the kinds of generators, or check one."""


@generators.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List every registered kind, without importing any, and the file its code is in."""
    from importlib.util import find_spec

    from humaneval.generation import kinds

    found = []
    for kind in kinds():
        spec = find_spec(kind.target.partition(":")[0])
        found.append({"kind": kind.name, "package": kind.distribution, "file": spec.origin if spec else None})
    if as_json:
        emit(found)
        return
    from rich.table import Table

    table = Table("Kind", "From package", "File", box=None, pad_edge=False, header_style="bold")
    for line in found:
        table.add_row(line["kind"], line["package"], line["file"])
    console().print(table)


@generators.command()
@click.argument("name")
@json_option
@with_app
def forget(app: App, name: str, as_json: bool) -> None:
    """Delete the generator called NAME and its infills, where no study shows any of them: to take a mistake back."""
    from humaneval.generation import forget as delete

    count = delete(app.engine, name)
    if as_json:
        emit({"generator": name, "forgotten": count})
    else:
        say(f"{name} and its {count} infills are deleted.")


@generators.command()
@click.argument("kind")
@click.option("--checkpoint", default="", help="The folder or file that the kind reads.")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="An option of the kind.")
@json_option
def check(kind: str, checkpoint: str, options: tuple[str, ...], as_json: bool) -> None:
    """Build a generator of this KIND and let it fill the five blanks of one bundled story."""
    from humaneval.cli.generate import parse_options
    from humaneval.domain import POSITIONS, Blank, GeneratorRequest
    from humaneval.generation import build, judge
    from humaneval.stories import bundled_stories

    story = bundled_stories()[-1]
    results = []
    for generator in build(GeneratorRequest(kind, checkpoint=checkpoint, options=parse_options(options))):
        blanks = [Blank(story, position) for position in POSITIONS]
        results += [(generator.name, judge(infill)) for infill in generator.infill(blanks)]
    if as_json:
        emit(
            [
                {"generator": name, "position": i.blank.position, "text": i.text, "status": str(i.status)}
                for name, i in results
            ]
        )
        return
    for name, infill in results:
        say(f"{name}  {infill.blank.position}. [{infill.status}] {infill.text}")
