"""Fill in the middle: the prompt of every family id by id, its ends, no control tokens in answers, and a
model that learns it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, processors, trainers

from generators.causal.causal_lm import open_causal_lm, with_tokenizer
from generators.causal.fim import FAMILIES, PROBES, Fim, Options, build
from generators.sampling.decoding import Prompt, Written, draw
from generators.sampling.filling import Draft, ModelGenerator, Shared
from generators.sampling.trimming import before_repetition
from humaneval.conformance import tried
from humaneval.domain import Blank, Gap, GappedText, GeneratorRequest, InfillStatus, Story
from humaneval.errors import InputError, UsageError
from humaneval.infills.conformance import RULES, Trial
from humaneval.infills.generate import configuration_hash
from humaneval.stories import bundled_stories
from tests.models.pairs import train_pair, written_on
from tests.models.small_models import keep, tiny_gpt2, tiny_llama, with_control_tokens

pytestmark = pytest.mark.models

STORIES = bundled_stories()
BLANKS = [Blank(story, position) for story in STORIES[:4] for position in (1, 3, 5)]
BYTE_LEVEL = ("StarCoder", "SantaCoder", "Qwen2.5-Coder, CodeGemma", "DeepSeek-Coder")
STAR = FAMILIES["StarCoder"]
TEXT = GappedText("a", ("Tom sat. ", " He got up."), (Gap(),))


@pytest.fixture(scope="module")
def pieces() -> Any:
    """A vocabulary of the kind of Llama's: a space is ▁, one is put before every text, and rare characters
    are bytes."""
    single = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    words = [word for story in STORIES for sentence in story.sentences for word in sentence.split()]
    trainer = trainers.BpeTrainer(
        vocab_size=800, special_tokens=["<unk>", "<s>", "</s>", *single], show_progress=False
    )
    tokenizer.train_from_iterator(words, trainer)
    values = json.loads(tokenizer.to_str())
    values["added_tokens"] = [token for token in values["added_tokens"] if token["id"] < 3]
    whole = Tokenizer.from_str(json.dumps(values))
    whole.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return whole


def kept(folder: Path, tokenizer: Any, names: list[str], model: Any = tiny_gpt2, **settings: Any) -> Path:
    """A model with that many rows more than tokens as real ones have, its tokenizer with `names` added."""
    whole = with_control_tokens(tokenizer, *names)
    return keep(folder, model(whole.get_vocab_size() + 8, initializer_range=0.3, **settings), whole)


def names_of(family: str) -> list[str]:
    one = FAMILIES[family]
    return [name for name in (*one[:3], *one.ends) if name]


@pytest.fixture(scope="module")
def star(tmp_path_factory: pytest.TempPathFactory, tokenizer: Any) -> Path:
    return kept(tmp_path_factory.mktemp("models") / "tiny-star", tokenizer, names_of("StarCoder"))


def made(folder: Path, seed: int = 0, **options: str) -> ModelGenerator:
    (generator,) = build(
        GeneratorRequest("fim", checkpoint=str(folder), device="cpu", seed=seed, options=options)
    )
    assert isinstance(generator, ModelGenerator)
    return generator


def fim(folder: Path, **options: str) -> Fim:
    filler = made(folder, **options).filler
    assert isinstance(filler, Fim)
    return filler


def untried(folder: Path, **options: Any) -> Fim:
    """The filler with control tokens of one's own, before it is tried whether the model knows them."""
    opened = open_causal_lm("fim", str(folder), "cpu", "")
    return Fim(opened, 0, Options(**options))


def refusal(folder: Path | str, **options: str) -> str:
    with pytest.raises((InputError, UsageError)) as caught:
        made(folder, **options)
    assert caught.value.hint
    return str(caught.value)


@pytest.mark.parametrize("family", BYTE_LEVEL)
def test_G34_G35_the_prompt_of_a_family_id_by_id(family: str, tmp_path: Path, tokenizer: Any) -> None:
    filler = fim(kept(tmp_path / "m", tokenizer, names_of(family)))
    size = tokenizer.get_vocab_size()
    # Added tokens are numbered in their order: prefix, suffix, middle, then the ends.
    before, behind = (tokenizer.encode(side).ids for side in ("Tom sat.", " He got up."))
    assert filler.family == FAMILIES[family]
    assert filler.prompt(TEXT) == [size, *before, size + 1, *behind, size + 2]
    assert set(filler.rules.ends) == set(range(size, size + len(names_of(family))))
    spm = untried(tmp_path / "m", layout="spm")
    assert spm.prompt(TEXT) == [size, size + 1, *behind, size + 2, *before]


@pytest.mark.parametrize("family", ["Code Llama", "Codestral"])
def test_G34_G35_the_prompt_of_a_family_with_spaces_put_before_texts(
    family: str, tmp_path: Path, pieces: Any
) -> None:
    filler = fim(kept(tmp_path / "m", pieces, names_of(family), tiny_llama))
    vocab = with_control_tokens(pieces, *names_of(family)).get_vocab()
    names = {id: token for token, id in vocab.items()}
    shown = [names[id] for id in filler.prompt(TEXT)]
    one = FAMILIES[family]
    if family == "Code Llama":
        begin, first, *before = shown[: shown.index(one.suffix)]
        behind, last = shown[shown.index(one.suffix) + 1 : -1], shown[-1]
        assert (begin, first, last) == ("<s>", "▁<PRE>", "▁<MID>")
    else:
        at = shown.index(one.prefix)
        (begin, first), behind, before = shown[:2], shown[2:at], shown[at + 1 :]
        assert (begin, first) == ("<s>", "[SUFFIX]")
    assert "".join(before) == "▁Tom▁sat."
    assert "".join(behind) == "▁He▁got▁up."
    inside = replace(TEXT, pieces=("Tom sa", "t down."))
    assert "".join(names[id] for id in filler.prompt(inside)).count("▁t") == 0
    assert {names[id] for id in filler.rules.ends} == {*names_of(family)}
    assert filler.decode(filler.encode(" He got up.")).strip() == "He got up."


@pytest.mark.parametrize("stated", [True, False, None])
def test_G35_a_beginning_stands_first_only_where_the_models_tokenizer_puts_one(
    stated: bool | None, tmp_path: Path, tokenizer: Any
) -> None:
    folder = kept(tmp_path / "m", tokenizer, [*names_of("StarCoder"), "<begin>"])
    begin = tokenizer.get_vocab_size() + len(names_of("StarCoder"))
    if stated is not None:
        settings = {"add_bos_token": stated, "bos_token": {"content": "<begin>"}}
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    prompt = fim(folder).prompt(TEXT)
    assert (prompt[0] == begin) is bool(stated)
    assert prompt.count(begin) == int(bool(stated))


def test_G34_a_model_without_the_tokens_is_refused_and_what_was_looked_for_is_named(
    tmp_path: Path, tokenizer: Any, star: Path
) -> None:
    plain = kept(tmp_path / "plain", tokenizer, ["<|endoftext|>", "<fim_prefix>"])
    said = refusal(plain)
    assert "<fim_prefix> <fim_suffix> <fim_middle>; <fim-prefix>" in said
    assert "[PREFIX] [SUFFIX]" in said
    own = {"prefix": "<fim-prefix>", "suffix": "<fim_suffix>", "middle": "<fim_middle>"}
    assert "<fim-prefix> is not one token of tiny-star" in refusal(star, **own)
    assert "belong together" in refusal(star, prefix="<fim_prefix>")
    assert "layout" in refusal(star, layout="mps")
    assert "needs a token for the middle" in refusal(
        star, **{**own, "prefix": "<fim_prefix>", "middle": "", "layout": "psm"}
    )
    assert "needs a model" in refusal("")
    assert "is a file" in refusal(star / "config.json")
    assert "nonsense" in refusal(star, nonsense="1")


def test_a_tokenizer_with_more_ids_than_the_model_has_rows_is_refused(tmp_path: Path, tokenizer: Any) -> None:
    whole = with_control_tokens(tokenizer, *names_of("StarCoder"))
    folder = keep(tmp_path / "m", tiny_gpt2(tokenizer.get_vocab_size()), whole)
    assert "ids, its model 1,000" in refusal(folder)


def test_files_that_are_damaged_are_named(tmp_path: Path, tokenizer: Any) -> None:
    folder = kept(tmp_path / "m", tokenizer, names_of("StarCoder"))
    (folder / "tokenizer_config.json").write_text("{")
    assert "tokenizer_config.json cannot be read" in refusal(folder)
    (folder / "tokenizer_config.json").unlink()
    values = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps({**values, "added_tokens": ["odd"]}))
    assert "no whole tokenizer.json" in refusal(folder)


def test_tokens_of_ones_own_are_read_in_the_order_that_is_asked_for(tmp_path: Path, tokenizer: Any) -> None:
    folder = kept(tmp_path / "m", tokenizer, ["<A>", "<B>", "<C>", "<|EOT|>"])
    size = tokenizer.get_vocab_size()
    before, behind = (tokenizer.encode(side).ids for side in ("Tom sat.", " He got up."))
    filler = untried(folder, prefix="<A>", suffix="<B>", middle="<C>")
    assert filler.prompt(TEXT) == [size, *before, size + 1, *behind, size + 2]
    assert {*filler.rules.ends} == {size, size + 1, size + 2, size + 3}
    assert untried(folder, prefix="<A>", suffix="<B>").prompt(TEXT) == [size + 1, *behind, size, *before]
    masks = untried(folder, prefix="<A>", suffix="<B>", layout="mask")
    assert masks.prompt(TEXT) == [*before, size, *behind, size + 1, size]


def test_X62_incoders_masks_have_a_layout_of_their_own(tmp_path: Path, tokenizer: Any) -> None:
    filler = fim(kept(tmp_path / "m", tokenizer, names_of("InCoder")))
    size = tokenizer.get_vocab_size()
    before, behind = (tokenizer.encode(side).ids for side in ("Tom sat.", " He got up."))
    assert filler.prompt(TEXT) == [*before, size, *behind, size + 1, size]
    assert {size, size + 1, size + 2} <= {*filler.rules.ends}


def test_X62_tokens_of_ones_own_with_which_the_model_does_not_copy_are_refused(
    tmp_path: Path, tokenizer: Any
) -> None:
    folder = kept(tmp_path / "m", tokenizer, ["<A>", "<B>", "<C>"])
    said = refusal(folder, prefix="<A>", suffix="<B>", middle="<C>")
    assert "does not fill in the middle with these tokens" in said


@pytest.mark.parametrize("layout", ["spm", "mask"])
def test_X62_another_layout_than_that_of_a_known_family_is_tried(layout: str, star: Path) -> None:
    assert "does not fill in the middle with these tokens" in refusal(star, layout=layout)


def test_X62_tokens_of_ones_own_with_which_the_model_copies_are_taken(tmp_path: Path, tokenizer: Any) -> None:
    whole = with_control_tokens(tokenizer, "<A>", "<B>", "<C>", "<|endoftext|>")
    model = tiny_gpt2(whole.get_vocab_size(), n_embd=32, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    folder = keep(tmp_path / "m", model, whole)
    filler = untried(folder, prefix="<A>", suffix="<B>", middle="<C>")
    end = whole.token_to_id("<|endoftext|>")
    examples = [
        written_on(
            filler.prompt(GappedText("", (before, behind), (Gap(),))),
            [*tokenizer.encode(f" {missing}").ids, *tokenizer.encode(behind).ids, end],
        )
        for before, missing, behind in PROBES
    ]
    train_pair(model, examples, steps=150, rate=6e-3)
    keep(folder, model, whole)
    assert fim(folder, prefix="<A>", suffix="<B>", middle="<C>").family.prefix == "<A>"


def test_G35_line_ends_of_any_kind_are_read_as_one(star: Path) -> None:
    filler = fim(star)
    prompts = [
        filler.prompt(replace(TEXT, pieces=(f"Tom{end}sat. ", f"{end}He got up.")))
        for end in ("\n", "\r\n", "\r")
    ]
    assert prompts[0] == prompts[1] == prompts[2]
    story = replace(STORIES[0], sentences=("A\r\nb.", *STORIES[0].sentences[1:]))
    (infill,) = made(star).infill([Blank(story, 2)])
    assert infill.blank.filled(infill.text)[0] == "A\r\nb."


def test_a_gap_at_either_end_has_an_empty_side(star: Path, tokenizer: Any) -> None:
    filler = fim(star)
    size = tokenizer.get_vocab_size()
    read = tokenizer.encode(" He got up.").ids
    assert filler.prompt(replace(TEXT, pieces=("", " He got up."))) == [size, size + 1, *read, size + 2]
    read = tokenizer.encode("Tom sat.").ids
    assert filler.prompt(replace(TEXT, pieces=("Tom sat. ", ""))) == [size, *read, size + 1, size + 2]
    gaps = replace(TEXT, pieces=("Tom sat. ", " ", " He got up."), gaps=(Gap(), Gap()))
    assert filler.prompt(gaps) == filler.prompt(TEXT)


def test_G33_control_tokens_in_a_story_are_text(star: Path, tokenizer: Any) -> None:
    filler = fim(star)
    odd = "He wrote <fim_middle> and <|endoftext|> and <fim_suffix>."
    prompt = filler.prompt(replace(TEXT, pieces=(f"{odd} ", f" {odd}")))
    control = [id for id in prompt if id >= tokenizer.get_vocab_size()]
    assert control == [filler.tokens[name] for name in STAR[:3]]
    story = replace(STORIES[0], sentences=(odd, *STORIES[0].sentences[1:]))
    (infill,) = made(star).infill([Blank(story, 2)])
    assert infill.blank.filled(infill.text)[0] == odd


@pytest.mark.parametrize("name", names_of("StarCoder"))
def test_G33_every_end_of_the_family_ends_an_answer_and_leaves_no_trace(
    name: str, tmp_path: Path, star: Path, tokenizer: Any
) -> None:
    filler = fim(star)
    end = with_control_tokens(tokenizer, *names_of("StarCoder")).token_to_id(name)
    with torch.no_grad():  # a model that says nothing but a word and, from the third token on, the end
        filler.model.lm_head.weight.zero_()
        body: Any = filler.model.transformer
        body.ln_f.weight.zero_()
        body.ln_f.bias.fill_(1.0)
        filler.model.lm_head.weight[end] = 100.0
    ((draft,),) = filler.draft([TEXT], ["a"])
    assert (draft.text, draft.status, draft.extra["tokens"]) == ("", InfillStatus.OK, 0)
    with torch.no_grad():
        filler.model.lm_head.weight[tokenizer.encode(" red").ids[0]] = 101.0
        filler.model.lm_head.weight[end] = 101.0
    drafts = filler.draft([TEXT] * 8, list("abcdefgh"))
    assert all("<" not in draft.text for (draft,) in drafts)
    assert any(draft.text and draft.status is InfillStatus.OK for (draft,) in drafts)


def test_G33_nothing_but_text_is_drawn(star: Path, tokenizer: Any) -> None:
    filler = fim(star, temperature="5", top_p="1", longest="60")
    never = set(range(tokenizer.get_vocab_size(), filler.model.config.vocab_size)) - {*filler.rules.ends}
    assert never <= {*filler.rules.forbidden}
    assert {*filler.rules.forbidden}.isdisjoint(filler.rules.ends)
    prompts = [Prompt(filler.prompt(TEXT), f"{number}") for number in range(40)]
    drawn = draw(filler.model, prompts, filler.rules, filler.decoding, 0)
    ids = [id for (written,) in drawn for id in written.ids]
    assert len(ids) > 400
    assert max(ids) < tokenizer.get_vocab_size()
    assert "\n" not in filler.decode(ids)
    assert sum(written.ended for (written,) in drawn) > 4


def test_G33_ids_of_added_tokens_are_not_drawn_though_they_are_not_called_special(
    tmp_path: Path, tokenizer: Any
) -> None:
    folder = kept(tmp_path / "m", tokenizer, [*names_of("StarCoder"), "<tool>"])
    file = folder / "tokenizer.json"
    values = json.loads(file.read_text())
    for token in values["added_tokens"]:
        token["special"] = False
    file.write_text(json.dumps(values))
    filler = fim(folder)
    assert filler.opened.ids["<tool>"] in filler.rules.forbidden
    assert filler.tokens["<fim_middle>"] in filler.rules.ends


def test_G33_a_control_token_that_is_spelt_out_in_letters_is_cut_off_and_told(star: Path) -> None:
    filler = fim(star)
    draft = filler._clean(Draft("She left. <fim_middle>He"), " He got up.")
    assert (draft.text, draft.status) == ("She left. ", InfillStatus.FILTERED)
    assert "<fim_middle>" in draft.detail


def test_G40_what_repeats_the_text_behind_is_cut_off_and_told(star: Path) -> None:
    filler = fim(star)
    cut = Draft("She left and He got up.", InfillStatus.CUT, "no end")
    draft = filler._clean(cut, " He got up. Then he ate.")
    assert (draft.text, draft.status, draft.extra) == ("She left and", InfillStatus.OK, {"trimmed": True})
    kept_whole = Draft("She got up.")
    assert filler._clean(kept_whole, " He got up.") is kept_whole
    assert before_repetition("He got up.", "He got up.") == ""
    assert before_repetition("He got", "He got up.") == "He got"


def test_the_first_sentence_is_kept_and_a_second_stops_it(star: Path, tokenizer: Any) -> None:
    filler = fim(star)
    ids = tokenizer.encode(" She sat down. Then she").ids
    text, tokens = filler.read(Written(list(ids)), Gap())
    assert text == "She sat down."
    assert tokenizer.decode(ids[:tokens]) == " She sat down."
    assert filler.rules.stop is not None
    assert filler.rules.stop(ids)
    assert not filler.rules.stop(ids[:tokens])


@pytest.mark.parametrize("layout", ["psm", "spm"])
def test_G15_what_a_blank_gets_depends_on_neither_batch_nor_order(layout: str, star: Path) -> None:
    filler = untried(star, layout=layout, top_k=8)  # few: rounding decides nothing
    texts = [
        GappedText(
            blank.story.id, (f"{blank.story.sentences[0]} ", f" {blank.story.sentences[-1]}"), (Gap(),)
        )
        for blank in BLANKS
    ]
    keys = [f"{number}" for number in range(len(texts))]
    together = filler.draft(texts, keys)
    backwards = filler.draft(texts[::-1], keys[::-1])[::-1]
    alone = [filler.draft([text], [key])[0] for text, key in zip(texts, keys, strict=True)]
    for (one,), (two,), (three,) in zip(together, backwards, alone, strict=True):
        assert one.text == two.text == three.text
        assert one.extra["logprob"] == pytest.approx(three.extra["logprob"], abs=1e-3)
    assert len({one.text for (one,) in together}) > 8
    drawn = [
        [one.text for one in ModelGenerator("fim", untried(star, layout=layout), 0, shared).infill(BLANKS)]
        for shared in (Shared(batch=5), Shared())
    ]
    assert drawn[0] == drawn[1]
    assert filler.draft(texts, [f"other {key}" for key in keys]) != together


def test_a_beginning_several_blanks_and_a_text_that_is_too_long(star: Path) -> None:
    ((begun,),) = fim(star).draft([replace(TEXT, gaps=(Gap(beginning="Then she"),))], ["a"])
    assert begun.text.startswith("Then she")
    two = GappedText("a", ("Tom sat. ", " He got up. ", ""), (Gap(), Gap()))
    (answers,) = made(star).fill([two])
    assert len(answers) == 2
    long = Story("long", ("word " * 300, *STORIES[0].sentences[1:]), "")
    (infill,) = made(star).infill([Blank(long, 3)])
    assert infill.status is InfillStatus.REFUSED
    assert "at most 256" in infill.detail


def test_the_provenance_says_what_the_model_reads(star: Path) -> None:
    generator = made(star, precision="bf16", layout="psm")
    assert generator.name == "fim-tiny-star"
    said = generator.provenance
    assert said.kind == "fim"
    assert said.checkpoint.startswith("tiny-star sha256:")
    assert said.settings["layout"] == "psm"
    assert said.settings["prefix"] == "<fim_prefix>"
    assert said.batch["precision"] == "bf16"
    assert made(star).provenance.batch["precision"] == "fp32"


def test_X61_a_text_of_low_precision_says_what_its_batch_was(star: Path) -> None:
    sizes = [infill.extra["batch"] for infill in made(star, precision="bf16", batch="8").infill(BLANKS)]
    assert sorted(sizes) == [4] * 4 + [8] * 8
    assert all("batch" not in infill.extra for infill in made(star, batch="8").infill(BLANKS))


def test_X61_under_one_name_low_precision_has_one_size_of_batch(star: Path) -> None:
    hashes = {
        (precision, batch): configuration_hash(made(star, precision=precision, batch=batch).provenance)
        for precision in ("fp32", "bf16")
        for batch in ("1", "32")
    }
    assert hashes["fp32", "1"] == hashes["fp32", "32"]
    assert hashes["bf16", "1"] != hashes["bf16", "32"]


def test_X61_the_rules_for_generators_know_what_low_precision_promises(star: Path) -> None:
    def make(seed: int) -> ModelGenerator:
        return made(star, seed, precision="bf16", longest="8")

    findings = {found.rule: found for found in tried(Trial(make, STORIES[:2]), RULES)}
    assert "depends on its batch" in findings["batch equals single"].skipped
    assert {rule: found.wrong for rule, found in findings.items() if found.wrong} == {}


COLOURS = ("red", "blue", "green", "black", "white", "brown", "pink", "gold")
NAMES = ("Tom", "Anna", "Ben", "Lucy", "Sam", "Mia")


@pytest.mark.parametrize("layout", ["psm", "spm"])
def test_a_model_trained_so_takes_a_word_from_behind_the_gap(
    layout: str, tmp_path: Path, tokenizer: Any
) -> None:
    whole = with_control_tokens(tokenizer, *names_of("StarCoder"))
    model = tiny_gpt2(whole.get_vocab_size() + 8, n_embd=32, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    folder = keep(tmp_path / "m", model, whole)
    filler = Fim(
        with_tokenizer(model, folder, "m", ""), 0, Options(layout=layout, temperature=0.1, longest=20)
    )
    end = whole.token_to_id("<|endoftext|>")
    pairs = [(name, colour) for name in NAMES for colour in COLOURS]
    random.Random(0).shuffle(pairs)
    texts = {
        pair: GappedText(" ".join(pair), (f"{pair[0]} had a bag. ", f" It was {pair[1]}."), (Gap(),))
        for pair in pairs
    }
    examples = [
        written_on(
            filler.prompt(texts[name, colour]), [*tokenizer.encode(f" {name} liked {colour}.").ids, end]
        )
        for name, colour in pairs[:36]
    ]
    train_pair(model, examples, steps=200, rate=6e-3)
    unseen = pairs[36:]
    generator = ModelGenerator("fim", filler, 0, Shared())
    answers = [filling.text for (filling,) in generator.fill(texts[pair] for pair in unseen)]
    right = sum(
        answer == f"{name} liked {colour}." for answer, (name, colour) in zip(answers, unseen, strict=True)
    )
    assert right >= 10, answers
