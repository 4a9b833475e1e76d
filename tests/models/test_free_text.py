"""Any text filled by real checkpoints: from Python and by the verb alike, with the model's own
log-probabilities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from generators import load
from generators.masked.bert import BertFiller
from generators.sampling.filling import ModelGenerator
from generators.self_attention.generator import SelfAttentionFiller
from humaneval.errors import UsageError
from humaneval.free_text import TYPES
from tests.commands import Command

pytestmark = pytest.mark.models

TEXT = "Tom went to the shop. ____ He [word] home and [ngram: sat down]."


def test_an_ilm_fills_blanks_of_every_type_in_any_text(checkpoints: dict[str, Path]) -> None:
    ilm = load("ilm", checkpoint=str(checkpoints["ilm"]))
    assert set(ilm.types) == set(TYPES)
    first, second = ilm.fill(TEXT, samples=2)
    assert [one.type for one in first.fillings] == ["sentence", "word", "ngram"]
    assert first.text.startswith("Tom went to the shop. ")
    assert first.text != second.text
    assert ilm.fill(TEXT, samples=2) == (first, second)
    assert ilm.fill(TEXT, seed=1)[0] != first
    total = sum(one.logprob or 0 for one in first.fillings)
    assert first.logprob == pytest.approx(total, abs=1e-3)
    (whole,) = ilm.fill("[document]")
    assert whole.text == whole.fillings[0].text


def test_log_probabilities_are_those_of_the_untempered_model(checkpoints: dict[str, Path]) -> None:
    ilm = load(checkpoint=str(checkpoints["ilm"]))
    cold, colder = (ilm.fill(TEXT, temperature=value)[0] for value in (0.02, 0.01))
    assert cold.text == colder.text
    assert cold.logprob == pytest.approx(colder.logprob, abs=1e-3)
    assert cold.logprob < -1  # at such temperatures the tempered one would be nearly 0
    narrow = ilm.fill(TEXT, nucleus=0.01)[0]
    assert (narrow.text, narrow.logprob) == (cold.text, pytest.approx(cold.logprob, abs=1e-3))


def test_a_checkpoint_that_fills_sentences_says_so(checkpoints: dict[str, Path]) -> None:
    lm = load(checkpoint=str(checkpoints["lm"]))
    assert lm.types == ("sentence",)
    assert lm.fill("Tom sat. ____ He left. ____")[0].fillings[1].logprob is not None
    with pytest.raises(UsageError, match=r"\[word\] cannot be filled by lm") as caught:
        lm.fill(TEXT)
    assert "[sentence]" in caught.value.hint


def test_the_verb_and_python_write_the_same(
    command: Command, checkpoints: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkpoints["ilm"].parent)
    said = command("infill", TEXT, "--samples", "2", "--seed", "3", "--temperature", "0.5", "--json")
    assert "With the checkpoint in ilm, of kind ilm." in said.err
    (found,) = json.loads(said.out)["generators"]
    made = load(checkpoint="ilm").fill(TEXT, 2, seed=3, temperature=0.5)
    assert [one["text"] for one in found["candidates"]] == [one.text for one in made]
    assert [one["logprob"] for one in found["candidates"]] == [one.logprob for one in made]
    both = command("infill", "Tom. ____", "--checkpoint", "ilm", "--checkpoint", checkpoints["lm"])
    assert both.out.splitlines()[0] == "ilm"
    assert "\n\nlm\n1. Tom. " in both.out
    wrong = command("infill", "Tom. ____", "--checkpoint", checkpoints["lm"], "--generator", "ilm")
    assert "Use --generator lm." in wrong.err


@pytest.mark.parametrize(
    ("options", "message"), [({"temperature": 0}, "temperature"), ({"nucleus": 2}, "top_p")]
)
def test_values_out_of_range_are_refused(
    checkpoints: dict[str, Path], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        load(checkpoint=str(checkpoints["lm"])).fill("____", **options)


def test_models_that_search_or_choose_greedily_draw_for_a_text() -> None:
    from generators.masked.mask_orders import Visiting
    from generators.self_attention.generator import Options
    from humaneval.domain import Drawing

    nothing: Any = None
    how = Drawing(seed=5, temperature=0.5, nucleus=0.8)
    sa = SelfAttentionFiller(nothing, "", 0, Options()).drawing(how)
    assert (sa.seed, sa.options.decoding, sa.options.temperature, sa.options.top_p) == (
        5,
        "sampled",
        0.5,
        0.8,
    )
    bert = BertFiller(nothing, Visiting(sampling="greedy", top_k=3), 0).drawing(how)
    assert (bert.seed, bert.visiting.sampling, bert.visiting.top_k) == (5, "sampled", 3)


def test_drawing_otherwise_leaves_the_generator_as_it_was(checkpoints: dict[str, Path]) -> None:
    lm = load(checkpoint=str(checkpoints["lm"]), temperature=0.7)
    assert isinstance(lm.generator, ModelGenerator)
    before = lm.generator.provenance
    lm.fill("____", seed=9, temperature=2)
    assert lm.generator.provenance == before
    assert before.settings["temperature"] == 0.7
