"""Files that workers send with a QuestionForm: kept in the marketplace's file, fetched at an address that
soon expires."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import timedelta

from sqlalchemy import delete, select

from humaneval.market.protocol.refusals import invalid
from humaneval.market.protocol.values import Params, Reply
from humaneval.market.questions.form_answers import SentFile
from humaneval.market.questions.question import read_question
from humaneval.market.questions.question_form import FileAnswer, QuestionForm
from humaneval.market.reviews import find_assignment
from humaneval.market.tables.assignments import Assignment
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.uploads import Upload, UploadLink

VALID = timedelta(seconds=60)


def get_file_upload_url(work: Transaction, params: Params) -> Reply:
    """GetFileUploadURL: an address of the file that answers a FileUploadAnswer, valid for 60 seconds."""
    assignment = find_assignment(work, params["AssignmentId"])
    wanted = params["QuestionIdentifier"]
    upload = work.session.scalar(
        select(Upload).where(Upload.assignment_number == assignment.number, Upload.question == wanted)
    )
    if upload is None:
        form = read_question(assignment.hit.question, work.mode)
        asked = form.questions if isinstance(form, QuestionForm) else ()
        if not any(each.identifier == wanted and isinstance(each.answer, FileAnswer) for each in asked):
            raise invalid(f"This HIT has no question {wanted!r} with a FileUploadAnswer.")
        raise invalid(f"The worker sent no file for {wanted!r}, or the HIT was deleted.")
    work.session.execute(delete(UploadLink).where(UploadLink.until <= work.now))
    link = UploadLink(token=secrets.token_urlsafe(32), upload_number=upload.number, until=work.now + VALID)
    work.session.add(link)
    return {"FileUploadURL": f"{work.site}/files/{link.token}"}


def keep_files(work: Transaction, assignment: Assignment, files: Iterable[SentFile]) -> None:
    """Keep the files that came with an answer."""
    work.session.add_all(
        Upload(
            key=each.key,
            assignment_number=assignment.number,
            question=each.question,
            name=each.name,
            content=each.content,
        )
        for each in files
    )


def find_upload(work: Transaction, token: str) -> Upload | None:
    """The file behind an address, if the address is still valid."""
    link = work.session.scalar(
        select(UploadLink).where(UploadLink.token == token, UploadLink.until > work.now)
    )
    return None if link is None else link.upload
