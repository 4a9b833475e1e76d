"""LM: a left-to-right language model. Reads what stands before the blank, and writes on until a sentence is whole.

The context behind the blank is not seen. The paper's code has no decoding for it; this is our definition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from generators.checkpoints import Checkpoint
from generators.decoding import Drawn, Stop
from generators.infilling import CheckpointGenerator, Draft, before, open_checkpoint, unprintable
from humaneval.domain import Blank, Generator, GeneratorRequest, InfillStatus
from humaneval.text import normalise, split_sentences

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MAY_HAVE_ENDED = re.compile(r"[.!?…][”’\"')\]]*\s+\S")


def prompt_of(blank: Blank, checkpoint: Checkpoint) -> list[int]:
    """S and everything before the blank."""
    return [
        checkpoint.special.start,
        *checkpoint.tokenizer.encode(before(blank), add_special_tokens=False).ids,
    ]


def stop_for(tokenizer: Tokenizer) -> Stop:
    """Stop once a second sentence has begun: only then is the first known to be whole."""

    def stop(ids: Sequence[int]) -> bool:
        text = tokenizer.decode(list(ids))
        return bool(_MAY_HAVE_ENDED.search(text)) and len(split_sentences(text)) > 1

    return stop


def text_of(drawn: Drawn, tokenizer: Tokenizer) -> Draft:
    """The first sentence of what was written; cut where not even that was finished."""
    text = normalise(tokenizer.decode(list(drawn.ids)))
    sentences = split_sentences(text)
    broken = unprintable(sentences[0] if sentences else text)
    if broken:
        return Draft("", InfillStatus.UNPRINTABLE, broken)
    if not sentences:
        return Draft("", InfillStatus.EMPTY)
    if not drawn.ended and len(sentences) == 1:
        return Draft(sentences[0], InfillStatus.CUT, "no end within the longest length")
    return Draft(sentences[0], InfillStatus.OK)


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """Options: temperature, top_p, longest, tries."""
    checkpoint, options = open_checkpoint(request, "lm")
    return [
        CheckpointGenerator(
            request.name or "lm",
            checkpoint,
            request.checkpoint,
            request.seed,
            options,
            prompt_of,
            text_of,
            stop_for,
        )
    ]
