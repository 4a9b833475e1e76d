"""A checkpoint is the hub's layout with its control tokens: other programs, and servers over them, give the
infills that ours give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from generators.causal.ilm import build as build_ilm
from generators.checkpoints.loading import load
from generators.checkpoints.served import END, START
from generators.checkpoints.tokenizer import open_tokenizer
from generators.endpoint.generator import build_completions
from generators.sampling.filling import ModelGenerator
from humaneval.domain import Drawing, Gap, GappedText, GeneratorRequest, InfillStatus
from humaneval.errors import InputError
from humaneval.free_text import fill_text
from tests.integration.endpoint.conftest import server  # noqa: F401  # a fixture
from tests.integration.endpoint.played import Asked, PlayedServer, Says

pytestmark = pytest.mark.models
TEXTS = [
    GappedText("a", ("The Trip\nAnna left home. ", " She slept. It rained."), (Gap(),)),
    GappedText("b", ("The “Trip”\nTom had a dog. ", " He fed it. ", " It ran."), (Gap(), Gap("ngram"))),
    GappedText("c", ("Tom\n", " He was happy."), (Gap(beginning="Tom"),)),
]


class Served:
    """A server over the library's own tokenizer and model."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.model: Any = AutoModelForCausalLM.from_pretrained(folder)

    def __call__(self, asked: Asked) -> Says:
        read = self.tokenizer(asked.body["prompt"], return_tensors="pt", add_special_tokens=False)
        with torch.no_grad():
            ids = self.model.generate(
                **read, do_sample=False, max_new_tokens=min(asked.body["max_tokens"], 60)
            )
        new = ids[0, read["input_ids"].shape[1] :].tolist()
        ended = bool(new) and new[-1] == self.tokenizer.eos_token_id
        choice = {
            "text": self.tokenizer.decode(new, skip_special_tokens=True),
            "finish_reason": "stop" if ended else "length",
        }
        usage = {"prompt_tokens": read["input_ids"].shape[1], "completion_tokens": len(new)}
        return Says({"model": "ilm", "choices": [choice], "usage": usage})


Ask = Callable[..., ModelGenerator]


@pytest.fixture
def ask(server: PlayedServer, tmp_path: Path) -> Ask:  # noqa: F811  # the fixture
    def make(**options: str) -> ModelGenerator:
        chosen = {"url": server.url, "model": "ilm", "layout": "ilm", "max_tokens": "60", "retries": "0"}
        chosen |= {"cache": str(tmp_path / "kept"), **options}
        (found,) = build_completions(GeneratorRequest("completions", options=chosen))
        assert isinstance(found, ModelGenerator)
        return found

    return make


def test_a_checkpoint_opens_in_transformers_with_its_control_tokens(checkpoints: dict[str, Path]) -> None:
    folder = checkpoints["ilm"]
    ours, tokenizer = load(folder), AutoTokenizer.from_pretrained(folder)
    special = ours.special
    assert tokenizer.convert_tokens_to_ids([START, END]) == [special.start, special.end]
    for type in special.blanks:
        assert tokenizer.convert_tokens_to_ids(f"<|infill_{type}|>") == special.blank(type)
    story = "“Don’t!” said Zoë.\n It rained."
    assert tokenizer(story)["input_ids"] == ours.tokenizer.encode(story).ids
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.generation_config.eos_token_id == special.end
    assert special.start in model.generation_config.suppress_tokens
    # Servers of the library draw only if this says so, and then among 50 tokens.
    assert model.generation_config.do_sample
    assert model.generation_config.top_k == 0
    # We read a control token that a story spells out as text.
    assert special.end not in open_tokenizer(folder).encode(f"He typed {END}.").ids


def test_a_server_gives_the_same_greedy_infills(
    checkpoints: dict[str, Path],
    server: PlayedServer,  # noqa: F811
    ask: Ask,
) -> None:
    folder = checkpoints["ilm"]
    server.play = Served(folder)
    options = {"top_k": "1", "longest": "60", "limits": "off"}
    (local,) = build_ilm(GeneratorRequest("ilm", checkpoint=str(folder), device="cpu", options=options))
    assert isinstance(local, ModelGenerator)
    far = list(ask(temperature="0").fill(TEXTS))
    near = list(local.fill(TEXTS))
    for theirs, ours in zip(far, near, strict=True):
        assert [one.status for one in theirs] == [one.status for one in ours]
        # Ours counts a beginning among the longest; such a small model does not always end.
        assert all(a.text.startswith(b.text) for a, b in zip(theirs, ours, strict=True))
    assert [one.text for one in far[0]] == [one.text for one in near[0]]
    assert [one.text for one in far[1]] == [one.text for one in near[1]]
    prompts = [asked.body["prompt"] for asked in server.asked[1:]]
    assert f"The Trip\nAnna left home.<|infill_sentence|> She slept. It rained.{START}" in prompts
    assert f"Tom\n<|infill_sentence|> He was happy.{START}Tom" in prompts


def test_a_text_without_a_title_is_read_as_the_model_was_trained(
    checkpoints: dict[str, Path],
    server: PlayedServer,  # noqa: F811
    ask: Ask,
) -> None:
    server.play = Served(checkpoints["ilm"])
    (found,) = fill_text(ask(), "Anna left home. ____", 1, Drawing(0, 1.0, 0.95))
    assert found.text.startswith("Anna left home.")
    assert server.asked[-1].body["prompt"].startswith("Unknown Title\nAnna left home.<|infill_sentence|>")


@pytest.mark.parametrize(
    ("usage", "why"), [({"prompt_tokens": 60}, "as text"), ({}, "does not say how many tokens")]
)
def test_a_server_that_may_read_control_tokens_as_text_is_refused(
    usage: dict[str, int],
    why: str,
    server: PlayedServer,  # noqa: F811
    ask: Ask,
) -> None:
    server.play = lambda _: Says({"choices": [{"text": "x", "finish_reason": "stop"}], "usage": usage})
    with pytest.raises(InputError, match=why):
        ask()


def test_a_text_that_spells_out_a_control_token_is_not_sent(
    checkpoints: dict[str, Path],
    server: PlayedServer,  # noqa: F811
    ask: Ask,
) -> None:
    server.play = Served(checkpoints["ilm"])
    generator = ask()
    asked = len(server.asked)
    ((found,),) = generator.fill([GappedText("x", (f"He typed {END}. ", ""), (Gap(),))])
    assert found.status is InfillStatus.REFUSED
    assert "spells out" in found.detail
    assert len(server.asked) == asked
