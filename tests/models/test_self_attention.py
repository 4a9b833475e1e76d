"""SA: positions and masks as described, answers that do not depend on the batch, and text as people write
it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from generators.checkpoints.weights import CONFIG, WEIGHTS
from generators.masks.documents import Document, story_document
from generators.sampling.filling import ModelGenerator
from generators.self_attention.architecture import Architecture
from generators.self_attention.beam_search import Chance, write
from generators.self_attention.casing import detokenise, truecase
from generators.self_attention.checkpoint import WORDS, card_of, load, save
from generators.self_attention.generator import build, repeats
from generators.self_attention.model import SelfAttention, signal
from generators.self_attention.template import SEGMENT, Template, padded, template_of
from generators.self_attention.vocabulary import (
    BOA,
    BOS,
    EOA,
    EOS,
    MASK,
    PAD,
    SPECIAL,
    UNK,
    UNWRITTEN,
    Vocabulary,
    words_of,
)
from generators.training.sa_corpus import (
    Corpus,
    held_batches,
    learn_vocabulary,
    read_corpus,
    sentences_of,
    training_batches,
)
from generators.training.sa_plan import Plan
from generators.training.sa_run import new_model, perplexity, smoothed_loss, train
from humaneval.domain import Blank, Gap, GappedText, GeneratorRequest, InfillStatus, Story
from humaneval.errors import InputError, UsageError
from tests.commands import Command
from tests.models.conftest import real_documents

pytestmark = pytest.mark.models

TINY = Architecture(layers=2, width=32, heads=2, hidden=64)
PIECES = ("Anna had a dog. ", " It was cold. They went home.")


@pytest.fixture(scope="module")
def vocabulary(bundled: tuple[Document, ...]) -> Vocabulary:
    return learn_vocabulary((words for document in bundled for words in sentences_of(document)), 300)


@pytest.fixture(scope="module")
def corpus(bundled: tuple[Document, ...], vocabulary: Vocabulary) -> Corpus:
    return read_corpus(bundled, vocabulary)


@pytest.fixture(scope="module")
def model(vocabulary: Vocabulary) -> SelfAttention:
    """An untrained model with distant embeddings, so that its answers are varied and long."""
    found = new_model(TINY, vocabulary, 3).eval()
    with torch.no_grad():
        found.words.weight *= 2
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, model: SelfAttention, vocabulary: Vocabulary) -> Path:
    """The untrained model's checkpoint."""
    place = tmp_path_factory.mktemp("sa") / "checkpoint"
    save(place, model, TINY, vocabulary, card_of(vocabulary, {}))
    return place


def generator(folder: Path, seed: int = 0, **options: object) -> ModelGenerator:
    chosen = {name: str(value) for name, value in options.items()}
    (found,) = build(GeneratorRequest("sa", checkpoint=str(folder), device="cpu", seed=seed, options=chosen))
    assert isinstance(found, ModelGenerator)
    return found


def text(key: str, *pieces: str, **gap: Any) -> GappedText:
    return GappedText(key, pieces or PIECES, (Gap(**gap),) * (len(pieces or PIECES) - 1))


def test_the_template_of_two_blanks_is_the_one_computed_by_hand() -> None:
    found = template_of([[10, 11], [12, 13, 14], [15]])
    assert found.ids == [BOS, 10, 11, MASK, 12, 13, 14, MASK, 15, EOS]
    assert found.segments == [0, 0, 0, 1, 2, 2, 2, 3, 4, 4]
    assert found.offsets == [0, 1, 2, 0, 0, 1, 2, 0, 0, 1]
    assert found.positions == [0, 1, 2, 256, 512, 513, 514, 768, 1024, 1025]
    # The first blank is filled: its words are text, and the open one is segment 1.
    merged = template_of([[10, 11, 20, 12, 13, 14], [15]])
    assert merged.segments == [0, 0, 0, 0, 0, 0, 0, 1, 2, 2]
    assert merged.offsets == [0, 1, 2, 3, 4, 5, 6, 0, 0, 1]


def test_the_signal_is_sines_then_cosines_of_waves_from_1_to_10_000() -> None:
    at = torch.tensor([0, 5, 515])
    rates = torch.tensor([1.0, 1e-2, 1e-4])
    expected = torch.cat([(at[:, None] * rates).sin(), (at[:, None] * rates).cos()], 1)
    torch.testing.assert_close(signal(at, 6), expected, atol=1e-4, rtol=0)


def test_answers_are_scaled_and_lie_in_segment_1(vocabulary: Vocabulary) -> None:
    bare = new_model(replace(TINY, layers=0), vocabulary, 0).eval()
    ids = torch.tensor([[BOA, 40, 41]])
    states, _ = bare(ids, bare.remember(ids, ids))
    sums = bare.words(ids) * 32**0.5 + signal(torch.tensor([256, 257, 258]), 32)
    torch.testing.assert_close(states, bare.norm(sums))


@pytest.mark.parametrize(("scaled", "scale"), [(False, 1.0), (True, 32**0.5)])
def test_words_of_the_template_are_raw_or_scaled(vocabulary: Vocabulary, scaled: bool, scale: float) -> None:
    one = new_model(replace(TINY, layers=1, scale_template=scaled), vocabulary, 0).eval()
    ids, positions = torch.tensor([[BOS, 40, MASK, EOS]]), torch.tensor([[0, 1, 256, 512]])
    attention: Any = one.blocks[0].template
    keys = attention.key(one.words(ids) * scale + signal(positions, 32))
    torch.testing.assert_close(one.remember(ids, positions).layers[0][0], attention.split(keys))


def test_batches_of_stories_are_the_templates_of_their_sentences(
    bundled: tuple[Document, ...], vocabulary: Vocabulary, corpus: Corpus
) -> None:
    texts, chosen = np.array([3, 0, 7]), np.array([corpus.first[3], corpus.first[0] + 2, corpus.first[7] + 4])
    found = corpus.batch(texts, chosen)
    for row, (at, blank) in enumerate([(3, 0), (0, 2), (7, 4)]):
        sentences = [vocabulary.ids(words) for words in sentences_of(bundled[at])]
        before, after = (list(chain(*some)) for some in (sentences[:blank], sentences[blank + 1 :]))
        template, length = template_of([before, after]), len(sentences[blank]) + 1
        assert (
            found.template[row].tolist() == padded([template.ids, [0] * found.template.shape[1]])[0].tolist()
        )
        assert found.positions[row][: len(template.ids)].tolist() == template.positions
        assert found.answer[row][:length].tolist() == [BOA, *sentences[blank]]
        assert found.target[row][:length].tolist() == [*sentences[blank], EOA]
        assert set(found.answer[row][length:].tolist()) | set(found.target[row][length:].tolist()) <= {PAD}


def test_every_text_comes_once_a_pass_and_all_sentences_are_blanks_alike(corpus: Corpus) -> None:
    size = 50
    steps = -(-len(corpus) // size)
    stream = training_batches(corpus, 1, size)
    passes = [[next(stream) for _ in range(steps)] for _ in range(40)]
    assert all(sum(len(batch.template) for batch in one) == len(corpus) for one in passes)
    blanks = np.concatenate([(batch.template == MASK).argmax(1) for one in passes for batch in one])
    assert 0.17 < (blanks == 1).mean() < 0.23  # the first of five: right behind <BOS>
    again = next(training_batches(corpus, 1, size, start=steps + 1))
    assert all(np.array_equal(a, b) for a, b in zip(again, passes[1][1], strict=True))
    assert not np.array_equal(next(training_batches(corpus, 2, size)).template, passes[0][0].template)


def test_no_word_sees_those_behind_it_and_none_sees_padding(model: SelfAttention) -> None:
    template = torch.tensor([[BOS, 40, MASK, 41, 42, EOS]])
    positions = torch.tensor([[0, 1, 256, 512, 513, 514]])
    memory = model.remember(template, positions)
    one, _ = model(torch.tensor([[BOA, 50, 51, 52]]), memory)
    two, _ = model(torch.tensor([[BOA, 50, 60, PAD]]), memory)
    torch.testing.assert_close(one[:, :2], two[:, :2])
    assert not torch.allclose(one[:, 2], two[:, 2])
    wide, far = (torch.nn.functional.pad(ids, (0, 7)) for ids in (template, positions))
    padded_states, _ = model(torch.tensor([[BOA, 50, 51, 52]]), model.remember(wide, far))
    torch.testing.assert_close(one, padded_states)


def test_the_loss_is_the_cross_entropy_with_the_smoothed_distribution() -> None:
    logits, targets = (
        torch.randn(5, 12, generator=torch.Generator().manual_seed(0)),
        torch.tensor([1, 4, 11, 6, 6]),
    )
    wanted = torch.full((5, 12), 0.1 / 10)
    wanted[:, PAD] = 0
    wanted[torch.arange(5), targets] = 0.9
    expected = torch.nn.functional.cross_entropy(logits, wanted)
    torch.testing.assert_close(smoothed_loss(logits, targets, 0.1), expected)
    torch.testing.assert_close(
        smoothed_loss(logits, targets, 0.0), torch.nn.functional.cross_entropy(logits, targets)
    )


def test_the_rate_rises_to_its_peak_and_falls_with_the_root() -> None:
    plan = Plan(warm_up=100)
    peak = plan.rate(100, 512)
    assert peak == pytest.approx(0.3 * 512**-0.5 * 0.1)
    assert (plan.rate(50, 512), plan.rate(400, 512)) == pytest.approx((peak / 2, peak / 2))


def test_perplexity_is_of_words_with_padding_and_ends_left_out(model: SelfAttention, corpus: Corpus) -> None:
    together = perplexity(model, held_batches(corpus, 0, 64, 100))
    apart = perplexity(model, held_batches(corpus, 0, 1, 100))
    assert together == pytest.approx(apart, rel=1e-4)
    flat = new_model(TINY, Vocabulary(("a",) * 3), 0)
    with torch.no_grad():
        flat.words.weight.zero_()
    rows = len(SPECIAL) + 3
    small = Corpus(np.array([7, 8, 9, 7]), np.array([0, 2, 4]), np.array([0, 2]), {})
    assert perplexity(flat, held_batches(small, 0, 2, 5)) == pytest.approx((rows, rows))


def plainly(model: SelfAttention, template: Template, longest: int) -> list[int]:
    """Greedy, without a cache, alone."""
    ids = [BOA]
    memory = model.remember(torch.tensor([template.ids]), torch.tensor([template.positions]))
    for _ in range(longest):
        states, _ = model(torch.tensor([ids]), memory)
        logits = model.logits(states[0, -1])
        logits[list(UNWRITTEN)] = -torch.inf
        ids.append(int(logits.argmax()))
        if ids[-1] == EOA:
            return ids[1:-1]
    return ids[1:]


def some_templates(count: int) -> list[Template]:
    draw = np.random.default_rng(4)
    return [
        template_of([draw.integers(7, 300, draw.integers(0, 30)).tolist() for _ in range(2)])
        for _ in range(count)
    ]


def test_one_beam_is_greedy_and_the_cache_changes_nothing(model: SelfAttention) -> None:
    templates = some_templates(12)
    found = write(model, templates, [[]] * 12, beams=1, longest=15)
    assert [list(one.ids) for one in found] == [plainly(model, one, 15) for one in templates]
    ids = torch.tensor([[BOA, *found[0].ids]])
    memory = model.remember(torch.tensor([templates[0].ids]), torch.tensor([templates[0].positions]))
    whole, _ = model(ids, memory)
    cache = None
    for at in range(ids.shape[1]):
        state, cache = model(ids[:, at : at + 1], memory, cache, start=at)
        torch.testing.assert_close(state[:, 0], whole[:, at], atol=1e-4, rtol=0)


def test_enough_beams_find_the_likeliest_of_all_answers() -> None:
    words = Vocabulary(("a", "b", "c"))
    model = new_model(TINY, words, 5).eval()
    template = template_of([[7], [8, 9]])
    memory = model.remember(torch.tensor([template.ids]), torch.tensor([template.positions]))

    def score(ids: tuple[int, ...]) -> float:
        states, _ = model(torch.tensor([[BOA, *ids]]), memory)
        logits = model.logits(states[0])
        logits[:, list(UNWRITTEN)] = -torch.inf
        return float(logits.log_softmax(-1).gather(1, torch.tensor([[*ids, EOA]]).T).sum())

    with torch.inference_mode():
        every = [ids for length in range(4) for ids in product(range(7, 10), repeat=length)]
        best = max(every, key=score)
        (found,) = write(model, [template], [[]], beams=40, longest=4)
        assert found.ended
        assert found.ids == best
        assert found.logprob == pytest.approx(score(best), abs=1e-4)


@pytest.mark.parametrize("decoding", ["beam", "greedy", "sampled"])
def test_G17_what_a_text_gets_does_not_depend_on_company_or_order(folder: Path, decoding: str) -> None:
    texts = [
        text(f"t{n}", f"{'Anna had a dog. ' * n}", f" It was cold.{' They ran.' * (n % 3)}") for n in range(7)
    ]
    together = list(generator(folder, decoding=decoding, longest=12).fill(texts))
    alone = [next(generator(folder, decoding=decoding, longest=12, batch=1).fill([one])) for one in texts]
    turned = list(generator(folder, decoding=decoding, longest=12, batch=3).fill(texts[::-1]))[::-1]
    for one, other, third in zip(together, alone, turned, strict=True):
        assert one[0].text == other[0].text == third[0].text
        assert one[0].extra["logprob"] == pytest.approx(other[0].extra["logprob"], abs=1e-3)
        assert one[0].status is other[0].status


def test_G08_blanks_are_filled_in_order_and_the_text_is_read_anew(folder: Path) -> None:
    engine = generator(folder, longest=8)
    both = text("k", "Anna had a dog. ", " It was cold. ", " They went home.")
    ((first, second),) = engine.fill([both])
    ((alone,),) = engine.fill(
        [GappedText("k", ("Anna had a dog. ", " It was cold. <m> They went home."), (Gap(),))]
    )
    merged = f"Anna had a dog. {first.text} It was cold. "
    ((then,),) = engine.fill([GappedText("k", (merged, " They went home."), (Gap(),))])
    assert second.text == then.text
    assert first.text
    assert alone.text  # what looks like a blank in a text is text
    assert "one blank after the other" in str(engine.provenance.settings["order"])
    assert not engine.several


def test_G09_drawing_is_by_the_seed_and_each_sample_is_another(folder: Path) -> None:
    one = text("k")
    samples = [one, replace(one, sample=2)]

    def texts(seed: int) -> list[str]:
        return [
            found.text
            for (found,) in generator(folder, seed, decoding="sampled", temperature=4, longest=10).fill(
                samples
            )
        ]

    assert texts(1) == texts(1)
    assert len({*texts(1), *texts(2)}) == 4
    settings = generator(folder, 1).provenance
    assert (settings.settings["decoding"], settings.settings["beam"], settings.seed) == ("beam", 2, 1)


def test_G13_the_length_is_bounded_and_repetition_is_said(folder: Path, model: SelfAttention) -> None:
    dull = Vocabulary(("na",))
    one = new_model(TINY, dull, 0).eval()
    with torch.no_grad():
        one.words.weight[EOA] = 0
        one.words.weight[7] = one.norm(one.words.weight[7]) * 9
        one.norm.weight.zero_()
        one.norm.bias.copy_(one.words.weight[7])
    place = folder.parent / "dull"
    save(place, one, TINY, dull, card_of(dull, {}))
    ((found,),) = generator(place, longest=5, decoding="greedy").fill([text("k")])
    assert (found.status, found.text) == (InfillStatus.CUT, "Na na na na na")
    assert found.extra == {"tries": 1, "words": 5, "logprob": found.extra["logprob"], "repeats": True}
    assert not repeats(["a", "b", "a", "b"])
    assert repeats(["a", "b", "c", "a", "b", "c"])


@pytest.mark.parametrize("beams", [1, 3])
def test_nothing_special_is_ever_written(model: SelfAttention, vocabulary: Vocabulary, beams: int) -> None:
    loud = new_model(TINY, vocabulary, 0).eval()
    with torch.no_grad():
        loud.words.weight[list(UNWRITTEN)] *= 30
    templates = some_templates(20)
    chance = Chance(20.0, 1.0, 0, [str(n) for n in range(20)]) if beams == 1 else None
    found = write(loud, templates, [[]] * 20, beams=beams, longest=20, chance=chance)
    ids = {id for answer in found for id in answer.ids}
    assert ids
    assert min(ids) >= len(SPECIAL)


def test_a_beginning_stands_as_it_was_given(folder: Path) -> None:
    engine = generator(folder, longest=12, tries=1)
    ((found,),) = engine.fill([text("k", beginning="Zyx didn't")])
    assert found.text.startswith("Zyx didn't ")
    assert found.status in (InfillStatus.OK, InfillStatus.CUT, InfillStatus.SEVERAL_SENTENCES)


def test_a_text_longer_than_the_context_is_refused_and_the_others_are_not(folder: Path) -> None:
    long = text("long", "Anna ran. " * (SEGMENT // 3 + 1), " It was cold.")
    (refused,), (fine,) = generator(folder, longest=5).fill([long, text("k")])
    assert refused.status is InfillStatus.REFUSED
    assert "258 words" in refused.detail
    assert fine.text


def test_truecase_and_spaces_are_as_people_write() -> None:
    cases = {"anna": "Anna", "tv": "TV"}
    for written in (
        "Anna didn't watch TV, but I'll go.",
        '"Why can\'t she?" he asked Anna.',
        'Anna said, "It\'s $4.50 (or 3%)!"',
        "The boys' room cannot be Anna's.",
        "He was gonna sing 'one more' with 'em...",
        "I don’t know; he’s late.",
        "It was 3:30 p.m. in well-known U.S. towns.",
    ):
        words = words_of(written, [(0, len(written))])
        cased = truecase([word.lower() for word in words], {**cases, "u.s.": "U.S."})
        assert detokenise(cased) == written


def test_real_sentences_come_back_from_their_words(test_data: Path) -> None:
    documents = real_documents(test_data, "valid.csv")
    vocabulary = learn_vocabulary(
        (words for document in documents for words in sentences_of(document)), 10_000
    )
    sentences = [d.text[s.start : s.end] for d in documents for s in d.paragraphs[1][1]]
    words = [words_of(one, [(0, len(one))]) for one in sentences]
    spaced = [detokenise(one) == sentence for one, sentence in zip(words, sentences, strict=True)]
    cased = [truecase([word.lower() for word in one], vocabulary.cases) == one for one in words]
    assert np.mean(spaced) > 0.998
    assert np.mean(cased) > 0.93


def test_the_vocabulary_has_the_most_frequent_words_and_their_casing() -> None:
    sentences = [["She", "saw", "Ben", "."], ["Ben", "saw", "TV", "."], ["Saw", "she", '"', "It", '"', "?"]]
    found = learn_vocabulary(sentences, 3 + 4)
    assert found.words == ("saw", '"', ".", "ben")
    assert len(found) == len(SPECIAL) + 4
    assert found.cases == {"ben": "Ben"}
    assert found.ids(["BEN", "nobody", "<m>", "<PAD>"]) == [found.ids(["ben"])[0], UNK, UNK, UNK]
    assert UNK not in found.ids(["saw", "."])


def test_G39_a_checkpoint_is_json_and_safetensors_and_opens_as_it_was(
    folder: Path, model: SelfAttention, vocabulary: Vocabulary
) -> None:
    assert {path.name for path in folder.iterdir()} == {CONFIG, WEIGHTS, WORDS, "infilling.json"}
    opened = load(folder)
    assert opened.vocabulary == vocabulary
    assert len(opened.hash) == 64
    assert opened.card.kind == "sa"
    for name, tensor in model.state_dict().items():
        assert torch.equal(opened.model.state_dict()[name], tensor)


def spoil(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    path = folder / name
    path.write_text(json.dumps(change(json.loads(path.read_text()))), encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda f: (f / "infilling.json").unlink(), "is not a checkpoint"),
        (lambda f: spoil(f, "infilling.json", lambda v: {**v, "kind": "ilm"}), "of kind 'ilm', not 'sa'"),
        (lambda f: (f / WORDS).unlink(), "lacks vocabulary.json"),
        (lambda f: (f / WORDS).write_text("[1"), "is not a vocabulary"),
        (lambda f: (f / WORDS).write_text("[" * 200_000), "is not a vocabulary"),
        (lambda f: (f / CONFIG).write_text("[" * 200_000), "does not describe the model"),
        (lambda f: spoil(f, CONFIG, lambda v: {**v, "dropout": 10**400}), "does not describe the model"),
        (lambda f: spoil(f, WORDS, lambda v: {**v, "words": v["words"][::-1]}), "is not that of the model"),
        (lambda f: spoil(f, WORDS, lambda v: {**v, "words": v["words"][:-1]}), "is not that of the model"),
        (lambda f: spoil(f, CONFIG, lambda v: {**v, "width": 33}), "does not describe the model"),
        (lambda f: spoil(f, CONFIG, lambda v: {**v, "layers": 3}), "do not fit the model"),
        (lambda f: spoil(f, CONFIG, lambda v: {**v, "hidden": 10**7}), "describes a far larger model"),
        (lambda f: (f / WEIGHTS).write_bytes(b"\x80\x04pickle"), "cannot be read"),
        (lambda f: spoil(f, "infilling.json", lambda v: {**v, "weights": "0" * 64}), "is not the file"),
    ],
)
def test_what_is_no_checkpoint_of_sa_is_refused_in_a_line(
    damage: Callable[[Path], object], words: str, model: SelfAttention, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    place = tmp_path / "spoilt"
    save(place, model, TINY, vocabulary, card_of(vocabulary, {}))
    damage(place)
    with pytest.raises(InputError, match=words) as error:
        generator(place)
    assert "\n" not in error.value.message
    assert error.value.hint


@pytest.mark.parametrize(
    "options",
    [{"beam": 0}, {"decoding": "best"}, {"longest": 0}, {"top_p": 0}, {"temperature": "hot"}, {"depth": 1}],
)
def test_options_out_of_range_are_refused(folder: Path, options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        generator(folder, **options)


def test_tries_that_would_all_write_the_same_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="with beam decoding, sa writes the same at every try"):
        generator(folder, tries=3)
    generator(folder, tries=3, decoding="sampled")


def test_a_checkpoint_has_to_be_named() -> None:
    with pytest.raises(UsageError, match="needs a checkpoint"):
        build(GeneratorRequest("sa"))


def small_run(folder: Path, corpus: Corpus, vocabulary: Vocabulary, steps: int) -> Any:
    plan = Plan(batch=8, warm_up=4, steps=steps, evaluate_every=2, evaluation_examples=16)
    return train(folder, TINY, plan, vocabulary, corpus, corpus)


def test_a_run_that_goes_on_is_the_run_that_was_not_interrupted(
    tmp_path: Path, corpus: Corpus, vocabulary: Vocabulary
) -> None:
    whole = small_run(tmp_path / "whole", corpus, vocabulary, 6)
    small_run(tmp_path / "parts", corpus, vocabulary, 4)
    parts = small_run(tmp_path / "parts", corpus, vocabulary, 6)
    assert (parts.step, parts.best) == (whole.step, whole.best)
    assert load(tmp_path / "parts").hash == load(tmp_path / "whole").hash
    lines = [json.loads(line) for line in (tmp_path / "parts" / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [2, 4, 6]
    with pytest.raises(InputError, match="another run"):
        train(tmp_path / "parts", TINY, Plan(seed=1, steps=8), vocabulary, corpus, corpus)


def test_the_command_trains_a_checkpoint_that_fills_stories(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "sa"
    said = command(
        "train",
        "sa",
        "--bundled",
        "--preset",
        "small",
        "--layers",
        "1",
        "--width",
        "32",
        "--heads",
        "2",
        "--hidden",
        "32",
        "--vocabulary",
        "500",
        "--batch",
        "8",
        "--steps",
        "3",
        "--device",
        "cpu",
        "--out",
        out,
        "--json",
    )
    assert said.code == 0, said.err
    assert said.json["kind"] == "sa"
    assert said.json["steps"] == 3
    assert 1 < said.json["masked_perplexity"] < 1000
    story = Story(
        "s", ("Anna ran.", "It was cold.", "She saw Ben.", "He sang.", "They left."), title="Never read"
    )
    infills = list(generator(out, longest=5).infill([Blank(story, position) for position in range(1, 6)]))
    assert [infill.blank.position for infill in infills] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--bundled", "--stories", __file__),
        ("--bundled", "--width", "33"),
        ("--bundled", "--preset", "lyrics"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(command: Command, tmp_path: Path, arguments: Any) -> None:
    said = command("train", "sa", *arguments, "--out", tmp_path / "out")
    assert said.code == 2
    assert "Traceback" not in said.err


NAMES = ("Anna", "Ben", "Carla", "David", "Emma", "Frank")
PLACES = ("river", "market", "school", "garden", "harbor", "castle")
ANIMALS = ("dog", "cat", "horse", "rabbit", "parrot", "turtle")


def echoes() -> Iterator[Story]:
    """Stories whose first sentence is determined by the later ones."""
    for at, (name, place, animal) in enumerate(product(NAMES, PLACES, ANIMALS)):
        yield Story(
            str(at),
            (
                f"{name} took the {animal} to the {place}.",
                f"The {place} was not far away.",
                f"The {animal} slept all day.",
                f"In the evening, {name} ate bread.",
                "It was a good day.",
            ),
        )


def test_it_learns_what_the_later_sentences_determine(tmp_path: Path) -> None:
    stories = list(echoes())
    np.random.default_rng(0).shuffle(stories)
    training, held = (list(map(story_document, part)) for part in (stories[40:], stories[:40]))
    vocabulary = learn_vocabulary(
        (words for document in training for words in sentences_of(document)), 10_000
    )
    architecture = Architecture(2, 64, 4, 128, dropout=0.0, scale_template=True)
    plan = Plan(batch=32, warm_up=100, lr_scale=0.2, steps=260, evaluate_every=130)
    train(
        tmp_path / "echo",
        architecture,
        plan,
        vocabulary,
        read_corpus(training, vocabulary),
        read_corpus(held, vocabulary),
    )
    infills = generator(tmp_path / "echo").infill([Blank(story, 1) for story in stories[:40]])
    right = [infill.text == infill.blank.original for infill in infills]
    assert np.mean(right) >= 0.95
