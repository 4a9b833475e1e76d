"""Infilling with our own checkpoints: it depends on the seed, not on the batch, and not on text that must not
be seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from generators.causal.ilm import build as build_ilm
from generators.causal.lm import build as build_lm
from generators.causal.lm import build_all, build_rev
from generators.causal.writer import CheckpointFiller
from generators.checkpoints.loading import load
from generators.checkpoints.sequences import STRATEGIES
from generators.sampling.choosing import Sampling
from generators.sampling.decoding import Prompt, Rules, draw
from generators.sampling.filling import Draft, ModelGenerator, check
from humaneval.domain import Blank, Gap, GappedText, Generator, GeneratorRequest, InfillStatus, Story
from humaneval.errors import InputError, UsageError
from humaneval.stories import bundled_stories

pytestmark = pytest.mark.models

Build = Callable[..., Generator]


@pytest.fixture
def build(four: dict[str, Path]) -> Build:
    def make(kind: str, seed: int = 0, **options: str) -> Generator:
        request = GeneratorRequest(kind, checkpoint=str(four[kind]), device="cpu", seed=seed, options=options)
        builders = {"lm": build_lm, "ilm": build_ilm, "lm-rev": build_rev, "lm-all": build_all}
        return builders[kind](request)[0]

    return make


@pytest.fixture(scope="module")
def blanks() -> list[Blank]:
    return [Blank(story, position) for story in bundled_stories()[-4:] for position in (1, 3, 5)]


@pytest.mark.parametrize("kind", STRATEGIES)
def test_the_same_seed_gives_the_same_infills_and_another_seed_others(
    kind: str, build: Build, blanks: list[Blank]
) -> None:
    texts = [[infill.text for infill in build(kind, seed).infill(blanks)] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("kind", STRATEGIES)
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
        changed.append(replace(blank, story=Story(blank.story.id, behind, blank.story.title)))
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
    for kind in STRATEGIES:
        for infill in build(kind, temperature="2.0", top_p="1.0").infill(blanks):
            assert "\n" not in infill.text
            assert "<|" not in infill.text


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (" One came. ", InfillStatus.OK),
        ("One came. Two left.", InfillStatus.SEVERAL_SENTENCES),
        (" ", InfillStatus.EMPTY),
        (" .", InfillStatus.EMPTY),
        ("One\ufffd came.", InfillStatus.UNPRINTABLE),
        ("One\x07 came.", InfillStatus.UNPRINTABLE),
    ],
)
def test_an_infill_that_is_not_one_sentence_says_what_it_is(text: str, status: InfillStatus) -> None:
    assert check(Draft(text), Gap()).status is status
    assert check(Draft(text, InfillStatus.CUT, "why"), Gap()).status in (status, InfillStatus.CUT)


@pytest.mark.parametrize(
    ("text", "gap", "status"),
    [
        ("One came.", Gap(min_words=3), InfillStatus.FILTERED),
        ("One came.", Gap(max_words=1), InfillStatus.FILTERED),
        ("One came.", Gap(min_words=2, max_words=2), InfillStatus.OK),
        ("One came.", Gap(beginning="One"), InfillStatus.OK),
        ("One came.", Gap(beginning="Two"), InfillStatus.FILTERED),
        ("One came. Two left.", Gap("paragraph"), InfillStatus.OK),
        ("one two", Gap("ngram"), InfillStatus.OK),
    ],
)
def test_an_answer_is_held_against_what_was_asked_for(text: str, gap: Gap, status: InfillStatus) -> None:
    assert check(Draft(text), gap).status is status


def test_more_tries_leave_fewer_infills_unfit(build: Build, blanks: list[Blank]) -> None:
    once = [infill.status for infill in build("ilm", longest="4").infill(blanks)]
    often = [infill.status for infill in build("ilm", longest="4", tries="20").infill(blanks)]
    assert often.count(InfillStatus.OK) >= once.count(InfillStatus.OK)
    tries = [infill.extra["tries"] for infill in build("ilm", longest="4", tries="20").infill(blanks)]
    assert max(tries) > 1


def test_G28_each_row_stops_by_itself(checkpoints: dict[str, Path]) -> None:
    checkpoint = load(checkpoints["ilm"], kind="ilm")
    prompts = [Prompt([checkpoint.special.start, 5 + n], f"row {n}") for n in range(6)]
    rules = Rules((checkpoint.special.end,), stop=lambda ids: len(ids) >= 3 + ids[0] % 5)
    drawn = [row[0].ids for row in draw(checkpoint.model, prompts, rules, Sampling(longest=30), 0)]
    assert all(len(ids) <= 3 + ids[0] % 5 for ids in drawn if ids)
    assert len({len(ids) for ids in drawn}) > 1


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
        ({"topk": "3"}, "has no option topk"),
        ({"top_p": "2"}, "out of range"),
        ({"tries": "x"}, "cannot be 'x'"),
        ({"nucleus": "other"}, "nucleus is out of range"),
        ({"min_words": "5", "max_words": "4"}, "max_words is out of range"),
        ({"precision": "fp64"}, "precision is out of range"),
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


@pytest.mark.parametrize("kind", ["lm", "ilm"])
def test_X66_the_rules_that_the_reference_does_not_have_can_be_switched_off(build: Build, kind: str) -> None:
    text = GappedText("t", ("Tom sat. ", " He got up."), (Gap("word"),))
    sentence = replace(text, gaps=(Gap(),))
    fillers = [
        one.filler for one in (build(kind), build(kind, limits="off")) if isinstance(one, ModelGenerator)
    ]
    with_rules, without = [one for one in fillers if isinstance(one, CheckpointFiller)]
    assert [with_rules.answer(one, 0).most for one in (text, sentence)] == [1, 0]
    assert not with_rules.answer(sentence, 0).lines
    assert [without.answer(one, 0).most for one in (text, sentence)] == [0, 0]
    assert without.answer(sentence, 0).lines
    limited = replace(text, gaps=(Gap("word", max_words=3),))
    assert without.answer(limited, 0).most == 3
