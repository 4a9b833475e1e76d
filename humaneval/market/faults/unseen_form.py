"""The fault `unseen`: a form is sent to the marketplace, and the requester's server never gets it."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from html import escape
from http.client import HTTPException

from flask import Blueprint, Response
from sqlalchemy import select

from humaneval.market.operations import Market
from humaneval.market.protocol.addresses import origin_of
from humaneval.market.protocol.http import SUBMIT_PATH
from humaneval.market.questions.question import ExternalQuestion, read_question
from humaneval.market.security import protect_content
from humaneval.market.tables.assignments import Assignment, State
from humaneval.timed_replies import opener

UNSEEN_PATH = "/unseen"

MOST_BYTES = 4 * 1024 * 1024

WAIT_SECONDS = 30

_FORM = re.compile(r"<form\b[^>]*>", re.IGNORECASE)

_ACTION = re.compile(r"\saction\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s>]+)", re.IGNORECASE)


def unseen_blueprint(market: Market, public_url: str) -> Blueprint:
    """The requester's page as the worker sees it, except that its form goes to the marketplace alone."""
    blueprint = Blueprint("unseen", __name__)
    target = origin_of(public_url) + SUBMIT_PATH

    @blueprint.get(f"{UNSEEN_PATH}/<assignment_id>")
    def page(assignment_id: str) -> Response:
        with market.reading() as work:
            assignment = work.session.scalar(select(Assignment).where(Assignment.id == assignment_id))
            if assignment is None or assignment.state is not State.ACCEPTED:
                return protect_content(
                    Response("There is no work with this id.", 404, content_type="text/plain")
                )
            question = read_question(assignment.hit.question, work.mode)
            given = {
                "assignmentId": assignment.id,
                "hitId": assignment.hit.id,
                "workerId": assignment.worker.id,
            }
        if not isinstance(question, ExternalQuestion):
            return protect_content(
                Response("This HIT's page is not on another server.", 404, content_type="text/plain")
            )
        address = question.address(**given, turkSubmitTo=origin_of(public_url))
        try:
            with opener().open(address, timeout=WAIT_SECONDS) as reply:
                html = reply.read(MOST_BYTES).decode("utf-8", errors="replace")
        except (urllib.error.URLError, HTTPException, TimeoutError) as error:
            return protect_content(
                Response(
                    f"The requester's page could not be fetched: {error}", 502, content_type="text/plain"
                )
            )
        return protect_content(
            Response(_diverted(html, address, target, assignment_id), content_type="text/html; charset=utf-8")
        )

    return blueprint


def _diverted(html: str, address: str, target: str, assignment_id: str) -> str:
    """The page with all its forms sent to `target`. Everything else still comes from `address`."""

    def divert(form: re.Match[str]) -> str:
        opening = _ACTION.sub("", form.group()).removesuffix(">")
        return (
            f'{opening} action="{escape(target)}">'
            f'<input type="hidden" name="assignmentId" value="{escape(assignment_id)}">'
        )

    base = f'<base href="{escape(address)}">'
    head = re.search(r"<head\b[^>]*>", html, re.IGNORECASE)
    at = head.end() if head else 0
    return _FORM.sub(divert, html[:at] + base + html[at:])
