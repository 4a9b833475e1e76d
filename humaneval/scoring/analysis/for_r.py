"""The responses for mixed-model programs: one line per response that counts, and the models in R."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from humaneval.domain import Role
from humaneval.scoring.asked import TableQuestion
from humaneval.scoring.exclusions import Rule, select
from humaneval.scoring.judgments import Judgments, judgments
from humaneval.scoring.questions.in_r import RColumn


def columns_of(told: TableQuestion, *, pairs: bool) -> Mapping[str, RColumn]:
    """Every column of `responses_r.csv` for this question. With `pairs`, passages have two generators."""
    longest = told.sentences + told.question.rest
    outcomes = told.question.in_r(told.question.scales(told.settings, told.sentences)).outcomes
    several = {"other": RColumn("factor", "the generator whose sentence was shown second")} if pairs else {}
    marks = told.question.marks_sentence
    chosen = f"which sentence was marked, 1 to {longest}" if marks else "the answer, by its number"
    return {
        **{name: RColumn(one.type, one.meaning) for name, one in outcomes.items()},
        "generator": RColumn("factor", "the generator; R takes the first in the alphabet as its baseline"),
        **several,
        "role": RColumn(
            "factor",
            "system or human; without Control, because by the rule every annotator who is left noticed it",
        ),
        "worker": RColumn("factor", "the annotator’s pseudonym"),
        "story": RColumn("factor", "the story’s key"),
        "position": RColumn("integer", f"the position of the sentence, 1 to {longest}"),
        "choice": RColumn("integer", chosen),
        "order": RColumn("integer", "the place of the passage in its form, from 1; empty if unknown"),
        "seconds": RColumn("numeric", "time on the passage by the page’s timer; empty if unknown"),
    }


def rows_for_models(
    frame: pd.DataFrame,
    rule: Rule | None = None,
    *,
    control: str | None = None,
    human: str | None = None,
    told: TableQuestion | None = None,
) -> pd.DataFrame:
    """The responses in `frame` that count under `rule`, of systems and Human, with the columns of
    `columns_of`.

    Raises the errors of `humaneval.scoring.scores.score`.
    """
    answers = judgments(frame, control=control, human=human, told=told)
    kept = select(answers, rule or Rule()).kept & ~answers.is_role(Role.CONTROL)
    lines = frame.loc[kept]
    nothing = pd.Series(index=lines.index, dtype="float64")
    return pd.DataFrame(
        {
            **_outcomes(answers, kept),
            "generator": lines["generator"],
            **({} if answers.other is None else {"other": lines["other"]}),
            "role": [str(answers.roles[code]) for code in answers.generator[kept]],
            "worker": lines["worker"],
            "story": lines["story"],
            "position": answers.position[kept],
            "choice": answers.choice[kept],
            "order": pd.to_numeric(lines.get("order", nothing)).astype("Int64"),
            "seconds": lines.get("seconds", nothing),
        }
    )


def _outcomes(answers: Judgments, kept: np.ndarray) -> dict[str, np.ndarray]:
    found = {}
    for name, one in answers.question.in_r(answers.scales).outcomes.items():
        worth = answers.worth.outcomes[one.scale][kept, 0]
        worth = 1.0 - worth if one.reversed else worth
        found[name] = worth.astype(int) if one.type == "integer" else worth
    return found


def script(seed: int, told: TableQuestion, *, pairs: bool = False) -> str:
    """An R script that fits the question's models to `responses_r.csv`. It names the class of each column: R
    would take generators, stories or workers that are numbers for amounts."""
    made = told.question.in_r(told.question.scales(told.settings, told.sentences))
    columns = columns_of(told, pairs=pairs)
    classes = ",\n".join(f'  {name} = "{column.type}"' for name, column in columns.items())
    return f"""# Needs the package {made.package}.
library({made.package})
set.seed({seed})
# R would take a generator called 125 for a number, and one called NA for a missing value.
classes <- c(
{classes}
)
responses <- read.csv("responses_r.csv", colClasses = classes, na.strings = "", encoding = "UTF-8")
# An apostrophe before = + - @ keeps spreadsheets from running a name. It is no part of the name.
for (column in names(classes)[classes == "factor"])
  levels(responses[[column]]) <- sub("^'('*[[:space:]]*[=+@-])", "\\\\1", levels(responses[[column]]))
{made.models}"""
