"""The report as one HTML file that needs nothing else: no network, no scripts, no fonts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from humaneval.fees import SIGNS
from humaneval.report import phrases
from humaneval.report.chapters import chapters
from humaneval.report.conclusion import conclusion
from humaneval.report.contents import MoneyFacts, ReportData
from humaneval.report.figures.drawing import STYLE
from humaneval.report.figures.forest import ceiling_band, score_plot, shaded
from humaneval.report.score_tables import main_tables, provenance, score_head
from humaneval.report.sections import Figure
from humaneval.text import between, counted


def render_report(data: ReportData) -> str:
    """The page as text, to be written as UTF-8. The same data give the same bytes.

    All text in `data` is escaped: nothing in it can become markup.
    """
    before = {row.generator: row for row in data.table.before_exclusions}
    sections = chapters(data)
    page = (
        environment()
        .get_template("report.html")
        .render(
            data=data,
            table=data.table,
            rows=[(row, before[row.generator]) for row in data.table.scores],
            shown={row.role.value for row in data.table.scores},
            plots=[(score_plot(one), score_plot(one, narrow=True), one) for one in data.table.all_scales],
            mains=main_tables(data.analysis) if data.analysis else (),
            words=data.table.words,
            shaded=shaded(data.table),
            sections=sections,
            later=[
                key for key in sections if key not in ("comparisons", "testing", "ranks", "beside", "rules")
            ],
            conclusion=conclusion(data.table),
            higher=data.table.words.higher,
            ceiling=ceiling_band(data.table),
            unbanded=data.table.chance is not None and data.table.chance.achieved is not None,
            plot_style=Markup(STYLE),
            numbers=Numbers(),
            origin=origin(data),
            warnings=warnings(data),
            key=_key_facts(data),
            dates=_dates(data),
            hashes=_hashes(data),
            payments=_payments(data.money, " (simulated)" if data.answerers.only_programs else "")
            if data.money
            else [],
        )
    )
    return page + "\n"


def origin(data: ReportData) -> str:
    """The number of responses."""
    if data.analysis:
        return provenance(data.analysis)
    table = data.table
    responses = counted(table.exclusions[-1].responses, "response")
    return f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{responses}."


class Numbers:
    """Numbers the tables and figures in order."""

    def __init__(self) -> None:
        self.last: dict[str, int] = {}

    def next(self, kind: str) -> int:
        """The number of the next table or figure, from 1."""
        self.last[kind] = self.last.get(kind, 0) + 1
        return self.last[kind]


@cache
def environment() -> Environment:
    """The templates of pages, in which all text is escaped."""
    environment = Environment(
        loader=PackageLoader("humaneval.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "confidence": phrases.confidence,
        "percent": phrases.percent,
        "between": phrases.between,
        "settings": _settings,
        "compact": lambda mapping: ", ".join(f"{name} {value}" for name, value in mapping.items()),
    }
    environment.tests["figure"] = lambda block: isinstance(block, Figure)
    environment.filters["markup"] = Markup
    environment.filters["gap"] = between
    environment.globals |= {
        "amount": phrases.amount,
        "between_on": phrases.between,
        "chance": phrases.chance,
        "count": counted,
        "excluded": phrases.excluded,
        "method": phrases.method,
        "roles": phrases.ROLES,
        "score_head": score_head,
        "sentence": phrases.sentence,
        "step_name": phrases.step_name,
        "wordy": lambda cell: " " in cell.text and cell.text.replace(" ", "").isalpha(),
    }
    return environment


class Warned(NamedTuple):
    """What must stand above everything else."""

    heading: str
    text: str


def warnings(data: ReportData) -> list[Warned]:
    """The warnings about the report as a whole: simulated annotators, a pilot, few annotators or stories."""
    found = []
    if data.simulated:
        found.append(Warned("Simulated annotators", phrases.simulated(data.answerers)))
    if data.early:
        found.append(Warned("Not all answers are in", data.early))
    if data.platform_lost:
        found.append(Warned("Answers that the platform lost", phrases.lost(data.platform_lost)))
    if data.deleted.forms:
        found.append(Warned("Deleted answers", phrases.deleted(*data.deleted)))
    if data.test or data.table.rule.tests == "only":
        found.append(
            Warned(
                "Test or pilot", "These responses were collected to try out the study. They are not results."
            )
        )
    if few := phrases.few(data.table):
        heading, _, text = few.partition(": ")
        found.append(Warned(heading, f"{text[:1].upper()}{text[1:]}"))
    return found


ENOUGH_FOR_A_WAGE = 5
"""Annotators: of fewer, a median time says little, and the wage is not among the first figures."""


def _key_facts(data: ReportData) -> list[tuple[str, str]]:
    """The size of the study at a glance: a number and what it counts."""
    table = data.table
    people = table.annotators
    of = f" of {people.collected:,}" if people.excluded else ""
    facts = [
        (f"{people.analysed:,}{of}", "annotators analysed"),
        (f"{table.exclusions[-1].responses:,}", "responses analysed"),
        (f"{len(table.scores)}", "generators" if len(table.scores) > 1 else "generator"),
    ]
    if chance := table.chance:
        share = table.scale.share
        nominal = phrases.percent(chance.nominal, 0) if share else phrases.amount(chance.nominal, table.scale)
        facts.append((f"{nominal}{phrases.unit(table.scale)}", "by chance alone"))
    money = data.money
    if (
        money
        and money.median_hourly is not None
        and people.analysed >= ENOUGH_FOR_A_WAGE
        and not data.answerers.only_programs
    ):
        facts.append((_amount(money.median_hourly, money.currency), "per hour, at the median time"))
    return facts


def _dates(data: ReportData) -> list[tuple[str, str]]:
    repeat = data.repeat
    named = {
        "Published": repeat.published_at,
        "First response": repeat.first_response_at,
        "Last response": repeat.last_response_at,
        "Scored": repeat.scored_at,
    }
    return [(name, _instant(value)) for name, value in named.items() if value is not None]


def _instant(value: datetime) -> str:
    at = value.astimezone(UTC) if value.tzinfo else value
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _hashes(data: ReportData) -> list[tuple[str, str]]:
    named = {
        "Study file": data.repeat.study_hash,
        "Design": data.design.hash if data.design else "",
        "Stories": data.repeat.stories_hash,
        "Passages": data.repeat.passages_hash,
        "Responses": data.repeat.responses_hash,
        "Exclusion rule": data.table.rule.hash,
    }
    return [(name, value) for name, value in named.items() if value]


def _payments(money: MoneyFacts, simulated: str = "") -> list[tuple[str, str]]:
    def amount(value: Decimal | None) -> str:
        return "" if value is None else _amount(value, money.currency)

    seconds = money.median_seconds
    source = f" ({money.time_source})" if money.time_source else ""
    time = "" if seconds is None else f"{seconds / 60:.1f} minutes{source}"
    target = f", against a target of {amount(money.hourly_target)}" if money.hourly_target is not None else ""
    hourly = "" if money.median_hourly is None else f"{amount(money.median_hourly)}{target}"
    named = {
        "Reward per form": amount(money.reward),
        f"Median time per form{simulated}": time,
        f"Pay per hour at the median time{simulated}": hourly,
        "Rewards": amount(money.rewards),
        "Bonuses": amount(money.bonuses),
        "For lost work": amount(money.compensations),
        "Platform fees": amount(money.fees),
        "Planned in total": amount(money.planned),
        "Spent in total": amount(money.spent),
        "Play money, which nobody paid": amount(money.pretended),
    }
    return [(name, value) for name, value in named.items() if value]


def _amount(value: Decimal, currency: str) -> str:
    symbol = SIGNS.get(currency, "")
    return f"{symbol}{value:,.2f}" if symbol else f"{value:,.2f} {currency}"


def _settings(values: Mapping[str, Any]) -> str:
    # Of a table's column: nobody must try to find the hash of the file.
    hashed = {"sha256": "sha256 of the column’s sentences with their stories"} if "column" in values else {}
    return ", ".join(
        f"{hashed.get(name, name)} = {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in values.items()
    )
