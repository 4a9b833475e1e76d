"""`infill`: fill the blanks of any text, here or on a page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.text import Text

from humaneval.cli.context import SEED, console, emit, json_option, say
from humaneval.cli.generate import parse_options
from humaneval.domain import Drawing
from humaneval.errors import InputError, PrerequisiteError, UsageError
from humaneval.free_text import MOST_SAMPLES, Candidate, fill_text, told
from humaneval.infills.free_text import Offer, alone, found_offers, missing, named_offers
from humaneval.limits import MIB, SETTINGS
from humaneval.text import command, refused_characters

PORT = 8740


class Written(NamedTuple):
    """What one generator wrote."""

    offer: Offer
    candidates: tuple[Candidate, ...]


@click.command()
@click.argument("text", required=False)
@click.option(
    "--file", "path", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Text from a file."
)
@click.option(
    "--checkpoint", "checkpoints", multiple=True, metavar="DIR", help="Folder of a checkpoint. Repeatable."
)
@click.option("--generator", "kind", default="", help="Kind, where the checkpoint does not tell it.")
@click.option(
    "--samples", type=click.IntRange(1, MOST_SAMPLES), default=1, show_default=True, help="Candidates."
)
@click.option(
    "--temperature",
    type=float,
    default=1.0,
    show_default=True,
    help="Temperature of the draws.",
)
@click.option("--nucleus", type=float, default=0.95, show_default=True, help="Mass of the likeliest tokens.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed.")
@click.option("--device", default="auto", show_default=True, help="Device: auto, cpu, cuda, cuda:1, …")
@click.option(
    "--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of the kind. Repeatable."
)
@click.option("--serve", is_flag=True, help="Serve a page for it until Ctrl-C.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on, with --serve.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port.")
@json_option
def infill(
    text: str | None,
    path: Path | None,
    checkpoints: tuple[str, ...],
    kind: str,
    samples: int,
    temperature: float,
    nucleus: float,
    seed: int,
    device: str,
    options: tuple[str, ...],
    serve: bool,
    host: str,
    port: int,
    as_json: bool,
) -> None:
    """Fill the blanks of TEXT, or of standard input.

    ____ is a blank for a sentence; [word], [ngram], [sentence], [paragraph] and [document] are blanks of
    these types. [word: cereal] also says what was there, which BERT needs. A backslash before a mark makes it
    ordinary text. Without --checkpoint, the one in the working folder is used. The log-probabilities are
    those of the model itself, whatever the temperature.
    """
    named = named_offers(kind, checkpoints, parse_options(options))
    if serve:
        if text is not None or path is not None:
            raise UsageError("the page takes its text in the browser", "Leave out TEXT and --file.")
        _serve(named, host, port, device)
        return
    marked, how = _read(text, path), Drawing(seed, temperature, nucleus)
    written = [
        Written(offer, fill_text(offer.open(device), marked, samples, how))
        for offer in named or [_only_one_here()]
    ]
    if as_json:
        emit({"text": marked, "generators": [_document(one) for one in written]})
    else:
        _print(written)
    _refuse_nothing([one.candidates for one in written])


def _read(text: str | None, path: Path | None) -> str:
    if text is not None and path is not None:
        raise UsageError("TEXT and --file exclude each other", "Leave one of them out.")
    if path is not None or text in (None, "-"):
        if path is None and sys.stdin.isatty():
            raise UsageError(
                "there is no text", f"Give one: {command('infill', 'Anna left. ____ She slept.')}"
            )
        source = str(path or "standard input")
        with sys.stdin.buffer if path is None else path.open("rb") as file:
            content = file.read(SETTINGS + 1)
        if len(content) > SETTINGS:
            raise InputError(f"{source} is larger than {SETTINGS // MIB} MiB", "No model reads as much.")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"{source} is not UTF-8: {error.reason}", "Save it as UTF-8.") from None
    text = (text or "").replace("\r\n", "\n").strip("\n")
    if fault := refused_characters(text):
        raise InputError(f"the text has characters that no model reads: {fault}", "Take them out.")
    return text


def _only_one_here() -> Offer:
    """The checkpoint in the working folder."""
    found = found_offers(Path())
    if len(found) == 1:
        say(f"With the checkpoint in {found[0].checkpoint}, of kind {found[0].kind}.", err=True)
        return found[0]
    if found:
        listed = ", ".join(offer.checkpoint for offer in found[:5])
        raise UsageError(f"there are {len(found)} checkpoints here: {listed}", "Choose with --checkpoint.")
    why, how = missing([])
    raise PrerequisiteError(why.rstrip(".")[:1].lower() + why.rstrip(".")[1:], how)


def _document(one: Written) -> dict[str, Any]:
    offer = one.offer
    return {
        "generator": offer.name,
        "kind": offer.kind,
        "checkpoint": offer.checkpoint,
        "candidates": [asdict(candidate) for candidate in one.candidates],
    }


def _print(written: Sequence[Written]) -> None:
    """Each generator's candidates, with what they filled in colour; a pipe gets plain lines."""
    lines = []
    for number, (offer, candidates) in enumerate(written):
        if len(written) > 1:
            lines.append(Text("\n" * (number > 0)).append(offer.name, "bold"))
        for place, candidate in enumerate(candidates, 1):
            line = Text(f"{place}. ")
            for piece, one in zip(candidate.pieces, (*candidate.fillings, None), strict=True):
                line.append(piece).append(one.text if one else "", "bold green")
            lines += [line, Text(f"   {told(candidate)}", "dim")]
    out = console()
    for line in lines:
        out.print(line, soft_wrap=True)


def _refuse_nothing(written: Sequence[Sequence[Candidate]]) -> None:
    """Raise InputError if no blank of any candidate got a text."""
    fillings = [one for candidates in written for each in candidates for one in each.fillings]
    if not any(one.text for one in fillings):
        raise InputError(
            f"no blank was filled: {fillings[0].detail or fillings[0].status}",
            "Shorten the text, or choose another model.",
        )


def _serve(named: Sequence[Offer], host: str, port: int, device: str) -> None:
    from humaneval.web.app import run  # loads pandas
    from humaneval.web.infilling import Desk, create_app

    offers = [*(named or found_offers(Path())), alone()]
    app = create_app(Desk(offers, device=device), host=host)

    def announce(port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        say(f"Infilling: http://{shown}:{port}")
        for offer in offers:
            say(f"  {offer.name:24} {offer.checkpoint}".rstrip())
        why, how = missing(offers)
        if why:
            say(f"{why}\n  {how}", err=True)
        say("Press Ctrl-C to stop.", err=True)

    run(app, host, port, announce)
