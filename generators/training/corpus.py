"""What is trained on: stories as documents, tokenised once; and a vocabulary made from them where none is given."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from generators.checkpoints import PROBE
from generators.formats import CONTEXT_LENGTH, Tokens, tokenise
from generators.masking import Document, story_document
from humaneval.domain import Story
from humaneval.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VOCABULARY = 8000


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents and their tokens, side by side; `left_out` counts what could not be used, by cause."""

    documents: tuple[Document, ...]
    tokens: tuple[Tokens, ...]
    left_out: dict[str, int]

    @property
    def hash(self) -> str:
        """SHA-256 over the documents' texts."""
        return hashlib.sha256(
            "\n\n\n".join(document.text for document in self.documents).encode()
        ).hexdigest()


def build_corpus(stories: Iterable[Story], tokenizer: Tokenizer) -> Corpus:
    """The stories as documents. One that no mask could make fit the context is left out, and counted."""
    documents = [story_document(story) for story in stories]
    if not documents:
        raise InputError(
            "there are no stories to train on", "Name a story file with --stories, or say --bundled."
        )
    tokens = tokenise(tokenizer, [document.text for document in documents])
    # Even with all of it masked, the longest format is a blank, S, the document and E.
    fitting = [number for number, one in enumerate(tokens) if len(one.ids) + 3 <= CONTEXT_LENGTH]
    left_out = (
        {"longer than the context": len(documents) - len(fitting)} if len(fitting) < len(documents) else {}
    )
    if not fitting:
        raise InputError(
            f"none of the {len(documents)} stories fits {CONTEXT_LENGTH} tokens",
            "Is this a file of five-sentence stories?",
        )
    return Corpus(tuple(documents[n] for n in fitting), tuple(tokens[n] for n in fitting), left_out)


def train_tokenizer(texts: Sequence[str], size: int = VOCABULARY) -> Tokenizer:
    """A byte-level BPE of at most `size` tokens, GPT-2's way of cutting; it can write any text."""
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


def probe(tokenizer: Tokenizer) -> list[int]:
    """How the tokenizer reads a text that shows whether it is the same one later."""
    return list(tokenizer.encode(PROBE, add_special_tokens=False).ids)
