"""Infilling with our own checkpoints: seeded, batched without trace, blind to what it must not see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from generators.checkpoints import load
from generators.decoding import Drawn, Prompt, Sampling, draw
from generators.ilm import build as build_ilm
from generators.ilm import text_of as ilm_text
from generators.lm import build as build_lm
from generators.lm import text_of as lm_text
from humaneval.domain import Blank, Generator, GeneratorRequest, InfillStatus, Story
from humaneval.errors import InputError, UsageError
from humaneval.stories import bundled_stories

pytestmark = pytest.mark.models

Build = Callable[..., Generator]


@pytest.fixture
def build(checkpoints: dict[str, Path]) -> Build:
    def make(kind: str, seed: int = 0, **options: str) -> Generator:
        request = GeneratorRequest(
            kind, checkpoint=str(checkpoints[kind]), device="cpu", seed=seed, options=options
        )
        return {"lm": build_lm, "ilm": build_ilm}[kind](request)[0]

    return make


@pytest.fixture(scope="module")
def blanks() -> list[Blank]:
    return [Blank(story, position) for story in bundled_stories()[-4:] for position in (1, 3, 5)]


@pytest.mark.parametrize("kind", ["lm", "ilm"])
def test_the_same_seed_gives_the_same_infills_and_another_seed_others(
    kind: str, build: Build, blanks: list[Blank]
) -> None:
    texts = [[infill.text for infill in build(kind, seed).infill(blanks)] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("kind", ["lm", "ilm"])
def test_G15_G17_what_a_blank_gets_depends_on_neither_batch_nor_order(
    kind: str, build: Build, blanks: list[Blank]
) -> None:
    together = {infill.blank: infill.text for infill in build(kind).infill(blanks)}
    backwards = {infill.blank: infill.text for infill in build(kind).infill(blanks[::-1])}
    alone = {blank: next(iter(build(kind).infill([blank]))).text for blank in blanks}
    assert together == backwards == alone


def test_the_lm_never_sees_what_stands_behind_the_blank_and_the_ilm_does(
    build: Build, blanks: list[Blank]
) -> None:
    changed = []
    for blank in blanks:
        sentences = blank.story.sentences
        behind = tuple("Nobody came." if n >= blank.position else s for n, s in enumerate(sentences))
        changed.append(replace(blank, story=Story(blank.story.id, behind, blank.story.title)))  # type: ignore[arg-type]
    for kind, same in (("lm", True), ("ilm", False)):
        before = [infill.text for infill in build(kind).infill(blanks)]
        after = [infill.text for infill in build(kind).infill(changed)]
        assert (before == after) is same


def test_no_generator_is_given_the_sentence_that_was_taken_out(build: Build, blanks: list[Blank]) -> None:
    changed = [
        replace(
            blank, story=replace(blank.story, sentences=blank.filled("Something else entirely happened."))
        )
        for blank in blanks
    ]
    for kind in ("lm", "ilm"):
        assert [i.text for i in build(kind).infill(blanks)] == [i.text for i in build(kind).infill(changed)]


def test_control_tokens_and_line_ends_never_come_out(build: Build, blanks: list[Blank]) -> None:
    for kind in ("lm", "ilm"):
        for infill in build(kind, temperature="2.0", top_p="1.0").infill(blanks):
            assert "\n" not in infill.text
            assert "<|" not in infill.text


def test_an_infill_that_is_not_one_sentence_says_what_it_is() -> None:
    tokenizer = _Words()
    assert ilm_text(Drawn((1,), True), tokenizer).status is InfillStatus.OK
    assert ilm_text(Drawn((1, 2), True), tokenizer).status is InfillStatus.SEVERAL_SENTENCES
    assert ilm_text(Drawn((), True), tokenizer).status is InfillStatus.EMPTY
    assert ilm_text(Drawn((1,), False), tokenizer).status is InfillStatus.CUT
    assert lm_text(Drawn((1, 2), True), tokenizer).text == "One came."
    assert lm_text(Drawn((), True), tokenizer).status is InfillStatus.EMPTY
    assert lm_text(Drawn((1,), False), tokenizer).status is InfillStatus.CUT


class _Words:
    """Two sentences as two tokens."""

    def decode(self, ids: list[int]) -> str:
        return "".join({1: " One came.", 2: " Two left."}[id] for id in ids)


def test_more_tries_leave_fewer_infills_unfit(build: Build, blanks: list[Blank]) -> None:
    once = [infill.status for infill in build("ilm", longest="12").infill(blanks)]
    often = [infill.status for infill in build("ilm", longest="12", tries="20").infill(blanks)]
    assert often.count(InfillStatus.OK) >= once.count(InfillStatus.OK)
    tries = [infill.extra["tries"] for infill in build("ilm", longest="12", tries="20").infill(blanks)]
    assert max(tries) > 1


def test_G28_each_row_stops_by_itself(checkpoints: dict[str, Path]) -> None:
    checkpoint = load(checkpoints["ilm"], kind="ilm")
    prompts = [Prompt([checkpoint.special.start, 5 + n], f"row {n}") for n in range(6)]
    drawn = draw(
        checkpoint.model, prompts, sampling=Sampling(longest=30), seed=0, end=checkpoint.special.end, forbidden=[],
        stop=lambda ids: len(ids) >= 3 + ids[0] % 5,
    )  # fmt: skip
    assert all(len(row.ids) <= 3 + row.ids[0] % 5 for row in drawn if row.ids)
    assert len({len(row.ids) for row in drawn}) > 1


def test_provenance_names_weights_seed_and_settings(build: Build) -> None:
    provenance = build("ilm", 7, top_p="0.9").provenance
    assert provenance.kind == "ilm"
    assert "sha256:" in provenance.checkpoint
    assert provenance.seed == 7
    assert provenance.settings["top_p"] == 0.9
    assert provenance.versions["torch"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_k": "3"}, "unknown option top_k"),
        ({"top_p": "2"}, "out of range"),
        ({"tries": "x"}, "not a number"),
    ],
)
def test_options_that_make_no_sense_are_refused(build: Build, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build("ilm", **options)


def test_a_checkpoint_must_be_named_and_be_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a checkpoint"):
        build_ilm(GeneratorRequest("ilm"))
    with pytest.raises(InputError, match="not a checkpoint"):
        build_ilm(GeneratorRequest("ilm", checkpoint=str(tmp_path)))
