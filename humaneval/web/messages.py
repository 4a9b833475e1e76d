"""Pages that are not forms: what went wrong and what to do next."""

from __future__ import annotations

from flask import Response, g, request

from humaneval.crowd.form_page import templates


def page(template: str, *, status: int = 200, **values: object) -> Response:
    """A page, with the study's language and contact if the study is known (`g.study`)."""
    html = templates().get_template(template).render(study=g.get("study"), root=root(), **values)
    return Response(html, status=status, mimetype="text/html")


def message(heading: str, *paragraphs: str, status: int = 200, leave: str = "") -> Response:
    """A heading and some paragraphs. `leave` is the address at which the worker can return the HIT."""
    return page("message.html", status=status, heading=heading, paragraphs=paragraphs, leave=leave)


def root() -> str:
    """The relative path from the current page to our root. A proxy may put us into a folder."""
    return "../" * (request.path.count("/") - 1) or "./"


def unknown() -> Response:
    """For an address without a HIT of ours."""
    return message(
        "There is no such form",
        "The address is wrong, or the study has been deleted. Please return the HIT.",
        status=404,
    )


def invalid() -> Response:
    """For a form without a token that we signed for it."""
    return message(
        "This form is not valid",
        "Please open the HIT again from the marketplace. You still have it.",
        status=400,
    )


def incomplete() -> Response:
    """For an address without a worker id."""
    return message(
        "This address is incomplete",
        "Your worker id is missing from it. Please open the HIT again from the marketplace.",
        status=400,
    )


def times(number: int) -> str:
    """How often, in words."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def limit(rows: int, leave: str) -> Response:
    """For a worker who has filled in as many forms as the study allows."""
    return message(
        "You have already taken part",
        f"Thank you! Each person can take part in this study {times(rows)}. Please return this HIT, so that"
        " someone else can do it.",
        leave=leave,
    )


def kept_out(leave: str) -> Response:
    """For a worker who may not take part."""
    return message(
        "This study is not open to you",
        "It is only for people who have not taken part in it, or in a similar study, before. Please return"
        " this HIT. Returning it costs you nothing.",
        leave=leave,
    )


def compensated(leave: str) -> Response:
    """For a worker whose work on this assignment was lost and is paid for separately."""
    return message(
        "Another HIT pays for this work",
        "Your work here was lost, so you are paid through a separate HIT. Its title begins “Payment for your"
        " work”, and only you can see it. Accept it and press its button; there is nothing else to do.",
        "You do not need to do this HIT again. If you still have it, please return it. Returning it costs you"
        " nothing.",
        leave=leave,
    )


def passed_on() -> Response:
    """For a worker who sent a form after returning its HIT, which another worker has now."""
    return message(
        "You have returned this HIT",
        "Someone else has it now, so your answers were not sent to the marketplace. They are saved here. If"
        " you did not return the HIT yourself, please contact us.",
    )


def full(leave: str) -> Response:
    """For a worker who came after the last row was taken."""
    return message(
        "All forms are taken",
        "Other people are working on the last ones. Please return this HIT. You have done nothing wrong.",
        leave=leave,
    )
