"""Texts about a study and its people: what is known under each heading, and what is the researcher's part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from humaneval.report.methods import listed
from humaneval.report.people_facts import NOT_TOLD, AgreedTo, PeopleFacts, counted_out, few
from humaneval.study.file import StudyFile
from humaneval.study.words import Channel
from humaneval.text import counted

CAME_BY: Mapping[Channel, str] = {
    "task": "people of a marketplace",
    "hit": "people of Mechanical Turk",
    "open": "people who come by an open link",
    "personal": "people with a personal link",
    "panel": "people of a panel",
}
OPEN = "to fill in"


@dataclass(frozen=True, slots=True)
class Part:
    """A heading, what the store knows, and the questions that are left to the researcher."""

    number: str
    label: str
    known: tuple[str, ...]
    open: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EthicsText:
    """A text in parts."""

    title: str
    about: str
    parts: tuple[Part, ...]

    @property
    def open(self) -> tuple[str, ...]:
        """Everything that is left to the researcher, with the number of its part."""
        return tuple(f"{part.number} {question}" for part in self.parts for question in part.open)

    def markdown(self) -> str:
        """As Markdown. What is open stands in its part, so that nobody overlooks it."""
        lines = [f"# {self.title}", "", self.about, ""]
        for part in self.parts:
            lines += [f"## {part.number} {part.label}", ""]
            for text in part.known:
                lines += [text, ""]
            lines += [f"- **{OPEN}:** {question}" for question in part.open]
            lines += [""] * bool(part.open)
        return "\n".join(lines).rstrip() + "\n"

    def json_text(self) -> str:
        """As JSON."""
        parts = [
            {"number": one.number, "label": one.label, "known": list(one.known), "open": list(one.open)}
            for one in self.parts
        ]
        return json.dumps({"title": self.title, "parts": parts}, ensure_ascii=False, indent=2) + "\n"


def quoted(text: str) -> str:
    """A text as a quotation in Markdown."""
    return "\n".join(f"> {line}" if line.strip() else ">" for line in text.strip().splitlines())


def consents(agreed: Sequence[AgreedTo]) -> Iterator[str]:
    """The texts of consent, each with its version and hash, and how many forms came with it."""
    for one in agreed:
        forms = "as it is shown now" if one.forms is None else f"agreed to with {few(one.forms, 'form')}"
        yield (
            f"For {CAME_BY[one.consent.channel]}: version {one.consent.version}, language"
            f" {one.consent.language}, SHA-256 {one.consent.hash}, {forms}."
        )
        yield quoted(one.consent.text)


def where(facts: PeopleFacts) -> str:
    """Through which platforms people came, without small groups."""
    if not facts.by_endpoint:
        return "Nobody has taken part yet."
    told = counted_out(facts.by_endpoint)
    places = [
        f"{facts.places.get(name, name)} ({people if people == NOT_TOLD else f'{people} people'})"
        for name, people in told.items()
    ]
    return f"People came through {listed(places)}."


def required(settings: StudyFile) -> str:
    """What was required of people, as far as the platform checks it."""
    wanted = list(_requirements(settings))
    return f"Required: {'; '.join(wanted)}." if wanted else "Nothing is required of people."


def is_anything_required(settings: StudyFile) -> bool:
    """Whether the study file requires anything of people."""
    return any(_requirements(settings))


def _requirements(settings: StudyFile) -> Iterator[str]:
    asked, there = settings.participants, settings.prolific
    if asked.countries:
        yield f"country: {', '.join(asked.countries)}"
    if asked.min_approved_percent:
        yield f"{asked.min_approved_percent} % of earlier work approved"
    if asked.min_approved_hits:
        yield f"{counted(asked.min_approved_hits, 'task')} approved before"
    if asked.masters:
        yield "Masters of Mechanical Turk"
    for one in asked.qualifications:
        yield f"qualification {one.id}{' lacking' if one.lacking else ''}"
    if asked.exclude_studies:
        yield f"no participation in {', '.join(asked.exclude_studies)}"
    if there.devices:
        yield f"at Prolific a device of these: {', '.join(there.devices)}"
    for each in there.filters:
        values = {name: value for name, value in each.items() if name != "filter_id"}
        yield f"Prolific's filter {each['filter_id']}, {json.dumps(values, ensure_ascii=False)}"


def kept(settings: StudyFile) -> Iterator[str]:
    """What is kept about people, and for how long."""
    yield (
        "Kept are the choices, how long each took, times of opening and sending, the consent with its moment,"
        " and"
        " a comment if somebody wrote one. The platform's id of a person is kept in one table, and everything"
        " else"
        " under a keyed pseudonym. No internet address, browser, name or demographic trait is stored."
    )
    yield (
        "Exports have other pseudonyms in each study. On request all that is kept about one person is"
        " exported, or"
        " deleted but for payments without a person and a keyed hash that keeps them from taking part again."
    )
    days = settings.consent.retention_days
    if days:
        yield f"Ids and comments may be deleted {counted(days, 'day')} after the work, and people read that."
