"""A study before anybody is paid: `he.plan(systems=4, annotators=100, difference=0.1)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from humaneval.domain import FEWEST_SENTENCES, MOST_SENTENCES, SENTENCES, Role
from humaneval.errors import UsageError
from humaneval.interface.errors import in_python, refuse_level
from humaneval.interface.shown import table_html
from humaneval.planning.cues import CueScore
from humaneval.planning.detectable import MOST
from humaneval.planning.forecast import Outlook, outlook
from humaneval.planning.plan import Plan
from humaneval.planning.simulation import Power
from humaneval.report.phrases import percent
from humaneval.report.verdicts import ADJUSTED
from humaneval.scoring.questions.question import DETECT, load_question
from humaneval.text import counted


@dataclass(frozen=True, slots=True, repr=False)
class StudyPlan:
    """What a planned study can find out, and what it costs. Shares are 0..1."""

    plan: Plan
    outlook: Outlook

    @property
    def power(self) -> float | None:
        """The probability that one comparison finds the difference; None if nothing is compared."""
        return self.outlook.power

    @property
    def power_in_family(self) -> float | None:
        """The same for the hardest comparison of all, whose p-values are adjusted."""
        return self.outlook.power_in_family

    @property
    def detectable(self) -> float | None:
        """The smallest difference that one comparison finds with the wanted power, a share."""
        return self.outlook.detectable

    @property
    def annotators_needed(self) -> int | None:
        """How many annotators give one comparison the wanted power; None if no number up to 100,000 does."""
        family = self.outlook.decisive
        return family.annotators_needed if family else None

    @property
    def annotators_needed_in_family(self) -> int | None:
        """The same for the hardest comparison of all."""
        family = self.outlook.decisive
        return family.annotators_needed_in_family if family else None

    @property
    def width(self) -> float:
        """Half the interval of a score near the expected one: 0.1 is ± 10 points."""
        return self.outlook.half_width

    @property
    def cost(self) -> Decimal:
        """Rewards and fees in dollars, at Mechanical Turk's rates, if every form is approved."""
        return self.outlook.cost

    def json(self) -> dict[str, Any]:
        """The document of `study plan --json`, without a study's name and cues."""
        return plan_document(self.plan, self.outlook, ())

    def lines(self) -> tuple[tuple[str, str], ...]:
        """What a notebook shows: a name and its figure, in order."""
        planned, seen = self.plan, self.outlook
        points = _points(planned.smallest_effect, planned)
        lines = [
            (
                "Responses",
                f"about {seen.responses:.0f} to each generator, from {planned.annotators:,} annotators",
            )
        ]
        family = seen.decisive
        if family is not None:
            more = family.comparisons > 1 and planned.adjust != "none"
            as_one = f"as one of {family.comparisons}, adjusted by {ADJUSTED[planned.adjust]}"
            also = f"; {percent(family.power_in_family, 0)} % {as_one}" if more else ""
            lines.append((f"Power for {points}", f"{percent(family.power, 0)} %{also}"))
            wanted = f"a power of {percent(planned.power, 0)} %"
            lines.append((f"Difference found with {wanted}", _points(family.detectable, planned)))
            needed = family.annotators_needed_in_family if more else family.annotators_needed
            enough = "no number of them" if needed is None else counted(needed, "annotator")
            lines.append((f"For {points} with {wanted}", f"{enough}{f', {as_one}' if more else ''}"))
        lines.append(("Interval of a score", f"± {_points(seen.half_width, planned)}"))
        lines.append(
            ("Cost", f"${seen.rewards:,} in rewards; at Mechanical Turk, ${seen.fees:,} in fees more")
        )
        return tuple(lines)

    def __repr__(self) -> str:
        lines = self.lines()
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:{width}}  {figure}" for name, figure in lines)

    def _repr_html_(self) -> str:
        return table_html("A study before anybody is paid", (), self.lines())


def plan(
    *,
    systems: int,
    annotators: int = 40,
    difference: float = 0.1,
    score: float = 0.4,
    power: float = 0.8,
    human: bool = True,
    stories: int = 0,
    spammers: float = 0.05,
    reward: Decimal | float | str = "0.80",
    minutes: float = 4.0,
    level: float = 0.95,
    question: str = DETECT,
    answers: Mapping[str, Any] | None = None,
    sentences: int = SENTENCES,
) -> StudyPlan:
    """What a study can find out, and what it costs, as `humaneval study plan` computes it.

    Every annotator judges all that the `question` shows of `systems` systems, the Control and, with `human`,
    a person: one passage by each, or, for `prefer`, each pair in both orders. `answers` are the question's
    settings, as under `[answers]` in a study file. `sentences` is how long stories are, 3 to 20.
    `difference` is the smallest one that matters and `score` the lower of the two scores, both shares of the
    scale;
    `power` is the wanted probability of finding it. `stories` is how many there are to draw from; with 0,
    none recurs. `spammers` is the share of annotators who click without reading. `reward` is in dollars and
    `minutes` the expected time, for one form. `level` is that of the intervals.

    Raises UsageError for a number that makes no study.
    """
    with in_python():
        _refuse(systems=systems, annotators=annotators, stories=stories, sentences=sentences)
        _refuse_shares(power=power, level=level, spammers=spammers, difference=difference, score=score)
        dollars = _dollars(reward)
        if not 0 < minutes < 10_000:
            raise UsageError(f"minutes={minutes!r} is not a time", "Give the minutes for one form.")
        asked = load_question(question)
        own = asked.settings(answers or {})
        names = ("control", *(f"system {number}" for number in range(1, systems + 1)), *["human"] * human)
        shown = asked.conditions(names, "control", "human", own)
        controls = sum(one.role is Role.CONTROL for one in shown)
        made = Plan(
            annotators=annotators,
            passages_per_row=len(shown),
            stories=stories,
            generators=len(shown),
            controls=controls,
            always=controls,
            comparisons=systems * (systems - 1) // 2,
            below_human=systems if human and asked.beside_human else 0,
            expected_score=score,
            smallest_effect=difference,
            power=power,
            level=level,
            spammers=spammers,
            reward=dollars,
            expected_minutes=minutes,
            positions=asked.positions(sentences),
            question=question,
            scale=asked.scales(own, sentences)[0],
            foreseen=asked.foreseen(own, sentences),
            conditions_each=max(
                1, sum("system 1" in one.generators and one.role is not Role.CONTROL for one in shown)
            ),
        )
        return StudyPlan(made, outlook(made))


EXAMPLES = {"systems": 2, "annotators": 40, "stories": 100, "sentences": SENTENCES}


def _refuse(*, systems: object, annotators: object, stories: object, sentences: object) -> None:
    """Raise UsageError for what is not a whole number in its range."""
    ranges = {
        "systems": (systems, 1, 100),
        "annotators": (annotators, 1, MOST),
        "stories": (stories, 0, 1_000_000),
        "sentences": (sentences, FEWEST_SENTENCES, MOST_SENTENCES),
    }
    for name, (value, least, most) in ranges.items():
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise UsageError(
                f"{name}={value!r} is not a whole number from {least:,} to {most:,}",
                f"For example {name}={EXAMPLES[name]}.",
            )


def _refuse_shares(*, power: float, level: float, spammers: float, difference: float, score: float) -> None:
    """Raise UsageError for what is no share."""
    refuse_level(level)
    if not 0 < power < 1:
        raise UsageError(f"power={power!r} is not a probability", "Give a number between 0 and 1.")
    if not 0 <= spammers < 1:
        raise UsageError(f"spammers={spammers!r} is not a share", "Give a number from 0 to 1.")
    if not 0 < difference < 1 or not 0 < score < score + difference < 1:
        raise UsageError(
            f"score={score!r} and a score that is difference={difference!r} above it do not both lie"
            " between 0 and 1",
            "Both are shares: difference=0.1 is 10 points.",
        )


def _dollars(reward: object) -> Decimal:
    try:
        found = Decimal(str(reward))
    except InvalidOperation:
        found = Decimal("NaN")
    if not (found.is_finite() and found >= 0):
        raise UsageError(f"reward={reward!r} is not an amount in dollars", 'Give for example "0.80".')
    return found


def _points(share: float | None, planned: Plan) -> str:
    scale = planned.scale
    if share is None:
        return "none"
    return f"{percent(share)} points" if scale is None or scale.share else f"{share * scale.width:.2f} points"


def plan_document(
    planned: Plan, seen: Outlook, cues: Sequence[CueScore], drawn: Power | None = None
) -> dict[str, Any]:
    """What `study plan --json` prints of a plan."""
    return {
        "plan": {
            **asdict(planned),
            "reward": str(planned.reward),
            "forms_each": planned.forms_each,
            "people": planned.people,
            "handed_out": planned.handed_out,
        },
        "outlook": seen.to_json(),
        "simulated": drawn and asdict(drawn),
        "cues": [{**cue._asdict(), "score": cue.score} for cue in cues],
    }
