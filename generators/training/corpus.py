"""Texts to train on and to score: documents from story files or folders of texts, and a vocabulary made from
them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from generators.masks.documents import Document, prose_document, story_document, verse_document
from humaneval.domain import Story
from humaneval.errors import InputError
from humaneval.limits import LINE, MIB
from humaneval.stories import bundled_stories, read_stories

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CORPORA: dict[str, Callable[[str], Document]] = {
    "abstracts": prose_document,
    "lyrics": verse_document,
    "texts": prose_document,
}
"""How the documents of a folder are read: prose by lines and sentences, verse by stanzas and lines."""

SEPARATOR = "\n\n\n"
FIELDS = ("title", "authors", "categories", "abstract")
"""The lines of an abstract, and the fields of arXiv's metadata that they come from."""
_UNREADABLE = re.compile("[\x00\ud800-\udfff]")
"""Characters that tokenizers cannot read or files cannot keep: NUL and lone surrogates. Other control
characters are normal text."""
HELD_OUT = 20
"""If there are no validation stories, one training story in this many is set aside."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The documents of one split, and their source; `left_out` counts those that could not be used, by
    cause."""

    source: str
    documents: tuple[Document, ...]
    left_out: dict[str, int] = field(default_factory=dict)


class Split(NamedTuple):
    """Texts to train on, and texts to validate on."""

    training: Texts
    validation: Texts


class Stories(NamedTuple):
    """Stories that can be used; `left_out` counts the others, by cause."""

    stories: tuple[Story, ...]
    left_out: dict[str, int]


def sound_stories(path: Path, *, skip_bad: bool = False) -> Stories:
    """The stories of a file that can be used. Raises InputError at one that cannot, unless they are
    skipped."""
    reading = read_stories(path)
    if reading.problems and not skip_bad:
        raise InputError(
            f"{len(reading.problems)} stories cannot be used, the first: {reading.problems[0]}",
            "Correct them, or leave them out with --skip-bad.",
        )
    left_out = {"stories that cannot be used": len(reading.problems)} if reading.problems else {}
    return Stories(tuple(reading.stories), left_out)


def story_texts(path: Path, *, skip_bad: bool = False) -> Texts:
    """The stories of a file as documents. Raises InputError as `sound_stories` does, and if there are
    none."""
    stories, left_out = sound_stories(path, skip_bad=skip_bad)
    return _some(Texts(str(path), tuple(map(story_document, stories)), left_out))


def bundled_texts(split: str) -> Texts:
    """The stories of a split that come with the toolkit."""
    found = tuple(story_document(story) for story in bundled_stories() if story.split == split)
    return Texts("the bundled stories", found)


def folder_texts(folder: Path, split: str, corpus: str, *, skip_bad: bool = False) -> Texts:
    """The documents of `split` (train, valid, test) in a folder: SPLIT.txt, with three line ends between
    documents.

    Abstracts may also be SPLIT.jsonl, or one file of arXiv's metadata, metadata.jsonl. This is split by the
    year of the first version as in the paper: 2018 is valid, 2019 is test, the other years are train.
    """
    path = _file(folder, split, corpus)
    found: Iterable[tuple[int, str]]
    if path.suffix == ".txt":
        found = ((number, piece.strip()) for number, piece in _pieces(path, SEPARATOR))
    else:
        found = _abstracts(path, split if path.stem == "metadata" else None)
    documents, bad = [], 0
    for number, text in found:
        if not text:
            continue
        if wrong := _UNREADABLE.search(text):
            if not skip_bad:
                raise InputError(
                    f"{path}, document {number}: contains U+{ord(wrong.group()):04X}",
                    "Correct it, or leave it out with --skip-bad.",
                )
            bad += 1
            continue
        documents.append(CORPORA[corpus](text))
    left_out = {"documents with characters that cannot be used": bad} if bad else {}
    return _some(Texts(str(path), tuple(documents), left_out))


def held_out(texts: Texts) -> Split:
    """Set aside every twentieth document for validation. Raises InputError if there are fewer than two."""
    if len(texts.documents) < 2:
        raise InputError(
            f"{texts.source} has only one document: none is left for validation",
            "Give more, or separate validation documents (--valid FILE, or valid.txt in the folder).",
        )
    kept = tuple(document for number, document in enumerate(texts.documents) if number % HELD_OUT)
    return Split(Texts(texts.source, kept, texts.left_out), Texts(texts.source, texts.documents[::HELD_OUT]))


def train_tokenizer(texts: Iterable[str], size: int) -> Tokenizer:
    """A byte-level BPE of at most `size` tokens, which cuts texts as GPT-2 does; it can write any text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        show_progress=False,
        special_tokens=[],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _some(texts: Texts) -> Texts:
    if not texts.documents:
        raise InputError(
            f"{texts.source} has no documents",
            "A story is one row of a file; texts have two blank lines between them.",
        )
    return texts


def _file(folder: Path, split: str, corpus: str) -> Path:
    names = [f"{split}.txt", *([f"{split}.jsonl", "metadata.jsonl"] if corpus == "abstracts" else [])]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    there = ", ".join(sorted(path.name for path in folder.iterdir() if path.suffix in (".txt", ".jsonl")))
    raise InputError(
        f"{folder} has no {' and no '.join(names)}" + (f", but {there}" if there else ""),
        "Training needs train.txt and valid.txt; perplexity needs test.txt, or the file of --split.",
    )


def _pieces(path: Path, separator: str) -> Iterator[tuple[int, str]]:
    """What stands between the separators of a file, and its number. A corpus may be longer than memory, a
    document may not."""
    ends, held, number = separator.encode(), bytearray(), 1
    with path.open("rb") as file:
        while line := file.readline(LINE):
            held += line[:-2] + b"\n" if line.endswith(b"\r\n") else line
            if len(held) > LINE:
                raise InputError(
                    f"{path}, document {number} is longer than {LINE // MIB} MiB",
                    "Are line ends missing?",
                )
            if held.endswith(ends):
                yield number, _decoded(held[: -len(ends)], path, number)
                held.clear()
                number += 1
    yield number, _decoded(held, path, number)


def _decoded(piece: bytearray, path: Path, number: int) -> str:
    try:
        return piece.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}, document {number}: not UTF-8", "Save the file as UTF-8.") from None


def _abstracts(path: Path, split: str | None) -> Iterator[tuple[int, str]]:
    for number, line in _pieces(path, "\n"):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if split is None or _split_of(record) == split:
                yield number, "\n".join(" ".join(str(record[name]).split()) for name in FIELDS)
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
            raise InputError(
                f"{path}, document {number}: not an abstract with {', '.join(FIELDS)}: {error!r}",
                "Write one JSON object per line, as in arXiv's metadata.",
            ) from None


def _split_of(record: dict[str, object]) -> str:
    versions: Sequence[dict[str, str]] = record["versions"]  # type: ignore[assignment]  # the caller catches other shapes
    return {"2018": "valid", "2019": "test"}.get(versions[0]["created"].split()[3], "train")
