"""How a panel learns what became of a person: by a code that they are shown, or an address that is called."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from sqlalchemy import Connection, bindparam, select

from humaneval.crowd.controls import missed_control
from humaneval.errors import SettingsError
from humaneval.store.tables import AssignmentRow, WorkerIdentityRow
from humaneval.store.types import table
from humaneval.study.file import StudyFile
from humaneval.study.panels import (
    CODE,
    DIGEST,
    PLACEHOLDER,
    SECRET,
    SENT_AWAY,
    is_address,
    needs_secret,
)
from humaneval.study.words import filled_in
from humaneval.text import command

_DIGITS = 16
"""The length of what follows the session in an assignment's id by link."""


class Ended(StrEnum):
    """What became of a person. The values other than COMPLETE are settings of [link]."""

    COMPLETE = "complete"
    FAILED_CONTROL = "failed_control"
    SCREENED_OUT = "screened_out"
    QUOTA_FULL = "quota_full"
    NO_CONSENT = "no_consent"


class Person(NamedTuple):
    """What a panel has sent about a person."""

    worker: str
    session: str
    parameters: Mapping[str, str]


class HandBack(NamedTuple):
    """What a person takes back to the panel: a code to enter, an address to go to, both or nothing."""

    ended: Ended
    code: str = ""
    address: str = ""


def assignment_id(key: str, *ids: str) -> str:
    """An id that exports may show: it reveals neither link nor person, and no other study has it."""
    return hashlib.sha256("\n".join((key, *ids)).encode()).hexdigest()[:_DIGITS]


def session_in(external_id: str) -> str:
    """The panel's session in an assignment's id; "" if it has none.

    >>> session_in("S-1-0123456789abcdef"), session_in("0123456789abcdef")
    ('S-1', '')
    """
    return external_id[: -_DIGITS - 1]


def without_session(external_id: str) -> str:
    """An assignment's id without the panel's session: what no other assignment by link has.

    >>> without_session("S-1-0123456789abcdef"), without_session("0123456789abcdef")
    ('0123456789abcdef', '0123456789abcdef')
    """
    return external_id[-_DIGITS:]


_OF_A_STUDY = "study"


def known_as(study: StudyFile, study_id: int, id: str) -> str:
    """The id under which a person of a panel is stored. Where an id may be another person's in each study,
    it has the study's number."""
    return of_a_study(study_id, id) if study.panel.ids_per_study else id


def of_a_study(study_id: int, id: str) -> str:
    """How a person is stored whose id is one study's alone."""
    return f"{_OF_A_STUDY} {study_id} {id}"


def panels_id(known: str) -> str:
    """The panel's own id of a person who is stored as `known`: ids of panels have no blanks.

    >>> panels_id("study 7 12345"), panels_id("12345"), panels_id("visitor 0a")
    ('12345', '12345', 'visitor 0a')
    """
    return known.rpartition(" ")[2] if known.startswith(f"{_OF_A_STUDY} ") else known


def in_any_study(id: str) -> str:
    """The pattern for LIKE of what `known_as` makes of an id of one study, whichever it is. `/` escapes."""
    literal = re.sub(r"[%_/]", r"/\g<0>", id)
    return f"{_OF_A_STUDY} % {literal}"


def require_secret(study: StudyFile, secret: str) -> None:
    """Raise SettingsError if the study's codes or postbacks need a secret that is not set."""
    if needs_secret(study) and not secret:
        raise SettingsError(
            "the panel's secret is not set, and link or panel in the study file name {secret}",
            f"Set HUMANEVAL_PANEL_SECRET for this command and for `{command('serve')}`.",
        )


def handed_back(study: StudyFile, ended: Ended, person: Person, secret: str = "") -> HandBack:
    """What this person takes back. A person who is sent away never gets the code or address of people who are
    done."""
    link = study.link
    own = "" if ended is Ended.COMPLETE else str(getattr(link, ended.value))
    if not own and ended.value in SENT_AWAY:
        return HandBack(ended)
    if is_address(own):
        return HandBack(ended, "", _address(study, own, person, ""))
    code = own or _completion_code(study, person, secret)
    template = link.completion_url
    if own and CODE not in PLACEHOLDER.findall(template):
        template = ""  # it tells the panel that the person is done
    return HandBack(ended, code, _address(study, template, person, code))


def postback_address(study: StudyFile, person: Person, secret: str) -> str:
    """The address that our server calls for a person who is done."""
    return _address(study, study.link.postback_url, person, "", secret)


def _completion_code(study: StudyFile, person: Person, secret: str) -> str:
    code = study.link.completion_code
    if DIGEST not in PLACEHOLDER.findall(code):
        return code
    require_secret(study, secret)
    hashed = filled_in(study.panel.hashed, {**_values(person), SECRET: secret})
    return filled_in(code, {DIGEST: hashlib.sha256(hashed.encode()).hexdigest()})


def _values(person: Person) -> dict[str, str]:
    return {**person.parameters, "worker": person.worker, "session": person.session}


def _address(study: StudyFile, template: str, person: Person, code: str, secret: str = "") -> str:
    if not template:
        return ""
    values = {**_values(person), CODE: code, **({SECRET: secret} if secret else {})}
    address = PLACEHOLDER.sub(
        lambda found: quote(values[found[1]], safe="") if found[1] in values else found[0], template
    )
    name = study.panel.return_parameter
    return with_parameter(address, name, person.worker) if name else address


def with_parameter(address: str, name: str, value: str) -> str:
    """`address` with `name=value` in its query, in place of what it has under that name.

    >>> with_parameter("https://panel.example/done?a=1&id=XXXX&b=%20#end", "id", "5&6")
    'https://panel.example/done?a=1&id=5%266&b=%20#end'
    >>> with_parameter("https://panel.example", "id", "5")
    'https://panel.example?id=5'
    """
    parts = urlsplit(address)
    given, own = [each for each in parts.query.split("&") if each], f"{name}={quote(value, safe='')}"
    there = [at for at, each in enumerate(given) if each.partition("=")[0] == name]
    query = [each for at, each in enumerate(given) if at not in there[1:]]
    if there:
        query[there[0]] = own
    else:
        query.append(own)
    return parts._replace(query="&".join(query)).geturl()


def person_of(connection: Connection, assignment: int) -> Person:
    """What the panel has sent about the person of a claim; empty if nobody knows it any more."""
    row = connection.execute(_PERSON, {"id": assignment}).one_or_none()
    if row is None:
        return Person("", "", {})
    return Person(panels_id(row.worker), session_in(row.external_id), row.parameters or {})


def ending_of(
    connection: Connection, study: StudyFile, row_id: int | None, fields: Mapping[str, str]
) -> Ended:
    """What became of a person whose answers are stored: by our own data, never by what a panel says."""
    if not study.link.failed_control:
        return Ended.COMPLETE
    missed = missed_control(connection, study, row_id, fields)
    return Ended.FAILED_CONTROL if missed else Ended.COMPLETE


_work, _people = table(AssignmentRow).c, table(WorkerIdentityRow).c
_PERSON = (
    select(_work.external_id, _work.parameters, _people.external_id.label("worker"))
    .join_from(table(AssignmentRow), table(WorkerIdentityRow), _people.worker_id == _work.worker_id)
    .where(_work.id == bindparam("id"))
)
