"""Sites that work as Mechanical Turk's requester pages did: files go in, and a table of results comes out.

The layout is our page with a variable for each text that differs between forms. Nothing is sent anywhere:
people carry the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple, Never

from markupsafe import escape
from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.form_of_row import form_of
from humaneval.crowd.form_page import Form, ShownPassage, as_shown, render
from humaneval.crowd.link import Link
from humaneval.crowd.platform import CSV, Cost, Offer, Submission
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.csv_text import csv_text, guarded
from humaneval.errors import PlatformError, UsageError
from humaneval.store.engine import reading
from humaneval.store.tables import COLLECTED, AssignmentRow, HitRow, StudyRow
from humaneval.text import between

FORM = "form"
"""The variable with the hash of what a form shows: it ties an answer to its row."""
AT_THE_SITE = "work that came as a file is approved, rejected and paid at the site"
THEN = "Do it there, download the results again, and collect them: the books follow what they say."


class MTurkCsv(Link):
    """The platform behind files. It has the submissions of one table of results, if one is given."""

    results: Mapping[str, Sequence[Submission]] | None = None
    """By our id of their HIT."""

    def check(self, offer: Offer) -> None:
        if not offer.page:
            raise UsageError("a batch has static pages only")

    def submissions(self, external_id: str) -> Iterator[Submission]:
        """Those of the table; none without one."""
        return iter((self.results or {}).get(external_id, ()))

    def approve(self, assignment: str, feedback: str = "", *, override: bool = False) -> Never:
        raise PlatformError(AT_THE_SITE, THEN, nothing_done=True)

    def reject(self, assignment: str, reason: str, category: str = "") -> Never:
        raise PlatformError(AT_THE_SITE, THEN, nothing_done=True)

    def bonus(self, assignment: str, worker: str, amount: Decimal, reason: str, token: str) -> Never:
        raise PlatformError(AT_THE_SITE, THEN, nothing_done=True)

    def notify(self, worker: str, subject: str, text: str) -> Never:
        raise PlatformError("workers of a batch cannot be written to", "Write to them at the site.")

    def bonus_cost(self, amount: Decimal) -> Cost:
        raise PlatformError(AT_THE_SITE, THEN)


def refuse_by_file(at: StudyAtPlatform, what: str = AT_THE_SITE, then: str = THEN) -> None:
    """Raise PlatformError, before anything is stored, if work is decided at a site that we cannot call, or
    `what` else is done there."""
    if at.endpoint == CSV:
        raise PlatformError(what, then, nothing_done=True)


class Batch(NamedTuple):
    """The two files that a site is given, and how many forms they hold."""

    layout: str
    table: str
    forms: int


def batch_of(at: StudyAtPlatform) -> Batch:
    """The layout, and the table with one line for each form that is up and has no answers yet.

    Raises UsageError if there is no such form.
    """
    with reading(at.engine) as session:
        study = session.get_one(StudyRow, at.id)
        forms = [form_of(session, study, row_id, at.endpoint) for row_id in _open_rows(session, at)]
    if not forms:
        raise UsageError("every form of the study has answers", "There is nothing left to put into a batch.")
    layout = _layout(forms[0])
    lines = [_values(form) for form in forms]
    return Batch(layout, csv_text(list(lines[0]), [list(line.values()) for line in lines]), len(forms))


def _open_rows(session: Session, at: StudyAtPlatform) -> list[int]:
    done = select(AssignmentRow.hit_id).where(
        AssignmentRow.hit_id == HitRow.id, AssignmentRow.state.in_(COLLECTED)
    )
    rows = session.scalars(
        select(HitRow.row_id)
        .where(HitRow.study_id == at.id, HitRow.endpoint == at.endpoint)
        .where(HitRow.external_id.is_not(None), HitRow.closed_at.is_(None), ~done.exists())
        .order_by(HitRow.id)
    )
    return [row for row in rows if row is not None]


def _layout(like: Form) -> str:
    """The page of a form like this one, with variables in place of what differs between forms."""
    passages = tuple(
        ShownPassage(
            shown.place,
            tuple(_variable(shown.place, f"sentence_{at}") for at, _ in enumerate(shown.sentences, 1)),
            _variable(shown.place, "title") if like.study.page.show_titles else "",
            infill=_variable(shown.place, "infill"),
            alternative=_variable(shown.place, "alternative"),
            between=between(shown.sentences),
        )
        for shown in like.passages
    )
    form = replace(like, passages=passages, form_hash=f"${{{FORM}}}")
    return render("layout.html", like.study, "hit", form=form)


def _values(form: Form) -> dict[str, str]:
    values = {FORM: form.form_hash}
    for shown in as_shown(form, "hit").passages:
        said = {f"sentence_{number}": sentence for number, sentence in enumerate(shown.sentences, 1)}
        if form.study.page.show_titles:
            said = {"title": shown.title, **said}
        if shown.alternative:
            said |= {"infill": shown.infill, "alternative": shown.alternative}
        values |= {_named(shown.place, name): _raw(text) for name, text in said.items()}
    return values


def _named(place: int, name: str) -> str:
    return f"story_{place}_{name}"


def _variable(place: int, name: str) -> str:
    return f"${{{_named(place, name)}}}"


def _raw(text: str) -> str:
    """`text` as HTML, because a site puts it into the page as it is.

    Nothing in it is taken for a variable. Mechanical Turk refuses raw characters outside the basic plane.
    """
    html = str(escape(text)).replace("$", "&#36;")
    if guarded(html) != html:  # a guard against formulas would be shown
        html = f"&#{ord(html[0])};{html[1:]}"
    return "".join(c if ord(c) < 0x10000 else f"&#x{ord(c):X};" for c in html)
