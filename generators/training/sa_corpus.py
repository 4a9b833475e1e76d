"""What SA is trained on: a vocabulary made from the texts, the texts as ids, and batches of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from generators.masks.documents import Document
from generators.self_attention.template import SEGMENT, Ids
from generators.self_attention.vocabulary import (
    BOA,
    BOS,
    EOA,
    EOS,
    IN_FRONT,
    MASK,
    PAD,
    SPECIAL,
    Vocabulary,
    words_of,
)

WINDOW = 32
"""The number of batches that are sorted by length together."""


def learn_vocabulary(sentences: Iterable[Sequence[str]], size: int) -> Vocabulary:
    """The vocabulary of a corpus: <m>, <BOA>, <EOA> and the most frequent words, `size` entries in all.
    Equally frequent words are taken in alphabetical order. Casing is counted within sentences, not at their
    start.
    """
    counts: Counter[str] = Counter()
    within: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        counts.update(word.lower() for word in sentence)
        begun = False
        for word in sentence:
            if begun:
                within[word.lower()][word] += 1
            # After a quotation mark or a period, a sentence may begin within the sentence.
            begun = word not in {'"', "'", "`", "“", "‘", ".", "!", "?", ":"} and (begun or word[0].isalnum())
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    words = tuple(ordered[: size - (len(SPECIAL) - IN_FRONT)])
    usual = {
        word: max(within[word], key=lambda form: (within[word][form], form)) for word in words if within[word]
    }
    return Vocabulary(words, {word: form for word, form in usual.items() if form != word})


class Batch(NamedTuple):
    """Examples, padded to the longest one."""

    template: Ids
    positions: Ids
    answer: Ids
    """<BOA> and the words."""
    target: Ids
    """The words and <EOA>."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts as ids, one after the other. Text t has the sentences first[t] to first[t + 1]; sentence s has
    the ids starts[s] to starts[s + 1]."""

    ids: Ids
    starts: Ids
    first: Ids
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.first) - 1

    def batch(self, texts: Ids, chosen: Ids) -> Batch:
        """A batch of these texts, with the `chosen` sentences (counted over the corpus) as blanks."""
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
    """The texts without their titles. Left out and counted are texts of fewer than two sentences, and those
    that are longer than the context whichever sentence is the blank."""
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
    """The words of each sentence of a document, without its title and other metadata."""
    paragraphs = document.paragraphs[document.metadata :]
    found = (words_of(document.text, [span]) for paragraph in paragraphs for span in paragraph.sentences)
    return [words for words in found if words]


def training_batches(corpus: Corpus, seed: int, size: int, start: int = 0) -> Iterator[Batch]:
    """Batches without end from step `start`, the same for the same seed. Every pass has each text once, with
    one of its sentences as the blank, all equally likely. The texts of a batch are about equally long."""
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
    """The first `limit` texts with one blank each, drawn by the seed."""
    texts, chosen = _chosen(corpus, np.random.default_rng([seed, 0]), shuffled=False)
    return [corpus.batch(*pair) for pair in _cut(corpus, texts[:limit], chosen[:limit], size)]


def _chosen(corpus: Corpus, chance: np.random.Generator, shuffled: bool = True) -> tuple[Ids, Ids]:
    """All texts, and one sentence of each."""
    texts = chance.permutation(len(corpus)) if shuffled else np.arange(len(corpus))
    return texts, chance.integers(corpus.first[texts], corpus.first[texts + 1])


def _cut(corpus: Corpus, texts: Ids, chosen: Ids, size: int) -> list[tuple[Ids, Ids]]:
    """Batches of texts and blanks, sorted by length within windows."""
    lengths = corpus.starts[corpus.first[texts + 1]] - corpus.starts[corpus.first[texts]]
    answers = corpus.starts[chosen + 1] - corpus.starts[chosen]
    found = []
    for at in range(0, len(texts), WINDOW * size):
        window = slice(at, at + WINDOW * size)
        order = at + np.lexsort((lengths[window], answers[window] // 4))
        found += [(texts[some], chosen[some]) for some in np.split(order, range(size, len(order), size))]
    return found
