"""Training: it learns, it resumes to the same weights, it stops when it should."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from generators.checkpoints.folder import CARD
from generators.checkpoints.loading import load
from generators.checkpoints.sequences import STRATEGIES
from generators.checkpoints.weights import WEIGHTS
from generators.sampling.flat_forward import Batch, place
from generators.training.causal_run import train
from generators.training.examples import MaskedCorpus
from generators.training.log import LOG, Report, cut_log, read_log
from generators.training.model_perplexity import perplexities
from generators.training.packing import evaluation_batches
from generators.training.plan import Plan
from generators.training.state import STATE_TENSORS
from humaneval.errors import InputError, UsageError
from tests.models.conftest import Trained, small_model, small_plan

pytestmark = pytest.mark.models
TIMES = ("seconds", "tokens_per_second", "fraction")


def same_state(first: Path, second: Path) -> None:
    """Weights and optimizer are equal bit for bit, and so are the logs except for times."""
    one, other = (load_file(folder / STATE_TENSORS) for folder in (first, second))
    assert one.keys() == other.keys()
    assert any(name.startswith("optimizer.") for name in one)
    assert all(torch.equal(value, other[name]) for name, value in one.items())
    logs = [
        [{name: value for name, value in line.items() if name not in TIMES} for line in read_log(folder)]
        for folder in (first, second)
    ]
    assert logs[0] == logs[1]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_small_model_learns_a_few_stories_by_heart(
    strategy: str, corpus: MaskedCorpus, tokenizer: Any, tmp_path: Path
) -> None:
    """Eight examples of one story."""
    arrays = corpus.arrays
    few = MaskedCorpus(
        arrays._replace(
            example_documents=arrays.example_documents[:8], example_bounds=arrays.example_bounds[:9]
        ),
        corpus.special,
        {},
        "few",
    )
    model = small_model(corpus.special, dropout=0.0, attention_dropout=0.0)
    plan = small_plan(strategy, steps=45, learning_rate=2e-2, batch=8, evaluate_every=15)
    before = perplexities(model, evaluation_batches(few, strategy, size=8))
    after = train(tmp_path, plan, model, tokenizer, few, few, keep=False)
    assert before.masked > 500
    assert after.best < 30
    assert [line["step"] for line in read_log(tmp_path)] == [15, 30, 45]
    assert not (tmp_path / STATE_TENSORS).exists()


@pytest.mark.parametrize(
    ("strategy", "recipe"),
    [*((one, {}) for one in STRATEGIES), ("ilm", {"loss": "answers=2", "plain_rows": 0.5})],
)
def test_a_resumed_run_ends_with_the_weights_of_an_uninterrupted_one(
    strategy: str, recipe: dict[str, Any], train_small: Trained, tmp_path: Path
) -> None:
    """With dropout, and resumed twice."""
    settings = {"dropout": 0.1, "attention_dropout": 0.1, "warm_up": 15, **recipe}
    train_small(tmp_path / "whole", strategy, steps=20, **settings)
    for steps in (5, 10, 20):
        progress = train_small(tmp_path / "parts", strategy, steps=steps, **settings)
    assert progress.step == 20
    assert load(tmp_path / "parts").card.training["plan"].items() >= recipe.items()
    same_state(tmp_path / "whole", tmp_path / "parts")
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()


def test_a_run_killed_between_its_log_and_its_state_ends_with_the_same_log(
    train_small: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state is saved last: lines of the log after it are cut, even half a line."""
    train_small(tmp_path / "whole", "ilm", steps=15)
    train_small(tmp_path / "killed", "ilm", steps=10)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("generators.training.run.save_state", killed)
        with pytest.raises(KeyboardInterrupt):
            train_small(tmp_path / "killed", "ilm", steps=15)
    assert [line["step"] for line in read_log(tmp_path / "killed")] == [5, 10, 15]
    with (tmp_path / "killed" / LOG).open("a") as log:
        log.write('{"step": 20, "seco')
    train_small(tmp_path / "killed", "ilm", steps=15)
    same_state(tmp_path / "whole", tmp_path / "killed")


def test_micro_batches_train_the_same_model(train_small: Trained, tmp_path: Path) -> None:
    settings = {"steps": 6, "batch": 8, "evaluate_every": 1, "dropout": 0.0, "attention_dropout": 0.0}
    train_small(tmp_path / "whole", "ilm", **settings)
    train_small(tmp_path / "parts", "ilm", micro_batch=3, **settings)
    whole, parts = ([line["loss"] for line in read_log(tmp_path / name)] for name in ("whole", "parts"))
    assert parts == pytest.approx(whole, rel=1e-5)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"learning_rate": 2e-3}, "other learning rate: 5e-05, now 0.002"),
        ({"seed": 1, "batch": 5}, "other batch: 4, now 5, seed: 0, now 1"),
        ({"width": 64}, "other architecture"),
        ({"dropout": 0.3}, "other architecture"),
        ({"loss": "one-mean", "layers": 1}, "other architecture, loss: two-means, now one-mean"),
    ],
)
def test_the_state_of_another_run_is_not_taken_over(
    changed: dict[str, Any], named: str, train_small: Trained, tmp_path: Path
) -> None:
    train_small(tmp_path, "lm", steps=5)
    before = (tmp_path / STATE_TENSORS).read_bytes()
    with pytest.raises(InputError, match=rf"the state of another run \({named}\)") as error:
        train_small(tmp_path, "lm", steps=10, **changed)
    assert "--out" in error.value.hint
    assert (tmp_path / STATE_TENSORS).read_bytes() == before


def test_the_state_of_a_run_over_other_text_or_with_another_strategy_is_not_taken_over(
    train_small: Trained, corpus: MaskedCorpus, tokenizer: Any, tmp_path: Path
) -> None:
    train_small(tmp_path, "lm", steps=5)
    with pytest.raises(InputError, match="other strategy: lm, now ilm"):
        train_small(tmp_path, "ilm", steps=5)
    other = MaskedCorpus(corpus.arrays, corpus.special, {}, "another hash")
    for training, validation in ((other, corpus), (corpus, other)):
        model = small_model(corpus.special)
        with pytest.raises(InputError, match=r"another run \(other documents or masks\)"):
            train(tmp_path, small_plan("lm", steps=5), model, tokenizer, training, validation)
    with pytest.raises(InputError, match=r"another run \(other model to start from\)"):
        train(
            tmp_path,
            small_plan("lm", steps=5),
            small_model(corpus.special),
            tokenizer,
            corpus,
            corpus,
            origin={"from": "gpt2"},
        )


def test_budget_and_patience_may_change_when_a_run_goes_on(train_small: Trained, tmp_path: Path) -> None:
    train_small(tmp_path, "lm", steps=5)
    progress = train_small(tmp_path, "lm", steps=9, minutes=50.0, patience=3)
    assert progress.step == 9


def test_a_damaged_state_is_said_to_be(train_small: Trained, tmp_path: Path) -> None:
    train_small(tmp_path, "lm", steps=5)
    whole = (tmp_path / STATE_TENSORS).read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"\xff" * 100):
        (tmp_path / STATE_TENSORS).write_bytes(damaged)
        with pytest.raises(InputError, match="damaged") as error:
            train_small(tmp_path, "lm", steps=10)
        assert "Delete it" in error.value.hint


def test_patience_ends_a_run_and_it_then_stays_ended(train_small: Trained, tmp_path: Path) -> None:
    """Steps so large that the model gets worse and worse."""
    settings = {"learning_rate": 0.1, "warm_up": 0, "evaluate_every": 2, "patience": 2}
    progress = train_small(tmp_path, "lm", steps=1000, **settings)
    assert progress.bad_evaluations == 2
    assert progress.step < 200
    log = (tmp_path / LOG).read_bytes()
    perplexities = [line["perplexity"] for line in read_log(tmp_path)]
    assert progress.best == min(perplexities)
    assert progress.best_step == progress.step - 2 * 2
    state = (tmp_path / STATE_TENSORS).read_bytes()
    again = train_small(tmp_path, "lm", steps=2000, **settings)
    assert (again.step, again.bad_evaluations) == (progress.step, 2)
    assert (tmp_path / LOG).read_bytes() == log
    assert (tmp_path / STATE_TENSORS).read_bytes() == state
    # The checkpoint is the best one, not the last.
    assert load(tmp_path).card.training["step"] == progress.best_step


def test_more_patience_lets_a_run_go_on(train_small: Trained, tmp_path: Path) -> None:
    settings = {"learning_rate": 0.1, "warm_up": 0, "evaluate_every": 2, "steps": 1000}
    first = train_small(tmp_path, "lm", patience=2, **settings)
    second = train_small(tmp_path, "lm", patience=4, **settings)
    assert second.step > first.step
    assert second.bad_evaluations == 4


def test_a_run_whose_checkpoint_is_gone_says_so(train_small: Trained, tmp_path: Path) -> None:
    train_small(tmp_path, "lm", steps=5)
    (tmp_path / CARD).rename(tmp_path / "elsewhere")
    state = (tmp_path / STATE_TENSORS).read_bytes()
    for steps in (5, 10):
        with pytest.raises(InputError, match="not its best checkpoint") as error:
            train_small(tmp_path, "lm", steps=steps)
        assert STATE_TENSORS in error.value.hint
    assert (tmp_path / STATE_TENSORS).read_bytes() == state
    (tmp_path / "elsewhere").rename(tmp_path / CARD)
    assert train_small(tmp_path, "lm", steps=10).step == 10


def test_what_is_written_is_as_readable_as_any_file(train_small: Trained, tmp_path: Path) -> None:
    train_small(tmp_path, "lm", steps=5)
    (tmp_path / "any").touch()
    usual = (tmp_path / "any").stat().st_mode
    for name in (WEIGHTS, STATE_TENSORS, LOG, CARD):
        assert (tmp_path / name).stat().st_mode == usual, name


def test_a_batch_of_any_size_is_worked_on_in_pieces_on_a_cpu(
    train_small: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the losses of the whole batch at once."""
    settings = {"steps": 2, "batch": 150, "evaluate_every": 1, "dropout": 0.0, "attention_dropout": 0.0}
    sizes: list[int] = []

    def watched(batch: Batch, *more: Any, **named: Any) -> Any:
        sizes.append(len(batch.bounds) - 1)
        return place(batch, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr("generators.training.causal_run.place", watched)
        train_small(tmp_path / "pieces", "ilm", **settings)
    assert sizes
    assert max(sizes) <= 128
    train_small(tmp_path / "whole", "ilm", micro_batch=150, **settings)
    pieces, whole = ([line["loss"] for line in read_log(tmp_path / name)] for name in ("pieces", "whole"))
    assert pieces == pytest.approx(whole, rel=1e-5)


def test_the_checkpoint_has_the_perplexity_that_the_log_says(
    checkpoints: dict[str, Path], corpus: MaskedCorpus
) -> None:
    for kind, folder in checkpoints.items():
        opened = load(folder, kind=kind)
        found = perplexities(opened.model, evaluation_batches(corpus, kind, size=4, limit=16))
        best = min(read_log(folder), key=lambda line: line["perplexity"])
        assert opened.card.training["step"] == best["step"]
        assert found.masked == pytest.approx(best["perplexity"], rel=1e-5)
        assert found.with_ends == pytest.approx(best["with_ends"], rel=1e-5)
        assert (best["context"] is None) is (kind == "lm")


def test_the_card_says_how_the_checkpoint_was_made(
    checkpoints: dict[str, Path], corpus: MaskedCorpus
) -> None:
    card = load(checkpoints["ilm"], kind="ilm").card
    training = card.training
    assert training["from"] == "scratch"
    assert training["documents"] == 40
    assert (training["examples"], training["left_out"]) == (corpus.examples, corpus.left_out)
    assert training["corpus_sha256"] == corpus.hash
    assert training["masked_perplexity"] > 1
    assert training["plan"]["learning_rate"] == 1e-2
    assert (card.mask, card.corpus) == ("hierarchical", "stories")
    assert json.loads((checkpoints["ilm"] / LOG).read_text().splitlines()[0])["step"] == 25


def test_the_log_has_what_a_bar_and_a_plot_need(corpus: MaskedCorpus, tokenizer: Any, tmp_path: Path) -> None:
    said: list[Report] = []
    plan = small_plan("ilm", steps=10)
    train(tmp_path, plan, small_model(corpus.special), tokenizer, corpus, corpus, report=said.append)
    assert [line.step for line in said] == [*range(1, 11)]
    assert [line.perplexity is not None for line in said] == [line.step % 5 == 0 for line in said]
    assert said[-1].fraction == 1
    tokens = [line.tokens for line in said]
    assert tokens == sorted(set(tokens))
    assert all(math.isfinite(line.loss) for line in said)
    logged = read_log(tmp_path)
    assert [line["step"] for line in logged] == [5, 10]
    # A logged loss is the mean of the steps since the line before.
    assert logged[0]["loss"] == pytest.approx(sum(line.loss for line in said[:4]) / 4, rel=0.02)


def test_the_rate_rises_and_falls_as_planned(corpus: MaskedCorpus, tokenizer: Any, tmp_path: Path) -> None:
    rates = {}
    for decay in (False, True):
        said: list[Report] = []
        plan = small_plan("lm", steps=10, warm_up=4, decay=decay, learning_rate=1e-3, evaluate_every=100)
        model = small_model(corpus.special)
        train(tmp_path / str(decay), plan, model, tokenizer, corpus, corpus, keep=False, report=said.append)
        rates[decay] = [line.learning_rate for line in said]
    assert rates[False] == pytest.approx([0.25e-3, 0.5e-3, 0.75e-3, *[1e-3] * 7])
    assert rates[True][:2] == pytest.approx([0.25e-3, 0.5e-3 * 0.9])
    assert rates[True][-1] == pytest.approx(1e-3 * 0.1)


def test_a_bound_by_passes_counts_documents_as_the_paper_does() -> None:
    assert Plan("ilm", batch=24, passes=20).last_step(153_385) == 127_820
    assert Plan("ilm", batch=24, passes=2, steps=100).last_step(153_385) == 100
    assert Plan("ilm").last_step(153_385) is None
    with pytest.raises(UsageError, match="this run would never end"):
        Plan("ilm", patience=0)
    with pytest.raises(UsageError, match="a width of 100 cannot be split into 12 heads"):
        small_model(_special(), width=100, heads=12)


def _special() -> Any:
    from generators.checkpoints.sequences import SpecialIds

    return SpecialIds(300)


def test_a_log_that_no_run_wrote_is_refused(tmp_path: Path) -> None:
    for text in ("{}", '{"step": "one"}', "[" * 100_000 + "{}", "{" * 100_000 + "}", "x" * (256 * 2**20 + 1)):
        (tmp_path / LOG).write_text(text)
        with pytest.raises(InputError, match=r"log.jsonl is (not the log of a run|larger than 256 MiB)"):
            cut_log(tmp_path, 3)
