"""Aggregation against Dawid and Skene's own data, crowd-kit, and crowds whose truth is known."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.errors import InputError, UsageError
from humaneval.statistics.aggregation import Aggregate, dawid_skene, mace, majority_vote

QUICK = settings(max_examples=30, deadline=None)

# Dawid and Skene 1979, table 1: 45 patients, five anaesthetists, the first three times. Copies differ in
# patient 7, whom the first observer gave 1 1 2 (here, as in the figures compared with) or 1 2 2.
PATIENTS = """111 1 1 1 1|333 4 3 3 4|112 2 1 2 2|222 3 1 2 1|222 3 2 2 2|222 3 3 2 2|112 2 1 1 1|333 3 4 3 3
222 2 2 2 3|232 2 2 2 3|444 4 4 4 4|222 3 3 4 3|111 1 1 1 1|222 3 2 1 2|121 1 1 1 1|111 2 1 1 1
111 1 1 1 1|111 1 1 1 1|222 2 2 2 1|222 1 3 2 2|222 2 2 2 2|222 2 2 2 1|222 3 2 2 2|221 2 2 2 2
111 1 1 1 1|111 1 1 1 1|232 2 2 2 2|111 1 1 1 1|111 1 1 1 1|112 1 1 2 1|111 1 1 1 1|333 3 2 3 3
111 1 1 1 1|222 2 2 2 2|222 3 2 3 2|433 4 3 4 3|221 2 2 3 2|232 3 2 3 3|333 3 4 3 2|111 1 1 1 1
111 1 1 1 1|121 2 1 1 1|232 2 2 2 2|121 1 1 1 1|222 2 2 2 2"""
Columns = tuple[list[int], list[int], list[int]]


def anaesthetists() -> Columns:
    entries = [
        (patient, observer, int(value))
        for patient, row in enumerate(PATIENTS.replace("\n", "|").split("|"), start=1)
        for observer, values in enumerate(row.split(), start=1)
        for value in values
    ]
    patients, observers, labels = zip(*entries, strict=True)
    return list(patients), list(observers), list(labels)


def test_dawid_and_skene_on_their_own_data() -> None:
    fit = dawid_skene(*anaesthetists(), tolerance=1e-13)
    assert fit.converged
    assert fit.prior is not None
    assert fit.errors is not None
    assert fit.prior == pytest.approx([0.4000, 0.4216, 0.1118, 0.0667], abs=5e-5)
    assert fit.log_likelihood == pytest.approx(-190.73100, abs=5e-6)
    assert np.diag(fit.errors[0]) == pytest.approx([0.907, 0.877, 0.661, 0.444], abs=5e-4)
    assert fit.posterior[35 - 1, 2 - 1] == pytest.approx(0.948, abs=5e-4)
    assert fit.posterior[38 - 1, 3 - 1] == pytest.approx(0.979, abs=5e-4)
    assert fit.errors.sum(axis=2) == pytest.approx(1)
    assert [patient for patient, row in zip(fit.stimuli, fit.posterior, strict=True) if row.max() < 0.98] == [
        35,
        38,
    ]


def test_real_choices_give_the_labels_of_crowd_kit(test_data: Path) -> None:
    frame = pd.read_csv(test_data / "responses" / "deepfake3" / "derived_long_anon.csv")
    frame = frame[frame["g"] == "group1"].drop_duplicates(["w", "item"])
    fit = dawid_skene(frame["item"], frame["w"], frame["pick"], tolerance=1e-7)
    # crowd-kit 1.4.2, DawidSkene with 200 iterations
    assert fit.prior == pytest.approx([0.319960, 0.362408, 0.317632], abs=2e-3)
    assert "".join(map(str, fit.best[:30])) == "323121331221312233322321112213"


def test_the_likelihood_is_that_of_the_parameters_found() -> None:
    stimuli, workers, values = anaesthetists()
    for fit in (
        dawid_skene(stimuli, workers, values),
        mace(stimuli, workers, values).aggregate,
    ):
        assert fit.prior is not None
        assert fit.errors is not None
        likely = np.tile(fit.prior, (45, 1))
        for patient, observer, value in zip(stimuli, workers, values, strict=True):
            likely[patient - 1] *= fit.errors[observer - 1, :, value - 1]
        assert fit.log_likelihood == pytest.approx(np.log(likely.sum(axis=1)).sum())


def crowd(
    rng: np.random.Generator, skills: list[float], stimuli: int, values: int = 4
) -> tuple[Columns, list[int]]:
    truth = rng.integers(values, size=stimuli)
    labels = [
        np.where(rng.random(stimuli) < skill, truth, rng.integers(values, size=stimuli)) for skill in skills
    ]
    workers = np.repeat(np.arange(len(skills)), stimuli)
    columns = (
        np.tile(np.arange(stimuli), len(skills)).tolist(),
        workers.tolist(),
        np.concatenate(labels).tolist(),
    )
    return columns, truth.tolist()


def expected_accuracy(found: Aggregate, truth: list[int]) -> float:
    """The share of stimuli labelled right if ties are broken at random."""
    place = [found.values.index(truth[stimulus]) for stimulus in found.stimuli]
    top = np.isclose(found.posterior, found.posterior.max(axis=1, keepdims=True))
    return float((top[np.arange(len(place)), place] / top.sum(axis=1)).mean())


def test_models_beat_the_vote_where_most_of_the_crowd_spams() -> None:
    columns, truth = crowd(np.random.default_rng(5), [0.95, 0.9, 0.05, 0.05, 0.0, 0.0, 0.0], 300)
    vote = expected_accuracy(majority_vote(*columns), truth)
    for fit in (dawid_skene(*columns, smoothing=0.1), mace(*columns).aggregate):
        assert expected_accuracy(fit, truth) > vote + 0.1
        assert fit.converged


def test_mace_tells_who_knows_and_what_spammers_say() -> None:
    columns, truth = crowd(np.random.default_rng(6), [0.9, 0.7, 0.5, 0.0], 2000)
    stimuli, workers, values = columns
    values = [3 if worker == 3 else value for worker, value in zip(workers, values, strict=True)]
    fit = mace(stimuli, workers, values)
    assert fit.knows == pytest.approx([0.9, 0.7, 0.5, 0.0], abs=0.04)
    assert fit.habits[3] == pytest.approx([0, 0, 0, 1], abs=0.01)
    assert fit.aggregate.errors is not None
    assert fit.aggregate.errors.sum(axis=2) == pytest.approx(1)
    assert expected_accuracy(fit.aggregate, truth) > 0.9


def test_the_likelihood_never_falls() -> None:
    columns, _ = crowd(np.random.default_rng(8), [0.8, 0.6, 0.3], 60)
    steps = [
        dawid_skene(*columns, iterations=n, tolerance=0).log_likelihood or 0.0 for n in (1, 2, 3, 5, 9, 20)
    ]
    assert steps == sorted(steps)
    assert not dawid_skene(*columns, iterations=2, tolerance=0).converged


def test_a_vote_splits_ties_evenly() -> None:
    vote = majority_vote(["s", "s", "t", "t", "t", "u"], ["a", "b", "a", "b", "c", "a"], [2, 1, 1, 1, 2, 2])
    assert vote.posterior.tolist() == [[0.5, 0.5], [1, 0], [0, 1]]
    assert (vote.stimuli, vote.values, vote.best, vote.tied) == (("s", "t", "u"), (1, 2), (1, 1, 2), 1)


answers = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40
)


@QUICK
@given(answers, st.randoms())
def test_order_and_names_change_nothing(entries: list[tuple[int, int, int]], random: Random) -> None:
    def run(columns: list[tuple[int, int, int]], model: object) -> dict[object, dict[object, float]]:
        fit = model(*zip(*columns, strict=True))
        return {
            stimulus: dict(zip(fit.values, row.tolist(), strict=True))
            for stimulus, row in zip(fit.stimuli, fit.posterior, strict=True)
        }

    for model in (
        majority_vote,
        lambda *c: dawid_skene(*c, iterations=5),
        lambda *c: mace(*c, iterations=5).aggregate,
    ):
        before = run(entries, model)
        assert all(sum(row.values()) == pytest.approx(1) for row in before.values())
        shuffled = [(10 - stimulus, worker + 7, value) for stimulus, worker, value in entries]
        random.shuffle(shuffled)
        after = run(shuffled, model)
        for stimulus, row in before.items():
            assert after[10 - stimulus] == pytest.approx(row, abs=1e-6)


def test_one_response_one_value_one_worker() -> None:
    for fit in (dawid_skene(["s"], ["a"], [3]), mace(["s"], ["a"], [3]).aggregate):
        assert fit.posterior.tolist() == [[1.0]]
        assert fit.best == (3,)


def test_values_of_several_types_are_put_in_order_by_their_text() -> None:
    assert majority_vote(np.array(["s", "s"]), ["a", "b"], np.array(["b", 1], dtype=object)).values == (
        1,
        "b",
    )


def test_what_cannot_be_aggregated_is_refused() -> None:
    with pytest.raises(InputError, match="2 stimuli, 2 workers, 1 values"):
        majority_vote([1, 2], [1, 2], [1])
    with pytest.raises(InputError, match="there is nothing to compute from"):
        dawid_skene([], [], [])
    with pytest.raises(InputError, match="1 of 2 workers are missing"):
        mace([1, 2], ["a", None], [1, 1])
    with pytest.raises(UsageError, match="at least one iteration"):
        dawid_skene([1], [1], [1], iterations=0)
    comments = range(5000)
    with pytest.raises(UsageError, match="5000 different values of 5000 workers are too many"):
        dawid_skene(comments, comments, comments)
