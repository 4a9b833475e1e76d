"""`humaneval perplexity`: checkpoints scored on one granularity or all, beside the paper's values."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from generators.checkpoints.card import Card, probe
from generators.checkpoints.checkpoint import save
from generators.checkpoints.loading import load
from generators.training.checkpoint_perplexity import GRANULARITIES, MIXTURE
from generators.training.log import readable
from generators.training.paper import PUBLISHED, Key
from tests.commands import Command
from tests.models.small_models import tiny_gpt2

pytestmark = pytest.mark.models


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """Six short stories in a file."""
    from humaneval.stories import bundled_stories

    path = tmp_path / "few.jsonl"
    stories = [story for story in bundled_stories() if story.split == "test"]
    stories.sort(key=lambda story: sum(map(len, story.sentences)))
    lines = [
        json.dumps(
            {"id": s.id, "title": s.title, **{f"sentence{n}": t for n, t in enumerate(s.sentences, 1)}}
        )
        for s in stories[:6]
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_each_granularity_can_be_scored(
    granularity: str, command: Command, checkpoints: dict[str, Path], few: Path
) -> None:
    said = command(
        "perplexity",
        checkpoints["ilm"],
        checkpoints["lm"],
        "--stories",
        few,
        "--granularity",
        granularity,
        "--json",
        "--device",
        "cpu",
    )
    assert said.code == 0, said.err
    assert said.json["documents"] == str(few)
    ilm, lm = said.json["scores"]
    assert set(ilm) == {
        "checkpoint",
        "strategy",
        "from_scratch",
        "corpus",
        "granularity",
        "perplexity",
        "perplexity_with_ends",
        "perplexity_of_context",
        "tokens",
        "examples",
        "mean_length",
        "left_out",
    }
    assert (ilm["strategy"], lm["strategy"]) == ("ilm", "lm")
    assert (ilm["granularity"], ilm["corpus"], ilm["from_scratch"]) == (granularity, "stories", True)
    # The same tokens for both, one example of each story.
    assert ilm["tokens"] == lm["tokens"] > 0
    assert ilm["examples"] == lm["examples"] == 6
    assert 1 < ilm["perplexity"] < 10_000
    assert (ilm["perplexity_of_context"] is None) is (granularity == "document")
    assert lm["perplexity_of_context"] is None
    if granularity != MIXTURE:
        assert ilm["mean_length"] == pytest.approx(lm["mean_length"] + 1)
    if granularity == "document":
        assert lm["tokens"] == round(lm["examples"] * (lm["mean_length"] - 2))


def test_a_seed_gives_the_same_score_whatever_the_batch(
    command: Command, checkpoints: dict[str, Path], few: Path
) -> None:
    scores = []
    for more in (("--batch", "1"), ("--batch", "7"), ("--seed", "1")):
        said = command("perplexity", checkpoints["ilm"], "--stories", few, "--json", *more)
        scores.append(said.json["scores"][0]["perplexity"])
    assert scores[0] == pytest.approx(scores[1], rel=1e-6)
    assert scores[0] != pytest.approx(scores[2], rel=1e-3)


def test_bf16_is_near_to_fp32(command: Command, checkpoints: dict[str, Path], few: Path) -> None:
    fp32, bf16 = (
        command("perplexity", checkpoints["lm"], "--stories", few, "--json", "--precision", precision).json
        for precision in ("fp32", "bf16")
    )
    assert bf16["precision"] == "bf16"
    numbers = [found["scores"][0]["perplexity"] for found in (fp32, bf16)]
    assert numbers[0] != numbers[1]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.1)


def test_the_plain_list_has_a_line_a_score(command: Command, checkpoints: dict[str, Path], few: Path) -> None:
    said = command(
        "perplexity", checkpoints["lm"], "--stories", few, "--granularity", "word", "--granularity", "ngram"
    )
    assert said.code == 0
    heading, *rows = said.out.splitlines()
    assert heading.split()[:3] == ["Checkpoint", "Strategy", "Granularity"]
    assert [row.split() for row in rows] == [
        [str(checkpoints["lm"]), "LM", granularity, *row.split()[3:5], "6", "0", row.split()[-1]]
        for granularity, row in zip(("word", "ngram"), rows, strict=True)
    ]


def test_the_tables_are_the_papers_with_its_values_beside_ours(
    command: Command, checkpoints: dict[str, Path], few: Path
) -> None:
    said = command("perplexity", checkpoints["lm"], checkpoints["ilm"], "--stories", few, "--table")
    assert said.code == 0, said.err
    tables = said.out.split("\n\n")
    assert [table.splitlines()[0].strip() for table in tables] == [
        f"Perplexity of masked text: {granularity} (the paper's Table {number})"
        for granularity, number in (
            ("document", 3),
            ("mixture", 4),
            ("paragraph", 5),
            ("sentence", 6),
            ("ngram", 7),
            ("word", 8),
        )
    ]
    sentence = tables[3].splitlines()
    assert sentence[1].split() == ["Strategy", "From", "Stories", "paper", "Length", "paper"]
    lm, ilm = (row.split() for row in sentence[2:])
    assert (lm[:2], lm[3:]) == (["LM", "scratch"], ["36.0", "1.00", "1.00"])
    assert (ilm[:2], ilm[3]) == (["ILM", "scratch"], "26.7")
    assert 1.0 < float(ilm[4]) < 1.05
    assert ilm[5] == "1.01"
    for table, value in zip(tables, ("30.8", "25.5", "34.3", "26.7", "23.1", "9.2"), strict=True):
        assert table.splitlines()[3].split()[3] == value
    assert "Length" not in tables[0]
    assert "not comparable" in said.err


def test_the_published_values_are_the_papers() -> None:
    """Spot checks of rows and columns, and Table 1, whose pre-trained stories are those of Table 6."""
    assert len(PUBLISHED) == 6 * 8 * 3
    table_1 = {"lm": 18.3, "lm-rev": 27.1, "lm-all": 15.6, "ilm": 15.6}
    for strategy, value in table_1.items():
        assert PUBLISHED[Key("sentence", strategy, False, "stories")] == value
    assert PUBLISHED[Key("sentence", "ilm", True, "stories")] == 26.7
    assert PUBLISHED[Key("word", "lm-rev", True, "abstracts")] == 100.0
    assert PUBLISHED[Key("document", "lm", False, "lyrics")] == 20.8
    for corpus in ("lyrics",):  # a stanza is its only paragraph
        for scratch in (True, False):
            for strategy in table_1:
                assert (
                    PUBLISHED[Key("document", strategy, scratch, corpus)]
                    == PUBLISHED[Key("paragraph", strategy, scratch, corpus)]
                )


def test_a_checkpoint_from_a_pre_trained_model_is_listed_as_such(
    command: Command, checkpoints: dict[str, Path], few: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(checkpoints["ilm"], tmp_path / "copy"))
    card = json.loads((copy / "infilling.json").read_text())
    card["training"]["from"] = "gpt2"
    (copy / "infilling.json").write_text(json.dumps(card))
    said = command("perplexity", copy, "--stories", few, "--table", "--granularity", "sentence")
    row = said.out.splitlines()[2].split()
    assert (row[:2], row[3]) == (["ILM", "pre-trained"], "15.6")
    assert row[4] == "–"
    assert "score an LM, too" in said.err


def test_a_checkpoint_with_blanks_of_its_own_is_scored_on_its_own_mixture(
    command: Command, few: Path, tokenizer: Any, tmp_path: Path
) -> None:
    card = Card(
        "ilm",
        tokenizer.get_vocab_size(),
        probe(tokenizer),
        blanks=["sentence_terminal", "other_punctuation"],
        mask="generators.masks.samples:Punctuation",
    )
    save(tmp_path / "own", tiny_gpt2(card.vocabulary + 4), tokenizer, card)
    said = command("perplexity", tmp_path / "own", "--stories", few, "--granularity", "all", "--json")
    assert [score["granularity"] for score in said.json["scores"]] == ["mixture"]
    said = command("perplexity", tmp_path / "own", "--stories", few, "--granularity", "sentence")
    assert said.code == 2
    assert f"{tmp_path / 'own'} has no sentence blanks" in said.err
    assert "sentence_terminal, other_punctuation, mixture" in said.err


def test_what_cannot_be_scored_is_refused_before_anything_is_scored(
    command: Command, checkpoints: dict[str, Path], few: Path, tokenizer: Any, tmp_path: Path
) -> None:
    card = Card("ilm", tokenizer.get_vocab_size(), probe(tokenizer), blanks=["vowel"])
    save(tmp_path / "own", tiny_gpt2(card.vocabulary + 3), tokenizer, card)
    said = command("perplexity", checkpoints["lm"], tmp_path / "own", "--stories", few)
    assert (said.code, said.out) == (2, "")
    assert f"{tmp_path / 'own'} has no sentence blanks" in said.err
    assert "sentence …" not in said.err


def test_mixtures_of_different_masks_are_said_not_to_compare(
    command: Command, checkpoints: dict[str, Path], few: Path, tokenizer: Any, tmp_path: Path
) -> None:
    card = Card("ilm", tokenizer.get_vocab_size(), probe(tokenizer), mask="word")
    save(tmp_path / "words", tiny_gpt2(card.vocabulary + 7), tokenizer, card)
    scored = (
        "perplexity",
        checkpoints["lm"],
        tmp_path / "words",
        "--stories",
        few,
        "--granularity",
        "mixture",
    )
    said = command(*scored)
    assert "Each mixture is that of the checkpoint's own mask" in said.err
    table = command(*scored, "--table").out.splitlines()
    lm, ilm = (next(line.split() for line in table if line.startswith(name)) for name in ("LM", "ILM"))
    published = PUBLISHED[Key("mixture", "lm", True, "stories")]
    assert (lm[-1], ilm[-1]) == (f"{published:.1f}", "–")
    said = command("perplexity", checkpoints["lm"], "--stories", few, "--granularity", "mixture")
    assert "Each mixture" not in said.err


def test_a_checkpoint_trained_on_from_a_scratch_one_is_still_from_scratch(
    command: Command, checkpoints: dict[str, Path], few: Path, tmp_path: Path
) -> None:
    said = command(
        "train",
        "ilm",
        "--from",
        checkpoints["ilm"],
        "--stories",
        few,
        "--valid",
        few,
        "--steps",
        "1",
        "--out",
        tmp_path / "on",
        "--device",
        "cpu",
    )
    assert said.code == 0, said.err
    assert load(tmp_path / "on").card.training["from"] == "ilm"
    said = command("perplexity", tmp_path / "on", "--stories", few, "--table", "--granularity", "sentence")
    assert said.out.splitlines()[2].split()[:2] == ["ILM", "scratch"]


def test_a_perplexity_without_end_is_written_short() -> None:
    assert [readable(value) for value in (15.64, 9_999_999.0, 1e7, 1e300)] == [
        "15.6",
        "9,999,999.0",
        "1.0e+07",
        "1.0e+300",
    ]


def test_documents_that_are_too_long_are_counted(
    command: Command, checkpoints: dict[str, Path], tmp_path: Path
) -> None:
    texts = ["One came. Two left.", "word " * 500, "Three stayed. Four sang."]
    (tmp_path / "test.txt").write_text("\n\n\n".join(texts), encoding="utf-8")
    said = command("perplexity", checkpoints["lm"], "--documents", tmp_path, "--json")
    (score,) = said.json["scores"]
    assert (score["corpus"], score["examples"]) == ("texts", 2)
    assert score["left_out"] == {"documents longer than the context": 1}
    said = command("perplexity", checkpoints["lm"], "--documents", tmp_path)
    assert said.code == 0
    assert said.out.splitlines()[1].split()[-2] == "1"
    assert "1 documents longer than the context" in said.err
    (tmp_path / "test.txt").write_text(texts[1], encoding="utf-8")
    said = command("perplexity", checkpoints["lm"], "--documents", tmp_path)
    assert said.code == 1
    assert (
        "none of the 1 documents can be scored with granularity sentence: 1 documents longer than the con"
        in said.err
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "name what to score on"),
        (("--bundled", "--stories", "few.jsonl"), 2, "name what to score on"),
        (("--bundled", "--corpus", "lyrics"), 2, "--corpus goes with --documents"),
        (("--bundled", "--granularity", "phrase"), 2, "phrase"),
        (("--documents", "."), 1, "has no test.txt"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(
    arguments: tuple[str, ...],
    code: int,
    message: str,
    command: Command,
    checkpoints: dict[str, Path],
    few: Path,
) -> None:
    said = command("perplexity", checkpoints["lm"], *arguments)
    assert (said.code, said.out) == (code, "")
    assert message in said.err
    assert "Traceback" not in said.err


def test_a_folder_that_is_no_checkpoint_is_refused(command: Command, few: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    said = command("perplexity", tmp_path / "empty", "--stories", few)
    assert said.code == 1
    assert re.search(r"empty is not a checkpoint: it has no infilling\.json", said.err)
    said = command("perplexity", tmp_path / "nowhere", "--stories", few)
    assert said.code == 2
    assert command("perplexity").code == 2


def test_a_model_that_reads_too_little_is_refused(
    command: Command, few: Path, tokenizer: Any, tmp_path: Path
) -> None:
    card = Card("lm", tokenizer.get_vocab_size(), probe(tokenizer))
    save(tmp_path / "short", tiny_gpt2(card.vocabulary + 7, n_positions=64), tokenizer, card)
    assert load(tmp_path / "short").card.kind == "lm"
    said = command("perplexity", tmp_path / "short", "--stories", few)
    assert said.code == 2
    assert "reads only 64 tokens, not 256" in said.err
