"""Masked examples: the same number and lengths as the reference's, kept once, and the same with any number of
processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generators.checkpoints.sequences import STRATEGIES, SpecialIds, encode
from generators.masks.documents import Document
from generators.masks.named import load_mask
from generators.masks.spans import Granularity
from generators.training.checkpoint_perplexity import OneSpan
from generators.training.corpus import CORPORA
from generators.training.examples import WORDS, Arrays, MaskedCorpus, kept_corpus, mask_corpus
from generators.training.packing import training_batches
from humaneval.errors import InputError
from tests.models.conftest import real_documents

pytestmark = pytest.mark.models
HIERARCHICAL = load_mask("hierarchical")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_masked_validation_stories_have_the_references_figures(
    seed: int, test_data: Path, gpt2_tokenizer: Any
) -> None:
    """The reference's run over the same 1,866 stories: 29,849 examples of these lengths."""
    special = SpecialIds(50_257)
    documents = real_documents(test_data, "valid.csv")
    corpus = mask_corpus(documents, gpt2_tokenizer, special, HIERARCHICAL, seed=seed)
    assert abs(corpus.examples - 29_849) <= 60
    means = {strategy: corpus.lengths(strategy).mean() for strategy in STRATEGIES}
    assert means == pytest.approx({"ilm": 58.3, "lm": 55.7, "lm-rev": 55.7, "lm-all": 103.4}, abs=1)
    masked = corpus.take(range(corpus.examples))
    assert 0.140 < masked.masked_tokens().sum() / masked.lengths.sum() < 0.151
    assert 1.80 < len(masked.kinds) / corpus.examples < 1.87


def test_the_sentence_test_set_has_the_lengths_that_the_paper_states(
    test_data: Path, gpt2_tokenizer: Any
) -> None:
    documents = real_documents(test_data, "test.csv")
    one = OneSpan(Granularity.SENTENCE)
    corpus = mask_corpus(documents, gpt2_tokenizer, SpecialIds(50_257), one, copies=1, allow_empty=False)
    assert corpus.examples == len(documents)
    lengths = {strategy: corpus.lengths(strategy).mean() for strategy in STRATEGIES}
    assert lengths["lm-all"] / lengths["lm"] == pytest.approx(1.81, abs=0.04)
    assert lengths["ilm"] / lengths["lm"] == pytest.approx(1.01, abs=0.02)
    assert lengths["lm-rev"] == lengths["lm"]


def test_two_processes_make_what_one_makes(
    bundled: tuple[Document, ...], tokenizer: Any, special: SpecialIds
) -> None:
    """Enough documents for two chunks, the second of which begins in the middle of them."""
    documents = [document for _ in range(11) for document in bundled]
    one, two = (
        mask_corpus(documents, tokenizer, special, HIERARCHICAL, copies=2, seed=7, workers=workers)
        for workers in (1, 2)
    )
    assert one.hash == two.hash
    assert one.left_out == two.left_out
    other = mask_corpus(documents, tokenizer, special, HIERARCHICAL, copies=2, seed=8)
    assert other.hash != one.hash


def test_equal_documents_of_a_corpus_have_masks_of_their_own(
    bundled: tuple[Document, ...], tokenizer: Any, special: SpecialIds
) -> None:
    document = min(bundled, key=lambda one: len(one.text))
    corpus = mask_corpus([document] * 2, tokenizer, special, HIERARCHICAL)
    a = corpus.arrays
    first, second = (
        [
            tuple(a.firsts[a.example_bounds[n] : a.example_bounds[n + 1]].tolist())
            for n in np.flatnonzero(a.example_documents == document)
        ]
        for document in (0, 1)
    )
    assert first != second


@pytest.mark.parametrize("name", Arrays._fields)
def test_a_kept_corpus_is_memory_mapped_and_the_same(name: str, corpus: MaskedCorpus, tmp_path: Path) -> None:
    corpus.save(tmp_path / "kept")
    opened = MaskedCorpus.open(tmp_path / "kept")
    array = getattr(opened.arrays, name)
    assert isinstance(array, np.memmap)
    assert array.dtype == getattr(corpus.arrays, name).dtype
    assert (array == getattr(corpus.arrays, name)).all()
    assert (opened.special, opened.left_out, opened.hash) == (
        corpus.special,
        corpus.left_out,
        corpus.hash,
    )


def test_batches_from_a_memory_map_are_those_from_memory(corpus: MaskedCorpus, tmp_path: Path) -> None:
    corpus.save(tmp_path)
    opened = MaskedCorpus.open(tmp_path)
    for strategy in STRATEGIES:
        first, second = (next(training_batches(one, strategy, seed=1, size=8)) for one in (corpus, opened))
        assert all((a == b).all() for a, b in zip(first, second, strict=True))


def test_examples_that_are_there_are_reused_and_others_are_made(corpus: MaskedCorpus, tmp_path: Path) -> None:
    made = []

    def make() -> MaskedCorpus:
        made.append(1)
        return corpus

    assert kept_corpus(tmp_path / "kept", "one", make).hash == corpus.hash
    assert kept_corpus(tmp_path / "kept", "one", make).hash == corpus.hash
    assert len(made) == 1
    kept_corpus(tmp_path / "kept", "two", make)
    assert len(made) == 2
    # After a kill while it was written: the description is written last.
    (tmp_path / "kept" / WORDS).unlink()
    kept_corpus(tmp_path / "kept", "two", make)
    (tmp_path / "kept" / WORDS).write_text('{"key": "tw')
    kept_corpus(tmp_path / "kept", "two", make)
    assert len(made) == 4


def test_a_folder_without_examples_is_said_to_be_one(corpus: MaskedCorpus, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no masked examples"):
        MaskedCorpus.open(tmp_path)
    corpus.save(tmp_path)
    whole = (tmp_path / "ids.npy").read_bytes()
    (tmp_path / "ids.npy").write_bytes(whole[:200])
    with pytest.raises(InputError, match="has no masked examples"):
        MaskedCorpus.open(tmp_path)


def test_sixteen_copies_of_the_papers_stories_would_take_less_than_300_megabytes(
    bundled: tuple[Document, ...], tokenizer: Any, special: SpecialIds, tmp_path: Path
) -> None:
    corpus = mask_corpus(bundled, tokenizer, special, HIERARCHICAL)
    assert corpus.examples > 14 * len(bundled)
    corpus.save(tmp_path)
    size = sum(path.stat().st_size for path in tmp_path.glob("*.npy"))
    assert size / corpus.documents * 97_828 < 0.3e9
    assert json.loads((tmp_path / WORDS).read_text())["sha256"] == corpus.hash


def test_batches_depend_on_seed_and_number_alone(corpus: MaskedCorpus) -> None:
    run = training_batches(corpus, "ilm", seed=3, size=48)
    batches = [next(run) for _ in range(25)]
    # Batch 13 spans the end of the first pass, after 640 examples.
    for number in (0, 13, 24):
        later = next(training_batches(corpus, "ilm", seed=3, size=48, start=number))
        assert (later.ids == batches[number].ids).all()
        assert (later.bounds == batches[number].bounds).all()
    other = next(training_batches(corpus, "ilm", seed=4, size=48))
    assert other.ids.tolist() != batches[0].ids.tolist()


def test_a_pass_shows_every_example_once_and_the_next_in_another_order(corpus: MaskedCorpus) -> None:
    assert corpus.examples % 64 == 0
    run = training_batches(corpus, "ilm", seed=3, size=64)
    passes = []
    for _ in range(2):
        seen: list[tuple[int, ...]] = []
        for _ in range(corpus.examples // 64):
            batch = next(run)
            seen += [tuple(one) for one in np.split(batch.ids.tolist(), batch.bounds[1:-1])]
        passes.append(seen)
    every = [tuple(ids) for ids, _ in encode("ilm", corpus.take(range(corpus.examples)), corpus.special)]
    assert sorted(passes[0]) == sorted(passes[1]) == sorted(every)
    assert passes[0] != passes[1]


def test_without_empty_masks_every_example_has_a_blank(
    bundled: tuple[Document, ...], tokenizer: Any, special: SpecialIds
) -> None:
    for allow_empty in (True, False):
        corpus = mask_corpus(
            bundled[:40], tokenizer, special, HIERARCHICAL, copies=4, allow_empty=allow_empty
        )
        assert bool((np.diff(corpus.arrays.example_bounds.astype(np.int64)) > 0).all()) is not allow_empty


def test_verse_and_prose_are_masked_by_their_own_lines_and_sentences(
    tokenizer: Any, special: SpecialIds
) -> None:
    text = "One came. Two left,\nand three stayed.\n\nFour sang. Five wept."
    spans = {}
    for corpus in ("lyrics", "texts"):
        masked = mask_corpus(
            [CORPORA[corpus](text)] * 60, tokenizer, special, OneSpan(Granularity.SENTENCE), copies=1
        )
        examples = masked.take(range(masked.examples))
        spans[corpus] = {
            tokenizer.decode(examples.ids[start + first : start + last].tolist()).strip()
            for start, first, last in zip(examples.starts, examples.firsts, examples.lasts, strict=True)
        }
    assert spans["lyrics"] == {"One came. Two left,", "and three stayed.", "Four sang. Five wept."}
    assert spans["texts"] == {
        "One came.",
        "Two left,",
        "and three stayed.",
        "Four sang.",
        "Five wept.",
    }
