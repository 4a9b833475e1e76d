"""A form that was sent with gaps: shown again with the given answers, and marks on what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from humaneval.crowd.answers import seconds_field
from humaneval.crowd.form_of_row import form_shown
from humaneval.crowd.form_page import Form
from humaneval.crowd.stored_claim import Work
from humaneval.web.forms import context


def with_gaps(work: Work, fields: Mapping[str, str]) -> Form | None:
    """The form with the given answers and marks on what is missing; None if nothing is missing."""
    answers = work.read(fields)
    if not answers.missing and answers.consent:
        return None
    form = form_shown(context().engine, work.hit, work.row_id)
    passages = tuple(
        replace(
            shown,
            given=answers.chosen.get(shown.place, {}),
            seconds=fields.get(seconds_field(shown.place), ""),
        )
        for shown in form.passages
    )
    return replace(
        form,
        passages=passages,
        missing=answers.missing,
        consent_missing=not answers.consent,
        consent_given=bool(answers.consent),
        comment=answers.comment,
        practice=answers.practice,
    )
