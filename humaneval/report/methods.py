"""The methods paragraph of a paper, ready to paste: what was done, by whom, under which rule, and how it was
counted.

Every sentence says what this study was: nothing of a Control that it did not have, and programs are not
called people.
"""

from __future__ import annotations

from collections.abc import Sequence

from humaneval.domain import SENTENCES, Role
from humaneval.report import phrases, verdicts
from humaneval.report.contents import DesignFacts, ReportData
from humaneval.report.latex_text import latex_escaped
from humaneval.report.phrases import percent
from humaneval.scoring.scores import ScoreTable
from humaneval.text import counted

PLATFORMS = {
    "production": "Amazon Mechanical Turk",
    "sandbox": "the sandbox of Amazon Mechanical Turk",
    "local": "a self-hosted marketplace",
    "link": "personal or open links",
}
HASH = 12
"""So many digits of a hash are enough to recognise it by in print."""


def methods_paragraph(data: ReportData, *, margin: float = 0.0, latex: bool = False) -> str:
    """What was done, as one paragraph of plain text, or of LaTeX.

    `margin` is the declared margin of equivalence, 0 where there was none. A report of a bare table of
    responses says less: what it does not know it leaves out.
    """
    sentences = [
        *_kind(data),
        *(_materials(data, data.design) if data.design else _passages(data.table)),
        *_annotators(data),
        *_exclusions(data),
        *_score(data.table),
        *_intervals(data.table),
        *_comparisons(data.table, margin),
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
        )
    return sentences


def _materials(data: ReportData, design: DesignFacts) -> list[str]:
    table = data.table
    systems, human = of_role(table, Role.SYSTEM), of_role(table, Role.HUMAN)
    whose = [several(len(systems), "system", "systems") + f" ({', '.join(systems)})"] if systems else []
    if of_role(table, Role.CONTROL):
        whose.append("a Control, whose sentence nobody who reads should overlook")
    if human:
        whose.append("Human, the sentence that a person wrote there")
    positions = design.positions or (1, 2, 3, 4, 5)
    where = (
        "one of their sentences"
        if len(positions) == SENTENCES
        else f"sentence {' or '.join(str(place) for place in positions)}"
    )
    stories = f" from {several(design.stories, 'story', 'stories')}" if design.stories else ""
    sentences = [
        f"Passages of five sentences were made{stories} by taking out {where} and putting a generator’s in"
        f" its place; the generators were {listed(whose)}."
    ]
    if design.passages_per_row:
        form = (
            f"A form showed {counted(design.passages_per_row, 'passage')}, one by each generator and no two"
            " from one story"
        )
        made = f"; {counted(design.rows, 'form')} were made" if design.rows and design.rows > 1 else ""
        if design.rows == 1:
            made = "; 1 form was made"
        seed = f" (seed {design.seed})" if design.seed is not None else ""
        by = "orders by a " if design.order.endswith("square") else ""
        order = f", in {by}{design.order}" if design.order else ""
        sentences.append(
            f"{form}{order}{made} at random{seed}, so that generators are balanced over positions and places"
            " in the form."
        )
    if design.question:
        sentences.append(
            f"The question was: “{design.question}”; one of the five sentences was to be marked."
        )
    return sentences


def _passages(table: ScoreTable) -> list[str]:
    names = [row.generator for row in table.scores]
    return [
        f"Annotators read passages of five sentences, one of which was by {listed(names)}, and marked the one"
        " that they took for the machine’s."
    ]


def _annotators(data: ReportData) -> list[str]:
    table, design, money = data.table, data.design, data.money
    who = "simulated annotator" if data.simulated else "annotator"
    forms = ""
    if design and design.rows_per_annotator:
        many = design.rows_per_annotator
        each = " each" if table.annotators.collected > 1 else ""
        forms = f" with one form{each}" if many == 1 else f" with up to {many} forms{each}"
    places = [PLATFORMS.get(name, name) for name in data.repeat.endpoint.split(", ") if name]
    where = f" through {listed(places)}" if places else ""
    sentences = [f"Answers of {counted(table.annotators.collected, who)}{forms} were collected{where}."]
    free = data.repeat.endpoint == "link" and not (money and money.rewards)
    if money and money.reward is not None and money.reward > 0 and not free and not data.simulated:
        paid = f"The reward was ${money.reward} a form"
        if money.median_seconds is not None and money.median_hourly is not None:
            paid += (
                f"; by {money.time_source} a form took {money.median_seconds / 60:.1f} minutes (median), "
                f"which comes to ${money.median_hourly} an hour"
            )
        sentences.append(paid + ".")
    return sentences


def _exclusions(data: ReportData) -> list[str]:
    table = data.table
    fixed = (
        "The exclusion rule was fixed before the first answer"
        if data.repeat.study_hash and table.rule.tests != "only"
        else "The exclusion rule was"
    )
    sentences = [f"{fixed}: {_within(table.rule.describe())}", phrases.excluded(table)]
    if table.control is not None:
        gate = table.control
        sentences.append(
            f"Before anybody was left out for missing it, {gate.passed:,} of"
            f" {counted(gate.n, 'Control passage')} {'was' if gate.n == 1 else 'were'} noticed."
        )
    return sentences


def _score(table: ScoreTable) -> list[str]:
    human = (
        " For Human the sentence at the held-out position stands for it."
        if of_role(table, Role.HUMAN)
        else ""
    )
    sizes = sorted({row.n for row in table.scores})
    n = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    plural = "response" if sizes[-1] == 1 else "responses"
    return [
        (
            "The score of a generator is the share of its passages whose annotator did not mark its sentence "
            f"({n} {plural} to each generator).{human}"
        ),
        phrases.chance(table),
    ]


def _intervals(table: ScoreTable) -> list[str]:
    return [f"Intervals are at {percent(table.level, 0)}\N{NO-BREAK SPACE}%. {phrases.method(table.scores)}"]


def _comparisons(table: ScoreTable, margin: float) -> list[str]:
    if not table.comparisons:
        return ["Generators were not compared with each other."]
    among = [one for one in table.comparisons if one.family == "systems"]
    below = [one for one in table.comparisons if one.family == "below human"]
    families = []
    if among:
        families.append(f"{several(len(among), 'pair', 'pairs')} of systems, two-sided")
    if below:
        families.append(
            f"that {several(len(below), 'system scores', 'systems score')} below {below[0].b}, one-sided"
        )
    alpha = f"{1 - table.level:.3f}".rstrip("0").removeprefix("0")
    sentences = [
        f"Compared were {'; and, as a family of its own, '.join(families)}.",
        verdicts.method(table.comparisons),
        "A generator is called higher where the"
        f" {'' if among and among[0].adjust == 'none' else 'adjusted '}p is {alpha} or less and the interval"
        " of the difference leaves out 0"
        + (f" (below {below[0].b}: its one-sided bound)." if below else "."),
    ]
    if margin:
        sentences.append(
            "Two generators are called equivalent where the"
            f" {percent(2 * table.level - 1, 0)}\N{NO-BREAK SPACE}% interval lies within ± {percent(margin)}"
            " points (two one-sided tests)."
        )
    return sentences


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
        sentences.append(f"Scored with humaneval-toolkit {ours} ({', '.join(versions)}).")
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
    return [*sentences, f"SHA-256 begins: {', '.join(hashes)}."]


def _within(text: str) -> str:
    return text[:1].lower() + text[1:]
