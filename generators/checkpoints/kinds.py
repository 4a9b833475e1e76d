"""Tells what a folder holds by its small files, without opening a model: a checkpoint of ours, one of the
paper's, or a model of others."""

from __future__ import annotations

from pathlib import Path

from generators.checkpoints.card import read_card
from generators.checkpoints.folder import CARD, file_of, is_release
from generators.checkpoints.pretrained import architectures
from generators.checkpoints.release import release_card
from generators.checkpoints.weights import json_object
from generators.masks.spans import Granularity
from humaneval.kinds import Recognised

ALL, SENTENCE = tuple(map(str, Granularity)), ("sentence",)
FAMILIES = {
    "ForMaskedLM": "bert",
    "BertForPreTraining": "bert",
    "T5ForConditionalGeneration": "t5",
    "BartForConditionalGeneration": "bart",
}
"""How the name of an architecture ends, and the kind that it belongs to."""


def recognise(folder: Path) -> Recognised | None:
    """The kind of the checkpoint in a folder; None if there is none, or if its files do not tell.

    Raises InputError if its card is damaged.
    """
    if is_release(folder):
        card = release_card(folder)
        return Recognised(card.kind, tuple(card.blanks))
    if file_of(folder, CARD).exists():
        card = read_card(folder)
        return Recognised(card.kind, tuple(card.blanks) if card.kind == "ilm" else SENTENCE)
    for name in architectures(folder):
        for ending, kind in FAMILIES.items():
            if name.endswith(ending):
                return Recognised(kind, ALL)
        if name.endswith("ForCausalLM") and _has_a_template(folder):
            return Recognised("instruct", ALL)
    return None


def _has_a_template(folder: Path) -> bool:
    settings = folder / "tokenizer_config.json"
    return (folder / "chat_template.jinja").exists() or bool(json_object(settings).get("chat_template"))
