"""Masked examples of a corpus: the ids of each document once, and for each example only where its blanks are.

Nothing is padded or encoded in advance: the four strategies read the same masks, and all 16 masked copies of
97,828 stories take about 50 MB. In a folder, the arrays are memory-mapped.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from generators.checkpoints.sequences import CONTEXT_LENGTH, Ints, Masked, SpecialIds, mask_tokens, tokenise
from generators.masks.distinct_masks import NOTHING, draw_masks
from generators.masks.documents import Document
from generators.masks.named import load_mask
from generators.masks.spans import MaskFunction
from humaneval.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

COPIES = 16
WORDS = "examples.json"
CHUNK = 1000
UNDRAWN = "masks that could not be drawn"
TOO_LONG = "documents longer than the context"
LONGEST = CONTEXT_LENGTH - 3
"""The most tokens of a document: even if all of it is masked, the longest format is a blank, S, the document
and E."""

Array = NDArray[np.integer]


class Arrays(NamedTuple):
    """The contents of a folder, one .npy file each. Spans count tokens from the start of their document."""

    ids: Array
    """(tokens,) of all documents, one after the other: uint16, or uint32 for a larger vocabulary."""
    documents: Array
    """(documents + 1,) where each document begins in `ids`."""
    example_documents: Array
    """(examples,) the document of each example."""
    example_bounds: Array
    """(examples + 1,) where each example's spans begin."""
    kinds: Array
    firsts: Array
    lasts: Array


@dataclass(frozen=True, slots=True)
class MaskedCorpus:
    """Masked examples, and the number of those left out, by cause."""

    arrays: Arrays
    special: SpecialIds
    left_out: dict[str, int]
    hash: str
    """SHA-256 over ids and spans."""

    @property
    def examples(self) -> int:
        """The number of examples."""
        return len(self.arrays.example_documents)

    @property
    def documents(self) -> int:
        """The number of documents that fit the context."""
        return len(self.arrays.documents) - 1

    def take(self, numbers: Ints | Sequence[int]) -> Masked:
        """The examples of these numbers, in this order."""
        a, chosen = self.arrays, np.asarray(numbers, dtype=np.int64)
        documents = a.example_documents[chosen]
        starts = a.documents[documents].astype(np.int64)
        first = a.example_bounds[chosen].astype(np.int64)
        counts = a.example_bounds[chosen + 1].astype(np.int64) - first
        bounds = np.concatenate([[0], np.cumsum(counts)])
        spans = np.repeat(first - bounds[:-1], counts) + np.arange(bounds[-1])
        return Masked(
            ids=a.ids,
            starts=starts,
            lengths=a.documents[documents + 1].astype(np.int64) - starts,
            bounds=bounds,
            kinds=a.kinds[spans].astype(np.int64),
            firsts=a.firsts[spans].astype(np.int64),
            lasts=a.lasts[spans].astype(np.int64),
        )

    def lengths(self, strategy: str) -> Ints:
        """The number of tokens of each example in the format of `strategy`."""
        a = self.arrays
        n = _sizes(a.documents)[a.example_documents]
        spans = _sizes(a.example_bounds)
        if strategy == "ilm":
            return n + 2 * spans + 1
        if strategy == "lm-all":
            within = np.concatenate([[0], np.cumsum(a.lasts.astype(np.int64) - a.firsts)])
            bounds = a.example_bounds.astype(np.int64)
            masked: Ints = within[bounds[1:]] - within[bounds[:-1]]
            return 2 * n - masked + spans + 2
        return n + 2

    def save(self, folder: Path, key: str = "") -> None:
        """Write the arrays into `folder`, and their description last; `key` is a hash of what they were made
        from."""
        words_file = folder / WORDS
        try:
            folder.mkdir(parents=True, exist_ok=True)
            words_file.unlink(missing_ok=True)
            for name, array in self.arrays._asdict().items():
                np.save(folder / f"{name}.npy", array)
            words = {"key": key, "vocabulary": self.special.size, "blanks": self.special.blanks}
            text = json.dumps({**words, "left_out": self.left_out, "sha256": self.hash}, indent=2)
            words_file.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"{folder}: {error.strerror or error}", "Free some space, or name another folder."
            ) from None

    @classmethod
    def open(cls, folder: Path) -> MaskedCorpus:
        """The examples in `folder`, memory-mapped. Raises InputError if it has none."""
        try:
            words = json.loads((folder / WORDS).read_text(encoding="utf-8"))
            arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in Arrays._fields}
        except (OSError, EOFError, ValueError) as error:
            raise InputError(f"{folder} has no masked examples: {error}", "Mask the corpus again.") from None
        special = SpecialIds(words["vocabulary"], tuple(words["blanks"]))
        return cls(Arrays(**arrays), special, words["left_out"], words["sha256"])


def kept_corpus(folder: Path, key: str, make: Callable[[], MaskedCorpus]) -> MaskedCorpus:
    """The examples of that key in `folder`, memory-mapped. They are made and saved if they are not there.

    If torchrun started several processes, the first makes them and the others wait.
    """
    from torch import distributed

    def there() -> bool:
        try:
            found: object = json.loads((folder / WORDS).read_text(encoding="utf-8"))["key"]
            MaskedCorpus.open(folder)
        except (OSError, ValueError, KeyError, TypeError, RecursionError, InputError):
            return False
        return found == key

    together = distributed.is_available() and distributed.is_initialized()
    if (not together or distributed.get_rank() == 0) and not there():
        make().save(folder, key)
    if together:
        distributed.barrier()
    return MaskedCorpus.open(folder)


def nothing_left(what: str, corpus: MaskedCorpus) -> InputError:
    """The error if no document gave an example: `what`, the causes, and what to do about them."""
    causes = "; ".join(f"{count} {cause}" for cause, count in corpus.left_out.items())
    undrawn = [cause for cause in corpus.left_out if cause.startswith(UNDRAWN)]
    helps = {
        f"Cut long texts into shorter documents: a document has at most {LONGEST} tokens.": (
            TOO_LONG in causes
        ),
        "Choose another mask, or another granularity.": any(NOTHING in cause for cause in undrawn),
        "Correct the mask function.": any(NOTHING not in cause for cause in undrawn),
    }
    return InputError(f"{what}: {causes}", " ".join(hint for hint, fits in helps.items() if fits))


class _Chunk(NamedTuple):
    masked: Masked
    documents: Ints
    example_documents: Ints
    left_out: Counter[str]


def mask_corpus(
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    special: SpecialIds,
    mask: MaskFunction,
    *,
    copies: int = COPIES,
    seed: int = 0,
    allow_empty: bool = True,
    workers: int = 1,
) -> MaskedCorpus:
    """Up to `copies` masked examples of every document; no two of a document are alike.

    The masks of document n depend only on (seed, n), with any number of processes. Left out and counted are
    documents longer than the context, examples whose longest format is longer, and masks that could not be
    drawn. Merged spans are counted, too, although nothing is lost.
    """
    work = (
        _Work(number * CHUNK, tuple(chunk), special, copies, seed, allow_empty)
        for number, chunk in enumerate(_chunks(documents, CHUNK))
    )
    if workers > 1:
        text = tokenizer.to_str()
        spawn = multiprocessing.get_context("spawn")  # a fork would copy torch's locks
        with ProcessPoolExecutor(
            workers, spawn, _start_worker, (text, mask.name, getattr(mask, "parity", False))
        ) as pool:
            parts = list(pool.map(_in_worker, work))
    else:
        parts = [_mask_chunk(one, tokenizer, mask) for one in work]
    return _joined(parts, special)


@dataclass(frozen=True, slots=True)
class _Work:
    first: int
    documents: tuple[Document, ...]
    special: SpecialIds
    copies: int
    seed: int
    allow_empty: bool


_worker: Any = None
"""The tokenizer and the mask function, which a process opens once."""


def _start_worker(tokenizer: str, mask: str, parity: bool) -> None:
    global _worker
    from tokenizers import Tokenizer

    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _worker = Tokenizer.from_str(tokenizer), load_mask(mask, parity=parity)


def _in_worker(work: _Work) -> _Chunk:
    return _mask_chunk(work, *_worker)


def _mask_chunk(work: _Work, tokenizer: Tokenizer, mask: MaskFunction) -> _Chunk:
    left_out: Counter[str] = Counter()
    tokens = tokenise(tokenizer, [document.text for document in work.documents])
    kept = [number for number, one in enumerate(tokens) if 0 < len(one.ids) <= LONGEST]
    if len(kept) < len(tokens):
        left_out[TOO_LONG] = len(tokens) - len(kept)
    undrawn: Counter[str] = Counter()
    masks = [
        draw_masks(
            mask,
            work.documents[number],
            work.copies,
            random.Random(f"{work.seed} {work.first + number}"),
            undrawn,
            allow_empty=work.allow_empty,
        )
        for number in kept
    ]
    for cause, count in undrawn.items():
        left_out[f"{UNDRAWN} ({cause})"] = count
    tokens = [tokens[number] for number in kept]
    in_tokens = mask_tokens(tokens, masks, work.special)
    masked = in_tokens.masked
    fits = masked.fits()
    if not fits.all():
        left_out["examples longer than the context"] = int((~fits).sum())
    if in_tokens.merged.any():
        left_out["spans merged with the one before (nothing lost)"] = int(in_tokens.merged.sum())
    owners = np.repeat(np.arange(len(kept)), np.array([len(one) for one in masks], dtype=np.int64))[fits]
    spans = np.repeat(fits, np.diff(masked.bounds))
    bounds = np.concatenate([[0], np.cumsum(np.diff(masked.bounds)[fits])])
    masked = masked._replace(
        bounds=bounds, kinds=masked.kinds[spans], firsts=masked.firsts[spans], lasts=masked.lasts[spans]
    )
    sizes = np.concatenate([[0], np.cumsum([len(one.ids) for one in tokens])]).astype(np.int64)
    return _Chunk(masked, sizes, owners, left_out)


def _joined(parts: Sequence[_Chunk], special: SpecialIds) -> MaskedCorpus:
    left_out: Counter[str] = Counter()
    for part in parts:
        left_out += part.left_out

    def running(sizes: Iterable[Ints], add: Iterable[int]) -> Ints:
        shifted = [one[:-1] + at for one, at in zip(sizes, add, strict=False)]
        return np.concatenate([*shifted, [list(add)[-1]]])

    token_at = _totals(int(part.documents[-1]) for part in parts)
    span_at = _totals(int(part.masked.bounds[-1]) for part in parts)
    document_at = _totals(len(part.documents) - 1 for part in parts)
    narrow = np.uint16 if special.total <= 1 << 16 else np.uint32
    empty = np.zeros(0, dtype=np.int64)

    def all_of(arrays: list[Ints]) -> Ints:
        return np.concatenate(arrays) if arrays else empty

    arrays = Arrays(
        ids=all_of([part.masked.ids.astype(np.int64) for part in parts]).astype(narrow),
        documents=running([part.documents for part in parts], token_at).astype(np.uint32),
        example_documents=all_of(
            [part.example_documents + at for part, at in zip(parts, document_at, strict=False)]
        ).astype(np.uint32),
        example_bounds=running([part.masked.bounds for part in parts], span_at).astype(np.uint32),
        kinds=all_of([part.masked.kinds for part in parts]).astype(np.uint8),
        firsts=all_of([part.masked.firsts for part in parts]).astype(np.uint16),
        lasts=all_of([part.masked.lasts for part in parts]).astype(np.uint16),
    )
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.tobytes())
    return MaskedCorpus(arrays, special, dict(sorted(left_out.items())), digest.hexdigest())


def _sizes(bounds: Array) -> Ints:
    whole = bounds.astype(np.int64)
    return whole[1:] - whole[:-1]


def _totals(sizes: Iterable[int]) -> list[int]:
    totals = [0]
    for size in sizes:
        totals.append(totals[-1] + size)
    return totals


def _chunks(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    remaining = iter(documents)
    while chunk := list(islice(remaining, size)):
        yield chunk
