"""`generate`: fill blanks. Stopped at any point, the same command continues where it stopped."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from humaneval.cli.context import SEED, App, emit, json_option, say, with_app
from humaneval.cli.numbers import COUNT, Number, Whole
from humaneval.domain import MOST_SENTENCES, Blank, GeneratorRequest
from humaneval.errors import UsageError
from humaneval.infills.blanks import WHOLE, Shard, blanks_of, select_stories, stories_to_fill
from humaneval.infills.doubtful import told
from humaneval.infills.generate import RunSummary, check_stories, run
from humaneval.infills.processing import Form, steps_of
from humaneval.infills.ray_cluster import cluster, run_on
from humaneval.kinds import build
from humaneval.progress import progress
from humaneval.store.stories import AUTO


def parse_options(pairs: tuple[str, ...]) -> dict[str, str]:
    """`NAME=VALUE` pairs as a mapping."""
    options = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"option {pair!r} is not NAME=VALUE")
        options[name.strip()] = value
    return options


def parse_positions(text: str) -> list[int]:
    """`1-5` or `1,3,5` as a list of positions; none if nothing is said."""
    if not text:
        return []
    positions: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,2})(?:\s*-\s*(\d{1,2}))?\s*", part)
        if not match or not 1 <= int(match[1]) <= int(match[2] or match[1]) <= MOST_SENTENCES:
            raise UsageError(f"{text!r} does not name positions", "Write 1-5, or 1,3,5.")
        positions += range(int(match[1]), int(match[2] or match[1]) + 1)
    if not positions or len(set(positions)) != len(positions):
        raise UsageError(f"{text!r} names no position, or one twice", "Write 1-5, or 1,3,5.")
    return positions


def parse_shard(text: str) -> Shard:
    """`i/n` as a shard."""
    match = re.fullmatch(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,8})", text)
    if not match or int(match[1]) > int(match[2]):
        raise UsageError(
            f"{text!r:.60} is not a shard", "Write the part and the number of parts, for example 2/4."
        )
    return Shard(int(match[1]), int(match[2]))


@click.command()
@click.option(
    "--generator",
    "kind",
    required=True,
    metavar="KIND",
    help="Kind of generator; `humaneval generators list` shows them.",
)
@click.option("--checkpoint", default="", help="Folder or file that the kind reads.")
@click.option(
    "--as",
    "name",
    default="",
    metavar="NAME",
    help="Name for this configuration. [default: the kind's own name]",
)
@click.option(
    "--split",
    default=AUTO,
    show_default=True,
    help='Split of the stories; "" for all, auto for test and stories without a split, or else all.',
)
@click.option(
    "--stories",
    "first",
    type=COUNT,
    help="Number of stories, from the first on. [default: all]",
)
@click.option("--positions", default="", metavar="1-5", help="Sentences to take out. [default: all]")
@click.option(
    "--rest",
    is_flag=True,
    help="Write the rest of the story, sentence by sentence, as a boundary study shows.",
)
@click.option(
    "--samples",
    type=Whole(1, 10_000),
    default=1,
    show_default=True,
    help="Number of infills for each blank.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed.")
@click.option("--device", default="auto", show_default=True, help="Device: auto, cpu, cuda, cuda:1, …")
@click.option(
    "--shard",
    default="1/1",
    show_default=True,
    metavar="I/N",
    help="Part of the stories to fill, for example 2/4.",
)
@click.option(
    "--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of the kind. Repeatable."
)
@click.option(
    "--processing",
    metavar="all|NAMES",
    help=(
        "Clean-up of the texts: labels,repeats,spaces,sentence,capital,stop. Use the same for all systems of"
        " a study."
    ),
)
@click.option(
    "--length-matched",
    "draws",
    type=click.IntRange(2, 100),
    metavar="N",
    help="Draw N times and take the text whose length is most like that of people's sentences.",
)
@click.option(
    "--ray",
    "on_ray",
    is_flag=True,
    help=(
        "Fill on a Ray cluster: the one that RAY_ADDRESS names, one that runs here, or a new one on this"
        " machine."
    ),
)
@click.option(
    "--actors",
    type=COUNT,
    help="Largest number of actors with --ray. [default: one for each GPU, else for each CPU]",
)
@click.option(
    "--gpus-per-actor",
    "gpus",
    type=Number(min=0),
    help="GPUs for each actor with --ray. [default: 1 if there is one]",
)
@json_option
@with_app
def generate(
    app: App,
    kind: str,
    checkpoint: str,
    name: str,
    split: str,
    first: int | None,
    positions: str,
    rest: bool,
    samples: int,
    seed: int,
    device: str,
    shard: str,
    options: tuple[str, ...],
    processing: str | None,
    draws: int | None,
    on_ray: bool,
    actors: int | None,
    gpus: float | None,
    as_json: bool,
) -> None:
    """Fill blanks with a generator and store the infills. Existing infills stay as they are."""
    form = Form(steps_of(processing) if processing is not None else (), draws or 0, seed, rest)
    part = parse_shard(shard)
    if on_ray and part != WHOLE:
        raise UsageError("--ray divides the work itself", "Leave out --shard.")
    if not on_ray and (actors is not None or gpus is not None):
        raise UsageError("--actors and --gpus-per-actor go with --ray", "Add --ray, or leave them out.")
    request = GeneratorRequest(kind, name, checkpoint, device, seed, parse_options(options))
    if rest and draws:
        raise UsageError("--rest and --length-matched exclude each other", "Leave one of them out.")
    at = parse_positions(positions)
    stories = stories_to_fill(app.engine, split, first)
    blanks = blanks_of(stories, at, samples, rest=rest)
    if not blanks:
        raise UsageError(f"no story has a sentence to take out at {positions}", "Leave --positions out.")
    summaries = (
        _with_ray(app, request, form, blanks, actors, gpus)
        if on_ray
        else _here(
            app,
            request,
            form,
            blanks,
            blanks if part == WHOLE else blanks_of(stories, at, samples, shard=part, rest=rest),
        )
    )
    if as_json:
        emit([_document(summary) for summary in summaries])
    else:
        _tell(summaries)


def _document(summary: RunSummary) -> dict[str, object]:
    return {
        "generator": summary.generator,
        "written": dict(summary.written),
        "already_there": summary.already_there,
        **({"doubtful": [one.to_json() for one in summary.doubtful]} if summary.doubtful else {}),
    }


def _tell(summaries: Sequence[RunSummary]) -> None:
    for summary in summaries:
        written = ", ".join(f"{n} {status}" for status, n in sorted(summary.written.items())) or "none"
        there = f", {summary.already_there} existed already" if summary.already_there else ""
        say(f"{summary.generator}: {written}{there}.")
        for line in told(summary.doubtful):
            say(line)


def _here(
    app: App, request: GeneratorRequest, form: Form, blanks: Sequence[Blank], mine: Sequence[Blank]
) -> list[RunSummary]:
    """Fill `mine`, which are all of `blanks` or those of one shard."""
    generators = build(request)
    for generator in generators:  # all of them before any writes, so that a faulty file changes nothing
        check_stories(app.engine, generator, blanks)
    summaries = []
    for generator in form.of(generators, select_stories(app.engine)):
        with progress(f"Filling blanks: {generator.name}", len(mine), unit="infills") as advance:
            summaries.append(run(app.engine, generator, mine, advance, of=blanks))
    return summaries


def _with_ray(
    app: App,
    request: GeneratorRequest,
    form: Form,
    blanks: Sequence[Blank],
    actors: int | None,
    gpus: float | None,
) -> list[RunSummary]:
    summaries = []
    with cluster(request, form, select_stories(app.engine), blanks, actors, gpus) as found:
        for index, (name, _) in enumerate(found.generators):
            with progress(f"Filling blanks: {name}", len(blanks), unit="infills") as advance:
                summaries.append(run_on(app.engine, found, index, blanks, advance))
    return summaries
