"""Texts that cannot be trained on are refused in one line with file, document and cause; others are trained
on and scored."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from generators.checkpoints.loading import load
from generators.checkpoints.sequences import SpecialIds
from generators.training.corpus import SEPARATOR, folder_texts
from generators.training.examples import MaskedCorpus
from generators.training.state import STATE_TENSORS, held
from humaneval.errors import InputError
from tests.commands import Command, Said
from tests.conftest import lacking
from tests.docs.pages import story_file
from tests.models.conftest import Trained

pytestmark = pytest.mark.models
TINY = (
    "--from-scratch",
    "--preset",
    "small",
    "--layers",
    "1",
    "--width",
    "32",
    "--heads",
    "2",
    "--steps",
    "2",
    "--vocabulary",
    "2000",
    "--device",
    "cpu",
)
FINE = ["One came home. Two left again.", "Three stayed there. Four sang.", "Five wept, and six did not."]

Train = Callable[..., Said]


@pytest.fixture
def train(command: Command, tmp_path: Path) -> Train:
    def run(*arguments: str | Path, strategy: str = "ilm", out: str = "out") -> Said:
        return command("train", strategy, *arguments, *TINY, "--out", tmp_path / out)

    return run


def folder(place: Path, train: str | bytes, valid: str = SEPARATOR.join(FINE), ending: str = "txt") -> Path:
    place.mkdir(exist_ok=True)
    content = train if isinstance(train, bytes) else train.encode("utf-8", "surrogatepass")
    (place / f"train.{ending}").write_bytes(content)
    (place / "valid.txt").write_text(valid, encoding="utf-8")
    return place


def refused(said: Said, *words: str) -> None:
    assert (said.code, said.out) == (1, ""), said.err
    for word in words:
        assert word in said.err
    assert "Traceback" not in said.err


ABSTRACT = {"title": "A", "authors": "B C", "categories": "cs.CL", "abstract": "We fill. It works."}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["train.txt has no documents", "two blank lines"]),
        ("\n\n \n\n\n\t\n", ["train.txt has no documents"]),
        (SEPARATOR.join([*FINE, "a\x00b"]), ["train.txt, document 4: contains U+0000", "--skip-bad"]),
        (SEPARATOR.join(FINE).encode() + b"\n\n\nna\xefve", ["train.txt, document 4: not UTF-8"]),
        (SEPARATOR.join([*FINE, "No end. " * 2_200_000]), ["train.txt, document 4 is longer than 16 MiB"]),
        (
            SEPARATOR.join(["word " * 400] * 3),
            ["none of the 3 documents", "253 tokens", "longer than the context"],
        ),
    ],
)
def test_G03_a_corpus_that_cannot_be_used_says_where_and_why(
    text: str | bytes, words: list[str], train: Train, tmp_path: Path
) -> None:
    refused(train("--documents", folder(tmp_path / "texts", text)), *words)
    assert not (tmp_path / "out" / STATE_TENSORS).exists()


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({**ABSTRACT, "abstract": "a\ud800b"}, ["document 2: contains U+D800"]),
        ({**ABSTRACT, "title": "a\x00b"}, ["document 2: contains U+0000"]),
        ({name: value for name, value in ABSTRACT.items() if name != "authors"}, ["document 2", "authors"]),
        ([1], ["document 2: not an abstract with title, authors"]),
        ("text", ["document 2: not an abstract"]),
    ],
)
def test_G03_an_abstract_that_cannot_be_used_says_where_and_why(
    record: object, words: list[str], train: Train, tmp_path: Path
) -> None:
    lines = f"{json.dumps(ABSTRACT)}\n{json.dumps(record)}\n"
    place = folder(tmp_path / "texts", lines, ending="jsonl")
    refused(train("--documents", place, "--corpus", "abstracts"), "train.jsonl", *words)


def test_G03_a_line_that_is_no_json_is_named(train: Train, tmp_path: Path) -> None:
    place = folder(tmp_path / "texts", f"{json.dumps(ABSTRACT)}\n\n{{\n", ending="jsonl")
    refused(train("--documents", place, "--corpus", "abstracts"), "train.jsonl, document 3: not an abstract")


def test_a_corpus_is_read_a_document_at_a_time(tmp_path: Path) -> None:
    text = "\ufeff" + SEPARATOR.join([f"Line one.\nLine two of {number}." for number in range(9)])
    for ends in ("\n", "\r\n"):
        place = folder(tmp_path / "texts", text.replace("\n", ends) + ends * 5 + "\rLast." + ends)
        found = folder_texts(place, "train", "texts")
        whole = (place / "train.txt").read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        assert [one.text for one in found.documents] == [
            piece.strip() for piece in whole.split(SEPARATOR) if piece.strip()
        ]


def test_bad_documents_can_be_left_out_and_are_counted(train: Train, tmp_path: Path) -> None:
    texts = [*FINE, "a\x00b", "word " * 400]
    place = folder(tmp_path / "texts", SEPARATOR.join(texts))
    said = train("--documents", place, "--skip-bad", "--json")
    assert said.code == 0, said.err
    assert said.json["left_out"]["documents with characters that cannot be used"] == 1
    assert said.json["left_out"]["documents longer than the context"] == 1
    assert "1 documents longer than the context" in said.err


def test_a_folder_without_its_files_is_refused(train: Train, tmp_path: Path) -> None:
    place = folder(tmp_path / "texts", SEPARATOR.join(FINE))
    (place / "valid.txt").unlink()
    refused(train("--documents", place), "has no valid.txt")
    (place / "train.txt").unlink()
    refused(train("--documents", place), "has no train.txt", "Training needs train.txt")
    (place / "test.txt").touch()
    refused(train("--documents", place), "has no train.txt, but test.txt")
    refused(
        train("--documents", place, "--corpus", "abstracts"),
        "no train.txt and no train.jsonl and no metadata",
    )


def test_one_story_leaves_none_for_validation(train: Train, tmp_path: Path) -> None:
    story = {"id": "1", **{f"sentence{n}": "One came." for n in range(1, 6)}}
    (tmp_path / "one.jsonl").write_text(json.dumps(story) + "\n")
    refused(train("--stories", tmp_path / "one.jsonl"), "has only one document", "--valid FILE")


def test_one_document_with_another_to_validate_is_enough(train: Train, tmp_path: Path) -> None:
    place = folder(tmp_path / "texts", FINE[0])
    assert train("--documents", place).code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name what to train on"),
        (("--bundled", "--documents", "."), "name what to train on"),
        (("--bundled", "--corpus", "lyrics"), "--corpus goes with --documents"),
        (("--documents", ".", "--valid", "file"), "--valid goes with --stories"),
        (("--bundled", "--tokenizer", "gpt2"), "exclude each other"),
        (("--bundled", "--mask", "phrase"), "no mask function"),
        (("--bundled", "--from", "gpt2"), "say what to start from"),
        (("--bundled", "--heads", "5"), "cannot be split into 5 heads"),
        (("--bundled", "--preset", "paper"), "the preset paper is only for sa"),
        (("--bundled", "--vocabulary", "299"), "a vocabulary cannot have 299 tokens"),
        (("--bundled", "--valid", "file"), "--valid goes with --stories"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(
    arguments: tuple[str, ...], message: str, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    said = command("train", "ilm", *TINY, "--out", tmp_path / "out", *arguments)
    assert said.code == 2
    assert message in said.err


@pytest.mark.parametrize(
    "option",
    [
        ("--lr", "nan"),
        ("--minutes", "nan"),
        ("--passes", "inf"),
        ("--weight-decay", "nan"),
        ("--dropout", "nan"),
    ],
)
def test_what_is_no_number_is_refused(option: tuple[str, str], train: Train, tmp_path: Path) -> None:
    said = train("--bundled", *option)
    assert (said.code, said.out) == (2, "")
    assert f"{option[1]} is not a number" in said.err
    assert not (tmp_path / "out").exists()


def test_two_trainings_into_one_folder_are_kept_apart(train: Train, tmp_path: Path) -> None:
    place = folder(tmp_path / "texts", SEPARATOR.join(FINE))
    with held(tmp_path / "out"):
        said = train("--documents", place)
        assert (said.code, said.out) == (2, "")
        assert "another process is training into" in said.err
        assert train("--documents", place, out="other").code == 0
    assert train("--documents", place).code == 0


FAULTY = """
import sys
class Leaves:
    types = ("a",)
    def mask(self, text, rng):
        sys.exit(0)
class Outside:
    types = ("a",)
    def mask(self, text, rng):
        return [("a", 0, len(text) + 1)]
class Nothing:
    types = ("a",)
    def mask(self, text, rng):
        return []
"""


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ("Leaves", ["the mask function failed: SystemExit", "Correct the mask function"]),
        ("Outside", ["outside the document", "Correct the mask function"]),
        ("Nothing", ["masks nothing", "Choose another mask"]),
    ],
)
def test_masks_that_all_fail_are_said_to_be_the_cause(
    mask: str, words: list[str], train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "faulty_masks.py").write_text(FAULTY, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    place = folder(tmp_path / "texts", SEPARATOR.join(FINE))
    said = train("--documents", place, "--mask", f"faulty_masks:{mask}", "--empty-masks", "off")
    refused(said, "none of the 3 documents", *words)
    assert "shorter documents" not in said.err


def test_control_strings_in_a_persons_text_are_text(train: Train, tmp_path: Path) -> None:
    texts = [
        "<|infill_sentence|> came. <|startofinfill|> left.",
        "<|endofinfill|><|endoftext|> stayed.",
        *FINE,
    ]
    said = train("--documents", folder(tmp_path / "texts", SEPARATOR.join(texts)), "--copies", "4")
    assert said.code == 0, said.err
    kept = MaskedCorpus.open(tmp_path / "out" / "examples" / "train")
    opened = load(tmp_path / "out")
    assert kept.special == opened.special == SpecialIds(opened.tokenizer.get_vocab_size())
    assert int(kept.arrays.ids.max()) < opened.special.size
    bounds = kept.arrays.documents
    found = [opened.tokenizer.decode(kept.arrays.ids[a:b].tolist()) for a, b in pairwise(bounds)]
    assert found == texts


def test_a_checkpoint_names_its_masks_and_what_it_was_trained_on(
    train: Train, command: Command, tmp_path: Path
) -> None:
    place = folder(tmp_path / "texts", SEPARATOR.join(FINE))
    (tmp_path / "texts" / "test.txt").write_text(SEPARATOR.join(FINE), encoding="utf-8")
    own = "generators.masks.samples:Punctuation"
    said = train("--documents", place, "--corpus", "lyrics", "--mask", own)
    assert said.code == 0, said.err
    card = load(tmp_path / "out").card
    assert (card.mask, card.corpus) == (own, "lyrics")
    assert card.blanks == ["sentence_terminal", "other_punctuation"]
    said = command("perplexity", tmp_path / "out", "--documents", place, "--granularity", "mixture", "--json")
    assert said.code == 0, said.err
    assert said.json["scores"][0]["tokens"] > 0


def test_a_full_disk_leaves_the_state_and_the_checkpoint_before(train_small: Trained, tmp_path: Path) -> None:
    """A file of the state cannot grow to its size; the checkpoint's, a third of it, can."""
    resource = pytest.importorskip("resource", reason="needs a limit on the size of files: another system")
    settings = {"learning_rate": 5e-3}
    train_small(tmp_path, "lm", steps=10, **settings)
    state, before = (tmp_path / STATE_TENSORS).read_bytes(), load(tmp_path)
    assert before.card.training["step"] == 10
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(state) // 2, hard))
    try:
        with pytest.raises(InputError, match=r"state\.safetensors cannot be written") as error:
            train_small(tmp_path, "lm", steps=20, **settings)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "run the same command again" in error.value.hint
    assert (tmp_path / STATE_TENSORS).read_bytes() == state
    assert load(tmp_path).card.weights == load(tmp_path).hash
    assert not list(tmp_path.glob("*.part"))
    assert train_small(tmp_path, "lm", steps=20, **settings).step == 20


def test_a_disk_too_full_for_the_masked_examples_says_so(corpus: MaskedCorpus, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="needs a limit on the size of files: another system")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(InputError, match="examples") as error:
            corpus.save(tmp_path / "examples")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "Free some space" in error.value.hint
    with pytest.raises(InputError, match="has no masked examples"):
        MaskedCorpus.open(tmp_path / "examples")


REAL = {"texts": "csabstruct", "abstracts": "arxiv_cs_sample", "lyrics": "rhymedata_pd"}


@pytest.mark.parametrize("corpus", REAL)
def test_real_prose_verse_and_abstracts_are_trained_on_and_scored(
    corpus: str, test_data: Path, train: Train, command: Command, tmp_path: Path
) -> None:
    """150 short documents, among them some with control characters, which are left out."""
    source = test_data / "open" / f"{REAL[corpus]}.train.txt"
    if not source.exists():
        lacking("real data", f"put {source.name} into the folder that HUMANEVAL_TEST_DATA names")
    documents = source.read_text(encoding="utf-8").split(SEPARATOR)
    documents = sorted(documents[:2000], key=len)[:150]
    (tmp_path / "texts").mkdir()
    for split, start, step in (("valid", 0, 6), ("test", 3, 6), ("train", 1, 2)):
        (tmp_path / "texts" / f"{split}.txt").write_text(
            SEPARATOR.join(documents[start::step]), encoding="utf-8"
        )
    named = ("--documents", tmp_path / "texts", "--corpus", corpus, "--skip-bad")
    said = train(*named, "--json")
    assert said.code == 0, said.err
    assert said.json["steps"] == 2
    scored = command("perplexity", tmp_path / "out", *named, "--granularity", "all", "--json")
    assert scored.code == 0, scored.err
    scores: list[dict[str, Any]] = scored.json["scores"]
    assert len(scores) == 6
    for score in scores:
        assert score["corpus"] == corpus
        assert score["examples"] > 0
        assert 100 < score["perplexity"] < 4000


RUINS = {
    "ilm": (*TINY[:-6], "--warm-up", "0", "--evaluate-every", "5", "--lr", "1e4"),
    "lm": (*TINY[:-6], "--warm-up", "0", "--evaluate-every", "5", "--lr", "1e4"),
    "sa": ("--preset", "small", *TINY[3:-6], "--warm-up", "1", "--evaluate-every", "5", "--lr-scale", "1e6"),
    "bert": ("--from-scratch", "--lr", "1e4"),
}


@pytest.mark.parametrize("kind", RUINS)
def test_X63_a_rate_that_ruins_the_model_is_an_error_and_leaves_no_checkpoint(
    kind: str, command: Command, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    stories = (
        ("--stories", story_file(tmp_path / "stories.csv", "train")) if kind == "bert" else ("--bundled",)
    )
    said = command("train", kind, *stories, *RUINS[kind], "--steps", "10", "--device", "cpu", "--out", out)
    refused(said, "step", "lower")
    assert "worse than chance" in said.err or "stopped being a number" in said.err
    assert list(out.glob("*.safetensors")) == []
