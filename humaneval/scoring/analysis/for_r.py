"""The responses for mixed-model programs: one line per response that counts, and the model as an R
formula."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from humaneval.domain import Role
from humaneval.scoring.exclusions import Rule, select
from humaneval.scoring.judgments import judgments


class RColumn(NamedTuple):
    """The class that R gives a column, and what it holds."""

    type: str
    meaning: str


COLUMNS = {
    "identified": RColumn(
        "integer", "1 if the annotator marked the machine’s sentence (for Human: the held-out one), else 0"
    ),
    "generator": RColumn("factor", "the generator; R takes the first in the alphabet as its baseline"),
    "role": RColumn(
        "factor",
        "system or human; without Control, because by the rule every annotator who is left noticed it",
    ),
    "worker": RColumn("factor", "the annotator’s pseudonym"),
    "story": RColumn("factor", "the story’s key"),
    "position": RColumn("integer", "the position of the sentence, 1 to 5"),
    "choice": RColumn("integer", "which sentence was marked, 1 to 5"),
    "order": RColumn("integer", "the place of the passage in its form, from 1; empty if unknown"),
    "seconds": RColumn("numeric", "time on the passage by the page’s timer; empty if unknown"),
}
"""Every column of `responses_r.csv`."""

FORMULA = "identified ~ generator + (1 | worker) + (1 | story)"


def rows_for_models(frame: pd.DataFrame, rule: Rule | None = None) -> pd.DataFrame:
    """The responses in `frame` that count under `rule`, of systems and Human, with the columns of `COLUMNS`.

    Raises the errors of `humaneval.scoring.scores.score`.
    """
    answers = judgments(frame)
    kept = select(answers, rule or Rule()).kept & ~answers.is_role(Role.CONTROL)
    lines = frame.loc[kept]
    nothing = pd.Series(index=lines.index, dtype="float64")
    return pd.DataFrame(
        {
            "identified": (~answers.missed[kept]).astype(int),
            "generator": lines["generator"],
            "role": [str(answers.roles[code]) for code in answers.generator[kept]],
            "worker": lines["worker"],
            "story": lines["story"],
            "position": answers.position[kept],
            "choice": answers.choice[kept],
            "order": pd.to_numeric(lines.get("order", nothing)).astype("Int64"),
            "seconds": lines.get("seconds", nothing),
        }
    )


def script(seed: int) -> str:
    """An R script that fits the model to `responses_r.csv`. It names the class of each column: R would take
    generators, stories or workers that are numbers for amounts."""
    classes = ",\n".join(f'  {name} = "{column.type}"' for name, column in COLUMNS.items())
    return f"""# Needs the package lme4.
library(lme4)
set.seed({seed})
# R would take a generator called 125 for a number, and one called NA for a missing value.
classes <- c(
{classes}
)
responses <- read.csv("responses_r.csv", colClasses = classes, na.strings = "", encoding = "UTF-8")
# An apostrophe before = + - @ keeps spreadsheets from running a name. It is no part of the name.
for (column in names(classes)[classes == "factor"])
  levels(responses[[column]]) <- sub("^'('*[[:space:]]*[=+@-])", "\\\\1", levels(responses[[column]]))
model <- glmer({FORMULA}, data = responses, family = binomial)
print(summary(model))
# Do the systems differ at all? Human is a ceiling, not a competitor.
systems <- droplevels(subset(responses, role == "system"))
among <- glmer({FORMULA}, data = systems, family = binomial)
print(anova(update(among, . ~ . - generator), among))
"""
