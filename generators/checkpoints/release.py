"""The paper's published checkpoints: config.json and pytorch_model.bin, opened as our checkpoints.

Their third file, a pickle with the names of the special ids, is never opened; the ids are always the same.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from generators.checkpoints.card import Card, probe
from generators.checkpoints.checkpoint import Checkpoint, ready
from generators.checkpoints.pretrained import read_model
from generators.checkpoints.sequences import SpecialIds
from generators.checkpoints.tokenizer import check_byte_level, open_tokenizer
from humaneval.errors import InputError

VOCABULARY = 50_257
"""GPT-2's. Behind it: S, E, and blanks for document, paragraph, sentence, ngram and word, in this order."""
TEXT, IDS = " This is an example.", [770, 318, 281, 1672, 13]
"""How GPT-2's tokenizer reads a text; the published models were trained with it."""


def open_release(folder: Path, *, kind: str = "ilm", device: str = "cpu") -> Checkpoint:
    """The published checkpoint in `folder`, as a generator of `kind`.

    The folder also has GPT-2's tokenizer.json, or vocab.json and merges.txt. Raises InputError if these are
    missing or another tokenizer's, or if the weights do not fit.
    """
    reader = open_tokenizer(folder)
    check_byte_level(reader, str(folder))
    if reader.encode(TEXT, add_special_tokens=False).ids != IDS or reader.get_vocab_size() != VOCABULARY:
        raise InputError(
            f"the tokenizer for {folder} is not GPT-2's, which the published checkpoints were trained with",
            "Put GPT-2's tokenizer.json, or vocab.json and merges.txt, in the folder.",
        )
    found = read_model(folder)
    card = release_card(folder, kind)
    origin = {**card.training, "sha256": found.sha256, "architecture": type(found.model).__name__}
    card = replace(card, probe=probe(reader), training=origin)
    return ready(folder, found.model, reader, card, found.sha256, device)


def release_card(folder: Path, kind: str = "ilm") -> Card:
    """The card of a published checkpoint, as far as it is known before it is opened."""
    return Card(
        kind, VOCABULARY, [], {"from": folder.resolve().name}, blanks=list(SpecialIds(VOCABULARY).blanks)
    )
