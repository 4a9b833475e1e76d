"""What a question has of its own in `responses_r.csv` and `model.R`: columns with outcomes, and models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from humaneval.scoring.questions.question import Scale

RANDOM = "(1 | worker) + (1 | story)"


class RColumn(NamedTuple):
    """The class that R gives a column, and what it holds."""

    type: str
    meaning: str


class ROutcome(NamedTuple):
    """A column with what an answer is worth to the (first) generator."""

    type: str
    meaning: str
    scale: str
    """The scale's name."""
    reversed: bool = False
    """Whether 1 stands for an outcome of 0."""


@dataclass(frozen=True, slots=True)
class InR:
    """A package of R, the columns that its models explain, and the models, as R code about `responses`."""

    package: str
    outcomes: Mapping[str, ROutcome]
    models: str


def of_scale(scale: Scale, *, beside_human: bool = True) -> InR:
    """A mixed model of outcomes on one scale: logistic if they are 0 or 1, else linear."""
    name = scale.name or "outcome"
    kind, family = ("integer", ", family = binomial") if scale.binary else ("numeric", "")
    fit = "glmer" if scale.binary else "lmer"
    outcome = ROutcome(kind, f"what the answer is worth, {scale.low:g} to {scale.high:g}", scale.name)
    call = f"{fit}({name} ~ generator + {RANDOM}, data = %s{family})"
    return InR("lme4", {name: outcome}, _models(call, beside_human=beside_human))


def identified(sentence: str, scale: Scale) -> InR:
    """A logistic mixed model of whether the machine's sentence was found."""
    outcome = ROutcome("integer", sentence, scale.name, reversed=True)
    call = f"glmer(identified ~ generator + {RANDOM}, data = %s, family = binomial)"
    return InR("lme4", {"identified": outcome}, _models(call))


def ratings(scales: Sequence[Scale]) -> InR:
    """A cumulative-link mixed model of each scale."""
    outcomes = {
        one.name: ROutcome("integer", f"the rating, 1 to {one.high:g}; higher is better", one.name)
        for one in scales
    }
    models = [
        f"# The scale {name}\n" + _models(f"clmm(factor({name}) ~ generator + {RANDOM}, data = %s)")
        for name in outcomes
    ]
    return InR("ordinal", outcomes, "".join(models))


def preferences(scale: Scale) -> InR:
    """Bradley and Terry's model."""
    meaning = (
        "1 if the sentence by the first generator was preferred, 0 if that by the other, 0.5 for neither"
    )
    models = """\
# Strengths against the first generator, a tie as half for each. The errors take answers as unrelated.
# Those of the report are clustered by annotator and story.
both <- union(levels(responses$generator), levels(responses$other))
for (column in c("generator", "other"))
  responses[[column]] <- factor(responses[[column]], levels = both)
responses$preferred_other <- 1 - responses$preferred
"""
    models += _fitted("model", "BTm(cbind(preferred, preferred_other), generator, other, data = responses)")
    return InR("BradleyTerry2", {"preferred": ROutcome("numeric", meaning, scale.name)}, models)


def _models(call: str, *, beside_human: bool = True) -> str:
    shown = _fitted("model", call % "responses") if beside_human else ""
    compared = "print(anova(update(among, . ~ . - generator), among))"
    alone = [] if beside_human else ["print(summary(among))"]
    among = _fitted("among", call % "systems", *alone, compared).splitlines()
    lines = (
        "# Do the systems differ at all? Human is the upper end, not a competitor.",
        'systems <- droplevels(subset(responses, role == "system"))',
        "if (nlevels(systems$generator) > 1) {",
        *("  " + line for line in among),
        "}",
    )
    return shown + "\n".join(lines) + "\n"


def _fitted(name: str, call: str, *then: str) -> str:
    """R stops at the first error. A model that the answers do not allow must not take the others with it."""
    told = "; ".join(then) or f"print(summary({name}))"
    return f'{name} <- try({call})\nif (!inherits({name}, "try-error")) try({{ {told} }})\n'
