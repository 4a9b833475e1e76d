"""The requester's pages, by their addresses. Each of them only reads."""

from __future__ import annotations

from urllib.parse import quote

from flask import Blueprint, Response, abort, current_app, request
from sqlalchemy import select

from humaneval.crowd.endpoints import endpoint
from humaneval.crowd.form_of_row import form_of
from humaneval.crowd.form_page import Delivery, as_shown, render
from humaneval.crowd.published_hits import preview_urls
from humaneval.errors import UsageError
from humaneval.store.engine import reading
from humaneval.store.responses import rows_in
from humaneval.store.tables import RowRow, StudyRow
from humaneval.store.types import now
from humaneval.study.stored import Study, open_study, study_of
from humaneval.study.words import Channel
from humaneval.text import command
from humaneval.web.forms import context
from humaneval.web.infilling.pages import DESK
from humaneval.web.messages import root
from humaneval.web.requester import passages as of_study
from humaneval.web.requester import people, progress, scores
from humaneval.web.requester.platform_status import Heard
from humaneval.web.requester.remembered import remembered
from humaneval.web.requester.render import ASSETS, Paged, page, part
from humaneval.web.requester.render import asset as read_asset
from humaneval.web.security import allow_fetches, allow_plots, refuse_forms

blueprint = Blueprint("requester", __name__)

HEARD = "requester's pages: heard"
"""Where the application keeps what platforms said."""
INFILLING = "infill"
"""The folder of the infilling page, if it is there."""
STUDIES_PER_PAGE = 20
SHOWN = 5
"""Comments, strays and forms that differ on the page of the study itself."""


@blueprint.before_request
def let_our_script_ask() -> None:
    """Our script fetches newer figures from here. Nothing is sent anywhere."""
    refuse_forms()
    allow_fetches()


@blueprint.get("/assets/<name>")
def asset(name: str) -> Response:
    if name not in ASSETS:
        abort(404)
    return Response(read_asset(name), mimetype=ASSETS[name])


@blueprint.get("/")
def studies() -> Response:
    """All studies of the database, the newest first."""
    return _studies("studies.html")


@blueprint.get("/live")
def studies_live() -> Response:
    """The part of that page that changes."""
    return _studies("studies_live.html")


def _studies(template: str) -> Response:
    with reading(context().engine) as session:
        total = progress.count_studies(session)
        paged = Paged[progress.Standing].at(_number(), total, STUDIES_PER_PAGE)
        rows = session.scalars(
            select(StudyRow).order_by(StudyRow.id.desc()).limit(paged.size).offset(paged.offset)
        ).all()
    listed = [progress.standing(study_of(context().engine, row), _heard()) for row in rows]
    return page(
        template,
        studies=paged.of(listed),
        moment=min((one.at for one in listed), default=now()),
        infilling=INFILLING if DESK in current_app.extensions else "",
    )


@blueprint.get("/study/<name>")
def to_study(name: str) -> Response:
    """A relative address, because a proxy may put us into a folder."""
    return Response(status=308, headers={"Location": f"{quote(name, safe='')}/"})


@blueprint.get("/study/<name>/")
def study(name: str) -> Response:
    """Where a study stands, and what waits."""
    opened = _opened(name)
    stands = progress.standing(opened, _heard())
    found = progress.details(opened, stands)
    return page(
        "study.html",
        study=opened,
        stands=stands,
        moment=stands.at,
        generators=found.generators,
        positions=progress.by_position(found.generators),
        lines=found.waits.lines,
        undecided=found.waits.strays,
        said=found.said,
        comments=people.comments(opened, 1, SHOWN),
        strays=people.odd_forms(opened, 1, SHOWN, strays=True),
        differing=people.odd_forms(opened, 1, SHOWN, strays=False),
        ready=progress.forms_in(opened),
        ask=command("status", opened.name),
        compare=command("status", opened.name, "--reconcile"),
        where=_for_annotators(opened, stands),
    )


def _for_annotators(study: Study, stands: progress.Standing) -> list[str]:
    """Where annotators find what is up. Links are sent to people one by one, and not shown here."""
    return [
        address
        for one in stands.endpoints
        if one.endpoint in ("local", "sandbox") and one.hits_up
        for address in preview_urls(study, endpoint(one.endpoint, context().settings))
    ]


@blueprint.get("/study/<name>/live")
def study_live(name: str) -> Response:
    """The part of that page that changes."""
    opened = _opened(name)
    stands = progress.standing(opened, _heard())
    return page("study_live.html", study=opened, stands=stands, moment=stands.at)


@blueprint.get("/study/<name>/form")
def form(name: str) -> Response:
    """A form as a person sees it. Nothing on it can be sent."""
    opened = _opened(name)
    with reading(opened.engine) as session:
        total = rows_in(session, opened.id)
        number = min(max(1, _number("number")), max(1, total))
        found = session.scalar(
            select(RowRow.id).where(RowRow.study_id == opened.id).order_by(RowRow.ordinal).offset(number - 1)
        )
        by_link = request.args.get("by") == "link"
        channel: Channel = "open" if by_link else "task"
        shown = form_of(session, session.get_one(StudyRow, opened.id), found, "link" if by_link else "")
    html = render(
        "looked_at.html",
        shown.study,
        channel,
        form=as_shown(shown, channel),
        delivery=Delivery(action="", root=root()),
        root=root(),
        note=part("form_note.html", number=number, total=total, by_link=by_link),
    )
    return Response(html, mimetype="text/html")


@blueprint.get("/study/<name>/people")
def all_people(name: str) -> Response:
    """The people of a study."""
    opened = _opened(name)
    return page("people.html", study=opened, people=people.people(opened, _number()))


@blueprint.get("/study/<name>/people/<pseudonym>")
def person(name: str, pseudonym: str) -> Response:
    """One of them, with all answers in order."""
    opened = _opened(name)
    forms = people.person(opened, pseudonym) if pseudonym.isprintable() else []
    if not forms:
        abort(404)
    return page("person.html", study=opened, pseudonym=pseudonym, forms=forms)


@blueprint.get("/study/<name>/odd")
def odd(name: str) -> Response:
    """Strays, or differing answers."""
    opened = _opened(name)
    strays = request.args.get("kind") != "differing"
    found = people.odd_forms(opened, _number(), strays=strays)
    return page("odd.html", study=opened, forms=found, strays=strays)


@blueprint.get("/study/<name>/comments")
def comments(name: str) -> Response:
    """What people wrote into the comment box."""
    opened = _opened(name)
    return page("comments.html", study=opened, comments=people.comments(opened, _number()))


@blueprint.get("/study/<name>/passages")
def passages(name: str) -> Response:
    """The passages of a study."""
    opened = _opened(name)
    generator = request.args.get("generator", "")
    names = opened.settings.design.generators
    found = of_study.passages(opened, _number(), generator if generator in names else "")
    return page("passages.html", study=opened, passages=found, generator=generator, names=names)


@blueprint.get("/study/<name>/passages/<int:number>")
def passage(name: str, number: int) -> Response:
    """One of them, with all answers to it."""
    opened = _opened(name)
    found = of_study.passage(opened, number, _number()) if number < 2**31 else None
    return page("passage.html", study=opened, passage=found or abort(404))


@blueprint.get("/study/<name>/scores")
def study_scores(name: str) -> Response:
    """The scores, once the planned number of people has answered, or if they are asked for early."""
    opened = _opened(name)
    forms = progress.forms_in(opened)
    early, pilot = not (forms.complete or forms.closed), opened.settings.design.pilot
    look = not early or request.args.get("early") == "yes"
    allow_plots()
    return page(
        "scores.html",
        study=opened,
        ready=forms,
        early=early,
        shown=remembered(opened, "scores", lambda: scores.shown(opened)) if look else None,
        pilot=pilot,
        simulated=progress.warning(opened),
        ask=command("score", opened.name, *["--tests"] * pilot),
    )


def _opened(name: str) -> Study:
    if not name.isprintable():  # PostgreSQL takes no NUL
        abort(404)
    try:
        return open_study(context().engine, name)
    except UsageError:
        abort(404)


def _heard() -> Heard:
    found: Heard = current_app.extensions[HEARD]
    return found


def _number(name: str = "page") -> int:
    asked = request.args.get(name, "1")
    return int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 7 else 1
