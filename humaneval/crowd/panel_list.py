"""Compares a panel's own list of people with our answers: which people are missing here, and which there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from sqlalchemy import bindparam, select

from humaneval.crowd.link import Link
from humaneval.crowd.panel_list_file import Listed, read_list
from humaneval.crowd.panels import (
    Ended,
    HandBack,
    Person,
    ending_of,
    handed_back,
    known_as,
    panels_id,
    require_secret,
    session_in,
)
from humaneval.crowd.pseudonyms import recognised
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import UsageError
from humaneval.store.engine import ASKED_FOR, batches, connected
from humaneval.store.tables import AnswerRow, AssignmentRow, HitRow, WorkerIdentityRow, WorkerRow
from humaneval.store.types import table
from humaneval.study.file import StudyFile
from humaneval.study.panels import SENT_AWAY, is_address
from humaneval.text import command

DIFFERING = ("not_here", "not_done", "other_code", "twice")
"""How a line of the list can differ from what we have."""


class _Form(NamedTuple):
    """A form that a person got by a panel's link, as we have it."""

    pseudonym: str
    worker: str
    """The panel's id; empty if it was deleted here."""
    session: str
    is_sent: bool
    is_rejected: bool
    ended: Ended
    codes: frozenset[str]
    """What the person took back; empty if codes are not compared."""


class Differs(NamedTuple):
    """A line of the list that differs from what we have, the person's pseudonym if we know them, and why."""

    line: int
    worker: str
    why: str


@dataclass(frozen=True, slots=True)
class ListCompared:
    """How a panel's list and our answers differ. Lines are those of the file; people have pseudonyms."""

    lines: int
    done_there: int
    sent_here: int
    agree: int
    sent_away: int
    """Lines with the code of people who got no form: nothing is kept of them here."""
    not_here: tuple[Differs, ...]
    """People who are done there and have no answers here. `why` is "begun" if they began a form, and
    "forgotten" if all about them was deleted here because they asked for it."""
    not_there: tuple[str, ...]
    """People with answers here whom the list does not have."""
    not_done: tuple[Differs, ...]
    """People with answers here who are not done there. `why` is the panel's word."""
    other_code: tuple[Differs, ...]
    """People with answers here and a code there that is not theirs. `why` is what became of them here."""
    twice: tuple[Differs, ...]
    """Lines of a person beyond the forms that they have sent."""
    ids_deleted: int
    """Forms that were sent here by people whose ids have been deleted, and whom the list does not have:
    nobody can say who they are."""
    to_pay: int
    """Forms that are done here, and that the panel will not pay by itself."""
    owed: Decimal | None
    """The rewards of these forms; None if the study file does not say that they are paid elsewhere."""
    notes: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether nothing differs."""
        return not self.not_there and not any(getattr(self, name) for name in DIFFERING)

    def to_json(self) -> dict[str, Any]:
        """Plain values; money as text."""
        lines = {name: [each._asdict() for each in getattr(self, name)] for name in DIFFERING}
        return {**asdict(self), **lines, "owed": None if self.owed is None else str(self.owed)}


def compare_list(at: StudyAtPlatform, path: Path) -> ListCompared:
    """Compare the panel's list in a CSV file with the people of the study's panel links.

    Raises UsageError if the study has no such link, and InputError if the file is no list. Raises
    SettingsError if codes are compared and the panel's secret is missing.
    """
    found = read_list(path, at.settings)
    names = _recognised(at, [line.worker for line in found.lines])
    ours = _forms(at, {name: id for id, name in names.items()}, with_codes=found.has_codes)
    key = _key_of([each.worker for each in ours], [line.worker for line in found.lines])
    known = {key(each.worker): each.pseudonym for each in ours if each.worker}
    sent = [each for each in ours if each.is_sent and each.worker]
    away = _codes_of_people_sent_away(at.settings)
    lines = [line for line in found.lines if not line.code or line.code not in away]
    pairs = _paired(lines, sent, key)
    answered = {key(each.worker) for each in sent}
    differing = defaultdict[str, list[Differs]](list)
    unpaid = [form for form in sent if not any(form is pair for pair in pairs.values())]
    not_there = tuple(form.pseudonym for form in unpaid)
    for line in lines:
        form, worker = pairs.get(line.line), key(line.worker)
        without = "begun" if worker in known else "" if line.worker in names else "forgotten"
        how = _difference(form, line, without, worker in answered)
        if how is not None:
            differing[how.what].append(Differs(line.line, known.get(worker, ""), how.why))
            unpaid += [form] if form is not None else []
    to_pay = sum(form.ended is Ended.COMPLETE and not form.is_rejected for form in unpaid)
    return ListCompared(
        lines=len(found.lines),
        done_there=sum(line.is_done for line in lines),
        sent_here=len(sent),
        agree=len(sent) - len(unpaid),
        sent_away=len(found.lines) - len(lines),
        not_there=not_there,
        **{name: tuple(differing[name]) for name in DIFFERING},
        ids_deleted=sum(each.is_sent and not each.worker for each in ours),
        to_pay=to_pay,
        owed=to_pay * at.settings.hit.reward if at.settings.link.pay == "elsewhere" else None,
        notes=found.notes,
    )


def _recognised(at: StudyAtPlatform, listed: Sequence[str]) -> dict[str, str]:
    """The pseudonyms of the people in the list, without those that were forgotten."""
    found: dict[str, str] = {}
    with connected(at.engine) as connection:
        for some in batches({known_as(at.settings, at.id, id): id for id in listed}.items(), ASKED_FOR):
            ids = dict(some)
            names = recognised(connection, at.endpoint, list(ids))
            found |= {ids[known]: name for known, name in names.items()}
    return found


def _forms(at: StudyAtPlatform, listed: Mapping[str, str], *, with_codes: bool) -> list[_Form]:
    """Every form that somebody began by a panel's link of the study. `listed` has the panel's ids by
    pseudonym, for people whose ids were deleted here."""
    secret = at.platform.panel_secret if isinstance(at.platform, Link) else ""
    if with_codes:
        require_secret(at.settings, secret)
    names = {"study": at.id, "endpoint": at.endpoint}
    found = []
    with connected(at.engine) as connection:
        if connection.execute(_LINKS, names).first() is None:
            publish = command("publish", at.name, "--to", "link", "--panel")
            raise UsageError(f"study {at.name!r} has no link for a panel", f"Make one with: {publish}")
        for row in connection.execute(_FORMS, names).all():
            person = Person(panels_id(row.worker or ""), session_in(row.external_id), row.parameters or {})
            ended, codes = Ended.COMPLETE, frozenset[str]()
            if row.fields is not None:
                ended = ending_of(connection, at.settings, row.row_id, row.fields)
                if with_codes and person.worker:
                    codes = _codes(handed_back(at.settings, ended, person, secret))
            found.append(
                _Form(
                    row.pseudonym,
                    person.worker or listed.get(row.pseudonym, ""),
                    person.session,
                    row.fields is not None,
                    row.state == "rejected",
                    ended,
                    codes,
                )
            )
    return found


def _key_of(*ids: Sequence[str]) -> Callable[[str], str]:
    """How ids are compared: without leading zeros, which spreadsheets drop, unless two would then be one."""

    def bare(id: str) -> str:
        return id.lstrip("0") if id.isdecimal() else id

    clear = all(len(set(map(bare, each))) == len(set(each)) for each in ids)
    return bare if clear else str


def _paired(lines: Sequence[Listed], sent: Sequence[_Form], key: Callable[[str], str]) -> dict[int, _Form]:
    """The form that each line stands for: that of its session, else the next one of its person. Lines that
    are done come first."""
    left = defaultdict[str, list[_Form]](list)
    for form in sent:
        left[key(form.worker)].append(form)
    pairs: dict[int, _Form] = {}
    first = sorted(lines, key=lambda line: not line.is_done)
    for by_session in (True, False):
        for line in first:
            forms = left[key(line.worker)]
            fits = [form for form in forms if not by_session or form.session == (line.session or None)]
            if fits and line.line not in pairs:
                pairs[line.line] = fits[0]
                forms.remove(fits[0])
    return pairs


class _How(NamedTuple):
    what: str
    why: str


def _difference(form: _Form | None, line: Listed, without: str, answered: bool) -> _How | None:
    """How the panel's line about a form differs from ours; None if it does not."""
    if form is None:
        if not line.is_done:
            return None
        return _How("twice", "") if answered else _How("not_here", without)
    if not line.is_done:
        return _How("not_done", line.outcome)
    if line.code is None or not form.codes or line.code in form.codes:
        return None
    return _How("other_code", form.ended.value)


def _codes(back: HandBack) -> frozenset[str]:
    """The code that a person takes back. An address can hold it, in its path or in its query."""
    if back.code:
        return frozenset({back.code})
    parts = urlsplit(back.address)
    return frozenset({*parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))} - {""})


def _codes_of_people_sent_away(study: StudyFile) -> frozenset[str]:
    found = set[str]()
    for name in SENT_AWAY:
        end = str(getattr(study.link, name))
        found |= _codes(HandBack(Ended(name), *(("", end) if is_address(end) else (end, ""))))
    done = study.link.completion_url
    return frozenset(found - _codes(HandBack(Ended.COMPLETE, "", done)) - {study.link.completion_code})


_links, _work = table(HitRow).c, table(AssignmentRow).c
_people, _names, _answers = table(WorkerIdentityRow).c, table(WorkerRow).c, table(AnswerRow).c
_LINKS = select(_links.id).where(
    _links.study_id == bindparam("study"),
    _links.endpoint == bindparam("endpoint"),
    _links.audience == "panel",
)
_FORMS = (
    select(
        _work.external_id,
        _work.row_id,
        _work.state,
        _work.parameters,
        _names.pseudonym,
        _people.external_id.label("worker"),
        _answers.fields,
    )
    .join_from(table(AssignmentRow), table(WorkerRow), _names.id == _work.worker_id)
    .outerjoin(table(WorkerIdentityRow), _people.worker_id == _work.worker_id)
    .outerjoin(table(AnswerRow), (_answers.assignment_id == _work.id) & (_answers.source == "server"))
    .where(_work.hit_id.in_(_LINKS), _work.state != "superseded")
    .order_by(_work.id)
)
