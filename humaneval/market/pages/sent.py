"""What a page sent to /mturk/externalSubmit: as a form, from a script, or in the address."""

from __future__ import annotations

import json
import re
from typing import NamedTuple
from urllib.parse import parse_qsl

from flask import Request

from humaneval.market.protocol.answer_xml import Field
from humaneval.market.protocol.http import NOT_ACCEPTED
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.web_server import MOST_ESCAPES, MOST_FIELDS, is_too_costly

_ID = "assignmentId"

_OURS = frozenset(("assignmentid", "hitid", "workerid", "turksubmitto"))
"""What a HIT's address has from the marketplace. Sent on in the address of a form, it is no answer."""

_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")


class Sent(NamedTuple):
    """Which work is answered, and the answers in their order."""

    assignment_id: str
    fields: list[Field]


def read_sent(request: Request) -> Sent:
    """The assignment and the fields of a request. Raises NotPossibleError if it names none, or a preview.

    Fields in the address count beside those of the body. A name may have been escaped twice there
    (`amp;choice`). The assignment's id may be spelt in any case.
    """
    address = [Field(re.sub("^(amp;)+", "", name), value) for name, value in request.args.items(multi=True)]
    body = _body(request) if request.method == "POST" else []
    given = [*body, *address]
    ids = [each for each in given if each.name == _ID and each.value.strip()]
    ids = ids or [each for each in given if _plain(each.name) == _plain(_ID) and each.value.strip()]
    if not ids:
        raise NotPossibleError(
            "The form has no assignmentId, so the marketplace cannot tell which task it answers.", 400
        )
    found = ids[0]
    assignment_id = found.value.strip()
    if assignment_id == NOT_ACCEPTED:
        raise NotPossibleError("This was a preview. Accept the task first; then your answer is stored.", 400)
    if body:
        answered = {each.name for each in body}
        address = [each for each in address if each.name not in answered and _plain(each.name) not in _OURS]
    return Sent(assignment_id, [each for each in (*body, *address) if each.name not in (_ID, found.name)])


def _body(request: Request) -> list[Field]:
    if request.mimetype in _FORM_TYPES:
        return [Field(name, value) for name, value in request.form.items(multi=True)]
    # A script that sends a text: the browser calls it plain text, or the script calls it JSON.
    sent = request.get_data()
    try:
        document = json.loads(sent.decode("utf-8", "replace"))
    except RecursionError:
        raise NotPossibleError("The answers are nested too deep.", 400) from None
    except ValueError:
        if is_too_costly(sent):
            raise _too_many() from None
        text = sent.decode("utf-8", "replace")
        return [Field(name, value) for name, value in parse_qsl(text, keep_blank_values=True)]
    if not isinstance(document, dict):
        raise NotPossibleError("The answers must be the fields of a form, or a JSON object.", 400)
    values = [
        (name, each)
        for name, value in document.items()
        for each in (value if isinstance(value, list) else [value])
    ]
    if len(values) > MOST_FIELDS:
        raise _too_many()
    return [
        Field(name, each if isinstance(each, str) else json.dumps(each, ensure_ascii=False))
        for name, each in values
    ]


def _too_many() -> NotPossibleError:
    return NotPossibleError(
        f"An answer can have at most {MOST_FIELDS} fields and {MOST_ESCAPES} escaped bytes.", 413
    )


def _plain(name: str) -> str:
    return re.sub("[_-]", "", re.sub("^(amp;)+", "", name.casefold()))
