"""Generators prove that they use the context that they claim to use: the echo corpus, held-out stories, exact
fills.

After at most two minutes of training each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from generators.causal.causal_lm import with_tokenizer
from generators.causal.fim import FAMILIES, Fim
from generators.causal.fim import Options as FimOptions
from generators.causal.ilm import build as build_ilm
from generators.causal.lm import build as build_lm
from generators.causal.lm import build_all, build_rev
from generators.checkpoints.sequences import SpecialIds
from generators.masked.bert import BertFiller
from generators.masked.mask_orders import Visiting
from generators.masked.masked_lm import open_masked_lm
from generators.sampling.filling import ModelGenerator, Shared
from generators.self_attention.architecture import Architecture as SelfAttentionSizes
from generators.self_attention.generator import build as build_sa
from generators.sequence.t5 import build as build_t5
from generators.training import sa_plan, sa_run
from generators.training.bert_run import new_masked_lm, train_masked_lm
from generators.training.causal_model import new_model
from generators.training.causal_run import train
from generators.training.corpus import train_tokenizer
from generators.training.examples import mask_corpus
from generators.training.plan import Architecture, Plan
from generators.training.sa_corpus import learn_vocabulary, read_corpus, sentences_of
from humaneval.domain import Gap, GappedText, Generator, GeneratorRequest
from tests.models.echo import OneSentence, documents, echo_stories, exact
from tests.models.pairs import pieces_tokenizer, tiny_t5, train_pair, written_on
from tests.models.small_models import keep, tiny_gpt2, with_control_tokens

pytestmark = pytest.mark.models
BUILD = {"ilm": build_ilm, "lm": build_lm, "lm-rev": build_rev, "lm-all": build_all}
OPTIONS = {"temperature": "0.1", "longest": "24"}
LONG = pytest.mark.long


def learned(folder: Path, kind: str, position: int, steps: int) -> Generator:
    """A model of a strategy, trained with the sentence at `position` as the blank."""
    training, _ = echo_stories()
    texts = documents(training)
    tokenizer = train_tokenizer((text.text for text in texts), 400)
    special = SpecialIds(tokenizer.get_vocab_size())
    mask: Any = OneSentence(position)
    corpus = mask_corpus(texts, tokenizer, special, mask, copies=1)
    model = new_model(Architecture(2, 64, 2, 0.0, 0.0), special, 0)
    plan = Plan(
        kind,
        learning_rate=3e-3,
        warm_up=50,
        decay=True,
        batch=16,
        steps=steps,
        evaluate_every=steps,
        evaluation_examples=64,
        patience=0,
        loss="answers" if kind == "ilm" else "two-means",
    )
    train(folder, plan, model, tokenizer, corpus, corpus)
    request = GeneratorRequest(kind, checkpoint=str(folder), device="cpu", options=OPTIONS)
    (generator,) = BUILD[kind](request)
    return generator


@pytest.mark.parametrize(
    ("kind", "steps", "at_least", "at_most"),
    [
        ("ilm", 250, 0.95, 1.0),
        pytest.param("lm", 250, 0.0, 0.1, marks=LONG),
        pytest.param("lm-rev", 500, 0.95, 1.0, marks=LONG),
        pytest.param("lm-all", 500, 0.95, 1.0, marks=LONG),
    ],
)
def test_who_sees_what_follows_fills_a_first_sentence_exactly(
    kind: str, steps: int, at_least: float, at_most: float, tmp_path: Path
) -> None:
    _, held_out = echo_stories()
    generator = learned(tmp_path, kind, 1, steps)
    assert at_least <= exact(generator, held_out, 1) <= at_most


@pytest.mark.parametrize("kind", ["lm", pytest.param("ilm", marks=LONG), pytest.param("lm-all", marks=LONG)])
def test_who_sees_what_went_before_fills_a_last_sentence_exactly(kind: str, tmp_path: Path) -> None:
    _, held_out = echo_stories()
    assert exact(learned(tmp_path, kind, 5, 500), held_out, 5) >= 0.95


@LONG
@pytest.mark.parametrize("position", [1, 5])
def test_bert_fills_either_end_exactly(position: int, tmp_path: Path) -> None:
    training, held_out = echo_stories()
    size = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
    new_masked_lm(
        tmp_path, training, vocabulary=200, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **size
    )
    opened = open_masked_lm(str(tmp_path), "cpu")
    train_masked_lm(opened, training, steps=600, minutes=5, batch=16, learning_rate=3e-3)
    filler = BertFiller(opened, Visiting(sampling="greedy"), 0)
    assert exact(ModelGenerator("bert", filler, 0, Shared()), held_out, position) >= 0.95


@LONG
def test_sa_fills_a_first_sentence_exactly(tmp_path: Path) -> None:
    training, held_out = echo_stories()
    texts = documents(training)
    vocabulary = learn_vocabulary((words for text in texts for words in sentences_of(text)), 1000)
    corpus = read_corpus(texts, vocabulary)
    sa_run.train(
        tmp_path / "sa",
        SelfAttentionSizes(2, 64, 4, 128, dropout=0.0, scale_template=True),
        sa_plan.Plan(batch=32, warm_up=100, lr_scale=0.2, steps=500, evaluate_every=250),
        vocabulary,
        corpus,
        corpus,
    )
    (generator,) = build_sa(GeneratorRequest("sa", checkpoint=str(tmp_path / "sa"), device="cpu"))
    assert exact(generator, held_out, 1) >= 0.95


@LONG
def test_t5_fills_a_first_sentence_exactly(tmp_path: Path) -> None:
    training, held_out = echo_stories()
    folder = tiny_t5(tmp_path, pieces_tokenizer([s for story in training for s in story.sentences], 2))
    request = GeneratorRequest("t5", checkpoint=str(folder), device="cpu", options={"top_p": "0.5"})
    (generator,) = build_t5(request)
    assert isinstance(generator, ModelGenerator)
    filler: Any = generator.filler
    one, two = filler.sentinels
    examples = [
        (filler.source(text), [one, *filler.encode(story.sentences[0]), two, filler.opened.end])
        for story in training
        for text in [GappedText("", ("", f" {' '.join(story.sentences[1:])}"), (Gap(),))]
    ]
    train_pair(filler.opened.model, examples, steps=600, rate=5e-3)
    assert exact(generator, held_out, 1) >= 0.95


@LONG
def test_fim_fills_a_first_sentence_exactly(tmp_path: Path) -> None:
    training, held_out = echo_stories()
    plain = train_tokenizer([" ".join(story.sentences) for story in training], 400)
    whole = with_control_tokens(plain, *FAMILIES["StarCoder"][:3], *FAMILIES["StarCoder"].ends)
    model = tiny_gpt2(whole.get_vocab_size(), n_embd=64, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    folder = keep(tmp_path / "m", model, whole)
    filler = Fim(with_tokenizer(model, folder, "m", ""), 0, FimOptions(temperature=0.1, longest=24))
    end = whole.token_to_id(FAMILIES["StarCoder"].ends[0])
    examples = [
        written_on(filler.prompt(text), [*plain.encode(story.sentences[0]).ids, end])
        for story in training
        for text in [GappedText("", ("", f" {' '.join(story.sentences[1:])}"), (Gap(),))]
    ]
    train_pair(model, examples, steps=600, rate=5e-3)
    assert exact(ModelGenerator("fim", filler, 0, Shared()), held_out, 1) >= 0.95
