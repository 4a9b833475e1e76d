"""`generators`: list, check or forget what fills blanks."""

from __future__ import annotations

from importlib.util import find_spec

import click
from rich.table import Table

from humaneval.cli.context import App, console, emit, json_option, say, with_app
from humaneval.cli.generate import parse_options
from humaneval.cli.rules import as_documents, kept, refuse_broken, told
from humaneval.domain import Generator, GeneratorRequest
from humaneval.errors import InputError
from humaneval.infills.conformance import RULES, Trial
from humaneval.infills.forget import forget as forget_generator
from humaneval.infills.statuses import judge
from humaneval.kinds import build, kinds
from humaneval.plugins import calling
from humaneval.stories import bundled_stories
from humaneval.text import counted


@click.group()
def generators() -> None:
    """List, check or forget generators."""


@generators.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List every registered kind of generator and the file of its code."""

    found = []
    for kind in kinds():
        found.append({"kind": kind.name, "package": kind.distribution, "file": _file(kind.target)})
    if as_json:
        emit(found)
        return

    table = Table("Kind", "From package", "File", box=None, pad_edge=False, header_style="bold")
    for line in found:
        table.add_row(line["kind"], line["package"], line["file"])
    console().print(table)


def _file(target: str) -> str | None:
    """The file of a kind's code, if it is there. To look below a package imports that package."""
    try:
        with calling(target, ""):
            spec = find_spec(target.partition(":")[0])
    except InputError:
        return None
    return spec.origin if spec else None


@generators.command()
@click.argument("name")
@json_option
@with_app
def forget(app: App, name: str, as_json: bool) -> None:
    """Delete the generator NAME and its infills, unless a study shows one of them."""

    count = forget_generator(app.engine, name)
    if as_json:
        emit({"generator": name, "forgotten": count})
    else:
        say(f"{name} and its {counted(count, 'infill')} are deleted.")


@generators.command()
@click.argument("kind")
@click.option("--checkpoint", default="", help="Folder or file that the kind reads.")
@click.option("--device", default="auto", show_default=True, help="Device: auto, cpu, cuda, cuda:1, …")
@click.option(
    "--stories",
    "count",
    type=click.IntRange(1, 30),
    default=10,
    show_default=True,
    help="Number of stories to try it on.",
)
@click.option(
    "--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of the kind. Repeatable."
)
@json_option
def check(
    kind: str, checkpoint: str, device: str, count: int, options: tuple[str, ...], as_json: bool
) -> None:
    """Check a generator of this KIND against the rules for all generators.

    The exit code is 1 if it breaks one.
    """

    def make(seed: int) -> Generator:
        request = GeneratorRequest(
            kind, checkpoint=checkpoint, device=device, seed=seed, options=parse_options(options)
        )
        return build(request)[0]

    trial = Trial(make, bundled_stories()[-count:])
    name = trial.generator.name
    findings = told(name, trial, RULES, quiet=as_json)
    examples = [] if any(one.wrong for one in findings) else [judge(one) for one in trial.together[-5:]]
    if as_json:
        shown = [{"position": i.blank.position, "text": i.text, "status": str(i.status)} for i in examples]
        emit({"generator": name, "rules": as_documents(findings), "examples": shown})
    elif examples:
        say(f"{kept(name, findings)} Infills that it wrote, by position:")
        for infill in examples:
            say(f"  {infill.blank.position}. [{infill.status}] {infill.text}")
    refuse_broken(name, findings, "docs/generators.md")
