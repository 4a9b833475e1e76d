"""The card of a checkpoint, infilling.json: what it is and how it was made."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generators.checkpoints.folder import CARD, file_of
from generators.checkpoints.tokenizer import PROBE
from generators.checkpoints.weights import WEIGHTS, digest, first_line
from generators.masks.spans import Granularity
from humaneval.errors import InputError
from humaneval.limits import DOCUMENT, read_whole
from humaneval.text import command

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Card:
    """Describes a checkpoint: how it was made, and what to check when it is opened."""

    kind: str
    """The generator kind: lm, lm-rev, lm-all, ilm."""
    vocabulary: int
    """Number of ids without the special ones, which follow them."""
    probe: list[int]
    training: dict[str, Any] = field(default_factory=dict)
    blanks: list[str] = field(default_factory=lambda: [str(type) for type in Granularity])
    """The types of spans of the mask; each has a blank token."""
    mask: str = "hierarchical"
    corpus: str = "stories"
    weights: str = ""
    """SHA-256 of the weights file; set when the checkpoint is saved."""

    @property
    def scratch(self) -> bool:
        """Whether training began from random weights, perhaps by way of other checkpoints."""
        return bool(self.training.get("began", self.training.get("from", "scratch")) == "scratch")


def probe(tokenizer: Tokenizer) -> list[int]:
    """The ids of a test text, by which a tokenizer is recognised later."""
    return list(tokenizer.encode(PROBE, add_special_tokens=False).ids)


def card_of_kind(folder: Path, kind: str | None) -> Card:
    """The card of a checkpoint of that kind, or of any. Raises InputError as `read_card` does, and for
    another kind."""
    card = read_card(folder)
    if kind is not None and card.kind != kind:
        raise InputError(
            f"{folder} is a checkpoint of kind {card.kind!r}, not {kind!r}", f"Use --generator {card.kind}."
        )
    return card


def check_weights(folder: Path, card: Card) -> str:
    """The SHA-256 of the weights. Raises InputError if the card was written with others."""
    found = digest([file_of(folder, WEIGHTS)])
    if card.weights not in ("", found):
        raise InputError(
            f"{WEIGHTS} in {folder} is not the file that {CARD} was written with",
            "Copy the whole folder again.",
        )
    return found


def read_card(folder: Path) -> Card:
    """The card of the checkpoint in `folder`. Raises InputError if there is none or it is damaged."""
    path = file_of(folder, CARD)
    try:
        values = json.loads(read_whole(path, most=DOCUMENT))
        card = Card(**{name: values[name] for name in ("kind", "vocabulary", "probe")})
        later = ("training", "blanks", "mask", "corpus", "weights")
        card = replace(card, **{name: values[name] for name in later if name in values})
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{folder} is not a checkpoint: it has no {CARD}",
            f"With --checkpoint, name a folder that `{command('train', 'KIND', '--out', 'FOLDER')}` wrote.",
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {first_line(error)}", "Restore it.") from None
    fine = (
        isinstance(card.kind, str)
        and isinstance(card.vocabulary, int)
        and isinstance(card.probe, list)
        and isinstance(card.training, dict)
        and isinstance(card.blanks, list)
        and all(isinstance(blank, str) for blank in card.blanks)
    )
    if not fine:
        raise InputError(f"{path} is damaged: a value is of the wrong type", "Restore it.")
    return card
