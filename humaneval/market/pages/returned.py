"""Tells a requester's server which assignments of a HIT were returned, so that it can give their forms on."""

from __future__ import annotations

import hmac

from flask import Blueprint, Response, request
from sqlalchemy import select

from humaneval.market.hits import find_hit
from humaneval.market.pages.site import Answer, current_site
from humaneval.market.protocol.refusals import RefusedError
from humaneval.market.questions.question import ExternalQuestion, read_question
from humaneval.market.tables.assignments import Assignment, State

MOST_ASKED = 100
"""About how many assignments one call may ask."""

blueprint = Blueprint("returned", __name__)


@blueprint.get("/mturk/returned")
def returned() -> Answer:
    """Of the assignments asked for, those that were returned: their ids, one a line.

    Only a server that has the HIT's secret may ask: `turkSignature` is over "returned", `hitId` and each
    `assignmentId`.
    """
    hit_id, asked = request.args.get("hitId", ""), request.args.getlist("assignmentId")[:MOST_ASKED]
    site = current_site()
    with site.market.reading() as work:
        try:
            hit = find_hit(work, hit_id)
            question = read_question(hit.question, work.mode)
        except RefusedError:
            return _refused()
        secret = question.secret if isinstance(question, ExternalQuestion) else ""
        said = "\n".join(("returned", hit_id, *asked)).encode("utf-8", "replace")
        wanted = hmac.digest(secret.encode(), said, "sha256").hex()
        signature = request.args.get("turkSignature", "").encode("utf-8", "replace")
        if not secret or not hmac.compare_digest(wanted.encode(), signature):
            return _refused()
        ended = work.session.scalars(
            select(Assignment.id).where(
                Assignment.hit_number == hit.number,
                Assignment.id.in_(asked),
                Assignment.state == State.RETURNED,
            )
        )
        return site.note("".join(f"{each}\n" for each in ended))


def _refused() -> Response:
    return Response("There is no such HIT, or the signature is wrong.\n", 403, content_type="text/plain")
