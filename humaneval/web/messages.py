"""Pages that are not forms: what went wrong and what to do next."""

from __future__ import annotations

from flask import Response, g, request

from humaneval.crowd.form_page import render
from humaneval.crowd.panels import HandBack
from humaneval.study.words import words_of


def page(template: str, *, status: int = 200, **values: object) -> Response:
    """A page in the words of `g.study` for people who come by `g.channel`, if they are known."""
    html = render(template, g.get("study"), g.get("channel", "task"), root=root(), **values)
    return Response(html, status=status, mimetype="text/html")


def message(
    heading: str,
    *paragraphs: str,
    status: int = 200,
    leave: str = "",
    back: HandBack | None = None,
    **values: object,
) -> Response:
    """A heading and some paragraphs: keys of words, with what they need filled in.

    `leave` is the address at which the worker can return the HIT, `back` what they take back to a panel.
    """
    shown = {"paragraphs": paragraphs, "leave": leave, "back": back, "values": values}
    return page("message.html", status=status, heading=heading, **shown)


def root() -> str:
    """The relative path from the current page to our root. A proxy may put us into a folder."""
    return "../" * (request.path.count("/") - 1) or "./"


def invalid() -> Response:
    """For a form without a token that we signed for it."""
    return message("invalid_heading", "invalid_text", status=400)


def again() -> str:
    """What to do where nothing is found, by how people came: a key of words."""
    return {"take": "open_link", "prolific": "open_from_panel"}.get(request.path.split("/")[1], "open_hit")


def outdated() -> Response:
    """For a page whose form its person no longer has, by link or from Prolific."""
    return message("invalid_heading", again(), status=400)


def incomplete() -> Response:
    """For an address without a worker id."""
    return message("incomplete_heading", "incomplete_hit", status=400)


def unsigned() -> Response:
    """For an address that the marketplace has not signed for this worker."""
    return message("unsigned_heading", "open_hit", status=403)


def limit(rows: int, leave: str) -> Response:
    """For a worker who has filled in as many forms as the study allows."""
    return message("limit_heading", "limit_hit", leave=leave, forms=rows)


def kept_out(leave: str) -> Response:
    """For a worker who may not take part."""
    return message("kept_out_heading", "kept_out_hit", leave=leave)


def compensated(leave: str) -> Response:
    """For a worker whose work on this assignment was lost and is paid for separately."""
    title = words_of(g.study, g.channel).compensation_title(g.study)
    return message("compensated_heading", "compensated_text", "compensated_leave", leave=leave, title=title)


def passed_on() -> Response:
    """For a worker who sent a form after returning its HIT, which another worker has now."""
    return message("passed_on_heading", "passed_on_text")


def full(leave: str) -> Response:
    """For a worker who came after the last row was taken."""
    return message("full_heading", "full_hit", leave=leave)
