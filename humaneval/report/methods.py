"""The methods paragraph of a paper, ready to paste: what was done, by whom, under which rule, and how it was
counted.

Every sentence is true of this study: a Control is mentioned only if there was one, and programs are not
called people.
"""

from __future__ import annotations

from collections.abc import Sequence

from humaneval.domain import Role
from humaneval.fees import sign_of
from humaneval.report import phrases, verdicts
from humaneval.report.contents import DesignFacts, ReportData
from humaneval.report.latex_text import latex_escaped
from humaneval.report.phrases import confidence, deleted, lost
from humaneval.scoring.questions.detect import spelled
from humaneval.scoring.scores import ScoreTable
from humaneval.text import counted

HASH = 12
"""How many digits of a hash are printed: enough to recognise it."""


def methods_paragraph(data: ReportData, *, latex: bool = False) -> str:
    """What was done, as one paragraph of plain text, or of LaTeX.

    The paragraph leaves out what the report does not know, as in the report of a bare table of responses.
    """
    sentences = [
        *_kind(data),
        *(_materials(data, data.design) if data.design else _passages(data.table)),
        *_annotators(data),
        *_exclusions(data),
        *_score(data.table),
        *_intervals(data.table),
        *_comparisons(data.table),
        *_software(data),
    ]
    text = " ".join(sentences)
    return latex_escaped(text) if latex else text


def short(digest: str) -> str:
    """The first digits of a hash."""
    return digest[:HASH]


def several(number: int, one: str, many: str) -> str:
    """`1 story`, `1,200 stories`."""
    return f"{number:,} {one if number == 1 else many}"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def of_role(table: ScoreTable, role: Role) -> tuple[str, ...]:
    """The generators of one role, in the table's order."""
    return tuple(row.generator for row in table.scores if row.role is role)


def _kind(data: ReportData) -> list[str]:
    sentences = []
    if data.test or data.table.rule.tests == "only":
        sentences.append(
            "These are the answers of a pilot or test; they are not pooled with those of a study."
        )
    if data.simulated:
        sentences.append(
            "All annotators are simulated: they are programs, and the results say nothing about people."
            if data.answerers.only_programs
            else f"{data.answerers}. The simulated ones are programs, and results with them say nothing about"
            " people."
        )
    return sentences


def _materials(data: ReportData, design: DesignFacts) -> list[str]:
    table = data.table
    systems, human = of_role(table, Role.SYSTEM), of_role(table, Role.HUMAN)
    whose = [several(len(systems), "system", "systems") + f" ({', '.join(systems)})"] if systems else []
    if of_role(table, Role.CONTROL):
        whose.append("a Control (a sentence that no attentive reader should overlook)")
    if human:
        whose.append("Human (the sentence that a person wrote there)")
    asked = table.asked.question
    what = "what a generator wrote as their rest" if asked.rest else "a sentence by a generator"
    positions = design.positions or asked.positions(table.asked.sentences)
    where = (
        "one of their sentences"
        if len(positions) == len(asked.positions(table.asked.sentences))
        else f"sentence {' or '.join(str(place) for place in positions)}"
    )
    stories = f" from {several(design.stories, 'story', 'stories')}" if design.stories else ""
    sentences = [
        f"Passages of {spelled(table.asked.sentences)} sentences were made{stories} by replacing {where} with"
        f" {what}. The generators were {listed(whose)}."
    ]
    if design.passages_per_row:
        all_shown = design.passages_per_row >= len(table.scores)
        by_whom = "one by each generator" if all_shown else "each by a different generator"
        form = (
            f"A form showed {counted(design.passages_per_row, 'passage')}, {by_whom} and no two from the same"
            " story"
        )
        made = f"; {counted(design.rows, 'form')} were drawn" if design.rows and design.rows > 1 else ""
        if design.rows == 1:
            made = "; 1 form was drawn"
        seed = f" (seed {design.seed})" if design.seed is not None else ""
        by = "ordered by a" if design.order.endswith("square") else "in"
        order = f", {by} {design.order}" if design.order else ""
        sentences.append(
            f"{form}{order}{made} at random{seed}, with the generators balanced over positions and over"
            " places"
            " in the form."
        )
    if design.question:
        sentences.append(f"Annotators were asked “{design.question}” and {table.words.answered}")
    return sentences


def _passages(table: ScoreTable) -> list[str]:
    names = [row.generator for row in table.scores]
    return [f"{table.words.task} The generators were {listed(names)}."]


def _annotators(data: ReportData) -> list[str]:
    table, design, money = data.table, data.design, data.money
    who = "simulated annotator" if data.answerers.only_programs else "annotator"
    forms = ""
    if design and design.rows_per_annotator:
        many = design.rows_per_annotator
        each = " each" if table.annotators.collected > 1 else ""
        forms = f" with {'one form' if many == 1 else f'up to {many} forms'}{each}"
    places = data.repeat.through
    where = f", through {listed(places)}" if places else ""
    sentences = [f"Answers were collected from {counted(table.annotators.collected, who)}{forms}{where}."]
    free = data.repeat.endpoint == "link" and not (money and money.rewards)
    if data.platform_lost:
        sentences.append(lost(data.platform_lost))
    if data.deleted.forms:
        sentences.append(deleted(*data.deleted))
    if money and money.reward is not None and money.reward > 0 and not (free or data.answerers.only_programs):
        paid = f"The reward was {sign_of(money.currency)}{money.reward} per form"
        if money.otherwise:
            paid += f", and {money.otherwise} where the platform paid otherwise than planned"
        if money.median_seconds is not None and money.median_hourly is not None:
            paid += (
                f". A form took {money.median_seconds / 60:.1f} minutes at the median"
                f"{f' ({money.time_source})' if money.time_source else ''},"
                f" which comes to {sign_of(money.currency)}{money.median_hourly} per hour"
            )
        sentences.append(paid + ".")
    return sentences


def _exclusions(data: ReportData) -> list[str]:
    table = data.table
    fixed = (
        "The exclusion rule was fixed before the first answer."
        if data.repeat.study_hash and table.rule.tests != "only"
        else ""
    )
    sentences = [*filter(None, [fixed]), table.rule.describe(), phrases.excluded(table)]
    return [*sentences, *filter(None, [phrases.control(table)])]


def _score(table: ScoreTable) -> list[str]:
    words = [one.words.score for one in table.all_scales]
    human = f" {table.words.human}" if of_role(table, Role.HUMAN) and table.words.human else ""
    sizes = sorted({row.n for row in table.scores})
    n = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    plural = "response" if sizes[-1] == 1 else "responses"
    many = f"({n} {plural} to each generator)"
    return [
        f"{' '.join(words).removesuffix('.')} {many}.{human}",
        *filter(None, [phrases.chance(table)]),
    ]


def _intervals(table: ScoreTable) -> list[str]:
    return [
        f"Intervals are at the {confidence(table.level)}\N{NO-BREAK SPACE}% level."
        f" {phrases.method(table.scores)}"
    ]


def _comparisons(table: ScoreTable) -> list[str]:
    if not table.comparisons:
        return ["Generators were not compared with each other."]
    among = [one for one in table.comparisons if one.family == "systems"]
    below = [one for one in table.comparisons if one.family == "below human"]
    families = []
    if among:
        were = "was" if len(among) == 1 else "were"
        families.append(f"{several(len(among), 'pair', 'pairs')} of systems {were} compared, two-sided.")
    if below:
        families.append(
            f"{'As a family of its own, it' if among else 'It'} was tested, one-sided, whether"
            f" {several(len(below), 'system scores', 'systems score')} below {below[0].b}."
        )
    alpha = f"{1 - table.level:.3f}".rstrip("0").removeprefix("0")
    return [
        *families,
        verdicts.method(table.comparisons, table.level, table.words.compared),
        "A generator is called higher if the"
        f" {'' if among and among[0].adjust == 'none' else 'adjusted '}p is {alpha} or less and the interval"
        " of the difference excludes 0"
        + (f" (against {below[0].b}: its one-sided bound)." if below else "."),
    ]


def _software(data: ReportData) -> list[str]:
    repeat, table = data.repeat, data.table
    versions = [
        f"{name} {repeat.software[name]}"
        for name in ("python", "numpy", "scipy", "pandas")
        if name in repeat.software
    ]
    ours = repeat.software.get("humaneval-toolkit")
    sentences = []
    if ours:
        sentences.append(f"Scores were computed with humaneval-toolkit {ours} ({', '.join(versions)}).")
    hashes = [
        f"{what} {short(digest)}"
        for what, digest in (
            ("study file", repeat.study_hash),
            ("design", data.design.hash if data.design else ""),
            ("exclusion rule", table.rule.hash),
            ("responses", repeat.responses_hash),
        )
        if digest
    ]
    return [*sentences, f"The SHA-256 hashes begin: {', '.join(hashes)}."]
