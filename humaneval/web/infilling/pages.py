"""What the infilling page answers: the page itself, with and without script, and what its script asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from time import monotonic
from typing import Any

from flask import Blueprint, Response, current_app, jsonify, request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from werkzeug.exceptions import RequestEntityTooLarge

from humaneval.domain import Drawing, Gap, GappedText
from humaneval.errors import BusyError, HumanEvalError, InputError, UsageError
from humaneval.free_text import TYPES, Candidate, gapped, read_marks, told, write_marks
from humaneval.infills.free_text import ALONE, missing
from humaneval.infills.free_text_units import from_ranges, read_ranges, to_ranges, units
from humaneval.resources import bundled
from humaneval.stories import bundled_stories
from humaneval.text import between, refused_characters
from humaneval.web.infilling.desk import RETRY_SECONDS, Desk
from humaneval.web.security import allow_fetches

DESK = "humaneval.infilling"
ASSETS = {"infilling.css": "text/css", "infilling.js": "text/javascript"}
MOST_CHARACTERS = 20_000
MOST_BYTES = 16 * MOST_CHARACTERS
"""Of a request. Forms and JSON write an emoji as twelve bytes."""
MOST_SAMPLES = 20
MOST_BLANKS = 100
"""Of one text. Nobody else gets anything while a model fills them."""
FIRST = "Anna came home late. ____ She slept until noon."
NAMES = {
    "word": "a word",
    "ngram": "a few words",
    "sentence": "a sentence",
    "paragraph": "a paragraph",
    "document": "the whole text",
}

blueprint = Blueprint("infilling", __name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asked for."""

    samples: int = 3
    how: Drawing = field(default_factory=Drawing)
    chosen: tuple[str, ...] = ()
    """The keys of the generators."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one generator wrote, or why it wrote nothing."""

    name: str
    candidates: tuple[Candidate, ...] = ()
    error: str = ""
    hint: str = ""


@blueprint.url_value_preprocessor
def _forget_the_prefix(endpoint: str | None, values: dict[str, object] | None) -> None:
    """Another application may have put the page behind a token. The page needs none of it."""
    if values:
        values.pop("token", None)


@blueprint.before_request
def _limit() -> Response | None:
    request.max_content_length = MOST_BYTES
    if request.method == "POST" and _from_elsewhere():  # another site's page, which could waste our time
        return Response("This page takes texts from its own form alone.\n", 403, content_type="text/plain")
    return None


def _from_elsewhere() -> bool:
    """Whether a browser says that another site's page sent this request. With our own policy about referrers,
    it calls the origin of our own form null."""
    origin = request.headers.get("Origin", "null")
    site = request.headers.get("Sec-Fetch-Site", "none" if origin == "null" else "")
    return site not in ("same-origin", "none") and origin != request.host_url.rstrip("/")


@blueprint.errorhandler(RequestEntityTooLarge)
def _too_large(_error: RequestEntityTooLarge) -> Response:
    said = Result("", error=f"the text has more than {MOST_CHARACTERS:,} characters", hint="Shorten it.")
    if request.is_json:
        return _refusal(InputError(said.error, said.hint), 413)
    return _page(FIRST, Asked(), [said], status=413)


@blueprint.get("/")
def show() -> Response:
    """The page, with the story that the address names, or its text."""
    story = next((one for one in bundled_stories() if one.id == request.args.get("story")), None)
    if story is None:
        return _page(request.args.get("text", FIRST)[:MOST_CHARACTERS], Asked())
    before, taken, after = story.sentences[:2], story.sentences[2], story.sentences[3:]
    space = between(story.sentences)
    pieces = (space.join((*before, "")), space.join(("", *after)))
    return _page(write_marks(gapped(pieces, [Gap(original=taken)])), Asked(), story=story.id)


@blueprint.post("/")
def fill_form() -> Response:
    """The page with candidates below the form, for browsers without script."""
    text, asked, results, status = request.form.get("text", ""), Asked(), list[Result](), 200
    text = text.replace("\r\n", "\n")
    try:
        asked = _asked(request.form, _offered(request.form.getlist("generator")))
        _refuse_text(text)
        if not asked.chosen:
            raise UsageError("no generator is chosen", "Choose one or several.")
    except HumanEvalError as error:
        return _page(text, asked, [Result("", error=error.message, hint=error.hint)], status=400)
    for key in asked.chosen:
        name = _desk().offers[key].name if key in _desk().offers else ""
        try:
            marked = read_marks(text, {*TYPES, *_types()})
            _refuse_many(marked)
            results.append(Result(name, _desk().fill(key, marked, asked.samples, asked.how)))
        except HumanEvalError as error:
            results.append(Result(name, error=error.message, hint=error.hint))
            status = 429 if isinstance(error, BusyError) else status
    return _page(text, asked, results, status=status)


@blueprint.post("/fill")
def fill() -> Response:
    """Candidates of one generator for a text with ranges."""

    def candidates() -> dict[str, Any]:
        values = _object()
        asked = _asked(values, ())
        marked = from_ranges(read_ranges(values, _types()))
        _refuse_text("".join(marked.pieces))
        _refuse_many(marked)
        found = _desk().fill(str(values.get("generator")), marked, asked.samples, asked.how)
        return {"candidates": [{**asdict(one), "told": told(one)} for one in found]}

    return _answer(candidates)


@blueprint.post("/read")
def read() -> Response:
    """The ranges of a text with marks, and the ranges that can become blanks."""

    def ranges() -> dict[str, Any]:
        text = _object().get("text", "")
        if not isinstance(text, str):
            raise InputError("the request is not a text", "Load the page again.")
        _refuse_text(text)
        found = to_ranges(read_marks(text, _types()))
        return {**asdict(found), "units": units(found.text)}

    return _answer(ranges)


@blueprint.post("/write")
def write() -> Response:
    """The text with marks, of one with ranges."""

    def marks() -> dict[str, Any]:
        ranged = read_ranges(_object(), _types())
        _refuse_text(ranged.text)
        return {"text": write_marks(from_ranges(ranged), _types())}

    return _answer(marks)


@blueprint.get("/progress")
def progress() -> Response:
    """What the request at work is at, and for how many seconds."""
    doing = _desk().doing
    seconds = round(monotonic() - doing.since, 1) if doing else 0.0
    return jsonify({"doing": doing.what if doing else "", "seconds": seconds})


@blueprint.get("/assets/<name>")
def asset(name: str) -> Response:
    """The style sheet, or the script."""
    if name not in ASSETS:
        return Response("There is no such file.\n", 404, content_type="text/plain")
    content = (bundled("hit_templates") / "infilling" / name).read_bytes()
    return Response(content, mimetype=ASSETS[name], headers={"Cache-Control": "no-cache"})


def _desk() -> Desk:
    desk: Desk = current_app.extensions[DESK]
    return desk


def _types() -> list[str]:
    """All types of blanks that a mark may name here."""
    offered = (type for key in _desk().offers for type in _desk().types(key))
    return list(dict.fromkeys((*TYPES, *offered)))


def _offered(keys: Iterable[str]) -> tuple[str, ...]:
    """The generators of this page among `keys`, each once; of others the first, which is told to be gone."""
    once = list(dict.fromkeys(keys))
    gone = [key for key in once if key not in _desk().offers]
    others = {*gone[1:]}  # a set: a request has room for 20,000
    return tuple(key for key in once if key not in others)


def _object() -> Mapping[str, Any]:
    try:
        values = request.get_json(silent=True)
    except RecursionError:  # lists in lists in lists
        values = None
    if not isinstance(values, dict):
        raise InputError("the request is not JSON", "Load the page again.")
    return values


def _asked(values: Mapping[str, Any], chosen: tuple[str, ...]) -> Asked:
    samples = int(_number(values, "samples", 3, 1, MOST_SAMPLES))
    seed = int(_number(values, "seed", 0, -(2**31), 2**31 - 1))
    temperature = _number(values, "temperature", 1.0, 0.01, 10)
    nucleus = _number(values, "nucleus", 0.95, 0.01, 1)
    return Asked(samples, Drawing(seed, temperature, nucleus), chosen)


def _number(values: Mapping[str, Any], name: str, default: float, least: float, most: float) -> float:
    try:
        value = float(values.get(name, default))
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not least <= value <= most:
        raise UsageError(f"{name} cannot be {values.get(name)!r}", f"Choose {least:g} to {most:g}.")
    return value


def _refuse_text(text: str) -> None:
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"the text has more than {MOST_CHARACTERS:,} characters", "Shorten it.")
    if fault := refused_characters(text):
        raise InputError(f"the text has characters that no model reads: {fault}", "Take them out.")


def _refuse_many(text: GappedText) -> None:
    if len(text.gaps) > MOST_BLANKS:
        raise InputError(f"the text has {len(text.gaps):,} blanks", f"Fill at most {MOST_BLANKS} at a time.")


def _answer(make: Any) -> Response:
    """What `make` returns as JSON, or its error."""
    try:
        return jsonify(make())
    except BusyError as error:
        return _refusal(error, 429)
    except HumanEvalError as error:
        return _refusal(error, 400)


def _refusal(error: HumanEvalError, status: int) -> Response:
    response = jsonify({"error": error.message, "hint": error.hint})
    response.status_code = status
    if status == 429:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(bundled("hit_templates") / "infilling", encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _page(
    text: str, asked: Asked, results: list[Result] | None = None, *, story: str = "", status: int = 200
) -> Response:
    desk = _desk()
    offers = [
        {"key": key, "name": one.name, "checkpoint": one.checkpoint, "types": desk.types(key)}
        for key, one in desk.offers.items()
    ]
    why, how = missing(list(desk.offers.values()))
    html = (
        _templates()
        .get_template("page.html")
        .render(
            text=text,
            back="" if request.path == "/" else "../",
            asked=asked,
            chosen=asked.chosen or tuple(offer["key"] for offer in offers[:1]),
            results=results or [],
            offers=offers,
            models=any(offer.kind != ALONE for offer in desk.offers.values()),
            names=NAMES,
            missing=why,
            mends=how,
            stories=[one for one in bundled_stories() if one.split == "test"],
            story=story,
            told=told,
            most_samples=MOST_SAMPLES,
            most_characters=MOST_CHARACTERS,
        )
    )
    allow_fetches()
    response = Response(html, status=status, mimetype="text/html")
    if status == 429:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response
