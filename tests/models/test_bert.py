"""BERT: as many pieces as the original, in five orders; text is only text, and other models are refused with
a reason."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertLMHeadModel,
    BertModel,
    PreTrainedModel,
    RobertaConfig,
    RobertaForMaskedLM,
)

from generators.masked.bert import BertFiller, build
from generators.masked.joining import join, words_of
from generators.masked.mask_orders import WALKS, Row, Visiting, choose, fill_masks
from generators.masked.masked_lm import MaskedLM, open_masked_lm
from generators.training.bert_run import hidden_places, new_masked_lm, save_masked_lm, train_masked_lm
from generators.training.bert_run import word_pieces as vocabulary_of
from humaneval.domain import Blank, Gap, GappedText, Generator, GeneratorRequest, InfillStatus, Story
from humaneval.errors import InputError, UsageError
from humaneval.stories import bundled_stories, read_stories
from humaneval.text import normalise
from tests.models.small_models import keep, tiny_gpt2

pytestmark = pytest.mark.models

CONTROL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
UNUSED = [f"[unused{number}]" for number in range(1, 6)]
STORIES = bundled_stories()
BLANKS = [Blank(story, position) for story in STORIES[:100] for position in range(1, 6)]


@pytest.fixture(scope="module")
def word_pieces() -> Any:
    """BERT's kind of vocabulary, cased, as the hub's tokenizer.json has it: control tokens match in every
    text."""
    lines = [sentence for story in STORIES for sentence in story.sentences] + ["[MASK] (SEP) CLS unused"]
    tokenizer = vocabulary_of(lines, 600, [*CONTROL, *UNUSED])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def config(rows: int, **settings: Any) -> BertConfig:
    values = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "max_position_embeddings": 256,
        "initializer_range": 0.4,
        **settings,
    }
    return BertConfig(vocab_size=rows, **values)


def tiny(cls: Callable[[BertConfig], PreTrainedModel], rows: int, **settings: Any) -> PreTrainedModel:
    torch.manual_seed(1)
    return cls(config(rows, **settings))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, word_pieces: Any) -> Path:
    # Eight rows more than pieces, as models with a padded vocabulary have.
    model = tiny(BertForMaskedLM, word_pieces.get_vocab_size() + 8)
    return keep(tmp_path_factory.mktemp("models") / "tiny-bert-cased", model, word_pieces)


@pytest.fixture(scope="module")
def opened(folder: Path) -> MaskedLM:
    return open_masked_lm(str(folder), "cpu")


def made(folder: Path, seed: int = 0, name: str = "", **options: str) -> Any:
    request = GeneratorRequest("bert", name, str(folder), device="cpu", seed=seed, options=options)
    (generator,) = build(request)
    return generator


def refusal(folder: Path | str, **options: str) -> str:
    with pytest.raises((InputError, UsageError)) as caught:
        made(folder, **options)
    assert caught.value.hint
    return str(caught.value)


def row_of(opened: MaskedLM, blank: Blank, key: str = "a story") -> Row:
    pieces = opened.pieces
    at, sentences = blank.position - 1, blank.story.sentences
    before, after = pieces.read(" ".join(sentences[:at])), pieces.read(" ".join(sentences[at + 1 :]))
    count = len(pieces.read(blank.original))
    start = 1 + len(before)
    ids = [pieces.first, *before, *[pieces.mask] * count, *after, pieces.last]
    return Row(ids, tuple(range(start, start + count)), key, pieces.mask)


def test_all_of_500_blanks_have_as_many_pieces_as_the_originals(folder: Path, word_pieces: Any) -> None:
    infills = list(made(folder, order="mask-predict", rounds="2").infill(BLANKS))
    assert len(infills) == 500
    for infill in infills:
        original = word_pieces.encode(infill.blank.original, add_special_tokens=False).ids
        assert infill.extra["pieces"] == len(original)
        assert set(infill.extra["visits"]) == set(range(len(original)))


@pytest.mark.parametrize("order", WALKS)
def test_G12_special_and_unused_pieces_never_come_out_and_the_context_stays(
    order: str, opened: MaskedLM
) -> None:
    rows = [row_of(opened, blank, f"{number}") for number, blank in enumerate(BLANKS[:20])]
    before = [list(row.ids) for row in rows]
    fill_masks(opened, rows, Visiting(order=order, steps=40, rounds=3, top_p=1.0, temperature=3.0), 0)
    never = {
        id for token, id in opened.pieces.tokenizer.get_vocab().items() if token in {*CONTROL, *UNUSED}
    } | {*range(opened.model.config.vocab_size - 8, opened.model.config.vocab_size)}
    assert len(never) == 18
    for row, old in zip(rows, before, strict=True):
        assert len(row.ids) == len(old)
        assert not {row.ids[at] for at in row.holes} & never
        assert row.ids[row.holes[0]] not in opened.pieces.continuing
        assert all(
            new == was for at, (new, was) in enumerate(zip(row.ids, old, strict=True)) if at not in row.holes
        )


def test_five_orders_give_five_visiting_sequences(folder: Path) -> None:
    found = {
        order: next(made(folder, order=order, steps="50").infill(BLANKS[2:3])).extra["visits"]
        for order in WALKS
    }
    assert len({tuple(visits) for visits in found.values()}) == 5
    count = len(found["left-to-right"])
    assert found["left-to-right"] == list(range(count))
    for order in ("random", "confident"):
        assert sorted(found[order]) == list(range(count))
    assert found["mask-predict"][:count] == list(range(count))


def test_mask_predict_draws_anew_the_least_probable_and_ever_fewer(opened: MaskedLM) -> None:
    row = row_of(opened, BLANKS[2])
    count = len(row.holes)
    fill_masks(opened, [row], Visiting(order="mask-predict"), 0)
    expected = [count, *(count * (10 - number) // 10 for number in range(1, 10))]
    visits = list(row.visits)
    for size in expected:
        turn, visits = visits[:size], visits[size:]
        assert turn == sorted(set(turn))
    assert not visits


def test_gibbs_makes_as_many_visits_as_steps_and_fills_what_it_never_met(opened: MaskedLM) -> None:
    long, short = row_of(opened, BLANKS[2], "long"), row_of(opened, BLANKS[2], "short")
    fill_masks(opened, [long], Visiting(order="gibbs", steps=300), 0)
    fill_masks(opened, [short], Visiting(order="gibbs", steps=3), 0)
    assert len(long.visits) == 300
    assert opened.pieces.mask not in short.ids
    assert short.visits[3:] == [at for at in range(len(short.holes)) if at not in short.visits[:3]]
    options = Visiting(order="gibbs", steps=500, top_k=100, top_p=1.0)
    assert (options.at(249).top_k, options.at(250).top_k) == (0, 100)


def test_confident_begins_where_the_model_is_surest_and_greedy_takes_the_likeliest(opened: MaskedLM) -> None:
    row = row_of(opened, BLANKS[7])
    fresh = list(row.ids)
    fill_masks(opened, [row], Visiting(order="confident", sampling="greedy"), 0)
    with torch.no_grad():
        logits = opened.model(input_ids=torch.tensor([fresh])).logits[0, list(row.holes)]
    logits[:, list(opened.pieces.forbidden)] = float("-inf")
    logits[0, list(opened.pieces.continuing)] = float("-inf")
    sure = logits.log_softmax(-1).max(-1)
    first = int(sure.values.argmax())
    assert row.visits[0] == first
    assert row.ids[row.holes[first]] == int(sure.indices[first])
    assert row.logprobs[first] == pytest.approx(float(sure.values[first]), abs=1e-4)


def test_G19_later_visits_see_what_earlier_ones_filled(opened: MaskedLM) -> None:
    row = row_of(opened, BLANKS[3])
    fresh = list(row.ids)
    fill_masks(opened, [row], Visiting(), 5)
    total = 0.0
    for hole in row.holes:
        logits = opened.logits([fresh], [0], [hole])
        if hole == row.holes[0]:
            logits[:, list(opened.pieces.continuing)] = float("-inf")
        total += float(logits.log_softmax(-1)[0, row.ids[hole]])
        fresh[hole] = row.ids[hole]
    assert sum(row.logprobs.values()) == pytest.approx(total, abs=1e-3)


@pytest.mark.parametrize("order", WALKS)
def test_G17_a_text_gets_the_same_alone_in_any_batch_and_order(order: str, folder: Path) -> None:
    blanks, options = BLANKS[:40:4], {"order": order, "steps": "12"}
    together = list(made(folder, batch="10", **options).infill(blanks))
    alone = list(made(folder, batch="1", **options).infill(blanks))
    turned = list(made(folder, batch="7", **options).infill(blanks[::-1]))[::-1]
    assert [one.text for one in together] == [one.text for one in alone] == [one.text for one in turned]
    assert [one.blank for one in together] == blanks


def test_G09_it_draws_by_default_seeds_repeat_and_samples_differ(folder: Path) -> None:
    def texts(**given: Any) -> list[str]:
        sample = given.pop("sample", 1)
        blanks = [replace(blank, sample=sample) for blank in BLANKS[:3]]
        return [infill.text for infill in made(folder, **given).infill(blanks)]

    assert texts() == texts()
    assert len({tuple(texts(seed=seed)) for seed in range(3)}) == 3
    assert texts(sample=2) != texts()
    assert texts(sampling="greedy", seed=1) == texts(sampling="greedy", seed=2)


def test_G08_provenance_tells_order_conditioning_and_which_model(folder: Path) -> None:
    generator = made(folder, order="gibbs", seed=3)
    assert isinstance(generator, Generator)
    origin = generator.provenance
    assert generator.name == "bert-tiny-bert-cased"
    assert made(folder, name="BERT, tiny").name == "BERT, tiny"
    assert origin.kind == "bert"
    assert origin.checkpoint.startswith("tiny-bert-cased sha256:")
    assert len(origin.checkpoint.split(":")[1]) == 64
    assert origin.seed == 3
    settings = origin.settings
    assert (settings["order"], settings["steps"], settings["top_k"], settings["top_p"]) == (
        "gibbs",
        500,
        100,
        1.0,
    )
    assert "by chance" in settings["visits"]
    assert "both sides" in settings["reads"]
    assert settings["cased"] is True
    assert origin.batch == {"size": 32, "device": "cpu", "precision": "fp32"}
    assert set(origin.versions) == {"torch", "transformers"}
    assert made(folder, order="gibbs", top_k="7").provenance.settings["top_k"] == 7
    json.dumps(settings)


def test_control_strings_in_a_story_are_text(opened: MaskedLM, folder: Path, word_pieces: Any) -> None:
    typed = "He typed [MASK] and [SEP] [CLS] [PAD] [unused1]."
    assert word_pieces.token_to_id("[MASK]") in word_pieces.encode(typed).ids
    read = opened.pieces.read(typed)
    assert not {*read} & {word_pieces.token_to_id(token) for token in [*CONTROL, *UNUSED] if token != "[UNK]"}
    story = Story("odd", (typed, "A dog sat.", typed, "It ran.", typed))
    (infill,) = made(folder).infill([Blank(story, 2)])
    assert infill.extra["pieces"] == len(opened.pieces.read("A dog sat."))
    (infill,) = made(folder).infill([Blank(story, 3)])
    assert infill.extra["pieces"] == len(read)


def test_all_gaps_of_a_text_are_filled_each_with_its_own_number(opened: MaskedLM, folder: Path) -> None:
    gaps = (
        Gap("word", original="dog"),
        Gap("ngram", original="in the sun"),
        Gap("sentence", original="It was warm."),
    )
    text = GappedText("one", ("The ", " sat ", ". ", ""), gaps)
    (found,) = made(folder, order="random").fill([text])
    assert [one.extra["pieces"] for one in found] == [len(opened.pieces.read(gap.original)) for gap in gaps]
    total = sum(one.extra["pieces"] for one in found)
    assert sorted(found[0].extra["visits"]) == list(range(total))
    assert all(one.text == one.text.strip() for one in found)


def test_a_gap_whose_original_is_unknown_is_refused_alone(folder: Path) -> None:
    text = GappedText("one", ("The ", " sat ", "."), (Gap("word"), Gap("ngram", original="in the sun")))
    ((first, second),) = made(folder).fill([text])
    assert first.status is InfillStatus.REFUSED
    assert "number of pieces" in first.detail
    assert second.text


def test_an_answer_begins_as_it_is_told_and_has_no_more_pieces(opened: MaskedLM, folder: Path) -> None:
    blanks = BLANKS[:10]
    for infill in made(folder, beginning="The").infill(blanks):
        assert infill.text.startswith("The")
        assert infill.extra["pieces"] == len(opened.pieces.read(infill.blank.original))


def test_a_text_longer_than_the_model_reads_is_refused_with_both_lengths(folder: Path) -> None:
    long = Story("long", ("Far out. " * 100, "It rained.", "We ran.", "It stopped.", "We sat."))
    refused, good = made(folder).infill([Blank(long, 2), BLANKS[0]])
    assert refused.status is InfillStatus.REFUSED
    assert "the text has " in refused.detail
    assert "tiny-bert-cased reads at most 256" in refused.detail
    assert good.extra["pieces"]


def test_what_is_drawn_follows_the_shares_within_the_limits() -> None:
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log().repeat(1000, 1)
    chance = (torch.arange(1000) + 0.5) / 1000

    def counts(**given: Any) -> list[int]:
        return torch.bincount(choose(logits, chance, Visiting(**given)), minlength=4).tolist()

    assert counts(top_p=1.0) == [500, 300, 150, 50]
    assert counts(top_p=0.8) == [625, 375, 0, 0]
    assert counts(top_p=0.81) == [526, 316, 158, 0]
    assert counts(top_k=2, top_p=1.0) == [625, 375, 0, 0]
    assert counts(sampling="greedy") == [1000, 0, 0, 0]
    assert counts(top_p=1.0, temperature=0.01) == [1000, 0, 0, 0]
    ends = choose(logits[:2], torch.tensor([0.0, 1.0]), Visiting(top_p=1.0))
    assert ends.tolist() == [0, 3]


def test_G12_weights_that_are_missing_or_strange_are_refused(
    folder: Path, word_pieces: Any, tmp_path: Path
) -> None:
    bad = keep(tmp_path / "bad", tiny(BertForMaskedLM, word_pieces.get_vocab_size()), word_pieces)
    weights = load_file(bad / "model.safetensors")
    del weights["cls.predictions.transform.dense.weight"]
    save_file(weights | {"stranger": torch.zeros(1)}, bad / "model.safetensors", metadata={"format": "pt"})
    assert "1 missing, 1 unexpected (cls.predictions.transform.dense.weight, stranger)" in refusal(bad)
    described = json.loads((bad / "config.json").read_text())
    (bad / "config.json").write_text(json.dumps({**described, "intermediate_size": 10**8}))
    assert "describes a far larger model" in refusal(bad)


def test_what_the_hub_keeps_of_pre_training_is_passed_over(word_pieces: Any, tmp_path: Path) -> None:
    """bert-base-cased's file: old names of the norms, a next-sentence head, no output layer of its own."""
    model = tiny(BertForPreTraining, word_pieces.get_vocab_size())
    kept = keep(tmp_path / "kept", model, word_pieces)
    weights = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in model.state_dict().items()
        if not name.startswith("cls.predictions.decoder")
    }
    weights = {name: tensor.clone() for name, tensor in weights.items()}
    weights["bert.embeddings.position_ids"] = torch.arange(256).unsqueeze(0)
    save_file(weights, kept / "model.safetensors", metadata={"format": "pt"})
    opened = open_masked_lm(str(kept), "cpu")
    assert torch.equal(
        opened.model.get_output_embeddings().weight, model.bert.embeddings.word_embeddings.weight
    )
    ids = torch.tensor([[2, 30, 4, 31, 3]])
    with torch.no_grad():
        found, wanted = opened.model(ids).logits, model.train(False)(ids).prediction_logits
    assert torch.allclose(found, wanted, atol=1e-5)


def test_G14_models_that_fill_no_masks_are_refused_in_words(
    word_pieces: Any, tokenizer: Any, tmp_path: Path, folder: Path
) -> None:
    rows = word_pieces.get_vocab_size()
    encoder = keep(tmp_path / "encoder", tiny(BertModel, rows), word_pieces)
    assert "has a BertModel, which does not predict masked pieces" in refusal(encoder)
    described = json.loads((encoder / "config.json").read_text())
    (encoder / "config.json").write_text(json.dumps(described | {"architectures": ["BertForMaskedLM"]}))
    assert "missing (cls.predictions" in refusal(encoder)
    causal = keep(tmp_path / "causal", tiny(BertLMHeadModel, rows, is_decoder=True), word_pieces)
    assert "BertLMHeadModel" in refusal(causal) or "does not see the text after" in refusal(causal)
    gpt2 = keep(tmp_path / "gpt2", tiny_gpt2(tokenizer.get_vocab_size()), tokenizer)
    assert "has a GPT2LMHeadModel, which does not predict masked pieces" in refusal(gpt2)
    maskless = keep(tmp_path / "maskless", tiny(BertForMaskedLM, tokenizer.get_vocab_size()), tokenizer)
    assert "no mask token" in refusal(maskless)
    larger = keep(tmp_path / "larger", tiny(BertForMaskedLM, 100), word_pieces)
    assert "pieces, the model 100" in refusal(larger)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "lacks config.json" in refusal(empty)
    assert "there is no folder ./nowhere" in refusal("./nowhere")
    assert "cannot be fetched" in refusal("")  # the default, and there is no network


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("order", "backwards"),
        ("sampling", "best"),
        ("temperature", "0"),
        ("top_p", "0"),
        ("steps", "x"),
        ("spam", "1"),
    ],
)
def test_options_out_of_range_are_refused(name: str, value: str, folder: Path) -> None:
    assert name in refusal(folder, **{name: value})


def test_a_folder_with_vocab_txt_alone_reads_the_same_and_case_is_seen(
    folder: Path, opened: MaskedLM, word_pieces: Any, tmp_path: Path
) -> None:
    old = keep(tmp_path / "old", tiny(BertForMaskedLM, word_pieces.get_vocab_size()), word_pieces)
    (old / "tokenizer.json").unlink()
    vocab = sorted(word_pieces.get_vocab().items(), key=lambda item: item[1])
    (old / "vocab.txt").write_text("".join(f"{token}\n" for token, _ in vocab), encoding="utf-8")
    found = open_masked_lm(str(old), "cpu").pieces
    text = " ".join(STORIES[0].sentences)
    assert found.read(text) == opened.pieces.read(text)
    assert found.cased
    assert set(found.forbidden) <= set(opened.pieces.forbidden)
    (old / "tokenizer_config.json").write_text('{"do_lower_case": true, "mask_token": "[MASK]"}')
    lower = made(old)
    assert lower.provenance.settings["cased"] is False
    assert lower.filler.opened.pieces.read("Café") == lower.filler.opened.pieces.read("cafe")


def test_a_model_of_RoBERTas_kind_fills_its_masks(tokenizer: Any, tmp_path: Path) -> None:
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.add_special_tokens(["<s>", "<pad>", "</s>", "<mask>"])
    torch.manual_seed(1)
    settings = config(copy.get_vocab_size()).to_dict() | {
        "pad_token_id": 1,
        "max_position_embeddings": 258,
        "model_type": "roberta",
    }
    kept = keep(tmp_path / "tiny-roberta", RobertaForMaskedLM(RobertaConfig(**settings)), copy)
    generator = made(kept, top_p="1", temperature="2")
    filler: BertFiller = generator.filler
    assert filler.opened.longest == 256
    assert filler.opened.pieces.prefix == ""
    for infill in generator.infill(BLANKS[:20]):
        space = " " if infill.blank.position > 1 else ""
        assert infill.extra["pieces"] == len(tokenizer.encode(space + infill.blank.original).ids)
        assert infill.status is not InfillStatus.UNPRINTABLE
        assert "<" not in infill.text


MISPRINT = re.compile(r"\s[.,!?]|,[^\W\d_]|\.[a-z]\.|[`\\]|\w- ")
"""A space before a mark, or none after a comma: no joining of pieces can know of these."""


def test_G19_X65_spaces_of_real_sentences_come_back(test_data: Path) -> None:
    files = [read_stories(test_data / "stories" / f"{split}.csv").stories for split in ("valid", "test")]
    train = read_stories(test_data / "stories" / "train.csv").stories[:4134]
    stories = [*STORIES, *files[0], *files[1], *train]
    sentences = [normalise(sentence) for story in stories for sentence in story.sentences]
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    wrong = [text for text in sentences if join([word for word, _ in split(text)]) != text]
    assert len(wrong) / len(sentences) < 0.0007
    assert sum(not MISPRINT.search(text) for text in wrong) / len(sentences) < 0.0003


@pytest.mark.parametrize(
    "text",
    [
        'I didn\'t say "no," did I?',
        "At 10:30 a.m. the well-known boys' band got $3,000.",
        "He said 'go' and went.",
        "It's o'clock -- and they'd we'll I'm you've.",
        "“Don’t!” she cried… (twice)",
        "Back in the '90s, 2.5% of us ran.",
        "The kids' well-known song was rock 'n' roll.",
        "It was a sweet candy - a treat - and we didn't share it.",
        "She bought it on amazon.com at 2:30am, and www.Example.com sent it.",
        "My mother-in-law sent a thank-you note and post-it notes.",
        "They ate s'mores, a PB&J sandwich and M&Ms with Tom & Jerry.",
        'He got an A+ in C++ and a C- in art for his 50,000th 12" record.',
        "The lion's' cage cost 250$ in all.",
        "The Ph.D. student of 5'11\" paid 50¢ at 70° outside.",
    ],
)
def test_G19_X65_punctuation_is_spaced_as_in_print(text: str) -> None:
    words = [word for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]
    joined = join(words_of(words))
    assert joined == text.replace(" -- ", "--") or joined == text


def test_the_same_lines_make_the_same_pieces() -> None:
    lines = [sentence for story in STORIES for sentence in story.sentences]
    first = vocabulary_of(lines, 800)
    assert [token["content"] for token in json.loads(first.to_str())["added_tokens"]] == CONTROL
    assert vocabulary_of(lines, 800).to_str() == first.to_str()


def test_a_bert_learns_stories_and_opens_again(tmp_path: Path) -> None:
    small = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    new_masked_lm(tmp_path / "new", STORIES[:6], vocabulary=300, **small)
    opened = open_masked_lm(str(tmp_path / "new"), "cpu")
    losses: list[float] = []
    settings: dict[str, Any] = {"steps": 60, "batch": 4, "learning_rate": 5e-3}
    result = train_masked_lm(opened, STORIES[:6], report=lambda line: losses.append(line.loss), **settings)
    assert (result.steps, result.loss) == (60, losses[-1])
    assert losses[-1] < 0.95 * losses[0]
    save_masked_lm(opened, tmp_path / "new", tmp_path / "out")
    again = open_masked_lm(str(tmp_path / "out"), "cpu")
    text = opened.pieces.read("It was warm.")
    assert again.pieces.read("It was warm.") == text
    places = ([[opened.pieces.first, *text, opened.pieces.last]], [0], [2])
    assert torch.equal(again.logits(*places), opened.logits(*places))
    assert made(tmp_path / "out").name == "bert-out"


def test_what_is_hidden_lies_in_one_sentence_or_is_single() -> None:
    chance, bounds = random.Random(1), [1, 6, 11, 21, 31, 41]
    found = [hidden_places(bounds, chance) for _ in range(400)]
    assert all(1 <= at < 41 for places in found for at in places)
    whole = [places for places in found if any(places == list(range(*pair)) for pair in pairwise(bounds))]
    assert len(whole) > 10
    assert sum(len(places) == 6 for places in found) > 150


def test_the_command_trains_from_scratch_and_on_from_a_folder(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from humaneval.cli.main import cli

    lines = [{"id": story.id, "sentences": story.sentences} for story in STORIES[:6]]
    (tmp_path / "some.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    given = ["--stories", str(tmp_path / "some.jsonl"), "--minutes", "0.005", "--device", "cpu"]

    def run(*more: str) -> Any:
        return CliRunner().invoke(cli, ["train", "bert", *given, *more])

    first = run("--from-scratch", "--out", "first")
    assert "loss" in first.output, first.exception
    assert "first" not in run("--from", "first", "--out", "second").output
    assert made(Path("second")).name == "bert-second"
    assert isinstance(run("--from-scratch", "--out", "first").exception, UsageError)
    assert isinstance(run("--out", "third").exception, UsageError)
    told = json.loads(
        run("--from-scratch", "--out", "fourth", "--batch", "2", "--lr", "1e-3", "--json").stdout
    )
    assert told["kind"] == "bert"
    assert told["steps"] >= 1
    with (tmp_path / "some.jsonl").open("a", encoding="utf-8") as more:
        more.write('{"id": "bad", "sentences": ["One."]}\n')
    assert isinstance(run("--from-scratch", "--out", "fifth").exception, InputError)
    assert "1 stories that cannot be used" in run("--from-scratch", "--out", "fifth", "--skip-bad").stderr
