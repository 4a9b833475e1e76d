"""A plan in words and tables, as `study plan` and `study create` print it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.table import Table

from humaneval.cli.context import console, say
from humaneval.cli.study.pay import setting
from humaneval.planning.cues import PLACES, CueScore
from humaneval.planning.detectable import MOST, Chances
from humaneval.planning.forecast import Outlook
from humaneval.planning.gate import describe
from humaneval.planning.plan import Plan
from humaneval.planning.simulation import Power
from humaneval.study.file import AnalysisSection
from humaneval.text import counted


def points(share: float, planned: Plan | None = None) -> str:
    """A difference of shares as percentage points, or in the points of the plan's scale. A difference above 0
    is never shown as 0."""
    if planned is not None and planned.scale is not None and not planned.scale.share:
        return f"{share * planned.scale.width:.2f} points"
    digits = next((digits for digits in range(1, 7) if round(100 * share, digits)), 1)
    return f"{100 * share:.{digits}f} points"


def percent(share: float) -> str:
    """A share in whole percent. A share above 0 is never shown as 0, nor one below 1 as 100."""
    if 0 < share < 0.0005:
        return "<0.1%"
    if 0.9995 <= share < 1:
        return ">99.9%"
    return f"{share:.1%}" if (share < 0.005 and share) or 0.995 <= share < 1 else f"{share:.0%}"


def _scores(planned: Plan, low: float, high: float) -> tuple[str, str]:
    """Two scores on the plan's scale, with the digits that they have: 22.5 is not shown as 22."""
    scale = planned.scale
    if scale is not None and not scale.share:
        return f"{scale.low + low * scale.width:.2f}", f"{scale.low + high * scale.width:.2f}"
    if any(round(share, 2) != round(share, 3) for share in (low, high)):
        low_, high_ = f"{low:.1%}", f"{high:.1%}"
        if low_ != high_:
            return low_, high_
    return _apart(low, high)


def _apart(low: float, high: float) -> tuple[str, str]:
    """Two shares in percent, with as many digits as tell them apart."""
    pairs = ((f"{low:.{digits}%}", f"{high:.{digits}%}") for digits in range(9))
    return next((pair for pair in pairs if pair[0] != pair[1]), (percent(low), percent(high)))


def crowd(planned: Plan) -> str:
    """The number of annotators, and of forms where an annotator fills in several."""
    people, forms = counted(planned.people, "annotator"), counted(planned.annotators, "form")
    if planned.forms_each == 1:
        return people
    return (
        f"{people} with {counted(planned.forms_each, 'form')} each, {forms} (annotators ="
        f" {planned.annotators} in the file)"
    )


def power_warning(planned: Plan, seen: Outlook) -> str:
    """A sentence if the study is too small for its smallest effect of interest, else "".

    It is about the hardest comparison of its family, under the declared rule.
    """
    family = seen.decisive
    if family is None or family.power_in_family >= planned.power:
        return ""
    needed = family.annotators_needed_in_family
    found, wanted = percent(family.power_in_family), percent(planned.power)
    as_one = f" as one of {_rule(planned, family)}" if _many(planned, family) else ""
    if found == wanted:
        found, wanted = _apart(family.power_in_family, planned.power)
    enough = (
        f" To find it in {wanted} of them takes {crowd(_with(planned, needed))}."
        if needed
        else _too_few(planned)
    )
    said = (
        f"Practically no such study finds {_difference(planned)}{as_one}"
        if family.power_in_family < NEVER
        else f"Only {found} of such studies find {_difference(planned)}{as_one}"
    )
    return f"{said}.{enough}{_assumed(planned)}"


def _too_few(planned: Plan) -> str:
    """That more people alone are not enough."""
    if not planned.stories:
        return f" Not even {MOST:,} annotators are enough to find it in {percent(planned.power)} of them."
    stories = counted(planned.stories, "story", plural="stories")
    return f" More people on {stories} are not enough: that takes more stories."


def _difference(planned: Plan) -> str:
    return f"a difference of {points(planned.smallest_effect, planned)} between two scores"


def _assumed(planned: Plan) -> str:
    """That the difference is an assumption, and where a person sets another, if nobody did."""
    if planned.smallest_effect != AnalysisSection().smallest_effect:
        return ""
    return (
        f" The {points(planned.smallest_effect, planned)} are assumed: smallest_effect under [analysis] of"
        " study.toml sets them."
    )


def tell_outlook(planned: Plan, seen: Outlook, cues: Sequence[CueScore]) -> None:
    """Print what matters of a plan to a person who has just made a study; `study plan` says the rest."""
    _tell_size(planned, seen, f" A score's interval will be about ± {points(seen.half_width, planned)}.")
    family = seen.decisive
    if family is None:
        say("There is nothing to compare: no two systems, and no system with Human.")
    elif warning := power_warning(planned, seen):
        say(warning)
    else:
        say(
            f"Of such studies, {percent(family.power_in_family)} find {_difference(planned)}."
            + _assumed(planned)
        )
    _tell_telling(planned, cues)


def _with(planned: Plan, annotators: int) -> Plan:
    return replace(planned, annotators=annotators)


RULES = {"holm": "Holm", "benjamini-hochberg": "BH", "none": "not adjusted"}


def _rule(planned: Plan, family: Chances) -> str:
    return f"{family.comparisons} ({RULES[planned.adjust]})"


def _many(planned: Plan, family: Chances) -> bool:
    return family.comparisons > 1 and planned.adjust != "none"


def tell_plan(
    planned: Plan,
    seen: Outlook,
    cues: Sequence[CueScore],
    drawn: Power | None = None,
    *,
    sign: str = "$",
    fees: str = "",
) -> None:
    """Print a plan: annotators, power, intervals, spammers, cost and cues. Warn if the study is too small.

    `sign` is of the currency. `fees` says what comes on top of the rewards, if anything does.
    """
    _tell_size(planned, seen)
    say()
    _tell_power(planned, seen, drawn)
    say()
    _tell_intervals(planned, seen)
    if planned.spammers and planned.controls:
        _tell_spammers(planned, seen)
    _tell_cost(planned, seen, sign, fees)
    if warning := power_warning(planned, seen):
        say()
        say(warning)
    if cues:
        _tell_cues(planned, cues)


def _tell_cost(planned: Plan, seen: Outlook, sign: str, fees: str) -> None:
    say(f"People work {seen.hours:,.1f} hours, at {planned.expected_minutes:g} minutes for each form.")
    if planned.reward:
        forms = counted(planned.handed_out, "form")
        say(
            f"They get {sign}{seen.rewards:,} if all {forms} are paid {sign}{planned.reward}{fees}."
            f" 0 means no pay. To set that: {setting('reward', 'hit')}"
        )


def _tell_size(planned: Plan, seen: Outlook, more: str = "") -> None:
    counting = (
        ", if forms that do not count are handed out again"
        if planned.top_up and planned.controls
        else " once those who miss a Control passage are left out"
        if planned.controls
        else ""
    )
    judged = f"{seen.responses:.0f} responses to each system"
    if planned.foreseen.pairwise:
        judged = f"{seen.responses:.0f} comparisons show each system"
        if planned.in_pairs < 1:
            judged += f", and {seen.responses * planned.in_pairs:.0f} the same two,"
    say(f"{crowd(planned)}: about {judged}{counting}.{more}")
    _tell_stories(planned)
    if planned.spammers and not planned.controls:
        say(
            f"Nobody is left out for a missed Control passage. If {percent(planned.spammers)} only click,"
            f" their answers draw every score to {_chance(planned)}, and differences are smaller by"
            f" {percent(planned.spammers)}."
        )


def _tell_power(planned: Plan, seen: Outlook, drawn: Power | None) -> None:
    if seen.systems:
        low, high = _scores(planned, seen.systems.low, seen.systems.high)
        title = f"A score of {low} against one of {high}"
        _tell_family(planned, seen.systems, _preferred(planned) or title)
    if seen.below_human:
        low, high = _scores(planned, seen.below_human.low, seen.below_human.high)
        title = f"A score of {low}, below Human's {high}"
        _tell_family(planned, seen.below_human, _preferred(planned, ", Human the other") or title)
    if seen.decisive is None:
        say("There is nothing to compare: no two systems, and no system with Human.")
        return
    _tell_method(planned)
    if drawn is not None:
        as_one = (
            f", and as one of {_rule(planned, seen.decisive)} in {percent(drawn.power_in_family)} (±"
            f" {2 * drawn.error_in_family:.0%})"
            if _many(planned, seen.decisive)
            else ""
        )
        say(
            f"By simulation: found in {percent(drawn.power)} (± {2 * drawn.error:.0%}) of {drawn.studies:,}"
            f" simulated studies{as_one}."
        )


def _preferred(planned: Plan, more: str = "") -> str:
    """What is compared if pairs are compared by their own answers; empty if they are not."""
    if not planned.foreseen.pairwise:
        return ""
    ahead = (1 + planned.smallest_effect) / 2
    return f"One preferred in {percent(1 - ahead)} of comparisons, the other in {percent(ahead)}{more}"


def _chance(planned: Plan) -> str:
    chance = planned.foreseen.chance
    return _scores(planned, chance, chance)[0] if planned.scale else percent(chance)


def _tell_intervals(planned: Plan, seen: Outlook) -> None:
    wanted = (
        f"± {points(planned.width, planned)} take {crowd(_with(planned, seen.annotators_for_width))}"
        if seen.annotators_for_width
        else f"± {points(planned.width, planned)} cannot be reached with {planned.stories} stories"
    )
    say(f"A score's interval: about ± {points(seen.half_width, planned)}; {wanted}.")
    say(
        f"Assumed: answers of one annotator are correlated by {seen.worker_icc:.3f} (worker_sd"
        f" {planned.worker_sd:.2g}), to one story by {seen.story_icc:.3f} (story_sd {planned.story_sd:.2g})."
    )


def _tell_stories(planned: Plan) -> None:
    """Say whether there are enough stories for the forms that one person may fill in."""
    met = planned.forms_each * planned.passages_per_row
    if not planned.stories and planned.forms_each > 1:
        say(f"That takes {met:,} stories at least, as nobody sees a story twice.")
    elif planned.stories and planned.stories // planned.passages_per_row < planned.rows_per_annotator:
        say(
            f"The file lets one person fill in {planned.rows_per_annotator:,} forms, but nobody sees a story"
            f" twice: the {planned.stories:,} stories are enough for {planned.forms_each:,}."
        )


def _tell_family(planned: Plan, family: Chances, title: str) -> None:
    many = _many(planned, family)
    columns = ("one comparison", f"one of {_rule(planned, family)}")[: 1 + many]
    table = Table(title, *columns, box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"

    def line(what: str, *cells: str) -> None:
        table.add_row(what, *cells[: 1 + many])

    wanted = percent(planned.power)
    line("share of such studies that find it", percent(family.power), percent(family.power_in_family))
    line(
        f"annotators for {wanted}" if planned.rows_per_annotator == 1 else f"annotators (forms) for {wanted}",
        *(f"{n:,}" if n else "none" for n in (family.annotators_needed, family.annotators_needed_in_family)),
    )
    line(
        f"smallest difference found in {wanted}",
        *(_smallest(each, planned) for each in (family.detectable, family.detectable_in_family)),
    )
    if not planned.foreseen.pairwise:
        line("if different people judged the two: share", percent(family.power_unpaired), "")
        line("  smallest difference", _smallest(family.detectable_unpaired, planned), "")
    console().print(table)
    say()


def _smallest(difference: float | None, planned: Plan) -> str:
    if difference is None:
        return "none"
    return points(difference, planned) if difference else "any"


def _tell_method(planned: Plan) -> None:
    if planned.foreseen.pairwise:
        say("Two are compared by the passages that show both, with a sign test.")
    elif not planned.plain:
        say(
            "Compared within annotators, by the normal approximation to the permutation test. Answers are"
            f" assumed to vary {percent(planned.foreseen.dispersion)} as much as the scale allows."
        )
    elif planned.together == 1:
        say("Every form shows all generators. They are compared within annotators, by McNemar's mid-p test.")
    else:
        say(
            f"Of the forms that show one of two generators, {percent(planned.together)} also show the other."
            " All answers are compared, by the normal approximation to the permutation test."
        )
    say("Found means that p and the interval of the difference agree.")


def _tell_spammers(planned: Plan, seen: Outlook) -> None:
    say(describe(seen.gate, SPAMMERS_BORNE, max(planned.controls, 1)))
    needed = seen.controls_needed
    if needed is None or needed <= seen.gate.controls:
        return
    if planned.excluded == "row":
        say('It also takes missed_control = "annotator": "row" leaves out only the form itself.')
    met = needed * planned.passages_per_row
    if 0 < planned.stories < met:
        say(f"It also takes {met:,} stories, as nobody sees a story twice.")


def _tell_cues(planned: Plan, cues: Sequence[CueScore]) -> None:
    names = list(dict.fromkeys(cue.cue for cue in cues))
    table = Table("Always the", *names, box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for generator in dict.fromkeys(cue.generator for cue in cues):
        mine = {cue.cue: cue.score for cue in cues if cue.generator == generator}
        table.add_row(generator, *(percent(mine[name]) for name in names))
    say()
    luck = percent(planned.foreseen.chance)
    say(f"Scores if annotators understood nothing and marked by a cue (any sentence: {luck}):")
    console().print(table)

    _tell_telling(planned, cues)


def _tell_telling(planned: Plan, cues: Sequence[CueScore]) -> None:
    """Say which cues alone would find a generator's sentences."""
    least = TELLING * (1 - planned.foreseen.chance)
    telling = [cue for cue in cues if 1 - cue.score > least + 1e-9]
    if not telling:
        return
    clauses = []
    for name in dict.fromkeys(cue.cue for cue in telling):
        first, *others = [
            f"{percent(1 - cue.score)}{{}} by {cue.generator}" for cue in telling if cue.cue == name
        ]
        found = ", ".join([first.format(" of the sentences"), *(other.format("") for other in others)])
        marked = f"{name} sentence" if name in (*PLACES, *_LENGTHS) else f"sentence with the {name}"
        clauses.append(f"the {marked} finds {found}")
    places = any(cue.cue in PLACES for cue in telling)
    say(
        f"Without reading a story, always marking {'; '.join(clauses)}. By chance it would be"
        f" {percent(1 - planned.foreseen.chance)}. You can continue; the report shows this under Cues."
        f"{' Blanks at all positions help.' if places else ''}"
    )


_LENGTHS = ("longest", "shortest")
NEVER = 0.005
"""A share of studies that is called practically none."""


SPAMMERS_BORNE = 0.01
"""Accepted share of spammers among those who pass."""
TELLING = 2
"""A cue is named if it finds more than so many times as many of a generator's sentences as chance does."""
