"""Pre-trained models: opened completely or refused with a reason, and enlarged without a change to the old
rows."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM, BertLMHeadModel

from generators.causal.ilm import build
from generators.checkpoints.base import open_base
from generators.checkpoints.card import Card, probe
from generators.checkpoints.checkpoint import save
from generators.checkpoints.loading import load
from generators.checkpoints.sequences import SpecialIds
from generators.checkpoints.weights import distinct
from generators.masks.spans import Granularity
from generators.sampling.decoding import Answer, Prompt, draw
from humaneval.domain import Gap, GappedText, GeneratorRequest, Story
from humaneval.errors import InputError
from humaneval.stories import bundled_stories
from tests.conftest import ROOT
from tests.models.small_models import (
    RunsOnUnpickling,
    keep,
    tiny_gpt2,
    tiny_llama,
)
from tests.pace import PATIENCE

pytestmark = pytest.mark.models
BLANKS = tuple(Granularity)


@pytest.fixture
def gpt2(tmp_path: Path, tokenizer: Any) -> Path:
    return keep(tmp_path / "tiny-gpt2", tiny_gpt2(tokenizer.get_vocab_size()), tokenizer)


@pytest.mark.parametrize("make", [tiny_gpt2, tiny_llama])
def test_G18_old_rows_stay_bit_for_bit_and_new_ones_are_drawn_by_the_seed(
    make: Any, tokenizer: Any, tmp_path: Path
) -> None:
    rows = tokenizer.get_vocab_size() + 3  # some bases have rows without a token
    model = make(rows)
    folder = keep(tmp_path / "base", model, tokenizer)
    base = open_base(str(folder), blanks=BLANKS, seed=5)
    assert base.special == SpecialIds(rows, BLANKS)
    tied = model.lm_head.weight is model.get_input_embeddings().weight
    assert (
        (base.model.get_output_embeddings().weight is base.model.get_input_embeddings().weight)
        is tied
        is (make is tiny_gpt2)
    )
    for layer in ("get_input_embeddings", "get_output_embeddings"):
        old, new = getattr(model, layer)().weight.detach(), getattr(base.model, layer)().weight.detach()
        assert torch.equal(new[:rows], old)
        assert new.shape[0] == base.model.config.vocab_size == base.special.total
        assert 0.01 < float(new[rows:].std()) < 0.03
        assert abs(float(new[rows:].mean())) < 0.01
        assert len({tuple(row.tolist()) for row in new[rows:]}) == 7
    again = open_base(str(folder), blanks=BLANKS, seed=5)
    other = open_base(str(folder), blanks=BLANKS, seed=6)
    weight = base.model.get_input_embeddings().weight
    assert torch.equal(weight, again.model.get_input_embeddings().weight)
    assert not torch.equal(weight, other.model.get_input_embeddings().weight)
    assert base.origin["new_rows"] == "normal 0.02"
    assert base.origin["from"] == "base"


@pytest.mark.parametrize("make", [tiny_gpt2, tiny_llama])
def test_G18_every_weight_comes_back_from_a_checkpoint(make: Any, tokenizer: Any, tmp_path: Path) -> None:
    base = open_base(str(keep(tmp_path / "base", make(tokenizer.get_vocab_size()), tokenizer)), blanks=BLANKS)
    save(
        tmp_path / "out",
        base.model,
        base.tokenizer,
        Card("ilm", base.special.size, probe(base.tokenizer), base.origin),
    )
    opened = load(tmp_path / "out")
    before, after = distinct(base.model), distinct(opened.model)
    assert before.keys() == after.keys() == load_file(tmp_path / "out" / "model.safetensors").keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    ids = torch.tensor([[1, 2, base.special.start]])
    with torch.inference_mode():
        assert torch.equal(base.model(ids).logits, opened.model(ids).logits)
    continued = open_base(str(tmp_path / "out"), blanks=BLANKS)
    assert continued.special == base.special
    assert continued.origin["new_rows"] == "none"
    with pytest.raises(InputError, match="trained with blanks for document, "):
        open_base(str(tmp_path / "out"), blanks=("noun",))


def test_a_bias_of_the_output_layer_grows_with_zeros_and_half_precision_becomes_full(
    tokenizer: Any, tmp_path: Path
) -> None:
    from transformers import GPTJConfig, GPTJForCausalLM

    rows = tokenizer.get_vocab_size()
    model = GPTJForCausalLM(
        GPTJConfig(vocab_size=rows, n_positions=256, n_embd=16, n_layer=1, n_head=2, rotary_dim=4)
    )
    torch.nn.init.ones_(model.lm_head.bias)
    base = open_base(str(keep(tmp_path / "base", model.to(torch.bfloat16), tokenizer)), blanks=BLANKS)
    assert base.model.lm_head.bias.tolist() == [1.0] * rows + [0.0] * 7
    assert all(tensor.dtype == torch.float32 for tensor in base.model.parameters())


def test_parts_and_old_formats_hold_the_same_model(gpt2: Path, tokenizer: Any, tmp_path: Path) -> None:
    model = tiny_gpt2(tokenizer.get_vocab_size())
    parts = keep(tmp_path / "parts", model, tokenizer, max_shard_size="20KB")
    assert len(list(parts.glob("model-*.safetensors"))) > 1
    old = keep(tmp_path / "old", model, tokenizer)
    (old / "model.safetensors").unlink()
    state = model.state_dict() | {
        f"transformer.h.{n}.attn.{b}": torch.ones(1) for n in (0, 1) for b in ("bias", "masked_bias")
    }
    torch.save(state, old / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    # The names in the hub's gpt2: without the prefix, with old buffers.
    bare = keep(tmp_path / "bare", model, tokenizer)
    named = {name.removeprefix("transformer."): tensor for name, tensor in distinct(model).items()}
    save_file(named | {"h.0.attn.bias": torch.ones(1)}, bare / "model.safetensors", metadata={"format": "pt"})
    wanted = open_base(str(gpt2), blanks=BLANKS).model.state_dict()
    hashes = set()
    for folder in (parts, old, bare):
        base = open_base(str(folder), blanks=BLANKS)
        hashes.add(base.origin["sha256"])
        assert all(torch.equal(tensor, wanted[name]) for name, tensor in base.model.state_dict().items())
    assert len(hashes) == 3


def test_G12_missing_strange_and_misshapen_weights_are_named(gpt2: Path) -> None:
    weights = load_file(gpt2 / "model.safetensors")
    del weights["transformer.ln_f.weight"]
    weights["stranger"] = torch.zeros(1)
    weights["transformer.ln_f.bias"] = torch.zeros(3)
    save_file(weights, gpt2 / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        InputError,
        match=r"1 missing, 1 unexpected, 1 of another shape \(stranger, transformer.ln_f.bias, transf",
    ):
        open_base(str(gpt2), blanks=BLANKS)


def _cut(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])


def _not_numbers(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["transformer.ln_f.bias"][2] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _index(folder: Path, text: str) -> None:
    (folder / "model.safetensors").rename(folder / "elsewhere")
    (folder / "model.safetensors.index.json").write_text(text)


def _describe(**values: object) -> Any:
    def damage(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **values}))

    return damage


def _with_a_hole(folder: Path) -> None:
    _describe(n_embd=4096)(folder)
    with (folder / "model.safetensors").open("rb+") as file:
        file.truncate(2**40)


def _repeat(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["transformer.wte.weight"] = torch.zeros(1, dtype=torch.float16).expand(20_000, 100_000)
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_repeat, "pytorch_model.bin has tensors that are far larger than the file"),
        (_describe(n_embd=4096), "describes a far larger model than the weights beside it"),
        (_with_a_hole, "describes a far larger model than the weights beside it"),
        (
            _describe(
                model_type="gpt_neo", architectures=["GPTNeoForCausalLM"], max_position_embeddings=40_000
            ),
            "describes a far larger model",
        ),
        (_describe(n_layer=10**8), "describes a far larger model"),
        (_cut, "cannot be opened"),
        (_not_numbers, "not finite numbers, in transformer.ln_f.bias"),
        (lambda folder: (folder / "config.json").write_text("{"), "cannot be opened"),
        (lambda folder: (folder / "config.json").write_text("[" * 200_000), "cannot be opened"),
        (lambda folder: _index(folder, '{"weight_map": {"a": 5}}'), "index.json is damaged"),
        (lambda folder: _index(folder, "[" * 200_000), "index.json is damaged"),
        (
            lambda folder: (folder / "config.json").write_text('{"model_type": "none such"}'),
            "cannot be opened",
        ),
        (lambda folder: (folder / "config.json").unlink(), "lacks config.json"),
        (lambda folder: (folder / "model.safetensors").unlink(), "lacks model.safetensors"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "no tokenizer in"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "is not a tokenizer"),
        (lambda folder: (folder / "tokenizer.json").write_bytes(b"\xff"), "is not a tokenizer"),
    ],
)
def test_G12_a_damaged_base_is_refused_in_one_line(gpt2: Path, damage: Any, message: str) -> None:
    damage(gpt2)
    with pytest.raises(InputError, match=message) as error:
        open_base(str(gpt2), blanks=BLANKS)
    assert "\n" not in error.value.message
    assert error.value.hint


def test_a_lacking_part_of_the_weights_is_named(tokenizer: Any, tmp_path: Path) -> None:
    folder = keep(tmp_path / "parts", tiny_gpt2(tokenizer.get_vocab_size()), tokenizer, max_shard_size="20KB")
    part = sorted(folder.glob("model-*.safetensors"))[1]
    part.unlink()
    with pytest.raises(InputError, match=f"lacks {part.name}"):
        open_base(str(folder), blanks=BLANKS)


def test_G39_weights_with_code_in_them_are_refused_and_not_run(gpt2: Path, tmp_path: Path) -> None:
    (gpt2 / "model.safetensors").unlink()
    torch.save({"transformer.wte.weight": RunsOnUnpickling(tmp_path / "ran")}, gpt2 / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"pytorch_model\.bin contains more than tensors"):
        open_base(str(gpt2), blanks=BLANKS)
    config = json.loads((gpt2 / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"}}
    (gpt2 / "config.json").write_text(json.dumps(config))
    (gpt2 / "own.py").write_text(f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()")
    with pytest.raises(InputError, match="cannot be opened"):
        open_base(str(gpt2), blanks=BLANKS)
    assert not (tmp_path / "ran").exists()


def test_a_model_that_looks_ahead_is_refused(tokenizer: Any, tmp_path: Path) -> None:
    bert = BertLMHeadModel(
        BertConfig(
            vocab_size=tokenizer.get_vocab_size(),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            initializer_range=1.0,
        )
    )
    with pytest.raises(InputError, match="does not write from left to right"):
        open_base(str(keep(tmp_path / "bert", bert, tokenizer)), blanks=BLANKS)


def test_a_model_that_says_it_is_of_another_kind_is_refused_as_such(tokenizer: Any, tmp_path: Path) -> None:
    """BERT as published: the library would open it with weights missing."""
    settings = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    model = BertForMaskedLM(BertConfig(vocab_size=tokenizer.get_vocab_size(), **settings))
    folder = keep(tmp_path / "bert", model, tokenizer)
    (folder / "config.json").write_text(
        json.dumps(
            {**json.loads((folder / "config.json").read_text()), "architectures": ["BertForPreTraining"]}
        )
    )
    weights = load_file(folder / "model.safetensors")
    save_file({**weights, "cls.seq_relationship.weight": torch.zeros(2, 16)}, folder / "model.safetensors")
    with pytest.raises(
        InputError, match="a BertForPreTraining, which is not a causal language model"
    ) as error:
        open_base(str(folder), blanks=BLANKS)
    assert "gpt2" in error.value.hint


def test_a_base_must_have_room_and_the_tokens_of_its_tokenizer(tokenizer: Any, tmp_path: Path) -> None:
    rows = tokenizer.get_vocab_size()
    small = keep(tmp_path / "small", tiny_gpt2(rows, n_positions=64), tokenizer)
    with pytest.raises(InputError, match="reads at most 64 tokens, not 256"):
        open_base(str(small), blanks=BLANKS)
    few = keep(tmp_path / "few", tiny_gpt2(rows - 1), tokenizer)
    with pytest.raises(InputError, match="ids, its model"):
        open_base(str(few), blanks=BLANKS)


def test_a_name_that_is_no_folder_says_what_to_do(tmp_path: Path) -> None:
    for name in (str(tmp_path / "nowhere"), "./nowhere", "~/nowhere", "a/b/c"):
        with pytest.raises(InputError, match="there is no folder"):
            open_base(name, blanks=BLANKS)
    (tmp_path / "model.gguf").touch()
    with pytest.raises(InputError, match="is a file"):
        open_base(str(tmp_path / "model.gguf"), blanks=BLANKS)
    with pytest.raises(InputError, match="no such model on the hub"):
        open_base("not a name!", blanks=BLANKS)


@pytest.mark.parametrize("offline", ["0", "1"])
def test_a_hub_that_cannot_be_reached_is_one_clear_line(offline: str, tmp_path: Path) -> None:
    script = (
        "from generators.checkpoints.base import open_base\nfrom humaneval.errors import"
        " InputError\ntry: open_base('gpt2', blanks=('sentence',))\nexcept InputError as error:"
        " print(error.message, '|', error.hint)"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HF_HOME": str(tmp_path),
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "HF_HUB_OFFLINE": offline,
        "NO_PROXY": "127.0.0.1",
    }
    run = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    message, _, hint = run.stdout.partition(" | ")
    assert message.endswith("the hub cannot be reached, and the local cache lacks it"), run.stderr
    assert hint.startswith("On a machine with a network, download config.json"), run.stderr


@pytest.fixture
def hub(gpt2: Path) -> Iterator[str]:
    """A hub of one model, served over HTTP: enough of its API for the hub's own client."""
    sha = "a" * 40
    files = {path.name: path.read_bytes() for path in gpt2.iterdir()} | {
        "pytorch_model.bin": b"not asked for"
    }

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, name = self.path.split("?")[0], self.path.split("/")[-1]
            if path.startswith("/api/models/tiny/tree/"):
                body: bytes = json.dumps(
                    [
                        {"type": "file", "path": n, "size": len(b), "oid": hashlib.sha1(b).hexdigest()}
                        for n, b in files.items()
                    ]
                ).encode()
            elif path.startswith("/api/models/tiny"):
                siblings = [{"rfilename": name} for name in files]
                body = json.dumps({"id": "tiny", "sha": sha, "siblings": siblings}).encode()
            elif path.startswith("/tiny/resolve/") and name in files and name != "pytorch_model.bin":
                body = files[name]
            else:
                self.send_response(404)
                self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Repo-Commit", sha)
            self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - the name is http.server's

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


FROM_THE_HUB = """
import gc, json, os, sys
import torch
gc.freeze()
for offline, names in (("0", ["tiny", "none"]), ("1", ["tiny"])):
    child = os.fork()
    if not child:
        os.environ["HF_HUB_OFFLINE"] = offline  # which is read when the hub's library is loaded
        from generators.checkpoints.base import open_base
        from humaneval.errors import InputError
        for name in names:
            try: print(json.dumps(open_base(name, blanks=("sentence",)).origin))
            except InputError as error: print(error.message)
        sys.stdout.flush()
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(1)
"""
"""Asks for two models, and then without the hub for the first, in processes that share torch alone."""


@pytest.mark.slow
def test_a_model_of_the_hub_is_fetched_once_and_then_found_without_it(hub: str, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HF_HOME": str(tmp_path / "home"),
        "HF_ENDPOINT": hub,
        "NO_PROXY": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", FROM_THE_HUB],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    fetched, unknown, found = done.stdout.splitlines()
    assert fetched == found
    origin = json.loads(found)
    assert (origin["from"], origin["revision"]) == ("tiny", "a" * 40)
    assert "no such model on the hub" in unknown


def test_any_architecture_fills_in_and_writes_no_control_token(tokenizer: Any, tmp_path: Path) -> None:
    from transformers import BloomConfig, BloomForCausalLM

    rows = tokenizer.get_vocab_size() + 2
    bloom = BloomForCausalLM(BloomConfig(vocab_size=rows, hidden_size=16, n_layer=1, n_head=2))
    for number, model in enumerate((bloom, tiny_llama(rows))):
        base = open_base(str(keep(tmp_path / f"base {number}", model, tokenizer)), blanks=BLANKS)
        with torch.no_grad():  # the rows without a token are by far the likeliest
            base.model.get_output_embeddings().weight[rows - 2 : rows] *= 50
        out = tmp_path / str(number)
        save(out, base.model, base.tokenizer, Card("ilm", rows, probe(base.tokenizer)))
        assert load(out).unread == (rows - 2, rows - 1)
        (ilm,) = build(GeneratorRequest("ilm", checkpoint=str(out), options={"longest": "20"}))
        texts = [one_gap(story) for story in bundled_stories()[:3]]
        prompts = [Prompt(ilm.filler.prompt(text), text.key, (Answer(),)) for text in texts]

        def written(rows: list[Prompt], ilm: Any = ilm) -> list[list[int]]:
            filler = ilm.filler
            drawn = draw(filler.checkpoint.model, rows, filler.rules, filler.decoding, 0)
            return [row[0].ids for row in drawn]

        together = written(prompts)
        assert together == [ids for prompt in prompts for ids in written([prompt])]
        assert all(together)
        assert not any(set(ids) & {rows - 2, rows - 1} for ids in together)


def one_gap(story: Story) -> GappedText:
    """A story without its second sentence."""
    first, _, *rest = story.sentences
    return GappedText(story.id, (f"{first} ", "".join(f" {sentence}" for sentence in rest)), (Gap(),))


def test_sentences_are_filled_in_only_by_a_model_with_blanks_for_them(tokenizer: Any, tmp_path: Path) -> None:
    card = Card("ilm", tokenizer.get_vocab_size(), probe(tokenizer), blanks=["noun"])
    save(tmp_path, tiny_gpt2(card.vocabulary + 3), tokenizer, card)
    with pytest.raises(InputError, match="has no blank for a sentence, only for noun"):
        build(GeneratorRequest("ilm", checkpoint=str(tmp_path)))


def test_G07_the_range_of_transformers_is_bounded_and_both_its_ends_are_tried() -> None:
    """`make test-long` runs the models' tests with the oldest that is allowed, too."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (bounds,) = (r for r in wanted["optional-dependencies"]["models"] if r.startswith("transformers"))
    oldest, below = re.fullmatch(r"transformers>=([\d.]+),<(\d+)", bounds).groups()
    assert version(oldest) <= version(transformers.__version__) < (int(below),)
    assert ".ci/oldest models" in (ROOT / "Makefile").read_text(encoding="utf-8")
    tried = (ROOT / ".ci" / "oldest").read_text(encoding="utf-8")
    assert re.search(r"\btests/models/test_\{.*pretrained", tried)
    assert '"transformers>"' in tried


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
