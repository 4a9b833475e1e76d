"""What all causal generators share: they write an answer after a prompt.

It is the base for our own checkpoints and for the models of others. The end of an answer of one sentence is
decided here, too.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

from generators.checkpoints.checkpoint import Checkpoint
from generators.checkpoints.loading import load
from generators.checkpoints.tokenizer import line_ends
from generators.checkpoints.weights import positions
from generators.devices import pick_device
from generators.masks.documents import UNTITLED
from generators.options import read_options, refuse_unless
from generators.sampling.choosing import Sampling
from generators.sampling.decoding import Answer, Prompt, Rules, Stop, Written, draw
from generators.sampling.filling import UNENDED, Draft, ModelGenerator, Shared
from humaneval.domain import Drawing, Gap, GappedText, GeneratorRequest, InfillStatus, Provenance
from humaneval.errors import UsageError
from humaneval.text import clear_sentences, command, normalise

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

SENTENCE_ENDS = ".!?…"
CLOSING = "\"'”’)]"
_CLOSE = re.escape(CLOSING)
MAY_HAVE_ENDED = re.compile(rf"[{SENTENCE_ENDS}][{_CLOSE}]*\s+\S")
"""A place where another sentence may have begun, so that the sentence splitter is worth its time."""


class Reading(NamedTuple):
    """An answer as text, and how many of the tokens that were written it takes."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Decoding(Sampling):
    """The options of every causal model."""

    precision: str = "fp32"
    """fp32 or bf16."""

    def __post_init__(self) -> None:
        Sampling.__post_init__(self)
        refuse_unless(self.precision in ("fp32", "bf16"), "precision", "fp32 or bf16")


@dataclass(frozen=True, slots=True)
class CheckpointDecoding(Decoding):
    """The options of our own checkpoints."""

    limits: bool = True
    """Whether a sentence has no line end, and a blank for a word gets one word. The reference code has
    neither rule."""


class Writer(ABC):
    """A filler over a causal model that writes its answers after a prompt; a subclass defines the prompt."""

    kind: ClassVar[str]
    conditioning: ClassVar[str]
    """What it sees, and in which order it fills: for the readers of the provenance."""
    several: ClassVar[bool] = False
    titled: ClassVar[bool] = True
    needs_original: ClassVar[bool] = False

    def __init__(self, model: PreTrainedModel, tokenizer: Tokenizer, seed: int, decoding: Decoding) -> None:
        import torch

        self.model, self.tokenizer, self.seed, self.decoding = model, tokenizer, seed, decoding
        if decoding.precision == "bf16":
            torch.nn.Module.to(model, torch.bfloat16)

    @property
    def types(self) -> tuple[str, ...]:
        """The types of gaps that it can fill."""
        return ("sentence",)

    @property
    @abstractmethod
    def rules(self) -> Rules:
        """The rules for every answer."""

    def made_by(self, checkpoint: str, **settings: object) -> Provenance:
        """The provenance of its answers: the name and hash of the model, and further settings."""
        import torch
        import transformers

        own = asdict(self.decoding)
        precision = own.pop("precision")
        return Provenance(
            kind=self.kind,
            checkpoint=checkpoint,
            settings={**own, "conditioning": self.conditioning, **settings},
            batch={"device": str(self.model.device), "precision": precision},
            versions={"torch": torch.__version__, "transformers": transformers.__version__},
        )

    def drawing(self, how: Drawing) -> Self:
        """The same model, drawing like this."""
        other, longest = copy(self), how.longest or self.decoding.longest
        other.seed = how.seed
        other.decoding = replace(
            self.decoding, temperature=how.temperature, top_p=how.nucleus, longest=longest
        )
        return other

    def draft(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        """A draft for each gap that is filled now; refused if the text is too long for the model."""
        most = positions(self.model)
        prompts = [
            Prompt(
                self.prompt(text),
                key,
                tuple(self.answer(text, number) for number in range(len(self.gaps(text)))),
            )
            for text, key in zip(texts, keys, strict=True)
        ]
        fits = [at for at, prompt in enumerate(prompts) if len(prompt.ids) < most]
        drawn = draw(self.model, [prompts[at] for at in fits], self.rules, self.decoding, self.seed)
        found = dict(zip(fits, drawn, strict=True))
        return [
            [
                (
                    self._draft(gap, found[at][number] if number < len(found[at]) else None)
                    if at in found
                    else too_long(len(prompts[at].ids), most)
                )
                for number, gap in enumerate(self.gaps(text))
            ]
            for at, text in enumerate(texts)
        ]

    def _draft(self, gap: Gap, written: Written | None) -> Draft:
        if written is None:
            return Draft("", InfillStatus.MISSING, "the model can read no more tokens")
        text, tokens = self.read(written, gap)
        extra = {"tokens": tokens, "logprob": round(sum(written.logprobs[:tokens]), 4)}
        if written.ended:
            extra["logprob"] = round(sum(written.logprobs[: tokens + 1]), 4)
        whole = text.rstrip(CLOSING).endswith(tuple(SENTENCE_ENDS))
        if written.held and gap.type not in ("word", "ngram") and not whole:
            return Draft(text, InfillStatus.CUT, f"cut off at {gap.max_words} words", extra)
        if not (written.ended or written.held) and not self.complete(written):
            return Draft(text, InfillStatus.CUT, UNENDED, extra)
        return Draft(text, extra=extra)

    def encode(self, text: str) -> list[int]:
        """The ids of a text; control strings in it are text."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return self.tokenizer.decode(list(ids))

    # What a strategy defines.

    def gaps(self, text: GappedText) -> tuple[Gap, ...]:
        """The gaps that a prompt asks for."""
        return text.gaps if self.several else text.gaps[:1]

    def stop_rule(self) -> Stop | None:
        """The rule that ends an answer without an end token, if there is one."""
        return None

    @abstractmethod
    def prompt(self, text: GappedText) -> list[int]:
        """The ids that the model reads before it writes."""

    def answer(self, text: GappedText, number: int) -> Answer:
        """The constraints of the answer to gap `number`."""
        gap = text.gaps[number]
        space = " " if text.pieces[number].endswith(" ") else ""
        forced = self.encode(space + gap.beginning) if gap.beginning else []
        most = gap.max_words or (1 if gap.type == "word" else 0)
        return Answer(tuple(forced), gap.type in ("paragraph", "document"), gap.min_words, most)

    def read(self, written: Written, gap: Gap) -> Reading:
        """The answer as text, and the number of its tokens."""
        return Reading(self.decode(written.ids), len(written.ids))

    def complete(self, written: Written) -> bool:
        """Whether an answer that was not ended is whole nevertheless."""
        return False


class CheckpointFiller(Writer):
    """A filler over one of our checkpoints; each strategy is a subclass."""

    def __init__(self, checkpoint: Checkpoint, folder: Path, seed: int, decoding: Decoding) -> None:
        super().__init__(checkpoint.model, checkpoint.tokenizer, seed, decoding)
        self.checkpoint, self.folder = checkpoint, folder
        self._limited = not isinstance(decoding, CheckpointDecoding) or decoding.limits
        special = checkpoint.special
        lines = tuple(line_ends(self.tokenizer))
        ends = self.ends(lines)
        control = (id for id in range(special.size, special.total) if id not in ends)
        self._rules = Rules(
            ends=ends,
            forbidden=(*control, *checkpoint.unread),
            # Tokens that begin with a letter, not a space; byte-level vocabularies write the space as another
            # character.
            continuing=tuple(
                id
                for token, id in self.tokenizer.get_vocab().items()
                if token[0].isascii() and token[0].isalnum()
            ),
            line_ends=tuple(id for id in lines if id not in ends),
            stop=self.stop_rule(),
            count=lambda ids: len(self.decode(ids).split()),
        )

    @property
    def rules(self) -> Rules:
        return self._rules

    @property
    def origin(self) -> Provenance:
        """The provenance of its answers."""
        checkpoint = f"{self.folder.resolve().name} sha256:{self.checkpoint.hash}"
        return self.made_by(checkpoint, training=self.checkpoint.card.training)

    @property
    def heading(self) -> str:
        """The line above every text that it was trained on, as far as these had one."""
        return f"{UNTITLED}\n" if self.checkpoint.card.corpus == "stories" else ""

    def answer(self, text: GappedText, number: int) -> Answer:
        """As for all, but without the rules that the reference code does not have, if they are switched
        off."""
        found = super().answer(text, number)
        if self._limited:
            return found
        return replace(found, lines=True, most=text.gaps[number].max_words)

    def ends(self, line_ends: tuple[int, ...]) -> tuple[int, ...]:
        """The ids that end an answer."""
        return (self.checkpoint.special.end,)


def too_long(tokens: int, most: int) -> Draft:
    """The draft for a text that is too long for the model."""
    return Draft(
        "", InfillStatus.REFUSED, f"the text has {tokens:,} tokens, and the model reads at most {most:,}"
    )


class FirstSentence(NamedTuple):
    """The first sentence of a text. It is known to be whole only if another one follows."""

    text: str
    whole: bool


def first_sentence(text: str) -> FirstSentence:
    """The first sentence of a text; empty if there is none."""
    sentences = clear_sentences(text)
    return FirstSentence(sentences[0] if sentences else "", len(sentences) > 1)


def second_begun(decode: Callable[[Sequence[int]], str]) -> Stop:
    """The rule to stop when a second sentence has begun: only then is the first known to be whole."""

    def stop(ids: Sequence[int]) -> bool:
        text = decode(ids)
        return bool(MAY_HAVE_ENDED.search(text)) and first_sentence(text).whole

    return stop


def read_first_sentence(ids: Sequence[int], decode: Callable[[Sequence[int]], str]) -> Reading:
    """The first sentence of what ids write, and the number of its tokens."""
    sentence = first_sentence(decode(ids)).text
    tokens = len(ids)
    while tokens and normalise(decode(ids[: tokens - 1])).startswith(sentence):
        tokens -= 1
    return Reading(sentence, tokens)


class OpenedFiller(NamedTuple):
    """A filler, and the options that all models share."""

    filler: CheckpointFiller
    shared: Shared


def open_filler(request: GeneratorRequest, strategy: type[CheckpointFiller]) -> OpenedFiller:
    """The filler of a request."""
    kind = strategy.kind
    if not request.checkpoint:
        raise UsageError(
            f"{kind} needs a checkpoint",
            f"Train one with `{command('train', kind, '--out', 'FOLDER')}` and name FOLDER: --checkpoint.",
        )
    shared = read_options(request, Shared, CheckpointDecoding)
    decoding = read_options(request, CheckpointDecoding, Shared)
    folder = Path(request.checkpoint)
    checkpoint = load(folder, kind=kind, device=pick_device(request.device))
    return OpenedFiller(strategy(checkpoint, folder, request.seed, decoding), shared)


def build_from(request: GeneratorRequest, strategy: type[CheckpointFiller]) -> Sequence[ModelGenerator]:
    """The generator of a request."""
    opened = open_filler(request, strategy)
    return [ModelGenerator(request.name or strategy.kind, opened.filler, request.seed, opened.shared)]
