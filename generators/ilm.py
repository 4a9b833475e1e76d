"""ILM: infilling by language modelling. Reads the whole story with its blank, then writes what belongs there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from generators.checkpoints import Checkpoint
from generators.decoding import Drawn
from generators.infilling import CheckpointGenerator, Draft, after, before, one_sentence, open_checkpoint
from generators.masking import Granularity
from humaneval.domain import Blank, Generator, GeneratorRequest, InfillStatus
from humaneval.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def prompt_of(blank: Blank, checkpoint: Checkpoint) -> list[int]:
    """c S: the story with a sentence blank, and the token after which the answer begins."""
    encode, special = checkpoint.tokenizer.encode, checkpoint.special
    head, tail = (
        encode(before(blank), add_special_tokens=False).ids,
        encode(after(blank), add_special_tokens=False).ids,
    )
    return [*head, special.blank(Granularity.SENTENCE), *tail, special.start]


def text_of(drawn: Drawn, tokenizer: Tokenizer) -> Draft:
    """What was written up to E; without an E it was cut off."""
    draft = one_sentence(tokenizer.decode(list(drawn.ids)))
    if not drawn.ended:
        return Draft(draft.text, InfillStatus.CUT, "no end within the longest length")
    return draft


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """Options: temperature, top_p, longest, tries."""
    checkpoint, options = open_checkpoint(request, "ilm")
    if Granularity.SENTENCE not in checkpoint.special.blanks:
        raise InputError(
            f"{request.checkpoint} has no blank for a sentence, only for {', '.join(checkpoint.special.blanks)}",
            "Sentences are filled in by a model that was trained with blanks for them.",
        )
    return [
        CheckpointGenerator(
            request.name or "ilm", checkpoint, request.checkpoint, request.seed, options, prompt_of, text_of
        )
    ]
