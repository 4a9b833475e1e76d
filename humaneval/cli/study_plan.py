"""`study plan`: what a study can find out, what cues alone would score, and what it costs, before anybody is
paid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from humaneval.cli.numbers import ANNOTATORS, SHARE, Number, Whole
from humaneval.cli.run import App, console, emit, json_option, say, with_app
from humaneval.errors import UsageError
from humaneval.text import counted

if TYPE_CHECKING:
    from humaneval.planning.cues import CueScore
    from humaneval.planning.detectable import Chances
    from humaneval.planning.forecast import Outlook
    from humaneval.planning.plan import Plan
    from humaneval.planning.simulation import Power


@click.command()
@click.argument("name", required=False)
@click.option(
    "--file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A study file, of a study that is not made yet.",
)
@click.option("--preset", help="A design by name: acl2020.")
@click.option("--annotators", type=ANNOTATORS, help="Instead of the study's, and counted as there: forms.")
@click.option("--score", type=SHARE, help="The lower of two scores, instead of the study's guess.")
@click.option("--effect", type=SHARE, help="The difference that would matter, instead of the study's.")
@click.option("--power", type=SHARE, help="The odds wanted of finding it.")
@click.option(
    "--width",
    type=Number(0, 0.5, min_open=True, max_open=True),
    help="Half the interval of a score that is wanted: 0.05 is ± 5 points.",
)
@click.option(
    "--icc",
    type=Number(0, 1, max_open=True),
    help="How alike one annotator's answers are, instead of the study's worker_sd.",
)
@click.option("--spammers", type=Number(0, 1, max_open=True), help="The share who do not read.")
@click.option(
    "--honest", type=SHARE, help="How often those who read notice a Control passage; always, if not given."
)
@click.option(
    "--simulate",
    "studies",
    type=Whole(min=100),
    metavar="STUDIES",
    help="Also draw so many studies from the mixed model and test each as the report will.",
)
@json_option
@with_app
def plan(
    app: App,
    name: str | None,
    file: Path | None,
    preset: str | None,
    annotators: int | None,
    score: float | None,
    effect: float | None,
    power: float | None,
    width: float | None,
    icc: float | None,
    spammers: float | None,
    honest: float | None,
    studies: int | None,
    as_json: bool,
) -> None:
    """Say what the study NAME, or a study file, can find out: power, widths, spammers, cues, cost."""
    from humaneval.planning.forecast import outlook
    from humaneval.planning.power import sd_of_icc
    from humaneval.planning.simulation import simulate
    from humaneval.study.file import read_study_file
    from humaneval.study.plan import cues_of, draft, plan_of, plan_of_study
    from humaneval.study.presets import preset_over

    if name is not None and (file is not None or preset is not None):
        raise UsageError("give a study's NAME, or a file, not both", "A study has its file inside.")
    if replaced := preset_over(file, preset):
        say(replaced, err=True)
    planned = (
        plan_of(read_study_file(file, preset=preset)[0]) if name is None else plan_of_study(app.study(name))
    )
    cues: Sequence[CueScore] = () if name is None else cues_of(app.study(name))
    given: dict[str, Any] = {
        "annotators": annotators,
        "expected_score": score,
        "smallest_effect": effect,
        "power": power,
        "width": width,
        "spammers": spammers,
        "honest": honest,
    }
    planned = replace(planned, **{key: value for key, value in given.items() if value is not None})
    if icc is not None:
        planned = replace(planned, worker_sd=sd_of_icc(icc, planned.expected_score))
    seen = outlook(planned)
    drawn = None
    if studies is not None:
        rows, pair = draft(planned)
        drawn = simulate(planned, rows, studies, pair)
    if as_json:
        emit({"study": name, **plan_document(planned, seen, cues, drawn)})
    else:
        tell_plan(planned, seen, cues, drawn)


def plan_document(
    planned: Plan, seen: Outlook, cues: Sequence[CueScore], drawn: Power | None = None
) -> dict[str, Any]:
    """What `--json` prints of a plan."""
    return {
        "plan": _plain(planned),
        "outlook": seen.to_json(),
        "simulated": drawn and asdict(drawn),
        "cues": [{**cue._asdict(), "score": cue.score} for cue in cues],
    }


def _plain(planned: Plan) -> dict[str, Any]:
    return {
        **asdict(planned),
        "reward": str(planned.reward),
        "forms_each": planned.forms_each,
        "people": planned.people,
        "handed_out": planned.handed_out,
    }


def points(share: float) -> str:
    """A difference of shares as percentage points; what is more than nothing is never shown as nothing."""
    digits = next((digits for digits in range(1, 7) if round(100 * share, digits)), 1)
    return f"{100 * share:.{digits}f} points"


def percent(share: float) -> str:
    """A share in percent, whole; what is more than none and less than all is never shown as these."""
    if 0 < share < 0.0005:
        return "<0.1%"
    if 0.9995 <= share < 1:
        return ">99.9%"
    return f"{share:.1%}" if (share < 0.005 and share) or 0.995 <= share < 1 else f"{share:.0%}"


def _apart(low: float, high: float) -> tuple[str, str]:
    """Two shares in percent, with as many digits as tell them apart."""
    pairs = ((f"{low:.{digits}%}", f"{high:.{digits}%}") for digits in range(9))
    return next((pair for pair in pairs if pair[0] != pair[1]), (percent(low), percent(high)))


def crowd(planned: Plan) -> str:
    """Who fills in how many forms, and what the study file calls it."""
    people, forms = counted(planned.people, "annotator"), counted(planned.annotators, "form")
    if planned.forms_each == 1:
        return people
    return (
        f"{people} with {counted(planned.forms_each, 'form')} each, {forms} (annotators ="
        f" {planned.annotators} in the file)"
    )


def power_warning(planned: Plan, seen: Outlook) -> str:
    """A sentence where the smallest effect of interest would more likely be missed than wanted; else nothing.

    Of the hardest comparison of its family, by the rule that is declared.
    """
    family = seen.decisive
    if family is None or family.power_in_family >= planned.power:
        return ""
    needed = family.annotators_needed_in_family
    found, wanted = _apart(family.power_in_family, planned.power)
    enough = "" if needed is None else f" {crowd(_with(planned, needed))} would give {wanted}."
    as_one = f" as one of {_rule(planned, family)}" if _many(planned, family) else ""
    return (
        f"Too small for what you want to find: a difference of {points(planned.smallest_effect)}{as_one} "
        f"would be found in {found} of such studies.{enough}"
    )


def _with(planned: Plan, annotators: int) -> Plan:
    return replace(planned, annotators=annotators)


RULES = {"holm": "Holm", "benjamini-hochberg": "BH", "none": "not adjusted"}


def _rule(planned: Plan, family: Chances) -> str:
    return f"{family.comparisons} ({RULES[planned.adjust]})"


def _many(planned: Plan, family: Chances) -> bool:
    return family.comparisons > 1 and planned.adjust != "none"


def tell_plan(planned: Plan, seen: Outlook, cues: Sequence[CueScore], drawn: Power | None = None) -> None:
    """Print the plan: who, what is found, how wide intervals are, spammers, cost, cues; and the warning, if
    there is one."""
    counting = (
        ", forms that do not count being handed out again"
        if planned.top_up and planned.controls
        else " once those who miss a Control passage are left out"
        if planned.controls
        else ""
    )
    say(f"{crowd(planned)}: about {seen.responses:.0f} responses to each generator{counting}.")
    _tell_stories(planned)
    if planned.spammers and not planned.controls:
        say(
            f"Nobody is left out for a missed Control passage. If {percent(planned.spammers)} only click,"
            " their answers draw every score to 80%, and differences are smaller by"
            f" {percent(planned.spammers)}."
        )
    say()
    if seen.systems:
        low, high = _apart(seen.systems.low, seen.systems.high)
        _tell_family(planned, seen.systems, f"A score of {low} against one of {high}")
    if seen.below_human:
        low, high = _apart(seen.below_human.low, seen.below_human.high)
        _tell_family(planned, seen.below_human, f"A score of {low}, below Human's {high}")
    if seen.decisive is None:
        say("There is nothing to compare: no two systems, and none with Human.")
    else:
        _tell_method(planned)
    if drawn is not None and seen.decisive:
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
    say()
    wanted = (
        f"± {points(planned.width)} take {crowd(_with(planned, seen.annotators_for_width))}"
        if seen.annotators_for_width
        else f"± {points(planned.width)} cannot be had with {planned.stories} stories"
    )
    say(f"A score's interval: about ± {points(seen.half_width)}; {wanted}.")
    say(
        f"Assumed: answers of one annotator are correlated by {seen.worker_icc:.3f} (worker_sd"
        f" {planned.worker_sd:.2g}), to one story by {seen.story_icc:.3f} (story_sd {planned.story_sd:.2g})."
    )
    if planned.spammers and planned.controls:
        _tell_spammers(planned, seen)
    again = f" for {planned.handed_out:,} forms" if planned.top_up else ""
    say(
        f"Cost: ${seen.cost:,}{again} (${seen.rewards:,} rewards, ${seen.fees:,} fees at Mechanical Turk's"
        f" rates); {seen.hours:,.1f} hours of people's time."
    )
    if warning := power_warning(planned, seen):
        say()
        say(warning)
    if cues:
        _tell_cues(cues)


def _tell_stories(planned: Plan) -> None:
    """Whether there are stories enough for the forms that one person may fill in."""
    met = planned.forms_each * planned.passages_per_row
    if not planned.stories and planned.forms_each > 1:
        say(f"That takes {met:,} stories at least: nobody meets a story twice.")
    elif planned.stories and planned.stories // planned.passages_per_row < planned.rows_per_annotator:
        say(
            f"The file lets one person fill in {planned.rows_per_annotator:,} forms, but nobody meets a story"
            f" twice: the {planned.stories:,} stories are enough for {planned.forms_each:,}."
        )


def _tell_family(planned: Plan, family: Chances, title: str) -> None:
    from rich.table import Table

    many = _many(planned, family)
    columns = ("one comparison", f"one of {_rule(planned, family)}")[: 1 + many]
    table = Table(title, *columns, box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"

    def line(what: str, *cells: str) -> None:
        table.add_row(what, *cells[: 1 + many])

    wanted = percent(planned.power)
    line("found in so many of such studies", percent(family.power), percent(family.power_in_family))
    line(
        f"annotators for {wanted}" if planned.rows_per_annotator == 1 else f"annotators (forms) for {wanted}",
        *(f"{n:,}" if n else "none" for n in (family.annotators_needed, family.annotators_needed_in_family)),
    )
    line(
        f"smallest difference found in {wanted}",
        *(_smallest(each) for each in (family.detectable, family.detectable_in_family)),
    )
    line("if different people judged the two: found in", percent(family.power_unpaired), "")
    line("  smallest difference", _smallest(family.detectable_unpaired), "")
    console().print(table)
    say()


def _smallest(difference: float | None) -> str:
    if difference is None:
        return "none"
    return points(difference) if difference else "any"


def _tell_method(planned: Plan) -> None:
    if planned.together == 1:
        say("Every form shows all generators: compared within annotators, by McNemar's exact test.")
    else:
        say(
            f"Of the forms that show one of two generators {percent(planned.together)} show the other too."
            " All answers are compared, by the normal approximation to the permutation test."
        )
    say("Found: p and the interval of the difference both say so.")


def _tell_spammers(planned: Plan, seen: Outlook) -> None:
    from humaneval.planning.gate import describe

    say(describe(seen.gate, SPAMMERS_BORNE))
    needed = seen.controls_needed
    if needed is None or needed <= seen.gate.controls:
        return
    if planned.excluded == "row":
        say('It takes missed_control = "annotator" too: "row" leaves out only the form itself.')
    met = needed * planned.passages_per_row
    if 0 < planned.stories < met:
        say(f"It takes {met:,} stories too: nobody meets a story twice.")


def _tell_cues(cues: Sequence[CueScore]) -> None:
    from rich.table import Table

    names = list(dict.fromkeys(cue.cue for cue in cues))
    table = Table("Always the", *names, box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for generator in dict.fromkeys(cue.generator for cue in cues):
        mine = {cue.cue: cue.score for cue in cues if cue.generator == generator}
        table.add_row(generator, *(percent(mine[name]) for name in names))
    say()
    say("What annotators would score who understand nothing and mark by a cue (anywhere: 80%):")
    console().print(table)
    from humaneval.planning.cues import PLACES

    telling = [cue for cue in cues if cue.score < TELLING]
    for name in dict.fromkeys(cue.cue for cue in telling):
        found = ", ".join(
            f"{percent(1 - cue.score)} of {cue.generator}" for cue in telling if cue.cue == name
        )
        advice = (
            "Take out sentences at all five positions."
            if name in PLACES
            else (
                "`generate --length-matched` and `--processing` help."
                if name in ("longest", "shortest")
                else "Other settings of the generator, or `--processing`, may help."
            )
        )
        say(f'Marking "{name}" alone finds {found}: scores would measure that. {advice}')


SPAMMERS_BORNE = 0.01
"""Among those who pass."""
TELLING = 0.6
"""A cue that leaves a generator less than this is said: it finds twice as many of its sentences as chance
does."""
