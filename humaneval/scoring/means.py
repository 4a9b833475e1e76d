"""The interval of a mean outcome on its scale: Wilson's, at as many answers as give its standard error."""

from __future__ import annotations

from humaneval.statistics.arrays import Floats, NotEstimable
from humaneval.statistics.intervals import Interval, MeanOutcome
from humaneval.statistics.mean_intervals import BY_SCALE, BY_SCALE_CLUSTERED, mean_interval, wilson_on_scale


def mean_on_scale(
    outcomes: Floats, workers: Floats, stories: Floats, scale: Interval, level: float = 0.95
) -> MeanOutcome:
    """The mean's place on the scale, p = (mean − low)/(high − low), has Wilson's interval at n_e·z²/t²
    answers. There n_e = p(1 − p)/V, and V is the variance of p (`humaneval.statistics.mean_intervals`).

    For outcomes at both ends of the scale it is the interval of a share. Near an end it is skewed, as the
    means are, and never goes beyond it. There, mean ± t errors would hold the truth in 89 instead of 95 of
    100 studies. Where nothing varies, n_e is n. With a single worker or story, it is the whole scale.
    """
    found = mean_interval(outcomes, workers, stories, level, scale=scale)
    width = scale.high - scale.low
    place = min(max((found.mean - scale.low) / width, 0.0), 1.0)
    method = BY_SCALE if found.workers == found.stories == found.n else BY_SCALE_CLUSTERED
    interval, effective, note = scale, 1.0, found.note
    if isinstance(found.standard_error, NotEstimable):
        note = f"The interval is the whole scale, because {found.standard_error.because}."
    elif not found.standard_error:
        effective = float(found.n)
        if not isinstance(found.interval, NotEstimable):
            interval = found.interval
    else:
        effective = place * (1.0 - place) * (width / found.standard_error) ** 2
        freedom = None if method == BY_SCALE else found.freedom
        interval = wilson_on_scale(found.mean, found.standard_error, scale, level, freedom)
    return MeanOutcome(
        found.n,
        float(outcomes.sum()),
        found.workers,
        found.stories,
        interval,
        method,
        found.design_effect,
        effective,
        note,
    )
