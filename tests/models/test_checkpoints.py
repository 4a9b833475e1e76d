"""Checkpoints: what is damaged, foreign or of another kind is refused in words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from generators.checkpoints import CARD, TOKENIZER, WEIGHTS, load, save
from generators.training.corpus import train_tokenizer
from humaneval.errors import InputError

pytestmark = pytest.mark.models


@pytest.fixture
def folder(checkpoints: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(checkpoints["ilm"], tmp_path / "copy"))


def test_a_checkpoint_comes_back_as_it_was_saved(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    first = load(checkpoints["ilm"], kind="ilm")
    save(tmp_path, first.model, first.tokenizer, first.card)
    second = load(tmp_path, kind="ilm")
    assert second.hash == first.hash
    for (name, a), b in zip(
        first.model.state_dict().items(), second.model.state_dict().values(), strict=True
    ):
        assert torch.equal(a, b), name
    assert second.model.lm_head.weight is second.model.transformer.wte.weight


def test_another_kind_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="kind 'ilm', not 'lm'"):
        load(folder, kind="lm")


def test_G12_missing_or_strange_weights_are_fatal(folder: Path) -> None:
    weights = load_file(folder / WEIGHTS)
    del weights["transformer.ln_f.weight"]
    weights["stranger"] = torch.zeros(1)
    save_file(weights, folder / WEIGHTS)
    with pytest.raises(InputError, match="1 missing, 1 unexpected"):
        load(folder, kind="ilm")


def test_G31_a_tokenizer_that_reads_otherwise_is_refused(folder: Path) -> None:
    train_tokenizer(["quite another corpus of words"], 400).save(str(folder / TOKENIZER))
    with pytest.raises(InputError, match="does not read as the one"):
        load(folder, kind="ilm")


@pytest.mark.parametrize("name", ["config.json", WEIGHTS, TOKENIZER, CARD])
def test_a_folder_that_lacks_a_file_is_said_to(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(InputError, match=name.replace(".", r"\.")):
        load(folder, kind="ilm")


def test_a_damaged_card_is_said_to_be(folder: Path) -> None:
    (folder / CARD).write_text(json.dumps({"kind": "ilm"}))
    with pytest.raises(InputError, match="damaged"):
        load(folder, kind="ilm")


def test_G39_no_file_of_a_checkpoint_is_a_pickle(checkpoints: dict[str, Path]) -> None:
    for path in checkpoints["ilm"].iterdir():
        assert path.suffix in (".json", ".jsonl", ".safetensors"), path.name
