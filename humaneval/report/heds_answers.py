"""The answers of the Human Evaluation Datasheet that the store knows. What only the researcher knows is not
guessed."""

from __future__ import annotations

from typing import NamedTuple

from humaneval.domain import Role
from humaneval.report import phrases, verdicts
from humaneval.report.dossier import Dossier
from humaneval.report.ethics import required
from humaneval.report.heds_questions import ASKED, CRITERIA, DESIGN, EVALUATORS, KIND, SAMPLE
from humaneval.report.methods import listed, of_role, several
from humaneval.report.phrases import amount, between, confidence, percent
from humaneval.scoring.analysis.effects import Agreement
from humaneval.scoring.questions.detect import spelled
from humaneval.scoring.questions.question import Scale
from humaneval.scoring.scores import GeneratorScore, ScoreTable
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.pay import HourlyPay, Pay

MARK = "sentence {}"


class Answer(NamedTuple):
    """The text of an answer, and the options that are ticked."""

    text: str
    ticks: frozenset[int] = frozenset()


def answers(known: Dossier) -> dict[str, Answer]:
    """Answers by the key of their question. The researcher fills in the questions that are missing here."""
    found = {
        **_systems(known),
        **_sample(known),
        **_evaluators(known),
        **_design(known),
        **_criterion(known),
        **_elicitation(known),
        "ethics-personal_data": Answer(
            "The platform ids of evaluators are personal data. The database keeps them in a separate table;"
            " every export, report and archive uses pseudonyms instead."
            if not known.data.answerers.only_programs
            else "None. The evaluators are programs."
        ),
    }
    return found


def _tick(*numbers: int, text: str = "") -> Answer:
    return Answer(text, frozenset(numbers))


def _systems(known: Dossier) -> dict[str, Answer]:
    human = of_role(known.analysis.table, Role.HUMAN)
    asked = known.analysis.table.asked
    story = f"story of {spelled(asked.sentences)} sentences"
    given = f"A {story} without the sentence to be written."
    task = "Text infilling: writing the sentence that is missing from a story."
    if asked.question.rest:
        given, task = f"The beginning of a {story}.", "Text continuation: writing the rest of a story."
    found = {
        "system-input_types": _tick(6, text=given),
        "system-output_types": _tick(*([5, 13] if human else [5])),
        "system-tasks": _tick(20, text=task),
    }
    language = known.settings.page.language_of_stories
    if language.split("-")[0].lower() == "en":
        found |= {"system-input_languages": _tick(41), "system-output_languages": _tick(41)}
    return found


def _sample(known: Dossier) -> dict[str, Answer]:
    table, design, plan, seen = known.analysis.table, known.data.design, known.plan, known.outlook
    assert design is not None
    each = "; ".join(
        f"{row.generator}: {several(row.n, 'passage', 'passages')} from"
        f" {several(row.stories, 'story', 'stories')}"
        for row in table.scores
    )
    low, high = plan.expected_score, plan.expected_score + plan.smallest_effect
    if seen.systems:
        power = (
            f"Before the study: {percent(seen.systems.power)} % for two scores of {percent(low)} % and"
            f" {percent(high)} %, and {percent(seen.systems.power_in_family)} % if that is the hardest of the"
            f" {several(plan.comparisons, 'declared comparison', 'declared comparisons')}, with"
            f" {seen.responses:.1f} responses to each generator expected after the Control passages have"
            " excluded annotators."
        )
    else:
        power = (
            "No systems are compared. The interval of a score was expected to reach ±"
            f" {percent(seen.half_width)} points."
        )
    return {
        f"{SAMPLE}-number_of_system_outputs": Answer(f"Analysed: {each}."),
        f"{SAMPLE}-system_output_selection": _tick(
            2,
            text=(
                f"Passages were drawn at random (seed {design.seed}) from"
                f" {several(design.stories or 0, 'story', 'stories')}, balanced over the positions of the"
                " sentence and over the places in a form."
            ),
        ),
        f"{SAMPLE}-statistical_power-value": Answer(power),
        f"{SAMPLE}-statistical_power-method": Answer(
            "Exact power of McNemar’s mid-p test of paired answers (if forms show only some of the systems,"
            " the normal approximation to the permutation test). The correlation of an evaluator’s answers"
            f" ({seen.correlation:.3f}) follows from a standard deviation of evaluators of {plan.worker_sd:g}"
            f" on the logit scale. The error is {1 - plan.level:.3g}, divided by the number of comparisons"
            " within the family."
        ),
        f"{SAMPLE}-statistical_power-script": Answer(f"humaneval study plan {known.name} --json"),
    }


def _evaluators(known: Dossier) -> dict[str, Answer]:
    table, settings, data = known.analysis.table, known.settings, known.data
    people = table.annotators
    only_programs = data.answerers.only_programs
    programs = f" {data.answerers}." if data.simulated else ""
    if only_programs:
        programs = " All are programs, not people."
    pilot = " The study is a pilot or test." if data.test or table.rule.tests == "only" else ""
    found = {
        f"{EVALUATORS}-number_of_evaluators": Answer(
            f"{people.collected:,}, of whom {people.analysed:,} {'is' if people.analysed == 1 else 'are'}"
            f" analysed.{programs}"
        ),
        f"{KIND}-description": Answer(f"{_where(known)}{programs}{pilot}"),
        f"{KIND}-payment": _payment(known),
        f"{EVALUATORS}-recruitment_method": Answer(f"{_where(known)} {required(known.settings)}{programs}"),
        f"{EVALUATORS}-training_practice": Answer(
            "No training and no practice. "
            + (
                f"Instructions above the passages: “{' '.join(settings.page.instructions.split())}”"
                if settings.page.instructions
                else "There are no instructions besides the question."
            )
        ),
        f"{EVALUATORS}-characteristics": Answer(
            f"{required(known.settings)} Nothing else is asked or recorded."
        ),
    }
    if only_programs:
        found[f"{KIND}-expertise"] = _tick(3, text="Programs, not people.")
        found[f"{KIND}-known_to_authors"] = _tick(3, text="Programs, not people.")
        found[f"{KIND}-are_authors"] = _tick(2, text="Programs, not people.")
    return found


def _where(known: Dossier) -> str:
    places = known.data.repeat.through
    return f"Through {listed(places) if places else 'no known platform'}."


def _payment(known: Dossier) -> Answer:
    if known.data.answerers.only_programs:
        return _tick(3, text="Programs are not paid.")
    settings, pay = known.settings, known.pay
    only_link = known.data.repeat.endpoint == "link"
    if settings.hit.reward == 0 or (only_link and settings.link.pay == "none"):
        return _tick(3)
    sign = settings.hit.sign
    text = f"{sign}{settings.hit.reward} per form."
    if known.data.money and known.data.money.otherwise:
        text += f" The platform paid {known.data.money.otherwise} for some."
    if isinstance(pay, Pay):
        estimates = {
            "by the page’s own timers": pay.in_page,
            "from opening a form to submitting it, overlaps counted once": pay.union,
            "the same, overlaps counted for each form": pay.work_time,
        }
        hours = [
            f"{sign}{one.median:.2f} {how}" for how, one in estimates.items() if isinstance(one, HourlyPay)
        ]
        if hours:
            text += f" The hourly wage (median over evaluators) was {'; '.join(hours)}."
    return _tick(1, text=text)


def _design(known: Dossier) -> dict[str, Answer]:
    table, settings, data = known.analysis.table, known.settings, known.data
    design = data.design
    assert design is not None
    rule, contact = table.rule, settings.consent.contact
    checked = [2] if rule.control != "none" or rule.speed or rule.straight_lining or rule.spam else []
    by_person = (
        rule.control == "annotator" or rule.incomplete or rule.speed or rule.straight_lining or rule.spam
    )
    checked += [4] if by_person else []
    checked += [5] if rule.control == "row" else []
    noticed = f" {phrases.control(table)}" if table.control else ""
    fixed = "before the first answer was collected" if rule.tests != "only" else "when the study was made"
    minutes = settings.hit.assignment_minutes
    return {
        f"{DESIGN}-preregistered": Answer(
            "This software does not know of a registration. The design (SHA-256"
            f" {design.hash}) and the study file (SHA-256 {data.repeat.study_hash}), which contains the"
            f" exclusion rule and the comparisons, were fixed {fixed}."
        ),
        f"{DESIGN}-collection_method": Answer(f"A web form of humaneval-toolkit. {_where(known)}"),
        f"{DESIGN}-quality_assurance-method": _tick(*(checked or [6])),
        f"{DESIGN}-quality_assurance-description": Answer(
            f"{rule.describe()}{noticed} {phrases.excluded(table)}"
        ),
        f"{DESIGN}-what_evaluators_see-description": Answer(
            f"A consent text (version {settings.consent.version}), instructions, and"
            f" {several(design.passages_per_row or 0, 'passage', 'passages')} of"
            f" {spelled(table.asked.sentences)} sentences with"
            f" {'one button per sentence' if table.detects else 'the question below each'}; below them, a"
            " field for comments."
        ),
        f"{DESIGN}-evaluator_freedom": _tick(
            4,
            text=f"{several(minutes, 'minute', 'minutes')} for a whole form; no limit for one assessment.",
        ),
        f"{DESIGN}-evaluators_can_ask_questions": _tick(
            *([1, 2, 3] if contact else [3]),
            text="A field for comments stands below the passages"
            + (
                ", and a contact on the consent text and on every page."
                if contact
                else "; no contact was given."
            ),
        ),
        f"{DESIGN}-experimental_conditions": (
            _tick(8, text="Programs.") if data.answerers.only_programs else _tick(1)
        ),
        f"{DESIGN}-evaluators_place_of_choosing": Answer("N/A"),
    }


def _criterion(known: Dossier) -> dict[str, Answer]:
    asked = known.analysis.table.asked
    side_by_side = asked.question.foreseen(asked.settings, asked.sentences).pairwise
    return {
        f"{CRITERIA}-criteria-output_aspect": _tick(3),
        f"{CRITERIA}-evaluation_mode-objective_or_subjective": _tick(2),
        f"{CRITERIA}-evaluation_mode-absolute_or_relative": (
            _tick(2, text="Two generators’ sentences are compared, side by side.")
            if side_by_side
            else _tick(
                1,
                text="Each passage has the sentence of one generator; a form has passages of several.",
            )
        ),
        f"{CRITERIA}-evaluation_mode-intrinsic_or_extrinsic": _tick(1),
    }


def _elicitation(known: Dossier) -> dict[str, Answer]:
    table, page = known.analysis.table, known.settings.page
    agreement = known.analysis.effects.agreement
    fields = table.asked.question.fields(table.asked.settings, table.asked.sentences)
    many = max(field.values for field in fields)
    each = MARK if table.detects else "{}"
    methods = [
        phrases.method(table.scores),
        verdicts.method(table.comparisons, table.level, table.words.compared),
    ]
    return {
        f"{ASKED}-participant_criterion_name": Answer("N/A"),
        f"{ASKED}-participant_criterion_definiiton": Answer(" ".join(page.instructions.split()) or "N/A"),
        f"{ASKED}-size_of_scale": _tick(1, text=str(many)),
        f"{ASKED}-list_or_range": Answer(", ".join(each.format(number) for number in range(1, many + 1))),
        f"{ASKED}-scale_presented_as": _tick(1),
        f"{ASKED}-task_description": Answer("N/A"),
        f"{ASKED}-verbatim_question": Answer(page.question),
        f"{ASKED}-form_of_response": _tick(
            7,
            text=(
                "Evaluators mark the sentence that they take for the machine’s."
                if table.detects
                else table.words.task
            ),
        ),
        f"{ASKED}-response_aggregation": Answer(
            " ".join(filter(None, (_meaning(table), phrases.chance(table), _scores(known))))
        ),
        f"{ASKED}-effect_size_method": Answer(
            "Effect size: the difference of two scores. " + " ".join(filter(None, methods))
            if table.comparisons
            else f"None. Scores have intervals at the {confidence(table.level)} % level. {methods[0]}"
        ),
        f"{ASKED}-inter_annotator-agreement": _tick(1 if isinstance(agreement, Agreement) else 3),
        f"{ASKED}-inter_annotator-agreement_score": Answer(_agreement(agreement)),
        f"{ASKED}-intra_annotator-intra_annotator_agreement": _tick(2),
        f"{ASKED}-intra_annotator-intra_annotator_agreement_score": Answer(
            "No evaluator judges a passage twice."
        ),
    }


def _meaning(table: ScoreTable) -> str:
    if table.detects:
        return (
            "The score of a generator is the share of its passages whose evaluator did not mark its sentence"
            " (for Human, the sentence at the held-out position)."
        )
    return " ".join(one.words.score for one in table.all_scales)


def _scores(known: Dossier) -> str:
    return " ".join(map(_scores_on, known.analysis.table.all_scales))


def _counts(row: GeneratorScore, scale: Scale) -> str:
    return f"{row.not_identified:,} of {row.n:,}" if scale.binary else f"{row.n:,} responses"


def _scores_on(table: ScoreTable) -> str:
    scale = table.scale
    sign = " %" if scale.share else ""
    each = "; ".join(
        f"{row.generator} {amount(row.score, scale)}{sign} ({_counts(row, scale)};"
        f" {between(row.interval, scale) if row.interval else row.note.rstrip('.')})"
        for row in table.scores
    )
    named = f" on {scale.name.replace('_', ' ')}" if scale.name else ""
    return f"Scores{named}, with {confidence(table.level)} % intervals: {each}."


def _agreement(found: Agreement | NotEstimable) -> str:
    if isinstance(found, NotEstimable):
        return f"Not estimable, because {found.because}."
    figures = [
        (
            f"{one.name} not estimable ({one.value.because})"
            if isinstance(one.value, NotEstimable)
            else f"{one.name} {one.value:.3f}"
            + (
                ""
                if isinstance(one.interval, NotEstimable)
                else f" ({one.interval.low:.3f} to {one.interval.high:.3f})"
            )
        )
        for one in found.coefficients
    ]
    return (
        f"On {several(found.passages, 'passage', 'passages')} with at least two answers:"
        f" {'; '.join(figures)}."
    )
