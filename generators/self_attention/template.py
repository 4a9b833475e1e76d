"""A text with its blanks as the network reads it: ids, segments and offsets, for one text and for batches of
stories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from generators.masks.documents import Document
from generators.self_attention.vocabulary import BOA, BOS, EOA, EOS, MASK, PAD, Vocabulary, words_of

SEGMENT = 256
"""Positions of a segment: a word's is SEGMENT · segment + offset. So this is the context on either side of a
blank."""
WINDOW = 32
"""Batches that are sorted by length together."""

Ids = NDArray[np.int64]


class Template(NamedTuple):
    """A text whose blanks are one `<m>` each. Segments alternate text, blank, text, …, from 0; offsets
    restart in each."""

    ids: list[int]
    segments: list[int]
    offsets: list[int]

    @property
    def positions(self) -> list[int]:
        return [SEGMENT * segment + at for segment, at in zip(self.segments, self.offsets, strict=True)]


def template_of(pieces: Sequence[Sequence[int]]) -> Template:
    """The template of a text whose pieces have these ids: <BOS>, the pieces with <m> between, <EOS>. Blank i
    (from 0) is segment 2i + 1. One that is filled belongs to the text, so the first that is left is always
    segment 1.

    >>> template_of([[10, 11], [12], []])
    Template(ids=[1, 10, 11, 4, 12, 4, 2], segments=[0, 0, 0, 1, 2, 3, 4], offsets=[0, 1, 2, 0, 0, 0, 0])
    """
    texts = [list(piece) for piece in pieces]
    texts[0].insert(0, BOS)
    texts[-1].append(EOS)
    parts = [texts[0]]
    for text in texts[1:]:
        parts += [[MASK], text]
    return Template(
        [id for part in parts for id in part],
        [segment for segment, part in enumerate(parts) for _ in part],
        [offset for part in parts for offset in range(len(part))],
    )


def padded(rows: Sequence[Sequence[int]]) -> Ids:
    """(rows, longest), PAD behind."""
    found = np.full((len(rows), max(map(len, rows))), PAD)
    for at, row in enumerate(rows):
        found[at, : len(row)] = row
    return found


class Batch(NamedTuple):
    """Examples, padded to the longest of them."""

    template: Ids
    positions: Ids
    answer: Ids
    """<BOA> and the words."""
    target: Ids
    """The words and <EOA>."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts as ids, one behind the other. Text t has the sentences first[t] to first[t + 1]; sentence s the
    ids starts[s] to starts[s + 1]."""

    ids: Ids
    starts: Ids
    first: Ids
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.first) - 1

    def batch(self, texts: Ids, chosen: Ids) -> Batch:
        """The texts with these sentences of theirs (counted over the corpus) as blanks."""
        begin, end = self.starts[self.first[texts]][:, None], self.starts[self.first[texts + 1]][:, None]
        cut, resumed = self.starts[chosen][:, None], self.starts[chosen + 1][:, None]
        before, after = cut - begin, end - resumed
        place = np.arange(int((before + after).max()) + 3)[None]
        # <BOS> before <m> after <EOS>: the places of the last two are
        blank, last = before + 1, before + after + 2
        source = np.where(place < blank, begin + place - 1, resumed + place - blank - 1)
        template = self.ids[np.clip(source, 0, len(self.ids) - 1)]
        template = np.where(place == 0, BOS, np.where(place == blank, MASK, template))
        template = np.where(place == last, EOS, np.where(place > last, PAD, template))
        after_blank = 2 * SEGMENT + place - blank - 1
        positions = np.where(place < blank, place, np.where(place == blank, SEGMENT, after_blank))
        place = np.arange(int((resumed - cut).max()) + 1)[None]
        words = self.ids[np.clip(cut + place, 0, len(self.ids) - 1)]
        length = resumed - cut
        target = np.where(place < length, words, np.where(place == length, EOA, PAD))
        shifted = np.concatenate([np.full((len(texts), 1), BOA), target[:, :-1]], axis=1)
        return Batch(template, positions, np.where(place <= length, shifted, PAD), target)


def read_corpus(documents: Iterable[Document], vocabulary: Vocabulary) -> Corpus:
    """The texts without their titles. Left out, and counted: one whose sentences are not two at least, and
    one that is longer than the context whichever of its sentences is the blank."""
    ids: list[int] = []
    starts, first = [0], [0]
    left_out: dict[str, int] = {}
    for document in documents:
        sentences = [vocabulary.ids(words) for words in sentences_of(document)]
        if len(sentences) < 2:
            cause = "texts of fewer than two sentences"
        elif sum(map(len, sentences)) >= SEGMENT:
            cause = f"texts of {SEGMENT} words or more"
        else:
            for sentence in sentences:
                ids += sentence
                starts.append(len(ids))
            first.append(len(starts) - 1)
            continue
        left_out[cause] = left_out.get(cause, 0) + 1
    return Corpus(np.array(ids), np.array(starts), np.array(first), left_out)


def sentences_of(document: Document) -> list[list[str]]:
    """The words of each sentence of a document, its title and the like left out."""
    paragraphs = document.paragraphs[document.metadata :]
    found = (words_of(document.text, [span]) for _, sentences in paragraphs for span in sentences)
    return [words for words in found if words]


def training_batches(corpus: Corpus, seed: int, size: int, start: int = 0) -> Iterator[Batch]:
    """Batches without end, from step `start` on, the same for the same seed: in every pass each text once,
    with one of its sentences as the blank, all equally likely. Texts in a batch are about equally long."""
    step = start
    steps = -(-len(corpus) // size)
    while True:
        chance = np.random.default_rng([seed, step // steps])
        batches = _cut(corpus, *_chosen(corpus, chance), size)
        order = chance.permutation(len(batches))
        for at in order[step % steps :]:
            yield corpus.batch(*batches[at])
            step += 1


def held_batches(corpus: Corpus, seed: int, size: int, limit: int) -> list[Batch]:
    """The first `limit` texts, one blank each, by the seed."""
    texts, chosen = _chosen(corpus, np.random.default_rng([seed, 0]), shuffled=False)
    return [corpus.batch(*pair) for pair in _cut(corpus, texts[:limit], chosen[:limit], size)]


def _chosen(corpus: Corpus, chance: np.random.Generator, shuffled: bool = True) -> tuple[Ids, Ids]:
    """All texts, and a sentence of each."""
    texts = chance.permutation(len(corpus)) if shuffled else np.arange(len(corpus))
    return texts, chance.integers(corpus.first[texts], corpus.first[texts + 1])


def _cut(corpus: Corpus, texts: Ids, chosen: Ids, size: int) -> list[tuple[Ids, Ids]]:
    """Batches of texts and blanks, by length within windows."""
    lengths = corpus.starts[corpus.first[texts + 1]] - corpus.starts[corpus.first[texts]]
    answers = corpus.starts[chosen + 1] - corpus.starts[chosen]
    found = []
    for at in range(0, len(texts), WINDOW * size):
        window = slice(at, at + WINDOW * size)
        order = at + np.lexsort((lengths[window], answers[window] // 4))
        found += [(texts[some], chosen[some]) for some in np.split(order, range(size, len(order), size))]
    return found
