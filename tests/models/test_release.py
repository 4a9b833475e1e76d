"""The paper's published checkpoints: opened as they are, without opening their pickle."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from generators.causal.ilm import build
from generators.checkpoints.base import open_base
from generators.checkpoints.checkpoint import save
from generators.checkpoints.loading import load
from generators.checkpoints.release import open_release
from generators.checkpoints.sequences import SpecialIds
from generators.masks.spans import Granularity
from humaneval.domain import Blank, Gap, GappedText, GeneratorRequest
from humaneval.errors import InputError
from humaneval.stories import bundled_stories
from tests.models.small_models import RunsOnUnpickling, like_gpt2, tiny_gpt2, write_pair

pytestmark = pytest.mark.models

CONFIG = {
    "activation_function": "gelu_new",
    "architectures": ["GPT2LMHeadModel"],
    "attn_pdrop": 0.1,
    "bos_token_id": 50256,
    "do_sample": False,
    "embd_pdrop": 0.1,
    "eos_token_id": 50256,
    "eos_token_ids": 0,
    "finetuning_task": None,
    "id2label": {"0": "LABEL_0", "1": "LABEL_1"},
    "initializer_range": 0.02,
    "is_decoder": False,
    "is_encoder_decoder": False,
    "label2id": {"LABEL_0": 0, "LABEL_1": 1},
    "layer_norm_epsilon": 1e-05,
    "length_penalty": 1.0,
    "max_length": 20,
    "min_length": 0,
    "model_type": "gpt2",
    "n_ctx": 64,
    "n_embd": 8,
    "n_head": 2,
    "n_layer": 1,
    "n_positions": 512,
    "no_repeat_ngram_size": 0,
    "num_beams": 1,
    "num_labels": 2,
    "num_return_sequences": 1,
    "output_attentions": False,
    "output_hidden_states": False,
    "output_past": True,
    "pad_token_id": None,
    "pruned_heads": {},
    "repetition_penalty": 1.0,
    "resid_pdrop": 0.1,
    "summary_activation": None,
    "summary_first_dropout": 0.1,
    "summary_proj_to_labels": True,
    "summary_type": "cls_index",
    "summary_use_proj": True,
    "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "torchscript": False,
    "use_bfloat16": False,
    "vocab_size": 50264,
}
"""A config as the libraries of 2020 wrote it, at a small size."""


@pytest.fixture(scope="module")
def vocabulary() -> Any:
    return like_gpt2()


@pytest.fixture
def released(tmp_path: Path, vocabulary: Any) -> Path:
    folder = tmp_path / "sto_ilm"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2))
    model = tiny_gpt2(50_264, n_positions=512, n_embd=8, n_layer=1)
    old = {
        "transformer.h.0.attn.bias": torch.tril(torch.ones(1, 1, 512, 512)),
        "transformer.h.0.attn.masked_bias": torch.tensor(-1e4),
    }
    torch.save(model.state_dict() | old, folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    (folder / "additional_ids_to_tokens.pkl").write_bytes(pickle.dumps(RunsOnUnpickling(tmp_path / "ran")))
    write_pair(folder, *vocabulary)
    return folder


def test_a_published_checkpoint_opens_with_the_ids_it_was_trained_with(released: Path) -> None:
    opened = load(released, kind="ilm")
    special = opened.special
    assert (special.start, special.end, special.total) == (50_257, 50_258, 50_264)
    assert [special.blank(type) for type in Granularity] == [50_259, 50_260, 50_261, 50_262, 50_263]
    assert opened.card.kind == "ilm"
    assert opened.card.training["from"] == "sto_ilm"
    assert opened.card.training["sha256"] == opened.hash
    assert 50_256 in opened.unread
    wanted = tiny_gpt2(50_264, n_positions=512, n_embd=8, n_layer=1).state_dict()
    assert all(torch.equal(tensor, wanted[name]) for name, tensor in opened.model.state_dict().items())
    assert opened.model.lm_head.weight is opened.model.transformer.wte.weight
    assert load(released, kind="lm").card.kind == "lm"


def test_G39_its_pickle_is_never_opened(released: Path, tmp_path: Path) -> None:
    load(released)
    open_release(released)
    open_base(str(released), blanks=tuple(Granularity))
    assert not (tmp_path / "ran").exists()
    pickle.loads((released / "additional_ids_to_tokens.pkl").read_bytes())
    assert (tmp_path / "ran").exists()  # it would have been noticed


def test_G39_weights_with_code_in_them_are_refused_and_not_run(released: Path, tmp_path: Path) -> None:
    for zipped in (True, False):
        torch.save(
            {"a": RunsOnUnpickling(tmp_path / "ran")},
            released / "pytorch_model.bin",
            _use_new_zipfile_serialization=zipped,
        )
        with pytest.raises(InputError, match="contains more than tensors, and was not opened"):
            load(released)
    (released / "pytorch_model.bin").write_bytes(pickle.dumps(RunsOnUnpickling(tmp_path / "ran")))
    with pytest.raises(InputError, match="cannot be opened"):
        load(released)
    assert not (tmp_path / "ran").exists()


def test_it_fills_in_sentences(released: Path, tmp_path: Path) -> None:
    blank = Blank(bundled_stories()[0], 3, 1)
    (ilm,) = build(GeneratorRequest("ilm", checkpoint=str(released), options={"longest": "3"}))
    (infill,) = ilm.infill([blank])
    assert infill.blank == blank
    prompt = ilm.filler.prompt(GappedText("", ("One came. ", " Two left."), (Gap(),)))
    assert prompt.count(50_261) == 1
    assert prompt[-1] == 50_257


def test_it_can_be_kept_as_a_checkpoint_of_ours_and_trained_further(released: Path, tmp_path: Path) -> None:
    opened = load(released)
    save(tmp_path / "ours", opened.model, opened.tokenizer, opened.card)
    ours = load(tmp_path / "ours", kind="ilm")
    assert all(
        torch.equal(a, b) for a, b in zip(opened.model.parameters(), ours.model.parameters(), strict=True)
    )
    assert not any(name.endswith(".attn.bias") for name in load_file(tmp_path / "ours" / "model.safetensors"))
    base = open_base(str(released), blanks=tuple(Granularity))
    assert base.special == SpecialIds(50_257)
    assert base.origin["new_rows"] == "none"


def test_its_tokenizer_must_be_there_and_be_gpt2s(released: Path, tokenizer: Any, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in ("vocab.json", "merges.txt"):
        (released / name).rename(kept / name)
    with pytest.raises(InputError, match="there is no tokenizer in") as error:
        load(released)
    assert "vocab.json and merges.txt" in error.value.hint
    tokenizer.save(str(released / "tokenizer.json"))
    with pytest.raises(InputError, match="is not GPT-2's"):
        load(released)


def test_G12_a_model_with_other_rows_is_refused(released: Path) -> None:
    (released / "config.json").write_text(json.dumps(CONFIG | {"vocab_size": 50_262}))
    torch.save(
        tiny_gpt2(50_262, n_positions=512, n_embd=8, n_layer=1).state_dict(), released / "pytorch_model.bin"
    )
    with pytest.raises(InputError, match="has 50262 embeddings, not 50264"):
        load(released)
