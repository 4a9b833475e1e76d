"""Pages that are not forms: what went wrong, what comes next; and how any page finds our other addresses."""

from __future__ import annotations

from flask import Response, g, request

from humaneval.crowd.form_page import templates


def page(template: str, *, status: int = 200, **values: object) -> Response:
    """A page with the study's language and contact, where the study is known (`g.study`)."""
    html = templates().get_template(template).render(study=g.get("study"), root=root(), **values)
    return Response(html, status=status, mimetype="text/html")


def message(heading: str, *paragraphs: str, status: int = 200, leave: str = "") -> Response:
    """A heading and what there is to say; `leave` is where the worker can return the HIT."""
    return page("message.html", status=status, heading=heading, paragraphs=paragraphs, leave=leave)


def root() -> str:
    """The way from the page at hand to our first address. Relative: a proxy may have us under a folder."""
    return "../" * (request.path.count("/") - 1) or "./"


def unknown() -> Response:
    """For an address that belongs to no HIT."""
    return message(
        "This HIT is not ours",
        "The address is wrong, or the study is gone. Please return the HIT.",
        status=404,
    )


def invalid() -> Response:
    """For a form whose token is not one that we signed for it."""
    return message(
        "This form is not valid",
        "Please open the HIT again from the marketplace; your work there is still yours.",
        status=400,
    )


def incomplete() -> Response:
    """For an address without a worker."""
    return message(
        "This address is incomplete",
        "It does not say which worker you are. Please open the HIT again from the marketplace.",
        status=400,
    )


def times(number: int) -> str:
    """How often, in words."""
    return "once" if number == 1 else f"{number} times"


def limit(rows: int, leave: str) -> Response:
    """For someone who has filled in as many forms as the study takes from one person."""
    return message(
        "You have already taken part",
        f"Thank you! This study takes each person {times(rows)}. Please return this HIT, so that someone else"
        " can have it.",
        leave=leave,
    )


def kept_out(leave: str) -> Response:
    """For someone who may not take part."""
    return message(
        "This study is not open to you",
        "It needs people who have not taken part in it, or in one like it, before. Please return this HIT;"
        " returning costs you nothing.",
        leave=leave,
    )


def compensated(leave: str) -> Response:
    """For someone whose work on this very assignment was lost, and is paid for."""
    return message(
        "This work is paid by another HIT",
        "What you lost here is made good by a HIT of its own. Only you can see it, among the others: it is"
        " called “Payment for your work”, and there is nothing to do in it but to send it. This one need not"
        " be done again. If you still hold it, please return it; returning costs you nothing.",
        leave=leave,
    )


def passed_on() -> Response:
    """For someone who sent a form after returning its HIT, which somebody else has now."""
    return message(
        "You have returned this HIT",
        "Somebody else has it now, so your answers were not sent to the marketplace. They are saved here all"
        " the same. If you did not return it yourself, please write to us.",
    )


def full(leave: str) -> Response:
    """For someone who came after the last row was taken."""
    return message(
        "All forms are taken",
        "Other people are working on the last ones. Please return this HIT; you have not done anything"
        " wrong.",
        leave=leave,
    )
