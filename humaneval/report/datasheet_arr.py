"""The answers to D1–D5 of the ARR checklist, about people who annotate, as far as the store knows them."""

from __future__ import annotations

from collections.abc import Iterator

from humaneval.report.ethics import (
    EthicsText,
    Part,
    consents,
    is_anything_required,
    kept,
    quoted,
    required,
    where,
)
from humaneval.report.people_facts import FEWEST, PeopleFacts, at_least_five
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.pay import HourlyPay, Pay
from humaneval.study.file import StudyFile
from humaneval.text import command, counted

PROGRAMS = "The annotators of this study are programs, so this question is not about it."


def arr_answers(
    name: str, settings: StudyFile, facts: PeopleFacts, pay: Pay | NotEstimable | None
) -> EthicsText:
    """What is known for each of the five questions, and what is open. Nothing is guessed."""
    about = (
        "Answers for the Responsible NLP checklist of ACL Rolling Review, section D. humaneval-toolkit wrote"
        " what"
        f" it knows; lines that begin with “to fill in” are yours. Groups of fewer than {FEWEST} people are"
        " not"
        " counted out."
    )
    parts: tuple[Part, ...] = (
        _instructions(name, settings),
        _recruitment(settings, facts, pay),
        _consent(settings, facts),
        Part(
            "D4",
            "Approval by an ethics review board",
            (),
            (
                "Which board approved the study, or said that it needs no approval? When? Which number?",
                "If there was none: why?",
            ),
        ),
        _traits(settings, facts),
    )
    if facts.who.only_programs:
        parts = tuple(Part(one.number, one.label, (PROGRAMS,)) for one in parts)
    return EthicsText(f"ARR checklist, section D: {name}", about, parts)


def _instructions(name: str, settings: StudyFile) -> Part:
    page = settings.page
    known = [f"The question on every form: “{page.question}”"]
    if page.instructions.strip():
        known += ["The instructions above the passages, in full:", quoted(page.instructions)]
    else:
        known.append("There were no instructions besides the question.")
    known.append(f"`{command('study', 'preview', name)}` shows the whole page for a screenshot.")
    return Part(
        "D1",
        "Full text of instructions, screenshots, disclaimers of risks",
        tuple(known),
        (
            "Attach a screenshot of the page.",
            "Which risks were people told of, for example offensive content? If none: why are there none?",
        ),
    )


def _recruitment(settings: StudyFile, facts: PeopleFacts, pay: Pay | NotEstimable | None) -> Part:
    return Part(
        "D2",
        "Recruitment and pay",
        tuple(_recruited(settings, facts, pay)),
        (
            "Why is this pay adequate where the people live?",
            "How did people learn of the study, if you sent them a link?",
        ),
    )


def _recruited(settings: StudyFile, facts: PeopleFacts, pay: Pay | NotEstimable | None) -> Iterator[str]:
    yield where(facts)
    yield required(settings)
    hit = settings.hit
    unpaid = settings.by_link.hit.reward == 0
    if "link" in facts.by_endpoint and unpaid:
        yield "This software paid nothing to people who came by link, and knows of no pay elsewhere."
    if set(facts.by_endpoint) != {"link"} or not unpaid:
        yield (
            f"The reward was {hit.sign}{hit.reward} for a form that was expected to take"
            f" {hit.expected_minutes:g} minutes: {hit.sign}{hit.hourly} an hour."
        )
        measured = pay.in_page if isinstance(pay, Pay) else None
        if isinstance(measured, HourlyPay) and measured.workers >= FEWEST:
            yield (
                "By the page's own timers, the median over"
                f" {counted(measured.workers, 'person', plural='people')}"
                f" was {hit.sign}{measured.median:.2f} an hour."
            )
        yield (
            f"People with rejected work: {at_least_five(facts.rejected)}. A person decided about each"
            " rejection."
        )


def _consent(settings: StudyFile, facts: PeopleFacts) -> Part:
    known = ["People ticked a box under this text before they could send answers:", *consents(facts.consents)]
    if facts.without_text:
        known.append(
            f"For {counted(facts.without_text, 'form')} only the version of the consent is stored, not its"
            " text."
        )
    if facts.deleted.forms:
        known.append(
            "Some answers were deleted at the request of the people who gave them:"
            f" {counted(facts.deleted.forms, 'form')}."
            if facts.deleted.forms >= FEWEST
            else "A few answers were deleted at the request of the people who gave them."
        )
    return Part(
        "D3",
        "Consent, and how people learnt of the use of their data",
        (*known, *kept(settings)),
        ("Does the text above say how the data will be used and published, as it really will be?",),
    )


def _traits(settings: StudyFile, facts: PeopleFacts) -> Part:
    known = (
        "The form asks for no demographic or geographic trait, so none is known.",
        required(settings) + " A platform checks that; it is not a count." * is_anything_required(settings),
        where(facts),
    )
    return Part(
        "D5",
        "Demographic and geographic traits of the annotators",
        known,
        (
            "What does your platform tell of these people in aggregates? Leave out groups of fewer than"
            f" {FEWEST}.",
            "Which dialects or groups do the annotators stand for, and which are missing?",
        ),
    )
