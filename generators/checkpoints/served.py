"""The files with which other programs open a checkpoint: with its control tokens, by the names in the paper's
code.

Our own commands read these files without the control tokens: a story that spells one out stays a story.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from generators.checkpoints.tokenizer import PIECES, TOKENIZER

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from generators.checkpoints.sequences import SpecialIds

START, END = "<|startofinfill|>", "<|endofinfill|>"
SETTINGS, GENERATION = PIECES[1], "generation_config.json"


def mark_of(type: str) -> str:
    """The control token of a blank."""
    return f"<|infill_{type}|>"


def served_files(
    tokenizer: Tokenizer, special: SpecialIds, unread: Sequence[int], longest: int
) -> dict[str, str]:
    """The contents of the files by name. `unread` are ids that should not be written; `longest` is the most
    tokens of a text."""
    values = json.loads(tokenizer.to_str())
    size = max(tokenizer.get_vocab().values()) + 1
    # The library numbers added tokens one by one after the vocabulary: rows without a token need names, too.
    names = [f"<|unused_{id}|>" for id in range(size, special.size)]
    names += [START, END, *map(mark_of, special.blanks)]
    values["added_tokens"] = [_added(id, name) for id, name in enumerate(names, size)]
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END,
        "pad_token": END,
        "clean_up_tokenization_spaces": False,
        "model_max_length": longest,
    }
    control = [id for id in range(special.size, special.total) if id != special.end]
    generation = {
        "eos_token_id": special.end,
        "pad_token_id": special.end,
        "suppress_tokens": [*unread, *control],
        # Programs of the hub take the likeliest token, or draw among 50, unless they are told.
        "do_sample": True,
        "top_k": 0,
    }
    return {
        TOKENIZER: _text(values),
        SETTINGS: _text(settings),
        GENERATION: _text(generation),
    }


def _added(id: int, name: str) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": id, "content": name, **flags}


def _text(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, indent=2) + "\n"
