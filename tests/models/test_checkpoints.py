"""Checkpoints: damaged, foreign and other kinds of checkpoints are refused with a reason."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from generators.checkpoints.card import Card, probe
from generators.checkpoints.checkpoint import save
from generators.checkpoints.folder import CARD, NEXT, PART, write_json
from generators.checkpoints.loading import load
from generators.checkpoints.tokenizer import TOKENIZER
from generators.checkpoints.weights import CONFIG, WEIGHTS
from generators.training.corpus import train_tokenizer
from humaneval.errors import InputError
from tests.conftest import ROOT, lacking
from tests.models.small_models import tiny_gpt2, tiny_llama

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
    with pytest.raises(InputError, match=r"1 missing, 1 unexpected \(stranger, transformer\.ln_f\.weight\)"):
        load(folder, kind="ilm")


def test_G31_a_tokenizer_that_reads_otherwise_is_refused(folder: Path) -> None:
    train_tokenizer(["quite another corpus of words"], 400).save(str(folder / TOKENIZER))
    with pytest.raises(InputError, match="is not the one that the model"):
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


@pytest.mark.parametrize("make", [tiny_gpt2, tiny_llama])
@pytest.mark.parametrize("kind", ["lm-rev", "lm-all"])
def test_any_architecture_and_kind_is_kept(make: Any, kind: str, tokenizer: Any, tmp_path: Path) -> None:
    card = Card(
        kind,
        tokenizer.get_vocab_size(),
        probe(tokenizer),
        blanks=["noun", "verb"],
        mask="tagged",
        corpus="lyrics",
    )
    model = make(card.vocabulary + 4)
    save(tmp_path, model, tokenizer, card)
    opened = load(tmp_path)
    assert type(opened.model) is type(model)
    assert (opened.card.kind, opened.card.mask, opened.card.corpus) == (kind, "tagged", "lyrics")
    assert opened.special.blank("verb") == card.vocabulary + 3
    tied = "lm_head.weight" not in load_file(tmp_path / WEIGHTS)
    assert tied is (make is tiny_gpt2)
    assert load(tmp_path, kind=kind).hash == opened.hash == opened.card.weights


def test_weights_are_kept_in_full_precision(tokenizer: Any, tmp_path: Path) -> None:
    model = tiny_llama(tokenizer.get_vocab_size() + 7).to(torch.bfloat16)
    save(tmp_path, model, tokenizer, Card("ilm", tokenizer.get_vocab_size(), probe(tokenizer)))
    assert {tensor.dtype for tensor in load_file(tmp_path / WEIGHTS).values()} == {torch.float32}
    assert load(tmp_path).model.dtype == torch.float32


def test_a_checkpoint_of_the_first_layout_still_opens(folder: Path) -> None:
    values = json.loads((folder / CARD).read_text())
    for name in ("blanks", "mask", "corpus", "weights"):
        del values[name]
    (folder / CARD).write_text(json.dumps(values))
    opened = load(folder, kind="ilm")
    assert opened.card.blanks == ["document", "paragraph", "sentence", "ngram", "word"]
    assert (opened.card.mask, opened.card.corpus) == ("hierarchical", "stories")


def _misshape(folder: Path) -> None:
    weights = load_file(folder / WEIGHTS)
    weights["transformer.ln_f.bias"] = torch.zeros(5)
    save_file(weights, folder / WEIGHTS)


def _spoil(folder: Path) -> None:
    weights = load_file(folder / WEIGHTS)
    weights["transformer.ln_f.bias"][0] = float("inf")
    save_file(weights, folder / WEIGHTS)


def _exchange(folder: Path) -> None:
    weights = load_file(folder / WEIGHTS)
    save_file({name: tensor + 1 for name, tensor in weights.items()}, folder / WEIGHTS)


def _cut(folder: Path) -> None:
    with (folder / WEIGHTS).open("r+b") as file:
        file.truncate((folder / WEIGHTS).stat().st_size - 100)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_misshape, r"safetensors do not fit the model: 1 of another shape \(transformer.ln_f.bias\)"),
        (_spoil, r"safetensors has weights that are not finite numbers, in transformer.ln_f.bias"),
        (_exchange, "is not the file that infilling.json was written with"),
        (_cut, "model.safetensors cannot be read"),
        (
            lambda folder: write_json(
                folder / CONFIG, {**json.loads((folder / CONFIG).read_text()), "n_embd": 4096}
            ),
            "config.json describes a far larger model than the weights beside it",
        ),
        (
            lambda folder: (folder / "config.json").write_text("[1"),
            "config.json does not describe a language model",
        ),
        (
            lambda folder: (folder / "config.json").write_text("{}"),
            "config.json does not describe a language model",
        ),
        (lambda folder: (folder / TOKENIZER).write_text("{"), "tokenizer.json is not a tokenizer"),
        (lambda folder: (folder / CARD).write_text("[" * 200_000), "infilling.json is damaged"),
        (lambda folder: (folder / CARD).write_text("[]"), "infilling.json is damaged"),
        (lambda folder: (folder / CARD).write_bytes(b"\xff\xfe"), "infilling.json is damaged"),
        (
            lambda folder: (folder / CARD).write_text('{"kind": "ilm", "vocabulary": "many", "probe": []}'),
            "infilling.json is damaged: a value is of the wrong type",
        ),
    ],
)
def test_G12_each_damage_is_one_clear_line(folder: Path, damage: Any, message: str) -> None:
    damage(folder)
    with pytest.raises(InputError, match=message) as error:
        load(folder, kind="ilm")
    assert "\n" not in error.value.message
    assert error.value.hint


def _other(folder: Path) -> Any:
    """The checkpoint in `folder` with other weights, another card and another tokenizer."""
    opened = load(folder)
    with torch.no_grad():
        for tensor in opened.model.parameters():
            tensor.add_(0.25)
    return opened.model, opened.tokenizer, Card("ilm", opened.card.vocabulary, opened.card.probe, {"step": 2})


def test_a_save_that_is_stopped_at_any_point_leaves_the_old_set_or_the_new(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stops before the first write to the disk, then before the second, and so on until a save completes."""
    old = load(folder)
    model, tokenizer, card = _other(folder)
    real = {name: getattr(Path, name) for name in ("mkdir", "write_text", "rename", "replace", "rmdir")}
    seen, stop = set(), 0
    while "through" not in seen:
        copy = Path(shutil.copytree(folder, tmp_path / str(stop)))
        left = [stop]

        def touch(name: str, left: list[int] = left) -> Any:
            def call(self: Path, *given: Any, **named: Any) -> Any:
                if left[0] == 0:
                    raise KeyboardInterrupt  # as a kill does, it runs none of the tidying for errors
                left[0] -= 1
                return real[name](self, *given, **named)

            return call

        with monkeypatch.context() as patched:
            for name in real:
                patched.setattr(Path, name, touch(name))
            try:
                save(copy, model, tokenizer, card)
                seen.add("through")
            except KeyboardInterrupt:
                pass
        found = load(copy)
        new = found.hash != old.hash
        assert (found.card.training == {"step": 2}) is new
        seen.add("new" if new else "old")
        # Whatever files are left, the next save completes.
        save(copy, model, tokenizer, card)
        assert load(copy).card.training == {"step": 2}
        assert not (copy / NEXT).exists()
        assert not (copy / PART).exists()
        stop += 1
    assert seen == {"through", "new", "old"}
    assert stop > 8


@pytest.mark.parametrize("size", [500, 4_000, 20_000])
def test_a_file_that_cannot_grow_leaves_the_checkpoint_whole(folder: Path, size: int) -> None:
    resource = pytest.importorskip("resource", reason="needs a limit on the size of files: another system")
    before, changed = load(folder), _other(folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        with pytest.raises(InputError, match=r"cannot be written: .*too large") as error:
            save(folder, *changed)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert error.value.hint == "The checkpoint before it is still whole."
    assert load(folder).hash == before.hash
    assert not (folder / PART).exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own; only root can make one."""
    place = tmp_path / "disk"
    place.mkdir()
    if (
        not shutil.which("mount")
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=768k", "tmpfs", str(place)], capture_output=True, check=False
        ).returncode
    ):
        lacking("root", "a file system is mounted")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_leaves_the_checkpoint_whole(folder: Path, small_disk: Path) -> None:
    """With more and more space: each save fails at another file, and the last one completes."""
    ours = shutil.ignore_patterns("state.*", "log.*")
    home = Path(shutil.copytree(folder, small_disk / "run", ignore=ours))
    before, changed = load(home).hash, _other(home)
    free, needed = shutil.disk_usage(small_disk).free, sum(path.stat().st_size for path in home.iterdir())
    for share in (0.05, 0.4, 0.7, 0.9, 0.97):
        filler = small_disk / "filler"
        filler.write_bytes(b"0" * int(free - share * needed))
        with pytest.raises(InputError, match=r"cannot be written: .*No space left"):
            save(home, *changed)
        assert load(home).hash == before
        filler.unlink()
    save(home, *changed)
    assert load(home).hash == load(home).card.weights != before


SAVING = """
import gc, os, sys, torch
from pathlib import Path
from generators.checkpoints.checkpoint import save
from generators.checkpoints.loading import load
opened = load(Path(sys.argv[1]))
gc.freeze()
for line in sys.stdin:
    child = os.fork()  # torch is loaded once: that takes longer than everything here
    if child:
        os.waitpid(child, 0)
        print("over", flush=True)
    saves = 0
    while not child:
        with torch.no_grad():
            for tensor in opened.model.parameters():
                tensor.add_(0.125)
        save(Path(sys.argv[1]), opened.model, opened.tokenizer, opened.card)
        saves += 1
        if saves == 1:
            print(os.getpid(), flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL: another system")
def test_a_save_that_is_killed_leaves_a_whole_checkpoint(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    hashes = {load(folder).hash}
    program = [sys.executable, "-c", SAVING, str(folder)]
    with subprocess.Popen(
        program, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        for attempt in range(4):
            print("go", file=run.stdin, flush=True)
            child = int(run.stdout.readline())  # which has saved once by now, and goes on
            time.sleep(attempt * 0.0137)
            os.kill(child, signal.SIGKILL)
            assert run.stdout.readline() == "over\n"
            found = load(folder)
            assert found.card.weights == found.hash
            hashes.add(found.hash)
    assert len(hashes) > 1
