"""The questions of the Human Evaluation Datasheet: their numbers, the keys of its web form, and our own short
labels.

HEDS is by Shimorina and Belz (2022), https://aclanthology.org/2022.humeval-1.6. Options are identified by
their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

CRITERION = "Humanlikeness"
"""The one quality criterion: can people tell the machine's sentence?"""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `key` is that of the web form, without `heds-`; if there are `options`, each has its own
    key."""

    number: str
    label: str
    key: str
    options: dict[int, str] = field(default_factory=dict)
    """Option number → its meaning; empty for a question that is answered in words."""
    words: str = ""
    """The key of the text field beside the options; empty if the web form has no such field."""
    criterion: bool = False
    """Whether it is asked for each quality criterion."""


PAPER, SAMPLE, EVALUATORS = (
    "paper_and_resources",
    "sample_evaluators_design-sample",
    "sample_evaluators_design-evaluators",
)
DESIGN, CRITERIA = "sample_evaluators_design-experimental_design", "criteria-criterion"
ASKED = f"{CRITERIA}-response_elicitation"
KIND, AUTHORS = f"{EVALUATORS}-evaluators", f"{PAPER}-names_and_affiliations"


def _ticks(
    number: str,
    label: str,
    key: str,
    options: dict[int, str],
    *,
    words: str = "other_text",
    criterion: bool = False,
) -> Question:
    return Question(number, label, key, options, f"{key}-{words}" if words else "", criterion)


QUESTIONS = (
    Question("1.1", "Paper", f"{PAPER}-paper-link"),
    Question("1.1", "Which experiment in it", f"{PAPER}-paper-experiment_identification"),
    Question("1.2", "Resources", f"{PAPER}-resources-links"),
    Question("1.3", "Person completing this sheet", f"{AUTHORS}-person_completing_this_sheet-name"),
    Question("1.3", "Their affiliation", f"{AUTHORS}-person_completing_this_sheet-affiliation"),
    Question("1.3", "Their address", f"{AUTHORS}-person_completing_this_sheet-email"),
    Question("1.3", "Contact author", f"{AUTHORS}-contact_author-name"),
    Question("1.3", "Contact author’s affiliation", f"{AUTHORS}-contact_author-affiliation"),
    Question("1.3", "Contact author’s address", f"{AUTHORS}-contact_author-email"),
    _ticks("2.1", "Input of the systems", "system-input_types", {6: "text of several sentences"}),
    _ticks("2.2", "Output of the systems", "system-output_types", {5: "a sentence", 13: "written by people"}),
    _ticks("2.3", "Task of the systems", "system-tasks", {20: "other"}),
    _ticks("2.4", "Language of the input", "system-input_languages", {41: "English"}),
    _ticks("2.5", "Language of the output", "system-output_languages", {41: "English"}),
    Question("3.1.1", "Outputs per system", f"{SAMPLE}-number_of_system_outputs"),
    _ticks(
        "3.1.2",
        "Selection of the outputs",
        f"{SAMPLE}-system_output_selection",
        {1: "at random", 2: "at random, stratified", 3: "by hand", 4: "by hand, balanced", 5: "other"},
    ),
    Question("3.1.3", "Statistical power", f"{SAMPLE}-statistical_power-value"),
    Question("3.1.3", "How power was computed", f"{SAMPLE}-statistical_power-method"),
    Question("3.1.3", "Script for the power", f"{SAMPLE}-statistical_power-script"),
    Question("3.2.1", "Evaluators", f"{EVALUATORS}-number_of_evaluators"),
    _ticks("3.2.2", "Expertise", f"{KIND}-expertise", {1: "experts", 2: "not experts", 3: "other"}),
    _ticks(
        "3.2.2", "Payment", f"{KIND}-payment", {1: "money", 2: "other than money", 3: "not paid", 4: "other"}
    ),
    _ticks(
        "3.2.2", "Known to the authors", f"{KIND}-known_to_authors", {1: "known", 2: "not known", 3: "other"}
    ),
    _ticks("3.2.2", "Authors among them", f"{KIND}-are_authors", {1: "some are", 2: "none are", 3: "other"}),
    Question("3.2.2", "Description of the evaluators", f"{KIND}-description"),
    Question("3.2.3", "Recruitment", f"{EVALUATORS}-recruitment_method"),
    Question("3.2.4", "Training and practice", f"{EVALUATORS}-training_practice"),
    Question("3.2.5", "Other characteristics", f"{EVALUATORS}-characteristics"),
    _ticks("3.3.1", "Preregistration", f"{DESIGN}-preregistered", {1: "yes", 2: "no"}),
    Question("3.3.2", "How responses were collected", f"{DESIGN}-collection_method"),
    _ticks(
        "3.3.3",
        "Quality assurance",
        f"{DESIGN}-quality_assurance-method",
        {
            1: "native speakers only",
            2: "automatic checks",
            3: "checks by hand",
            4: "evaluators excluded",
            5: "evaluations excluded",
            6: "none",
        },
        words="",
    ),
    Question("3.3.3", "Description of quality assurance", f"{DESIGN}-quality_assurance-description"),
    Question("3.3.4", "What evaluators see", f"{DESIGN}-what_evaluators_see-description"),
    Question("3.3.4", "Screenshot", f"{DESIGN}-what_evaluators_see-link"),
    _ticks(
        "3.3.5",
        "Freedom of time",
        f"{DESIGN}-evaluator_freedom",
        {1: "each assessment in a set time", 2: "all in one sitting", 3: "neither", 4: "other"},
    ),
    _ticks(
        "3.3.6",
        "Questions and feedback",
        f"{DESIGN}-evaluators_can_ask_questions",
        {1: "before", 2: "during", 3: "feedback afterwards", 4: "none"},
    ),
    _ticks(
        "3.3.7",
        "Conditions",
        f"{DESIGN}-experimental_conditions",
        {
            1: "a place of their choice",
            2: "lab, the same",
            3: "lab, varied",
            4: "real life, the same",
            5: "real life, varied",
            6: "like real life, the same",
            7: "like real life, varied",
            8: "other",
        },
    ),
    Question("3.3.8", "Description of the conditions", f"{DESIGN}-evaluators_place_of_choosing"),
    _ticks(
        "4.1.1",
        "Type of quality",
        f"{CRITERIA}-criteria-quality_type",
        {1: "correctness", 2: "goodness", 3: "feature"},
        criterion=True,
    ),
    _ticks(
        "4.1.2",
        "Aspect of the output",
        f"{CRITERIA}-criteria-output_aspect",
        {1: "form", 2: "content", 3: "both"},
        criterion=True,
    ),
    _ticks(
        "4.1.3",
        "Frame of reference",
        f"{CRITERIA}-criteria-self_vs_external_frame",
        {1: "none", 2: "the input", 3: "something else"},
        criterion=True,
    ),
    _ticks(
        "4.2.1",
        "Objective or subjective",
        f"{CRITERIA}-evaluation_mode-objective_or_subjective",
        {1: "objective", 2: "subjective"},
        criterion=True,
    ),
    _ticks(
        "4.2.2",
        "Absolute or relative",
        f"{CRITERIA}-evaluation_mode-absolute_or_relative",
        {1: "absolute", 2: "relative"},
        criterion=True,
    ),
    _ticks(
        "4.2.3",
        "Intrinsic or extrinsic",
        f"{CRITERIA}-evaluation_mode-intrinsic_or_extrinsic",
        {1: "intrinsic", 2: "extrinsic"},
        criterion=True,
    ),
    Question("4.3.1", "Its name for evaluators", f"{ASKED}-participant_criterion_name", criterion=True),
    Question(
        "4.3.2", "Its definition for evaluators", f"{ASKED}-participant_criterion_definiiton", criterion=True
    ),  # as the form spells it
    _ticks(
        "4.3.3",
        "Size of the scale",
        f"{ASKED}-size_of_scale",
        {1: "discrete", 2: "continuous", 3: "none"},
        criterion=True,
    ),
    Question("4.3.4", "Values of the scale", f"{ASKED}-list_or_range", criterion=True),
    _ticks(
        "4.3.5",
        "How it is presented",
        f"{ASKED}-scale_presented_as",
        {1: "one of several", 2: "any of several", 3: "slider", 4: "no scale", 5: "other"},
        criterion=True,
    ),
    Question("4.3.6", "Task if there is no scale", f"{ASKED}-task_description", criterion=True),
    Question("4.3.7", "The question, word for word", f"{ASKED}-verbatim_question", criterion=True),
    _ticks(
        "4.3.8",
        "Form of response",
        f"{ASKED}-form_of_response",
        {
            1: "agreement",
            2: "direct estimate",
            3: "relative estimate",
            4: "counting",
            5: "in words",
            6: "editing",
            7: "labelling",
            8: "interaction with text",
            9: "performance at a task",
            10: "interaction with a system",
            11: "other",
        },
        criterion=True,
    ),
    Question("4.3.9", "Aggregation", f"{ASKED}-response_aggregation", criterion=True),
    Question("4.3.10", "Effect size and significance", f"{ASKED}-effect_size_method", criterion=True),
    _ticks(
        "4.3.11",
        "Agreement between evaluators",
        f"{ASKED}-inter_annotator-agreement",
        {1: "yes", 2: "no", 3: "not applicable"},
        criterion=True,
    ),
    Question(
        "4.3.11",
        "Agreement between evaluators, figures",
        f"{ASKED}-inter_annotator-agreement_score",
        criterion=True,
    ),
    _ticks(
        "4.3.12",
        "Agreement of evaluators with themselves",
        f"{ASKED}-intra_annotator-intra_annotator_agreement",
        {1: "yes", 2: "no", 3: "not applicable"},
        criterion=True,
    ),
    Question(
        "4.3.12",
        "Agreement with themselves, figures",
        f"{ASKED}-intra_annotator-intra_annotator_agreement_score",
        criterion=True,
    ),
    Question("5.1", "Ethics committee", "ethics-review_body"),
    Question("5.2", "Personal data", "ethics-personal_data"),
    Question("5.3", "Special category data", "ethics-special_category_data"),
    Question("5.4", "Impact assessments", "ethics-impact_assessments"),
)
