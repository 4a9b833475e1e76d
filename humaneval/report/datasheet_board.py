"""A description of a study for an ethics review board: it can be written before anybody takes part."""

from __future__ import annotations

from collections.abc import Iterator

from humaneval.report.ethics import EthicsText, Part, consents, kept, quoted, required, where
from humaneval.report.people_facts import PeopleFacts
from humaneval.study.file import StudyFile
from humaneval.text import counted


def board_text(name: str, settings: StudyFile, facts: PeopleFacts, rows: int) -> EthicsText:
    """What is known of `name`, a study of so many `rows`, and what the researcher has to add."""
    about = (
        "humaneval-toolkit wrote this from the study file and its database. Lines that begin with “to fill"
        " in” are"
        " yours: nothing about them is known here."
    )
    parts = (
        _purpose(settings, rows),
        _participants(settings, facts),
        _payment(settings),
        _consent(facts),
        _data(settings),
        _risks(),
        _contact(settings.consent.contact),
    )
    return EthicsText(f"Description for the review board: {name}", about, parts)


def _purpose(settings: StudyFile, rows: int) -> Part:
    return Part(
        "1",
        "Purpose and procedure",
        tuple(_procedure(settings, rows)),
        ("What is the research question, and who benefits?", "Who is responsible, and who pays?"),
    )


def _participants(settings: StudyFile, facts: PeopleFacts) -> Part:
    return Part(
        "2",
        "Participants and recruitment",
        (required(settings), where(facts)),
        (
            "How are people found and addressed? Are they adults, and how is that made sure?",
            "Do any depend on you, for example students or staff?",
        ),
    )


def _payment(settings: StudyFile) -> Part:
    return Part(
        "3",
        "Pay",
        tuple(_pay(settings)),
        ("Is it adequate where the people live?", "Is anything paid elsewhere, for example by a panel?"),
    )


def _consent(facts: PeopleFacts) -> Part:
    return Part(
        "4",
        "Consent",
        (
            (
                "People tick a box under this text before they can send answers. The text is stored with its"
                " version, hash and the moment."
            ),
            (
                "People who do not agree close the page: nothing that they marked is stored. That they opened"
                " it is stored until a purge."
            ),
            *consents(facts.consents),
        ),
        ("Does it name the purpose, the legal basis, the board's number and a contact for complaints?",),
    )


def _data(settings: StudyFile) -> Part:
    return Part(
        "5",
        "Data",
        tuple(kept(settings)),
        (
            *(() if settings.consent.retention_days else ("How long are ids and comments kept?",)),
            "Where is the database, who can open it, and where are its backups?",
            "Which data will be published?",
        ),
    )


def _risks() -> Part:
    return Part(
        "6",
        "Risks",
        ("People read short stories. Each has a sentence that a machine may have written.",),
        ("Can the stories or the machines' sentences hurt somebody? Who has looked at them?",),
    )


def _contact(contact: str) -> Part:
    return Part(
        "7",
        "Contact",
        (f"The page names this contact: {contact}",) if contact else (),
        () if contact else ("The page names no contact: set `contact` in [consent].",),
    )


def _procedure(settings: StudyFile, rows: int) -> Iterator[str]:
    design, hit = settings.design, settings.hit
    yield (
        f"“{hit.title}”: {hit.description} Each form shows"
        f" {counted(settings.row_size, 'story', plural='stories')}"
        f" and takes about {hit.expected_minutes:g} minutes. The study has {counted(rows, 'form')}; one"
        " person may"
        f" fill in {counted(design.rows_per_annotator, 'form')}."
    )
    yield f"The question: “{settings.page.question}”"
    if settings.page.instructions.strip():
        yield quoted(settings.page.instructions)


def _pay(settings: StudyFile) -> Iterator[str]:
    hit = settings.hit
    yield (
        f"{hit.sign}{hit.reward} for a form: {hit.sign}{hit.hourly} an hour at the expected time."
        if hit.reward
        else "Nothing is paid."
    )
    if settings.link.pay == "none":
        yield "People who come by link are not paid by this software."
    yield (
        "Answers that the study's rule leaves out of the scores are paid all the same, unless a person"
        " rejects"
        " them with a reason that the annotator reads."
    )
