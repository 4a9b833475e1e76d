"""Which of two was preferred: pairs compared by sign tests, and a ranking by Bradley and Terry's model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from humaneval.domain import Role
from humaneval.scoring.analysis.estimable import estimated
from humaneval.scoring.judgments import Judgments
from humaneval.scoring.questions.judging import Detail, DetailColumn
from humaneval.statistics.arrays import Codes, Flags, Floats, NotEstimable, places
from humaneval.statistics.bradley_terry import BradleyTerry, RankInterval, Strength, bradley_terry
from humaneval.statistics.intervals import Interval
from humaneval.statistics.score_intervals import PairedDifference
from humaneval.statistics.sign_flips import Alternative
from humaneval.statistics.sign_test import SignTest, sign_test


def pair_differences(
    answers: Judgments,
    kept: Flags,
    pairs: Sequence[tuple[int, int]],
    level: float,
    alternative: Alternative,
    decisive: Sequence[float],
) -> tuple[PairedDifference, ...]:
    """Share preferred of the first less that of the second, among the comparisons of the two alone."""
    met, nowhere = _by_pair(answers, kept), np.empty(0, dtype=np.int64)
    return tuple(
        _difference(answers, met.get((min(a, b), max(a, b)), nowhere), a, b, level, alternative, decisive)
        for a, b in pairs
    )


def _difference(
    answers: Judgments,
    at: Codes,
    a: int,
    b: int,
    level: float,
    alternative: Alternative,
    decisive: Sequence[float],
) -> PairedDifference:
    signs = _signs(answers, at) * np.where(answers.generator[at] == a, 1.0, -1.0)
    columns = (signs, answers.worker[at], answers.story[at])
    found = sign_test(*columns, ties="half", level=level, alternative=alternative, decisive=decisive)
    share, interval, note = found.share, found.interval, found.note
    if isinstance(share, NotEstimable):
        share = 0.5
    if isinstance(interval, NotEstimable):
        note = f"{note} The interval is a bound, because {interval.because}.".strip()
        interval = Interval(0.0, 1.0)
    around = Interval(2.0 * interval.low - 1.0, 2.0 * interval.high - 1.0)
    size = int(at.size)
    tested = (found.method, found.test, found.p, found.p_error)
    return PairedDifference(a, b, 2.0 * share - 1.0, around, *tested, size, float(size), note)


def details(answers: Judgments, kept: Flags, level: float) -> tuple[Detail, ...]:
    """The ranking, every pair, and whether the sentence shown first was preferred."""
    shown = kept & ~answers.is_role(Role.CONTROL)
    return (_ranking(answers, shown, level), _pairs(answers, shown, level), _first(answers, shown, level))


def fitted(answers: Judgments, shown: Flags) -> BradleyTerry | NotEstimable:
    """Bradley and Terry's model of the responses that are `shown`, ties after Davidson."""
    at = answers.in_order(shown)
    names = np.array(answers.names, dtype=object)
    if answers.other is None or not at.size:
        return NotEstimable("there are no comparisons")
    first, second = names[answers.generator[at]], names[answers.other[at]]
    return estimated(
        lambda: bradley_terry(first, second, _signs(answers, at), answers.worker[at], answers.story[at])
    )


def _ranking(answers: Judgments, shown: Flags, level: float) -> Detail:
    model = fitted(answers, shown)
    columns = (
        DetailColumn("generator", "Generator"),
        DetailColumn("rank", "Rank", "count"),
        DetailColumn("rank_low", "from", "count"),
        DetailColumn("rank_high", "to", "count"),
        DetailColumn("strength", "Strength", "log-odds"),
        DetailColumn("interval", "", "log-odds"),
    )
    title = "Ranking by Bradley and Terry’s model"
    if isinstance(model, NotEstimable):
        return Detail("ranking", title, columns, (), f"Not estimable, because {model.because}.")
    strengths = {name: model.strength(name, level) for name in model.names}
    rows = tuple(_ranked(one, strengths[one.name]) for one in model.ranks(level))
    note = (
        "Strength: log-odds of being preferred to an average generator; errors are clustered by annotator and"
        " story. Rank: from the best one that the answers leave open to the worst, adjusted by Holm."
        " Verdicts come from the declared comparisons, not from these ranks."
    )
    if model.tie:
        note += f" Between equals, {100 * model.tie / (model.tie + 2):.0f} % of answers are ties (Davidson)."
    reasons = [f"{one.name}: no strength, because {one.because}" for one in model.apart]
    return Detail("ranking", title, columns, rows, " ".join(filter(None, (note, *reasons, model.note))))


def _ranked(one: RankInterval, strength: Strength) -> tuple[object, ...]:
    interval = None if np.isnan(strength.standard_error) else strength.interval
    return (str(one.name), one.rank, one.low, one.high, strength.estimate, interval)


def _pairs(answers: Judgments, shown: Flags, level: float) -> Detail:
    """Every pair of generators that met: how often each was preferred."""
    rows = []
    for (a, b), at in _by_pair(answers, shown).items():
        signs = _signs(answers, at) * np.where(answers.generator[at] == a, 1.0, -1.0)
        found = sign_test(signs, answers.worker[at], answers.story[at], ties="half", level=level)
        rows.append((f"{answers.names[a]} – {answers.names[b]}", *_counts(found)))
    return Detail(
        "pairs", "Every pair: how often the first was preferred", _count_columns("Pair"), tuple(rows)
    )


def _first(answers: Judgments, shown: Flags, level: float) -> Detail:
    """Whether the sentence that was shown first was preferred, whatever it was."""
    at = answers.in_order(shown)
    rows: tuple[tuple[object, ...], ...] = ()
    if at.size:
        found = sign_test(
            _signs(answers, at), answers.worker[at], answers.story[at], ties="half", level=level
        )
        rows = (("shown first", *_counts(found), found.p),)
    columns = (*_count_columns("Sentence"), DetailColumn("p", "p", "p"))
    note = "Each pair is shown in both orders equally often, so that an effect of the order favours nobody."
    return Detail("shown_first", "Whether the order on the page mattered", columns, rows, note)


def _count_columns(head: str) -> tuple[DetailColumn, ...]:
    return (
        DetailColumn("name", head),
        DetailColumn("preferred", "Preferred", "count"),
        DetailColumn("not_preferred", "Not", "count"),
        DetailColumn("ties", "No difference", "count"),
        DetailColumn("share", "Share, %", "share"),
        DetailColumn("interval", "", "share"),
    )


def _counts(found: SignTest) -> tuple[object, ...]:
    return (found.wins, found.losses, found.ties, found.share, found.interval)


def _by_pair(answers: Judgments, kept: Flags) -> dict[tuple[int, int], Codes]:
    """Places of the responses by the two generators that they compare, the lower code first."""
    if answers.other is None:
        return {}
    at, size = np.flatnonzero(kept), len(answers.names)
    one, other = answers.generator[at], answers.other[at]
    found = places(np.minimum(one, other) * size + np.maximum(one, other))
    return {divmod(code, size): at[those] for code, those in found.items()}


def _signs(answers: Judgments, at: Codes) -> Floats:
    """1 where the first was preferred, −1 where the second was, else 0."""
    return np.rint(2.0 * answers.outcomes[at] - 1.0)
