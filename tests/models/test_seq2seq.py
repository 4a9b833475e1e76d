"""T5 and BART: answers are found by sentinel or by alignment, do not depend on the batch, and control strings
are text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from generators.sampling.choosing import Sampling
from generators.sampling.filling import ModelGenerator
from generators.sequence.alignment import align
from generators.sequence.bart import BartFiller
from generators.sequence.bart import build as build_bart
from generators.sequence.encoder_decoder import Drawn, Source, draw_pairs
from generators.sequence.t5 import T5Filler, build
from humaneval.domain import Blank, Gap, GappedText, GeneratorRequest, InfillStatus
from humaneval.errors import InputError, UsageError
from humaneval.stories import bundled_stories
from tests.models.pairs import (
    bytes_tokenizer,
    change_file,
    pieces_tokenizer,
    tiny_bart,
    tiny_t5,
    train_pair,
)
from tests.models.small_models import keep, tiny_gpt2

pytestmark = pytest.mark.models
STORIES = bundled_stories()[:12]
TEXTS = [" ".join(story.sentences) for story in STORIES]
TWO = GappedText("t", ("Ann came. ", " She sat ", "."), (Gap(), Gap("ngram")))
OK, CUT, MISSING, REFUSED = InfillStatus.OK, InfillStatus.CUT, InfillStatus.MISSING, InfillStatus.REFUSED


@pytest.fixture(scope="module")
def t5_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Taught no more than to answer with sentinels and words."""
    folder = tiny_t5(tmp_path_factory.mktemp("t5") / "tiny-t5", pieces_tokenizer(TEXTS))
    filler = made(folder).filler
    one, two, three = filler.sentinels[:3]
    words = [filler.encode(word) for word in TEXTS[0].split()]
    pairs = [
        (filler.source(TWO), [one, *words[at], two, *words[at + 1], three, filler.opened.end])
        for at in range(len(words) - 1)
    ]
    train_pair(filler.opened.model, pairs, steps=60, rate=1e-2)
    filler.opened.model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def bart_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Taught to write a few texts again, with a word in the gaps of each."""
    folder = tiny_bart(tmp_path_factory.mktemp("bart") / "tiny-bart", bytes_tokenizer())
    filler = made(folder, build_bart).filler
    pairs = []
    for text, words in BART_TEXTS:
        read, whole = [0], ""
        for at, piece in enumerate(filler.pieces(text)):
            read += [*([260] if at else []), *piece]
        for piece, word in zip(text.pieces, [*words, ""], strict=True):
            whole += piece + word
        pairs.append(([*read, 2], [0, *filler.encode(whole), 2]))
    train_pair(filler.opened.model, pairs, steps=110, rate=5e-3)
    filler.opened.model.save_pretrained(folder)
    return folder


BART_TEXTS = [
    (GappedText("a", ("It was ", " and he ", "."), (Gap("word"), Gap("word"))), ["late", "ran"]),
    (GappedText("b", ("", " came."), (Gap("word"),)), ["Zoë"]),
    (GappedText("c", ("They ate ", ""), (Gap("ngram"),)), ["all of it."]),
]


@pytest.fixture
def t5(t5_folder: Path) -> ModelGenerator:
    return made(t5_folder)


def made(folder: Path, builder: Any = build, seed: int = 0, **options: str) -> Any:
    request = GeneratorRequest("pair", checkpoint=str(folder), device="cpu", seed=seed, options=options)
    return builder(request)[0]


def filler_of(generator: Any) -> Any:
    assert isinstance(generator, ModelGenerator)
    return generator.filler


def blanks() -> list[Blank]:
    return [Blank(story, position) for story in STORIES[:4] for position in (1, 3, 5)]


def test_T5_reads_a_text_with_a_sentinel_in_each_gap(t5: Any) -> None:
    filler = filler_of(t5)
    assert isinstance(filler, T5Filler)
    control = filler.opened.control
    ids = filler.source(TWO)
    first, second = ids.index(control["<extra_id_0>"]), ids.index(control["<extra_id_1>"])
    decode = filler.opened.tokenizer.decode
    assert [decode(ids[:first]), decode(ids[first + 1 : second]), decode(ids[second + 1 : -1])] == [
        "Ann came.",
        "She sat",
        ".",
    ]
    assert ids[-1] == control["</s>"]


def test_control_strings_in_a_story_are_text(t5: Any) -> None:
    filler = filler_of(t5)
    for text in ("She wrote <extra_id_0> and </s> there.", "<pad><unk>", "<extra_id_7>"):
        ids = filler.encode(text)
        assert not set(ids) & set(filler.opened.control.values())
        assert filler.opened.tokenizer.decode(ids) == text


def test_G21_answers_are_found_by_sentinel_in_any_order_and_a_missing_one_is_said(t5: Any) -> None:
    filler = filler_of(t5)
    one, two, three, four = filler.sentinels[:4]
    word = {name: filler.encode(name) for name in ("Ann", "Bo", "Cy", "Di")}
    ids = [*word["Di"], two, *word["Bo"], one, *word["Ann"], two, *word["Cy"], four, *word["Di"]]
    drafts = filler.answers(Drawn(tuple(ids), True), (Gap(), Gap(), Gap()))
    assert [(draft.text, draft.status) for draft in drafts] == [("Ann", OK), ("Bo", OK), ("", MISSING)]
    assert three not in ids


def test_G21_tries_are_counted_and_end(t5_folder: Path) -> None:
    fillings = next(made(t5_folder, tries="3", longest="4").fill([TWO]))
    assert {filling.extra["tries"] for filling in fillings} == {3}


def test_an_answer_without_end_is_cut_and_says_so(t5: Any) -> None:
    filler = replace(filler_of(t5), options=replace(filler_of(t5).options, longest=2))
    one, two = filler.sentinels[:2]
    x = filler.encode("Ann")[0]
    drafts = filler.answers(Drawn((one, x, x, x, two, x), False), (Gap(), Gap()))
    assert [draft.status for draft in drafts] == [CUT, CUT]
    assert [draft.detail for draft in drafts] == ["more than 2 tokens", "no end within the longest length"]


def test_what_an_answer_begins_with_is_read_before_the_sentinel(t5: Any) -> None:
    filler = filler_of(t5)
    text = replace(TWO, gaps=(Gap(beginning="Then she"), Gap()))
    assert filler.opened.tokenizer.decode(filler.source(text)[:-1]).startswith("Ann came. Then she")
    draft, _ = filler.answers(Drawn((filler.sentinels[0], *filler.encode("sang.")), True), text.gaps)
    assert draft.text == "Then she sang."


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_G15_G17_what_a_blank_gets_depends_on_neither_batch_nor_order(
    kind: str, t5_folder: Path, bart_folder: Path
) -> None:
    def fill(seed: int = 0, **options: str) -> Any:
        folder, builder = (t5_folder, build) if kind == "t5" else (bart_folder, build_bart)
        return made(folder, builder, seed, longest="6", temperature="1.1", top_p="1.0", **options)

    texts = [
        GappedText(f"{n}", ("It " + "was " * n, " and he ", "."), (Gap("word"), Gap("word")))
        for n in range(1, 9)
    ]
    together = list(fill(batch="8").fill(texts))
    assert list(fill(batch="3").fill(texts[::-1]))[::-1] == together
    assert [next(fill(batch="1").fill([text])) for text in texts] == together
    assert list(fill(seed=1).fill(texts)) != together
    assert {filling.status for fillings in together for filling in fillings} & {OK, CUT}


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_a_padded_row_has_the_logits_of_the_row_alone(kind: str, t5_folder: Path, bart_folder: Path) -> None:
    generator = made(t5_folder) if kind == "t5" else made(bart_folder, build_bart)
    model = filler_of(generator).opened.model
    seen: list[torch.Tensor] = []
    hook = model.register_forward_hook(
        lambda module, given, output: seen.append(output.logits[:, -1].clone())
    )
    rows = [Source([5 + n for n in range(length)], f"{length}", 5) for length in (3, 17, 9)]

    def run(*chosen: Source) -> torch.Tensor:
        seen.clear()
        draw_pairs(
            filler_of(generator).opened, chosen, sampling=Sampling(), seed=0, prefix=[0], forbidden=[1, 2]
        )
        return torch.stack(seen, 1)

    together = run(*rows)
    for number, row in enumerate(rows):
        torch.testing.assert_close(together[number], run(row)[0], atol=1e-4, rtol=0)
    hook.remove()


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_the_cache_writes_what_is_written_without_one(kind: str, t5_folder: Path, bart_folder: Path) -> None:
    generator = made(t5_folder) if kind == "t5" else made(bart_folder, build_bart)
    opened = filler_of(generator).opened
    seen: list[torch.Tensor] = []
    hook = opened.model.register_forward_hook(
        lambda module, given, output: seen.append(output.logits[0, -1].clone())
    )
    (drawn,) = draw_pairs(
        opened, [Source([7, 8, 9, 10], "k", 6)], sampling=Sampling(), seed=0, prefix=[0], forbidden=[1, 2]
    )
    hook.remove()
    whole = opened.model(
        input_ids=torch.tensor([[7, 8, 9, 10]]),
        decoder_input_ids=torch.tensor([[0, *drawn.ids[:-1]]]),
        use_cache=False,
    )
    torch.testing.assert_close(torch.stack(seen), whole.logits[0], atol=1e-4, rtol=0)


def test_only_what_stands_for_text_is_ever_drawn(t5_folder: Path) -> None:
    for infill in made(t5_folder, temperature="5", top_p="1.0", longest="20").infill(blanks()):
        assert "extra_id" not in infill.text
        assert "\0" not in infill.text
        assert infill.status in (OK, CUT, MISSING, InfillStatus.EMPTY, InfillStatus.SEVERAL_SENTENCES)


def test_a_text_longer_than_the_model_reads_is_refused_not_cut(t5: Any, bart_folder: Path) -> None:
    long = GappedText("l", ("Ann came. " * 200, " End."), (Gap(),))
    first, second = t5.fill([TWO, long])
    assert second[0].status is REFUSED
    assert second[0].detail.endswith("the model reads 512")
    assert {filling.status for filling in first} <= {
        OK,
        CUT,
        MISSING,
        InfillStatus.EMPTY,
        InfillStatus.SEVERAL_SENTENCES,
    }
    ((filling,),) = made(bart_folder, build_bart).fill([long])
    assert filling.status is REFUSED
    many = GappedText("m", ("",) * 10, (Gap(),) * 9)
    assert {filling.detail for filling in next(t5.fill([many]))} == {"9 gaps, not at most 8"}


@pytest.mark.parametrize(
    ("pieces", "written", "spans", "edits"),
    [
        ([[1, 2], [3]], [1, 2, 8, 9, 3], [(2, 4)], 0),
        ([[], [3, 4]], [8, 3, 4], [(0, 1)], 0),
        ([[1], []], [1, 8, 9], [(1, 3)], 0),
        ([[1], [2], [3]], [1, 8, 2, 9, 9, 3], [(1, 2), (3, 5)], 0),
        ([[1, 2, 3], [4]], [1, 7, 3, 8, 4], [(3, 4)], 1),
        ([[1, 2, 3], [4]], [1, 3, 8, 4], [(2, 3)], 1),
        ([[1], [2]], [1, 2], [(0, 0)], 0),
        ([[1, 5], [5, 2]], [1, 5, 8, 5, 8, 5, 2], [(2, 5)], 0),
        ([[1, 2], [3]], [], [(0, 0)], 3),
    ],
)
def test_G22_answers_are_found_by_the_fewest_edits(
    pieces: list[list[int]], written: list[int], spans: list[tuple[int, int]], edits: int
) -> None:
    assert align(pieces, written) == (spans, edits)


def test_G22_BART_fills_the_gaps_of_the_text_that_it_writes_anew(bart_folder: Path) -> None:
    generator = made(bart_folder, build_bart, top_p="0.5", longest="20")
    assert isinstance(generator.filler, BartFiller)
    for (_, words), filled in zip(BART_TEXTS, generator.fill([text for text, _ in BART_TEXTS]), strict=True):
        assert [filling.text for filling in filled] == words
        assert {filling.extra["edits"] for filling in filled} == {0}


def test_G22_a_context_that_does_not_come_back_is_an_error(bart_folder: Path) -> None:
    filler = made(bart_folder, build_bart).filler
    text, _ = BART_TEXTS[0]
    written = tuple(filler.encode("Nobody knows what this is."))
    for draft in filler.answers(Drawn(written, True), filler.pieces(text), text.gaps):
        assert draft.status is InfillStatus.ERROR
        assert "did not keep the context" in draft.detail
    draft, _ = filler.answers(Drawn(written, False), filler.pieces(text), text.gaps)
    assert draft.status is CUT
    side_by_side = GappedText("s", ("It was ", " ", " late."), (Gap(), Gap()))
    (found,) = filler.draft([side_by_side], ["k"])
    assert [draft.status for draft in found] == [REFUSED, REFUSED]


def test_BART_reads_control_strings_as_text(bart_folder: Path) -> None:
    filler = made(bart_folder, build_bart).filler
    ids = filler.encode("<mask> </s> <s>")
    assert not set(ids) & set(filler.opened.control.values())


def test_provenance_names_weights_and_settings(t5_folder: Path) -> None:
    provenance = made(t5_folder, seed=4, top_p="0.8").provenance
    assert (provenance.kind, provenance.seed, provenance.settings["top_p"]) == ("t5", 4, 0.8)
    assert provenance.checkpoint.startswith("tiny-t5 sha256:")
    assert provenance.batch == {"size": 32, "device": "cpu", "precision": "fp32"}


def test_models_that_do_not_fit_are_refused_in_words(
    t5_folder: Path, bart_folder: Path, tmp_path: Path, tokenizer: Any
) -> None:
    gpt2 = keep(tmp_path / "gpt2", tiny_gpt2(tokenizer.get_vocab_size()), tokenizer)
    for folder, builder, message in (
        (gpt2, build, "has a GPT2LMHeadModel, which is not an encoder"),
        (bart_folder, build, "has no sentinels"),
        (t5_folder, build_bart, "has no token <s>"),
        (tmp_path / "nothing", build, "there is no folder"),
        (t5_folder / "config.json", build, "is a file"),
    ):
        with pytest.raises(InputError, match=message):
            made(folder, builder)
    with pytest.raises(UsageError, match="top_p is out of range"):
        made(t5_folder, top_p="0")


def test_weights_that_are_missing_or_left_over_are_refused(tmp_path: Path) -> None:
    folder = tiny_t5(tmp_path / "t5", pieces_tokenizer(TEXTS))
    weights = load_file(folder / "model.safetensors")
    name = "decoder.final_layer_norm.weight"
    for changed, message in (
        ({key: value for key, value in weights.items() if key != name}, "1 missing"),
        ({**weights, "more": weights[name].clone()}, "1 unexpected"),
        ({**weights, name: weights[name] * float("nan")}, "not finite numbers"),
    ):
        save_file(changed, folder / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(InputError, match=message):
            made(folder)
    old = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    save_file({**weights, old: torch.zeros(32, 2)}, folder / "model.safetensors", metadata={"format": "pt"})
    made(folder)
    change_file(folder, "config.json", eos_token_id=None)
    with pytest.raises(InputError, match="names no end token"):
        made(folder)
    change_file(folder, "config.json", eos_token_id=[1, 2])
    with pytest.raises(InputError, match="names no end token"):
        made(folder)
    change_file(folder, "config.json", eos_token_id=1)
    change_file(folder, "tokenizer.json", added_tokens=[5, {"id": "x", "content": []}, {"content": "a"}])
    made(folder)
    change_file(folder, "config.json", d_ff=10**8)
    with pytest.raises(InputError, match="describes a far larger model"):
        made(folder)
